"""JobSet's validating webhook: derived names, and names of replicatedJobs that exist.

Source: sigs.k8s.io/jobset pkg/webhooks/jobset_webhook.go, v0.8 to v0.12.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from judges.syntax import DNS_1035, is_subdomain


def judge(document: Mapping[str, Any]) -> list[str]:
    """Complaints about a JobSet; none about other kinds."""
    if not document["apiVersion"].startswith("jobset.x-k8s.io/") or not isinstance(document.get("spec"), dict):
        return []
    jobs = [job for job in document["spec"].get("replicatedJobs") or () if isinstance(job, dict)]
    return [*names(document["metadata"].get("name", "x"), jobs), *references(document["spec"], jobs)]


def names(owner: str, jobs: list[Mapping[str, Any]]) -> Iterator[str]:
    """Job and pod names are DNS-1035 labels. A pod's ends in five characters of the Job controller's."""
    for job in jobs:
        spec = job.get("template", {}).get("spec", {})
        name = f"{owner}-{job.get('name')}-{max(job.get('replicas', 1), 1) - 1}"
        if not label(name):
            yield f"the Job name {name!r} is no DNS label of at most 63 characters"
        pod = f"{name}-{max(spec.get('completions', spec.get('parallelism', 1)) or 1, 1) - 1}-abcde"
        if label(name) and not label(pod):
            yield f"the pod name {pod!r} is no DNS label of at most 63 characters"


def label(name: str) -> bool:
    """A DNS-1035 label: like 1123, but a letter first."""
    return len(name) <= 63 and DNS_1035.match(name) is not None


def references(spec: Mapping[str, Any], jobs: list[Mapping[str, Any]]) -> Iterator[str]:
    """Policies name replicatedJobs that exist; dependencies name earlier ones."""
    known = [job.get("name") for job in jobs]
    policies = [spec.get("successPolicy") or {}, *((spec.get("failurePolicy") or {}).get("rules") or ())]
    for target in (target for policy in policies for target in policy.get("targetReplicatedJobs") or ()):
        if target not in known:
            yield f"a policy names the unknown replicatedJob {target!r}"
    for number, job in enumerate(jobs):
        for earlier in job.get("dependsOn") or ():
            if earlier.get("name") not in known[:number]:
                yield f"replicatedJob {job.get('name')!r} depends on {earlier.get('name')!r}, which does not precede it"
    network = spec.get("network") or {}
    if "subdomain" in network and not is_subdomain(network["subdomain"]):
        yield f"network.subdomain {network['subdomain']!r} is no DNS subdomain"
