"""Fabrics as network objects: what is written is accepted by upstream's CRDs, webhooks and templates."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bayplan import pipeline
from bayplan.core.diagnostics import Diagnostic, has_errors
from bayplan.text import document
from bayplan.text.emit import emit
from judges import UPSTREAM, judge, network_operator
from judges.versions import NEWEST
from tools.data import parse, parse_all
from tools.run import ROOT

needs_upstream = pytest.mark.skipif(not (UPSTREAM / "crds").is_dir(), reason=f"no upstream CRDs at {UPSTREAM}/crds")


def topology(**fabrics: Any) -> dict[str, Any]:
    """20 nodes on some fabrics; keys that are no fabric's are of the cluster."""
    own = {key: fabrics.pop(key) for key in ("versions", "platform", "defaults") if key in fabrics}
    pool = {"name": "h200", "node": {"accelerator": "h200", "count": 8, "cpu": "140", "memory": "900Gi"}}
    return {
        "apiVersion": "bayplan.dev/v1alpha1",
        "kind": "ClusterTopology",
        "metadata": {"name": "hall"},
        "spec": {
            "versions": {"kubernetes": "1.34"},
            "defaults": {"namespace": "ml"},
            **own,
            "pools": [{**pool, "domains": [{"nodes": "n[01-20]"}]}],
            "accelerators": {"h200": {}},
            "fabrics": {name.replace("_", "-"): each for name, each in fabrics.items()},
        },
    }


def export(data: dict[str, Any]) -> tuple[list[dict[str, Any]], tuple[Diagnostic, ...]]:
    """The objects, as a YAML reader finds them, and what was said."""
    made, _ = pipeline.export(document.Document("topology.yaml", "", 0, data), "network-operator", {})
    assert (made.value is None) == has_errors(made.diagnostics)
    return list(parse_all("".join(emit(made.value or ())))), made.diagnostics


def codes(data: dict[str, Any]) -> list[str]:
    return sorted(each.code for each in export(data)[1] if each.code not in ("T580", "T615"))


def rail(number: int, **changes: Any) -> dict[str, Any]:
    own = {"network": f"fabric/rail-{number}", "resource": f"nvidia.com/rail_{number}", "device": f"ens{number}f0np0"}
    whole = {**own, "hca": f"mlx5_{number}", "subnet": f"10.0.{number * 4}.0/22", **changes}
    return {key: value for key, value in whole.items() if value}


