"""`bayplan kustomize`: why kustomize would not run bayplan's functions and what they leave broken; older plugins.

`doctor` reads the files; where kustomize is installed, the folder is built with it, and what comes out is looked at.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from shlex import quote
from typing import Any

from bayplan.cli import output
from bayplan.cli.failures import unwritable
from bayplan.cli.finish import finish
from bayplan.cli.krm import kustomizations
from bayplan.cli.krm.job import API_VERSION, FUNCTION, KINDS, is_workflow
from bayplan.cli.options import Given
from bayplan.core.diagnostics import KEY, Diagnostic, Note, Route, error, info, warning
from bayplan.core.package_data import data_text
from bayplan.core.phrases import one_line
from bayplan.core.values import NamedTuple
from bayplan.kube.objects import api_group, get, items, mapping, pod_templates, text
from bayplan.report import Batch
from bayplan.text.document import Document, read

# Names in built objects that another object had before kustomize renamed it.
#
# The fields are those of kustomize-plugin/references/names.yaml. A name counts as lost where no object of that kind
# has it, and one has it with something before or behind it: a prefix, a suffix, a hash.

HOST = re.compile(r"(?<![-a-z0-9.])([a-z0-9][-a-z0-9]*)\.([a-z0-9][-a-z0-9]*)")


def _name(data: Any) -> str:
    return text(data, "metadata", "name")


def _title(data: Any) -> str:
    """`JobSet "dev-train"`."""
    return f'{text(data, "kind")} "{_name(data)}"'


def _broken_references(objects: Sequence[Any]) -> Iterator[tuple[str, str, str, str]]:
    """Owner, field, the name in it, and the object that has another name now."""
    table = read("names.yaml", data_text("kustomize-plugin", "references", "names.yaml").encode(), "names", own=False)
    for row in items(table.value[0].data if table.value else {}, "nameReference"):
        targets = [each for each in objects if _matches(each, row)]
        for spec in items(row, "fieldSpecs") if targets else ():
            for owner in (each for each in objects if _matches(each, spec)):
                for value in _values(owner, _field_path(text(spec, "path"))):
                    target = _renamed_from(value, targets, {_name(each) for each in targets})
                    if target is not None:
                        yield _title(owner), text(spec, "path"), value, _title(target)


def _matches(data: Any, row: Any) -> bool:
    return text(data, "kind") == text(row, "kind") and text(row, "group") in ("", api_group(data))


def _field_path(path: str) -> list[str]:
    return [word.replace("\0", "/") for word in path.replace("\\/", "\0").split("/")]


def _values(data: Any, path: Sequence[str]) -> Iterator[str]:
    """The texts at the end of a path; lists on the way are walked through."""
    if isinstance(data, list):
        for each in data:
            yield from _values(each, path)
    elif path:
        yield from _values(get(data, path[0]), path[1:])
    elif isinstance(data, str) and data:
        yield data


def _renamed_from(name: str, objects: Sequence[Any], present: set[str]) -> Any | None:
    """The object whose name is this one with a prefix or a suffix; None where the name itself is present."""
    renamed = (each for each in objects if _name(each).endswith(f"-{name}") or _name(each).startswith(f"{name}-"))
    return None if name in present else next(renamed, None)


def _orphaned_channels(objects: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """ComputeDomains that were renamed while their channel template, with a name of its own, was not."""
    for each in (each for each in objects if text(each, "kind") == "ComputeDomain"):
        channel, words = text(each, "spec", "channel", "resourceClaimTemplate", "name"), _name(each).split("-")
        former = ("-".join(words[cut:]) for cut in range(1, len(words)))
        if any(channel.startswith(f"{word}-") for word in former) and not channel.startswith(_name(each)):
            yield _title(each), channel


def _broken_hosts(objects: Sequence[Any]) -> Iterator[tuple[str, str, str]]:
    """Owner, host name in an environment or an argument, and what now has the name of its Service."""
    services = [each for each in objects if text(each, "kind") in ("Service", "JobSet", "LeaderWorkerSet")]
    present = {_name(each) for each in services} | {text(each, "spec", "network", "subdomain") for each in services}
    for owner in objects:
        hosts = dict.fromkeys(match[0] for word in _free_text(owner) for match in HOST.finditer(word))
        for host in hosts:
            target = _renamed_from(host.split(".")[1], services, present)
            if target is not None:
                yield _title(owner), host, _title(target)


def _free_text(data: Any) -> Iterator[str]:
    """Free text in the containers of an object's pods."""
    for _, pod in pod_templates(data):
        for container in (*items(pod, "spec", "containers"), *items(pod, "spec", "initContainers")):
            yield from (text(each, "value") for each in items(container, "env"))
            listed = (*items(container, "command"), *items(container, "args"))
            yield from (each for each in listed if isinstance(each, str))


