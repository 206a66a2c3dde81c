"""PodSet instances in manifests, and the ComputeDomains that they claim from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from bayplan.kube.kinds import GROUP_LABEL, POD_SET_LABEL
from bayplan.kube.objects import group, kind, mapping
from bayplan.kube.pod import COMPUTE_DOMAIN_API
from bayplan.kube.workloads import WORKLOADS
from bayplan.model.manifest import Manifest, Object
from oracle.intent import PodsIntent

Channels = Mapping[tuple[str, str], str]
"""Namespace and claim template -> ComputeDomain."""


class PodsRead(NamedTuple):
    """One podSet instance found in a manifest."""

    name: str
    replicas: int
    template: Mapping[str, Any]
    owner: Mapping[str, Any]  # metadata of the object it was found in
    job: Mapping[str, Any]  # metadata of the Job template, for kinds that have one


A = TypeVar("A")
B = TypeVar("B")


def by(key: Callable[[A], B], values: Iterable[A]) -> dict[B, list[A]]:
    """The values under their keys, each list in the order given."""
    made: dict[B, list[A]] = {}
    for value in values:
        made.setdefault(key(value), []).append(value)
    return made


def found_pods(documents: Iterable[Manifest]) -> Iterator[PodsRead]:
    """The podSet instances of all kinds of workloads."""
    listed = [Object((), document) for document in documents]
    for one in listed:
        own = [pods for read in READERS for pods in read(one.data)]
        yield from own or _seats(one, listed)


def _seats(one: Object, beside: Sequence[Object]) -> Iterator[PodsRead]:
    """Those of kinds that bayplan places and does not write. Gangs of one template are one here."""
    reader = WORKLOADS.get((group(one), kind(one)))
    templates = reader(one, beside).value if reader else None
    for slot in templates.slots if templates else ():
        data = templates.object.data if templates else {}
        template, owner = mapping(data, *slot.path), mapping(one.data, "metadata")
        job = owner if slot.job is None else mapping(data, *slot.job, "metadata")
        yield PodsRead(read_name(template, slot.name), slot.total, template, owner, job)


def read_name(template: Mapping[str, Any], fallback: str) -> str:
    """The podSet instance's name as our labels tell it, else the fallback."""
    labels = (template.get("metadata") or {}).get("labels") or {}
    if POD_SET_LABEL not in labels:
        return fallback
    return "-".join(part for part in (labels.get(GROUP_LABEL, ""), labels[POD_SET_LABEL]) if part)


def read_job(document: Mapping[str, Any]) -> tuple[PodsRead, ...]:
    """The one podSet of a Job."""
    if document.get("kind") != "Job" or document.get("apiVersion") != "batch/v1":
        return ()
    spec, metadata = document["spec"], document["metadata"]
    name = read_name(spec["template"], metadata["name"])
    return (PodsRead(name, spec.get("parallelism", 1), spec["template"], metadata, metadata),)


def read_jobset(document: Mapping[str, Any]) -> tuple[PodsRead, ...]:
    """The podSets of a JobSet: replicas x parallelism pods each."""
    if document.get("kind") != "JobSet" or not str(document.get("apiVersion")).startswith("jobset.x-k8s.io/"):
        return ()
    return tuple(
        PodsRead(
            read_name(each["template"]["spec"]["template"], each["name"]),
            each.get("replicas", 1) * each["template"]["spec"].get("parallelism", 1),
            each["template"]["spec"]["template"],
            document["metadata"],
            each["template"].get("metadata", {}),
        )
        for each in document["spec"]["replicatedJobs"]
    )


def read_pod(document: Mapping[str, Any]) -> tuple[PodsRead, ...]:
    """One pod."""
    if document.get("kind") != "Pod" or document.get("apiVersion") != "v1":
        return ()
    metadata = document["metadata"]
    template = {"metadata": metadata, "spec": document["spec"]}
    return (PodsRead(read_name(template, metadata["name"]), 1, template, metadata, metadata),)


def read_volcano_job(document: Mapping[str, Any]) -> tuple[PodsRead, ...]:
    """The podSets of a Volcano Job: its tasks."""
    if document.get("kind") != "Job" or not str(document.get("apiVersion")).startswith("batch.volcano.sh/"):
        return ()
    return tuple(
        PodsRead(
            read_name(each["template"], each.get("name", "")),
            each.get("replicas", 0),
            each["template"],
            document["metadata"],
            {},
        )
        for each in document["spec"].get("tasks") or ()
    )


READERS = (read_jobset, read_job, read_pod, read_volcano_job)
"""One for each workload kind that bayplan writes."""


def merged(found: Iterable[PodsRead]) -> list[PodsRead]:
    """Bare pods of one podSet instance as one."""
    made: dict[str, PodsRead] = {}
    for pods in found:
        before = made.get(pods.name)
        made[pods.name] = pods._replace(replicas=pods.replicas + (before.replicas if before else 0))
    return list(made.values())


def channels(documents: Sequence[Manifest]) -> Channels:
    """The ComputeDomains by their channel templates."""
    domains = (each for each in documents if each.get("apiVersion") == COMPUTE_DOMAIN_API)
    return {
        (each["metadata"].get("namespace", ""), each["spec"]["channel"]["resourceClaimTemplate"]["name"]): each[
            "metadata"
        ]["name"]
        for each in domains
    }


def label_of(pods: PodsRead, key: str) -> str:
    """A label of the pods; empty where they lack it."""
    return str(((pods.template.get("metadata") or {}).get("labels") or {}).get(key, ""))


def annotation_of(pods: PodsRead, key: str) -> str:
    """An annotation of the pods; empty where they lack it."""
    return str(((pods.template.get("metadata") or {}).get("annotations") or {}).get(key, ""))


def priority_class(found: Sequence[PodsRead]) -> str:
    """The pods' priority class."""
    return str(found[0].template["spec"].get("priorityClassName", "")) if found else ""


def claimed(pods: PodsRead, domains: Channels) -> str:
    """The ComputeDomain that pods claim from; empty where there is none."""
    claims = pods.template["spec"].get("resourceClaims") or ()
    namespace = pods.owner.get("namespace", "")
    found = (domains.get((namespace, claim.get("resourceClaimTemplateName", ""))) for claim in claims)
    return next(filter(None, found), "")


def pods_read(pods: PodsRead, minimum: int, domains: Channels) -> PodsIntent:
    """A podSet instance with the ComputeDomain that it claims from."""
    return PodsIntent(pods.name, pods.replicas, minimum, claimed(pods, domains))
