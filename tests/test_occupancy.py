"""What runs in a cluster, read from what kubectl and Slurm print, is what their schedulers count."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bayplan.core.diagnostics import Diagnostic
from bayplan.kube import quantity
from bayplan.kube.objects import put
from bayplan.model.formats import SourceFile
from bayplan.model.plan import ONE, WHOLE, Occupant, Occupied
from bayplan.model.topology import AcceleratorKind, ClusterTopology, Fabric, NodeShape, Rail
from bayplan.topologies.hostlist import expand
from bayplan.topologies.occupancy import read, remarks
from bayplan.topologies.occupancy.ledger import Ledger
from e2e import slurm
from e2e.releases import BY_NAME, require
from e2e.scheduler import World, ask
from occupied_cluster import CARD, NODES, TOPOLOGY, api_server, listed, pods
from tools.clients import output
from tools.effort import sample
from tools.run import PRETRAIN, ROOT, bayplan

COVERS = {"R160", "R162"}

PAGE = ROOT / "docs" / "how-to" / "check-a-busy-cluster.md"


class Pieces(SourceFile):
    """A file that comes in pieces of some characters."""

    def __init__(self, text: str, size: int) -> None:
        super().__init__("pieces", text)
        self._size = size

    def chunks(self) -> Iterator[str]:
        """The text."""
        return (self._text[start : start + self._size] for start in range(0, len(self._text), self._size))


def occupied(*texts: str | SourceFile, topology: ClusterTopology = TOPOLOGY) -> tuple[Occupied, list[Diagnostic]]:
    """What runs there, and the diagnostics."""
    ledger, found = Ledger(topology), list[Diagnostic]()
    for number, text in enumerate(texts):
        found += read(text if isinstance(text, SourceFile) else SourceFile("file", text, number=number), ledger)
    amounts = ledger.occupied()
    return amounts, [*found, *remarks(ledger)]


def of(text: str, topology: ClusterTopology = TOPOLOGY) -> Occupied:
    """What runs there, without errors."""
    amounts, found = occupied(text, topology=topology)
    assert [each for each in found if each.severity == "error"] == []
    return amounts


SEEDS = sample(range(24), 6, 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_way_to_write_pods_means_the_same(seed: int) -> None:
    made = pods(seed)
    random, whole = Random(seed), of(listed(made))
    assert whole
    assert of("\n".join(map(json.dumps, made))) == whole
    assert of(json.dumps(made)) == whole
    assert of(listed(random.sample(made, len(made)))) == whole
    for size in (7, 1000):
        assert occupied(Pieces(listed(made), size))[0] == whole
    half = len(made) // 2
    assert occupied(listed(made[:half]), listed(made[half - 3 :]))[0] == whole, "a pod in two files counts once"


def whole_kubectl() -> str:
    """A kubectl that can `get`; `.ci/run` builds one that cannot."""
    places = (str(ROOT / ".ci" / "bin" / "kubectl@v1.34.3"), *(f"{each}/kubectl" for each in os.get_exec_path()))
    for each in places:
        if (
            os.path.isfile(each)
            and subprocess.run((each, "get", "--help"), capture_output=True, check=False).returncode == 0
        ):
            return each
    pytest.skip("kubectl is not installed")


def extract_command() -> str:
    """The jsonpath of the documentation."""
    found = re.search(r"kubectl get pods -A -o jsonpath='(.*)' > pods.tsv", PAGE.read_text(encoding="utf-8"))
    assert found
    return found[1]


def printed(made: Sequence[dict[str, Any]], folder: Path) -> tuple[str, str]:
    """What kubectl prints of pods: the extract of the documentation, and JSON."""
    kubectl = whole_kubectl()
    with api_server(made) as address:
        command = (kubectl, "--server", address, "--cache-dir", str(folder / "cache"), "get", "pods", "-A", "-o")
        return output(*command, f"jsonpath={extract_command()}", cwd=folder), output(*command, "json", cwd=folder)


def test_the_extract_of_kubectl_means_the_same(tmp_path: Path) -> None:
    for seed in SEEDS:
        made = pods(seed, resized=False)
        (tmp_path / str(seed)).mkdir()
        extract, whole = printed(made, tmp_path / str(seed))
        assert of(extract) == of(whole) == of(listed(made))


def test_the_pods_of_the_benchmarks_are_as_kubectl_prints_them(tmp_path: Path) -> None:
    """And their extract is as small as the documentation says."""
    clusters = runpy.run_path(str(ROOT / "benchmarks" / "clusters.py"))
    extract, whole = printed([clusters["pod"](number) for number in range(64)], tmp_path)
    written = [each.read_text(encoding="utf-8") for each in clusters["running"](tmp_path, 64)]
    assert json.loads(written[0])["items"] == json.loads(whole)["items"]
    assert abs(len(written[0]) / len(whole) - 1) < 0.05
    assert written[1] == extract
    assert len(extract) * 10 < len(whole)
    assert "less than a tenth of the size" in PAGE.read_text(encoding="utf-8")


# What kube-scheduler counts: a pod that requests exactly the rest starts, and one that requests more does not.

EXTENDED = (CARD, "example.com/rail", "hugepages-2Mi")
HAS = {"cpu": "500", "memory": "500Gi", "ephemeral-storage": "500Gi", **dict.fromkeys(EXTENDED[:2], "500")}
HAS["hugepages-2Mi"] = "4Gi"
STEP = {"cpu": 1, "hugepages-2Mi": 2 * 2**20 * 1000}
"""The smallest amount that counts, in thousandths; of other resources it is one unit."""


def probe(name: str, node: str, requests: Mapping[str, str], port: int = 0) -> dict[str, Any]:
    """A pending pod for one node."""
    ports = [{"containerPort": port, "hostPort": port, "protocol": "TCP"}] if port else []
    container = {"name": "c", "image": "x", "resources": {"requests": requests}, "ports": ports}
    selector = {"kubernetes.io/hostname": node}
    spec = {"schedulerName": "default-scheduler", "nodeSelector": selector, "containers": [container]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "probe", "uid": name},
        "spec": spec,
    }


def free(occupants: Sequence[Occupant]) -> dict[str, int]:
    """What is left of each resource, in thousandths."""
    used = quantity.added(each.amounts for each in occupants)
    used[CARD] = used.get("accelerator:h100", 0)
    return {name: quantity.parse(amount) - used.get(name, 0) for name, amount in HAS.items()}


@pytest.mark.parametrize("seed", SEEDS)
def test_kube_scheduler_counts_the_same(seed: int) -> None:
    release = BY_NAME["native 1.37.0"]
    require(release)
    made = [each for each in pods(seed, 40) if each["spec"].get("nodeName") in NODES]
    found = of(listed(made))
    active = [each for each in made if each["status"]["phase"] not in ("Succeeded", "Failed")]
    running = [{**each, "metadata": {**each["metadata"], "uid": each["metadata"]["name"]}} for each in active]

    def bound(room: int, probes: Sequence[dict[str, Any]]) -> set[str]:
        """The probes that start if a node has so many pod slots more than it uses."""
        nodes = []
        for name in NODES:
            slots = sum(each.pods for each in found.get(name, ())) + room
            amounts = {**HAS, "pods": str(slots)}
            labels = {"name": name, "labels": {"kubernetes.io/hostname": name}}
            nodes.append(
                {
                    "apiVersion": "v1",
                    "kind": "Node",
                    "metadata": labels,
                    "status": {"allocatable": amounts, "capacity": amounts},
                }
            )
        answer = ask(release.program, {"objects": [*nodes, *running, *probes]})
        return {each for each in answer["bindings"] if each in {pod["metadata"]["name"] for pod in probes}}

    exact, over, ports, open_ports = [], [], [], []
    for node in NODES:
        left = free(found.get(node, ()))
        assert min(left.values()) > 0
        shown = {name: quantity.show(amount) for name, amount in left.items()}
        exact.append(probe(f"exact-{node}", node, shown))
        for number, name in enumerate(left):
            more = quantity.show(left[name] + STEP.get(name, 1000))
            over.append(probe(f"over-{number}-{node}", node, {name: more}))
        used = {name for each in found.get(node, ()) for name in each.amounts if name.startswith("at-most:1:port ")}
        taken = [int(name.split()[1]) for name in used]
        ports += [probe(f"port-{each}-{node}", node, {}, each) for each in taken]
        open_ports.append(probe(f"open-{node}", node, {}, max(taken, default=30000) + 5000))
    assert bound(1, exact) == {each["metadata"]["name"] for each in exact}
    assert bound(100, [*over, *ports]) == set()
    assert bound(1, open_ports) == {each["metadata"]["name"] for each in open_ports}
    assert bound(0, open_ports) == set()


# Names of workloads, claims, daemons, shares of cards.


def running(name: str, node: str = "n0", **more: Any) -> dict[str, Any]:
    """A pod that requests a CPU and two cards."""
    requests = {"cpu": "1", CARD: "2", **more.pop("requests", {})}
    spec = {
        "nodeName": node,
        "containers": [{"name": "c", "resources": {"requests": requests}}],
        **more.pop("spec", {}),
    }
    metadata = {"name": name, "namespace": "a", **more}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Running"}}


def test_a_pod_of_a_whole_node_leaves_no_whole_node() -> None:
    """Its anti-affinity keeps other such pods off the node, also where the topology states no resources."""
    made = running("a", labels={"bayplan.dev/whole-node": "true"})
    (occupant,) = of(listed([made]))["n0"]
    assert occupant.amounts[WHOLE] == ONE


def owner(kind: str, name: str) -> list[dict[str, Any]]:
    """The owner references of a pod."""
    return [{"kind": kind, "name": name, "controller": True}]


@pytest.mark.parametrize(
    ("name", "metadata"),
    [
        ("p-x1", {}),
        ("db", {"ownerReferences": owner("StatefulSet", "db")}),
        ("web", {"ownerReferences": owner("ReplicaSet", "web-7b5d9c"), "labels": {"pod-template-hash": "7b5d9c"}}),
        ("web", {"ownerReferences": owner("ReplicaSet", "web-7b5d9c")}),
        (
            "train",
            {"ownerReferences": owner("Job", "train-worker-0"), "labels": {"jobset.sigs.k8s.io/jobset-name": "train"}},
        ),
        (
            "serve",
            {
                "ownerReferences": owner("StatefulSet", "serve-0"),
                "labels": {"leaderworkerset.sigs.k8s.io/name": "serve"},
            },
        ),
        ("pretrain", {"labels": {"bayplan.dev/gang": "pretrain"}}),
        ("etcd", {"name": "etcd-n0", "ownerReferences": owner("Node", "n0")}),
    ],
)
def test_a_workload_has_the_name_that_its_users_know(name: str, metadata: dict[str, Any]) -> None:
    pod = running("p-x1")
    pod["metadata"] |= metadata
    assert [each.name for each in of(listed([pod]))["n0"]] == [f"a/{name}"]


def test_finished_pods_and_pods_without_a_node_take_nothing() -> None:
    done, waiting, chosen = running("done"), running("waiting", ""), running("chosen", "")
    done["status"]["phase"] = "Failed"
    chosen["status"]["nominatedNodeName"] = "n1"
    leaving = running("leaving", "n2", deletionTimestamp="2026-11-23T12:00:00Z")
    assert {
        node: [each.name for each in held] for node, held in of(listed([done, waiting, chosen, leaving])).items()
    } == {
        "n1": ["a/chosen"],
        "n2": ["a/leaving"],
    }


def daemons(*nodes: dict[str, Any]) -> dict[str, int]:
    """What a DaemonSet's pod takes of a node whose pool states 100 CPUs."""
    pod = running("agent-1", ownerReferences=owner("DaemonSet", "agent"), requests={"cpu": "3", "memory": "1Gi"})
    pod["spec"]["containers"][0]["ports"] = [{"hostPort": 9100, "protocol": "TCP"}]
    shape = NodeShape("h100", 8, {"cpu": 100_000})
    topology = TOPOLOGY._replace(pools=(TOPOLOGY.pools[0]._replace(node=shape),))
    [occupant] = of(listed([pod, *nodes]), topology)["n0"]
    assert (occupant.name, occupant.pods) == ("a/agent", 1)
    return dict(occupant.amounts)


