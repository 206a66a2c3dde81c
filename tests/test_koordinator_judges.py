"""What bayplan writes for Koordinator is taken by the judges; what others get wrong is not."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

import support
from bayplan.text.emit import emit
from judges import UPSTREAM, judge, judge_all, koordinator, targets_for

needs_upstream = pytest.mark.skipif(not (UPSTREAM / "crds").is_dir(), reason=f"no upstream CRDs at {UPSTREAM}/crds")
GANG = "gang.scheduling.koordinator.sh/"
SPEC = f"{GANG}network-topology-spec"


def documents(kind: str = "auto", version: str = "1.8", accept: str = "F681") -> list[dict[str, Any]]:
    """The 64 pods and the cluster's topology."""
    gang = {**support.pretrain(), "workload": kind}
    target = {"koordinator": version}
    options: dict[str, Any] = {"scheduler": "koordinator", "cluster_objects": True, "target": target}
    result = support.run(support.workflow(gang), accept=frozenset(accept.split()), **options)
    assert result.compiled, result.diagnostics
    return list(yaml.load_all("".join(emit(result.compiled.documents)), yaml.CSafeLoader))


@needs_upstream
@pytest.mark.parametrize("kind", ["jobset", "job", "pods"])
@pytest.mark.parametrize(("version", "accept"), [("1.8", "F681"), ("1.7", "F681 F631")])
def test_the_judges_take_the_64_pods(kind: str, version: str, accept: str) -> None:
    for target in targets_for({"kubernetes": "1.34", "koordinator": version}):
        assert judge_all(documents(kind, version, accept), target) == []


@pytest.fixture(scope="module")
def sound() -> dict[str, Any]:
    """The PodGroup as bayplan writes it."""
    return next(each for each in documents() if each["kind"] == "PodGroup")


def group(sound: dict[str, Any], **notes: Any) -> dict[str, Any]:
    made = copy.deepcopy(sound)
    made["metadata"]["annotations"] |= {GANG + name.replace("_", "-"): value for name, value in notes.items()}
    return made


BAD: dict[str, tuple[dict[str, str], str]] = {
    "mode": ({"mode": "strict"}, "mode 'strict' is none of"),
    "total": ({"total_number": "60"}, "total-number '60' is no number from minMember 64"),
    "groups": ({"groups": '["ml/other"]'}, "groups does not list the gang itself"),
    "strategy": (
        {"network_topology_spec": '{"gatherStrategy":[{"layer":"A","strategy":"Must"}]}'},
        "unknown strategy",
    ),
    "multiple": (
        {"network_topology_spec": '{"gatherStrategy":[{"layer":"A","strategy":"PreferGather","podCountMultiple":9}]}'},
        "podCountMultiple 9 of 64 pods",
    ),
    "unknown": ({"networkTopologyAware": "{}"}, "Koordinator has no annotation"),
}


@pytest.mark.parametrize(("notes", "complaint"), BAD.values(), ids=BAD)
def test_the_judge_refuses(notes: dict[str, str], complaint: str, sound: dict[str, Any]) -> None:
    assert any(complaint in each for each in koordinator.judge(group(sound, **notes), {"koordinator": "1.8"}))


def test_a_multiple_is_no_field_of_1_7(sound: dict[str, Any]) -> None:
    assert any("came with 1.8" in each for each in koordinator.judge(sound, {"koordinator": "1.7"}))


def test_fields_that_the_pod_group_does_not_have(sound: dict[str, Any]) -> None:
    odd = group(sound)
    odd["spec"] |= {"queue": "research", "minMember": 2**31}
    found = koordinator.schema(odd, {})
    assert any("'queue' was unexpected" in each for each in found)
    assert any("no int32" in each for each in found)


def test_pods_without_their_group() -> None:
    listed = [each for each in documents() if each["kind"] != "PodGroup"]
    assert any("which is missing" in each for each in koordinator.members(listed))


@needs_upstream
@pytest.mark.parametrize("change", ["name", "chain", "field"])
def test_topologies_that_koordinator_does_not_read(change: str) -> None:
    (made,) = [copy.deepcopy(each) for each in documents() if each["kind"] == "ClusterNetworkTopology"]
    if change == "name":
        made["metadata"]["name"] = "hall"
    elif change == "chain":
        del made["spec"]["networkTopologySpec"][-1]
    else:
        made["spec"]["hierarchy"] = []
    assert judge(made, {"kubernetes": "1.34", "koordinator": "1.8"}) != []
