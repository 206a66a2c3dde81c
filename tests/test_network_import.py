"""Fabrics out of what a cluster says of its networks; what is written comes back."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings

from bayplan import pipeline
from bayplan.model.topology import ClusterTopology, Fabric, NodeShape
from bayplan.text import document
from bayplan.text.emit import emit
from bayplan.topologies import native
from bayplan.topologies.merging.pools import merge_shapes as shape
from judges import UPSTREAM
from test_network_operator import FABRICS, export, fabrics, rail, topology
from tools.data import parse
from topology_files import imported, less
from topology_files import topology as read

EXAMPLES = UPSTREAM / "examples" / "network-operator"


def back(*objects: Any, more: tuple[tuple[str, str], ...] = ()) -> ClusterTopology:
    said = imported(("networks.yaml", yaml.safe_dump_all(objects)), *more)
    assert said.code == 0, said.err
    return read(said.out)


def canonical(fabric: Fabric, written: bool) -> Fabric:
    """What both ways agree on: defaults that are written out, and what follows from the kind."""
    links = {"macvlan": "ethernet", "ipoib": "infiniband", "spectrumx": "ethernet", "hostdevice": ""}
    shares = (fabric.shares or 63) if fabric.shared else 0
    ipam = fabric.ipam._replace(range_start="", range_end="", exclude=())
    usual = fabric.link_type or ("ethernet" if fabric.kind == "sriov" else "")
    mtu = fabric.mtu if fabric.kind in ("macvlan", "sriov", "spectrumx") else 0
    routed = fabric.source_routing and fabric.kind in ("macvlan", "hostdevice", "sriov")
    rails = tuple(each._replace(gateway=_gateway(fabric, each.gateway)) for each in fabric.rails)
    if fabric.kind == "spectrumx" and ipam.kind == "nv-ipam":
        ipam = ipam._replace(per_node=0)  # a prefix holds at least so many
    if ipam.kind in ("static", "dhcp", ""):
        rails = tuple(each._replace(subnet="", gateway="") for each in rails)
    kept = fabric._replace(name="", link_type=links.get(fabric.kind, usual), shares=shares, ipam=ipam, rails=rails)
    attach = "exclusive" if fabric.kind in ("macvlan", "ipoib") and not fabric.shared else ""
    return kept._replace(mtu=mtu, source_routing=routed, attach=attach, vendor_ids=(), device_ids=fabric.device_ids[:1])


def _gateway(fabric: Fabric, gateway: str) -> str:
    """A CIDRPool knows that there is one, and where in a node's subnet."""
    return "one" if gateway and fabric.kind == "spectrumx" and fabric.ipam.kind == "nv-ipam" else gateway


@pytest.mark.parametrize("version", ["26.4", "26.7"])
@pytest.mark.parametrize("name", [each for each in FABRICS if "verbs" not in each and each != "dranet"])
def test_what_is_written_comes_back(name: str, version: str) -> None:
    _comes_back(FABRICS[name], version)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(fabrics())
def test_any_fabric_comes_back(fabric: dict[str, Any]) -> None:
    _comes_back(fabric, "26.4")


def _comes_back(fabric: dict[str, Any], version: str) -> None:
    data = topology(ew=fabric, versions={"networkOperator": version})
    made = export(data)[0]
    outcome = native.read(data)
    assert outcome.value is not None
    wanted = less(outcome.value.value, "network-operator").fabrics["ew"]
    found = less(back(*made), "network-operator").fabrics["rails"]
    assert canonical(found, False) == canonical(wanted, True)


def test_excluded_addresses_and_ranges_come_back() -> None:
    def addresses(name: str) -> Any:
        return back(*export(topology(ew=FABRICS[name]))[0]).fabrics["rails"].ipam

    assert addresses("ipoib") == native.read(topology(ew=FABRICS["ipoib"])).value.value.fabrics["ew"].ipam  # type: ignore[union-attr]
    assert addresses("macvlan").namespace == "net"
    blocks = ("10.0.0.1", "10.0.0.2/31", "10.0.0.4/30", "10.0.0.8", "10.0.0.250", "10.0.1.0/28")
    assert addresses("macvlan").exclude[:6] == blocks


