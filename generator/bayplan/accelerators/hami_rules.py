"""What HAMi refuses, ignores or reads in an unexpected way in any pod: one function per family of rules.

HAMi 2.8 to 2.10: `pkg/scheduler/webhook.go`, `pkg/device/*/`, `pkg/util/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from bayplan.accelerators.hami import (
    ANNOTATED,
    ASCEND,
    CARDS,
    LINKED,
    NODE,
    SCHEDULER,
    SGPU_CLASS,
    SGPU_QOS,
    SGPU_TOPOLOGY,
    SOFT,
    TEMPLATES,
    VNPU_MODE,
    WEIGHTS,
)
from bayplan.accelerators.matrix import verdict
from bayplan.core.diagnostics import Severity
from bayplan.core.phrases import listing
from bayplan.kube import quantity
from bayplan.kube.objects import get, items, mapping, text
from bayplan.kube.vendors import METAX, ROLES, SGPU, VOLCANO, Names, names, role
from bayplan.model.target import Target
from bayplan.model.topology import AcceleratorKind

# A pod as HAMi sees it: the cards that its containers request, and whether HAMi handles it.

Path = tuple[str | int, ...]
SCHEDULERS = ("", "default-scheduler", SCHEDULER)
"""HAMi's webhook handles pods of these schedulers."""

HAMI_ONLY = ("metax-tech.com/sgpu", "enflame.com/drs-gcu", "kunlunxin.com/vxpu", "hygon.com/dcunum")
"""Counts that only HAMi, or a plugin that it works with, offers."""


class Fault(NamedTuple):
    """One finding. `path`: from the pod template."""

    rule: str
    severity: Severity
    path: Path
    message: str
    hint: str = ""


class Ask(NamedTuple):
    """Cards of one kind that one container requests: role -> its amount as a string, and the place of the amount."""

    names: Names
    container: Path
    amounts: Mapping[str, str]
    at: Mapping[str, Path]

    @property
    def cards(self) -> int:
        """The number of cards; 0 if it is missing or not a number."""
        return quantity.whole(self.amounts.get("cards", ""), 9)

    @property
    def shared(self) -> bool:
        """Whether it requests a share of each card."""
        return bool(set(self.amounts) - {"cards"})

    @property
    def place(self) -> Path:
        """The place of the number of cards, otherwise of a share."""
        return self.at.get("cards") or next(iter(self.at.values()))


class HamiPod(NamedTuple):
    """A pod template. `by_hami`: HAMi surely allocates its cards; otherwise a device plugin may."""

    data: Mapping[str, Any]
    asks: tuple[Ask, ...]
    by_hami: bool
    target: Target
    kinds: tuple[AcceleratorKind, ...] = ()  # of the topology, for which there is a request

    @property
    def spec(self) -> Mapping[str, Any]:
        """The pod spec."""
        return mapping(self.data, "spec")

    @property
    def annotations(self) -> Mapping[str, str]:
        """Annotations whose values are strings."""
        own = mapping(self.data, "metadata", "annotations")
        return {key: value for key, value in own.items() if isinstance(value, str)}

    @property
    def scheduler(self) -> str:
        """The pod's scheduler."""
        return text(self.spec, "schedulerName")

    def of(self, cards: str) -> list[Ask]:
        """The requests for cards of that name, of containers that run at the same time."""
        return [ask for ask in self.asks if ask.names.cards == cards and ask.container[1] == "containers"]


def note(key: str) -> Path:
    """The path of an annotation."""
    return ("metadata", "annotations", key)


def hami_pod(data: Mapping[str, Any], kinds: Iterable[AcceleratorKind], target: Target) -> HamiPod:
    """The pod template with its requests. `kinds`: accelerators of the topology that HAMi may allocate."""
    hami = [kind for kind in kinds if "hami" in kind.allocators]
    asks = tuple(_asks(data, [names(kind) for kind in hami]))
    counts = {ask.names.cards for ask in asks}
    matching = tuple(kind for kind in hami if names(kind).cards in counts)
    pod = HamiPod(data, asks, False, target, matching)
    signs = any(key.startswith("hami.io/") for key in pod.annotations) or pod.scheduler == SCHEDULER
    alone = any(ask.shared or ask.names.cards in HAMI_ONLY for ask in asks)
    volcano = bool(counts) and all(count.startswith(VOLCANO) for count in counts)
    return pod._replace(by_hami=(signs or alone or bool(matching)) and not volcano)


