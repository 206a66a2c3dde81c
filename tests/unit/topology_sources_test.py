"""Sources of a topology besides files of nodes: Slurm's node lines, clouds, slices, objects of schedulers."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan import pipeline
from bayplan.core.diagnostics import Outcome
from bayplan.model.formats import Part, ReadOptions, SourceFile
from bayplan.model.topology import ClusterTopology, Queue, Quota, named_queues
from bayplan.plugins.slurm.topology.node_names import rules
from bayplan.text import document
from bayplan.text.document import Document
from bayplan.topologies import READ, grouping, native
from bayplan.topologies.unit_names import name_rules, slurm_name
from judges import UPSTREAM
from tools.data import parse, parse_all
from tools.run import bayplan

COVERS = {
    "T530",
    "T401",
    "T536",
    "T555",
    "T537",
    "T515",
    "T557",
    "T529",
    "T513",
    "T510",
    "T461",
    "T437",
    "T568",
    "T617",
}
OURS = (
    "slurm-config-map",
    "slurm-nodes",
    "cloud",
    "resource-slices",
    "kai",
    "volcano-discovery",
    "launch-kit",
    "hypernodes",
)


def source(text: str, name: str = "source") -> SourceFile:
    found = document.read(name, text.encode(), "source:0:0", own=False).value or ()
    return SourceFile(name, text, found)


def module(name: str) -> Any:
    return import_module(f"{READ[name].package}.{READ[name].reader}")


def sniffed(given: SourceFile) -> list[str]:
    return [name for name in READ if module(name).sniff(given)]


def read(text: str, asked: ReadOptions = ReadOptions()) -> tuple[str, Outcome[Part], list[str]]:  # noqa: B008
    """The one format that recognises a text, what it makes of it, and the codes."""
    (name,) = sniffed(source(text))
    outcome = module(name).new(source(text), asked)
    return name, outcome, [each.code for each in outcome.diagnostics]


def pools(text: str, asked: ReadOptions = ReadOptions()) -> list[dict[str, Any]]:  # noqa: B008
    outcome = read(text, asked)[1]
    assert outcome.value, outcome.diagnostics
    made: list[dict[str, Any]] = native.write(outcome.value.topology)["spec"]["pools"]
    return made


CONF = """
ClusterName=hall
SlurmctldHost=ctl1
NodeName=DEFAULT RealMemory=900000 Sockets=2 CoresPerSocket=72 State=UNKNOWN
NodeName=gb[01-02]n[01-18] Gres=gpu:gb200:4(S:0-1),nic:2 \\
   NodeHostname=host[1-36] NodeAddr=10.0.0.[1-36]
NodeName=cpu[1-4] CPUs=64 RealMemory=1000 MemSpecLimit=200 State=CLOUD  # no GPUs
DownNodes=gb01n05 State=DRAIN Reason="bad fan"
DownNodes=gb01n06
PartitionName=all Nodes=ALL Default=YES
"""
SHOWN = """NodeName=gb01n01 Arch=aarch64 CoresPerSocket=72
   CPUAlloc=0 CPUEfctv=140 CPUTot=144 CPULoad=0.02
   Gres=gpu:gb200:4(S:0-1)
   NodeAddr=10.0.0.1 NodeHostName=host1 Version=25.05.3
   OS=Linux 6.8.0-1013 #14-Ubuntu SMP PREEMPT_DYNAMIC Fri
   RealMemory=900000 AllocMem=0 FreeMem=1 Sockets=2 Boards=1
   State=IDLE+DRAIN ThreadsPerCore=1 TmpDisk=0
   Reason=bad fan [root@2026-01-01T00:00:00]

NodeName=gb01n02 Arch=aarch64 CoresPerSocket=72
   CPUAlloc=0 CPUEfctv=144 CPUTot=144 CPULoad=0.02
   Gres=gpu:gb200:4(S:0-1)
   NodeAddr=10.0.0.2 NodeHostName=host2 Version=25.05.3
   RealMemory=900000 AllocMem=0 FreeMem=1 Sockets=2 Boards=1
   State=MIXED* ThreadsPerCore=1 TmpDisk=0
