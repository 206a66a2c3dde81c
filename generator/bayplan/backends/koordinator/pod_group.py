"""A gang as a PodGroup (scheduling.sigs.k8s.io/v1alpha1) with Koordinator's annotations, and the marks of its pods."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from bayplan.backends.koordinator.gather import Gather, gather
from bayplan.kube.kinds.parts import gang_labels
from bayplan.kube.objects import given
from bayplan.model.manifest import Lowered, Manifest, Marks, PodParts, Shape
from bayplan.model.plan import GangPlan, Plan, Pods, all_pods
from bayplan.model.target import Target
from bayplan.model.topology import HOST_LEVEL
from bayplan.topologies.koordinator import layer_name, longest

GANG = "gang.scheduling.koordinator.sh/"
TOTAL, MODE, MATCH, GROUPS, SPEC = (
    f"{GANG}{name}" for name in ("total-number", "mode", "match-policy", "groups", "network-topology-spec")
)
POD_GROUP = "pod-group.scheduling.sigs.k8s.io"
QUOTA = "quota.scheduling.koordinator.sh/name"
PREEMPTIBLE = "quota.scheduling.koordinator.sh/preemptible"
MUST, PREFER = "MustGather", "PreferGather"


def lower(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """The PodGroups of each gang; its name, the quota and the scheduler on its pods."""
    groups = [each for gang in plan.gangs for each in pod_groups(plan, gang, target)]
    marks = {(gang.name, pods.name): _marks(plan, gang, pods) for gang in plan.gangs for pods in all_pods(gang.root)}
    return Lowered(tuple(groups), marks)


def split(gang: GangPlan) -> bool:
    """Whether each podSet instance has a PodGroup of its own: one PodGroup has one minimum for all of its pods."""
    everyone = list(all_pods(gang.root))
    return len(everyone) > 1 and any(pods.minimum < pods.replicas for pods in everyone)


def pod_group_name(gang: GangPlan, pods: Pods) -> str:
    """The PodGroup of a podSet instance."""
    return f"{gang.name}-{pods.name}" if split(gang) else gang.name


def pod_groups(plan: Plan, gang: GangPlan, target: Target) -> Iterator[Manifest]:
    """One PodGroup, or one for each podSet instance and all of them in one gang group, which starts as a whole.

    Koordinator takes the network-topology-spec from whichever gang of the group comes first, so all carry the same.
    """
    whole: dict[str, list[Pods]] = {}
    for pods in all_pods(gang.root):
        whole.setdefault(pod_group_name(gang, pods), []).append(pods)
    tied = {GROUPS: compact([f"{plan.namespace}/{name}" for name in whole])} if len(whole) > 1 else {}
    for name, members in whole.items():
        yield {
            "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
            "kind": "PodGroup",
            "metadata": {
                "name": name,
                "labels": gang_labels(plan, gang),
                "annotations": {
                    TOTAL: str(sum(pods.replicas for pods in members)),
                    MODE: "Strict",
                    MATCH: match_policy(plan, gang),
                    **tied,
                    **topology_spec(plan, gang, target),
                },
            },
            "spec": {
                "minMember": sum(pods.minimum for pods in members),
                **given(scheduleTimeoutSeconds=_own(gang).get("scheduleTimeoutSeconds")),
            },
        }


def match_policy(plan: Plan, gang: GangPlan) -> str:
    """Which pods count when the gang is to start again.

    Koordinator's default, once-satisfied, never looks at the gang again after its first start: pods of a restarted
    JobSet would be placed one by one, without any topology (core.go BeforePreFilter, 1.7 and 1.8). With only-waiting a
    placed gang is planned anew as a whole, and a lone pod is never put outside the others' domain. Without a required
    level a pod that is started again may join those that run.
    """
    return str(
        _own(gang).get("matchPolicy") or ("only-waiting" if gather(plan, gang).strict else "waiting-and-running")
    )


def _own(gang: GangPlan) -> Any:
    return gang.gang.backends.get("koordinator", {})


def topology_spec(plan: Plan, gang: GangPlan, target: Target) -> dict[str, str]:
    """The annotation network-topology-spec, as JSON that a machine made: what does not parse is ignored silently."""
    rules = list(rules_of(plan, gather(plan, gang), target))
    return {SPEC: compact({"gatherStrategy": rules})} if rules else {}


def rules_of(plan: Plan, wanted: Gather, target: Target) -> Iterator[dict[str, Any]]:
    """One rule a level, coarse to fine. Only the deepest MustGather counts, so there is one."""
    multiples = wanted.multiples if target.since("koordinator", "1.8") else {}
    for level in (*longest(plan.topology), HOST_LEVEL):
        if level in (wanted.required, wanted.preferred) or level in multiples:
            yield {
                "layer": layer_name(level),
                "strategy": MUST if level == wanted.required else PREFER,
                **({"podCountMultiple": multiples[level]} if level in multiples else {}),
            }


def compact(data: Any) -> str:
    """JSON without spaces."""
    return json.dumps(data, separators=(",", ":"))


def _marks(plan: Plan, gang: GangPlan, pods: Pods) -> Marks:
    stated = {} if gang.gang.preemptible is None else {PREEMPTIBLE: "true" if gang.gang.preemptible else "false"}
    own = plan.topology.schedulers.get("koordinator", {})
    return Marks(
        pod=PodParts(
            labels={POD_GROUP: pod_group_name(gang, pods), **given(**{QUOTA: plan.queue}), **stated},
            spec={"schedulerName": own.get("schedulerName", "koord-scheduler")},
        ),
    )
