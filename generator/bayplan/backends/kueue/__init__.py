"""Kueue 0.14 to 0.19: levels as annotations of pod templates, groups as slices of one podSet.

What it carries is here, by feature, amount and version. The reasons end up in front of users.
"""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.backends.kueue.lower import lower
from bayplan.backends.kueue.needs import cluster_needs, cluster_objects, needs, notices, prove
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
    "unlike-pair": Feature("a placement over two podSets that are no leader and its workers", code="F650"),
    "unlike-slices": Feature("a placement over group instances that differ", code="F651"),
    "slice-layers": Feature("groups inside each other, each on a level", "layers of slices", "F652"),
    "gated-slice-layers": Feature("groups inside each other, behind a feature gate", "layers of slices", "F653"),
    "slice-preferred": Feature("groups that should share one domain each", code="F654"),
    "bare-pod-sets": Feature("bare pods of several podSets in one gang", "podSets", "F655"),
    "admitted-together": Feature("gangs that run after each other are admitted together", "gangs", "F656"),
    "flavor-size": Feature("labels or tolerations of one pool", "entries", "F657", True),
    "flavor-count": Feature("pools behind one queue", "pools", "F658", True),
}
"""Needs of Kueue's own. What a pair or slices may be, no shared need says."""

ONE_BY_ONE = "Kueue places every podSet by itself; together it places a leader and its workers, two podSets at most"
UNFOLD = "put the pods into one podSet, or place the groups and not what is around them"
ELASTIC = "Kueue admits a workload whole; its partial admission is for Jobs without a topology"
NESTED_SLICES = (
    "nested slices are behind the feature gate TASMultiLayerTopology, which came with 0.17 and is on since 0.19"
)

