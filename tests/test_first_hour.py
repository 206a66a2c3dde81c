"""From a list of nodes to a job that uses its network: which fabric comes out, and what its pods have."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
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


def workflow(gpus: int, level: str = "", **more: Any) -> str:
    """Two pods with so many GPUs, in one domain of a level."""
    pods = {
        "name": "worker",
        "replicas": 2,
        "accelerator": {"count": gpus},
        "resources": {"cpu": "64", "memory": "512Gi"},
        "image": "nvcr.io/nvidia/pytorch:25.08-py3",
        "command": ["torchrun", f"--nproc-per-node={gpus}", "train.py"],
        **more,
    }
    placed = {"placement": {"required": level}} if level else {}
    spec = {"gangs": [{"name": "train", **placed, "podSets": [pods]}]}
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


# What else a reader stumbled over.

HALL = """\
apiVersion: bayplan.dev/v1alpha1
kind: ClusterTopology
metadata: {name: gb}
spec:
  versions: {kubernetes: "1.34", kai: "0.17", jobset: "0.12", draDriver: "25.12"}
  defaults: {scheduler: kai, namespace: default, queue: research}
  pools:
  - name: gb200
    node: {accelerator: gb200, count: 4, cpu: "136", memory: 896Gi}
    levels: [{name: rack, label: nvidia.com/gpu.clique, nvlink: true}]
    domains:
    - {path: r1, nodes: "a[01-09]"}
    - {path: r2, nodes: "b[01-09]"}
  accelerators: {gb200: {resources: {count: nvidia.com/gpu}}}
