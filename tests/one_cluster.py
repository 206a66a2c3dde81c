"""One cluster of 16 nodes, written as every source of topologies would tell of it.

Two spines of two racks of four GB200 nodes; every writer goes by `NODES` alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import yaml

import fabric_texts
from bayplan.topologies import hostlist
from topology_files import exported, topology

PRODUCT = "NVIDIA-GB200"
SPINE, RACK = "example.com/spine", "example.com/rack"


class Node(NamedTuple):
    """A node and its place."""

    name: str
    spine: str
    rack: str

    @property
    def labels(self) -> dict[str, str]:
        return {"kubernetes.io/hostname": self.name, SPINE: self.spine, RACK: self.rack}


NODES = tuple(
    Node(f"gb-{spine}{rack}-n{number}", f"s{spine}", f"r{spine}{rack}")
    for spine in "12"
    for rack in "12"
    for number in "1234"
)
SPINES = {node.spine: None for node in NODES}
RACKS = {node.rack: node.spine for node in NODES}


def nodes_of(**place: str) -> list[str]:
    """The names of the nodes there."""
    return [each.name for each in NODES if all(getattr(each, key) == value for key, value in place.items())]


def racks_of(spine: str) -> list[str]:
    return [rack for rack, above in RACKS.items() if above == spine]


def native_text() -> str:
    """The file that somebody would have typed."""
    rows = [{"path": f"{RACKS[rack]}/{rack}", "nodes": hostlist.compress(nodes_of(rack=rack))} for rack in RACKS]
    levels = [{"name": "spine", "label": SPINE}, {"name": "rack", "label": RACK}]
    pool = {"name": "nodes", "node": {}, "levels": levels, "domains": rows}
    document = {"apiVersion": "bayplan.dev/v1alpha1", "kind": "ClusterTopology", "metadata": {"name": "hall"}}
    return yaml.safe_dump({**document, "spec": {"pools": [pool]}})


def _written(word: str) -> str:
    text, found = exported(topology(native_text()), word)
    assert text, found
    return text


def kube_node(node: Node, labels: Mapping[str, str]) -> dict[str, Any]:
    """A node as Kubernetes has it."""
    amounts = {"cpu": "140", "memory": "900Gi", "pods": "110", "nvidia.com/gpu": "4"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node.name, "labels": {"kubernetes.io/hostname": node.name, **GPU, **labels}},
        "spec": {"providerID": f"test:///{node.name}"},
        "status": {"allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
    }


GPU = {"nvidia.com/gpu.product": PRODUCT, "nvidia.com/gpu.count": "4", "kubernetes.io/arch": "arm64"}


def kube_list(labels: Callable[[Node], Mapping[str, str]] = lambda node: node.labels) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": [kube_node(node, labels(node)) for node in NODES]}


def slim(labels: Callable[[Node], Mapping[str, str]] = lambda node: node.labels) -> str:
    """The extract of one line a node."""
    lines = []
    for each in kube_list(labels)["items"]:
        allocatable, own = (json.dumps(part) for part in (each["status"]["allocatable"], each["metadata"]["labels"]))
        lines.append(f"{each['metadata']['name']}\t\tTrue\t{allocatable}\t{own}\n")
    return "".join(lines)


def slurm_tree() -> str:
    lines = ["SwitchName=top Switches=s1,s2"]
    lines += [f"SwitchName={spine} Switches={','.join(racks_of(spine))}" for spine in SPINES]
    lines += [f"SwitchName={rack} Nodes={hostlist.compress(nodes_of(rack=rack))}" for rack in RACKS]
    return "".join(f"{line}\n" for line in lines)


def slurm_blocks() -> str:
    lines = [f"BlockName={rack} Nodes={hostlist.compress(nodes_of(rack=rack))}" for rack in RACKS]
    return "".join(f"{line}\n" for line in (*lines, "BlockSizes=4,8"))


def scontrol() -> str:
    """What `scontrol show topology` prints of the tree."""
    lines = [f"SwitchName=top Level=2 LinkSpeed=1 Nodes={hostlist.compress(nodes_of())} Switches=s[1-2]"]
    for spine in SPINES:
        racks = hostlist.compress(racks_of(spine))
        lines.append(
            f"SwitchName={spine} Level=1 LinkSpeed=1 Nodes={hostlist.compress(nodes_of(spine=spine))} Switches={racks}"
        )
    lines += [f"SwitchName={rack} Level=0 LinkSpeed=1 Nodes={hostlist.compress(nodes_of(rack=rack))}" for rack in RACKS]
    return "".join(f"{line}\n" for line in lines)


def topology_yaml() -> str:
    switches: list[dict[str, str]] = [{"switch": "top", "children": "s[1-2]"}]
    switches += [{"switch": spine, "children": ",".join(racks_of(spine))} for spine in SPINES]
    switches += [{"switch": rack, "nodes": hostlist.compress(nodes_of(rack=rack))} for rack in RACKS]
    return yaml.safe_dump(
        [{"topology": "hall", "cluster_default": True, "tree": {"switches": switches}}], sort_keys=False
    )


def topograph_model() -> str:
    switches: dict[str, Any] = {"core": {"switches": list(SPINES)}}
    switches |= {spine: {"switches": racks_of(spine)} for spine in SPINES}
    blocks = [{"switch": rack, "nodes": [hostlist.compress(nodes_of(rack=rack))]} for rack in RACKS]
    return yaml.safe_dump({"switches": switches, "blocks": blocks}, sort_keys=False)


def topograph_graph() -> str:
    instances = [{"id": each.name, "network_layers": [each.rack, each.spine], "labels": {}} for each in NODES]
    return json.dumps({"instances": instances})


def hall() -> fabric_texts.Hall:
    """The same hosts on a rail-optimised fabric: a rack's nodes share two leaves, the racks of a spine two spines."""
    return fabric_texts.Hall(tuple(tuple(nodes_of(rack=rack)) for rack in RACKS), block=2, core=True)


