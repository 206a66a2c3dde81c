"""What the webhooks of secondary networks refuse, and what their operators cannot carry out.

Sources: Network Operator 26.7 (api/v1alpha1/validator, webhook-schemas, manifests/state-*-network), nvidia-k8s-ipam
v1alpha1 (ippool_validate.go, cidrpool_validate.go), SR-IOV Network Operator (pkg/webhook/validate.go), SR-IOV Network
Device Plugin 3.11 (ValidResourceName).
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import yaml
from jsonschema import Draft7Validator

from judges.versions import UPSTREAM
from tools.data import parse

Document = Mapping[str, Any]
SCHEMAS = UPSTREAM / "crds" / "network-operator" / "webhook-schemas"
FQDN = re.compile(r"^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z]{2,})+$")
SRIOV_NAME = re.compile(r"^([A-Za-z0-9][A-Za-z0-9_.]*)?[A-Za-z0-9]$")
RDMA_NAME = re.compile(r"^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$")
PLUGIN_NAME = re.compile(r"^[a-zA-Z0-9_-]+$")
OPERATOR_NAME = re.compile(r"^[a-zA-Z0-9]([a-zA-Z0-9_-]*[a-zA-Z0-9])?$")
NETWORK_NAME = re.compile(r"^[a-zA-Z0-9][a-zA-Z0-9_.-]*$")


def judge(document: Document) -> Iterator[str]:
    """Complaints about one object; none about kinds of others."""
    rule = RULES.get(document["kind"])
    if rule and document["apiVersion"].partition("/")[0] in GROUPS:
        yield from rule(document)


@cache
def schema(name: str) -> Draft7Validator:
    """A schema of the webhook."""
    return Draft7Validator(json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8")))


def loaded(text: str, what: str) -> tuple[Any, list[str]]:
    try:
        return json.loads(text), []
    except ValueError as reason:
        return None, [f"{what} is no JSON: {reason}"]


def policy(document: Document) -> Iterator[str]:
    """nicpolicy_webhook.go."""
    spec = document["spec"]
    if document["kind"] == "NicClusterPolicy" and document["metadata"]["name"] != "nic-cluster-policy":
        yield "the operator ignores every NicClusterPolicy but nic-cluster-policy"
    for key, name, regex, entries in PLUGINS:
        config, wrong = loaded(spec.get(key, {}).get("config", "{}"), f"{key}.config")
        yield from wrong
        if not config:
            continue
        yield from (f"{key}.config: {error.message}" for error in schema(name).iter_errors(config))
        for each in config.get(entries, ()):
            yield from resource(each, regex)
            if key == "sriovDevicePlugin":
                yield from (f"selectors: {error.message}" for error in schema("net_device").iter_errors(each))
                if not PLUGIN_NAME.match(each["resourceName"]):
                    yield f"the plugin refuses the resource name {each['resourceName']}"


PLUGINS = (
    ("rdmaSharedDevicePlugin", "rdma_shared_device_plugin", RDMA_NAME, "configList"),
    ("sriovDevicePlugin", "sriov_network_device_plugin", SRIOV_NAME, "resourceList"),
)


def resource(entry: Document, regex: re.Pattern[str]) -> Iterator[str]:
    if not regex.match(entry["resourceName"]):
        yield f"invalid resource name {entry['resourceName']}"
    if "resourcePrefix" in entry and not FQDN.match(entry["resourcePrefix"]):
        yield f"invalid resource prefix {entry['resourcePrefix']}"


def network(document: Document) -> Iterator[str]:
    """The definition that the operator makes must be YAML and JSON: the texts go between single quotes."""
    spec, first = document["spec"], {"HostDeviceNetwork": "host-device", "MacvlanNetwork": "macvlan"}
    if not spec.get("networkNamespace"):
        yield "no networkNamespace"
    if document["kind"] == "HostDeviceNetwork" and not RDMA_NAME.match(spec.get("resourceName", "")):
        yield f"invalid resource name {spec.get('resourceName')}"
    head = f'"type": "{first.get(document["kind"], "ipoib")}", "ipam": {spec.get("ipam") or "{}"}'
    chained = f', "plugins": [{{{head}}}, {spec["metaPlugins"]}]' if spec.get("metaPlugins") else f", {head}"
    rendered = f'config: \'{{"cniVersion": "0.3.1"{chained}}}\''
    try:
        config = json.loads(parse(rendered)["config"])
    except (yaml.YAMLError, ValueError) as reason:
        yield f"the operator cannot render it: {reason}"
        return
    yield from addresses((config.get("plugins") or [config])[0].get("ipam") or {})
    yield from (f"a plugin without a type: {each}" for each in config.get("plugins", ()) if "type" not in each)


def addresses(ipam: Document) -> Iterator[str]:
    """What the plugins read at run time."""
    kinds = ("nv-ipam", "whereabouts", "static", "host-local", "dhcp")
    if ipam and ipam.get("type") not in kinds:
        yield f"unknown ipam type {ipam.get('type')}"
    if ipam.get("type") == "whereabouts":
        ipaddress.ip_network(ipam["range"], strict=False)
        for each in ipam.get("exclude", ()):
            if "/" not in each:
                yield f"whereabouts excludes subnets, not {each}"
    if ipam.get("type") == "nv-ipam" and not ipam.get("poolName"):
        yield "nv-ipam without a pool"


def usable(net: Any) -> int:
    """GetPossibleIPCount."""
    size: int = net.num_addresses
    return size if size < 3 else size - (2 if net.version == 4 else 1)


def ip_pool(document: Document) -> Iterator[str]:
    spec = document["spec"]
    yield from named(document)
    try:
        net = ipaddress.ip_network(spec["subnet"], strict=False)
    except ValueError:
        yield "invalid subnet"
        return
    if not 1 <= spec["perNodeBlockSize"] <= usable(net):
        yield "perNodeBlockSize does not fit the subnet"
    if "gateway" in spec and ipaddress.ip_address(spec["gateway"]) not in net:
        yield "the gateway is not part of the subnet"
    if "gateway" not in spec and (spec.get("routes") or spec.get("defaultGateway")):
        yield "routes without a gateway"
    yield from excluded(net, spec)


def excluded(net: Any, spec: Document) -> Iterator[str]:
    for each in spec.get("exclusions", ()):
        start, end = (ipaddress.ip_address(each[key]) for key in ("startIP", "endIP"))
        if start not in net or end not in net or start > end:  # type: ignore[operator]
            yield f"the exclusion {each} is outside of {net}"


def named(document: Document) -> Iterator[str]:
    if not NETWORK_NAME.match(document["metadata"]["name"]):
        yield "invalid pool name"


def cidr_pool(document: Document) -> Iterator[str]:
    spec = document["spec"]
    yield from named(document)
    try:
        net = ipaddress.ip_network(spec["cidr"])
    except ValueError:
        yield "invalid cidr, or host bits set"
        return
    prefix, index = spec["perNodeNetworkPrefix"], spec.get("gatewayIndex")
    if not net.prefixlen <= prefix <= net.max_prefixlen or prefix == 0:
        yield "perNodeNetworkPrefix does not fit the cidr"
        return
    size = 1 << (net.max_prefixlen - prefix)
    most = size - 1 if size < 3 else usable(ipaddress.ip_network(f"{net.network_address}/{prefix}", strict=False))
    if index is not None and not (0 if size < 3 else 1) <= index <= most:
        yield "the gateway index is outside of the node prefix"
    if index is None and (spec.get("routes") or spec.get("defaultGateway")):
        yield "routes without a gateway"
    yield from excluded(net, spec)


def node_policy(document: Document) -> Iterator[str]:
    """staticValidateSriovNetworkNodePolicy."""
    spec = document["spec"]
    if not OPERATOR_NAME.match(spec["resourceName"]):
        yield f"invalid resource name {spec['resourceName']}"
    if not any(spec["nicSelector"].get(key) for key in ("vendor", "deviceID", "pfNames", "rootDevices", "netFilter")):
        yield "an empty nicSelector"
    if spec.get("deviceType") == "vfio-pci" and spec.get("isRdma"):
        yield "vfio-pci conflicts with isRdma"
    if spec.get("linkType", "eth").lower() != "eth" and spec.get("eSwitchMode") == "switchdev":
        yield "switchdev is for ethernet"
    if spec["numVfs"] == 0:
        yield "numVfs(0) is not allowed"


def sriov_network(document: Document) -> Iterator[str]:
    spec = document["spec"]
    if not OPERATOR_NAME.match(spec["resourceName"]):
        yield f"invalid resource name {spec['resourceName']}"
    ipam, wrong = loaded(spec.get("ipam") or "{}", "ipam")
    yield from wrong or addresses(ipam)
    yield from loaded(f"[{spec.get('metaPlugins', '')}]", "metaPlugins")[1]


def definition(document: Document) -> Iterator[str]:
    config, wrong = loaded(document["spec"]["config"], "config")
    yield from wrong
    if config and config.get("name") != document["metadata"]["name"]:
        yield "the network has another name than its definition"
    for each in (config or {}).get("plugins", ()):
        yield from [] if each.get("type") else ["a plugin without a type"]
        yield from addresses(each.get("ipam", {}))


def rails(document: Document) -> Iterator[str]:
    """The operator names policies and networks after rails, and makes virtual functions of Ethernet ports."""
    for each in document["spec"]["railTopology"]:
        if not re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", each["name"]):
            yield f"no name of an object: {each['name']}"
        if "ipam" in each:
            ipam, wrong = loaded(each["ipam"], "ipam")
            yield from wrong or addresses(ipam)


GROUPS = (
    "mellanox.com",
    "nv-ipam.nvidia.com",
    "sriovnetwork.openshift.io",
    "k8s.cni.cncf.io",
    "spectrumx.nvidia.com",
)
RULES: Mapping[str, Callable[[Document], Iterator[str]]] = {
    "NicClusterPolicy": policy,
    "NicNodePolicy": policy,
    "MacvlanNetwork": network,
    "HostDeviceNetwork": network,
    "IPoIBNetwork": network,
    "IPPool": ip_pool,
    "CIDRPool": cidr_pool,
    "SriovNetworkNodePolicy": node_policy,
    "SriovNetwork": sriov_network,
    "SriovIBNetwork": sriov_network,
    "NetworkAttachmentDefinition": definition,
    "SpectrumXRailPoolConfig": rails,
}
