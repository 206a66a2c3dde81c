"""KAI scheduler 0.10 to 0.17: one PodGroup for each gang, one subgroup for each group instance.

The rows declare what KAI supports, by feature, amount and version. Messages and docs/schedulers.md print the reasons.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from bayplan.backends.kai.estimate import estimate
from bayplan.backends.kai.pod_group import cluster_objects, lower, needs, new_names
from bayplan.core.diagnostics import Diagnostic, error
from bayplan.kube.kinds import CONTROLLED
from bayplan.model.backend import (
    Backend,
    Cluster,
    Declaration,
    Feature,
    Need,
    Support,
    approximate,
    exact,
    never,
    not_yet_here,
    not_yet_upstream,
)
from bayplan.model.manifest import Manifest, Workload
from bayplan.model.plan import Plan, title, walk
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import OF_GROVE, varies

NOT_GROUPED = ("markUnschedulable", "schedulingBackoff")
"""Settings of PodGroups that KAI's podgrouper reads from no label or annotation."""

NEVER = (
    'gang "{}" fits, but KAI never finds the placement{}, because it places groups one after another and moves none of'
    " them for the next one"
)
WAYS_OUT = "require coarser levels, give the groups and their pods one size, or make each group a gang"

FEATURES: Mapping[str, Feature] = {
    "unit-name-length": Feature("long names of group instances", "characters", "F613", True),
    "timings": Feature("`preemptionDelay` and `stalenessGracePeriod`", code="F634"),
    "optional-groups-together": Feature("a required level around a group with `minReplicas`", code="F604"),
    "retries-together": Feature("a required level around a podSet with `retryOnExitCodes`", code="F695"),
    "uncounted-claim": Feature("quotas for GPUs of a device class without `gpu` in its name", code="F605"),
    "parentless-queue": Feature("a queue without a parent", code="F637"),
    "grove-depth": Feature("groups inside groups of a PodCliqueSet", "levels", "F777", True),
    "grove-uneven": Feature("unlike instances of a group in a PodCliqueSet", "instances", "F777", True),
    "grove-topologies": Feature("levels of several Topologies in a PodCliqueSet", "bindings", "F778", True),
    "grove-key-length": Feature("long label keys of levels in Grove", "characters", "F778", True),
    "grove-surge": Feature("additional copies of a PodCliqueSet during a rollout", "copies", "F779"),
    "grove-scaled": Feature("a level around replicas beyond `minReplicas` in a PodCliqueSet", "replicas", "F780"),
    "grove-start-names": Feature("podSets that start after one whose name begins another's", code="F788"),
    "concurrent-gangs": Feature("different gangs that run at the same time", "gangs", "F690"),
    "podgrouper": Feature("several copies in one workload", code="F741", firm=True),
}

