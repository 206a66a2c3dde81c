"""`bayplan kustomize doctor`: why kustomize would not run bayplan's functions, and what they would leave broken.

The files say most of it; where kustomize is installed, the folder is built with it, and what comes out is looked at.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.cli.finish import finish
from bayplan.cli.krm import KINDS, inputs
from bayplan.cli.krm.inputs import FUNCTION
from bayplan.cli.kustomize_install import path_of, plugin_home
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


def name(data: Any) -> str:
    """The name of an object."""
    return text(data, "metadata", "name")


def title(data: Any) -> str:
    """`JobSet "dev-train"`."""
    return f'{text(data, "kind")} "{name(data)}"'


def lost(objects: Sequence[Any]) -> Iterator[tuple[str, str, str, str]]:
    """Owner, field, what it says, and the object that it meant."""
    table = read("names.yaml", data_text("kustomize-plugin", "references", "names.yaml").encode(), "names", own=False)
    for row in items(table.value[0].data if table.value else {}, "nameReference"):
        targets = [each for each in objects if _is(each, row)]
        present = {name(each) for each in targets}
        for spec in items(row, "fieldSpecs") if targets else ():
            for owner in (each for each in objects if _is(each, spec)):
                for said in _values(owner, _names_path(text(spec, "path"))):
                    meant = next((each for each in targets if said not in present and _renamed(said, name(each))), None)
                    if meant is not None:
                        yield title(owner), text(spec, "path"), said, title(meant)


def _is(data: Any, row: Any) -> bool:
    return text(data, "kind") == text(row, "kind") and text(row, "group") in ("", api_group(data))


def _names_path(path: str) -> list[str]:
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


def _renamed(before: str, now: str) -> bool:
    """Whether a prefix or a suffix makes the one of the other."""
    return now != before and (now.endswith(f"-{before}") or now.startswith(f"{before}-"))


def channels(objects: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """ComputeDomains that were renamed while their channel template, with a name of its own, was not."""
    for each in (each for each in objects if text(each, "kind") == "ComputeDomain"):
        channel, words = text(each, "spec", "channel", "resourceClaimTemplate", "name"), name(each).split("-")
        former = ("-".join(words[cut:]) for cut in range(1, len(words)))
        if any(channel.startswith(f"{word}-") for word in former) and not channel.startswith(name(each)):
            yield title(each), channel


def hosts(objects: Sequence[Any]) -> Iterator[tuple[str, str, str]]:
    """Owner, host name in an environment or an argument, and what now has the name of its Service."""
    services = [each for each in objects if text(each, "kind") in ("Service", "JobSet", "LeaderWorkerSet")]
    present = {name(each) for each in services} | {text(each, "spec", "network", "subdomain") for each in services}
    for owner in objects:
        said = {host: host.split(".")[1] for word in _words(owner) for host in _hosts(word)}
        for host, service in said.items():
            meant = next((each for each in services if service not in present and _renamed(service, name(each))), None)
            if meant is not None:
                yield title(owner), host, title(meant)


def _hosts(word: str) -> Iterator[str]:
    yield from (match[0] for match in HOST.finditer(word))


def _words(data: Any) -> Iterator[str]:
    """Free text in the containers of an object's pods."""
    for _, pod in pod_templates(data):
        for container in (*items(pod, "spec", "containers"), *items(pod, "spec", "initContainers")):
            yield from (text(each, "value") for each in items(container, "env"))
            listed = (*items(container, "command"), *items(container, "args"))
            yield from (each for each in listed if isinstance(each, str))


# A kustomization and those below it, with the functions that each lists.

LISTS = ("generators", "transformers", "validators")

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


def walk(folder: str) -> list[Kustomization]:
    """The kustomization of a folder and all below it; empty where there is none."""
    found: list[Kustomization] = []
    _walk(folder, (), found)
    return found


