"""Compares what a plan needs with what a backend or a workload kind supports."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from bayplan import fabrics
from bayplan.core.diagnostics import Diagnostic, Route, Severity
from bayplan.kube.kinds import GROVE
from bayplan.model.backend import FEATURES, Feature, Need, Support
from bayplan.model.plan import (
    GangPlan,
    Plan,
    Pods,
    Unit,
    Units,
    all_pods,
    allocator,
    awaited,
    gang_queue,
    once,
    predecessors,
    queue_route,
    title,
    walk,
)
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology, Pool
from bayplan.model.workflow import Gang, Group, serves

UNSTATED = "F600"
"""The code of a feature for which a backend has no row of support."""


def find_row(need: Need, rows: Iterable[Support], target: Target) -> Support | None:
    """The first row that covers the need's amount at the target's versions."""
    of_amount = (row for row in rows if row.feature == need.feature and (row.up_to is None or need.amount <= row.up_to))
    return next((row for row in of_amount if row.holds(target)), None)


def compare(
    needs: Iterable[Need],
    rows: tuple[Support, ...],
    target: Target,
    name: str,
    features: Mapping[str, Feature] = FEATURES,
) -> Iterator[Diagnostic]:
    """One diagnostic for each need that is not supported exactly. The need and the row decide how severe it is.

    `name` is the scheduler with its version or the workload kind, for messages: `KAI 0.17`, `a JobSet`.
    """
    for need in needs:
        row = find_row(need, rows, target)
        if row is None or row.fidelity != "exact":
            of_feature = [each for each in rows if each.feature == need.feature]
            code = features[need.feature].code if of_feature else UNSTATED
            reason = row.reason + _versions(of_feature, target) if row and row.reason else ""
            sentence = reason or _default(row, of_feature, features[need.feature], name, target)
            subject = _subject(need, of_feature, features[need.feature])
            message = f"{subject}: {sentence}" if subject else sentence
            yield Diagnostic(code, _severity(need, row), message, need.route, hint=row.hint if row else "")


def firm(features: Iterable[Feature]) -> frozenset[str]:
    """Codes of losses that cannot be accepted."""
    return frozenset(feature.code for feature in features if feature.firm)


def _subject(need: Need, rows: Sequence[Support], feature: Feature) -> str:
    """What needs the feature, with the amount if the rows limit it: `gang "train" has 24 podSets`."""
    limited = need.amount > 1 and any(row.up_to is not None for row in rows)
    return f"{need.subject} has {need.amount} {feature.unit}" if limited and feature.unit else need.subject


def _versions(rows: Sequence[Support], target: Target) -> str:
    """The target's versions of the components that the rows depend on."""
    components = (each for row in rows for each in (row.component, row.beside[0]) if each)
    found = ", ".join(target.title(each) for each in dict.fromkeys(components))
    return f"; the target is {found}" if found else ""


def _default(row: Support | None, rows: Sequence[Support], feature: Feature, name: str, target: Target) -> str:
    """The sentence for a row without a reason: the limit of the feature at this version, or that it is missing."""
    valid = (each for each in rows if each.holds(target))
    limit = max((each.up_to for each in valid if each.up_to is not None), default=None)
    if limit is not None:
        return f"{name} supports at most {limit} {feature.unit}"
    partly = row is not None and row.fidelity == "approximate"
    return f"{name} {'only approximates' if partly else 'does not support'} {feature.meaning}"


def _severity(need: Need, row: Support | None) -> Severity:
    """A lost preference is at most a warning. A lost requirement is an error unless the row reports it as milder."""
    mild: Severity = row.report if row and row.fidelity == "approximate" else "error"
    return "warning" if need.preferred and mild == "error" else mild


# What a plan needs from a scheduler and from a workload kind: amounts, each with its route.


def plan_needs(plan: Plan) -> tuple[Need, ...]:
    """Everything that the plan needs from the backend."""
    firsts = [gang for gang in plan.gangs if gang.copy == 0]
    return (*_workflow_needs(plan), *(need for gang in firsts for need in _gang_needs(plan, gang)))


def _workflow_needs(plan: Plan) -> Iterator[Need]:
    spec = ("workflow", "spec")
    for gang in {queue_route(plan, gang): gang for gang in reversed(plan.gangs)}.values():
        named = "queue" if gang_queue(plan, gang) else "no-queue"
        yield Need(named, 1, queue_route(plan, gang) or ("workflow", "metadata", "name"))
    if plan.workflow.priority_class:
        yield Need("priority", 1, (*spec, "priorityClassName"))
    yield from topology_needs(plan.topology, {pods.pool for gang in plan.gangs for pods in all_pods(gang.root)})


def topology_needs(topology: ClusterTopology, pools: Collection[str]) -> Iterator[Need]:
    """What the pools with these names need, no matter which pods run in them."""
    for i, pool in enumerate(topology.pools):
        if pool.name in pools:
            yield from _pool_needs(pool, ("topology", "spec", "pools", i))


