"""Findings are values; bugs are exceptions.

A diagnostic names a *route*: a subject (`workflow`, `topology`, ...) and the path of a value in that subject's native
format. Lines and columns exist only in `report`, which finds them again in the text when there is something to say.
"""

from collections.abc import Callable, Mapping
from typing import Generic, Literal, NamedTuple, TypeVar

Severity = Literal["error", "warning", "info"]
Route = tuple[str | int, ...]
"""`("workflow", "spec", "gangs", 0, "placement", "required")`. The first element names the subject:
`workflow`, `topology`, `manifest`, `policy`, `project` (documents) or `argument` (the command line)."""

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


class Note(NamedTuple):
    """Another place that explains a diagnostic."""

    message: str
    route: Route = ()


class Diagnostic(NamedTuple):
    """One finding. `code` has a section in docs/reference/diagnostics. An empty `route` means the whole run.

    A route ends in the marker `KEY` if the key itself is invalid, not its value.
    """

    code: str
    severity: Severity
    message: str
    route: Route = ()
    notes: tuple[Note, ...] = ()
    hint: str = ""


KEY = "\x00key"
"""Last element of a route that points at the key of a mapping, not at its value."""

AT = "\x00at"
"""A line and a column (both from 1) follow it: a place in an invalid document. The exclusive line and column
of the end may follow too."""

T = TypeVar("T")


class Outcome(NamedTuple, Generic[T]):
    """The result of every stage: a value (None if later stages cannot run) and the diagnostics."""

    value: T | None
    diagnostics: tuple[Diagnostic, ...] = ()


def moved(diagnostic: Diagnostic, move: Callable[[Route], Route]) -> Diagnostic:
    """The diagnostic with its route and the routes of its notes changed by `move`."""
    notes = tuple(note._replace(route=move(note.route)) for note in diagnostic.notes)
    return diagnostic._replace(route=move(diagnostic.route), notes=notes)


def origin(route: Route, origins: Mapping[Route, Route]) -> tuple[Route, Route] | None:
    """The origin of the longest known part of a route, and the rest of the route. None if no part is known."""
    cut = next((n for n in range(len(route), 0, -1) if route[:n] in origins), 0)
    return (origins[route[:cut]], route[cut:]) if cut else None


def error(code: str, route: Route, message: str, *, hint: str = "", notes: tuple[Note, ...] = ()) -> Diagnostic:
    """A requirement that cannot be met: exit code 1, and bayplan writes nothing."""
    return Diagnostic(code, "error", message, route, notes, hint)


def warning(code: str, route: Route, message: str, *, hint: str = "", notes: tuple[Note, ...] = ()) -> Diagnostic:
    """A lost preference, or a probable mistake."""
    return Diagnostic(code, "warning", message, route, notes, hint)


def info(code: str, route: Route, message: str, *, hint: str = "", notes: tuple[Note, ...] = ()) -> Diagnostic:
    """Information without a loss."""
    return Diagnostic(code, "info", message, route, notes, hint)


def has_errors(diagnostics: tuple[Diagnostic, ...] | list[Diagnostic]) -> bool:
    """Whether any of them is an error."""
    return any(d.severity == "error" for d in diagnostics)
