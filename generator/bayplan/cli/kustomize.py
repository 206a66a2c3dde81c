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

from bayplan.cli import output, output_folder
from bayplan.cli.failures import unwritable
from bayplan.cli.finish import finish
from bayplan.cli.krm import kustomizations
from bayplan.cli.krm.job import API_VERSION, FUNCTION, KINDS, is_workflow
from bayplan.cli.krm.kustomizations import Kustomization, title
from bayplan.cli.options import Arguments
from bayplan.core.diagnostics import KEY, Diagnostic, Note, Route, error, info, warning
from bayplan.core.package_data import data_text
from bayplan.core.phrases import one_line
from bayplan.core.values import NamedTuple
from bayplan.kube.objects import api_group, get, items, mapping, pod_templates, text
from bayplan.report import Batch
from bayplan.text.document import Document, read

# Broken references in the objects that a build writes: a field has the name that an object had before kustomize
# renamed it.
#
# kustomize-plugin/references/names.yaml lists the fields. A reference is broken where no object of that kind has the
# name, and one has it with something before or behind it: a prefix, a suffix, a hash.

HOST = re.compile(r"(?<![-a-z0-9.])([a-z0-9][-a-z0-9]*)\.([a-z0-9][-a-z0-9]*)")


def _name(data: Any) -> str:
    return text(data, "metadata", "name")


def _broken_references(objects: Sequence[Any]) -> Iterator[tuple[str, str, str, str]]:
    """Owner, field, the name in it, and the object that has another name now."""
    table = read("names.yaml", data_text("kustomize-plugin", "references", "names.yaml").encode(), "names", own=False)
    for row in items(table.value[0].data if table.value else {}, "nameReference"):
        targets = [each for each in objects if _matches(each, row)]
        for spec in items(row, "fieldSpecs") if targets else ():
            path = [word.replace("\0", "/") for word in text(spec, "path").replace("\\/", "\0").split("/")]
            for owner in (each for each in objects if _matches(each, spec)):
                for value in _values(owner, path):
                    target = _renamed_from(value, targets, {_name(each) for each in targets})
                    if target is not None:
                        yield title(owner), text(spec, "path"), value, title(target)


def _matches(data: Any, row: Any) -> bool:
    return text(data, "kind") == text(row, "kind") and text(row, "group") in ("", api_group(data))


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
            yield title(each), channel


def _broken_hosts(objects: Sequence[Any]) -> Iterator[tuple[str, str, str]]:
    """Owner, host name in an environment or an argument, and what now has the name of its Service."""
    services = [each for each in objects if text(each, "kind") in ("Service", "JobSet", "LeaderWorkerSet")]
    present = {_name(each) for each in services} | {text(each, "spec", "network", "subdomain") for each in services}
    for owner in objects:
        hosts = dict.fromkeys(match[0] for word in _free_text(owner) for match in HOST.finditer(word))
        for host in hosts:
            target = _renamed_from(host.split(".")[1], services, present)
            if target is not None:
                yield title(owner), host, title(target)


def _free_text(data: Any) -> Iterator[str]:
    """Free text in the containers of an object's pods."""
    for _, pod in pod_templates(data):
        for container in (*items(pod, "spec", "containers"), *items(pod, "spec", "initContainers")):
            yield from (text(each, "value") for each in items(container, "env"))
            listed = (*items(container, "command"), *items(container, "args"))
            yield from (each for each in listed if isinstance(each, str))


class Listed(NamedTuple):
    """A document in a list of a kustomization. `key`: the name of the list."""

    subject: str
    key: str
    document: Document

    @property
    def data(self) -> Any:
        """The data of the document."""
        return self.document.data

    @property
    def function(self) -> str:
        """The kind of bayplan's function that it configures; empty for any other object."""
        return text(self.data, "kind") if api_group(self.data) == "bayplan.dev" else ""


class Folder(NamedTuple):
    """A kustomization, and the documents in its lists."""

    kustomization: Kustomization
    functions: tuple[Listed, ...]
    resources: tuple[Listed, ...]


def _folder(one: Kustomization) -> Folder:
    functions = _listed(one, ("generators", "transformers", "validators"), kustomizations.objects)
    return Folder(one, tuple(functions), tuple(_listed(one, ("resources", "bases"), kustomizations.documents)))


def _listed(one: Kustomization, keys: Sequence[str], load: Callable[[str], Sequence[Document]]) -> Iterator[Listed]:
    """The objects in the files of some lists."""
    for key in keys:
        for number, path in enumerate(kustomizations.listed_paths(one.folder, one.document.data, key)):
            for index, each in enumerate(load(path)):
                if isinstance(each.data, dict):
                    yield Listed(f"{one.subject}:{key}:{number}:{index}", key, each)


