"""LeaderWorkerSets of several copies as their schedulers see them: a gang for each copy.

KAI's podgrouper makes the PodGroups (KAI 0.15 to 0.17, plugins/leaderworkerset/lws_grouper.go), Kueue a Workload for
each copy (pkg/controller/jobs/leaderworkerset). Both are spelled out here, so that an oracle of gangs reads them.
"""

from __future__ import annotations

import copy
import json
from binascii import crc32
from collections.abc import Iterator, Sequence
from typing import Any

from bayplan.kube.kinds import GANG_LABEL, GROUP_LABEL
from bayplan.model.manifest import Manifest
from bayplan.model.target import Target

PREFIX = "kai.scheduler/"
PAIR = "kueue.x-k8s.io/podset-group-name"
ROLES = ("leaderTemplate", "workerTemplate")


def apart(documents: Sequence[Manifest], scheduler: str, target: Target) -> list[Manifest]:
    """The documents with an object for each copy, and with the PodGroups that KAI makes.

    They have a hash in their names where bayplan's own have one.
    """
    hashed = not target.since("kai", "0.18")
    least = {
        each["spec"]["scaleTargetRef"]["name"]: each["spec"]["minReplicas"]
        for each in documents
        if each["kind"] == "HorizontalPodAutoscaler"
    }
    made: list[Manifest] = []
    for one in documents:
        if one["kind"] != "LeaderWorkerSet":
            made.append(one)
            continue
        assert ("replicas" in one["spec"]) != (one["metadata"]["name"] in least), one
        number = one["spec"].get("replicas", least.get(one["metadata"]["name"], 1))
        for each in (_copy(one, n, number) for n in range(number)):
            made += _grouped(each, one["metadata"]["name"], hashed) if scheduler == "kai" else [each]
    return made


def _templates(one: Manifest) -> list[Any]:
    inside = one["spec"]["leaderWorkerTemplate"]
    return [inside[role] for role in ROLES if role in inside]


def _copy(one: Manifest, number: int, of: int) -> Manifest:
    """One copy under the name of its gang."""
    made: Any = copy.deepcopy(json.loads(json.dumps(one)))
    name = one["metadata"]["name"]
    called = f"{name}-{number}" if of > 1 else name
    made["metadata"]["name"] = called
    made["spec"]["replicas"] = 1
    for template in _templates(made):
        template["metadata"]["labels"][GANG_LABEL] = called
        annotations = template["metadata"].get("annotations", {})
        if PAIR in annotations:
            annotations[PAIR] = called + annotations[PAIR].removeprefix(name)
    return made


def _grouped(one: Any, owner: str, hashed: bool) -> Iterator[Manifest]:
    """A copy with the PodGroup that the podgrouper makes of it, unless its pods name one."""
    templates = _templates(one)
    if any("pod-group-name" in each["metadata"].get("annotations", {}) for each in templates):
        yield one
        return
    own, name = one["metadata"].get("annotations", {}), one["metadata"]["name"]
    where = one["metadata"].get("namespace", "")
    called = f"{name}-{crc32('/'.join((where, owner, name)).encode()):08x}" if hashed else name
    size = one["spec"]["leaderWorkerTemplate"]["size"]
    labels = one["metadata"].get("labels", {})
    parts = [*_segments(one)] or [({}, one)]
    for template in (template for _, part in parts for template in _templates(part)):
        assert template["spec"]["schedulerName"] == "kai-scheduler"
        template["metadata"].setdefault("annotations", {})["pod-group-name"] = called
    subgroups = [group for group, _ in parts if group]
    if not subgroups and len(templates) > 1:
        for template, count in zip(templates, (1, size - 1), strict=True):
            pod_set = template["metadata"]["labels"]["bayplan.dev/pod-set"]
            template["metadata"]["labels"][PREFIX + "subgroup-name"] = pod_set
            subgroups.append({"name": pod_set, "minMember": count})
    spec = {
        "queue": labels.get(PREFIX + "queue", ""),
        "minMember": size,
        "priorityClassName": templates[0]["spec"].get("priorityClassName", ""),
        "preemptibility": labels.get(PREFIX + "preemptibility", ""),
        "topologyConstraint": _constraint(own, PREFIX + "topology-"),
        "subGroups": subgroups,
    }
    yield {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": called, "namespace": where},
        "spec": {key: value for key, value in spec.items() if value},
    }
    yield from (part for _, part in parts)


def _constraint(annotations: Any, prefix: str) -> dict[str, str]:
    """A topologyConstraint from annotations; empty without a level."""
    levels = {
        f"{word}TopologyLevel": annotations[f"{prefix}{word}-placement"]
        for word in ("required", "preferred")
        if f"{prefix}{word}-placement" in annotations
    }
    return {"topology": annotations[PREFIX + "topology"], **levels} if levels else {}


def _segments(one: Any) -> Iterator[tuple[dict[str, Any], Any]]:
    """The segments of the workers, each with its subgroup, and an object with only its pods."""
    (*leader, worker) = _templates(one)
    annotations = worker["metadata"].get("annotations", {})
    if PREFIX + "segment-size" not in annotations:
        return
    assert not leader, "bayplan writes segments of equal pods"
    length, size = int(annotations[PREFIX + "segment-size"]), one["spec"]["leaderWorkerTemplate"]["size"]
    for number in range(size // length):
        part = copy.deepcopy(one)
        part["spec"]["leaderWorkerTemplate"]["size"] = length
        labels = _templates(part)[0]["metadata"]["labels"]
        labels[GROUP_LABEL] = labels[PREFIX + "subgroup-name"] = f"{labels[GROUP_LABEL]}-{number}"
        constraint = _constraint(annotations, PREFIX + "segment-topology-")
        yield (
            {
                "name": labels[GROUP_LABEL],
                "minMember": length,
                **({"topologyConstraint": constraint} if constraint else {}),
            },
            part,
        )
