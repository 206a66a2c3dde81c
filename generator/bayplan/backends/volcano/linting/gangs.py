"""PodGroups and the pods that name them (Volcano 1.14.3 to 1.15.1, pkg/scheduler/api/{job_info,sub_job_info}.go)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.backends.volcano.linting.levels import Levels, constraint, order, queue
from bayplan.backends.volcano.pod_group import POD_GROUP
from bayplan.core.diagnostics import Diagnostic, Route, error, warning
from bayplan.core.values import NamedTuple
from bayplan.kube.objects import get, is_kind, items, mapping, number_in, pod_templates, text
from bayplan.model.manifest import Object
from bayplan.model.topology import ClusterTopology


class Members(NamedTuple):
    """Pods of one template that name a PodGroup. `pods`: None where nobody can tell how many."""

    group: str
    namespace: str
    pods: int | None
    labels: Mapping[str, Any]
    scheduler: str
    route: Route


def check(objects: Sequence[Object], levels: Levels, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """M731, M732, M734 to M739 for every PodGroup and every pod that names one."""
    pods = [each for item in objects for each in _members(item)]
    groups = [each for each in objects if is_kind(each.data, "scheduling.volcano.sh", "PodGroup")]
    known = {(_namespace(each.data), text(each.data, "metadata", "name")) for each in groups}
    yield from _strays(pods, known, topology)
    for each in groups:
        key = _namespace(each.data), text(each.data, "metadata", "name")
        mine = [own for own in pods if (own.namespace, own.group) == key]
        yield from _group(each, mine, levels, topology)


def _namespace(data: Any) -> str:
    return text(data, "metadata", "namespace")


def _members(item: Object) -> Iterator[Members]:
    """A Volcano Job's controller writes the annotation itself, so its templates say nothing of theirs."""
    if is_kind(item.data, "batch.volcano.sh", "Job"):
        return
    for path, template in pod_templates(item.data):
        metadata = mapping(template, "metadata")
        group = text(metadata, "annotations", POD_GROUP)
        if group:
            route = (*item.route, *path)
            count, scheduler = _count(item.data, path), text(template, "spec", "schedulerName")
            namespace = _namespace(item.data) or text(metadata, "namespace")
            yield Members(group, namespace, count, mapping(metadata, "labels"), scheduler, route)


def _count(data: Any, path: tuple[str | int, ...]) -> int | None:
    """How many pods a template makes, where its kind is known."""
    kind = text(data, "kind")
    if kind == "Pod":
        return 1
    if kind == "Job":
        return _or_one(get(data, "spec", "parallelism"))
    if kind == "JobSet":
        job = get(data, *path[:3])
        return _or_one(get(job, "replicas")) * _or_one(get(job, "template", "spec", "parallelism"))
    return _or_one(get(data, "spec", "replicas")) if kind in ("Deployment", "StatefulSet", "ReplicaSet") else None