def _annotations(data: Any) -> Mapping[str, Any]:
    return mapping(data, "metadata", "annotations")


# The result of a build: whether it runs, Workflows that are left in it, and broken references.

PLUGINS, EXEC = "--enable-alpha-plugins", "--enable-exec"
TIMEOUT = 300
"""Seconds that a build may take."""


def _built(folder: str, folders: Sequence[Folder]) -> Iterator[Diagnostic]:
    """O832: there is no kustomize to ask, or one that knows no functions; O831: it fails."""
    paths = (os.path.join(each, "kustomize") for each in os.get_exec_path())
    program = next((path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)), None)
    route = (folders[0].kustomization.subject,)
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
    functions = [one for each in folders for one in each.functions]
    annotated = any(key in _annotations(each.data) for each in functions for key in FUNCTION)
    flags = (PLUGINS, EXEC)[: 1 + annotated] if any(each.function for each in functions) else ()
    code, out, err = _run(program, "build", *flags, folder)
    if code:
        lines = [line for line in err.splitlines() if line[:1].strip()]
        notes = tuple(Note(one_line(line)) for line in lines[:20])
        yield error("O831", route, f"`{' '.join(['kustomize build', *flags, folder])}` fails", notes=notes)
        return
    documents = read("kustomize", out.encode(), "built", own=False).value or ()
    yield from _built_objects([each.data for each in documents if isinstance(each.data, dict)], route)


def _run(*command: str) -> tuple[int, str, str]:
    """Exit code, output and errors of a program."""
    import subprocess

    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", timeout=TIMEOUT)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return 1, "", str(problem)
    return done.returncode, done.stdout, done.stderr


def _built_objects(objects: Sequence[Any], route: Route) -> Iterator[Diagnostic]:
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


# What is wrong in the files: functions in the wrong list, programs that are missing, Workflows that nothing expands.

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


def _files(folders: Sequence[Folder]) -> Iterator[Diagnostic]:
    for each in folders:
        for function in each.functions:
            if function.function in KINDS:
                yield from _misplaced(function)
                yield from _missing_program(each.kustomization, function)
                yield from _too_early(each.kustomization, function)
    yield from _workflows(folders)
    yield from _flags(folders)


def _misplaced(function: Listed) -> Iterator[Diagnostic]:
    """A964: kustomize does something else with what a function of another list prints."""
    kind = function.function
    if kind == "Workflow" or function.key == PLACES[kind]:
        return
    effect = "every object would be deleted" if kind == "ValidateWorkloads" else "kustomize would refuse what it prints"
    message = f"{kind} stands under `{function.key}:`, where {effect}"
    yield error("A964", (function.subject, "kind"), message, hint=f"list it under `{PLACES[kind]}:`")


def _missing_program(where: Kustomization, function: Listed) -> Iterator[Diagnostic]:
    """A966: what kustomize would call is not there."""
    key = next((key for key in FUNCTION if key in _annotations(function.data)), None)
    if key is None:
        path = _plugin_path(_plugin_home(), function.function)
        if not os.access(path, os.X_OK):
            message = f"{function.function} names no program, and there is no plugin at {path}"
            hint = "annotate it with `config.kubernetes.io/function: |` and `exec: {path: bayplan-krm}`; "
            hint += "or run `bayplan kustomize install-legacy`"
            yield error("A966", (function.subject, "kind"), message, hint=hint)
        return
    annotation = read("", str(_annotations(function.data)[key]).encode(), "annotation", own=False).value
    program = get(annotation[0].data, "exec", "path") if annotation else None
    if not isinstance(program, str):  # kustomize itself says so
        return
    folders = [where.folder] if "/" in program else os.get_exec_path()
    if not any(os.access(os.path.join(each, program), os.X_OK) for each in folders):
        message = f'kustomize would call "{program}", and there is no such program'
        hint = "a name without a slash is looked for in PATH; a path is seen from the kustomization that lists the file"
        yield error("A966", (function.subject, "metadata", "annotations", key), message, hint=hint)


def _too_early(where: Kustomization, function: Listed) -> Iterator[Diagnostic]:
    """A969: a kustomization above gives the objects other names than those that the function knew."""
    for outer in where.above:
        key = next((key for key in NAMING if outer.document.data.get(key)), None)
        if key is not None:
            message = f"{function.function} runs before `{key}` of {outer.document.name}"
            notes = (Note(f"`{key}` is set here", (outer.subject, key, KEY)),)
            hint = "list it in that kustomization: host names in environments and arguments keep the earlier name"
            yield warning("A969", (function.subject, "kind"), message, hint=hint, notes=notes)
            return


