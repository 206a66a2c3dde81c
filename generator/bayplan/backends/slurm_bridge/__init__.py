"""SlinkyProject's slurm-bridge 1.0 to 1.2: pods that Slurm places, one external job for each PodGroup.

The rows declare what it supports, by feature, amount and version. Messages and docs/schedulers.md print the reasons.
"""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.backends.slurm_bridge.pod_group import lower, needs, notices, prove
from bayplan.model import backend as common
from bayplan.model.backend import (
    Backend,
    Declaration,
    Feature,
    Support,
    approximate,
    exact,
    never,
    not_yet_upstream,
)

CLAIMED = ("gpu-claim", "network-claim", "compute-domain", "several-compute-domains", "compute-domain-each")
"""Features with resource claims. The webhook refuses their pods, so nobody can accept the loss."""

FEATURES: Mapping[str, Feature] = {
    "slurm-jobs": Feature("a gang whose groups have required levels", "Slurm jobs", "F670"),
    "outer-jobs": Feature("a required level around several Slurm jobs", code="F638"),
    "one-block": Feature("a required level for more nodes than a base block has", code="F703"),
    "known-blocks": Feature("a required level without topology/block", code="F700"),
    "one-node": Feature("several pods on one node", "pods", "F642"),
    "one-pool": Feature("one Slurm job over several pools", code="F603"),
    "restarted-pods": Feature("restarts of pods after a failure", code="F608"),
    "counted-gpus": Feature("GPUs of other resources than nvidia.com/gpu and amd.com/gpu", code="F727"),
    "template-placement": Feature("placement by a pod template", code="F736"),
    "template-claims": Feature("resource claims of a pod template", "", "F737", True),
    "shared-cards": Feature("network cards of pods that share a node", code="F750"),
    "job-name-length": Feature("long names of Slurm jobs", "characters", "F613", True),
    **{name: common.FEATURES[name]._replace(firm=True) for name in CLAIMED},
}

