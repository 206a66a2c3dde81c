"""Walks over a workflow: every gang, group and podSet with its route."""

from collections.abc import Iterator

from bayplan.core.diagnostics import Route
from bayplan.core.values import NamedTuple
from bayplan.model.workflow import GANGS, Gang, Group, PodSet, Workflow


class Owner(NamedTuple):
    """A gang or group, the gang it belongs to, and all that stand above it, outermost first."""

    node: Gang | Group
    route: Route
    gang: Gang
    above: tuple[Gang | Group, ...] = ()

    def title(self) -> str:
        """`gang "train"` or `group "replica"`."""
        return f'{"gang" if isinstance(self.node, Gang) else "group"} "{self.node.name}"'


class Place(NamedTuple):
    """A podSet and its owner."""

    pods: PodSet
    route: Route
    owner: Owner


def owners(workflow: Workflow) -> Iterator[Owner]:
    """All gangs and groups in file order, parents first."""
    for index, gang in enumerate(workflow.gangs):
        yield from _below(Owner(gang, (*GANGS, index), gang))


def _below(owner: Owner) -> Iterator[Owner]:
    yield owner
    for index, group in enumerate(owner.node.groups):
        yield from _below(Owner(group, (*owner.route, "groups", index), owner.gang, (*owner.above, owner.node)))


def pod_sets(workflow: Workflow) -> Iterator[Place]:
    """All podSets in file order."""
    for owner in owners(workflow):
        for index, pods in enumerate(owner.node.pod_sets):
            yield Place(pods, (*owner.route, "podSets", index), owner)


def instances(group: Group) -> int:
    """How many instances a group has below one instance of its parent."""
    if group.size and group.pod_sets:
        return -(-group.pod_sets[0].replicas // group.size)
    return group.replicas


def nearest_pool(workflow: Workflow, owner: Owner) -> str:
    """The pool named for a gang or group there or above; empty when none is."""
    nodes = (owner.node, *reversed(owner.above))
    return next((node.pool for node in nodes if node.pool), workflow.pool)