def _pool_needs(pool: Pool, route: Route) -> Iterator[Need]:
    yield Need("level-count", len(pool.levels) + 1, (*route, "levels"), subject=f'pool "{pool.name}"')
    for j, level in enumerate(pool.levels):
        at = (*route, "levels", j)
        label = f'the label of level "{level.name}"'
        yield Need("label-key-length", len(level.label), (*at, "label"), subject=label)
        if level.unique == "parent" and (value := _repeated(pool, j)):
            several = f'level "{level.name}" has the value "{value}" under several parents'
            yield Need("repeated-values", 1, (*at, "unique"), subject=several)
    unusable = pool.unusable_nodes()
    names = ((node, k) for k, domain in enumerate(pool.domains) for node in domain.nodes if node not in unusable)
    longest, row = max(names, key=lambda name: len(name[0]), default=("", 0))
    at = (*route, "domains", row, "nodes")
    yield Need("node-name-length", len(longest), at, subject=f'the name of node "{longest}"')


def _repeated(pool: Pool, depth: int) -> str:
    """A value of that level under several parents; empty if each value has one parent."""
    parents: dict[str, tuple[str, ...]] = {}
    for domain in pool.domains:
        if parents.setdefault(domain.path[depth], domain.path[:depth]) != domain.path[:depth]:
            return domain.path[depth]
    return ""


def _gang_needs(plan: Plan, gang: GangPlan) -> Iterator[Need]:
    subject = f'gang "{gang.gang.name}"'
    total = sum(pods.replicas for pods in all_pods(gang.root))
    if total > 1 or not serves(gang.gang):  # copies of one pod wait for nobody
        yield Need("gang", total, (*gang.route, "name"), subject=subject)
    if gang.gang.preemptible is not None:
        yield Need("preemptible", 1, (*gang.route, "preemptible"), subject=subject)
    # Several ComputeDomains that `computeDomain: group` requests are another need than several that `auto` results in.
    count = len(gang.compute_domains)
    if count:
        yield Need("compute-domain", count, gang.compute_domains[0].route, subject=subject)
    if count > 1:
        requested = next((path for path in _asking(gang.gang, gang.route)), None)
        route = requested or gang.compute_domains[0].route
        yield Need("compute-domain-each" if requested else "several-compute-domains", count, route, subject=subject)
    yield from _placement_needs(plan, gang)
    yield from _size_needs(gang)
    for pods in once(all_pods(gang.root)):
        if pods.spec.numa:
            yield Need("numa", 1, (*pods.route, "numa"), subject=f'podSet "{pods.spec.name}"')
        accelerator = pods.spec.accelerator
        if accelerator and allocator(accelerator, plan.topology.accelerators[accelerator.name]) == "dra":
            at, subject = (*pods.route, "accelerator"), f'podSet "{pods.spec.name}"'
            yield Need("gpu-claim", accelerator.per_pod, at, subject=subject)
        if pods.spec.fabric:
            yield from _fabric_needs(plan, pods)


def _fabric_needs(plan: Plan, pods: Pods) -> Iterator[Need]:
    """What the pods need to reach their fabric."""
    request = fabrics.fabric_request(pods.spec, plan.topology, plan.namespace, pods.pool)
    if request is None:
        return
    at, subject = (*pods.route, "fabric"), f'podSet "{pods.spec.name}"'
    counted, networks = sum(fabrics.amounts(pods.spec, plan.topology).values()), len(request.rails)
    if request.fabric.kind == "dranet":
        yield Need("network-claim", networks, at, subject=subject)
    elif any(rail.network for rail in request.rails):
        yield Need("pod-network", networks, at, subject=subject)
    if counted:
        yield Need("network-cards", counted, at, subject=subject)
    if request.attachment.address:
        yield Need("fixed-address", 1, (*at, "address"), subject=subject)


def _asking(node: Gang | Group, route: Route) -> Iterator[Route]:
    """The routes of `computeDomain: group`."""
    if node.compute_domain == "group":
        yield (*route, "computeDomain")
    for number, group in enumerate(node.groups):
        yield from _asking(group, (*route, "groups", number))


def _placement_needs(plan: Plan, gang: GangPlan) -> Iterator[Need]:
    """The needs of each placement in the workflow file."""
    if depth := placed_depth(gang.root):
        yield Need("group-depth", depth, gang.route, subject=f'gang "{gang.gang.name}"')
    inside = {unit.name for unit, outer in _placed(gang.root) if outer}
    for unit in once(walk(gang.root)):
        at, subject = (*unit.route, "placement"), title(gang, unit)
        if (unit.required or unit.preferred) and (sets := len(once(all_pods(unit)))) > 1:
            yield Need("mixed-pod-sets", sets, at, not unit.required, subject)
        if unit.preferred and not unit.required and unit.name in inside:
            yield Need("group-preferred", 1, (*at, "preferred"), True, subject)
        if unit.required:
            yield Need("required-level", 1, (*at, "required"), subject=subject)
        if unit.preferred:
            yield Need("preferred-level", 1, (*at, "preferred"), True, subject)
        if unit.required and unit.preferred:
            yield Need("required-and-preferred", 1, (*at, "preferred"), True, subject)
        if unit.separate:
            yield Need("separate", 1, (*unit.route, "separate"), subject=subject)
        if (unit.required or unit.preferred) and (lists := len(_level_lists(plan, unit))) > 1:
            yield Need("mixed-pools", lists, at, not unit.required, subject)