NV = {"type": "nv-ipam", "perNode": 16, "exclude": ["10.0.0.250", "10.0.1.0/28"], "rangeStart": "10.0.0.9"}
WHERE = {"type": "whereabouts", "exclude": ["10.0.0.250", "10.0.1.0/28"], "rangeStart": "10.0.0.9"}
FABRICS: dict[str, dict[str, Any]] = {
    "hostdevice": {"kind": "hostdevice", "ipam": NV, "rails": [rail(n) for n in range(4)]},
    "hostdevice-by-address": {
        "kind": "hostdevice",
        "rails": [rail(n, device=f"0000:{n}a:00.0", subnet="10.0.0.0/22") for n in range(2)],
        "deviceIDs": ["1021"],
        "sourceRouting": True,
        "ipam": WHERE,
    },
    "macvlan": {
        "kind": "macvlan",
        "linkType": "ethernet",
        "mtu": 9000,
        "shares": 8,
        "ipam": {**NV, "namespace": "net"},
        "rails": [rail(n, resource="rdma/shared", gateway=f"10.0.{n * 4}.1") for n in range(2)],
    },
    "macvlan-in-one-subnet": {
        "kind": "macvlan",
        "sourceRouting": True,
        "ipam": {"type": "host-local"},
        "rails": [rail(n, resource=f"rdma/shared_{n}", subnet="10.0.0.0/22") for n in range(2)],
    },
    "ipoib": {"kind": "ipoib", "linkType": "infiniband", "ipam": WHERE, "rails": [rail(0, resource="rdma/ib")]},
    "ipoib-exclusive": {
        "kind": "ipoib",
        "linkType": "infiniband",
        "attach": "exclusive",
        "rails": [rail(0, resource="rdma/ib", subnet="")],
    },
    "sriov": {"kind": "sriov", "linkType": "ethernet", "mtu": 9000, "ipam": NV, "rails": [rail(n) for n in range(2)]},
    "sriov-infiniband": {
        "kind": "sriov",
        "linkType": "infiniband",
        "vendorIDs": ["15b3"],
        "sourceRouting": True,
        "ipam": {"type": "static"},
        "rails": [rail(n, device=f"0000:{n}a:00.0") for n in range(2)],
    },
    "spectrumx": {
        "kind": "spectrumx",
        "mtu": 9216,
        "ipam": {"type": "nv-ipam", "perNode": 1},
        "rails": [rail(n, resource=f"nvidia.com/rail-{n}", gateway=f"10.0.{n * 4}.0") for n in range(2)],
    },
    "spectrumx-whereabouts": {
        "kind": "spectrumx",
        "mtu": 9216,
        "ipam": WHERE,
        "rails": [rail(n, resource=f"nvidia.com/rail-{n}") for n in range(2)],
    },
    "dranet": {"kind": "dranet", "deviceClass": "rdma", "rails": [{"hca": "mlx5_0"}]},
    "verbs": {"kind": "none", "linkType": "infiniband", "rails": [{"resource": "nvidia.com/ib"}] * 2},
    "verbs-shared": {"kind": "none", "linkType": "infiniband", "attach": "shared", "rails": [{"resource": "rdma/ib"}]},
}
KINDS = {
    "hostdevice": ["NicClusterPolicy", *["IPPool"] * 4, *["HostDeviceNetwork"] * 4],
    "hostdevice-by-address": ["NicClusterPolicy", *["NetworkAttachmentDefinition"] * 2],
    "macvlan": ["NicClusterPolicy", *["IPPool"] * 2, *["MacvlanNetwork"] * 2],
    "macvlan-in-one-subnet": ["NicClusterPolicy", *["NetworkAttachmentDefinition"] * 2],
    "ipoib": ["NicClusterPolicy", "IPoIBNetwork"],
    "ipoib-exclusive": ["NicClusterPolicy", "IPoIBNetwork"],
    "sriov": ["NicClusterPolicy", *["IPPool"] * 2, *["SriovNetworkNodePolicy"] * 2, *["SriovNetwork"] * 2],
    "sriov-infiniband": ["NicClusterPolicy", *["SriovNetworkNodePolicy"] * 2, *["SriovIBNetwork"] * 2],
    "spectrumx": ["NicClusterPolicy", *["CIDRPool"] * 2, "SpectrumXRailPoolConfig"],
    "spectrumx-whereabouts": ["NicClusterPolicy", "SpectrumXRailPoolConfig"],
    "dranet": ["DeviceClass"],
    "verbs": ["NicClusterPolicy"],
    "verbs-shared": ["NicClusterPolicy"],
}
VERSIONS = ("", "26.4", "26.7")


@needs_upstream
@pytest.mark.parametrize("platform", ["kubernetes", "openshift"])
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", FABRICS)
def test_what_is_written_is_accepted(name: str, version: str, platform: str) -> None:
    versions = {"kubernetes": "1.34", **({"networkOperator": version} if version else {})}
    made, found = export(topology(ew=FABRICS[name], versions=versions, platform=platform))
    assert made, found
    assert [complaint for each in made for complaint in judge(each, NEWEST)] == []
    if version != "26.7":
        kinds = [each["kind"] for each in made]
        assert kinds == [each for each in KINDS[name] if each != "NicClusterPolicy" or "NicClusterPolicy" in kinds]


@pytest.mark.parametrize("version", ["1.32", "1.33", "1.34"])
def test_a_device_class_in_the_words_of_the_version(version: str) -> None:
    (made,) = export(topology(dra=FABRICS["dranet"], versions={"kubernetes": version}))[0]
    assert made["apiVersion"] == {"1.32": "resource.k8s.io/v1beta1", "1.33": "resource.k8s.io/v1beta2"}.get(
        version, "resource.k8s.io/v1"
    )
    assert made["metadata"]["name"] == "rdma"


@pytest.mark.parametrize("name", ["dranet", "verbs"])
def test_what_no_import_brings_back_is_said(name: str) -> None:
    _, found = export(topology(ew=FABRICS["ipoib"], other=FABRICS[name]))
    (lost,) = [each.message for each in found if each.code == "T580"]
    assert "dranet and none" in lost
    _, found = export(topology(ew=FABRICS["ipoib"]))
    assert not any("dranet" in each.message for each in found)


