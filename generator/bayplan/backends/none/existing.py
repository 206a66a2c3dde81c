"""Pod affinity on workloads that exist already: pods are selected by the labels of their templates."""

from __future__ import annotations

from bayplan.backends.none import lower, podset_paths
from bayplan.kube.kinds import GROUP_LABEL
from bayplan.model.backend import Support
from bayplan.model.existing import PLAIN, Existing, carries, for_default_scheduler, refuses
from bayplan.model.manifest import Lowered, Shape
from bayplan.model.plan import Plan
from bayplan.model.target import Target

ALIKE = "affinity selects pods by labels, and all pods of one template carry the same"
SUPPORT: tuple[Support, ...] = (
    *carries("place", *PLAIN),
    *refuses(
        "place",
        "its pods have a scheduler of their own",
        "use a JobSet, or another workload whose pods are scheduled as their template says",
        word="not yet here",
        but=PLAIN,
    ),
    *refuses("copies", ALIKE, "write a replicatedJob for each group, or use a scheduler of gangs", word="not yet here"),
    *refuses("ranks", ALIKE, "write a pod template for each group, or use a scheduler of gangs"),
    *refuses("gangs", ALIKE, "write a workload for each gang, or use a scheduler of gangs", word="not yet here"),
)


def place(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """The same terms, and the label of the group that pods are selected by: others write it on pods that they build."""
    lowered = lower(plan, shape, target)
    groups = {
        (gang.name, pods.name): {GROUP_LABEL: path[-1].unit.name}
        for gang in plan.gangs
        for pods, path in podset_paths(gang.root)
        if path[1:]
    }
    labelled = {
        key: marks._replace(pod=marks.pod._replace(labels={**marks.pod.labels, **groups.get(key, {})}))
        for key, marks in lowered.marks.items()
    }
    return for_default_scheduler(Lowered((), labelled))


EXISTING = Existing(SUPPORT, place)
