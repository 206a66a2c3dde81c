"""Choose the workload kind of every gang, and tie gangs that wait for each other into one workload."""

from collections.abc import Iterator, Mapping, Sequence

from bayplan.diagnostics import Diagnostic, Outcome, Route, error
from bayplan.kube.kinds import KINDS, Kind, instances
from bayplan.model.features import Need, Support
from bayplan.model.manifest import Shape, Workload
from bayplan.model.plan import GangPlan, Plan, once
from bayplan.model.target import Target
from bayplan.model.workflow import Workflow
from bayplan.planning.fidelity import compare, find_row
from bayplan.planning.fold import fold
from bayplan.planning.needs import kind_needs
from bayplan.values import NamedTuple

Family = tuple[GangPlan, ...]


class Offer(NamedTuple):
    """What a backend declares: its name, the kinds in the order to try, and its rows of support."""

    name: str
    kinds: tuple[str, ...]
    rows: tuple[Support, ...]
    folds: Mapping[str, str] = {}  # kind -> how far groups fold in it


def shape(plan: Plan, offer: Offer, target: Target) -> Outcome[Shape]:
    """One workload for each family of gangs: the kind the user named, else the backend's first that holds it.

    Copies of a gang are all of one kind. There is a shape in spite of gaps, so that a gap which the user accepts can
    be rendered.
    """
    alike: dict[tuple[Route, ...], list[Family]] = {}
    for family in families(plan.gangs):
        alike.setdefault(tuple(dict.fromkeys(gang.route for gang in family)), []).append(family)
    outcomes = [_workloads(plan, copies, offer, target) for copies in alike.values()]
    found = tuple(d for outcome in outcomes for d in outcome.diagnostics)
    workloads = tuple(workload for outcome in outcomes for workload in outcome.value or ())
    whole = all(outcome.value for outcome in outcomes)
    return Outcome(Shape(workloads) if whole else None, found)


def families(gangs: tuple[GangPlan, ...]) -> list[Family]:
    """Gangs connected by `dependsOn`, in file order."""
    leader = {gang.name: gang.name for gang in gangs}

    def first(name: str) -> str:
        while leader[name] != name:
            leader[name] = name = leader[leader[name]]
        return name

    for gang in gangs:
        for other in gang.after:
            leader[first(gang.name)] = first(other)
    found: dict[str, list[GangPlan]] = {}
    for gang in gangs:
        found.setdefault(first(gang.name), []).append(gang)
    return [tuple(family) for family in found.values()]


def _workloads(plan: Plan, copies: list[Family], offer: Offer, target: Target) -> Outcome[tuple[Workload, ...]]:
    """The workloads of families that are copies of each other; the first speaks for all, the longest name too."""
    asked = {gang.gang.workload: gang for gang in copies[0] if gang.gang.workload != "auto"}
    if len(asked) > 1:
        return Outcome(None, (_disagree(asked),))
    candidates = [
        tuple(Workload(kind, _name(plan, family), _folded(family, kind, offer)) for family in copies)
        for kind in tuple(asked) or offer.kinds
    ]
    gaps = [tuple(_gaps(workloads, plan, offer, target)) for workloads in candidates]
    best = min(range(len(candidates)), key=lambda number: (*_gravity(gaps[number]), number))
    return Outcome(candidates[best] if _known(candidates[best][0], offer, target) else None, gaps[best])


def _known(workload: Workload, offer: Offer, target: Target) -> bool:
    """Whether there is such a kind, and the scheduler could mean anything by it: else no one can accept its loss."""
    if workload.kind not in KINDS:
        return False
    row = find_row(_kind_need(workload), offer.rows, target)
    return workload.kind in offer.kinds or (row is not None and row.fidelity != "absent")


def _folded(family: Family, kind: str, offer: Offer) -> Family:
    return tuple(map(fold, family)) if kind in offer.folds else family


def _gravity(gaps: Sequence[Diagnostic]) -> tuple[int, int]:
    """A kind with fewer errors is better, then one with fewer gaps."""
    return sum(gap.severity == "error" for gap in gaps), len(gaps)


def _name(plan: Plan, family: Family) -> str:
    """A gang's own name; gangs that share a workload call it after the workflow, or after their first.

    What the workflow as a whole holds decides, so that `--gang` changes no name.
    """
    if len(family) == 1:
        return family[0].name
    tied = {name for gang in plan.workflow.gangs for name in (gang.name, *gang.depends_on) if gang.depends_on}
    mine = {gang.gang.name for gang in family}
    return plan.workflow.name if _connected(plan.workflow, mine) >= tied else family[0].name


def _connected(workflow: Workflow, names: set[str]) -> set[str]:
    """All gangs of the workflow that `dependsOn` ties to these."""
    pairs = [{gang.name, other} for gang in workflow.gangs for other in gang.depends_on]
    reached = set(names)
    while more := {name for pair in pairs if pair & reached for name in pair} - reached:
        reached |= more
    return reached


def _disagree(asked: Mapping[str, GangPlan]) -> Diagnostic:
    last = list(asked.values())[-1]
    kinds = ", ".join(f'"{gang.gang.name}" a {kind}' for kind, gang in asked.items())
    hint = "give them the same workload, or render them apart with --gang"
    message = f"gangs tied by dependsOn share one workload, but they ask for different ones: {kinds}"
    return error("P513", (*last.route, "workload"), message, hint=hint)


def _gaps(workloads: tuple[Workload, ...], plan: Plan, offer: Offer, target: Target) -> Iterator[Diagnostic]:
    yield from compare([_kind_need(workloads[0])], offer.rows, target, offer.name)
    if kind := KINDS.get(workloads[0].kind):
        yield from compare(_needs(workloads, kind, plan), kind.SUPPORT, target, f"a {kind.TITLE}")


def _kind_need(workload: Workload) -> Need:
    gang = workload.gangs[0]
    pieces = sum(1 for _ in instances(workload))
    return Need(f"workload-{workload.kind}", pieces, (*gang.route, "workload"), subject=f'gang "{gang.gang.name}"')


def _needs(workloads: tuple[Workload, ...], kind: Kind, plan: Plan) -> Iterator[Need]:
    family = workloads[0].gangs
    by_name = {gang.name: gang for gang in family}
    for gang in once(reversed(family)):
        yield from kind_needs(gang, by_name, plan.workflow.cleanup)
    names = (
        (len(kind.longest_name(workload, gang, pods)), pods.route)
        for workload in workloads
        for gang, pods in instances(workload)
    )
    length, route = max(names, key=lambda named: named[0])
    yield Need("pod-name-length", length, route)
