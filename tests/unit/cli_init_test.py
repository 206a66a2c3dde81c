"""`bayplan init`: every accelerator with every scheduler, and clusters that it imports."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from bayplan.backends import NAMES
from bayplan.cli import init
from bayplan.cli.run import run
from tools.data import parse
from tools.effort import sample
from tools.run import bayplan

UNSUPPORTED = {
    "slurm-bridge": {name for name, each in init.MACHINES.items() if each.vendor not in ("nvidia", "amd")},
    "sunk": {name for name, each in init.MACHINES.items() if each.vendor != "nvidia"},
}
"""Scheduler -> accelerators of which it cannot allocate any."""


def written(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The specs of the topology and of the workflow."""
    topology, workflow = (parse((folder / name).read_text("utf-8"))["spec"] for name in init.FILES[:2])
    return topology, workflow


def passes(folder: Path, *arguments: str) -> None:
    """The files have no errors and warnings, and render."""
    files = [str(folder / "workflow.yaml"), "-t", str(folder / "topology.yaml"), *arguments]
    checked = bayplan("check", *files, "--strict")
    assert checked.returncode == 0, checked.stdout
    assert bayplan("render", *files, "-o", f"{folder / 'out'}/", "--cluster-objects").returncode == 0


@pytest.mark.parametrize("scheduler", NAMES)
def test_every_accelerator_with_every_scheduler(scheduler: str, tmp_path: Path) -> None:
    for accelerator, machine in sample(list(init.MACHINES.items()), 1, NAMES.index(scheduler)):
        folder = tmp_path / accelerator
        done = bayplan("init", str(folder), "--accelerator", accelerator, "-s", scheduler)
        if accelerator in UNSUPPORTED.get(scheduler, ()):
            assert (done.returncode, folder.exists()) == (1, False)
            assert re.search(r"error\[F\d+\]: podSet \"worker\"", done.stderr), done.stderr
            continue
        assert done.returncode == 0, done.stderr
        topology, _ = written(folder)
        assert topology["pools"][0]["node"]["count"] == machine.cards
        assert f"count: {machine.cards}}}" in (folder / "workflow.yaml").read_text("utf-8")
        if scheduler == "none":
            assert re.findall(r"(?:warning|error)\[.*?\]", done.stderr) == [
                "warning[F615]"
            ]  # it starts pods one by one
        else:
            passes(folder, "-s", scheduler)


def test_the_default_is_an_nvlink_cluster_with_kai(tmp_path: Path) -> None:
    assert bayplan("init", str(tmp_path)).returncode == 0
    topology, workflow = written(tmp_path)
    assert topology["defaults"]["scheduler"] == "kai"
    assert [level.get("nvlink") for level in topology["pools"][0]["levels"]] == [None, True]
    (gang,) = workflow["gangs"]
    assert (gang["placement"], gang["groups"][0]["placement"]) == ({"required": "spine"}, {"required": "rack"})


def test_the_comment_of_the_fabric_is_a_fabric(tmp_path: Path) -> None:
    """Without the comment signs, pods attach to all rails."""
    assert bayplan("init", str(tmp_path), "--accelerator", "h100").returncode == 0
    topology = tmp_path / "topology.yaml"
    text, found = re.subn(r"^  # (fabrics:| {2,})", r"  \1", topology.read_text("utf-8"), flags=re.MULTILINE)
    assert found == 5 + 8
    topology.write_text(text, "utf-8")
    passes(tmp_path)
    assert "nvidia.com/rail_7" in "".join(path.read_text("utf-8") for path in (tmp_path / "out").iterdir())


def node(name: str, cards: int = 0, **labels: str) -> dict[str, Any]:
    """A node of a cluster."""
    amounts = {"cpu": "100", "memory": "800Gi", "pods": "110", **({"nvidia.com/gpu": str(cards)} if cards else {})}
    named = {
        "kubernetes.io/hostname": name,
        **{f"topology.kubernetes.io/{key}": value for key, value in labels.items()},
    }
    if cards:
        named["nvidia.com/gpu.product"] = "NVIDIA-H200"
    status = {"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": named},
        "spec": {},
        "status": status,
    }


