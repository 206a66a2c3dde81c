"""Cluster objects that others wrote for Kueue: Topologies against nodes, flavors, queues (Kueue 0.14 to 0.19)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.backends.kueue.lint_workloads import check_workloads, is_ordered, is_topology, levels_of
from bayplan.backends.kueue.lower import LEVEL_LENGTH
from bayplan.core.diagnostics import KEY, Diagnostic, Route, error, warning
from bayplan.core.phrases import listing, suggest
from bayplan.kube.objects import get, items, mapping, text
from bayplan.linting.objects import LintContext, Rule
from bayplan.model.manifest import Object
from bayplan.model.target import Target
from bayplan.model.topology import HOSTNAME_LABEL, ClusterTopology, Pool

API = "kueue.x-k8s.io/"
MOST_LEVELS = 16
MOST_LABELS = 8
MOST_KEY = 316


def check_cluster_objects(context: LintContext) -> Iterator[Diagnostic]:
    """Everything that is wrong with the cluster objects."""
    topology, target = context.topology, context.target
    ours = [each for each in context.objects if text(each.data, "apiVersion").startswith(API)]
    for each in ours:
        yield from _version(each, target)
        if is_topology(each):
            yield from _topology(each, topology, target)
        elif each.data.get("kind") == "ResourceFlavor":
            yield from _flavor(each, ours, topology)
        elif each.data.get("kind") == "ClusterQueue":
            yield from _cluster_queue(each, ours)
        elif each.data.get("kind") == "LocalQueue":
            yield from _local_queue(each, ours)


def _version(each: Object, target: Target) -> Iterator[Diagnostic]:
    """M748: v1alpha1 is gone since 0.14, v1beta2 came with 0.15, which deprecates v1beta1.

    Up to 0.11 KAI had no Topology of its own and read Kueue's of old.
    """
    given, version = text(each.data, "apiVersion").removeprefix(API), target.version("kueue")
    at = (*each.route, "apiVersion")
    newer = target.since("kueue", "0.15")
    best = "v1beta2" if newer else "v1beta1"
    if given == "v1alpha1" and "kai" in target.versions and not target.since("kai", "0.12"):
        return
    if given == "v1beta1" and newer:
        yield warning("M748", at, f"Kueue {version} serves v1beta1 still, but deprecates it", hint="write v1beta2")
    elif given != best and text(each.data, "kind") in SERVED:
        yield error(
            "M748", at, f'Kueue {version} does not serve {text(each.data, "kind")} in "{given}"', hint=f"write {best}"
        )


SERVED = ("Topology", "ResourceFlavor", "ClusterQueue", "LocalQueue", "Workload", "WorkloadPriorityClass")


def _topology(each: Object, topology: ClusterTopology, target: Target) -> Iterator[Diagnostic]:
    levels, at = levels_of(each), (*each.route, "spec", "levels")
    if fault := _refused_by_crd(levels):
        yield error("M740", at, f"Kueue refuses this Topology: {fault}")
        return
    for number, label in enumerate(levels):
        if len(label) > LEVEL_LENGTH and target.since("kueue", "0.15"):
            message = (
                f'no workload can ask for "{label}": it has {len(label)} characters, and {LEVEL_LENGTH} is the most'
            )
            yield warning("M744", (*at, number, "nodeLabel"), message, hint="copy it into a label with a shorter key")
    if levels[-1] != HOSTNAME_LABEL:
        message = f'without "{HOSTNAME_LABEL}" as its last level Kueue sees no taints and replaces no single node'
        yield warning("M743", at, message, hint=f"add the level {HOSTNAME_LABEL}")
    yield from _against_pools(levels, at, topology)


def _refused_by_crd(levels: Sequence[str]) -> str:
    """What the CRD says of a list of levels."""
    if not 1 <= len(levels) <= MOST_LEVELS:
        return f"it has {len(levels)} levels, and 1 to {MOST_LEVELS} are allowed"
    if not all(0 < len(label) <= MOST_KEY for label in levels):
        return f"every level needs a nodeLabel of at most {MOST_KEY} characters"
    if twice := sorted({label for label in levels if levels.count(label) > 1}):
        return f"it names {listing(twice, 'and')} twice"
    if HOSTNAME_LABEL in levels[:-1]:
        return f'"{HOSTNAME_LABEL}" can only be the last level'
    return ""


def _against_pools(levels: Sequence[str], at: Route, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """M741: labels that no node has, and an order that no pool has."""
    named = [label for label in levels if label != HOSTNAME_LABEL]
    lists = [tuple(level.label for level in pool.levels) for pool in _with_nodes(topology)]
    if not lists:
        return
    known = dict.fromkeys(label for labels in lists for label in labels)
    for label in (label for label in named if label not in known):
        message = f'no node has the label "{label}", as far as the topology knows; Kueue leaves out nodes that lack one'
        yield error("M741", (*at, levels.index(label), "nodeLabel"), message, hint=suggest(label, known, "labels"))
    if set(named) <= set(known) and not any(is_ordered(named, labels) for labels in lists):
        whole = [labels for labels in lists if set(named) <= set(labels)]
        if whole:
            right = listing([label for label in whole[0] if label in named], "and")
            yield error("M741", at, "the levels are not in the order of the topology", hint=f"coarse to fine: {right}")
        else:
            yield error("M742", at, "no pool has all of these levels, so Kueue would leave out every node")


def _flavor(each: Object, objects: Sequence[Object], topology: ClusterTopology) -> Iterator[Diagnostic]:
    """M745, M742: what a flavor selects and which Topology it has."""
    labels = mapping(each.data, "spec", "nodeLabels")
    name, at = text(each.data, "spec", "topologyName"), (*each.route, "spec")
    if name and not labels:
        message = "Kueue refuses a flavor with a topologyName and without nodeLabels"
        yield error("M745", (*at, "topologyName"), message, hint="give it a label that all its nodes have")
    counted = {
        "nodeLabels": len(labels),
        **{key: len(items(each.data, "spec", key)) for key in ("nodeTaints", "tolerations")},
    }
    for key in (key for key, number in counted.items() if number > MOST_LABELS):
        yield error("M745", (*at, key), f"{counted[key]} {key}; Kueue takes {MOST_LABELS}")
    pools = _with_nodes(topology)
    if labels and pools and not any(_selects(labels, pool, strictly=False) for pool in pools):
        message = "its nodeLabels select no pool of the topology"
        yield warning("M745", (*at, "nodeLabels"), message, hint="compare them with the pools' nodeSelector")
    yield from _flavor_topology(each, name, objects, topology)


def _flavor_topology(
    each: Object, name: str, objects: Sequence[Object], topology: ClusterTopology
) -> Iterator[Diagnostic]:
    known = {text(other.data, "metadata", "name"): other for other in objects if is_topology(other)}
    at = (*each.route, "spec", "topologyName")
    if not name or name not in known:
        if name and known:
            message = f'there is no Topology "{name}" among the manifests; workloads on this flavor wait until there is'
            yield error("M745", at, message, hint=suggest(name, known, "Topologies"))
        return
    labels = mapping(each.data, "spec", "nodeLabels")
    wanted = [label for label in levels_of(known[name]) if label != HOSTNAME_LABEL]
    for pool in (pool for pool in _with_nodes(topology) if _selects(labels, pool, strictly=True)):
        lacking = [label for label in wanted if label not in {level.label for level in pool.levels}]
        if lacking:
            message = f'the nodes of pool "{pool.name}" have no {listing(lacking)}; Kueue leaves all of them out'
            yield error("M742", at, message, hint="give those nodes the label, or the flavor a Topology of its own")


def _with_nodes(topology: ClusterTopology) -> tuple[Pool, ...]:
    """The pools that can speak for nodes; none where nothing is known of the cluster."""
    return tuple(pool for pool in topology.pools if pool.domains)


def _selects(labels: Mapping[str, object], pool: Pool, *, strictly: bool) -> bool:
    """Whether a flavor's labels are those of a pool's nodes; if not strictly, whether nothing speaks against it."""
    own = pool.node.node_selector
    if strictly:
        return bool(labels) and all(own.get(key) == value for key, value in labels.items())
    return all(own.get(key, value) == value for key, value in labels.items())


# ClusterQueues and LocalQueues (Kueue 0.14 to 0.19, `clusterqueue_webhook.go`)

MOST_GROUPS = 16
MOST = 64


def _cluster_queue(each: Object, objects: Sequence[Object]) -> Iterator[Diagnostic]:
    """M746: what the webhook refuses, a queue that nobody may use, and flavors that are not there."""
    spec = mapping(each.data, "spec")
    at = (*each.route, "spec")
    if "namespaceSelector" not in spec:
        message = "a ClusterQueue without namespaceSelector takes work from no namespace"
        yield warning("M746", at, message, hint="write `namespaceSelector: {}` for all")
    groups = items(spec, "resourceGroups")
    if len(groups) > MOST_GROUPS:
        yield error("M746", (*at, "resourceGroups"), f"{len(groups)} resource groups; Kueue takes {MOST_GROUPS}")
    for number, group in enumerate(groups):
        yield from _resource_group(
            group, (*at, "resourceGroups", number), borrows="cohort" in spec or "cohortName" in spec
        )
    yield from _repeated(groups, (*at, "resourceGroups"))
    yield from _unknown_flavors(groups, (*at, "resourceGroups"), objects)


def _resource_group(group: Any, at: Route, *, borrows: bool) -> Iterator[Diagnostic]:
    covered = [each for each in items(group, "coveredResources") if isinstance(each, str)]
    if not (1 <= len(covered) <= MOST and 1 <= len(items(group, "flavors")) <= MOST):
        yield error("M746", at, f"a resource group covers 1 to {MOST} resources with 1 to {MOST} flavors")
    for number, flavor in enumerate(items(group, "flavors")):
        route = (*at, "flavors", number, "resources")
        named = [text(each, "name") for each in items(flavor, "resources")]
        if named != covered:
            same = "in another order" if sorted(named) == sorted(covered) else "as others"
            message = (
                f'flavor "{text(flavor, "name")}" lists its resources {same} than coveredResources; Kueue refuses it'
            )
            yield error("M746", route, message, hint=f"list {listing(covered, 'and')}")
        for index, each in enumerate(items(flavor, "resources")):
            if get(each, "borrowingLimit") is not None and not borrows:
                message = "a borrowingLimit without a cohort to borrow from; Kueue refuses it"
                yield error(
                    "M746", (*route, index, "borrowingLimit", KEY), message, hint="name the cohort, or leave it out"
                )


def _repeated(groups: Sequence[Any], at: Route) -> Iterator[Diagnostic]:
    """Each flavor and each resource belongs to one group."""
    flavors = [text(flavor, "name") for group in groups for flavor in items(group, "flavors")]
    resources = [each for group in groups for each in items(group, "coveredResources") if isinstance(each, str)]
    for what, names in (("flavor", flavors), ("resource", resources)):
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield error("M746", at, f'{what} "{name}" stands there twice; Kueue refuses it')


def _unknown_flavors(groups: Sequence[Any], at: Route, objects: Sequence[Object]) -> Iterator[Diagnostic]:
    known = [text(each.data, "metadata", "name") for each in objects if each.data.get("kind") == "ResourceFlavor"]
    for i, group in enumerate(groups):
        for j, flavor in enumerate(items(group, "flavors")):
            name = text(flavor, "name")
            if known and name not in known:
                message = (
                    f'there is no ResourceFlavor "{name}" among the manifests; the queue is inactive until there is'
                )
                yield error("M746", (*at, i, "flavors", j, "name"), message, hint=suggest(name, known, "flavors"))


def _local_queue(each: Object, objects: Sequence[Object]) -> Iterator[Diagnostic]:
    """M747: a ClusterQueue that is not there."""
    known = [text(other.data, "metadata", "name") for other in objects if other.data.get("kind") == "ClusterQueue"]
    name = text(each.data, "spec", "clusterQueue")
    if known and name not in known:
        message = f'there is no ClusterQueue "{name}" among the manifests'
        yield error("M747", (*each.route, "spec", "clusterQueue"), message, hint=suggest(name, known, "ClusterQueues"))


RULES: tuple[Rule, ...] = (check_cluster_objects, check_workloads)
