"""What a plan puts on the pod templates of a workload, and the objects that go with it."""

from __future__ import annotations

from collections.abc import Mapping

from bayplan._augment.cluster import Cluster, carries_domain
from bayplan.adorn import Dressed
from bayplan.companions import compute_domain
from bayplan.kube.kinds.parts import GANG_LABEL, WORKFLOW_LABEL
from bayplan.model.augment import Seat
from bayplan.model.manifest import Lowered, Manifest, Marks, PodParts, Shape
from bayplan.model.plan import Plan, all_pods
from bayplan.pipeline import Planned
from bayplan.workflows.manifests import Selected


def dress(selected: Selected, planned: Planned, cluster: Cluster) -> tuple[list[Dressed], list[Manifest]]:
    """What each pod template is to carry, and the objects that go with the workload."""
    plan, roster, target = planned.plan, selected.roster, planned.target
    lowered = planned.backend.place(plan, planned.shape, target)
    own = carries_domain(selected, cluster)
    dressed = [_seat(seat, plan, planned.shape, lowered, own) for seat in roster.seats]
    labels = {WORKFLOW_LABEL: plan.workflow.name, GANG_LABEL: _gang_label(plan)}
    domains = [] if own else [each for gang in plan.gangs for each in gang.compute_domains]
    made = [_labelled(compute_domain(each, target), labels) for each in domains]
    return dressed, [*made, *(each for each in lowered.documents if isinstance(each, Mapping))]


def _labelled(document: Manifest, labels: Mapping[str, str]) -> Manifest:
    metadata = document["metadata"]
    return {**document, "metadata": {**metadata, "labels": {**labels, **metadata.get("labels", {})}}}


def _seat(seat: Seat, plan: Plan, shape: Shape, lowered: Lowered, own: bool) -> Dressed:
    """The marks that all instances of a pod template have in common: the needs saw to it that there are no others."""
    gangs = (*plan.gangs, *shape.workloads[0].gangs)
    mine = [(gang, pods) for gang in gangs for pods in all_pods(gang.root) if pods.spec.name == seat.name]
    marks = {repr(mark): mark for gang, pods in mine if (mark := lowered.marks.get((gang.name, pods.name)))}
    if len(marks) > 1:
        raise AssertionError(f"marks of {seat.name!r} differ: {', '.join(marks)}")
    pods = mine[0][1]
    pool = plan.topology.pool(pods.pool)
    parts = PodParts(node_selector=pool.node.node_selector, tolerations=pool.node.tolerations) if pool else PodParts()
    channel = "" if own else pods.compute_domain
    return Dressed(seat, next(iter(marks.values()), Marks()), parts, channel, _gang_label(plan))


def _gang_label(plan: Plan) -> str:
    """Gangs of the same templates have one label."""
    return plan.gangs[0].name if len(plan.gangs) == 1 else plan.workflow.name
