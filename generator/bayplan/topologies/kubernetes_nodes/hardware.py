"""What nodes are: the kind and number of their GPUs, their network cards, what tells them from others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from bayplan.core.values import NamedTuple, grouped
from bayplan.model.topology import AcceleratorKind
from bayplan.topologies import grouping
from bayplan.topologies.kubernetes_nodes import NodeGroup, Taint, size

CARDS: Mapping[str, str] = {
    "nvidia.com/gpu": "nvidia",
    "amd.com/gpu": "amd",
    "huawei.com/Ascend910": "ascend",
    "cambricon.com/mlu": "cambricon",
    "enflame.com/gcu": "enflame",
    "hygon.com/dcunum": "hygon",
    "iluvatar.ai/gpu": "iluvatar",
    "kunlunxin.com/xpu": "kunlunxin",
    "metax-tech.com/gpu": "metax",
    "mthreads.com/gpu": "mthreads",
}
"""What device plugins call whole GPUs -> who makes them."""
UNMODELLED = (
    "google.com/tpu",
    "habana.ai/gaudi",
    "aws.amazon.com/neuron",
    "aws.amazon.com/neuroncore",
    "aws.amazon.com/neurondevice",
    "gpu.intel.com/xe",
    "gpu.intel.com/i915",
    "qualcomm.com/qaic",
    "huawei.com/Ascend310",
    "huawei.com/Ascend310P",
    "furiosa.ai/rngd",
    "rebellions.ai/ATOM",
    "tenstorrent.com/n150",
)
"""Other accelerators: workloads can ask for them by resource, and there is no accelerator kind of them."""
TPU = "cloud.google.com/gke-tpu-accelerator"

NVIDIA = "nvidia.com/gpu"
MIG = "nvidia.com/mig-"
"""Begins what the device plugin calls slices of GPUs where it has the strategy "mixed" (NVIDIA/k8s-device-plugin)."""
SHARES = "nvidia.com/gpu.shared"
"""What it calls shares where its `renameByDefault` is on."""
COUNT = "nvidia.com/gpu.count"
"""GPUs that are built in, of GPU feature discovery; those that can be allocated may be fewer, or shares of them."""
PRODUCTS = (
    "nvidia.com/gpu.product",
    "amd.com/gpu.product-name",
    "gpu.nvidia.com/model",
    "cloud.google.com/gke-accelerator",
)
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
ARCH = "kubernetes.io/arch"
VOLUMES = "attachable-volumes-"
"""Begins resources that no pod asks for."""
SELECTORS = (
    *PRODUCTS,
    TPU,
    "compute.coreweave.com/node-pool",
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "karpenter.sh/nodepool",
    "kubernetes.azure.com/agentpool",
    "node.coreweave.cloud/type",
    INSTANCE_TYPE,
    "nvidia.com/gpu.machine",
    "nvidia.com/gpu.present",
    "nvidia.com/mig.config",
    "nvidia.com/mig.strategy",
    ARCH,
)
"""Labels that may tell the nodes of a pool from all others, the best first."""
CONTROL = frozenset({"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"})

_NIC = re.compile(r"rdma|roce|efa$|/rail|/ib|hca|mlnx|sriov|hostdev|infiniband|ovs", re.I)
_PART = re.compile(r"-(SHARED|MIG-.*)$", re.I)
"""Ends a product that is not a whole GPU: `NVIDIA-H100-80GB-HBM3-MIG-1g.10gb`, `NVIDIA-A100-SXM4-40GB-SHARED`."""
_PASSING = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "ToBeDeleted", "DeletionCandidate")
"""Taints that speak of a state rather than of who may run there."""
_HOLDING = ("NoSchedule", "NoExecute")


class Machine(NamedTuple):
    """What nodes of one pool have in common. A node without GPUs is told apart by its instance type."""

    product: str
    resource: str
    arch: str


def machine_of(group: NodeGroup) -> Machine:
    """Kind of GPU and of CPU."""
    resource = resource_of(group)
    product = product_of(group) if resource else _plain(group)
    return Machine(product, resource, group.labels.get(ARCH, ""))


def _plain(group: NodeGroup) -> str:
    """What nodes without GPUs are called: after what else they compute with, or their instance type."""
    if strange := unmodelled(group):
        return group.labels.get(TPU) or strange.rpartition("/")[2]
    return group.labels.get(INSTANCE_TYPE, "")


def unmodelled(group: NodeGroup) -> str:
    """What other accelerators of a node without GPUs are called; empty without any."""
    if resource_of(group):
        return ""
    amounts, capacity = group.offer.amounts, group.offer.capacity
    return next((key for key in UNMODELLED if amounts.get(key) or capacity.get(key)), "")


def resource_of(group: NodeGroup) -> str:
    """What its GPUs are called; empty without any."""
    amounts, capacity = group.offer.amounts, group.offer.capacity
    if amounts.get(NVIDIA) or capacity.get(NVIDIA):
        return NVIDIA
    if part := _parts(group):
        return max(part, key=lambda key: (part[key], key))
    return NVIDIA if _labelled(group) else next((key for key in CARDS if amounts.get(key) or capacity.get(key)), "")


def _parts(group: NodeGroup) -> dict[str, int]:
    """Slices and shares of GPUs that have names of their own, by resource."""
    amounts, capacity = group.offer.amounts, group.offer.capacity
    named = {key for held in (amounts, capacity) for key in held if key.startswith((MIG, SHARES))}
    sizes = {key: max(amounts.get(key, 0), capacity.get(key, 0)) // 1000 for key in sorted(named)}
    return {key: size for key, size in sizes.items() if size}


def _labelled(group: NodeGroup) -> int:
    declared = group.labels.get(COUNT, "")
    return int(declared) if declared.isascii() and declared.isdecimal() and len(declared) < 4 else 0


def label_of(group: NodeGroup) -> str:
    """The label that tells what its GPUs are; empty where none does."""
    return next((key for key in PRODUCTS if group.labels.get(key)), "")


def labelled(group: NodeGroup) -> str:
    """What labels call its GPUs."""
    return group.labels.get(label_of(group), "")


def product_of(group: NodeGroup) -> str:
    """What its GPUs are called, with an end that tells parts of GPUs from whole ones, whether or not labels do."""
    declared = labelled(group)
    if is_part(declared):
        return declared
    resource = resource_of(group)
    if resource.startswith(MIG):
        return f"{declared}-mig-{resource.removeprefix(MIG)}"
    return f"{declared}-SHARED" if resource == SHARES or shared(group) else declared


def is_part(product: str) -> bool:
    """Whether it is a slice or a share of a GPU."""
    return bool(_PART.search(product))


def kind_of(product: str) -> str:
    """`NVIDIA-H100-80GB-HBM3` -> `h100`: the words up to the first with a digit. Parts of GPUs are a kind of their own:
    with `-MIG-1g.10gb` it is `h100-mig-1g-10gb`."""
    if part := _PART.search(product):
        return f"{kind_of(product[: part.start()])[:40]}-{grouping.dns_label(part[0])}"[:63].strip("-")
    return grouping.accelerator(product)


def kinds_of(products: Iterable[str]) -> dict[str, str]:
    """Product -> kind; two products of one kind go by their whole names."""
    short = grouped((kind_of(product), product) for product in sorted(set(products)))
    used: set[str] = set()
    return {
        product: grouping.free(kind if len(held) == 1 else grouping.dns_label(product) or kind, used)
        for kind, held in short.items()
        for product in held
    }


def accelerator(name: str, resource: str, has_plugin: bool) -> AcceleratorKind:
    """How GPUs are asked for: of the device plugin, or of DRA where no node has any to allocate."""
    vendor = CARDS.get(resource, "nvidia")
    if has_plugin:
        return AcceleratorKind(name, vendor, resources={"count": resource})
    return AcceleratorKind(name, vendor, ("dra",), device_class="gpu.nvidia.com")


@cache
def _is_card(resource: str) -> bool:
    return bool(_NIC.search(resource))


def built_in(group: NodeGroup) -> dict[str, int]:
    """GPUs and network cards that the node has, whether they work or not, by resource."""
    offer, resource = group.offer, resource_of(group)
    whole = {key: offer.capacity.get(key, amount) // 1000 for key, amount in offer.amounts.items() if _is_card(key)}
    parts = _parts(group) if resource else {}
    partitioned = any(key.startswith(MIG) for key in parts) or shared(group) or "SHARED" in labelled(group)
    cards = (
        _labelled(group) if resource == NVIDIA and not partitioned else 0
    )  # of parts, the label counts what they are of
    whole |= parts
    cards = cards or max(offer.capacity.get(resource, 0), offer.amounts.get(resource, 0)) // 1000
    if strange := unmodelled(group):
        return {**whole, strange: max(offer.capacity.get(strange, 0), offer.amounts.get(strange, 0)) // 1000}
    return {**whole, resource: cards} if resource else whole


def short_of(group: NodeGroup, wanted: Mapping[str, int]) -> dict[str, int]:
    """Devices of which the node can give less than its like -> how many it can."""
    allocatable = {key: group.offer.amounts.get(key, 0) // 1000 for key in wanted}
    return {key: amount for key, amount in allocatable.items() if amount < wanted[key]}


def shared(group: NodeGroup) -> int:
    """More of them to allocate than there are: shares of GPUs."""
    allocatable, cards = group.offer.amounts.get(NVIDIA, 0) // 1000, _labelled(group)
    return allocatable if 0 < cards < allocatable else 0


def selector(own: Sequence[NodeGroup], others: Iterable[NodeGroup]) -> dict[str, str]:
    """A label that all nodes of the pool carry and no other node does."""
    rest = list(others)
    for key in SELECTORS:
        values = {each.labels.get(key, "") for each in own}
        if len(values) == 1 and "" not in values and not any(each.labels.get(key) in values for each in rest):
            return {key: values.pop()}
    return {}


def tolerated(groups: Sequence[NodeGroup]) -> tuple[Taint, ...]:
    """Taints of at least half of the nodes: the pool is meant for those who tolerate them."""
    sizes: dict[Taint, int] = {}
    for each in groups:
        for taint in holding(each.offer.taints):
            sizes[taint] = sizes.get(taint, 0) + len(each.names)
    total = size(groups)
    return tuple(sorted(taint for taint, size in sizes.items() if 2 * size >= total))


def holding(taints: Iterable[Taint]) -> list[Taint]:
    """Those that keep pods off for another reason than a passing state."""
    return [taint for taint in taints if taint[2] in _HOLDING and not taint[0].startswith(_PASSING)]


def is_control(group: NodeGroup) -> bool:
    """Whether nodes belong to the control plane alone."""
    if group.offer.taints and any(key in CONTROL and effect in _HOLDING for key, _, effect in group.offer.taints):
        return True
    return not CONTROL.isdisjoint(group.labels) and not resource_of(group)


LABELS = frozenset({*SELECTORS, *CONTROL, COUNT})
