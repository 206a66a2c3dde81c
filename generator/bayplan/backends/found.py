"""What read-backs share: podSet instances in manifests, and the ComputeDomains that they claim from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from bayplan.kube.kinds import KINDS, PodsRead
from bayplan.kube.names import COMPUTE_DOMAIN_API
from bayplan.model.intent import PodsIntent
from bayplan.model.manifest import Manifest

Channels = Mapping[tuple[str, str], str]
"""Namespace and claim template -> ComputeDomain."""


def found_pods(documents: Sequence[Manifest]) -> Iterator[PodsRead]:
    """The podSet instances of all kinds of workloads."""
    return (pods for document in documents for kind in KINDS.values() for pods in kind.read(document))


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


def pods_read(pods: PodsRead, minimum: int, domains: Channels) -> PodsIntent:
    """A podSet instance with the ComputeDomain that it claims from."""
    claims = pods.template["spec"].get("resourceClaims") or ()
    namespace = pods.owner.get("namespace", "")
    found = (domains.get((namespace, claim.get("resourceClaimTemplateName", ""))) for claim in claims)
    return PodsIntent(pods.name, pods.replicas, minimum, next(filter(None, found), ""))
