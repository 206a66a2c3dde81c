"""A pod as HAMi sees it: the cards that its containers ask for, and whether it is HAMi's at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bayplan.core.diagnostics import Severity
from bayplan.core.values import NamedTuple
from bayplan.kube.objects import items, mapping, text
from bayplan.kube.vendors import ROLES, VOLCANO, Names, names, role
from bayplan.model.target import Target
from bayplan.model.topology import AcceleratorKind

Path = tuple[str | int, ...]
SCHEDULER = "hami-scheduler"
KEPT = ("", "default-scheduler", SCHEDULER)
"""Pods of these schedulers are looked at by HAMi's webhook."""

ALONE = ("metax-tech.com/sgpu", "enflame.com/drs-gcu", "kunlunxin.com/vxpu", "hygon.com/dcunum")
"""Counts that HAMi, or a plugin that it works with, offers and nobody else."""


class Fault(NamedTuple):
    """One finding. `path`: from the pod template."""

    rule: str
    severity: Severity
    path: Path
    message: str
    hint: str = ""


class Ask(NamedTuple):
    """Cards of one kind that one container asks for: role -> the text of its amount, and where it stands."""

    names: Names
    container: Path
    amounts: Mapping[str, str]
    at: Mapping[str, Path]

    @property
    def cards(self) -> int:
        """How many; 0 where that is not said, or is no number."""
        amount = self.amounts.get("cards", "")
        return int(amount) if amount.isascii() and amount.isdigit() and len(amount) < 10 else 0

    @property
    def shared(self) -> bool:
        """Whether it says how much of each card."""
        return bool(set(self.amounts) - {"cards"})

    @property
    def place(self) -> Path:
        """Where the cards are asked for, or else a part of them."""
        return self.at.get("cards") or next(iter(self.at.values()))


class Seen(NamedTuple):
    """A pod template. `ours`: it is sure that HAMi hands out its cards; else they may be a device plugin's."""

    data: Mapping[str, Any]
    asks: tuple[Ask, ...]
    ours: bool
    target: Target
    kinds: tuple[AcceleratorKind, ...] = ()  # of the topology, that some ask is about

    @property
    def spec(self) -> Mapping[str, Any]:
        """The pod spec."""
        return mapping(self.data, "spec")

    @property
    def annotations(self) -> Mapping[str, str]:
        """Those that are texts."""
        found = mapping(self.data, "metadata", "annotations")
        return {key: value for key, value in found.items() if isinstance(value, str)}

    @property
    def scheduler(self) -> str:
        """Who schedules it."""
        return text(self.spec, "schedulerName")

    def of(self, cards: str) -> list[Ask]:
        """The asks for cards of that name, of containers that run side by side."""
        return [ask for ask in self.asks if ask.names.cards == cards and ask.container[1] == "containers"]


def note(key: str) -> Path:
    """The place of an annotation."""
    return ("metadata", "annotations", key)


def look(data: Mapping[str, Any], kinds: Iterable[AcceleratorKind], target: Target) -> Seen:
    """The pod template with what it asks for. `kinds`: those of the topology that HAMi may hand out."""
    hami = [kind for kind in kinds if "hami" in kind.allocators]
    asks = tuple(_asks(data, [names(kind) for kind in hami]))
    counts = {ask.names.cards for ask in asks}
    mine = tuple(kind for kind in hami if names(kind).cards in counts)
    seen = Seen(data, asks, False, target, mine)
    signs = any(key.startswith("hami.io/") for key in seen.annotations) or seen.scheduler == SCHEDULER
    alone = any(ask.shared or ask.names.cards in ALONE for ask in asks)
    volcano = bool(counts) and all(count.startswith(VOLCANO) for count in counts)
    return seen._replace(ours=(signs or alone or bool(mine)) and not volcano)


def _asks(data: Any, own: list[Names]) -> Iterator[Ask]:
    for key in ("initContainers", "containers"):
        for number, container in enumerate(items(data, "spec", key)):
            path: Path = ("spec", key, number)
            found: dict[str, tuple[Names, dict[str, str], dict[str, Path]]] = {}
            for place, resource, amount in resources(container):
                known = part_of(resource, own)
                if known:
                    row, part = known
                    _, amounts, at = found.setdefault(row.cards, (row, {}, {}))
                    amounts.setdefault(part, amount)
                    at.setdefault(part, (*path, *place))
            for row, amounts, at in found.values():
                yield Ask(row, path, amounts, at)


def resources(container: Any) -> Iterator[tuple[Path, str, str]]:
    """Limits first: HAMi's webhook looks at no others."""
    for key in ("limits", "requests"):
        for resource, amount in mapping(container, "resources", key).items():
            if amount is not None and not isinstance(amount, bool | dict | list):
                yield ("resources", key, resource), str(resource), str(amount)


def part_of(resource: str, own: list[Names]) -> tuple[Names, str] | None:
    """By the topology's names first."""
    for row in own:
        for part in ROLES:
            if resource == getattr(row, part):
                return row, part
    return role(resource)
