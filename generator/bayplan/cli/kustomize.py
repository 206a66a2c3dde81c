"""`bayplan kustomize`: finds out why functions do not run and which references a build breaks; installs legacy plugins.

`doctor` reads the files. If kustomize is installed, it builds the folder and checks the output.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

from bayplan.cli import files, output, output_folder
from bayplan.cli.failures import unwritable
from bayplan.cli.finish import finish
from bayplan.cli.krm import kustomizations
from bayplan.cli.krm.job import API_VERSION, FUNCTION, KINDS, is_workflow
from bayplan.cli.krm.kustomizations import Kustomization, title
from bayplan.cli.options import Arguments
from bayplan.cli.output_folder import Change
from bayplan.core.diagnostics import KEY, Diagnostic, Note, Route, error, info, warning
from bayplan.core.package_data import data_text
from bayplan.core.phrases import one_line
from bayplan.kube.objects import api_group, get, items, mapping, pod_templates, text
from bayplan.kube.shell import operand, quote
from bayplan.report import Batch
from bayplan.report.findings import escape
from bayplan.text.document import Document, read

# Broken references in the output of a build: a field has the name that an object had before kustomize renamed it.
#
# kustomize-plugin/references/names.yaml lists the fields. A reference is broken if no object of that kind has the name,
# and the name of one is the same with a prefix, a suffix or a hash.

HOST = re.compile(r"(?<![-a-z0-9.])([a-z0-9][-a-z0-9]*\.([a-z0-9][-a-z0-9]*))(?:\.([a-z0-9][-a-z0-9]*)\.svc\b)?")
"""A host `<pod>.<service>`, perhaps with a namespace."""


def _name(data: Any) -> str:
    return text(data, "metadata", "name")


def _broken_references(objects: Sequence[Any]) -> Iterator[tuple[str, str, str, str]]:
    """Owner, field, the name in the field, and the renamed object."""
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
    """The strings at the end of a path, through all items of lists on the path."""
    if isinstance(data, list):
        for each in data:
            yield from _values(each, path)
    elif path:
        yield from _values(get(data, path[0]), path[1:])
    elif isinstance(data, str) and data:
        yield data


def _renamed_from(name: str, objects: Sequence[Any], present: set[str]) -> Any | None:
    """The object whose name is this one with a prefix or a suffix. None if an object has the name itself."""
    renamed = (each for each in objects if _name(each).endswith(f"-{name}") or _name(each).startswith(f"{name}-"))
    return None if name in present else next(renamed, None)


def _orphaned_channels(objects: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """Renamed ComputeDomains whose channel template, with another name, was not renamed."""
    for each in (each for each in objects if text(each, "kind") == "ComputeDomain"):
        channel, words = text(each, "spec", "channel", "resourceClaimTemplate", "name"), _name(each).split("-")
        former = ("-".join(words[cut:]) for cut in range(1, len(words)))
        if any(channel.startswith(f"{word}-") for word in former) and not channel.startswith(_name(each)):
            yield title(each), channel


def _broken_hosts(objects: Sequence[Any]) -> Iterator[tuple[str, str, str]]:
    """Owner, host name in an environment variable, an argument or a file, and what has changed in it."""
    services = [each for each in objects if text(each, "kind") in ("Service", "JobSet", "LeaderWorkerSet")]
    present = {_name(each) for each in services} | {text(each, "spec", "network", "subdomain") for each in services}
    for owner in objects:
        hosts = dict.fromkeys(match.group(1, 2, 3) for word in _free_text(owner) for match in HOST.finditer(word))
        renamed = {host: _renamed_from(service, services, present) for host, service, _ in hosts}
        renamed |= {name: _renamed_from(name, services, present) for name in _barriers(owner)}
        yield from (
            (title(owner), host, f"the former name of {title(to)}") for host, to in renamed.items() if to is not None
        )
        for host, service, namespace in hosts:
            if service in present and namespace and namespace != text(owner, "metadata", "namespace"):
                yield title(owner), f"{host}.{namespace}.svc", f'the former namespace "{namespace}"'


def _barriers(data: Any) -> Iterator[str]:
    """The Services of which the pods of an object wait for the addresses."""
    for _, pod in pod_templates(data):
        for each in (each for container in items(pod, "spec", "containers") for each in items(container, "env")):
            if text(each, "name") == "BARRIER_SERVICE":
                yield text(each, "value").replace("$(BARRIER_GROUP)", "0")


def _free_text(data: Any) -> Iterator[str]:
    """Environment variables, commands and arguments of the containers of an object's pods; strings of ConfigMaps."""
    if text(data, "kind") == "ConfigMap":
        yield from (each for each in mapping(get(data, "data")).values() if isinstance(each, str))
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