# A kustomization and those below it, with the functions that each lists.

FUNCTION_LISTS = ("generators", "transformers", "validators")

MOST = 1000
"""Ways through a tree of kustomizations that are followed: folders that list each other's bases multiply them."""


class Listed(NamedTuple):
    """A document that a kustomization lists. `key`: the list in which it stands."""

    subject: str
    key: str
    document: Document

    @property
    def data(self) -> Any:
        """What it holds."""
        return self.document.data


class Kustomization(NamedTuple):
    """One folder. `above`: the kustomizations that lead to it, outermost first."""

    folder: str
    subject: str
    document: Document
    above: tuple[Any, ...]
    functions: tuple[Listed, ...]
    resources: tuple[Listed, ...]


def _walk(folder: str, above: tuple[Kustomization, ...], found: list[Kustomization]) -> None:
    """Appends the kustomization of the folder and all below it."""
    document = kustomizations.kustomization(folder)
    if document is None or len(above) >= kustomizations.DEEPEST or len(found) >= MOST:
        return
    subject = f"kustomization:{len(found)}"
    functions = tuple(_listed(folder, document, FUNCTION_LISTS, subject, kustomizations.objects))
    resources = tuple(_listed(folder, document, ("resources", "bases"), subject, kustomizations.documents))
    own = Kustomization(folder, subject, document, above, functions, resources)
    found.append(own)
    for key in ("resources", "bases", "components"):
        for path in kustomizations.listed_paths(folder, document.data, key):
            _walk(path, (*above, own), found)


def _listed(
    folder: str, document: Document, keys: Sequence[str], subject: str, load: Callable[[str], Sequence[Document]]
) -> Iterator[Listed]:
    """The objects in the files of some lists."""
    for key in keys:
        for number, path in enumerate(kustomizations.listed_paths(folder, document.data, key)):
            for index, each in enumerate(load(path)):
                if isinstance(each.data, dict):
                    yield Listed(f"{subject}:{key}:{number}:{index}", key, each)


def _annotations(data: Any) -> Mapping[str, Any]:
    return mapping(data, "metadata", "annotations")


def _is_function(data: Any) -> bool:
    """Whether an object is of bayplan's own API."""
    return api_group(data) == "bayplan.dev"


# What kustomize makes of the folder: the build itself, Workflows that are left, names that no longer lead anywhere.

PLUGINS, EXEC = "--enable-alpha-plugins", "--enable-exec"
TIMEOUT = 300
"""Seconds that a build may take."""


