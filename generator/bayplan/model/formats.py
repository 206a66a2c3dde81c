"""The interfaces of modules in `workflows/` and `topologies/`, and the values that they read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from bayplan.core.diagnostics import Diagnostic, Outcome, Route
from bayplan.model.manifest import File, Manifest
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology, Level, Pool
from bayplan.text.document import Document

T = TypeVar("T")


class Source(NamedTuple):
    """Input of a format that creates its data from a string: the word after --from, variables, and capabilities.

    `read_file` gives the bytes of a file beside the workflow's, or why not (the caller fills in its routes).
    `render` runs a template elsewhere, with little time and memory. None: there is no such thing.
    """

    format: str = ""
    variables: Mapping[str, int | float | str] = {}
    read_file: Callable[[str], Outcome[bytes]] | None = None
    render: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None


class SourceFile:
    """A file of another system, in memory. `bayplan.cli.source_files` reads on demand.

    Routes into document N of it start with `at(N)`; with `at(), AT, line, column` for a place in its text.
    """

    def __init__(self, name: str, text: str = "", documents: tuple[Document, ...] = (), number: int = 0) -> None:
        self.name, self.number, self._text, self._documents = name, number, text, documents

    @property
    def head(self) -> str:
        """Its beginning, which is enough to recognise a large file."""
        return self._text[:HEAD]

    @property
    def text(self) -> str:
        """The whole text, without a byte order mark and with line feeds as line ends."""
        return self._text

    @property
    def documents(self) -> tuple[Document, ...]:
        """Its documents if it is YAML or JSON; otherwise none."""
        return self._documents

    @property
    def faults(self) -> tuple[Diagnostic, ...]:
        """The reason why there are no documents, if it must be YAML or JSON."""
        return ()

    def chunks(self) -> Iterator[str]:
        """The text in pieces, never whole in memory."""
        yield self._text

    def at(self, document: int = 0) -> Route:
        """The start of routes into a document, and of routes into the text."""
        return (f"source:{self.number}:{document}",)


HEAD = 2**16
"""Characters of `SourceFile.head`."""


class ReadOptions(NamedTuple):
    """Options of the command line and of other sources for a format with nodes."""

    levels: tuple[Level, ...] = ()  # --level, coarse to fine
    frames: tuple[Pool, ...] = ()  # pools without domains: their levels and selectors sort the nodes
    fixed_levels: bool = False  # the frames are pools of a topology file, whose levels stay
    preset: str = ""  # --preset: whose labels to read
    labels: frozenset[str] = frozenset()  # keys of labels that other sources need of every node
    exclude_incomplete: bool = False  # skip nodes without a level's label instead of reporting them
    accelerated_only: bool = False  # skip nodes without accelerators, if others have some
    plan: int = 0  # nodes of each finest domain that plans may use
    headroom: Mapping[str, int] = {}  # cpu, memory: thousandths that every node reserves for other pods
    nodes: Mapping[str, Mapping[str, str]] = {}  # node -> the `labels` that it has in another source


class Part(NamedTuple):
    """The content of one source about a cluster.

    A pool may have no domains (a frame: levels, selectors), no levels (shapes only), an empty node (a tree only).
    """

    topology: ClusterTopology
    places: Mapping[str, Route] = {}  # node -> its place in the source
    aliases: Mapping[str, str] = {}  # another name of a node (instance id, Slurm's name, host name) -> its name
    labels: Mapping[str, Mapping[str, str]] = {}  # node -> those of `ReadOptions.labels` that it has
    source: str = ""  # the file's name, for messages
    at: Route = ()  # the beginning of the file


class Context(NamedTuple):
    """What a format can use besides its own data: the cluster, other documents by subject, a renderer, a priority."""

    topology: ClusterTopology | None = None
    beside: Mapping[str, Document] = {}
    render: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None  # as in `Source`
    priority: str = ""  # the PriorityClass of the command line


class Read(NamedTuple, Generic[T]):
    """A workflow or a topology, and its origins: route in the native format -> route in the source, where they differ.

    A route that is not listed has the origin of the longest listed route that it starts with, otherwise itself.
    """

    value: T
    origins: Mapping[Route, Route] = {}


if TYPE_CHECKING:

    class Format(Protocol[T]):
        """A format. Its schema has accepted the data that it reads."""

        @property
        def SCHEMA(self) -> str:  # noqa: N802
            """The kind whose schema validates its data."""

        def sniff(self, data: Any, /) -> bool:
            """Whether the data looks like this format."""

        def read(self, data: Any, context: Context, /) -> Outcome[Read[T]]:
            """The value in the data."""

    class TextFormat(Format[Any], Protocol):
        """A format of workflows whose files are not YAML, or more than YAML."""

        def claims(self, text: str, /) -> bool:
            """Whether the text is such a file."""

        def start(self, text: str, /) -> int:
            """The line that identifies the format."""

        def documents(
            self, name: str, raw: bytes, text: str, subject: str, source: Source, /
        ) -> Outcome[tuple[Document, ...]]:
            """The data of a file for `read`. Routes to a place in it are (subject, AT, line, column)."""

    class Importer(Protocol):
        """The reader of a topology source (`bayplan.topologies.SOURCES`).

        Optional: `needed_labels(source) -> frozenset[str]`, labels that it needs of every node (`ReadOptions.nodes`).
        """

        def sniff(self, source: SourceFile, /) -> bool:
            """Whether the file looks like this format, or has objects of it."""

        def new(self, source: SourceFile, asked: ReadOptions, /) -> Outcome[Part]:
            """The content of the file about a cluster."""

    class Exporter(Protocol):
        """A topology format that is not the cluster objects of a scheduler.

        Optional: `judge(topology, target)`, what it has to say of a topology before it is written.
        """

        def write(self, topology: ClusterTopology, target: Target, /) -> tuple[Manifest | File, ...]:
            """The topology in this format."""


def detect(formats: Mapping[str, Format[Any]], data: Any) -> str:
    """The name of the first format that recognises the data; empty if none does."""
    return next((name for name, format_ in formats.items() if format_.sniff(data)), "")
