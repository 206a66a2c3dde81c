"""Rules about single tasks: files and mounts, inputs, credentials, exit actions, tokens, and what OSMO's service does.

Source: OSMO 6.4, src/utils/job/task.py.
"""

from __future__ import annotations

import binascii
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from bayplan.core.diagnostics import KEY as DIAGNOSTICS_KEY
from bayplan.core.diagnostics import Diagnostic, Note, Route, error, info, warning
from bayplan.core.phrases import count, did_you_mean, listing, shorten, suggest
from bayplan.workflows.osmo.source import ROOT, Task, Workflow
from bayplan.workflows.osmo.tokens import HOST, INPUT, UUID, WORKFLOW_ID, Token, find, misspelt, texts
from bayplan.workflows.osmo.units import exit_codes, k8s_name, seconds

DATA = "/osmo/data"
"""Where OSMO's tokens `{{output}}` and `{{input:N}}` lead (src/utils/job/kb_objects.py)."""

OUTPUT = f"{DATA}/output/"


SHOWN = 3
"""So many further places are named."""


def gathered(
    say: Callable[..., Diagnostic], code: str, routes: Sequence[Route], message: str, hint: str
) -> Iterator[Diagnostic]:
    """One finding at the first place; its message counts the others, and notes name some of them."""
    if routes:
        rest = routes[1:]
        more = f" (and in {count(len(rest), 'other place')})" if rest else ""
        notes = tuple(Note("another one", route) for route in rest[:SHOWN])
        yield say(code, routes[0], f"{message}{more}", hint=hint, notes=notes)


def check_paths(workflow: Workflow) -> Iterator[Diagnostic]:
    """W423: a file has a path, and neither it nor the mount of a Secret lies below /osmo."""
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
        yield error("W423", route, f'"{shorten(path)}" leads nowhere', hint=hint)
    elif parts[0] == "osmo" and not in_output:
        message = f'"{shorten(path)}" lies below /osmo, which belongs to OSMO'
        hint = f"use another folder, or {OUTPUT} for a file of the output" if is_file else "use another folder"
        yield error("W423", route, message, hint=hint)
    elif ":" in path and not in_output:
        yield error("W423", route, f'"{shorten(path)}" has a colon, which no mount may have', hint="remove the colon")
    elif is_file and path.endswith("/"):
        yield error("W423", route, f'"{shorten(path)}" is a folder, expected a file', hint="add the name of the file")


def check_duplicate_files(workflow: Workflow) -> Iterator[Diagnostic]:
    """W424: two files of a task at one path."""
    for task in workflow.tasks:
        first: dict[str, int] = {}
        for index, file in enumerate(task.data.get("files", ())):
            path = "/".join(part for part in file["path"].split("/") if part)
            there = first.setdefault(path, index)
            if there != index:
                route: Route = (*task.route, "files")
                notes = (Note("the first", (*route, there, "path")),)
                message = f'task "{task.name}" has two files at "/{shorten(path)}"'
                yield error("W424", (*route, index, "path"), message, hint="give each its own path", notes=notes)


def check_contents(workflow: Workflow) -> Iterator[Diagnostic]:
    """W425: contents with `base64: true` are base64. Line breaks do not matter, as in Kubernetes."""
    for file, route in workflow.entries("files"):
        if file.get("base64"):
            try:
                binascii.a2b_base64("".join(file["contents"].splitlines()), strict_mode=True)
            except ValueError as problem:
                message = f"the contents are not base64: {str(problem).lower()}"
                yield error("W425", (*route, "contents"), message, hint="encode them, or remove `base64`")


def check_mounts(workflow: Workflow) -> Iterator[Diagnostic]:
    """W426: a mount is a path, or two with a colon between."""
    for mount, route in workflow.entries("volumeMounts"):
        parts = mount.split(":")
        if len(parts) > 2 or not all(parts):
            hint = "write the folder on the node, or that and the folder in the container: /mnt/data:/data"
            yield error("W426", route, f'"{shorten(mount)}" is no mount', hint=hint)


# Inputs: their sources, order and files (OSMO 6.4, src/utils/job/workflow.py and task.py).


