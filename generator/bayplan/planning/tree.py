"""Expand a gang of the file into its instances: groups by their replicas or size, podSets bound to pools."""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.diagnostics import Route
from bayplan.kube import quantity
from bayplan.model.plan import Pods, Unit, Units
from bayplan.model.topology import ClusterTopology, Pool
from bayplan.model.workflow import Accelerator, Gang, Group, PodSet
from bayplan.planning.names import joined


def gang_unit(gang: Gang, route: Route, pools: Mapping[Route, str], topology: ClusterTopology) -> Unit:
    """The root unit of one copy of a gang."""
    return _Expansion(pools, topology).unit(gang, route, "", "", None)


class _Expansion:
    """The two things that stay the same all the way down."""

    def __init__(self, pools: Mapping[Route, str], topology: ClusterTopology) -> None:
        self.pools = pools
        self.topology = topology

    def unit(self, node: Gang | Group, route: Route, name: str, stem: str, size: int | None) -> Unit:
        required, preferred = node.placement
        return Unit(
            name=name,
            route=route,
            required=required,
            preferred="" if preferred == required else preferred,
            separate=node.separate if isinstance(node, Group) else "",
            groups=tuple(self.units(group, (*route, "groups", i), name, stem) for i, group in enumerate(node.groups)),
            pods=tuple(
                self.pods(spec, (*route, "podSets", i), name, stem, size) for i, spec in enumerate(node.pod_sets)
            ),
        )

    def units(self, group: Group, route: Route, above: str, stem: str) -> Units:
        """All instances of a group. With `size`, the one podSet is cut in rank order; the last may be smaller."""
        name, path = joined(above, group.name), joined(stem, group.name)
        sizes = cut(group.pod_sets[0].replicas, group.size) if group.size else [None] * group.replicas
        members = tuple(self.unit(group, route, f"{name}-{i}", path, size) for i, size in enumerate(sizes))
        return Units(name, route, group.min_replicas or len(members), members)

    def pods(self, spec: PodSet, route: Route, above: str, stem: str, size: int | None) -> Pods:
        pool = self.pools[route]
        replicas = size or spec.replicas
        full = filled_from_node(spec, self.topology.pool(pool))
        minimum = replicas if size or spec.min_replicas is None else spec.min_replicas
        return Pods(joined(above, spec.name), joined(stem, spec.name), full, route, pool, replicas, minimum)


def cut(total: int, size: int) -> list[int | None]:
    """`cut(50, 16)` is [16, 16, 16, 2]."""
    return [min(size, total - start) for start in range(0, total, size)]


def filled_from_node(spec: PodSet, pool: Pool | None) -> PodSet:
    """`wholeNode`: the accelerators, CPU and memory that the podSet leaves open are the node's."""
    if not spec.whole_node or pool is None:
        return spec
    node = pool.node
    whole = Accelerator(node.accelerator, node.accelerators) if node.accelerator else None
    amounts = {name: quantity.show(node.resources[name]) for name in ("cpu", "memory") if name in node.resources}
    return spec._replace(accelerator=spec.accelerator or whole, resources={**amounts, **spec.resources})
