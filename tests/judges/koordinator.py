"""Koordinator's PodGroup, whose CRD is not stored, and what its scheduler makes of annotations and layers by itself.

Sources: koordinator config/crd/bases/scheduling.sigs.k8s.io_podgroups.yaml, apis/extension/{coscheduling,
network_topology}.go, pkg/scheduler/plugins/coscheduling/core/{gang,network_topology_types}.go, pkg/scheduler/
frameworkext/networktopology/tree.go; tags v1.7.0 and v1.8.0. Nothing of it is a webhook: what is refused here is logged
there, and ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from judges.versions import NEWEST, at_least
from judges.workloads import templates

Document = Mapping[str, Any]
GANG = "gang.scheduling.koordinator.sh/"
WORDS = {
    "mode": ("Strict", "NonStrict"),
    "match-policy": ("only-waiting", "waiting-and-running", "once-satisfied"),
}
PARTS = ("total-number", "groups", "network-topology-spec", *WORDS)
INT32 = 2**31
QUANTITY = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?")


def knows(document: Document) -> bool:
    """Whether the object is a PodGroup of scheduler-plugins, as Koordinator ships it."""
    return document["kind"] == "PodGroup" and document["apiVersion"].startswith("scheduling.sigs.k8s.io/")


def schema(document: Document, _target: Mapping[str, str]) -> list[str]:
    """The structural schema of the PodGroup CRD."""
    return list(_schema(document))


def judge(document: Document, target: Mapping[str, str]) -> list[str]:
    """What Koordinator would log and ignore; nothing about kinds that are not its own."""
    if knows(document):
        return list(pod_group(document, target.get("koordinator", NEWEST["koordinator"])))
    if document["apiVersion"].startswith("scheduling.koordinator.sh/"):
        return list(topology(document))
    return []


def _schema(document: Document) -> Iterator[str]:
    if document["apiVersion"] != "scheduling.sigs.k8s.io/v1alpha1":
        yield f"no PodGroup in {document['apiVersion']}"
    spec = document.get("spec") or {}
    for key in sorted(set(document) - {"apiVersion", "kind", "metadata", "spec", "status"}):
        yield f"{key!r} was unexpected"
    for key, value in spec.items():
        if key in ("minMember", "scheduleTimeoutSeconds"):
            if isinstance(value, bool) or not isinstance(value, int) or not -INT32 <= value < INT32:
                yield f"spec.{key}: {value!r} is no int32"
        elif key == "minResources":
            if not isinstance(value, dict) or not all(QUANTITY.fullmatch(str(amount)) for amount in value.values()):
                yield "spec.minResources: no map of quantities"
        else:
            yield f"spec: {key!r} was unexpected"


def pod_group(document: Document, version: str) -> Iterator[str]:
    """Numbers, words and JSON in annotations, and how they go together."""
    notes = {
        key.removeprefix(GANG): value
        for key, value in (document["metadata"].get("annotations") or {}).items()
        if key.startswith(GANG)
    }
    spec = document.get("spec") or {}
    for name in sorted(set(notes) - set(PARTS)):
        yield f"Koordinator has no annotation {name!r}"
    for name, words in WORDS.items():
        if name in notes and notes[name] not in words:
            yield f"{name} {notes[name]!r} is none of {', '.join(words)}"
    total = notes.get("total-number", str(spec.get("minMember", 0)))
    if not total.isdigit() or int(total) < spec.get("minMember", 0):
        yield f"total-number {total!r} is no number from minMember {spec.get('minMember')}"
        return
    if spec.get("scheduleTimeoutSeconds", 1) < 1:
        yield "scheduleTimeoutSeconds is not positive"
    if "groups" in notes:
        yield from gang_group(document["metadata"], json.loads(notes["groups"]))
    if "network-topology-spec" in notes:
        yield from gathering(notes["network-topology-spec"], int(total), version, tied="groups" in notes)


def gang_group(metadata: Mapping[str, Any], listed: Any) -> Iterator[str]:
    """Names of gangs with their namespace, this one among them."""
    if not isinstance(listed, list) or not all(isinstance(each, str) and each.count("/") == 1 for each in listed):
        yield f"groups {listed!r} is no list of namespace/name"
    elif f"{metadata.get('namespace', 'default')}/{metadata['name']}" not in listed:
        yield "groups does not list the gang itself"


def gathering(text: str, total: int, version: str, *, tied: bool) -> Iterator[str]:
    """Rules of known fields and words, at most one MustGather, multiples that the number of pods allows."""
    rules = json.loads(text)["gatherStrategy"]
    for rule in rules:
        for key in sorted(set(rule) - {"layer", "strategy", "podCountMultiple"}):
            yield f"a gather rule has no {key!r}"
        if rule["strategy"] not in ("MustGather", "PreferGather"):
            yield f"unknown strategy {rule['strategy']!r}"
        multiple = rule.get("podCountMultiple", 1)
        if "podCountMultiple" in rule and not at_least("koordinator", version, "1.8"):
            yield "podCountMultiple came with 1.8"
        if not isinstance(multiple, int) or multiple < 1 or (not tied and total % multiple):
            yield f"podCountMultiple {multiple!r} of {total} pods"
    if sum(rule["strategy"] == "MustGather" for rule in rules) > 1:
        yield "several MustGather: only the deepest counts"
    if len({rule["layer"] for rule in rules}) < len(rules):
        yield "two rules for one layer"


def topology(document: Document) -> Iterator[str]:
    """The name, and one chain of layers that ends in the nodes and uses every entry."""
    if document["metadata"]["name"] != "default":
        yield "Koordinator reads the ClusterNetworkTopology 'default' only"
    entries = document["spec"]["networkTopologySpec"]
    by_name = {entry["topologyLayer"]: entry for entry in entries}
    seen: list[str] = []
    current = "NodeTopologyLayer"
    while current in by_name and current not in seen:
        seen.append(current)
        current = by_name[current].get("parentTopologyLayer", "")
    if current or len(seen) < len(entries):
        yield f"the layers are no chain: {seen}"
    for entry in entries:
        if entry["topologyLayer"] != "NodeTopologyLayer" and not entry.get("labelKey"):
            yield f"layer {entry['topologyLayer']!r} has no label"


LABEL = "pod-group.scheduling.sigs.k8s.io"


def members(documents: list[Document]) -> Iterator[str]:
    """Pods and PodGroups that belong together: each waits for the other for ever otherwise."""
    groups = {_key(each["metadata"], each["metadata"]["name"]): each for each in documents if knows(each)}
    counts = dict.fromkeys(groups, 0)
    for document in documents:
        for template, count in templates(document):
            name = ((template.get("metadata") or {}).get("labels") or {}).get(LABEL)
            key = _key(document["metadata"], name)
            if name and key not in groups:
                yield f"pods name the PodGroup {key}, which is missing"
            elif name:
                counts[key] += count
                if template["spec"].get("schedulerName") != "koord-scheduler":
                    yield f"pods of {key} go to {template['spec'].get('schedulerName')!r}"
    for key, group in groups.items():
        total = group["metadata"]["annotations"][f"{GANG}total-number"]
        if str(counts[key]) != total:
            yield f"PodGroup {key} has {counts[key]} pods of {total}"


def _key(metadata: Mapping[str, Any], name: Any) -> tuple[str, str]:
    return metadata.get("namespace", ""), str(name)
