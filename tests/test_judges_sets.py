"""The judges refuse sets of objects that no API server refuses, but that leave pods pending for ever."""

from __future__ import annotations

from typing import Any

import pytest

from judges import UPSTREAM, judge_all
from judges.samples import CONTAINER, GOOD, REMOVE, Document, edited
from judges.versions import NEWEST

if not (UPSTREAM / "crds").is_dir():
    pytest.skip(f"no upstream CRDs at {UPSTREAM}/crds", allow_module_level=True)

WHOLE = ("domain", "podgroup", "job")


def whole(*edits: tuple[str, str, Any], add: tuple[Document, ...] = ()) -> list[Document]:
    """The good set with edits by object."""
    changed = {name: [(path, value) for who, path, value in edits if who == name] for name in WHOLE}
    return [*(edited(GOOD[name], *changed[name]) for name in WHOLE), *add]


LEAF = "spec.template.metadata.labels.kai|scheduler/subgroup-name"
SKIP = "spec.template.metadata.annotations.kai|scheduler/skip-podgrouper"
TEMPLATE = "spec.template.spec.resourceClaims.0.resourceClaimTemplateName"
UNUSED = {**CONTAINER, "resources": {}}
CHANNEL_TEMPLATE = edited(GOOD["claim"], ("metadata.name", "train-0"))
SECOND = edited(GOOD["domain"], ("metadata.name", "train-1"))
OTHER = edited(SECOND, ("spec.channel.resourceClaimTemplate.name", "train-1"))
TWO_CLAIMS = [{"name": f"c{i}", "resourceClaimTemplateName": f"train-{i}"} for i in range(2)]
TWO_USES = [{**CONTAINER, "resources": {"claims": [{"name": "c0"}, {"name": "c1"}]}}]

SETS = [
    pytest.param(whole(), "", {}, id="good"),
    pytest.param(whole(("domain", "spec.numNodes", 0)), "", {}, id="elastic"),
    pytest.param(
        whole(("domain", "spec.numNodes", 0)), "numNodes 0 before 25.8", {"draDriver": "25.3"}, id="elastic-25.3"
    ),
    pytest.param(whole(("domain", "spec.numNodes", REMOVE)), "no numNodes", {}, id="implicit-numnodes"),
    pytest.param(whole(add=(GOOD["domain"],)), "is emitted 2 times", {}, id="twice"),
    pytest.param(whole(add=(CHANNEL_TEMPLATE,)), "is the driver's to make", {}, id="emitted-channel-template"),
    pytest.param(whole(add=(SECOND,)), "serves 2 ComputeDomains", {}, id="shared-channel-template"),
    pytest.param(whole(add=(OTHER,)), "nobody claims from", {}, id="idle-domain"),
    pytest.param(
        whole(
            ("job", "spec.template.spec.resourceClaims", TWO_CLAIMS),
            ("job", "spec.template.spec.containers", TWO_USES),
            add=(OTHER,),
        ),
        "claims from 2 ComputeDomains",
        {},
        id="two-channels",
    ),
    pytest.param(whole(("domain", "metadata.namespace", "x")), "does not exist in its namespace", {}, id="namespace"),
    pytest.param(whole(("job", TEMPLATE, "nothing")), "'nothing' does not exist", {}, id="dangling-claim"),
    pytest.param(
        whole(("job", "spec.template.spec.containers", [UNUSED])),
        "no container uses the claim",
        {},
        id="unreached-claim",
    ),
    pytest.param(
        whole(("podgroup", "metadata.name", "x")), "the PodGroup 'train' does not exist", {}, id="no-podgroup"
    ),
    pytest.param(whole(("job", LEAF, "mid")), "name 'mid', which is no leaf", {}, id="mid-level-subgroup"),
    pytest.param(whole(("job", LEAF, REMOVE)), "which is no leaf", {}, id="no-subgroup"),
    pytest.param(whole(("job", "spec.parallelism", 1)), "leaf 'leaf' needs 2 pods and gets 1", {}, id="too-few-pods"),
    pytest.param(whole(("job", SKIP, "True")), "skip-podgrouper", {}, id="skip-podgrouper"),
    pytest.param(whole(("job", "spec.template.spec.schedulerName", REMOVE)), "no schedulerName", {}, id="no-scheduler"),
    pytest.param(whole(), "bare pods only", {"kai": "0.14"}, id="controlled-pods-0.14"),
    pytest.param(
        whole(add=(edited(GOOD["podgroup"], ("metadata.namespace", "x"), ("spec", {})),)),
        "2 PodGroups are named 'train'",
        {},
        id="podgroup-name-in-two-namespaces",
    ),
]


@pytest.mark.parametrize(("documents", "complaint", "target"), SETS)
def test_sets_of_objects(documents: list[Document], complaint: str, target: dict[str, str]) -> None:
    complaints = judge_all(documents, NEWEST | target)
    assert any(complaint in each for each in complaints) if complaint else complaints == [], complaints
