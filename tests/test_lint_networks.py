"""Lint of secondary networks: what each rule finds, that it finds nothing else, and that nothing makes it fail."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan import pipeline
from bayplan.text import document
from judges import UPSTREAM
from support import TOPOLOGY
from test_lint import MINE, WILD, changed, places
from tools.data import parse

COVERS = {"M815", "M844", "M842", "M703", "M847", "M850", "M849", "M852", "M853", "M813", "M857", "M858"}
NETWORKS = "k8s.v1.cni.cncf.io/networks"
EXAMPLES = UPSTREAM / "examples"


def pod(networks: Any = None, devices: Mapping[str, Any] = {}, **spec: Any) -> dict[str, Any]:
    """A pod; `requests`, `env`, `lock` are its container's."""
    lock, env, requests = spec.pop("lock", True), spec.pop("env", {}), spec.pop("requests", None)
    container: dict[str, Any] = {"name": "main", "image": "i"}
    if devices or requests:
        container["resources"] = {"limits": dict(devices), **({"requests": requests} if requests else {})}
    if lock:
        container["securityContext"] = {"capabilities": {"add": ["IPC_LOCK"]}}
    if env:
        container["env"] = [{"name": name, "value": value} for name, value in env.items()]
    text = networks if isinstance(networks, str) or networks is None else json.dumps(networks)
    metadata = {"name": "p", "namespace": "ml", **({"annotations": {NETWORKS: text}} if text is not None else {})}
    spec = {"schedulerName": "kai-scheduler", **spec, "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def jobs(*pods: dict[str, Any], outer: str = "") -> dict[str, Any]:
    """A Volcano Job with a task for each pod."""
    annotations = {"annotations": {NETWORKS: outer}} if outer else {}
    tasks = [
        {"name": f"t{n}", "replicas": 4, "template": {"metadata": each["metadata"], "spec": each["spec"]}}
        for n, each in enumerate(pods)
    ]
    tasks = [{**each, "template": {**each["template"], "metadata": _nameless(each)}} for each in tasks]
    head = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "j", **annotations}}
    return {**head, "spec": {"schedulerName": "volcano", "minAvailable": 4 * len(pods), "tasks": tasks}}


def _nameless(task: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in task["template"]["metadata"].items() if key == "annotations"}


def one(kind: str, name: str, api: str = "mellanox.com/v1alpha1", namespace: str = "", **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}


def rail(number: int, space: str = "ml", **spec: Any) -> dict[str, Any]:
    return one("HostDeviceNetwork", f"rail-{number}", networkNamespace=space, resourceName=f"rail_{number}", **spec)


def macvlan(name: str = "mv", ipam: Any = None, **spec: Any) -> dict[str, Any]:
    text = ipam if isinstance(ipam, str) else json.dumps(ipam) if ipam else ""
    own = {"networkNamespace": "ml", "master": "ens1f0", **({"ipam": text} if text else {}), **spec}
    return one("MacvlanNetwork", name, **{key: value for key, value in own.items() if value})


def sriov(kind: str, **spec: Any) -> dict[str, Any]:
    return one(kind, "s", "sriovnetwork.openshift.io/v1", "operator", resourceName="vf", **spec)


def policy(**spec: Any) -> dict[str, Any]:
    own = {"nodeSelector": {"a": "b"}, "numVfs": 4, "nicSelector": {"vendor": "15b3"}, **spec}
    return sriov("SriovNetworkNodePolicy", **{key: value for key, value in own.items() if value is not None})


def nic(name: str = "nic-cluster-policy", **configs: Any) -> dict[str, Any]:
    plugins = {
        key: {"image": "i", "config": value if isinstance(value, str) else json.dumps(value)}
        for key, value in configs.items()
    }
    return one("NicClusterPolicy", name, **plugins)