def check_sources(workflow: Workflow) -> Iterator[Diagnostic]:
    """W407: an input is from a task or a URL."""
    for entry, route in workflow.entries("inputs"):
        keys = [key for key in ("task", "url") if key in entry]
        if len(keys) != 1:
            what = "both `task` and `url`" if keys else "neither `task` nor `url`"
            yield error("W407", route, f"found {what}, expected one of them", hint="make it an input for each")


def check_order(workflow: Workflow) -> Iterator[Diagnostic]:
    """W408: the task of an input exists; W409: it runs in an earlier group."""
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
        of_group = "it is the name of a group; name one of its tasks" if name in group_names else ""
        hint = of_group or suggest(name, [each for each in tasks if each != task.name], "tasks")
        yield error("W408", route, f'there is no task "{name}"', hint=hint or "remove the input")
    elif source.group >= task.group:
        same = source.group == task.group
        other = f"a task of {'the same' if same else 'a later'} group"
        what = "the task itself" if source.name == task.name else other
        hint = "a group starts when its inputs are complete: " + (
            "take it from an earlier group" if same else f'put "{name}" before "{task.name}"'
        )
        notes = () if source.name == task.name else (Note("it is defined here", (*source.route, "name")),)
        message = f'"{name}" is {what}, expected a task of an earlier group'
        yield error("W409", route, message, hint=hint, notes=notes)


def check_patterns(workflow: Workflow) -> Iterator[Diagnostic]:
    """W410: `regex` is a regular expression (as Python reads them)."""
    for key in ("inputs", "outputs", "checkpoint"):
        for entry, route in workflow.entries(key):
            problem = _problem(entry.get("regex", ""))
            if problem:
                message = f'"{shorten(entry["regex"])}" is not a regular expression: {shorten(problem)}'
                yield error("W410", (*route, "regex"), message, hint="put a backslash before characters meant as such")


