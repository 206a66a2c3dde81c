"""One case at one release, from data to verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from e2e.compare import Verdict, compare
from e2e.kai import replay
from e2e.parts import by_order
from e2e.pods import Member, members
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
    chosen = here(stage, documents)
    content = snapshot(made.plan.topology, documents, chosen, release)
    verdict = compare(stage, made.plan.topology, chosen, replay(release, content).bindings)
    if verdict.outcome == "missed" and documents is made.documents and by_order(made, stage, release):
        return Verdict("order", verdict.why)
    return verdict


def here(stage: Stage, documents: Documents) -> list[Member]:
    """The pods of the stage's gangs."""
    names = {gang.name for gang in stage.gangs}
    return [each for each in members(documents) if each.gang in names]
