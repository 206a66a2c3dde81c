"""Fields of a podSet that Kubernetes has too: where they can be written, and what the API server says of the pods."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

import judges
import support
from bayplan import formats
from bayplan.backends import BACKENDS
from bayplan.kube.pod_security import breaches
from bayplan.model.formats import Context, Source
from bayplan.model.manifest import File
from bayplan.model.target import KNOWN
from bayplan.model.workflow import EmptyDir, Variable, Volume, pod_sets_of
from bayplan.workflows import native
from bayplan.workflows.lifting import lifted
from judges import builtin

Data = dict[str, Any]
needs_upstream = pytest.mark.skipif(
    not (judges.UPSTREAM / "crds").is_dir(), reason=f"no upstream CRDs at {judges.UPSTREAM}/crds"
)
VOLUMES: dict[str, Data] = {
    "claim": {"claim": "datasets", "subPath": "imagenet", "readOnly": True},
    "ephemeral": {"ephemeral": {"size": "1Ti", "storageClass": "nvme", "accessMode": "ReadWriteOncePod"}},
    "host": {"hostPath": "/mnt/data", "type": "DirectoryOrCreate"},
    "empty": {"emptyDir": {"medium": "Memory", "size": "1Gi"}},
    "config": {"configMap": "settings", "items": {"a.yaml": "b/a.yaml"}, "mode": "0440", "optional": True},
    "secret": {"secret": "keys", "items": {"id": "id"}, "mode": "400"},
    "nfs": {"nfs": {"server": "nfs.example.com", "path": "/data"}},
    "csi": {
        "csi": {"driver": "store.csi.k8s.io", "nodePublishSecretRef": {"name": "a"}, "volumeAttributes": {"a": "b"}},
        "readOnly": True,
    },
    "projected": {
        "projected": [
            {"serviceAccountToken": {"path": "token", "audience": "vault", "expirationSeconds": 3600}},
            {"secret": {"name": "keys"}},
            {"configMap": {"name": "settings", "items": [{"key": "a", "path": "a"}]}},
            {"downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
        ],
        "mode": "0444",
    },
}
ENV = {
    "A": "text",
    "B": 5,
    "TOKEN": {"secret": "hub", "key": "token", "optional": True},
    "SETTING": {"configMap": "settings", "key": "a.b"},
    "NODE": {"field": "spec.nodeName"},
    "CPUS": {"resource": "limits.cpu"},
}
FROM = [{"secret": "wandb", "prefix": "W_", "optional": True}, {"configMap": "nccl"}]
PROBES: dict[str, Data] = {
    "startupProbe": {"tcpSocket": {"port": "http", "host": "127.0.0.1"}, "failureThreshold": 60},
    "readinessProbe": {
        "httpGet": {"path": "/", "port": 8000, "scheme": "HTTPS", "httpHeaders": [{"name": "Accept", "value": "*/*"}]},
        "successThreshold": 2,
    },
    "livenessProbe": {"exec": {"command": ["true"]}, "timeoutSeconds": 5, "terminationGracePeriodSeconds": 9},
}
BESIDE: Data = {
    "name": "beside",
    "image": "busybox:1.37",
    "command": ["sh"],
    "args": ["-c", "true"],
    "workingDir": "/w",
    "env": ENV,
    "envFrom": FROM,
    "resources": {"cpu": "1"},
    "ports": {"http": 8000},
    "volumes": {"/own": {"emptyDir": {}}},
    "mounts": [],
}
FIELDS: dict[str, Data] = {
    **{f"volume-{name}": {"volumes": {"/data": each}} for name, each in VOLUMES.items()},
    "volumes": {"volumes": {f"/{name}": each for name, each in VOLUMES.items()}},
    "env": {"env": ENV},
    "envFrom": {"envFrom": FROM},
    "probes": {**PROBES, "ports": {"http": 8000}},
    "grpc": {"livenessProbe": {"grpc": {"port": 8001, "service": "a"}, "initialDelaySeconds": 0, "periodSeconds": 5}},
    "workingDir": {"workingDir": "/workspace"},
    "serviceAccount": {"serviceAccount": "trainer"},
    "terminationGracePeriodSeconds": {"terminationGracePeriodSeconds": 0},
    "initContainers": {"initContainers": [BESIDE], "volumes": {"/data": VOLUMES["claim"]}},
    "sidecars": {"sidecars": [{**BESIDE, **PROBES}], "files": {"/opt/a": "a"}},
}


KUBERNETES = [name for name in BACKENDS if name != "slurm"]


def flow(fields: Data, *owners: str) -> Data:
    """A workflow with the fields as defaults of these owners; without any, on the podSet."""
    pods: Data = {"name": "worker", "replicas": 2, "image": "example.com/a:1", "command": ["run"]}
    pods |= {"accelerator": {"count": 4}, "resources": {"cpu": "8", "memory": "64Gi"}}
    defaults = {name: {"defaults": deepcopy(fields)} for name in owners}
    group = {"name": "part", **defaults.get("group", {}), "podSets": [pods if owners else {**pods, **fields}]}
    gang = {"name": "main", **defaults.get("gang", {}), "groups": [group]}
    return support.workflow(gang, queue="research", **defaults.get("workflow", {}))


def spec_of(fields: Data, **request: Any) -> Data:
    """The spec of the pods."""
    (job,) = support.run(flow(fields), **request).kinds("JobSet")
    found: Data = job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    return found


def made(name: str, scheduler: str) -> tuple[list[Data], dict[str, str]]:
    """The documents of a form, and the versions that judge them."""
    alone = {"workload": "pods", "rendezvous": "none"} if scheduler == "sunk" else {}
    data = flow(FIELDS[name])
    data["spec"]["gangs"][0] |= alone
    result = support.run(data, scheduler=scheduler, accept=frozenset({"F615"}))
    assert result.compiled is not None, result.diagnostics
    target = result.compiled.planned.target
    return result.documents, {name: target.version(name) for name in KNOWN}


@pytest.mark.parametrize("scheduler", KUBERNETES)
@pytest.mark.parametrize("name", FIELDS)
def test_kubernetes_accepts_the_pods_of_every_form(name: str, scheduler: str) -> None:
    """By the schemas of kubernetes-validate: built-in objects, and the pods of other workloads."""
    documents, versions = made(name, scheduler)
    own = [each for each in documents if builtin.knows(each)]
    head = {"apiVersion": "v1", "kind": "Pod"}
    pods = [{**head, "metadata": {"name": pod.name}, "spec": pod.spec} for pod in support.pods(documents)]
    assert len(pods) == 2
    assert [complaint for each in (*own, *pods) for complaint in judges.judge(each, versions)] == []


@needs_upstream
def test_operators_accept_every_form() -> None:
    """By the CRDs of other projects."""
    for name in FIELDS:
        for scheduler in KUBERNETES:
            assert judges.judge_all(*made(name, scheduler)) == [], (name, scheduler)


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_means_the_same_wherever_it_is_written(name: str) -> None:
    own = support.run(flow(FIELDS[name])).documents
    for owner in ("group", "gang", "workflow"):
        assert support.run(flow(FIELDS[name], owner)).documents == own, owner


@pytest.mark.parametrize("name", FIELDS)
def test_what_is_written_is_read_again(name: str) -> None:
    first = native.read(flow(FIELDS[name], "gang")).value
    assert first is not None
    written = native.write(first.value)
    again = native.read(written).value
    assert again is not None
    assert again.value == first.value
    assert support.run(written).documents == support.run(flow(FIELDS[name])).documents


def test_the_nearest_defaults_count() -> None:
    data = flow({})
    gang, group = data["spec"]["gangs"][0], data["spec"]["gangs"][0]["groups"][0]
    beside = {"name": "logs", "image": "logs:1", "env": {"A": "1", "B": "1"}}
    layers = (
        (data["spec"], {"volumes": {"/data": {"claim": "a"}, "/more": {"claim": "b"}}, "sidecars": [beside]}),
        (gang, {"volumes": {"/data": {"emptyDir": {}}}, "workingDir": "/gang", "envFrom": FROM}),
        (group, {"workingDir": "/group", "sidecars": [{"name": "logs", "env": {"B": "2"}}]}),
    )
    for owner, defaults in layers:
        owner["defaults"] = defaults
    read = native.read(data).value
    assert read is not None
    pods = read.value.gangs[0].groups[0].pod_sets[0]
    assert pods.volumes == {"/data": Volume(empty_dir=EmptyDir()), "/more": Volume(claim="b")}
    assert (pods.working_dir, len(pods.env_from)) == ("/group", 2)
    assert [(each.image, each.env) for each in pods.sidecars] == [("logs:1", {"A": "1", "B": "2"})]
    place = ("workflow", "spec", "gangs", 0, "groups", 0, "podSets", 0, "sidecars", 0)
    assert read.origins[(*place, "image")] == ("workflow", "spec", "defaults", "sidecars", 0, "image")
    below = (*place[:-2], "volumes")
    assert read.origins[below] == ("workflow", "spec", "gangs", 0, "defaults", "volumes")
    assert read.origins[(*below, "/more")] == ("workflow", "spec", "defaults", "volumes", "/more")


def test_one_source_is_one_volume_and_each_empty_folder_its_own() -> None:
    volumes = {
        "/a": {"claim": "data", "subPath": "a"},
        "/b": {"claim": "data", "readOnly": True},
        "/c": {"emptyDir": {}},
        "/c.d": {"emptyDir": {}},
        "/c-d": {"emptyDir": {}},
        "/e": {"secret": "keys"},
        "/f": {"secret": "keys", "optional": True},
    }
    spec = spec_of({"volumes": volumes, "shm": "none"})
    names = [each["name"] for each in spec["volumes"]]
    mounts = {each["mountPath"]: each["name"] for each in spec["containers"][0]["volumeMounts"]}
    assert len(names) == len(set(names)) == 6
    assert mounts["/a"] == mounts["/b"] == "claim-data"
    assert {*mounts.values()} == {*names}
    assert mounts["/c"] == "empty-c"
    assert mounts["/e"] == "secret-keys"


def test_containers_start_in_their_order() -> None:
    """Inputs, init containers, sidecars, uploads; scripts of bayplan are mounted only where they run."""
    topology = {**support.TOPOLOGY, "spec": {**support.TOPOLOGY["spec"], "dataMovers": {"s3": {"image": "rclone:1"}}}}
    data = {"inputs": [{"url": "s3://a/b", "path": "/in"}], "outputs": [{"url": "s3://a/c", "path": "/out"}]}
    fields = {
        "data": data,
        "files": {"/opt/a": "a"},
        "volumes": {"/scratch": {"emptyDir": {}}},
        "initContainers": [{"name": "two", "image": "a"}, {"name": "one", "image": "a", "mounts": ["/opt/a"]}],
        "sidecars": [{"name": "logs", "image": "a", "mounts": []}],
    }
    before = spec_of(fields, topology=topology)["initContainers"]
    assert [each["name"] for each in before] == ["fetch-s3", "two", "one", "logs", "upload-s3"]
    assert [each.get("restartPolicy") for each in before] == [None, None, None, "Always", "Always"]
    paths = [{mount["mountPath"] for mount in each.get("volumeMounts", ())} for each in before[1:4]]
    assert paths == [{"/scratch", "/opt/a"}, {"/opt/a"}, set()]


def test_the_template_takes_precedence() -> None:
    """It adds to containers and volumes of the fields by their names."""
    own = {"securityContext": {"runAsUser": 1}}
    template = {"spec": {"initContainers": [{"name": "logs", **own}], "securityContext": {"fsGroup": 1}}}
    spec = spec_of({"sidecars": [{"name": "logs", "image": "a"}], "template": template})
    assert spec["initContainers"] == [{"name": "logs", "image": "a", "restartPolicy": "Always", **own}]


QUEUES = ("other", "research")


@pytest.mark.parametrize("scheduler", ["kai", "koordinator", "volcano", "kueue", "slurm-bridge", "sunk"])
def test_each_gang_has_its_queue(scheduler: str) -> None:
    pods = {**support.WORKER, "replicas": 1, "resources": {"cpu": "8", "memory": "1Gi"}}
    gangs = [{"name": "a", "queue": "other", "podSets": [pods]}, {"name": "b", "podSets": [pods]}]
    made = support.run(support.workflow(*gangs, queue="research"), scheduler=scheduler)
    named = {word: {each["metadata"]["name"] for each in made.documents if word in json.dumps(each)} for word in QUEUES}
    assert named["other"], made.diagnostics
    assert {name[:7] for name in named["other"]} == {"train-a"}
    assert {name[:7] for name in named["research"]} == {"train-b"}


def test_probes_with_a_host_are_not_baseline() -> None:
    """Kubernetes 1.34, pod-security-admission, check_hostProbesAndhostLifecycle.go."""
    probe = {"tcpSocket": {"port": 80, "host": "127.0.0.1"}}
    hook = {"lifecycle": {"preStop": {"httpGet": {"port": 80, "host": "a"}}}}
    containers = [{"name": "a", "livenessProbe": probe, **hook}, {"name": "b", "livenessProbe": {"tcpSocket": {}}}]
    places = [each.path for each in breaches({"containers": containers}, "baseline")]
    assert places == [
        ("containers", 0, "livenessProbe", "tcpSocket", "host"),
        ("containers", 0, "lifecycle", "preStop", "httpGet", "host"),
    ]


LIFTED: Data = {
    "spec": {
        "serviceAccountName": "trainer",
        "terminationGracePeriodSeconds": 60,
        "hostIPC": True,
        "volumes": [
            {"name": "v", "persistentVolumeClaim": {"claimName": "data"}},
            {"name": "w", "emptyDir": {}},
            {"name": "shm", "emptyDir": {"medium": "Memory"}},
            {"name": "x", "iscsi": {"targetPortal": "a", "iqn": "b", "lun": 0}},
        ],
        "containers": [
            {
                "workingDir": "/w",
                "tty": True,
                "env": [
                    {"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
                    {"name": "B", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}},
                ],
                "volumeMounts": [
                    {"name": "v", "mountPath": "/data", "readOnly": True},
                    {"name": "w", "mountPath": "/a", "subPath": "a"},
                    {"name": "w", "mountPath": "/b", "subPath": "b"},
                    {"name": "shm", "mountPath": "/dev/shm"},
                    {"name": "x", "mountPath": "/x"},
                ],
            }
        ],
    }
}


def test_an_import_keeps_in_the_template_only_what_has_no_field() -> None:
    made, routes = lifted({"name": "worker", "template": LIFTED})
    assert made == {
        "name": "worker",
        "serviceAccount": "trainer",
        "terminationGracePeriodSeconds": 60,
        "workingDir": "/w",
        "env": {"A": {"secret": "s", "key": "k"}},
        "volumes": {"/data": {"claim": "data", "readOnly": True}, "/a": {"emptyDir": {}}, "/b": {"emptyDir": {}}},
        "template": {
            "spec": {
                "hostIPC": True,
                "volumes": LIFTED["spec"]["volumes"][2:],
                "containers": [
                    {
                        "tty": True,
                        "env": LIFTED["spec"]["containers"][0]["env"][1:],
                        "volumeMounts": LIFTED["spec"]["containers"][0]["volumeMounts"][3:],
                    }
                ],
            }
        },
    }
    assert routes["env", "A"] == ("template", "spec", "containers", 0, "env", 0)


def test_a_script_carries_what_slurm_has() -> None:
    """Mounts of the node, the folder of the command and the node's name, and an import of the script has them again."""
    fields = {
        "workingDir": "/workspace",
        "volumes": {"/data": {"hostPath": "/mnt/data", "readOnly": True}, "/a": {"hostPath": "/mnt", "subPath": "a"}},
        "env": {"NODE": {"field": "spec.nodeName"}},
    }
    made = support.run(flow(fields), scheduler="slurm")
    assert made.compiled is not None, made.diagnostics
    (script,) = [each.text for each in made.compiled.documents if isinstance(each, File)]
    assert "--container-workdir=/workspace" in script
    assert '--container-mounts="/mnt/a:/a,/mnt/data:/data:ro"' in script
    found = formats.documents("a.sbatch", script.encode(), "workflow", Source("sbatch", {}))
    assert found.value is not None
    again = formats.workflow(found.value[0], "sbatch", Context(None)).value
    assert again is not None
    pods = next(pod_sets_of(again.gangs[0]))
    assert (pods.working_dir, pods.env["NODE"]) == ("/workspace", Variable(field="spec.nodeName"))
    assert pods.volumes["/data"] == Volume(host_path="/mnt/data", read_only=True)
