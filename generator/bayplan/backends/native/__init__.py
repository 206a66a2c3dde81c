"""kube-scheduler of Kubernetes 1.35 to 1.37: Workload, PodGroup and CompositePodGroup (scheduling.k8s.io).

What it carries is here, by feature, amount and version. The reasons end up in front of users.
"""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.backends.native.groups import lower
from bayplan.backends.native.needs import cluster_needs, needs, notices
from bayplan.model.backend import Backend, Cluster, Declaration
from bayplan.model.features import Feature, Support, exact

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
    Support(
        "gang",
        "absent",
        word="never",
        reason="the Workload API came with Kubernetes 1.35",
        hint="target Kubernetes 1.35 or later, or choose another scheduler",
    ),
    Support("required-level", component=KUBERNETES, since="1.36"),
    Support(
        "required-level",
        "absent",
        word="not yet upstream",
        reason="PodGroups have levels since Kubernetes 1.36; before, pods are only counted",
        hint="target Kubernetes 1.36 or later, or choose another scheduler",
    ),
    Support(
        "preferred-level",
        "absent",
        word="not yet upstream",
        reason="a PodGroup names the one level that it must share, and none that it should",
        hint="make it `required`, or leave it out",
    ),
    Support(
        "required-and-preferred",
        "absent",
        word="not yet upstream",
        reason="a PodGroup names one level",
        hint="leave out the preferred level",
    ),
    Support(
        "group-preferred",
        "absent",
        word="not yet upstream",
        reason="a PodGroup names the one level that it must share, and none that it should",
        hint="make it `required`, or leave it out",
    ),
    Support("group-depth", up_to=1, component=KUBERNETES, since="1.36"),
    Support("group-depth", up_to=4, component=KUBERNETES, since="1.37"),
    Support(
        "group-depth",
        "absent",
        component=KUBERNETES,
        since="1.37",
        word="never",
        reason="a tree of groups is at most 4 deep",
        hint="drop a level between the outermost and the innermost",
    ),
    Support(
        "group-depth",
        "absent",
        component=KUBERNETES,
        until="1.36",
        word="not yet upstream",
        reason="PodGroups have levels since Kubernetes 1.36, and groups within groups since 1.37",
        hint="target Kubernetes 1.37",
    ),
    Support(
        "group-depth",
        "absent",
        word="not yet upstream",
        reason="groups within groups (CompositePodGroup) came with Kubernetes 1.37",
        hint="target Kubernetes 1.37, or keep the outermost level alone",
    ),
    Support("groups-together", component=KUBERNETES, since="1.37"),
    Support("groups-together", component=KUBERNETES, until="1.36"),  # 1.35 counts all pods of a gang together
    Support(
        "groups-together",
        "absent",
        word="not yet upstream",
        reason="below Kubernetes 1.37 each placed group is a gang of its own, and nothing ties them together",
        hint="target Kubernetes 1.37, give the gang itself a level, or make each group a gang",
    ),
    Support("group-objects", up_to=4),
    Support(
        "group-objects",
        "absent",
        word="never",
        reason="a tree of groups is at most 4 deep, and groups with minimums of their own take objects too",
        hint="nest fewer groups, or leave `minReplicas` out",
    ),
    Support("templates", up_to=8),
    Support(
        "templates",
        "absent",
        word="never",
        reason="a Workload lists at most 8 templates side by side",
        hint="nest groups, make several alike, or split the gang",
    ),
    Support("template-name-length", up_to=63),
    Support(
        "template-name-length",
        "absent",
        word="never",
        reason="a template's name is a DNS label of 63 characters at most",
        hint="shorten the names of the groups",
    ),
    Support(
        "uneven-groups",
        "approximate",
        report="info",
        reason="kube-scheduler places groups in the order of their creation and takes none back, so where room is"
        " scarce a small group may take the domain that a large one needs",
        hint="name the largest group first",
    ),
    Support(
        "unequal-pods",
        "approximate",
        report="info",
        reason="kube-scheduler places the pods of a group one after the other and takes none back, so where room is"
        " scarce they may not be placed although they fit",
        hint="put podSets of different size into groups of their own",
    ),
    Support(
        "optional-pods-placed",
        "approximate",
        reason="kube-scheduler chooses a domain for the pods that must start, and the others wait if it has no room; or"
        " they take the room that the next group needs",
        hint="leave `minReplicas` out where every pod matters",
    ),
    Support("several-minimums", component=KUBERNETES, since="1.37"),
    Support(
        "several-minimums",
        "absent",
        word="not yet upstream",
        reason="below Kubernetes 1.37 a group has one minimum, which any of its pods can fill",
        hint="target Kubernetes 1.37, or leave `minReplicas` out",
    ),
    Support("optional-groups", "approximate", report="warning", component=KUBERNETES, since="1.37", reason=GREEDY),
    Support(
        "optional-groups",
        "absent",
        word="not yet upstream",
        reason="below Kubernetes 1.37 there is no minimum of groups",
        hint="target Kubernetes 1.37, or make the group whole",
    ),
    Support(
        "separate",
        "absent",
        word="not yet upstream",
        reason="kube-scheduler keeps groups together and has no way to keep them apart",
        hint="leave `separate` out: groups that fill more than half of a domain are apart by arithmetic",
    ),
    Support(
        "repeated-domains",
        "absent",
        word="never",
        reason="kube-scheduler tells domains apart by the value of one label, so equal values under different parents"
        " are one domain to it",
        hint="place what is around it by the coarser level (Kubernetes 1.37), or give the label unique values",
    ),
    Support(
        "levels-as-objects",
        "approximate",
        report="info",
        reason="it has no object for a topology and reads the labels of nodes as they are: there is nothing to apply",
        hint="see that the nodes carry the labels of the levels: `kubectl get nodes -L LABEL`",
    ),
    Support(
        "numa",
        "absent",
        word="never",
        reason="kube-scheduler does not see NUMA nodes; the kubelet's Topology Manager aligns what a node gets",
        hint="set the kubelet's topologyManagerPolicy on these nodes, and leave `numa` out",
    ),
    Support(
        "queue",
        "approximate",
        report="warning",
        reason="kube-scheduler has no queues: work starts once it fits, within the ResourceQuotas of its namespace",
        hint="leave the queue out, or put Kueue in front",
    ),
    Support("priority", component=KUBERNETES, since="1.37"),
    Support("priority", component=KUBERNETES, until="1.36"),
    Support(
        "priority",
        "approximate",
        report="info",
        reason="in Kubernetes 1.36 the pods carry the priority; where the feature gate WorkloadAwarePreemption is on,"
        " that of their groups counts instead, which is written only if the topology says so",
        hint="say it: `schedulers: {native: {featureGates: {WorkloadAwarePreemption: true}}}`",
    ),
    Support(
        "never-preempted",
        "absent",
        word="never",
        reason="kube-scheduler preempts by priority alone",
        hint="name a priority class above all others in `spec.priorityClassName`, and leave `preemptible` out",
    ),
    Support("label-key-length", up_to=317),
    Support("node-name-length", up_to=253),
    Support(
        "workload-jobset",
        "absent",
        component=KUBERNETES,
        since="1.35",
        until="1.36",
        word="not yet here",
        reason="Kubernetes 1.35 marks pods with `workloadRef`, which JobSet 0.11 alone keeps; 0.12 drops it",
        hint="use `workload: job` or `workload: pods`, or target Kubernetes 1.36",
    ),
    Support("workload-jobset", component="jobset", since="0.12"),
    Support(
        "workload-jobset",
        "absent",
        word="never",
        reason="JobSet below 0.12 drops `schedulingGroup` from its pod templates without a word",
        hint="target JobSet 0.12 or later, or use `workload: job` or `workload: pods`",
    ),
    Support(
        "workload-lws",
        "absent",
        word="never",
        reason="a LeaderWorkerSet has one pod template for all of its groups, so its pods can name one PodGroup only",
    ),
    Support("workload-volcano-job", "absent", word="never", reason="a Volcano Job is for Volcano"),
    Support("workload-sbatch", "absent", word="never", reason="a batch script is for Slurm"),
)

BACKEND = Backend(
    Declaration("native", component=KUBERNETES, support=SUPPORT, features=FEATURES),
    lower,
    needs=needs,
    notices=notices,
    cluster=Cluster(needs=cluster_needs),
)
"""Nothing folds: a pod template names one PodGroup, so every placed group needs templates of its own."""
