"""Parts of a translation: native data, where they came from, and what there is to say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.diagnostics import Diagnostic, Route
from bayplan.values import NamedTuple

ROOT: Route = ("workflow",)
ROLES: Route = ("workflow", "roles")


class Part(NamedTuple):
    """Some keys of a podSet; route below the podSet -> route in the application; diagnostics."""

    data: Mapping[str, Any] = {}
    origins: Mapping[Route, Route] = {}
    found: tuple[Diagnostic, ...] = ()


def given(**parts: Any) -> dict[str, Any]:
    """The parts that are not empty."""
    return {key: value for key, value in parts.items() if value not in (None, "", {}, [], ())}