PODS = (
    approximate("gang", "it admits all pods at once, but kube-scheduler starts them one by one", report="info"),
    Support("rank-order"),
    never("optional-pods", ELASTIC, "leave `minReplicas` out"),
    Support("optional-pods-placed"),  # the pods themselves are refused
    never("optional-groups", ELASTIC, "leave `minReplicas` out"),
    never("numa", "NUMA is the kubelet's to align", "set its topology manager policy"),
    not_yet_here(
        "bare-pod-sets",
        "Kueue tells the podSets of a group of pods apart by what their pods ask for, not by name",
        "use `workload: jobset`",
    ),
)
PLACEMENT = (
    *exact(
        "group-depth uneven-groups required-level preferred-level repeated-values",
    ),
    not_yet_upstream(
        "group-preferred",
        "slices of a podSet have required levels only; Kueue packs them tightly below its level anyway",
        "leave it out, or require the level",
    ),
    not_yet_upstream(
        "slice-preferred",
        "slices of a podSet have required levels only",
        "require the level, or prefer one for the whole gang",
    ),
    not_yet_upstream(
        "required-and-preferred",
        "the two annotations exclude each other; below a required level Kueue packs as tightly as it can",
        "leave the preferred level out",
    ),
    not_yet_upstream(
        "separate",
        "slices may share a domain, and nothing keeps them apart",
        "leave `separate` out: groups that fill more than half of a domain are apart by arithmetic",
    ),
    never(
        "mixed-pools",
        "a podSet runs on one flavor, which has one Topology",
        "put the pods of each pool in a group of their own, without a placement over both",
    ),
    Support("mixed-pod-sets", up_to=2),
    not_yet_upstream("mixed-pod-sets", ONE_BY_ONE, UNFOLD),
    not_yet_upstream(
        "unlike-pair",
        "of two podSets in one domain, one must have a single pod; both run in one pool, and neither has slices,"
        " which several instances of their group would be",
        "write each instance as a group of its own with `replicas: 1`, or leave the group's placement out",
    ),
    not_yet_upstream(
        "unlike-slices",
        "slices of a podSet are all of one size, and their ranks follow each other",
        "make the groups equal, or place each group and not what is around them",
    ),
    Support("slice-layers", up_to=1),
    Support("slice-layers", up_to=3, component="kueue", since="0.19"),
    not_yet_upstream(
        "slice-layers",
        f"{NESTED_SLICES}, and there are 3 layers at most",
        "target Kueue 0.19, name the gate in the topology's `schedulers: {kueue: {featureGates}}`, or nest less",
    ),
    Support("gated-slice-layers", up_to=1),
    Support("gated-slice-layers", up_to=3, component="kueue", since="0.17"),
    not_yet_upstream(
        "gated-slice-layers",
        f"{NESTED_SLICES}, and there are 3 layers at most",
        "target Kueue 0.17 or later, or nest less",
    ),
)
CLAIMS = (
    *exact(
        "network-cards pod-network fixed-address",
    ),
    approximate(
        "compute-domain",
        "Kueue below 0.18 does not see the claims of its channels, so they count against no quota",
        "nothing to do where a node has one claiming pod",
        report="warning",
        component="kueue",
        until="0.18",
    ),
    not_yet_upstream(
        "compute-domain",
        "Kueue 0.18 refuses claims with a device configuration, which every channel has",
        "target Kueue 0.19, or 0.17",
        component="kueue",
        until="0.19",
    ),
    Support("compute-domain"),
    approximate(
        "several-compute-domains",
        "the groups share one pod template and so one ComputeDomain of the gang;"
        " NVLink stays whole inside each group, for the required level keeps it there",
        "nothing to do, or `computeDomain: gang` says so in the file",
        report="warning",
    ),
    never(
        "compute-domain-each",
        "the groups share one pod template, which names one claim",
        "leave `computeDomain: group` out: one for the gang does the same inside each group",
    ),
    not_yet_upstream(
        "network-claim",
        "claimed network cards do not count when Kueue looks for a domain, and Kueue 0.18 admits no workload"
        " whose claims have constraints or settings",
        "use a fabric whose cards are extended resources",
    ),
    not_yet_upstream(
        "gpu-claim",
        "claimed GPUs do not count when Kueue looks for a domain, so it would fill domains that are full",
        "use `allocator: device-plugin`",
    ),
)
QUEUES = (
    Support("queue"),
    never("no-queue", "it leaves work without a queue alone", "set `spec.queue`, or `defaults.queue` in the topology"),
    Support("priority"),
    never(
        "preemptible",
        "who may be preempted is for the ClusterQueue to say",
        "leave it out, and set `preemption` in the ClusterQueue",
    ),
    approximate(
        "admitted-together",
        "a JobSet is admitted as one workload, so it waits for quota and room for all of its gangs",
        "render them apart with `--gang NAME` where that is too much",
        report="info",
    ),
)
CLUSTER = (
    # Levels of an assignment: 8 up to 0.14.2, then 16 (CRD workloads.kueue.x-k8s.io), as many as a Topology has.
    Support("level-count", up_to=8),
    Support("level-count", up_to=16, component="kueue", since="0.14.3"),
    never(
        "level-count",
        "a Topology holds 16 levels, and up to Kueue 0.14.2 an assignment holds 8",
        "leave out levels nobody uses",
    ),
    # A level in a Workload: no bound in v1beta1, 63 characters in v1beta2; 316 in a Topology.
    Support("label-key-length", up_to=316, component="kueue", until="0.15"),
    Support("label-key-length", up_to=63),
    never(
        "label-key-length",
        "a workload names levels of 63 characters at most, prefix and slash counted",
        "copy the label of the nodes into one with a shorter key",
    ),
    Support("node-name-length"),
    Support("flavor-count", up_to=64),
    never(
        "flavor-count",
        "a ClusterQueue has 64 flavors for one set of resources, and each pool is one",
        "put pools of equal nodes and levels together",
    ),
    Support("flavor-size", up_to=8),
    never(
        "flavor-size",
        "a ResourceFlavor holds 8 labels and 8 tolerations",
        "one label that all nodes of the pool have is enough",
    ),
)
KINDS = (
    Support("workload-jobset", up_to=8),
    Support("workload-jobset", up_to=10, component="kueue", since="0.18"),
    Support("workload-jobset", up_to=18, component="kueue", since="0.19"),
    never(
        "workload-jobset",
        "each replicatedJob is a podSet, and a Workload holds 8 (10 since Kueue 0.18, 18 since 0.19)",
        "make the groups equal, so that they become one podSet",
    ),
    Support("workload-job", up_to=1),
    never(
        "workload-job", "each Job is a workload of its own, and no two are admitted together", "use `workload: jobset`"
    ),
    Support("workload-pods"),
    not_yet_here("workload-lws", "it makes a workload of each group of an LWS"),
    never("workload-volcano-job", "a Volcano Job is for Volcano"),
    never("workload-sbatch", "a batch script is for Slurm"),
)
SUPPORT = (*PODS, *PLACEMENT, *CLAIMS, *QUEUES, *CLUSTER, *KINDS)

BACKEND = Backend(
    Declaration(
        "kueue",
        component="kueue",
        support=SUPPORT,
        features=FEATURES,
        kinds=(
            "jobset",
            "job",
        ),  # bare pods where a gang asks for them: Kueue tells their podSets apart by requests alone
        folds={"jobset": "all", "job": "all"},
    ),
    lower,
    needs=needs,
    prove=prove,
    notices=notices,
    cluster=Cluster(cluster_objects, cluster_needs),
)