CLUSTERS = {
    "racks of two sizes": (
        [node(f"n{z}{r}{n}", 8, zone=f"z{z}", rack=f"r{z}{r}") for z in (1, 2) for r in (1, 2) for n in range(2 + r)],
        ("zone", 2, "rack", 3),
    ),
    "a rack in each zone": (
        [node(f"n{z}{n}", 8, zone=f"z{z}", rack=f"r{z}") for z in (1, 2, 3) for n in range(4)],
        ("", 3, "rack", 4),
    ),
    "one rack": ([node(f"n{n}", 8, rack="r1") for n in range(5)], ("", 1, "rack", 5)),
    "a flat pool": ([node(f"n{n}", 8) for n in range(3)], ("", 1, "", 3)),
    "one node": ([node("n1", 4)], ("", 1, "", 1)),
    "CPUs only": ([node(f"n{n}", rack=f"r{n % 2}") for n in range(6)], ("", 2, "rack", 3)),
    "few GPUs, many CPUs": (
        [*(node(f"g{n}", 8, rack="r1") for n in range(2)), *(node(f"c{n}", rack="r2") for n in range(9))],
        ("", 1, "rack", 2),
    ),
}
"""Nodes, and the workflow that fits them: the level of the gang, its groups, their level and their pods."""


def saved(folder: Path, nodes: list[dict[str, Any]]) -> str:
    """The path of the output of `kubectl get nodes -o json`."""
    (folder / "nodes.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))
    return str(folder / "nodes.json")


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_the_workflow_fits_the_imported_nodes(cluster: str, tmp_path: Path) -> None:
    nodes, (outer, groups, inner, pods) = CLUSTERS[cluster]
    done = bayplan("init", str(tmp_path / "new"), "--from", saved(tmp_path, nodes))
    assert done.returncode == 0, done.stderr
    (gang,) = written(tmp_path / "new")[1]["gangs"]
    group = gang["groups"][0] if groups > 1 else gang
    assert gang.get("placement", {}).get("required", "") == (outer if groups > 1 else inner)
    assert (group.get("replicas", 1), group.get("placement", {}).get("required", "")) == (groups, inner)
    (pod_set,) = group["podSets"]
    assert pod_set["replicas"] == pods
    cards = max(int(each["status"]["capacity"].get("nvidia.com/gpu", 0)) for each in nodes)
    assert pod_set.get("accelerator", {}).get("count", 0) == cards


@pytest.mark.parametrize("scheduler", sorted({*NAMES} - {"none"}))
def test_imported_nodes_with_every_scheduler(scheduler: str, tmp_path: Path) -> None:
    nodes, _ = CLUSTERS["racks of two sizes"]
    assert run(["init", str(tmp_path), "--from", saved(tmp_path, nodes), "-s", scheduler]) == 0
    passes(tmp_path)


JOBS: dict[str, tuple[str, dict[str, Any]]] = {
    "--nodes 4": ("torchrun --nproc-per-node=8 train.py", {"name": "train", "placement": {"required": "rack"}}),
    "--nodes 6": ("torchrun train.py", {"name": "train", "placement": {"required": "zone"}}),
    "--nodes 1": ("torchrun train.py", {"name": "train"}),
    "--groups 2x3 --in rack": ("torchrun train.py", {"name": "train", "placement": {"required": "zone"}}),
    "--groups 4x3 --in rack": ("torchrun train.py", {"name": "train"}),
    "--serve 8000": ("vllm serve m", {"name": "serve", "lifecycle": "service", "service": {}}),
    "--trials 12": ("python -c print(1,2)", {"name": "sweep", "replicas": 12}),
}
"""Options -> the command of a job, and fields of its gang."""


@pytest.mark.parametrize("options", JOBS)
def test_a_job_needs_no_typed_line(options: str, tmp_path: Path) -> None:
    command, wanted = JOBS[options]
    racks = [(zone, f"{zone}{rack}") for zone in "12" for rack in "12"]
    source = saved(tmp_path, [node(f"n{r}{n}", 8, zone=f"z{z}", rack=f"r{r}") for z, r in racks for n in range(4)])
    words = ["init", str(tmp_path / "new"), "--from", source, "-s", "kueue", "--image", "train:1", *options.split()]
    done = bayplan(*words, "--queue", "ml", "--", *command.split())
    assert done.returncode == 0, done.stderr
    passes(tmp_path / "new")
    workflow = written(tmp_path / "new")[1]
    (gang,) = workflow["gangs"]
    assert {key: each for key, each in gang.items() if key not in ("podSets", "groups")} == wanted
    (pods,) = gang.get("podSets") or gang["groups"][0]["podSets"]
    assert (pods["image"], pods["command"]) == ("train:1", command.split())
    assert pods["accelerator"]["count"] == (1 if "trials" in options else 8)
    assert workflow["queue"] == "ml"


def test_the_project_generates_what_the_job_needs(tmp_path: Path) -> None:
    for scheduler in sorted({*NAMES} - {"sunk"}):  # which has no gang of several pods
        folder = tmp_path / scheduler
        options = ("--accelerator", "h100", "--nodes", "2", "--image", "a:1", "-s", scheduler)
        assert bayplan("init", str(folder), *options, "--", "torchrun", "train.py").returncode == 0
        assert bayplan("generate", cwd=folder).returncode == 1  # it wrote files
        assert bayplan("generate", cwd=folder).returncode == 0
        assert [*(folder / "manifests").iterdir()]


@pytest.mark.parametrize(
    "words",
    [
        ["--nodes", "2"],
        ["--nodes", "0", "--image", "a", "--", "b"],
        ["--groups", "4", "--image", "a", "--", "b"],
        ["--nodes", "2", "--trials", "3", "--image", "a", "--", "b"],
        ["--serve", "80", "--trials", "3", "--image", "a", "--", "b"],
        ["--in", "rack", "--image", "a", "--", "b"],
        ["--groups", "2x2", "--in", "hall", "--image", "a", "--", "b"],
        ["--pool", "h100", "--image", "a", "--", "b"],
        ["--nodes", "2", "--", "torchrun"],
    ],
)
def test_what_a_job_cannot_be(words: list[str], tmp_path: Path) -> None:
    done = bayplan("init", str(tmp_path / "new"), *words)
    assert done.returncode == 2, done.stderr
    assert "error[A920]" in done.stderr
    assert not (tmp_path / "new").exists()


def test_a_terminal_asks_for_the_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bayplan.cli import init_job

    monkeypatch.setattr(init_job, "_answer", lambda question: "asked:1")
    assert bayplan("init", str(tmp_path), "--nodes", "2", "--", "torchrun").returncode == 0
    assert "image: asked:1" in (tmp_path / "workflow.yaml").read_text()


def test_controllers_beside_the_nodes_tell_their_versions(tmp_path: Path) -> None:
    image = "ghcr.io/kai-scheduler/kai-scheduler/scheduler:v0.16.2"
    template = {"spec": {"containers": [{"name": "scheduler", "image": image}]}}
    controllers = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a"},
        "spec": {"template": template},
    }
    nodes = [{**node(f"n{n}", 8), "kind": "Node"} for n in range(2)]
    for each in nodes:
        each["status"]["nodeInfo"] = {"kubeletVersion": "v1.34.2"}
    (tmp_path / "objects.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [controllers]}))
    source = saved(tmp_path, nodes)
    options = ("--from", source, "--from", str(tmp_path / "objects.json"), "--image", "a:1", "--nodes", "2")
    assert bayplan("init", str(tmp_path / "new"), *options, "--", "torchrun").returncode == 0
    assert written(tmp_path / "new")[0]["versions"] == {"kai": "0.16.2", "kubernetes": "1.34"}
    plain = bayplan("check", str(tmp_path / "new/workflow.yaml"), "-t", str(tmp_path / "new/topology.yaml"))
    assert "bayplan assumes jobset " in plain.stderr
