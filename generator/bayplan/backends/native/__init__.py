"""kube-scheduler of Kubernetes 1.35 to 1.37: Workload, PodGroup and CompositePodGroup (scheduling.k8s.io).

What it carries is here, by feature, amount and version. The reasons end up in front of users.
"""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.backends.native.groups import lower
from bayplan.backends.native.needs import cluster_needs, needs, notices
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

KUBERNETES = "kubernetes"
GREEDY = (
    "kube-scheduler 1.37 places groups one after the other, each with as many pods as it can, so optional pods may take"
    " the room that another group needs to start"
)

FEATURES: Mapping[str, Feature] = {
    "groups-together": Feature("placed groups that start together or not at all", "groups", "F670"),
    "group-objects": Feature("groups within groups", "objects from the gang down to its pods", "F671", firm=True),
    "templates": Feature("groups of different kinds side by side", "templates in one list", "F672", firm=True),
    "template-name-length": Feature("long names of groups", "characters", "F673", firm=True),
    "never-preempted": Feature("work that is never preempted", "", "F674"),
    "several-minimums": Feature("a minimum for each of several podSets", "podSets", "F675"),
    "repeated-domains": Feature("a level whose values repeat under other parents", "", "F676"),
    "unequal-pods": Feature("pods of different size under one level", "podSets", "F677"),
    "levels-as-objects": Feature("levels as objects of their own", code="F678"),
}

