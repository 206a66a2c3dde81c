"""What narrows the choice of nodes and is not part of the proof: a warning each, since the fit is then only likely."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Route, warning
from bayplan.kube.objects import text
from bayplan.model.plan import GangPlan, Plan, Pods, Unit, Units, all_pods, once, walk
from bayplan.model.topology import ClusterTopology
from bayplan.planning.fit import Impossible, prove
from bayplan.planning.pools import cut

KEYS = ("nodeSelector", "affinity", "topologySpreadConstraints")
"""Fields of a pod's spec by which Kubernetes leaves out nodes (Kubernetes, "Assigning Pods to Nodes")."""

POOL = "make the nodes that it selects a pool of the topology, and name that with `pool`"
SPREAD = "pods that are to share a domain cannot be spread over several: remove it, or use `ScheduleAnyway`"


SHARES = "ask for shares of one size, each pod of one card; give the memory of a card in the topology"


def unseen(plan: Plan) -> Iterator[Diagnostic]:
    """For each podSet the fields of its template that leave out nodes which the proof counts; cards that are cut."""
    ragged = cut(plan.workflow, plan.topology)
    for pods in once(pods for gang in plan.gangs for pods in all_pods(gang.root)):
        asked = pods.spec.accelerator
        if asked and asked.name in ragged and not asked.whole:
            message = (
                f'the proof adds up the parts of cards that podSet "{pods.spec.name}" takes; it does not cut cards'
            )
            yield warning("W564", (*pods.route, "accelerator"), message, hint=SHARES)
        for key in _own(pods, plan.topology):
            what = f'the proof does not see the {key} in the template of podSet "{pods.spec.name}"'
            message = f'{what}; it counts every usable node of pool "{pods.pool}"'
            hint = SPREAD if key == "topologySpreadConstraints" else POOL
            yield warning("P518", (*pods.route, "template", "spec", key), message, hint=hint)


def _own(pods: Pods, topology: ClusterTopology) -> Iterator[str]:
    """The keys that say more than the pool does: every node of a pool has the pool's labels."""
    spec = pods.spec.template.get("spec") or {}
    pool = topology.pool(pods.pool)
    known = pool.node.node_selector if pool else {}
    for key in KEYS:
        found = spec.get(key)
        if found and not (key == "nodeSelector" and found.items() <= known.items()):
            yield from [key] if key != "topologySpreadConstraints" or any(map(_strict, found)) else []


def _strict(constraint: Any) -> bool:
    """Whether a constraint leaves out nodes, rather than to like some better."""
    return text(constraint, "whenUnsatisfiable") != "ScheduleAnyway"


# Preferences that no placement can meet: a warning each, since the scheduler will fall back without a word.


def unmet(plan: Plan) -> Iterator[Diagnostic]:
    """For a plan that fits: each preferred level of the file that would not, were it required."""
    for gang in plan.gangs:
        units = {unit.route: unit for unit in walk(gang.root) if unit.preferred} if gang.copy == 0 else {}
        for route, unit in units.items():
            if isinstance(prove(_requiring(plan, route)), Impossible):
                what = f'a "{unit.name.rpartition("-")[0]}"' if unit.name else f'gang "{gang.gang.name}"'
                message = f'{what} cannot be in one "{unit.preferred}" as preferred; its pods will spread over several'
                hint = f'`bayplan explain P516`; or prefer a coarser level than "{unit.preferred}"'
                yield warning("P516", (*route, "placement", "preferred"), message, hint=hint)


def _requiring(plan: Plan, route: Route) -> Plan:
    """The plan with that one preference as a requirement."""
    return plan._replace(gangs=tuple(_gang(gang, route) for gang in plan.gangs))


def _gang(gang: GangPlan, route: Route) -> GangPlan:
    return gang._replace(root=_unit(gang.root, route)) if route[: len(gang.route)] == gang.route else gang


def _unit(unit: Unit, route: Route) -> Unit:
    required = unit.preferred if unit.route == route else unit.required
    return unit._replace(required=required, groups=tuple(_units(units, route) for units in unit.groups))


def _units(units: Units, route: Route) -> Units:
    return units._replace(members=tuple(_unit(member, route) for member in units.members))
