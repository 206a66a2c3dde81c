"""Pod affinity on existing workloads: terms select pods by the labels of their templates."""

from __future__ import annotations

from bayplan.backends.none import PREFERRED, lower, podset_paths
from bayplan.backends.table import table
from bayplan.core.diagnostics import Outcome
from bayplan.kube.asked import Asked, Beside, PodsFound, of_labels, unit_of
from bayplan.kube.kinds import GROUP_LABEL
from bayplan.kube.objects import get, items, mapping
from bayplan.kube.pod import REQUIRED
from bayplan.model.existing import (
    Existing,
    for_default_scheduler,
    single_pods,
    without_group,
)
from bayplan.model.manifest import Lowered, Marks, Shape
from bayplan.model.plan import Plan
from bayplan.model.target import Target


def place(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """The same terms, and the group label that they select, which bayplan's own workloads have already.

    A copy of one pod needs no terms."""
    if single_pods(shape):
        return without_group(plan, Marks())
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


# What manifests request already.


def ask(found: PodsFound, beside: Beside) -> Outcome[Asked]:
    """The units that the labels of bayplan name, with the levels of pod affinity; otherwise the workload."""
    affinity = mapping(found.template, "spec", "affinity", "podAffinity")
    required = dict(map(unit_of, items(affinity, REQUIRED)))
    wishes = [get(each, "podAffinityTerm") for each in items(affinity, PREFERRED)]
    preferred = dict(reversed([*map(unit_of, wishes)]))
    return Outcome(of_labels(found, required, preferred))


EXISTING = Existing(table("backends", "none").existing, place, ask=ask)
