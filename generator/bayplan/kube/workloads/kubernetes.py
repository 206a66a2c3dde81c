"""Workloads of Kubernetes itself, JobSet and LeaderWorkerSet. StatefulSets (apps/v1) come first."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.core.diagnostics import Diagnostic, Outcome, error, warning
from bayplan.kube.objects import get, items, mapping, number_in, text, title
from bayplan.kube.templates import amount, of_replicated_job
from bayplan.kube.workloads.parts import Objects, autoscalers, numbered, one_by_one, slot, templates
from bayplan.model.augment import Path, TemplateSlot, WorkloadTemplates
from bayplan.model.manifest import Object


def stateful_set(one: Object, beside: Objects) -> Outcome[WorkloadTemplates]:
    """One podSet, called `worker`."""
    findings = (*_in_order(one), *_scaled(one, beside))
    return templates("statefulset", one, [slot(one, "worker", ("spec", "template"))], findings)


def _scaled(one: Object, beside: Objects) -> Iterator[Diagnostic]:
    """W506: an autoscaler may add replicas."""
    replicas = number_in(one.data, "spec", "replicas") if "replicas" in mapping(one.data, "spec") else 1
    for each in autoscalers(one, beside):
        most = number_in(each.data, "spec", "maxReplicas")
        if most is not None and replicas is not None and most > replicas:
            message = f"{title(each)} adds replicas up to {most} to {title(one)}, but the plan has only its {replicas}"
            hint = f"lower it, or keep room for {most - replicas} more"
            yield warning("W506", (*each.route, "spec", "maxReplicas"), message, hint=hint)


def _in_order(one: Object) -> Iterator[Diagnostic]:
    """W512: by default each pod waits until the one before is ready."""
    if (
        text(one.data, "spec", "podManagementPolicy") != "Parallel"
        and (number_in(one.data, "spec", "replicas") or 1) > 1
    ):
        what = "each pod starts when the one before it is ready"
        route = (*one.route, "spec", "podManagementPolicy")
        yield one_by_one(one, route, what, "set `podManagementPolicy: Parallel`; the field cannot be changed later")


def deployment(one: Object, beside: Objects) -> Outcome[WorkloadTemplates]:
    """One podSet, called `worker`. Its pods have no number."""
    findings = (*_rolling(one), *_scaled(one, beside))
    return templates("deployment", one, [numbered(slot(one, "worker", ("spec", "template")), False)], findings)


def _rolling(one: Object) -> Iterator[Diagnostic]:
    """W512: by default a rollout starts new pods beside the old ones, and stops these one by one."""
    if text(one.data, "spec", "strategy", "type") != "Recreate" and (number_in(one.data, "spec", "replicas") or 1) > 1:
        message = f"a rollout of {title(one)} starts new pods beside the old ones, but its gang has only its `replicas`"
        hint = "set `strategy: {type: Recreate}`, or use a LeaderWorkerSet for servers that need several nodes"
        yield error("W512", (*one.route, "spec", "strategy"), message, hint=hint)


# Job (batch/v1).

TEMPLATE: Path = ("spec", "template")


def job(one: Object, _: Objects) -> Outcome[WorkloadTemplates]:
    """One podSet, called `worker`: the pods that run at once."""
    indexed = get(one.data, "spec", "completionMode") == "Indexed"
    return templates("job", one, [numbered(slot(one, "worker", TEMPLATE, job=()), indexed)], waves(one, ("spec",)))


def waves(one: Object, spec: Path) -> Iterator[Diagnostic]:
    """W512: of 8 completions by 4 pods at once, the second 4 start one by one as the first end."""
    parallelism, completions = get(one.data, *spec, "parallelism"), number_in(one.data, *spec, "completions")
    at_once = 1 if parallelism is None else number_in(one.data, *spec, "parallelism")
    if completions is not None and at_once is not None and 0 < at_once < completions:
        message = (
            f"{title(one)} runs {completions} pods, {at_once} at a time, but a gang starts all of its pods together"
        )
        hint = f"set `parallelism: {completions}`, or remove the placement"
        key = "completions" if parallelism is None else "parallelism"
        yield error("W512", (*one.route, *spec, key), message, hint=hint)


# A single Pod is a gang of one.


def pod(one: Object, _: Objects) -> Outcome[WorkloadTemplates]:
    """One podSet, called `worker`."""
    return templates("pod", one, [slot(one, "worker", ())])


# JobSet (`jobset.x-k8s.io`): a podSet for each replicatedJob; its Jobs are the copies.

COPY = "jobset.sigs.k8s.io/job-index"
SPEC: Path = ("spec",)


def jobset(one: Object, _: Objects) -> Outcome[WorkloadTemplates]:
    """The podSets have the names of the replicatedJobs."""
    return templates("jobset", one, slots(one, SPEC), start_order(one, SPEC))


def slots(one: Object, spec: Path) -> Iterator[TemplateSlot | Diagnostic]:
    """One for each replicatedJob of a JobSet's spec at a path."""
    for index, each in enumerate(items(one.data, *spec, "replicatedJobs")):
        job = (*spec, "replicatedJobs", index, "template")
        path = (*job, "spec", "template")
        indexed = get(one.data, *job, "spec", "completionMode") != "NonIndexed"  # JobSet's webhook completes it
        yield numbered(slot(one, text(each, "name"), path, COPY, job, of_replicated_job(one.data, path)), indexed)


