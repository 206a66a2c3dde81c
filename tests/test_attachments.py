"""Pods on fabrics: what each kind puts on them, on every replica and with every scheduler; where rank 0 is; workloads
that are there already."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import pytest

import support
import workloads
from bayplan.augment import augment
from bayplan.backends import BACKENDS
from bayplan.fabrics.kinds import KINDS as FABRIC_KINDS
from bayplan.model.augment import Augmented, AugmentRequest
from bayplan.model.manifest import Object
from bayplan.text.document import Document

COVERS = {"W544"}
NETWORKS = "k8s.v1.cni.cncf.io/networks"
LOCKED = {"capabilities": {"add": ["IPC_LOCK"]}}
NCCL = {"NCCL_SOCKET_IFNAME": "=eth0", "GLOO_SOCKET_IFNAME": "eth0"}


def rail(number: int, **more: Any) -> dict[str, Any]:
    """Rail `number` of networks and devices of its own."""
    own = {"network": f"net/rail-{number}", "resource": f"nvidia.com/rail_{number}", "hca": f"mlx5_{number}"}
    return {**own, "subnet": f"10.0.{number}.0/24", **more}


HOSTDEVICE = {"kind": "hostdevice", "linkType": "ethernet", "ipam": {"type": "nv-ipam"}, "rails": [rail(0), rail(1)]}


def topology(fabric: Mapping[str, Any] = HOSTDEVICE, *, nvlink: bool = False, **accelerator: Any) -> dict[str, Any]:
    """32 nodes of 8 GPUs under two leaves."""
    made = deepcopy(support.TOPOLOGY)
    pool = made["spec"]["pools"][0]
    pool["name"] = "h200"
    pool["node"] = {"accelerator": "h200", "count": 8, "cpu": "140", "memory": "900Gi"}
    pool["levels"] = [{"name": "leaf", "label": "example.com/leaf", "nvlink": nvlink}]
    pool["domains"] = [{"path": f"l{leaf}", "nodes": f"n{leaf}-[01-16]"} for leaf in range(2)]
    made["spec"]["accelerators"] = {
        "h200": {"vendor": "nvidia", "resources": {"count": "nvidia.com/gpu"}, **accelerator}
    }
    made["spec"]["fabrics"] = {"rails": fabric}
    return made


def pod_set(**more: Any) -> dict[str, Any]:
    """Four pods with all GPUs of their nodes."""
    own = {"name": "worker", "replicas": 4, "accelerator": {"count": 8}, "resources": {"cpu": "64", "memory": "1Gi"}}
    return {**own, "image": "registry.example.com/train:1", "command": ["torchrun"], "fabric": "rails", **more}


def flow(*sets: Mapping[str, Any]) -> dict[str, Any]:
    """A gang of some podSets."""
    return support.workflow({"name": "train", "podSets": list(sets) or [pod_set()]})


def template(result: support.Result, job: int = 0) -> dict[str, Any]:
    """The pod template of a replicatedJob."""
    assert result.compiled, result.diagnostics
    found: dict[str, Any] = result.kinds("JobSet")[0]["spec"]["replicatedJobs"][job]["template"]["spec"]["template"]
    return found


def main(made: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = made["spec"]["containers"][0]
    return found


def env(made: Mapping[str, Any]) -> dict[str, str]:
    """Variables with plain values."""
    return {each["name"]: each["value"] for each in main(made)["env"] if "value" in each}


SHARED = {"kind": "macvlan", "linkType": "ethernet", "rails": [rail(0, resource="rdma/a"), rail(1, resource="rdma/a")]}
PAIR = f"={'mlx5_0'},{'mlx5_1'}"

KINDS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, str], Mapping[str, str], Any, Mapping[str, str]]] = {
    "macvlan": (SHARED, {NETWORKS: "net/rail-0,net/rail-1"}, {"rdma/a": "1"}, LOCKED, {**NCCL, "NCCL_IB_HCA": PAIR}),
    "ipoib": (
        {**SHARED, "kind": "ipoib", "linkType": "infiniband"},
        {NETWORKS: "net/rail-0,net/rail-1"},
        {"rdma/a": "1"},
        LOCKED,
        {**NCCL, "NCCL_IB_HCA": PAIR},
    ),
    "hostdevice": (
        HOSTDEVICE,
        {NETWORKS: "net/rail-0,net/rail-1"},
        {"nvidia.com/rail_0": "1", "nvidia.com/rail_1": "1"},
        LOCKED,
        {**NCCL, "NCCL_IB_HCA": PAIR},
    ),
    "sriov": (
        {
            "kind": "sriov",
            "linkType": "ethernet",
            "rails": [rail(n, resource="nvidia.com/vf", interface=f"rdma{n}") for n in (0, 1)],
        },
        {NETWORKS: "net/rail-0@rdma0,net/rail-1@rdma1"},
        {"nvidia.com/vf": "2"},
        LOCKED,
        {**NCCL, "NCCL_IB_HCA": PAIR},
    ),
    "spectrumx": (
        {
            "kind": "spectrumx",
            "linkType": "ethernet",
            "rails": [{"network": "net/rail1", "resource": "nvidia.com/rail1"}],
        },
        {NETWORKS: "net/rail1"},
        {"nvidia.com/rail1": "1"},
        LOCKED,
        {**NCCL, "NCCL_IB_HCA": "=rdma_rail1"},
    ),
    "dranet": (
        {"kind": "dranet", "rails": [{"hca": "mlx5_0"}]},
        {},
        {},
        LOCKED,
        {**NCCL, "NCCL_IB_HCA": "=mlx5_0"},
    ),
    "efa": (
        {"kind": "efa", "env": {"FI_PROVIDER": "efa"}, "rails": [{"resource": "vpc.amazonaws.com/efa"}] * 4},
        {},
        {"vpc.amazonaws.com/efa": "4"},
        None,
        {**NCCL, "FI_PROVIDER": "efa"},
    ),
    "gke": (
        {
            "kind": "gke",
            "rails": [{"network": "rdma-0", "interface": "eth2"}, {"network": "rdma-1", "interface": "eth3"}],
        },
        {
            "networking.gke.io/default-interface": "eth0",
            "networking.gke.io/interfaces": '[{"interfaceName":"eth0","network":"default"},'
            '{"interfaceName":"eth2","network":"rdma-0"},{"interfaceName":"eth3","network":"rdma-1"}]',
        },
        {},
        None,
        NCCL,
    ),
    "hostnetwork": (
        {"kind": "hostnetwork", "rails": [{"hca": "mlx5_0", "device": "rdma0"}], "privileged": True},
        {},
        {},
        {"privileged": True},
        {"NCCL_IB_HCA": "=mlx5_0"},
    ),
    "none": (
        {"kind": "none", "linkType": "infiniband", "rails": [{"resource": "rdma.example.com/ib", "hca": "mlx5_0"}] * 1},
        {},
        {"rdma.example.com/ib": "1"},
        LOCKED,
        {**NCCL, "NCCL_IB_HCA": "=mlx5_0"},
    ),
}
"""Kind -> a fabric; annotations, resources, securityContext and variables that its pods get."""


def test_every_kind_is_told() -> None:
    assert sorted(KINDS) == sorted(FABRIC_KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_puts_its_own_on_pods(kind: str) -> None:
    fabric, annotations, resources, security, variables = KINDS[kind]
    made = template(support.run(flow(), topology(fabric)))
    own = main(made)
    foreign = ("pod-group-name", "kai.scheduler/skip-podgrouper")
    assert {k: v for k, v in made["metadata"]["annotations"].items() if k not in foreign} == annotations
    assert own["resources"]["requests"] == own["resources"]["limits"]
    given = {"cpu": "64", "memory": "1Gi", "nvidia.com/gpu": "8"}
    assert own["resources"]["requests"] == {**given, **resources}
    assert own.get("securityContext") == security
    mine = {k: v for k, v in env(made).items() if k.startswith(("NCCL", "GLOO", "FI_"))}
    assert mine == variables
    assert {"name": "PET_LOCAL_ADDR", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}} in own["env"]
    assert made["spec"]["volumes"] == [{"name": "shm", "emptyDir": {"medium": "Memory"}}]
    assert bool(made["spec"].get("hostNetwork")) == (kind == "hostnetwork")
    assert made["spec"].get("dnsPolicy", "") == ("ClusterFirstWithHostNet" if kind == "hostnetwork" else "")


def test_nothing_is_privileged_unless_the_file_says_so() -> None:
    for kind, (fabric, *_) in KINDS.items():
        made = template(support.run(flow(), topology({k: v for k, v in fabric.items() if k != "privileged"})))
        assert "privileged" not in main(made).get("securityContext", {}), kind


@pytest.mark.parametrize("backend", [name for name in BACKENDS if name not in ("slurm", "sunk", "slurm-bridge")])
@pytest.mark.parametrize("kind", ["hostdevice", "macvlan"])
def test_every_replica_is_attached(backend: str, kind: str) -> None:
    """No template of a gang is left out, and nothing around the pods has the annotation."""
    sets = (pod_set(name="leader", replicas=1), pod_set())
    made = support.run(
        flow(*sets),
        topology(KINDS[kind][0]),
        scheduler=backend,
        accept=frozenset({"F615"}),
        target={"kubernetes": "1.37"},
    )
    assert made.compiled, made.diagnostics
    pods = list(support.pods(made.documents)) or [
        support.Pod(task["name"], "", {}, task["template"]["metadata"]["annotations"], {}, task["template"]["spec"])
        for job in made.kinds("Job")
        for task in job["spec"].get("tasks", ())
    ]
    assert len(pods) in (5, 2)
    assert all(pod.annotations[NETWORKS] == "net/rail-0,net/rail-1" for pod in pods)
    assert all(pod.spec["containers"][0]["securityContext"] == LOCKED for pod in pods)
    assert not any(
        NETWORKS in each["metadata"].get("annotations", {}) for each in made.documents if each["kind"] != "Pod"
    )


def test_what_the_user_sets_stays() -> None:
    mounted = {
        "spec": {
            "containers": [{"name": "worker", "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}]}],
            "volumes": [{"name": "shm", "hostPath": {"path": "/dev/shm"}}],
        }
    }
    told = {"GLOO_SOCKET_IFNAME": "net1", "PET_LOCAL_ADDR": "here"}
    made = template(support.run(flow(pod_set(env=told, template=mounted)), topology()))
    assert env(made)["GLOO_SOCKET_IFNAME"] == "net1"
    assert env(made)["PET_LOCAL_ADDR"] == "here"
    assert made["spec"]["volumes"] == mounted["spec"]["volumes"]


def test_collective_libraries_of_others_are_told_by_the_topology_alone() -> None:
    fabric = {**HOSTDEVICE, "env": {"MCCL_IB_HCA": "mlx5_0"}}
    made = template(support.run(flow(), topology(fabric, vendor="metax")))
    assert not any(name.startswith("NCCL") for name in env(made))
    assert env(made)["MCCL_IB_HCA"] == "mlx5_0"
    assert env(made)["GLOO_SOCKET_IFNAME"] == "eth0"


def test_bootstrap_over_the_fabric_leaves_the_rendezvous_where_it_is() -> None:
    made = template(support.run(flow(pod_set(fabric={"name": "rails", "bootstrap": "fabric"})), topology()))
    assert env(made)["NCCL_SOCKET_IFNAME"] == "=net1"
    assert env(made)["GLOO_SOCKET_IFNAME"] == "net1"
    assert env(made)["MASTER_ADDR"] == "train-worker-0-0.train.$(POD_NAMESPACE).svc.cluster.local"


def test_only_those_who_meet_must_be_attached_alike() -> None:
    bare = pod_set(fabric="none")
    groups = [{"name": "a", "podSets": [pod_set()]}, {"name": "b", "podSets": [bare]}]
    for rendezvous, codes in {"gang": ["W521"], "group": [], "none": []}.items():
        made = support.run(support.workflow({"name": "train", "rendezvous": rendezvous, "groups": groups}), topology())
        assert [each for each in made.codes if each == "W521"] == codes


def test_a_fixed_address_is_everybody_s_master() -> None:
    leader = pod_set(name="leader", replicas=1, fabric={"name": "rails", "address": "10.0.0.10/24"})
    made = support.run(flow(leader, pod_set()), topology())
    first, rest = template(made), template(made, 1)
    assert json.loads(first["metadata"]["annotations"][NETWORKS]) == [
        {"name": "rail-0", "namespace": "net", "ips": ["10.0.0.10/24"]},
        {"name": "rail-1", "namespace": "net"},
    ]
    assert rest["metadata"]["annotations"][NETWORKS] == "net/rail-0,net/rail-1"
    assert env(first)["MASTER_ADDR"] == env(rest)["MASTER_ADDR"] == env(rest)["PET_MASTER_ADDR"] == "10.0.0.10"
    assert env(first)["PET_LOCAL_ADDR"] == "10.0.0.10"


@pytest.mark.parametrize(("master", "found"), [("10.0.0.10", []), ("10.0.0.11", ["W533"])])
def test_a_master_may_have_the_fixed_address(master: str, found: list[str]) -> None:
    leader = pod_set(name="leader", replicas=1, fabric={"name": "rails", "address": "10.0.0.10/24"})
    made = support.run(flow({**leader, "env": {"MASTER_ADDR": master}}, pod_set()), topology())
    assert [code for code in made.codes if code == "W533"] == found


CLAIMED = {
    "kind": "dranet",
    "mtu": 9000,
    "rails": [{"hca": f"mlx5_{n}", "gpu": 2 * n, "numa": n // 2} for n in range(4)],
}


def devices(made: support.Result) -> dict[str, Any]:
    (claim,) = made.kinds("ResourceClaimTemplate")
    found: dict[str, Any] = claim["spec"]["spec"]["devices"]
    return found


def test_claimed_cards_are_neighbours_of_claimed_gpus_pair_by_pair() -> None:
    found = devices(support.run(flow(), topology(CLAIMED, allocator="dra")))
    assert [each["name"] for each in found["requests"]] == [
        *(f"gpu-{n}" for n in range(8)),
        *(f"nic-{n}" for n in range(4)),
    ]
    assert all(each["exactly"]["count"] == 1 for each in found["requests"])
    assert [each["requests"] for each in found["constraints"]] == [[f"gpu-{n}", f"nic-{n}"] for n in range(4)]
    assert found["config"][0]["opaque"] == {"driver": "dra.net", "parameters": {"interface": {"mtu": 9000}}}


def test_settings_of_cards_are_what_the_driver_reads() -> None:
    rails = [{"hca": "mlx5_0", "interface": "rail0"}, {"hca": "mlx5_1"}]
    found = devices(support.run(flow(), topology({"kind": "dranet", "mtu": 9000, "rails": rails})))["config"]
    settings = [each["opaque"]["parameters"] for each in found]
    assert settings == [{"interface": {"name": "rail0", "mtu": 9000}}, {"interface": {"mtu": 9000}}]


def test_where_roots_differ_cards_are_chosen_by_numa_node() -> None:
    found = devices(support.run(flow(), topology(CLAIMED, nvlink=True, allocator="dra")))
    assert "constraints" not in found
    assert "numaNode == 1" in found["requests"][-1]["exactly"]["selectors"][1]["cel"]["expression"]


def test_cards_beside_counted_gpus_have_a_claim_of_their_own() -> None:
    made = support.run(flow(), topology(CLAIMED))
    assert "constraints" not in devices(made)
    assert template(made)["spec"]["resourceClaims"] == [
        {"name": "nic", "resourceClaimTemplateName": "train-worker-nic"}
    ]
    assert main(template(made))["resources"]["claims"] == [{"name": "nic"}]


FITS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any], bool]] = {
    "cards of their own are one pod's": (HOSTDEVICE, {"accelerator": {"count": 4}}, False),
    "half of the rails each": (
        {"kind": "none", "linkType": "infiniband", "attach": "shared", "rails": [{"resource": "rdma/ib"}] * 2},
        {"accelerator": {"count": 4}},
        True,
    ),
    "shared cards are many pods'": (SHARED, {"accelerator": {"count": 4}}, True),
    "as many as the cards have shares": ({**SHARED, "shares": 1}, {"accelerator": {"count": 4}}, False),
    "claimed cards with names": (CLAIMED, {"accelerator": {"count": 4}}, False),
    "claimed cards without names": (
        {"kind": "dranet", "rails": [{}, {}]},
        {"accelerator": {"count": 4}, "fabric": {"name": "rails", "rails": [0]}},
        True,
    ),
    "a port of the node": (
        {"kind": "hostnetwork", "rails": []},
        {"accelerator": {"count": 4}, "ports": {"metrics": 9400}},
        False,
    ),
    "the port of rank 0": (
        {"kind": "hostnetwork", "rails": []},
        {"accelerator": {"count": 4}, "ports": {"master": 29500}},
        False,
    ),
    "no port of the node": ({"kind": "hostnetwork", "rails": []}, {"accelerator": {"count": 4}}, True),
}
"""A fabric, what a pod of half a node asks, and whether two of them fit a node."""


@pytest.mark.parametrize("name", FITS)
def test_the_proof_counts_cards(name: str) -> None:
    fabric, asked, two = FITS[name]
    gang = {"name": "train", "placement": {"required": "leaf"}, "podSets": [pod_set(replicas=32, **asked)]}
    made = support.run(support.workflow(gang), topology(fabric))
    assert ("P551" not in made.codes) == two, made.diagnostics
    fewer = {**gang, "podSets": [pod_set(replicas=16, **asked)]}
    assert "P551" not in support.run(support.workflow(fewer), topology(fabric)).codes


def test_quotas_of_kueue_cover_the_cards() -> None:
    made = support.run(flow(), topology(), scheduler="kueue", cluster_objects=True)
    (queue,) = made.kinds("ClusterQueue")
    (group,) = queue["spec"]["resourceGroups"]
    assert {"nvidia.com/rail_0", "nvidia.com/rail_1"} <= set(group["coveredResources"])
    quotas = {each["name"]: each["nominalQuota"] for each in group["flavors"][0]["resources"]}
    assert quotas["nvidia.com/rail_0"] == "32"


def test_tasks_of_slurm_are_told_which_cards() -> None:
    made = support.run(flow(), topology(), scheduler="slurm")
    (script,) = (each["text"] for each in made.documents if "text" in each)
    assert "export NCCL_IB_HCA==mlx5_0,mlx5_1" in script
    assert "SOCKET_IFNAME" not in script
    assert "rail_0" not in script


def job(**more: Any) -> dict[str, Any]:
    """A Volcano Job of one task a replica, as a TorchX dry run writes it."""
    container = {
        "name": "train-0",
        "image": "registry.example.com/train:1",
        "command": ["bash", "-c", "torchrun --nnodes 2 train.py"],
        "env": [{"name": "NCCL_SOCKET_IFNAME", "value": "=eth0"}],
        "resources": {"limits": {"cpu": "8", "nvidia.com/gpu": 8}, "requests": {"cpu": "7", "nvidia.com/gpu": 8}},
        "securityContext": {},
        "volumeMounts": [{"name": "dshm", "mountPath": "/dev/shm"}],
        **more,
    }
    spec = {"containers": [container], "volumes": [{"name": "dshm", "emptyDir": {"medium": "Memory"}}]}
    tasks = [{"name": f"train-{n}", "replicas": 1, "template": {"spec": spec}} for n in range(2)]
    annotations = {"bayplan.dev/fabric": "rails"}
    head = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}
    return {
        **head,
        "metadata": {"name": "app", "annotations": annotations},
        "spec": {"queue": "research", "tasks": tasks},
    }


def put(data: Mapping[str, Any], fabric: Mapping[str, Any] = HOSTDEVICE) -> tuple[Any, list[str], Any]:
    """The Job as it comes out, the codes, and everything that is new."""
    request = AugmentRequest(
        (Object(("job",), data),), Document("topology.yaml", "", 0, topology(fabric)), scheduler="volcano"
    )
    made, _ = augment(request)
    codes = [each.code for each in made.diagnostics]
    if made.value is None:
        return None, codes, ()
    return next((each.data for each in made.value.changes), data), codes, made.value.added


def test_a_job_that_is_there_gets_onto_the_fabric_and_keeps_its_variables() -> None:
    made, codes, _ = put(job())
    assert "W544" in codes
    for task in made["spec"]["tasks"]:
        own = main(task["template"])
        assert task["template"]["metadata"]["annotations"] == {NETWORKS: "net/rail-0,net/rail-1"}
        assert own["securityContext"] == LOCKED
        for key in ("limits", "requests"):
            assert own["resources"][key]["nvidia.com/rail_0"] == "1"
        assert own["env"] == job()["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["env"]
        assert task["template"]["spec"]["volumes"] == [{"name": "dshm", "emptyDir": {"medium": "Memory"}}]
    assert put(made)[0] == made


def test_a_namespace_that_refuses_ipc_lock_refuses_the_fabric_of_a_job() -> None:
    strict = topology()
    strict["spec"]["namespaces"] = {"ml": {"podSecurity": "baseline"}}
    request = AugmentRequest(
        (Object(("job",), job()),), Document("topology.yaml", "", 0, strict), scheduler="volcano", namespace="ml"
    )
    made, _ = augment(request)
    assert "W630" in {each.code for each in made.diagnostics}
    assert made.value is None


def test_a_job_that_asks_for_another_number_of_cards_is_refused() -> None:
    wrong = {"resources": {"limits": {"nvidia.com/gpu": 8, "nvidia.com/rail_0": 2}}}
    assert put(job(**wrong))[:2][1].count("A950") or "P552" in put(job(**wrong))[1]


@pytest.mark.parametrize("fabric", ["hostdevice", "dranet", "gke", "hostnetwork"])
@pytest.mark.parametrize("kind", [each for each in workloads.KINDS if each != "volcano-job"])
def test_every_kind_of_workload_gets_onto_a_fabric_once(kind: str, fabric: str) -> None:
    objects = workloads.asking(workloads.KINDS[kind](1 if kind == "pod" else 4), fabric="rails")
    places = [Object((f"o{number}",), each) for number, each in enumerate(objects)]
    made = augmented(places, KINDS[fabric][0])
    changed = {each.route: each.data for each in made.changes}
    kept = [one._replace(data=changed.get(one.route, one.data)) for one in places]
    again = augmented(
        [*kept, *(Object((f"new{n}",), each.data) for n, each in enumerate(made.added))], KINDS[fabric][0]
    )
    assert again.changes == again.added == ()
    marks = {"hostdevice": "net/rail-0,", "dranet": '"nic"', "gke": "gke.io/interfaces", "hostnetwork": '"hostNetwork"'}
    assert marks[fabric] in json.dumps([each.data for each in made.changes])


def augmented(objects: list[Object], fabric: Mapping[str, Any]) -> Augmented:
    request = AugmentRequest(tuple(objects), Document("topology.yaml", "", 0, topology(fabric)), scheduler="none")
    made, _ = augment(request)
    assert made.value is not None, made.diagnostics
    return made.value


def test_a_job_that_is_there_gets_a_claim_template() -> None:
    made, _, added = put(job(), CLAIMED)
    claims = [each.data for each in added if each.data["kind"] == "ResourceClaimTemplate"]
    for task in made["spec"]["tasks"]:
        (asked,) = task["template"]["spec"]["resourceClaims"]
        assert asked["resourceClaimTemplateName"] in {each["metadata"]["name"] for each in claims}
        assert main(task["template"])["resources"]["claims"] == [{"name": "nic"}]
    assert [each["spec"]["spec"]["devices"]["requests"][0]["name"] for each in claims] == ["nic-0"] * 2


def said(
    data: Mapping[str, Any], fabric: Mapping[str, Any], *, scheduler: str = "none", **accelerator: Any
) -> tuple[Any, list[Any]]:
    """The object as it comes out, and what is said."""
    versions = {"kubernetes": "1.34", "kai": "0.17", "jobset": "0.12", "hami": "2.10", "metax": "0.8"}
    made = topology(fabric, **accelerator)
    made["spec"]["versions"] = {**made["spec"]["versions"], **versions}
    request = AugmentRequest((Object(("job",), data),), Document("topology.yaml", "", 0, made), scheduler=scheduler)
    found, _ = augment(request)
    wrong = [each for each in found.diagnostics if each.severity != "info" and each.code[0] != "F"]
    return found.value.changes[0].data if found.value and found.value.changes else None, wrong


def plain(spec: Mapping[str, Any] | None = None, cards: str = "nvidia.com/gpu", **container: Any) -> dict[str, Any]:
    """A Job of Kubernetes on the fabric."""
    own = {"name": "w", "image": "x", "resources": {"limits": {cards: 8}}, **container}
    pods = {"restartPolicy": "Never", "containers": [own], **(spec or {})}
    inner = {"parallelism": 2, "completions": 2, "completionMode": "Indexed", "template": {"spec": pods}}
    head = {"name": "a", "namespace": "ml", "annotations": {"bayplan.dev/fabric": "rails"}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": head, "spec": inner}


HOST = {
    "kind": "hostnetwork",
    "privileged": True,
    "env": {"GLOO_SOCKET_IFNAME": "eth0"},
    "rails": [{"hca": "mlx5_0", "device": "rdma0"}],
}
METAX = {"vendor": "metax", "allocator": "hami", "resources": {"count": "metax-tech.com/gpu"}}


@pytest.mark.parametrize(
    ("data", "fabric", "accelerator", "codes"),
    [
        pytest.param(plain({"hostNetwork": True}), HOSTDEVICE, {}, ["W536"], id="host-network"),
        pytest.param(plain({"securityContext": {"runAsUser": 1000}}), HOSTDEVICE, {}, ["W631"], id="not-root"),
        pytest.param(plain({"dnsPolicy": "ClusterFirst"}), HOST, {}, ["W536"], id="dns"),
        pytest.param(
            plain(cards="metax-tech.com/gpu", securityContext={"privileged": True}),
            {**SHARED, "env": {}},
            METAX,
            ["W559"],
            id="privileged",
        ),
        pytest.param(plain(cards="metax-tech.com/gpu"), HOST, METAX, ["W559"], id="privileged-by-the-fabric"),
        pytest.param(plain(cards="metax-tech.com/gpu"), {**SHARED, "env": {}}, METAX, [], id="metax"),
        pytest.param(plain(volumeMounts={"a": "b"}), HOSTDEVICE, {}, ["A950"], id="mounts-that-are-none"),
        pytest.param(plain(securityContext="x"), HOSTDEVICE, {}, ["A950"], id="context-that-is-none"),
    ],
)
def test_pods_of_others_are_judged_as_ours_are(data: Any, fabric: Any, accelerator: Any, codes: list[str]) -> None:
    _, wrong = said(data, fabric, **accelerator)
    assert [each.code for each in wrong] == codes


def test_pods_of_others_in_their_node_s_network_find_names() -> None:
    made, wrong = said(plain(), HOST)
    spec = made["spec"]["template"]["spec"]
    assert (spec["hostNetwork"], spec["dnsPolicy"], wrong) == (True, "ClusterFirstWithHostNet", [])
    kept, _ = said(plain({"dnsPolicy": "None", "hostNetwork": True}), HOST)
    assert kept["spec"]["template"]["spec"]["dnsPolicy"] == "None"


def test_networks_that_are_there_in_another_form_are_the_same() -> None:
    entries = [{"name": f"rail-{number}", "namespace": "net"} for number in (0, 1)]
    data = plain()
    data["spec"]["template"]["metadata"] = {"annotations": {NETWORKS: json.dumps(entries)}}
    made, wrong = said(data, HOSTDEVICE)
    assert wrong == []
    assert made["spec"]["template"]["metadata"]["annotations"][NETWORKS] == json.dumps(entries)
    data["spec"]["template"]["metadata"] = {"annotations": {NETWORKS: json.dumps(entries[::-1])}}
    assert [each.code for each in said(data, HOSTDEVICE)[1]] == ["A950"]


def test_contradictions_are_shown_as_data() -> None:
    (wrong,) = said(plain(securityContext="x"), HOSTDEVICE)[1]
    assert 'needs {"capabilities": ["IPC_LOCK"]}' in wrong.message


def test_variables_to_set_name_the_address_of_the_pod() -> None:
    request = AugmentRequest(
        (Object(("job",), plain()),), Document("topology.yaml", "", 0, topology()), scheduler="none"
    )
    made, _ = augment(request)
    (told,) = [each for each in made.diagnostics if each.code == "W544"]
    assert "PET_LOCAL_ADDR from the field status.podIP" in told.hint


def on_pool(template: Mapping[str, Any], fabric: Mapping[str, Any] = HOSTDEVICE) -> dict[str, Any]:
    """The topology whose pool has a template."""
    made = topology(fabric)
    made["spec"]["pools"][0]["template"] = template
    return made


def container(**more: Any) -> dict[str, Any]:
    return {"spec": {"containers": [more]}}


ATTACHED = {"metadata": {"annotations": {NETWORKS: "net/rail-0"}}}
BARE = {key: value for key, value in pod_set().items() if key != "fabric"}
TOLD: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any], list[str]]] = {
    "a pool in the node's network": (pod_set(), on_pool({"spec": {"hostNetwork": True}}), ["W536"]),
    "a pool's Gloo": (
        pod_set(),
        on_pool(container(env=[{"name": "GLOO_SOCKET_IFNAME", "value": "=x"}])),
        ["W532"],
    ),
    "a pool's networks": (BARE, on_pool({"metadata": {"annotations": {NETWORKS: "net/rail-9"}}}), ["W522"]),
    "a pool's devices": (
        pod_set(),
        on_pool(container(resources={"requests": {"example.com/x": 2}, "limits": {"example.com/x": 1}})),
        ["W598"],
    ),
    "the fabric's Gloo": (pod_set(), topology({**HOSTDEVICE, "env": {"GLOO_SOCKET_IFNAME": "=eth0"}}), ["W532"]),
    "attached by hand": ({**BARE, "template": ATTACHED}, topology(), ["W522"]),
    "attached by hand with its device": (
        {**BARE, "template": {**ATTACHED, **container(resources={"limits": {"nvidia.com/rail_0": 1}})}},
        topology(),
        [],
    ),
    "attached by hand with an injector": (
        {**BARE, "template": ATTACHED},
        topology({**HOSTDEVICE, "injector": True}),
        [],
    ),
    "names in the node's network": (
        pod_set(template={"spec": {"dnsPolicy": "ClusterFirst"}}),
        topology(HOST),
        ["W536"],
    ),
    "a device of the fabric without a limit": (
        pod_set(template=container(resources={"requests": {"nvidia.com/rail_0": 1}})),
        topology(),
        ["W522"],
    ),
    "some of the interfaces": (pod_set(env={"NCCL_SOCKET_IFNAME": "net"}), topology(), ["W532"]),
    "no interface": (pod_set(env={"NCCL_SOCKET_IFNAME": "bond0"}), topology(), ["W532"]),
    "no device": (pod_set(env={"NCCL_IB_HCA": ""}), topology(), ["W532"]),
    "a device plugin for claimed cards": (
        pod_set(),
        topology({"kind": "dranet", "rails": [{"hca": f"mlx5_{n}", "resource": "example.com/x"} for n in (0, 1)]}),
        ["T603"],
    ),
}
"""A podSet, a topology, and what is said."""


@pytest.mark.parametrize("name", TOLD)
def test_whoever_says_it_it_is_checked(name: str) -> None:
    pods, cluster, codes = TOLD[name]
    found = support.run(flow(pods), cluster)
    assert [each.code for each in found.diagnostics if each.severity != "info"] == codes


def test_hints_lead_to_what_the_pod_has() -> None:
    for variable, value, meant in (("NCCL_SOCKET_IFNAME", "net", "=net1,net2"), ("NCCL_IB_HCA", "mlx5", PAIR)):
        found = support.run(flow(pod_set(env={variable: value})), topology())
        (one,) = [each for each in found.diagnostics if each.code == "W532"]
        assert f'"{meant}"' in one.hint
        better = support.run(flow(pod_set(env={variable: meant})), topology())
        assert not {"W532"} & set(better.codes)


def test_devices_in_the_node_s_network_come_by_their_resource() -> None:
    handed = {"kind": "hostnetwork", "rails": [{"hca": "mlx5_0", "resource": "rdma/hca", "device": "rdma0"}]}
    made = support.run(flow(), topology(handed))
    assert main(template(made))["resources"]["limits"]["rdma/hca"] == "1"
    assert main(template(made))["securityContext"] == LOCKED
    assert not {"T610", "T604"} & set(made.codes)


def test_a_privileged_fabric_is_none_for_cards_of_hami() -> None:
    cluster = topology(HOST, **METAX)
    cluster["spec"]["versions"] = {**cluster["spec"]["versions"], "hami": "2.10", "metax": "0.8"}
    (wrong,) = [each for each in support.run(flow(), cluster).diagnostics if each.code == "W559"]
    assert wrong.route[-1] == "fabric"


def test_masters_of_several_copies_are_kept_apart() -> None:
    half = pod_set(replicas=1, accelerator={"count": 4})
    whole = pod_set(replicas=1)
    named = {**half, "ports": {"master": 29500}}
    for pods, codes in ((half, ["W548"]), (whole, []), (named, [])):
        made = support.run(support.workflow({"name": "train", "replicas": 2, "podSets": [pods]}), topology(HOST))
        assert [each for each in made.codes if each == "W548"] == codes


BLOCKS = {
    **SHARED,
    "ipam": {"type": "nv-ipam", "perNode": 4},
    "rails": [rail(n, resource="rdma/a", subnet=f"10.{n}.0.0/16") for n in (0, 1)],
}


@pytest.mark.parametrize(
    ("pods", "codes"),
    [
        pytest.param({"replicas": 4, "accelerator": {"count": 1}}, [], id="four"),
        pytest.param({"replicas": 64, "accelerator": {"count": 2}}, [], id="pairs"),
        pytest.param({"replicas": 64, "accelerator": {"count": 1}}, ["warning"], id="eight-of-a-node"),
        pytest.param({"replicas": 160, "accelerator": {"count": 1}}, ["error", "warning"], id="more-than-all-blocks"),
    ],
)
def test_blocks_of_nodes_hold_what_shares_a_card(pods: Mapping[str, Any], codes: list[str]) -> None:
    small = {"resources": {"cpu": "4", "memory": "1Gi"}}
    found = support.run(flow(pod_set(**pods, **small)), topology(BLOCKS))
    assert sorted({each.severity for each in found.diagnostics if each.code == "T605"}) == codes


def test_copies_of_a_gang_need_addresses_each() -> None:
    few = {**SHARED, "ipam": {"type": "whereabouts"}, "rails": [rail(0, resource="rdma/a", subnet="10.0.0.0/26")]}
    for copies, codes in ((8, []), (16, ["error"])):
        made = support.run(
            support.workflow({"name": "train", "replicas": copies, "podSets": [pod_set()]}), topology(few)
        )
        assert [each.severity for each in made.diagnostics if each.code == "T605"] == codes
