"""The tables of docs/reference/accelerators.md: `python tests/tools/refresh_docs.py` writes them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bayplan.accelerators.matrix import verdict
from bayplan.backends import BACKENDS
from bayplan.kube.quantity import show
from bayplan.kube.vendors import HAMI
from bayplan.model.backend import Backend, Need
from bayplan.model.target import Target
from bayplan.planning.fidelity import find_row

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "accelerators.md"
FOREIGN = frozenset({"foreign"})
SPLIT = FOREIGN | {"split"}
ASKS: tuple[tuple[str, str, str, frozenset[str]], ...] = (
    ("device plugin: whole devices", "any", "device-plugin", frozenset()),
    ("device plugin: MIG slices", "nvidia", "device-plugin", frozenset({"profile"})),
    ("DRA: whole devices", "any", "dra", frozenset()),
    ("DRA: MIG slices", "nvidia", "dra", frozenset({"profile"})),
    ("DRA: `selectors`", "any", "dra", frozenset({"selectors"})),
    ("HAMi: whole NVIDIA GPUs", "nvidia", "hami", SPLIT),
    ("HAMi: shares of NVIDIA GPUs", "nvidia", "hami", FOREIGN | {"share"}),
    ("Volcano: shares of NVIDIA GPUs", "nvidia", "hami", frozenset({"names", "share"})),
    ("HAMi: whole MetaX GPUs", "metax", "hami", FOREIGN),
    ("HAMi: the node with the best links between MetaX GPUs", "metax", "hami", FOREIGN | {"policy", "node"}),
    ("HAMi: shares of MetaX GPUs", "metax", "hami", FOREIGN | {"share"}),
    ("HAMi: whole Ascend NPUs", "ascend", "hami", SPLIT),
    ("HAMi: shares of Ascend NPUs", "ascend", "hami", FOREIGN | {"share"}),
    ("HAMi: whole devices of other vendors, if they can be shared", "any", "hami", SPLIT),
    ("HAMi: shares of devices of other vendors", "any", "hami", FOREIGN | {"share"}),
)
WORDS = {"yes": "yes", "partly": "partly", "no": "no"}
FIDELITY = {"exact": "yes", "approximate": "partly", "absent": "no"}


def filled(text: str) -> str:
    """The page with its tables made anew."""
    for name, table in (("matrix", matrix), ("names", names)):
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


def names() -> Iterator[tuple[str, ...]]:
    """HAMi's names by default."""
    yield ("vendor", "count", "memory", "unit of memory", "memory in percent", "cores", "cores of a device")
    for row in HAMI:
        unit = show(row.unit * 1000) if row.memory else ""
        yield (
            row.vendor,
            *(f"`{name}`" if name else "" for name in (row.cards, row.memory)),
            unit,
            *(f"`{name}`" if name else "" for name in (row.percentage, row.cores)),
            str(row.parts) if row.cores else "",
        )
