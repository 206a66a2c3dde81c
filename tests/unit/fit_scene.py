"""Small plans and clusters for the tests of the fit."""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.model.plan import GangPlan, Plan, Pods, Unit, Units
from bayplan.model.topology import AcceleratorKind, ClusterTopology, Domain, Level, NodeShape, Pool
from bayplan.model.workflow import Accelerator, Gang, PodSet, Workflow

GPU = AcceleratorKind("gb200", resources={"count": "nvidia.com/gpu"}, device_class="gpu.nvidia.com")
LEVELS = ("zone", "spine", "rack")


def pool(
    racks: Mapping[str, int],
    *,
    name: str = "gb200",
    gpus: int = 4,
    levels: tuple[str, ...] = LEVELS,
    plan: int | None = None,
    unusable: Mapping[str, tuple[str, ...]] | None = None,
    resources: Mapping[str, int] | None = None,
    accelerator: str = "gb200",
) -> Pool:
    """`racks`: path ("z/s/r1") -> number of nodes, named `r1-0`, `r1-1`, ... in the pool's name."""
    ranks = [Level(each, f"topo/{each}", nvlink=each == "rack") for each in levels]
    if plan is not None:
        ranks[-1] = ranks[-1]._replace(plan=plan)
    domains = tuple(
        Domain(tuple(path.split("/")) if path else (), tuple(f"{name}-{path.replace('/', '-')}-{i}" for i in range(n)))
        for path, n in racks.items()
    )
    shape = NodeShape(accelerator if gpus else "", gpus, resources or {})
    return Pool(name, shape, tuple(ranks), domains, unusable or {})


def cluster(*pools: Pool) -> ClusterTopology:
    """A topology of these pools."""
    return ClusterTopology("hall", pools, accelerators={"gb200": GPU})


def pods(
    name: str,
    count: int,
    *,
    gpus: int = 4,
    pool: str = "gb200",
    minimum: int | None = None,
    domain: str = "",
    whole: bool = False,
    route: tuple[str | int, ...] = (),
    template: Mapping[str, object] | None = None,
    **resources: str,
) -> Pods:
    """`count` pods of one podSet instance."""
    accelerator = Accelerator("gb200", gpus) if gpus else None
    spec = PodSet(name, count, accelerator=accelerator, resources=resources, whole_node=whole, template=template or {})
    return Pods(name, name, spec, route, pool, count, count if minimum is None else minimum, domain)


def unit(
    name: str,
    *parts: Pods | Units,
    required: str = "",
    preferred: str = "",
    separate: str = "",
    route: tuple[str | int, ...] = (),
) -> Unit:
    """A unit of pods, or of groups."""
    groups = tuple(part for part in parts if isinstance(part, Units))
    return Unit(name, route, required, preferred, separate, groups, tuple(p for p in parts if isinstance(p, Pods)))


def group(name: str, *members: Unit, minimum: int | None = None, route: tuple[str | int, ...] = ()) -> Units:
    """All instances of a group."""
    return Units(name, route, len(members) if minimum is None else minimum, members)


def replicas(name: str, count: int, each: Pods, *, minimum: int | None = None, **placement: str) -> Units:
    """`count` equal instances of a group that holds one podSet."""
    route = ("workflow", "spec", "gangs", 0, "groups", 0)
    named = [each._replace(name=f"{name}-{i}-{each.name}", route=(*route, "podSets", 0)) for i in range(count)]
    members = [unit(f"{name}-{i}", one, route=route, **placement) for i, one in enumerate(named)]
    return group(name, *members, minimum=minimum, route=route)


def gang(name: str, *parts: Pods | Units, after: tuple[str, ...] = (), number: int = 0, **placement: str) -> GangPlan:
    """One copy of a gang."""
    route = ("workflow", "spec", "gangs", number)
    return GangPlan(name, Gang(name), route, 0, unit("", *parts, route=route, **placement), (), after)


def plan(topology: ClusterTopology, *gangs: GangPlan) -> Plan:
    """A plan of these gangs."""
    return Plan(Workflow("w", gangs=tuple(g.gang for g in gangs)), topology, "ml", "", gangs)


def racks(count: int, nodes: int, spines: int = 1) -> dict[str, int]:
    """`count` racks of `nodes` nodes, dealt out over spines of one zone."""
    return {f"z/s{i * spines // count}/r{i}": nodes for i in range(count)}