def test_daemons_do_not_count_twice() -> None:
    """The headroom of the topology covers them first."""
    always = {"at-most:1:port 9100 of the node": 1000, "pods": 1000, "accelerator:h100": 2000}
    assert daemons() == always
    for allocatable, counted in (("100", 3000), ("102", 1000), ("103", 0), ("110", 0)):
        node = {
            "kind": "Node",
            "metadata": {"name": "n0"},
            "status": {"allocatable": {"cpu": allocatable, "memory": "8Gi"}},
        }
        cpu = {"cpu": counted} if counted else {}
        memory = {"memory": 2**30 * 1000}  # of which the pool states nothing
        assert daemons(node) == {**always, **cpu, **memory}, allocatable


def claim(
    name: str, *devices: dict[str, Any], node: str = "n0", users: Sequence[str] = (), **more: Any
) -> dict[str, Any]:
    """An allocated claim."""
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    allocation: dict[str, Any] = {
        "devices": {"results": [{"request": "gpu", "pool": "n0", **each} for each in devices]}
    }
    if node:
        allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    reserved = [{"resource": "pods", "name": each, "uid": each} for each in users]
    spec = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]}}
    spec = more.pop("spec", spec)
    status = {"allocation": allocation, "reservedFor": reserved}
    metadata = {"name": name, "namespace": "a", **more}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    }


