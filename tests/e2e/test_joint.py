"""Two workflows in one cluster: schedulers place both where bayplan says that they fit together, and never where it
says that they do not. Each of them is a copy of one random job."""

from __future__ import annotations

from collections import Counter

import pytest

from bayplan.planning.fit import diagnose
from bayplan.planning.fit.joint import Joint, Proven, in_order, together
from e2e.compare import Verdict
from e2e.random_cases import case
from e2e.releases import BY_NAME, require
from e2e.run import verdict_of
from e2e.scene import RefusedError, Scene, Stage, scene
from e2e.scheduler import Case, Release
from tools.effort import LONG


def copies(one: Case, release: Release) -> tuple[Scene, Scene] | None:
    """The job and a copy with another name; None if it does not fit, or if the scheduler may not find it."""
    found = []
    for name in ("first", "second"):
        workflow = {**one.workflow, "metadata": {**one.workflow["metadata"], "name": name}}
        found.append(scene(one._replace(workflow=workflow), release))
    stages = [stage for each in found for stage in each.stages]
    sure = all(each.verdict == "fits" and not each.blind and not each.doubted and not each.loose for each in stages)
    return (found[0], found[1]) if sure and len(stages) == 2 else None


def both(made: tuple[Scene, Scene], joint: Joint) -> tuple[Scene, Stage]:
    """The manifests of both, and what bayplan says of them."""
    first, second = made
    gangs = tuple(gang for each in made for stage in each.stages for gang in stage.gangs)
    runs = tuple(run for each in joint.proven.values() for stage in each.fits.witness for run in stage.runs)
    contend = frozenset(each.code for each in joint.diagnostics if each.code == "P568")
    whole = len(joint.proven) == 2 and all(each.fits.complete for each in joint.proven.values())
    stage = Stage(gangs, "fits" if whole else "lacks", {}, runs, doubted=contend)
    documents = [*first.documents, *(each for each in second.documents if each not in first.documents)]
    return first._replace(documents=documents, folded={**first.folded, **second.folded}, stages=(stage,)), stage


def judged(seed: int, release: Release) -> dict[str, Verdict]:
    """The verdict of the placements in order and together; empty for a job that KAI may not find when alone."""
    try:
        made = copies(case(seed), release)
    except RefusedError:
        return {}
    fits = [diagnose(each.plan).value for each in made or ()]
    alone = [Proven(each.plan, one) for each, one in zip(made or (), fits, strict=True) if one and one.complete]
    if made is None or len(alone) < 2:
        return {}
    found = {}
    for name, search in (("in order", in_order), ("together", together)):
        joint = search(alone)
        if name == "together" or len(joint.proven) == 2:
            scene_of_both, stage = both(made, joint)
            found[name] = verdict_of(scene_of_both, stage, scene_of_both.documents, release)
    return found


@pytest.mark.parametrize("name", ["kai 0.17.0", "volcano 1.15.1", "kueue 0.19.2"])
def test_a_scheduler_places_what_fits_together_and_nothing_else(name: str) -> None:
    release = BY_NAME[name]
    require(release)
    seeds = range(100_000, 100_300 if LONG else 100_050)
    verdicts = [one for seed in seeds for one in judged(seed, release).items()]
    assert [each for each in verdicts if not each[1].agrees] == []
    seen = Counter(verdict.outcome for _, verdict in verdicts)
    assert min(seen["placed"], seen["refused"]) >= 2, seen
