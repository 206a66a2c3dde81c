"""Rules for single tasks: files, mounts, inputs, credentials, exit actions, tokens, and services of a running OSMO.

Source: OSMO 6.4, src/utils/job/task.py.
"""

from __future__ import annotations

import binascii
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from bayplan.plugin import KEY as DIAGNOSTICS_KEY
from bayplan.plugin import (
    Diagnostic,
    Note,
    Route,
    count,
    did_you_mean,
    error,
    info,
    listing,
    quote,
    shorten,
    suggest,
    warning,
)
from bayplan.plugins.osmo.source import ROOT, Task, Workflow
from bayplan.plugins.osmo.tokens import HOST, INPUT, UUID, WORKFLOW_ID, Token, find, misspelt, texts
from bayplan.plugins.osmo.units import exit_codes, k8s_name, seconds

DATA = "/osmo/data"
"""The folder that OSMO's tokens `{{output}}` and `{{input:N}}` point into (src/utils/job/kb_objects.py)."""

OUTPUT = f"{DATA}/output/"


SHOWN = 3
"""How many further places the notes name."""


def gathered(
    say: Callable[..., Diagnostic], code: str, routes: Sequence[Route], message: str, hint: str
) -> Iterator[Diagnostic]:
    """One finding at the first place. Its message counts the other places, and its notes name some of them."""
    if routes:
        rest = routes[1:]
        more = f" (and in {count(len(rest), 'other place')})" if rest else ""
        notes = tuple(Note("also here", route) for route in rest[:SHOWN])
        yield say(code, routes[0], f"{message}{more}", hint=hint, notes=notes)


_HOST = "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_NAME = r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*"
_IMAGE = re.compile(
    rf"(?:(?:localhost|{_HOST}(?:\.{_HOST})+|{_HOST}(?=:[0-9]+/))(?::[0-9]{{1,5}})?/)?"  # the registry
    rf"{_NAME}(?:/{_NAME})*(?::[a-zA-Z0-9_][a-zA-Z0-9._-]{{0,127}})?"  # repository and tag
    r"(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[A-Fa-f0-9]{32,})?"  # digest
)
"""What both OSMO (src/lib/utils/common.py, docker_parse) and the kubelet (github.com/distribution/reference) accept."""


def check_images(workflow: Workflow) -> Iterator[Diagnostic]:
    """W413: an image that is not a reference to an image."""
    for task in workflow.tasks:
        image = task.data["image"]
        if len(image) > 512 or not _IMAGE.fullmatch(image):
            message = f'"{shorten(image)}" is not a reference to an image'
            hint = "write it like registry.example.com/team/train:1.0, with a repository in lower case"
            yield error("W413", (*task.route, "image"), message, hint=hint)


def check_paths(workflow: Workflow) -> Iterator[Diagnostic]:
    """W423: a file has a path. OSMO reserves the paths below /osmo for itself."""
    for file, route in workflow.entries("files"):
        in_output = file["path"].startswith(OUTPUT)
        yield from _path(file["path"], (*route, "path"), is_file=True, in_output=in_output)
    for _, target, route in _credentials(workflow):
        if isinstance(target, str):
            yield from _path(target, route, is_file=False)


def _path(path: str, route: Route, is_file: bool, in_output: bool = False) -> Iterator[Diagnostic]:
    parts = [part for part in path.split("/") if part]
    if not parts:
        hint = "write an absolute path such as /tmp/config"
        yield error("W423", route, f'"{shorten(path)}" does not name a file or a folder', hint=hint)
    elif parts[0] == "osmo" and not in_output:
        message = f'"{shorten(path)}" is below /osmo, which OSMO reserves for itself'
        hint = f"use another folder, or {OUTPUT} for an output file" if is_file else "use another folder"
        yield error("W423", route, message, hint=hint)
    elif ":" in path and not in_output:
        message = f'"{shorten(path)}" has a colon, which Kubernetes does not allow in a mount path'
        yield error("W423", route, message, hint="remove the colon")
    elif is_file and path.endswith("/"):
        yield error("W423", route, f'"{shorten(path)}" is a folder; expected a file', hint="add the name of the file")