def test_definitions_that_the_operator_made_are_no_networks_of_their_own() -> None:
    made = export(topology(ew=FABRICS["hostdevice"], versions={"networkOperator": "26.7"}))[0]
    definitions = [
        {
            "apiVersion": "k8s.cni.cncf.io/v1",
            "kind": "NetworkAttachmentDefinition",
            "metadata": {"name": each["metadata"]["name"], "namespace": "fabric"},
            "spec": {"config": json.dumps({"type": "host-device", "name": "x", "ipam": {}})},
        }
        for each in made
        if each["kind"] == "HostDeviceNetwork"
    ]
    assert back(*definitions, *made).fabrics == back(*made).fabrics


def test_networks_of_several_kinds_are_several_fabrics() -> None:
    both = {"hd": FABRICS["hostdevice"], "mv": {"kind": "macvlan", "rails": [rail(9, resource="rdma/x")]}}
    found = back(*export(topology(**both))[0]).fabrics
    assert {name: (each.kind, len(each.rails)) for name, each in found.items()} == {
        "hostdevice": ("hostdevice", 4),
        "macvlan": ("macvlan", 1),
    }


def test_ten_rails_stand_in_their_order() -> None:
    fabric = {"kind": "macvlan", "rails": [rail(n, resource="rdma/x") for n in range(12)]}
    found = back(*reversed(export(topology(ew=fabric))[0])).fabrics["rails"]
    assert [each.network for each in found.rails] == [f"fabric/rail-{n}" for n in range(12)]


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason=f"no upstream examples at {EXAMPLES}")
@pytest.mark.parametrize(
    "path", sorted(EXAMPLES.glob("*.yaml")) if EXAMPLES.is_dir() else [], ids=lambda path: path.stem
)
def test_upstreams_examples_are_read_or_refused(path: Any) -> None:
    said = imported((path.name, path.read_text(encoding="utf-8")), options=("--from", "network-operator"))
    networks = any(f"kind: {kind}\n" in path.read_text(encoding="utf-8") for kind in KINDS)
    sound = networks and "sriov-ib-network" not in path.name
    assert (said.code == 0) is sound, said.err
    assert sound or {each["code"] for each in said.found} == {"T530"}


KINDS = ("MacvlanNetwork", "HostDeviceNetwork", "IPoIBNetwork", "SriovNetwork", "SriovIBNetwork")

KIT = {
    "networkOperator": {"selectedRelease": "26.4", "namespace": "nvidia-network-operator"},
    "nvIpam": {"poolName": "pool", "subnets": [{"subnet": f"10.{n}.0.0/16", "gateway": f"10.{n}.0.1"} for n in (0, 1)]},
    "networkNamespaces": ["fabric"],
    "rdmaShared": {"resourceName": "shared", "hcaMax": 8},
    "profile": {"fabric": "ethernet", "deployment": "rdma_shared", "multirail": True},
    "clusterConfig": [
        {
            "identifier": "dgx-h200",
            "gpuType": "NVIDIA-H200",
            "linkType": "Ethernet",
            "workerNodes": ["w-0", "w-1"],
            "pfs": [
                {
                    "deviceID": "1021",
                    "pciAddress": f"0000:{n}a:00.0",
                    "rdmaDevice": f"mlx5_{n}",
                    "networkInterface": f"ens{n}f0",
                    "traffic": "east-west",
                    "rail": n,
                }
                for n in (0, 1)
            ],
        }
    ],
}


def kit(**changes: Any) -> ClusterTopology:
    said = imported(("cluster-config.yaml", yaml.safe_dump({**KIT, **changes})))
    assert said.code == 0, said.err
    return read(said.out)


