"""Rules for Workloads and their groups that others wrote: one mistake each, and upstream's own examples."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
import yaml

import support
from bayplan import backends
from bayplan.linting.objects import lint_context
from bayplan.model.manifest import Object
from bayplan.model.target import Target
from bayplan.pipeline import check_topology
from bayplan.text.document import Document
from judges import UPSTREAM
from judges.samples import REMOVE, edited
from tools.data import parse_all

COVERS = {"M780", "M782", "M717", "M809"}
NEW = {"kubernetes": "1.37", "jobset": "0.12", "lws": "0.10"}
TREE = """
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: train, namespace: ml}
spec:
  compositePodGroupTemplates:
  - name: root
    schedulingPolicy: {gang: {minGroupCount: 2}}
    schedulingConstraints: {topology: [{key: example.com/spine}]}
    podGroupTemplates:
    - name: group
      schedulingPolicy: {gang: {minCount: 2}}
      schedulingConstraints: {topology: [{key: nvidia.com/gpu.clique}]}
---
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: train, namespace: ml}
spec:
  workloadRef: {workloadName: train, templateName: root}
  schedulingPolicy: {gang: {minGroupCount: 2}}
  schedulingConstraints: {topology: [{key: example.com/spine}]}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: train-0, namespace: ml}
spec:
  parentCompositePodGroupName: train
  workloadRef: {workloadName: train, templateName: group}
  schedulingPolicy: {gang: {minCount: 2}}
  schedulingConstraints: {topology: [{key: nvidia.com/gpu.clique}]}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: train-1, namespace: ml}
spec:
  parentCompositePodGroupName: train
  workloadRef: {workloadName: train, templateName: group}
  schedulingPolicy: {gang: {minCount: 2}}
  schedulingConstraints: {topology: [{key: nvidia.com/gpu.clique}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: train-0, namespace: ml}
spec:
  parallelism: 2
  template: {spec: {schedulingGroup: {podGroupName: train-0}, containers: [{name: a, image: a}]}}
---
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train-1, namespace: ml}
spec:
  replicatedJobs:
  - name: workers
    replicas: 2
    template:
      spec:
        parallelism: 1
        template: {spec: {schedulingGroup: {podGroupName: train-1}, containers: [{name: a, image: a}]}}
