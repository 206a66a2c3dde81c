"""The workflow files that an output of bayplan.yaml names, by name or by pattern."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from glob import glob, has_magic

from bayplan.cli import generated
from bayplan.cli.project import SUBJECT, Project
from bayplan.diagnostics import Diagnostic, Route, error, warning
from bayplan.values import NamedTuple

EXCEPT = "!"


class Matched(NamedTuple):
    """The files, as seen from the project's folder, in the order of their names, and what is odd about the patterns."""

    files: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]


def match(project: Project, patterns: Sequence[str], route: Route) -> Matched:
    """What the patterns match, less what those with a `!` do. A983: one matches nothing; A984: a file is not there."""
    taken: set[str] = set()
    found: list[Diagnostic] = []
    for number, pattern in enumerate(patterns):
        plain = pattern.removeprefix(EXCEPT)
        matched = set(_files(project, plain))
        taken = taken - matched if plain != pattern else taken | matched
        found += _odd(project, plain, bool(matched), (*route, number))
    if not taken and not found:
        message = "no file is left of what the patterns match"
        found.append(warning("A983", (SUBJECT, *route), message, hint="a `!` takes out of what stands before it"))
    return Matched(tuple(sorted(taken)), tuple(found))


def _files(project: Project, pattern: str) -> Iterator[str]:
    """A name stands for itself; a pattern for regular files that bayplan has not made."""
    if not has_magic(pattern):
        yield os.path.normpath(pattern)
        return
    for name in glob(pattern, root_dir=project.folder or None, recursive=True):
        path = project.path(name)
        if os.path.isfile(path) and not generated.is_ours(path):
            yield os.path.normpath(name)


def _odd(project: Project, pattern: str, matched: bool, route: Route) -> Iterator[Diagnostic]:
    if not matched:
        yield warning("A983", (SUBJECT, *route), f'"{pattern}" matches no file', hint="correct it or take it out")
    elif not has_magic(pattern) and not os.path.lexists(project.path(pattern)):
        hint = f"correct the name or take it out; a pattern such as {_pattern(pattern)} follows what comes and goes"
        yield error("A984", (SUBJECT, *route), f'there is no file "{pattern}"', hint=hint)


def _pattern(name: str) -> str:
    """`jobs/*.yaml` for `jobs/train.yaml`."""
    return os.path.join(os.path.dirname(name), f"*{os.path.splitext(name)[1] or '.yaml'}")
