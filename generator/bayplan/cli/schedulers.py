"""`bayplan schedulers`: what each scheduler supports, from the rows of its backend and its workload kinds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bayplan.backends import BACKENDS, existing
from bayplan.cli import output
from bayplan.cli.finish import finish
from bayplan.cli.options import Arguments
from bayplan.core.diagnostics import error
from bayplan.core.phrases import suggest
from bayplan.kube.kinds import KINDS
from bayplan.model.backend import FEATURES, Backend, Feature, Support
from bayplan.model.existing import LED, TITLES
from bayplan.model.target import KNOWN, Target
from bayplan.report import Batch

WORDS = {"exact": "yes", "approximate": "in part", "absent": "no"}


def run(args: Arguments) -> int:
    """Prints the table of all schedulers, or the rows of one with the reasons."""
    name = args.words[0] if args.words else ""
    if name and name not in BACKENDS:
        hint = suggest(name, BACKENDS)
        return finish(args, [Batch((error("A920", ("argument", "NAME"), f'unknown scheduler: "{name}"', hint=hint),))])
    lines = _one(BACKENDS[name]) if name else output.table([*matrix([*BACKENDS.values()])])
    return finish(args, (), lambda: output.write(f"{line.rstrip()}\n" for line in lines))


def matrix(backends: Sequence[Backend]) -> Iterator[tuple[str, ...]]:
    """The header, then a row per feature with the support of each scheduler."""
    yield ("", *(f"{each.declared.name} {KNOWN[each.declared.component][-1]}" for each in backends))
    for name, feature in FEATURES.items():
        yield (feature.meaning, *(cell(name, each) for each in backends))


def cell(feature: str, backend: Backend) -> str:
    """The support of the newest version in a few words: `yes`, `since 0.17`, `up to 2`, `in part`, `never`.

    If the workload kinds decide, those that support it.
    """
    own = _rows(feature, backend.declared.support)
    if own:
        return summed(own)
    kinds = {kind: summed(_rows(feature, KINDS[kind].SUPPORT)) for kind in backend.declared.kinds}
    carrying = {kind: text for kind, text in kinds.items() if text not in ABSENT}
    if len(carrying) == len(kinds) and len(set(carrying.values())) == 1:
        return next(iter(carrying.values()))
    return _joined(carrying) or next(iter(kinds.values()), "never")


def _joined(cells: Mapping[str, str]) -> str:
    """`jobset, job since 1.2`: the kinds, each with its cell unless that is `yes`."""
    return ", ".join(kind if text == "yes" else f"{kind} {text}" for kind, text in cells.items())


def summed(rows: Sequence[Support]) -> str:
    """The best support of the newest version. Older versions appear only as `since`."""
    newest = Target()
    valid = [row for row in rows if not row.component or newest.between(row.component, row.since, row.until)]
    carried = [row for row in valid if row.fidelity != "absent"]
    if not carried:
        return next((row.word for row in valid), "never")
    best = carried[0]
    largest = next((row for row in reversed(carried) if row.fidelity == best.fidelity), best)
    since = f"since {best.since}" if best.since else ""
    amount = f"up to {largest.up_to}" if largest.up_to is not None else ""
    where = ", ".join(filter(None, (amount, since)))
    if best.fidelity == "approximate":
        return f"in part, {where}" if where else "in part"
    return where or "yes"


def extent(row: Support, unit: str) -> str:
    """The amounts and versions of a row; empty for all."""
    since, until = row.since and f"{row.since} and later", row.until and f"below {row.until}"
    versions = f"{row.since} to below {row.until}" if row.since and row.until else since or until
    component = f"{row.component} " if versions and row.component else ""
    amount = f"up to {row.up_to}{f' {unit}' if unit else ''}" if row.up_to is not None else ""
    return ", ".join(filter(None, (amount, component + versions)))


def _rows(feature: str, support: Sequence[Support]) -> list[Support]:
    return [row for row in support if row.feature == feature]


def _one(backend: Backend) -> Iterator[str]:
    """All rows of a scheduler and of its workload kinds, with what is lost and what to do."""
    own = backend.declared
    yield f"{own.name} {', '.join(KNOWN[own.component])}, workloads {', '.join(own.kinds)}"
    yield from _detailed(own.support, {**FEATURES, **own.features})
    for kind in own.kinds:
        yield from ("", f"workload {kind}", *_detailed(KINDS[kind].SUPPORT, FEATURES))
    yield from _existing_rows(backend)


def _detailed(support: Sequence[Support], features: Mapping[str, Feature]) -> Iterator[str]:
    for name, feature in features.items():
        for row in _rows(name, support):
            reason = f"{row.word}: {row.reason}" if row.word else row.reason
            yield from _row_lines(row, feature.meaning, feature.unit, reason)


def _row_lines(row: Support, meaning: str, unit: str, reason: str) -> Iterator[str]:
    where = extent(row, unit)
    yield f"  {WORDS[row.fidelity]:<9}{meaning}{f' ({where})' if where else ''}"
    yield from (f"{'':11}{text}" for text in (reason, row.hint and f"hint: {row.hint}") if text)


PLACED_KINDS = tuple(kind for kind in TITLES if kind != "deployment")
"""The kinds that bayplan places. A Deployment is never a gang."""

PLACEMENTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "place": ("placed as one gang", PLACED_KINDS),
    "copies": ("divided into the Jobs of one template", ("jobset", "trainjob")),
    "ranks": (
        "divided into neighboring ranks of one template",
        (*(each for each in PLACED_KINDS if each != "pod"), LED),
    ),
    "gangs": ("several gangs of one template", ("lws",)),
}
"""The ways to place an existing workload, in words, and the kinds for each."""

ABSENT = ("never", "not yet here", "not yet upstream")


def _existing_rows(backend: Backend) -> Iterator[str]:
    """All rows, with kinds of equal support in one row."""
    yield from ("", "existing workloads")
    for placement, (meaning, kinds) in PLACEMENTS.items():
        alike: dict[Support, list[str]] = {}
        for kind in kinds:
            for row in _rows_of_existing(backend, f"{placement}-{kind}"):
                alike.setdefault(row._replace(feature=placement), []).append(kind)
        for row, names in alike.items():
            reason = f"{row.word}: {row.reason}" if row.word else ""
            yield from _row_lines(row, f"{meaning}: {', '.join(names)}", "pod templates", reason)


def _rows_of_existing(backend: Backend, feature: str) -> list[Support]:
    """The rows of a feature, up to the first that is valid for all amounts and versions."""
    rows: list[Support] = []
    for row in (each for each in existing(backend.declared.name).support if each.feature == feature):
        rows.append(row)
        if row.up_to is None and not row.component:
            break
    return rows


def existing_matrix(backends: Sequence[Backend]) -> Iterator[tuple[str, ...]]:
    """The header, then a row per kind and per way to divide it, with the support of each scheduler."""
    yield ("", *(f"{each.declared.name} {KNOWN[each.declared.component][-1]}" for each in backends))
    for kind in PLACED_KINDS:
        yield (TITLES[kind], *(summed(_rows_of_existing(each, f"place-{kind}")) for each in backends))
    for placement, (meaning, kinds) in list(PLACEMENTS.items())[1:]:
        yield (meaning, *(_kinds_carried(each, placement, kinds) for each in backends))


def _kinds_carried(backend: Backend, placement: str, kinds: Sequence[str]) -> str:
    """The kinds that support it, or the word of the first kind."""
    placed = [
        kind for kind in kinds if summed(_rows_of_existing(backend, f"place-{kind}")) not in ABSENT or kind == LED
    ]
    cells = {kind: summed(_rows_of_existing(backend, f"{placement}-{kind}")) for kind in placed or kinds}
    carried = {kind: text for kind, text in cells.items() if text not in ABSENT}
    return _joined(carried) or next(iter(cells.values()))
