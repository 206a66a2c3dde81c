"""`bayplan schedulers`: what each scheduler carries of workloads that are there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from bayplan.backends import existing
from bayplan.model.backend import Backend
from bayplan.model.existing import LED, TITLES
from bayplan.model.features import Support
from bayplan.model.target import KNOWN

KINDS = tuple(kind for kind in TITLES if kind != "deployment")
"""Of those that are read; a Deployment is never a gang."""

ASKED: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "place": ("placed as one gang", KINDS),
    "copies": ("cut into the Jobs of one template", ("jobset", "trainjob")),
    "ranks": ("cut into neighbouring ranks of one template", (*(each for each in KINDS if each != "pod"), LED)),
    "gangs": ("several gangs of one template", ("lws",)),
}
"""What may be asked of a workload, in words, and of which kinds."""

POD_TEMPLATES = "pod templates"
ABSENT = ("never", "not yet here", "not yet upstream")

Extent = Callable[[Support, str], str]
"""For which amounts and versions a row holds."""

Summed = Callable[[Sequence[Support]], str]
"""What the rows of a feature come down to, in a word or two."""


def detailed(backend: Backend, extent: Extent, words: Mapping[str, str]) -> Iterator[str]:
    """All rows, those of kinds that fare alike in one."""
    yield from ("", "workloads that are there")
    for asked, (meaning, kinds) in ASKED.items():
        alike: dict[Support, list[str]] = {}
        for kind in kinds:
            for row in shown(backend, f"{asked}-{kind}"):
                alike.setdefault(row._replace(feature=asked), []).append(kind)
        for row, names in alike.items():
            where = extent(row, POD_TEMPLATES)
            yield f"  {words[row.fidelity]:<9}{meaning}: {', '.join(names)}{f' ({where})' if where else ''}"
            told = f"{row.word}: {row.reason}" if row.word else ""
            yield from (f"{'':11}{text}" for text in (told, row.hint and f"hint: {row.hint}") if text)


def shown(backend: Backend, feature: str) -> list[Support]:
    """The rows of a feature up to the first that holds for everything: none behind it is ever asked."""
    rows: list[Support] = []
    for row in (each for each in existing(backend.declared.name).support if each.feature == feature):
        rows.append(row)
        if row.up_to is None and not row.component:
            break
    return rows


def matrix(backends: Sequence[Backend], summed: Summed) -> Iterator[tuple[str, ...]]:
    """The heads, then each kind and each way to cut it with what each scheduler makes of it."""
    yield ("", *(f"{each.declared.name} {KNOWN[each.declared.component][-1]}" for each in backends))
    for kind in KINDS:
        yield (TITLES[kind], *(summed(shown(each, f"place-{kind}")) for each in backends))
    for asked, (meaning, kinds) in list(ASKED.items())[1:]:
        yield (meaning, *(_carrying(each, asked, kinds, summed) for each in backends))


def _carrying(backend: Backend, asked: str, kinds: Sequence[str], summed: Summed) -> str:
    """The kinds for which it is carried; for none, the word of the first."""
    placed = [kind for kind in kinds if summed(shown(backend, f"place-{kind}")) not in ABSENT or kind == LED]
    cells = {kind: summed(shown(backend, f"{asked}-{kind}")) for kind in placed or kinds}
    carried = (kind if text == "yes" else f"{kind} {text}" for kind, text in cells.items() if text not in ABSENT)
    return ", ".join(carried) or next(iter(cells.values()))
