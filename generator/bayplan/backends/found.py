"""What read-backs share: podSet instances in manifests, and the ComputeDomains that they claim from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from bayplan.kube.kinds import KINDS, PodsRead
from bayplan.kube.kinds.parts import read_name
from bayplan.kube.objects import group, kind, mapping
from bayplan.kube.pod import COMPUTE_DOMAIN_API
from bayplan.kube.workloads import WORKLOADS
from bayplan.model.intent import PodsIntent
from bayplan.model.manifest import Manifest, Object

Channels = Mapping[tuple[str, str], str]
"""Namespace and claim template -> ComputeDomain."""


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
        own = [pods for each in KINDS.values() for pods in each.read(one.data)]
        yield from own or _seats(one, listed)


def _seats(one: Object, beside: Sequence[Object]) -> Iterator[PodsRead]:
    """Those of kinds that bayplan places and does not write. Gangs of one template are one here."""
    reader = WORKLOADS.get((group(one), kind(one)))
    roster = reader(one, beside).value if reader else None
    for seat in roster.seats if roster else ():
        data = roster.object.data if roster else {}
        template, owner = mapping(data, *seat.path), mapping(one.data, "metadata")
        job = owner if seat.job is None else mapping(data, *seat.job, "metadata")
        yield PodsRead(read_name(template, seat.name), seat.total, template, owner, job)


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
