"""What was given to lint, looked up by kind and name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from bayplan.diagnostics import Diagnostic
from bayplan.kube.objects import group, kind, name, named, namespace, title
from bayplan.kube.safe import text
from bayplan.kube.templates import PodTemplate, templates
from bayplan.model.manifest import Object
from bayplan.model.target import Target
from bayplan.model.topology import HOSTNAME_LABEL, ClusterTopology
from bayplan.values import NamedTuple

K = TypeVar("K")
V = TypeVar("V")

__all__ = [
    "CHANNEL",
    "Rule",
    "World",
    "beside",
    "group",
    "grouped",
    "kind",
    "name",
    "named",
    "namespace",
    "title",
    "together",
    "world",
]


class World(NamedTuple):
    """All objects of a run, the cluster and its versions. A topology without pools says nothing about nodes."""

    objects: tuple[Object, ...]
    topology: ClusterTopology
    target: Target
    templates: tuple[PodTemplate, ...]
    kinds: Mapping[tuple[str, str], Sequence[Object]]  # API group and kind -> objects
    names: Mapping[tuple[str, str, str], Sequence[Object]]  # the same with the name
    channels: Mapping[str, Sequence[Object]]  # claim template -> ComputeDomains that make it
    members: Mapping[str, Sequence[PodTemplate]]  # PodGroup -> templates whose pods name it as KAI wants it

    def of(self, group: str, kind: str) -> Sequence[Object]:
        """The objects of a kind."""
        return self.kinds.get((group, kind), ())

    def called(self, group: str, kind: str, name: str, where: str) -> list[Object]:
        """Those of a name that may stand in a namespace."""
        return list(beside(self.names.get((group, kind, name), ()), where))

    def labels(self) -> Mapping[str, frozenset[str] | None]:
        """Label of a level -> its values on the nodes; None where a pool leaves its nodes out."""
        values: dict[str, set[str]] = {HOSTNAME_LABEL: set()}
        open_labels: set[str] = set()
        for pool in self.topology.pools:
            for level in pool.levels:
                values.setdefault(level.label, set())
            if not pool.domains:
                open_labels |= {HOSTNAME_LABEL, *(level.label for level in pool.levels)}
            for domain in pool.domains:
                values[HOSTNAME_LABEL].update(domain.nodes)
                for level, value in zip(pool.levels, domain.path, strict=False):
                    values[level.label].add(value)
        return {label: None if label in open_labels else frozenset(found) for label, found in values.items()}


Rule = Callable[[World], Iterator[Diagnostic]]
"""What one family of mistakes is found by."""


def world(objects: Iterable[Object], topology: ClusterTopology, target: Target) -> World:
    """The index."""
    every = tuple(objects)
    pods = templates(every)
    domains = [one for one in every if (group(one), kind(one)) == ("resource.nvidia.com", "ComputeDomain")]
    return World(
        every,
        topology,
        target,
        pods,
        grouped(lambda one: (group(one), kind(one)), every),
        grouped(lambda one: (group(one), kind(one), name(one)), every),
        grouped(lambda one: text(one.data, *CHANNEL), domains),
        grouped(lambda each: text(each.annotations, "pod-group-name"), pods),
    )


CHANNEL = ("spec", "channel", "resourceClaimTemplate", "name")
"""Where a ComputeDomain names the claim template that its controller makes."""


def grouped(key: Callable[[V], K], values: Iterable[V]) -> dict[K, list[V]]:
    """The values under their keys, each list in the order given."""
    made: dict[K, list[V]] = {}
    for value in values:
        made.setdefault(key(value), []).append(value)
    return made


def together(one: str, other: str) -> bool:
    """Whether two namespaces may be the same: one that is left open may be any."""
    return not one or not other or one == other


def beside(found: Iterable[Object], where: str) -> Iterator[Object]:
    """Those that may stand in a namespace."""
    return (each for each in found if together(namespace(each), where))
