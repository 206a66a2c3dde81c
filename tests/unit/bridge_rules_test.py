"""What lint says of objects for slurm-bridge and SUNK: a table of mistakes, and what upstream itself wrote."""

from __future__ import annotations

from typing import Any

import pytest

import support
from bayplan import backends
from bayplan.core.diagnostics import Diagnostic
from bayplan.linting.objects import lint_context
from bayplan.model.manifest import Object
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from tools.data import parse_all

COVERS = {"M824", "M815", "M767", "M707"}
EMPTY = ClusterTopology("hall", ())
JOB = "slurmjob.slinky.slurm.net"

POD = """
apiVersion: v1
kind: Pod
metadata:
  name: sleep
  annotations: {slurmjob.slinky.slurm.net/timelimit: "5", slurmjob.slinky.slurm.net/mem-per-node: 8Gi}
spec:
  schedulerName: slurm-bridge-scheduler
  containers:
  - name: sleep
    resources: {limits: {cpu: "1", nvidia.com/gpu: "4"}}
"""

GROUPED = """
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: sleep, annotations: {slurmjob.slinky.slurm.net/job-name: sleep}}
spec: {minMember: 8}
---
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: sleep}
spec:
  replicatedJobs:
  - name: worker
    replicas: 2
    template:
      spec:
        parallelism: 4
        template:
          metadata: {labels: {scheduling.x-k8s.io/pod-group: sleep}}
          spec: {schedulerName: slurm-bridge-scheduler, containers: [{name: sleep}]}
"""

SUNK = """
apiVersion: v1
kind: Pod
metadata:
  name: serve
  annotations: {sunk.coreweave.com/account: phys, sunk.coreweave.com/exclusive: user}
spec:
  schedulerName: tenant-slurm-slurm-scheduler
  terminationGracePeriodSeconds: 5
  tolerations: [{key: sunk.coreweave.com/lock, operator: Exists}]
  containers:
  - name: serve
    resources:
      requests: {cpu: "8", memory: 64Gi}
      limits: {memory: 64Gi, nvidia.com/gpu: "4"}
"""


def lint(backend: str, text: str, versions: dict[str, str] | None = None) -> list[Diagnostic]:
    """The findings of one backend's rules on documents."""
    objects = [Object((f"manifest:{n}",), each) for n, each in enumerate(parse_all(text)) if each]
    return list(backends.lint(backend, lint_context(objects, EMPTY, Target(versions or {}))))


RIGHT = [POD, POD.replace('"5"', '"2147483647"'), POD.replace('"5"', '"-2147483648"'), GROUPED]


@pytest.mark.parametrize(("backend", "text"), [*(("slurm-bridge", text) for text in RIGHT), ("sunk", SUNK)])
def test_nothing_is_said_of_what_is_right(backend: str, text: str) -> None:
    assert lint(backend, text) == []


BRIDGE = [
    (POD, "name: sleep", 'name: sleep\n  labels: {scheduler.slinky.slurm.net/slurm-jobid: "7"}', "M824"),
    (POD, f"{JOB}/timelimit: ", "slinky.slurm.net/slurm-node: n1, x: ", "M824"),
    (POD, f"{JOB}/timelimit", "slinky.slurm.net/timelimit", "M815"),
    (POD, f"{JOB}/timelimit", f"{JOB}/time-limit", "M815"),
    (POD, '"5"', '"1:00:00"', "M767"),
    (POD, '"5"', '"99999999999"', "M767"),
    (POD, '"5"', '"2147483648"', "M767"),
    (POD, '"5"', '"-2147483649"', "M767"),
    (POD, "8Gi", "8 GB", "M767"),
    (POD, "name: sleep", "name: sleep\n  labels: {scheduling.x-k8s.io/pod-group: sleep}", "M815"),
    (POD, "containers:", "resourceClaims: [{name: gpu}]\n  containers:", "M824"),
    (POD, "containers:", "topologySpreadConstraints: [{maxSkew: 1}]\n  containers:", "M824"),
    (POD, "nvidia.com/gpu", "deviceclass.resource.kubernetes.io/mig.nvidia.com", "M824"),
    (POD, "nvidia.com/gpu", "deviceclass.resource.kubernetes.io/dra.cpu", "M824"),
    (GROUPED, "metadata: {labels", f"metadata: {{annotations: {{{JOB}/qos: high}}, labels", "M815"),
    (GROUPED, "kind: JobSet\nmetadata: {", f"kind: JobSet\nmetadata: {{annotations: {{{JOB}/qos: high}}, ", "M815"),
    (GROUPED, "metadata: {name: sleep, ann", "metadata: {name: slep, ann", "M707"),
]