Load = Callable[[str], Sequence[Document]]


def _folder(one: Kustomization, objects: Load, documents: Load) -> Folder:
    functions = _listed(one, ("generators", "transformers", "validators"), objects)
    return Folder(one, tuple(functions), tuple(_listed(one, ("resources", "bases"), documents)))


def _listed(one: Kustomization, keys: Sequence[str], load: Load) -> Iterator[Listed]:
    """The objects in the files of some lists."""
    for key in keys:
        for number, path in enumerate(kustomizations.listed_paths(one.folder, one.document.data, key)):
            for index, each in enumerate(load(path)):
                if isinstance(each.data, dict):
                    yield Listed(f"{one.subject}:{key}:{number}:{index}", key, each)


def _annotations(data: Any) -> Mapping[str, Any]:
    return mapping(data, "metadata", "annotations")


# The output of a build: errors, remaining Workflows, and broken references.

LISTS = ("resources", "bases", "components")
PLUGINS, EXEC = "--enable-alpha-plugins", "--enable-exec"
TIMEOUT = 300
"""The time limit of a build, in seconds."""


def _built(folder: str, folders: Sequence[Folder]) -> Iterator[Diagnostic]:
    """O831: there is no kustomize, it runs no functions, or the build fails."""
    route = (folders[0].kustomization.subject,)
    if files.in_sandbox():
        message = "in a sandbox, bayplan runs no functions, and checked only the files"
        hint = "leave out --sandbox if you trust the programs of this repository"
        yield warning("O831", route, message, hint=hint, notes=tuple(islice(_outside(folders), 20)))
        return
    paths = (os.path.join(each, "kustomize") for each in os.get_exec_path())
    program = next((path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)), None)
    if program is None:
        message = "kustomize is not installed, so bayplan checked only the files"
        yield warning("O831", route, message, hint="install kustomize to check the output of the build too")
        return
    if EXEC not in _run(program, "build", "--help")[1]:
        message = f"{program} has no {EXEC}, so it runs no functions"
        yield error("O831", route, message, hint="install kustomize 4.4 or newer; kubectl does not have the flag")
        return
    functions = [one for each in folders for one in each.functions]
    annotated = any(key in _annotations(each.data) for each in functions for key in FUNCTION)
    flags = (PLUGINS, EXEC)[: 1 + annotated] if any(each.function for each in functions) else ()
    code, out, err = _run(program, "build", *flags, folder)
    remote = [(each.kustomization, *entry) for each in folders for entry in _remote(each.kustomization, LISTS)]
    if code and remote and not flags and "plugins disabled" in err:
        where, key, number = remote[0]
        message = (
            "a remote folder has functions; bayplan runs no programs of other repositories, and checked only the files"
        )
        hint = f"if you trust them: `kustomize build {PLUGINS} {EXEC} {operand(folder)}`"
        yield warning("O831", (where.subject, key, number), message, hint=hint)
        return
    if code:
        lines = [line for line in err.splitlines() if line[:1].strip()]
        notes = tuple(Note(one_line(line)) for line in lines[:20])
        yield error("O831", route, f"`{' '.join(['kustomize build', *flags, folder])}` fails", notes=notes)
        return
    documents = read("kustomize", out.encode(), "built", own=False).value or ()
    yield from _built_objects([each.data for each in documents if isinstance(each.data, dict)], route)