def pool(kind: str = "IPPool", **spec: Any) -> dict[str, Any]:
    return one(kind, "pool", "nv-ipam.nvidia.com/v1alpha1", "operator", **spec)


def nad(name: str, resource: str = "", **config: Any) -> dict[str, Any]:
    made = one("NetworkAttachmentDefinition", name, "k8s.cni.cncf.io/v1", "ml", config=json.dumps(config))
    made["metadata"]["annotations"] = {"k8s.v1.cni.cncf.io/resourceName": resource} if resource else {}
    return made


def space(level: str) -> dict[str, Any]:
    made = one("Namespace", "ml", "v1")
    made["metadata"]["labels"] = {"pod-security.kubernetes.io/enforce": level}
    return made


VF, IB = {"nvidia.com/rail_0": 1}, {"rdma/ib": 1}
HOST = {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
WHERE = {"type": "whereabouts", "range": "10.0.0.0/24"}
NV = {"type": "nv-ipam", "poolName": "pool"}
SHARED = {"configList": [{"resourceName": "ib", "rdmaHcaMax": 63, "selectors": {"vendors": ["15b3"]}}]}
RAIL = {"resourceName": "rail_0", "resourcePrefix": "nvidia.com", "selectors": {"pfNames": ["ens1f0"]}}


def claims(constraint: list[str] | None = None, count: int = 1, **settings: Any) -> dict[str, Any]:
    """A claim for GPUs and a card."""
    gpus = {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": count}}
    card = {"name": "nic", "exactly": {"deviceClassName": "dranet"}}
    root = {"matchAttribute": "resource.kubernetes.io/pcieRoot", "requests": constraint}
    devices = {
        "requests": [gpus, card],
        **({"constraints": [root]} if constraint else {}),
        **({"config": [{"opaque": {"driver": "dra.net", "parameters": settings}}]} if settings else {}),
    }
    return one("ResourceClaimTemplate", "c", "resource.k8s.io/v1", "ml", spec={"devices": devices})


class Row(NamedTuple):
    """`found`: code and the first letter of the severity."""

    name: str
    objects: list[dict[str, Any]]
    found: Sequence[str] = ()
    target: Mapping[str, str] = {}


ROWS = (
    Row("a pod on its rail", [rail(0), pod("rail-0", VF)]),
    Row("a share and a network", [macvlan(), pod("mv", IB)]),
    Row("on the workload", [jobs(pod("a", IB), outer="a")], ["M815e"]),
    Row("one task of two", [rail(0), jobs(pod("ml/rail-0", VF), pod(None, VF))], ["M844e", "M844w"]),
    Row("a task on the host's network", [rail(0), jobs(pod("ml/rail-0", VF), pod(None, VF, **HOST))]),
    Row("a pod on the host's network", [rail(0), pod(None, VF, **HOST)]),
    Row("a task with other cards", [jobs(pod("a", IB), pod(None, {"nvidia.com/gpu": 1}))], ["M844w"]),
    Row("a launcher without cards", [jobs(pod("a", IB), pod())]),
    Row("no network's name", [pod("Rail_0")], ["M842e"]),
    Row("two slashes", [pod("a/b/c")], ["M842e"]),
    Row("a name, slashes, an interface", [pod("R_0,a/b/c,b@eth0")], ["M842e", "M842e", "M842e"]),
    Row("a key and a name", [pod([{"name": "a", "gateway": ["10.0.0.1"]}, {"name": "R_1"}])], ["M842e", "M842w"]),
    Row("refused and not counted", [rail(0), pod("R_1", {"nvidia.com/rail_0": 2})], ["M842e"]),
    Row("a mapping for a list", [pod('{"name": "a"}')], ["M842e"]),
    Row("broken JSON", [pod('[{"name": "a"}')], ["M842e"]),
    Row("a key from a comment", [pod([{"name": "a", "gateway": ["10.0.0.1"]}])], ["M842w"]),
    Row("misspelt", [rail(0), pod("rail-o", VF)], ["M842e", "M844w"]),
    Row("in another namespace", [rail(0, "fabric"), pod("rail-0", VF)], ["M842e", "M844w"]),
    Row("nobody's", [rail(0), pod("quite-another")], ["M842w"]),
    Row("nothing is described", [pod("quite-another")]),
    Row("two networks of one device", [rail(0), pod("rail-0,rail-0", VF)], ["M844e"]),
    Row("two devices for one network", [rail(0), pod("rail-0", {"nvidia.com/rail_0": 2})], ["M844e"]),
    Row("a device and no network", [rail(0), pod(None, VF)], ["M844w"]),
    Row("many shares", [pod(None, {"rdma/shared_ib": 8})], ["M844w"]),
    Row("many devices", [pod(None, {"rdma/ib": 8})]),
    Row("too long", [pod("a@a-very-long-interface")], ["M842e"]),
    Row("the pod's own", [pod("a@eth0")], ["M842e"]),
    Row("twice", [pod("a@net2,b")], ["M842e"]),
    Row("half a card", [pod(None, {"nvidia.com/gpu": "500m"})], ["M703e"]),
    Row("more asked than allowed", [pod(None, {"rdma/ib": 1}, requests={"rdma/ib": 2})], ["M703e"]),
    Row("asked and not limited", [pod(None, {}, requests={"rdma/ib": 1})], ["M703e"]),
    Row("no right to lock", [pod(None, IB, lock=False)], ["M847w"]),
    Row("macvlan over InfiniBand", [macvlan(master="ibs3f0")], ["M850e"]),
    Row("IPoIB over Ethernet", [one("IPoIBNetwork", "i", networkNamespace="ml", master="ens1f0")], ["M850e"]),
    Row("functions of other links", [policy(linkType="ib"), sriov("SriovNetwork")], ["M850e"]),
    Row("functions of these links", [policy(linkType="IB"), sriov("SriovIBNetwork")]),
    Row("a comma too many", [macvlan(ipam='{"type": "static",}')], ["M849e"]),
    Row("a single quote", [macvlan(ipam={"type": "static", "a": "it's"})], ["M849e"]),
    Row("a blank", [macvlan(ipam={"type": "static", "a": "b c"})], ["M849e"]),
    Row("an unknown plugin", [macvlan(ipam={"type": "nvipam"})], ["M849w"]),
    Row("no plugin", [macvlan(ipam={"range": "10.0.0.0/24"})], ["M849e"]),
    Row("a gateway elsewhere", [macvlan(ipam={**WHERE, "gateway": "10.0.1.1"})], ["M849w"]),
    Row("no range", [macvlan(ipam={"type": "whereabouts", "range": "many"})], ["M849e"]),
    Row("a range between addresses", [macvlan(ipam={**WHERE, "range": "10.0.0.5-10.0.0.9/24"})]),
    Row(
        "too few addresses",
        [macvlan(ipam={**WHERE, "range": "10.0.0.0/30"}), jobs(pod("ml/mv", IB))],
        ["M849e"],
    ),
    Row("all excluded", [macvlan(ipam={**WHERE, "exclude": ["10.0.0.0/24"]})], ["M849e"]),
    Row("no pool's name", [macvlan(ipam={"type": "nv-ipam"})], ["M849e"]),
    Row(
        "another pool", [macvlan(ipam={**NV, "poolName": "lake"}), pool(subnet="10.0.0.0/16", perNodeBlockSize=8)]
    )._replace(found=["M849w"]),
    Row(
        "a pool of another kind",
        [macvlan(ipam={**NV, "poolType": "cidrpool"}), pool(subnet="10.0.0.0/16", perNodeBlockSize=8)],
    )._replace(found=["M849e"]),
    Row("a block too large", [pool(subnet="10.0.0.0/24", perNodeBlockSize=300)], ["M849e"]),
    Row("too many nodes", [pool(subnet="10.0.0.0/24", perNodeBlockSize=16)], ["M849e"]),
    Row("some nodes", [pool(subnet="10.0.0.0/24", perNodeBlockSize=16, nodeSelector={"nodeSelectorTerms": []})]),
    Row("a pool's gateway", [pool(subnet="10.0.0.0/16", perNodeBlockSize=8, gateway="10.1.0.1")], ["M849e"]),
    Row(
        "routes to nowhere", [pool(subnet="10.0.0.0/16", perNodeBlockSize=8, routes=[{"dst": "1.0.0.0/8"}])], ["M849e"]
    ),
    Row("host bits", [pool("CIDRPool", cidr="10.0.0.1/16", perNodeNetworkPrefix=24)], ["M849e"]),
    Row("a prefix too short", [pool("CIDRPool", cidr="10.0.0.0/16", perNodeNetworkPrefix=8)], ["M849e"]),
    Row("too few prefixes", [pool("CIDRPool", cidr="10.0.0.0/24", perNodeNetworkPrefix=28)], ["M849e"]),
    Row("enough prefixes", [pool("CIDRPool", cidr="10.0.0.0/16", perNodeNetworkPrefix=28)]),
    Row(
        "no namespace",
        [one("HostDeviceNetwork", "h", resourceName="a"), macvlan(networkNamespace="")],
        ["M850e", "M850w"],
    ),
    Row(
        "a prefix of its own",
        [one("HostDeviceNetwork", "h", networkNamespace="ml", resourceName="nvidia.com/a")],
        ["M850e"],
    ),
    Row("no resource", [one("HostDeviceNetwork", "h", networkNamespace="ml")], ["M850e"]),
    Row("no port", [macvlan(master="")], ["M850w"]),
    Row("no MTU", [macvlan(mtu=-1), nad("n", type="macvlan", master="ens1", mtu=70_000)], ["M850e", "M850e"]),
    Row("an MTU", [macvlan(mtu=9000), nad("n", type="macvlan", master="ens1", mtu=0)]),
    Row("no device to move", [nad("h", type="host-device")], ["M850e"]),
    Row("no device behind plugins", [nad("h", plugins=[{"type": "ib-sriov"}, {"type": "tuning"}])], ["M850e"]),
    Row("a device by address", [nad("h", type="host-device", pciBusID="0000:1a:00.1")]),
    Row("a device by resource", [nad("h", "nvidia.com/rail_0", type="host-device")]),
    Row(
        "an address for a subnet too short",
        [pool("CIDRPool", cidr="10.0.0.5/24", perNodeNetworkPrefix=20)],
        ["M849e"] * 2,
    ),
    Row("no mode", [macvlan(mode="bridged")], ["M850e"]),
    Row("a field of others", [one("IPoIBNetwork", "i", networkNamespace="ml", master="ibs1", mtu=9000)], ["M850e"]),
    Row("another policy", [nic("mine")], ["M850e"]),
    Row(
        "two policies for one part",
        [nic(rdmaSharedDevicePlugin=SHARED), {**nic("n", rdmaSharedDevicePlugin=SHARED), "kind": "NicNodePolicy"}],
        ["M850e"],
    ),
    Row("no nodes", [policy(nodeSelector=None)], ["M850e"]),
    Row("no card", [policy(nicSelector={})], ["M850e"]),
    Row("functions for machines", [policy(deviceType="vfio-pci", isRdma=True)], ["M850e"]),
    Row("a switch for InfiniBand", [policy(linkType="ib", eSwitchMode="switchdev")], ["M850e"]),
    Row("functions that are not there", [policy(nicSelector={"pfNames": ["ens1f0#0-4", "ens2f0#0-3"]})], ["M850e"]),
    Row(
        "nobody makes functions",
        [
            policy(),
            sriov("SriovNetwork"),
            one("SriovNetwork", "t", "sriovnetwork.openshift.io/v1", "operator", resourceName="other"),
        ],
        ["M850w"],
    ),
    Row(
        "another prefix",
        [nic(sriovDevicePlugin={"resourceList": [{**RAIL, "resourcePrefix": "x.io"}]}), rail(0)],
        ["M850e"],
    ),
    Row("another resource", [nic(sriovDevicePlugin={"resourceList": [RAIL]}), rail(1)], ["M850w"]),
    Row("the same", [nic(sriovDevicePlugin={"resourceList": [RAIL]}, rdmaSharedDevicePlugin=SHARED), rail(0)]),
    Row("no JSON", [nic(rdmaSharedDevicePlugin="configList")], ["M850e"]),
    Row("no list", [nic(rdmaSharedDevicePlugin={"configList": []})], ["M850e"]),
    Row("a dot", [nic(sriovDevicePlugin={"resourceList": [{**RAIL, "resourceName": "a.b"}]})], ["M850e"]),
    Row("a dash", [nic(sriovDevicePlugin={"resourceList": [{**RAIL, "resourceName": "a-b"}]})], ["M850w"]),
    Row("no domain", [nic(sriovDevicePlugin={"resourceList": [{**RAIL, "resourcePrefix": "rdma"}]})], ["M850w"]),
    Row(
        "no shares", [nic(rdmaSharedDevicePlugin={"configList": [{"resourceName": "a", "devices": ["e"]}]})], ["M850e"]
    ),
    Row(
        "no selector", [nic(sriovDevicePlugin={"resourceList": [{**RAIL, "selectors": {"pfName": ["a"]}}]})], ["M850e"]
    ),
    Row(
        "nothing selected",
        [nic(sriovDevicePlugin={"resourceList": [{**RAIL, "selectors": {"vendors": []}}]})],
        ["M850e"],
    ),
    Row("Gloo with NCCL's words", [pod("a", env={"GLOO_SOCKET_IFNAME": "=eth0"})], ["M852e"]),
    Row("an interface of others", [pod("a", env={"NCCL_SOCKET_IFNAME": "=net2"})], ["M852e"]),
    Row("every interface", [pod("a", env={"NCCL_SOCKET_IFNAME": "net"})], ["M852w"]),
    Row("a number for all nodes", [pod("a", env={"NCCL_IB_GID_INDEX": "3"})], ["M852w"]),
    Row("exact names", [pod("a", env={"NCCL_SOCKET_IFNAME": "=net1,eth0", "GLOO_SOCKET_IFNAME": "eth0"})]),
    Row("the host's network too", [pod("a", hostNetwork=True)], ["M853e"]),
    Row("names of the host", [jobs(pod(None, IB, hostNetwork=True))], ["M853w"]),
    Row("names of the host, written", [pod(None, hostNetwork=True, dnsPolicy="ClusterFirst")], ["M853w"]),
    Row("half a device, twice", [pod(None, {"rdma/ib": "0.5"}, requests={"rdma/ib": "0.5"})], ["M703e"]),
    Row("half a device, and a third", [pod(None, {"rdma/ib": "0.5"}, requests={"rdma/ib": "0.3"})], ["M703e", "M703e"]),
    Row("too high, with the devices", [rail(0), jobs(pod(None, VF), outer="rail-0")], ["M815e"]),
    Row("a baseline namespace", [space("baseline"), pod("a", IB)], ["M858e"]),
    Row("a restricted namespace", [space("restricted"), pod("a", IB)], ["M858e", "M858e"]),
    Row("a privileged namespace", [space("privileged"), pod("a", IB)]),
    Row("a namespace of pods without networks", [space("baseline"), pod(None, hostPID=True)]),
    Row("no root", [pod("a", IB, securityContext={"runAsUser": 1000})], ["M847w"]),
    Row("no root and no right", [pod("a", IB, lock=False, securityContext={"runAsUser": 1000})], ["M847w"]),
    Row("NVLink by word", [pod("a", env={"NCCL_MNNVL_ENABLE": "1"})], ["M852w"]),
    Row("NVLink by claim", [pod("a", env={"NCCL_MNNVL_ENABLE": "1"}, resourceClaims=[{"name": "channel"}])]),
    Row("devices by their beginning", [pod("a", env={"NCCL_IB_HCA": "mlx5_1"})], ["M852w"]),
    Row("an old operator", [macvlan(metaPlugins='{"type": "sbr"}')], ["M850e"], {"networkOperator": "26.4"}),
    Row("a new operator", [macvlan(metaPlugins='{"type": "sbr"}')], [], {"networkOperator": "26.7"}),
    Row("one subnet", [macvlan("a", WHERE), macvlan("b", WHERE), pod("a,b", IB)], ["M849w"]),
    Row(
        "one subnet with routes",
        [*(nad(n, plugins=[{"type": "macvlan", "ipam": WHERE}, {"type": "sbr"}]) for n in "ab"), pod("a,b", IB)],
    ),
    Row("settings of a card", [claims(interface={"name": "net1", "mtu": 9000, "arpIgnore": 8}, routes=[])]),
    Row("a setting of others", [claims(interface={"name": "net1", "mtuBytes": 9000})], ["M813e"]),
    Row("no part of it", [claims(iface={"name": "net1"})], ["M813e"]),
    Row("a long name", [claims(interface={"name": "a-very-long-interface"})], ["M813e"]),
    Row("addresses twice", [claims(interface={"dhcp": True, "addresses": ["10.0.0.1/24"]})], ["M813e"]),
    Row("no length", [claims(interface={"addresses": ["10.0.0.1"]})], ["M813e"]),
    Row("small packets", [claims(interface={"mtu": 60})], ["M813e"]),
    Row("an answer of 4", [claims(interface={"arpIgnore": 4})], ["M813e"]),
    Row("rules in a VRF", [claims(interface={"vrf": {"name": "v"}}, rules=[{"table": 1}])], ["M813e"]),
    Row("all of one root", [claims(["gpu", "nic"], count=4)], ["M857e"]),
    Row("a neighbour where there is none", [claims(["gpu", "nic"])], ["M857e"]),
    Row("a definition by hand", [nad("h", "nvidia.com/x", type="host-device"), pod("h")], ["M844e"]),
)


def lint(objects: list[dict[str, Any]], target: Mapping[str, str] = {}, topology: Any = TOPOLOGY) -> list[str]:
    read = tuple(document.Document("m.yaml", "", number, each) for number, each in enumerate(objects))
    cluster = document.Document("topology.yaml", "", 0, topology)
    outcome, _ = pipeline.lint(pipeline.LintRequest(read, cluster, target=target))
    assert outcome.value is not None, outcome.diagnostics
    return [f"{each.code}{each.severity[0]}" for each in outcome.diagnostics if each.code in COVERS]


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_each_rule_finds_its_mistake_and_nothing_else(row: Row) -> None:
    assert sorted(lint(row.objects, row.target)) == sorted(row.found)


def test_the_table_covers_every_code() -> None:
    of_topologies = {
        each[:4] for found in (*(row[-1] for row in OF_RAILS), *(row[-1] for row in OPENSHIFT)) for each in found
    }
    assert {found[:4] for row in ROWS for found in row.found} | of_topologies == COVERS


FABRIC = {
    "kind": "hostdevice",
    "linkType": "ethernet",
    "rails": [
        {"network": f"fabric/rail-{n}", "resource": f"nvidia.com/rail_{n}", "hca": f"mlx5_{n}"} for n in range(2)
    ],
}
ON = {**TOPOLOGY, "spec": {**TOPOLOGY["spec"], "fabrics": {"ew": FABRIC}}}
CARDS = {"nvidia.com/rail_0": 1, "nvidia.com/rail_1": 1}


@pytest.mark.parametrize(
    ("asking", "found"),
    [
        (pod("fabric/rail-0,fabric/rail-1", CARDS), []),
        (pod("fabric/rail-0", CARDS), ["M844w"]),
        (pod("fabric/rail-0,fabric/rail-1", VF), ["M844e"]),
        (pod("rail-0,fabric/rail-1", CARDS), ["M842e", "M844w"]),
        (pod("fabric/rail-0,fabric/rail-1", CARDS, lock=False), ["M847w"]),
    ],
)
def test_the_topology_knows_networks_too(asking: dict[str, Any], found: list[str]) -> None:
    assert sorted(lint([asking], topology=ON)) == found


def test_rails_may_share_a_network() -> None:
    shared = [{**each, "network": "fabric/all", "resource": "nvidia.com/rail_0"} for each in FABRIC["rails"]]
    topology = {**TOPOLOGY, "spec": {**TOPOLOGY["spec"], "fabrics": {"ew": {**FABRIC, "rails": shared}}}}
    asking = pod("fabric/all,fabric/all", {"nvidia.com/rail_0": 2}, env={"NCCL_IB_HCA": "=mlx5_0,mlx5_1"})
    assert lint([asking], topology=topology) == []


BOTH = "fabric/rail-0,fabric/rail-1"
AT = json.dumps([{"name": "rail-0", "namespace": "fabric", "ips": ["10.0.0.5/24"]}])
ROUTED = {**FABRIC, "rails": [{**each, "subnet": f"10.0.{n}.0/24"} for n, each in enumerate(FABRIC["rails"])]}
GPUS = {"nvidia.com/gpu": 8}
OF_RAILS: tuple[tuple[str, dict[str, Any], list[str]], ...] = (
    ("exact devices", pod(BOTH, CARDS, env={"NCCL_IB_HCA": "=mlx5_0,mlx5_1"}), []),
    ("one too few", pod(BOTH, CARDS, env={"NCCL_IB_HCA": "=mlx5_0"}), ["M852e"]),
    ("another's", pod("fabric/rail-0", VF, env={"NCCL_IB_HCA": "=mlx5_7"}), ["M852e"]),
    ("the beginning of it", pod("fabric/rail-0", VF, env={"NCCL_IB_HCA": "mlx5_0"}), ["M852w"]),
    ("rank 0 on a rail", pod(BOTH, CARDS, env={"MASTER_ADDR": "10.0.1.7"}), ["M852e"]),
    ("rank 0 on a rail, asked for", pod(AT, VF, env={"PET_RDZV_ENDPOINT": "10.0.0.5:29500"}), []),
    ("rank 0 by name", pod(BOTH, CARDS, env={"MASTER_ADDR": "job-0.job"}), []),
    ("an idle rail", pod("fabric/rail-0", {**VF, **GPUS}), ["M844w"]),
    ("half of the GPUs", pod("fabric/rail-0", {**VF, "nvidia.com/gpu": 4}), []),
)


@pytest.mark.parametrize(("asking", "found"), [row[1:] for row in OF_RAILS], ids=[row[0] for row in OF_RAILS])
def test_pods_against_the_rails_of_a_topology(asking: dict[str, Any], found: list[str]) -> None:
    (pool, *_) = TOPOLOGY["spec"]["pools"]
    spec = {
        "fabrics": {"ew": ROUTED},
        "pools": [{**pool, "node": {"accelerator": "h200", "count": 8}}],
        "accelerators": {"h200": {}},
    }
    on = {**TOPOLOGY, "spec": {**TOPOLOGY["spec"], **spec}}
    assert sorted(lint([asking], topology=on)) == found


BOUND = {"ml": {"scc": "rdma", "serviceAccount": "trainer"}}
OPENSHIFT: tuple[tuple[str, dict[str, Any], dict[str, Any], list[str]], ...] = (
    ("no SCC", {}, pod("a", IB), ["M858e"]),
    ("no account", BOUND, pod("a", IB), ["M858e"]),
    ("another account", BOUND, pod("a", IB, serviceAccountName="other"), ["M858e"]),
    ("the account", BOUND, pod("a", IB, serviceAccountName="trainer"), []),
    ("nothing to refuse", {}, pod("a", lock=False), []),
)


@pytest.mark.parametrize(
    ("spaces", "asking", "found"), [row[1:] for row in OPENSHIFT], ids=[row[0] for row in OPENSHIFT]
)
def test_pods_on_openshift(spaces: dict[str, Any], asking: dict[str, Any], found: list[str]) -> None:
    on = {**TOPOLOGY, "spec": {**TOPOLOGY["spec"], "platform": "openshift", "namespaces": spaces}}
    assert lint([asking], topology=on) == found


def test_a_level_of_the_topology() -> None:
    on = {**TOPOLOGY, "spec": {**TOPOLOGY["spec"], "namespaces": {"ml": {"podSecurity": "baseline"}}}}
    assert lint([pod("a", IB)], topology=on) == ["M858e"]
    assert lint([space("privileged"), pod("a", IB)], topology=on) == []


def test_memory_that_nobody_limits_needs_no_right() -> None:
    free = {**ON, "spec": {**ON["spec"], "fabrics": {"ew": {**FABRIC, "memlock": "unlimited"}}}}
    assert lint([pod("fabric/rail-0", VF, lock=False)], topology=free) == []


def test_a_number_that_the_topology_says_is_meant() -> None:
    asking = pod("fabric/rail-0", VF, env={"NCCL_IB_GID_INDEX": "3"})
    meant = {**ON, "spec": {**ON["spec"], "fabrics": {"ew": {**FABRIC, "env": {"NCCL_IB_GID_INDEX": "3"}}}}}
    assert lint([asking], topology=ON) == ["M852w"]
    assert lint([asking], topology=meant) == []


UPSTREAMS: Mapping[str, Mapping[str, int]] = {
    # A JSON text with a comma behind its last entry, which no operator can paste into a network.
    "network-operator/example__sriov-network__infiniband__sriov-ib-network.yaml": {"M849": 1},
    # `nodeSelector` is commented out, and the CRD requires it.
    "network-operator/example__sriov-network__infiniband__sriov-network-node-policy.yaml": {"M850": 1},
}
"""File -> what is found in it, without the codes of other tables: `test_lint_upstream.FOUND` has those."""


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason=f"no upstream examples at {EXAMPLES}")
def test_in_upstreams_examples_it_finds_what_is_wrong_and_no_more() -> None:
    found = {}
    for path in sorted(each for each in EXAMPLES.rglob("*") if each.suffix in {".yaml", ".yml", ".json", ".helm3"}):
        read = document.read(path.name, path.read_bytes(), "manifest", own=False).value or ()
        codes = Counter(code for each in lint([one.data for one in read]) if (code := each[:4]) not in MINE)
        if codes:
            found[str(path.relative_to(EXAMPLES))] = dict(codes)
    assert found == UPSTREAMS


TEXTS = [each for row in ROWS for each in row.objects]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_lint_never_fails_whatever_stands_anywhere(data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=5))
    broken = []
    for each in chosen:
        made: Any = parse(yaml.safe_dump(each))
        for _ in range(data.draw(st.integers(0, 3))):
            made = changed(made, data.draw(st.sampled_from(places(made))), data.draw(WILD))
        broken.append(made)
    lint(broken, {"networkOperator": data.draw(st.sampled_from(["26.4", "26.7"]))}, ON)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=40) | st.text(alphabet='[]{}",:/@ abname', max_size=30))
def test_no_annotation_stops_the_reader(text: str) -> None:
    lint([pod(text)])
