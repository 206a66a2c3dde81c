"""The way back from Volcano manifests to intent, and the intent of a plan in the same words.

Levels are tiers here, as in the manifests (`tier 1`). Groups that Volcano need not know of are no units: their pods are
those of the unit around them. A level that is preferred beside a required one is not said, and so not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.backends.volcano.pod_group import POD_GROUP, POLICY, PREEMPTABLE, ROLE, network_topology, ordered_policies
from bayplan.core.diagnostics import Outcome
from bayplan.kube.kinds import GROUP_LABEL
from bayplan.kube.kinds.jobset import JOB_INDEX
from bayplan.kube.objects import is_kind, items, mapping, text
from bayplan.kube.objects import number_in as number
from bayplan.model.manifest import Manifest
from bayplan.model.plan import GangPlan, Plan, Unit, all_pods
from bayplan.model.target import Target
from oracle.intent import GangIntent, PodsIntent, UnitIntent, gang_intent, in_order, pods_intent
from oracle.manifests import (
    Channels,
    PodsRead,
    annotation_of,
    by,
    channels,
    claimed,
    found_pods,
    merged,
    read_volcano_job,
)

Fields = Mapping[str, Any]
Key = tuple[str, str]  # namespace, name


def intent(plan: Plan, target: Target) -> tuple[GangIntent, ...]:
    """What Volcano manifests of the plan must say."""
    return tuple(gang_intent(plan, gang)._replace(root=_root_intent(plan, gang)) for gang in plan.gangs)


def _root_intent(plan: Plan, gang: GangPlan) -> UnitIntent:
    found = ordered_policies(plan, gang)
    inside = {pods.name for policy in found for unit in policy.units for pods in all_pods(unit)}
    units: list[UnitIntent] = []
    for policy in found:
        own = [_unit_intent(plan, unit, all_pods(unit)) for unit in policy.units]
        units += _grouped(policy.name, policy.minimum, own)
    rest = (pods for pods in all_pods(gang.root) if pods.name not in inside)
    return _unit_intent(plan, gang.root, rest)._replace(units=in_order(units))


def _unit_intent(plan: Plan, unit: Unit, pods: Iterable[Any]) -> UnitIntent:
    required, preferred = _levels(network_topology(plan, unit))
    return UnitIntent(unit.name, required, preferred, pods=tuple(sorted(map(pods_intent, pods))))


def _grouped(name: str, minimum: int, units: Sequence[UnitIntent]) -> Sequence[UnitIntent]:
    """The units of a policy, below one that says how many must start where not all must."""
    return [UnitIntent(name, minimum=minimum, units=in_order(units))] if minimum < len(units) else units


def _levels(spec: Fields) -> tuple[str, str]:
    """Required and preferred level of something with a `networkTopology`. Without a tier there is no constraint."""
    topology = mapping(spec, "networkTopology")
    tier = number(topology, "highestTierAllowed")
    level = "" if tier is None else f"tier {tier}"
    return ("", level or "any tier") if topology.get("mode") == "soft" else (level, "")


def read(documents: Sequence[Manifest]) -> Outcome[tuple[GangIntent, ...]]:
    """The gangs that PodGroups with their pods, and Volcano Jobs describe, in the order of their names."""
    domains = channels(documents)
    jobs = [d for d in documents if is_kind(d, "batch.volcano.sh", "Job")]
    found = by(_owner, found_pods(d for d in documents if not is_kind(d, "batch.volcano.sh", "Job")))
    groups = [d for d in documents if is_kind(d, "scheduling.volcano.sh", "PodGroup")]
    gangs = [_read_group(d, [Seen(p, claimed(p, domains)) for p in merged(found.get(_key(d), ()))]) for d in groups]
    gangs += [_read_job(d, domains) for d in jobs]
    return Outcome(tuple(sorted(gangs, key=lambda gang: (gang.namespace, gang.name))))


class Seen(NamedTuple):
    """The pods of one podSet instance, and the ComputeDomain that they claim from."""

    pods: PodsRead
    domain: str

    @property
    def labels(self) -> Fields:
        """Of the pods."""
        return mapping(self.pods.template, "metadata", "labels")

    def intent(self, minimum: int | None) -> PodsIntent:
        """With the least that must start; all, where nothing says less."""
        count = self.pods.replicas
        return PodsIntent(self.pods.name, count, count if minimum is None else minimum, self.domain)


def _key(document: Fields) -> Key:
    return text(document, "metadata", "namespace"), text(document, "metadata", "name")


def _owner(pods: PodsRead) -> Key:
    return pods.owner.get("namespace", ""), annotation_of(pods, POD_GROUP)


def _read_group(document: Fields, pods: Sequence[Seen]) -> GangIntent:
    spec = document["spec"]
    least = mapping(spec, "minTaskMember")
    units: list[UnitIntent] = []
    inside: set[str] = set()
    for policy in items(spec, "subGroupPolicy"):
        mine = [each for each in pods if each.labels.get(POLICY) == text(policy, "name")]
        inside |= {each.pods.name for each in mine}
        units += _read_policy(policy, mine, least)
    rest = [each for each in pods if each.pods.name not in inside]
    alone = spec.get("minMember") if len(pods) == 1 else None
    required, preferred = _levels(spec)
    root = UnitIntent(
        "", required, preferred, units=in_order(units), pods=_read_pods(rest, least, alone if rest else None)
    )
    return _gang(document, spec.get("queue", ""), root, {each.domain for each in pods if each.domain})


def _read_policy(policy: Fields, pods: Sequence[Seen], least: Fields) -> Sequence[UnitIntent]:
    key = next(iter(items(policy, "matchLabelKeys")), "")
    by_unit: dict[str, list[Seen]] = {}
    for each in pods:
        by_unit.setdefault(str(each.labels.get(key, "")), []).append(each)
    required, preferred = _levels(policy)
    if key == JOB_INDEX:
        return _grouped(text(policy, "name"), policy.get("minSubGroups", 0), list(_read_copies(policy, pods)))
    units = [
        UnitIntent(
            name,
            required,
            preferred,
            pods=_read_pods(mine, least, policy.get("subGroupSize") if len(mine) == 1 else None),
        )
        for name, mine in by_unit.items()
    ]
    return _grouped(text(policy, "name"), policy.get("minSubGroups", 0), units)


def _read_copies(policy: Fields, pods: Sequence[Seen]) -> Iterator[UnitIntent]:
    """Jobs of a JobSet, which only their controller tells apart: each is as large as a subgroup."""
    size = number(policy, "subGroupSize") or 1
    required, preferred = _levels(policy)
    for each in pods:
        for copy in range(each.pods.replicas // size):
            name = f"{each.pods.name}-{copy}"
            yield UnitIntent(name, required, preferred, pods=(PodsIntent(name, size, size, each.domain),))


def _read_pods(pods: Iterable[Seen], least: Fields, alone: int | None) -> tuple[PodsIntent, ...]:
    """Podsets with their minimums: by role, or all that the one podSet of a subgroup or gang is asked for."""
    roles = ((each, number(least, annotation_of(each.pods, ROLE))) for each in pods)
    return tuple(sorted(each.intent(alone if role is None else role) for each, role in roles))


def _gang(document: Fields, queue: str, root: UnitIntent, domains: set[str]) -> GangIntent:
    namespace, name = _key(document)
    stated = text(document, "metadata", "annotations", PREEMPTABLE)
    return GangIntent(
        name=name,
        namespace=namespace,
        queue=queue,
        priority_class=text(document, "spec", "priorityClassName"),
        preemptible={"true": True, "false": False}.get(stated),
        topology="",
        root=root,
        compute_domains=tuple(sorted(domains)),
    )


def _read_job(document: Fields, domains: Channels) -> GangIntent:
    """A Volcano Job: each partition of a task is a unit, called after its group and number."""
    spec = document["spec"]
    tasks = [
        (task, Seen(pods, claimed(pods, domains)))
        for task, pods in zip(items(spec, "tasks"), read_volcano_job(document), strict=True)
    ]
    units = [unit for task, seen in tasks for unit in _partitions(task, seen)]
    rest = [(task, seen) for task, seen in tasks if not mapping(task, "partitionPolicy")]
    required, preferred = _levels(spec)
    pods = tuple(sorted(each for task, seen in rest for each in _instances(task, seen)))
    root = UnitIntent("", required, preferred, units=in_order(units), pods=pods)
    return _gang(document, spec.get("queue", ""), root, {seen.domain for _, seen in tasks if seen.domain})


def _instances(task: Fields, seen: Seen) -> Iterator[PodsIntent]:
    yield seen.intent(number(task, "minAvailable"))


def _partitions(task: Fields, seen: Seen) -> Iterator[UnitIntent]:
    policy = mapping(task, "partitionPolicy")
    count, size = number(policy, "totalPartitions") or 0, number(policy, "partitionSize") or 0
    group = text(seen.labels, GROUP_LABEL)
    own = seen.pods.name.removeprefix(group)
    required, preferred = _levels(policy)
    for index in range(count):
        name = f"{group}-{index}" if count > 1 else group
        yield UnitIntent(name, required, preferred, pods=(PodsIntent(name + own, size, size, seen.domain),))