def gpu(number: int, **more: Any) -> dict[str, Any]:
    """A card."""
    return {"driver": "gpu.nvidia.com", "device": f"gpu-{number}", **more}


CHANNEL = {"driver": "compute-domain.nvidia.com", "device": "channel-0"}
DAEMON = {"driver": "compute-domain.nvidia.com", "device": "daemon-0"}


def selected(expression: str) -> dict[str, Any]:
    """The spec of a claim for a MIG slice."""
    exact = {"deviceClassName": "mig.nvidia.com", "selectors": [{"cel": {"expression": expression}}]}
    return {"devices": {"requests": [{"name": "gpu", "exactly": exact}]}}


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (claim("c", gpu(0), gpu(1)), {"accelerator:h100": 2000}),
        (claim("c", gpu(0), gpu(1, adminAccess=True)), {"accelerator:h100": 1000}),
        (claim("c", CHANNEL), {"imex-channel": 1000}),
        (claim("c", CHANNEL, DAEMON, gpu(0)), {"accelerator:h100": 1000, "imex-channel": 1000}),
        (claim("c", gpu(0), annotations={"resource.kubernetes.io/extended-resource-claim": "true"}), {}),
        (claim("c", {"driver": "disk.example.com", "device": "d0"}), {}),
        (
            claim(
                "c",
                gpu(0, device="gpu-0-mig-1g10gb-0"),
                spec=selected("device.attributes['gpu.nvidia.com'].profile == '3g.40gb'"),
            ),
            {"accelerator:h100": 500},
        ),
        (claim("c", gpu(0, device="gpu-0-mig-9-0-4"), gpu(0, device="gpu-0-mig-9-4-4")), {"accelerator:h100": 1000}),
        ({**claim("c", gpu(0)), "status": {}}, {}),
    ],
)
def test_a_claim_takes_its_devices(made: dict[str, Any], expected: dict[str, int]) -> None:
    taken = of(listed([made]))
    assert dict(taken["n0"][0].amounts if "n0" in taken else {}) == expected


