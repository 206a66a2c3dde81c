"""The one place that compares what a plan needs with what a backend or a workload kind declares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from bayplan.diagnostics import Diagnostic, error, warning
from bayplan.model.features import FEATURES, Need, Support
from bayplan.model.target import Target

CODES: Mapping[str, str] = {
    "no-queue": "F601",
    "separate": "F602",
    "mixed-pools": "F603",
    "optional-groups": "F604",
    "gpu-claim": "F605",
    "depends-on": "F606",
    "lead": "F607",
    "restarts": "F608",
    "ttl": "F610",
    "always-restart": "F611",
    "node-name-length": "F612",
    "pod-name-length": "F613",
    "level-count": "F614",
    "workload-job": "F616",
    "workload-jobset": "F617",
    "adopt": "F621",
    "unit-name-length": "F622",
    "label-key-length": "F623",
    "timings": "F634",
    "uncounted-claim": "F635",
    "optional-pods-placed": "F636",
    "parentless-queue": "F637",
}
"""Feature -> the code of its loss, so that `--accept` can name one gap."""


FIRM = frozenset(
    CODES[feature]
    for feature in (
        "no-queue",
        "depends-on",
        "always-restart",
        "pod-name-length",
        "unit-name-length",
        "level-count",
        "label-key-length",
    )
)
"""Losses that cannot be accepted: upstream would refuse what came out."""

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


def compare(needs: Iterable[Need], rows: tuple[Support, ...], target: Target, name: str) -> Iterator[Diagnostic]:
    """One diagnostic for each need that is not carried exactly: an error, or a warning where only preferred."""
    for need in needs:
        row = find_row(need, rows, target)
        if row is None or row.fidelity != "exact":
            yield _gap(need, row, name)


def holds(needs: Iterable[Need], rows: tuple[Support, ...], target: Target) -> bool:
    """Whether every need is carried at least approximately."""
    found = (find_row(need, rows, target) for need in needs)
    return all(row is not None and row.fidelity != "absent" for row in found)


def _gap(need: Need, row: Support | None, name: str) -> Diagnostic:
    feature = FEATURES[need.feature]
    amount = f" ({need.amount} {feature.unit})" if feature.unit else ""
    what = f"{need.subject}: {feature.meaning}{amount}" if need.subject else f"{feature.meaning}{amount}"
    if row is None:
        verdict, reason = "cannot be carried", ""
    elif row.fidelity == "absent":
        verdict, reason = f"cannot be carried ({row.word})", row.reason
    else:
        verdict, reason = "is carried only approximately", row.reason
    message = f"{what}: {verdict} by {name}" + (f": {reason}" if reason else "")
    report = warning if need.preferred else error
    return report(CODES.get(need.feature, UNSTATED), need.route, message, hint=row.hint if row else "")
