"""Templates over what bayplan generates, in every kind: what a translation of another format puts there comes out."""

from __future__ import annotations

from typing import Any

import pytest

import support

KINDS = ["jobset", "job", "pods"]
VOLUMES = [
    {"name": "scratch", "emptyDir": {"sizeLimit": "10Gi"}},
    {"name": "store", "secret": {"secretName": "store", "defaultMode": 0o400}},
    {"name": "host", "hostPath": {"path": "/mnt/data", "type": "Directory"}},
]
MOUNTS = [
    {"name": "scratch", "mountPath": "/scratch"},
    {"name": "store", "mountPath": "/etc/store", "readOnly": True},
    {"name": "host", "mountPath": "/mnt/data"},
]
ENV = [
    {"name": "Z_FIRST", "valueFrom": {"secretKeyRef": {"name": "store", "key": "token"}}},
    {"name": "A_SECOND", "valueFrom": {"secretKeyRef": {"name": "store", "key": "user"}}},
    {"name": "M_THIRD", "value": "$(A_SECOND)"},
]
AFFINITY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "example.com/a", "operator": "In", "values": ["b"]}]}]
        }
    }
}
TEMPLATE: dict[str, Any] = {
    "spec": {
        "volumes": VOLUMES,
        "containers": [{"volumeMounts": MOUNTS, "env": ENV, "securityContext": {"privileged": True}}],
        "hostNetwork": True,
        "dnsPolicy": "ClusterFirstWithHostNet",
        "affinity": AFFINITY,
        "activeDeadlineSeconds": 600,
    }
}


