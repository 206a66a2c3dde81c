"""The way back from PodGroups to intent: each is a gang of its own to Slurm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bayplan.core.diagnostics import Outcome
from bayplan.model.manifest import Manifest
from bayplan.model.plan import GangPlan, Plan
from bayplan.model.target import Target
from bayplan.plugins.slurm.bridge.pod_group import (
    POD_GROUP_LABEL,
    PREFIX,
    SlurmJob,
    partition,
    pod_group_name,
    slurm_jobs,
)
from oracle.intent import GangIntent, UnitIntent, pods_intent
from oracle.manifests import Channels, PodsRead, channels, found_pods, label_of, merged, pods_read, priority_class


def intent(plan: Plan, target: Target) -> tuple[GangIntent, ...]:
    """The declared gaps: no level is told, every pod must start, and a gang is as many as it has Slurm jobs."""
    return tuple(_intent(plan, gang, job, target) for gang in plan.gangs for job in slurm_jobs(gang))


def _intent(plan: Plan, gang: GangPlan, job: SlurmJob, target: Target) -> GangIntent:
    pods = tuple(sorted(pods_intent(each)._replace(minimum=each.replicas) for each in job.pods))
    return GangIntent(
        name=pod_group_name(plan, job, target),
        namespace=plan.namespace,
        queue=partition(plan, gang, "slurm-bridge"),
        priority_class=plan.workflow.priority_class,
        preemptible=None,
        topology="",
        root=UnitIntent("", pods=pods),
        compute_domains=tuple(sorted({each.compute_domain for each in pods if each.compute_domain})),
    )


def read(documents: Sequence[Manifest]) -> Outcome[tuple[GangIntent, ...]]:
    """The gangs that PodGroups of either API describe, in the order of their names."""
    members: dict[tuple[str, str], list[PodsRead]] = {}
    for pods in found_pods(documents):
        members.setdefault((pods.owner.get("namespace", ""), _group(pods)), []).append(pods)
    groups = {_key(each): each for each in documents if each.get("kind") == "PodGroup" and _served(each)}
    domains = channels(documents)
    return Outcome(tuple(_gang(groups[key], members.get(key, ()), domains) for key in sorted(groups)))


def _key(group: Mapping[str, Any]) -> tuple[str, str]:
    return group["metadata"].get("namespace", ""), group["metadata"]["name"]


def _served(group: Mapping[str, Any]) -> bool:
    return str(group["apiVersion"]).startswith(("scheduling.k8s.io/", "scheduling.x-k8s.io/"))


def _group(pods: PodsRead) -> str:
    """The PodGroup that pods name: the built-in one goes first (`TranslateToSlurmJobIR`)."""
    own = (pods.template["spec"].get("schedulingGroup") or {}).get("podGroupName")
    return str(own or label_of(pods, POD_GROUP_LABEL))


def _gang(group: Mapping[str, Any], pods: Sequence[PodsRead], domains: Channels) -> GangIntent:
    namespace, name = _key(group)
    told = group["metadata"].get("annotations") or {}
    read = [pods_read(each, each.replicas, domains) for each in merged(pods)]
    return GangIntent(
        name=name,
        namespace=namespace,
        queue=str(told.get(f"{PREFIX}partition", "")),
        priority_class=priority_class(pods),
        preemptible=None,
        topology="",
        root=UnitIntent("", pods=tuple(sorted(read))),
        compute_domains=tuple(sorted({each.compute_domain for each in read if each.compute_domain})),
    )