def test_the_launch_kits_rails_have_ports_and_addresses() -> None:
    made = kit()
    fabric = made.fabrics["rails"]
    assert [each.device for each in fabric.rails] == ["ens0f0", "ens1f0"]
    assert [each.hca for each in fabric.rails] == ["mlx5_0", "mlx5_1"]
    assert [each.subnet for each in fabric.rails] == ["10.0.0.0/16", "10.1.0.0/16"]
    assert (fabric.shares, fabric.device_ids, fabric.ipam.kind) == (8, ("1021",), "nv-ipam")
    assert made.versions == {"networkOperator": "26.4"}


def test_devices_that_the_operator_renames_have_their_new_names() -> None:
    templates = {"deployNicInterfaceNameTemplate": True, "rdmaPrefix": "roce_r%rail%", "netdevPrefix": "eth_r%rail%"}
    fabric = kit(nicConfigurationOperator=templates).fabrics["rails"]
    assert [(each.hca, each.device) for each in fabric.rails] == [("roce_r0", "eth_r0"), ("roce_r1", "eth_r1")]
    planes = {**templates, "rdmaPrefix": "roce_p%plane%_r%rail%"}
    assert [each.hca for each in kit(nicConfigurationOperator=planes).fabrics["rails"].rails] == ["", ""]


def test_whole_ports_are_known_by_their_address() -> None:
    fabric = kit(profile={"fabric": "ethernet", "deployment": "host_device", "multirail": True}).fabrics["rails"]
    assert [each.device for each in fabric.rails] == ["0000:0a:00.0", "0000:1a:00.0"]


def test_the_kit_and_the_networks_that_it_made_are_one_fabric() -> None:
    """The kit knows RDMA devices, the objects blocks and plugins."""
    own = {
        "kind": "macvlan",
        "sourceRouting": True,
        "ipam": {"type": "nv-ipam", "perNode": 4},
        "rails": [
            {
                "network": f"fabric/macvlan-network-rail-{n}",
                "resource": f"rdma/shared_rail_{n}",
                "device": f"ens{n}f0",
                "subnet": f"10.{n}.0.0/16",
                "gateway": f"10.{n}.0.1",
            }
            for n in (0, 1)
        ],
        "shares": 8,
    }
    objects = yaml.safe_dump_all(export(topology(ew=own))[0])
    for files in ((KIT, objects), (objects, KIT)):
        texts = [each if isinstance(each, str) else yaml.safe_dump(each) for each in files]
        said = imported(*((f"{n}.yaml", text) for n, text in enumerate(texts)))
        assert said.code == 0, said.err
        (fabric,) = read(said.out).fabrics.values()
        assert [each.hca for each in fabric.rails] == ["mlx5_0", "mlx5_1"]
        assert fabric.ipam.per_node == 4
        assert fabric.source_routing
        assert "T437" not in said.codes


def test_fabrics_of_other_kinds_stand_side_by_side() -> None:
    other = yaml.safe_dump_all(export(topology(ew=FABRICS["sriov"]))[0])
    said = imported(("kit.yaml", yaml.safe_dump(KIT)), ("objects.yaml", other))
    assert {name: each.kind for name, each in read(said.out).fabrics.items()} == {"rails": "macvlan", "sriov": "sriov"}


