"""Where something stands in a script, and what is said about it."""

from __future__ import annotations

from bayplan.diagnostics import AT, Diagnostic, Route, error, info, warning
from bayplan.values import NamedTuple

SUBJECT = "workflow"


class Spot(NamedTuple):
    """Line and column, both from 1."""

    line: int = 1
    column: int = 1

    @property
    def route(self) -> Route:
        """For a diagnostic."""
        return (SUBJECT, AT, self.line, self.column)


class Findings:
    """What was found so far, each once."""

    def __init__(self) -> None:
        self.found: dict[Diagnostic, None] = {}

    def error(self, code: str, spot: Spot, message: str, hint: str = "") -> None:
        """Something that cannot be carried, and must be."""
        self.found[error(code, spot.route, message, hint=hint)] = None

    def warning(self, code: str, spot: Spot, message: str, hint: str = "") -> None:
        """Something that is lost."""
        self.found[warning(code, spot.route, message, hint=hint)] = None

    def info(self, code: str, spot: Spot, message: str, hint: str = "") -> None:
        """Something worth knowing."""
        self.found[info(code, spot.route, message, hint=hint)] = None

    def all(self) -> tuple[Diagnostic, ...]:
        """In the order found."""
        return tuple(self.found)
