"""Deployments: pods that a scheduler places one by one, so no oracle of gangs knows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.kube.kinds import SERVING, SINGLE
from bayplan.model.manifest import Manifest, Shape
from bayplan.model.plan import Plan, all_pods
from bayplan.model.target import Target
from bayplan.planning.existing import own_plan
from oracle.manifests import read_name

QUEUES: Mapping[str, tuple[tuple[str, ...], str, str]] = {
    "kai": (("metadata",), "labels", "kai.scheduler/queue"),
    "kueue": (("metadata",), "labels", "kueue.x-k8s.io/queue-name"),
    "volcano": (("spec", "template", "metadata"), "annotations", "scheduling.volcano.sh/queue-name"),
    "koordinator": (("spec", "template", "metadata"), "labels", "quota.scheduling.koordinator.sh/name"),
    "slurm-bridge": (("metadata",), "annotations", "slurmjob.slinky.slurm.net/partition"),
    "sunk": (("spec", "template", "metadata"), "annotations", "sunk.coreweave.com/partition"),
}
"""Scheduler -> where it reads the queue of the pods of a Deployment: the way, the mapping and the key."""

SCHEDULERS: Mapping[str, str] = {
    "kai": "kai-scheduler",
    "volcano": "volcano",
    "koordinator": "koord-scheduler",
    "slurm-bridge": "slurm-bridge-scheduler",
    "sunk": "tenant-slurm-slurm-scheduler",
}
GROUPS = ("pod-group-name", "scheduling.k8s.io/group-name", "pod-group.scheduling.sigs.k8s.io", "schedulingGroup")


class Single(NamedTuple):
    """A Deployment: how many pods it has at least and at most, and what its scheduler reads."""

    name: str
    namespace: str
    pod_set: str
    least: int
    most: int
    queue: str
    scheduler: str
    rollout: tuple[int, int]  # surge, unavailable
    domain: bool  # whether its pods claim from a ComputeDomain


def intent(plan: Plan, shape: Shape, scheduler: str, target: Target) -> tuple[Single, ...]:
    """What the Deployments of a plan must say."""
    del target
    made = []
    for workload in (each for each in shape.workloads if each.kind == SINGLE):
        gang = workload.gangs[0]
        (pods,) = all_pods(gang.root)
        scale, copies = gang.gang.autoscale, len(workload.gangs)
        bounds = (scale.min_replicas, scale.max_replicas) if scale else (copies, copies)
        queue = plan.queue if scheduler in QUEUES else ""
        own = plan.topology.schedulers.get(scheduler, {}).get("schedulerName") or SCHEDULERS.get(scheduler, "")
        rollout = (gang.gang.rollout.surge, gang.gang.rollout.unavailable) if gang.gang.rollout else (0, 1)
        domain = bool(pods.compute_domain)
        made.append(Single(workload.name, plan.namespace, pods.name, *bounds, queue, own, rollout, domain))
    return tuple(sorted(made))


def read(documents: Sequence[Manifest], scheduler: str) -> tuple[Single, ...]:
    """What Deployments and their autoscalers do say. A group that their pods name is wrong."""
    scales = {
        (each["spec"]["scaleTargetRef"]["kind"], each["spec"]["scaleTargetRef"]["name"]): each["spec"]
        for each in documents
        if each["kind"] == "HorizontalPodAutoscaler"
    }
    made = []
    for one in (each for each in documents if each["kind"] == "Deployment"):
        spec, metadata = one["spec"], one["metadata"]
        template = spec["template"]
        assert not [key for key in GROUPS if key in str(template)], one
        assert spec["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
        scale = scales.get(("Deployment", metadata["name"]))
        assert bool(scale) != ("replicas" in spec), one
        bounds = (scale["minReplicas"], scale["maxReplicas"]) if scale else (spec["replicas"], spec["replicas"])
        rolling = spec["strategy"]["rollingUpdate"]
        made.append(
            Single(
                metadata["name"],
                metadata.get("namespace", ""),
                read_name(template, ""),
                *bounds,
                _queue(one, scheduler),
                template["spec"].get("schedulerName", ""),
                (rolling["maxSurge"], rolling["maxUnavailable"]),
                bool(template["spec"].get("resourceClaims")),
            )
        )
    return tuple(sorted(made))


def _queue(one: Any, scheduler: str) -> str:
    path, word, key = QUEUES.get(scheduler, ((), "", ""))
    for each in path:
        one = one.get(each, {})
    return str(one.get(word, {}).get(key, "")) if word else ""


def grouped(plan: Plan, shape: Shape) -> Iterator[Plan]:
    """The plan without them, and a plan of its own for each other service, whose groups have its name."""
    controlled = [each for each in shape.workloads if each.kind in SERVING]
    names = {gang.name for each in controlled for gang in each.gangs}
    yield plan._replace(gangs=tuple(gang for gang in plan.gangs if gang.name not in names))
    yield from (own_plan(plan, each.gangs, each.name) for each in controlled if each.kind != SINGLE)


def others(documents: Sequence[Manifest]) -> list[Manifest]:
    """The documents without them."""
    return [each for each in documents if each.get("kind") != "Deployment"]