def hyper_nodes(regex: bool = False) -> str:
    documents = []
    for name, tier, kind, below in (
        *((spine, 2, "HyperNode", racks_of(spine)) for spine in SPINES),
        *((rack, 1, "Node", nodes_of(rack=rack)) for rack in RACKS),
    ):
        members: list[dict[str, Any]] = [{"type": kind, "selector": {"exactMatch": {"name": each}}} for each in below]
        if regex and kind == "Node":
            members = [{"type": kind, "selector": {"regexMatch": {"pattern": f"^gb-{name[1:]}-n"}}}]
        spec = {"tier": tier, "members": members}
        head = {"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", "metadata": {"name": name}}
        documents.append({**head, "spec": spec})
    return yaml.safe_dump_all(documents, sort_keys=False)


def aws() -> str:
    entries = [{"InstanceId": e.name, "NetworkNodes": ["nn-0", e.spine, e.rack]} for e in NODES]
    return json.dumps({"Instances": entries})


def gcp() -> str:
    return json.dumps(
        [
            {
                "name": each.name,
                "id": str(number),
                "status": "RUNNING",
                "resourceStatus": {
                    "physicalHostTopology": {"cluster": "c", "block": each.spine, "subblock": each.rack}
                },
            }
            for number, each in enumerate(NODES)
        ]
    )


def oci() -> str:
    keys = ("hpcIslandId", "networkBlockId", "localBlockId")
    return json.dumps(
        {"items": [dict(zip(keys, ("i", e.spine, e.rack), strict=True), instanceId=e.name) for e in NODES]}
    )


def nebius() -> str:
    def entry(each: Node) -> dict[str, Any]:
        path = {"path": ["top", each.spine, each.rack]}
        return {"metadata": {"id": each.name}, "spec": {}, "status": {"infinibandTopologyPath": path}}

    return json.dumps({"items": [entry(each) for each in NODES]})


def lambdai() -> str:
    entries = [
        {"id": e.name, "networkPath": [{"id": e.rack}, {"id": e.spine}, {"id": "top"}], "nvlink": None} for e in NODES
    ]
    return json.dumps({"data": entries})


