"""What the default scheduler carries. The reasons end up in front of users."""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.model.features import Feature, Support

FEATURES: Mapping[str, Feature] = {
    "group-label-length": Feature("long names of group instances", "characters", "F734", True),
    "outer-level": Feature("a required level around groups with required levels of their own", code="F732"),
    "level-labels": Feature("groups kept apart by a level that has several labels", "labels", "F733"),
}

ANOTHER = "use a scheduler of gangs, such as `-s kai`"
SUPPORT = (
    Support(
        "gang",
        "approximate",
        report="warning",
        reason="the default scheduler starts pods one by one, as room allows, and those that run keep their nodes while"
        " they wait for the rest",
        hint=ANOTHER,
    ),
    Support("group-depth", up_to=1),
    Support(
        "group-depth",
        "approximate",
        report="info",
        reason="an outer level is no more than a preference",
    ),
    Support("uneven-groups"),
    Support("mixed-pod-sets"),
    Support(
        "required-level",
        "approximate",
        report="warning",
        reason="it is pod affinity: the first pod chooses the domain, whether or not it has room for the others, and"
        " the rest follow it or wait for ever",
        hint=ANOTHER,
    ),
    Support(
        "outer-level",
        "approximate",
        reason="a pod counts for pod affinity only if it matches all required terms, so the first pod of every further"
        " group would ignore the outer one; it is written as a preference",
        hint=f"require only the innermost level, or {ANOTHER}",
    ),
    Support(
        "preferred-level",
        "approximate",
        report="info",
        reason="it is one score among those of the default scheduler",
    ),
    Support(
        "group-preferred",
        "approximate",
        report="info",
        reason="it is one score among those of the default scheduler",
    ),
    Support("required-and-preferred"),
    Support("rank-order"),
    Support("optional-pods"),
    Support(
        "optional-pods-placed",
        "approximate",
        reason="the first pods choose a domain, and further ones wait if it has no room for them",
        hint="leave `minReplicas` out where every pod matters",
    ),
    Support("optional-groups"),
    Support("separate"),
    Support("mixed-pools"),
    Support("level-labels", up_to=1),
    Support(
        "level-labels",
        "absent",
        word="never",
        reason="a term of pod affinity has one node label, and these pools have several for the level",
        hint="give the level the same label in all pools, or leave `separate` out",
    ),
    Support("repeated-values"),
    Support("compute-domain"),
    Support("several-compute-domains"),
    Support("compute-domain-each"),
    Support("network-cards"),
    Support("network-claim"),
    Support("pod-network"),
    Support("fixed-address"),
    Support("gpu-claim"),
    Support(
        "numa",
        "absent",
        word="never",
        reason="the kubelet's topology manager decides it for the whole node",
        hint="set `topologyManagerPolicy` on the nodes of the pool, and leave `numa` out",
    ),
    Support(
        "queue",
        "approximate",
        report="warning",
        reason="the default scheduler knows no queues, so it is left out",
        hint="limit namespaces with a ResourceQuota",
    ),
    Support("no-queue"),
    Support("priority"),
    Support(
        "preemptible",
        "approximate",
        report="warning",
        reason="whom a pod may preempt is said by its PriorityClass alone",
        hint="set `spec.priorityClassName`",
    ),
    Support("label-key-length"),
    Support("node-name-length"),
    Support("level-count"),
    Support("group-label-length", up_to=63),
    Support(
        "group-label-length",
        "absent",
        word="never",
        reason="pod affinity selects a group by a label, whose value has 63 characters at most",
        hint="shorten the names of the groups",
    ),
    Support("workload-jobset"),
    Support("workload-job"),
    Support("workload-pods"),
    Support("workload-lws", "absent", word="not yet here", reason="bayplan writes no LeaderWorkerSets"),
    Support("workload-volcano-job", "absent", word="never", reason="a Volcano Job is for Volcano"),
    Support("workload-sbatch", "absent", word="never", reason="an sbatch script is for Slurm"),
)
