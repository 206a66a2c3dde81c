"""The tables of docs/accelerators.md: `python tests/tools/refresh_docs.py` writes them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bayplan.accelerators.matrix import TABLE, verdict
from bayplan.backends import BACKENDS
from bayplan.kube.quantity import show
from bayplan.kube.vendors import HAMI
from bayplan.model.backend import Backend, Need
from bayplan.model.target import Target
from bayplan.planning.fidelity import find_row

PAGE = Path(__file__).resolve().parents[2] / "docs" / "accelerators.md"
FOREIGN = frozenset({"foreign"})
SPLIT = FOREIGN | {"split"}
ASKS: tuple[tuple[str, str, str, frozenset[str]], ...] = (
    ("whole cards of a device plugin", "any", "device-plugin", frozenset()),
    ("MIG slices of a device plugin", "nvidia", "device-plugin", frozenset({"profile"})),
    ("cards and slices claimed through DRA", "any", "dra", frozenset()),
    ("HAMi: whole GPUs of NVIDIA", "nvidia", "hami", SPLIT),
    ("HAMi: shares of GPUs of NVIDIA", "nvidia", "hami", FOREIGN | {"share"}),
    ("Volcano's shares of GPUs of NVIDIA", "nvidia", "hami", frozenset({"names", "share"})),
    ("HAMi: cards of MetaX", "metax", "hami", FOREIGN),
    ("HAMi: the node with the best links between cards of MetaX", "metax", "hami", FOREIGN | {"policy", "node"}),
    ("HAMi: shares of cards of MetaX", "metax", "hami", FOREIGN | {"share"}),
    ("HAMi: NPUs of Ascend", "ascend", "hami", SPLIT),
    ("HAMi: parts of NPUs of Ascend", "ascend", "hami", FOREIGN | {"share"}),
    ("HAMi: cards of others that can be shared", "any", "hami", SPLIT),
    ("HAMi: shares of cards of others", "any", "hami", FOREIGN | {"share"}),
)
WORDS = {"yes": "yes", "partly": "in part", "no": "no"}
FIDELITY = {"exact": "yes", "approximate": "in part", "absent": "no"}


def filled(text: str) -> str:
    """The page with its tables made anew."""
    for name, table in (("matrix", matrix), ("reasons", reasons), ("names", names)):
        lines = "".join(f"| {' | '.join(row)} |\n" for row in _headed(list(table())))
        start, end = f"<!-- {name} -->\n", "<!-- end -->"
        before, _, rest = text.partition(start)
        text = f"{before}{start}\n{lines}\n{end}{rest.partition(end)[2]}"
    return text


def _headed(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    return [rows[0], ("---",) * len(rows[0]), *rows[1:]]


def matrix() -> Iterator[tuple[str, ...]]:
    """What is asked for, by scheduler."""
    yield ("", *BACKENDS)
    for title, vendor, allocator, parts in ASKS:
        yield (title, *(_cell(backend, vendor, allocator, parts) for backend in BACKENDS.values()))


def _cell(backend: Backend, vendor: str, allocator: str, parts: frozenset[str]) -> str:
    row = verdict(backend.declared.name, vendor, allocator, parts)
    if row.verdict != "claim":
        return WORDS[row.verdict]
    found = find_row(Need("gpu-claim", 1, ()), backend.declared.support, Target())
    return FIDELITY[found.fidelity] if found else "no"


def reasons() -> Iterator[tuple[str, ...]]:
    """Rows that are no plain yes."""
    yield ("scheduler", "cards of", "through", "what of it", "why", "the way out")
    words = {"": "all", "foreign": "HAMi's names", "names": "Volcano's names", "profile": "MIG profiles"}
    cards = {"share": "shares", "split": "whole cards of those that can be shared", "node": "a wish among nodes"}
    plain = {**cards, "policy": "policies", **words}
    for row in TABLE:
        if row.reason:
            vendor = "any" if row.vendor == "*" else row.vendor
            yield (row.scheduler, vendor, row.allocator, plain[row.part], row.reason, row.hint)


def names() -> Iterator[tuple[str, ...]]:
    """HAMi's names by default."""
    yield ("vendor", "count", "memory", "in units of", "memory in percent", "cores", "cores of a card")
    for row in HAMI:
        unit = show(row.unit * 1000) if row.memory else ""
        yield (
            row.vendor,
            *(f"`{name}`" if name else "" for name in (row.cards, row.memory)),
            unit,
            *(f"`{name}`" if name else "" for name in (row.percentage, row.cores)),
            str(row.parts) if row.cores else "",
        )
