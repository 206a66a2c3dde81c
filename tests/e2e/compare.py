"""What a scheduler bound, against what the plan says. Reads only the plan, never the manifests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from bayplan.model.plan import GangPlan, Plan, Pods, Unit, all_pods, walk
from bayplan.model.topology import HOST_LEVEL, ClusterTopology
from bayplan.planning.fit.search import faults
from bayplan.planning.fit.witness import Run
from e2e.pods import Member
from e2e.scene import Stage

AGREED = ("placed", "unpreferred", "refused", "known", "may fail")
WAITING = "started with fewer pods than it may"
Path = tuple[tuple[str, str], ...]  # level, value
Bound = Mapping[tuple[str, str], Sequence[str]]  # gang, podSet instance -> the nodes of its bound pods


class Verdict(NamedTuple):
    """How one stage ended.

    placed: it fits, and the scheduler placed all of it as asked. unpreferred: the same, but a unit is not in one domain
    of its preferred level, which the scheduler finds for the unit alone. refused: it does not fit, and the scheduler
    did not place it. known: it fits, and the scheduler did not find it, as bayplan said (F690, F641). may fail: bayplan
    said, so that a user sees it without -v, that the scheduler may not find it, or may violate a level, and so it
    did. The last two count only if all pods start when each is pinned to the node that bayplan has for it.
    open: bayplan did not decide.

    Disagreements: false: it fits, says bayplan, and the pinned pods do not start; missed: it fits, and the scheduler
    did not place it; alarm: the scheduler placed what bayplan said it would not find; found: the scheduler placed what
    does not fit; broken: what the scheduler placed is not what the plan asks for, or a preferred level is lost
    although nothing else is in the cluster.
    """

    outcome: str
    why: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether this is no disagreement."""
        return self.outcome in (*AGREED, "open")


def compare(stage: Stage, plan: Plan, members: Iterable[Member], bindings: Mapping[str, str]) -> Verdict:
    """The outcome of one stage."""
    topology = plan.topology
    bound = by_pod_set(members, bindings)
    wrong = tuple(fault for gang in stage.gangs for fault in _faults(gang, topology, bound))
    short = {gang.name: tuple(missing(gang.name, gang.root, bound)) for gang in stage.gangs}
    whole = all(len(bound.get(key, ())) == pods.replicas for key, pods in _asked(stage.gangs))
    if whole and not wrong:
        wrong = tuple(faults(stage.gangs, topology, _runs(stage, bound), plan.occupied))
    if stage.verdict == "unknown":
        return Verdict("broken" if wrong else "open", wrong)
    if stage.verdict == "lacks" and whole:
        return Verdict("found", wrong)
    if wrong:
        return Verdict("may fail" if stage.loose else "broken", wrong)
    if stage.verdict == "lacks":
        return Verdict("refused")
    found = _found(stage, short)
    lost = tuple(
        f'{gang.name}: "{unit.name}" is not in one {unit.preferred}, which it prefers'
        for gang in stage.gangs
        for unit in walk(gang.root)
        if unit.route in stage.wishes and is_apart(gang, unit, topology, bound)
    )
    return Verdict("unpreferred", lost) if found.outcome == "placed" and lost else found


def _found(stage: Stage, short: Mapping[str, tuple[str, ...]]) -> Verdict:
    """Of a stage that fits, by gangs: what each lacks, and whether bayplan said so."""
    early = [f"{gang}: {', '.join(sorted(codes))}" for gang, codes in stage.blind.items() if not short[gang]]
    lost = [fault for gang, faults in short.items() if gang not in stage.blind for fault in faults]
    if early:
        return Verdict("alarm", tuple(early))
    if lost:
        return Verdict("may fail" if stage.doubted else "missed", tuple(lost))
    return Verdict("known" if stage.blind else "placed")


def is_apart(gang: GangPlan, unit: Unit, topology: ClusterTopology, bound: Bound) -> bool:
    """Whether no domain of the unit's preferred level has all pods that must start."""
    paths = _paths(topology)
    inside: dict[tuple[str, ...], dict[tuple[str, str], list[str]]] = {}
    for key in ((gang.name, pods.name) for pods in all_pods(unit)):
        for node in bound.get(key, ()):
            inside.setdefault(_domain(paths[node], unit.preferred), {}).setdefault(key, []).append(node)
    return bool(inside) and all(any(missing(gang.name, unit, each)) for each in inside.values())


def _asked(gangs: Iterable[GangPlan]) -> Iterator[tuple[tuple[str, str], Pods]]:
    return (((gang.name, pods.name), pods) for gang in gangs for pods in all_pods(gang.root))


def by_pod_set(members: Iterable[Member], bindings: Mapping[str, str]) -> Bound:
    """The bindings by podSet instance."""
    found: dict[tuple[str, str], list[str]] = {}
    for each in members:
        if each.name in bindings:
            found.setdefault((each.gang, each.pods), []).append(bindings[each.name])
    return found


def _faults(gang: GangPlan, topology: ClusterTopology, bound: Bound) -> Iterator[str]:
    """What is wrong with what was placed, be it all or not."""
    paths, mine = _paths(topology), {name: nodes for (of, name), nodes in bound.items() if of == gang.name}
    out = {node for pool in topology.pools for nodes in pool.unusable.values() for node in nodes}
    used = {node for nodes in mine.values() for node in nodes}
    yield from (f'{gang.name}: a pod is on "{node}", which is not usable' for node in sorted(used & out))
    for unit in walk(gang.root):
        nodes = {node for pods in all_pods(unit) for node in mine.get(pods.name, ())}
        domains = {_domain(paths[node], unit.required) for node in nodes} if unit.required else set()
        if len(domains) > 1:
            names = ", ".join("/".join(path) for path in sorted(domains))
            yield f'{gang.name}: "{unit.name}" is in several domains of {unit.required}: {names}'
    claiming = [node for pods in all_pods(gang.root) if pods.compute_domain for node in mine.get(pods.name, ())]
    twice = sorted({node for node in claiming if claiming.count(node) > 1})
    yield from (f'{gang.name}: two claiming pods on "{node}"' for node in twice)
    lacking = list(missing(gang.name, gang.root, bound))
    if lacking and mine:
        yield f"{gang.name}: {WAITING}: {'; '.join(lacking)}"


def _paths(topology: ClusterTopology) -> dict[str, Path]:
    found = {}
    for pool in topology.pools:
        for domain in pool.domains:
            path = tuple((level.name, value) for level, value in zip(pool.levels, domain.path, strict=True))
            found.update({node: (*path, (HOST_LEVEL, node)) for node in domain.nodes})
    return found


def _domain(path: Path, level: str) -> tuple[str, ...]:
    names = [name for name, _ in path]
    return tuple(value for _, value in path[: names.index(level) + 1])


def missing(gang: str, unit: Unit, bound: Bound) -> Iterator[str]:
    """What of the unit may not be missing and is not bound."""
    for pods in unit.pods:
        count = len(bound.get((gang, pods.name), ()))
        if count < pods.minimum:
            yield f"{gang}: {count} of {pods.minimum} pods of {pods.name} are bound"
    for units in unit.groups:
        lacking = [faults for member in units.members if (faults := list(missing(gang, member, bound)))]
        if len(units.members) - len(lacking) < units.minimum:
            yield from (fault for each in lacking for fault in each)


def _runs(stage: Stage, bound: Bound) -> Iterator[Run]:
    for (gang, name), pods in _asked(stage.gangs):
        nodes = bound.get((gang, name), ())
        yield from (Run(gang, name, pods.pool, (node,), nodes.count(node)) for node in dict.fromkeys(nodes))