def _walk(folder: str, above: tuple[Kustomization, ...], found: list[Kustomization]) -> None:
    document = inputs.kustomization(folder)
    if document is None or len(above) >= inputs.DEEPEST or len(found) >= MOST:
        return
    subject = f"kustomization:{len(found)}"
    functions = tuple(_listed(folder, document, LISTS, subject, deep=True))
    resources = tuple(_listed(folder, document, ("resources", "bases"), subject))
    own = Kustomization(folder, subject, document, above, functions, resources)
    found.append(own)
    for key in ("resources", "bases", "components"):
        for word in inputs.words(document.data, key):
            _walk(os.path.normpath(os.path.join(folder, word)), (*above, own), found)


def _listed(
    folder: str, document: Document, keys: tuple[str, ...], subject: str, deep: bool = False
) -> Iterator[Listed]:
    """The objects in the files of some lists; `deep`: in folders too."""
    for key in keys:
        for number, word in enumerate(inputs.words(document.data, key)):
            path = os.path.normpath(os.path.join(folder, word))
            held = inputs.objects(path) if deep else inputs.documents(path)
            for index, each in enumerate(held):
                if isinstance(each.data, dict):
                    yield Listed(f"{subject}:{key}:{number}:{index}", key, each)


def documents(each: Kustomization) -> Iterator[tuple[str, Document]]:
    """Subject and document of everything that diagnostics may name."""
    yield each.subject, each.document
    yield from ((one.subject, one.document) for one in (*each.functions, *each.resources))


def annotated(data: Any) -> Mapping[str, Any]:
    """The annotations of an object."""
    return mapping(data, "metadata", "annotations")


def ours(data: Any) -> bool:
    """Whether an object is of bayplan's own API."""
    return str(data.get("apiVersion", "")).startswith("bayplan.dev/")


# What kustomize makes of the folder: the build itself, Workflows that are left, names that no longer lead anywhere.

PLUGINS, EXEC = "--enable-alpha-plugins", "--enable-exec"
TIMEOUT = 300
"""Seconds that a build may take."""


def check_built(folder: str, found: Sequence[Kustomization]) -> Iterator[Diagnostic]:
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
    plain = not any(ours(one.data) for each in found for one in each.functions)
    flags = () if plain else (PLUGINS,) if not _functions(found) else (PLUGINS, EXEC)
    code, out, err = _run(program, "build", *flags, folder)
    if code:
        lines = [line for line in err.splitlines() if line[:1].strip()]
        notes = tuple(Note(one_line(line)) for line in lines[:20])
        yield error("O831", route, f"`{' '.join(['kustomize build', *flags, folder])}` fails", notes=notes)
        return
    documents = read("kustomize", out.encode(), "built", own=False).value or ()
    yield from _result([each.data for each in documents if isinstance(each.data, dict)], found[0])


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _functions(found: Sequence[Kustomization]) -> bool:
    return any(key in annotated(one.data) for each in found for one in each.functions for key in FUNCTION)


def _run(*command: str) -> tuple[int, str, str]:
    """Exit code, output and errors of a program."""
    import subprocess

    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", timeout=TIMEOUT)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return 1, "", str(problem)
    return done.returncode, done.stdout, done.stderr


def _result(objects: Sequence[Any], outermost: Kustomization) -> Iterator[Diagnostic]:
    route = (outermost.subject,)
    for each in objects:
        if ours(each) and each.get("kind") == "Workflow":
            message = f'the Workflow "{name(each)}" is still there after the build'
            yield error(
                "A967", route, message, hint="list a configuration of kind ExpandWorkflows under `transformers:`"
            )
    for owner, field, said, target in lost(objects):
        message = f'{owner}: {field} says "{said}", and it is {target} now'
        hint = "list the folder kustomize-plugin/references under `components:`"
        yield error("A968", route, message, hint=hint)
    for owner, channel in channels(objects):
        message = f'{owner} has another name now, and its channel template is still "{channel}"'
        hint = "give both one name, which kustomize can follow: two overlays in one namespace would share the template"
        yield warning("A968", route, message, hint=hint)
    for owner, said, target in hosts(objects):
        message = f'{owner} speaks of the host "{said}", and it is {target} now'
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