def _placed(unit: Unit, outer: bool = False) -> Iterator[tuple[Unit, bool]]:
    """Units with a placement, and whether a unit around them has one too."""
    here = bool(unit.required or unit.preferred)
    if here:
        yield unit, outer
    for units in unit.groups:
        for member in units.members:
            yield from _placed(member, outer or here)


def _level_lists(plan: Plan, unit: Unit) -> set[tuple[str, ...]]:
    pools = filter(None, (plan.topology.pool(pods.pool) for pods in all_pods(unit)))
    return {tuple(level.label for level in pool.levels) for pool in pools}


def placed_depth(unit: Unit) -> int:
    """How many units with a placement are on the deepest path."""
    return max((placed_depth(units.members[0]) for units in unit.groups), default=0) + bool(
        unit.required or unit.preferred
    )


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
            yield from _order_need(units)
            if units.minimum < len(units.members) and gang.gang.workload != GROVE:  # Grove makes gangs of them
                left = len(units.members) - units.minimum
                yield Need("optional-groups", left, (*units.route, "minReplicas"), subject=f'group "{units.name}"')
        if len(unit.groups) > 1 or any(_uneven(units) for units in unit.groups):
            yield Need("uneven-groups", 1, (*unit.route, "groups"), subject=title(gang, unit))


def _order_need(units: Units) -> Iterator[Need]:
    """Users expect neighbouring ranks in each group with a placement."""
    first = units.members[0]
    if len(units.members) > 1 and any(pods.ranks for pods in all_pods(first)) and (first.required or first.preferred):
        yield Need("rank-order", len(units.members), (*units.route, "name"), True, f'group "{units.name}"')


def _uneven(units: Units) -> bool:
    return len({sum(pods.replicas for pods in all_pods(member)) for member in units.members}) > 1


def kind_needs(gang: GangPlan, gangs: Mapping[str, GangPlan], cleanup: str) -> Iterator[Need]:
    """What one gang needs from its workload kind."""
    spec, subject = gang.gang, f'gang "{gang.gang.name}"'
    if gang.after:
        parts = sum(len(awaited(other)) for other in predecessors(gang, gangs))
        yield Need("depends-on", parts, (*gang.route, "dependsOn"), subject=subject)
    if any(other.previous and other.route == gang.route for other in gangs.values()):
        yield Need("at-once", len(awaited(gang)), (*gang.route, "atOnce"), subject=subject)
    if cleanup == "adopt":
        yield Need("adopt", 1, ("workflow", "spec", "cleanup"), subject=subject)
    folded = any(pods.copies > 1 for pods in all_pods(gang.root))
    apart = gang.copies == 1  # one object that makes copies ends and restarts each by itself
    for feature, key, amount in (
        ("lead", "lead", 1 if spec.lead and apart else None),
        ("nonlead-failures", "ignoreNonleadFailures", 1 if spec.ignore_nonlead_failures is False and apart else None),
        ("barrier", "barrier", 1 if spec.barrier != "none" else None),
        ("barrier-of-copies", "barrier", 1 if spec.barrier == "group" and folded else None),
        ("restarts", "maxRestarts", (spec.max_restarts if apart else 0) or None),
        ("deadline", "activeDeadlineSeconds", spec.active_deadline_seconds),
        ("ttl", "ttlSecondsAfterFinished", spec.ttl_seconds_after_finished),
        ("clients", "service", 1 if spec.service else None),
        ("autoscale", "autoscale", spec.autoscale.max_replicas if spec.autoscale else None),
        ("rollout", "rollout", 1 if spec.rollout else None),
    ):
        if amount is not None:
            yield Need(feature, amount, (*gang.route, key), subject=subject)
    if serves(spec):
        yield Need("service", 1, (*gang.route, "lifecycle"), subject=subject)
    for pods in once(all_pods(gang.root)):
        if pods.spec.restart_policy == "Always" and not serves(spec):
            yield Need("always-restart", 1, (*pods.route, "restartPolicy"), subject=f'podSet "{pods.spec.name}"')
        if pods.spec.starts_after:
            yield Need("starts-after", 1, (*pods.route, "startsAfter"), subject=f'podSet "{pods.spec.name}"')
        for feature, key, codes in (
            ("retries", "retryOnExitCodes", pods.spec.retry_on_exit_codes),
            ("gang-retries", "restartGangOnExitCodes", pods.spec.restart_gang_on_exit_codes),
        ):
            for each in (feature, *(("counted-retries",) if spec.max_restarts else ())) if codes else ():
                yield Need(each, 1, (*pods.route, key), subject=f'podSet "{pods.spec.name}"')
