"""The one place that compares what a plan needs with what a backend or a workload kind declares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from bayplan.diagnostics import Diagnostic
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
    "deadline": "F609",
    "ttl": "F610",
    "always-restart": "F611",
    "node-name-length": "F612",
    "pod-name-length": "F613",
    "level-count": "F614",
    "compute-domain": "F615",
    "workload-job": "F616",
    "workload-jobset": "F617",
    "workload-pods": "F618",
    "workload-lws": "F619",
    "workload-volcano-job": "F620",
    "adopt": "F621",
    "unit-name-length": "F622",
    "label-key-length": "F623",
    "preferred-level": "F624",
    "required-and-preferred": "F625",
    "group-depth": "F626",
    "uneven-groups": "F627",
    "optional-pods": "F628",
    "required-level": "F629",
    "gang": "F630",
    "queue": "F631",
    "priority": "F632",
    "preemptible": "F633",
    "timings": "F634",
}
"""Feature -> the code of its loss, so that `--accept` can name one gap."""


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
    what = f"{need.subject}: {FEATURES[need.feature]}" if need.subject else FEATURES[need.feature]
    if row is None:
        verdict, reason = "cannot be carried (never)", ""
    elif row.fidelity == "absent":
        verdict, reason = f"cannot be carried ({row.word or 'never'})", row.reason
    else:
        verdict, reason = "is carried only approximately", row.reason
    message = f"{what}: {verdict} by {name}" + (f": {reason}" if reason else "")
    severity = "warning" if need.preferred else "error"
    return Diagnostic(CODES[need.feature], severity, message, need.route, (), row.hint if row else "")
