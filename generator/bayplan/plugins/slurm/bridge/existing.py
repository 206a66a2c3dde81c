"""slurm-bridge and existing workloads: their pods name one PodGroup, which is one Slurm job.

A PodGroup takes precedence over the owner of its pods (`TranslateToSlurmJobIR` in slurmjobir.go, 1.0 to 1.2). Nobody
has tried our PodGroups on the pods of other kinds.
"""

from __future__ import annotations

from bayplan.plugin import (
    Asked,
    Beside,
    Existing,
    Lowered,
    Marks,
    Meta,
    Outcome,
    Plan,
    PodParts,
    PodsFound,
    Shape,
    Target,
    missing,
    number_in,
    of_labels,
    single_pods,
    text,
    without_group,
)
from bayplan.plugin import support_table as table
from bayplan.plugins.slurm.bridge.pod_group import POD_GROUP_LABEL, PREFIX, SCHEDULER, job_options, lower


def place(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """The PodGroups of the gang. Each pod of a Deployment is a Slurm job with the options of its owner.

    slurm-bridge reads their copy in the ReplicaSet if it may not read Deployments (`slurmjobir.go`, `owner.go`, 1.2).
    """
    if not single_pods(shape):
        return lower(plan, shape, target)
    gang, scheduler = plan.gangs[0], plan.topology.scheduler_name("slurm-bridge", SCHEDULER)
    options = {PREFIX + key: value for key, value in job_options(plan, gang, plan.workflow.name, target).items()}
    return without_group(plan, Marks(Meta(annotations=options), pod=PodParts(spec={"schedulerName": scheduler})))


def ask(found: PodsFound, beside: Beside) -> Outcome[Asked] | None:
    """The gang of pods that name the scheduler, with the partition of its PodGroup. It has no levels."""
    if found.scheduler != beside.topology.scheduler_name("slurm-bridge", SCHEDULER):
        return None
    called = text(found.template, "spec", "schedulingGroup", "podGroupName") or found.label(POD_GROUP_LABEL)
    kinds = ("scheduling.k8s.io", "scheduling.x-k8s.io")
    group = next(filter(None, (beside.find(api, "PodGroup", found, called) for api in kinds)), None)
    if called and group is None:
        return missing(found, "PodGroup", called)
    key = f"{PREFIX}partition"
    partition = text(group.data, "metadata", "annotations", key) if group else found.own(key)
    least = number_in(group.data, "spec", "minMember") if group else None
    return Outcome(of_labels(found)._replace(queue=partition, waits=least or 0))


EXISTING = Existing(table("plugins", "slurm", "bridge").existing, place, ask=ask)