def slices(node: str, cards: int = 2, roots: bool = True, links: str = "ether") -> list[dict[str, Any]]:
    """What dranet and NVIDIA's driver publish of a node."""

    def one(driver: str, devices: list[dict[str, Any]]) -> dict[str, Any]:
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": driver, "nodeName": node, "pool": pool, "devices": devices}
        return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": node}, "spec": spec}

    def root(number: int) -> dict[str, Any]:
        return {"resource.kubernetes.io/pcieRoot": {"string": f"pci0000:{number}0"}} if roots else {}

    gpus = [
        {
            "name": f"gpu-{n}",
            "attributes": {
                "type": {"string": "gpu"},
                "uuid": {"string": f"GPU-{n}"},
                "productName": {"string": "NVIDIA H200"},
            }
            | root(n),
        }
        for n in range(cards)
    ]
    nics = [
        {
            "name": f"nic-{n}",
            "attributes": {
                "dra.net/rdma": {"bool": True},
                "dra.net/ifName": {"string": f"ens{n}f0"},
                "dra.net/rdmaDevice": {"string": f"mlx5_{n}"},
                "dra.net/numaNode": {"int": n // 2},
                "dra.net/encapsulation": {"string": links},
                **root(cards - 1 - n),
            },
        }
        for n in range(cards)
    ]
    virtual = {"name": "eth0v1", "attributes": {"dra.net/rdma": {"bool": True}, "dra.net/virtual": {"bool": True}}}
    plain = {"name": "eth0", "attributes": {"dra.net/ifName": {"string": "eth0"}, "dra.net/rdma": {"bool": False}}}
    return [one("gpu.nvidia.com", gpus), one("dra.net", [*nics, virtual, plain])]


def test_cards_with_rdma_are_the_rails_of_a_fabric() -> None:
    made = back(*slices("n-1"), *slices("n-2"))
    (fabric,) = made.fabrics.values()
    assert (fabric.kind, fabric.link_type) == ("dranet", "ethernet")
    assert [(each.hca, each.device, each.numa, each.gpu) for each in fabric.rails] == [
        ("mlx5_0", "ens0f0", 0, 1),
        ("mlx5_1", "ens1f0", 0, 0),
    ]
    assert [pool.node.accelerators for pool in made.pools] == [2]


def test_without_a_common_root_no_gpu_is_next_to_a_card() -> None:
    (fabric,) = back(*slices("n-1", roots=False)).fabrics.values()
    assert [each.gpu for each in fabric.rails] == [None, None]


def test_what_is_imported_can_be_checked() -> None:
    """Networks beside nodes: a file that the other commands take."""
    nodes = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n1", "labels": {"x.io/rack": "r1", "nvidia.com/gpu.product": "NVIDIA-H200"}},
        "status": {"allocatable": {"nvidia.com/gpu": "8", "cpu": "8", "memory": "8Gi"}},
    }
    objects = yaml.safe_dump_all(export(topology(ew=FABRICS["hostdevice"]))[0])
    said = imported(
        ("nodes.yaml", yaml.safe_dump(nodes)), ("networks.yaml", objects), options=("--level", "rack=x.io/rack")
    )
    assert said.code == 0, said.err
    assert "T437" not in said.codes
    checked, _ = pipeline.check_topology(document.Document("t.yaml", "", 0, parse(said.out)))
    assert checked.value is not None, checked.diagnostics
    assert list(checked.value.fabrics) == ["rails"]


def test_show_and_diff_tell_of_fabrics() -> None:
    from bayplan.cli.show_tree import draw
    from bayplan.topologies.comparing import changes
    from bayplan.topologies.inventory import count, data

    one = read("".join(emit([topology(ew=FABRICS["hostdevice"])])))
    text = "".join(draw(one, count(one), ""))
    assert text.endswith("\nfabric ew: 4 rails of hostdevice, on all pools\n")
    assert data(one, count(one), "")["fabrics"][0]["rails"] == 4
    fabric = one.fabrics["ew"]
    rails = (fabric.rails[0]._replace(hca="mlx5_9"), *fabric.rails[1:])
    other = one._replace(fabrics={"ew": fabric._replace(rails=rails)})
    (change,) = changes(one, other, {"h200": "h200"})
    assert change == ("fabrics.ew.rails.0.hca", "mlx5_0", "mlx5_9")
    assert less(one, "network-operator") == less(other, "network-operator")


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [(None, None, None), ((), None, ()), (None, ("a",), ("a",)), (("a", "b"), ("b", "c"), ("a", "b", "c"))],
)
def test_nodes_hang_on_the_fabrics_that_any_source_says(one: Any, other: Any, both: Any) -> None:
    made = shape(NodeShape(fabrics=one), NodeShape(fabrics=other), "pool", (), [])
    assert made.fabrics == both
