"""A gang as a Slurm job: one section for each shape of nodes, cut into segments, with what that keeps and loses.

What the topology/block plugin promises (Slurm 24.11 to 25.11, `eval_nodes_block.c`): a job without segments, or one
segment of it, of n nodes stays inside one block of the smallest enabled size that is n or more. Segments of a job may
be anywhere, unless --consolidate-segments (25.11) keeps them in one aggregated block. Sections of a heterogeneous job
have nothing in common.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from bayplan.backends.slurm.nodes import amounts, exclusive, per_node
from bayplan.backends.slurm.sections import Job, Leaf, Loss, Section
from bayplan.core.values import NamedTuple
from bayplan.model.plan import GangPlan, Plan, Pods, Unit, all_pods
from bayplan.model.target import Target
from bayplan.model.topology import HOST_LEVEL, Pool
from bayplan.topologies.slurm.layout import Laid, layout
from bayplan.topologies.slurm.units import BLOCK, TREE

Run = tuple[Leaf, ...]


class Cluster(NamedTuple):
    """What a section must know of its pool."""

    pool: Pool
    laid: Laid
    target: Target


class Made(NamedTuple):
    """Sections, with what they lose and what they use."""

    sections: tuple[Section, ...]
    losses: tuple[Loss, ...] = ()
    uses: tuple[Loss, ...] = ()


class Depth(NamedTuple):
    """The units of a run at one depth: one for each of the file, and how many nodes each has (0: they differ)."""

    units: tuple[Unit, ...]
    nodes: int
    units_in_all: int

    @property
    def required(self) -> str:
        """The level that all of them require."""
        return self.units[0].required

    @property
    def separate(self) -> str:
        """The level by which all of them stand apart."""
        return self.units[0].separate


def clusters(plan: Plan, target: Target) -> dict[str, Cluster]:
    """What Slurm knows of each pool that the plan uses."""
    used = {pods.pool for gang in plan.gangs for pods in all_pods(gang.root)}
    pools = [pool for pool in plan.topology.pools if pool.name in used]
    return {pool.name: Cluster(pool, layout(plan.topology, pool, target), target) for pool in pools}


def jobs(plan: Plan, target: Target) -> tuple[Job, ...]:
    """The job of every gang, copies too."""
    known = clusters(plan, target)
    return tuple(job(plan, gang, known) for gang in plan.gangs)


def job(plan: Plan, gang: GangPlan, known: Mapping[str, Cluster]) -> Job:
    """The sections of a gang, in rank order."""
    leaves = tuple(_leaves(gang.root, ()))
    made = []
    for run in _runs(plan, leaves):
        made.append(_sections(run, known[run[0].pods.pool]))
    found = [*_torn(leaves, made, plan), *(loss for each in made for loss in each.losses)]
    losses = {(loss.feature, loss.unit.route, loss.preferred): loss for loss in found}
    uses = {(use.feature, use.unit.route): use for each in made for use in each.uses}
    sections = tuple(section for each in made for section in each.sections)
    return Job(gang, sections, tuple(losses.values()), tuple(uses.values()))


def _pool(plan: Plan, pods: Pods) -> Pool:
    pool = plan.topology.pool(pods.pool)
    if pool is None:
        raise AssertionError(f"unbound pool {pods.pool!r}")
    return pool


def _leaves(unit: Unit, above: tuple[Unit, ...]) -> Iterator[Leaf]:
    path = (*above, unit)
    for pods in unit.pods:
        yield Leaf(pods, path)
    for units in unit.groups:
        for member in units.members:
            yield from _leaves(member, path)


def _runs(plan: Plan, leaves: Run) -> list[Run]:
    """Instances that may share a section: alike in what they ask of a node and of srun, below like placements."""
    runs: dict[tuple[object, ...], list[Leaf]] = {}
    for leaf in leaves:
        spec, share = leaf.pods.spec, per_node(leaf.pods, _pool(plan, leaf.pods))
        asked = (leaf.pods.pool, share, amounts(leaf.pods, share), exclusive(leaf.pods))
        started = (spec.image, tuple(spec.files.items()))
        placed = tuple((unit.required, unit.separate) for unit in leaf.path)
        runs.setdefault((asked, started, placed), []).append(leaf)
    return [tuple(run) for run in runs.values()]


def _torn(leaves: Run, made: Sequence[Made], plan: Plan) -> Iterator[Loss]:
    """Units with a placement over more than one run."""
    home = {leaf.pods.name: number for number, each in enumerate(made) for s in each.sections for leaf in s.leaves}
    below: dict[str, tuple[Unit, set[int]]] = {}
    for leaf in leaves:
        for unit in leaf.path:
            below.setdefault(unit.name, (unit, set()))[1].add(home[leaf.pods.name])
    pools = {leaf.pods.name: _pool(plan, leaf.pods) for leaf in leaves}
    some = pools[leaves[0].pods.name]
    for unit, numbers in below.values():
        if len(numbers) > 1 and (asks(unit.required, some) or unit.preferred):
            yield Loss("unlike-shapes", unit, not unit.required)


def asks(level: str, pool: Pool) -> bool:
    """Whether a level asks for anything: all nodes of the pool may be one domain of it."""
    if not level:
        return False
    if level == HOST_LEVEL or pool.level(level) is None:
        return True
    depth = pool.depth(level)
    return len({row.path[: depth + 1] for row in pool.domains}) > 1


def _sections(run: Run, cluster: Cluster) -> Made:
    """One section; or several, where only that keeps what the groups need: by size of the groups, or one for each."""
    whole = _single(run, cluster)
    if not whole.losses:
        return whole
    found = [whole]
    for depth in range(1, len(run[0].path)):
        units = [tuple(part) for _, part in groupby(run, key=lambda leaf: leaf.path[depth].name)]
        sizes = [tuple(part) for _, part in groupby(units, key=_size)]
        for parts in ([sum(same, ()) for same in sizes], units):
            if len(parts) > 1:
                found.append(_split(run, parts, depth, cluster))
    return min(found, key=lambda made: (len(made.losses), len(made.sections)))


def _size(unit: Run) -> int:
    return sum(leaf.pods.replicas for leaf in unit)


def _split(run: Run, parts: Sequence[Run], depth: int, cluster: Cluster) -> Made:
    """A section for each part; what stands above them is lost."""
    made = [_single(part, cluster) for part in parts]
    above = [run[0].path[level] for level in range(depth) if asks(run[0].path[level].required, cluster.pool)]
    losses = (*(Loss("unlike-shapes", unit) for unit in above), *(loss for each in made for loss in each.losses))
    uses = tuple(use for each in made for use in each.uses)
    return Made(tuple(section for each in made for section in each.sections), losses, uses)


def _single(run: Run, cluster: Cluster) -> Made:
    section = Section(run, per_node(run[0].pods, cluster.pool))
    depths = [_depth(run, number, section.per_node) for number in range(len(run[0].path))]
    asked = [(number, each) for number, each in enumerate(depths) if asks(each.required, cluster.pool)]
    if cluster.laid.plugin == TREE:
        return _on_tree(section, depths, asked, cluster)
    apart = [number for number, each in enumerate(depths) if each.separate and each.nodes]
    cuts = apart or [
        number for number, each in enumerate(depths) if not number or (each.nodes and each.units_in_all > 1)
    ]
    made = {cut: _cut(section, depths, asked, cut, cluster) for cut in cuts}
    deepest = max((number for number, _ in asked), default=0)
    return made[min(cuts, key=lambda cut: (*_price(section, made[cut], cut), abs(deepest - cut)))]


def _price(section: Section, made: Made, cut: int) -> tuple[int, bool, int]:
    """Fewer losses are better, then a channel for each ComputeDomain, then less that takes a young Slurm."""
    domains = {leaf.pods.compute_domain for leaf in section.leaves}
    return len(made.losses), len(domains) > 1 and not _channels(section, cut), len(made.uses)


def _depth(run: Run, number: int, share: int) -> Depth:
    parts = [tuple(part) for _, part in groupby(run, key=lambda leaf: leaf.path[number].name)]
    sizes = {_size(part) for part in parts}
    size = next(iter(sizes))
    units = {part[0].path[number].route: part[0].path[number] for part in parts}
    return Depth(tuple(units.values()), size // share if len(sizes) == 1 and size % share == 0 else 0, len(parts))


def _cut(
    section: Section, depths: Sequence[Depth], asked: Sequence[tuple[int, Depth]], cut: int, cluster: Cluster
) -> Made:
    """The section with segments at one depth: what stands at or below is kept by size, above only by consolidation."""
    size = depths[cut].nodes or section.nodes
    losses: list[Loss] = []
    uses: list[Loss] = []
    for number, each in asked:
        nodes = size if number >= cut else section.nodes
        if number < cut and each.units_in_all > 1:
            losses += (Loss("nested-placement", unit) for unit in each.units)
        elif not _fits(nodes, each.required, cluster):
            losses += (Loss("large-segment", unit) for unit in each.units)
        else:
            padded = ["padded-level"] if _takes_modern_blocks(nodes, each.required, cluster) else []
            together = ["consolidated-segments"] if number < cut else []
            uses += (Loss(feature, unit) for feature in (*padded, *together) for unit in each.units)
    apart = depths[cut]
    if apart.separate and (not cluster.pool.levels or apart.separate != cluster.pool.levels[-1].name):
        losses += (Loss("separate-above-block", unit) for unit in apart.units)
    consolidate = any(use.feature == "consolidated-segments" for use in uses)
    return Made((_shaped(section, depths, asked, cut, consolidate, cluster),), tuple(losses), tuple(uses))


def _shaped(
    section: Section,
    depths: Sequence[Depth],
    asked: Sequence[tuple[int, Depth]],
    cut: int,
    consolidate: bool,
    cluster: Cluster,
) -> Section:
    """The section with the options that its Slurm knows."""
    modern = cluster.target.since("slurm", "25.11")
    wanted = any(number >= cut for number, _ in asked) or bool(depths[cut].separate)
    if not (cut and wanted and depths[cut].nodes):
        return section
    return section._replace(
        segment=depths[cut].nodes,
        consolidate=consolidate and modern,
        spread=bool(depths[cut].separate) and modern,
        channels=_channels(section, cut) and modern,
    )


def _channels(section: Section, cut: int) -> bool:
    """Whether each segment is one ComputeDomain of several."""
    pairs = {(leaf.path[cut].name, leaf.pods.compute_domain) for leaf in section.leaves}
    units, domains = {unit for unit, _ in pairs}, {domain for _, domain in pairs}
    return "" not in domains and len(pairs) == len(units) == len(domains) > 1


def _fits(nodes: int, level: str, cluster: Cluster) -> bool:
    """Whether so many nodes stay in one domain of a level."""
    if level == HOST_LEVEL:
        return nodes == 1
    if cluster.laid.plugin != BLOCK:
        return False
    return nodes <= max(cluster.laid.planned.get(level, 0), cluster.laid.base)


def _takes_modern_blocks(nodes: int, level: str, cluster: Cluster) -> bool:
    """Whether only empty blocks, or blocks below the base size, keep so many nodes in one domain of a level."""
    pool, laid = cluster.pool, cluster.laid
    if level == HOST_LEVEL:
        return False
    if not pool.levels[-1].plan and nodes > min(len(row.nodes) for row in pool.domains):
        return True
    finer = [each.name for each in pool.levels[pool.depth(level) :] if each.name not in laid.padded]
    return nodes > max((laid.planned.get(name, 0) for name in finer), default=laid.base)


def _on_tree(section: Section, depths: Sequence[Depth], asked: Sequence[tuple[int, Depth]], cluster: Cluster) -> Made:
    """--switches bounds the number of leaf switches, and only for some time."""
    finest = cluster.pool.levels[-1].name
    wanted = [each for each in depths if finest in (each.required, each.units[0].preferred)]
    losses = tuple(Loss("tree-placement", unit) for _, each in asked for unit in each.units)
    return Made((section._replace(switches=wanted[0].units_in_all if wanted else 0),), losses)