def _built(folder: str, found: Sequence[Kustomization]) -> Iterator[Diagnostic]:
    """O832: there is no kustomize to ask, or one that knows no functions; O831: it fails."""
    program = next(filter(_is_program, (os.path.join(each, "kustomize") for each in os.get_exec_path())), None)
    route = (found[0].subject,)
    if program is None:
        message = "kustomize is not installed, so nothing was built"
        yield info("O832", route, message, hint="with kustomize in PATH the result is looked at too")
        return
    if EXEC not in _run(program, "build", "--help")[1]:
        message = f"{program} knows no {EXEC}, so it runs no function"
        yield error(
            "O832", route, message, hint="install kustomize 4.4 or newer; kubectl's own is built without the flag"
        )
        return
    functions = [one.data for each in found for one in each.functions]
    annotated = any(key in _annotations(each) for each in functions for key in FUNCTION)
    flags = (PLUGINS, EXEC)[: 1 + annotated] if any(map(_is_function, functions)) else ()
    code, out, err = _run(program, "build", *flags, folder)
    if code:
        lines = [line for line in err.splitlines() if line[:1].strip()]
        notes = tuple(Note(one_line(line)) for line in lines[:20])
        yield error("O831", route, f"`{' '.join(['kustomize build', *flags, folder])}` fails", notes=notes)
        return
    documents = read("kustomize", out.encode(), "built", own=False).value or ()
    yield from _built_objects([each.data for each in documents if isinstance(each.data, dict)], found[0])


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _run(*command: str) -> tuple[int, str, str]:
    """Exit code, output and errors of a program."""
    import subprocess

    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", timeout=TIMEOUT)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return 1, "", str(problem)
    return done.returncode, done.stdout, done.stderr


def _built_objects(objects: Sequence[Any], outermost: Kustomization) -> Iterator[Diagnostic]:
    route = (outermost.subject,)
    for each in filter(is_workflow, objects):
        message = f'the Workflow "{_name(each)}" is still there after the build'
        yield error("A967", route, message, hint=EXPAND)
    for owner, field, name, target in _broken_references(objects):
        message = f'{owner}: {field} says "{name}", and it is {target} now'
        hint = "list the folder kustomize-plugin/references under `components:`"
        yield error("A968", route, message, hint=hint)
    for owner, channel in _orphaned_channels(objects):
        message = f'{owner} has another name now, and its channel template is still "{channel}"'
        hint = "give both one name, which kustomize can follow: two overlays in one namespace would share the template"
        yield warning("A968", route, message, hint=hint)
    for owner, host, target in _broken_hosts(objects):
        message = f'{owner} speaks of the host "{host}", and it is {target} now'
        hint = "no configuration repairs free text: let ExpandWorkflows make it, or use `replacements:`"
        yield error("A968", route, message, hint=hint)


# What the files say: functions in the wrong list, programs that are missing, Workflows that nothing expands.

PLACES = {
    "ExpandWorkflows": "transformers",
    "PlaceWorkloads": "transformers",
    "ValidateWorkloads": "validators",
    "Workflow": "generators",
}
"""Kind of a function -> the list in which it belongs."""

LOCAL = "config.kubernetes.io/local-config"
NAMING = ("namePrefix", "nameSuffix", "namespace")
EXPAND = "list a configuration of kind ExpandWorkflows under `transformers:`"


def _files(found: Sequence[Kustomization]) -> Iterator[Diagnostic]:
    for each in found:
        for function in each.functions:
            if _is_function(function.data) and function.data.get("kind") in KINDS:
                yield from _misplaced(function)
                yield from _missing_program(each, function)
                yield from _too_early(each, function)
    yield from _workflows(found)
    yield from _flags(found)


def _misplaced(function: Listed) -> Iterator[Diagnostic]:
    """A964: kustomize does something else with what a function of another list prints."""
    kind = function.data["kind"]
    if kind == "Workflow" or function.key == PLACES[kind]:
        return
    effect = "every object would be deleted" if kind == "ValidateWorkloads" else "kustomize would refuse what it prints"
    message = f"{kind} stands under `{function.key}:`, where {effect}"
    yield error("A964", (function.subject, "kind"), message, hint=f"list it under `{PLACES[kind]}:`")