@pytest.mark.parametrize(("text", "old", "new", "code"), BRIDGE)
def test_mistakes_with_slurm_bridge(text: str, old: str, new: str, code: str) -> None:
    assert old in text
    assert code in [each.code for each in lint("slurm-bridge", text.replace(old, new, 1))]


AMOUNTS = ("max-nodes", "min-nodes", "priority", "timelimit", "cpu-per-task", "mem-per-node")
WORDS = ("account", "constraints", "exclusive", "gres", "group-id", "job-name", "licenses", "partition", "qos")


@pytest.mark.parametrize("key", [*AMOUNTS, *WORDS, "reservation", "user-id", "wckey"])
def test_annotations_of_slurm_bridge(key: str) -> None:
    assert lint("slurm-bridge", POD.replace(f"{JOB}/timelimit", f"{JOB}/{key}")) == []
    wrong = POD.replace(f'{JOB}/timelimit: "5", {JOB}/mem-per-node: 8Gi', f"{JOB}/{key}: x y")
    assert [each.code for each in lint("slurm-bridge", wrong)] == (["M767"] if key in AMOUNTS else [])


@pytest.mark.parametrize("name", ["dra.cpu", "gpu.nvidia.com", "gpu.example.com"])
def test_classes_that_slurm_bridge_counts(name: str) -> None:
    limits = POD.replace('cpu: "1", nvidia.com/gpu', f"deviceclass.resource.kubernetes.io/{name}")
    assert lint("slurm-bridge", limits) == []


@pytest.mark.parametrize(("key", "since"), [("priority", "1.2"), ("exclusive", "1.1")])
def test_annotations_have_a_version(key: str, since: str) -> None:
    text = POD.replace(f"{JOB}/timelimit", f"{JOB}/{key}")
    assert [each.code for each in lint("slurm-bridge", text, {"slurmBridge": "1.0"})] == ["M815"]
    assert lint("slurm-bridge", text, {"slurmBridge": since}) == []


ON_SUNK = [
    ("sunk.coreweave.com/account", "sunk.coreweave.com/acount", "M815"),
    ("exclusive: user", "exclusive: all", "M815"),
    ("account: phys", "timeout: 5m", "M815"),
    ("terminationGracePeriodSeconds: 5", "terminationGracePeriodSeconds: 25", "M824"),
    ("  terminationGracePeriodSeconds: 5\n", "", "M824"),
    ("sunk.coreweave.com/lock", "sunk.coreweave.com/look", "M824"),
    ("lock, operator: Exists", 'lock, value: "false"', "M824"),
    ('cpu: "8", ', "", "M824"),
    ("memory: 64Gi, nvidia", 'cpu: "8", memory: 64Gi, nvidia', "M824"),
]


@pytest.mark.parametrize(("old", "new", "code"), ON_SUNK)
def test_mistakes_with_sunk(old: str, new: str, code: str) -> None:
    assert old in SUNK
    assert code in [each.code for each in lint("sunk", SUNK.replace(old, new, 1))]


