"""What a plan puts on the pod templates of a workload, and the objects that go with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan import fabrics
from bayplan._augment.case import Case
from bayplan.adorn import Dressed
from bayplan.backends import existing
from bayplan.companions import compute_domain, labelled
from bayplan.kube.kinds.parts import GANG_LABEL, WORKFLOW_LABEL
from bayplan.kube.names import network_claim_name
from bayplan.model.augment import Seat
from bayplan.model.manifest import Lowered, Manifest, Marks, PodParts, Shape
from bayplan.model.plan import GangPlan, Plan, Pods, all_pods
from bayplan.model.target import Target
from bayplan.pipeline import Planned


def dress(case: Case, planned: Planned) -> tuple[list[Dressed], list[Manifest]]:
    """What each pod template is to carry, and the objects that go with the workload."""
    plan, target = planned.plan, planned.target
    lowered = existing(planned.backend.declared.name).place(plan, planned.shape, target)
    dressed = [_seat(seat, plan, planned.shape, lowered, case.carried) for seat in case.roster.seats]
    labels = {WORKFLOW_LABEL: plan.workflow.name, GANG_LABEL: _gang_label(plan)}
    domains = [] if case.carried else [each for gang in plan.gangs for each in gang.compute_domains]
    made = [labelled(compute_domain(each, target), labels) for each in domains]
    made += [labelled(each, labels) for each in _network_claims(plan, target)]
    return dressed, [*made, *(each for each in lowered.documents if isinstance(each, Mapping))]


def _seat(seat: Seat, plan: Plan, shape: Shape, lowered: Lowered, own: bool) -> Dressed:
    """The marks that all instances of a pod template have in common: the needs saw to it that there are no others."""
    gangs = (*plan.gangs, *shape.workloads[0].gangs)
    mine = [(gang, pods) for gang in gangs for pods in all_pods(gang.root) if pods.spec.name == seat.name]
    found = [mark for gang, pods in mine if (mark := lowered.marks.get((gang.name, pods.name)))]
    if any(mark != found[0] for mark in found):
        raise AssertionError(f"marks of {seat.name!r} differ: {', '.join(map(repr, found))}")
    pods = mine[0][1]
    pool = plan.topology.pool(pods.pool)
    parts = PodParts(node_selector=pool.node.node_selector, tolerations=pool.node.tolerations) if pool else PodParts()
    channel = "" if own else pods.compute_domain
    asked = asked_of(plan, mine[0][0], pods)
    network = fabrics.parts(asked)._replace(env=()) if asked else PodParts()
    return Dressed(seat, found[0] if found else Marks(), parts, channel, _gang_label(plan), network)


def asked_of(plan: Plan, gang: GangPlan, pods: Pods) -> fabrics.Wanted | None:
    """What it takes to get onto the fabric. GPUs are claimed by a claim of their own, if at all."""
    name = network_claim_name(gang, pods)
    asked = fabrics.wanted(pods.spec, plan.topology, plan.namespace, pods.pool, name)
    return asked._replace(together=False) if asked else None


def _network_claims(plan: Plan, target: Target) -> Iterator[Manifest]:
    """The claim templates of network cards, one for each pod template."""
    everyone = [(gang, pods) for gang in plan.gangs for pods in all_pods(gang.root)]
    for gang, pods in {pods.spec.name: (gang, pods) for gang, pods in reversed(everyone)}.values():
        asked = asked_of(plan, gang, pods)
        made = fabrics.claim_template(asked, None, target) if asked else None
        if made:
            yield made


def _gang_label(plan: Plan) -> str:
    """Gangs of the same templates have one label."""
    return plan.gangs[0].name if len(plan.gangs) == 1 else plan.workflow.name