NO_GROUPER = (
    "KAI below 0.15 creates its own PodGroup for the pods of each controller, and ignores the one that bayplan writes"
)
KINDS = "use `workload: pods`, or target KAI 0.15"
SUPPORT = (
    *exact(
        "gang group-depth uneven-groups required-level preferred-level group-preferred mixed-pod-sets rank-order",
        "repeated-values required-and-preferred optional-pods compute-domain several-compute-domains",
        "compute-domain-each network-cards pod-network fixed-address queue priority preemptible workload-pods",
    ),
    approximate(
        "optional-pods-placed",
        "KAI chooses a domain for the pods that must start; the other pods wait if it has no room for them",
        "remove `minReplicas` if every pod matters",
    ),
    Support("optional-groups", component="kai", since="0.17"),
    approximate(
        "optional-groups",
        "KAI below 0.17 treats group instances that wait beyond the minimum as stale, and evicts the gang after a"
        " minute",
        "target KAI 0.17, or remove the group's `minReplicas`",
        component="kai",
        since="0.15",
    ),
    not_yet_upstream(
        "optional-groups",
        "KAI below 0.15 has no minimum of groups (minSubGroup)",
        "target KAI 0.15 or later, or remove the group's `minReplicas`",
    ),
    # `subtreePodSetsContainingTasks` (pkg/scheduler/actions/common/allocate.go) since KAI 0.15.0
    approximate(
        "optional-groups-together",
        "KAI since 0.15 ignores the instances that already run when it chooses a domain for the others, so it may place"
        " them in another domain",
        "remove `minReplicas`, or require a level only on the group itself",
        component="kai",
        since="0.15",
    ),
    Support("optional-groups-together"),
    approximate(
        "retries-together",
        "KAI since 0.15 ignores the running pods of other podSets when it chooses a domain for a pod that starts again,"
        " so it may place it in another domain",
        "use `restartGangOnExitCodes`, or require a level only around this podSet",
        report="warning",
        component="kai",
        since="0.15",
    ),
    Support("retries-together"),
    not_yet_upstream(
        "separate",
        "KAI packs sibling groups and cannot keep them apart",
        "remove `separate`; a group that fills more than half of a domain never shares it with another one",
    ),
    not_yet_here(
        "mixed-pools",
        "KAI ignores nodes that lack a label of the Topology, so the pods under one placement need pools with the same"
        " levels",
        "put the pods of each pool into a group of their own, without a placement over both",
    ),
    approximate(
        "network-claim",
        "KAI counts claimed network cards on each node, but not when it chooses a domain",
        "ignore this if each pod takes a whole node",
        report="info",
    ),
    Support("gpu-claim", component="kai", since="0.13"),
    approximate(
        "gpu-claim",
        "KAI below 0.13 does not count GPUs claimed through DRA against the quota of the queue",
        "target KAI 0.13 or later, or set `allocator: device-plugin` on the accelerator in the topology",
        component="kai",
    ),
    approximate(
        "uncounted-claim",
        'KAI counts claimed GPUs against the quota of the queue only if the name of the device class contains "gpu"',
        "if quotas matter, use a device class whose name contains `gpu`",
    ),
    approximate(
        "numa",
        "KAI follows the kubelet's policy on each node and ignores `numa` of a pod; its `numa` plugin is off by"
        " default",
        "set topologyManagerPolicy on the nodes of the pool, and enable the plugin in the SchedulingShard",
        report="warning",
        component="kai",
        since="0.16",
    ),
    not_yet_upstream("numa", "KAI below 0.16 ignores NUMA nodes", "remove `numa`, or target KAI 0.16"),
    never(
        "no-queue",
        "KAI never schedules a PodGroup without a leaf queue",
        "set `spec.queue`, or `defaults.queue` in the topology file",
    ),
    Support("parentless-queue", component="kai", since="0.13"),
    not_yet_upstream(
        "parentless-queue",
        "KAI below 0.13 never schedules workloads in a queue without a parent, and the topology file names no parent",
        "name it in the topology file, `schedulers: {kai: {parentQueue: default-parent-queue}}`, or target KAI 0.13",
    ),
    approximate(
        "concurrent-gangs",
        "KAI places gangs one after another and never moves them, so if room is scarce, it may not place all gangs"
        " although they fit",
        "apply the gang that needs the most room first: `--gang NAME`",
        report="info",
    ),
    Support("timings", component="kai", since="0.17"),
    not_yet_upstream(
        "timings",
        "KAI below 0.17 has no preemptionDelay and no stalenessGracePeriod; its CRDs drop both fields",
        "remove them, or target KAI 0.17",
    ),
    # 316 characters of a label key and 16 levels: maxLength and maxItems in the CRD topologies.kai.scheduler,
    # KAI 0.12 to 0.17.
    Support("label-key-length", up_to=316),
    never("label-key-length", hint="label the nodes with a shorter key"),
    Support("level-count", up_to=16),
    never("level-count", "a KAI Topology has at most 16 levels", "remove levels that no placement uses"),
    Support("node-name-length", up_to=63),
    never(
        "node-name-length",
        "KAI writes the node name into a label when it binds a pod, and a label value has at most 63 characters",
        "mark such nodes as unusable; KAI cannot bind pods to them",
    ),
    Support("unit-name-length", up_to=63),
    never(
        "unit-name-length",
        "KAI uses the name of a subgroup as a label value, which has at most 63 characters",
        "shorten the names of the groups",
    ),
    Support("workload-jobset", component="kai", since="0.15"),
    Support("workload-job", component="kai", since="0.15"),
    *(
        row
        for feature in ("limited-copies", "unlimited-copies")
        for row in (
            Support(feature, component="kai", since="0.15"),
            approximate(feature, f"{NO_GROUPER}, so each copy has objects of its own", report="info"),
        )
    ),
    never("workload-jobset", NO_GROUPER, KINDS),
    never("workload-job", NO_GROUPER, KINDS),
    never("workload-sbatch", hint="use `-s slurm`"),
    Support("grove-depth", up_to=1),
    never(
        "grove-depth",
        "a scaling group of Grove contains cliques, and no groups",
        "put the podSets of inner groups into the group itself, or make each outer group a gang",
    ),
    never(
        "grove-uneven",
        "all replicas of a scaling group have the same cliques",
        "choose a `size` that divides the replicas of the podSet",
    ),
    Support("grove-topologies", up_to=1),
    never(
        "grove-topologies",
        "all constraints of a PodCliqueSet name the same ClusterTopologyBinding",
        "place only groups in pools with the same levels, or make the others a gang",
    ),
    # maxLength of `levels[].key` in the CRD clustertopologybindings.grove.io, v0.1.0-alpha.12
    Support("grove-key-length", up_to=63),
    never(
        "grove-key-length",
        "the label of a level in a ClusterTopologyBinding has at most 63 characters",
        "label the nodes with a shorter key",
    ),
    not_yet_upstream(
        "grove-surge",
        "Grove recreates one copy after another, and adds none",
        "set `surge: 0`",
    ),
    approximate(
        "grove-scaled",
        "Grove makes a gang of its own of each replica beyond `minReplicas`, so KAI may choose another domain of the"
        " level around its group (Grove#648)",
        "let all replicas start together (without `minReplicas`, or with `minAvailable` as high as `replicas`), or"
        " require a level only on the group",
    ),
    approximate(
        "grove-start-names",
        "Grove counts ready pods by the beginning of their names, so pods that wait may start too early",
        "rename one of the podSets or groups",
    ),
    # pkg/podgrouper/podgrouper/plugins/leaderworkerset/lws_grouper.go, KAI 0.15 to 0.17
    not_yet_upstream(
        "podgrouper",
        "KAI makes the PodGroup of each copy itself, and reads neither levels of single podSets for it, nor"
        " `markUnschedulable` and `schedulingBackoff`",
        "set the level on the gang, or remove `autoscale` and `surge`, so that bayplan writes the PodGroups",
    ),
    never("workload-volcano-job", hint="use `workload: jobset`"),
)


