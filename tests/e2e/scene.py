"""A case made ready for one release: the plan, what it should come to, and the rendered manifests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import yaml

from bayplan import pipeline
from bayplan.core.diagnostics import Diagnostic, Route
from bayplan.model.manifest import Shape
from bayplan.model.plan import GangPlan, Plan, all_pods
from bayplan.planning.fit.search import answers
from bayplan.planning.fit.witness import NoRoom, Placed, Run
from bayplan.text import document
from bayplan.text.emit import emit
from e2e.nodes import nodes
from e2e.pods import Folded
from e2e.scheduler import Case, Documents, Object, Release, edited, removed

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Stage(NamedTuple):
    """Gangs that run at the same time, and what bayplan says of them."""

    gangs: tuple[GangPlan, ...]
    verdict: str  # fits, lacks, unknown
    blind: Mapping[str, frozenset[str]]  # gang -> codes by which bayplan says that the scheduler does not find it
    witness: tuple[Run, ...] = ()  # where bayplan puts the pods


class Scene(NamedTuple):
    """A case as it is for one release."""

    case: Case
    plan: Plan
    stages: tuple[Stage, ...]
    nodes: Sequence[Object]
    documents: Documents
    folded: Folded


class RefusedError(Exception):
    """bayplan does not render the case at all, whatever the cluster holds."""


Planner = Callable[[Plan], Iterable[tuple[tuple[GangPlan, ...], object]]]


def scene(case: Case, release: Release, planner: Planner = answers) -> Scene:
    """Render and judge. What the release's program cannot replay is left out of the plan too."""
    scheduler = release.scheduler
    fitted = scheduler.fitted(case, release)
    flow = document.Document("workflow.yaml", "", 0, fitted.workflow)
    topology = document.Document("topology.yaml", "", 0, _unplanned(fitted.topology, scheduler.name))
    target = scheduler.versions(release)
    request = pipeline.Request(
        flow, topology, target=target, cluster_objects=True, accept=scheduler.accepted - scheduler.firm(release)
    )
    outcome, _ = pipeline.compile(request)
    if outcome.value is None:
        raise RefusedError("; ".join(f"{each.code} {each.message}" for each in outcome.diagnostics if _is_error(each)))
    planned = outcome.value.planned
    plan = scheduler.seen(planned.plan, release)
    found = tuple(scheduler.known(plan, planned.target))
    stages = tuple(_stage(gangs, answer, found) for gangs, answer in planner(plan))
    documents = [each for each in yaml.load_all("".join(emit(outcome.value.documents)), LOADER) if each]
    return Scene(case, plan, stages, tuple(nodes(plan.topology)), documents, _folded(planned.shape))


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


def _stage(gangs: Iterable[GangPlan], answer: object, found: Iterable[Diagnostic]) -> Stage:
    together = tuple(gangs)
    verdict = "fits" if isinstance(answer, Placed) else "lacks" if isinstance(answer, NoRoom) else "unknown"
    said = {gang.name: frozenset(each.code for each in found if _inside(each.route, gang.route)) for gang in together}
    runs = answer.runs if isinstance(answer, Placed) else ()
    return Stage(together, verdict, {gang: codes for gang, codes in said.items() if codes}, runs)


def _inside(route: Route, outer: Route) -> bool:
    return route[: len(outer)] == outer


def _unplanned(topology: Mapping[str, Any], scheduler: str) -> Object:
    """For this scheduler, and without `plan`, of which no scheduler knows."""
    (found,) = edited([topology], "ClusterTopology spec pools * levels * plan", removed)
    spec = found["spec"]
    return {**found, "spec": {**spec, "defaults": {**spec.get("defaults", {}), "scheduler": scheduler}}}
