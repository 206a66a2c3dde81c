"""Every kind of workload that is read and that KAI places: each of its pod templates is marked, once and for all."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

import support
from bayplan.augment import augment
from bayplan.kube.objects import get
from bayplan.kube.workloads import read
from bayplan.model.augment import Augmented, AugmentRequest
from bayplan.model.manifest import Object
from bayplan.text.document import Document
from workload_kinds import RUNTIME, TEXTS, data, parsed

TOPOLOGY = Document("topology.yaml", json.dumps(support.TOPOLOGY), 0, support.TOPOLOGY)
ASKED = {"bayplan.dev/placement": "required=spine", "bayplan.dev/queue": "research"}
GPUS = {"limits": {"nvidia.com/gpu": 4}}


def equipped(node: Any) -> Any:
    """A copy in which every container asks for GPUs."""
    if isinstance(node, dict):
        made = {key: equipped(value) for key, value in node.items()}
        return {**made, "resources": copy.deepcopy(GPUS)} if "image" in node else made
    return [equipped(each) for each in node] if isinstance(node, list) else node


def objects(kind: str) -> list[Any]:
    """The workload, and the runtime that a TrainJob needs."""
    one = equipped(data(kind))
    beside = [equipped(parsed(RUNTIME))] if kind == "trainjob" else []
    return [{**one, "metadata": {"name": "w", "annotations": dict(ASKED)}}, *beside]


def run(given: list[Any]) -> tuple[Augmented, list[Any]]:
    """What changes, and all objects as they are afterwards."""
    collected = tuple(Object((f"manifest:{number}",), each) for number, each in enumerate(given))
    outcome, _ = augment(AugmentRequest(collected, TOPOLOGY, target={"kai": "0.17"}))
    assert outcome.value is not None, outcome.diagnostics
    changed = {each.route: each.data for each in outcome.value.changes}
    after = [changed.get(each.route, each.data) for each in collected]
    return outcome.value, [*after, *(each.data for each in outcome.value.added)]


@pytest.mark.parametrize("kind", sorted(set(TEXTS) - {"volcano-job"}))
def test_every_pod_template_is_marked(kind: str) -> None:
    given = objects(kind)
    made, after = run(given)
    before = read(Object(("manifest:0",), given[0]), [Object(("manifest:1",), each) for each in given[1:]]).value
    assert before is not None
    holder = after[1] if kind == "trainjob" else after[0]
    for slot in before.slots:
        assert get(holder, *slot.path, "spec", "schedulerName") == "kai-scheduler"
    groups = [each for each in after if each["kind"] == "PodGroup"]
    if before.gangs == 1:
        assert [each["spec"]["minMember"] for each in groups] == [sum(slot.total for slot in before.slots)]
    assert made.changes
    again, _ = run(after)
    assert again == Augmented(plans=again.plans)
