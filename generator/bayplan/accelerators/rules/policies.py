"""Annotations whose values HAMi does not know, or that do nothing (2.10.0, pkg/util, pkg/scheduler/policy)."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.accelerators.policies import CARDS, LINKED, NODE, SGPU_CLASS, SGPU_QOS, SGPU_TOPOLOGY, VNPU_MODE, WEIGHTS
from bayplan.accelerators.rules.seen import Fault, Seen, note
from bayplan.kube.vendors import METAX, SGPU
from bayplan.words import listing

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


def check(seen: Seen) -> Iterator[Fault]:
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
