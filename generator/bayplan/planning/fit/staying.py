"""A gang that runs in several stages stays on its nodes: a placement of all stages, and what it takes of each node."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from bayplan.model.plan import Occupant, Plan, all_pods
from bayplan.planning.fit.problem import demand, key
from bayplan.planning.fit.search import Stage, answer, answers, by_gang, faults, moved, search_space_of
from bayplan.planning.fit.witness import Placed, Run


def can_stay(plan: Plan) -> bool:
    """Whether bayplan finds a placement of the plan in which each gang has the same nodes in all its stages."""
    witness: list[Stage] = []
    for gangs, found in answers(plan):
        if not isinstance(found, Placed):
            return False
        witness.append(Stage(tuple(gang.name for gang in gangs), found.runs))
    return not moved(tuple(witness)) or bool(steady(plan, witness))


def steady(plan: Plan, witness: Sequence[Stage]) -> tuple[Stage, ...]:
    """The stages of a placement in which each gang has the same nodes in all its stages; () if bayplan finds none."""
    for order in (witness, witness[::-1]):
        nodes = _pinned(plan, order)
        if nodes:
            return tuple(_held(stage, stage.gangs, nodes) for stage in witness)
    return ()


def _pinned(plan: Plan, witness: Sequence[Stage]) -> dict[str, list[Run]]:
    """Gang -> its nodes. The gangs of earlier stages stay; the others go where no gang is that may run beside them."""
    gangs = {gang.name: gang for gang in plan.gangs}
    nodes: dict[str, list[Run]] = {}
    for stage in witness:
        new = [name for name in stage.gangs if name not in nodes]
        if len(new) < len(stage.gangs):
            around = [each for each in witness if not set(new).isdisjoint(each.gangs)]
            busy = beside(plan, [takes(plan, [_held(each, nodes, nodes) for each in around])])
            found = answer(tuple(gangs[name] for name in new), busy, search_space_of(busy)) if new else Placed(())
            if not isinstance(found, Placed):
                return {}
            stage = stage._replace(runs=found.runs)
        nodes |= {name: runs for name, runs in by_gang(stage).items() if name in new}
        together = tuple(gangs[name] for name in stage.gangs)
        if any(faults(together, plan.topology, _held(stage, stage.gangs, nodes).runs, plan.occupied)):
            return {}
    return nodes


def _held(stage: Stage, names: Container[str], nodes: Mapping[str, Sequence[Run]]) -> Stage:
    """The stage with some of its gangs, on these nodes."""
    return stage._replace(runs=tuple(run for name in stage.gangs if name in names for run in nodes[name]))


# What a placement takes.

Taken = Mapping[str, Occupant]
"""Node -> what one workflow takes of it."""

Load = tuple[tuple[str, tuple[int, str, bool], int], ...]  # gang, key of the podSet, pods


def takes(plan: Plan, witness: Iterable[Stage]) -> Taken:
    """What a placement takes of each node. Gangs may wait for others: the most of all stages."""
    specs = {(gang.name, pods.name): pods for gang in plan.gangs for pods in all_pods(gang.root)}
    demands = {key(pods): pods for pods in specs.values()}
    asks = {which: demand(pods, plan.topology) for which, pods in demands.items()}
    loads: dict[str, tuple[Load, ...]] = {}
    for stage in witness:
        own: dict[str, Load] = {}
        for run in stage.runs:
            part = ((run.gang, key(specs[run.gang, run.pods]), run.each),)
            for node in run.nodes:
                own[node] = own.get(node, ()) + part
        for node, load in own.items():
            loads[node] = (*loads.get(node, ()), load)
    made = {each: _occupant(plan, each, asks) for each in set(loads.values())}
    return {node: made[each] for node, each in loads.items()}


def _occupant(plan: Plan, loads: tuple[Load, ...], asks: Mapping[tuple[int, str, bool], Mapping[str, int]]) -> Occupant:
    """What runs on one node, one load a stage: named after the gang, or after the workflow if there are several."""
    names = {gang for load in loads for gang, _, _ in load}
    name = names.pop() if len(names) == 1 else plan.workflow.name
    amounts: dict[str, int] = {}
    for load in loads:
        total: dict[str, int] = {}
        for _, which, pods in load:
            for resource, amount in asks[which].items():
                total[resource] = total.get(resource, 0) + amount * pods
        amounts = {each: max(amounts.get(each, 0), total.get(each, 0)) for each in {**amounts, **total}}
    most = max(sum(pods for _, _, pods in load) for load in loads)
    return Occupant(f"{plan.namespace}/{name}" if plan.namespace else name, most, amounts)


def beside(plan: Plan, taken: Iterable[Taken]) -> Plan:
    """The plan on nodes of which others also take these."""
    occupied = dict(plan.occupied)
    for each in taken:
        for node, occupant in each.items():
            occupied[node] = (*occupied.get(node, ()), occupant)
    return plan._replace(occupied={node: tuple(sorted(those, key=_name)) for node, those in occupied.items()})


def _name(occupant: Occupant) -> str:
    return occupant.name
