"""Pod specs wherever they occur, and the Jobs, Services and claim templates around them.

Rules: k8s.io/kubernetes pkg/apis/{core,batch,resource}/validation (1.34).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from judges.formats import path_of
from judges.syntax import is_key, is_label, is_subdomain, walk

ENV_NAME = re.compile(r"[ -<>-~]+\Z")  # printable ASCII without "=" (RelaxedEnvironmentVariableValidation)
PORT_NAME = re.compile(r"(?=.*[a-z])(?!.*--)[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z")
STANDARD = {"cpu", "memory", "ephemeral-storage"}
CONTAINER_LISTS = ("containers", "initContainers")
Spec = Mapping[str, Any]
PARTS = frozenset({"runtimePatches", "podTemplateOverrides", "podSpecOverrides"})
"""What has only some fields of pods: the changes of TrainJobs."""


def judge(document: Mapping[str, Any]) -> list[str]:
    """Complaints about every pod spec in the object, and about the object as a Job or ComputeDomain user."""
    found: list[str] = []
    for path, value in walk(document):
        whole = PARTS.isdisjoint(path)
        if whole and isinstance(value, dict) and isinstance(value.get("containers"), list):
            found += [f"{path_of(path)}: {complaint}" for complaint in pod_spec(value)]
        if isinstance(value, dict) and path[-1:] == ("spec",) and isinstance(value.get("template"), dict):
            policies = {"Never", "OnFailure"} | ({None} if document["kind"] == "JobSet" else set())  # it defaults them
            found += [f"{path_of(path)}: {complaint}" for complaint in job_spec(value, policies)]
    return found + list(job_name(document))


def pod_spec(spec: Spec) -> Iterator[str]:
    """Complaints about one pod spec."""
    containers = [c for key in CONTAINER_LISTS for c in spec.get(key) or ()]
    yield from repeated("container", (c.get("name") for c in containers))
    yield from repeated("volume", (v.get("name") for v in spec.get("volumes") or ()))
    yield from repeated("resource claim", (c.get("name") for c in spec.get("resourceClaims") or ()))
    yield from (f"no container: {spec['containers']!r}" for _ in range(not spec["containers"]))
    for key in ("hostname", "subdomain"):
        if key in spec and not is_label(spec[key]):
            yield f"{key} {spec[key]!r} is no DNS label of at most 63 characters"
    for claim in spec.get("resourceClaims") or ():
        yield from pod_claim(claim)
    for volume in spec.get("volumes") or ():
        if not is_label(volume.get("name")) or len(volume) != 2:
            yield f"volume {volume!r} needs a DNS label as name and exactly one source"
    yield from tolerations(spec.get("tolerations") or ())
    for container in containers:
        yield from (f"container {container.get('name')!r}: {text}" for text in container_spec(container, spec))


def tolerations(entries: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """ValidateTolerations."""
    for entry in entries:
        exists = entry.get("operator", "Equal") == "Exists"
        if exists and entry.get("value"):
            yield f"toleration {entry!r}: value must be empty when `operator` is Exists"
        if not exists and not entry.get("key"):
            yield f"toleration {entry!r}: operator must be Exists when `key` is empty"
        if "tolerationSeconds" in entry and entry.get("effect") != "NoExecute":
            yield f"toleration {entry!r}: effect must be NoExecute when `tolerationSeconds` is set"


def pod_claim(claim: Mapping[str, Any]) -> Iterator[str]:
    """A pod-level claim names exactly one claim or template."""
    sources = [key for key in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(key)]
    if len(sources) != 1:
        yield f"resource claim {claim.get('name')!r} needs exactly one of resourceClaimName, resourceClaimTemplateName"
    if not is_label(claim.get("name")):
        yield f"resource claim name {claim.get('name')!r} is no DNS label"
    yield from (f"{key} {claim[key]!r} is no DNS subdomain" for key in sources if not is_subdomain(claim[key]))


def container_spec(container: Mapping[str, Any], spec: Spec) -> Iterator[str]:
    """Complaints about one container of a pod."""
    if not is_label(container.get("name")):
        yield "its name is no DNS label of at most 63 characters"
    if not str(container.get("image", "")).strip():
        yield "no image"
    yield from environment(container)
    yield from ports(container)
    yield from mounts(container, spec)
    yield from resources(container.get("resources") or {}, spec)


def environment(container: Mapping[str, Any]) -> Iterator[str]:
    """Env entries have a name, and a value or a source but not both. A repeated name silently loses the first."""
    entries = container.get("env") or ()
    yield from repeated("env", (entry.get("name") for entry in entries))
    for entry in entries:
        if not ENV_NAME.match(str(entry.get("name", ""))):
            yield f"bad env name {entry.get('name')!r}"
        if entry.get("value") and entry.get("valueFrom"):
            yield f"env {entry['name']} has both value and valueFrom"


def ports(container: Mapping[str, Any]) -> Iterator[str]:
    """Port numbers and names."""
    entries = container.get("ports") or ()
    yield from repeated("port", (entry["name"] for entry in entries if "name" in entry))
    for entry in entries:
        if not 1 <= entry.get("containerPort", 0) <= 65535:
            yield f"containerPort {entry.get('containerPort')} is not within 1 to 65535"
        if "name" in entry and not (len(entry["name"]) <= 15 and PORT_NAME.match(entry["name"])):
            yield f"port name {entry['name']!r} is no IANA service name of at most 15 characters"


def mounts(container: Mapping[str, Any], spec: Spec) -> Iterator[str]:
    """Mounts refer to declared volumes, at distinct paths."""
    volumes = {volume.get("name") for volume in spec.get("volumes") or ()}
    entries = container.get("volumeMounts") or ()
    yield from repeated("mount path", (entry.get("mountPath") for entry in entries))
    yield from (f"mount of undeclared volume {e.get('name')!r}" for e in entries if e.get("name") not in volumes)


def resources(entry: Mapping[str, Any], spec: Spec) -> Iterator[str]:
    """Requests and limits, and claims that the pod declares."""
    limits, requests = entry.get("limits") or {}, entry.get("requests") or {}
    declared = {claim.get("name") for claim in spec.get("resourceClaims") or ()}
    used = [claim.get("name") for claim in entry.get("claims") or ()]
    yield from (f"claim {name!r} is not declared by the pod" for name in used if name not in declared)
    for name in {**limits, **requests}:
        if name in STANDARD or name.startswith("hugepages-"):
            continue
        if "/" not in name or not is_key(name):
            yield f"resource {name!r} is neither standard nor fully qualified"
        if str(limits.get(name)) != str(requests.get(name, limits.get(name))):
            yield f"extended resource {name!r} needs equal requests and limits"
        if not re.fullmatch(r"\d+[kMGTPE]?i?", str(limits.get(name))):
            yield f"extended resource {name!r} must be a whole number: {limits.get(name)!r}"


def job_spec(spec: Mapping[str, Any], policies: set[str | None]) -> Iterator[str]:
    """A Job's spec: recognised by fields that only Jobs have."""
    if not {"backoffLimit", "completions", "completionMode", "parallelism"} & set(spec):
        return
    template = spec["template"].get("spec") or {}
    if template.get("restartPolicy") not in policies:
        yield f"a Job's pods need restartPolicy Never or OnFailure, not {template.get('restartPolicy')!r}"
    if spec.get("completionMode") == "Indexed" and spec.get("completions") is None:
        yield "completionMode Indexed needs completions"
    if spec.get("podFailurePolicy") and template.get("restartPolicy") != "Never":
        yield "podFailurePolicy needs restartPolicy Never"
    yield from failure_rules((spec.get("podFailurePolicy") or {}).get("rules") or (), template)
    if spec.get("successPolicy") and spec.get("completionMode") != "Indexed":
        yield "successPolicy needs completionMode Indexed"


