"""JobSets and LeaderWorkerSets: names that grow too long, placement against the scheduler, nameless rules."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, Route, error, info
from bayplan.kube.safe import api_group, get, items, number, text
from bayplan.kube.templates import PodTemplate
from bayplan.linting.schedulers import DEFAULT, asked
from bayplan.linting.world import World, name, named
from bayplan.model.manifest import Object
from bayplan.words import shorten

LONGEST = 63
DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
EXCLUSIVE = {
    "jobset.x-k8s.io": "alpha.jobset.sigs.k8s.io/exclusive-topology",
    "leaderworkerset.x-k8s.io": "leaderworkerset.sigs.k8s.io/exclusive-topology",
}
"""API group -> the annotation that gives each Job, or group, a domain of its own by affinity (JobSet 0.12, LWS 0.9)."""


def check(world: World) -> Iterator[Diagnostic]:
    """M709 to M711."""
    for one in world.of("jobset.x-k8s.io", "JobSet"):
        yield from _long(one)
        yield from _nameless(one)
    for template in world.templates:
        yield from _exclusive(template)


def _long(one: Object) -> Iterator[Diagnostic]:
    """`<jobset>-<replicatedJob>-<job>-<index>-<5 letters>` (JobSet 0.12, pkg/webhooks/jobset_webhook.go)."""
    if name(one) and not DNS_1035.fullmatch(name(one)[:LONGEST].rstrip("-") or "-"):
        message = f'a JobSet cannot be called "{shorten(name(one))}"'
        hint = "its Jobs and Service are called after it: begin with a letter, then letters, digits and hyphens"
        yield error("M709", named(one), message, hint=hint)
    for index, each in enumerate(items(one.data, "spec", "replicatedJobs")):
        job, copies = text(each, "name"), number(each, "replicas")
        pods = number(each, "template", "spec", "completions") or number(each, "template", "spec", "parallelism")
        indexed = get(each, "template", "spec", "completionMode") != "NonIndexed"
        stem = f"{name(one)}-{job}-{max(0, (1 if copies is None else copies) - 1)}"
        longest = f"{stem}-{max(0, (pods or 1) - 1)}-xxxxx" if indexed else stem
        if job and name(one) and len(longest) > LONGEST:
            what = "pod" if indexed else "Job"
            message = (
                f'a {what} of replicatedJob "{shorten(job)}" would be called "{longest}": {len(longest)} characters'
            )
            over = len(longest) - LONGEST
            hint = f"{LONGEST} are allowed: shorten the names of the JobSet and the replicatedJob by {over}"
            yield error("M709", (*one.route, "spec", "replicatedJobs", index, "name"), message, hint=hint)


def _nameless(one: Object) -> Iterator[Diagnostic]:
    """The CRD wants a name, JobSet's webhook fills it in: what validates offline or dry-runs elsewhere refuses it."""
    for index, each in enumerate(items(one.data, "spec", "failurePolicy", "rules")):
        if get(each, "name") is None:
            route: Route = (*one.route, "spec", "failurePolicy", "rules", index)
            message = "this rule of the failure policy has no name, which the CRD requires"
            hint = "JobSet's webhook fills it in, validators refuse it: add a `name:`"
            yield info("M711", route, message, hint=hint)


def _exclusive(template: PodTemplate) -> Iterator[Diagnostic]:
    """Two that place the same pods: the affinity was made for a scheduler that knows no levels."""
    for route, label in exclusive(template):
        rival = _rival(template)
        if rival:
            message = f'each Job gets a "{label}" of its own by affinity, and {rival} places the same pods by levels'
            hint = "keep one of the two: remove the annotation, or give the pods to the default scheduler"
            yield error("M710", route, message, hint=hint)


def exclusive(template: PodTemplate) -> Iterator[tuple[Route, str]]:
    """The annotation on the whole, or on the replicatedJob."""
    key = EXCLUSIVE.get(api_group(template.object.data), "")
    for path in ((), template.path[:4]) if key else ():
        label = text(template.object.data, *path, "metadata", "annotations", key)
        if label:
            yield (*template.object.route, *path, "metadata", "annotations", key), label


def _rival(template: PodTemplate) -> str:
    """Who else would place the pods; empty when nobody does. Of Kueue, its own rules say."""
    scheduler = asked(template)
    return "" if scheduler == DEFAULT else f'the scheduler "{scheduler}"'
