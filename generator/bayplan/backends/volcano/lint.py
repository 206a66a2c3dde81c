"""Rules for Volcano's objects. Volcano's webhooks refuse few of these mistakes, and the scheduler only logs them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.backends.volcano.pod_group import POD_GROUP, SCHEDULER
from bayplan.core.diagnostics import Diagnostic, Note, Route, error, warning
from bayplan.kube.objects import get, is_kind, items, mapping, name, namespace, number_in, text, title
from bayplan.kube.templates import PodTemplate
from bayplan.linting.objects import LintContext, Rule
from bayplan.model.manifest import Object
from bayplan.model.topology import HOSTNAME_LABEL, ClusterTopology, Queue
from bayplan.topologies.hypernodes import GROUP, Labels, faults, read_hyper_node
from bayplan.topologies.hypernodes.writing import tree

# `networkTopology`, which Volcano ignores if it cannot read it

QUEUES = ("default", "root")


class Tiers(NamedTuple):
    """The tiers of HyperNodes and their names."""

    tiers: frozenset[int]
    names: frozenset[str]


def check_network_topology(data: Any, route: Route, what: str, levels: Tiers) -> Iterator[Diagnostic]:
    """M731: a network topology without a tier, or with an unknown one."""
    topology, at = mapping(data, "networkTopology"), (*route, "networkTopology")
    tier, name = number_in(topology, "highestTierAllowed"), text(topology, "highestTierName")
    if get(data, "networkTopology") is None or text(topology, "mode") == "soft":
        return
    if tier is not None and name:
        message = f"{what}: `highestTierAllowed` and `highestTierName` exclude each other"
        hint = "remove `highestTierName`: Volcano ignores an unknown name"
        yield error("M731", (*at, "highestTierName"), message, hint=hint)
    elif tier is None and not name:
        message = f"Volcano ignores the hard network topology of {what}, because it names no tier"
        yield error("M731", at, message, hint="add `highestTierAllowed`")
    elif tier is None and levels.names and name not in levels.names:
        message = f'Volcano ignores the network topology of {what}, because no HyperNode has the tier "{name}"'
        hint = "use `highestTierAllowed` with the number of the tier"
        yield error("M731", (*at, "highestTierName"), message, hint=hint)
    elif tier is not None and levels.tiers:
        yield from _tier(tier, (*at, "highestTierAllowed"), what, levels.tiers)


def _tier(tier: int, at: Route, what: str, tiers: frozenset[int]) -> Iterator[Diagnostic]:
    known = ", ".join(map(str, sorted(tiers)))
    if tier > max(tiers):
        message = f"{what}: tier {tier} is above all HyperNodes (tiers {known}), so it allows the whole cluster"
        yield warning("M731", at, message, hint=f"set {max(tiers)} or less, or remove the constraint")
    elif tier < min(tiers):
        message = f"{what}: tier {tier} is below all HyperNodes (tiers {known}), so Volcano never places the pods"
        yield error("M731", at, message, hint=f"set {min(tiers)} or more")


def check_nesting(outer: Any, inner: Any, routes: tuple[Route, Route], what: str) -> Iterator[Diagnostic]:
    """M731: an inner constraint must not allow a higher tier than the outer one."""
    tiers = [number_in(mapping(each, "networkTopology"), "highestTierAllowed") for each in (outer, inner)]
    hard = all(text(each, "networkTopology", "mode") != "soft" for each in (outer, inner))
    if hard and tiers[0] is not None and tiers[1] is not None and tiers[1] > tiers[0]:
        at, around = ((*route, "networkTopology", "highestTierAllowed") for route in (routes[1], routes[0]))
        message = f"{what}: tier {tiers[1]} has no effect, because the whole gang allows only tier {tiers[0]}"
        notes = (Note("the tier of the gang is here", around),)
        yield error("M731", at, message, hint="give the gang the higher of the two tiers", notes=notes)


def check_queue(data: Any, route: Route, what: str, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """M719: a queue that does not exist. Without a list in the topology, bayplan accepts every queue."""
    name = text(data, "queue")
    if name == "root":
        message = f'{what} is in the queue "root", which Volcano refuses'
        yield error("M719", (*route, "queue"), message, hint="name a leaf queue")
    elif name and topology.queue_names is not None and name not in (*topology.queue_names, *QUEUES):
        message = f'{what} is in the queue "{name}", but the topology has no such queue'
        hint = f"known queues: {', '.join(topology.queue_names) or 'default'}"
        yield error("M719", (*route, "queue"), message, hint=hint)


# PodGroups and the pods that name them (Volcano 1.14.3 to 1.15.1, pkg/scheduler/api/{job_info,sub_job_info}.go)


POD_GROUP_KIND = ("scheduling.volcano.sh", "PodGroup")
JOB = ("batch.volcano.sh", "Job")


def _pod_groups(context: LintContext, tiers: Tiers) -> Iterator[Diagnostic]:
    """M707, M719, M731, M708, M706: PodGroups and the pods that name them."""
    members: dict[tuple[str, str], list[PodTemplate]] = {}
    for each in context.templates:  # the controller of Volcano Jobs writes the annotation itself
        if text(each.annotations, POD_GROUP) and not is_kind(each.object.data, *JOB):
            members.setdefault((namespace(each.object), text(each.annotations, POD_GROUP)), []).append(each)
    groups = context.of(*POD_GROUP_KIND)
    keys = {(namespace(group), name(group)) for group in groups}
    for key, pods in members.items():
        yield from _misplaced_pods(key, pods, key in keys, context.topology)
    for group in groups:
        yield from _pod_group(group, members.get((namespace(group), name(group)), []), tiers, context.topology)


def _misplaced_pods(
    key: tuple[str, str], pods: Sequence[PodTemplate], group_exists: bool, topology: ClusterTopology
) -> Iterator[Diagnostic]:
    """M707: the PodGroup exists. M706: Volcano schedules the pods."""
    where, group = key
    scheduler = topology.scheduler_name("volcano", SCHEDULER)
    for each in pods:
        own = text(each.spec, "schedulerName")
        if not group_exists:
            at = (*each.route, "metadata", "annotations", POD_GROUP)
            message = f'the pods never start: they name PodGroup "{group}", which is not in the manifests'
            hint = f"add the PodGroup{f' to namespace {where}' if where else ''}, or correct the name"
            yield error("M707", at, message, hint=hint)
        elif own != scheduler:
            other = f'"{own}"' if own else "the default scheduler"
            message = f'the pods name PodGroup "{group}" of Volcano, but their scheduler is {other}'
            route = (*each.spec_route, *(("schedulerName",) if own else ()))
            yield error("M706", route, message, hint=f"set `schedulerName` to {scheduler}")


def _pod_group(
    each: Object, pods: Sequence[PodTemplate], tiers: Tiers, topology: ClusterTopology
) -> Iterator[Diagnostic]:
    spec, at = mapping(each.data, "spec"), (*each.route, "spec")
    what = title(each)
    yield from check_network_topology(spec, at, what, tiers)
    yield from check_queue(spec, at, what, topology)
    listed = items(spec, "subGroupPolicy")
    pods_of = _pods_by_policy(listed, pods)
    for i, policy in enumerate(listed):
        inside = (*at, "subGroupPolicy", i)
        policy_title = f'the policy "{text(policy, "name")}" of {what}'
        yield from check_network_topology(policy, inside, policy_title, tiers)
        yield from check_nesting(spec, policy, (at, inside), policy_title)
        yield from _policy(policy, inside, policy_title, pods, pods_of.get(i, []))
        if any(text(other, "name") == text(policy, "name") for other in listed[:i]):
            message = f'two policies have the name "{text(policy, "name")}", so Volcano counts their subgroups as one'
            yield error("M731", (*inside, "name"), message, hint="rename one of the two")


def _total_pods(pods: Sequence[PodTemplate]) -> int | None:
    """The number of pods of all templates; None without templates, or if a number is unknown."""
    counts = [each.pods for each in pods if each.pods is not None]
    return sum(counts) if counts and len(counts) == len(pods) else None


def _pods_by_policy(policies: Sequence[Any], pods: Sequence[PodTemplate]) -> dict[int, list[PodTemplate]]:
    """Index of a policy -> its pods. The first policy that matches takes a pod; -1 has the others."""
    pods_by_policy: dict[int, list[PodTemplate]] = {}
    for each in pods:
        first = next(
            (i for i, policy in enumerate(policies) if _matches(policy, each) and not _missing_labels(policy, each)), -1
        )
        pods_by_policy.setdefault(first, []).append(each)
    return pods_by_policy


def _matches(policy: Any, each: PodTemplate) -> bool:
    """Whether the selector matches the pods. Without one, the policy takes all pods."""
    wanted = mapping(policy, "labelSelector", "matchLabels")
    if any(each.labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_expression_holds(each.labels, rule) for rule in items(policy, "labelSelector", "matchExpressions"))


def _expression_holds(labels: Mapping[str, Any], rule: Any) -> bool:
    key, values = text(rule, "key"), items(rule, "values")
    return {
        "In": key in labels and labels[key] in values,
        "NotIn": labels.get(key) not in values,
        "Exists": key in labels,
        "DoesNotExist": key not in labels,
    }.get(text(rule, "operator"), False)


CONTROLLER_LABELS = ("batch.kubernetes.io/", "jobset.sigs.k8s.io/", "apps.kubernetes.io/", "statefulset.kubernetes.io/")
"""Prefixes of labels that controllers add to pods, and that templates do not have."""


def _missing_labels(policy: Any, each: PodTemplate) -> list[str]:
    keys = [key for key in items(policy, "matchLabelKeys") if isinstance(key, str)]
    return [key for key in keys if not each.labels.get(key) and not key.startswith(CONTROLLER_LABELS)]


def _policy(
    policy: Any, at: Route, what: str, pods: Sequence[PodTemplate], members: Sequence[PodTemplate]
) -> Iterator[Diagnostic]:
    """M731: pods have a subgroup. M708: the policy has enough pods."""
    if not items(policy, "matchLabelKeys"):
        message = f"{what} takes no pods, because it has no `matchLabelKeys`"
        yield error("M731", at, message, hint="name the label whose values identify the subgroups")
        return
    for each in pods:
        missing = _missing_labels(policy, each)
        if missing and _matches(policy, each):
            message = f"{what} leaves these pods out, because they lack the label {missing[0]}"
            yield error("M731", (*each.route, "metadata", "labels"), message, hint="add the label to the pod template")
    least = number_in(policy, "minSubGroups")
    if not least:
        message = f"{what} has no `minSubGroups`, so the gang may start without a complete subgroup"
        yield warning("M708", at, message, hint="add `minSubGroups`: its default is 0")
    size, there = number_in(policy, "subGroupSize") or 1, _total_pods(members)
    if pods and not members and not any(_missing_labels(policy, each) for each in pods):
        message = f"{what} takes no pods of the PodGroup"
        hint = "compare its `labelSelector` with the labels of the pods and with the policies before it"
        yield error("M731", at, message, hint=hint)
    elif least and there is not None and least * size > there:
        message = f"{what} waits for {least} subgroups with {size} pods each, but has only {there} pods"
        yield error("M708", (*at, "minSubGroups"), message, hint="lower `minSubGroups` or `subGroupSize`")


# Volcano Jobs (Volcano 1.14.3 to 1.15.1, pkg/webhooks/admission/jobs, and mistakes that the webhooks accept)


def _jobs(context: LintContext, tiers: Tiers) -> Iterator[Diagnostic]:
    """M719, M731, M708: Volcano Jobs."""
    for each in context.of(*JOB):
        spec, at = mapping(each.data, "spec"), (*each.route, "spec")
        what = f"Volcano {title(each)}"
        yield from check_network_topology(spec, at, what, tiers)
        yield from check_queue(spec, at, what, context.topology)
        yield from _min_available(spec, at, what)
        for i, task in enumerate(items(spec, "tasks")):
            yield from _task(spec, at, task, (*at, "tasks", i), tiers)


def _min_available(spec: Any, at: Route, what: str) -> Iterator[Diagnostic]:
    """M708: the minimum of the gang, compared with its pods and with the minimums of its tasks."""
    tasks, least = items(spec, "tasks"), number_in(spec, "minAvailable")
    pods = sum(number_in(task, "replicas") or 0 for task in tasks)
    inner = sum(_task_minimum(task) for task in tasks)
    if (
        least
        and least < inner <= pods
        and any(get(task, key) is not None for task in tasks for key in ("minAvailable", "partitionPolicy"))
    ):
        message = f"{what} starts with {least} pods, so Volcano ignores the minimums of its tasks, {inner} in total"
        hint = f"set `minAvailable` to {inner}, or lower the minimums of the tasks to {least} in total"
        yield warning("M708", (*at, "minAvailable"), message, hint=hint)


def _task_minimum(task: Any) -> int:
    """The minimum of a task. Without `minAvailable`, the default of the mutating webhook."""
    stated, policy = number_in(task, "minAvailable"), mapping(task, "partitionPolicy")
    if stated is not None:
        return stated
    partitions = (number_in(policy, "minPartitions") or 0) * (number_in(policy, "partitionSize") or 0)
    return partitions or number_in(task, "replicas") or 0


def _task(spec: Any, outer: Route, task: Any, at: Route, tiers: Tiers) -> Iterator[Diagnostic]:
    what = f'task "{text(task, "name")}"'
    replicas, least = number_in(task, "replicas"), number_in(task, "minAvailable")
    if "replicas" not in mapping(task):
        yield error("M708", at, f"{what} has no `replicas`, so it has no pods", hint="add `replicas`")
    elif least is not None and replicas is not None and least > replicas:
        message = f"{what} waits for {least} pods, but has only {replicas}"
        yield error("M708", (*at, "minAvailable"), message, hint=f"lower it to {replicas} or less")
    if get(task, "partitionPolicy") is not None:
        policy, inside = mapping(task, "partitionPolicy"), (*at, "partitionPolicy")
        yield from check_network_topology(policy, inside, f"the partitions of {what}", tiers)
        yield from check_nesting(spec, policy, (outer, inside), f"a partition of {what}")
        yield from _partitions(task, policy, inside, what)


def _partitions(task: Any, policy: Any, at: Route, what: str) -> Iterator[Diagnostic]:
    """M708: partitions that do not add up to the pods, or of which none must be complete."""
    total, size = number_in(policy, "totalPartitions") or 0, number_in(policy, "partitionSize") or 0
    replicas, least, minimum = (
        number_in(task, "replicas"),
        number_in(task, "minAvailable"),
        number_in(policy, "minPartitions"),
    )
    if replicas is not None and total * size != replicas:
        message = f"{what} has {replicas} pods, but {total} partitions of {size} pods have {total * size}"
        yield error("M708", (*at, "totalPartitions"), message, hint="set replicas = totalPartitions x partitionSize")
    if not minimum:
        message = f"{what} has no `minPartitions`, so the gang may start without a complete partition"
        yield warning("M708", at, message, hint=f"add `minPartitions: {total}` and `minAvailable: {total * size}`")
    elif least is not None and minimum * size != least:
        message = f"{what} waits for {least} pods, but {minimum} partitions of {size} pods have {minimum * size}"
        yield error("M708", (*at, "minPartitions"), message, hint="set minAvailable = minPartitions x partitionSize")


# The rules


def check_objects(context: LintContext) -> Iterator[Diagnostic]:
    """All rules: HyperNodes on the nodes of the topology, then PodGroups with their pods, and Volcano Jobs."""
    hyper_nodes = [read_hyper_node(each) for each in context.of(GROUP, "HyperNode")]
    yield from faults(hyper_nodes, _labels_by_node(context.topology) or None)
    tiers = _tiers_of(context.topology)
    if hyper_nodes:
        tiers = Tiers(
            frozenset(each.tier for each in hyper_nodes if each.tier is not None),
            frozenset(each.tier_name for each in hyper_nodes),
        )
    if context.topology.queues is not None:
        more = (Queue(name(one)) for one in context.of("scheduling.volcano.sh", "Queue"))
        context = context._replace(topology=context.topology._replace(queues=(*context.topology.queues, *more)))
    yield from _pod_groups(context, tiers)
    yield from _jobs(context, tiers)


def _tiers_of(topology: ClusterTopology) -> Tiers:
    """The tiers of the HyperNodes that bayplan or discovery would write for a topology."""
    domains = tree(topology)
    return Tiers(frozenset(each.tier for each in domains.values()), frozenset(key[-1][0] for key in domains))


def _labels_by_node(topology: ClusterTopology) -> dict[str, Labels]:
    """Node -> its labels in the topology, for all pools."""
    return {
        node: {
            **pool.node.node_selector,
            **dict(zip((level.label for level in pool.levels), domain.path, strict=False)),
            HOSTNAME_LABEL: node,
        }
        for pool in topology.pools
        for domain in pool.domains
        for node in domain.nodes
    }


RULES: tuple[Rule, ...] = (check_objects,)
