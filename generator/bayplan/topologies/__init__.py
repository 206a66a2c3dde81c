"""Topology sources: descriptions of a cluster by other systems, for `topology import` and `topology export`.

`native` is bayplan's format. Each other format has a row here. The commands, their completion, the tables of the
documentation and the tests follow from the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from bayplan import plugins
from bayplan.core.values import Modules

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Protocol

    from bayplan.core.diagnostics import Diagnostic, Outcome
    from bayplan.model.topology import ClusterTopology
    from bayplan.report import Batch
    from bayplan.text.document import Document
    from bayplan.text.edits import Edit

    class Configuration(Protocol):
        """The configuration of another system: a file beside workflows, from which a topology can start."""

        @property
        def SUBJECT(self) -> str:  # noqa: N802
            """The subject of its routes."""

        def split(self, word: str, /) -> tuple[str, str]:
            """File and part, of FILE#PART."""

        def load(self, word: str, /) -> tuple[Document | None, Batch]:
            """The document, reduced to the named part."""

        def pick(self, documents: Sequence[Document], name: str, /) -> tuple[Document | None, Batch]:
            """The document of a file, reduced to the named part."""

        def useless(self, workflows: Iterable[Document], /) -> tuple[Diagnostic, ...]:
            """A931: none of the workflows uses the configuration."""

        def new(self, document: Document, /) -> Outcome[ClusterTopology]:
            """The topology that the configuration describes, without nodes."""

        def update(self, document: Document, topology: ClusterTopology, /) -> Outcome[tuple[Edit, ...]]:
            """What the configuration adds to a topology."""

        def is_empty(self, diagnostics: Iterable[Diagnostic], /) -> bool:
            """Whether the document has another format."""


class Doc(NamedTuple):
    """A row of the table of formats in the documentation: what the files are, what they contain, what they lack."""

    title: str
    contains: str
    lacks: str = ""


class Source(NamedTuple):
    """A topology source. bayplan loads the modules, which are in `package`, when it needs them.

    `reader` has `sniff(source)` and `new(source, options)`. It has `needed_labels(source)` if the node labels that it
    needs depend on the file. `writer` has `write(topology, target)`. It can have `judge(topology, target)`, which gives
    diagnostics before the export. Without a `writer`, the scheduler `to` writes the format.
    """

    name: str  # the word after --from
    reader: str = ""
    doc: Doc | None = None
    objects: bool = False  # its files have Kubernetes objects, and one file can have objects for several sources
    nodes: bool = True  # it names nodes; bayplan reads other sources first, because they name the labels of levels
    states: tuple[str, ...] = ()  # the states of unusable nodes that it knows
    node_labels: tuple[str, ...] = ()  # labels that it needs of every node (`ReadOptions.nodes`)
    to: str = ""  # the word after --to
    older: tuple[str, str] = ("", "")  # before this version of the scheduler `to`, the losses are those of that format
    writer: str = ""
    scheduler: str = ""  # the scheduler whose limits apply to the output of `writer`
    package: str = __name__  # where its modules are
    losses: str = ""  # what the format cannot represent: names of `losses.LOSSES`, in the order of their removal


STATES = ("cordoned", "notReady", "unhealthy")

SETTINGS = "name read versions images data priorities defaults schedulers accelerators fabrics namespaces"
"""Facts about a cluster besides its nodes and its queues."""
UNNETWORKED = SETTINGS.replace(" fabrics", "")
NODE = "cards resources template"
"""What a node offers."""
PLACEMENT = "selectors tolerations"
"""How pods select a pool's nodes."""
LEVEL = "plan unique apply"
"""Fields of a level besides name and label."""
ROW = "nvlink_domains leaves"
"""Fields of a domain besides its place and nodes."""
POOL = f"{SETTINGS} queues {NODE} {PLACEMENT}"
NODELESS = "domains unusable"
NAMES = "level_names nvlink_unknown"

CORE: tuple[Source, ...] = (
    Source(
        *("nodes", "kubernetes_nodes.source"),
        Doc("Kubernetes nodes", "levels as node labels, domains with nodes, node resources, node state, versions"),
        objects=True,
        states=STATES,
    ),
    Source(
        *("koordinator", "koordinator"),
        Doc("Koordinator ClusterNetworkTopology", "levels as node labels", "domains, nodes"),
        objects=True,
        nodes=False,
        to="koordinator",
        losses=f"{POOL} nvlink {LEVEL} {NODELESS} layers",
    ),
    Source(
        *("hypernodes", "hypernodes.reading"),
        Doc("Volcano HyperNodes", "domains with nodes", "node resources, node state"),
        objects=True,
        to="volcano",
        losses=f"{POOL.removeprefix('name ')} nvlink {LEVEL} {ROW} unlevelled unusable_nodes empty one_tree by_name",
    ),
    Source(
        *("kueue", "kueue"),
        Doc(
            "Kueue Topologies, ResourceFlavors and queues",
            "levels as node labels, flavors, queues, quotas",
            "domains, nodes",
        ),
        objects=True,
        nodes=False,
        to="kueue",
        losses=f"default_queue kueue_quotas flavors {SETTINGS} {NODE} every_node {NAMES} {LEVEL} {NODELESS}",
    ),
    Source(
        *("kai", "kai"),
        Doc("KAI Topology and Queues", "levels as node labels, queues", "domains, nodes"),
        objects=True,
        nodes=False,
        to="kai",
        losses=f"default_queue kai_quotas {SETTINGS} {NODE} {PLACEMENT} {NAMES} {LEVEL} {NODELESS} lists numbered",
    ),
    Source(
        *("volcano-discovery", "volcano_discovery"),
        Doc("configuration of Volcano's HyperNode discovery", "levels as node labels", "domains, nodes"),
        objects=True,
        nodes=False,
        to="volcano-discovery",
        losses=f"{POOL} {NAMES} {LEVEL} {NODELESS} unlevelled lists numbered",
    ),
    Source(
        *("node-labels", ""),
        Doc(
            "Node objects with labels, read with `--from nodes`",
            "levels as node labels",
            "order of levels, node resources",
        ),
        to="node-labels",
        writer="node_labels",
        losses=f"{POOL} {ROW} unusable empty carried {NAMES} {LEVEL} unlevelled one_tree by_path",
    ),
)

_GROUPS: Mapping[str, str] = {
    "POOL": POOL, "SETTINGS": SETTINGS, "UNNETWORKED": UNNETWORKED, "LEVEL": LEVEL, "ROW": ROW
}  # fmt: skip
"""What stands for several losses in the rows of plug-ins."""


def _of_plugin(row: Mapping[str, Any]) -> Source:
    losses = " ".join(_GROUPS.get(word, word) for word in row.get("losses", "").split())
    lists = {key: tuple(value) for key, value in row.items() if isinstance(value, list)}
    return Source(**{**row, **lists, "doc": Doc(*row["doc"]), "losses": losses})


SOURCES = (*CORE, *map(_of_plugin, plugins.rows("topologies")))
"""In the order of detection."""


CONFIGURATIONS: Mapping[str, Configuration] = Modules(
    {row["name"]: row["module"] for row in plugins.rows("configurations")}
)
"""Formats of configurations that name no nodes (FILE#PART names a part): the formats of a file that no source
recognizes."""

READ: Mapping[str, Source] = {each.name: each for each in SOURCES if each.reader}
"""By the word after `topology import --from`."""

FROM = (*CONFIGURATIONS, *READ)
"""All words after `topology import --from`."""

WRITTEN: Mapping[str, Source] = {each.to: each for each in SOURCES if each.writer}
"""By the word after `topology export --to`, without the formats of schedulers."""
