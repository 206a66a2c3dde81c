"""SlinkyProject's slurm-bridge 1.0 to 1.2: pods that Slurm places, one external job a PodGroup.

What it carries is here, by feature, amount and version. The reasons end up in front of users.
"""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.backends.slurm_bridge.pod_group import lower, needs, notices, prove
from bayplan.model.backend import Backend, Declaration
from bayplan.model.features import Feature, Support, exact

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
    Support(
        "slurm-jobs",
        "absent",
        word="not yet upstream",
        reason="every such group is a Slurm job of its own, and jobs start without regard to each other: some may run"
        " while the others wait",
        hint=f"{SLURM} and --segment keeps its groups whole, or make each group a gang",
    ),
    Support("group-depth", up_to=1),
    Support(
        "group-depth",
        "approximate",
        report="info",
        reason="only the innermost required levels become Slurm jobs; Slurm is told nothing of the others",
    ),
    Support(
        "required-level",
        "approximate",
        report="warning",
        reason="Slurm is told no level; a job of no more nodes than a base block stays in one block, as long as the"
        " topology of its partition is block",
        hint="check it with `scontrol show topology`",
    ),
    Support(
        "outer-jobs",
        "absent",
        word="not yet upstream",
        reason="Slurm jobs know nothing of each other, so nothing brings their blocks together",
        hint=SLURM,
    ),
    Support(
        "one-block",
        "absent",
        word="not yet upstream",
        reason="Slurm splits such a job over several blocks, and slurm-bridge has no annotation for a segment",
        hint="make the group no larger than a base block, or use `-s slurm`",
    ),
    Support(
        "known-blocks",
        "absent",
        word="never",
        reason="without topology/block Slurm takes any nodes",
        hint="state it in the topology, `schedulers: {slurm: {plugin: block}}`, if it is so",
    ),
    Support("one-node", up_to=1),
    Support(
        "one-node",
        "absent",
        word="never",
        reason="slurm-bridge asks Slurm for a node for every pod",
        hint="make one pod of them",
    ),
    Support(
        "one-pool",
        "absent",
        word="not yet upstream",
        reason="slurm-bridge reads no node selector and gives any pod of a job any of its nodes, which the kubelet then"
        " refuses",
        hint="put the pods of each pool in a gang of their own, with a partition of their own",
    ),
    Support(
        "preferred-level",
        "absent",
        word="never",
        reason="Slurm is told no level; topology/block packs what it can by itself",
    ),
    Support(
        "group-preferred",
        "absent",
        word="never",
        reason="one job has no groups in it",
        hint="use `-s slurm`, whose --segment keeps groups whole",
    ),
    Support("required-and-preferred", "absent", word="never", reason="Slurm is told no level to prefer"),
    Support(
        "rank-order",
        "approximate",
        report="info",
        reason="a group is a job of its own and stays whole; Slurm puts the pods of a job on its nodes in no order",
    ),
    Support(
        "optional-pods",
        "approximate",
        report="warning",
        reason="the Slurm job asks for a node for every pod, so all of them wait for the last",
        hint="ask for as many replicas as must run",
    ),
    Support(
        "optional-pods-placed",
        "approximate",
        reason="the Slurm job asks for a node for every pod at once",
    ),
    Support(
        "optional-groups",
        "approximate",
        report="warning",
        reason="groups that need a domain each start one by one anyway, and others only together",
    ),
    Support(
        "separate",
        "absent",
        word="not yet upstream",
        reason="nothing tells Slurm to keep jobs, or parts of one, on different blocks",
        hint="use `-s slurm`, which has --spread-segments",
    ),
    Support("compute-domain", "absent", word="not yet upstream", reason=CLAIMS, hint="set `computeDomain: never`"),
    Support("several-compute-domains", "absent", word="not yet upstream", reason=CLAIMS),
    Support("compute-domain-each", "absent", word="not yet upstream", reason=CLAIMS),
    Support(
        "network-cards",
        "approximate",
        report="warning",
        reason="Slurm knows nothing of them: where two pods share a node, the kubelet refuses the one that gets none",
        hint="let each pod take the whole node",
    ),
    Support("network-claim", "absent", word="not yet upstream", reason=CLAIMS, hint="use a device plugin"),
    Support(
        "gpu-claim",
        "absent",
        word="not yet upstream",
        reason=CLAIMS,
        hint="use `allocator: device-plugin`; with `resources: {count:"
        " deviceclass.resource.kubernetes.io/gpu.nvidia.com}` slurm-bridge 1.1 makes the claim itself",
    ),
    Support("counted-gpus", up_to=2, component="slurmBridge", since="1.1"),
    Support(
        "counted-gpus",
        "absent",
        word="not yet upstream",
        reason="slurm-bridge makes a gres of nvidia.com/gpu and amd.com/gpu alone, and since 1.1 of the device class"
        " gpu.nvidia.com; Slurm would choose nodes without such cards",
        hint="ask for whole cards by one of these resources",
    ),
    Support(
        "numa",
        "absent",
        word="not yet upstream",
        reason="Slurm is told nothing of NUMA nodes",
        hint="leave `numa` out",
    ),
    Support(
        "priority",
        "approximate",
        report="warning",
        reason="a PriorityClass orders only the submission; what Slurm goes by is its own priority",
        hint="set `backends: {slurm-bridge: {priority: ...}}` (1.2) or `qos`",
    ),
    Support(
        "preemptible",
        "absent",
        word="never",
        reason="in Slurm the QOS or the partition says whose jobs may be preempted",
        hint="set `backends: {slurm-bridge: {qos: ...}}` and leave `preemptible` out",
    ),
    Support(
        "restarted-pods",
        "absent",
        component="slurmBridge",
        until="1.2",
        word="not yet upstream",
        reason=ENDED,
        hint=NEWER,
    ),
    Support(
        "restarted-pods",
        "absent",
        component="jobset",
        until="0.12",
        word="not yet upstream",
        reason=ENDED,
        hint=NEWER,
    ),
    Support(
        "template-placement",
        "absent",
        word="not yet upstream",
        reason="slurm-bridge enables no plugin that reads it; where Slurm picks other nodes, the kubelet refuses pods",
        hint="say it in Slurm's words, with a partition or `backends: {slurm-bridge: {constraints: ...}}`",
    ),
    Support(
        "template-claims",
        "absent",
        word="not yet upstream",
        reason=CLAIMS,
        hint="ask for devices by extended resources",
    ),
    Support("restarted-pods", up_to=1, component="kubernetes", since="1.36", until="1.37"),
    Support("restarted-pods", "absent", word="not yet upstream", reason=ENDED, hint=NEWER),
    # 63 characters of a label's value, of which a dash and eight digits tell namespaces apart
    Support("job-name-length", up_to=54),
    Support(
        "job-name-length",
        "absent",
        word="never",
        reason="pods name their PodGroup in a label of 63 characters, of which 9 tell namespaces apart",
        hint="shorten the names of workflow, gang or group",
    ),
    Support(
        "workload-lws",
        "absent",
        word="not yet here",
        reason="bayplan writes no LeaderWorkerSets",
        hint="use `workload: jobset`",
    ),
    Support("workload-volcano-job", "absent", word="never", reason="a Volcano Job is for Volcano"),
    Support(
        "workload-sbatch", "absent", word="never", reason="an sbatch script is for Slurm itself", hint="use `-s slurm`"
    ),
)

BACKEND = Backend(
    Declaration("slurm-bridge", component="slurmBridge", support=SUPPORT, features=FEATURES),
    lower,
    needs=needs,
    prove=prove,
    notices=notices,
)