def test_plugins_behind_the_first_need_an_operator_that_takes_them() -> None:
    fabric = FABRICS["macvlan-in-one-subnet"]
    old, said = export(topology(ew=fabric, versions={"networkOperator": "26.4"}))
    new, silent = export(topology(ew=fabric, versions={"networkOperator": "26.7"}))
    assert "T614" in {each.code for each in said}
    assert "T614" not in {each.code for each in silent}
    definition = json.loads(old[-1]["spec"]["config"])
    chained = json.loads(f"[{new[-1]['spec']['metaPlugins']}]")
    assert definition["plugins"][1:] == chained
    assert [each["type"] for each in chained] == ["tuning", "sbr"]
    assert {key: new[-1]["spec"][key] for key in ("master", "mode")} == {"master": "ens1f0np0", "mode": "bridge"}
    assert definition["plugins"][0].items() >= {"type": "macvlan", "master": "ens1f0np0", "mode": "bridge"}.items()


def test_openshift_has_its_own_multus_and_operator() -> None:
    made = export(topology(ew=FABRICS["sriov"], platform="openshift"))[0]
    assert "secondaryNetwork" not in made[0]["spec"]
    spaces = {each["kind"]: each["metadata"].get("namespace", "") for each in made}
    assert spaces["SriovNetwork"] == spaces["SriovNetworkNodePolicy"] == "openshift-sriov-network-operator"
    assert spaces["IPPool"] == "nvidia-network-operator"


def test_virtual_functions_are_as_many_as_nodes_offer() -> None:
    data = topology(ew=FABRICS["sriov"])
    data["spec"]["pools"][0]["node"]["resources"] = {"nvidia.com/rail_0": "8"}
    functions = [each["spec"]["numVfs"] for each in export(data)[0] if each["kind"] == "SriovNetworkNodePolicy"]
    assert functions == [8, 1]


def test_a_card_by_its_address_a_function_by_its_port() -> None:
    def selectors(fabric: str) -> Any:
        made = export(topology(ew=FABRICS[fabric]))[0][0]
        return json.loads(made["spec"]["sriovDevicePlugin"]["config"])["resourceList"][1]["selectors"]

    assert selectors("hostdevice") == {"vendors": ["15b3"], "pfNames": ["ens1f0np0"], "isRdma": True}
    whole = {"vendors": ["15b3"], "devices": ["1021"], "pciAddresses": ["0000:1a:00.0"], "isRdma": True}
    assert selectors("hostdevice-by-address") == whole