"""


def reported(folder: Path, *arguments: str, **more: Any) -> str:
    """The report about two pods of GB200 with some other fields."""
    (folder / "topology.yaml").write_text(HALL)
    (folder / "workflow.yaml").write_text(workflow(4, **more))
    made = bayplan("check", "workflow.yaml", "-t", "topology.yaml", *arguments, cwd=folder)
    return made.stdout + made.stderr


def test_fewer_processes_than_gpus_leave_some_idle(tmp_path: Path) -> None:
    report = reported(tmp_path, command=["torchrun", "--nproc-per-node=2", "train.py"])
    assert "torchrun starts 2 processes on each node, but a pod has 4 GPUs, so some of them stay idle" in report
    assert "hint: set --nproc-per-node=4, or request 2 GPUs" in report


def test_an_elastic_job_needs_an_endpoint(tmp_path: Path) -> None:
    words = ["torchrun", "--nnodes=1:2", "--rdzv-backend=c10d", "--nproc-per-node=4", "train.py"]
    report = reported(tmp_path, minReplicas=1, command=words)
    assert "(torchrun --nnodes=1:2 --rdzv-backend=c10d --rdzv-endpoint=$(MASTER_ADDR):29400)" in report
    words.insert(3, "--rdzv-endpoint=$(MASTER_ADDR):29400")
    assert "P522" not in reported(tmp_path, minReplicas=1, command=words)


def test_a_torchrun_that_follows_the_hint_meets_its_peer(tmp_path: Path) -> None:
    """Two agents on the loopback interface, with the options of the hint."""
    program = shutil.which("torchrun", path=f"{os.environ.get('BAYPLAN_LAUNCHERS', '')}/bin")
    if program is None:
        pytest.skip("needs the real torchrun (BAYPLAN_LAUNCHERS)")
    (tmp_path / "train.py").write_text("import os; print('of', os.environ['WORLD_SIZE'])")
    words = [program, "--nnodes=2:2", "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:29411", "train.py"]
    agents = [subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [agent.communicate(timeout=300)[0].strip() for agent in agents] == ["of 2", "of 2"]


def test_pods_of_part_of_a_node_are_not_told_to_become_fewer(tmp_path: Path) -> None:
    report = reported(tmp_path, level="rack", replicas=18, accelerator={"count": 2}, command=["train"])
    assert "error[P506]" in report
    assert "replicas of podSet" not in report


def test_the_queue_of_the_topology_is_where_it_stands(tmp_path: Path) -> None:
    report = reported(tmp_path, "-s", "none")
    assert re.search(r"^topology\.yaml:6:\d+: warning\[F683\]", report, re.M)


@pytest.mark.parametrize("name", ["priorityClass", "priority"])
def test_the_beginning_of_a_field_explains_the_field_of_the_workflow(name: str) -> None:
    assert bayplan("explain", f"workflow.{name}").stdout.startswith("workflow.spec.priorityClassName: string\n")


def test_a_list_of_nodes_is_no_workflow(tmp_path: Path) -> None:
    (tmp_path / "nodes.json").write_text(nodes("eks-p5"))
    for command in ("check", "plan"):
        made = bayplan(command, "nodes.json", cwd=tmp_path)
        assert made.returncode == 2
        assert 'error[A921]: "nodes.json" is a list of nodes, not a topology file' in made.stdout + made.stderr
        assert "`bayplan topology import nodes.json -o topology.yaml`" in made.stdout + made.stderr


def test_the_manifests_come_after_the_workflow(tmp_path: Path) -> None:
    reported(tmp_path)
    made = bayplan("render", "workflow.yaml", "-t", "topology.yaml", "-o", "out.yaml", cwd=tmp_path)
    assert made.returncode == 0
    made = bayplan("diff", "out.yaml", "workflow.yaml", "-t", "topology.yaml", cwd=tmp_path)
    assert made.returncode == 2
    assert "hint: write `bayplan diff workflow.yaml out.yaml`" in made.stderr


def test_an_annotation_of_a_scheduler_that_bayplan_does_not_know(tmp_path: Path) -> None:
    pod: dict[str, Any] = {"containers": []}
    job = {"name": "a", "template": {"spec": {"template": {"spec": pod}}}}
    annotations = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"}
    metadata = {"name": "a", "annotations": annotations}
    jobset = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata}
    for name, found in {"ours": False, "kai-scheduler": True}.items():
        pod["schedulerName"] = name
        (tmp_path / "a.yaml").write_text(json.dumps({**jobset, "spec": {"replicatedJobs": [job]}}))
        made = bayplan("lint", "a.yaml", cwd=tmp_path)
        assert ("M706" in made.stdout + made.stderr) == found


def test_all_memory_of_a_node_whose_gpus_a_job_takes(tmp_path: Path) -> None:
    (tmp_path / "topology.yaml").write_text(HALL)
    (tmp_path / "job.sbatch").write_text(
        "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node=4\n#SBATCH --mem=0\n"
        "srun --container-image=a:1 python train.py\n"
    )
    made = bayplan("import", "job.sbatch", "-t", "topology.yaml", cwd=tmp_path)
    assert "wholeNode: true" in made.stdout, made.stderr
    assert "W604" not in made.stderr


def test_a_report_of_another_folder_says_so(tmp_path: Path) -> None:
    here, there, state = tmp_path / "here", tmp_path / "there", {"XDG_STATE_HOME": str(tmp_path)}
    for folder in (here, there):
        folder.mkdir()
        (folder / "topology.yaml").write_text(HALL)
    manifests = (
        "# Source: chart-1/templates/a.yaml\napiVersion: batch/v1\nkind: Job\n"
        "metadata: {name: a, annotations: {bayplan.dev/placement: required=hall}}\n"
        "spec: {template: {spec: {containers: [{name: a, image: a}]}}}\n"
    )
    program = [sys.executable, "-m", "bayplan", "post-render", "-t", "topology.yaml"]
    env = {**os.environ, **state}
    done = subprocess.run(program, cwd=there, env=env, input=manifests, text=True, capture_output=True, check=False)
    assert done.returncode == 1
    own, other = (bayplan("helm", "last-error", cwd=folder, env=state) for folder in (there, here))
    assert ', chart "chart-1",' in own.stdout
    assert "O820" not in own.stderr
    assert "warning[O820]: this report is of another folder" in other.stderr
