"""What a module in `workflows/` or `topologies/` offers, and the value that it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from bayplan.diagnostics import Outcome, Route
from bayplan.document import Document
from bayplan.model.manifest import File, Manifest
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.values import NamedTuple

T = TypeVar("T")


class Source(NamedTuple):
    """What a format may ask that makes its data from a text: the word after --from, variables, and capabilities.

    `side` gives the bytes of a file beside the workflow's, or why not (its routes are filled in by whoever asks);
    `render` runs a template elsewhere, with little time and memory (`bayplan.sandbox`). None: there is no such thing.
    """

    format: str = ""
    variables: Mapping[str, int | float | str] = {}
    side: Callable[[str], Outcome[bytes]] | None = None
    render: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None


class SourceFile(NamedTuple):
    """A file that another system wrote: its text, and its documents where it is YAML or JSON.

    Routes into it start with `source:N` for document N of the list, `source:0` for the text.
    """

    name: str
    text: str
    documents: tuple[Document, ...] = ()


class Context(NamedTuple):
    """What a format may ask besides its own data: the cluster, documents that stand beside by subject, a renderer."""

    topology: ClusterTopology | None = None
    beside: Mapping[str, Document] = {}
    render: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None  # as in `Source`


class Read(NamedTuple, Generic[T]):
    """A workflow or a topology, and its origins: route in the native format -> route in the source, where they differ.

    A route that is not listed has the origin of the longest listed route that it starts with, else it is its own.
    """

    value: T
    origins: Mapping[Route, Route] = {}


if TYPE_CHECKING:  # making a Protocol takes longer than reading a workflow
    from typing import Protocol

    class Format(Protocol[T]):
        """A format. What it reads, its schema has accepted."""

        @property
        def NAME(self) -> str:  # noqa: N802
            """The word after `--from`."""

        @property
        def SCHEMA(self) -> str:  # noqa: N802
            """The kind whose schema judges its data."""

        def sniff(self, data: Any, /) -> bool:
            """Whether the data looks like this format."""

        def read(self, data: Any, context: Context, /) -> Outcome[Read[T]]:
            """The value in the data."""

    class Importer(Protocol):
        """A topology format that other systems write."""

        @property
        def NAME(self) -> str:  # noqa: N802
            """The word after `topology import --from`."""

        def sniff(self, source: SourceFile, /) -> bool:
            """Whether the file looks like this format."""

        def new(self, source: SourceFile, /) -> Outcome[dict[str, Any]]:
            """A ClusterTopology in the native format; pools with `domains: []` where the source knows no nodes."""

    class Exporter(Protocol):
        """A topology format that no scheduler's cluster objects are."""

        def write(self, topology: ClusterTopology, target: Target, /) -> tuple[Manifest | File, ...]:
            """The topology in this format."""


def detect(formats: Iterable[Format[T]], data: Any) -> Format[T] | None:
    """The first format that recognises the data."""
    return next((each for each in formats if each.sniff(data)), None)
