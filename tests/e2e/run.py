"""One case at one release, from data to verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from e2e import kueue, native, volcano
from e2e.compare import Verdict, compare
from e2e.kai import replay
from e2e.parts import by_order
from e2e.pods import Folded, Member, members
from e2e.releases import Release
from e2e.scene import Case, Scene, Stage, scene
from e2e.snapshot import snapshot

Documents = Sequence[Mapping[str, Any]]


def judge(case: Case, release: Release, spoil: Callable[[Documents], Documents] | None = None) -> list[Verdict]:
    """The verdict of each stage. `spoil` changes the manifests before KAI gets them."""
    made = scene(case, release)
    documents = spoil(made.documents) if spoil else made.documents
    return [_stage(made, stage, documents, release) for stage in made.stages]


def _stage(made: Scene, stage: Stage, documents: Documents, release: Release) -> Verdict:
    chosen = here(stage, documents, made.folded)
    verdict = compare(stage, made.plan.topology, chosen, bindings(made, chosen, documents, release))
    if release.scheduler != "kai":
        return verdict
    if verdict.outcome == "missed" and documents is made.documents and by_order(made, stage, release):
        return Verdict("order", verdict.why)
    return verdict


def bindings(made: Scene, chosen: Sequence[Member], documents: Documents, release: Release) -> Mapping[str, str]:
    """Pod -> node, as the scheduler's own code decides."""
    if release.scheduler == "volcano":
        return volcano.bind(made, chosen, documents, release)
    if release.scheduler == "native":
        return native.bind(made, chosen, documents, release)
    if release.scheduler == "kueue":
        return kueue.bind(made, chosen, documents, release)
    return replay(release, snapshot(made.plan.topology, documents, chosen, release)).bindings


def here(stage: Stage, documents: Documents, folded: Folded | None = None) -> list[Member]:
    """The pods of the stage's gangs."""
    names = {gang.name for gang in stage.gangs}
    return [each for each in members(documents, folded) if each.gang in names]
