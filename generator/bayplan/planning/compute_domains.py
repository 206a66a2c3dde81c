"""One ComputeDomain for each outermost unit that is required to stay inside an NVLink domain and needs several nodes.

NVLink works only inside a clique, and a ComputeDomain does not place pods (NVIDIA DRA driver: a ComputeDomain follows
its pods). The required level of its unit therefore decides whether it works.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from bayplan.core.diagnostics import Diagnostic, Outcome, Route, error, info, warning
from bayplan.model.plan import ComputeDomain, GangPlan, Plan, Pods, Unit, all_pods, edit_unit, once, walk
from bayplan.model.topology import ClusterTopology, Pool
from bayplan.model.workflow import Gang, Group
from bayplan.planning.bind import joined
from bayplan.planning.fit.problem import capacity, demand, per_node

Requested = dict[Route, str]
OFF = "\x00off"


def assign(plan: Plan) -> Outcome[Plan]:
    """Give every pod that should have one its ComputeDomain."""
    diagnostics: list[Diagnostic] = []
    gangs = []
    for gang in plan.gangs:
        requested = _requested(gang.gang, gang.route)
        root = _claiming(gang, gang.root, "", requested, plan.topology)
        gangs.append(gang._replace(root=root, compute_domains=_domains(gang, root)))
        if gang.copy == 0:
            diagnostics += _findings(gangs[-1], requested, plan.topology)
    return Outcome(plan._replace(gangs=tuple(gangs)), tuple(diagnostics))


def _requested(node: Gang | Group, route: Route) -> Requested:
    """`computeDomain` by the route of its gang or group."""
    below = [_requested(group, (*route, "groups", i)) for i, group in enumerate(node.groups)]
    return {route: node.compute_domain, **{k: v for each in below for k, v in each.items()}}


def _claiming(gang: GangPlan, unit: Unit, inherited: str, requested: Requested, topology: ClusterTopology) -> Unit:
    """The unit with its GPU pods claiming from the ComputeDomain decided here, or above."""
    name = _decided(gang, unit, inherited, requested[unit.route], topology)
    claim = "" if name == OFF else name
    return unit._replace(
        pods=tuple(pods._replace(compute_domain=claim) if _whole(pods) else pods for pods in unit.pods),
        groups=tuple(
            units._replace(members=tuple(_claiming(gang, m, name, requested, topology) for m in units.members))
            for units in unit.groups
        ),
    )


def _whole(pods: Pods) -> bool:
    """Whether the pods have whole GPUs: parts of them have no NVLink."""
    return pods.spec.accelerator is not None and pods.spec.accelerator.whole


def _decided(gang: GangPlan, unit: Unit, inherited: str, requested: str, topology: ClusterTopology) -> str:
    """The name of the ComputeDomain for a unit's pods. Empty: its groups decide; OFF: none."""
    if requested == "never":
        return OFF
    if requested == "gang":
        return gang.name
    if requested == "group":
        return joined(gang.name, unit.name)
    if inherited:
        return inherited
    return joined(gang.name, unit.name) if inside_nvlink(unit, topology) and least_nodes(unit, topology) > 1 else ""


def merge(plan: Plan) -> Plan:
    """One ComputeDomain for each gang that has several, where its groups share one pod template.

    The required levels of the groups still keep NVLink whole inside each of them.
    """
    return plan._replace(gangs=tuple(_merged(gang) if len(gang.compute_domains) > 1 else gang for gang in plan.gangs))


def _merged(gang: GangPlan) -> GangPlan:
    whole = ComputeDomain(gang.name, "", sum(domain.nodes for domain in gang.compute_domains), gang.route)
    return gang._replace(root=_claiming_from(gang.root, gang.name), compute_domains=(whole,))


def merge_groups(gang: GangPlan) -> GangPlan:
    """One ComputeDomain for all instances of each group: their pods come from the same templates."""
    domains = {domain.name: domain for domain in gang.compute_domains}
    groups = []
    for units in gang.root.groups:
        claimed = [pods.compute_domain for member in units.members for pods in all_pods(member) if pods.compute_domain]
        own = [domain for name in dict.fromkeys(claimed) if (domain := domains.get(name))]
        if len(own) > 1:
            name = joined(gang.name, units.name)
            whole = ComputeDomain(name, "", sum(domain.nodes for domain in own), units.route)
            domains = {key: each for key, each in domains.items() if each not in own} | {name: whole}
            units = units._replace(members=tuple(_claiming_from(member, name) for member in units.members))
        groups.append(units)
    return gang._replace(root=gang.root._replace(groups=tuple(groups)), compute_domains=tuple(domains.values()))