def _outside(folders: Sequence[Folder]) -> Iterator[Note]:
    """The entries in the lists of kustomizations that the sandbox does not contain."""
    for one in {each.kustomization.folder: each.kustomization for each in reversed(folders)}.values():
        for key in (*LISTS, "generators", "transformers", "validators"):
            for number, each in enumerate(items(one.document.data, key)):
                plain = isinstance(each, str) and "\n" not in each
                if plain and not files.allows(os.path.join(one.folder, each)):
                    yield Note("this is outside of the sandbox, and not checked", (one.subject, key, number))


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
        message = f'the Workflow "{_name(each)}" is still in the output of the build'
        yield error("A967", route, message, hint=LAST)
    for owner, field, name, target in _broken_references(objects):
        message = f'{owner}: {field} has the former name "{name}" of {target}'
        hint = "write a Component with `bayplan kustomize references`, and list its folder under `components:`"
        yield error("A968", route, message, hint=hint)
    for owner, channel in _orphaned_channels(objects):
        message = f'{owner} was renamed, but its channel template is still "{channel}"'
        hint = "give both the same name, so that kustomize renames both, and overlays do not share the template"
        yield warning("A968", route, message, hint=hint)
    for owner, host, former in _broken_hosts(objects):
        message = f'{owner} has the host name "{host}" with {former}'
        hint = "let ExpandWorkflows write the host name, or use `replacements:`"
        yield error("A968", route, message, hint=hint)


# Errors in the files: functions in the wrong list, missing programs, Workflows that no function expands.

LOCAL = "config.kubernetes.io/local-config"
NAMING = ("namePrefix", "nameSuffix", "namespace")
EXPAND = "list a configuration of kind ExpandWorkflows under `transformers:`"
LAST = (
    "list ExpandWorkflows last under `transformers:` of the outermost kustomization, with `exec: {path: bayplan-krm}`"
)


def _files(folders: Sequence[Folder]) -> Iterator[Diagnostic]:
    for each in folders:
        for function in each.functions:
            if function.function in KINDS:
                yield from kustomizations.misplaced(function.function, function.key, (function.subject, "kind"))
                yield from _missing_program(each.kustomization, function)
                yield from _too_early(each.kustomization, function)
    yield from _workflows(folders)
    yield from _flags(folders)


def _missing_program(where: Kustomization, function: Listed) -> Iterator[Diagnostic]:
    """A964: the program of a function does not exist."""
    key = next((key for key in FUNCTION if key in _annotations(function.data)), None)
    if key is None:
        path = _plugin_path(_plugin_home(), function.function)
        if not os.access(path, os.X_OK):
            message = f"{function.function} has no annotation with a program, and there is no plugin {path}"
            hint = "annotate it with `config.kubernetes.io/function: |` and `exec: {path: bayplan-krm}`; "
            hint += "or run `bayplan kustomize install-legacy`"
            yield error("A964", (function.subject, "kind"), message, hint=hint)
        return
    annotation = read("", str(_annotations(function.data)[key]).encode(), "annotation", own=False).value
    program = get(annotation[0].data, "exec", "path") if annotation else None
    if not isinstance(program, str):  # kustomize itself says so
        return
    path = os.path.join(where.folder, program)
    if "/" in program and not files.allows(path):
        return
    places = [files.seen(path) or path] if "/" in program else [os.path.join(p, program) for p in os.get_exec_path()]
    if not any(os.access(each, os.X_OK) for each in places):
        message = f'the program "{program}" of the function does not exist'
        hint = "kustomize looks for a name in PATH, and for a path from the folder of this kustomization"
        yield error("A964", (function.subject, "metadata", "annotations", key), message, hint=hint)


