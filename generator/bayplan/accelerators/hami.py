"""Cards and shares of cards that HAMi allocates (2.8 to 2.10)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.core.phrases import listing
from bayplan.kube import quantity
from bayplan.kube.vendors import MIB, SGPU, VOLCANO, Names, names
from bayplan.model.manifest import PodParts
from bayplan.model.topology import AcceleratorKind
from bayplan.model.workflow import Accelerator

# Annotations of HAMi that state a policy for nodes and cards.
#
# HAMi 2.10.0: `pkg/util/types.go`, `pkg/scheduler/policy/`, `pkg/device/metax/{device,sdevice,protocol}.go`.

NODE, CARDS = "hami.io/node-scheduler-policy", "hami.io/gpu-scheduler-policy"
WEIGHTS = "hami.io/device-scoring-weights"
SGPU_TOPOLOGY, SGPU_CLASS, SGPU_QOS = (
    f"metax-tech.com/sgpu-{key}" for key in ("topology-aware", "app-class", "qos-policy")
)
VNPU_MODE, SOFT = "huawei.com/vnpu-mode", "hami-core"

ANNOTATED = "0.8"
"""MetaX's extensions that write the annotations by which HAMi chooses nodes (HAMi 2.10, docs of examples/metax)."""

LINKED = ("nvidia", "ascend")
"""Vendors for which HAMi knows the links between cards and can choose cards by them."""


def policy_annotations(accelerator: Accelerator, kind: AcceleratorKind) -> dict[str, str]:
    """The annotations of the pod template."""
    annotations = {
        NODE: node(accelerator, kind),
        CARDS: cards(accelerator, kind),
        SGPU_CLASS: accelerator.app_class,
        SGPU_QOS: accelerator.qos,
    }
    if accelerator.links and names(kind).cards == SGPU:
        annotations[SGPU_TOPOLOGY] = "true"
    if accelerator.cores and kind.vendor == "ascend":
        annotations[VNPU_MODE] = SOFT
    return {key: value for key, value in annotations.items() if value}


def node(accelerator: Accelerator, kind: AcceleratorKind) -> str:
    """The node policy. For whole cards of MetaX, `spread` takes the node with the best links for the pod."""
    return accelerator.node or ("spread" if accelerator.links and linked_by_node(kind) else "")


def cards(accelerator: Accelerator, kind: AcceleratorKind) -> str:
    """The card policy: `topology-aware` for links, or the one that the user sets."""
    return accelerator.cards or ("topology-aware" if accelerator.links and kind.vendor in LINKED else "")


def linked_by_node(kind: AcceleratorKind) -> bool:
    """Whether HAMi chooses links together with the node, and MetaX's device plugin then chooses the cards."""
    return kind.vendor == "metax" and names(kind).cards != SGPU


# Shares of cards: requested memory and cores in the vendor's units, and the part of a card that they are.

WHOLE = 1000
PERCENT = 100

Fault = tuple[str, str, str, str]
"""Code, key of the accelerator, message, hint."""


