"""The one function that numbers pods: all that meet in a rendezvous, in the order in which the file lists them."""

from __future__ import annotations

from bayplan.model.plan import GangPlan, Plan, PodRef, Pods, Ranks, Unit, walk


def assign(plan: Plan) -> Plan:
    """Give every ranked pod its place in its gang's rendezvous."""
    return plan._replace(gangs=tuple(_gang_ranks(gang) for gang in plan.gangs))


def _gang_ranks(gang: GangPlan) -> GangPlan:
    if gang.gang.rendezvous == "none":
        return gang
    leaves = [unit for unit in walk(gang.root) if unit.pods]
    ranks: dict[str, Ranks] = {}
    scopes = [leaves] if gang.gang.rendezvous == "gang" else [[unit] for unit in leaves]
    for scope in scopes:
        ranks.update(_scope_ranks(gang.name, scope))
    numbered = {unit.name: i for i, unit in enumerate(leaves)}
    for unit in leaves:
        for pods in unit.pods:
            if pods.name in ranks:
                ranks[pods.name] = ranks[pods.name]._replace(group_index=numbered[unit.name], group_count=len(leaves))
    return gang._replace(root=_with(gang.root, ranks))


def _ranked(pods: Pods, accelerated_only: bool) -> bool:
    return bool(pods.spec.accelerator) or not accelerated_only


def _scope_ranks(gang: str, scope: list[Unit]) -> dict[str, Ranks]:
    """Ranks of one rendezvous. A group is a unit that holds podSets; its size counts ranked pods."""
    accelerated_only = any(pods.spec.accelerator for unit in scope for pods in unit.pods)
    counted = [[pods for pods in unit.pods if _ranked(pods, accelerated_only)] for unit in scope]
    members = [(pods, sum(each.replicas for each in group)) for group in counted for pods in group]
    nodes = sum(pods.replicas for pods, _ in members)
    ranks, first = {}, 0
    for pods, size in members:
        master = PodRef(gang, members[0][0].name, 0)
        ranks[pods.name] = Ranks(master, nodes, first, 0, 0, size)
        first += pods.replicas
    return ranks


def _with(unit: Unit, ranks: dict[str, Ranks]) -> Unit:
    return unit._replace(
        pods=tuple(pods._replace(ranks=ranks.get(pods.name)) for pods in unit.pods),
        groups=tuple(u._replace(members=tuple(_with(m, ranks) for m in u.members)) for u in unit.groups),
    )
