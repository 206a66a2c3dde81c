"""What kustomize makes of the folder: the build itself, Workflows that are left, names that no longer lead anywhere."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from bayplan.cli.krm.job import FUNCTION
from bayplan.cli.kustomize_doctor import names
from bayplan.cli.kustomize_doctor.tree import Kustomization, annotated, ours
from bayplan.diagnostics import Diagnostic, Note, error, info, warning
from bayplan.text.document import read
from bayplan.words import one_line

PLUGINS, EXEC = "--enable-alpha-plugins", "--enable-exec"
TIMEOUT = 300
"""Seconds that a build may take."""


def check(folder: str, found: Sequence[Kustomization]) -> Iterator[Diagnostic]:
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
            message = f'the Workflow "{names.name(each)}" is still there after the build'
            yield error(
                "A967", route, message, hint="list a configuration of kind ExpandWorkflows under `transformers:`"
            )
    for owner, field, said, target in names.lost(objects):
        message = f'{owner}: {field} says "{said}", and it is {target} now'
        hint = "list the folder kustomize-plugin/references under `components:`"
        yield error("A968", route, message, hint=hint)
    for owner, channel in names.channels(objects):
        message = f'{owner} has another name now, and its channel template is still "{channel}"'
        hint = "give both one name, which kustomize can follow: two overlays in one namespace would share the template"
        yield warning("A968", route, message, hint=hint)
    for owner, said, target in names.hosts(objects):
        message = f'{owner} speaks of the host "{said}", and it is {target} now'
        hint = "no configuration repairs free text: let ExpandWorkflows make it, or use `replacements:`"
        yield error("A968", route, message, hint=hint)