def _problem(pattern: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as problem:
            return str(problem) or "it is nested too deeply"
    return ""


# Credentials as Secrets: names and keys that Kubernetes takes, and folders that hide nothing.

SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
SYSTEM = ("", "bin", "etc", "home", "lib", "opt", "root", "run", "sbin", "srv", "tmp", "usr", "var", "workspace")
"""Folders at the root that images fill themselves."""


def check_credential_names(workflow: Workflow) -> Iterator[Diagnostic]:
    """W453: a Secret of that name, and keys in it, can exist, and no two credentials mean one Secret."""
    first: dict[str, tuple[str, Route]] = {}
    for name, target, route in _credentials(workflow):
        secret = k8s_name(name)
        if len(secret) > 253 or not SUBDOMAIN.fullmatch(secret):
            message = f'no Secret can be called "{shorten(secret)}"'
            yield error("W453", route, message, hint="use letters, digits, hyphens and dots")
        other, there = first.setdefault(secret, (name, route))
        if other != name:
            message = f'"{shorten(name)}" and "{shorten(other)}" are one Secret here, "{shorten(secret)}"'
            notes = (Note("the other", there),)
            yield error("W453", route, message, hint="let names differ in more than case and underscores", notes=notes)
        for variable, key in target.items() if isinstance(target, dict) else ():
            if not KEY.fullmatch(key):
                message = f'"{shorten(key)}" cannot be a key of a Secret'
                yield error("W453", (*route, variable), message, hint="use letters, digits, - _ and .")


def _credentials(workflow: Workflow) -> Iterator[tuple[str, Any, Route]]:
    for task in workflow.tasks:
        for name, target in task.data.get("credentials", {}).items():
            yield name, target, (*task.route, "credentials", name)


def check_folders(workflow: Workflow) -> Iterator[Diagnostic]:
    """W454 and W455: a Secret takes the whole of its folder; OSMO puts its files beside what is there."""
    for task in workflow.tasks:
        folders = {name: path for name, path in task.data.get("credentials", {}).items() if isinstance(path, str)}
        for name, path in folders.items():
            route: Route = (*task.route, "credentials", name)
            parts = [part for part in path.split("/") if part]
            if len(parts) < 2 and "".join(parts) in SYSTEM:
                message = f'the Secret hides what the image has in "{shorten(path)}"'
                yield warning("W454", route, message, hint="mount it in a folder of its own, such as /secrets/" + name)
            for inner, at in _mounted(task, folders):
                if at != route and "/".join(inner[: len(parts)]) == "/".join(parts) and len(inner) > len(parts):
                    there = shorten("/" + "/".join(inner))
                    message = f'"{there}" cannot be mounted inside the folder of the Secret "{name}"'
                    notes = (Note("the folder", route),)
                    yield error("W455", at, message, hint="choose folders that do not hold each other", notes=notes)


def _mounted(task: Task, folders: dict[str, str]) -> Iterator[tuple[list[str], Route]]:
    """The parts of every path that a task has mounted, with its place."""
    paths = [(path, (*task.route, "credentials", name)) for name, path in folders.items()]
    files = enumerate(task.data.get("files", ()))
    paths += [(file["path"], (*task.route, "files", number, "path")) for number, file in files]
    mounts = enumerate(task.data.get("volumeMounts", ()))
    paths += [(mount.rpartition(":")[2], (*task.route, "volumeMounts", number)) for number, mount in mounts]
    yield from (([part for part in path.split("/") if part], route) for path, route in paths)


# Exit actions (OSMO 6.4, src/utils/job/task.py and jobs.py).

ACTIONS = ("COMPLETE", "FAIL", "RESCHEDULE")


def check_exit_actions(workflow: Workflow) -> Iterator[Diagnostic]:
    """W419 to W422 of every task."""
    for task in workflow.tasks:
        yield from exit_action_findings(task.data.get("exitActions", {}), (*task.route, "exitActions"))


def exit_action_findings(actions: Mapping[str, str], route: Route) -> Iterator[Diagnostic]:
    """W419: the action is known; W420: its codes are codes; W422: no range runs backwards; W421: a code with two
    actions, of which OSMO takes the first in the file."""
    for action, text in actions.items():
        if action.upper() not in ACTIONS:
            hint = did_you_mean(action, ACTIONS)
            message = f'"{shorten(action)}" is no exit action; there is COMPLETE, FAIL and RESCHEDULE'
            yield error("W419", (*route, action, DIAGNOSTICS_KEY), message, hint=hint or "use one of them")
        codes = exit_codes(text)
        if codes is None:
            hint = "write codes and ranges with commas between, without blanks: 0-10,16"
            yield error("W420", (*route, action), f'"{shorten(text)}" is no list of exit codes', hint=hint)
        elif len(codes) <= text.count(","):
            hint = "write the smaller code first"
            what = f'in "{shorten(text)}" a range runs backwards and holds no code'
            yield warning("W422", (*route, action), what, hint=hint)
    for (first, these), (second, those) in combinations(actions.items(), 2):
        pairs = ((a, b) for a in exit_codes(these) or () for b in exit_codes(those) or ())
        both = [max(a[0], b[0]) for a, b in pairs if max(a[0], b[0]) <= min(a[1], b[1])]
        if both and first.upper() != second.upper():
            message = f'exit code {min(both)} has the actions "{first}" and "{second}"; OSMO takes the first'
            notes = (Note("the first", (*route, first)),)
            yield warning("W421", (*route, second), message, hint="give each code one action", notes=notes)


# Runtime tokens in the texts of tasks (OSMO 6.4, src/utils/job/task.py).


def check_token_names(workflow: Workflow) -> Iterator[Diagnostic]:
    """W429: a host token names a task of the same group, an input token an input of its task; each is reported once."""
    for task in workflow.tasks:
        reported: set[tuple[str, str]] = set()
        group = [each.name for each in workflow.tasks if each.group == task.group]
        names = {HOST: group, INPUT: _inputs(task)}
        for token, route in _tokens(task):
            if token.name not in names.get(token.kind, [token.name]) and (token.kind, token.name) not in reported:
                reported.add((token.kind, token.name))
                yield _unknown(token, route, names[token.kind], workflow.tasks)


def _tokens(task: Task) -> Iterator[tuple[Token, Route]]:
    for text, route in texts(task.data, task.route):
        yield from ((token, route) for token in find(text))


def _inputs(task: Task) -> list[str]:
    """The names by which a task may call its inputs: their numbers, and the tasks they come from."""
    inputs = task.data.get("inputs", ())
    return [*map(str, range(len(inputs))), *(each["task"].rpartition(":")[2] for each in inputs if "task" in each)]


def _unknown(token: Token, route: Route, names: list[str], all_tasks: tuple[Task, ...]) -> Diagnostic:
    if token.kind == INPUT:
        message = f"{token.text} names no input of this task, so it stays as it is"
        return warning("W429", route, message, hint=suggest(token.name, names, "inputs") or "the task has no inputs")
    message = f"{token.text} names no task of this group, so it stays as it is"
    elsewhere = "a task has an address for the tasks of its own group only; put them into one group"
    known_elsewhere = token.name in {each.name for each in all_tasks}
    return warning("W429", route, message, hint=elsewhere if known_elsewhere else suggest(token.name, names, "tasks"))


def check_spelling(workflow: Workflow) -> Iterator[Diagnostic]:
    """W430: what looks like a token and is none."""
    for task in workflow.tasks:
        for text, route in texts(task.data, task.route):
            for each in sorted(set(misspelt(text))):
                message = f"{shorten(each)} looks like a token of OSMO and is none, so it stays as it is"
                tokens = ("{{workflow_id}}", "{{output}}", "{{input:0}}", "{{host:task}}")
                yield warning("W430", route, message, hint=did_you_mean(each, tokens) or f"tokens: {', '.join(tokens)}")


def check_run_tokens(workflow: Workflow) -> Iterator[Diagnostic]:
    """W431: nothing replaces the token uuid; W432: the workflow's id is its name."""
    tokens = [(token.kind, route) for task in workflow.tasks for token, route in _tokens(task)]
    message = "nothing replaces {{uuid}}: OSMO 6.4 passes it on as it is, and so does bayplan"
    hint = "make a random word in the command, or use {{workflow_id}}"
    yield from gathered(warning, "W431", [route for kind, route in tokens if kind == UUID], message, hint)
    message = "{{workflow_id}} becomes the name of the workflow in the manifests; OSMO numbers every run"
    hint = "runs of the same manifests share it; let the command add the time where each needs a word of its own"
    yield from gathered(info, "W432", [route for kind, route in tokens if kind == WORKFLOW_ID], message, hint)


# Decisions of OSMO's service while a workflow runs, which manifests cannot make (OSMO 6.4, src/utils/job/jobs.py).


def check_queue(workflow: Workflow) -> Iterator[Diagnostic]:
    """W447: how long a group may wait. Kubernetes counts that together with how long it may run."""
    timeout = workflow.spec.get("timeout", {})
    if seconds(timeout.get("queue_timeout")) and not seconds(timeout.get("exec_timeout")):
        message = "Kubernetes has no limit for waiting alone, so this one is lost"
        hint = "add `exec_timeout`: the sum of both can be carried"
        yield warning("W447", (*ROOT, "timeout", "queue_timeout"), message, hint=hint)


def check_barrier(workflow: Workflow) -> Iterator[Diagnostic]:
    """W448: tasks that do not wait for each other."""
    places = [
        (*group.route, "barrier")
        for group in workflow.groups
        if len(group.tasks) > 1 and not group.data.get("barrier", True)
    ]
    message = "the tasks of a group start all or none here, whether they wait for each other or not"
    hint = "make tasks that may start alone groups of their own"
    yield from gathered(info, "W448", places, message, hint)


def check_failures(workflow: Workflow) -> Iterator[Diagnostic]:
    """W449: a group that goes on when a task fails, which is OSMO's default."""
    places: list[Route] = []
    for group in workflow.groups:
        if len(group.tasks) > 1 and group.data.get("ignoreNonleadStatus", True):
            key = "ignoreNonleadStatus" if "ignoreNonleadStatus" in group.data else "name"
            places.append((*group.route, key))
    message = "in OSMO this group goes on when a task fails that is not the lead; here a failed task ends its gang"
    hint = "let a command that may fail end with `|| true`, and write `ignoreNonleadStatus: false`"
    yield from gathered(warning, "W449", places, message, hint)


def check_reschedule(workflow: Workflow) -> Iterator[Diagnostic]:
    """W450: tasks that OSMO would start again."""
    places = [
        (*task.route, "exitActions", action)
        for task in workflow.tasks
        for action in task.data.get("exitActions", {})
        if action.upper() == "RESCHEDULE"
    ]
    message = "OSMO starts the task again on these exit codes; here they are failures"
    yield from gathered(warning, "W450", places, message, "let the command itself try again")


def check_credentials(workflow: Workflow) -> Iterator[Diagnostic]:
    """W451: the Secrets that must exist in the namespace."""
    credentials = list(_credentials(workflow))
    secrets = list(dict.fromkeys(k8s_name(name) for name, _, _ in credentials))
    if secrets:
        first = [target for name, target, _ in credentials if k8s_name(name) == secrets[0]]
        word = "Secret" if len(secrets) == 1 else "Secrets"
        named = listing(map(shorten, secrets), "and")
        message = f"credentials come from the {word} {named}, which must exist in the workflow's namespace"
        hint = f"make each with: kubectl create secret generic {secrets[0]} {_source(first)}"
        yield from gathered(info, "W451", [route for _, _, route in credentials], message, hint)


def _source(targets: list[Any]) -> str:
    """How kubectl takes the keys: those that are named, else the files of a folder."""
    keys = sorted({key for target in targets if isinstance(target, dict) for key in target.values()})
    return " ".join(f"--from-literal={key}=..." for key in keys[:5]) or "--from-file=FOLDER"


# Data that OSMO's service moves and collects, which manifests cannot do (OSMO 6.4, src/utils/job/task.py).
#
# Each kind of loss is reported once, however many tasks it concerns.

SHARED = "put the data on storage that all tasks mount (volumeMounts, or a volume of the topology's pool)"


def check_inputs(workflow: Workflow) -> Iterator[Diagnostic]:
    """W441: nothing is downloaded into an input's folder."""
    places = [route for entry, route in workflow.entries("inputs") if ":" not in entry.get("task", "")]
    message = "OSMO brings the data of an input; a manifest cannot. The task finds an empty folder /osmo/data/input/<n>"
    yield from gathered(warning, "W441", places, message, f"{SHARED}, or fetch them in the command")


def check_other_workflows(workflow: Workflow) -> Iterator[Diagnostic]:
    """W443: the task of another workflow, whose data only OSMO knows."""
    places = [route for entry, route in workflow.entries("inputs") if ":" in entry.get("task", "")]
    message = "this input is from an earlier workflow, which OSMO looks up; the task finds an empty folder in its place"
    yield from gathered(warning, "W443", places, message, f"{SHARED}, and let that workflow write there")


def check_outputs(workflow: Workflow) -> Iterator[Diagnostic]:
    """W442: nothing is uploaded from the output's folder."""
    places = [route for _, route in workflow.entries("outputs")]
    message = "OSMO uploads an output after the command; a manifest cannot. /osmo/data/output is lost with the pod"
    yield from gathered(warning, "W442", places, message, "upload it in the command, or write to storage that stays")


def check_collections(workflow: Workflow) -> Iterator[Diagnostic]:
    """W444: checkpoints; W445: figures."""
    places = [route for _, route in workflow.entries("checkpoint")]
    message = "OSMO uploads checkpoints while the command runs; a manifest cannot"
    yield from gathered(warning, "W444", places, message, "write them to storage that stays, from the command itself")
    places = [route for _, route in workflow.entries("kpis")]
    message = "OSMO collects these figures; a manifest cannot"
    yield from gathered(warning, "W445", places, message, "print them, or send them from the command")


def check_transfer(workflow: Workflow) -> Iterator[Diagnostic]:
    """W446: how inputs would be downloaded and kept."""
    places = [
        (*task.route, key) for task in workflow.tasks for key in ("downloadType", "cacheSize") if task.data.get(key)
    ]
    message = "this says how OSMO downloads inputs; nothing is downloaded here, so it has no effect"
    yield from gathered(warning, "W446", places, message, "nothing replaces it; it may stay for OSMO")
