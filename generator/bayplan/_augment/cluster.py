"""What all workloads of a request share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.fabrics import offering
from bayplan.kube import cards
from bayplan.kube.objects import identity
from bayplan.kube.safe import mapping
from bayplan.model.augment import AugmentRequest, Roster
from bayplan.model.manifest import Object
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.values import NamedTuple


class Cluster(NamedTuple):
    """What all workloads of a request share: the topology, and what is known of the other objects."""

    topology: ClusterTopology
    target: Target
    claims: cards.Claims
    channels: frozenset[tuple[str, str]]
    described: frozenset[tuple[str, str]]  # all templates that pods can claim by, as far as they were read
    objects: Mapping[tuple[str, str, str, str], Object]


def cluster_of(request: AugmentRequest, topology: ClusterTopology, target: Target) -> Cluster:
    """What is known of the cluster, and of everything that was read."""
    known = {identity(each.data): each for each in reversed(request.objects)}
    claims, others = cards.claims(request.objects), cards.channels(request.objects)
    described = frozenset({*claims, *cards.channels(request.objects, ours=True)})
    return Cluster(offering(topology), target, claims, others, described, known)


def templates(roster: Roster) -> Iterator[Mapping[str, Any]]:
    """The pod templates of a workload."""
    return (mapping(roster.object.data, *seat.path) for seat in roster.seats)
