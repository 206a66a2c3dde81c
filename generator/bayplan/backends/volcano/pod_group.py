"""A gang as a PodGroup (scheduling.volcano.sh/v1beta1), and the marks that tie pods to it and to its subgroups.

Read from Volcano 1.14.3 and 1.15.1, pkg/scheduler/api/{job_info,sub_job_info}.go: of a PodGroup's policies the first
whose selector matches a pod takes it, if the pod has all of its `matchLabelKeys`. A policy without any takes none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.backends.volcano.tiers import Policy, network_topology, policies, policy_of, roles
from bayplan.kube.kinds.parts import GROUP_LABEL, gang_labels
from bayplan.kube.objects import given
from bayplan.model.manifest import Manifest, Marks, PodParts
from bayplan.model.plan import GangPlan, Plan, Pods, Unit, all_pods, minimum

API_VERSION = "scheduling.volcano.sh/v1beta1"
POD_GROUP = "scheduling.k8s.io/group-name"
PREEMPTABLE = "volcano.sh/preemptable"
ROLE = "volcano.sh/task-spec"
NUMA = "volcano.sh/numa-topology-policy"
POLICY = "bayplan.dev/subgroup-policy"
SUBGROUP = "bayplan.dev/subgroup"


def pod_group(plan: Plan, gang: GangPlan) -> Manifest:
    """The gang's PodGroup."""
    return {
        "apiVersion": API_VERSION,
        "kind": "PodGroup",
        "metadata": {
            "name": gang.name,
            "labels": gang_labels(plan, gang),
            **given(annotations=preemptable(gang)),
        },
        "spec": {
            **given(queue=plan.queue, priorityClassName=plan.workflow.priority_class),
            "minMember": minimum(gang.root),
            **given(minTaskMember=roles(gang.root)),
            **network_topology(plan, gang.root),
            **given(subGroupPolicy=[_policy(plan, each) for each in policies(gang.root)]),
        },
    }


def _policy(plan: Plan, policy: Policy) -> dict[str, Any]:
    """minSubGroups is always said: its default is 0, with which the gang would start without any subgroup whole."""
    return {
        "name": policy.name,
        "subGroupSize": policy.size,
        "minSubGroups": policy.minimum,
        "labelSelector": {"matchLabels": {POLICY: policy.name}},
        "matchLabelKeys": [GROUP_LABEL if policy.flat else SUBGROUP],
        **network_topology(plan, policy.units[0]),
    }


def preemptable(gang: GangPlan) -> dict[str, str]:
    """Without the annotation Volcano may take any pod away (`GetPodPreemptable`, pod_info.go)."""
    wanted = gang.gang.preemptible
    return {} if wanted is None else {PREEMPTABLE: "true" if wanted else "false"}


def marks(plan: Plan, gang: GangPlan) -> Iterator[tuple[tuple[str, str], Marks]]:
    """What the gang's pods must carry: the PodGroup's name, and what tells their policy and subgroup."""
    found, counted = policy_of(policies(gang.root)), roles(gang.root)
    for pods in all_pods(gang.root):
        annotations = {
            POD_GROUP: gang.name,
            **({ROLE: pods.name} if pods.name in counted else {}),
            **preemptable(gang),
            **numa(pods),
        }
        labels = _labels(*found[pods.name]) if pods.name in found else {}
        spec = {"schedulerName": scheduler_name(plan)}
        yield (gang.name, pods.name), Marks(pod=PodParts(labels=labels, annotations=annotations, spec=spec))


def _labels(policy: Policy, unit: Unit) -> dict[str, str]:
    return {POLICY: policy.name, **({} if policy.flat else {SUBGROUP: unit.name})}


def numa(pods: Pods) -> dict[str, str]:
    """The policy of the plugin `numaaware`, which Volcano reads from pods (Volcano 1.14, `GetPodTopologyInfo`)."""
    return {NUMA: pods.spec.numa} if pods.spec.numa else {}


def scheduler_name(plan: Plan) -> str:
    """`volcano`, unless the cluster has it under another name."""
    return str(plan.topology.schedulers.get("volcano", {}).get("schedulerName", "volcano"))
