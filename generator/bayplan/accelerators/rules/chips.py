"""What single vendors demand (HAMi 2.10.0: pkg/device/{ascend,mthreads}/device.go, the chart's device-configmap)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.accelerators.policies import SOFT, VNPU_MODE
from bayplan.accelerators.rules.seen import Ask, Fault, Seen
from bayplan.kube import quantity
from bayplan.words import listing

SIZES = (2, 4, 8, 16, 32, 64, 96)
"""What `mthreads.com/sgpu-memory` may be."""

ASCEND = "huawei.com/Ascend"
CUTS: Mapping[str, tuple[tuple[int, ...], int]] = {
    "910A": ((2184, 4369, 8738, 17476), 32768),
    "910B2": ((8192, 16384, 32768), 65536),
    "910B3": ((16384, 32768), 65536),
    "910B4-1": ((16384, 32768), 65536),
    "910B4": ((8192, 16384), 32768),
    "910C": ((16384, 32768), 65536),
    "310P": ((3072, 6144, 12288), 24576),
}
"""Chip -> MiB of the parts that a card is cut into by its templates, and of the whole card."""


KUNLUN = ("kunlunxin.com/vxpu", (24576, 49152, 98304))
"""And those of Kunlunxin's only card (pkg/device/kunlun/vdevice.go, trimMemory)."""


def parts(cards: str) -> tuple[int, ...]:
    """The MiB that HAMi gives of a card so counted, smallest first; nothing where it gives what is asked for."""
    sizes, whole = CUTS.get(cards.removeprefix(ASCEND), ((), 0))
    return (*sizes, whole) if sizes else KUNLUN[1] if cards == KUNLUN[0] else ()


def check(seen: Seen) -> Iterator[Fault]:
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
    if chip in CUTS and memory.isascii() and memory.isdigit() and len(memory) < 10 and not soft:
        yield from _cut(ask, chip, int(memory))


def _cut(ask: Ask, chip: str, memory: int) -> Iterator[Fault]:
    parts, whole = CUTS[chip]
    if memory > whole:
        message = f"a card of Ascend {chip} has {whole} MiB, and {memory} are asked for"
        yield Fault("chip", "error", ask.at["memory"], message, f"write {listing(map(str, (*parts, whole)))}")
    elif ask.cards > 1 and memory <= parts[-1]:
        message = f"only whole cards of Ascend are given together, and a part of each of {ask.cards} is asked for"
        yield Fault("chip", "error", ask.at["memory"], message, f"ask for one card, or remove {ask.names.memory}")
