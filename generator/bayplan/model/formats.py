"""What a module in `workflows/` or `topologies/` offers, and the value that it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from bayplan.core.diagnostics import Diagnostic, Outcome, Route
from bayplan.core.values import NamedTuple
from bayplan.model.manifest import File, Manifest
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology, Level, Pool
from bayplan.text.document import Document

T = TypeVar("T")


class Source(NamedTuple):
    """What a format may ask that makes its data from a text: the word after --from, variables, and capabilities.

    `read_file` gives the bytes of a file beside the workflow's, or why not (its routes are filled in by whoever asks);
    `render` runs a template elsewhere, with little time and memory (`bayplan.sandbox`). None: there is no such thing.
    """

    format: str = ""
    variables: Mapping[str, int | float | str] = {}
    read_file: Callable[[str], Outcome[bytes]] | None = None
    render: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None


class SourceFile:
    """A file that another system wrote. What is here is held in memory; `bayplan.cli.source_files` reads on demand.

    Routes into document N of it start with `at(N)`; with `at(), AT, line, column` for a place in its text.
    """

    def __init__(self, name: str, text: str = "", documents: tuple[Document, ...] = (), number: int = 0) -> None:
        self.name, self.number, self._text, self._documents = name, number, text, documents

    @property
    def head(self) -> str:
        """Its beginning: enough to recognise a file that is too large to be read for that."""
        return self._text[:HEAD]

    @property
    def text(self) -> str:
        """All of it: no byte order mark, each line ended by a line feed."""
        return self._text

    @property
    def documents(self) -> tuple[Document, ...]:
        """What it holds if it is YAML or JSON; nothing where it is neither."""
        return self._documents

    @property
    def faults(self) -> tuple[Diagnostic, ...]:
        """Why there are no documents, where it is to be YAML or JSON."""
        return ()

    def chunks(self) -> Iterator[str]:
        """The text in pieces, never whole in memory."""
        yield self._text

    def at(self, document: int = 0) -> Route:
        """How routes into a document start, and routes into the text."""
        return (f"source:{self.number}:{document}",)


HEAD = 2**16
"""Characters of `SourceFile.head`."""


class ReadOptions(NamedTuple):
    """What the command line, and other sources beside, ask of a format that knows nodes."""

    levels: tuple[Level, ...] = ()  # --level, coarse to fine
    frames: tuple[Pool, ...] = ()  # pools without domains: their levels and selectors say how nodes are sorted
    preset: str = ""  # --preset: whose labels to read
    labels: frozenset[str] = frozenset()  # keys that other sources ask of every node
    exclude_incomplete: bool = False  # leave out nodes that lack a level's label, rather than refuse them
    plan: int = 0  # nodes of each finest domain that may be planned
    headroom: Mapping[str, int] = {}  # cpu, memory: thousandths that every node keeps for pods of others
    nodes: Mapping[str, Mapping[str, str]] = {}  # node -> the `labels` that it has, as another source said


class Part(NamedTuple):
    """What one source says of a cluster.

    A pool may have no domains (a frame: levels, selectors), no levels (shapes only), an empty node (a tree only).
    """

    topology: ClusterTopology
    places: Mapping[str, Route] = {}  # node -> where the source speaks of it
    aliases: Mapping[str, str] = {}  # another name of a node (instance id, Slurm's name, host name) -> its name
    labels: Mapping[str, Mapping[str, str]] = {}  # node -> those of `ReadOptions.labels` that it has
    source: str = ""  # the file's name, for messages


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

    class TextFormat(Format[Any], Protocol):
        """A format of workflows whose files are no YAML, or more than YAML."""

        @property
        def TITLE(self) -> str:  # noqa: N802
            """What such a file is: `an OSMO workflow`."""

        @property
        def MARKS(self) -> tuple[bytes, ...]:  # noqa: N802
            """Bytes of which some stand in every such file: files without are not decoded to look for it."""

        def claims(self, text: str, /) -> bool:
            """Whether the text is such a file."""

        def start(self, text: str, /) -> int:
            """The line by which one recognises it."""

        def documents(
            self, name: str, raw: bytes, text: str, subject: str, source: Source, /
        ) -> Outcome[tuple[Document, ...]]:
            """The data of a text, which `read` is to take; routes to a place in it are (subject, AT, line, column)."""

    class Importer(Protocol):
        """The reader of a topology source (`bayplan.topologies.SOURCES`).

        Optional: `needed_labels(source) -> frozenset[str]`, labels that it needs of every node (`ReadOptions.nodes`).
        """

        def sniff(self, source: SourceFile, /) -> bool:
            """Whether the file looks like this format, or holds objects of it."""

        def new(self, source: SourceFile, asked: ReadOptions, /) -> Outcome[Part]:
            """What the file says of a cluster."""

    class Exporter(Protocol):
        """A topology format that no scheduler's cluster objects are.

        Optional: `judge(topology, target)`, what it has to say of a topology before it is written.
        """

        def write(self, topology: ClusterTopology, target: Target, /) -> tuple[Manifest | File, ...]:
            """The topology in this format."""


def detect(formats: Iterable[Format[T]], data: Any) -> Format[T] | None:
    """The first format that recognises the data."""
    return next((each for each in formats if each.sniff(data)), None)
