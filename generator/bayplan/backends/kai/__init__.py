"""KAI scheduler 0.10 to 0.17: one PodGroup for each gang, one subgroup for each group instance.

The rows declare what KAI supports, by feature, amount and version. Messages and docs/schedulers.md print the reasons.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bayplan.backends.kai.estimate import Order, estimate
from bayplan.backends.kai.pod_group import cluster_objects, lower, needs, order
from bayplan.backends.table import table
from bayplan.core.diagnostics import Diagnostic, error, warning
from bayplan.kube.kinds import CONTROLLED
from bayplan.model.backend import (
    Backend,
    Cluster,
    Declaration,
    Need,
)
from bayplan.model.manifest import Manifest, Workload
from bayplan.model.plan import GangPlan, Plan, title, walk
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import OF_GROVE, varies

TABLE = table("backends", "kai")

NOT_GROUPED = ("markUnschedulable", "schedulingBackoff")
"""Settings of PodGroups that KAI's podgrouper reads from no label or annotation."""

NEVER = (
    'gang "{}" fits, but KAI never finds the placement{}, because it places groups one after another and moves none of'
    " them for the next one"
)
DOUBTED = 'gang "{}" fits, but bayplan cannot say whether KAI finds the placement{}: {}'
WAYS_OUT = "require coarser levels, give the groups and their pods one size, or make each group a gang"


def kind_needs(plan: Plan, workload: Workload) -> Iterator[Need]:
    """What the PodGroups lack that KAI itself makes of workloads with several copies, and Grove of its own."""
    gang = workload.gangs[0]
    cliques = workload.kind in OF_GROVE
    if cliques:
        from bayplan.backends.kai import grove  # few workflows need it

        yield from grove.kind_needs(plan, workload)
    elif workload.kind not in CONTROLLED or (len(workload.gangs) == 1 and not varies(gang.gang)):
        return
    subject = title(gang, gang.root)
    for unit in () if cliques else walk(gang.root):
        if unit is not gang.root and unit.copies == 1 and (unit.required or unit.preferred):
            yield Need("podgrouper", 1, (*unit.route, "placement"), subject=subject)
            return
    for key in NOT_GROUPED:
        if key in gang.gang.backends.get("kai", {}):
            yield Need("podgrouper", 1, (*gang.route, "backends", "kai", key), subject=subject)


def prove(plan: Plan, target: Target) -> tuple[Diagnostic, ...]:
    """F690 and F641: what fits, but KAI does not find. Its estimate refuses it, or it searches in the wrong order."""
    found = estimate(plan, target)
    refused = {each.route[:4] for each in found if each.severity == "error"}
    searched = ((gang, order(plan, gang, target)) for gang in plan.gangs if gang.route not in refused)
    beside = " beside what runs" if plan.occupied else ""
    return (*found, *(each for gang, search in searched for each in _unfound(gang, search, beside)), *_over_quota(plan))


def _unfound(gang: GangPlan, search: Order, beside: str) -> Iterator[Diagnostic]:
    """F690 for a gang that KAI does not find nodes for, or for which bayplan cannot say so."""
    if search.doubt:
        report = error if search.never else warning
        message = DOUBTED.format(gang.gang.name, beside, search.doubt)
        yield report("F690", (*gang.route, "name"), message, hint=WAYS_OUT)
    elif search.never:
        yield error("F690", (*gang.route, "name"), NEVER.format(gang.gang.name, beside), hint=WAYS_OUT)


def _over_quota(plan: Plan) -> Iterable[Diagnostic]:
    """KAI never starts what is not preemptible above the quota (KAI 0.10 to 0.17, capacity_policy.go)."""
    if not plan.topology.has_quotas:
        return ()
    from bayplan.planning import queues

    return queues.too_small(plan, own_share=True)


def _cluster_objects(topology: ClusterTopology, target: Target) -> tuple[Manifest, ...]:
    """KAI's own, and Grove's names of the levels if the topology names its version."""
    own = cluster_objects(topology, target)
    if not target.versions.get("grove"):
        return own
    from bayplan.backends.kai.grove import bindings  # few clusters have it

    return (*own, *bindings(topology))


BACKEND = Backend(
    Declaration("kai", component="kai", support=TABLE.support, features=TABLE.features, kind_needs=kind_needs),
    lower,
    needs=needs,
    prove=prove,
    cluster=Cluster(_cluster_objects),
)
