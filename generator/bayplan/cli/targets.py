"""Where an output of bayplan.yaml goes: `to`, and the words in braces in it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.cli.project import NAME, SUBJECT, Project
from bayplan.cli.tree import INDEX
from bayplan.diagnostics import Diagnostic, Route, error
from bayplan.words import did_you_mean

WORDS = ("workflow", "namespace")
_BRACES = re.compile(r"\{([^{}]*)\}")


def wrong(project: Project, entry: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    """A986: a place that is no good; A987: a word in braces that means nothing."""
    to: str = entry["to"]
    place = (SUBJECT, *route, "to")
    known = () if "export" in entry else WORDS
    strange = next((word for word in _BRACES.findall(to) if word not in known), None)
    if strange is not None:
        there = ", ".join(f"{{{word}}}" for word in known) or "none, because an export is of no one workflow"
        hint = did_you_mean(strange, known)
        yield error("A987", place, f'nothing stands for "{{{strange}}}" here; there is {there}', hint=hint)
    why = _outside(to) or _taken(project, to)
    if why:
        yield error("A986", place, f'"{to}" {why[0]}', hint=why[1])


def filled(to: str, **words: str) -> str:
    """The place with the words filled in."""
    return _BRACES.sub(lambda found: words[found[1]], to)


def _outside(to: str) -> tuple[str, str] | None:
    """Why a place is not below the project's folder, by its name alone."""
    if os.path.isabs(to) or os.pardir in to.split("/"):
        return "leads out of the project", f"outputs lie below the folder of {NAME}"
    if not to.isprintable():
        return "has characters that cannot be seen", "write it with letters, digits and the like"
    if ".git" in to.split("/"):
        return "lies in git's own folder", "write elsewhere"
    if os.path.normpath(to).split("/")[0] == INDEX:
        return "is the list of what is generated", "choose another name"
    return None


def _taken(project: Project, to: str) -> tuple[str, str] | None:
    """Why a file cannot have this name."""
    if to.endswith("/"):
        return None
    if os.path.normpath(to) == NAME:
        return "is the project file itself", "choose another name"
    if os.path.isdir(project.path(to)):
        return "is a folder", f'write "{to}/" for a file for each object in it'
    return None