def _or_one(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 1


def _strays(pods: Sequence[Members], known: set[tuple[str, str]], topology: ClusterTopology) -> Iterator[Diagnostic]:
    """M736: the PodGroup is there; M739: the pods are Volcano's."""
    scheduler = str(topology.schedulers.get("volcano", {}).get("schedulerName", "volcano"))
    for each in pods:
        at = (*each.route, "metadata", "annotations", POD_GROUP)
        if (each.namespace, each.group) not in known:
            message = f'these pods name the PodGroup "{each.group}", which is not there; without it they never start'
            hint = f"write that PodGroup{f' in the namespace {each.namespace}' if each.namespace else ''}"
            yield error("M736", at, message, hint=hint)
        elif each.scheduler != scheduler:
            other = f'"{each.scheduler}"' if each.scheduler else "the default scheduler"
            message = f'these pods name the PodGroup "{each.group}" but are left to {other}, so it stays empty'
            route = (*each.route, "spec", *(("schedulerName",) if each.scheduler else ()))
            yield error("M739", route, message, hint=f"set schedulerName to {scheduler}")


def _group(each: Object, pods: Sequence[Members], levels: Levels, topology: ClusterTopology) -> Iterator[Diagnostic]:
    spec, at = mapping(each.data, "spec"), (*each.route, "spec")
    what = f'PodGroup "{text(each.data, "metadata", "name")}"'
    yield from constraint(spec, at, what, levels)
    yield from queue(spec, at, what, topology)
    least, there = number_in(spec, "minMember"), _sum(pods)
    if least is not None and there is not None and least > there:
        message = f"{what} waits for {least} pods, and {there} name it"
        yield error("M737", (*at, "minMember"), message, hint="lower minMember, or add the missing pods")
    listed = items(spec, "subGroupPolicy")
    taken = _taken(listed, pods)
    for i, policy in enumerate(listed):
        inside = (*at, "subGroupPolicy", i)
        name = f'the policy "{text(policy, "name")}" of {what}'
        yield from constraint(policy, inside, name, levels)
        yield from order(spec, policy, (at, inside), name)
        yield from _policy(policy, inside, name, pods, taken.get(i, []))
        if any(text(other, "name") == text(policy, "name") for other in listed[:i]):
            message = f'two policies are called "{text(policy, "name")}", and Volcano counts their subgroups together'
            yield error("M738", (*inside, "name"), message, hint="rename one of them")


def _sum(pods: Sequence[Members]) -> int | None:
    """The pods of all templates; None where there are none to see, or some cannot be counted."""
    counts = [each.pods for each in pods if each.pods is not None]
    return sum(counts) if counts and len(counts) == len(pods) else None


def _taken(policies: Sequence[Any], pods: Sequence[Members]) -> dict[int, list[Members]]:
    """Which pods each policy takes: the first that matches."""
    found: dict[int, list[Members]] = {}
    for each in pods:
        first = next(
            (i for i, policy in enumerate(policies) if _matches(policy, each) and not _lacks(policy, each)), -1
        )
        found.setdefault(first, []).append(each)
    return found


def _matches(policy: Any, each: Members) -> bool:
    """Whether the selector takes the pods; without one it takes all."""
    wanted = mapping(policy, "labelSelector", "matchLabels")
    if any(each.labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_holds(each.labels, rule) for rule in items(policy, "labelSelector", "matchExpressions"))


def _holds(labels: Mapping[str, Any], rule: Any) -> bool:
    key, values = text(rule, "key"), items(rule, "values")
    return {
        "In": key in labels and labels[key] in values,
        "NotIn": labels.get(key) not in values,
        "Exists": key in labels,
        "DoesNotExist": key not in labels,
    }.get(text(rule, "operator"), False)


MADE = ("batch.kubernetes.io/", "jobset.sigs.k8s.io/", "apps.kubernetes.io/", "statefulset.kubernetes.io/")
"""Labels that controllers put on pods; templates do not show them."""


def _lacks(policy: Any, each: Members) -> list[str]:
    keys = [key for key in items(policy, "matchLabelKeys") if isinstance(key, str)]
    return [key for key in keys if not each.labels.get(key) and not key.startswith(MADE)]


def _policy(
    policy: Any, at: Route, what: str, pods: Sequence[Members], mine: Sequence[Members]
) -> Iterator[Diagnostic]:
    """M735: pods find their subgroup; M737: enough of them are there."""
    if not items(policy, "matchLabelKeys"):
        message = f"{what} has no matchLabelKeys, and such a policy takes no pods at all"
        yield error("M735", at, message, hint="name the label whose values tell the subgroups apart")
        return
    for each in pods:
        lacks = _lacks(policy, each)
        if lacks and _matches(policy, each):
            message = f"these pods lack the label {lacks[0]}, by which {what} groups them; they are left out of it"
            yield error("M735", (*each.route, "metadata", "labels"), message, hint="add the label to the pod template")
    least = number_in(policy, "minSubGroups")
    if not least:
        message = f"{what} needs none of its subgroups: minSubGroups is 0 unless it is stated"
        yield warning("M737", at, message, hint="add minSubGroups, or the gang may start with none of them whole")
    size, there = number_in(policy, "subGroupSize") or 1, _sum(mine)
    if pods and not mine and not any(_lacks(policy, each) for each in pods):
        message = f"{what} takes none of the PodGroup's pods"
        hint = "compare its labelSelector with the pods' labels, and with the policies before it"
        yield error("M738", at, message, hint=hint)
    elif least and there is not None and least * size > there:
        message = f"{what} waits for {least} subgroups of {size} pods, and {there} pods are there"
        yield error("M737", (*at, "minSubGroups"), message, hint="lower minSubGroups or subGroupSize")