def test_a_claim_belongs_to_the_workload_of_its_pods() -> None:
    """A claim is on the node of its pods if its devices do not say where they are, and shared devices count once."""
    pod = running("w-0", "n1", labels={"job-name": "w"}, spec={"resourceClaims": [{"name": "gpu"}]})
    where = claim("c", gpu(0), node="", users=["w-0"])
    shared = [claim(f"s{n}", gpu(7, shareID=str(n)), node="n1", users=["w-0"]) for n in range(3)]
    for order in ([pod, where, *shared], [*shared, where, pod]):
        [occupant] = of(listed(order))["n1"]
        assert occupant == Occupant("a/w", 1, {"accelerator:h100": 4000, "cpu": 1000, "pods": 1000})
    [alone] = of(listed([claim("c", gpu(0), users=["w-0"])]))["n0"]
    assert alone == Occupant("a/w-0", 1, {"accelerator:h100": 1000})


@pytest.mark.parametrize(
    ("requests", "amount"),
    [
        ({CARD: "2"}, 2000),
        ({CARD: "2", "nvidia.com/gpucores": "25"}, 2000),
        ({CARD: "2", "nvidia.com/gpucores": "25", "nvidia.com/gpumem": "20480"}, 500),
        ({CARD: "1", "nvidia.com/gpumem": "61440"}, 750),
        ({CARD: "1", "nvidia.com/gpumem-percentage": "10", "nvidia.com/gpucores": "30"}, 300),
    ],
)
def test_shares_of_hami_are_parts_of_cards(requests: dict[str, str], amount: int) -> None:
    kind = AcceleratorKind("h100", allocators=("hami",), resources={"count": CARD}, memory="80Gi")
    [occupant] = of(listed([running("p", requests=requests)]), TOPOLOGY._replace(accelerators={"h100": kind}))["n0"]
    assert occupant.amounts == {"accelerator:h100": amount, "cpu": 1000, "pods": 1000}


