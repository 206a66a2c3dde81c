"""A plan as Volcano's own documents, and the marks on its pods or on its Volcano Jobs."""

from __future__ import annotations

from bayplan.backends.volcano import pod_group, task
from bayplan.model.manifest import Lowered, Manifest, Marks, Shape
from bayplan.model.plan import Plan
from bayplan.model.target import Target

VOLCANO_JOB = "volcano-job"


def lower(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """One PodGroup for each gang; its name, policy and subgroup on the gang's pods. Volcano Jobs bring their own."""
    documents: list[Manifest] = []
    marks: dict[tuple[str, str], Marks] = {}
    for workload in shape.workloads:
        for gang in workload.gangs:
            if workload.kind == VOLCANO_JOB:
                marks.update(task.marks(plan, gang))
            else:
                documents.append(pod_group.pod_group(plan, gang))
                marks.update(pod_group.marks(plan, gang))
    return Lowered(tuple(documents), marks)
