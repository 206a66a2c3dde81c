"""A case made ready for one release: the plan, what it should come to, and the rendered manifests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from bayplan import pipeline
from bayplan.core.diagnostics import Diagnostic, Route
from bayplan.model.manifest import Shape
from bayplan.model.plan import GangPlan, Plan, Unit, all_pods, edit_plan, walk
from bayplan.planning.fit.search import answers
from bayplan.planning.fit.witness import NoRoom, Placed, Run
from bayplan.text import document
from e2e.nodes import nodes
from e2e.others import occupied
from e2e.pods import Folded, Member
from e2e.scheduler import Case, Documents, Object, Other, Release, Scheduler, World, edited, removed


class Stage(NamedTuple):
    """Gangs that run at the same time, and what bayplan says of them."""

    gangs: tuple[GangPlan, ...]
    verdict: str  # fits, lacks, unknown
    blind: Mapping[str, frozenset[str]]  # gang -> codes by which bayplan says that the scheduler does not find it
    witness: tuple[Run, ...] = ()  # where bayplan puts the pods
    doubted: frozenset[str] = frozenset()  # codes by which bayplan says that the scheduler may not find it
    loose: frozenset[str] = frozenset()  # codes by which bayplan says that the scheduler may violate a level
    wishes: frozenset[Route] = frozenset()  # routes of units whose preferred levels can all be met at once


class Said(NamedTuple):
    """What bayplan reports. `proved`: by the backend's own proof, which runs even if the case has other errors."""

    proved: Collection[Diagnostic]
    reported: Collection[Diagnostic]
    wishes: frozenset[Route]


class Scene(NamedTuple):
    """A case as it is for one release."""

    case: Case
    plan: Plan
    stages: tuple[Stage, ...]
    nodes: Sequence[Object]
    documents: Documents
    folded: Folded
    others: Sequence[Other]

    def world(self, documents: Documents, members: Sequence[Member]) -> World:
        """What the scheduler sees of some manifests and pods."""
        return World(self.plan.topology, self.nodes, members, documents, self.others)


class RefusedError(Exception):
    """bayplan does not render the case at all, whatever the cluster holds."""


Planner = Callable[[Plan], Iterable[tuple[tuple[GangPlan, ...], object]]]


def scene(case: Case, release: Release, planner: Planner = answers) -> Scene:
    """Render and judge. What the release's program cannot replay is left out of the plan too."""
    scheduler = release.scheduler
    fitted = scheduler.fitted(case, release)
    flow = document.Document("workflow.yaml", "", 0, fitted.workflow)
    topology = document.Document("topology.yaml", "", 0, _unplanned(fitted.topology, scheduler.name))
    judged = pipeline.check_topology(topology)
    hall = judged[0].value
    target = scheduler.versions(release)
    accept = scheduler.accepted - scheduler.firm(release)
    request = pipeline.Request(
        flow,
        topology,
        target=target,
        gangs=fitted.gangs,
        cluster_objects=True,
        accept=accept,
        judged=judged,
        occupied=occupied(fitted.others, hall) if hall and fitted.others else {},
    )
    outcome, _ = pipeline.compile(request)
    if outcome.value is None:
        raise RefusedError("; ".join(f"{each.code} {each.message}" for each in outcome.diagnostics if _is_error(each)))
    planned = outcome.value.planned
    plan = scheduler.seen(planned.plan, release)
    proved = tuple(scheduler.known(plan, planned.target))
    reported = (*outcome.diagnostics, *proved)
    wishes = frozenset(_wishes(plan, reported))
    wished = planner(edit_plan(plan, unit=partial(_insisting, wishes))) if wishes else planner(plan)
    stages = tuple(
        _stage(gangs, answer, scheduler, Said(proved, reported, wishes if isinstance(better, Placed) else frozenset()))
        for (gangs, answer), (_, better) in zip(planner(plan), wished, strict=True)
    )
    documents = scheduler.read(outcome.value)
    return Scene(case, plan, stages, tuple(nodes(plan.topology)), documents, _folded(planned.shape), fitted.others)


def _folded(shape: Shape) -> Folded:
    """The instances of podSets that share one template, which take its pods in the order of their ranks."""
    found: dict[tuple[str, str], dict[int, str]] = {}
    for workload in shape.workloads:
        for gang in workload.gangs:
            for pods in all_pods(gang.root):
                numbers = enumerate(name for name in pods.instances for _ in range(pods.replicas))
                found.setdefault((gang.name, pods.name), {}).update(numbers)
    return found


def _is_error(found: Diagnostic) -> bool:
    return found.severity == "error"


def _wishes(plan: Plan, reported: Collection[Diagnostic]) -> Iterable[Route]:
    """The units with a preferred level of which bayplan reports neither that it gets lost nor that it is not met."""
    for unit in (unit for gang in plan.gangs for unit in walk(gang.root) if unit.preferred):
        if not any(_inside(each.route, (*unit.route, "placement")) for each in reported):
            yield unit.route


def _insisting(wishes: Collection[Route], unit: Unit) -> Unit:
    """The unit with its preferred level as the required one."""
    return unit._replace(required=unit.preferred) if unit.preferred and unit.route in wishes else unit


def _stage(gangs: Iterable[GangPlan], answer: object, scheduler: Scheduler, said: Said) -> Stage:
    together = tuple(gangs)
    verdict = "fits" if isinstance(answer, Placed) else "lacks" if isinstance(answer, NoRoom) else "unknown"
    missed = [each for each in said.proved if _is_error(each)]
    doubts = [each for each in said.proved if each.severity == "warning"]
    blind = {gang.name: _codes(missed, gang) for gang in together}
    runs = answer.runs if isinstance(answer, Placed) else ()
    seen = [each for each in said.reported if each.severity != "info"]  # what a user sees without -v
    codes = frozenset(code for gang in together for code in _codes(seen, gang))
    return Stage(
        together,
        verdict,
        {gang: found for gang, found in blind.items() if found},
        runs,
        codes & scheduler.doubts | {code for gang in together for code in _codes(doubts, gang)},
        codes & scheduler.breaks,
        said.wishes,
    )


def _codes(reported: Iterable[Diagnostic], gang: GangPlan) -> frozenset[str]:
    return frozenset(each.code for each in reported if _inside(each.route, gang.route))


def _inside(route: Route, outer: Route) -> bool:
    return route[: len(outer)] == outer


def _unplanned(topology: Mapping[str, Any], scheduler: str) -> Object:
    """For this scheduler, and without `plan`, of which no scheduler knows."""
    (found,) = edited([topology], "ClusterTopology spec pools * levels * plan", removed)
    spec = found["spec"]
    return {**found, "spec": {**spec, "defaults": {**spec.get("defaults", {}), "scheduler": scheduler}}}
