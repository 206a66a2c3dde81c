"""All that the lint rules look at, and what they look up in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bayplan.backends.native.found import (
    COMPOSITE,
    POD_GROUP,
    WORKLOAD,
    Group,
    Key,
    PodSpec,
    Template,
    groups,
    pods,
    templates,
)
from bayplan.backends.native.tree import COMPONENT
from bayplan.core.values import NamedTuple
from bayplan.model.manifest import Object
from bayplan.model.target import Target
from bayplan.model.topology import HOST, ClusterTopology

DEEPEST = 4
"""Groups on the way from the root to the pods (`WorkloadMaxTreeDepth`, 1.37)."""


class Scene(NamedTuple):
    """The objects of one run on one cluster, each by what it is looked up by."""

    groups: tuple[Group, ...]
    pods: tuple[PodSpec, ...]
    objects: tuple[Object, ...]
    target: Target
    named: Mapping[str, Mapping[Key, Group]]  # kind -> name -> group
    inside: Mapping[Key, tuple[Template, ...]]  # Workload -> its templates
    members: Mapping[Key, Sequence[PodSpec]]  # PodGroup -> the pods that name it
    children: Mapping[Key, Sequence[Group]]  # CompositePodGroup -> the groups that name it as their parent
    levels: Mapping[str, int]  # node label -> its rank, 0 for the coarsest

    @property
    def kubernetes(self) -> str:
        """For messages."""
        return f"Kubernetes {self.target.version(COMPONENT)}"

    def made_from(self, group: Group) -> tuple[Group | None, Template | None]:
        """The Workload and the template that a group names, where they are among the objects."""
        _, workload, name = group.template
        key, composite = (group.namespace, workload), group.kind == COMPOSITE
        inside = self.inside.get(key, ())
        template = next((each for each in inside if each.name == name and each.composite == composite), None)
        return self.named[WORKLOAD].get(key), template

    def above(self, group: Group) -> Iterator[Group]:
        """The groups above a group, nearest first; one more than may be, so that a cycle ends."""
        here: Group | None = group
        for _ in range(DEEPEST):
            here = self.named[COMPOSITE].get((here.namespace, here.parent)) if here and here.parent else None
            if here:
                yield here

    def root(self, group: Group) -> Group:
        """The topmost group that is known of its tree."""
        return (group, *self.above(group))[-1]


def scene(objects: Sequence[Object], topology: ClusterTopology, target: Target) -> Scene:
    """Everything indexed once: there may be thousands of groups."""
    all_groups, all_pods = tuple(groups(objects)), tuple(pods(objects))
    kinds = (WORKLOAD, POD_GROUP, COMPOSITE)
    named = {kind: {each.key: each for each in reversed(all_groups) if each.kind == kind} for kind in kinds}
    members: dict[Key, list[PodSpec]] = {}
    for each in all_pods:
        members.setdefault((each.namespace, each.group), []).append(each)
    children: dict[Key, list[Group]] = {}
    for group in all_groups:
        children.setdefault((group.namespace, group.parent), []).append(group)
    return Scene(
        groups=all_groups,
        pods=all_pods,
        objects=tuple(objects),
        target=target,
        named=named,
        inside={key: tuple(templates(each)) for key, each in named[WORKLOAD].items()},
        members={key: found for key, found in members.items() if key[1]},
        children={key: found for key, found in children.items() if key[1]},
        levels=_levels(topology),
    )


def _levels(topology: ClusterTopology) -> dict[str, int]:
    made: dict[str, int] = {}
    for pool in topology.pools:
        for rank, level in enumerate((*pool.levels, HOST)):
            made[level.label] = min(rank, made.get(level.label, rank))
    return made