def _too_early(where: Kustomization, function: Listed) -> Iterator[Diagnostic]:
    """A968: a kustomization above renames objects after the function ran."""
    for outer in where.above:
        key = next((key for key in NAMING if outer.document.data.get(key)), None)
        if key is not None:
            message = f"{function.function} runs before `{key}` of {outer.document.name}"
            notes = (Note(f"`{key}` is set here", (outer.subject, key, KEY)),)
            hint = (
                "list it in that kustomization: kustomize does not rename hosts in environment variables and arguments"
            )
            yield warning("A968", (function.subject, "kind"), message, hint=hint, notes=notes)
            return


def _owner(one: Kustomization) -> Kustomization:
    """The kustomization whose resources a Component transforms; any other kustomization itself."""
    plain = (each for each in (one, *reversed(one.above)) if text(each.document.data, "kind") != "Component")
    return next(plain, one)


def _remote(one: Kustomization, keys: Sequence[str]) -> list[tuple[str, int]]:
    """The entries in some lists of a kustomization that name no file or folder here, such as a URL."""
    listed = ((key, n, each) for key in keys for n, each in enumerate(items(one.document.data, key)))
    plain = ((key, n, each) for key, n, each in listed if isinstance(each, str) and "\n" not in each)
    return [(key, n) for key, n, each in plain if not _exists(os.path.join(one.folder, each))]


def _exists(path: str) -> bool:
    return files.found(path, os.path.exists)


def _workflows(folders: Sequence[Folder]) -> Iterator[Diagnostic]:
    """A967: no function expands a Workflow, or kustomize drops it.

    The functions of a Component transform the resources of the kustomization that lists it (kustomize 5.8.1,
    api/internal/target/kusttarget.go, `accumulateComponents`). bayplan does not read the functions of remote folders.
    """
    once = {each.kustomization.folder: each.kustomization for each in folders}
    remote = {folder: _remote(one, ("components", "transformers")) for folder, one in once.items()}
    expanding = {
        _owner(each.kustomization).subject
        for each in folders
        if remote[each.kustomization.folder]
        or any((one.function, one.key) == ("ExpandWorkflows", "transformers") for one in each.functions)
    }
    for each in folders:
        path = (*each.kustomization.above, each.kustomization)
        expanded = not expanding.isdisjoint(outer.subject for outer in path)
        for one in (one for one in each.resources if is_workflow(one.data)):
            name = str(mapping(one.data, "metadata").get("name", ""))
            if str(_annotations(one.data).get(LOCAL, "")).lower() == "true":
                message = f'kustomize silently drops the Workflow "{name}" because of this annotation'
                route: Route = (one.subject, "metadata", "annotations", LOCAL, KEY)
                yield error("A967", route, message, hint="remove the annotation")
            elif not expanded:
                hint = f"{EXPAND} of the outermost kustomization"
                yield error("A967", (one.subject, "kind"), f'no function expands the Workflow "{name}"', hint=hint)


def _flags(folders: Sequence[Folder]) -> Iterator[Diagnostic]:
    """O833: the flags that the build needs."""
    functions = (one for each in folders for one in each.functions if one.function)
    one = next((one for one in functions if any(key in _annotations(one.data) for key in FUNCTION)), None)
    if one is not None:
        message = "kustomize runs this function only with --enable-alpha-plugins and --enable-exec"
        why = "with only --enable-alpha-plugins, kustomize silently skips it; kubectl has only this flag"
        yield info("O833", (one.subject, "kind"), message, notes=(Note(why),), hint=HINT)


HINT = "for `kubectl kustomize`, remove the annotation and run `bayplan kustomize install-legacy`"


def doctor(args: Arguments) -> int:
    """Checks a folder with a kustomization."""
    folder = args.words[0] if args.words else "."
    load = cache(kustomizations.objects), cache(kustomizations.documents)
    folders = [_folder(each, *load) for each in kustomizations.walk(folder, LISTS)]
    if not folders:
        message = f'there is no readable kustomization.yaml in "{folder}"'
        wrong = error("O831", (), message, hint="name the folder that you build")
        return finish(args, [Batch((wrong,))], to_stdout=True)
    sources = {each.kustomization.subject: each.kustomization.document for each in folders}
    sources |= {one.subject: one.document for each in folders for one in (*each.functions, *each.resources)}
    reported = [*_files(folders)]
    unexpanded = any(each.code == "A967" for each in reported)
    reported += [each for each in _built(folder, folders) if each.code != "A967" or not unexpanded]
    return finish(args, [Batch(tuple(dict.fromkeys(reported)), sources)], to_stdout=True)