def resources(accelerator: Accelerator, kind: AcceleratorKind) -> dict[str, str]:
    """Memory and cores of each card, by resource. Valid only if `faults` reports nothing."""
    own, amounts = names(kind), {}
    if accelerator.memory.endswith("%") and own.percentage:
        amounts[own.percentage] = accelerator.memory[:-1]
    elif accelerator.memory:
        amounts[own.memory] = str(_bytes(accelerator, kind) // own.unit)
    if accelerator.cores:
        amounts[own.cores] = str(_percent(accelerator.cores) * own.parts // PERCENT)
    return amounts


def faults(accelerator: Accelerator, kind: AcceleratorKind) -> Iterator[Fault]:
    """Shares for which the vendor has no resource, or no such amount."""
    own = names(kind)
    lacking = f"devices that {own.cards} counts have no resource for a share of their"
    hint = "request whole devices, or name the resource under `accelerators` in the topology if there is one"
    if own.vendor == "metax":
        hint = "request whole devices, or declare GPUs in sGPU mode: `resources: {count: metax-tech.com/sgpu}`"
    if accelerator.memory and not (own.memory or (own.percentage and accelerator.memory.endswith("%"))):
        yield "W550", "memory", f"{lacking} memory", hint
    elif accelerator.memory:
        yield from _memory(accelerator, kind, own)
    if accelerator.cores and not own.cores:
        yield "W550", "cores", f"{lacking} cores", hint
    elif accelerator.cores:
        yield from _cores(accelerator, own)


def _memory(accelerator: Accelerator, kind: AcceleratorKind, own: Names) -> Iterator[Fault]:
    if accelerator.memory.endswith("%"):
        if not own.percentage and not kind.memory:
            message = f"a percentage needs the memory of a card: {own.memory} counts amounts, and the topology has none"
            hint = f'set `memory` on the accelerator "{kind.name}" in the topology, or write an amount'
            yield "W551", "memory", message, hint
        return
    asks, has = quantity.parse(accelerator.memory), quantity.parse(kind.memory or "0")
    if asks % (own.unit * WHOLE):
        unit = f"{quantity.show(own.unit * WHOLE)}, the unit of {own.memory}"
        message = f'"{accelerator.memory}" is not a multiple of {unit}'
        yield "W551", "memory", message, f"write it like {quantity.show(own.unit * WHOLE * 20)}, with its unit"
    elif kind.memory and asks > has:
        message = f'the pod requests {accelerator.memory} of each device; a device of "{kind.name}" has {kind.memory}'
        yield "W551", "memory", message, f"request {kind.memory} or less"


def _cores(accelerator: Accelerator, own: Names) -> Iterator[Fault]:
    value = _percent(accelerator.cores)
    if not 0 < value <= PERCENT:
        message = f'"{accelerator.cores}" is not a percentage of a device'
        yield "W551", "cores", message, "write an integer from 1 to 100; use `count` for more devices"
    elif value * own.parts % PERCENT:
        steps = [str(part * PERCENT / own.parts) for part in range(1, own.parts + 1)]
        whole = [each.removesuffix(".0") for each in steps if each.endswith(".0")]
        message = f"{value}% is not possible: {own.cores} counts {own.parts} parts of a device"
        yield "W551", "cores", message, f"write {listing(whole)}"


def _percent(text: str) -> int:
    """`30`, `30%` -> 30; 0 for any other string."""
    return quantity.whole(text.removesuffix("%"), 4)


def _bytes(accelerator: Accelerator, kind: AcceleratorKind) -> int:
    """The requested bytes. A percentage becomes a part of the card's memory, rounded down."""
    if not accelerator.memory.endswith("%"):
        return quantity.parse(accelerator.memory) // WHOLE
    return quantity.parse(kind.memory or "0") * _percent(accelerator.memory) // PERCENT // WHOLE


def slots(accelerator: Accelerator, kind: AcceleratorKind) -> int:
    """The most shares of this size that a card has room for, by its memory and its cores.

    What is left out may be all of the card (`Names.all_memory`, `all_cores`). Memory as an amount counts only where
    the topology says how much a card has.
    """
    asks, has = _memory_of(accelerator, kind)
    return max(1, min(PERCENT // max(1, _cores_of(accelerator, kind)), has // max(1, asks), kind.max_pods or PERCENT))


def fraction(accelerator: Accelerator, kind: AcceleratorKind) -> int:
    """How much of a card the share uses, in thousandths: the larger of its memory and its cores, rounded down."""
    asks, has = _memory_of(accelerator, kind)
    return min(WHOLE, max(1, asks * WHOLE // has, _cores_of(accelerator, kind) * WHOLE // PERCENT))


def _cores_of(accelerator: Accelerator, kind: AcceleratorKind) -> int:
    return _percent(accelerator.cores) if accelerator.cores else PERCENT * names(kind).all_cores


def _memory_of(accelerator: Accelerator, kind: AcceleratorKind) -> tuple[int, int]:
    """The requested memory and the whole memory; 0 if the memory is not known."""
    if not accelerator.memory:
        return (PERCENT * names(kind).all_memory, PERCENT)
    if accelerator.memory.endswith("%"):
        return (_percent(accelerator.memory), PERCENT)
    has = quantity.parse(kind.memory) if kind.memory else 0
    return (_cut(quantity.parse(accelerator.memory), accelerator, kind), has) if has > 0 else (0, PERCENT)


ASCEND = "huawei.com/Ascend"
TEMPLATES: Mapping[str, tuple[tuple[int, ...], int]] = {
    "910A": ((2184, 4369, 8738, 17476), 32768),
    "910B2": ((8192, 16384, 32768), 65536),
    "910B3": ((16384, 32768), 65536),
    "910B4-1": ((16384, 32768), 65536),
    "910B4": ((8192, 16384), 32768),
    "910C": ((16384, 32768), 65536),
    "310P": ((3072, 6144, 12288), 24576),
}
"""Chip -> MiB of the parts into which its templates divide a card, and of the whole card."""

KUNLUN = ("kunlunxin.com/vxpu", (24576, 49152, 98304))
"""The same for Kunlunxin's only card (pkg/device/kunlun/vdevice.go, trimMemory)."""


def template_sizes(cards: str) -> tuple[int, ...]:
    """The sizes of shares in MiB, smallest first; empty if HAMi gives exactly the requested amount."""
    sizes, whole = TEMPLATES.get(cards.removeprefix(ASCEND), ((), 0))
    return (*sizes, whole) if sizes else KUNLUN[1] if cards == KUNLUN[0] else ()


def _cut(amount: int, accelerator: Accelerator, kind: AcceleratorKind) -> int:
    """The memory that the pod gets: cards with templates give the next larger part."""
    sizes = () if accelerator.cores else template_sizes(names(kind).cards)
    return next((size * MIB * WHOLE for size in sizes if size * MIB * WHOLE >= amount), amount)


def is_exact(accelerator: Accelerator, kind: AcceleratorKind) -> bool:
    """Whether the numbers are exact: the topology states the memory of a card if the podSet requests an amount, and no
    more pods share a card than every configuration allows."""
    exact = not accelerator.memory or accelerator.memory.endswith("%") or bool(kind.memory)
    return exact and (bool(kind.max_pods) or slots(accelerator, kind) <= SPLIT)


SPLIT = 10
"""Pods that may share a card by default (`devicePlugin.deviceSplitCount`)."""


def quota(kind: AcceleratorKind, cards: int) -> dict[str, int]:
    """Resource -> what this number of cards offers. An unknown amount counts as unlimited."""
    own, has = names(kind), quantity.parse(kind.memory) // WHOLE if kind.memory else 0
    each = (
        (own.cards, (kind.max_pods or SPLIT) if own.shared else 1),
        (own.memory, has // own.unit if has else 10**6),
        (own.percentage, PERCENT),
        (own.cores, own.parts),
    )
    return {name: amount * cards for name, amount in each if name}


SCHEDULER = "hami-scheduler"
"""HAMi's webhook sets it on pods of the default scheduler too, unless nobody can reach the webhook."""


def parts(accelerator: Accelerator, kind: AcceleratorKind, claim: str) -> PodParts:
    """Cards, their shares and the policies. A gang scheduler replaces HAMi's scheduler name with its own."""
    count = names(kind).cards
    return PodParts(
        resources={count: str(accelerator.per_pod), **resources(accelerator, kind)},
        annotations=policy_annotations(accelerator, kind),
        spec={} if count.startswith(VOLCANO) else {"schedulerName": SCHEDULER},
    )
