"""The judge of kube-scheduler's objects refuses what kube-apiserver, or the scheduler itself, would refuse."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

import support
from judges import judge, judge_all
from judges.samples import REMOVE, edited

NEW = {"kubernetes": "1.37"}
ROOTS = "spec.compositePodGroupTemplates"
INNER = f"{ROOTS}.0.podGroupTemplates"


def written(version: str = "1.37") -> list[dict[str, Any]]:
    """What bayplan writes for groups within a gang, or for one level."""
    gang = (
        support.pretrain() if version == "1.37" else {**support.pretrain(), "groups": [], "podSets": [support.WORKER]}
    )
    flow = support.workflow({key: value for key, value in gang.items() if value}, priorityClassName="train")
    result = support.run(flow, scheduler="native", target={"kubernetes": version})
    assert result.compiled, result.diagnostics
    return [each for each in result.documents if each["apiVersion"].startswith(("scheduling.k8s.io/", "jobset"))]


def own(kind: str) -> dict[str, Any]:
    return next(each for each in written() if each["kind"] == kind)


@pytest.mark.parametrize("version", ["1.36", "1.37"])
def test_what_bayplan_writes_is_taken(version: str) -> None:
    documents = [each for each in written(version) if each["kind"] != "JobSet"]
    assert [complaint for each in documents for complaint in judge(each, {"kubernetes": version})] == []


SEVEN = [{"name": f"t{number}", "schedulingPolicy": {"gang": {"minCount": 1}}} for number in range(9)]
BAD = {
    "two lists": ("Workload", "spec.podGroupTemplates", SEVEN[:1], "spec: podGroupTemplates and composite"),
    "no list": ("Workload", ROOTS, REMOVE, "spec: none of podGroupTemplates"),
    "nine templates": ("Workload", INNER, SEVEN, "9 entries, not 1 to 8"),
    "one name twice": ("Workload", f"{INNER}.0.name", "train", "template name 'train' occurs twice"),
    "a long name": ("Workload", f"{INNER}.0.name", "a" * 64, "its name is no DNS label"),
    "two priorities": ("Workload", f"{INNER}.0.priorityClassName", "low", "templates differ in priority"),
    "a part of a whole": ("Workload", f"{INNER}.0.disruptionMode", {"single": {}}, "is disrupted apart"),
    "two policies": ("PodGroup", "spec.schedulingPolicy.basic", {}, "schedulingPolicy: basic and gang"),
    "no policy": ("PodGroup", "spec.schedulingPolicy", {}, "schedulingPolicy: none of basic, gang"),
    "a count of nothing": ("PodGroup", "spec.schedulingPolicy.gang.minCount", 0, "minCount is 0"),
    "two levels": ("PodGroup", "spec.schedulingConstraints.topology", [{"key": "a"}] * 2, "more than one level"),
    "a level that is no key": ("PodGroup", "spec.schedulingConstraints.topology.0.key", "a b", "is no label key"),
    "a child of nobody's template": ("PodGroup", "spec.workloadRef", REMOVE, "workloadRef is required"),
    "a field of the proposal": (
        "PodGroup",
        "spec.schedulingConstraints.topology.0.level",
        "a",
        "'level' was unexpected",
    ),
    "an old version": ("PodGroup", "apiVersion", "scheduling.k8s.io/v1alpha2", "has no PodGroup"),
    "an old mode": ("PodGroup", "spec.disruptionMode", "PodGroup", "'PodGroup' is not of type 'object'"),
}


@pytest.mark.parametrize(("kind", "path", "value", "complaint"), BAD.values(), ids=BAD)
def test_a_bad_object_is_refused(kind: str, path: str, value: Any, complaint: str) -> None:
    complaints = judge(edited(own(kind), (path, value)), NEW)
    assert any(complaint in each for each in complaints), complaints


TOGETHER = {
    "no such template": ("PodGroup", "spec.workloadRef.templateName", "other", "no such template"),
    "no such parent": ("PodGroup", "spec.parentCompositePodGroupName", "other", "no parent 'other'"),
    "a template that says more": ("PodGroup", "spec.schedulingConstraints", REMOVE, "is not that of its template"),
    "fewer groups than asked": ("CompositePodGroup", "spec.schedulingPolicy.gang.minGroupCount", 5, "waits for 5"),
}


@pytest.mark.parametrize(("kind", "path", "value", "complaint"), TOGETHER.values(), ids=TOGETHER)
def test_objects_that_do_not_fit_together_are_refused(kind: str, path: str, value: Any, complaint: str) -> None:
    documents = [deepcopy(each) for each in written() if each["kind"] != "JobSet"]
    number = next(number for number, each in enumerate(documents) if each["kind"] == kind)
    documents[number] = edited(documents[number], (path, value))
    complaints = judge_all(documents, {"kubernetes": "1.37", "kai": "0.17"})
    assert any(complaint in each for each in complaints), complaints