def start_order(one: Object, spec: Path) -> Iterator[Diagnostic]:
    """W512 of each replicatedJob."""
    jobs = items(one.data, *spec, "replicatedJobs")
    for index, each in enumerate(jobs):
        here = (*spec, "replicatedJobs", index)
        yield from waves(one, (*here, "template", "spec"))
        if get(each, "dependsOn"):
            what = f'replicatedJob "{text(each, "name")}" waits for another'
            hint = "run what comes first as a Job of its own or as an init container, and remove `dependsOn`"
            yield one_by_one(one, (*one.route, *here, "dependsOn"), what, hint)
    order = (*spec, "startupPolicy", "startupPolicyOrder")
    if text(one.data, *order) == "InOrder" and len(jobs) > 1:
        yield one_by_one(one, (*one.route, *order), "replicatedJobs start one after another", "set `AnyOrder`")


# LeaderWorkerSet (`leaderworkerset.x-k8s.io`): each of its groups is a gang.

GANG = "leaderworkerset.sigs.k8s.io/group-index"
LWS_TEMPLATE: Path = ("spec", "leaderWorkerTemplate")


def leader_worker_set(one: Object, beside: Objects) -> Outcome[WorkloadTemplates]:
    """The podSets `leader` and `worker`. Without a template of its own, the leader is a worker."""
    gangs = amount(one.data, (*LWS_TEMPLATE, "workerTemplate")).copies
    findings = (*_lws_in_order(one), *_surging(one), *_scaled(one, beside))
    return templates("lws", one, tuple(_leader_and_workers(one)), findings, gangs=gangs or 0, gang_label=GANG)


def _surging(one: Object) -> Iterator[Diagnostic]:
    """W506: a rollout may add copies (a number or a percentage)."""
    path = ("spec", "rolloutStrategy", "rollingUpdateConfiguration", "maxSurge")
    surge = get(one.data, *path)
    if surge not in (None, 0, "0", "0%"):
        message = f"a rollout adds copies to {title(one)} (`maxSurge`), but the plan has only its `replicas`"
        yield warning("W506", (*one.route, *path), message, hint="set `maxSurge: 0`, or keep room for them")


def _leader_and_workers(one: Object) -> Iterator[TemplateSlot | Diagnostic]:
    """In the order of the pods' numbers. Copies are gangs here."""
    for key, called in {"leaderTemplate": "leader", "workerTemplate": "worker"}.items():
        if key == "workerTemplate" or mapping(one.data, *LWS_TEMPLATE, key):
            template_slot = slot(one, called, (*LWS_TEMPLATE, key))
            yield template_slot._replace(copies=1) if isinstance(template_slot, TemplateSlot) else template_slot


def _lws_in_order(one: Object) -> Iterator[Diagnostic]:
    """W512."""
    if (
        text(one.data, "spec", "startupPolicy") == "LeaderReady"
        and amount(one.data, (*LWS_TEMPLATE, "workerTemplate")).replicas
    ):
        route = (*one.route, "spec", "startupPolicy")
        yield one_by_one(one, route, "workers start when their leader is ready", "set `startupPolicy: LeaderCreated`")
