"""Volcano 1.14.3 to 1.15: a PodGroup with subgroups for each gang, or a Volcano Job with partitions.

What it carries is here, by feature, amount and version. The reasons end up in front of users.
"""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.backends.volcano.needs import cluster_needs, cluster_objects, needs, notices
from bayplan.backends.volcano.pod_group import lower
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
    "volcano-release": Feature("gangs with subgroups or partitions", code="F641", firm=True),
    "nested-subgroups": Feature("placed or optional groups inside others", "levels of subgroups", "F640"),
    "host-tier": Feature("pods that must share one node", code="F642"),
    "weightless-pods": Feature("placed pods that request nothing", code="F643"),
    "optional-roles": Feature("a least number of each podSet in a group that is optional", code="F646"),
    "unit-name-length": Feature("long names of group instances", "characters", "F647", True),
    "whole-cpus": Feature("a NUMA alignment of whole CPUs", code="F648"),
    "uneven-depth": Feature("one level at two heights", code="T450", firm=True),
    "repeated-discovered": Feature("level values that repeat, with discovered HyperNodes", code="T451"),
}
"""What only Volcano is asked for."""

RELEASE = "below 1.14.3, and in 1.15.0, a partition may drop its gang and a subgroup may never start"
USE_JOBSET = "use `workload: jobset`"
SUPPORT = (
    *exact(
        "gang uneven-groups mixed-pod-sets required-level group-preferred rank-order optional-pods optional-groups",
        "mixed-pools repeated-values compute-domain several-compute-domains compute-domain-each network-cards",
        "network-claim pod-network fixed-address queue no-queue priority preemptible label-key-length level-count",
        "node-name-length workload-jobset workload-job workload-pods workload-volcano-job",
    ),
    # volcano-sh/volcano#4871 (1.14.1), #5189 and #5190 (1.14.2, 1.15.0), #5401 and #5402 (1.14.3, 1.15.1).
    Support("volcano-release", component="volcano", since="1.15.1"),
    Support("volcano-release", component="volcano", since="1.14.3", until="1.15"),
    not_yet_upstream(
        "volcano-release",
        RELEASE,
        "install and target Volcano 1.14.3, or 1.15.1 and later (`versions: {volcano: ...}`, with the patch)",
    ),
    Support("group-depth", up_to=2),
    not_yet_upstream(
        "group-depth",
        "a PodGroup has one level for the gang and one for its subgroups",
        "drop the placement in between: the finer one keeps its groups together all the same",
    ),
    Support("nested-subgroups", up_to=1),
    not_yet_upstream(
        "nested-subgroups",
        "a pod belongs to one subgroup, and subgroups hold no others",
        "put the outer placement on the gang, or drop one of the two",
    ),
    not_yet_here(
        "host-tier",
        "HyperNodes end at the finest level above the host; one for each node would be tried one by one",
        "make one pod of it, or require the next coarser level",
    ),
    approximate(
        "preferred-level",
        "soft mode names no level: Volcano tries the finest domains first and widens until the pods fit",
        "use `required` where the level matters",
        report="warning",
    ),
    approximate(
        "required-and-preferred",
        "within the required level Volcano tries the finest domains first, whichever level is preferred",
        "leave `preferred` out: finer domains are tried first anyway",
        report="info",
    ),
    approximate(
        "optional-pods-placed",
        "Volcano chooses a domain for the pods that must start, and the others wait if it has no room for them",
        "leave `minReplicas` out where every pod matters",
    ),
    approximate(
        "optional-roles",
        "a subgroup counts its pods together, of whichever podSet they are",
        "leave `minReplicas` of the podSets or of the group out",
    ),
    not_yet_upstream(
        "separate",
        "Volcano packs subgroups and has no way to keep them apart (volcano#5349)",
        "leave `separate` out: groups that fill more than half of a domain are apart by arithmetic",
    ),
    never(
        "uneven-depth",
        "a tier is one number for the whole cluster, counted from the finest level, so it would have two",
        "give pools that share a level the same levels below it, or leave levels out where nothing is placed",
    ),
    never(
        "repeated-discovered",
        "discovery from labels takes two domains of one value for one domain",
        "use `hyperNodes: emit`, or make the values unique",
    ),
    never(
        "weightless-pods",
        "Volcano takes a pod without requests for best effort and places it without a look at HyperNodes;"
        " claims are no requests",
        "give the podSet `resources`, such as cpu",
    ),
    Support("gpu-claim", component="volcano", since="1.15"),
    approximate(
        "gpu-claim",
        "GPUs claimed through DRA do not count against the queue below Volcano 1.15",
        "target Volcano 1.15.1, or use the device plugin",
        report="warning",
        component="volcano",
    ),
    approximate(
        "numa",
        "Volcano aligns CPUs alone, and only on nodes whose kubelet has this very policy and static CPUs",
        "set the kubelet's topologyManagerPolicy to the same word",
        report="warning",
    ),
    never(
        "whole-cpus",
        "Volcano refuses a topologyPolicy for containers whose CPU request is no whole number",
        'give the podSet whole CPUs, such as `resources: {cpu: "8"}`',
    ),
    Support("unit-name-length", up_to=63),
    never(
        "unit-name-length",
        "a subgroup is known by a label, whose value has 63 characters at most",
        "shorten the names of the groups",
    ),
    not_yet_upstream(
        "workload-lws",
        "the LeaderWorkerSet controller makes one PodGroup for each of its groups, without a topology",
        USE_JOBSET,
    ),
    never("workload-sbatch", "an sbatch script is for Slurm", USE_JOBSET),
)

BACKEND = Backend(
    Declaration(
        "volcano",
        component="volcano",
        support=SUPPORT,
        features=FEATURES,
        kinds=("jobset", "job", "pods", "volcano-job"),
        folds={"volcano-job": "alike"},
    ),
    lower,
    needs=needs,
    notices=notices,
    cluster=Cluster(cluster_objects, cluster_needs),
)