def _missing_program(where: Kustomization, function: Listed) -> Iterator[Diagnostic]:
    """A966: what kustomize would call is not there."""
    key = next((key for key in FUNCTION if key in _annotations(function.data)), None)
    if key is None:
        path = _plugin_path(_plugin_home(), function.data["kind"])
        if not os.access(path, os.X_OK):
            message = f"{function.data['kind']} names no program, and there is no plugin at {path}"
            hint = "annotate it with `config.kubernetes.io/function: |` and `exec: {path: bayplan-krm}`; "
            hint += "or run `bayplan kustomize install-legacy`"
            yield error("A966", (function.subject, "kind"), message, hint=hint)
        return
    route: Route = (function.subject, "metadata", "annotations", key)
    program = _exec_path(_annotations(function.data)[key])
    if program is not None and not _runs(where.folder, program):
        message = f'kustomize would call "{program}", and there is no such program'
        hint = "a name without a slash is looked for in PATH; a path is seen from the kustomization that lists the file"
        yield error("A966", route, message, hint=hint)


def _exec_path(annotation: Any) -> str | None:
    """`exec.path` of a function annotation; None where it is none, which kustomize itself says."""
    found = read("", str(annotation).encode(), "annotation", own=False).value
    path = get(found[0].data, "exec", "path") if found else None
    return path if isinstance(path, str) else None


def _runs(folder: str, program: str) -> bool:
    if "/" in program:
        return os.access(os.path.join(folder, program), os.X_OK)
    return any(os.access(os.path.join(each, program), os.X_OK) for each in os.get_exec_path())


def _too_early(where: Kustomization, function: Listed) -> Iterator[Diagnostic]:
    """A969: a kustomization above gives the objects other names than those that the function knew."""
    for outer in where.above:
        key = next((key for key in NAMING if outer.document.data.get(key)), None)
        if key is not None:
            message = f"{function.data['kind']} runs before `{key}` of {outer.document.name}"
            notes = (Note(f"`{key}` is set here", (outer.subject, key, KEY)),)
            hint = "list it in that kustomization: host names in environments and arguments keep the earlier name"
            yield warning("A969", (function.subject, "kind"), message, hint=hint, notes=notes)
            return


def _workflows(found: Sequence[Kustomization]) -> Iterator[Diagnostic]:
    """A967: nothing expands a Workflow, or it is dropped in the end."""
    expanding = {each.folder for each in found for one in each.functions if _expands(one)}
    for each in found:
        expanded = not expanding.isdisjoint(outer.folder for outer in (*each.above, each))
        for one in (one for one in each.resources if is_workflow(one.data)):
            name = str(mapping(one.data, "metadata").get("name", ""))
            if str(_annotations(one.data).get(LOCAL, "")).lower() == "true":
                message = f'kustomize drops the Workflow "{name}" in the end, and says nothing'
                route: Route = (one.subject, "metadata", "annotations", LOCAL, KEY)
                yield error("A967", route, message, hint="remove the annotation")
            elif not expanded:
                hint = f"{EXPAND} of the outermost kustomization"
                yield error("A967", (one.subject, "kind"), f'nothing expands the Workflow "{name}"', hint=hint)


def _expands(one: Listed) -> bool:
    return _is_function(one.data) and one.data.get("kind") == "ExpandWorkflows"


def _flags(found: Sequence[Kustomization]) -> Iterator[Diagnostic]:
    """O833: how the folder has to be built."""
    for each in found:
        for one in each.functions:
            if _is_function(one.data) and any(key in _annotations(one.data) for key in FUNCTION):
                message = "kustomize runs this function with --enable-alpha-plugins and --enable-exec only"
                why = "with --enable-alpha-plugins alone it is skipped without a word, and kubectl has no other flag"
                yield info("O833", (one.subject, "kind"), message, notes=(Note(why),), hint=HINT)
                return


HINT = "for `kubectl kustomize`, leave the annotation out and run `bayplan kustomize install-legacy`"


