"""The hardware of nodes: kind and number of their GPUs, their network devices, and labels that identify them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from bayplan.core.values import grouped
from bayplan.fabrics.cards import is_card
from bayplan.kube import quantity
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
"""Resource of whole GPUs -> vendor."""
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
"""Resources of other accelerators, which bayplan has no accelerator kind for. Workloads can request the resource."""
TPU = "cloud.google.com/gke-tpu-accelerator"

NVIDIA = "nvidia.com/gpu"
MIG = "nvidia.com/mig-"
"""Prefix of the resources of GPU slices with the strategy "mixed" of NVIDIA's device plugin."""
SHARES = "nvidia.com/gpu.shared"
"""The resource of GPU shares with `renameByDefault`."""
COUNT = "nvidia.com/gpu.count"
"""Physical GPUs by GPU feature discovery. Allocatable GPUs can be fewer, or shares of these."""
PRODUCTS = (
    "nvidia.com/gpu.product",
    "amd.com/gpu.product-name",
    "gpu.nvidia.com/model",
    "cloud.google.com/gke-accelerator",
)
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
ARCH = "kubernetes.io/arch"
VOLUMES = "attachable-volumes-"
"""Prefix of resources that no pod requests."""
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
"""Labels that can separate the nodes of a pool from all others, the best first."""
CONTROL = frozenset({"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"})

_PART = re.compile(r"-(SHARED|MIG-.*)\Z", re.I | re.S)
"""Suffix of products that are parts of GPUs: `NVIDIA-H100-80GB-HBM3-MIG-1g.10gb`, `NVIDIA-A100-SXM4-40GB-SHARED`."""
_PASSING = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "ToBeDeleted", "DeletionCandidate")
"""Prefixes of taints that describe a state, and not which pods can run there."""
_HOLDING = ("NoSchedule", "NoExecute")


class Machine(NamedTuple):
    """What nodes of one pool have in common. `product` of a node without GPUs is its instance type."""

    product: str
    resource: str
    arch: str


def machine_of(group: NodeGroup) -> Machine:
    """Kind of GPU and of CPU."""
    resource = resource_of(group)
    product = product_of(group) if resource else _plain(group)
    return Machine(product, resource, group.labels.get(ARCH, ""))


def _plain(group: NodeGroup) -> str:
    """The product of nodes without GPUs: their other accelerator, or their instance type."""
    if strange := unmodelled(group):
        return group.labels.get(TPU) or strange.rpartition("/")[2]
    return group.labels.get(INSTANCE_TYPE, "")


def unmodelled(group: NodeGroup) -> str:
    """The resource of other accelerators of a node without GPUs; empty without any."""
    if resource_of(group):
        return ""
    amounts, capacity = group.offer.amounts, group.offer.capacity
    return next((key for key in UNMODELLED if amounts.get(key) or capacity.get(key)), "")


def resource_of(group: NodeGroup) -> str:
    """The resource of its GPUs; empty without any."""
    amounts, capacity = group.offer.amounts, group.offer.capacity
    if amounts.get(NVIDIA) or capacity.get(NVIDIA):
        return NVIDIA
    if part := _parts(group):
        return max(part, key=lambda key: (part[key], key))
    return NVIDIA if _labelled(group) else next((key for key in CARDS if amounts.get(key) or capacity.get(key)), "")


def is_accelerated(group: NodeGroup) -> bool:
    """Whether nodes have GPUs or other accelerators."""
    return bool(resource_of(group) or unmodelled(group))


