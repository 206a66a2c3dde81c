"""Choose the workload kind of every gang, and tie gangs that wait for each other into one workload."""

from collections.abc import Iterator, Mapping

from bayplan.diagnostics import Diagnostic, Outcome, error
from bayplan.kube.kinds import KINDS, Kind, instances
from bayplan.model.features import Need, Support
from bayplan.model.manifest import Shape, Workload
from bayplan.model.plan import GangPlan, Plan
from bayplan.model.target import Target
from bayplan.planning.fidelity import compare, holds
from bayplan.planning.needs import kind_needs
from bayplan.values import NamedTuple


class Offer(NamedTuple):
    """What a backend declares: its name, the kinds in the order to try, and its rows of support."""

    name: str
    kinds: tuple[str, ...]
    rows: tuple[Support, ...]


def shape(plan: Plan, offer: Offer, target: Target) -> Outcome[Shape]:
    """One workload for each family of gangs: the kind the user named, else the backend's first that holds it.

    There is a shape in spite of gaps, so that a gap which the user accepts can be rendered.
    """
    outcomes = [_workload(plan, family, offer, target) for family in families(plan.gangs)]
    found = tuple(d for outcome in outcomes for d in outcome.diagnostics)
    workloads = tuple(outcome.value for outcome in outcomes if outcome.value)
    whole = len(workloads) == len(outcomes)
    return Outcome(Shape(workloads) if whole else None, found)


def families(gangs: tuple[GangPlan, ...]) -> list[tuple[GangPlan, ...]]:
    """Gangs connected by `dependsOn`, in file order."""
    family = {gang.name: {gang.name} for gang in gangs}
    for gang in gangs:
        for other in gang.after:
            merged = family[gang.name] | family[other]
            family.update(dict.fromkeys(merged, merged))
    first = {id(family[gang.name]): family[gang.name] for gang in gangs}
    return [tuple(gang for gang in gangs if gang.name in names) for names in first.values()]


def _workload(plan: Plan, family: tuple[GangPlan, ...], offer: Offer, target: Target) -> Outcome[Workload]:
    backend, order, rows = offer
    name = family[0].name if len(family) == 1 else plan.workflow.name
    asked = {gang.gang.workload: gang for gang in family if gang.gang.workload != "auto"}
    if len(asked) > 1:
        return Outcome(None, (_disagree(asked),))
    candidates = tuple(asked) or order
    workloads = [Workload(kind, name, family) for kind in candidates]
    chosen = next((w for w in workloads if _held(w, plan, rows, target)), workloads[0])
    return Outcome(chosen if chosen.kind in KINDS else None, tuple(_gaps(chosen, plan, backend, rows, target)))


def _disagree(asked: Mapping[str, GangPlan]) -> Diagnostic:
    last = list(asked.values())[-1]
    kinds = ", ".join(f'"{gang.gang.name}" a {kind}' for kind, gang in asked.items())
    hint = "give them the same workload, or render them apart with --gang"
    message = f"gangs tied by dependsOn share one workload, but they ask for different ones: {kinds}"
    return error("P513", (*last.route, "workload"), message, hint=hint)


def _held(workload: Workload, plan: Plan, rows: tuple[Support, ...], target: Target) -> bool:
    kind = KINDS.get(workload.kind)
    if kind is None or not holds([_kind_need(workload)], rows, target):
        return False
    return holds(_needs(workload, kind, plan), kind.SUPPORT, target)


def _gaps(
    workload: Workload, plan: Plan, backend: str, rows: tuple[Support, ...], target: Target
) -> Iterator[Diagnostic]:
    yield from compare([_kind_need(workload)], rows, target, backend)
    if kind := KINDS.get(workload.kind):
        yield from compare(_needs(workload, kind, plan), kind.SUPPORT, target, f"a {kind.TITLE}")


def _kind_need(workload: Workload) -> Need:
    gang = workload.gangs[0]
    return Need(f"workload-{workload.kind}", 1, (*gang.route, "workload"), subject=f'gang "{gang.gang.name}"')


def _needs(workload: Workload, kind: Kind, plan: Plan) -> Iterator[Need]:
    gangs = {gang.name: gang for gang in plan.gangs}
    for gang in workload.gangs:
        if gang.copy == 0:
            yield from kind_needs(gang, gangs, plan.workflow.cleanup)
    names = ((len(kind.longest_name(workload, gang, pods)), pods.route) for gang, pods in instances(workload))
    length, route = max(names, key=lambda named: named[0])
    yield Need("pod-name-length", length, route)
