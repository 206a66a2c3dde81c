"""What the files say: functions in the wrong list, programs that are missing, Workflows that nothing expands."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from bayplan.cli.krm import KINDS
from bayplan.cli.krm.job import FUNCTION
from bayplan.cli.kustomize_doctor.tree import Kustomization, Listed, annotated, ours
from bayplan.cli.kustomize_install import path_of, plugin_home
from bayplan.diagnostics import KEY, Diagnostic, Note, Route, error, info, warning
from bayplan.text.document import read

PLACES = {
    "ExpandWorkflows": "transformers",
    "PlaceWorkloads": "transformers",
    "ValidateWorkloads": "validators",
    "Workflow": "generators",
}
"""Kind of a function -> the list in which it belongs."""

LOCAL = "config.kubernetes.io/local-config"
NAMING = ("namePrefix", "nameSuffix", "namespace")


def check(found: Sequence[Kustomization]) -> Iterator[Diagnostic]:
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
