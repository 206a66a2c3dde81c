"""Mistakes in Volcano's objects that others wrote. Admission finds few of them; the scheduler tells its log alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bayplan.backends.volcano.linting import gangs, jobs
from bayplan.backends.volcano.linting.levels import Levels
from bayplan.core.diagnostics import Diagnostic
from bayplan.kube.objects import is_kind
from bayplan.model.manifest import Object
from bayplan.model.target import Target
from bayplan.model.topology import HOSTNAME_LABEL, ClusterTopology
from bayplan.topologies.hypernodes.source import tree
from bayplan.topologies.hypernodes.tree import GROUP, Labels, faults, seen


def lint(objects: Sequence[Object], topology: ClusterTopology, target: Target) -> Iterator[Diagnostic]:
    """HyperNodes as a tree on the topology's nodes; PodGroups with their pods, and Volcano Jobs, against that tree."""
    found = [seen(each) for each in objects if is_kind(each.data, GROUP, "HyperNode")]
    yield from faults(found, _nodes(topology) or None)
    levels = _levels(topology)
    if found:
        levels = Levels(
            frozenset(each.tier for each in found if each.tier is not None), frozenset(each.tier_name for each in found)
        )
    yield from gangs.check(objects, levels, topology)
    yield from jobs.check(objects, levels, topology)


def _levels(topology: ClusterTopology) -> Levels:
    """Of the HyperNodes that bayplan, or discovery, would make."""
    domains = tree(topology)
    return Levels(frozenset(each.tier for each in domains.values()), frozenset(key[-1][0] for key in domains))


def _nodes(topology: ClusterTopology) -> dict[str, Labels]:
    """The nodes of all pools with the labels that the topology gives them."""
    return {
        node: {
            **pool.node.node_selector,
            **dict(zip((level.label for level in pool.levels), domain.path, strict=False)),
            HOSTNAME_LABEL: node,
        }
        for pool in topology.pools
        for domain in pool.domains
        for node in domain.nodes
    }
