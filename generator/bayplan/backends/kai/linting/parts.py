"""What KAI's rules look at: PodGroups as trees, Topologies as lists of levels, pods for KAI."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bayplan.backends.kai.cluster import topology_name
from bayplan.backends.kai.pod_group import POD_GROUP, SUBGROUP
from bayplan.core.diagnostics import Route
from bayplan.core.values import NamedTuple
from bayplan.kube.objects import items, mapping, name, namespace, text
from bayplan.kube.templates import PodTemplate
from bayplan.linting.objects import LintContext, same_namespace
from bayplan.linting.schedulers import scheduler_names, scheduler_of
from bayplan.model.manifest import Object
from bayplan.model.topology import HOSTNAME_LABEL

API = "scheduling.run.ai"
KAI_TOPOLOGY = ("kai.scheduler", "Topology")
KUEUE_TOPOLOGY = ("kueue.x-k8s.io", "Topology")


class Node(NamedTuple):
    """The root of a PodGroup (its name is empty) or one of its subgroups."""

    name: str
    parent: str
    data: Mapping[str, object]
    route: Route

    def title(self, group: Object) -> str:
        """How messages call it."""
        whole = f'PodGroup "{name(group)}"'
        return f'subgroup "{self.name}" of {whole}' if self.name else whole


def pod_groups(context: LintContext) -> Sequence[Object]:
    """KAI's PodGroups."""
    return context.of(API, "PodGroup")


def root(group: Object) -> Node:
    """The PodGroup itself."""
    return Node("", "", mapping(group.data, "spec"), (*group.route, "spec"))


def subgroups(group: Object) -> Iterator[Node]:
    """Its subgroups, in the order written; those without a name are left out."""
    for index, each in enumerate(items(group.data, "spec", "subGroups")):
        if text(each, "name"):
            route: Route = (*group.route, "spec", "subGroups", index)
            yield Node(text(each, "name"), text(each, "parent"), mapping(each), route)


def leaves(group: Object) -> dict[str, Node]:
    """Subgroups in which pods may be: those that are nobody's parent."""
    nodes = list(subgroups(group))
    parents = {node.parent for node in nodes}
    return {node.name: node for node in nodes if node.name not in parents}


def ancestors(node: Node, nodes: Mapping[str, Node]) -> Iterator[Node]:
    """The subgroups around one, nearest first; a cycle ends it."""
    seen = {node.name}
    while node.parent in nodes and node.parent not in seen:
        seen.add(node.parent)
        node = nodes[node.parent]
        yield node


class Levels(NamedTuple):
    """The levels of a Topology, coarse to fine, and where it is written (empty: in the topology file)."""

    labels: tuple[str, ...]
    aliases: Mapping[str, str]
    route: Route = ()

    def depth(self, level: str) -> int | None:
        """0 for the coarsest; None for no level of this Topology."""
        label = self.aliases.get(level, level)
        return self.labels.index(label) if label in self.labels else None


def known_levels(context: LintContext) -> dict[str, Levels]:
    """Topologies by name: those of the manifests, else those that the topology file would export."""
    found: dict[str, Levels] = {}
    for pool in context.topology.pools:
        labels = tuple(level.label for level in pool.levels)
        found[topology_name(context.topology, pool.name)] = Levels((*labels, HOSTNAME_LABEL), {})
    own = KAI_TOPOLOGY if context.target.since("kai", "0.12") else KUEUE_TOPOLOGY
    for one in context.of(*own):
        each = [level for level in items(one.data, "spec", "levels") if text(level, "nodeLabel")]
        aliases = {text(level, "alias"): text(level, "nodeLabel") for level in each if text(level, "alias")}
        found[name(one)] = Levels(tuple(text(level, "nodeLabel") for level in each), aliases, one.route)
    return found


def for_kai(template: PodTemplate, context: LintContext) -> bool:
    """Whether its pods are given to KAI."""
    return scheduler_of(template) in scheduler_names(context.topology, "kai", "kai-scheduler")


def group_of(template: PodTemplate) -> str:
    """The PodGroup that its pods name."""
    return text(template.annotations, POD_GROUP)


def subgroup_of(template: PodTemplate) -> str:
    """The subgroup that its pods name. Without one KAI takes `default`."""
    return text(template.labels, SUBGROUP)


def members(group: Object, context: LintContext) -> list[PodTemplate]:
    """The templates whose pods name a PodGroup."""
    members = context.members.get(name(group), ()) if name(group) else ()
    return [each for each in members if same_namespace(namespace(each.object), namespace(group))]
