"""The Volcano Job's own way: gang, partitions and levels stand in the Job, and its controller makes the PodGroup.

Read from Volcano 1.14.3 and 1.15.1, pkg/controllers/job/job_controller_{actions,util}.go: a pod's partition is its
number divided by `partitionSize`, so neighbouring ranks share one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.backends.volcano.pod_group import preemptable, scheduler_name
from bayplan.backends.volcano.tiers import Member, members, network_topology, subgroups
from bayplan.core.diagnostics import Diagnostic, Route, error
from bayplan.kube.objects import given
from bayplan.model.manifest import Marks, Meta
from bayplan.model.plan import GangPlan, Plan, Unit, all_pods, minimum

HINT = "use `workload: jobset`, whose PodGroup is bayplan's own"


def marks(plan: Plan, gang: GangPlan) -> Iterator[tuple[tuple[str, str], Marks]]:
    """What the Job and each of its tasks must say. The gang may be folded."""
    owner = Meta(
        annotations=preemptable(gang),
        spec={
            "schedulerName": scheduler_name(plan),
            **given(queue=plan.queue, priorityClassName=plan.workflow.priority_class),
            "minAvailable": _total_minimum(gang.root),
            **network_topology(plan, gang.root),
        },
    )
    found = partitions(plan, gang.root)
    for pods in all_pods(gang.root):
        own = {
            "minAvailable": pods.minimum * pods.copies,
            **given(topologyPolicy=pods.spec.numa),
            **found.get(pods.name, {}),
        }
        yield (gang.name, pods.name), Marks(owner, Meta(spec=own))


def _total_minimum(root: Unit) -> int:
    """The least pods of the gang; a folded group stands for all of its instances."""
    folded = any(pods.instances for pods in all_pods(root))
    return sum(pods.minimum * pods.copies for pods in all_pods(root)) if folded else minimum(root)


def partitions(plan: Plan, root: Unit) -> Mapping[str, Mapping[str, Any]]:
    """The `partitionPolicy` of each podSet that is in a placed group."""
    return {
        pods.name: {
            "partitionPolicy": {
                "totalPartitions": member.copies,
                "partitionSize": pods.total // member.copies,
                "minPartitions": member.copies,
                **network_topology(plan, member.unit),
            }
        }
        for member in subgroups(root)
        for pods in all_pods(member.unit)
    }


def gaps(gang: GangPlan) -> Iterator[Diagnostic]:
    """What a Volcano Job cannot hold, although a PodGroup could."""
    seen: set[Route] = set()
    for member in members(gang.root):
        if member.counted and member.unit.route not in seen:
            seen.add(member.unit.route)
            yield from _unit_gaps(gang, member)


def _unit_gaps(gang: GangPlan, member: Member) -> Iterator[Diagnostic]:
    unit, everyone = member.unit, list(all_pods(member.unit))
    group = f'group "{member.stem}" of gang "{gang.gang.name}" in a Volcano Job'
    if len(everyone) > 1:
        message = f"{group}: a partition holds pods of one task, so several podSets under one placement may come apart"
        yield error("F644", (*unit.route, "podSets"), message, hint=HINT)
    if any(pods.minimum < pods.replicas for pods in everyone):
        message = f"{group}: a partition starts whole or not at all, so `minReplicas` of its podSet cannot be said"
        yield error("F644", (*everyone[0].route, "minReplicas"), message, hint=HINT)
    if member.optional:
        message = f"{group}: only partitions of one task can be optional, and these groups are a task each"
        yield error("F644", (*unit.route, "minReplicas"), message, hint=HINT)