SUPPORT = (
    *exact(
        "mixed-pod-sets optional-pods mixed-pools repeated-values rank-order compute-domain compute-domain-each",
        "several-compute-domains network-cards network-claim pod-network fixed-address gpu-claim no-queue preemptible",
        "level-count workload-job workload-pods",
    ),
    Support("gang", component=KUBERNETES, since="1.35"),
    never(
        "gang",
        "the Workload API came with Kubernetes 1.35",
        "target Kubernetes 1.35 or later, or choose another scheduler",
    ),
    Support("required-level", component=KUBERNETES, since="1.36"),
    not_yet_upstream(
        "required-level",
        "PodGroups have levels since Kubernetes 1.36; before, pods are only counted",
        "target Kubernetes 1.36 or later, or choose another scheduler",
    ),
    not_yet_upstream(
        "preferred-level",
        "a PodGroup names the one level that it must share, and none that it should",
        "make it `required`, or leave it out",
    ),
    not_yet_upstream("required-and-preferred", "a PodGroup names one level", "leave out the preferred level"),
    not_yet_upstream(
        "group-preferred",
        "a PodGroup names the one level that it must share, and none that it should",
        "make it `required`, or leave it out",
    ),
    Support("group-depth", up_to=1, component=KUBERNETES, since="1.36"),
    Support("group-depth", up_to=4, component=KUBERNETES, since="1.37"),
    never(
        "group-depth",
        "a tree of groups is at most 4 deep",
        "drop a level between the outermost and the innermost",
        component=KUBERNETES,
        since="1.37",
    ),
    not_yet_upstream(
        "group-depth",
        "PodGroups have levels since Kubernetes 1.36, and groups within groups since 1.37",
        "target Kubernetes 1.37",
        component=KUBERNETES,
        until="1.36",
    ),
    not_yet_upstream(
        "group-depth",
        "groups within groups (CompositePodGroup) came with Kubernetes 1.37",
        "target Kubernetes 1.37, or keep the outermost level alone",
    ),
    Support("groups-together", component=KUBERNETES, since="1.37"),
    Support("groups-together", component=KUBERNETES, until="1.36"),  # 1.35 counts all pods of a gang together
    not_yet_upstream(
        "groups-together",
        "below Kubernetes 1.37 each placed group is a gang of its own, and nothing ties them together",
        "target Kubernetes 1.37, give the gang itself a level, or make each group a gang",
    ),
    Support("group-objects", up_to=4),
    never(
        "group-objects",
        "a tree of groups is at most 4 deep, and groups with minimums of their own take objects too",
        "nest fewer groups, or leave `minReplicas` out",
    ),
    Support("templates", up_to=8),
    never(
        "templates",
        "a Workload lists at most 8 templates side by side",
        "nest groups, make several alike, or split the gang",
    ),
    Support("template-name-length", up_to=63),
    never(
        "template-name-length",
        "a template's name is a DNS label of 63 characters at most",
        "shorten the names of the groups",
    ),
    approximate(
        "uneven-groups",
        "kube-scheduler places groups in the order of their creation and takes none back, so where room is"
        " scarce a small group may take the domain that a large one needs",
        "name the largest group first",
        report="info",
    ),
    approximate(
        "unequal-pods",
        "kube-scheduler places the pods of a group one after the other and takes none back, so where room is"
        " scarce they may not be placed although they fit",
        "put podSets of different size into groups of their own",
        report="info",
    ),
    approximate(
        "optional-pods-placed",
        "kube-scheduler chooses a domain for the pods that must start, and the others wait if it has no room; or"
        " they take the room that the next group needs",
        "leave `minReplicas` out where every pod matters",
    ),
    Support("several-minimums", component=KUBERNETES, since="1.37"),
    not_yet_upstream(
        "several-minimums",
        "below Kubernetes 1.37 a group has one minimum, which any of its pods can fill",
        "target Kubernetes 1.37, or leave `minReplicas` out",
    ),
    approximate("optional-groups", GREEDY, report="warning", component=KUBERNETES, since="1.37"),
    not_yet_upstream(
        "optional-groups",
        "below Kubernetes 1.37 there is no minimum of groups",
        "target Kubernetes 1.37, or make the group whole",
    ),
    not_yet_upstream(
        "separate",
        "kube-scheduler keeps groups together and has no way to keep them apart",
        "leave `separate` out: groups that fill more than half of a domain are apart by arithmetic",
    ),
    never(
        "repeated-domains",
        "kube-scheduler tells domains apart by the value of one label, so equal values under different parents"
        " are one domain to it",
        "place what is around it by the coarser level (Kubernetes 1.37), or give the label unique values",
    ),
    approximate(
        "levels-as-objects",
        "it has no object for a topology and reads the labels of nodes as they are: there is nothing to apply",
        "see that the nodes carry the labels of the levels: `kubectl get nodes -L LABEL`",
        report="info",
    ),
    never(
        "numa",
        "kube-scheduler does not see NUMA nodes; the kubelet's Topology Manager aligns what a node gets",
        "set the kubelet's topologyManagerPolicy on these nodes, and leave `numa` out",
    ),
    approximate(
        "queue",
        "kube-scheduler has no queues: work starts once it fits, within the ResourceQuotas of its namespace",
        "leave the queue out, or put Kueue in front",
        report="warning",
    ),
    Support("priority", component=KUBERNETES, since="1.37"),
    Support("priority", component=KUBERNETES, until="1.36"),
    approximate(
        "priority",
        "in Kubernetes 1.36 the pods carry the priority; where the feature gate WorkloadAwarePreemption is on,"
        " that of their groups counts instead, which is written only if the topology says so",
        "say it: `schedulers: {native: {featureGates: {WorkloadAwarePreemption: true}}}`",
        report="info",
    ),
    never(
        "never-preempted",
        "kube-scheduler preempts by priority alone",
        "name a priority class above all others in `spec.priorityClassName`, and leave `preemptible` out",
    ),
    Support("label-key-length", up_to=317),
    Support("node-name-length", up_to=253),
    not_yet_here(
        "workload-jobset",
        "Kubernetes 1.35 marks pods with `workloadRef`, which JobSet 0.11 alone keeps; 0.12 drops it",
        "use `workload: job` or `workload: pods`, or target Kubernetes 1.36",
        component=KUBERNETES,
        since="1.35",
        until="1.36",
    ),
    Support("workload-jobset", component="jobset", since="0.12"),
    never(
        "workload-jobset",
        "JobSet below 0.12 drops `schedulingGroup` from its pod templates without a word",
        "target JobSet 0.12 or later, or use `workload: job` or `workload: pods`",
    ),
    never(
        "workload-lws",
        "a LeaderWorkerSet has one pod template for all of its groups, so its pods can name one PodGroup only",
    ),
    never("workload-volcano-job", "a Volcano Job is for Volcano"),
    never("workload-sbatch", "a batch script is for Slurm"),
)

BACKEND = Backend(
    Declaration("native", component=KUBERNETES, support=SUPPORT, features=FEATURES),
    lower,
    needs=needs,
    notices=notices,
    cluster=Cluster(needs=cluster_needs),
)
"""Nothing folds: a pod template names one PodGroup, so every placed group needs templates of its own."""
