"""JobSet (jobset.x-k8s.io): a podSet for each replicatedJob; its Jobs are the copies."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, Outcome
from bayplan.kube.counts import of_replicated_job
from bayplan.kube.safe import get, items, text
from bayplan.kube.workloads.batch import waves
from bayplan.kube.workloads.parts import Objects, numbered, one_by_one, roster, seat
from bayplan.model.augment import Path, Roster, Seat
from bayplan.model.manifest import Object

COPY = "jobset.sigs.k8s.io/job-index"
SPEC: Path = ("spec",)


def jobset(one: Object, _: Objects) -> Outcome[Roster]:
    """The podSets are called as the replicatedJobs are."""
    return roster("jobset", one, seats(one, SPEC), said(one, SPEC))


def seats(one: Object, spec: Path) -> Iterator[Seat | Diagnostic]:
    """One for each replicatedJob of a JobSet's spec at a path."""
    for index, each in enumerate(items(one.data, *spec, "replicatedJobs")):
        job = (*spec, "replicatedJobs", index, "template")
        path = (*job, "spec", "template")
        indexed = get(one.data, *job, "spec", "completionMode") != "NonIndexed"  # JobSet's webhook completes it
        yield numbered(seat(one, text(each, "name"), path, COPY, job, of_replicated_job(one.data, path)), indexed)


def said(one: Object, spec: Path) -> Iterator[Diagnostic]:
    """W504 and W512 of each replicatedJob."""
    jobs = items(one.data, *spec, "replicatedJobs")
    for index, each in enumerate(jobs):
        here = (*spec, "replicatedJobs", index)
        yield from waves(one, (*here, "template", "spec"))
        if get(each, "dependsOn"):
            what = f'replicatedJob "{text(each, "name")}" waits for another'
            hint = "make a Job of its own of what runs before, or an init container, and leave `dependsOn` out"
            yield one_by_one(one, (*one.route, *here, "dependsOn"), what, hint)
    order = (*spec, "startupPolicy", "startupPolicyOrder")
    if text(one.data, *order) == "InOrder" and len(jobs) > 1:
        yield one_by_one(one, (*one.route, *order), "replicatedJobs start one after another", "use `AnyOrder`")