@pytest.mark.parametrize(
    "annotation",
    [
        *("account: a", "comment: a", "group-id: a", "partition: a", "qos: a", "reservation: a", "user-id: a"),
        *("exclusive: none", "exclusive: user", "exclusive: ok", 'timeout: "90"'),
    ],
)
def test_annotations_of_sunk(annotation: str) -> None:
    assert lint("sunk", SUNK.replace("account: phys, sunk.coreweave.com/exclusive: user", annotation)) == []


def test_parts_of_a_core_are_not_pinned() -> None:
    text = SUNK.replace('cpu: "8"', "cpu: 7500m").replace("limits: {", "limits: {cpu: 7500m, ")
    assert lint("sunk", text) == []


ODD: list[Any] = [
    None,
    7,
    "text",
    [],
    {"metadata": {"annotations": {f"{JOB}/timelimit": 5, 7: 7, "sunk.coreweave.com/timeout": [1]}}},
    {"spec": {"containers": [7, None, {"resources": {"limits": {"cpu": {}, 7: "x"}, "requests": []}}]}},
    {"kind": "PodGroup", "apiVersion": "scheduling.x-k8s.io/v1alpha1", "spec": {"minMember": "many"}},
    {
        "metadata": {"annotations": {"sunk.coreweave.com/account": 7}, "labels": ["x"]},
        "spec": {"containers": [{}], "tolerations": [7, {"key": []}], "terminationGracePeriodSeconds": "5"},
    },
]


@pytest.mark.parametrize("backend", ["slurm-bridge", "sunk", "none"])
def test_anything_may_stand_anywhere(backend: str) -> None:
    objects = [Object((f"manifest:{n}",), each) for n, each in enumerate(ODD)]
    list(backends.lint(backend, lint_context(objects, EMPTY, Target())))


@pytest.mark.parametrize("backend", ["slurm-bridge", "sunk", "none"])
def test_nothing_is_said_of_what_bayplan_wrote(backend: str) -> None:
    one = {**support.WORKER, "replicas": 1, "resources": {"cpu": "8", "memory": "64Gi"}}
    result = support.run(support.workflow({"name": "train", "podSets": [one]}), scheduler=backend)
    assert result.documents
    objects = [Object((f"manifest:{n}",), each) for n, each in enumerate(result.documents)]
    assert list(backends.lint(backend, lint_context(objects, EMPTY, Target()))) == []


UPSTREAM = [
    # hack/examples at slurm-bridge 1.2.1, cut to what is judged. The two JobSets still have the prefix from before 1.0,
    # so their Slurm jobs get no name; the Job for NVIDIA's driver repeats its annotation where nobody reads it.
    ("JobSet", {"slinky.slurm.net/job-name": "jobset-coordinator"}, {}, ["M815"]),
    ("JobSet", {"slinky.slurm.net/job-name": "jobset-dependson"}, {}, ["M815"]),
    ("Job", {f"{JOB}/job-name": "job-gpu-nvidia"}, {f"{JOB}/job-name": "job-gpu-nvidia"}, ["M815"]),
    ("Job", {f"{JOB}/job-name": "job-sleep-large"}, {}, []),
]


@pytest.mark.parametrize(("kind", "own", "pods", "codes"), UPSTREAM)
def test_upstreams_own_examples(kind: str, own: dict[str, str], pods: dict[str, str], codes: list[str]) -> None:
    spec = {"schedulerName": "slurm-bridge-scheduler", "containers": [{"name": "sleep"}]}
    job: Any = {"spec": {"template": {"metadata": {"annotations": pods}, "spec": spec}}}
    whole = job if kind == "Job" else {"spec": {"replicatedJobs": [{"name": "worker", "template": job}]}}
    document = {"apiVersion": "batch/v1", "kind": kind, "metadata": {"name": "x", "annotations": own}, **whole}
    found = backends.lint("slurm-bridge", lint_context([Object(("manifest:0",), document)], EMPTY, Target()))
    assert [each.code for each in found] == codes
