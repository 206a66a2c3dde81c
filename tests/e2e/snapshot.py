"""A cluster's state in the form of KAI's snapshot plugin (KAI docs/plugins/snapshot.md)."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bayplan.backends.kai.pod_group import POD_GROUP
from bayplan.model.topology import ClusterTopology
from e2e.nodes import classes, nodes, slices
from e2e.pods import Member, claim_templates, config_maps, with_claims, without_claims
from e2e.releases import Release
from e2e.scene import PARENT

Object = dict[str, Any]
PLUGINS = (
    "predicates",
    "proportion",
    "priority",
    "nodeavailability",
    "resourcetype",
    "podaffinity",
    "elastic",
    "kubeflow",
    "ray",
    "subgrouporder",
    "taskorder",
    "nominatednode",
    "dynamicresources",
    "minruntime",
    "topology",
    "gpupack",
    "nodeplacement",
    "gpusharingorder",
)
"""What KAI's operator turns on (pkg/operator/operands/scheduler, since 0.13 pkg/apis/kai/v1/schedulingshard_types)."""

PLACEMENT = {"cpu": "binpack", "gpu": "binpack"}
UNLIMITED = {each: {"quota": -1, "limit": -1, "overQuotaWeight": 1} for each in ("gpu", "cpu", "memory")}
EMPTY = ("bindRequests", "persistentVolumeClaims", "csiStorageCapacities", "storageClasses", "csiDrivers")
PRIORITIES = {"train": 50, "build-preemptible": 75, "build": 100, "inference": 125}
"""The priority classes that KAI's chart brings."""


def snapshot(
    topology: ClusterTopology, documents: Sequence[Mapping[str, Any]], members: Iterable[Member], release: Release
) -> Object:
    """All that the scheduler sees. Only PodGroups of the members are in it."""
    chosen = list(members)
    groups = {each.body["metadata"].get("annotations", {}).get(POD_GROUP, "") for each in chosen}
    raw = {
        "nodes": list(nodes(topology)),
        "queues": [*_queues(release), *_named(documents, "Queue")],
        "topologies": _named(documents, "Topology"),
        "configMaps": _config_maps(chosen),
        "podGroups": [each for each in _named(documents, "PodGroup") if each["metadata"]["name"] in groups],
        "priorityClasses": [_priority(name, value) for name, value in PRIORITIES.items()],
        **_pods(topology, documents, chosen, release),
        **{each: [] for each in EMPTY},
    }
    return {"config": _config(), "schedulerParams": _parameters(), "rawObjects": raw, **_discovery(release)}


def write(path: Path, content: Object) -> None:
    """As the zip that the tool reads."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("snapshot.json", json.dumps(content))


def _pods(
    topology: ClusterTopology, documents: Sequence[Mapping[str, Any]], chosen: Sequence[Member], release: Release
) -> Object:
    if not release.claims:
        pods = [without_claims(each.body) for each in chosen]
        return {"pods": pods, "resourceClaims": [], "resourceSlices": [], "deviceClasses": []}
    templates = claim_templates(documents)
    pairs = [with_claims(each.body, templates) for each in chosen]
    return {
        "pods": [pod for pod, _ in pairs],
        "resourceClaims": [claim for _, claims in pairs for claim in claims],
        "resourceSlices": list(slices(topology)),
        "deviceClasses": list(classes(topology)),
    }


def _named(documents: Sequence[Mapping[str, Any]], kind: str) -> list[Object]:
    """Objects of a kind as an API server would hand them back."""
    given = {"creationTimestamp": "2026-01-01T00:00:00Z"}
    found = (each for each in documents if each["kind"] == kind)
    return [{**each, "metadata": {**given, **each["metadata"], "uid": each["metadata"]["name"]}} for each in found]


def _config_maps(chosen: Iterable[Member]) -> list[Object]:
    """All that pods name: KAI keeps pods waiting for those that are missing (KAI predicates/config_maps)."""
    found = sorted({(each.body["metadata"]["namespace"], name) for each in chosen for name in config_maps(each.body)})
    places = [{"name": name, "namespace": namespace, "uid": f"{namespace}-{name}"} for namespace, name in found]
    return [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": place} for place in places]


def _queues(release: Release) -> list[Object]:
    """The parent that the rendered queues name."""
    queue = {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": PARENT, "uid": PARENT}}
    return [{**queue, "spec": {"resources": UNLIMITED}}] if release.parents else []


def _priority(name: str, value: int) -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name, "uid": name},
        "value": value,
    }


def _config() -> Object:
    plugins = [{"name": name, **({"arguments": PLACEMENT} if name == "nodeplacement" else {})} for name in PLUGINS]
    return {"actions": "allocate, consolidation, reclaim, preempt, stalegangeviction", "tiers": [{"plugins": plugins}]}


def _parameters() -> Object:
    return {
        "schedulerName": "kai-scheduler",
        "partitionParams": {},
        "numOfStatusRecordingWorkers": 1,
        "fullHierarchyFairness": True,
        "detailedFitErrors": True,
        "useSchedulingSignatures": True,
        "maxNumberConsolidationPreemptees": 16,
        "queueLabelKey": "kai.scheduler/queue",
    }


def _discovery(release: Release) -> Object:
    """What turns DRA on (KAI pkg/common/feature_gates)."""
    if not release.claims:
        return {}
    resources = [{"name": "resourceclaims", "kind": "ResourceClaim", "namespaced": True, "verbs": ["list"]}]
    groups = [{"groupVersion": "resource.k8s.io/v1", "resources": resources}]
    return {"discovery": {"serverVersion": {"major": "1", "minor": "34"}, "resources": groups}}
