"""SlinkyProject's slurm-bridge 1.0 to 1.2: pods that Slurm places, one external job a PodGroup.

What it carries is here, by feature, amount and version. The reasons end up in front of users.
"""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.backends.slurm_bridge.pod_group import lower, needs, notices, prove
from bayplan.model.backend import (
    Backend,
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
    "slurm-jobs": Feature("a gang whose groups need a domain each", "Slurm jobs", "F720"),
    "outer-jobs": Feature("a required level around several Slurm jobs", "Slurm jobs", "F721"),
    "one-block": Feature("pods that must share one domain and fill more than a base block", "pods", "F722"),
    "known-blocks": Feature(
        "pods that must share one domain, with nothing known of the partition's blocks", "", "F723"
    ),
    "one-node": Feature("pods that must share one node", "pods", "F724"),
    "one-pool": Feature("one Slurm job over several pools", "pools", "F725"),
    "restarted-pods": Feature("pods that start again after a failure", "", "F726"),
    "counted-gpus": Feature("GPUs of a resource that Slurm does not count", "", "F727"),
    "template-placement": Feature("placement by a template", code="F736"),
    "template-claims": Feature("resource claims of a template", "", "F737", True),
    "job-name-length": Feature("long names of Slurm jobs", "characters", "F728", True),
}

SLURM = "use `-s slurm`, where one job holds the whole gang"
ENDED = (
    "slurm-bridge leaves the pods of a scheduling.x-k8s.io PodGroup alone once that has run or failed, so those of a"
    " restart wait for ever"
)
NEWER = "use Kubernetes 1.36 with PodGroups of its own, slurm-bridge 1.2 and JobSet 0.12, or no restarts"
CLAIMS = "slurm-bridge refuses pods with resource claims"
SUPPORT = (
    *exact(
        "gang uneven-groups mixed-pod-sets mixed-pools repeated-values pod-network fixed-address queue no-queue",
        "label-key-length node-name-length level-count workload-jobset workload-job workload-pods",
    ),
    Support("slurm-jobs", up_to=1),
    not_yet_upstream(
        "slurm-jobs",
        "every such group is a Slurm job of its own, and jobs start without regard to each other: some may run"
        " while the others wait",
        f"{SLURM} and --segment keeps its groups whole, or make each group a gang",
    ),
    Support("group-depth", up_to=1),
    approximate(
        "group-depth",
        "only the innermost required levels become Slurm jobs; Slurm is told nothing of the others",
        report="info",
    ),
    approximate(
        "required-level",
        "Slurm is told no level; a job of no more nodes than a base block stays in one block, as long as the"
        " topology of its partition is block",
        "check it with `scontrol show topology`",
        report="warning",
    ),
    not_yet_upstream(
        "outer-jobs", "Slurm jobs know nothing of each other, so nothing brings their blocks together", SLURM
    ),
    not_yet_upstream(
        "one-block",
        "Slurm splits such a job over several blocks, and slurm-bridge has no annotation for a segment",
        "make the group no larger than a base block, or use `-s slurm`",
    ),
    never(
        "known-blocks",
        "without topology/block Slurm takes any nodes",
        "state it in the topology, `schedulers: {slurm: {plugin: block}}`, if it is so",
    ),
    Support("one-node", up_to=1),
    never("one-node", "slurm-bridge asks Slurm for a node for every pod", "make one pod of them"),
    not_yet_upstream(
        "one-pool",
        "slurm-bridge reads no node selector and gives any pod of a job any of its nodes, which the kubelet then"
        " refuses",
        "put the pods of each pool in a gang of their own, with a partition of their own",
    ),
    never("preferred-level", "Slurm is told no level; topology/block packs what it can by itself"),
    never("group-preferred", "one job has no groups in it", "use `-s slurm`, whose --segment keeps groups whole"),
    never("required-and-preferred", "Slurm is told no level to prefer"),
    approximate(
        "rank-order",
        "a group is a job of its own and stays whole; Slurm puts the pods of a job on its nodes in no order",
        report="info",
    ),
    approximate(
        "optional-pods",
        "the Slurm job asks for a node for every pod, so all of them wait for the last",
        "ask for as many replicas as must run",
        report="warning",
    ),
    approximate("optional-pods-placed", "the Slurm job asks for a node for every pod at once"),
    approximate(
        "optional-groups",
        "groups that need a domain each start one by one anyway, and others only together",
        report="warning",
    ),
    not_yet_upstream(
        "separate",
        "nothing tells Slurm to keep jobs, or parts of one, on different blocks",
        "use `-s slurm`, which has --spread-segments",
    ),
    not_yet_upstream("compute-domain", CLAIMS, "set `computeDomain: never`"),
    not_yet_upstream("several-compute-domains", CLAIMS),
    not_yet_upstream("compute-domain-each", CLAIMS),
    approximate(
        "network-cards",
        "Slurm knows nothing of them: where two pods share a node, the kubelet refuses the one that gets none",
        "let each pod take the whole node",
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
        "slurm-bridge makes a gres of nvidia.com/gpu and amd.com/gpu alone, and since 1.1 of the device class"
        " gpu.nvidia.com; Slurm would choose nodes without such cards",
        "ask for whole cards by one of these resources",
    ),
    not_yet_upstream("numa", "Slurm is told nothing of NUMA nodes", "leave `numa` out"),
    approximate(
        "priority",
        "a PriorityClass orders only the submission; what Slurm goes by is its own priority",
        "set `backends: {slurm-bridge: {priority: ...}}` (1.2) or `qos`",
        report="warning",
    ),
    never(
        "preemptible",
        "in Slurm the QOS or the partition says whose jobs may be preempted",
        "set `backends: {slurm-bridge: {qos: ...}}` and leave `preemptible` out",
    ),
    not_yet_upstream("restarted-pods", ENDED, NEWER, component="slurmBridge", until="1.2"),
    not_yet_upstream("restarted-pods", ENDED, NEWER, component="jobset", until="0.12"),
    not_yet_upstream(
        "template-placement",
        "slurm-bridge enables no plugin that reads it; where Slurm picks other nodes, the kubelet refuses pods",
        "say it in Slurm's words, with a partition or `backends: {slurm-bridge: {constraints: ...}}`",
    ),
    not_yet_upstream("template-claims", CLAIMS, "ask for devices by extended resources"),
    Support("restarted-pods", up_to=1, component="kubernetes", since="1.36", until="1.37"),
    not_yet_upstream("restarted-pods", ENDED, NEWER),
    # 63 characters of a label's value, of which a dash and eight digits tell namespaces apart
    Support("job-name-length", up_to=54),
    never(
        "job-name-length",
        "pods name their PodGroup in a label of 63 characters, of which 9 tell namespaces apart",
        "shorten the names of workflow, gang or group",
    ),
    not_yet_here("workload-lws", "bayplan writes no LeaderWorkerSets", "use `workload: jobset`"),
    never("workload-volcano-job", "a Volcano Job is for Volcano"),
    never("workload-sbatch", "an sbatch script is for Slurm itself", "use `-s slurm`"),
)

BACKEND = Backend(
    Declaration("slurm-bridge", component="slurmBridge", support=SUPPORT, features=FEATURES),
    lower,
    needs=needs,
    prove=prove,
    notices=notices,
)