"""


def test_shown_nodes_that_are_cut_off() -> None:
    """Within a word, at the end of a line, within the record of one node."""
    whole = SHOWN + "   BootTime=2026 CfgTRES=cpu=1\n\n"
    whole = whole.replace("   Reason=", "   BootTime=2026 CfgTRES=cpu=1\n   Reason=")
    assert read(whole)[2] == []
    for cut in range(whole.index("gb01n02"), len(whole) - 1):
        assert "T529" in read(whole[:cut])[2], whole[:cut]
    one_line = "".join(f"NodeName=n{n} CPUTot=8 RealMemory=1000 State=IDLE ThreadsPerCore=1\n" for n in range(3))
    assert read(one_line)[2] == []
    assert read(one_line[:-2])[2] == ["T529"]


STATED = "NodeName=n1 CPUTot=8 RealMemory=1000 State=IDLE TmpDisk=0\nNodeName=n2 CPUTot=8 RealMemory=1000 State={}\n"


@pytest.mark.parametrize(
    ("state", "unusable", "codes"),
    [
        ("IDLE+MAINTENANCE", {"reserved": "n2"}, []),
        ("MAINT", {"reserved": "n2"}, []),
        ("INVAL", {"unhealthy": "n2"}, []),
        ("DOWN+INVALID_REG", {"unhealthy": "n2"}, []),
        ("IDLE+POWERED_DOWN", {}, []),
        ("MIXED+CLOUD~", {}, []),
        ("IDLE+BLOCKED", {}, ["T555"]),
        ("IDLE+QUARANTINED+DRAIN", {"cordoned": "n2"}, ["T555"]),
    ],
)
def test_states_of_nodes(state: str, unusable: dict[str, str], codes: list[str]) -> None:
    said = STATED.format(f"{state} TmpDisk=0")
    assert read(said)[2] == codes
    assert pools(said)[0].get("unusable", {}) == unusable


def test_node_lines_of_a_slurm_conf() -> None:
    name, outcome, codes = read(CONF)
    assert (name, codes) == ("slurm-nodes", [])
    assert pools(CONF) == [
        {
            "name": "gb200",
            "node": {"accelerator": "gb200", "count": 4, "cpu": "144", "memory": "900000Mi"},
            "domains": [{"nodes": "gb01n[01-18],gb02n[01-18]"}],
            "unusable": {"cordoned": "gb01n05", "notReady": "gb01n06"},
        },
        {"name": "cpu", "node": {"cpu": "64", "memory": "800Mi"}, "domains": [{"nodes": "cpu[1-4]"}]},
    ]
    assert outcome.value
    assert outcome.value.topology.name == "hall"
    assert (outcome.value.aliases["host36"], outcome.value.aliases["10.0.0.1"]) == ("gb02n18", "gb01n01")
    assert outcome.value.places["gb02n01"][-2:] == (5, 1)


def test_what_scontrol_says_of_nodes() -> None:
    name, outcome, codes = read(SHOWN)
    assert (name, codes) == ("slurm-nodes", [])
    (pool,) = pools(SHOWN)
    assert pool["node"] == {"accelerator": "gb200", "count": 4, "cpu": "140", "memory": "900000Mi"}
    assert pool["unusable"] == {"cordoned": "gb01n01", "notReady": "gb01n02"}
    assert outcome.value
    assert outcome.value.places["gb01n02"][-2:] == (10, 1)
    assert outcome.value.aliases["host2"] == "gb01n02"


def test_what_scontrol_says_of_nodes_as_json() -> None:
    one = {"name": "n1", "hostname": "h1", "address": "10.0.0.1", "cpus": 144, "effective_cpus": 140}
    more = {"real_memory": 1000, "gres": "gpu:gb200:4(S:0-1)", "state": ["IDLE", "DRAIN"], "features": []}
    text = json.dumps({"nodes": [{**one, **more}], "meta": {}})
    name, outcome, codes = read(text)
    assert (name, codes) == ("slurm-nodes", [])
    (pool,) = pools(text)
    assert pool["node"] == {"accelerator": "gb200", "count": 4, "cpu": "140", "memory": "1000Mi"}
    assert pool["unusable"] == {"cordoned": "n1"}
    assert outcome.value
    assert outcome.value.aliases == {"h1": "n1", "10.0.0.1": "n1"}


def test_nodes_that_tell_their_own_place() -> None:
    text = "NodeName=a[1-2] Topology=default:core:leaf1,other:b1\nNodeName=b[1-2] Topology=default:core:leaf2"
    (pool,) = pools(text)
    assert [(each["name"], each["apply"]) for each in pool["levels"]] == [("switch-1", True), ("switch-0", True)]
    assert [each["path"] for each in pool["domains"]] == ["core/leaf1", "core/leaf2"]


@pytest.mark.parametrize(
    ("gres", "product", "count"),
    [
        ("gpu:4", "gpu", 4),
        ("gpu", "gpu", 1),
        ("gpu:h100", "h100", 1),
        ("gpu:h100:no_consume:8", "h100", 8),
        ("gpu:nvidia_h100_80gb_hbm3:8(IDX:0-7)", "h100", 8),
        ("nic:2,gpu:gb200:2(S:0,1),gpu:gb200:2", "gb200", 4),
        ("gpu:h100:1K", "h100", 1024),
        ("(null)", "", 0),
    ],
)
def test_gres(gres: str, product: str, count: int) -> None:
    outcome = read(f"NodeName=n1 Gres={gres}")[1]
    assert outcome.value
    (pool,) = outcome.value.topology.pools
    assert (pool.node.accelerator, pool.node.accelerators) == (product, count)


@pytest.mark.parametrize(
    ("product", "name"),
    [
        ("NVIDIA GB200", "gb200"),
        ("NVIDIA-H100-80GB-HBM3", "h100"),
        ("NVIDIA-A100-SXM4-80GB-SHARED", "a100"),
        ("Tesla-V100-SXM2", "v100"),
        ("NVIDIA L40S", "l40s"),
        ("mi300x", "mi300x"),
        ("NVIDIA RTX PRO 6000 Blackwell", "rtx-pro-6000"),
        ("日本", "gpu"),
        ("", "gpu"),
    ],
)
def test_products(product: str, name: str) -> None:
    assert grouping.accelerator(product) == name


def aws(*instances: Any, **more: Any) -> str:
    return json.dumps({"Instances": [{"InstanceId": n, "NetworkNodes": list(path)} for n, path in instances], **more})


def gpu(name: str, **attributes: Any) -> dict[str, Any]:
    return {"name": name, "attributes": {key.replace("__", "/"): {"string": v} for key, v in attributes.items()}}


def a_slice(node: str, driver: str, devices: list[Any], generation: int = 1, slices: int = 1) -> dict[str, Any]:
    pool = {"name": node, "generation": generation, "resourceSliceCount": slices}
    spec = {"driver": driver, "nodeName": node, "pool": pool, "devices": devices}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-x"},
        "spec": spec,
    }


def listed(*objects: Any) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})


def gpus(node: str, count: int, product: str = "NVIDIA GB200", **more: Any) -> dict[str, Any]:
    held = [gpu(f"gpu-{n}", type="gpu", uuid=f"GPU-{node}-{n}", productName=product) for n in range(count)]
    return a_slice(node, "gpu.nvidia.com", held, **more)


def nic(node: str, *groups: str) -> dict[str, Any]:
    prefix = "coreweave.dra.net/"
    held = [
        {
            "name": f"ib{n}",
            "attributes": {
                f"{prefix}{key}": {"string": value}
                for key, value in zip(("fabric", "superpod", "leafgroup"), place, strict=True)
            },
        }
        for n, place in enumerate(("FAB66", "2", group) for group in groups)
    ]
    return a_slice(node, "dra.net", held)


def topology(*labels: str) -> str:
    levels = [{"nodeLabel": label} for label in labels]
    return yaml.safe_dump(
        {
            "apiVersion": "kai.scheduler/v1alpha1",
            "kind": "Topology",
            "metadata": {"name": "hall"},
            "spec": {"levels": levels},
        }
    )


def discovery(types: Any, *others: Any) -> str:
    held = [{"source": "label", "enabled": True, "config": {"networkTopologyTypes": types}}, *others]
    said = yaml.safe_dump({"networkTopologyDiscovery": held})
    data = {"volcano-controller.conf": said}
    return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "volcano"}, "data": data})


KIT: dict[str, Any] = {
    "networkNamespaces": ["ml"],
    "hostdev": {"resourceName": "hostdev_resource", "networkName": "hostdev-network"},
    "profile": {"fabric": "infiniband", "deployment": "host_device", "multirail": True},
    "clusterConfig": [
        {
            "identifier": "xe9680-h200",
            "machineType": "PowerEdge-XE9680",
            "gpuType": "NVIDIA-H200",
            "pfs": [
                {"rdmaDevice": "mlx5_0", "traffic": "east-west", "rail": 0},
                {"rdmaDevice": "mlx5_1", "traffic": "east-west", "rail": 1},
                {"rdmaDevice": "mlx5_9", "traffic": "north-south"},
            ],
            "workerNodes": ["w-0", "w-1"],
            "nodeSelector": {"nvidia.kubernetes-launch-kit.machine": "xe9680-h200"},
        }
    ],
}
OTHER = {"machineType": "a", "gpuType": "NVIDIA-H100", "pfs": [{"traffic": "east-west", "rail": 0}]}
GCP_HOST = {"cluster": "c", "block": "b", "subblock": "s", "host": "h"}
OCI = {"hpcIslandId": "ocid1.island.x", "networkBlockId": "ocid1.nb.x", "localBlockId": "ocid1.lb.x"}


def test_instances_of_aws() -> None:
    text = aws(("i-2", ("nn-1", "nn-2")), ("i-10", ("nn-1", "nn-2")), ("i-3", ("nn-1", "nn-3")))
    name, _, codes = read(text)
    assert (name, codes) == ("cloud", ["T537"])
    (pool,) = pools(text, ReadOptions(plan=1))
    assert pool["levels"] == [
        {"name": "layer-1", "label": "topology.k8s.aws/network-node-layer-1"},
        {"name": "layer-2", "label": "topology.k8s.aws/network-node-layer-2", "plan": 1},
    ]
    assert pool["domains"] == [{"path": "nn-1/nn-2", "nodes": "i-[2,10]"}, {"path": "nn-1/nn-3", "nodes": "i-3"}]


@pytest.mark.parametrize("shape", ["list", "page", "zones"])
def test_instances_of_google(shape: str) -> None:
    held = [{"name": f"g-{n}", "id": str(n), "resourceStatus": {"physicalHostTopology": GCP_HOST}} for n in range(2)]
    data: Any = {"list": held, "page": {"items": held}, "zones": {"items": {"zones/a": {"instances": held}}}}[shape]
    _, outcome, codes = read(json.dumps(data))
    assert codes == []
    assert outcome.value
    assert outcome.value.aliases == {"0": "g-0", "1": "g-1"}
    assert pools(json.dumps(data))[0]["domains"] == [{"path": "c/b/s", "nodes": "g-[0-1]"}]


@pytest.mark.parametrize("kebab", [True, False])
def test_hosts_of_oci(kebab: bool) -> None:
    host = {"instanceId": "ocid1.instance.x", "health": "UNHEALTHY", **OCI, "gpuMemoryFabricId": "ocid1.gmf.f1"}
    spelt = {"".join(f"-{c.lower()}" if c.isupper() else c for c in key): value for key, value in host.items()}
    text = json.dumps({"data": {"items": [spelt]}} if kebab else {"items": [host]})
    (pool,) = pools(text)
    assert pool["domains"] == [{"path": "x/x/x/f1", "nodes": "ocid1.instance.x"}]
    assert pool["unusable"] == {"unhealthy": "ocid1.instance.x"}
    assert pool["levels"][-1]["nvlink"]


def test_instances_of_nebius_and_lambda() -> None:
    one = {"metadata": {"id": "ci-1", "name": "w-1"}, "spec": {"nvlInstanceGroupId": "nvl-1"}}
    text = json.dumps({"items": [{**one, "status": {"infinibandTopologyPath": {"path": ["t3", "t2", "t1"]}}}]})
    assert pools(text)[0]["domains"] == [{"path": "t3/t2/t1/nvl-1", "nodes": "ci-1"}]
    assert [each["name"] for each in pools(text)[0]["levels"]] == ["tier-3", "tier-2", "tier-1", "tier-0"]
    path = [{"id": "leaf"}, {"id": "spine"}]
    both = [{"id": "a", "networkPath": path, "nvlink": {"domain_id": "d", "clique_id": 7}}]
    both.append({"id": "b", "networkPath": path, "nvlink": None})  # type: ignore[dict-item]
    made = pools(json.dumps({"data": both}))
    assert [pool["domains"][0]["path"] for pool in made] == ["spine/leaf", "spine/leaf/d.7"]


def test_slices_of_gpus_and_network_cards() -> None:
    old = gpus("n1", 8, generation=0)
    text = listed(gpus("n1", 4), old, nic("n1", "856", "856"), nic("n2", "857"), gpus("n2", 4), nic("n3", "857"))
    name, outcome, codes = read(text)
    assert (name, codes) == ("resource-slices", [])
    assert outcome.value
    made = pools(text)
    assert [(pool["node"], pool["domains"]) for pool in made] == [
        (
            {"accelerator": "gb200", "count": 4},
            [{"path": "FAB66/2/856", "nodes": "n1"}, {"path": "FAB66/2/857", "nodes": "n2"}],
        ),
        ({}, [{"path": "FAB66/2/857", "nodes": "n3"}]),
    ]
    assert outcome.value.topology.accelerators["gb200"].allocators == ("dra",)


def test_slices_of_gpus_that_are_cut_up() -> None:
    held = [
        gpu(f"gpu-{card}-mig-{n}", type="mig", parentUUID=f"GPU-{card}", productName="NVIDIA H100")
        for card in range(2)
        for n in range(7)
    ]
    basic = [{"name": each["name"], "basic": {"attributes": each["attributes"]}} for each in held]
    (pool,) = pools(listed(a_slice("n1", "gpu.nvidia.com", basic)))
    assert pool["node"] == {"accelerator": "h100", "count": 2}


def test_kai() -> None:
    queues = (
        "---\napiVersion: scheduling.run.ai/v2\nkind: Queue\nmetadata: {name: research}\nspec: {parentQueue: all}\n"
    )
    text = topology("x.io/spine", "nvidia.com/gpu.clique", "kubernetes.io/hostname") + queues
    name, outcome, codes = read(text)
    assert (name, codes) == ("kai", [])
    assert outcome.value
    assert outcome.value.topology.queues == named_queues("research")
    (pool,) = outcome.value.topology.pools
    assert [(level.name, level.nvlink) for level in pool.levels] == [("spine", False), ("rack", True)]
    assert not pool.domains


def test_kai_quotas() -> None:
    """-1 is no number. KAI counts thousandths of CPUs and 10^6 bytes; a parent that the file lacks is none."""
    queue = (
        "---\napiVersion: scheduling.run.ai/v2\nkind: Queue\nmetadata: {{name: {}}}\nspec: {{{}, resources: {{{}}}}}\n"
    )
    text = topology("x.io/spine", "kubernetes.io/hostname")
    text += queue.format("all", "parentQueue: gone", "gpu: {quota: -1, limit: 8.5}")
    text += queue.format(
        "research", "parentQueue: all", "cpu: {quota: 500, limit: 2000}, memory: {quota: 0, limit: -1}"
    )
    _, outcome, _ = read(text)
    assert outcome.value
    assert outcome.value.topology.queues == (
        Queue("all", "", (Quota("gpu", "", None, 8500),)),
        Queue("research", "all", (Quota("cpu", "", 500, 2000), Quota("memory", "", 0, None))),
    )


def test_discovery_of_hypernodes() -> None:
    labels = [{"nodeLabel": "x.io/spine"}, {"nodeLabel": "x.io/rack"}, {"nodeLabel": "kubernetes.io/hostname"}]
    name, outcome, codes = read(discovery({"gb200": labels}, {"source": "ufm"}))
    assert (name, codes) == ("volcano-discovery", ["T568"])
    assert outcome.value
    (pool,) = outcome.value.topology.pools
    assert (pool.name, [level.label for level in pool.levels]) == ("gb200", ["x.io/spine", "x.io/rack"])


def test_what_is_exported_for_discovery_comes_back() -> None:
    from bayplan.model.target import Target
    from bayplan.model.topology import Level, NodeShape, Pool
    from bayplan.topologies.hypernodes import writing

    pool = Pool("gb200", NodeShape(), (Level("spine", "x.io/spine"), Level("rack", "x.io/rack")))
    given = ClusterTopology("cluster", (pool,), schedulers={"volcano": {"hyperNodes": "discovered"}})
    (written,) = writing.write(given, Target())
    outcome = read(yaml.safe_dump(written))[1]
    assert outcome.value
    assert outcome.value.topology.pools == given.pools


@pytest.mark.parametrize(
    ("profile", "fabric"),
    [
        (
            KIT["profile"],
            {
                "kind": "hostdevice",
                "linkType": "infiniband",
                "rails": [
                    {
                        "network": f"ml/hostdev-network-rail-{n}",
                        "resource": f"nvidia.com/hostdev_resource_rail_{n}",
                        "hca": f"mlx5_{n}",
                    }
                    for n in range(2)
                ],
            },
        ),
        (
            {"fabric": "ethernet", "deployment": "rdma_shared", "multirail": False},
            {
                "kind": "macvlan",
                "linkType": "ethernet",
                "rails": [{"network": "ml/macvlan-network", "resource": "rdma/rdma_shared_resource"}],
            },
        ),
        (
            {"fabric": "ethernet", "deployment": "sriov", "multirail": True, "spectrumX": {"enable": True}},
            {
                "kind": "spectrumx",
                "linkType": "ethernet",
                "rails": [{"network": f"ml/rail{n}", "resource": f"nvidia.com/rail{n}"} for n in range(2)],
            },
        ),
    ],
)
def test_the_launch_kit(profile: Any, fabric: Any) -> None:
    text = yaml.safe_dump({**KIT, "profile": profile})
    name, outcome, codes = read(text)
    assert (name, codes) == ("launch-kit", ["T617"])
    assert outcome.value
    assert native.write(outcome.value.topology)["spec"]["fabrics"] == {"rails": fabric}
    assert pools(text)[0]["domains"] == [{"nodes": "w-[0-1]"}]
    made = native.write(outcome.value.topology)
    checked, _ = pipeline.check_topology(Document("t.yaml", "", 0, made))
    assert checked.value is not None, checked.diagnostics


def hyper(name: str, tier: int, *members: Any) -> dict[str, Any]:
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name},
        "spec": {"tier": tier, "members": list(members)},
    }


def member(kind: str, **selector: Any) -> dict[str, Any]:
    return {"type": kind, "selector": selector}


LEAVES = (
    hyper("s", 2, *(member("HyperNode", exactMatch={"name": name}) for name in "ab")),
    hyper("a", 1, member("Node", labelMatch={"matchLabels": {"x.io/rack": "a"}})),
    hyper("b", 1, member("Node", regexMatch={"pattern": "^b[0-9]+$"})),
)
NODES = {
    **{f"a{n}": {"x.io/rack": "a", "kubernetes.io/hostname": f"a{n}"} for n in (10, 2)},
    **{f"b{n}": {"kubernetes.io/hostname": f"b{n}"} for n in (1, 2)},
}


def test_hypernodes_that_select_nodes() -> None:
    given = source(listed(*LEAVES))
    assert module("hypernodes").needed_labels(given) == {"x.io/rack", "kubernetes.io/hostname"}
    outcome = module("hypernodes").new(given, ReadOptions(nodes=NODES))
    assert [each.code for each in outcome.diagnostics] == []
    (pool,) = outcome.value.topology.pools
    assert [(row.path, row.nodes) for row in pool.domains] == [
        (("s", "a"), ("a2", "a10")),
        (("s", "b"), ("b1", "b2")),
    ]
    assert set(outcome.value.places) == set(NODES)
    alone = module("hypernodes").new(given, ReadOptions())
    assert [each.code for each in alone.diagnostics] == ["T557", "T557"]
    none = module("hypernodes").new(given, ReadOptions(nodes={"c1": {}}))
    assert [each.code for each in none.diagnostics] == ["T437", "T437"]


def test_patterns_that_are_not_tried_say_so() -> None:
    """Not to give the nodes, which are given; and nothing more of a pattern that is none."""
    for pattern, code, hint in [("(a+)+$", "T557", "exactMatch"), ("a[0-3", "M722", "RE2")]:
        text = listed(hyper("a", 1, member("Node", regexMatch={"pattern": pattern})))
        (found,) = module("hypernodes").new(source(text), ReadOptions(nodes=NODES)).diagnostics
        assert found.code == code
        assert hint in found.hint


@pytest.mark.parametrize(
    ("pattern", "nodes"),
    [
        ("^b[0-9]+$", ("b1", "b2")),
        ("^b1?$|^a2", ("a2", "b1")),
        ("^b2*", ("b1", "b2")),
        ("1", ("a10", "b1")),
        ("^b", ("b1", "b2")),
        (r"^b\d\z", ("b1", "b2")),
        (r"^a\d+\\z|b1", ("b1",)),
        ("(", None),
        ("^(?i)b", None),
        ("^[[:alpha:]]1", None),
        ("(a+)+$", None),
        (r"\pL1", None),
    ],
)
def test_patterns_of_hypernodes(pattern: str, nodes: tuple[str, ...] | None) -> None:
    text = listed(hyper("a", 1, member("Node", regexMatch={"pattern": pattern})))
    outcome = module("hypernodes").new(source(text), ReadOptions(nodes=NODES))
    if nodes is None:
        assert {each.code for each in outcome.diagnostics} <= {"T557", "M722"}
        assert outcome.diagnostics
    else:
        (pool,) = outcome.value.topology.pools
        assert [row.nodes for row in pool.domains] == [nodes]


NAMES = {
    "zeros": ({f"ip-10-0-1-{n}": f"gb1n{n:02d}" for n in range(1, 19)}, 2),
    "racks": ({f"host-{r}-{n}.hall": f"gb{r}n{n}" for r in range(3) for n in range(30)}, 2),
    "the same": ({"a1": "a1", "a2": "a2"}, 0),
    "one": ({"a.b": "c"}, 1),
    "some": ({"a1": "b1", "a2": "b2", "c1": "c1"}, 2),
    "swapped": ({"a1": "n2", "a2": "n1"}, 2),
    "no rule": ({f"a{n}": f"b{n * 7919 % 1009}" for n in range(1, 1009)}, None),
}


@pytest.mark.parametrize(("pairs", "count"), NAMES.values(), ids=NAMES.keys())
def test_rules_for_names(pairs: dict[str, str], count: int | None) -> None:
    made = rules(pairs)
    assert (made if made is None else len(made)) == count


@settings(max_examples=100, deadline=None)
@given(
    pairs=st.dictionaries(
        st.from_regex(r"[a-c]{1,2}[0-9]{0,3}[-.]?[a-z0-9]", fullmatch=True),
        st.from_regex(r"[ab\\]?[0-9]{1,2}x?", fullmatch=True),
    )
)
def test_rules_for_names_are_right(pairs: dict[str, str]) -> None:
    made = rules(pairs)
    known = name_rules(ClusterTopology("t", (), schedulers={"slurm": {"names": made or []}}))
    if made is not None:
        assert {name: slurm_name(name, known) for name in pairs} == pairs


def nodes_file(*names: str) -> str:
    labels = {"nvidia.com/gpu.product": "NVIDIA-GB200", "nvidia.com/gpu.count": "4"}
    return listed(
        *(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {
                    "name": name,
                    "labels": {**labels, "kubernetes.io/hostname": name, "x.io/rack": f"r{name[:4]}"},
                },
                "spec": {"providerID": f"aws:///us-west-2a/i-{name.replace('-', '')}"},
                "status": {"allocatable": {"nvidia.com/gpu": "4"}, "conditions": [{"type": "Ready", "status": "True"}]},
            }
            for name in names
        )
    )


def config_map(**files: str) -> str:
    data = {key.replace("_", "."): text for key, text in files.items()}
    return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "slurm"}, "data": data})


def test_slurms_files_in_a_config_map() -> None:
    conf = "ClusterName=hall\nNodeName=n[1-4] Gres=gpu:h100:8\n"
    blocks = "BlockName=a Nodes=n[1-2]\nBlockName=b Nodes=n[3-4]\nBlockSizes=2,4\n"
    name, outcome, codes = read(config_map(slurm_conf=conf, topology_conf=blocks))
    assert (name, codes) == ("slurm-config-map", ["T482"])
    assert outcome.value
    (pool,) = outcome.value.topology.pools
    assert (pool.node.accelerators, [row.path for row in pool.domains]) == (8, [("a",), ("b",)])
    assert outcome.value.places["n1"] == ("source:0:0", "data", "topology.conf")
    both = config_map(topology_yaml="- {topology: t, tree: {switches: {switch: s, nodes: n1}}}", topology_conf=blocks)
    made = read(both)[1].value
    assert made
    assert [pool.name for pool in made.topology.pools] == ["t"]
    assert read(config_map(slurm_conf="ClusterName=a\n"))[2] == ["T530"]
    assert read(config_map(slurm_conf="ClusterName=a\n", topology_conf=blocks))[2] == ["T482"]
    assert read(config_map(topology_yaml="["))[2] == ["T530"]
    assert read(config_map(topology_conf="BlockName=a Nodes=n["))[2] == ["T529"]


HOSTS = [f"ip-{rack}-{n}" for rack in (1, 2) for n in range(1, 5)]
BESIDE = {
    "slurm.conf": "\n".join(f"NodeName=gb{r}n[01-04] NodeHostname=ip-{r}-[1-4] Gres=gpu:gb200:4" for r in (1, 2)),
    "topology.conf": "BlockName=b1 Nodes=gb1n[01-04]\nBlockName=b2 Nodes=gb2n[01-04]\nBlockSizes=4",
    "aws.json": aws(*((f"i-{host.replace('-', '')}", ("nn-1", f"nn-{host[3]}")) for host in HOSTS)),
    "hyper.json": listed(
        hyper("s", 2, *(member("HyperNode", exactMatch={"name": f"leaf{r}"}) for r in (1, 2))),
        *(hyper(f"leaf{r}", 1, member("Node", labelMatch={"matchLabels": {"x.io/rack": f"rip-{r}"}})) for r in (1, 2)),
    ),
    "slices.json": listed(*(gpus(host, 4) for host in HOSTS)),
    "kai.json": json.dumps(parse(topology("x.io/rack", "kubernetes.io/hostname"))),
}


@pytest.mark.parametrize(
    ("sources", "levels"),
    [
        (("nodes.json", "slurm.conf", "topology.conf"), ["block"]),
        (("topology.conf", "nodes.json", "slurm.conf"), ["block"]),
        (("aws.json", "nodes.json"), ["layer-1", "layer-2"]),
        (("hyper.json", "nodes.json"), ["tier-2", "tier-1"]),
        (("kai.json", "nodes.json"), ["rack"]),
        (("slices.json", "hyper.json", "nodes.json"), ["tier-2", "tier-1"]),
    ],
)
def test_sources_beside_nodes(sources: tuple[str, ...], levels: list[str], tmp_path: Path) -> None:
    """Nodes keep the names that Kubernetes gives them, whatever the others call them."""
    for name, text in {**BESIDE, "nodes.json": nodes_file(*HOSTS)}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = bayplan("topology", "import", *sources, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "error" not in done.stderr
    spec = parse(done.stdout)["spec"]
    (pool,) = spec["pools"]
    assert [each["name"] for each in pool["levels"]] == levels
    assert [each["nodes"] for each in pool["domains"]] == ["ip-1-[1-4]", "ip-2-[1-4]"]
    assert (pool["node"]["accelerator"], pool["node"]["count"]) == ("gb200", 4)
    if "slurm.conf" in sources:
        assert spec["schedulers"]["slurm"]["names"] == [{"from": "ip-([0-9])-([0-9])", "to": "gb\\1n0\\2"}]


def test_a_slurm_conf_brings_states_up_to_date(tmp_path: Path) -> None:
    (tmp_path / "old.conf").write_text("NodeName=n[1-4]\nDownNodes=n2 State=DRAIN\n", encoding="utf-8")
    (tmp_path / "new.conf").write_text("NodeName=n[1-4]\nDownNodes=n3\n", encoding="utf-8")
    assert bayplan("topology", "import", "old.conf", "-o", "topology.yaml", cwd=tmp_path).returncode == 0
    done = bayplan("topology", "import", "new.conf", "--update", "topology.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    unusable = parse(done.stdout)["spec"]["pools"][0]["unusable"]
    assert {reason: nodes for reason, nodes in unusable.items() if nodes} == {"notReady": "n3"}


@pytest.mark.parametrize("domain", ["", ".hall.example.com"])
@pytest.mark.parametrize(
    "sources", [("topology.conf",), ("slurm.conf", "topology.conf"), ("topology.conf", "slurm.conf")]
)
def test_names_that_labels_or_domains_tell(domain: str, sources: tuple[str, ...], tmp_path: Path) -> None:
    """Slinky's label, or host names with a domain: Kubernetes' names are kept, and rules lead to Slurm's."""
    conf = "\n".join(f"NodeName=gb{r}n[1-4] Gres=gpu:gb200:4" for r in (1, 2))
    blocks = "BlockName=b1 Nodes=gb1n[1-4]\nBlockName=b2 Nodes=gb2n[1-4]\nBlockSizes=4"
    names = [f"gb{r}n{n}{domain}" if domain else f"ip-{r}-{n}" for r in (1, 2) for n in range(1, 5)]
    data = json.loads(nodes_file(*names))
    for node in data["items"] if not domain else ():
        _, rack, number = node["metadata"]["name"].split("-")
        node["metadata"]["labels"]["slinky.slurm.net/slurm-nodename"] = f"gb{rack}n{number}"
    files = {"slurm.conf": conf, "topology.conf": blocks, "nodes.json": json.dumps(data)}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = bayplan("topology", "import", "nodes.json", *sources, "-o", "topology.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "T4" not in done.stderr.replace("T482", "").replace("T429", "")
    spec = parse((tmp_path / "topology.yaml").read_text(encoding="utf-8"))["spec"]
    (pool,) = spec["pools"]
    assert sum(each["nodes"].count(".hall") + each["nodes"].startswith("ip-") for each in pool["domains"])
    (rule,) = spec["schedulers"]["slurm"]["names"]
    assert rule["to"] == r"gb\1n\2"
    again = bayplan("topology", "export", "topology.yaml", "--to", "slurm-conf", cwd=tmp_path)
    assert "Nodes=gb1n[1-4]" in again.stdout, again.stderr


def test_findings_of_merged_sources_stand_in_their_files(tmp_path: Path) -> None:
    kit = {**KIT, "clusterConfig": [{**KIT["clusterConfig"][0], "workerNodes": HOSTS[:2]}]}
    (tmp_path / "kit.yaml").write_text(yaml.safe_dump(kit), encoding="utf-8")
    (tmp_path / "nodes.json").write_text(nodes_file(*HOSTS), encoding="utf-8")
    done = bayplan("topology", "import", "nodes.json", "kit.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    spec = parse(done.stdout)["spec"]
    assert [(pool["node"]["count"], len(pool["domains"])) for pool in spec["pools"]] == [(4, 1)]
    assert spec["fabrics"]["rails"]["kind"] == "hostdevice"
    assert "nodes.json:1:" in next(line for line in done.stderr.splitlines() if "[T439]" in line)


TOLD = {
    "an included file": ("NodeName=n1\nInclude /etc/slurm/more.conf", "T530"),
    "a node on two lines": ("NodeName=n[1-3]\nNodeName=n[3-4]", "T401"),
    "an instance at two places": (aws(("i-1", ("a", "b")), ("i-1", ("a", "c"))), "T401"),
    "upper and lower case": ("NodeName=n1,N1", "T536"),
    "two kinds of GPU": ("NodeName=n1 Gres=gpu:a100:4,gpu:h100:4", "T555"),
    "two products": (
        listed(
            a_slice(
                "n",
                "gpu.nvidia.com",
                [gpu("a", type="gpu", productName="NVIDIA A100"), gpu("b", type="gpu", productName="NVIDIA H100")],
            )
        ),
        "T555",
    ),
    "too few host names": ("NodeName=n[1-3] NodeHostname=h[1-2]", "T537"),
    "one host for several": ("NodeName=n[1-2] NodeAddr=a[1-2]\nNodeName=n[3-4] NodeAddr=a[1-2]", "T537"),
    "features": ("NodeName=n1 Feature=nvl,rack1", "T555"),
    "nodes of the future": ("NodeName=n1\nNodeName=n2 State=FUTURE", "T515"),
    "no place": (aws(("i-1", ("a", "b")), ("i-2", ())), "T557"),
    "no place at all": (aws(("i-2", ())), "T557"),
    "a next page": (aws(("i-1", ("a", "b")), NextToken="x"), "T529"),
    "instances": (aws(("i-1", ("a", "b"))), "T537"),
    "no nodes": ("ClusterName=a\nPartitionName=all Nodes=ALL", "T530"),
    "words for a number of GPUs": ("NodeName=n1 Gres=gpu:h100:eight", "T530"),
    "no id": ('{"Instances": [{"NetworkNodes": ["a"]}]}', "T530"),
    "slices of no node": (listed(a_slice("", "gpu.nvidia.com", [])), "T530"),
    "a slice of two": (listed(gpus("n1", 4, slices=2)), "T529"),
    "taints": (
        listed(
            a_slice("n1", "gpu.nvidia.com", [{**gpu("g", type="gpu"), "taints": [{"key": "x", "effect": "NoExecute"}]}])
        ),
        "T513",
    ),
    "a value with a colon": (aws(("i-1", ("nn:1", "b"))), "T536"),
    "two values that meet": (aws(("i-1", ("nn:1", "b")), ("i-2", ("nn-1", "b"))), "T536"),
    "two leaf groups": (listed(nic("n1", "856", "857")), "T401"),
    "NVLink across leaves": (
        json.dumps(
            {
                "items": [
                    {**OCI, "localBlockId": f"lb{n}", "instanceId": f"i{n}", "gpuMemoryFabricId": "f"} for n in range(2)
                ]
            }
        ),
        "T510",
    ),
    "no levels": (topology(), "T461"),
    "a level twice": (topology("x.io/a", "x.io/a"), "T461"),
    "no label key": (topology("a b"), "T461"),
    "the host first": (topology("kubernetes.io/hostname", "x.io/a"), "T461"),
    "17 levels": (topology(*(f"x.io/l{n}" for n in range(17))), "T461"),
    "a list that ends in a rack": (
        discovery({"gb": [{"nodeLabel": "x.io/spine"}, {"nodeLabel": "x.io/rack"}]}),
        "T568",
    ),
    "a long type": (discovery({"g" * 21: [{"nodeLabel": "kubernetes.io/hostname"}]}), "T568"),
    "a type without labels": (discovery({"gb": []}), "T568"),
    "UFM alone": (discovery({}, {"source": "ufm"}), "T568"),
    "no YAML": (
        "apiVersion: v1\nkind: ConfigMap\ndata:\n  volcano-controller.conf: 'networkTopologyDiscovery: ['\n",
        "T568",
    ),
    "no profile": (yaml.safe_dump({**KIT, "profile": {}}), "T617"),
    "two groups": (yaml.safe_dump({**KIT, "clusterConfig": [*KIT["clusterConfig"], OTHER]}), "T617"),
}


@pytest.mark.parametrize(("text", "code"), TOLD.values(), ids=TOLD.keys())
def test_what_is_told(text: str, code: str) -> None:
    _, outcome, codes = read(text)
    assert code in codes
    assert all(each.route[0] == "source:0:0" for each in outcome.diagnostics)
    assert (outcome.value is None) == any(each.severity == "error" for each in outcome.diagnostics)


def test_a_crossing_domain_keeps_what_is_above() -> None:
    (pool,) = pools(TOLD["NVLink across leaves"][0])
    assert [each["name"] for each in pool["levels"]] == ["island", "network-block", "gpu-memory-fabric"]


SAMPLES = sorted((UPSTREAM / "examples" / "slurm").rglob("slurm.conf"))


@pytest.mark.skipif(not SAMPLES, reason="no upstream examples here")
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.parent.name)
def test_upstreams_slurm_confs(path: Any) -> None:
    (pool,) = pools(path.read_text(encoding="utf-8"))
    assert pool["name"] == "nodes"


WHOLE = [CONF, SHOWN, yaml.safe_dump(KIT), listed(*LEAVES), *(text for text, _ in TOLD.values())]
junk = st.sampled_from([None, 3, -1, 1e308, True, [], {}, "", "x", [[]], [None], {"a": {}}, "\u202e", 10**400])


@settings(max_examples=150, deadline=None)
@given(
    text=st.sampled_from(WHOLE), cut=st.floats(0, 1), put=st.sampled_from(["", "\x00", "[", "=", "\n", "\ufeff", "]"])
)
def test_broken_texts_are_refused_in_peace(text: str, cut: float, put: str) -> None:
    at = int(len(text) * cut)
    for broken in (text[:at], text[:at] + put + text[at:]):
        given = source(broken)
        for name in OURS:
            module(name).sniff(given)
            module(name).new(given, ReadOptions())


@settings(max_examples=150, deadline=None)
@given(text=st.sampled_from(WHOLE[2:]), steps=st.lists(st.integers(0, 50), max_size=12), value=junk)
def test_values_of_any_type_are_refused_in_peace(text: str, steps: list[int], value: Any) -> None:
    try:
        data = list(parse_all(text))
    except yaml.YAMLError:
        return
    broken = [_put(each, steps, value) for each in data]
    given = SourceFile("x", text, tuple(Document("x", text, n, each) for n, each in enumerate(broken)))
    for name in OURS:
        module(name).sniff(given)
        module(name).new(given, ReadOptions(nodes=NODES))


def _put(data: Any, steps: list[int], value: Any) -> Any:
    """The data with another value at the end of a way that some numbers lead."""
    if not steps or not isinstance(data, dict | list) or not data:
        return value
    step, *rest = steps
    if isinstance(data, list):
        return [_put(each, rest, value) if n == step % len(data) else each for n, each in enumerate(data)]
    return {
        key: _put(each, rest, value) if n == step % len(data) else each for n, (key, each) in enumerate(data.items())
    }