def test_network_cards_that_dranet_gave_away_are_rails() -> None:
    rails = (Rail(hca="mlx5_0"), Rail(hca="mlx5_1"))
    for names, expected in (
        (("mlx5-1",), {"at-most:1:rail 1 of east": 1000}),
        (("pci-0", "pci-1"), {"at-most:1:rail 0 of east": 1000, "at-most:1:rail 1 of east": 1000}),
    ):
        devices = [{"driver": "dra.net", "device": name} for name in names]
        topology = TOPOLOGY._replace(fabrics={"east": Fabric("east", "dranet", rails=rails)})
        [occupant] = of(listed([claim("c", *devices)]), topology)["n0"]
        assert occupant.amounts == expected


STRANGE = (None, True, -1, 10**30, 1.5, "", "x", "-1", [], ["x"], [[]], {}, {"x": {}}, {"name": ["x"]})
"""Values that no API server and no slurmctld returns."""


def places(data: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of all values."""
    yield path
    pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in pairs:
        yield from places(value, (*path, key))


def test_strange_values_are_errors_or_nothing() -> None:
    mig = selected("device.attributes['gpu.nvidia.com'].profile == '9x.zz'")
    spec = {"initContainers": [{"name": "i", "restartPolicy": "Always"}], "overhead": {"cpu": "1"}}
    pod = running("p", ownerReferences=owner("ReplicaSet", "p"), labels={"job-name": "p"}) | {
        "status": {"phase": "Running"}
    }
    pod["spec"] |= spec | {
        "containers": [{"name": "c", "ports": [{"hostPort": 1}], "resources": {"requests": {"cpu": "1"}}}]
    }
    claimed = claim("c", gpu(0), gpu(1, device="gpu-1-mig-0"), users=["p"], spec=mig)
    node = {
        "kind": "Node",
        "metadata": {"name": "n0"},
        "spec": {},
        "status": {"allocatable": {"cpu": "1"}, "conditions": []},
    }
    texts = [
        listed([pod, claimed, node]),
        squeue(job(7, "n[0-1]"), {"name": "n0", "alloc_cpus": 1, "gres_used": "gpu:1"}),
    ]
    for text in texts:
        data = json.loads(text)
        for path in places(data):
            for value in STRANGE:
                occupied(json.dumps(put(data, path, value)))
    line = ["a", "p", "n0", "", "Running", "{}", "[]", '{"requests":{"cpu":"1"}}[]', "{}[]Always", "{}", "{}", "[]"]
    for cell in range(len(line)):
        for value in map(json.dumps, STRANGE):
            occupied("\t".join([*line[:cell], value, *line[cell + 1 :]]))


# Slurm.


def job(number: int, nodes: str, state: Any = ("RUNNING",), **more: Any) -> dict[str, Any]:
    """A job as data_parser writes it: two CPUs, a GiB and a card on each node."""
    names = expand(nodes)
    allocation = [
        {
            "index": n,
            "name": name,
            "cpus": {"count": 2, "used": 0},
            "memory": {"used": 0, "allocated": 1024},
            "sockets": [],
        }
        for n, name in enumerate(names)
    ]
    return {
        "job_id": number,
        "user_name": "alice",
        "job_state": list(state),
        "nodes": nodes,
        "job_resources": {"nodes": {"count": len(names), "list": nodes, "whole": False, "allocation": allocation}},
        "gres_detail": ["gpu:h100:1(IDX:0)"] * len(names),
        "tres_alloc_str": f"cpu={2 * len(names)},mem={len(names)}G,node={len(names)},gres/gpu={len(names)}",
        **more,
    }


def squeue(*jobs: Any) -> str:
    """As `squeue --json` prints jobs."""
    return json.dumps(
        {"jobs": list(jobs), "meta": {"slurm": {"release": "25.11"}}, "errors": [], "warnings": []}, indent=2
    )


TAKEN = {"accelerator:h100": 1000, "cpu": 2000, "memory": 2**30 * 1000, "whole-node": 1000}


def test_jobs_take_what_slurm_gave_them() -> None:
    found = of(squeue(job(7, "n[0-1]"), job(8, "n2", ("PENDING",)), job(9, "n3", ("CANCELLED", "COMPLETING"))))
    assert found == {
        "n0": (Occupant("job 7 (alice)", 1, TAKEN),),
        "n1": (Occupant("job 7 (alice)", 1, TAKEN),),
        "n3": (Occupant("job 9 (alice)", 1, TAKEN),),
    }
    assert of(squeue(job(7, "n[0-1]", job_resources={}, gres_detail=[]))) == {
        node: held for node, held in found.items() if node != "n3"
    }, "older releases do not say what a job has of each node"
    assert of(squeue(job(7, "n[0-1]") | {"job_state": "RUNNING"}))["n0"] == found["n0"]


RECORD = """NodeName={} Arch=x86_64 CoresPerSocket=64
   CPUAlloc={} CPUEfctv=128 CPUTot=128 CPULoad=3.00
   Gres=gpu:h100:8(S:0-1)
   RealMemory=1000000 AllocMem={} FreeMem=500000 Sockets=2 Boards=1
   State={} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   CfgTRES=cpu=128,mem=1000000M,billing=128,gres/gpu=8
   AllocTRES=cpu={},mem={}M,gres/gpu={}

"""


def scontrol(name: str, cpus: int, memory: int, cards: int, state: str = "MIXED") -> str:
    """A record of `scontrol show node`."""
    return RECORD.format(name, cpus, memory, state, cpus, memory, cards)


def test_jobs_without_the_data_about_slurm_are_jobs() -> None:
    assert of(json.dumps({"jobs": [job(7, "n0")]})) == of(squeue(job(7, "n0")))
    assert of('{"jobs": []}') == {}


def test_nodes_of_slurm_give_what_no_job_is_listed_for() -> None:
    nodes = scontrol("n0", 6, 3072, 3) + scontrol("n1", 0, 0, 0, "IDLE+DRAIN") + scontrol("n2", 2, 1024, 1)
    data = [
        {"name": "n0", "alloc_cpus": 6, "alloc_memory": 3072, "gres_used": "gpu:h100:3(IDX:0-2)", "state": ["MIXED"]},
        {"name": "n1", "alloc_cpus": 0, "alloc_memory": 0, "gres_used": "gpu:h100:0", "state": ["IDLE", "DRAIN"]},
        {
            "name": "n2",
            "alloc_cpus": 2,
            "alloc_memory": 1024,
            "tres_used": "cpu=2,mem=1G,gres/gpu=1",
            "state": ["MIXED"],
        },
    ]
    rest = {"accelerator:h100": 2000, "cpu": 4000, "memory": 2**31 * 1000}
    for form in (nodes, json.dumps({"nodes": data, "meta": {}})):
        for order in ((form, squeue(job(7, "n0"))), (squeue(job(7, "n0")), form)):
            found, diagnostics = occupied(*order)
            assert found["n0"] == (Occupant("job 7 (alice)", 1, TAKEN), Occupant("other jobs", 0, rest))
            assert found["n2"] == (Occupant("jobs", 0, TAKEN),)
            assert [each.code for each in diagnostics] == ["R162"]
            assert "n1" in diagnostics[0].message


def submitted(random: Random, number: int) -> list[str]:
    """The options of a random job."""
    options = [f"--nodes={random.choice((1, 1, 2, 3))}", f"--cpus-per-task={random.choice((1, 3, 8))}"]
    options += [
        f"--mem={random.choice((100, 5000))}",
        *random.choice(([], [f"--gpus-per-node={random.choice((1, 2))}"])),
    ]
    return ["--nodes=1", "--exclusive"] if number == 4 else options


def test_slurm_itself_counts_the_same() -> None:
    """Jobs and nodes have the same amounts. A job for exactly the rest of a node starts, and larger ones do not."""
    release = BY_NAME["slurm 25.11"]
    require(release)
    shape = NodeShape("h100", 8, {"cpu": 64_000, "memory": 2**39 * 1000})
    topology = TOPOLOGY._replace(pools=(TOPOLOGY.pools[0]._replace(node=shape),))
    flat = {"kind": slurm.TOPOLOGY, "topologies": [{"topology": "flat", "cluster_default": True, "flat": True}]}
    partition = {"kind": slurm.JOB, "sections": [{"pool": "gpu", "options": {"partition": "gpu"}}]}
    with slurm.slurmctld(World(topology, [], [], [flat, partition]), release) as command:

        def submit(name: str, *options: str) -> None:
            common = ("--partition=gpu", "--output=/dev/null", "--ntasks-per-node=1", f"--job-name={name}")
            done = command("sbatch", *common, *options, text="#!/bin/sh\n")
            assert done.returncode == 0 or "configuration is not available" in done.stderr, done.stderr

        def states(wanted: int) -> dict[str, str]:
            """Name -> state, when so many jobs have nodes."""
            for _ in range(100):
                data = json.loads(command("scontrol", "show", "job", "--json").stdout)
                found = {each["name"]: each["job_state"][0] for each in data["jobs"]}
                if sum(state == "RUNNING" for state in found.values()) >= wanted:
                    break
                time.sleep(0.1)
            return found

        random = Random(7)
        for number in range(8):
            submit(f"job-{number}", *submitted(random, number))
        states(8)
        listed_jobs = command("scontrol", "show", "job", "--json").stdout
        as_json = command("scontrol", "show", "node", "--json").stdout
        as_text = command("scontrol", "-d", "show", "node").stdout
        by_job, totals = of(listed_jobs, topology), of(as_text, topology)
        assert totals
        assert of(as_json, topology) == totals
        assert occupied(listed_jobs, as_text, topology=topology)[0] == by_job, "the nodes have no other jobs"
        exact = 0
        for node, (occupant,) in totals.items():
            used = {name: amount // 1000 for name, amount in occupant.amounts.items()}
            cpus, memory = 64 - used["cpu"], 2**19 - used["memory"] // 2**20
            cards = 8 - used.get("accelerator:h100", 0)
            if cpus:
                submit(f"over-{node}", f"--nodelist={node}", f"--gpus-per-node={cards + 1}", "--mem=1")
                submit(f"more-{node}", f"--nodelist={node}", f"--cpus-per-task={cpus + 1}", "--mem=1")
                submit(f"large-{node}", f"--nodelist={node}", f"--mem={memory + 1}")
                rest = [f"--gpus-per-node={cards}"] if cards else []
                submit(f"exact-{node}", f"--nodelist={node}", f"--cpus-per-task={cpus}", f"--mem={memory}", *rest)
                exact += 1
        assert exact
        found = {name: state for name, state in states(8 + exact).items() if not name.startswith("job-")}
        started = {name for name, state in found.items() if state == "RUNNING"}
        assert started == {f"exact-{node}" for node, (each,) in totals.items() if each.amounts["cpu"] < 64_000}


# What the files change, and what they do not.


def test_manifests_do_not_depend_on_what_runs() -> None:
    words = (str(PRETRAIN / "workflow.yaml"), "-t", str(PRETRAIN / "topology.yaml"))
    busy = ("--occupied", str(PRETRAIN / "pods.tsv"))
    plain, other = (bayplan("render", *words, *more) for more in ((), busy))
    assert plain.returncode == other.returncode == 0
    assert plain.stdout == other.stdout
    assert "spine-a/8c1f-a1.1" in bayplan("plan", *words).stdout
    assert "spine-b/8c1f-b2.1" in bayplan("plan", *words, *busy).stdout
    full = bayplan("render", *words, *busy, "--occupied", str(PRETRAIN / "sweep.jsonl"))
    assert full.returncode == 1
    assert full.stdout == ""
    assert "taken by team-b/train-7" in full.stderr


def test_charts_and_comparisons_see_what_runs(tmp_path: Path) -> None:
    words = ("-t", str(PRETRAIN / "topology.yaml"))
    requests = {"requests": {CARD: "4"}, "limits": {CARD: "4"}}
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x", "resources": requests}]}}
    annotations = {"bayplan.dev/placement": "required=rack"}
    spec = {"parallelism": 15, "completions": 15, "completionMode": "Indexed", "template": template}
    metadata = {"name": "tune", "namespace": "ml", "annotations": annotations}
    chart = json.dumps({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec})
    racks = [f"gb-{rack}{n}-n{node:02}" for rack in "ab" for n in range(1, 7) for node in range(1, 5)]
    made = [running(f"p{n}", node, requests={CARD: "4"}, labels={"job-name": "sweep"}) for n, node in enumerate(racks)]
    (tmp_path / "pods.json").write_text(listed(made))
    busy = ("--occupied", str(tmp_path / "pods.json"))
    assert bayplan("post-render", *words, stdin=chart).returncode == 0
    refused = bayplan("post-render", *words, *busy, stdin=chart)
    assert refused.returncode == 1
    assert "taken by a/sweep" in refused.stderr
    compared = bayplan("check", str(PRETRAIN / "workflow.yaml"), *words, *busy, "-s", "all")
    assert compared.returncode == 1
    assert "P551" in compared.stdout


def test_invisible_characters_do_not_reach_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "pods.json").write_text(listed([running("p", "gb-a1-n01", labels={"job-name": "a\u202eb"})]))
    words = (str(PRETRAIN / "topology.yaml"), "--free", "--occupied", str(tmp_path / "pods.json"))
    shown = bayplan("topology", "show", *words).stdout
    assert "a\\u202eb" in shown
    assert "\u202e" not in shown
