"""One case at one release, from data to verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bayplan.model.topology import HOSTNAME_LABEL
from bayplan.planning.fit.search import answers
from e2e.compare import Verdict, compare
from e2e.pods import Member
from e2e.scene import Planner, Scene, Stage, scene
from e2e.scheduler import Case, Change, Documents, Release, World, edited, removed


def judge(case: Case, release: Release, spoil: Change | None = None, planner: Planner = answers) -> list[Verdict]:
    """The verdict of each stage. `spoil` changes the manifests before the scheduler gets them; `planner` proves."""
    made = scene(case, release, planner)
    documents = spoil(made.documents) if spoil else made.documents
    return [verdict_of(made, stage, documents, release) for stage in made.stages]


def verdict_of(made: Scene, stage: Stage, documents: Documents, release: Release) -> Verdict:
    verdict = _agreed(made, stage, documents, release)
    if documents is made.documents and verdict.outcome == "unpreferred":
        crowded = release.scheduler.crowded
        explained = crowded(made, stage, release) if crowded else stage.doubted
        return verdict if explained else verdict._replace(outcome="broken")
    if documents is not made.documents or verdict.outcome not in ("missed", "may fail", "known"):
        return verdict
    waiting = sorted(_waiting(made, stage, release))
    if waiting:
        return Verdict("false", tuple(f"{name} does not start on its node" for name in waiting))
    return verdict


def _agreed(made: Scene, stage: Stage, documents: Documents, release: Release) -> Verdict:
    """The verdict if all runs agree, else the first that does not."""
    seen = world(made, stage, documents, release)
    for _ in range(release.scheduler.runs):
        verdict = compare(stage, made.plan, seen.members, release.scheduler.bind(seen, release))
        if not verdict.agrees:
            break
    return verdict


def world(made: Scene, stage: Stage, documents: Documents, release: Release) -> World:
    """What the scheduler sees of a stage, with the pods of its gangs."""
    names = {gang.name for gang in stage.gangs}
    pods = [each for each in release.scheduler.members(documents, made.folded) if each.gang in names]
    return made.world(documents, pods)


def _waiting(made: Scene, stage: Stage, release: Release) -> set[str]:
    """The pods that do not start if each may only use the node that bayplan has for it, and no level is required."""
    free = pinned(made, stage, release)
    bound = release.scheduler.bind(free, release)
    return {each.name for each in free.members} - set(bound)


def pinned(made: Scene, stage: Stage, release: Release) -> World:
    """The stage with each pod pinned to its node of the witness, without topology constraints."""
    documents: Sequence[Any] = made.documents
    for path in release.scheduler.constraints:
        documents = edited(documents, path, removed)
    seen = world(made, stage, documents, release)
    placed = zip(seen.members, at_witness(stage, seen.members), strict=True)
    free = seen._replace(members=[_on(each, node) for each, node in placed])
    return release.scheduler.unbound(free) if release.scheduler.unbound else free


def at_witness(stage: Stage, chosen: Iterable[Member]) -> Iterator[str]:
    """The node that bayplan has for each pod."""
    nodes: dict[tuple[str, str], list[str]] = {}
    for run in stage.witness:
        nodes.setdefault((run.gang, run.pods), []).extend(node for node in run.nodes for _ in range(run.each))
    left = {key: iter(each) for key, each in nodes.items()}
    return (next(left[each.gang, each.pods]) for each in chosen)


def _on(member: Member, node: str) -> Member:
    spec = member.body["spec"]
    selector = {**spec.get("nodeSelector", {}), HOSTNAME_LABEL: node}
    return member._replace(body={**member.body, "spec": {**spec, "nodeSelector": selector}})
