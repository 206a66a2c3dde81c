"""The way back from workloads for Kueue to intent, and the intent of a plan in the same words.

Kueue knows podSets, and slices of them by number alone. So a unit is called after its podSet and the slice's number,
outermost first: `replica-worker-2` is the third slice of podSet `replica-worker`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bayplan.backends.kueue.lint import parse_layers
from bayplan.backends.kueue.lower import (
    LAYERS,
    POD_SET_GROUP,
    PREFERRED,
    QUEUE,
    REQUIRED,
    SLICE_LEVEL,
    SLICE_SIZE,
    PodSet,
    PodSets,
    pod_sets_of,
)
from bayplan.core.diagnostics import Outcome
from bayplan.kube.kinds import GANG_LABEL
from bayplan.kube.objects import mapping, text
from bayplan.model.manifest import Manifest
from bayplan.model.plan import GangPlan, Plan, Unit
from bayplan.model.target import Target
from oracle.intent import GangIntent, PodsIntent, UnitIntent, in_order
from oracle.manifests import Channels, PodsRead, by, channels, found_pods, pods_read

Key = tuple[str, str]  # namespace, name
INSTANCE = re.compile(r"-[0-9]+(?=-|$)")


class Placed(NamedTuple):
    """A podSet, and the slices inside it: pods of the outermost first, each with its level."""

    pods: PodsIntent
    required: str = ""
    preferred: str = ""
    layers: tuple[tuple[str, int], ...] = ()
    together: str = ""


def intent(plan: Plan, target: Target) -> tuple[GangIntent, ...]:
    """What Kueue manifests of the plan must say. It has no place for a preemptibility, nor for a minimum."""
    return tuple(_gang_intent(plan, gang) for gang in plan.gangs)


def _gang_intent(plan: Plan, gang: GangPlan) -> GangIntent:
    pod_sets = pod_sets_of(gang)
    placed = [_planned(plan, pod_set, pod_sets) for pod_set in pod_sets.pod_sets]
    return GangIntent(
        name=gang.name,
        namespace=plan.namespace,
        queue=gang.gang.queue or plan.queue,
        priority_class=plan.workflow.priority_class,
        preemptible=None,
        topology="",
        root=_root(placed),
        compute_domains=tuple(sorted({domain.name for domain in gang.compute_domains})),
    )


def _planned(plan: Plan, pod_set: PodSet, pod_sets: PodSets) -> Placed:
    """One podSet as the instances of the plan lie in their units: counted, not divided."""
    sizes = [
        next(p.replicas for p in path[-1].pods if p.name == name)
        for path, name in zip(pod_set.paths, pod_set.names, strict=True)
    ]
    pods = PodsIntent(plain(pod_set.pods.name), sum(sizes), sum(sizes), pod_set.pods.compute_domain)
    own = [unit for unit, _ in pod_sets.expressible(pod_set)]
    if own and len(members := pod_sets.within(own[-1])) > 1:
        required = [unit.required for unit in own if unit.required][-1:]
        preferred = "" if required else own[-1].preferred
        name = _pair_name([plain(each.pods.name) for each in members])
        return Placed(pods, _label(plan, pod_set, "".join(required)), _label(plan, pod_set, preferred), together=name)
    counted = [(unit, _counted(pod_set, sizes, unit)) for unit in own]
    top = [unit for unit, counts in counted[:1] if len(counts) == 1]
    if top and not top[0].required and _finer(plan, pod_set, top[0].preferred, [unit.required for unit in own]):
        top, counted = [], counted[1:]  # Kueue never admits it, and F632 says so
    required = [unit.required for unit in top]
    around = "".join(required)
    inner = []
    for unit, counts in counted[len(top) :]:
        if unit.required not in ("", around):  # inside a domain of the same level it asks for nothing more
            around = unit.required
            inner.append((_label(plan, pod_set, around), counts[0]))
    preferred = "".join(unit.preferred for unit in top if not unit.required)
    return Placed(pods, _label(plan, pod_set, "".join(required)), _label(plan, pod_set, preferred), tuple(inner))


def _finer(plan: Plan, pod_set: PodSet, preferred: str, required: Sequence[str]) -> bool:
    """Whether a preferred level is finer than the outermost required one."""
    pool = plan.topology.pool(pod_set.pods.pool)
    names = [level.name for level in pool.levels] + ["host"] if pool else []
    outermost = next(filter(None, required), "")
    return bool(outermost) and names.index(preferred) > names.index(outermost)


def _counted(pod_set: PodSet, sizes: Sequence[int], unit: Unit) -> list[int]:
    """The pods of the podSet in each unit of the same kind."""
    counts: dict[str, int] = {}
    for path, size in zip(pod_set.paths, sizes, strict=True):
        around = next(each for each in path if each.route == unit.route)
        counts[around.name] = counts.get(around.name, 0) + size
    return list(counts.values())


def _pair_name(names: Sequence[str]) -> str:
    """A pair is called after its podSets: what Kueue calls it says nothing."""
    return "+".join(sorted(names))


def _label(plan: Plan, pod_set: PodSet, level: str) -> str:
    return plan.topology.level_label(pod_set.pods.pool, level)


def plain(name: str) -> str:
    """The name without the numbers of group instances, which Kueue does not know."""
    return INSTANCE.sub("", name)


def _root(placed: Iterable[Placed]) -> UnitIntent:
    """The gang: a unit for each podSet, or for each pair."""
    pairs: dict[str, list[Placed]] = {}
    alone = []
    for each in placed:
        if each.together:
            pairs.setdefault(each.together, []).append(each)
        else:
            alone.append(_unit(each))
    units = [*alone, *(_pair(name, members) for name, members in pairs.items())]
    return UnitIntent("", units=tuple(sorted(units)))


def _pair(name: str, members: Sequence[Placed]) -> UnitIntent:
    first = members[0]
    return UnitIntent(name, first.required, first.preferred, pods=tuple(sorted(each.pods for each in members)))


def _unit(each: Placed) -> UnitIntent:
    name = each.pods.name
    inner = _slices(name, each.pods, each.layers)
    held = (each.pods,) if not each.layers else ()
    return UnitIntent(name, each.required, each.preferred, units=inner, pods=held)


def _slices(name: str, pods: PodsIntent, layers: Sequence[tuple[str, int]]) -> tuple[UnitIntent, ...]:
    """The slices that a number of pods is cut into, with those inside them."""
    if not layers:
        return ()
    (level, size), inner = layers[0], layers[1:]
    units = []
    for number in range(pods.replicas // size):
        own = f"{name}-{number}"
        pod_set = pods._replace(name=own, replicas=size, minimum=size)
        units.append(UnitIntent(own, level, units=_slices(own, pod_set, inner), pods=() if inner else (pod_set,)))
    return in_order(units)


def read(documents: Sequence[Manifest]) -> Outcome[tuple[GangIntent, ...]]:
    """The gangs that workloads with a queue describe, in the order of their names."""
    domains = channels(documents)
    gangs = by(_gang, (pods for pods in found_pods(documents) if QUEUE in mapping(pods.owner, "labels")))
    return Outcome(tuple(_read_gang(key, _merged(gangs[key]), domains) for key in sorted(gangs, key=_by_name)))


def _by_name(key: Key) -> Key:
    return key[1], key[0]


def _gang(pods: PodsRead) -> Key:
    """The gang that our labels name, else the workload."""
    name = text(pods.template, "metadata", "labels", GANG_LABEL) or text(pods.owner, "name")
    return text(pods.owner, "namespace"), name


def _merged(found: Sequence[PodsRead]) -> list[PodsRead]:
    """Bare pods of one podSet as one: Kueue tells them apart by what they ask for alone."""
    merged: dict[tuple[str, bool], PodsRead] = {}
    for number, pods in enumerate(found):
        bare = (
            pods.owner is pods.job and "containers" in pods.template["spec"] and pods.template["metadata"] is pods.owner
        )
        key = (plain(pods.name) if bare else str(number), bare)
        before = merged.get(key)
        merged[key] = pods._replace(replicas=pods.replicas + (before.replicas if before else 0))
    return list(merged.values())


def _read_gang(key: Key, found: Sequence[PodsRead], domains: Channels) -> GangIntent:
    placed = _together([_read_pods(pods, domains) for pods in found])
    first = found[0]
    return GangIntent(
        name=key[1],
        namespace=key[0],
        queue=text(first.owner, "labels", QUEUE),
        priority_class=text(first.template, "spec", "priorityClassName"),
        preemptible=None,
        topology="",
        root=_root(placed),
        compute_domains=tuple(sorted({each.pods.compute_domain for each in placed if each.pods.compute_domain})),
    )


def _read_pods(pods: PodsRead, domains: Channels) -> Placed:
    own = mapping(pods.template, "metadata", "annotations")
    layers = parse_layers(text(own, LAYERS)) or []
    if SLICE_LEVEL in own and text(own, SLICE_SIZE).isdigit():
        layers = [(text(own, SLICE_LEVEL), int(text(own, SLICE_SIZE)))]
    return Placed(
        pods_read(pods, pods.replicas, domains)._replace(name=plain(pods.name)),
        text(own, REQUIRED),
        text(own, PREFERRED),
        tuple((level, size) for level, size in layers if size > 0),
        text(own, POD_SET_GROUP),
    )


def _together(placed: Sequence[Placed]) -> list[Placed]:
    """Pairs under the names that a plan gives them."""
    names: dict[str, list[str]] = {}
    for each in placed:
        names.setdefault(each.together, []).append(each.pods.name)
    return [each._replace(together=_pair_name(names[each.together]) if each.together else "") for each in placed]
