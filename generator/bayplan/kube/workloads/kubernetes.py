"""Workloads of Kubernetes itself, JobSet and LeaderWorkerSet. StatefulSets (apps/v1) come first."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.core.diagnostics import Diagnostic, Outcome, warning
from bayplan.kube.objects import get, items, mapping, number_in, text, title
from bayplan.kube.templates import amount, of_replicated_job
from bayplan.kube.workloads import start_order
from bayplan.kube.workloads.parts import Objects, autoscalers, late, numbered, slot, templates
from bayplan.model.augment import Path, TemplateSlot, WorkloadTemplates
from bayplan.model.manifest import Object


def stateful_set(one: Object, beside: Objects) -> Outcome[WorkloadTemplates]:
    """One podSet, called `worker`."""
    pods = late(slot(one, "worker", ("spec", "template")), start_order.stateful_set(one))
    return templates("statefulset", one, [pods], _scaled(one, beside))


def _scaled(one: Object, beside: Objects) -> Iterator[Diagnostic]:
    """W506: an autoscaler may add replicas."""
    replicas = number_in(one.data, "spec", "replicas") if "replicas" in mapping(one.data, "spec") else 1
    for each in autoscalers(one, beside):
        most = number_in(each.data, "spec", "maxReplicas")
        if most is not None and replicas is not None and most > replicas:
            message = f"{title(each)} adds replicas up to {most} to {title(one)}, but the plan has only its {replicas}"
            hint = f"lower it, or keep room for {most - replicas} more"
            yield warning("W506", (*each.route, "spec", "maxReplicas"), message, hint=hint)


def deployment(one: Object, beside: Objects) -> Outcome[WorkloadTemplates]:
    """One podSet, called `worker`. Its pods have no number."""
    pods = late(slot(one, "worker", ("spec", "template")), start_order.deployment(one))
    return templates("deployment", one, [numbered(pods, False)], _scaled(one, beside))


# Job (batch/v1).

TEMPLATE: Path = ("spec", "template")


def job(one: Object, _: Objects) -> Outcome[WorkloadTemplates]:
    """One podSet, called `worker`: the pods that run at once."""
    indexed = get(one.data, "spec", "completionMode") == "Indexed"
    pods = numbered(slot(one, "worker", TEMPLATE, job=()), indexed)
    return templates("job", one, [late(pods, start_order.waves(one, ("spec",)))])


# A single Pod is a gang of one.


def pod(one: Object, _: Objects) -> Outcome[WorkloadTemplates]:
    """One podSet, called `worker`."""
    return templates("pod", one, [slot(one, "worker", ())])


# JobSet (`jobset.x-k8s.io`): a podSet for each replicatedJob; its Jobs are the copies.

COPY = "jobset.sigs.k8s.io/job-index"
SPEC: Path = ("spec",)


def jobset(one: Object, _: Objects) -> Outcome[WorkloadTemplates]:
    """The podSets have the names of the replicatedJobs."""
    return templates("jobset", one, slots(one, SPEC))


def slots(one: Object, spec: Path) -> Iterator[TemplateSlot | Diagnostic]:
    """One for each replicatedJob of a JobSet's spec at a path."""
    order = start_order.jobs(one, spec)
    for index, (each, wait) in enumerate(zip(items(one.data, *spec, "replicatedJobs"), order, strict=True)):
        job = (*spec, "replicatedJobs", index, "template")
        path = (*job, "spec", "template")
        indexed = get(one.data, *job, "spec", "completionMode") != "NonIndexed"  # JobSet's webhook completes it
        pods = slot(one, text(each, "name"), path, COPY, job, of_replicated_job(one.data, path))
        yield late(numbered(pods, indexed), wait)


# LeaderWorkerSet (`leaderworkerset.x-k8s.io`): each of its groups is a gang.

GANG = "leaderworkerset.sigs.k8s.io/group-index"
LWS_TEMPLATE: Path = ("spec", "leaderWorkerTemplate")


def leader_worker_set(one: Object, beside: Objects) -> Outcome[WorkloadTemplates]:
    """The podSets `leader` and `worker`. Without a template of its own, the leader is a worker."""
    gangs = amount(one.data, (*LWS_TEMPLATE, "workerTemplate")).copies
    findings = (*_surging(one), *_scaled(one, beside))
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
            wait = start_order.leader_ready(one) if called == "worker" else None
            template_slot = late(slot(one, called, (*LWS_TEMPLATE, key)), wait)
            yield template_slot._replace(copies=1) if isinstance(template_slot, TemplateSlot) else template_slot