def _asks(data: Any, own: list[Names]) -> Iterator[Ask]:
    for key in ("initContainers", "containers"):
        for number, container in enumerate(items(data, "spec", key)):
            path: Path = ("spec", key, number)
            by_count: dict[str, tuple[Names, dict[str, str], dict[str, Path]]] = {}
            for place, resource, amount in resources(container):
                match = part_of(resource, own)
                if match:
                    row, part = match
                    _, amounts, at = by_count.setdefault(row.cards, (row, {}, {}))
                    amounts.setdefault(part, amount)
                    at.setdefault(part, (*path, *place))
            for row, amounts, at in by_count.values():
                yield Ask(row, path, amounts, at)


def resources(container: Any) -> Iterator[tuple[Path, str, str]]:
    """Limits come first: HAMi's webhook reads only these."""
    for key in ("limits", "requests"):
        for resource, amount in mapping(container, "resources", key).items():
            if amount is not None and not isinstance(amount, bool | dict | list):
                yield ("resources", key, resource), str(resource), str(amount)


def part_of(resource: str, own: list[Names]) -> tuple[Names, str] | None:
    """The names of the topology come first."""
    for row in own:
        for part in ROLES:
            if resource == getattr(row, part):
                return row, part
    return role(resource)


# Pods that HAMi's webhook refuses or ignores (2.10.0, pkg/scheduler/webhook.go).

WEBHOOK = "hami.io/webhook"
VOLCANO_CARDS = ("huawei.com/Ascend",)
"""Cards that Volcano allocates under HAMi's names (deviceshare.AscendHAMiVNPUEnable)."""


def check_admission(pod: HamiPod) -> Iterator[Fault]:
    """Privileged containers, and pods with a `nodeName`, another scheduler, or the label that disables HAMi."""
    if not pod.by_hami:
        return
    yield from _scheduler(pod)
    if pod.scheduler not in SCHEDULERS:
        return
    yield from _privileged(pod)
    if get(pod.spec, "nodeName") not in (None, ""):
        message = "HAMi refuses pods with a `nodeName`, because it chooses the node together with the devices"
        yield Fault("node", "error", ("spec", "nodeName"), message, "remove it; use a `nodeSelector`")
    if get(pod.data, "metadata", "labels", WEBHOOK) == "ignore":
        message = "with this label HAMi's webhook ignores the pods, and does not complete or check their requests"
        yield Fault("scheduler", "warning", ("metadata", "labels", WEBHOOK), message, "remove the label")


def _privileged(pod: HamiPod) -> Iterator[Fault]:
    """HAMi refuses them since 2.10. Before, it does not see their cards, and the pod waits (HAMi#2138, HAMi#2139)."""
    refused = pod.target.since("hami", "2.10")
    for key in ("initContainers", "containers"):
        for number, container in enumerate(items(pod.spec, key)):
            if get(container, "securityContext", "privileged") is True:
                path = ("spec", key, number, "securityContext", "privileged")
                name = text(container, "name")
                hint = "remove `privileged`; for locked memory, such as for RDMA, use the capability IPC_LOCK"
                message = f'HAMi does not see the devices of the privileged container "{name}", so the pod waits'
                if refused:
                    message = f'HAMi refuses a pod that has devices and a privileged container ("{name}")'
                yield Fault("privileged", "error" if refused else "warning", path, message, hint)


def _scheduler(pod: HamiPod) -> Iterator[Fault]:
    own = VOLCANO_CARDS if pod.scheduler == "volcano" else ()
    cards = [ask for ask in pod.asks if not ask.names.cards.startswith((VOLCANO, *own))]
    if pod.scheduler in SCHEDULERS or not cards:
        return
    lost = "it does not enforce their shares" if any(ask.shared for ask in cards) else "it does not choose devices"
    message = f'HAMi ignores pods of the scheduler "{pod.scheduler}": {lost}'
    hint = "remove `schedulerName`, or request the devices with resources of that scheduler"
    refused = all(_refused(pod.scheduler, ask.names.vendor) for ask in cards)
    yield Fault("scheduler", "error" if refused else "warning", ("spec", "schedulerName"), message, hint)


