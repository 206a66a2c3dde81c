"""A case made ready for one release: the plan, what it should come to, and the rendered manifests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import yaml

from bayplan import pipeline
from bayplan.backends.kai import prove
from bayplan.core.diagnostics import Diagnostic, Route
from bayplan.model.manifest import Shape
from bayplan.model.plan import GangPlan, Plan, Unit, all_pods
from bayplan.planning.fit.search import answers
from bayplan.planning.fit.witness import NoRoom, Placed
from bayplan.report.codes import sections
from bayplan.text import document
from bayplan.text.emit import emit
from e2e.pods import Folded
from e2e.releases import Release

UNFIT = frozenset(code for code in sections() if code.startswith("P55"))
"""What reports that a gang does not fit: the replay asks the scheduler the same."""

PARENT = "everyone"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

ACCEPTED = frozenset(code for code in sections() if code[0] == "F" or code.startswith("P55"))
"""What must not keep a case from being rendered: that it does not fit is what KAI is asked about, and the podgrouper,
for which Jobs and JobSets are refused below KAI 0.15, has no part in the replay."""


class Case(NamedTuple):
    """A workflow and a topology, as data."""

    name: str
    workflow: Mapping[str, Any]
    topology: Mapping[str, Any]


class Stage(NamedTuple):
    """Gangs that run at the same time, and what bayplan says of them."""

    gangs: tuple[GangPlan, ...]
    verdict: str  # fits, lacks, unknown
    blind: Mapping[str, frozenset[str]]  # gang -> codes by which bayplan says that KAI does not find it


class Scene(NamedTuple):
    """A case as it is for one release."""

    plan: Plan
    stages: tuple[Stage, ...]
    documents: Sequence[Mapping[str, Any]]
    folded: Folded


class RefusedError(Exception):
    """bayplan does not render the case at all, whatever the cluster holds."""


def scene(case: Case, release: Release) -> Scene:
    """Render and judge. What the release's tool cannot replay is left out of the plan too."""
    flow = document.Document("workflow.yaml", "", 0, case.workflow if release.claims else _counted(case.workflow))
    topology = document.Document("topology.yaml", "", 0, _fitted(case.topology, release))
    accepted = ACCEPTED if release.scheduler == "kai" else UNFIT
    request = pipeline.Request(flow, topology, target=release.target, cluster_objects=True, accept=accepted)
    outcome, _ = pipeline.compile(request)
    if outcome.value is None:
        raise RefusedError("; ".join(f"{each.code} {each.message}" for each in outcome.diagnostics if _is_error(each)))
    planned = outcome.value.planned
    plan = planned.plan if release.claims else _without_channels(planned.plan)
    found = prove(plan, planned.target) if release.scheduler == "kai" else ()
    stages = tuple(_stage(gangs, answer, found) for gangs, answer in answers(plan))
    documents = [each for each in yaml.load_all("".join(emit(outcome.value.documents)), LOADER) if each]
    return Scene(plan, stages, documents, _folded(planned.shape))


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
    return Stage(together, verdict, {gang: codes for gang, codes in said.items() if codes})


def _inside(route: Route, outer: Route) -> bool:
    return route[: len(outer)] == outer


def _fitted(topology: Mapping[str, Any], release: Release) -> dict[str, Any]:
    """Without `plan`, of which a scheduler knows nothing, and with what the release takes."""
    spec = dict(topology["spec"])
    spec["defaults"] = {**spec.get("defaults", {}), "scheduler": release.scheduler}
    spec["pools"] = [{**pool, "levels": _unplanned(pool)} if "levels" in pool else pool for pool in spec["pools"]]
    if release.parents:
        own = spec.get("schedulers", {})
        spec["schedulers"] = {**own, "kai": {**own.get("kai", {}), "parentQueue": PARENT}}
    if not release.claims:
        kinds = spec.get("accelerators", {})
        spec["accelerators"] = {name: _plain(kind) for name, kind in kinds.items()}
    return {**topology, "spec": spec}


def _unplanned(pool: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{key: value for key, value in level.items() if key != "plan"} for level in pool["levels"]]


def _plain(kind: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in kind.items() if key not in ("deviceClass", "allocator")}
    return {**kept, "allocator": "device-plugin"}


def _counted(value: Any) -> Any:
    """The workflow with GPUs that are counted rather than claimed."""
    if isinstance(value, Mapping):
        return {key: _counted(each) for key, each in value.items() if key not in ("selectors", "allocator")}
    return [_counted(each) for each in value] if isinstance(value, list) else value


def _without_channels(plan: Plan) -> Plan:
    return plan._replace(gangs=tuple(gang._replace(root=_unclaimed(gang.root)) for gang in plan.gangs))


def _unclaimed(unit: Unit) -> Unit:
    groups = (units._replace(members=tuple(map(_unclaimed, units.members))) for units in unit.groups)
    pods = (pods._replace(compute_domain="") for pods in unit.pods)
    return unit._replace(groups=tuple(groups), pods=tuple(pods))
