"""The one place that compares what a plan needs with what a backend or a workload kind declares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from bayplan.diagnostics import Diagnostic, Severity
from bayplan.model.features import FEATURES, Feature, Need, Support
from bayplan.model.target import Target

UNSTATED = "F600"
"""The code of a feature that a backend says nothing of."""


def find_row(need: Need, rows: Iterable[Support], target: Target) -> Support | None:
    """The first row that covers the need's amount at the target's versions."""
    for row in rows:
        fits = row.up_to is None or need.amount <= row.up_to
        if row.feature == need.feature and fits and _applies(row, target):
            return row
    return None


def _applies(row: Support, target: Target) -> bool:
    return not row.component or target.between(row.component, row.since, row.until)


def compare(
    needs: Iterable[Need],
    rows: tuple[Support, ...],
    target: Target,
    name: str,
    features: Mapping[str, Feature] = FEATURES,
) -> Iterator[Diagnostic]:
    """One diagnostic for each need that is not carried exactly, as grave as the need and the row say."""
    for need in needs:
        row = find_row(need, rows, target)
        if row is None or row.fidelity != "exact":
            stated = any(each.feature == need.feature for each in rows)
            yield _gap(need, row, name, features[need.feature] if stated else unstated(features[need.feature]))


def unstated(feature: Feature) -> Feature:
    """A feature whose loss is the fault of a table of support."""
    return feature._replace(code=UNSTATED)


def firm(features: Iterable[Feature]) -> frozenset[str]:
    """Codes of losses that cannot be accepted."""
    return frozenset(feature.code for feature in features if feature.firm)


def _gap(need: Need, row: Support | None, name: str, feature: Feature) -> Diagnostic:
    amount = f" ({need.amount} {feature.unit})" if feature.unit else ""
    what = f"{need.subject}: {feature.meaning}{amount}" if need.subject else f"{feature.meaning}{amount}"
    if row is None:
        verdict, reason = "cannot be carried", ""
    elif row.fidelity == "absent":
        verdict, reason = f"cannot be carried ({row.word})", row.reason
    else:
        verdict, reason = "is carried only approximately", row.reason
    message = f"{what}: {verdict} by {name}" + (f": {reason}" if reason else "")
    return Diagnostic(feature.code, _severity(need, row), message, need.route, hint=row.hint if row else "")


def _severity(need: Need, row: Support | None) -> Severity:
    """A preference that is lost is a warning at most; a requirement an error, unless the row holds it to be milder."""
    mild: Severity = row.report if row and row.fidelity == "approximate" else "error"
    return "warning" if need.preferred and mild == "error" else mild