def failure_rules(rules: Iterable[Spec], template: Spec) -> Iterator[str]:
    """The exit codes of a podFailurePolicy (Kubernetes, pkg/apis/batch/validation, validatePodFailurePolicyRule)."""
    names = [each.get("name") for key in CONTAINER_LISTS for each in template.get(key) or ()]
    for codes in (rule["onExitCodes"] for rule in rules if "onExitCodes" in rule):
        values = codes["values"]
        if codes.get("containerName", names[0]) not in names:
            yield f"onExitCodes names the unknown container {codes['containerName']!r}"
        if not values or values != sorted(set(values)) or (codes["operator"] == "In" and 0 in values):
            yield f"onExitCodes needs sorted, different codes, and In none that is 0: {values!r}"


def job_name(document: Mapping[str, Any]) -> Iterator[str]:
    """An indexed Job's pods get `<job>-<index>` as host name, which is a DNS label."""
    spec = document.get("spec")
    if document["kind"] != "Job" or not isinstance(spec, dict) or not document["apiVersion"].startswith("batch/"):
        return
    last = f"-{(spec.get('completions') or 1) - 1}" if spec.get("completionMode") == "Indexed" else ""
    if not is_label(document["metadata"].get("name", "generated") + last):
        yield f"pod host name {document['metadata']['name'] + last!r} is no DNS label of at most 63 characters"


def repeated(what: str, names: Iterable[Any]) -> Iterator[str]:
    """A complaint per name that occurs twice."""
    yield from (f"{what} {name!r} occurs {count} times" for name, count in Counter(names).items() if count > 1)
