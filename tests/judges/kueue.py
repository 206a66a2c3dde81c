"""Kueue's admission webhooks, by version, and what its scheduler says of levels only when it is too late.

Sources: kueue pkg/controller/jobframework/tas_validation.go, pkg/webhooks/clusterqueue_webhook.go,
pkg/controller/jobs/pod/pod_webhook.go, pkg/controller/jobs/job/job_webhook.go,
pkg/controller/jobs/mpijob/mpijob_controller.go, pkg/cache/scheduler/tas_flavor_snapshot.go, tags v0.14.0 to v0.19.2.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from judges.syntax import is_label
from judges.versions import NEWEST, at_least

Document = Mapping[str, Any]
P = "kueue.x-k8s.io/podset-"
QUEUE = "kueue.x-k8s.io/queue-name"
LAYERS = f"{P}slice-required-topology-constraints"


class PodSet(NamedTuple):
    """One podSet that Kueue makes of a workload. `job`: the pods of each Job, if its controller makes Jobs of it."""

    count: int  # type: ignore[assignment]  # Kueue's word
    annotations: Mapping[str, Any]
    job: int | None = None


def judge(document: Document, target: Mapping[str, str]) -> list[str]:
    """Complaints about one object; none about those that have no queue and are not Kueue's."""
    version = target.get("kueue", NEWEST["kueue"])
    if document["apiVersion"].startswith("kueue.x-k8s.io/") and document["kind"] == "ClusterQueue":
        return list(cluster_queue(document.get("spec") or {}))
    if QUEUE not in (document["metadata"].get("labels") or {}):
        return []
    sets = pod_sets(document)
    found = [complaint for each in sets for complaint in (*request(each.annotations), *sizes(each, version))]
    return [*found, *groups(sets), *together(document), *amount(sets, version)]


ROLES = {"MPIJob": ("mpiReplicaSpecs", "Launcher", "Worker"), "PyTorchJob": ("pytorchReplicaSpecs", "Master", "Worker")}
"""Kind -> the field of its pod templates, and their names in the order of Kueue."""


def pod_sets(document: Document) -> list[PodSet]:
    """The podSets of the kinds that are written here."""
    spec = document.get("spec") or {}
    if document["kind"] == "JobSet":
        jobs = [(job["template"]["spec"], job.get("replicas", 1)) for job in spec["replicatedJobs"]]
        return [PodSet(_count(job) * times, _annotations(job), _count(job)) for job, times in jobs]
    if document["kind"] == "Job":
        return [PodSet(_count(spec), _annotations(spec))]
    if document["kind"] == "Pod":
        own = document["metadata"].get("annotations") or {}
        return [PodSet(int(own.get("kueue.x-k8s.io/pod-group-total-count", 1)), own)]
    if document["kind"] in ROLES:
        field, *names = ROLES[document["kind"]]
        roles = [spec[field][name] for name in names if name in spec[field]]
        return [PodSet(role.get("replicas", 1), _annotations(role)) for role in roles]
    return []


def _count(job: Document) -> int:
    count: int = job.get("parallelism", 1)
    return count


def _annotations(above: Document) -> Mapping[str, Any]:
    metadata = above["template"].get("metadata") or {}
    return metadata.get("annotations") or {}


def request(own: Mapping[str, Any]) -> Iterator[str]:
    """Annotations that go together, and those that do not."""
    if sum(f"{P}{word}-topology" in own for word in ("required", "preferred", "unconstrained")) > 1:
        yield "must not contain more than one topology annotation"
    sliced = [key for key in (f"{P}slice-required-topology", f"{P}slice-size") if key in own]
    if len(sliced) == 1:
        yield f"{sliced[0]} stands alone"
    if LAYERS in own and sliced:
        yield f"{LAYERS} may not be set beside {sliced[0]}"
    if f"{P}group-name" in own:
        if sliced or LAYERS in own:
            yield "a podSet in a group has slices"
        if not {f"{P}required-topology", f"{P}preferred-topology"} & set(own):
            yield "a podSet in a group has no level"
        if str(own[f"{P}group-name"]).isdigit():
            yield "the name of a group is a number"


def sizes(each: PodSet, version: str) -> Iterator[str]:
    """Sizes of slices; Kueue takes those that do not divide the podSet, and leaves pods without a place."""
    layers: list[Mapping[str, Any]] = []
    if f"{P}slice-size" in each.annotations:
        if not str(each.annotations[f"{P}slice-size"]).isdigit():
            yield "slice-size must be a numeric value"
            return
        layers = [{"size": int(each.annotations[f"{P}slice-size"]), "topology": "-"}]
    if LAYERS in each.annotations:
        layers = json.loads(each.annotations[LAYERS])
        if not at_least("kueue", version, "0.17"):
            yield "nested slices are ignored below 0.17"
        if not 1 <= len(layers) <= 3:
            yield "topology constraints must contain between 1 and 3 entries"
        if len({layer["topology"] for layer in layers}) < len(layers):
            yield "a topology constraint twice"
    if each.job is not None and any(layer["size"] > each.job for layer in layers):
        yield f"a slice must not be greater than pod set count {each.job}, which each Job has"
    counts = [each.count, *(layer["size"] for layer in layers)]
    if any(not isinstance(size, int) or size < 1 for size in counts):
        yield "a slice size below 1"
    elif any(outer % inner for outer, inner in pairwise(counts)):
        yield f"slices do not divide what they are cut from: {counts}"


