"""Fabrics by themselves: what each check finds, and that no file that the schema takes stops any of them."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bayplan import pipeline, schemas
from bayplan.core.diagnostics import has_errors
from bayplan.kube import networks as ip
from bayplan.text import document
from bayplan.topologies import native
from support import WORKER, workflow
from test_network_operator import NV, rail, topology

OF_NETWORKS = ("T6", "S", "W527", "W565", "W631")
"""How codes begin that checks of networks have; other parts of a file have the last three too."""


def found(*, platform: str = "kubernetes", **fabrics: Any) -> list[str]:
    """Codes with the first letter of their severity."""
    data = topology(**fabrics, platform=platform)
    checked, _ = pipeline.check_topology(document.Document("t.yaml", "", 0, data))
    return sorted(f"{each.code}{each.severity[0]}" for each in checked.diagnostics if each.code.startswith(OF_NETWORKS))


def one(kind: str, *rails: dict[str, Any], **fabric: Any) -> dict[str, Any]:
    return {"kind": kind, **fabric, "rails": list(rails) or [rail(0)]}


WHERE = {"type": "whereabouts"}
SOUND = {
    "hostdevice": one("hostdevice", ipam=NV),
    "macvlan": one("macvlan", rail(0, resource="rdma/a"), rail(1, resource="rdma/a"), ipam=WHERE, shares=4),
    "ipoib": one("ipoib", rail(0, resource="rdma/a"), linkType="infiniband"),
    "sriov": one("sriov", rail(0, resource="openshift.io/rail-0_a", subnet=""), linkType="infiniband", mtu=2044),
    "spectrumx": one("spectrumx", rail(0, resource="nvidia.com/rail-0"), ipam={"type": "nv-ipam", "perNode": 1}),
    "dranet": {"kind": "dranet", "deviceClass": "rdma"},
    "efa": one("efa", {"resource": "vpc.amazonaws.com/efa"}, {"resource": "vpc.amazonaws.com/efa"}),
    "gke": one("gke", {"network": "rdma-0", "interface": "eth2"}),
    "nodes without a limit": one("hostdevice", ipcLock=False, memlock="unlimited"),
    "hostnetwork with a plugin": {"kind": "hostnetwork", "rails": [{"hca": "mlx5_0", "resource": "rdma/hca"}]},
    "hostnetwork": {"kind": "hostnetwork", "privileged": True, "rails": [{"interface": "rdma0", "hca": "mlx5_0"}]},
    "InfiniBand by verbs": one("none", {"resource": "rdma/ib"}, linkType="infiniband", attach="shared", shares=8),
    "IPv6": one(
        "macvlan", rail(0, resource="rdma/a", subnet="fd00::/64", gateway="fd00::1"), ipam=NV | {"exclude": []}
    ),
    "one address a node": one("macvlan", rail(0, resource="rdma/a", subnet="10.0.0.0/27"), ipam=WHERE),
    "two rails of one network": one("macvlan", *[rail(n, resource="rdma/a", subnet="") for n in (0, 1)]),
}
SOUND["IPv6"]["ipam"] = {"type": "nv-ipam", "perNode": 16}


@pytest.mark.parametrize("name", SOUND)
def test_sound_fabrics_are_taken(name: str) -> None:
    assert found(ew=SOUND[name]) == []


WRONG: dict[str, tuple[dict[str, Any], list[str]]] = {
    "another prefix": (one("hostdevice", rail(0, resource="rdma/rail_0")), ["T600e"]),
    "a dot": (one("hostdevice", rail(0, resource="nvidia.com/rail.0")), ["T600e"]),
    "a dash": (one("hostdevice", rail(0, resource="nvidia.com/rail-0")), ["T600w"]),
    "a dot of the SR-IOV operator's": (one("sriov", rail(0, resource="nvidia.com/rail.0")), ["T600e"]),
    "AKS": (one("none", {"resource": "rdma/ib"}, linkType="infiniband"), ["T600i"]),
    "AKS with eight cards": (one("none", *[{"resource": "rdma/ib"}] * 8, linkType="infiniband"), ["T600i"]),
    "no prefix": (one("sriov", rail(0, resource="rail_0")), ["T600e"]),
    "two names": (one("spectrumx", rail(0, resource="nvidia.com/rail-1")), ["T600e"]),
    "no domain": (one("macvlan", rail(0, resource="roce/a")), ["T600w"]),
    "another card of AWS": (one("efa", {"resource": "amazonaws.com/efa"}), ["T600w"]),
    "macvlan over InfiniBand": (one("macvlan", rail(0, resource="rdma/a"), linkType="infiniband"), ["T604e"]),
    "ipoib over Ethernet": (one("ipoib", rail(0, resource="rdma/a"), linkType="ethernet"), ["T604e"]),
    "RoCE by verbs": (one("none", {"resource": "rdma/a"}, linkType="ethernet", attach="shared"), ["T604e"]),
    "EFA over Ethernet": (one("efa", {"resource": "vpc.amazonaws.com/efa"}, linkType="ethernet"), ["T604e"]),
    "no rails": ({"kind": "macvlan"}, ["T610e"]),
    "no network": (one("macvlan", {"resource": "rdma/a"}), ["T610e"]),
    "verbs that nobody gives": (one("macvlan", rail(0, resource="")), ["T610w"]),
    "one card": (one("macvlan", *[rail(n, resource="rdma/a", hca="mlx5_0") for n in (0, 1)]), ["T603e"]),
    "one interface": (one("macvlan", *[rail(n, resource="rdma/a", interface="net1") for n in (0, 1)]), ["T603e"]),
    "one port": (one("sriov", *[rail(n, device="ens1f0") for n in (0, 1)]), ["T603w"]),
    "some cards": (one("hostdevice", rail(0), rail(1, hca="")), ["T603w"]),
    "two cards without a way": (
        {"kind": "hostnetwork", "rails": [{"hca": f"mlx5_{n}", "interface": f"r{n}"} for n in (0, 1)]},
        ["T610w"],
    ),
    "a plugin's claimed cards": ({"kind": "dranet", "rails": [{"hca": "mlx5_0", "resource": "a.b/c"}]}, ["T603e"]),
    "shared host devices": (one("hostdevice", rail(0), attach="shared"), ["T604e"]),
    "RDMA without IPC_LOCK": (one("hostdevice", rail(0), ipcLock=False), ["W631w"]),
    "two networks of dranet": ({"kind": "dranet", "rails": [{"network": "a/b"}] * 2}, ["T604w"]),
    "dranet with a network": (one("dranet", {"network": "a/b"}), ["T604w"]),
    "a class for Multus": (one("hostdevice", rail(0), deviceClass="a"), ["T604w"]),
    "shares of whole cards": (one("hostdevice", rail(0), shares=4), ["T604w"]),
    "an MTU of a host device": (one("hostdevice", rail(0), mtu=9000), ["T604w"]),
    "plugins behind IPoIB": (one("ipoib", rail(0, resource="rdma/a"), sourceRouting=True), ["T604w"]),
    "addresses of EFA": (one("efa", {"resource": "vpc.amazonaws.com/efa"}, ipam=WHERE), ["T604w"]),
    "no subnet": (one("hostdevice", rail(0, subnet="10.0.0.0")), ["T605e"]),
    "a length of 33": (one("hostdevice", rail(0, subnet="10.0.0.0/33")), ["T605e"]),
    "a gateway of five": (one("hostdevice", rail(0, gateway="10.0.0.0.1")), ["T605e"]),
    "an exclusion": (one("hostdevice", rail(0), ipam={**WHERE, "exclude": ["10.0.0.0/40"]}), ["T605e"]),
    "a start": (one("hostdevice", rail(0), ipam={**WHERE, "rangeStart": "10.0.0.400"}), ["T605e"]),
    "blocks": (one("hostdevice", rail(0, subnet="10.0.0.0/24"), ipam={"type": "nv-ipam", "perNode": 13}), ["T605e"]),
    "prefixes": (
        one(
            "spectrumx",
            rail(0, resource="nvidia.com/rail-0", subnet="10.0.0.0/27"),
            ipam={"type": "nv-ipam", "perNode": 2},
        ),
        ["T605e"],
    ),
    "nobody's": (one("hostdevice", rail(0), ipam={**WHERE, "exclude": ["10.0.0.0/16"]}), ["T605e"]),
    "a few": (one("hostdevice", rail(0, subnet="10.0.0.0/28"), ipam=WHERE), ["T605w"]),
    "two rails' worth": (
        one("hostdevice", *[rail(n, subnet="10.0.0.0/27") for n in (0, 1)], ipam=WHERE, sourceRouting=True),
        ["T605w", "T605w"],
    ),
    "a block for the gateway": (
        one("hostdevice", rail(0, gateway="10.0.0.1"), ipam={"type": "nv-ipam", "perNode": 1}),
        ["T605e"],
    ),
    "each node for itself": (one("hostdevice", rail(0), ipam={"type": "host-local"}), ["T605w"]),
    "nv-ipam's gateway": (one("hostdevice", rail(0, gateway="10.9.0.1"), ipam=NV), ["T605e"]),
    "a gateway of another family": (one("hostdevice", rail(0, gateway="fd00::1"), ipam=WHERE), ["T605w"]),
    "one subnet within another": (one("hostdevice", rail(0, subnet="10.0.0.0/16"), rail(1), ipam=WHERE), ["T603w"]),
    "any card": (one("sriov", *[rail(n, resource="nvidia.com/vf", subnet="") for n in (0, 1)]), ["T603i"]),
    "another's addresses": (one("sriov", *[rail(n, resource="nvidia.com/vf") for n in (0, 1)]), ["T603w"]),
    "a GPU too many": (one("hostdevice", rail(0, gpu=8)), ["T610e"]),
    "an open bracket": (
        {"kind": "dranet", "deviceClass": "rdma", "rails": [{"selectors": ["device.driver.matches('dra'"]}]},
        ["W565e"],
    ),
    "lo": (one("hostdevice", rail(0, interface="lo")), ["W527e"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_each_check_finds_its_mistake_and_nothing_else(name: str) -> None:
    fabric, wanted = WRONG[name]
    assert found(ew=fabric) == wanted


def test_one_card_serves_one_kind_of_network() -> None:
    both = {"a": one("macvlan", rail(0, resource="rdma/a")), "b": one("hostdevice", rail(0))}
    assert found(**both) == ["T603w"]
    data = topology(**both)
    (pool,) = data["spec"]["pools"]
    data["spec"]["pools"] = [
        {
            **pool,
            "name": name,
            "node": {**pool["node"], "fabrics": [name], "nodeSelector": {"p": name}},
            "domains": nodes,
        }
        for name, nodes in (("a", [{"nodes": "a[1-4]"}]), ("b", [{"nodes": "b[1-4]"}]))
    ]
    checked, _ = pipeline.check_topology(document.Document("t.yaml", "", 0, data))
    assert [each.code for each in checked.diagnostics if each.code.startswith("T6")] == []
    data["spec"]["pools"][0]["node"]["fabrics"] = ["c"]
    checked, _ = pipeline.check_topology(document.Document("t.yaml", "", 0, data))
    assert [each.code for each in checked.diagnostics if each.code.startswith("T6")] == ["T610", "T610"]


def test_a_network_of_others_on_openshift() -> None:
    assert found(ew=one("hostdevice"), platform="openshift") == ["T612w"]
    assert found(ew=one("hostdevice", rail(0, network="ml/rail-0")), platform="openshift") == []
    assert found(ew=one("hostdevice", rail(0, network="default/rail-0")), platform="openshift") == []


@pytest.mark.parametrize(("asked", "taken"), [("one rail", []), ("two rails", ["T605"])])
def test_pods_of_a_workflow_need_addresses(asked: str, taken: list[str]) -> None:
    """30 addresses without the gateway and two others, and 14 pods on one rail or on two."""
    data = topology(
        ew=one(
            "macvlan",
            *[rail(n, resource="rdma/a", subnet="10.0.0.0/27", gateway="10.0.0.1") for n in (0, 1)],
            ipam={"type": "whereabouts", "exclude": ["10.0.0.9", "10.0.0.10", "10.0.0.1"]},
            sourceRouting=True,
        )
    )
    data["spec"]["pools"][0]["domains"] = [{"nodes": "n[1-14]"}]
    fabric = {"name": "ew", **({"rails": [0]} if asked == "one rail" else {})}
    pods = {**WORKER, "accelerator": {"name": "h200", "count": 8}, "fabric": fabric, "replicas": 7}
    flow = workflow({"name": "g", "groups": [{"name": "r", "replicas": 2, "podSets": [pods]}]})
    two = document.Document("w.yaml", "", 0, flow), document.Document("t.yaml", "", 0, data)
    outcome, _ = pipeline.compile(pipeline.Request(*two, scheduler="none"))
    assert [each.code for each in outcome.diagnostics if each.code == "T605" and each.severity == "error"] == taken


BLOCKS = {"type": "nv-ipam", "perNode": 4}
ROOM: dict[str, tuple[dict[str, Any], dict[str, Any], int, int, list[str]]] = {
    # ipam and rail, podSet, gang replicas, nodes -> what T605 says of the workflow
    "blocks of all nodes": ({"ipam": BLOCKS}, {"replicas": 64, "accelerator": {"count": 1}}, 1, 8, ["w", "e"]),
    "blocks of one node": ({"ipam": BLOCKS}, {"replicas": 8, "accelerator": {"count": 1}}, 1, 8, ["w"]),
    "blocks that do": ({"ipam": BLOCKS}, {"replicas": 16, "accelerator": {"count": 2}}, 1, 8, []),
    "a gateway among them": (
        {"ipam": BLOCKS, "gateway": "10.0.0.1"},
        {"replicas": 8, "accelerator": {"count": 2}},
        1,
        2,
        ["e"],
    ),
    "gangs of a range": ({"ipam": {"type": "whereabouts"}, "subnet": "10.0.0.0/29"}, {"replicas": 4}, 4, 16, ["e"]),
    "a gang of a range": ({"ipam": {"type": "whereabouts"}, "subnet": "10.0.0.0/29"}, {"replicas": 4}, 1, 4, []),
}


@pytest.mark.parametrize(("own", "pods", "copies", "nodes", "said"), ROOM.values(), ids=ROOM)
@pytest.mark.parametrize("kind", ["macvlan", "ipoib"])
def test_blocks_and_ranges_hold_so_many_pods(
    own: dict[str, Any], pods: dict[str, Any], copies: int, nodes: int, said: list[str], kind: str
) -> None:
    each = {"subnet": "10.0.0.0/24", **own}
    ipam = each.pop("ipam")
    links = {"linkType": "infiniband"} if kind == "ipoib" else {}
    data = topology(ew=one(kind, rail(0, resource="rdma/a", **each), ipam=ipam, **links))
    data["spec"]["pools"][0]["domains"] = [{"nodes": f"n[01-{nodes:02}]"}]
    members = {**WORKER, "accelerator": {"count": 8}, **pods, "fabric": "ew"}
    flow = workflow({"name": "g", "replicas": copies, "podSets": [members]})
    two = document.Document("w.yaml", "", 0, flow), document.Document("t.yaml", "", 0, data)
    outcome, _ = pipeline.compile(pipeline.Request(*two, scheduler="none"))
    found = [d for d in outcome.diagnostics if d.code == "T605" and d.route[0] != "topology"]
    assert [each.severity[0] for each in found] == said


subnets = st.builds(lambda a, bits: f"10.{a}.0.0/{bits}", st.integers(0, 3), st.integers(16, 32))


@given(subnets, st.lists(subnets, max_size=4))
def test_addresses_that_are_left_are_counted_once(net: str, excluded: list[str]) -> None:
    """Against all addresses, one by one."""
    whole = ip.subnet(net)
    assert whole is not None
    if whole.num_addresses > 4096:
        return
    span = ip.hosts(whole)
    out = [ip_network(each) for each in excluded]
    every = [each for each in whole if span.holds(each) and not any(each in one for one in out)]
    assert ip.left(span, list(ip.excluded(excluded))) == len(every)


@given(st.integers(1, 5000), st.booleans(), st.sampled_from(["10.0.0.0/8", "fd00::/64"]))
def test_a_block_is_as_small_as_can_be(addresses: int, gateway: bool, net: str) -> None:
    whole = ip.subnet(net)
    assert whole is not None
    length = ip.block(whole, addresses, gateway)

    def room(prefix: int) -> int:
        return ip.hosts(ip_network(f"{whole.network_address}/{prefix}")).size

    assert room(length) >= addresses + gateway
    assert length == whole.max_prefixlen or room(length + 1) < addresses + gateway


texts = st.sampled_from(
    ["", "a", "a.b", "a-b", "nvidia.com/a", "rdma/a_b", "net1", "eth0", "lo", "a/b", "0000:1a:00.0"]
)
anything = texts | st.sampled_from(["10.0.0.0/24", "10.0.0.1", "fd00::/120", "::", "255.255.255.255/32", "0.0.0.0/0"])
RAIL = ("network", "resource", "hca", "interface", "subnet", "gateway", "device")
KINDS = ("macvlan", "ipoib", "hostdevice", "sriov", "spectrumx", "dranet", "efa", "gke", "hostnetwork", "none")


@st.composite
def fabrics(draw: st.DrawFn) -> dict[str, Any]:
    """Fabrics of which the schema takes most, and sense few."""
    rails = st.dictionaries(st.sampled_from(RAIL), anything, max_size=6)
    ipam = st.fixed_dictionaries(
        {"type": st.sampled_from(["nv-ipam", "whereabouts", "static", "host-local", "dhcp"])},
        optional={
            "perNode": st.integers(1, 10**6),
            "exclude": st.lists(anything, max_size=3),
            "rangeStart": anything,
            "rangeEnd": anything,
        },
    )
    optional = {
        "linkType": st.sampled_from(["infiniband", "ethernet"]),
        "attach": st.sampled_from(["exclusive", "shared"]),
        "ipam": ipam,
        "sourceRouting": st.booleans(),
        "mtu": st.integers(68, 9000),
        "shares": st.integers(1, 100),
    }
    kind, listed = st.sampled_from(KINDS), st.lists(rails, max_size=4)
    return draw(st.fixed_dictionaries({"kind": kind, "rails": listed}, optional=optional))


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(fabrics(), min_size=1, max_size=2), st.sampled_from(["kubernetes", "openshift"]))
def test_no_fabric_stops_a_check_or_the_export(given_: list[dict[str, Any]], platform: str) -> None:
    data = topology(**{f"f{n}": each for n, each in enumerate(given_)}, platform=platform)
    if has_errors(schemas.validate(native.SCHEMA, data, "topology")):
        return
    one_ = document.Document("t.yaml", "", 0, data)
    checked, _ = pipeline.check_topology(one_)
    assert all(each.message and each.code for each in checked.diagnostics)
    made, _ = pipeline.export(one_, "network-operator", {})
    assert (made.value is None) == has_errors(made.diagnostics)