---
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomain
metadata: {name: train, namespace: ml}
spec: {numNodes: 0, channel: {resourceClaimTemplate: {name: train-channel}}}
"""
OLD = """
apiVersion: scheduling.k8s.io/v1alpha1
kind: Workload
metadata: {name: train}
spec: {podGroups: [{name: workers, policy: {gang: {minCount: 2}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {workloadRef: {name: train, podGroup: workers}, containers: [{name: a, image: a}]}
"""


def lint(text: str, **target: str) -> list[tuple[str, Any]]:
    """Code and route of each finding."""
    topology = check_topology(Document("topology.yaml", "", 0, support.TOPOLOGY))[0].value
    assert topology
    objects = [Object((f"manifest:{n}",), data) for n, data in enumerate(parse_all(text)) if data]
    found = backends.lint("native", lint_context(objects, topology, Target({**NEW, **target})))
    return [(each.code, each.route) for each in found]


def codes(text: str, **target: str) -> list[str]:
    return sorted({code for code, _ in lint(text, **target)})


def test_what_is_right_is_left_alone() -> None:
    assert lint(TREE) == []
    assert lint(OLD, kubernetes="1.35") == []


def test_a_group_may_require_the_level_of_the_group_around_it() -> None:
    assert lint(TREE.replace("example.com/spine", "nvidia.com/gpu.clique")) == []


def test_objects_of_others_are_left_alone() -> None:
    assert lint("{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: []}}") == []
    assert (
        lint("{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {name: a}, spec: {minMember: 1}}")
        == []
    )


WORKLOAD, ROOT, FIRST, SECOND, JOB, JOBSET = range(6)
ROOTS = "spec.compositePodGroupTemplates"
LEVEL = "spec.schedulingConstraints.topology"
POD = "spec.template.spec"
OTHER_POD = "spec.replicatedJobs.0.template.spec.template.spec"
CHANNEL = {"name": "channel", "resourceClaimTemplateName": "train-channel"}
MANY = [{"name": f"g{number}"} for number in range(9)]

BROKEN: dict[str, tuple[str, int, str, Any]] = {
    "an old version": ("M780", FIRST, "apiVersion", "scheduling.k8s.io/v1alpha2"),
    "a kind that it never had": ("M780", ROOT, "apiVersion", "scheduling.k8s.io/v1beta1"),
    "an old field": ("M780", FIRST, "spec.podGroupTemplateRef", {"workload": {"workloadName": "train"}}),
    "the word of the proposal": ("M780", FIRST, LEVEL, [{"level": "nvidia.com/gpu.clique"}]),
    "the proposal's word in a template": (
        "M780",
        WORKLOAD,
        f"{ROOTS}.0.schedulingConstraints.topology.0",
        {"level": "a"},
    ),
    "an old disruption mode": ("M780", ROOT, "spec.disruptionMode", "PodGroup"),
    "pods with the words of 1.35": ("M780", JOB, f"{POD}.workloadRef", {"name": "train"}),
    "a template that is not there": ("M782", FIRST, "spec.workloadRef.templateName", "grp"),
    "a template of the other kind": ("M782", FIRST, "spec.workloadRef.templateName", "root"),
    "a Workload that is not there": ("M782", ROOT, "spec.workloadRef.workloadName", "t"),
    "no template": ("M782", ROOT, "spec.workloadRef", REMOVE),
    "a group that says less": ("M782", ROOT, "spec.schedulingConstraints", REMOVE),
    "a parent that is not there": ("M782", FIRST, "spec.parentCompositePodGroupName", "trian"),
    "a group above itself": ("M782", ROOT, "spec.parentCompositePodGroupName", "train"),
    "a tree of two Workloads": ("M782", FIRST, "spec.workloadRef.workloadName", "other"),
    "too few groups": ("M782", ROOT, "spec.schedulingPolicy.gang.minGroupCount", 3),
    "two templates of one name": ("M782", WORKLOAD, f"{ROOTS}.0.podGroupTemplates.0.name", "root"),
    "templates of different priority": ("M782", WORKLOAD, f"{ROOTS}.0.priorityClassName", "high"),
    "a composite of nothing": ("M782", WORKLOAD, f"{ROOTS}.0.podGroupTemplates", REMOVE),
    "a whole of parts": ("M782", WORKLOAD, f"{ROOTS}.0.disruptionMode", {"all": {}}),
    "nine templates": ("M782", WORKLOAD, f"{ROOTS}.0.podGroupTemplates", MANY),
    "a label of no node": ("M717", FIRST, f"{LEVEL}.0.key", "example.com/rack"),
    "an inner level that is coarser": ("M717", ROOT, f"{LEVEL}.0.key", "kubernetes.io/hostname"),
    "a group that is not there": ("M707", JOB, f"{POD}.schedulingGroup.podGroupName", "train-O"),
    "two schedulers": ("M782", JOBSET, f"{OTHER_POD}.schedulerName", "mine"),
    "a priority of the group alone": ("M782", FIRST, "spec.priorityClassName", "high"),
    "a channel for all": ("M809", FIRST, "spec.resourceClaims", [CHANNEL]),
}


@pytest.mark.parametrize(("code", "number", "path", "value"), BROKEN.values(), ids=BROKEN)
def test_one_mistake_is_found(code: str, number: int, path: str, value: Any) -> None:
    documents = list(parse_all(TREE))
    documents[number] = edited(documents[number], (path, value))
    assert code in codes(yaml.safe_dump_all(documents))


DEEP = """
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: deep}
spec:
  compositePodGroupTemplates:
  - name: a
    compositePodGroupTemplates:
    - name: b
      compositePodGroupTemplates:
      - name: c
        compositePodGroupTemplates: [{name: d, podGroupTemplates: [{name: e}]}]
"""


def test_templates_five_deep_are_too_deep() -> None:
    assert [code for code, _ in lint(DEEP)] == ["M782"]
    assert lint(DEEP.replace("podGroupTemplates: [{name: e}]", "resourceClaims: []"))[-1][0] == "M782"


def test_groups_five_deep_are_too_deep() -> None:
    groups = [
        {
            "apiVersion": "scheduling.k8s.io/v1alpha3",
            "kind": "CompositePodGroup",
            "metadata": {"name": f"g{number}"},
            "spec": {"parentCompositePodGroupName": f"g{number - 1}" if number else ""},
        }
        for number in range(5)
    ]
    ends = [route[-1] for _, route in lint(yaml.safe_dump_all(groups))]
    assert ends == ["spec"] * 5 + ["parentCompositePodGroupName"]


TARGETS = {
    "1.34 has none": (TREE, {"kubernetes": "1.34"}, "M780"),
    "1.36 has no trees": (TREE, {"kubernetes": "1.36"}, "M780"),
    "1.36 has no workloadRef in pods": (OLD, {"kubernetes": "1.36"}, "M780"),
    "1.35 has no schedulingGroup": (TREE, {"kubernetes": "1.35"}, "M780"),
    "JobSet 0.11 drops schedulingGroup": (TREE, {"jobset": "0.11"}, "M780"),
    "a pod group that the Workload lacks": (OLD.replace("podGroup: w", "podGroup: v"), {"kubernetes": "1.35"}, "M707"),
    "no such Workload": (OLD.replace("name: train,", "name: t,"), {"kubernetes": "1.35"}, "M707"),
}


@pytest.mark.parametrize(("text", "target", "code"), TARGETS.values(), ids=TARGETS)
def test_the_target_decides(text: str, target: dict[str, str], code: str) -> None:
    assert code in codes(text, **target)


@pytest.mark.parametrize(
    ("kubernetes", "served"),
    [
        ("1.34", []),
        ("1.35", ["v1alpha1 Workload"]),
        ("1.36", ["v1alpha2 Workload", "v1alpha2 PodGroup"]),
        (
            "1.37",
            [
                *("v1alpha3 Workload", "v1alpha3 PodGroup", "v1alpha3 CompositePodGroup"),
                *("v1beta1 Workload", "v1beta1 PodGroup"),
            ],
        ),
    ],
)
def test_kinds_that_kubernetes_serves(kubernetes: str, served: list[str]) -> None:
    found = []
    for version in ("v1alpha1", "v1alpha2", "v1alpha3", "v1beta1"):
        for kind in ("Workload", "PodGroup", "CompositePodGroup"):
            text = f"apiVersion: scheduling.k8s.io/{version}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {{}}\n"
            if ("M780", ("manifest:0", "apiVersion")) not in lint(text, kubernetes=kubernetes):
                found.append(f"{version} {kind}")
    assert found == served


def test_routes_lead_to_the_mistake() -> None:
    found = lint(TREE.replace("templateName: root}", "templateName: roof}"))
    assert found == [("M782", ("manifest:1", "spec", "workloadRef", "templateName"))]


def values(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in pairs:
        yield from values(value, (*path, key))


@pytest.mark.parametrize("junk", [None, 1, "text", [], {}, [[1]], {"a": {"b": 1}}, True])
def test_any_value_of_any_type_is_survived(junk: Any) -> None:
    documents = list(parse_all(TREE + "---" + OLD))
    topology = check_topology(Document("topology.yaml", "", 0, support.TOPOLOGY))[0].value
    assert topology
    for number, document in enumerate(documents):
        for path in values(document):
            if not path:
                continue
            broken = deepcopy(documents)
            inside = broken[number]
            for key in path[:-1]:
                inside = inside[key]
            inside[path[-1]] = junk
            objects = [Object((f"manifest:{n}",), data) for n, data in enumerate(broken)]
            list(backends.lint("native", lint_context(objects, topology, Target(NEW))))


EXAMPLES = {
    "native/hack__examples__workload__gang-job.yaml": "1.36",
    "native/hack__examples__workload__workload.yaml": "1.36",
    "jobset/examples__workload-aware-scheduling__preemption__low-priority-jobset.yaml": "1.36",
    "jobset/examples__workload-aware-scheduling__workload.yaml": "1.36",
}


@pytest.mark.skipif(not (UPSTREAM / "examples").is_dir(), reason=f"no upstream examples at {UPSTREAM}/examples")
@pytest.mark.parametrize(("name", "version"), EXAMPLES.items(), ids=EXAMPLES)
def test_upstreams_examples_are_right_for_their_version_alone(name: str, version: str) -> None:
    text = (UPSTREAM / "examples" / name).read_text("utf-8")
    assert lint(text, kubernetes=version) == []
    assert codes(text) == ["M780"]
