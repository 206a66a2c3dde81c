"""What the SUNK Pod Scheduler carries. The reasons end up in front of users."""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.model.features import Feature, Support

FEATURES: Mapping[str, Feature] = {
    "missing-requests": Feature("a pod with a CPU and a memory request", "missing", "F730"),
    "grace-period": Feature("a pod that takes long to end", "seconds", "F731"),
    "sunk-placement": Feature("placement by a template", code="F738"),
    "sunk-gpus": Feature("GPUs of a resource that the Pod Scheduler does not convert", code="F735"),
}

SLURM = "use `-s slurm`: SUNK runs sbatch scripts too, with a gang and its groups in one job"
DEVICES = "the Pod Scheduler allocates no devices but GPUs"
LEVEL = "the Pod Scheduler has no annotation for topology"
SUPPORT = (
    Support("gang", up_to=1),
    Support(
        "gang",
        "absent",
        word="not yet here",
        reason="every pod is a Slurm job of its own, which starts when there is room for it alone; SUNK 7.6 and 8.2 can"
        " start the pods of one Job together, which bayplan does not ask for yet",
        hint=SLURM,
    ),
    Support("group-depth", "absent", word="never", reason=LEVEL, hint=SLURM),
    Support("uneven-groups"),
    Support("mixed-pod-sets"),
    Support("required-level", "absent", word="not yet upstream", reason=LEVEL, hint=SLURM),
    Support("preferred-level", "absent", word="not yet upstream", reason=LEVEL, hint=SLURM),
    Support("group-preferred", "absent", word="not yet upstream", reason=LEVEL, hint=SLURM),
    Support("required-and-preferred", "absent", word="not yet upstream", reason=LEVEL, hint=SLURM),
    Support("rank-order", "absent", word="not yet upstream", reason=LEVEL, hint=SLURM),
    Support("optional-pods"),
    Support("optional-pods-placed", "absent", word="not yet upstream", reason=LEVEL, hint=SLURM),
    Support("optional-groups"),
    Support("separate", "absent", word="not yet upstream", reason=LEVEL, hint=SLURM),
    Support("mixed-pools", "absent", word="not yet upstream", reason=LEVEL, hint=SLURM),
    Support("repeated-values"),
    Support(
        "compute-domain",
        "absent",
        word="not yet upstream",
        reason=DEVICES,
        hint="set `computeDomain: never`, or use `-s slurm`",
    ),
    Support("several-compute-domains", "absent", word="not yet upstream", reason=DEVICES),
    Support("compute-domain-each", "absent", word="not yet upstream", reason=DEVICES),
    Support(
        "network-cards",
        "approximate",
        report="warning",
        reason="Slurm knows nothing of them: where two pods share a node, the kubelet refuses the one that gets none",
        hint="let each pod take the whole node",
    ),
    Support(
        "network-claim",
        "absent",
        word="not yet upstream",
        reason="the Pod Scheduler makes a gres of nvidia.com/gpu requests alone",
        hint="use a device plugin",
    ),
    Support("pod-network"),
    Support("fixed-address"),
    Support(
        "gpu-claim",
        "absent",
        word="not yet upstream",
        reason="the Pod Scheduler makes a gres of nvidia.com/gpu requests alone",
        hint="use `allocator: device-plugin`",
    ),
    Support(
        "sunk-gpus",
        "absent",
        word="not yet upstream",
        reason="the Pod Scheduler makes a gres of nvidia.com/gpu requests alone",
        hint="use cards that are offered as nvidia.com/gpu",
    ),
    Support(
        "sunk-placement",
        "absent",
        word="not yet upstream",
        reason="the Pod Scheduler does not read it; pods get stuck on nodes that it does not allow",
        hint="say it in Slurm's words, with a partition or a reservation",
    ),
    Support(
        "missing-requests",
        "absent",
        word="never",
        reason="the Pod Scheduler schedules no pod without both, greater than zero",
        hint="add `resources: {cpu: ..., memory: ...}`",
    ),
    Support(
        "grace-period",
        "absent",
        word="never",
        reason="terminationGracePeriodSeconds must be less than Slurm's KillWait by more than 5 seconds",
        hint="shorten it, or state a longer `schedulers: {sunk: {killWait: ...}}`",
    ),
    Support("numa", "absent", word="not yet upstream", reason="Slurm is told nothing of NUMA nodes", hint=SLURM),
    Support("queue"),
    Support("no-queue"),
    Support(
        "priority",
        "approximate",
        report="warning",
        reason="what Slurm goes by is its own priority",
        hint="set `backends: {sunk: {qos: ...}}`",
    ),
    Support(
        "preemptible",
        "absent",
        word="never",
        reason="in Slurm the QOS or the partition says whose jobs may be preempted",
        hint="set `backends: {sunk: {qos: ...}}` and leave `preemptible` out",
    ),
    Support("label-key-length"),
    Support("node-name-length"),
    Support("level-count"),
    Support("workload-jobset"),
    Support("workload-job"),
    Support("workload-pods"),
    Support("workload-lws", "absent", word="not yet here", reason="bayplan writes no LeaderWorkerSets"),
    Support("workload-volcano-job", "absent", word="never", reason="a Volcano Job is for Volcano"),
    Support(
        "workload-sbatch", "absent", word="never", reason="an sbatch script is for Slurm itself", hint="use `-s slurm`"
    ),
)
