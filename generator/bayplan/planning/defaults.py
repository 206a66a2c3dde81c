"""What podSets with accelerators get without a field: the only fabric of their pool, and a /dev/shm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

from bayplan.core.diagnostics import Diagnostic, Outcome, Route, warning
from bayplan.core.phrases import listing
from bayplan.fabrics.cards import by_hand, is_card, proposed, shown
from bayplan.kube.pod import fills_node, has_shared_memory
from bayplan.model.topology import ClusterTopology, Pool
from bayplan.model.workflow import (
    AUTO_SHM,
    GANGS,
    Attachment,
    Gang,
    Group,
    PodSet,
    Workflow,
    edit_pod_sets,
    instances,
    pod_sets,
    pod_sets_of,
)
from bayplan.planning.pools import pools_of

NO_FABRIC = "none"
"""The value of `fabric` by which a podSet declines the fabric of its pool."""


class Choice(NamedTuple):
    """The fabric of a podSet, or the reason why it gets no card of its nodes, with a hint."""

    fabric: Attachment | None
    reason: str = ""
    hint: str = ""


def with_networks(workflow: Workflow, topology: ClusterTopology, others: bool = False) -> Outcome[Workflow]:
    """The workflow with the fabric and the /dev/shm that each podSet gets. W549: cards of the nodes that no pod uses.

    `others`: somebody else wrote the workload, so its pods get nothing by default.
    """
    if not any(spec.accelerator or spec.fabric for gang in workflow.gangs for spec in pod_sets_of(gang)):
        return Outcome(workflow)
    names = pools_of(workflow, topology)
    pools = {route: pool for route, name in names.items() if (pool := topology.pool(name))}
    alone = [_accelerated(gang) < 2 for gang in workflow.gangs]
    choices = {
        place.route: _choice(place.pods, pools.get(place.route), topology, alone[int(place.route[len(GANGS)])])
        for place in pod_sets(workflow)
    }
    found = tuple(_findings(workflow, choices, others))
    completed = partial(_completed, {} if others else choices, pools, topology)
    gangs = (edit_pod_sets(gang, (*GANGS, number), completed) for number, gang in enumerate(workflow.gangs))
    return Outcome(workflow._replace(gangs=tuple(gangs)), found)


def _accelerated(node: Gang | Group) -> int:
    """The pods with accelerators in a gang, or in an instance of a group with them."""
    size = node.size if isinstance(node, Group) else None
    here = sum(size or spec.replicas for spec in node.pod_sets if spec.accelerator)
    return here + sum(instances(group) * _accelerated(group) for group in node.groups)


def _choice(spec: PodSet, pool: Pool | None, topology: ClusterTopology, alone: bool) -> Choice:
    """What the podSet requests; otherwise the only fabric of its pool, if its pods need one and can have it."""
    if spec.fabric:
        return Choice(None if _declines(spec, topology) else spec.fabric)
    if alone or pool is None or not (spec.accelerator and spec.accelerator.whole) or by_hand(spec, pool):
        return Choice(None)
    names = [name for name in topology.fabrics if pool.node.fabrics is None or name in pool.node.fabrics]
    if not names:
        return _undeclared(pool)
    if len(names) > 1:
        reason = f'is on none of the fabrics of pool "{pool.name}"'
        return Choice(None, reason, f"set `fabric` to {listing(names, 'or')}")
    fabric = topology.fabrics[names[0]]
    if fabric.shared or fills_node(spec, pool):
        return Choice(Attachment(fabric.name))
    reason = f'does not get the fabric "{fabric.name}": a card serves one pod, and a node has room for several'
    return Choice(None, reason, f"set `fabric: {{name: {fabric.name}, rails: [0]}}`, with the rails of a pod")


def _declines(spec: PodSet, topology: ClusterTopology) -> bool:
    return spec.fabric is not None and spec.fabric.name == NO_FABRIC and NO_FABRIC not in topology.fabrics


def _undeclared(pool: Pool) -> Choice:
    """Cards of the nodes that no fabric describes."""
    fabrics = proposed(pool.node.resources)
    if not fabrics:
        return Choice(None)
    cards = listing([each for each in pool.node.resources if is_card(each)], "and", 3)
    listed = ", ".join(map(shown, fabrics.values()))
    reason = f'gets no network card: pool "{pool.name}" has {cards}, and the topology declares no fabric'
    return Choice(None, reason, f"add to `spec` of the topology: `fabrics: {{{listed}}}`")


def _findings(workflow: Workflow, choices: Mapping[Route, Choice], others: bool) -> Iterator[Diagnostic]:
    for place in pod_sets(workflow):
        fabric, reason, hint = choices[place.route]
        if others and fabric and not place.pods.fabric:
            reason = f'does not use the fabric "{fabric.name}" of its nodes'
            hint = f"set the annotation bayplan.dev/fabric: {fabric.name} on the workload"
        if reason:
            hint += "" if others else ", or set `fabric: none`"
            yield warning("W549", (*place.route, "name"), f'podSet "{place.pods.name}" {reason}', hint=hint)


def _completed(
    choices: Mapping[Route, Choice], pools: Mapping[Route, Pool], topology: ClusterTopology, spec: PodSet, route: Route
) -> PodSet:
    """The podSet with its fabric, and with a /dev/shm if it has accelerators and the fabric adds none."""
    if _declines(spec, topology):
        spec = spec._replace(fabric=None)
    if route not in choices:
        return spec
    spec = spec._replace(fabric=choices[route].fabric)
    if spec.shm or spec.fabric or not spec.accelerator or has_shared_memory(spec, pools.get(route)):
        return spec
    return spec._replace(shm=AUTO_SHM)
