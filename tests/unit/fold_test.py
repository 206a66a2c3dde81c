"""Folding: equal instances of a group become one podSet, and every pod keeps its rank, its group and its master."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings

import random_workflows
import support
from bayplan.backends import BACKENDS, kai
from bayplan.model.plan import all_pods
from bayplan.planning.shape import fold

KEPT = ("NODE_RANK", "PET_NODE_RANK", "NNODES", "GROUP_INDEX", "GROUP_COUNT", "GROUP_SIZE", "MASTER_PORT")


def groups(*made: dict[str, Any], **gang: Any) -> dict[str, Any]:
    return {"name": "train", "groups": list(made), **gang}


def group(name: str, replicas: int, **more: Any) -> dict[str, Any]:
    return {"name": name, "replicas": replicas, **({"podSets": [support.WORKER]} | more)}


LEADER = {**support.WORKER, "name": "leader", "replicas": 1}
TWO = {"podSets": [LEADER, {**support.WORKER, "replicas": 3}]}
STAGES = group("stage", 2, podSets=[{**support.WORKER, "replicas": 2}])

SHAPES = {
    "four replicas": (groups(group("replica", 4)), [("replica-worker", 4, 16)]),
    "one replica": (groups(group("replica", 1)), [("replica-0-worker", 1, 16)]),
    "leaders and workers": (groups(group("r", 3, **TWO)), [("r-leader", 3, 1), ("r-worker", 3, 3)]),
    "groups of groups": (groups({"name": "r", "replicas": 3, "groups": [STAGES]}), [("r-stage-worker", 6, 2)]),
    "an odd last one": (
        groups({"name": "r", "size": 4, "podSets": [{**support.WORKER, "replicas": 6}]}),
        [("r-0-worker", 1, 4), ("r-1-worker", 1, 2)],
    ),
    "a group beside": (groups(group("a", 2), group("b", 1)), [("a-worker", 2, 16), ("b-0-worker", 1, 16)]),
    "no groups": ({"name": "train", "podSets": [support.WORKER]}, [("worker", 1, 16)]),
}


@pytest.mark.parametrize(("gang", "expected"), SHAPES.values(), ids=SHAPES)
def test_what_folds(gang: dict[str, Any], expected: list[tuple[str, int, int]]) -> None:
    result = support.run(support.workflow(gang))
    assert result.compiled, result.diagnostics
    (plan,) = result.compiled.planned.plan.gangs
    assert [(pods.name, pods.copies, pods.replicas) for pods in all_pods(fold(plan).root)] == expected


def places(result: support.Result) -> list[tuple[str, ...]]:
    """What each pod knows of its place, and the place that its master has."""
    pods = list(support.pods(result.documents))
    ranks = {pod.host: pod.env.get("NODE_RANK", "") for pod in pods}
    return sorted(
        (*(pod.env.get(name, "") for name in KEPT), ranks.get(pod.env.get("MASTER_ADDR", ""), "")) for pod in pods
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(flow=random_workflows.workflows())
def test_folded_pods_have_the_ranks_of_those_that_are_not(flow: dict[str, Any]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        plain = support.run(flow, random_workflows.TOPOLOGY)
        assume(plain.compiled is not None)
        declared = kai.BACKEND.declared._replace(folds={"jobset": "alike", "job": "alike"})
        changed = kai.BACKEND._replace(declared=declared, lower=_without_subgroups(kai.lower))
        patch.setattr(kai, "BACKEND", changed)
        folded = support.run(flow, random_workflows.TOPOLOGY)
    assert folded.compiled, folded.diagnostics
    assert places(folded) == places(plain)


def _without_subgroups(lower: Any) -> Any:
    """Marks for the folded names: KAI needs them for each instance, and this test is not about KAI."""

    def lowered(plan: Any, shape: Any, target: Any) -> Any:
        made = lower(plan, shape, target)
        mark = next(iter(made.marks.values()))
        names = (
            (gang.name, pods.name) for each in shape.workloads for gang in each.gangs for pods in all_pods(gang.root)
        )
        return made._replace(marks=dict.fromkeys(names, mark))

    return lowered


def test_backends_fold_in_kinds_that_they_have() -> None:
    for backend in BACKENDS.values():
        assert set(backend.declared.folds) <= set(backend.declared.kinds)
