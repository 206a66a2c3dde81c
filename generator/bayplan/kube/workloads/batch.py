"""Job and CronJob (batch/v1)."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, Outcome, error
from bayplan.kube.objects import title
from bayplan.kube.safe import get, number
from bayplan.kube.workloads.parts import Objects, numbered, roster, seat
from bayplan.model.augment import Path, Roster
from bayplan.model.manifest import Object

TEMPLATE: Path = ("spec", "template")


def job(one: Object, _: Objects) -> Outcome[Roster]:
    """One podSet, called `worker`: the pods that run at once."""
    indexed = get(one.data, "spec", "completionMode") == "Indexed"
    return roster("job", one, [numbered(seat(one, "worker", TEMPLATE, job=()), indexed)], waves(one, ("spec",)))


def waves(one: Object, spec: Path) -> Iterator[Diagnostic]:
    """W504: of 8 completions by 4 pods at once, the second 4 start one by one as the first end."""
    said, completions = get(one.data, *spec, "parallelism"), number(one.data, *spec, "completions")
    at_once = 1 if said is None else number(one.data, *spec, "parallelism")
    if completions is not None and at_once is not None and 0 < at_once < completions:
        message = f"{title(one)} runs {completions} pods, {at_once} at a time: a gang starts all at once, or none"
        hint = f"set `parallelism: {completions}`, or leave the placement out"
        key = "completions" if said is None else "parallelism"
        yield error("W504", (*one.route, *spec, key), message, hint=hint)


def cron_job(one: Object, _: Objects) -> Outcome[Roster]:
    """W501."""
    message = f"{title(one)} makes a new Job for each run, and what is written for one gang holds for one Job"
    hint = "let the CronJob start a JobSet or a Workflow that bayplan rendered, or leave the placement out"
    return Outcome(None, (error("W501", (*one.route, "kind"), message, hint=hint),))