def check_listed(found: Sequence[Kustomization]) -> Iterator[Diagnostic]:
    """All of it."""
    for each in found:
        for function in each.functions:
            if ours(function.data) and function.data.get("kind") in KINDS:
                yield from _misplaced(function)
                yield from _program(each, function)
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


def _program(where: Kustomization, function: Listed) -> Iterator[Diagnostic]:
    """A966: what kustomize would call is not there."""
    key = next((key for key in FUNCTION if key in annotated(function.data)), None)
    if key is None:
        path = path_of(plugin_home(), function.data["kind"])
        if not os.access(path, os.X_OK):
            message = f"{function.data['kind']} names no program, and there is no plugin at {path}"
            hint = "annotate it with `config.kubernetes.io/function: |` and `exec: {path: bayplan-krm}`"
            yield error(
                "A966", (function.subject, "kind"), message, hint=f"{hint}; or run `bayplan kustomize install-legacy`"
            )
        return
    route: Route = (function.subject, "metadata", "annotations", key)
    program = _path(annotated(function.data)[key])
    if program is not None and not _runs(where.folder, program):
        message = f'kustomize would call "{program}", and there is no such program'
        looked = (
            "a name without a slash is looked for in PATH; a path is seen from the kustomization that lists the file"
        )
        yield error("A966", route, message, hint=looked)


def _path(text: Any) -> str | None:
    """`exec.path` of a function annotation; None where it is none, which kustomize itself says."""
    found = read("", str(text).encode(), "annotation", own=False).value
    data = found[0].data if found else None
    inner = data.get("exec") if isinstance(data, dict) else None
    path = inner.get("path") if isinstance(inner, dict) else None
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
    expanding = [each.folder for each in found for one in each.functions if _expands(one)]
    for each in found:
        reached = [outer.folder for outer in (*each.above, each)]
        for one in each.resources:
            if not ours(one.data) or one.data.get("kind") != "Workflow":
                continue
            name = (
                str(one.data.get("metadata", {}).get("name", "")) if isinstance(one.data.get("metadata"), dict) else ""
            )
            if str(annotated(one.data).get(LOCAL, "")).lower() == "true":
                message = f'kustomize drops the Workflow "{name}" in the end, and says nothing'
                route: Route = (one.subject, "metadata", "annotations", LOCAL, KEY)
                yield error("A967", route, message, hint="remove the annotation")
            elif not set(expanding) & set(reached):
                hint = (
                    "list a configuration of kind ExpandWorkflows under `transformers:` of the outermost kustomization"
                )
                yield error("A967", (one.subject, "kind"), f'nothing expands the Workflow "{name}"', hint=hint)


def _expands(one: Listed) -> bool:
    return ours(one.data) and one.data.get("kind") == "ExpandWorkflows"


def _flags(found: Sequence[Kustomization]) -> Iterator[Diagnostic]:
    """O833: how the folder has to be built."""
    for each in found:
        for one in each.functions:
            if ours(one.data) and any(key in annotated(one.data) for key in FUNCTION):
                message = "kustomize runs this function with --enable-alpha-plugins and --enable-exec only"
                why = "with --enable-alpha-plugins alone it is skipped without a word, and kubectl has no other flag"
                yield info("O833", (one.subject, "kind"), message, notes=(Note(why),), hint=HINT)
                return


HINT = "for `kubectl kustomize`, leave the annotation out and run `bayplan kustomize install-legacy`"


def run(given: Given) -> int:
    """Reports on one folder with a kustomization."""
    folder = given.words[0] if given.words else "."
    found = walk(folder)
    if not found:
        message = f'there is no kustomization.yaml in "{folder}" that can be read'
        return finish(
            given, [Batch((error("O834", (), message, hint="name the folder that you build"),))], to_stdout=True
        )
    sources = {subject: document for each in found for subject, document in documents(each)}
    said = [*check_listed(found)]
    known = {each.code for each in said}
    said += [each for each in check_built(folder, found) if each.code != "A967" or each.code not in known]
    return finish(given, [Batch(tuple(dict.fromkeys(said)), sources)], to_stdout=True)
