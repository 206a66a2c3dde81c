"""KAI scheduler 0.10 to 0.17: one PodGroup a gang, one subgroup a group instance.

What it carries is here, by feature, amount and version. The reasons end up in front of users.
"""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.backends.kai.estimate import estimate
from bayplan.backends.kai.pod_group import cluster_objects, lower, needs
from bayplan.model.backend import (
    Backend,
    Cluster,
    Declaration,
    Feature,
    Support,
    approximate,
    exact,
    never,
    not_yet_here,
    not_yet_upstream,
)

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
    approximate(
        "optional-pods-placed",
        "KAI chooses a domain for the pods that must start, and the others wait if it has no room for them",
        "leave `minReplicas` out where every pod matters",
    ),
    Support("optional-groups", component="kai", since="0.17"),
    approximate(
        "optional-groups",
        "KAI counts a group that waits outside the minimum as stale and evicts the gang after a minute;"
        " only 0.17 can be told not to",
        "target KAI 0.17, or make the group whole",
        component="kai",
        since="0.15",
    ),
    not_yet_upstream(
        "optional-groups", "minSubGroup came with KAI 0.15", "target KAI 0.15 or later, or make the group whole"
    ),
    not_yet_upstream(
        "separate",
        "KAI packs sibling groups and has no way to keep them apart",
        "leave `separate` out: groups that fill more than half of a domain are apart by arithmetic",
    ),
    not_yet_here(
        "mixed-pools",
        "a node that lacks one label of a Topology is invisible to it, so pods under one placement need pools"
        " with the same levels",
        "put the pods of each pool in a group of their own, without a placement over both",
    ),
    approximate(
        "network-claim",
        "claimed network cards count node by node, and not when KAI chooses a domain",
        "nothing to do where pods take whole nodes",
        report="info",
    ),
    Support("gpu-claim", component="kai", since="0.13"),
    approximate(
        "gpu-claim",
        "GPUs claimed through DRA do not count against the queue's quota below KAI 0.13",
        "target KAI 0.13 or later, or use the device plugin",
        component="kai",
    ),
    approximate(
        "uncounted-claim",
        'KAI counts claimed GPUs against the queue\'s quota only if the name of their device class contains "gpu"',
        "use a device class with gpu in its name where quotas matter",
    ),
    approximate(
        "numa",
        "KAI follows the policy of the node's kubelet, not a wish of the pod, and its plugin `numa` is off as"
        " installed",
        "set topologyManagerPolicy on the nodes of the pool, and enable the plugin in the SchedulingShard",
        report="warning",
        component="kai",
        since="0.16",
    ),
    not_yet_upstream("numa", "KAI knows nothing of NUMA nodes before 0.16", "leave `numa` out, or target KAI 0.16"),
    never(
        "no-queue",
        "a PodGroup without a leaf queue is never scheduled",
        "set `spec.queue`, or `defaults.queue` in the topology",
    ),
    Support("parentless-queue", component="kai", since="0.13"),
    not_yet_upstream(
        "parentless-queue",
        "up to KAI 0.12 nothing in a queue without a parent is ever scheduled, and the topology names no parent",
        "name it in the topology, `schedulers: {kai: {parentQueue: default-parent-queue}}`, or target KAI 0.13",
    ),
    Support("timings", component="kai", since="0.17"),
    not_yet_upstream(
        "timings",
        "preemptionDelay and stalenessGracePeriod came with KAI 0.17; older CRDs drop them",
        "leave them out, or target KAI 0.17",
    ),
    # 316 characters of a label's key and 16 levels: maxLength and maxItems in the CRD topologies.kai.scheduler,
    # KAI 0.12 to 0.17.
    Support("label-key-length", up_to=316),
    Support("level-count", up_to=16),
    never("level-count", "a Topology holds 16 levels", "leave out levels nobody uses"),
    Support("node-name-length", up_to=63),
    never(
        "node-name-length",
        "KAI writes the node's name into a label when it binds a pod, and label values end at 63 characters",
        "such nodes cannot be used by KAI; mark them unusable",
    ),
    Support("unit-name-length", up_to=63),
    never(
        "unit-name-length",
        "a subgroup's name is a label value of 63 characters at most",
        "shorten the names of the groups",
    ),
    Support("workload-jobset", component="kai", since="0.15"),
    Support("workload-job", component="kai", since="0.15"),
    never("workload-jobset", NO_GROUPER, "use `workload: pods`, or KAI 0.15"),
    never("workload-job", NO_GROUPER, "use `workload: pods`, or KAI 0.15"),
    never("workload-sbatch", "an sbatch script is for Slurm", "use `-s slurm`"),
    never("workload-lws", "KAI makes one PodGroup for each group of an LWS"),
    never("workload-volcano-job", "a Volcano Job is for Volcano"),
)

BACKEND = Backend(
    Declaration("kai", component="kai", support=SUPPORT, features=FEATURES),
    lower,
    needs=needs,
    prove=estimate,
    cluster=Cluster(cluster_objects),
)
