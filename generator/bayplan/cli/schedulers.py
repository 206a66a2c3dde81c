"""`bayplan schedulers`: what each scheduler supports, from the rows of its backend and of its workload kinds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bayplan.backends import BACKENDS, existing
from bayplan.cli import output
from bayplan.cli.finish import finish
from bayplan.cli.options import Arguments
from bayplan.core.diagnostics import error
from bayplan.core.phrases import suggest
from bayplan.kube.kinds import KINDS, SERVING, SINGLE
from bayplan.model.backend import FEATURES, Backend, Feature, Support
from bayplan.model.existing import LED, PLACED, SINGLE_PODS, TITLES
from bayplan.model.target import KNOWN, Target
from bayplan.model.target import TITLES as COMPONENTS
from bayplan.report import Batch


def run(args: Arguments) -> int:
    """Prints the table of all schedulers, or the rows of one with the reasons."""
    name = args.words[0] if args.words else ""
    if name and name not in BACKENDS:
        hint = suggest(name, BACKENDS)
        return finish(args, [Batch((error("A920", ("argument", "NAME"), f'unknown scheduler: "{name}"', hint=hint),))])
    lines = _one(BACKENDS[name]) if name else output.table([*matrix([*BACKENDS.values()])])
    return finish(args, (), lambda: output.write(f"{line.rstrip()}\n" for line in lines))


def matrix(backends: Sequence[Backend]) -> Iterator[tuple[str, ...]]:
    """The header, then each feature with the support of each scheduler."""
    yield ("", *(f"{each.declared.name} {KNOWN[each.declared.component][-1]}" for each in backends))
    for name, feature in FEATURES.items():
        yield (feature.meaning, *(cell(name, each) for each in backends))


def cell(feature: str, backend: Backend) -> str:
    """The support of the newest version in a few words: `yes`, `since 0.17`, `at most 2 podSets`, `partly`, `no`.

    If the workload kinds decide, the kinds that support the feature.
    """
    own, unit = _rows(feature, backend.declared.support), FEATURES[feature].unit
    if own:
        return summed(own, unit)
    kinds = {kind: summed(_rows(feature, KINDS[kind].SUPPORT), unit) for kind in backend.declared.kinds}
    carrying = {kind: text for kind, text in kinds.items() if text not in ABSENT}
    if not carrying:
        kinds = {kind: summed(_rows(feature, KINDS[kind].SUPPORT), unit) for kind in _serving(backend)}
        carrying = {kind: text for kind, text in kinds.items() if text not in ABSENT}
    if len(carrying) == len(kinds) and len(set(carrying.values())) == 1:
        return next(iter(carrying.values()))
    return _joined(carrying) or next(iter(kinds.values()), "no")


def _serving(backend: Backend) -> Iterator[str]:
    """The kinds of services that the scheduler can place."""
    for kind in SERVING:
        placed = SINGLE_PODS if kind == SINGLE else kind
        if summed(rows_of_existing(backend, f"place-{placed}"), TEMPLATES) not in ABSENT:
            yield kind


def _joined(cells: Mapping[str, str]) -> str:
    """`jobset (at most 5 predecessors), job`: the kinds, each with its cell unless that is `yes`."""
    return ", ".join(kind if text == "yes" else f"{kind} ({text})" for kind, text in cells.items())


def summed(rows: Sequence[Support], unit: str) -> str:
    """The row of the newest versions that supports most. `since` is the only trace of older versions."""
    newest = Target()
    valid = [row for row in rows if row.holds(newest)]
    carried = [row for row in valid if row.fidelity != "absent"]
    if not carried:
        return next((row.word for row in valid), "no")
    best = carried[0]
    largest = next((row for row in reversed(carried) if row.fidelity == best.fidelity), best)
    since = f"since {best.since}" if best.since else ""
    amount = _at_most(largest, unit)
    where = ", ".join(filter(None, (amount, since)))
    if best.fidelity == "approximate":
        return f"partly, {where}" if where else "partly"
    return where or "yes"


def _at_most(row: Support, unit: str) -> str:
    """`at most 18 podSets`; empty without a limit."""
    unit = unit.removesuffix("s") if row.up_to == 1 else unit
    return f"at most {row.up_to} {unit}".rstrip() if row.up_to is not None else ""


def extent(row: Support, unit: str) -> str:
    """The amounts and versions to which a row applies; empty for all."""
    since, until = row.since and f"{row.since} and later", row.until and f"below {row.until}"
    versions = f"{row.since} to below {row.until}" if row.since and row.until else since or until
    component = f"{COMPONENTS[row.component]} " if versions and row.component else ""
    return ", ".join(filter(None, (_at_most(row, unit), component + versions)))


def _rows(feature: str, support: Sequence[Support]) -> list[Support]:
    return [row for row in support if row.feature == feature]


def _one(backend: Backend) -> Iterator[str]:
    """All rows of a scheduler and of its workload kinds, with what it loses and what to do."""
    own = backend.declared
    yield f"{own.name} {', '.join(KNOWN[own.component])}, workloads {', '.join(own.kinds)}"
    yield from _detailed(own.support, {**FEATURES, **own.features})
    for kind in own.kinds:
        yield from ("", f"workload {kind}", *_detailed(KINDS[kind].SUPPORT, FEATURES))
    yield from _existing_rows(backend)


def _detailed(support: Sequence[Support], features: Mapping[str, Feature]) -> Iterator[str]:
    for name, feature in features.items():
        for row in _rows(name, support):
            yield from _row_lines(row, feature.meaning, feature.unit)


def _row_lines(row: Support, meaning: str, unit: str) -> Iterator[str]:
    where = extent(row, unit)
    verdict = row.word or ("yes" if row.fidelity == "exact" else "partly")
    yield f"  {verdict:<20}{meaning}{f' ({where})' if where else ''}"
    yield from (f"{'':22}{text}" for text in (row.reason, row.hint and f"hint: {row.hint}") if text)


TEMPLATES = "pod templates"
"""The unit in which rows of existing workloads count."""

PLACEMENTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "place": ("placed as one gang", tuple(PLACED)),
    "copies": ("groups that are Jobs of one template", ("jobset", "trainjob")),
    "ranks": ("groups of neighbouring ranks of one template", (*(each for each in TITLES if each != "pod"), LED)),
    "gangs": ("several gangs with one template", ("lws",)),
}
"""Each way to place an existing workload, with its title and its kinds."""

ABSENT = ("no", "not yet in bayplan", "not yet upstream")


def _existing_rows(backend: Backend) -> Iterator[str]:
    """All rows; kinds with equal support share one."""
    yield from ("", "existing workloads")
    for placement, (meaning, kinds) in PLACEMENTS.items():
        alike: dict[Support, list[str]] = {}
        for kind in kinds:
            for row in rows_of_existing(backend, f"{placement}-{kind}"):
                alike.setdefault(row._replace(feature=placement), []).append(kind)
        for row, names in alike.items():
            yield from _row_lines(row, f"{meaning}: {', '.join(names)}", TEMPLATES)


def rows_of_existing(backend: Backend, feature: str) -> list[Support]:
    """The rows of a feature up to the first that applies to everything, which hides those after it."""
    rows: list[Support] = []
    for row in (each for each in existing(backend.declared.name).support if each.feature == feature):
        rows.append(row)
        if row.up_to is None and not row.component:
            break
    return rows