def share(plan: Plan) -> Plan:
    """One ComputeDomain with the workflow's name for all gangs: their pods come from the same templates."""
    nodes = sum(domain.nodes for gang in plan.gangs for domain in gang.compute_domains)
    first = next(gang.compute_domains[0] for gang in plan.gangs if gang.compute_domains)
    whole = ComputeDomain(plan.workflow.name, "", nodes, first.route)
    gangs = tuple(
        gang._replace(root=_claiming_from(gang.root, whole.name), compute_domains=() if number else (whole,))
        for number, gang in enumerate(plan.gangs)
    )
    return plan._replace(gangs=gangs)


def _claiming_from(unit: Unit, name: str) -> Unit:
    """The unit with its claiming pods on another ComputeDomain."""
    return edit_unit(unit, pods=lambda pods: pods._replace(compute_domain=name) if pods.compute_domain else pods)


def _domains(gang: GangPlan, root: Unit) -> tuple[ComputeDomain, ...]:
    """The ComputeDomains that pods claim from, in rank order, with the nodes each spans: one claiming pod a node."""
    owners = {joined(gang.name, unit.name): unit for unit in walk(root)}
    domains: dict[str, ComputeDomain] = {}
    for pods in all_pods(root):
        if pods.compute_domain:
            owner = owners[pods.compute_domain]
            domain = domains.get(pods.compute_domain, ComputeDomain(pods.compute_domain, owner.name, 0, owner.route))
            domains[pods.compute_domain] = domain._replace(nodes=domain.nodes + pods.replicas)
    return tuple(domains.values())


def inside_nvlink(unit: Unit, topology: ClusterTopology) -> bool:
    """Whether a level with `nvlink` is at or above the unit's required level in every pool of its GPUs."""
    names = dict.fromkeys(pods.pool for pods in all_pods(unit) if _whole(pods))
    pools = [pool for pool in map(topology.pool, names) if pool]
    return bool(unit.required and pools) and all(
        pool.level(unit.required) and any(level.nvlink for level in pool.levels[: pool.depth(unit.required) + 1])
        for pool in pools
    )


