"""`bayplan schedulers`: what each scheduler carries, from the rows that its backend and its workload kinds declare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bayplan.backends import BACKENDS
from bayplan.cli import stdout
from bayplan.cli.finish import finish
from bayplan.cli.options import Given
from bayplan.diagnostics import Diagnostic, error
from bayplan.kube.kinds import KINDS
from bayplan.model.backend import Backend
from bayplan.model.features import FEATURES, Support
from bayplan.report.batch import Batch
from bayplan.words import suggest

WORDS = {"exact": "yes", "approximate": "in part", "absent": "no"}


def run(given: Given) -> int:
    """Prints the table of all, or the rows of one with their reasons."""
    name = given.words[0] if given.words else ""
    if name and name not in BACKENDS:
        return finish(given, [Batch((_unknown(name),))])
    lines = _one(BACKENDS[name]) if name else _table(list(BACKENDS.values()))
    return finish(given, (), lambda: stdout.write(f"{line.rstrip()}\n" for line in lines))


def _unknown(name: str) -> Diagnostic:
    return error("A928", ("argument", "NAME"), f'there is no scheduler "{name}"', hint=suggest(name, BACKENDS))


def _table(backends: Sequence[Backend]) -> Iterator[str]:
    """One row a feature, one column a scheduler."""
    rows = [("", *(backend.NAME for backend in backends))]
    rows += [(feature.meaning, *(cell(name, each) for each in backends)) for name, feature in FEATURES.items()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True))


def cell(feature: str, backend: Backend) -> str:
    """`yes`, `no`, `0.17 and later; in part: 0.15 and later`, or by workload kind where the kinds decide."""
    own = _rows(feature, backend.SUPPORT)
    if own:
        return _summed(own)
    kinds = {kind: _summed(_rows(feature, KINDS[kind].SUPPORT)) for kind in backend.KINDS if kind in KINDS}
    carrying = {kind: text for kind, text in kinds.items() if text != "no"}
    if len(carrying) == len(kinds) and len(set(carrying.values())) == 1:
        return next(iter(carrying.values()))
    return "; ".join(kind if text == "yes" else f"{kind}: {text}" for kind, text in carrying.items()) or "no"


def _summed(rows: Sequence[Support]) -> str:
    """Rows of one feature in a few words; what is refused beyond them goes without saying."""
    carried = [row for row in rows if row.fidelity != "absent"]
    return "; ".join(_phrase(row) for row in carried) or "no"


def _phrase(row: Support) -> str:
    word, where = WORDS[row.fidelity], extent(row)
    if row.fidelity == "exact":
        return where or word
    return f"{word}: {where}" if where else word


def extent(row: Support) -> str:
    """For which amounts and versions a row holds; empty for all."""
    since, until = row.since and f"{row.since} and later", row.until and f"below {row.until}"
    versions = f"{row.since} to below {row.until}" if row.since and row.until else since or until
    component = f"{row.component} " if versions and row.component else ""
    unit = FEATURES[row.feature].unit
    amount = f"up to {row.up_to}{f' {unit}' if unit else ''}" if row.up_to is not None else ""
    return ", ".join(filter(None, (amount, component + versions)))


def _rows(feature: str, support: Sequence[Support]) -> list[Support]:
    return [row for row in support if row.feature == feature]


def _one(backend: Backend) -> Iterator[str]:
    """All rows of a scheduler and of the workload kinds it is given, with what is lost and the way out."""
    yield f"{backend.NAME}, workloads {', '.join(backend.KINDS)}"
    yield from _detailed(backend.SUPPORT)
    for kind in backend.KINDS:
        yield from ("", f"workload {kind}", *_detailed(KINDS[kind].SUPPORT if kind in KINDS else ()))


def _detailed(support: Sequence[Support]) -> Iterator[str]:
    for feature in FEATURES:
        for row in _rows(feature, support):
            where = extent(row)
            yield f"  {WORDS[row.fidelity]:<9}{FEATURES[feature].meaning}{f' ({where})' if where else ''}"
            yield from (f"{'':11}{text}" for text in (row.reason, row.hint and f"hint: {row.hint}") if text)