REFERENCES = ("kustomization.yaml", "names.yaml", "images.yaml")


def references(args: Arguments) -> int:
    """Writes the Component of kustomize-plugin/references, and prints the files that changed."""
    folder = args.words[0] if args.words else "references"
    texts = {each: data_text("kustomize-plugin", "references", each) for each in REFERENCES}
    return _install(args, folder, texts, "bayplan kustomize references", "remove the file, or name another folder")


# The layout of the legacy plugins of kustomize, the only plugins that kubectl runs.
#
# Source: kustomize 5.8.1, api/internal/plugins/loader and execplugin; api/konfig/plugins.go for where it looks.

MARK = "# Made by `bayplan kustomize install-legacy`."
SCRIPT = "bayplan-krm"


def install_legacy(args: Arguments) -> int:
    """Writes a script for each kind, and prints those that changed."""
    home = args.words[0] if args.words else _plugin_home()
    text = f'#!/bin/sh\n{MARK}\nexec {_program()} "$@"\n'
    hint = "remove the file, or set KUSTOMIZE_PLUGIN_HOME to another folder"
    return _install(args, home, dict.fromkeys((_plugin_path("", kind) for kind in KINDS), text), MARK, hint, 0o111)


def _install(args: Arguments, folder: str, texts: Mapping[str, str], mark: str, hint: str, mode: int = 0) -> int:
    """Writes files, and prints those that changed. O804: a file without the mark exists. `mode`: bits to add."""
    paths = {name: os.path.join(folder, name) for name in texts}
    wrong = [diagnostic for path in paths.values() if (diagnostic := _in_the_way(path, mark, hint))]
    if wrong:
        return finish(args, [Batch(tuple(wrong))])
    try:
        os.makedirs(folder, exist_ok=True)
        written = [Change(name, output_folder.text_at(paths[name]), text) for name, text in texts.items()]
        changes = [each for each in written if each.old != each.new or os.stat(paths[each.path]).st_mode & mode != mode]
        output_folder.apply(folder, "", changes, mode)
    except OSError as problem:
        return finish(args, [Batch((unwritable(folder, problem),))])
    return finish(args, (), lambda: output.write(f"{each.word} {escape(paths[each.path])}\n" for each in changes))


def _plugin_home() -> str:
    """The plugin folder of kustomize, from the environment or in the home folder."""
    own = os.environ.get("KUSTOMIZE_PLUGIN_HOME")
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return own or os.path.join(config, "kustomize", "plugin")


def _plugin_path(home: str, kind: str) -> str:
    """`HOME/bayplan.dev/v1alpha1/expandworkflows/ExpandWorkflows`."""
    return os.path.join(home, *API_VERSION.split("/"), kind.lower(), kind)


def _program() -> str:
    """The command of the script: the installed one, or else the static binary or this Python with bayplan."""
    beside = (os.path.dirname(sys.executable), os.path.dirname(os.path.abspath(sys.argv[0])))
    installed = next((path for folder in beside if os.access(path := os.path.join(folder, SCRIPT), os.X_OK)), None)
    options = " -P -m bayplan" if not hasattr(sys, "frozen") else ""
    return quote(installed) if installed else f"{quote(sys.executable)}{options} krm"


def _in_the_way(path: str, mark: str, hint: str) -> Diagnostic | None:
    """O804: the file exists, and bayplan did not write it."""
    try:
        with open(path, "rb") as file:
            ours = mark.encode() in file.read(4096)
    except FileNotFoundError:
        return None
    except OSError as problem:
        return unwritable(path, problem)
    return None if ours else error("O804", (), f'"{path}" exists, and bayplan did not write it', hint=hint)