def test_nodes_of_other_pools_get_no_addresses() -> None:
    data = topology(ew=FABRICS["sriov"])
    (pool,) = data["spec"]["pools"]
    on = {**pool, "node": {**pool["node"], "nodeSelector": {"x.io/pool": "h200"}, "fabrics": ["ew"]}}
    off = {"name": "cpu", "node": {"cpu": "8", "memory": "8Gi", "nodeSelector": {"x.io/pool": "cpu"}, "fabrics": []}}
    data["spec"]["pools"] = [on, {**off, "domains": [{"nodes": "c[1-9]"}]}]
    made = {each["kind"]: each for each in export(data)[0]}
    (term,) = made["IPPool"]["spec"]["nodeSelector"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": "x.io/pool", "operator": "In", "values": ["h200"]}]
    assert made["SriovNetworkNodePolicy"]["spec"]["nodeSelector"] == {"x.io/pool": "h200"}


MISSING: dict[str, tuple[dict[str, Any], list[str]]] = {
    "no namespace": ({"kind": "hostdevice", "rails": [rail(0, network="rail-0", subnet="")]}, ["T613", "T613"]),
    "no port": ({"kind": "macvlan", "rails": [{"network": "a/b"}]}, ["T613"]),
    "no port to tell resources apart": (
        {"kind": "sriov", "rails": [{"network": f"a/b{n}", "resource": f"nvidia.com/b{n}"} for n in range(2)]},
        ["T613", "T613"],
    ),
    "an address where a name is needed": ({"kind": "macvlan", "rails": [rail(0, device="0000:1a:00.0")]}, ["T613"] * 2),
    "no MTU": ({"kind": "spectrumx", "rails": [rail(0, resource="nvidia.com/rail-0", subnet="")]}, ["T613"]),
    "no block": ({"kind": "ipoib", "ipam": {"type": "nv-ipam"}, "rails": [rail(0)]}, ["T613"]),
    "no subnet": ({"kind": "ipoib", "ipam": {"type": "whereabouts"}, "rails": [rail(0, subnet="")]}, ["T613"]),
    "nothing to write": ({"kind": "efa", "rails": [{"resource": "vpc.amazonaws.com/efa"}]}, ["T581", "T613"]),
}


@pytest.mark.parametrize("name", MISSING)
def test_what_is_missing_is_told(name: str) -> None:
    fabric, wanted = MISSING[name]
    assert set(codes(topology(ew=fabric, defaults={"queue": "q"}))) == set(wanted)


def test_two_networks_of_one_name_are_two_objects_of_one_name() -> None:
    two = [rail(0, network="a/net", subnet=""), rail(1, network="b/net", subnet="")]
    assert "T613" in codes(topology(ew={"kind": "macvlan", "rails": two}))


def test_before_264_there_are_no_rails_of_spectrum_x() -> None:
    data = topology(ew=FABRICS["spectrumx"], versions={"networkOperator": "26.1"})
    assert codes(data) == ["T614"]


EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*/topology.yaml") if "fabrics:" in path.read_text("utf-8"))


@needs_upstream
@pytest.mark.parametrize("path", EXAMPLES, ids=[path.parent.name for path in EXAMPLES])
def test_what_is_written_for_the_examples_is_accepted(path: Any) -> None:
    """Those that leave ports out are told so."""
    made, found = export(parse(path.read_text("utf-8")))
    assert made or {"T613", "T581"} & {each.code for each in found}
    assert [complaint for each in made for complaint in judge(each, NEWEST)] == []


@st.composite
def fabrics(draw: st.DrawFn) -> dict[str, Any]:
    """Any fabric that the checks let through."""
    kind = draw(st.sampled_from(["macvlan", "ipoib", "hostdevice", "sriov", "spectrumx"]))
    type_ = draw(st.sampled_from(["nv-ipam", "whereabouts", "static", "host-local", "dhcp", ""]))
    bits = draw(st.integers(16, 24))
    gateway = draw(st.booleans())
    rails = [
        {
            "network": f"net/r{n}",
            "resource": f"nvidia.com/r{n}" if kind in ("hostdevice", "sriov", "spectrumx") else f"rdma/r{n % 2}",
            "device": f"eth{n}",
            "subnet": f"10.{n}.0.0/{bits}",
            **({"gateway": f"10.{n}.0.1"} if gateway else {}),
        }
        for n in range(draw(st.integers(1, 4)))
    ]
    ipam: dict[str, Any] = {"type": type_, **({"perNode": draw(st.integers(2, 12))} if type_ == "nv-ipam" else {})}
    if draw(st.booleans()):
        ipam["exclude"] = draw(st.lists(st.sampled_from(["10.0.0.3", "10.0.0.16/30", "10.1.0.0/30", "10.9.0.1"])))
    links = {"macvlan": "ethernet", "spectrumx": "ethernet", "ipoib": "infiniband"}.get(kind, "")
    return {
        "kind": kind,
        **({"linkType": links} if links else {}),
        **({"ipam": ipam} if type_ else {}),
        **({"mtu": 9000} if kind == "spectrumx" or draw(st.booleans()) else {}),
        "sourceRouting": draw(st.booleans()),
        "rails": rails,
    }


@needs_upstream
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(fabrics(), st.sampled_from(VERSIONS[1:]))
def test_whatever_is_written_is_accepted(fabric: dict[str, Any], version: str) -> None:
    made, found = export(topology(ew=fabric, versions={"networkOperator": version}))
    assert made, found
    assert [complaint for each in made for complaint in judge(each, NEWEST)] == []


@needs_upstream
def test_the_judge_refuses() -> None:
    """The judge itself: what a webhook refuses it refuses too."""
    made = {each["kind"]: each for each in export(topology(ew=FABRICS["macvlan"]))[0]}
    pool, network, policy = made["IPPool"], made["MacvlanNetwork"], made["NicClusterPolicy"]
    bad: list[dict[str, Any]] = [
        {**pool, "spec": {**pool["spec"], "gateway": "192.168.0.1"}},
        {**pool, "spec": {**pool["spec"], "perNodeBlockSize": 5000}},
        {**network, "spec": {**network["spec"], "ipam": '{"type": "static",}'}},
        {**network, "spec": {**network["spec"], "ipam": """{"type": "it's"}"""}},
        {**policy, "metadata": {"name": "other"}},
        {**policy, "spec": {"rdmaSharedDevicePlugin": {"image": "a", "config": '{"configList": []}'}}},
    ]
    assert [bool(list(network_operator.judge(each))) for each in bad] == [True] * len(bad)