def groups(sets: Sequence[PodSet]) -> Iterator[str]:
    """Two podSets, one of one pod, at the same level."""
    named: dict[str, list[PodSet]] = {}
    for each in sets:
        if f"{P}group-name" in each.annotations:
            named.setdefault(each.annotations[f"{P}group-name"], []).append(each)
    for name, members in named.items():
        if len(members) != 2:
            yield f"group {name!r} has {len(members)} podSets, not 2"
        elif 1 not in (members[0].count, members[1].count):
            yield f"no podSet of group {name!r} has one pod"
        for word in ("required", "preferred"):
            if len({member.annotations.get(f"{P}{word}-topology") for member in members}) > 1:
                yield f"the podSets of group {name!r} have different levels"


def together(document: Document) -> Iterator[str]:
    """A bare pod's group."""
    if document["kind"] != "Pod":
        return
    name = (document["metadata"].get("labels") or {}).get("kueue.x-k8s.io/pod-group-name")
    total = (document["metadata"].get("annotations") or {}).get("kueue.x-k8s.io/pod-group-total-count")
    if (name is None) != (total is None):
        yield "a pod group needs a name and a total count"
    if name is not None and not is_label(name):
        yield f"the pod group name {name!r} is no name of an object"
    index = (document["metadata"].get("labels") or {}).get("kueue.x-k8s.io/pod-group-pod-index")
    if total is not None and index is not None and not int(index) < int(total):
        yield f"index {index} of {total} pods"


def amount(sets: Sequence[PodSet], version: str) -> Iterator[str]:
    """A Workload holds so many podSets (CRD workloads.kueue.x-k8s.io)."""
    most = 18 if at_least("kueue", version, "0.19") else 10 if at_least("kueue", version, "0.18") else 8
    if len(sets) > most:
        yield f"{len(sets)} podSets; a Workload holds {most}"


def cluster_queue(spec: Mapping[str, Any]) -> Iterator[str]:
    """Resources in the order in which they are covered; each flavor and resource once."""
    seen: set[str] = set()
    for group in spec.get("resourceGroups") or ():
        for flavor in group["flavors"]:
            if [each["name"] for each in flavor["resources"]] != group["coveredResources"]:
                yield f"flavor {flavor['name']!r} must match the names in coveredResources"
        names = [*group["coveredResources"], *(f"flavor {flavor['name']}" for flavor in group["flavors"])]
        yield from (f"duplicate {name}" for name in names if name in seen or names.count(name) > 1)
        seen |= set(names)
    if "namespaceSelector" not in spec:
        yield "takes work from no namespace"


def judge_all(documents: Sequence[Document], target: Mapping[str, str]) -> list[str]:
    """What the scheduler would say later: unknown levels, slices above their podSet, queues and flavors that lack."""
    ours = [each for each in documents if each["apiVersion"].startswith("kueue.x-k8s.io/")]
    if not ours:
        return []
    names = {(each["kind"], each["metadata"]["name"]) for each in ours}
    found = [f"no {kind} {name!r}" for each in ours for kind, name in references(each) if (kind, name) not in names]
    ladders = [[level["nodeLabel"] for level in each["spec"]["levels"]] for each in ours if each["kind"] == "Topology"]
    for document in documents:
        queue = (document["metadata"].get("labels") or {}).get(QUEUE)
        if queue is not None and document["kind"] != "Service" and ("LocalQueue", queue) not in names:
            found.append(f"no LocalQueue {queue!r}")
        for each in pod_sets(document) if queue is not None else ():
            asked = levels(each.annotations)
            if not any(fits(asked, ladder) for ladder in ladders):
                found.append(f"no Topology has {asked} from coarse to fine")
    return found


def references(document: Document) -> Iterator[tuple[str, str]]:
    """What a cluster object names."""
    spec = document["spec"]
    if document["kind"] == "ResourceFlavor":
        yield "Topology", spec["topologyName"]
    if document["kind"] == "ClusterQueue":
        yield from (("ResourceFlavor", each["name"]) for group in spec["resourceGroups"] for each in group["flavors"])
    if document["kind"] == "LocalQueue":
        yield "ClusterQueue", spec["clusterQueue"]


def levels(own: Mapping[str, Any]) -> list[str]:
    """The levels that a podSet names, its own first."""
    outer = [own[key] for key in (f"{P}required-topology", f"{P}preferred-topology") if key in own]
    inner = [own[f"{P}slice-required-topology"]] if f"{P}slice-required-topology" in own else []
    return [*outer, *inner, *(layer["topology"] for layer in json.loads(own.get(LAYERS, "[]")))]


def fits(asked: Sequence[str], ladder: Sequence[str]) -> bool:
    """Whether the levels stand in the ladder, from coarse to fine."""
    return set(asked) <= set(ladder) and [ladder.index(each) for each in asked] == sorted(map(ladder.index, asked))
