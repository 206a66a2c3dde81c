"""One case at one release, from data to verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bayplan.model.topology import HOSTNAME_LABEL
from bayplan.planning.fit.search import answers
from e2e.compare import Verdict, compare
from e2e.pods import Member
from e2e.scene import Planner, RefusedError, Scene, Stage, scene
from e2e.scheduler import Case, Change, Documents, Release, World, edited, removed


def judge(case: Case, release: Release, spoil: Change | None = None, planner: Planner = answers) -> list[Verdict]:
    """The verdict of each stage. `spoil` changes the manifests before the scheduler gets them; `planner` proves."""
    made = scene(case, release, planner)
    documents = spoil(made.documents) if spoil else made.documents
    return [_stage(made, stage, documents, release) for stage in made.stages]


def _stage(made: Scene, stage: Stage, documents: Documents, release: Release) -> Verdict:
    verdict = _agreed(made, stage, documents, release)
    if documents is not made.documents or verdict.outcome not in ("missed", "known"):
        return verdict
    waiting = sorted(_waiting(made, stage, release))
    if waiting:
        return Verdict("false", tuple(f"{name} does not start on its node" for name in waiting))
    packed = release.scheduler.packed or by_parts
    if verdict.outcome == "missed" and packed(made, stage, release):
        return Verdict("order", verdict.why)
    return verdict


def _agreed(made: Scene, stage: Stage, documents: Documents, release: Release) -> Verdict:
    """The verdict if all runs agree, else the first that does not."""
    seen = world(made, stage, documents, release)
    for _ in range(release.scheduler.runs):
        verdict = compare(stage, made.plan.topology, seen.members, release.scheduler.bind(seen, release))
        if not verdict.agrees:
            break
    return verdict


def world(made: Scene, stage: Stage, documents: Documents, release: Release) -> World:
    """What the scheduler sees of a stage, with the pods of its gangs."""
    names = {gang.name for gang in stage.gangs}
    pods = [each for each in release.scheduler.members(documents, made.folded) if each.gang in names]
    return World(made.plan.topology, made.nodes, pods, documents)


def _waiting(made: Scene, stage: Stage, release: Release) -> set[str]:
    """The pods that do not start if each may only use the node that bayplan has for it, and no level is required."""
    free = pinned(made, stage, release)
    bound = release.scheduler.bind(free, release)
    return {each.name for each in free.members} - set(bound)


def pinned(made: Scene, stage: Stage, release: Release) -> World:
    """The stage with each pod pinned to its node of the witness, without topology constraints."""
    nodes: dict[tuple[str, str], list[str]] = {}
    for run in stage.witness:
        nodes.setdefault((run.gang, run.pods), []).extend(node for node in run.nodes for _ in range(run.each))
    documents: Sequence[Any] = made.documents
    for path in release.scheduler.constraints:
        documents = edited(documents, path, removed)
    seen = world(made, stage, documents, release)
    left = {key: iter(each) for key, each in nodes.items()}
    free = seen._replace(members=[_on(each, next(left[each.gang, each.pods])) for each in seen.members])
    return release.scheduler.unbound(free) if release.scheduler.unbound else free


def _on(member: Member, node: str) -> Member:
    spec = member.body["spec"]
    selector = {**spec.get("nodeSelector", {}), HOSTNAME_LABEL: node}
    return member._replace(body={**member.body, "spec": {**spec, "nodeSelector": selector}})


def by_parts(made: Scene, stage: Stage, release: Release) -> bool:
    """Whether the scheduler places each part by itself: each gang, or of one gang each unit or podSet."""
    parts = list(_parts(made.case, stage))
    return len(parts) > 1 and all(_placed(each, release) for each in parts)


def _parts(case: Case, stage: Stage) -> Iterator[Case]:
    spec = case.workflow["spec"]
    names = {gang.route[-1] for gang in stage.gangs}
    gangs = [gang for number, gang in enumerate(spec["gangs"]) if {number, gang["name"]} & names]
    cut = [{**gang, **part} for gang in gangs for part in (_units(gang) if len(gangs) == 1 else ({},))]
    for gang in cut:
        yield case._replace(workflow={**case.workflow, "spec": {**spec, "gangs": [gang]}})


def _units(unit: Any) -> Iterator[dict[str, Any]]:
    """The unit's contents, one at a time; of a single unit inside, its contents."""
    groups, sets = unit.get("groups", ()), unit.get("podSets", ())
    if len(groups) == 1 and not sets and groups[0].get("replicas", 1) == 1:
        yield from ({"groups": [{**groups[0], **part}]} for part in _units(groups[0]))
        return
    yield from ({"groups": [{**each, "replicas": 1}], "podSets": []} for each in groups)
    yield from ({"groups": [], "podSets": [each]} for each in sets)


def _placed(case: Case, release: Release) -> bool:
    try:
        made = scene(case, release)
    except RefusedError:
        return False
    return all(_agreed(made, stage, made.documents, release).outcome == "placed" for stage in made.stages)
