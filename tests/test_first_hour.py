"""From a list of nodes to a job that uses its network: which fabric comes out, and what its pods have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.run import bayplan

COUNTS = {
    "coreweave-h100": ("NVIDIA-H100-80GB-HBM3", 8, {"rdma/ib": 1}, {"backend.coreweave.cloud/leafgroup": "1"}),
    "nebius-h200": ("NVIDIA-H200", 8, {"nvidia.com/hostdev": 8}, {}),
    "oke-virtual-functions": (
        *("NVIDIA-H200", 8, {"nvidia.com/rdma_vf": 16}),
        {"oci.oraclecloud.com/rdma.local_block_id": "b1", "oci.oraclecloud.com/rdma.network_block_id": "n1"},
    ),
    "crusoe-gb200": ("NVIDIA-GB200", 4, {"nvidia.com/hostdev": 4}, {"nvidia.com/gpu.clique": "a.1"}),
    "gke-a4": ("NVIDIA-B200", 8, {f"networking.gke.io.networks/rdma-{n}": 1 for n in range(8)}, {}),
    "gke-a4x": ("NVIDIA-GB200", 4, {f"networking.gke.io.networks/rdma-{n}": 1 for n in range(4)}, {}),
    "eks-p5": ("NVIDIA-H100-80GB-HBM3", 8, {"vpc.amazonaws.com/efa": 32}, {}),
    "eks-p6e": ("NVIDIA-GB200", 4, {"vpc.amazonaws.com/efa": 17}, {}),
    "aks-nd-h100": ("NVIDIA-H100-80GB-HBM3", 8, {"rdma/ib": 8}, {}),
    "shared-plugin": ("NVIDIA-H100-80GB-HBM3", 8, {"rdma/rdma_shared_device_a": 63}, {}),
    "sr-iov-operator": ("NVIDIA-H100-80GB-HBM3", 8, {f"openshift.io/rail_{n}_rdma": 1 for n in range(8)}, {}),
}
"""Cluster -> its GPU, how many a node has, its network cards, and labels of a level."""

FABRICS = {
    "coreweave-h100": ("none", "infiniband", 1),
    "nebius-h200": ("none", "", 8),
    "oke-virtual-functions": ("none", "", 16),
    "crusoe-gb200": ("none", "", 4),
    "gke-a4": ("gke", "ethernet", 8),
    "gke-a4x": ("gke", "ethernet", 4),
    "eks-p5": ("efa", "", 32),
    "eks-p6e": ("efa", "", 17),
    "aks-nd-h100": ("none", "infiniband", 8),
    "shared-plugin": ("none", "", 1),
    "sr-iov-operator": ("none", "", 8),
}
"""Cluster -> kind and link type of the fabric, and its number of rails."""


def nodes(cluster: str, count: int = 4) -> str:
    """The output of `kubectl get nodes -o json` of a cluster."""
    product, gpus, cards, labels = COUNTS[cluster]
    amounts = {"cpu": "120", "memory": "1900Gi", "pods": "110", "nvidia.com/gpu": str(gpus)}
    amounts |= {name: str(amount) for name, amount in cards.items()}
    labels = {"network.topology.nvidia.com/leaf": "leaf-0", **labels, "nvidia.com/gpu.product": product}
    items = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"n{number}", "labels": {**labels, "kubernetes.io/hostname": f"n{number}"}},
            "status": {
                "allocatable": amounts,
                "capacity": amounts,
                "conditions": [{"type": "Ready", "status": "True"}],
                "nodeInfo": {"kubeletVersion": "v1.35.1"},
            },
        }
        for number in range(count)
    ]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def workflow(gpus: int, **more: Any) -> str:
    pods = {
        "name": "worker",
        "replicas": 2,
        "accelerator": {"count": gpus},
        "resources": {"cpu": "64", "memory": "512Gi"},
        "image": "nvcr.io/nvidia/pytorch:25.08-py3",
        "command": ["torchrun", f"--nproc-per-node={gpus}", "train.py"],
        **more,
    }
    spec = {"gangs": [{"name": "train", "podSets": [pods]}]}
    return json.dumps(
        {"apiVersion": "bayplan.dev/v1alpha1", "kind": "Workflow", "metadata": {"name": "two"}, "spec": spec}
    )


def imported(cluster: str, folder: Path) -> dict[str, Any]:
    (folder / "nodes.json").write_text(nodes(cluster))
    made = bayplan("topology", "import", "nodes.json", "-o", "topology.yaml", "--headroom", "cpu=4", cwd=folder)
    assert made.returncode == 0, made.stderr
    data: dict[str, Any] = yaml.safe_load((folder / "topology.yaml").read_text())["spec"]
    return data


def rendered(folder: Path, text: str) -> tuple[str, dict[str, Any], str]:
    """The manifests, the spec of their pods, and the report."""
    (folder / "workflow.yaml").write_text(text)
    made = bayplan("render", "workflow.yaml", "-t", "topology.yaml", "-s", "kueue", "--queue", "q", cwd=folder)
    assert made.returncode == 0, made.stderr
    jobs = [each for each in yaml.safe_load_all(made.stdout) if each["kind"] == "JobSet"]
    template = jobs[0]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    return made.stdout, template, made.stderr


@pytest.mark.parametrize("cluster", COUNTS)
def test_a_job_of_two_nodes_uses_the_network_of_its_cluster(cluster: str, tmp_path: Path) -> None:
    (fabric,) = imported(cluster, tmp_path)["fabrics"].values()
    kind, links, rails = FABRICS[cluster]
    assert (fabric["kind"], fabric.get("linkType", ""), len(fabric["rails"])) == (kind, links, rails)
    text, template, report = rendered(tmp_path, workflow(COUNTS[cluster][1]))
    assert "W549" not in report
    pod = template["spec"]
    (container,) = pod["containers"]
    assert {"name": "shm", "emptyDir": {"medium": "Memory"}} in pod["volumes"]
    assert {"name": "shm", "mountPath": "/dev/shm"} in container["volumeMounts"]
    if kind == "gke":  # its webhook requests the resources of the networks
        networks = json.loads(template["metadata"]["annotations"]["networking.gke.io/interfaces"])
        assert [each["network"] for each in networks] == ["default", *(f"rdma-{n}" for n in range(rails))]
    else:
        cards = dict(COUNTS[cluster][2].items())
        wanted = {name: "1" if fabric.get("attach") == "shared" else str(amount) for name, amount in cards.items()}
        assert wanted.items() <= container["resources"]["limits"].items()
    locked = container.get("securityContext", {}).get("capabilities", {}).get("add", [])
    assert locked == ([] if kind in ("gke", "efa") else ["IPC_LOCK"])
    (tmp_path / "out.yaml").write_text(text)
    linted = bayplan("lint", "out.yaml", "-t", "topology.yaml", cwd=tmp_path)
    assert linted.returncode == 0
    assert "warning" not in linted.stderr


def test_a_comment_says_what_the_nodes_do_not_tell(tmp_path: Path) -> None:
    imported("coreweave-h100", tmp_path)
    lines = (tmp_path / "topology.yaml").read_text().splitlines()
    comment = lines[lines.index("    rdma:") - 1]
    assert comment.startswith("    # From the resources of the nodes. Add `hca`, the RDMA device of each rail;")


def test_pods_that_decline_the_fabric_have_no_card(tmp_path: Path) -> None:
    imported("coreweave-h100", tmp_path)
    _, template, report = rendered(tmp_path, workflow(8, fabric="none", shm="none"))
    (container,) = template["spec"]["containers"]
    assert "rdma/ib" not in container["resources"]["limits"]
    assert "volumes" not in template["spec"]
    assert "W549" not in report


def test_a_single_pod_needs_no_network(tmp_path: Path) -> None:
    imported("coreweave-h100", tmp_path)
    (tmp_path / "workflow.yaml").write_text(workflow(8, replicas=1))
    made = bayplan("render", "workflow.yaml", "-t", "topology.yaml", "-s", "kueue", "--queue", "q", cwd=tmp_path)
    assert "rdma/ib" not in made.stdout
    assert "W549" not in made.stderr


def test_a_card_that_is_requested_by_hand_may_lock_memory(tmp_path: Path) -> None:
    data = yaml.safe_load((tmp_path / "topology.yaml").read_text()) if imported("coreweave-h100", tmp_path) else {}
    del data["spec"]["fabrics"]
    (tmp_path / "topology.yaml").write_text(json.dumps(data))
    text, template, report = rendered(tmp_path, workflow(8, resources={"cpu": "64", "memory": "512Gi", "rdma/ib": 1}))
    (container,) = template["spec"]["containers"]
    assert container["securityContext"] == {"capabilities": {"add": ["IPC_LOCK"]}}
    assert "W549" not in report
    (tmp_path / "out.yaml").write_text(text)
    assert bayplan("lint", "out.yaml", "-t", "topology.yaml", cwd=tmp_path).returncode == 0


def test_the_variables_of_the_user_win(tmp_path: Path) -> None:
    imported("aks-nd-h100", tmp_path)
    text = (tmp_path / "topology.yaml").read_text()
    for number in range(8):
        text = text.replace("- resource: rdma/ib\n", f"- resource: rdma/ib # {number}\n        hca: mlx5_{number}\n", 1)
    (tmp_path / "topology.yaml").write_text(text)
    _, template, _ = rendered(tmp_path, workflow(8, env={"UCX_NET_DEVICES": "all"}))
    env = {each["name"]: each.get("value") for each in template["spec"]["containers"][0]["env"]}
    assert env["NCCL_IB_HCA"] == f"={','.join(f'mlx5_{n}' for n in range(8))}"
    assert env["UCX_NET_DEVICES"] == "all"
