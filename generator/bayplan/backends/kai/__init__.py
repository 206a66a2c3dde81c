"""KAI scheduler 0.10 to 0.17: one PodGroup a gang, one subgroup a group instance.

What it carries is here, by feature, amount and version. The reasons end up in front of users.
"""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.backends.kai.estimate import estimate
from bayplan.backends.kai.pod_group import cluster_objects, lower, needs
from bayplan.model.backend import Backend, Cluster, Declaration
from bayplan.model.features import Feature, Support, exact

FEATURES: Mapping[str, Feature] = {
    "unit-name-length": Feature("long names of group instances", "characters", "F622", True),
    "timings": Feature("delays before preemption or eviction", code="F634"),
    "uncounted-claim": Feature("GPUs claimed by a device class that is not counted", code="F635"),
    "parentless-queue": Feature("a queue without a parent", code="F637"),
}

NO_GROUPER = (
    "the podgrouper below KAI 0.15 gives the pods of every controller a PodGroup of its own making, which ignores ours"
)
SUPPORT = (
    *exact(
        "gang group-depth uneven-groups required-level preferred-level group-preferred mixed-pod-sets rank-order",
        "repeated-values required-and-preferred optional-pods compute-domain several-compute-domains",
        "compute-domain-each network-cards pod-network fixed-address queue priority preemptible workload-pods",
    ),
    Support(
        "optional-pods-placed",
        "approximate",
        reason="KAI chooses a domain for the pods that must start, and the others wait if it has no room for them",
        hint="leave `minReplicas` out where every pod matters",
    ),
    Support("optional-groups", component="kai", since="0.17"),
    Support(
        "optional-groups",
        "approximate",
        component="kai",
        since="0.15",
        reason="KAI counts a group that waits outside the minimum as stale and evicts the gang after a minute;"
        " only 0.17 can be told not to",
        hint="target KAI 0.17, or make the group whole",
    ),
    Support(
        "optional-groups",
        "absent",
        word="not yet upstream",
        reason="minSubGroup came with KAI 0.15",
        hint="target KAI 0.15 or later, or make the group whole",
    ),
    Support(
        "separate",
        "absent",
        word="not yet upstream",
        reason="KAI packs sibling groups and has no way to keep them apart",
        hint="leave `separate` out: groups that fill more than half of a domain are apart by arithmetic",
    ),
    Support(
        "mixed-pools",
        "absent",
        word="not yet here",
        reason="a node that lacks one label of a Topology is invisible to it, so pods under one placement need pools"
        " with the same levels",
        hint="put the pods of each pool in a group of their own, without a placement over both",
    ),
    Support(
        "network-claim",
        "approximate",
        report="info",
        reason="claimed network cards count node by node, and not when KAI chooses a domain",
        hint="nothing to do where pods take whole nodes",
    ),
    Support("gpu-claim", component="kai", since="0.13"),
    Support(
        "gpu-claim",
        "approximate",
        component="kai",
        reason="GPUs claimed through DRA do not count against the queue's quota below KAI 0.13",
        hint="target KAI 0.13 or later, or use the device plugin",
    ),
    Support(
        "uncounted-claim",
        "approximate",
        reason="KAI counts claimed GPUs against the queue's quota only if the name of their device class contains"
        ' "gpu"',
        hint="use a device class with gpu in its name where quotas matter",
    ),
    Support(
        "numa",
        "approximate",
        component="kai",
        since="0.16",
        reason="KAI follows the policy of the node's kubelet, not a wish of the pod, and its plugin `numa` is off as"
        " installed",
        hint="set topologyManagerPolicy on the nodes of the pool, and enable the plugin in the SchedulingShard",
        report="warning",
    ),
    Support(
        "numa",
        "absent",
        word="not yet upstream",
        reason="KAI knows nothing of NUMA nodes before 0.16",
        hint="leave `numa` out, or target KAI 0.16",
    ),
    Support(
        "no-queue",
        "absent",
        word="never",
        reason="a PodGroup without a leaf queue is never scheduled",
        hint="set `spec.queue`, or `defaults.queue` in the topology",
    ),
    Support("parentless-queue", component="kai", since="0.13"),
    Support(
        "parentless-queue",
        "absent",
        word="not yet upstream",
        reason="up to KAI 0.12 nothing in a queue without a parent is ever scheduled, and the topology names no parent",
        hint="name it in the topology, `schedulers: {kai: {parentQueue: default-parent-queue}}`, or target KAI 0.13",
    ),
    Support("timings", component="kai", since="0.17"),
    Support(
        "timings",
        "absent",
        word="not yet upstream",
        reason="preemptionDelay and stalenessGracePeriod came with KAI 0.17; older CRDs drop them",
        hint="leave them out, or target KAI 0.17",
    ),
    # 316 characters of a label's key and 16 levels: maxLength and maxItems in the CRD topologies.kai.scheduler,
    # KAI 0.12 to 0.17.
    Support("label-key-length", up_to=316),
    Support("level-count", up_to=16),
    Support(
        "level-count", "absent", word="never", reason="a Topology holds 16 levels", hint="leave out levels nobody uses"
    ),
    Support("node-name-length", up_to=63),
    Support(
        "node-name-length",
        "absent",
        word="never",
        reason="KAI writes the node's name into a label when it binds a pod, and label values end at 63 characters",
        hint="such nodes cannot be used by KAI; mark them unusable",
    ),
    Support("unit-name-length", up_to=63),
    Support(
        "unit-name-length",
        "absent",
        word="never",
        reason="a subgroup's name is a label value of 63 characters at most",
        hint="shorten the names of the groups",
    ),
    Support("workload-jobset", component="kai", since="0.15"),
    Support("workload-job", component="kai", since="0.15"),
    Support("workload-jobset", "absent", word="never", reason=NO_GROUPER, hint="use `workload: pods`, or KAI 0.15"),
    Support("workload-job", "absent", word="never", reason=NO_GROUPER, hint="use `workload: pods`, or KAI 0.15"),
    Support("workload-sbatch", "absent", word="never", reason="an sbatch script is for Slurm", hint="use `-s slurm`"),
    Support("workload-lws", "absent", word="never", reason="KAI makes one PodGroup for each group of an LWS"),
    Support("workload-volcano-job", "absent", word="never", reason="a Volcano Job is for Volcano"),
)

BACKEND = Backend(
    Declaration("kai", component="kai", support=SUPPORT, features=FEATURES),
    lower,
    needs=needs,
    prove=estimate,
    cluster=Cluster(cluster_objects),
)
