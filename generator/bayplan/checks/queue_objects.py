"""Queues among the manifests: whether they can ever hold the gangs that name them, as for queues of the topology."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.checks.gangs import Member, Members, gangs_of
from bayplan.core.diagnostics import Diagnostic, Note, Route, error
from bayplan.kube import quantity
from bayplan.kube.asked import PodsFound, requests
from bayplan.kube.objects import get, group, items, kind, mapping, name, named, namespace, text, title
from bayplan.model.manifest import Object
from bayplan.model.topology import GPU, Queue, Quota
from bayplan.planning.queues import Bound, refused
from bayplan.topologies.kai import UNITS

KINDS: Mapping[str, tuple[tuple[str, str], str]] = {
    "kai": (("scheduling.run.ai", "Queue"), "parentQueue"),
    "volcano": (("scheduling.volcano.sh", "Queue"), "parent"),
    "koordinator": (("scheduling.sigs.k8s.io", "ElasticQuota"), ""),
    "kueue": (("kueue.x-k8s.io", "ClusterQueue"), ""),
}
"""Scheduler -> API group and kind of its queues with numbers, and the field that names the parent."""

LOCAL, NAMESPACE = ("kueue.x-k8s.io", "LocalQueue"), ("", "Namespace")
PARENT = "quota.scheduling.koordinator.sh/parent"
RELATED = frozenset({*(what for (_, what), _ in KINDS.values()), LOCAL[1], NAMESPACE[1]})


def check(every: Members) -> Iterator[Diagnostic]:
    """M719: a queue of another namespace, or that takes nothing of it. P563: a queue that is too small."""
    objects: dict[tuple[str, str], list[Object]] = {}
    for one in every.objects:
        objects.setdefault((group(one), kind(one)), []).append(one)
    if not any(what in objects for what in (LOCAL, *(what for what, _ in KINDS.values()))):
        return
    for gang in gangs_of(every):
        first = gang[0]
        if first.scheduler in KINDS and first.asked.queue:
            found = _kueue(gang, objects) if first.scheduler == "kueue" else _others(gang, objects)
            yield from list(found)[:1]


def _requests(found: PodsFound) -> Mapping[str, int]:
    """Thousandths of what one pod requests."""
    asked = requests(found)
    cards = sum(amount for key, amount in asked.items() if key.endswith("/gpu"))
    return {**asked, **({GPU: cards} if cards else {})}


def _needed(gang: Sequence[Member], whole: bool) -> Mapping[str, int]:
    """The least that the gang holds when it starts: its cheapest pods of each resource. `whole`: all of them."""
    pods = [(_requests(each.found), each.found.replicas) for each in gang]
    total = sum(number for _, number in pods)
    waits = gang[0].asked.waits
    left = total if whole or (waits is None and not gang[0].asked.units) else min(max(waits or 1, 1), total)
    needed = {}
    for resource in {key for asked, _ in pods for key in asked}:
        rest, needed[resource] = left, 0
        for amount, number in sorted((asked.get(resource, 0), number) for asked, number in pods):
            needed[resource] += amount * min(number, rest)
            rest -= min(number, rest)
    return needed


def _others(gang: Sequence[Member], objects: Mapping[tuple[str, str], Sequence[Object]]) -> Iterator[Diagnostic]:
    """Queues with a limit, and their parents: `limit` (KAI), `capability` (Volcano), `max` (Koordinator)."""
    scheduler, own, seen = gang[0].scheduler, gang[0].asked.queue, set[str]()
    what, parent = KINDS[scheduler]
    by_name, called, needed = {name(one): one for one in objects.get(what, ())}, own, _needed(gang, whole=False)
    while called in by_name and called not in seen:
        seen.add(called)
        one = by_name[called]
        for resource, amount, path in _limits(scheduler, one):
            if needed.get(resource, 0) > amount:
                bound = Bound(Queue(called), Quota(resource), amount, str(path[-1]), (*one.route, *path))
                yield _too_small(gang, needed[resource], bound, own)
        called = text(one.data, "spec", parent) if parent else text(one.data, "metadata", "labels", PARENT)


def _limits(scheduler: str, one: Object) -> Iterator[tuple[str, int, Route]]:
    if scheduler == "kai":
        for resource, unit in UNITS.items():
            path: Route = ("spec", "resources", resource, "limit")
            limit = get(one.data, *path)
            if isinstance(limit, int | float) and limit >= 0:
                yield resource, round(limit * unit), path
        return
    key = "capability" if scheduler == "volcano" else "max"
    for resource, value in mapping(one.data, "spec", key).items():
        if (amount := _parsed(value)) is not None:
            yield str(resource), amount, ("spec", key, resource)


def _parsed(value: Any) -> int | None:
    try:
        return quantity.parse(str(value))
    except ValueError:
        return None


def _too_small(gang: Sequence[Member], wanted: int, bound: Bound, own: str) -> Diagnostic:
    workload = gang[0].found.workload
    above = "" if bound.queue.name == own else f', a parent of queue "{own}",'
    return refused(
        f"the gang of {title(workload)} needs", wanted, bound, f'queue "{bound.queue.name}"{above}', named(workload)
    )


# Kueue: a LocalQueue of the namespace, and its ClusterQueue (0.19, pkg/cache/scheduler, pkg/scheduler/flavorassigner)


def _kueue(gang: Sequence[Member], objects: Mapping[tuple[str, str], Sequence[Object]]) -> Iterator[Diagnostic]:
    workload, called = gang[0].found.workload, gang[0].asked.queue
    where = namespace(workload)
    queues = [one for one in objects.get(LOCAL, ()) if name(one) == called]
    local = next((one for one in queues if not where or namespace(one) in ("", where)), None)
    if local is None:
        if queues:
            message = f'{title(workload)} is in the namespace "{where}", but LocalQueue "{called}" is in another'
            note = Note("the LocalQueue is here", named(queues[0]))
            hint = f'add a LocalQueue "{called}" to the namespace, or name one of it'
            yield error("M719", named(workload), message, hint=hint, notes=(note,))
        return
    owner = text(local.data, "spec", "clusterQueue")
    one = next((each for each in objects.get(KINDS["kueue"][0], ()) if name(each) == owner), None)
    if one is None:
        return
    if where and not _selects(one, where, objects.get(NAMESPACE, ())):
        message = f'{title(one)} admits nothing of the namespace "{where}", which its `namespaceSelector` excludes'
        yield error("M719", named(workload), message, hint="correct the selector, or name another queue")
    needed = {key: amount for key, amount in _needed(gang, whole=True).items() if key != GPU and amount}
    covered = {
        str(each) for part in items(one.data, "spec", "resourceGroups") for each in items(part, "coveredResources")
    }
    if (lacking := sorted(needed.keys() - covered)) and covered:
        message = f"{title(workload)} requests {lacking[0]}, which {title(one)} does not cover, so it stays pending"
        route = (*one.route, "spec", "resourceGroups", 0, "coveredResources")
        hint = f"add {lacking[0]} to `coveredResources` with a quota, or remove the request"
        yield error("P563", named(workload), message, hint=hint, notes=(Note("the resources are here", route),))
    for resource, (amount, route) in _quotas(one).items():
        if needed.get(resource, 0) > amount:
            bound = Bound(Queue(called), Quota(resource), amount, "nominalQuota", route)
            yield _too_small(gang, needed[resource], bound, called)


def _quotas(one: Object) -> Mapping[str, tuple[int, Route]]:
    """Resource -> what all flavors together hold, without those that a cohort lends without a limit."""
    borrows = text(one.data, "spec", "cohortName") or text(one.data, "spec", "cohort")
    found: dict[str, tuple[int, Route]] = {}
    unlimited = set()
    for number, part in enumerate(items(one.data, "spec", "resourceGroups")):
        for place, flavor in enumerate(items(part, "flavors")):
            for row, each in enumerate(items(flavor, "resources")):
                resource, nominal = text(each, "name"), _parsed(get(each, "nominalQuota"))
                lent = _parsed(get(each, "borrowingLimit")) if borrows else 0
                if nominal is None or lent is None:
                    unlimited.add(resource)
                    continue
                route = (
                    *one.route,
                    "spec",
                    "resourceGroups",
                    number,
                    "flavors",
                    place,
                    "resources",
                    row,
                    "nominalQuota",
                )
                before, first = found.get(resource, (0, route))
                found[resource] = before + nominal + lent, first
    return {key: each for key, each in found.items() if key not in unlimited}


def _selects(one: Object, where: str, namespaces: Sequence[Object]) -> bool:
    """Whether the selector of a ClusterQueue may take a namespace, of which the manifests may have the labels."""
    labels = mapping(one.data, "spec", "namespaceSelector", "matchLabels")
    known = next((mapping(each.data, "metadata", "labels") for each in namespaces if name(each) == where), None)
    own = {"kubernetes.io/metadata.name": where, **(known or {})}
    return all(own.get(key) == value for key, value in labels.items() if known is not None or key in own)