def doctor(given: Given) -> int:
    """Reports on one folder with a kustomization."""
    folder = given.words[0] if given.words else "."
    found: list[Kustomization] = []
    _walk(folder, (), found)
    if not found:
        message = f'there is no kustomization.yaml in "{folder}" that can be read'
        wrong = error("O834", (), message, hint="name the folder that you build")
        return finish(given, [Batch((wrong,))], to_stdout=True)
    sources = {each.subject: each.document for each in found}
    sources |= {one.subject: one.document for each in found for one in (*each.functions, *each.resources)}
    reported = [*_files(found)]
    unexpanded = any(each.code == "A967" for each in reported)
    reported += [each for each in _built(folder, found) if each.code != "A967" or not unexpanded]
    return finish(given, [Batch(tuple(dict.fromkeys(reported)), sources)], to_stdout=True)


# The layout of kustomize's older plugins, the only one that kubectl runs.
#
# Source: kustomize 5.8.1, api/internal/plugins/loader and execplugin; api/konfig/plugins.go for where it looks.

MARK = "# Made by `bayplan kustomize install-legacy`."
SCRIPT = "bayplan-krm"


def install_legacy(given: Given) -> int:
    """Writes a small script for each kind, and says which are new."""
    home = given.words[0] if given.words else _plugin_home()
    text = f'#!/bin/sh\n{MARK}\nexec {_program()} "$@"\n'
    paths = [_plugin_path(home, kind) for kind in KINDS]
    wrong = [found for path in paths if (found := _in_the_way(path))]
    if wrong:
        return finish(given, [Batch(tuple(wrong))])
    done: list[str] = []
    failed = tuple(_write(paths, text, done))
    return finish(given, [Batch(failed)], lambda: output.write(done))


def _plugin_home() -> str:
    """Where kustomize looks for plugins: the first of these that is set, else in the home folder."""
    own = os.environ.get("KUSTOMIZE_PLUGIN_HOME")
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return own or os.path.join(config, "kustomize", "plugin")


def _plugin_path(home: str, kind: str) -> str:
    """`HOME/bayplan.dev/v1alpha1/expandworkflows/ExpandWorkflows`."""
    return os.path.join(home, *API_VERSION.split("/"), kind.lower(), kind)


def _program() -> str:
    """What the script runs: the installed command of this Python, else this Python with bayplan."""
    beside = (os.path.dirname(sys.executable), os.path.dirname(os.path.abspath(sys.argv[0])))
    found = next((path for folder in beside if os.access(path := os.path.join(folder, SCRIPT), os.X_OK)), None)
    return quote(found) if found else f"{quote(sys.executable)} -P -m bayplan krm"


def _in_the_way(path: str) -> Diagnostic | None:
    """O830: a file that bayplan has not written."""
    try:
        with open(path, "rb") as file:
            ours = MARK.encode() in file.read(4096)
    except FileNotFoundError:
        return None
    except OSError as problem:
        return unwritable(path, problem)
    hint = "remove it, or name another folder in KUSTOMIZE_PLUGIN_HOME"
    return None if ours else error("O830", (), f'"{path}" is there already, and is not bayplan\'s', hint=hint)


def _write(paths: list[str], text: str, done: list[str]) -> Iterator[Diagnostic]:
    for path in paths:
        try:
            word = _place(path, text)
        except OSError as problem:
            yield unwritable(path, problem)
            return
        done += [f"{word} {path}\n"] if word else []


def _place(path: str, text: str) -> str:
    """`created`, `updated`, or nothing where the script is as it should be."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    there = os.path.exists(path)
    if there:
        with open(path, encoding="utf-8", errors="replace") as file:
            same = file.read() == text
        if same and os.access(path, os.X_OK):
            return ""
    new = f"{path}.new"
    with open(new, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(new, os.stat(new).st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    os.replace(new, path)
    return "updated" if there else "created"
