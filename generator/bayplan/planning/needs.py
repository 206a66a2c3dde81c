"""What a plan needs of a scheduler and of a workload kind, as amounts with a place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.accelerators import allocator
from bayplan.model.features import Need
from bayplan.model.plan import GangPlan, Plan, Unit, Units, all_pods, once, walk


def plan_needs(plan: Plan) -> tuple[Need, ...]:
    """Everything needed of the backend."""
    firsts = [gang for gang in plan.gangs if gang.copy == 0]
    return (*_workflow_needs(plan), *(need for gang in firsts for need in _gang_needs(plan, gang)))


def _workflow_needs(plan: Plan) -> Iterator[Need]:
    spec = ("workflow", "spec")
    named = "queue" if plan.queue else "no-queue"
    yield Need(named, 1, (*spec, "queue") if plan.workflow.queue else ("workflow", "metadata", "name"))
    if plan.workflow.priority_class:
        yield Need("priority", 1, (*spec, "priorityClassName"))
    pools = {pods.pool for gang in plan.gangs for pods in all_pods(gang.root)}
    for i, pool in enumerate(plan.topology.pools):
        if pool.name in pools:
            route = ("topology", "spec", "pools", i)
            yield Need("level-count", len(pool.levels) + 1, (*route, "levels"), subject=f'pool "{pool.name}"')
            for j, level in enumerate(pool.levels):
                at = (*route, "levels", j, "label")
                yield Need("label-key-length", len(level.label), at, subject=f'level "{level.name}"')
            longest = max(((len(n), k) for k, d in enumerate(pool.domains) for n in d.nodes), default=(0, 0))
            yield Need("node-name-length", longest[0], (*route, "domains", longest[1], "nodes"))


def _gang_needs(plan: Plan, gang: GangPlan) -> Iterator[Need]:
    subject = f'gang "{gang.gang.name}"'
    yield Need("gang", sum(pods.replicas for pods in all_pods(gang.root)), (*gang.route, "name"), subject=subject)
    if gang.gang.preemptible is not None:
        yield Need("preemptible", 1, (*gang.route, "preemptible"), subject=subject)
    if gang.compute_domains:
        yield Need("compute-domain", len(gang.compute_domains), gang.compute_domains[0].route, subject=subject)
    yield from _placement_needs(plan, gang)
    yield from _size_needs(gang)
    for pods in once(all_pods(gang.root)):
        asked = pods.spec.accelerator
        if asked and allocator(asked, plan.topology.accelerators[asked.name]) == "dra":
            yield Need("gpu-claim", asked.per_pod, (*pods.route, "accelerator"), subject=f'podSet "{pods.spec.name}"')


def _placement_needs(plan: Plan, gang: GangPlan) -> Iterator[Need]:
    """One need for each placement of the file."""
    if depth := _depth(gang.root):
        yield Need("group-depth", depth, gang.route, subject=f'gang "{gang.gang.name}"')
    for unit in once(walk(gang.root)):
        at, subject = (*unit.route, "placement"), _subject(gang, unit)
        if unit.required:
            yield Need("required-level", 1, (*at, "required"), subject=subject)
        if unit.preferred:
            yield Need("preferred-level", 1, (*at, "preferred"), True, subject)
        if unit.required and unit.preferred:
            yield Need("required-and-preferred", 1, (*at, "preferred"), True, subject)
        if unit.separate:
            yield Need("separate", 1, (*unit.route, "separate"), subject=subject)
        if (unit.required or unit.preferred) and len(_level_lists(plan, unit)) > 1:
            yield Need("mixed-pools", len(_level_lists(plan, unit)), at, not unit.required, subject)


def _subject(gang: GangPlan, unit: Unit) -> str:
    return f'group "{unit.name.rpartition("-")[0]}"' if unit.name else f'gang "{gang.gang.name}"'


def _level_lists(plan: Plan, unit: Unit) -> set[tuple[str, ...]]:
    pools = filter(None, (plan.topology.pool(pods.pool) for pods in all_pods(unit)))
    return {tuple(level.label for level in pool.levels) for pool in pools}


def _depth(unit: Unit) -> int:
    """How many constrained units lie on the deepest path."""
    below = max((_depth(units.members[0]) for units in unit.groups), default=0)
    return below + bool(unit.required or unit.preferred)


def _size_needs(gang: GangPlan) -> Iterator[Need]:
    """Elastic podSets and groups, and groups that differ from each other."""
    for unit in once(walk(gang.root)):
        for pods in unit.pods:
            if pods.minimum < pods.replicas:
                at = (*pods.route, "minReplicas")
                left, subject = pods.replicas - pods.minimum, f'podSet "{pods.spec.name}"'
                yield Need("optional-pods", left, at, subject=subject)
                if unit.required:
                    yield Need("optional-pods-placed", left, at, True, subject)
        for units in unit.groups:
            if units.minimum < len(units.members):
                left = len(units.members) - units.minimum
                yield Need("optional-groups", left, (*units.route, "minReplicas"), subject=f'group "{units.name}"')
        if len(unit.groups) > 1 or any(_uneven(units) for units in unit.groups):
            yield Need("uneven-groups", 1, (*unit.route, "groups"), subject=_subject(gang, unit))


def _uneven(units: Units) -> bool:
    return len({sum(pods.replicas for pods in all_pods(member)) for member in units.members}) > 1


def kind_needs(gang: GangPlan, gangs: Mapping[str, GangPlan], cleanup: str) -> Iterator[Need]:
    """What one gang needs of the workload kind that holds it."""
    spec, subject = gang.gang, f'gang "{gang.gang.name}"'
    if gang.after:
        parts = sum(1 for name in gang.after for _ in all_pods(gangs[name].root))
        yield Need("depends-on", parts, (*gang.route, "dependsOn"), subject=subject)
    if cleanup == "adopt":
        yield Need("adopt", 1, ("workflow", "spec", "cleanup"), subject=subject)
    if spec.lead:
        yield Need("lead", 1, (*gang.route, "lead"), subject=subject)
    if spec.max_restarts:
        yield Need("restarts", spec.max_restarts, (*gang.route, "maxRestarts"), subject=subject)
    if spec.active_deadline_seconds is not None:
        yield Need("deadline", spec.active_deadline_seconds, (*gang.route, "activeDeadlineSeconds"), subject=subject)
    if spec.ttl_seconds_after_finished is not None:
        yield Need("ttl", spec.ttl_seconds_after_finished, (*gang.route, "ttlSecondsAfterFinished"), subject=subject)
    for pods in once(all_pods(gang.root)):
        if pods.spec.restart_policy == "Always":
            yield Need("always-restart", 1, (*pods.route, "restartPolicy"), subject=f'podSet "{pods.spec.name}"')
