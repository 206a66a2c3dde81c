"""Volcano's admission webhooks, and what its scheduler silently ignores.

Sources: volcano pkg/webhooks/admission/{jobs,podgroups,hypernodes}/validate, pkg/scheduler/api/{job_info,sub_job_info,
hyper_node_info}.go, tags v1.14.3 and v1.15.1. Queues are taken to be open leaves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from judges.syntax import is_label

Document = Mapping[str, Any]
PLUGINS = {"svc", "ssh", "env", "pytorch", "tensorflow", "mpi", "ray", "hcclrank"}
EVENTS = {"*", "PodFailed", "PodEvicted", "PodPending", "Unknown", "TaskCompleted", "TaskFailed", "JobUpdated"}
ACTIONS = {
    "AbortJob",
    "RestartJob",
    "RestartTask",
    "RestartPod",
    "RestartPartition",
    "TerminateJob",
    "CompleteJob",
    "ResumeJob",
}


def judge(document: Document) -> list[str]:
    """Complaints about one object; none about kinds that are not Volcano's."""
    kind = (document["apiVersion"].rpartition("/")[0], document["kind"])
    rules = {
        ("batch.volcano.sh", "Job"): job,
        ("scheduling.volcano.sh", "PodGroup"): pod_group,
        ("topology.volcano.sh", "HyperNode"): hyper_node,
    }
    return list(rules[kind](document)) if kind in rules else []


def job(document: Document) -> Iterator[str]:
    """validateJobCreate, with the defaults of the mutating webhook."""
    spec, name = document["spec"], document["metadata"]["name"]
    tasks = spec.get("tasks") or []
    if not tasks:
        yield "No task specified in job spec"
    yield from (f"duplicated task name {key}" for key, n in Counter(t.get("name") for t in tasks).items() if n > 1)
    yield from (f"unable to find job plugin: {plugin}" for plugin in set(spec.get("plugins") or ()) - PLUGINS)
    yield from topology("the job", spec)
    yield from policies(spec.get("policies") or [])
    for task in tasks:
        yield from (f"task {task.get('name')}: {text}" for text in one_task(name, task))
    if spec.get("minAvailable", 0) > sum(task.get("replicas", 0) for task in tasks):
        yield "job 'minAvailable' should not be greater than total replicas in tasks"


def one_task(owner: str, task: Mapping[str, Any]) -> Iterator[str]:
    """One task: its name, its minimum, its partitions, its NUMA policy."""
    replicas, least, policy = task.get("replicas", 0), task.get("minAvailable"), task.get("partitionPolicy")
    yield from policies(task.get("policies") or [])
    if not is_label(task.get("name")):
        yield "its name is no DNS label"
    if not is_label(f"{owner}-{task.get('name')}-{max(replicas - 1, 0)}"):
        yield "a pod's name, which is its hostname too, is no DNS label"
    if least is not None and least > replicas:
        yield f"minAvailable {least} of {replicas} replicas"
    if policy:
        total, size, partitions = policy["totalPartitions"], policy["partitionSize"], policy.get("minPartitions", 0)
        if total * size != replicas:
            yield f"{total} partitions of {size} are not {replicas} replicas"
        if partitions and least is not None and partitions * size != least:
            yield f"{partitions} partitions of {size} are not minAvailable {least}"
        if not partitions:
            yield "minPartitions is 0: nothing must start whole"
        yield from topology("its partitions", policy)
    if task.get("topologyPolicy", "none") != "none":
        for container in task["template"]["spec"]["containers"]:
            cpu = str((container.get("resources") or {}).get("requests", {}).get("cpu", ""))
            if not cpu.isdigit() or not int(cpu):
                yield f"topologyPolicy with {cpu or 'no'} CPUs"


def policies(listed: list[Mapping[str, Any]]) -> Iterator[str]:
    """validatePolicies: known events or an exit code, each once, and known actions."""
    seen: set[Any] = set()
    for policy in listed:
        events = {*policy.get("events", ()), *([policy["event"]] if "event" in policy else [])}
        codes = {policy["exitCode"]} if "exitCode" in policy else set()
        if events - EVENTS or policy.get("action") not in ACTIONS or (events | codes) & seen:
            yield f"invalid policy {dict(policy)!r}"
        if bool(events) == bool(codes) or 0 in codes:
            yield f"a policy needs either events or an exit code other than 0: {dict(policy)!r}"
        seen |= events | codes


def topology(what: str, owner: Mapping[str, Any]) -> Iterator[str]:
    """A tier by number or by name, not both; hard without either means nothing."""
    spec = owner.get("networkTopology")
    if spec is None:
        return
    if "highestTierAllowed" in spec and spec.get("highestTierName"):
        yield f"{what}: highestTierAllowed and highestTierName simultaneously"
    if spec.get("mode", "hard") == "hard" and "highestTierAllowed" not in spec:
        yield f"{what}: hard without the number of a tier"


