"""Network cards in ResourceSlices of dranet -> the rails of a fabric (dranet 1.4, pkg/apis/attributes.go).

A rail is a card with RDMA that is no virtual one; the GPU that hangs off the same PCIe root is the one next to it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Route, info, warning
from bayplan.core.phrases import listing
from bayplan.core.values import NamedTuple
from bayplan.kube.objects import get, mapping, number_in, text
from bayplan.model.topology import Fabric, Rail

PREFIX = "dra.net"
ROOT = "resource.kubernetes.io/pcieRoot"
NAME = "dranet"
LINKS = {"infiniband": "infiniband", "ether": "ethernet"}


class Card(NamedTuple):
    """A network card with RDMA."""

    rail: Rail
    root: str = ""
    links: str = ""


def attributes(device: Any) -> Mapping[str, Any]:
    """Those of a device, in every dialect of the API."""
    return mapping(device, "attributes") or mapping(device, "basic", "attributes")


def card(device: Any) -> Card | None:
    """The card, if it is one that carries a job's traffic."""
    held = attributes(device)

    def said(key: str) -> Any:
        return get(held.get(f"{PREFIX}/{key}"), "string")

    def marked(key: str) -> bool:
        return get(held.get(f"{PREFIX}/{key}"), "bool") is True

    if not marked("rdma") or marked("virtual"):
        return None
    names = [each if isinstance(each, str) and NAMED.fullmatch(each) else "" for each in map(said, KEYS)]
    numa = number_in(held.get(f"{PREFIX}/numaNode"), "int")
    sound = numa if numa is not None and 0 <= numa < 1024 else None
    root = text(held.get(ROOT), "string")
    rail = Rail(hca=names[0], device=names[1][:15] if len(names[1]) <= 15 else "", numa=sound)
    return Card(rail, root, LINKS.get(str(said("encapsulation")), "")) if any(names) else None


KEYS = ("rdmaDevice", "ifName")
NAMED = re.compile(r"[A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?")


def gpu(device: Any) -> tuple[str, int] | None:
    """The PCIe root of a GPU and its number, where its name tells it: `gpu-3`."""
    found = re.fullmatch(r"gpu-(\d{1,3})", text(device, "name"))
    root = text(attributes(device).get(ROOT), "string")
    return (root, int(found[1])) if found and root else None


def rails(cards: Sequence[Card], gpus: Sequence[tuple[str, int]]) -> tuple[Rail, ...]:
    """The rails of a node by the names of their cards, each with the one GPU that shares its root."""
    counted = Counter(root for root, _ in gpus)
    near = {root: number_ for root, number_ in gpus if counted[root] == 1}
    alone = Counter(each.root for each in cards)
    made = [each.rail._replace(gpu=near.get(each.root) if alone[each.root] == 1 else None) for each in cards]
    return tuple(sorted(made, key=lambda rail: [_natural(rail.hca), _natural(rail.device)]))


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d{1,9})", name)]


def fabrics(nodes: Mapping[str, tuple[Route, tuple[Rail, ...], str]], found: list[Diagnostic]) -> dict[str, Fabric]:
    """The fabric of the cards that most nodes have: node -> place, rails, links."""
    having = {name: each for name, each in nodes.items() if each[1]}
    if not having:
        return {}
    usual = Counter(rails_ for _, rails_, _ in having.values()).most_common(1)[0][0]
    found += _others(having, usual)
    links = {each for _, rails_, each in having.values() if rails_ == usual}
    here = next(route for route, rails_, _ in having.values() if rails_ == usual)
    message = "which DeviceClass stands for the network cards is not said; claims name the class dranet"
    found.append(info("T617", here, message, hint="add `deviceClass:` if yours is called otherwise"))
    return {NAME: Fabric(NAME, "dranet", links.pop() if len(links) == 1 else "", rails=usual)}


def _others(having: Mapping[str, tuple[Route, tuple[Rail, ...], str]], usual: tuple[Rail, ...]) -> Iterator[Diagnostic]:
    """T619."""
    others = [name for name, (_, rails_, _) in having.items() if rails_ != usual]
    if others:
        message = (
            f"network cards of {len(others)} of {len(having)} nodes differ from the others: {listing(others, 'and', 3)}"
        )
        hint = "a fabric has the same rails on all its nodes: describe theirs as another fabric, with `node.fabrics`"
        yield warning("T619", having[others[0]][0], message, hint=hint)
