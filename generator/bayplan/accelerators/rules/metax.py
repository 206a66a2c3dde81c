"""Cards of MetaX: how they go together in a pod, and which node is best (2.10.0, pkg/device/metax/)."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.accelerators.policies import NODE, SGPU_CLASS, SGPU_TOPOLOGY
from bayplan.accelerators.rules.seen import KEPT, Ask, Fault, Seen, note
from bayplan.kube.vendors import METAX, SGPU, names


def check(seen: Seen) -> Iterator[Fault]:
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