def topograph_labels(node: Node) -> dict[str, str]:
    return {"fabric.topograph.run/tier-0": node.rack, "fabric.topograph.run/tier-1": node.spine}


def eks_labels(node: Node) -> dict[str, str]:
    keys = (f"topology.k8s.aws/network-node-layer-{n}" for n in (1, 2, 3))
    return dict(zip(keys, ("nn-0", node.spine, node.rack), strict=True))


def coreweave_labels(node: Node) -> dict[str, str]:
    head = {"backend.coreweave.cloud/fabric": "F1", "backend.coreweave.cloud/superpod": "1"}
    return {**head, "backend.coreweave.cloud/leafgroup": node.spine, "ds.coreweave.com/nvlink.domain": node.rack}


class Told(NamedTuple):
    """How one source, or several together, tell of the cluster: files, and options of the import."""

    files: tuple[tuple[str, str], ...]
    options: tuple[str, ...] = ()
    named: bool = True  # whether it calls domains as the others do


def one(text: str, name: str = "source.txt", **rest: Any) -> Told:
    return Told(((name, text),), **rest)


LEVELS = ("--level", f"spine={SPINE}", "--level", f"rack={RACK}")


def sources() -> dict[str, Told]:
    """Name -> what is told."""
    nodes = json.dumps(kube_list())
    exports = ("kueue", "kai", "koordinator")
    return {
        "slurm-topology-conf": one(slurm_tree()),
        "slurm-blocks": one(slurm_blocks(), named=False),
        "slurm-scontrol": one(scontrol()),
        "slurm-topology-yaml": one(topology_yaml()),
        "topograph-model": one(topograph_model()),
        "topograph-graph": one(topograph_graph()),
        "ibnetdiscover": one(fabric_texts.ibnetdiscover(hall()), named=False),
        "ufm": one(json.dumps(fabric_texts.ufm(hall())), named=False),
        "netq": one(json.dumps(fabric_texts.netq(hall())), named=False),
        "hypernodes": one(hyper_nodes()),
        "cloud-aws": one(aws()),
        "cloud-gcp": one(gcp()),
        "cloud-oci": one(oci()),
        "cloud-nebius": one(nebius()),
        "cloud-lambda": one(lambdai()),
        **{f"export-{word}": one(_written(word)) for word in ("slurm", "slurm-conf", "volcano", "topograph")},
        "export-topograph-graph": one(_written("topograph-graph")),
        "export-node-labels": one(_written("node-labels"), options=LEVELS),
        "nodes-json": one(nodes, options=LEVELS),
        "nodes-pretty": one(json.dumps(kube_list(), indent=4), options=LEVELS),
        "nodes-yaml": one(yaml.safe_dump(kube_list()), options=LEVELS),
        "nodes-slim": one(slim(), options=LEVELS),
        "nodes-topograph": one(slim(topograph_labels)),
        "nodes-eks": one(slim(eks_labels)),
        "nodes-coreweave": one(slim(coreweave_labels)),
        **{f"{word}-with-nodes": Told((("frame.yaml", _written(word)), ("nodes.json", nodes))) for word in exports},
        "hypernodes-with-nodes": Told((("hypernodes.yaml", hyper_nodes(regex=True)), ("nodes.json", nodes))),
    }


def tree(names: Iterable[tuple[tuple[str, ...], tuple[str, ...]]]) -> str:
    """Levels as nested hostlists, each level's own line indented; levels with one domain say nothing."""
    held: dict[tuple[str, ...], list[str]] = {}
    for path, nodes in names:
        for depth in range(len(path) + 1):
            held.setdefault(path[:depth], []).extend(nodes)
    sets: dict[frozenset[str], None] = {}
    for nodes in held.values():
        sets.setdefault(frozenset(nodes))
    lines = sorted((sorted(each), len(each)) for each in sets)
    ordered = sorted(lines, key=lambda line: (line[0][0], -line[1]))
    sizes = sorted({size for _, size in ordered}, reverse=True)
    return "".join(f"{'  ' * sizes.index(size)}{hostlist.compress(nodes)}\n" for nodes, size in ordered)