def pod_group(document: Document) -> Iterator[str]:
    """validatePodGroup, and policies that no pod can match."""
    spec = document["spec"]
    listed = spec.get("subGroupPolicy") or []
    yield from topology("the gang", spec)
    if len({policy["name"] for policy in listed}) != len(listed):
        yield "two policies of one name"
    outer = firm_tier(spec, 10**9)
    for policy in listed:
        yield from topology(f"policy {policy['name']}", policy)
        if not policy.get("matchLabelKeys"):
            yield f"policy {policy['name']} has no matchLabelKeys and takes no pod"
        if not policy.get("minSubGroups"):
            yield f"policy {policy['name']} needs none of its subgroups"
        if firm_tier(policy, 0) > outer:
            yield f"policy {policy['name']} is wider than the gang"
    if sum(policy.get("minSubGroups", 0) * policy.get("subGroupSize", 1) for policy in listed) > spec["minMember"]:
        yield "the subgroups wait for more pods than the gang"
    if sum((spec.get("minTaskMember") or {}).values()) > spec["minMember"]:
        yield "minTaskMember counts for nothing: together it is more than minMember"


def firm_tier(spec: Mapping[str, Any], otherwise: int) -> int:
    """The highest tier that is allowed; soft mode throws it away (Volcano 1.15, framework/session.go)."""
    topology = spec.get("networkTopology") or {}
    return int(topology.get("highestTierAllowed", otherwise)) if topology.get("mode") != "soft" else otherwise


def hyper_node(document: Document) -> Iterator[str]:
    """validateHyperNode, and members that the scheduler does not link."""
    members = document["spec"].get("members") or []
    if not members:
        yield "member must have at least one member"
    if len({member["type"] for member in members}) > 1:
        yield "nodes beside HyperNodes"
    for member in members:
        if member["type"] == "HyperNode" and "exactMatch" not in member["selector"]:
            yield "a HyperNode that is not named exactly"


def tree(documents: list[Document]) -> Iterator[str]:
    """HyperNodes as the scheduler's cache builds them: members exist, have one parent, and lower tiers."""
    found = {d["metadata"]["name"]: d["spec"] for d in documents if d["kind"] == "HyperNode"}
    parents: Counter[tuple[str, str]] = Counter()
    for name, spec in found.items():
        for member in spec["members"]:
            child = member["selector"]["exactMatch"]["name"]
            parents[member["type"], child] += 1
            if member["type"] == "HyperNode" and child not in found:
                yield f"HyperNode {name} holds {child}, which is not there"
            elif member["type"] == "HyperNode" and found[child]["tier"] >= spec["tier"]:
                yield f"HyperNode {name} of tier {spec['tier']} holds {child} of tier {found[child]['tier']}"
    yield from (f"{kind} {name} is a member of {count}" for (kind, name), count in parents.items() if count > 1)


Pods = tuple[Document, Mapping[str, Any], Mapping[str, Any], int]


def gangs(documents: list[Document], pods: list[Pods]) -> Iterator[str]:
    """Each PodGroup named by pods exists, and its subgroups are as many and as large as its policies say.

    `pods`: the object, the metadata of its pods, their spec, and how many they are.
    """
    own = [d for d in documents if d["apiVersion"].startswith("scheduling.volcano.sh/") and d["kind"] == "PodGroup"]
    groups = {_key(d): d["spec"] for d in own}
    members: Counter[tuple[str, str]] = Counter()
    subgroups: dict[tuple[str, str], dict[str, Counter[str]]] = {}
    for document, metadata, spec, count in pods:
        name = (metadata.get("annotations") or {}).get("scheduling.k8s.io/group-name")
        if name is None or document["apiVersion"].startswith("batch.volcano.sh/"):
            continue
        key = (document["metadata"].get("namespace", ""), name)
        if key not in groups:
            yield f"{_key(document)}: there is no PodGroup {name}"
            continue
        if spec.get("schedulerName") != "volcano":
            yield f"{_key(document)}: its pods are not Volcano's"
        labels = metadata.get("labels") or {}
        policy = next((p for p in groups[key].get("subGroupPolicy") or () if _takes(p, labels)), None)
        members[key] += count
        if policy:
            value = ".".join(labels[each] for each in policy["matchLabelKeys"])
            subgroups.setdefault(key, {}).setdefault(policy["name"], Counter())[value] += count
    for key, spec in groups.items():
        if spec["minMember"] > members[key]:
            yield f"PodGroup {key} waits for {spec['minMember']} pods and has {members[key]}"
        for policy in spec.get("subGroupPolicy") or ():
            sizes = subgroups.get(key, {}).get(policy["name"], Counter())
            if sum(size >= policy["subGroupSize"] for size in sizes.values()) < policy["minSubGroups"]:
                yield f"PodGroup {key}: policy {policy['name']} has the subgroups {dict(sizes)}"


def _takes(policy: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    wanted = (policy.get("labelSelector") or {}).get("matchLabels") or {}
    keys = policy.get("matchLabelKeys") or ()
    return bool(keys) and all(labels.get(k) == v for k, v in wanted.items()) and all(labels.get(k) for k in keys)


def _key(document: Document) -> tuple[str, str]:
    return document["metadata"].get("namespace", ""), document["metadata"]["name"]