def _parts(group: NodeGroup) -> dict[str, int]:
    """Slices and shares of GPUs with their own resource, by resource."""
    amounts, capacity = group.offer.amounts, group.offer.capacity
    named = {key for held in (amounts, capacity) for key in held if key.startswith((MIG, SHARES))}
    sizes = {key: max(amounts.get(key, 0), capacity.get(key, 0)) // 1000 for key in sorted(named)}
    return {key: size for key, size in sizes.items() if size}


def _labelled(group: NodeGroup) -> int:
    return quantity.whole(group.labels.get(COUNT, ""), 3)


def label_of(group: NodeGroup) -> str:
    """The key of the label with its GPU product; empty without any."""
    return next((key for key in PRODUCTS if group.labels.get(key)), "")


def labelled(group: NodeGroup) -> str:
    """The GPU product in its labels."""
    return group.labels.get(label_of(group), "")


def product_of(group: NodeGroup) -> str:
    """The GPU product, with a suffix for parts of GPUs even if the label lacks it."""
    declared = labelled(group)
    if is_part(declared):
        return declared
    resource = resource_of(group)
    if resource.startswith(MIG):
        return f"{declared}-mig-{resource.removeprefix(MIG)}"
    return f"{declared}-SHARED" if resource == SHARES or shared(group) else declared


def is_part(product: str) -> bool:
    """Whether the product is a slice or share of a GPU."""
    return bool(_PART.search(product))


def kind_of(product: str) -> str:
    """`NVIDIA-H100-80GB-HBM3` -> `h100`: the words up to the first with a digit. Parts of GPUs are a separate kind:
    with `-MIG-1g.10gb` it is `h100-mig-1g-10gb`."""
    if part := _PART.search(product):
        return f"{kind_of(product[: part.start()])[:40]}-{grouping.dns_label(part[0])}"[:63].strip("-")
    return grouping.accelerator(product)


def kinds_of(products: Iterable[str]) -> dict[str, str]:
    """Product -> kind. Two products with one short kind get kinds from their whole names."""
    short = grouped((kind_of(product), product) for product in sorted(set(products)))
    used: set[str] = set()
    return {
        product: grouping.free(kind if len(held) == 1 else grouping.dns_label(product) or kind, used)
        for kind, held in short.items()
        for product in held
    }


def accelerator(name: str, resource: str, has_plugin: bool) -> AcceleratorKind:
    """How pods request GPUs: from the device plugin, or through DRA if no node offers any."""
    vendor = CARDS.get(resource, "nvidia")
    if has_plugin:
        return AcceleratorKind(name, vendor, resources={"count": resource})
    return AcceleratorKind(name, vendor, ("dra",), device_class="gpu.nvidia.com")


def built_in(group: NodeGroup) -> dict[str, int]:
    """Physical GPUs and network devices of the node, working or not, by resource."""
    offer, resource = group.offer, resource_of(group)
    whole = {key: offer.capacity.get(key, amount) // 1000 for key, amount in offer.amounts.items() if is_card(key)}
    parts = _parts(group) if resource else {}
    partitioned = any(key.startswith(MIG) for key in parts) or shared(group) or "SHARED" in labelled(group)
    cards = (
        _labelled(group) if resource == NVIDIA and not partitioned else 0
    )  # for parts, the label has the number of whole GPUs
    whole |= parts
    cards = cards or max(offer.capacity.get(resource, 0), offer.amounts.get(resource, 0)) // 1000
    if strange := unmodelled(group):
        return {**whole, strange: max(offer.capacity.get(strange, 0), offer.amounts.get(strange, 0)) // 1000}
    return {**whole, resource: cards} if resource else whole


def short_of(group: NodeGroup, wanted: Mapping[str, int]) -> dict[str, int]:
    """Devices that the node offers less of than its neighbors -> the number that it offers."""
    allocatable = {key: group.offer.amounts.get(key, 0) // 1000 for key in wanted}
    return {key: amount for key, amount in allocatable.items() if amount < wanted[key]}


def shared(group: NodeGroup) -> int:
    """The number of GPU shares: the allocatable GPUs, if they are more than the physical ones."""
    allocatable, cards = group.offer.amounts.get(NVIDIA, 0) // 1000, _labelled(group)
    return allocatable if 0 < cards < allocatable else 0


def selector(own: Sequence[NodeGroup], others: Iterable[NodeGroup]) -> dict[str, str]:
    """A label that all nodes of the pool have, but nodes of other pools do not."""
    rest = list(others)
    for key in SELECTORS:
        values = {each.labels.get(key, "") for each in own}
        if len(values) == 1 and "" not in values and not any(each.labels.get(key) in values for each in rest):
            return {key: values.pop()}
    return {}


def tolerated(groups: Sequence[NodeGroup]) -> tuple[Taint, ...]:
    """Taints of at least half of the nodes. Pods of the pool tolerate them."""
    sizes: dict[Taint, int] = {}
    for each in groups:
        for taint in holding(each.offer.taints):
            sizes[taint] = sizes.get(taint, 0) + len(each.names)
    total = size(groups)
    return tuple(sorted(taint for taint, size in sizes.items() if 2 * size >= total))


def holding(taints: Iterable[Taint]) -> list[Taint]:
    """Taints that keep pods off for another reason than a temporary state."""
    return [taint for taint in taints if taint[2] in _HOLDING and not taint[0].startswith(_PASSING)]


def is_control(group: NodeGroup) -> bool:
    """Whether nodes belong only to the control plane."""
    if group.offer.taints and any(key in CONTROL and effect in _HOLDING for key, _, effect in group.offer.taints):
        return True
    return not CONTROL.isdisjoint(group.labels) and not resource_of(group)


LABELS = frozenset({*SELECTORS, *CONTROL, COUNT})