def _workflows(folders: Sequence[Folder]) -> Iterator[Diagnostic]:
    """A967: nothing expands a Workflow, or it is dropped in the end."""
    expanding = {
        each.kustomization.folder
        for each in folders
        if any(one.function == "ExpandWorkflows" for one in each.functions)
    }
    for each in folders:
        path = (*each.kustomization.above, each.kustomization)
        expanded = not expanding.isdisjoint(outer.folder for outer in path)
        for one in (one for one in each.resources if is_workflow(one.data)):
            name = str(mapping(one.data, "metadata").get("name", ""))
            if str(_annotations(one.data).get(LOCAL, "")).lower() == "true":
                message = f'kustomize drops the Workflow "{name}" in the end, and says nothing'
                route: Route = (one.subject, "metadata", "annotations", LOCAL, KEY)
                yield error("A967", route, message, hint="remove the annotation")
            elif not expanded:
                hint = f"{EXPAND} of the outermost kustomization"
                yield error("A967", (one.subject, "kind"), f'nothing expands the Workflow "{name}"', hint=hint)


def _flags(folders: Sequence[Folder]) -> Iterator[Diagnostic]:
    """O833: how the folder has to be built."""
    functions = (one for each in folders for one in each.functions if one.function)
    one = next((one for one in functions if any(key in _annotations(one.data) for key in FUNCTION)), None)
    if one is not None:
        message = "kustomize runs this function with --enable-alpha-plugins and --enable-exec only"
        why = "with --enable-alpha-plugins alone it is skipped without a word, and kubectl has no other flag"
        yield info("O833", (one.subject, "kind"), message, notes=(Note(why),), hint=HINT)


HINT = "for `kubectl kustomize`, leave the annotation out and run `bayplan kustomize install-legacy`"


def doctor(args: Arguments) -> int:
    """Reports on one folder with a kustomization."""
    folder = args.words[0] if args.words else "."
    folders = [_folder(each) for each in kustomizations.walk(folder, ("resources", "bases", "components"))]
    if not folders:
        message = f'there is no kustomization.yaml in "{folder}" that can be read'
        wrong = error("O831", (), message, hint="name the folder that you build")
        return finish(args, [Batch((wrong,))], to_stdout=True)
    sources = {each.kustomization.subject: each.kustomization.document for each in folders}
    sources |= {one.subject: one.document for each in folders for one in (*each.functions, *each.resources)}
    reported = [*_files(folders)]
    unexpanded = any(each.code == "A967" for each in reported)
    reported += [each for each in _built(folder, folders) if each.code != "A967" or not unexpanded]
    return finish(args, [Batch(tuple(dict.fromkeys(reported)), sources)], to_stdout=True)


# The layout of kustomize's older plugins, the only one that kubectl runs.
#
# Source: kustomize 5.8.1, api/internal/plugins/loader and execplugin; api/konfig/plugins.go for where it looks.

MARK = "# Made by `bayplan kustomize install-legacy`."
SCRIPT = "bayplan-krm"


def install_legacy(args: Arguments) -> int:
    """Writes a small script for each kind, and says which are new."""
    home = args.words[0] if args.words else _plugin_home()
    text = f'#!/bin/sh\n{MARK}\nexec {_program()} "$@"\n'
    paths = [_plugin_path(home, kind) for kind in KINDS]
    wrong = [diagnostic for path in paths if (diagnostic := _in_the_way(path))]
    if wrong:
        return finish(args, [Batch(tuple(wrong))])
    lines: list[str] = []
    for path in paths:
        try:
            word = _install(path, text)
        except OSError as problem:
            return finish(args, [Batch((unwritable(path, problem),))])
        lines += [f"{word} {path}\n"] if word else []
    return finish(args, (), lambda: output.write(lines))


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
    installed = next((path for folder in beside if os.access(path := os.path.join(folder, SCRIPT), os.X_OK)), None)
    return quote(installed) if installed else f"{quote(sys.executable)} -P -m bayplan krm"


def _in_the_way(path: str) -> Diagnostic | None:
    """O804: a file that bayplan has not written."""
    try:
        with open(path, "rb") as file:
            ours = MARK.encode() in file.read(4096)
    except FileNotFoundError:
        return None
    except OSError as problem:
        return unwritable(path, problem)
    hint = "remove it, or name another folder in KUSTOMIZE_PLUGIN_HOME"
    return None if ours else error("O804", (), f'"{path}" is there already, and is not bayplan\'s', hint=hint)


def _install(path: str, text: str) -> str:
    """`created`, `updated`, or nothing where the script is as it should be."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    old = output_folder.text_at(path)
    if old == text and os.access(path, os.X_OK):
        return ""
    output_folder.replace(path, [text])
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return "created" if old is None else "updated"