def kind_needs(plan: Plan, workload: Workload) -> Iterator[Need]:
    """What the PodGroups lack that KAI itself makes of workloads with several copies, and Grove of its own."""
    gang = workload.gangs[0]
    cliques = workload.kind in OF_GROVE
    if cliques:
        from bayplan.backends.kai import grove  # few workflows need it

        yield from grove.kind_needs(plan, workload)
    elif workload.kind not in CONTROLLED or (len(workload.gangs) == 1 and not varies(gang.gang)):
        return
    subject = title(gang, gang.root)
    for unit in () if cliques else walk(gang.root):
        if unit is not gang.root and unit.copies == 1 and (unit.required or unit.preferred):
            yield Need("podgrouper", 1, (*unit.route, "placement"), subject=subject)
            return
    for key in NOT_GROUPED:
        if key in gang.gang.backends.get("kai", {}):
            yield Need("podgrouper", 1, (*gang.route, "backends", "kai", key), subject=subject)


def prove(plan: Plan, target: Target) -> tuple[Diagnostic, ...]:
    """F690 and F691: what fits, but KAI does not find. Its estimate refuses it, or it searches in the wrong order."""
    found = estimate(plan, target)
    refused = {each.route[:4] for each in found if each.severity == "error"}
    unfound = (gang for gang in plan.gangs if gang.route not in refused and new_names(plan, gang, target) is None)
    beside = " beside what runs" if plan.occupied else ""
    messages = ((gang.route, NEVER.format(gang.gang.name, beside)) for gang in unfound)
    errors = (error("F690", (*route, "name"), message, hint=WAYS_OUT) for route, message in messages)
    return (*found, *errors, *_over_quota(plan))


def _over_quota(plan: Plan) -> Iterable[Diagnostic]:
    """KAI never starts what is not preemptible above the quota (KAI 0.10 to 0.17, capacity_policy.go)."""
    if not plan.topology.has_quotas:
        return ()
    from bayplan.planning import queues

    return queues.too_small(plan, own_share=True)


def _cluster_objects(topology: ClusterTopology, target: Target) -> tuple[Manifest, ...]:
    """KAI's own, and Grove's names of the levels if the topology names its version."""
    own = cluster_objects(topology, target)
    if not target.versions.get("grove"):
        return own
    from bayplan.backends.kai.grove import bindings  # few clusters have it

    return (*own, *bindings(topology))


BACKEND = Backend(
    Declaration("kai", component="kai", support=SUPPORT, features=FEATURES, kind_needs=kind_needs),
    lower,
    needs=needs,
    prove=prove,
    cluster=Cluster(_cluster_objects),
)
