"""Koordinator 1.7 and 1.8: one PodGroup a gang, its placement as a network-topology-spec.

What it carries is here, by feature, amount and version. The reasons end up in front of users. Read in
koordinator-sh/koordinator, tags v1.7.0 and v1.8.0: pkg/scheduler/plugins/coscheduling/core/
network_topology_solver.go, network_topology_workflow.go, gang.go.
"""

from __future__ import annotations

from bayplan.backends.koordinator.needs import cluster_needs, needs, notices
from bayplan.backends.koordinator.pod_group import lower
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
from bayplan.topologies.koordinator import write

FEATURES = {
    "koordinator-unlike-groups": Feature("groups of different size or level, or pods beside them", "", "F660"),
    "koordinator-inner-levels": Feature("a level for each of several groups", "", "F661"),
    "koordinator-unlike-pods": Feature("pods of different size in a placed gang", "podSets", "F662"),
    "koordinator-elastic-placed": Feature("a placed gang that may start small", "pods left out", "F663"),
    "koordinator-claims-placed": Feature("GPUs claimed through DRA in a placed gang", "", "F664"),
    "koordinator-mixed-names": Feature("pod names that keep groups together", "", "F665", firm=True),
    "koordinator-one-chain": Feature("pools with different levels", "lists of levels", "F666", firm=True),
    "koordinator-layer-names": Feature("levels with layer names of their own", "", "F667", firm=True),
    "koordinator-inner-preferred": Feature("a preferred level of one of several groups", "", "F668"),
}
"""What only Koordinator has an opinion on."""

ALL_AT_ONCE = (
    "Koordinator plans nodes for all waiting pods of a gang at once, so a placed gang starts with all of its pods"
)
KUBERNETES_1_28 = "Koordinator 1.7 is built on Kubernetes 1.28, which knows no resource claims of today's API"
MULTIPLES = "podCountMultiple, which keeps groups whole, came with Koordinator 1.8"
NO_MULTIPLE = "leave the groups' placement out, or target Koordinator 1.8"

SUPPORT = (
    *exact(
        "gang group-depth uneven-groups mixed-pod-sets required-level preferred-level required-and-preferred",
        "group-preferred optional-pods optional-pods-placed several-compute-domains compute-domain-each network-cards",
        "pod-network fixed-address queue no-queue priority preemptible label-key-length level-count node-name-length",
        "workload-jobset workload-job workload-pods",
    ),
    Support("koordinator-inner-levels", component="koordinator", since="1.8"),
    not_yet_upstream("koordinator-inner-levels", MULTIPLES, NO_MULTIPLE),
    not_yet_upstream(
        "koordinator-unlike-groups",
        "one podCountMultiple a layer holds for all pods of a gang, so only groups of one size, at one level,"
        " and without pods beside them stay whole",
        "make the groups alike, or make a gang of its own of each kind of group",
    ),
    not_yet_upstream(
        "koordinator-unlike-pods",
        "Koordinator counts the free places of a node as if all pods of the gang were like its first one",
        "give all pods of the gang the same requests and pool, or place only the gang that needs it",
    ),
    not_yet_upstream(
        "koordinator-inner-preferred",
        "only the gang as a whole is packed; groups have multiples, which always hold",
        "use `required` on the group, or leave it out",
    ),
    not_yet_upstream(
        "optional-groups",
        "a gang group waits for all of its gangs",
        "make the group whole: leave its `minReplicas` out",
    ),
    not_yet_upstream("koordinator-elastic-placed", ALL_AT_ONCE, "leave `minReplicas` out, or the placement"),
    not_yet_upstream(
        "separate",
        "Koordinator packs groups and has no way to keep them apart",
        "leave `separate` out: groups that fill more than half of a domain are apart by arithmetic",
    ),
    never(
        "mixed-pools",
        "one ClusterNetworkTopology describes the whole cluster, and a node that lacks one of its labels is left out",
        "put the pods of each pool in a gang of their own",
    ),
    never(
        "koordinator-one-chain",
        'the one ClusterNetworkTopology of a cluster, "default", is a single chain of layers, and a node that'
        " lacks the label of one is left out without a word",
        "give all pools that have levels the same list of level names, whose labels may differ, or leave the"
        " levels of a pool out",
    ),
    never(
        "koordinator-layer-names",
        "layers are called after levels in CamelCase, and two of these come out alike or like a layer that"
        " Koordinator itself has",
        "rename the level",
    ),
    never(
        "repeated-values",
        "Koordinator keeps domains by layer and label value, so equal values under two parents become one"
        " domain under the first",
        "label the nodes with values that are unique in the cluster, such as spine-a.r1",
    ),
    never(
        "koordinator-mixed-names",
        "Koordinator fills domains in the alphabetical order of pod names, and here pods of another group come between",
        "rename the group or the podSet, so that no group's name goes on where another's ends",
    ),
    Support("rank-order", up_to=10),
    approximate(
        "rank-order",
        'pods are placed in the alphabetical order of their names, so "replica-10" comes before "replica-2";'
        " every group stays whole",
        report="info",
    ),
    approximate(
        "compute-domain",
        "its planner looks at the claims of a gang's first pod alone; pods that take whole nodes come out right,"
        " but upstream does not test that",
        "use `computeDomain: never` where the pods do without NVLink between nodes",
        report="warning",
        component="koordinator",
        since="1.8",
    ),
    not_yet_upstream("compute-domain", KUBERNETES_1_28, "target Koordinator 1.8, or use `computeDomain: never`"),
    approximate(
        "network-claim",
        "its planner does not count claimed network cards, so it may plan more pods on a node than get one",
        "let pods take whole nodes, or use a device plugin",
        report="warning",
        component="koordinator",
        since="1.8",
    ),
    not_yet_upstream("network-claim", KUBERNETES_1_28, "use a device plugin"),
    approximate(
        "gpu-claim",
        "GPUs claimed through DRA do not count against an ElasticQuota",
        "use the device plugin where quotas matter",
        report="warning",
        component="koordinator",
        since="1.8",
    ),
    not_yet_upstream("gpu-claim", KUBERNETES_1_28, "use the device plugin"),
    not_yet_upstream(
        "koordinator-claims-placed",
        "its planner does not count claimed GPUs, so it plans more pods on a node than have room there, and the"
        " gang waits for ever",
        "use the device plugin, or leave the placement out",
    ),
    not_yet_here(
        "numa",
        "Koordinator has NUMA policies of its own on nodes and pods",
        "label the nodes with node.koordinator.sh/numa-topology-policy",
    ),
    not_yet_here("workload-lws", "bayplan writes no LWS for Koordinator"),
    never("workload-volcano-job", "a Volcano Job is for Volcano"),
    never("workload-sbatch", "a batch script is for Slurm"),
)

BACKEND = Backend(
    Declaration("koordinator", component="koordinator", support=SUPPORT, features=FEATURES),
    lower,
    needs=needs,
    notices=notices,
    cluster=Cluster(write, cluster_needs),
)
"""Nothing folds: with a replicatedJob for each group instance, pod names begin with the group, and sort with it."""
