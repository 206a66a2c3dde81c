"""A workload's Workflow, completed with what only the cluster knows: the cards of its pods, their nodes, its queue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan._augment.case import Case
from bayplan._augment.cluster import Cluster, templates
from bayplan.kube import cards
from bayplan.kube.safe import items, mapping, text
from bayplan.model.augment import Roster
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import PodSet, Workflow

KEPT = ("affinity", "dnsPolicy", "hostNetwork", "overhead", "resources", "securityContext")
"""Of a pod: what the checks of a podSet's template look at, and the search for nodes."""


def completed(case: Case, namespace: str, cluster: Cluster) -> Workflow:
    """The workload's Workflow with the cards of its pods, and one ComputeDomain where it has one already.

    `namespace`: that of workloads that name none.
    """
    workflow, roster = case.selected.workflow, case.roster
    where = workflow.namespace
    specs = {seat.name: mapping(roster.object.data, *seat.path, "spec") for seat in roster.seats}
    gang = _with_cards(workflow.gangs[0], specs, where, cluster)
    if case.carried:
        gang = gang._replace(compute_domain="gang")
    return workflow._replace(namespace=where or namespace, gangs=(gang,))


def _with_cards(node: Any, specs: Mapping[str, Mapping[str, Any]], where: str, cluster: Cluster) -> Any:
    sets = tuple(_with_own_cards(each, specs[each.name], where, cluster) for each in node.pod_sets)
    return node._replace(
        pod_sets=sets, groups=tuple(_with_cards(group, specs, where, cluster) for group in node.groups)
    )


def _with_own_cards(pods: PodSet, spec: Mapping[str, Any], where: str, cluster: Cluster) -> PodSet:
    lists = {
        key: [cards.without(each, cluster.topology) for each in items(spec, key)]
        for key in ("containers", "initContainers")
        if items(spec, key)
    }
    kept = {key: spec[key] for key in KEPT if spec.get(key)}
    if spread := items(spec, "topologySpreadConstraints"):
        kept["topologySpreadConstraints"] = spread
    if selector := _own_selector(spec, cluster.topology):
        kept["nodeSelector"] = selector
    asked = cards.accelerator(spec, where, cluster.topology, cluster.claims)
    return pods._replace(accelerator=asked, template={"spec": {**lists, **kept}})


def _own_selector(spec: Mapping[str, Any], topology: ClusterTopology) -> dict[str, Any]:
    """The nodes that the pods choose themselves. What their pool asks for is no choice, and a second run finds it."""
    pools = [pool.node.node_selector for pool in topology.pools]
    chosen = mapping(spec, "nodeSelector").items()
    return {key: value for key, value in chosen if not any(each.get(key) == value for each in pools)}


def own_queue(roster: Roster, label: str) -> str:
    """The queue that the workload names already."""
    every = (roster.placed.data, *templates(roster)) if label else ()
    told = (text(each, "metadata", kind, label) for kind in ("labels", "annotations") for each in every)
    return roster.queue or next(filter(None, told), "")