def check_duplicate_files(workflow: Workflow) -> Iterator[Diagnostic]:
    """W423: two files of a task have the same path."""
    for task in workflow.tasks:
        first: dict[str, int] = {}
        for index, file in enumerate(task.data.get("files", ())):
            path = "/".join(part for part in file["path"].split("/") if part)
            there = first.setdefault(path, index)
            if there != index:
                route: Route = (*task.route, "files")
                notes = (Note("the first file", (*route, there, "path")),)
                message = f'task "{task.name}" has two files at "/{shorten(path)}"'
                yield error("W423", (*route, index, "path"), message, hint="give each file its own path", notes=notes)


def check_contents(workflow: Workflow) -> Iterator[Diagnostic]:
    """W413: contents with `base64: true` are base64. Like Kubernetes, bayplan ignores line breaks in them."""
    for file, route in workflow.entries("files"):
        if file.get("base64"):
            try:
                binascii.a2b_base64("".join(file["contents"].splitlines()), strict_mode=True)
            except ValueError as problem:
                message = f"the contents are not base64: {str(problem).lower()}"
                yield error("W413", (*route, "contents"), message, hint="encode the contents, or remove `base64`")


def check_mounts(workflow: Workflow) -> Iterator[Diagnostic]:
    """W413: a mount is a path, or two paths with a colon between them."""
    for mount, route in workflow.entries("volumeMounts"):
        parts = mount.split(":")
        if len(parts) > 2 or not all(parts):
            hint = "write NODE_FOLDER or NODE_FOLDER:CONTAINER_FOLDER, such as /mnt/data:/data"
            yield error("W413", route, f'"{shorten(mount)}" is not a volume mount', hint=hint)


# Inputs: their sources, order and files (OSMO 6.4, src/utils/job/workflow.py and task.py).


def check_sources(workflow: Workflow) -> Iterator[Diagnostic]:
    """W408: an input has either a task or a URL."""
    for entry, route in workflow.entries("inputs"):
        keys = [key for key in ("task", "url") if key in entry]
        if len(keys) != 1:
            what = "both `task` and `url`" if keys else "no `task` and no `url`"
            hint = "make two inputs of it" if keys else "add `task` or `url`"
            yield error("W408", route, f"the input has {what}; expected one of the two", hint=hint)


def check_order(workflow: Workflow) -> Iterator[Diagnostic]:
    """W408: the task of an input exists, and it runs in an earlier group."""
    tasks: dict[str, Task] = {}
    for task in workflow.tasks:
        tasks.setdefault(task.name, task)
    group_names = {group.data["name"] for group in workflow.groups}
    for task in workflow.tasks:
        for index, entry in enumerate(task.data.get("inputs", ())):
            name = entry.get("task", "")
            if name and ":" not in name:
                yield from _order(task, name, (*task.route, "inputs", index, "task"), tasks, group_names)


def _order(
    task: Task, name: str, route: Route, tasks: Mapping[str, Task], group_names: set[str]
) -> Iterator[Diagnostic]:
    source = tasks.get(name)
    if source is None:
        of_group = "this is a group; name one of its tasks" if name in group_names else ""
        hint = of_group or suggest(name, tasks, "tasks", but=task.name)
        yield error("W408", route, f'the input names an unknown task: "{name}"', hint=hint or "remove the input")
    elif source.group >= task.group:
        same = source.group == task.group
        other = f"a task of {'the same' if same else 'a later'} group"
        what = "the task itself" if source.name == task.name else other
        action = "name a task of an earlier group" if same else f'move "{name}" before "{task.name}"'
        hint = f"{action}: a group starts after the groups of its inputs"
        notes = () if source.name == task.name else (Note("the task is here", (*source.route, "name")),)
        message = f'the input names {what}, "{name}"; expected a task of an earlier group'
        yield error("W408", route, message, hint=hint, notes=notes)