BACKENDS = {"volcano": "volcano", "kai-scheduler": "kai", "koord-scheduler": "koordinator"}
"""Scheduler of pods -> its name in `accelerators/matrix.py`."""


def _refused(scheduler: str, vendor: str) -> bool:
    """Whether a known scheduler cannot allocate cards under HAMi's names. False for other schedulers."""
    name = BACKENDS.get(scheduler)
    return name is not None and verdict(name, vendor, "hami", frozenset({"foreign"})).verdict == "no"


# Annotations whose values HAMi does not know, or that have no effect (2.10.0, pkg/util, pkg/scheduler/policy).

VALUES = {
    NODE: ("binpack", "spread"),
    SGPU_CLASS: ("online", "offline"),
    SGPU_QOS: ("best-effort", "fixed-share", "burst-share"),
    SGPU_TOPOLOGY: ("true", "false"),
    "nvidia.com/vgpu-mode": ("hami-core", "mig", "mps"),
    VNPU_MODE: ("hami-core",),
}
CHAIN, SINGLE = ("binpack", "spread", "numa"), ("binpack", "spread", "numa", "topology-aware", "mutex")
OLD_POLICIES = ("binpack", "spread", "topology-aware")
"""Policies of cards before 2.10, which added chains of them."""

UUIDS = ("metax-tech.com/use-gpuuuid", "metax-tech.com/nouse-gpuuuid")
DIMENSIONS = ("slot", "core", "memory")


def check_policies(pod: HamiPod) -> Iterator[Fault]:
    """Values of annotations, then annotations without an effect."""
    for key, values in VALUES.items():
        value = pod.annotations.get(key)
        if value is not None and value not in values:
            what = "refuses the pod" if key in (SGPU_CLASS, SGPU_QOS) else "ignores it without a message"
            message = f'"{value}" is not a value of {key}: HAMi {what}'
            yield Fault("policy", "error", note(key), message, f"write {listing(values)}")
    yield from _cards(pod)
    yield from _weights(pod)
    yield from _idle(pod)


def _cards(pod: HamiPod) -> Iterator[Fault]:
    value = pod.annotations.get(CARDS)
    if value is None:
        return
    words, late = [each.strip() for each in value.split(",")], pod.target.since("hami", "2.10")
    policies = (CHAIN if len(words) > 1 else SINGLE) if late else OLD_POLICIES
    wrong = value if len(words) > 1 and not late else next((each for each in words if each not in policies), "")
    if wrong or "" in words:
        message = (
            f'"{wrong or value}" is not a device policy of HAMi {pod.target.version("hami")}, which uses its default'
        )
        yield Fault("policy", "error", note(CARDS), message, f"write {listing(policies)}")
    vendors = {ask.names.vendor for ask in pod.asks}
    if "topology-aware" in words and vendors and not vendors & set(LINKED):
        message = f"HAMi knows only links between devices of NVIDIA and Ascend, not of {listing(sorted(vendors))}"
        hint = "for MetaX, hami.io/node-scheduler-policy: spread takes the node with the best links"
        yield Fault("policy", "error", note(CARDS), message, hint if "metax" in vendors else "remove it")


def _weights(pod: HamiPod) -> Iterator[Fault]:
    value = pod.annotations.get(WEIGHTS)
    if value is None:
        return
    if not pod.target.since("hami", "2.10"):
        message = f"HAMi {pod.target.version('hami')} ignores {WEIGHTS}, which needs 2.10 or later"
        yield Fault("idle", "warning", note(WEIGHTS), message, "upgrade HAMi, or remove it")
    elif reason := _unweighted(value):
        hint = 'write all three, such as "slot=1,core=1,memory=3"'
        yield Fault("policy", "error", note(WEIGHTS), f'"{value[:60]}" is not a list of weights: {reason}', hint)


