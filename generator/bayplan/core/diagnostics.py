"""Findings are values; bugs are exceptions.

A diagnostic names a *route*: a subject (`workflow`, `topology`, ...) and the path of a value in that subject's native
format. Lines and columns exist only in `report`, which finds them again in the text when there is something to say.
"""

from collections.abc import Callable, Mapping
from typing import Generic, Literal, TypeVar

from bayplan.core.values import NamedTuple

Severity = Literal["error", "warning", "info"]
Route = tuple[str | int, ...]
"""`("workflow", "spec", "gangs", 0, "placement", "required")`. The first element names the subject:
`workflow`, `topology`, `manifest`, `policy`, `project` (documents) or `argument` (the command line)."""

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


class Note(NamedTuple):
    """A further place that explains a diagnostic."""

    message: str
    route: Route = ()


class Diagnostic(NamedTuple):
    """One finding. `code` has a row in `codes`; an empty `route` means the run as a whole.

    A route may end in the marker `KEY` where the key itself is at fault rather than its value.
    """

    code: str
    severity: Severity
    message: str
    route: Route = ()
    notes: tuple[Note, ...] = ()
    hint: str = ""


KEY = "\x00key"
"""Last element of a route that points at the mapping key, not at the value under it."""

AT = "\x00at"
"""Followed by a line and a column (both from 1): a place in a text that could not be read as data. Line and column of
the end may follow, exclusive."""

T = TypeVar("T")


class Outcome(NamedTuple, Generic[T]):
    """What every stage returns: a value (None when there is none to go on with) and what was found on the way."""

    value: T | None
    diagnostics: tuple[Diagnostic, ...] = ()


def moved(diagnostic: Diagnostic, move: Callable[[Route], Route]) -> Diagnostic:
    """The diagnostic with another route, and other routes of its notes."""
    notes = tuple(note._replace(route=move(note.route)) for note in diagnostic.notes)
    return diagnostic._replace(route=move(diagnostic.route), notes=notes)


def origin(route: Route, origins: Mapping[Route, Route]) -> tuple[Route, Route] | None:
    """Where the longest known part of a route leads, and what is left of it; None where no part is known."""
    cut = next((n for n in range(len(route), 0, -1) if route[:n] in origins), 0)
    return (origins[route[:cut]], route[cut:]) if cut else None


def error(code: str, route: Route, message: str, *, hint: str = "", notes: tuple[Note, ...] = ()) -> Diagnostic:
    """Something required cannot be had: exit 1, nothing written."""
    return Diagnostic(code, "error", message, route, notes, hint)


def warning(code: str, route: Route, message: str, *, hint: str = "", notes: tuple[Note, ...] = ()) -> Diagnostic:
    """Something preferred is lost, or likely not meant."""
    return Diagnostic(code, "warning", message, route, notes, hint)


def info(code: str, route: Route, message: str, *, hint: str = "", notes: tuple[Note, ...] = ()) -> Diagnostic:
    """Worth knowing; nothing is lost."""
    return Diagnostic(code, "info", message, route, notes, hint)


def has_errors(diagnostics: tuple[Diagnostic, ...] | list[Diagnostic]) -> bool:
    """Whether any of them is an error."""
    return any(d.severity == "error" for d in diagnostics)