def specs(kind: str, template: Any, gang: Any = {}, **pod_set: Any) -> list[Any]:  # noqa: B006
    """The pod specs of a gang of two workers with the template."""
    worker = {**support.WORKER, "replicas": 2, "template": template, **pod_set}
    result = support.run(support.workflow({"name": "main", "workload": kind, "podSets": [worker], **gang}))
    assert result.compiled, result.diagnostics
    assert {each.code for each in result.diagnostics} <= {"F609", "P508", "P518", "W536"}
    return [pod.spec for pod in support.pods(result.documents)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rendezvous", ["gang", "none"])
def test_everything_of_the_template_comes_out(kind: str, rendezvous: str) -> None:
    own = {"env": {"Y": "1", "B": "2"}, "files": {"/opt/run.sh": "true"}, "shm": "1Gi"}
    for spec in specs(kind, TEMPLATE, {"rendezvous": rendezvous}, **own):
        (container,) = spec["containers"]
        assert container["name"] == "worker"
        assert container["env"][-3:] == ENV
        assert [each["name"] for each in container["env"][:-3]][-2:] == ["B", "Y"]
        assert [each["name"] for each in spec["volumes"]] == ["shm", "files", "scratch", "store", "host"]
        assert [each["mountPath"] for each in container["volumeMounts"]] == [
            "/dev/shm",
            "/opt/run.sh",
            *(each["mountPath"] for each in MOUNTS),
        ]
        assert spec["volumes"][2:] == VOLUMES
        assert container["securityContext"]["privileged"] is True
        assert (spec["hostNetwork"], spec["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
        assert spec["affinity"] == AFFINITY
        assert spec["activeDeadlineSeconds"] == 600


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("named", ["worker", "other", None])
def test_the_only_container_is_the_main_one(kind: str, named: str | None) -> None:
    container = {"env": ENV, **({"name": named} if named else {})}
    for spec in specs(kind, {"spec": {"containers": [container]}}):
        assert [each["name"] for each in spec["containers"]] == [named or "worker"]
        assert spec["containers"][0]["image"] == support.WORKER["image"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("of_gang", "of_pod", "wanted"), [(900, 600, 600), (600, 900, 600), (900, None, 900), (None, 9, 9)]
)
def test_the_sooner_deadline_holds(kind: str, of_gang: int | None, of_pod: int | None, wanted: int) -> None:
    template = {"spec": {"activeDeadlineSeconds": of_pod}} if of_pod else {}
    gang = {"activeDeadlineSeconds": of_gang} if of_gang else {}
    worker = {**support.WORKER, "replicas": 2, "template": template}
    result = support.run(support.workflow({"name": "main", "workload": kind, "podSets": [worker], **gang}))
    jobs = [each["spec"] for each in result.kinds("Job")]
    jobs += [job["template"]["spec"] for each in result.kinds("JobSet") for job in each["spec"]["replicatedJobs"]]
    pods = [pod.spec for pod in support.pods(result.documents)]
    given = [each["activeDeadlineSeconds"] for each in (*jobs, *pods) if "activeDeadlineSeconds" in each]
    assert min(given) == wanted
    assert kind != "pods" or set(given) == {wanted}


def test_a_null_deadline_of_a_template_leaves_the_gangs() -> None:
    spec, _ = specs("pods", {"spec": {"activeDeadlineSeconds": None}}, {"activeDeadlineSeconds": 60})
    assert spec["activeDeadlineSeconds"] == 60


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("given", "policy"),
    [
        ({"hostNetwork": True}, "ClusterFirstWithHostNet"),
        ({"hostNetwork": True, "dnsPolicy": "Default"}, "Default"),
        ({"hostNetwork": False}, None),
        ({"dnsPolicy": "None", "dnsConfig": {"nameservers": ["192.0.2.1"]}}, "None"),
        ({}, None),
    ],
    ids=str,
)
def test_a_pod_in_the_hosts_network_still_finds_its_siblings(kind: str, given: Any, policy: str | None) -> None:
    assert {spec.get("dnsPolicy") for spec in specs(kind, {"spec": given})} == {policy}


@pytest.mark.parametrize("kind", KINDS)
def test_a_pod_in_the_hosts_network_has_a_name(kind: str) -> None:
    worker = {**support.WORKER, "replicas": 2, "template": {"spec": {"hostNetwork": True}}, "args": ["@"]}
    gang = {"name": "main", "workload": kind, "rendezvous": "none", "hosts": {"@": "worker/1"}, "podSets": [worker]}
    pods = list(support.pods(support.run(support.workflow(gang)).documents))
    assert {pod.spec["containers"][0]["args"][0] for pod in pods} == {pods[1].host}


APART = {
    "labelSelector": {"matchLabels": {"bayplan.dev/whole-node": "true"}},
    "topologyKey": "kubernetes.io/hostname",
}
OTHER = {"labelSelector": {"matchLabels": {"a": "b"}}, "topologyKey": "kubernetes.io/hostname"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize(
    ("affinity", "wanted"),
    [
        (AFFINITY, {**AFFINITY, "podAntiAffinity": {REQUIRED: [APART]}}),
        ({"podAntiAffinity": {REQUIRED: [OTHER]}}, {"podAntiAffinity": {REQUIRED: [OTHER, APART]}}),
        ({"podAntiAffinity": None}, {"podAntiAffinity": {REQUIRED: [APART]}}),
        (
            {"podAffinity": {REQUIRED: [OTHER]}},
            {"podAffinity": {REQUIRED: [OTHER]}, "podAntiAffinity": {REQUIRED: [APART]}},
        ),
    ],
    ids=["nodes", "pods", "null", "beside"],
)
def test_a_whole_node_stays_whole_under_a_template(affinity: Any, wanted: Any) -> None:
    spec, _ = specs("jobset", {"spec": {"affinity": affinity}}, wholeNode=True)
    assert spec["affinity"] == wanted


MOUNTED: dict[str, tuple[Any, str, list[str]]] = {
    "a file": ({"files": {"/a": ""}}, "/a", ["W340"]),
    "shared memory": ({"shm": "1Gi"}, "/dev/shm", ["W340"]),
    "no shared memory": ({}, "/dev/shm", []),
    "beside a file": ({"files": {"/a": ""}}, "/b", []),
}


@pytest.mark.parametrize(("own", "path", "codes"), MOUNTED.values(), ids=MOUNTED)
def test_a_mount_in_the_place_of_ours(own: Any, path: str, codes: list[str]) -> None:
    def found(*containers: Any) -> list[str]:
        spec = {"volumes": [{"name": "v", "emptyDir": {}}], "containers": list(containers)}
        worker = {**support.WORKER, "replicas": 2, "template": {"spec": spec}, **own}
        run = support.run(support.workflow({"name": "main", "podSets": [worker]}))
        return [each.code for each in run.diagnostics if each.severity == "error"]

    mount = {"volumeMounts": [{"name": "v", "mountPath": path}]}
    assert found(mount) == codes
    assert found({"name": "worker"}, {"name": "side", "image": "x", **mount}) == []