def _unweighted(value: str) -> str:
    pairs = [each.strip().partition("=") for each in value.split(",")]
    numbers = [number.strip() for _, _, number in pairs]
    if sorted(name.strip() for name, _, _ in pairs) != sorted(DIMENSIONS):
        return "it must have slot, core and memory once each"
    if not all(each.isascii() and each.isdigit() and len(each) < 19 for each in numbers):
        return "each weight must be an integer of at least 0"
    return "" if any(int(each) for each in numbers) else "one weight must be more than 0"


def _idle(pod: HamiPod) -> Iterator[Fault]:
    """Annotations that HAMi reads only for other cards."""
    counts = {ask.names.cards for ask in pod.asks}
    if METAX in counts and SGPU not in counts:
        for key in UUIDS:
            if key in pod.annotations:
                message = f"{key} has no effect for whole GPUs: MetaX's device plugin chooses them"
                yield Fault("idle", "warning", note(key), message, "remove it")
        if pod.annotations.get(CARDS, "mutex") in CHAIN:
            message = f"{CARDS} has no effect for whole GPUs of MetaX: MetaX's device plugin chooses them"
            yield Fault("idle", "warning", note(CARDS), message, f"remove it; {NODE} chooses the node")
    for key in (SGPU_CLASS, SGPU_QOS, SGPU_TOPOLOGY):
        if key in pod.annotations and SGPU not in counts:
            message = f"{key} has no effect: it is for {SGPU}, which the pod does not request"
            yield Fault("idle", "warning", note(key), message, "remove it")


# Amounts of cards, memory and cores that HAMi refuses or reads differently (2.10.0, GenerateResourceRequests).

LARGEST = 2**31 - 1
EXTRA = ("enflame.com/gcu-memory", "enflame.com/gcu-core", "enflame.com/gcu-count", "cambricon.com/mlu")
"""Resources of these vendors that are not a part of a counted card."""

COMPLETE_VENDORS = ("cambricon", "metax", "hygon", "iluvatar", "mthreads", "kunlunxin")
"""Vendors of which the table has all resources: any other resource of them beside a card is an error."""


def check_amounts(pod: HamiPod) -> Iterator[Fault]:
    """Of each container."""
    for ask in pod.asks:
        if "memory" in ask.amounts and "percentage" in ask.amounts:
            message = f"{ask.names.percentage} has no effect beside {ask.names.memory}: HAMi reads only the amount"
            yield Fault("amount", "error", ask.at["percentage"], message, "remove one of them")
        yield from _ranges(ask, pod.by_hami)
        yield from _countless(ask)
    yield from _unknown(pod)


def _ranges(ask: Ask, by_hami: bool) -> Iterator[Fault]:
    """Without HAMi, no card is a valid number of them."""
    for part, value in ask.amounts.items():
        own, at = getattr(ask.names, part), ask.at[part]
        try:
            amount = quantity.parse(value)
        except ValueError as reason:
            yield Fault("amount", "error", at, f"{own}: {reason}", "write an integer")
            continue
        most = {"percentage": 100, "cores": ask.names.parts}.get(part, LARGEST)
        bare = value.isascii() and value.isdigit()
        if part == "memory" and not bare and ask.names.cards == SGPU:
            continue  # with a unit these are bytes, and without one GiB
        least = 1 if (part == "cards" and by_hami) or (part == "cores" and ask.names.vendor == "amd") else 0
        if amount % 1000 or not least * 1000 <= amount <= most * 1000:
            message = f'"{value}" is out of range: {own} is an integer from {least} to {most}'
            yield Fault("amount", "error", at, message, _hint(ask, part))
        elif part == "memory" and not bare:
            message = f'HAMi reads "{value}" as {amount // 1000} times {_unit(ask)}, the unit of {own}, not as bytes'
            yield Fault(
                "amount", "warning", at, message, f"write the amount in units of {_unit(ask)}, without a suffix"
            )


def _unit(ask: Ask) -> str:
    return quantity.show(ask.names.unit * 1000)


