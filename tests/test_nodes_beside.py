"""What a node list has beside GPU nodes and known labels: software, nodes without accelerators, labels of a site."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from bayplan.cli.run import run
from bayplan.model.formats import ReadOptions
from bayplan.model.topology import Level
from test_nodes import CLIQUE, Node, as_json, as_lines, brought, node, pools, told

TYPE = "node.kubernetes.io/instance-type"
ZONE = "topology.kubernetes.io/zone"
SU, RACK = "acme.ai/su", "acme.ai/rack"


def deployed(image: str, kind: str = "Deployment", version: str = "") -> dict[str, Any]:
    """A workload with one container."""
    labels = {"app.kubernetes.io/version": version} if version else {}
    spec = {"containers": [{"name": "main", "image": image}]}
    api = "v1" if kind == "Pod" else "apps/v1"
    body = spec if kind == "Pod" else {"template": {"spec": spec}}
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "x", "labels": labels}, "spec": body}


def crd(group: str, version: str = "") -> dict[str, Any]:
    """A CRD of the group."""
    labels = {"app.kubernetes.io/version": version} if version else {}
    api = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return {**api, "metadata": {"name": "x", "labels": labels}, "spec": {"group": group}}


def versions(found: Iterable[Any]) -> tuple[dict[str, str], list[str]]:
    """The versions in the topology, and the codes."""
    part, codes, _ = told(found)
    assert part
    return dict(part.topology.versions), codes


SOFTWARE: dict[str, tuple[list[dict[str, Any]], dict[str, str], list[str]]] = {
    "KAI": ([deployed("ghcr.example.com/kai-scheduler/kai-scheduler/scheduler:v0.17.0")], {"kai": "0.17.0"}, []),
    "a mirror with a port": ([deployed("mirror:5000/kai-scheduler/scheduler:v0.16.8-fips")], {"kai": "0.16.8"}, []),
    "a digest": ([deployed("a/kueue/kueue:v0.18.2@sha256:00")], {"kueue": "0.18.2"}, []),
    "a label": ([deployed("mirror:5000/jobset/jobset@sha256:00", version="v0.12.0")], {"jobset": "0.12.0"}, []),
    "a Pod": ([deployed("volcanosh/vc-scheduler:v1.15.1", "Pod")], {"volcano": "1.15.1"}, []),
    "a DaemonSet": (
        [deployed("a/nvidia/k8s-device-plugin:v0.17.1", "DaemonSet")],
        {"nvidiaDevicePlugin": "0.17.1"},
        [],
    ),
    "AMD's plugin": ([deployed("rocm/k8s-device-plugin:1.25.2", "DaemonSet")], {}, []),
    "an old revision": ([deployed("a/kueue/kueue:v0.14.0", "ReplicaSet")], {}, []),
    "an update": (
        [deployed("a/lws/lws:v0.10.0"), deployed("a/lws/lws:v0.9.1")],
        {"lws": "0.9.1"},
        ["T593"],
    ),
    "the driver's two numberings": (
        [deployed("a/dra-driver-nvidia-gpu:v0.4.1"), deployed("a/k8s-dra-driver-gpu:v25.12.0")],
        {"draDriver": "25.12.0"},
        ["T593"],
    ),
    "no version": ([deployed("a/lws/lws:main")], {}, ["T593"]),
    "CRDs": ([crd("scheduling.run.ai"), crd("kueue.x-k8s.io", "v0.18.2")], {"kueue": "0.18.2"}, ["T593"]),
    "CRDs and an image": ([crd("jobset.x-k8s.io"), deployed("jobset/jobset:v0.12.0")], {"jobset": "0.12.0"}, []),
}


@pytest.mark.parametrize("case", SOFTWARE)
def test_versions_come_from_images_and_labels(case: str) -> None:
    found, expected, codes = SOFTWARE[case]
    gpus = [node(f"n{n}", labels={CLIQUE: f"u{n // 2}.1"}) for n in range(4)]
    assert versions([*gpus, *found])[0] == expected
    assert [code for code in versions([*gpus, *found])[1] if code == "T593"] == codes
    alone, _ = brought(as_json([deployed("a/kueue/kueue:v0.18.2"), *found]))
    assert alone
    assert not alone.topology.pools
    assert alone.topology.versions.items() >= expected.items()


def dated(*kubelets: str) -> list[Node]:
    """A node for each version of the kubelet."""
    made = [node(f"n{n}", labels={CLIQUE: f"u{n // 2}.1"}) for n in range(len(kubelets))]
    for each, version in zip(made, kubelets, strict=True):
        each["status"]["nodeInfo"] = {"kubeletVersion": version}
    return made


@pytest.mark.parametrize(
    ("kubelets", "expected", "codes"),
    [
        (("v1.34.2", "v1.34.1"), {"kubernetes": "1.34"}, []),
        (("v1.33.5-eks-3025e55", "v1.34.1-gke.1279000"), {"kubernetes": "1.33"}, ["T593"]),
        (("v1.9.1", "v1.34.1"), {}, ["T593"]),
        (("", "unknown"), {}, []),
    ],
)
def test_the_lowest_kubelet_is_the_version_of_kubernetes(
    kubelets: tuple[str, ...], expected: dict[str, str], codes: list[str]
) -> None:
    found = dated(*kubelets)
    lines = [f"{line}\t{version}\n" for line, version in zip(as_lines(found).splitlines(), kubelets, strict=True)]
    dump = [{key: value for key, value in each.items() if key not in ("kind", "apiVersion")} for each in found]
    texts = {
        "list.json": as_json(found),
        "lines.tsv": "".join(lines),
        "dump.json": json.dumps({"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": dump}),
        "list.yaml": yaml.safe_dump({"apiVersion": "v1", "items": found, "kind": "List"}),
    }
    for name, text in texts.items():
        part, diagnostics = brought(text, name=name)
        assert part, name
        assert part.topology.versions == expected, name
        assert [each.code for each in diagnostics if each.code == "T593"] == codes, name


def test_items_have_the_kind_of_their_list() -> None:
    bare = {key: value for key, value in deployed("a/kueue/kueue:v0.18.2").items() if key in ("metadata", "spec")}
    text = json.dumps({"kind": "DeploymentList", "apiVersion": "apps/v1", "metadata": {}, "items": [bare]})
    part, _ = brought(text)
    assert part
    assert part.topology.versions == {"kueue": "0.18.2"}


def test_both_orders_of_files_give_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = tmp_path / "nodes.json", tmp_path / "deployments.json"
    first.write_text(as_json(dated(*["v1.34.2"] * 4)))
    second.write_text(as_json([deployed("a/kai-scheduler/scheduler:v0.17.0")]))
    texts = []
    for files in ((first, second), (second, first)):
        assert run(["topology", "import", *map(str, files)]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    assert '  versions:\n    kai: "0.17.0"\n    kubernetes: "1.34"\n' in texts[0]


# Labels that look like levels.


def site(count: int = 16, **labels: Any) -> list[Node]:
    """Nodes whose labels are functions of their number."""
    return [node(f"n{n:02}", labels={key: str(value(n)) for key, value in labels.items()}) for n in range(count)]


PLACES = {SU: lambda n: f"su{n // 8}", RACK: lambda n: f"r{n // 4}"}


@pytest.mark.parametrize(
    ("more", "options"),
    [
        ({}, f"--level su={SU} --level rack={RACK}"),
        ({ZONE: lambda n: "ab"[n // 8]}, f"--level zone={ZONE} --level rack={RACK}"),
        ({CLIQUE: lambda n: f"u{n // 4}.1"}, f"--level su={SU} --level rack={CLIQUE},nvlink"),
        ({"acme.ai/row": lambda n: f"row{n // 2}"}, f"--level su={SU} --level rack={RACK} --level row=acme.ai/row"),
        ({"unit": lambda n: n // 8}, f"--level su={SU} --level rack={RACK}"),
    ],
)  # fmt: skip
def test_labels_that_divide_the_nodes_are_proposed(more: dict[str, Any], options: str) -> None:
    part, codes, said = told(site(**PLACES, **more))
    assert "T518" in codes
    assert said.count(options) == 1
    assert part


@pytest.mark.parametrize(
    "labels",
    [
        {"acme.ai/serial": lambda n: n},
        {"acme.ai/generation": lambda n: 1},
        {"acme.ai/spare": lambda n: n == 0},
        {"acme.ai/tenant": lambda n: "a" if n < 13 else "b"},
        {TYPE: lambda n: n // 4},
        {"node.kubernetes.io/pool": lambda n: n // 4},
        {"nvidia.com/cuda.driver.major": lambda n: n // 8},
        {"failure-domain.beta.kubernetes.io/zone": lambda n: n // 8},
        {"topology.disk.csi.example.com/zone": lambda n: n // 8},
        {"topology.disk.csi.example.com/node": lambda n: n // 2},
        {"eks.amazonaws.com/nodegroup": lambda n: n // 8},
        {ZONE: lambda n: n // 8, "acme.ai/team": lambda n: n % 2},
        {"cloud.google.com/gce-topology-block": lambda n: n // 4, SU: lambda n: n // 8},
    ],
)
def test_other_labels_are_not_proposed(labels: dict[str, Any]) -> None:
    assert "--level" not in told(site(**labels))[2].replace("name a label with --level", "")


def test_levels_of_the_user_are_all_but_nvlink() -> None:
    found = site(**PLACES, **{CLIQUE: lambda n: f"u{n // 4}.1"})
    _, codes, said = told(found, ReadOptions(levels=(Level("su", SU),)))
    assert "T518" in codes
    assert f"use --level su={SU} --level rack={CLIQUE},nvlink" in said
    _, codes, _ = told(found, ReadOptions(levels=(Level("su", SU), Level("rack", CLIQUE, nvlink=True))))
    assert "T518" not in codes


def test_a_pool_without_the_labels_of_the_user_keeps_its_cliques() -> None:
    other = [node(f"h{n}", 8, "NVIDIA-H100-80GB-HBM3", {SU: f"su{n // 2}"}) for n in range(4)]
    linked = [node(f"g{n}", labels={CLIQUE: f"u{n // 2}.1"}) for n in range(4)]
    part, codes, _ = told([*other, *linked], ReadOptions(levels=(Level("su", SU),)))
    assert codes == []
    levels = {pool.name: pool.levels for pool in pools(part)}
    assert levels == {"gb200": (Level("rack", CLIQUE, nvlink=True),), "h100": (Level("su", SU),)}


# Nodes without accelerators.

TAINT = [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]


def gpus(**more: Any) -> list[Node]:
    """Racks of GPU nodes."""
    return [node(f"g{n}", labels={"topology.kubernetes.io/rack": f"r{n // 2}"}, **more) for n in range(4)]


@pytest.mark.parametrize(
    ("found", "names"),
    [
        ([*gpus(), node("c1", 0, labels={TYPE: "m7.large"})], ["gb200", "m7-large"]),
        ([*gpus(), *(node(f"c{n}", 0, labels={TYPE: f"m{n}"}) for n in range(2))], ["gb200", "m0", "m1"]),
        ([*gpus(taints=TAINT), node("c1", 0)], ["gb200", "cpu"]),
        ([*gpus(), node("c1", 0)], ["gb200"]),
        ([*gpus(), node("c1", 0, labels={TYPE: "m7.large"}, allocatable={"cpu": "2"})], ["gb200"]),
        ([*gpus(), node("c1", 0, labels={"node-role.kubernetes.io/control-plane": ""})], ["gb200"]),
        ([node("c1", 0)], ["cpu"]),
    ],
)  # fmt: skip
def test_nodes_without_accelerators_are_pools_that_keep_their_pods(found: list[Node], names: list[str]) -> None:
    part, codes, _ = told(found, ReadOptions(headroom={"cpu": 4000}))
    assert [pool.name for pool in pools(part)] == names
    assert not {"T433"} & set(codes)
    part, *_ = told(found, ReadOptions(accelerated_only=True))
    assert [pool.name for pool in pools(part)] == names[:1]


def test_an_update_keeps_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, file = tmp_path / "nodes.json", tmp_path / "topology.yaml"
    plain = [node("c1", 0, labels={ZONE: "a"}), node("c2", 0)]
    source.write_text(as_json([*gpus(taints=TAINT), *plain]))
    assert run(["topology", "import", str(source), "-o", str(file)]) == 0
    before = file.read_text()
    assert '  - name: cpu\n    node:\n      cpu: "144"\n      memory: 960Gi\n    domains:' in before
    assert run(["topology", "import", str(source), "--update", str(file), "-o", str(file)]) == 0
    assert file.read_text() == before
    capsys.readouterr()
    assert run(["topology", "check", str(file)]) == 0
    assert capsys.readouterr().out == ""


def test_a_file_without_nodes_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "app.json"
    file.write_text(as_json([deployed("busybox:1.36")]))
    assert run(["topology", "import", str(file)]) == 1
    assert "error[T516]: the sources describe no nodes and no pools" in capsys.readouterr().err


def test_other_objects_of_a_file_are_read_beside_software(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kai.json"
    levels = {"levels": [{"nodeLabel": RACK}, {"nodeLabel": "kubernetes.io/hostname"}]}
    topology = {"apiVersion": "kai.scheduler/v1alpha1", "kind": "Topology", "metadata": {"name": "t"}, "spec": levels}
    file.write_text(as_json([topology, deployed("busybox:1.36")]))
    assert run(["topology", "import", str(file)]) == 0
    assert f"label: {RACK}" in capsys.readouterr().out
