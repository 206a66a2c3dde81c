"""One file per topology format. Each reads its format into a `ClusterTopology`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from bayplan.diagnostics import Outcome, Route
from bayplan.model.topology import ClusterTopology
from bayplan.values import NamedTuple


class ReadTopology(NamedTuple):
    """A topology and its origins: route in the native format -> route in the source, where the two differ.

    A route that is not listed has the origin of the longest listed route that it starts with, else it is its own.
    """

    topology: ClusterTopology
    origins: Mapping[Route, Route] = {}


if TYPE_CHECKING:  # making a Protocol takes longer than reading a workflow

    class Format(Protocol):
        """What each module of this package that is listed in `FORMATS` offers."""

        NAME: str

        def sniff(self, data: Any) -> bool:
            """Whether the data looks like this format."""

        def read(self, data: Any) -> Outcome[ReadTopology]:
            """The topology in the data."""


FORMATS: tuple[str, ...] = ("native",)
"""The modules of this package that are formats, in the order in which they sniff; each imported at its turn."""


def load(name: str) -> Format:
    """The format of that name."""
    from importlib import import_module

    module: Any = import_module(f"{__name__}.{name}")
    found: Format = module
    return found


def detect(data: Any) -> Format | None:
    """The first format that recognises the data."""
    return next((found for found in map(load, FORMATS) if found.sniff(data)), None)