def _hint(ask: Ask, part: str) -> str:
    if part == "memory":
        eight = 8 * 2**30 // ask.names.unit
        return f"write the amount in units of {_unit(ask)}, without a suffix, such as {eight} for 8Gi"
    return "write an integer in this range"


def _countless(ask: Ask) -> Iterator[Fault]:
    if "cards" in ask.amounts:
        return
    if ask.names.vendor == "nvidia":
        message = "the number of devices is missing: HAMi adds the number of its configuration, usually one"
        yield Fault("amount", "warning", ask.place, message, f"add {ask.names.cards}")
    else:
        message = "the pod requests a share of devices but no number of devices, so HAMi gives it none"
        yield Fault("amount", "error", ask.place, message, f"add {ask.names.cards}")


def _unknown(pod: HamiPod) -> Iterator[Fault]:
    """Names of an older chart, or typing errors: a pod that requests what no node offers waits."""
    domains = {ask.names.cards.partition("/")[0]: ask.names for ask in pod.asks if ask.names.vendor in COMPLETE_VENDORS}
    own = [names(kind) for kind in pod.kinds]
    reported: set[str] = set()
    for key in ("initContainers", "containers"):
        for number, container in enumerate(items(pod.spec, key)):
            for place, resource, _ in resources(container):
                row = domains.get(resource.partition("/")[0])
                if row and resource not in (*EXTRA, *reported) and not part_of(resource, own):
                    reported.add(resource)
                    version = pod.target.version("hami")
                    message = f'HAMi {version} does not know the resource "{resource}" of {row.vendor}'
                    named = " and ".join(filter(None, (row.memory, row.cores)))
                    hint = f"use {named} for shares of {row.cards}" if named else f"use {row.cards} for whole devices"
                    yield Fault("unknown", "warning", ("spec", key, number, *place), message, hint)


# Rules of single vendors (HAMi 2.10.0: pkg/device/{ascend,mthreads}/device.go, the chart's device-configmap).

SIZES = (2, 4, 8, 16, 32, 64, 96)
"""What `mthreads.com/sgpu-memory` may be."""


def check_chips(pod: HamiPod) -> Iterator[Fault]:
    """Of each container."""
    for ask in pod.asks:
        if ask.names.vendor == "mthreads":
            memory = ask.amounts.get("memory", "")
            if ask.cards > 1 and ask.shared:
                message = "HAMi gives several GPUs of Moore Threads only as whole GPUs, not as shares"
                place = ask.at.get("memory") or ask.at["cores"]
                yield Fault("chip", "warning", place, message, "request one GPU, or remove the share")
            elif memory and memory not in map(str, SIZES):
                unit = quantity.show(ask.names.unit * 1000)
                message = f"GPUs of Moore Threads have no share of {memory} times {unit}"
                yield Fault("chip", "error", ask.at["memory"], message, f"use {listing(map(str, SIZES))} times {unit}")
        if ask.names.cards.startswith(ASCEND):
            yield from _ascend(ask, pod.annotations.get(VNPU_MODE) == SOFT)


def _ascend(ask: Ask, soft: bool) -> Iterator[Fault]:
    chip = ask.names.cards.removeprefix(ASCEND)
    if chip == "910C" and ask.cards == 1:
        message = "Ascend 910C has modules of two chips, so HAMi gives two chips for a request of one"
        yield Fault("chip", "info", ask.place, message, "request 2")
    elif chip == "910C" and ask.cards % 2:
        message = f"Ascend 910C has modules of two chips, so a pod cannot have {ask.cards}"
        yield Fault("chip", "error", ask.place, message, "request 1 or an even number")
    if "cores" in ask.amounts and not soft:
        message = (
            f"{ask.names.cores} is only for devices that hami-core shares; otherwise the memory determines the cores"
        )
        yield Fault("chip", "error", ask.at["cores"], message, f"add the annotation {VNPU_MODE}: {SOFT}, or remove it")
    memory = ask.amounts.get("memory", "")
    if chip in TEMPLATES and memory.isascii() and memory.isdigit() and len(memory) < 10 and not soft:
        yield from _cut(ask, chip, int(memory))