def check_patterns(workflow: Workflow) -> Iterator[Diagnostic]:
    """W413: `regex` is a regular expression of Python."""
    for key in ("inputs", "outputs", "checkpoint"):
        for entry, route in workflow.entries(key):
            problem = _problem(entry.get("regex", ""))
            if problem:
                message = f'"{shorten(entry["regex"])}" is not a valid regular expression: {shorten(problem)}'
                meant = entry["regex"].replace(".", "\\.").replace("*", ".*").replace("?", ".")
                hint = "put a backslash before each character that you mean literally"
                if problem.startswith("nothing to repeat") and not _problem(meant):  # a pattern of file names
                    hint = f'did you mean "{shorten(meant)}"?'
                yield error("W413", (*route, "regex"), message, hint=hint)


def _problem(pattern: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as problem:
            return str(problem) or "nested too deeply"
    return ""


# Credentials as Secrets: names and keys that Kubernetes accepts, and folders that hide no files of the image.

SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
SYSTEM = ("", "bin", "etc", "home", "lib", "opt", "root", "run", "sbin", "srv", "tmp", "usr", "var", "workspace")
"""Folders at the root in which images have files of their own."""


def check_credential_names(workflow: Workflow) -> Iterator[Diagnostic]:
    """W453: a Secret can have that name and those keys, and no two credentials map to the same Secret."""
    first: dict[str, tuple[str, Route]] = {}
    for name, target, route in _credentials(workflow):
        secret = k8s_name(name)
        if len(secret) > 253 or not SUBDOMAIN.fullmatch(secret):
            message = f'"{shorten(secret)}" is not a valid name for a Secret'
            yield error("W453", route, message, hint="use only letters, digits, hyphens and dots")
        other, there = first.setdefault(secret, (name, route))
        if other != name:
            message = f'"{shorten(name)}" and "{shorten(other)}" both become the Secret "{shorten(secret)}"'
            notes = (Note("the other credential", there),)
            hint = "choose names that differ in more than case and underscores"
            yield error("W453", route, message, hint=hint, notes=notes)
        for variable, key in target.items() if isinstance(target, dict) else ():
            if not KEY.fullmatch(key):
                message = f'"{shorten(key)}" is not a valid key of a Secret'
                hint = "use only letters, digits, hyphens, underscores and dots"
                yield error("W453", (*route, variable), message, hint=hint)


def _credentials(workflow: Workflow) -> Iterator[tuple[str, Any, Route]]:
    for task in workflow.tasks:
        for name, target in task.data.get("credentials", {}).items():
            yield name, target, (*task.route, "credentials", name)


def check_folders(workflow: Workflow) -> Iterator[Diagnostic]:
    """W453 and W423: a Secret replaces its whole folder. OSMO adds files to the folder instead."""
    for task in workflow.tasks:
        folders = {name: path for name, path in task.data.get("credentials", {}).items() if isinstance(path, str)}
        for name, path in folders.items():
            route: Route = (*task.route, "credentials", name)
            parts = [part for part in path.split("/") if part]
            if len(parts) < 2 and "".join(parts) in SYSTEM:
                message = f'the Secret hides the files of the image in "{shorten(path)}"'
                yield warning("W453", route, message, hint="mount it in a folder of its own, such as /secrets/" + name)
            for inner, at in _mounted(workflow, task, folders):
                if at != route and "/".join(inner[: len(parts)]) == "/".join(parts) and len(inner) > len(parts):
                    there = shorten("/" + "/".join(inner))
                    message = f'"{there}" is inside the folder of the Secret "{name}", and nothing can be mounted there'
                    notes = (Note("the folder of the Secret", route),)
                    yield error("W423", at, message, hint="choose a folder outside of it", notes=notes)


def _mounted(workflow: Workflow, task: Task, folders: dict[str, str]) -> Iterator[tuple[list[str], Route]]:
    """The parts of every mount path of a task, with its place."""
    paths = [(path, (*task.route, "credentials", name)) for name, path in folders.items()]
    files = enumerate(task.data.get("files", ()))
    paths += [(file["path"], (*task.route, "files", number, "path")) for number, file in files]
    mounts = enumerate(task.data.get("volumeMounts", ()))
    paths += [(mount.rpartition(":")[2], (*task.route, "volumeMounts", number)) for number, mount in mounts]
    checkpoints = (
        (each["path"], (*task.route, "checkpoint", i)) for i, each in enumerate(task.data.get("checkpoint", ()))
    )
    paths += [(path.removesuffix("*"), (*at, "path")) for path, at in checkpoints if at in workflow.moved]
    yield from (([part for part in path.split("/") if part], route) for path, route in paths)


# Exit actions (OSMO 6.4, src/utils/job/task.py and jobs.py).

ACTIONS = ("COMPLETE", "FAIL", "RESCHEDULE")
LARGEST_CODE = 255


def check_exit_actions(workflow: Workflow) -> Iterator[Diagnostic]:
    """W413 and W421 of every task."""
    for task in workflow.tasks:
        yield from exit_action_findings(task.data.get("exitActions", {}), (*task.route, "exitActions"))


def exit_action_findings(actions: Mapping[str, str], route: Route) -> Iterator[Diagnostic]:
    """W413: an unknown action, or text that is not a list of codes. W421: a range with the larger code first, or a code
    with two actions, of which OSMO uses the first in the file."""
    for action, text in actions.items():
        if action.upper() not in ACTIONS:
            hint = did_you_mean(action, ACTIONS)
            message = f'"{shorten(action)}" is not an exit action; expected COMPLETE, FAIL or RESCHEDULE'
            yield error("W413", (*route, action, DIAGNOSTICS_KEY), message, hint=hint or "use one of the three")
        codes = exit_codes(text)
        if codes is None:
            hint = "separate codes and ranges by commas, without spaces: 0-10,16"
            yield error("W413", (*route, action), f'"{shorten(text)}" is not a list of exit codes', hint=hint)
        elif len(codes) <= text.count(","):
            hint = "write the smaller code first"
            what = f'"{shorten(text)}" has a range with the larger code first, which matches no exit code'
            yield warning("W421", (*route, action), what, hint=hint)
    for (first, these), (second, those) in combinations(actions.items(), 2):
        pairs = ((a, b) for a in exit_codes(these) or () for b in exit_codes(those) or ())
        both = [max(a[0], b[0]) for a, b in pairs if max(a[0], b[0]) <= min(a[1], b[1])]
        if both and first.upper() != second.upper():
            message = f'exit code {min(both)} has two actions, "{first}" and "{second}"; OSMO uses the first'
            notes = (Note("the first action", (*route, first)),)
            yield warning("W421", (*route, second), message, hint="give each exit code one action", notes=notes)


# Runtime tokens in the strings of tasks (OSMO 6.4, src/utils/job/task.py).


def check_token_names(workflow: Workflow) -> Iterator[Diagnostic]:
    """W429, once for each token: a host token names a task of the same group, an input token an input of its task."""
    everywhere = {task.name for task in workflow.tasks}
    for group in workflow.task_groups:
        hosts = dict.fromkeys(task.name for task in group.tasks)
        for task in group.tasks:
            reported: set[tuple[str, str]] = set()
            for token, route in _tokens(task):
                names: Collection[str] = {HOST: hosts, INPUT: _inputs(task)}.get(token.kind, (token.name,))
                if token.name not in names and (token.kind, token.name) not in reported:
                    reported.add((token.kind, token.name))
                    yield _unknown(token, route, names, everywhere)


def _tokens(task: Task) -> Iterator[tuple[Token, Route]]:
    for text, route in texts(task.data, task.route):
        yield from ((token, route) for token in find(text))


def _inputs(task: Task) -> list[str]:
    """The names that a task may use for its inputs: their numbers, and the tasks that they come from."""
    inputs = task.data.get("inputs", ())
    return [*map(str, range(len(inputs))), *(each["task"].rpartition(":")[2] for each in inputs if "task" in each)]


def _unknown(token: Token, route: Route, names: Collection[str], all_tasks: set[str]) -> Diagnostic:
    if token.kind == INPUT:
        message = f"{token.text} does not name an input of this task, so nothing replaces it"
        hint = suggest(token.name, names, "inputs") or "add the input to the task, which has none"
        return warning("W429", route, message, hint=hint)
    message = f"{token.text} does not name a task of this group, so nothing replaces it"
    elsewhere = "put both tasks into one group: only tasks of the same group have an address for each other"
    hint = elsewhere if token.name in all_tasks else suggest(token.name, names, "tasks")
    return warning("W429", route, message, hint=hint)


def check_spelling(workflow: Workflow) -> Iterator[Diagnostic]:
    """W429: what is similar to a token but is not one."""
    for task in workflow.tasks:
        for text, route in texts(task.data, task.route):
            for each in sorted(set(misspelt(text))):
                message = f"{shorten(each)} is not a token of OSMO, so nothing replaces it"
                tokens = ("{{workflow_id}}", "{{output}}", "{{input:0}}", "{{host:task}}")
                hint = did_you_mean(each, tokens) or f"OSMO's tokens: {', '.join(tokens)}"
                yield warning("W429", route, message, hint=hint)


def check_run_tokens(workflow: Workflow) -> Iterator[Diagnostic]:
    """W429: nothing replaces the token uuid. W432: the workflow's id is its name."""
    tokens = [(token.kind, route) for task in workflow.tasks for token, route in _tokens(task)]
    message = "OSMO 6.4 and bayplan do not replace {{uuid}}, so the command gets the braces"
    hint = "generate a random string in the command, or use {{workflow_id}}"
    yield from gathered(warning, "W429", [route for kind, route in tokens if kind == UUID], message, hint)
    message = "bayplan replaces {{workflow_id}} with the name of the workflow; OSMO adds a number for each run"
    hint = "if each run needs its own string, add the time in the command: all runs of the manifests share this name"
    yield from gathered(info, "W432", [route for kind, route in tokens if kind == WORKFLOW_ID], message, hint)


# Decisions that OSMO's service makes while a workflow runs, and manifests cannot (OSMO 6.4, src/utils/job/jobs.py).


def check_queue(workflow: Workflow) -> Iterator[Diagnostic]:
    """W447: how long a group may wait. Kubernetes limits only the sum of waiting and running."""
    timeout = workflow.spec.get("timeout", {})
    if seconds(timeout.get("queue_timeout")) and not seconds(timeout.get("exec_timeout")):
        message = "Kubernetes cannot limit only the waiting time, so bayplan drops `queue_timeout`"
        hint = "add `exec_timeout`: the Job then gets the sum of both as its limit"
        yield warning("W447", (*ROOT, "timeout", "queue_timeout"), message, hint=hint)


def check_reschedule(workflow: Workflow) -> Iterator[Diagnostic]:
    """W450 of every task."""
    owners = ((task.data.get("exitActions", {}), (*task.route, "exitActions")) for task in workflow.tasks)
    yield from reschedule_findings(owners)


def reschedule_findings(owners: Iterable[tuple[Mapping[str, str], Route]]) -> Iterator[Diagnostic]:
    """W450: codes after which no container starts again: those of OSMO's service, and success. `owners`: exit actions,
    each with their place."""
    service: list[Route] = []
    success: list[Route] = []
    for actions, route in owners:
        for action, text in actions.items():
            codes = (exit_codes(text) or ()) if action.upper() == "RESCHEDULE" else ()
            if any(last > LARGEST_CODE for _, last in codes):
                service.append((*route, action))
            if codes and all(last == 0 for _, last in codes):
                success.append((*route, action))
    message = "the task does not start again after codes above 255, which OSMO sets when it evicts or preempts a task"
    yield from gathered(warning, "W450", service, message, "remove these codes, or keep them for OSMO")
    message = "the task fails with exit code 0; OSMO would reschedule it"
    yield from gathered(warning, "W450", success, message, "end the command with another code, and reschedule that")


def check_credentials(workflow: Workflow) -> Iterator[Diagnostic]:
    """W451: the Secrets that must exist in the namespace."""
    credentials = list(_credentials(workflow))
    secrets = list(dict.fromkeys(k8s_name(name) for name, _, _ in credentials))
    if secrets:
        first = [target for name, target, _ in credentials if k8s_name(name) == secrets[0]]
        word = "Secret" if len(secrets) == 1 else "Secrets"
        named = listing(map(shorten, secrets), "and")
        message = f"credentials come from the {word} {named}, which must exist in the workflow's namespace"
        hint = f"create each with: kubectl create secret generic {secrets[0]} {_source(first)}"
        yield from gathered(info, "W451", [route for _, _, route in credentials], message, hint)


def _source(targets: list[Any]) -> str:
    """The arguments by which kubectl gets the keys: the named keys, or the files of a folder."""
    keys = sorted({key for target in targets if isinstance(target, dict) for key in target.values()})
    return " ".join(f"--from-literal={quote(key)}=..." for key in keys[:5]) or "--from-file=FOLDER"


# Data that OSMO's service moves and collects, and manifests cannot (OSMO 6.4, src/utils/job/task.py).
#
# bayplan reports each kind of loss once, no matter how many tasks it affects.

SHARED = "put the data on storage that all tasks mount (volumeMounts, or a volume of the topology's pool)"
MOVERS = "set `dataMovers` (and for data between tasks `dataStore`) in the topology"
REMOVE = "remove the input, unless the task must wait for another task"


def check_inputs(workflow: Workflow) -> Iterator[Diagnostic]:
    """W441: nothing is downloaded into an input's folder."""
    places = [route for entry, route in workflow.left("inputs") if ":" not in entry.get("task", "")]
    message = "bayplan does not download inputs; the task finds an empty folder /osmo/data/input/<n>"
    hint = f"{MOVERS}; or {SHARED}, or download it in the command, and {REMOVE}"
    yield from gathered(warning, "W441", places, message, hint)


def check_other_workflows(workflow: Workflow) -> Iterator[Diagnostic]:
    """W441: an input from a task of another workflow. Without a store, only OSMO's database knows where the data is."""
    places = [route for entry, route in workflow.left("inputs") if ":" in entry.get("task", "")]
    message = "bayplan does not download inputs from earlier workflows; the task finds an empty folder instead"
    hint = f"{MOVERS}; or {SHARED}, let the earlier workflow write it there, and remove the input"
    yield from gathered(warning, "W441", places, message, hint)


def check_outputs(workflow: Workflow) -> Iterator[Diagnostic]:
    """W441: nothing uploads the output folder."""
    places = [route for _, route in workflow.left("outputs")]
    message = "bayplan does not upload outputs; the pod's /osmo/data/output is lost when the pod is deleted"
    hint = (
        "set `dataMovers` in the topology; or upload the files in the command or write them to persistent storage, and"
    )
    hint += " remove `outputs`"
    yield from gathered(warning, "W441", places, message, hint)


def check_collections(workflow: Workflow) -> Iterator[Diagnostic]:
    """W441: checkpoints and KPIs."""
    places = [route for _, route in workflow.left("checkpoint")]
    message = "bayplan does not upload checkpoints; OSMO uploads them while the command runs"
    hint = "set `dataMovers` in the topology; or let the command write checkpoints to persistent storage, and remove"
    yield from gathered(warning, "W441", places, message, f"{hint} `checkpoint`")
    for each, route in workflow.entries("checkpoint"):
        folder = each["path"].rstrip("/").rpartition("/")[2]
        if route in workflow.moved and folder != "*" and not each.get("regex", ".*").startswith(".*"):
            message = f'OSMO matches this pattern with paths such as "{shorten(folder)}/file", bayplan with "file"'
            hint = "write `.*` at its beginning, or end `path` with `/*`: both then match what is below the folder"
            yield warning("W441", (*route, "regex"), message, hint=hint)
    places = [route for _, route in workflow.entries("kpis")]
    message = "bayplan does not collect KPIs; OSMO collects these files after the command"
    yield from gathered(
        warning, "W441", places, message, "print the KPIs, or send them from the command; then remove `kpis`"
    )


def check_transfer(workflow: Workflow) -> Iterator[Diagnostic]:
    """W446: how OSMO downloads and caches inputs."""
    places = [
        (*task.route, key) for task in workflow.tasks for key in ("downloadType", "cacheSize") if task.data.get(key)
    ]
    message = "this setting of OSMO's downloads has no effect"
    yield from gathered(warning, "W446", places, message, "remove it, or keep it for OSMO")
