"""The parts of the replay that need no scheduler: pods, snapshot, comparison, shrinking."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bayplan.model.target import Target
from e2e import hand, random_cases
from e2e.compare import compare
from e2e.kai import snapshot, write
from e2e.pods import members
from e2e.releases import BY_NAME, RELEASES
from e2e.run import pinned, world
from e2e.scene import RefusedError, Scene, scene
from e2e.scheduler import Case, Release, edited, removed
from e2e.shrink import smallest
from oracle import ORACLES
from tools.effort import examples

OLD, NEW = BY_NAME["kai 0.12.0"], BY_NAME["kai 0.13.1"]
GANG = hand.case("g", hand.cluster({"z/s/r0": 2, "z/s/r1": 4}), hand.pods("w", 3), required="rack")
RIGHT = {f"wf-w-{number}": f"z-s-r1-{number}" for number in range(3)}


def outcome(made: Scene, bindings: dict[str, str]) -> str:
    (stage,) = made.stages
    return compare(stage, made.plan, world(made, stage, made.documents, NEW).members, bindings).outcome


def changed(case: Case, **spec: object) -> Case:
    """The case with its pool changed."""
    topology = json.loads(json.dumps(case.topology))
    topology["spec"]["pools"][0].update(spec)
    return case._replace(topology=topology)


@pytest.mark.parametrize(
    ("bindings", "said"),
    [
        (RIGHT, "placed"),
        ({}, "missed"),
        ({"wf-w-0": "z-s-r1-0"}, "broken"),  # a part of the gang
        ({**RIGHT, "wf-w-2": "z-s-r0-0"}, "broken"),  # in two racks
        ({**RIGHT, "wf-w-2": "z-s-r1-1"}, "broken"),  # two on one node
    ],
)
def test_what_fits(bindings: dict[str, str], said: str) -> None:
    assert outcome(scene(GANG, NEW), bindings) == said


def test_what_does_not_fit() -> None:
    made = scene(changed(GANG, unusable={"cordoned": "z-s-r1-0,z-s-r1-1"}), NEW)
    assert outcome(made, {}) == "refused"
    assert outcome(made, RIGHT) == "found"


def test_a_node_that_is_not_usable() -> None:
    made = scene(changed(GANG, unusable={"spare": "z-s-r1-0"}), NEW)
    assert outcome(made, {**RIGHT, "wf-w-0": "z-s-r1-3"}) == "placed"
    assert outcome(made, RIGHT) == "broken"


def test_what_kai_is_known_not_to_find() -> None:
    sets = hand.pods("a", 1, 8), hand.pods("b", 7, 1)
    made = scene(hand.case("g", hand.cluster({"z/s/r": 2}, cards=8), *sets, required="rack"), NEW)
    ones = {f"wf-b-{number}": "z-s-r-1" for number in range(7)}
    assert outcome(made, {}) == "known"
    assert outcome(made, {"wf-a-0": "z-s-r-0", **ones}) == "alarm"


def test_nodes_of_a_snapshot() -> None:
    made = scene(changed(GANG, unusable={"cordoned": "z-s-r0-0"}), NEW)
    content = snapshot(world(made, made.stages[0], made.documents, NEW), NEW)
    nodes = {each["metadata"]["name"]: each for each in content["rawObjects"]["nodes"]}
    assert [name for name, node in nodes.items() if node["spec"].get("unschedulable")] == ["z-s-r0-0"]
    labels = nodes["z-s-r1-0"]["metadata"]["labels"]
    assert (labels["nvidia.com/gpu.clique"], labels["kubernetes.io/hostname"]) == ("r1", "z-s-r1-0")
    assert nodes["z-s-r1-0"]["status"]["allocatable"]["nvidia.com/gpu"] == "4"


def test_plan_is_left_out() -> None:
    """No scheduler knows of it: all four nodes count."""
    topology = hand.cluster({"z/s/r": 4})
    topology["spec"]["pools"][0]["levels"][-1]["plan"] = 3
    assert scene(hand.case("g", topology, hand.pods("w", 4), required="rack"), NEW).stages[0].verdict == "fits"


def test_claims_where_the_release_takes_them() -> None:
    case = hand.case("g", hand.cluster({"z/s/r": 2}, kind="claimed"), hand.pods("w", 2), required="rack")
    raw = {each: _raw(case, each) for each in (OLD, NEW)}
    assert raw[OLD]["resourceClaims"] == [] != raw[NEW]["resourceClaims"]
    assert len(raw[NEW]["resourceClaims"]) == 2
    assert "nvidia.com/gpu" in raw[OLD]["nodes"][0]["status"]["allocatable"]
    assert "nvidia.com/gpu" not in raw[NEW]["nodes"][0]["status"]["allocatable"]
    devices = {(each["spec"]["driver"], len(each["spec"]["devices"])) for each in raw[NEW]["resourceSlices"]}
    assert devices == {("gpu.nvidia.com", 4), ("compute-domain.nvidia.com", 1)}


def _raw(case: Case, release: Release) -> dict[str, list[dict[str, Any]]]:
    made = scene(case, release)
    content: dict[str, dict[str, list[dict[str, Any]]]]
    content = snapshot(world(made, made.stages[0], made.documents, release), release)
    return content["rawObjects"]


def test_the_old_release_gets_a_parent_queue() -> None:
    parents = {each["metadata"]["name"]: each["spec"].get("parentQueue") for each in _raw(GANG, OLD)["queues"]}
    assert parents == {"everyone": None, "research": "everyone"}
    assert [each["spec"].get("parentQueue") for each in _raw(GANG, NEW)["queues"]] == [None]


def test_a_snapshot_is_a_zip(tmp_path: Path) -> None:
    write(tmp_path / "s.zip", {"config": {}})
    with zipfile.ZipFile(tmp_path / "s.zip") as archive:
        assert json.loads(archive.read("snapshot.json")) == {"config": {}}


def test_pods_of_jobsets_are_those_of_bare_pods() -> None:
    flow = json.loads(json.dumps(GANG.workflow))
    flow["spec"]["gangs"][0]["workload"] = "jobset"
    names = [{each.name for each in members(scene(one, NEW).documents)} for one in (GANG._replace(workflow=flow), GANG)]
    assert names == [set(RIGHT)] * 2


@pytest.mark.parametrize("release", RELEASES, ids=[each.name for each in RELEASES])
def test_pinned_pods_have_nodes_and_no_levels(release: Release) -> None:
    """Each pod may only use its node of the witness, and no level is left in the manifests."""
    made = scene(GANG, release)
    free = pinned(made, made.stages[0], release)
    nodes = [each.body["spec"]["nodeSelector"]["kubernetes.io/hostname"] for each in free.members]
    assert sorted(nodes) == sorted(node for run in made.stages[0].witness for node in run.nodes)
    assert len(nodes) == 3
    levels = [each for each in free.documents if each["kind"] in ("PodGroup", "Job", "Pod", "sbatch")]
    assert levels
    assert not any(word in json.dumps(levels) for word in ("TopologyLevel", "highestTier", "gpu.clique"))


def test_edits_of_manifests() -> None:
    documents: list[dict[str, Any]] = [{"kind": "A", "x": [{"n": 1, "m": {"n": 2}}, {}]}, {"kind": "B", "n": 1}]
    assert edited(documents, "A x * n", lambda n: n + 1)[0]["x"] == [{"n": 2, "m": {"n": 2}}, {}]
    assert edited(documents, "A ** n", removed)[0]["x"] == [{"m": {}}, {}]
    assert edited(documents, "* n", removed) == [documents[0], {"kind": "B"}]


def test_a_seed_gives_one_case() -> None:
    assert random_cases.case(7) == random_cases.case(7) != random_cases.case(8)


def test_seeds_of_both_kinds_of_cases() -> None:
    assert random_cases.seeds(2, 6) == [1, 100_001, 2, 100_002]
    spec = json.dumps([random_cases.case(seed).workflow for seed in random_cases.seeds(0, 200)])
    assert all(word in spec for word in ('"minReplicas"', '"y"', '"z"'))
    assert any(random_cases.case(seed).others for seed in random_cases.seeds(0, 200))


def test_shrinking() -> None:
    """The smallest case in which something still does not fit: one node is not enough for two pods."""
    case = random_cases.case(19)
    assert _lacks(case)
    assert len(case.workflow["spec"]["gangs"]) > 1
    small = smallest(case, _lacks)
    assert len(json.dumps(small.workflow)) < len(json.dumps(case.workflow))
    assert len(small.workflow["spec"]["gangs"]) == 1
    assert _lacks(small)


def _lacks(case: Case) -> bool:
    try:
        return "lacks" in {stage.verdict for stage in scene(case, NEW).stages}
    except RefusedError:
        return False


@pytest.mark.parametrize("release", [OLD, NEW], ids=lambda each: each.name)
def test_what_the_old_release_leaves_out(release: Release) -> None:
    """Leaves beside subgroups with children, up to KAI 0.12; and the manifests still say what the plan says."""
    mixed, target = 0, Target(release.scheduler.versions(release))
    for seed in range(examples(10, 80)):
        made = scene(random_cases.case(seed), release)
        mixed += sum(_mixed(each) for each in made.documents if each["kind"] == "PodGroup")
        if not any(gang.compute_domains for gang in made.plan.gangs):
            assert ORACLES["kai"].read(made.documents).value == ORACLES["kai"].intent(made.plan, target)
    assert bool(mixed) == (release is NEW)


def _mixed(group: Mapping[str, Any]) -> bool:
    subgroups = group["spec"].get("subGroups", ())
    parents = {each.get("parent", "") for each in subgroups}
    kinds = {(each.get("parent", ""), each["name"] in parents) for each in subgroups}
    return any((parent, False) in kinds and (parent, True) in kinds for parent in parents)