def _cut(ask: Ask, chip: str, memory: int) -> Iterator[Fault]:
    parts, whole = TEMPLATES[chip]
    if memory > whole:
        message = f"the pod requests {memory} MiB, and a device of Ascend {chip} has {whole} MiB"
        yield Fault("chip", "error", ask.at["memory"], message, f"write {listing(map(str, (*parts, whole)))}")
    elif ask.cards > 1 and memory <= parts[-1]:
        message = f"the pod requests a share of each of {ask.cards} Ascend devices; only one device can be shared"
        yield Fault("chip", "error", ask.at["memory"], message, f"request one device, or remove {ask.names.memory}")


# Cards of MetaX: which kinds a pod can combine, and which node is best (2.10.0, pkg/device/metax/).


def check_metax(pod: HamiPod) -> Iterator[Fault]:
    """Whole cards and shared ones."""
    whole, shared = pod.of(METAX), pod.of(SGPU)
    if len(whole) > 1:
        message = "HAMi gives whole GPUs of MetaX to only one container of a pod; a second one never gets any"
        yield Fault("twice", "error", whole[1].place, message, "request all of them in one container")
    if whole and shared:
        message = f"a pod cannot have both {METAX} and {SGPU}: all GPUs of a node are in one mode"
        yield Fault("twice", "error", shared[0].place, message, "request only one of them")
    for ask in shared:
        if SGPU_CLASS in pod.annotations and ask.cards != 1:
            message = f"a pod with {SGPU_CLASS} must request one GPU; this one requests {ask.cards}"
            yield Fault("chip", "error", ask.place, message, f"request 1, or remove {SGPU_CLASS}")
    yield from _links(pod, shared)
    if whole and pod.scheduler in SCHEDULERS:
        yield from _node(pod, max(ask.cards for ask in whole))


def _links(pod: HamiPod, shared: list[Ask]) -> Iterator[Fault]:
    """The search for linked cards is for several whole ones (sdevice.go, prioritizeExclusiveDevices)."""
    for ask in shared:
        part = ask.amounts.get("cores", "100") != "100"
        if pod.annotations.get(SGPU_TOPOLOGY) == "true" and (part or ask.cards == 1):
            has = "a share of each GPU" if part else "one GPU"
            message = f"{SGPU_TOPOLOGY} is only for several whole GPUs, and the pod requests {has}"
            yield Fault("idle", "warning", note(SGPU_TOPOLOGY), message, "remove it, or request several whole GPUs")


def _node(pod: HamiPod, cards: int) -> Iterator[Fault]:
    """`spread` scores the links of the pod's cards, `binpack` the links that others lose (device.go, ScoreNode)."""
    policy, ask = pod.annotations.get(NODE, ""), pod.of(METAX)[0]
    place = note(NODE) if policy else ask.place
    silent = [kind for kind in pod.kinds if names(kind).cards == METAX and kind.topology_annotated is False]
    if cards > 1 and policy in ("", "binpack") and not silent and pod.target.since("metax", ANNOTATED):
        word = "" if policy else ", the default,"
        message = f"binpack{word} saves the best links of MetaX GPUs for other pods, and this pod has {cards} GPUs"
        hint = f"set {NODE}: spread, which takes the node whose free GPUs have the best links"
        yield Fault("choice", "warning" if pod.by_hami else "info", place, message, hint)
    if cards == 1 and policy == "spread":
        message = "spread takes the node with the best links between GPUs, and this pod has only one GPU"
        yield Fault(
            "choice", "info", place, message, "use binpack, which leaves well-linked GPUs to pods that need them"
        )
    if policy == "spread" and silent:
        message = "spread prefers nodes without the annotations of MetaX's extensions, and some nodes do not have them"
        hint = f"run MetaX's extensions ({ANNOTATED} or later) on all nodes, or use binpack"
        yield Fault("half", "warning", place, message, hint)


RULES: tuple[Callable[[HamiPod], Iterator[Fault]], ...] = (
    check_admission,
    check_policies,
    check_amounts,
    check_chips,
    check_metax,
)


def faults(pod: HamiPod) -> Iterator[Fault]:
    """All faults. A pod that requests no cards of the table has none."""
    for rule in RULES if pod.asks else ():
        yield from rule(pod)
