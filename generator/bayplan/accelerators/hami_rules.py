"""What HAMi refuses, ignores or takes otherwise than it reads, of any pod: one function a family of rules.

HAMi 2.8 to 2.10: `pkg/scheduler/webhook.go`, `pkg/device/*/`, `pkg/util/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bayplan.accelerators.hami import (
    ASCEND,
    CARDS,
    LINKED,
    NODE,
    SGPU_CLASS,
    SGPU_QOS,
    SGPU_TOPOLOGY,
    SOFT,
    TEMPLATES,
    VNPU_MODE,
    WEIGHTS,
)
from bayplan.accelerators.hami_pod import KEPT, Ask, Fault, Seen, look, note, part_of, resources
from bayplan.accelerators.matrix import verdict
from bayplan.core.phrases import listing
from bayplan.kube import quantity
from bayplan.kube.objects import get, items, text
from bayplan.kube.vendors import METAX, SGPU, VOLCANO, names

__all__ = ["RULES", "Fault", "Seen", "faults", "look"]


# Pods that HAMi's webhook refuses or leaves alone (2.10.0, pkg/scheduler/webhook.go).

WEBHOOK = "hami.io/webhook"
VOLCANOS = ("huawei.com/Ascend",)
"""Cards that Volcano hands out under the names that HAMi has for them (deviceshare.AscendHAMiVNPUEnable)."""


def check_admission(seen: Seen) -> Iterator[Fault]:
    """Privileged containers, pods with a node of their own, with another scheduler, or out of its reach."""
    if not seen.ours:
        return
    yield from _scheduler(seen)
    if seen.scheduler not in KEPT:
        return
    yield from _privileged(seen)
    if get(seen.spec, "nodeName") not in (None, ""):
        message = "HAMi refuses pods that have a node already, for it is to choose the cards with the node"
        yield Fault("node", "error", ("spec", "nodeName"), message, "use a `nodeSelector`")
    label = get(seen.data, "metadata", "labels", WEBHOOK)
    if label == "ignore":
        message = "HAMi's webhook leaves these pods alone: nothing completes what they ask for, and nothing checks it"
        yield Fault("scheduler", "warning", ("metadata", "labels", WEBHOOK), message, "remove the label")


def _privileged(seen: Seen) -> Iterator[Fault]:
    """Since 2.10 refused; before, its cards are not seen, and the pod waits (HAMi#2138, HAMi#2139)."""
    for key in ("initContainers", "containers"):
        for number, container in enumerate(items(seen.spec, key)):
            if get(container, "securityContext", "privileged") is True:
                path = ("spec", key, number, "securityContext", "privileged")
                name = text(container, "name")
                hint = "leave it out; what needs locked memory, such as RDMA, is served by the capability IPC_LOCK"
                if seen.target.since("hami", "2.10"):
                    message = f'HAMi refuses pods with cards and a privileged container ("{name}")'
                    yield Fault("privileged", "error", path, message, hint)
                else:
                    message = f'HAMi does not see the cards of the privileged container "{name}", and its pod waits'
                    yield Fault("privileged", "warning", path, message, hint)


def _scheduler(seen: Seen) -> Iterator[Fault]:
    own = VOLCANOS if seen.scheduler == "volcano" else ()
    cards = [ask for ask in seen.asks if not ask.names.cards.startswith((VOLCANO, *own))]
    if seen.scheduler in KEPT or not cards:
        return
    lost = "their shares are not enforced" if any(ask.shared for ask in cards) else "nobody chooses their cards"
    message = f'HAMi leaves pods of the scheduler "{seen.scheduler}" alone: {lost}'
    hint = "leave `schedulerName` out, or ask for the cards by what that scheduler understands"
    refused = all(_refused(seen.scheduler, ask.names.vendor) for ask in cards)
    yield Fault("scheduler", "error" if refused else "warning", ("spec", "schedulerName"), message, hint)


BACKENDS = {"volcano": "volcano", "kai-scheduler": "kai", "koord-scheduler": "koordinator"}
"""Scheduler of pods -> the name that `accelerators/matrix.py` has for it."""


def _refused(scheduler: str, vendor: str) -> bool:
    """Whether it is known that the scheduler cannot hand out cards under HAMi's names. Of another nobody knows."""
    name = BACKENDS.get(scheduler)
    return name is not None and verdict(name, vendor, "hami", frozenset({"foreign"})).verdict == "no"


# Annotations whose values HAMi does not know, or that do nothing (2.10.0, pkg/util, pkg/scheduler/policy).

VALUES = {
    NODE: ("binpack", "spread"),
    SGPU_CLASS: ("online", "offline"),
    SGPU_QOS: ("best-effort", "fixed-share", "burst-share"),
    SGPU_TOPOLOGY: ("true", "false"),
    "nvidia.com/vgpu-mode": ("hami-core", "mig", "mps"),
    VNPU_MODE: ("hami-core",),
}
CHAIN, SINGLE = ("binpack", "spread", "numa"), ("binpack", "spread", "numa", "topology-aware", "mutex")
OLD = ("binpack", "spread", "topology-aware")
"""Policies of cards before 2.10, which has chains of them too."""

UUIDS = ("metax-tech.com/use-gpuuuid", "metax-tech.com/nouse-gpuuuid")
DIMENSIONS = ("slot", "core", "memory")


def check_policies(seen: Seen) -> Iterator[Fault]:
    """Values, then what they are for."""
    for key, known in VALUES.items():
        value = seen.annotations.get(key)
        if value is not None and value not in known:
            what = "is refused" if key in (SGPU_CLASS, SGPU_QOS) else "is passed over without a word"
            message = f'"{value}" is no value of {key}, and {what}'
            yield Fault("policy", "error", note(key), message, f"write {listing(known)}")
    yield from _cards(seen)
    yield from _weights(seen)
    yield from _idle(seen)


def _cards(seen: Seen) -> Iterator[Fault]:
    value = seen.annotations.get(CARDS)
    if value is None:
        return
    words, late = [each.strip() for each in value.split(",")], seen.target.since("hami", "2.10")
    known = (CHAIN if len(words) > 1 else SINGLE) if late else OLD
    wrong = value if len(words) > 1 and not late else next((each for each in words if each not in known), "")
    if wrong or "" in words:
        message = (
            f'"{wrong or value}" is no policy of HAMi {seen.target.version("hami")} here, and the default is taken'
        )
        yield Fault("policy", "error", note(CARDS), message, f"write {listing(known)}")
    vendors = {ask.names.vendor for ask in seen.asks}
    if "topology-aware" in words and vendors and not vendors & set(LINKED):
        message = f"HAMi knows links between cards of NVIDIA and Ascend, and these are of {listing(sorted(vendors))}"
        hint = "of MetaX, the node with the best links is taken with hami.io/node-scheduler-policy: spread"
        yield Fault("policy", "error", note(CARDS), message, hint if "metax" in vendors else "remove it")


def _weights(seen: Seen) -> Iterator[Fault]:
    value = seen.annotations.get(WEIGHTS)
    if value is None:
        return
    if not seen.target.since("hami", "2.10"):
        message = f"HAMi {seen.target.version('hami')} knows no {WEIGHTS}; they came with 2.10"
        yield Fault("idle", "warning", note(WEIGHTS), message, "upgrade HAMi, or remove it")
    elif reason := _unweighted(value):
        hint = 'write all three, as in "slot=1,core=1,memory=3"'
        yield Fault("policy", "error", note(WEIGHTS), f'"{value[:60]}" are no weights: {reason}', hint)


def _unweighted(value: str) -> str:
    pairs = [each.strip().partition("=") for each in value.split(",")]
    given = [name.strip() for name, _, _ in pairs]
    numbers = [number.strip() for _, _, number in pairs]
    if sorted(given) != sorted(DIMENSIONS):
        return "slot, core and memory are each wanted once"
    if not all(each.isascii() and each.isdigit() and len(each) < 19 for each in numbers):
        return "each is a whole number, and none is negative"
    return "" if any(int(each) for each in numbers) else "one of them must be more than 0"


def _idle(seen: Seen) -> Iterator[Fault]:
    """What is read for other cards only."""
    counts = {ask.names.cards for ask in seen.asks}
    if METAX in counts and SGPU not in counts:
        for key in UUIDS:
            if key in seen.annotations:
                message = f"{key} chooses shared cards only: for whole ones MetaX's device plugin takes which it likes"
                yield Fault("idle", "warning", note(key), message, "remove it")
        if seen.annotations.get(CARDS, "mutex") in CHAIN:
            message = f"{CARDS} does nothing for whole cards of MetaX: MetaX's device plugin takes which it likes"
            yield Fault("idle", "warning", note(CARDS), message, f"remove it; {NODE} chooses the node")
    for key in (SGPU_CLASS, SGPU_QOS, SGPU_TOPOLOGY):
        if key in seen.annotations and SGPU not in counts:
            message = f"{key} is for {SGPU}, of which the pod asks for none"
            yield Fault("idle", "warning", note(key), message, "remove it")


# Amounts of cards, memory and cores that HAMi refuses or misreads (2.10.0, pkg/device/, GenerateResourceRequests).

LARGEST = 2**31 - 1
EXTRA = ("enflame.com/gcu-memory", "enflame.com/gcu-core", "enflame.com/gcu-count", "cambricon.com/mlu")
"""Resources of these vendors that are no part of a counted card."""

SPOKEN = ("cambricon", "metax", "hygon", "iluvatar", "mthreads", "kunlunxin")
"""Vendors all of whose resources the table has: another one of theirs beside a card is a mistake."""


def check_amounts(seen: Seen) -> Iterator[Fault]:
    """Of each container."""
    for ask in seen.asks:
        yield from _both(ask)
        yield from _ranges(ask)
        yield from _countless(ask)
    yield from _unknown(seen)


def _both(ask: Ask) -> Iterator[Fault]:
    if "memory" in ask.amounts and "percentage" in ask.amounts:
        message = f"{ask.names.memory} and {ask.names.percentage} exclude each other; the amount counts"
        yield Fault("amount", "error", ask.at["percentage"], message, "remove one of them")


def _ranges(ask: Ask) -> Iterator[Fault]:
    for part, value in ask.amounts.items():
        own, at = getattr(ask.names, part), ask.at[part]
        try:
            amount = quantity.parse(value)
        except ValueError as reason:
            yield Fault("amount", "error", at, f"{own}: {reason}", "write a whole number")
            continue
        most = {"percentage": 100, "cores": ask.names.parts}.get(part, LARGEST)
        bare = value.isascii() and value.isdigit()
        if part == "memory" and not bare and ask.names.cards == SGPU:
            continue  # with a unit these are bytes, and without one GiB
        least = 1 if part == "cards" or (part == "cores" and ask.names.vendor == "amd") else 0
        if amount % 1000 or not least * 1000 <= amount <= most * 1000:
            message = f'"{value}" is out of range: {own} is a whole number from {least} to {most}'
            yield Fault("amount", "error", at, message, _hint(ask, part))
        elif part == "memory" and not bare:
            message = f'"{value}" is read as {amount // 1000} units of {own}, each of {_unit(ask)}, not as bytes'
            yield Fault("amount", "warning", at, message, "write the bare number")


def _unit(ask: Ask) -> str:
    return quantity.show(ask.names.unit * 1000)


def _hint(ask: Ask, part: str) -> str:
    if part == "memory":
        return f"write a bare number of {_unit(ask)}, such as {8 * 2**30 // ask.names.unit} for 8Gi"
    return "write a whole number within it"


def _countless(ask: Ask) -> Iterator[Fault]:
    if "cards" in ask.amounts:
        return
    if ask.names.vendor == "nvidia":
        message = "how many cards is not said: HAMi puts in as many as its configuration says, usually one"
        yield Fault("amount", "warning", ask.place, message, f"add {ask.names.cards}")
    else:
        message = "a part of cards is asked for, and no cards: HAMi takes the pod for one without any"
        yield Fault("amount", "error", ask.place, message, f"add {ask.names.cards}")


def _unknown(seen: Seen) -> Iterator[Fault]:
    """Names that a chart had once, or a slip: a pod that asks for what no node offers waits."""
    domains = {ask.names.cards.partition("/")[0]: ask.names for ask in seen.asks if ask.names.vendor in SPOKEN}
    own = [names(kind) for kind in seen.kinds]
    told: set[str] = set()
    for key in ("initContainers", "containers"):
        for number, container in enumerate(items(seen.spec, key)):
            for place, resource, _ in resources(container):
                row = domains.get(resource.partition("/")[0])
                if row and resource not in (*EXTRA, *told) and not part_of(resource, own):
                    told.add(resource)
                    message = f'HAMi {seen.target.version("hami")} knows no resource "{resource}" of {row.vendor}'
                    named = " and ".join(filter(None, (row.memory, row.cores)))
                    hint = f"parts of {row.cards} are {named}" if named else f"{row.cards} counts whole cards"
                    yield Fault("unknown", "warning", ("spec", key, number, *place), message, hint)


# What single vendors demand (HAMi 2.10.0: pkg/device/{ascend,mthreads}/device.go, the chart's device-configmap).

SIZES = (2, 4, 8, 16, 32, 64, 96)
"""What `mthreads.com/sgpu-memory` may be."""


def check_chips(seen: Seen) -> Iterator[Fault]:
    """Of each container."""
    for ask in seen.asks:
        if ask.names.vendor == "mthreads":
            yield from _mthreads(ask)
        if ask.names.cards.startswith(ASCEND):
            yield from _ascend(ask, seen.annotations.get(VNPU_MODE) == SOFT)


def _mthreads(ask: Ask) -> Iterator[Fault]:
    memory = ask.amounts.get("memory", "")
    if ask.cards > 1 and ask.shared:
        message = "HAMi gives several cards of Moore Threads as a whole, whatever part of them is asked for"
        place = ask.at.get("memory") or ask.at["cores"]
        yield Fault("chip", "warning", place, message, "ask for one card, or for no part of them")
    elif memory and memory not in map(str, SIZES):
        unit = quantity.show(ask.names.unit * 1000)
        message = f"a card of Moore Threads is not cut into parts of {memory} times {unit}"
        yield Fault("chip", "error", ask.at["memory"], message, f"take {listing(map(str, SIZES))} times {unit}")


def _ascend(ask: Ask, soft: bool) -> Iterator[Fault]:
    chip = ask.names.cards.removeprefix(ASCEND)
    if chip == "910C" and ask.cards == 1:
        message = "two chips of Ascend 910C are one module, so HAMi makes two of the one that is asked for"
        yield Fault("chip", "info", ask.place, message, "write 2")
    elif chip == "910C" and ask.cards % 2:
        message = f"two chips of Ascend 910C are one module, and {ask.cards} is odd"
        yield Fault("chip", "error", ask.place, message, "ask for 1 or for an even number")
    if "cores" in ask.amounts and not soft:
        message = f"{ask.names.cores} is for cards that hami-core shares; templates cut cores with the memory"
        yield Fault("chip", "error", ask.at["cores"], message, f"add the annotation {VNPU_MODE}: {SOFT}, or remove it")
    memory = ask.amounts.get("memory", "")
    if chip in TEMPLATES and memory.isascii() and memory.isdigit() and len(memory) < 10 and not soft:
        yield from _cut(ask, chip, int(memory))


def _cut(ask: Ask, chip: str, memory: int) -> Iterator[Fault]:
    parts, whole = TEMPLATES[chip]
    if memory > whole:
        message = f"a card of Ascend {chip} has {whole} MiB, and {memory} are asked for"
        yield Fault("chip", "error", ask.at["memory"], message, f"write {listing(map(str, (*parts, whole)))}")
    elif ask.cards > 1 and memory <= parts[-1]:
        message = f"only whole cards of Ascend are given together, and a part of each of {ask.cards} is asked for"
        yield Fault("chip", "error", ask.at["memory"], message, f"ask for one card, or remove {ask.names.memory}")


# Cards of MetaX: how they go together in a pod, and which node is best (2.10.0, pkg/device/metax/).


def check_metax(seen: Seen) -> Iterator[Fault]:
    """Whole cards and shared ones."""
    whole, shared = seen.of(METAX), seen.of(SGPU)
    if len(whole) > 1:
        message = "HAMi gives whole cards of MetaX to one container of a pod; a second one can never have any"
        yield Fault("twice", "error", whole[1].place, message, "ask for all of them in one container")
    if whole and shared:
        message = f"a node offers {METAX} or {SGPU}, never both: its cards are in one mode"
        yield Fault("twice", "error", shared[0].place, message, "ask for one of them")
    for ask in shared:
        if SGPU_CLASS in seen.annotations and ask.cards != 1:
            message = f"pods with {SGPU_CLASS} must ask for one card, and this one asks for {ask.cards}"
            yield Fault("chip", "error", ask.place, message, f"ask for 1, or remove {SGPU_CLASS}")
    yield from _links(seen, shared)
    if whole and seen.scheduler in KEPT:
        yield from _node(seen, max(ask.cards for ask in whole))


def _links(seen: Seen, shared: list[Ask]) -> Iterator[Fault]:
    """The search for linked cards is for several whole ones (sdevice.go, prioritizeExclusiveDevices)."""
    for ask in shared:
        part = ask.amounts.get("cores", "100") != "100"
        if seen.annotations.get(SGPU_TOPOLOGY) == "true" and (part or ask.cards == 1):
            has = "a part of each card" if part else "one card"
            message = f"{SGPU_TOPOLOGY} is for several whole cards, and the pod asks for {has}"
            yield Fault("idle", "warning", note(SGPU_TOPOLOGY), message, "remove it, or ask for several whole cards")


def _node(seen: Seen, cards: int) -> Iterator[Fault]:
    """`spread` scores how well the cards would be linked, `binpack` what is lost for others (device.go, ScoreNode)."""
    policy, ask = seen.annotations.get(NODE, ""), seen.of(METAX)[0]
    place = note(NODE) if policy else ask.place
    if cards > 1 and policy in ("", "binpack"):
        word = "" if policy else ", the default,"
        message = f"binpack{word} puts {cards} cards of MetaX where least is lost for others, not where links are best"
        hint = f"{NODE}: spread takes the node whose free cards are linked best"
        yield Fault("choice", "warning" if seen.ours else "info", place, message, hint)
    if cards == 1 and policy == "spread":
        message = "spread takes the node with the best links between cards for a pod that has one card"
        yield Fault("choice", "info", place, message, "binpack leaves the well-linked cards to those who need them")
    silent = [kind for kind in seen.kinds if names(kind).cards == METAX and kind.topology_annotated is False]
    if policy == "spread" and silent:
        message = "not every node says how its cards hang together, and spread prefers those that do not say it"
        hint = "run MetaX's extensions (0.8 or later) on all nodes, or use binpack"
        yield Fault("half", "warning", place, message, hint)


RULES: tuple[Callable[[Seen], Iterator[Fault]], ...] = (
    check_admission,
    check_policies,
    check_amounts,
    check_chips,
    check_metax,
)


def faults(seen: Seen) -> Iterator[Fault]:
    """All of them. A pod that asks for no cards of the table has none."""
    for rule in RULES if seen.asks else ():
        yield from rule(seen)