SLURM = "use `-s slurm`, where one job has the whole gang"
ENDED = "slurm-bridge ignores pods of a `scheduling.x-k8s.io` PodGroup that has run or failed, so they wait forever"
NEWER = "use Kubernetes 1.36 with its own PodGroups, slurm-bridge 1.2 and JobSet 0.12, or remove the field"
CLAIMS = "slurm-bridge refuses pods with resource claims"
ONE_NODE_EACH = "slurm-bridge requests one node for each pod of a Slurm job"
NO_LEVELS = "slurm-bridge passes no level to Slurm; topology/block packs the nodes of a job by itself"
COPIES = "slurm-bridge makes one Slurm job of all pods of a PodGroup, so each copy has objects of its own"
SUPPORT = (
    *exact(
        "gang uneven-groups mixed-pod-sets mixed-pools repeated-values network-cards pod-network fixed-address queue",
        "no-queue label-key-length node-name-length level-count workload-jobset workload-job workload-pods",
    ),
    Support("slurm-jobs", up_to=1),
    not_yet_upstream(
        "slurm-jobs",
        "slurm-bridge submits each group with a required level as a Slurm job of its own, so some groups may run"
        " while the others wait",
        f"{SLURM} and --segment keeps its groups whole, or make each group a gang",
    ),
    Support("group-depth", up_to=1),
    approximate(
        "group-depth",
        "slurm-bridge makes Slurm jobs only of the innermost required levels, and passes no other level to Slurm",
        report="info",
    ),
    approximate(
        "required-level",
        "slurm-bridge passes no level to Slurm, which keeps a job in one block only if its partition has topology/block"
        " and the job fits into a base block",
        "check the topology with `scontrol show topology`",
        report="warning",
    ),
    not_yet_upstream("outer-jobs", "slurm-bridge cannot keep several Slurm jobs near each other", SLURM),
    not_yet_upstream(
        "one-block",
        "slurm-bridge has no annotation for segments, so Slurm splits a job that is larger than a base block over"
        " several blocks",
        "make the group no larger than a base block, or use `-s slurm`",
    ),
    never(
        "known-blocks",
        "Slurm places a job on any nodes unless its partition has topology/block",
        "if it has, state it in the topology file: `schedulers: {slurm: {plugin: block}}`",
    ),
    Support("one-node", up_to=1),
    never("one-node", ONE_NODE_EACH, "merge them into one pod"),
    not_yet_upstream(
        "one-pool",
        "slurm-bridge reads no node selector and gives each pod of a job any node of the job; the kubelet of a wrong"
        " node refuses the pod",
        "put the pods of each pool into a gang of their own, with its own partition",
    ),
    never("preferred-level", NO_LEVELS, "remove `preferred`"),
    never(
        "group-preferred",
        "slurm-bridge submits Slurm jobs without groups in them",
        "use `-s slurm`, whose --segment keeps groups whole, or remove `preferred`",
    ),
    never("required-and-preferred", NO_LEVELS, "remove `preferred`"),
    approximate(
        "rank-order",
        "slurm-bridge assigns the pods of a job to its nodes in any order; each group is a job of its own and stays"
        " whole",
        report="info",
    ),
    approximate(
        "optional-pods",
        "slurm-bridge requests a node for each pod, so all pods wait for the last node",
        "set `replicas` to the number of pods that must run",
        report="warning",
    ),
    approximate("optional-pods-placed", "slurm-bridge requests nodes for all pods of a job at once"),
    approximate(
        "optional-groups",
        "slurm-bridge starts groups with a required level one by one anyway, and other groups only together",
        report="warning",
    ),
    not_yet_upstream(
        "separate",
        "slurm-bridge cannot keep jobs, or parts of a job, on different blocks",
        "use `-s slurm`, which has --spread-segments",
    ),
    not_yet_upstream("compute-domain", CLAIMS, "set `computeDomain: never`"),
    not_yet_upstream("several-compute-domains", CLAIMS, "set `computeDomain: never`"),
    not_yet_upstream("compute-domain-each", CLAIMS, "set `computeDomain: never`"),
    approximate(
        "shared-cards",
        "Slurm does not count network cards; if two pods share a node, the kubelet refuses the one that gets none",
        "let each pod take a whole node",
        report="warning",
    ),
    not_yet_upstream("network-claim", CLAIMS, "use a device plugin"),
    not_yet_upstream(
        "gpu-claim",
        CLAIMS,
        "use `allocator: device-plugin`; with `resources: {count:"
        " deviceclass.resource.kubernetes.io/gpu.nvidia.com}` slurm-bridge 1.1 makes the claim itself",
    ),
    Support("counted-gpus", up_to=2, component="slurmBridge", since="1.1"),
    not_yet_upstream(
        "counted-gpus",
        "slurm-bridge makes a gres only of nvidia.com/gpu, amd.com/gpu and, since 1.1, the device class gpu.nvidia.com;"
        " Slurm would choose nodes without other devices",
        "request whole devices by one of these resources",
    ),
    not_yet_upstream("numa", "slurm-bridge passes no NUMA request to Slurm", "remove `numa`"),
    approximate(
        "priority",
        "slurm-bridge orders only the submission of jobs by PriorityClass; Slurm uses its own priority",
        "remove it, and set `backends: {slurm-bridge: {priority: ...}}` (1.2) or `qos` on each gang",
        report="warning",
    ),
    never(
        "preemptible",
        "Slurm ignores `preemptible`; the QOS or the partition decides which jobs it may preempt",
        "set `backends: {slurm-bridge: {qos: ...}}` and remove `preemptible`",
    ),
    not_yet_upstream("restarted-pods", ENDED, NEWER, component="slurmBridge", until="1.2"),
    not_yet_upstream("restarted-pods", ENDED, NEWER, component="jobset", until="0.12"),
    not_yet_upstream(
        "template-placement",
        "slurm-bridge ignores it; if Slurm chooses other nodes, the kubelet refuses the pods",
        "use a Slurm partition, or `backends: {slurm-bridge: {constraints: ...}}`",
    ),
    not_yet_upstream("template-claims", CLAIMS, "request devices by extended resources"),
    Support("restarted-pods", up_to=1, component="kubernetes", since="1.36", until="1.37"),
    not_yet_upstream("restarted-pods", ENDED, NEWER),
    # 63 characters of a label value, of which a dash and eight digits distinguish namespaces
    Support("job-name-length", up_to=54),
    never(
        "job-name-length",
        "slurm-bridge reads the name from a label of 63 characters, of which bayplan needs 9 to distinguish namespaces",
        "shorten the names of workflow, gang or group",
    ),
    approximate("limited-copies", COPIES, report="info"),
    approximate("unlimited-copies", COPIES, report="info"),
    never("workload-volcano-job", hint="use `workload: jobset`"),
    never("workload-sbatch", "slurm-bridge places pods; Slurm itself runs sbatch scripts", "use `-s slurm`"),
)

BACKEND = Backend(
    Declaration("slurm-bridge", component="slurmBridge", support=SUPPORT, features=FEATURES),
    lower,
    needs=needs,
    prove=prove,
    notices=notices,
)