def least_nodes(unit: Unit, topology: ClusterTopology) -> int:
    """The fewest nodes that could hold the unit's GPUs."""
    cards: dict[str, int] = {}
    for pods in all_pods(unit):
        if pods.spec.accelerator and _whole(pods):
            cards[pods.pool] = cards.get(pods.pool, 0) + pods.replicas * pods.spec.accelerator.per_pod
    pools = {pool.name: pool for pool in topology.pools}
    by_cards = sum(-(-count // max(pools[name].node.accelerators, 1)) for name, count in cards.items())
    return max([by_cards, *(_nodes_of(pods, pools[pods.pool], topology) for pods in filter(_whole, all_pods(unit)))])


def _nodes_of(pods: Pods, pool: Pool, topology: ClusterTopology) -> int:
    """The nodes that one podSet instance needs: CPU, memory or `wholeNode` may limit a node before its GPUs do."""
    each, _ = per_node(demand(pods, topology), capacity(pool))
    return -(-pods.replicas // max(each, 1))


def _findings(gang: GangPlan, requested: Requested, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """Findings about the ComputeDomains of a gang. They come from its first copy."""
    for pods in once(all_pods(gang.root)):
        yield from _channel_rule(pods, topology)
    if gang.gang.compute_domain == "group" and gang.gang.groups:
        message = f'`computeDomain: group` on gang "{gang.gang.name}" does not say which of its groups to use'
        hint = "set it on the groups, or set `computeDomain: gang` here for one ComputeDomain over all of them"
        yield error("P507", (*gang.route, "computeDomain"), message, hint=hint)
    inside = frozenset(_inside(gang.root, False, topology))
    outside = (unit for unit in walk(gang.root) if unit.name not in inside)
    unsafe = [unit.route for unit in once(unit for unit in outside if any(p.compute_domain for p in unit.pods))]
    if not unsafe and not (gang.gang.compute_domain == "group" and gang.gang.groups):
        yield from _spanning(gang, inside)
    for route in unsafe:
        message = "the pods claim a ComputeDomain, but no required level keeps them inside one NVLink domain"
        hint = "add `placement: {required: LEVEL}` with a level that has `nvlink` in the topology, or a finer one"
        yield error("P507", (*route, "computeDomain"), message, hint=hint)
    if not gang.compute_domains and set(requested.values()) == {"auto"}:
        yield from _unused_nvlink(gang, topology)


def _channel_rule(pods: Pods, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """A node has one IMEX channel, so a claiming pod must take all of its GPUs (DRA driver 25.3 to 0.4: channel-0)."""
    pool, accelerator = topology.pool(pods.pool), pods.spec.accelerator
    if not (pods.compute_domain and pool and accelerator) or accelerator.per_pod >= pool.node.accelerators:
        return
    whole = pool.node.accelerators
    claiming = f"requests {accelerator.per_pod} of the {whole} GPUs of a node and claims a ComputeDomain channel"
    idle = f"{whole - accelerator.per_pod} GPUs would be idle"
    one = "a node has one channel, so only one such pod could run on it"
    never = "set `computeDomain: never` if the pods do not need NVLink between nodes"
    hint = f"request all {whole} GPUs of the node in one pod, or {never}"
    route = (*pods.route, "accelerator", "count")
    yield error("P506", route, f'podSet "{pods.spec.name}" {claiming}; {one} and {idle}', hint=hint)


def _spanning(gang: GangPlan, inside: frozenset[str]) -> Iterator[Diagnostic]:
    """ComputeDomains whose pods stay inside NVLink group by group, but not all together."""
    for domain in once(reversed(gang.compute_domains)):
        if domain.unit not in inside:
            key = "computeDomain" if domain.unit or gang.gang.compute_domain != "auto" else "name"
            spanning = "spans groups that may be in different NVLink domains; there is no NVLink between these"
            hint = "set `computeDomain: group` for one per group, or require the NVLink level for all of them together"
            yield warning("P507", (*domain.route, key), f'ComputeDomain "{domain.name}" {spanning}', hint=hint)


def _inside(unit: Unit, above: bool, topology: ClusterTopology) -> Iterator[str]:
    """The names of units that a required level, their own or one above, keeps inside NVLink."""
    kept = above or inside_nvlink(unit, topology)
    if kept:
        yield unit.name
    for units in unit.groups:
        for member in units.members:
            yield from _inside(member, kept, topology)


def _unused_nvlink(gang: GangPlan, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """P508: several whole nodes of an NVLink pool without NVLink between them."""
    for pods in all_pods(gang.root):
        pool, accelerator = topology.pool(pods.pool), pods.spec.accelerator
        nvlink = next((level.name for level in pool.levels if level.nvlink), "") if pool else ""
        whole_nodes = pool and accelerator and accelerator.whole and accelerator.per_pod == pool.node.accelerators
        if pool and whole_nodes and nvlink and pods.replicas > 1:
            message = (
                f'podSet "{pods.spec.name}" takes whole nodes of an NVLink pool, but nothing requires one "{nvlink}"'
            )
            message += ", so there is no ComputeDomain and no NVLink between nodes"
            hint = f"set `placement: {{required: {nvlink}}}` on the group that should use NVLink"
            size, others = _size(pods, pool), len({each.route for each in all_pods(gang.root)}) > 1
            elsewhere = any(nvlink not in _level_names(each, topology) for each in all_pods(gang.root))
            if size < pods.replicas or elsewhere:
                hint = f"write a group with `size: {size}` and `placement: {{required: {nvlink}}}` for the podSet"
                hint += ", and another group for the others" if others and not gang.root.groups else ""
            yield info("P508", pods.route, message, hint=hint)
            return


def _level_names(pods: Pods, topology: ClusterTopology) -> list[str]:
    pool = topology.pool(pods.pool)
    return [level.name for level in pool.levels] if pool else []


def _size(pods: Pods, pool: Pool) -> int:
    """The most pods of a podSet, one per node, that an NVLink domain has room for and that divide it evenly."""
    depth = next(depth for depth, level in enumerate(pool.levels, 1) if level.nvlink)
    out = pool.unusable_nodes()
    nodes: Counter[tuple[str, ...]] = Counter()
    for row in pool.domains:
        usable = sum(node not in out for node in row.nodes)
        nodes[row.path[:depth]] += min(usable, pool.levels[-1].plan or usable)
    most = min(pods.replicas, max(nodes.values(), default=0))
    return next((size for size in range(most, 1, -1) if pods.replicas % size == 0), most)
