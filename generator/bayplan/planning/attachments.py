"""PodSets on fabrics once ranks and ComputeDomains are known: who is attached, where rank 0 is, what NVLink is told."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.checks.attachments.said import said
from bayplan.diagnostics import Diagnostic, Note, error, warning
from bayplan.fabrics import fabric_of, on_host
from bayplan.kube.ranks import master_port
from bayplan.model.plan import GangPlan, Plan, Pods, all_pods, once

MNNVL = "NCCL_MNNVL_ENABLE"


def check(plan: Plan) -> Iterator[Diagnostic]:
    """W524, W533, W541, W542, W548."""
    firsts = [gang for gang in plan.gangs if gang.copy == 0]
    for gang in firsts:
        everyone = list(all_pods(gang.root))
        if any(pods.spec.fabric for pods in everyone):
            yield from _members(everyone)
            yield from _first(plan, gang, everyone)
    yield from _ports(plan)
    for pods in once(pods for gang in firsts for pods in all_pods(gang.root)):
        yield from _nvlink(plan, pods)
        yield from _all_rails(plan, pods)


def _members(everyone: list[Pods]) -> Iterator[Diagnostic]:
    """W524: who meets in one rendezvous is attached, or nobody is."""
    ranked = [pods for pods in everyone if pods.ranks]
    for master in dict.fromkeys(pods.ranks and pods.ranks.master for pods in ranked):
        yield from _alike([pods for pods in ranked if pods.ranks and pods.ranks.master == master])


def _alike(meeting: list[Pods]) -> Iterator[Diagnostic]:
    members = once(meeting)
    attached = next((pods for pods in members if pods.spec.fabric), None)
    for pods in members if attached else ():
        if attached and attached.spec.fabric and not pods.spec.fabric:
            name = attached.spec.fabric.name
            message = f'podSet "{pods.spec.name}" is on no fabric, and meets others that are on "{name}"'
            notes = (Note(f'podSet "{attached.spec.name}" is attached here', (*attached.route, "fabric")),)
            hint = f"add `fabric: {name}`; launchers without accelerators need none, nor gangs with `rendezvous: none`"
            yield error("W524", pods.route, message, hint=hint, notes=notes)


def _first(plan: Plan, gang: GangPlan, everyone: list[Pods]) -> Iterator[Diagnostic]:
    """W533: only rank 0 has use for an address that all know, and its pod template must be its own."""
    for pods in once(everyone):
        if not pods.spec.fabric or not pods.spec.fabric.address:
            continue
        master = pods.ranks.master if pods.ranks else None
        alike = [each for each in everyone if each.route == pods.route]
        copies = sum(each.gang.name == gang.gang.name for each in plan.gangs)
        why = ""
        if master is None or master.pods not in {each.name for each in alike}:
            why = f'rank 0 is not in podSet "{pods.spec.name}"'
        elif len(alike) > 1 or copies > 1 or pods.replicas > 1:
            why = f'there are several pods of podSet "{pods.spec.name}", and an address is one pod\'s'
        if why:
            hint = "give rank 0 a podSet of its own, the first of its gang, with `replicas: 1`"
            message = f"no rendezvous over the fabric: {why}"
            yield error("W533", (*pods.route, "fabric", "address"), message, hint=hint)


def _ports(plan: Plan) -> Iterator[Diagnostic]:
    """W548: rank 0 of each rendezvous listens on one port, in the node's network on that of the node. A scheduler keeps
    pods apart by the ports that containers name."""
    masters = [pods for gang in plan.gangs for pods in all_pods(gang.root) if _master(pods) and _beside(plan, pods)]
    for pods in once(masters):
        alike = sum(each.route == pods.route for each in masters)
        port = master_port(pods)
        if alike > 1 and port not in pods.spec.ports.values():
            message = f'{alike} pods of podSet "{pods.spec.name}" listen on port {port} of the node, and two fit one'
            hint = f"name it, so that the scheduler keeps them apart: `ports: {{master: {port}}}`"
            yield warning("W548", pods.route, message, hint=hint)


def _master(pods: Pods) -> bool:
    """Whether rank 0 is among them."""
    return pods.ranks is not None and pods.ranks.master.pods == pods.name


def _beside(plan: Plan, pods: Pods) -> bool:
    """Whether they are in their node's network, and one leaves room for another."""
    fabric = fabric_of(pods.spec, plan.topology)
    pool, asked = plan.topology.pool(pods.pool), pods.spec.accelerator
    if pool is None or pods.spec.whole_node or not on_host(pods.spec, fabric, pool):
        return False
    return not asked or not pool.node.accelerators or 2 * asked.per_pod <= pool.node.accelerators


def _nvlink(plan: Plan, pods: Pods) -> Iterator[Diagnostic]:
    """W541: NCCL fails where it is told that there is NVLink between nodes, and there is no ComputeDomain; it finds out
    itself (NCCL 2.30, `env.rst`: 2, the default)."""
    told = said(pods.spec, pods.route, plan.topology, pods.pool).get(MNNVL)
    if told and told.value == "1" and not pods.compute_domain:
        message = f'{MNNVL}=1 fails outside of a ComputeDomain, and podSet "{pods.spec.name}" is in none'
        hint = "leave it out: NCCL uses NVLink between nodes wherever there is any; or see `computeDomain`"
        yield warning("W541", told.route, message, hint=hint)


def _all_rails(plan: Plan, pods: Pods) -> Iterator[Diagnostic]:
    """W542: all GPUs of a node, and not all of its cards."""
    asked, pool, fabric = pods.spec.fabric, plan.topology.pool(pods.pool), fabric_of(pods.spec, plan.topology)
    if not asked or not fabric or not pool or not asked.rails or not pods.spec.accelerator:
        return
    cards = pool.node.accelerators
    left = len(fabric.rails) - len(asked.rails)
    if left > 0 and cards > 1 and pods.spec.accelerator.per_pod >= cards:
        message = f'podSet "{pods.spec.name}" takes all {cards} GPUs of its nodes and leaves out {left} of their rails'
        hint = "leave `rails` out: no other pod has use for them"
        yield warning("W542", (*pods.route, "fabric", "rails"), message, hint=hint)
