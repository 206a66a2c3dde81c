"""A gang as a Slurm job: one section for each shape of nodes, cut into segments, with what that keeps and loses.

What the topology/block plugin promises (Slurm 24.11 to 25.11, `eval_nodes_block.c`): a job without segments, or one
segment of it, of n nodes stays inside one block of the smallest enabled size that is n or more. Segments of a job may
be anywhere, unless --consolidate-segments (25.11) keeps them in one aggregated block. Sections of a heterogeneous job
have nothing in common.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from bayplan.backends.slurm.nodes import per_node
from bayplan.model.plan import GangPlan, Plan, Pods, Unit
from bayplan.model.target import Target
from bayplan.model.topology import HOST_LEVEL, Pool
from bayplan.topologies.slurm_layout import Laid, layout
from bayplan.topologies.slurm_units import BLOCK, TREE
from bayplan.values import NamedTuple


class Leaf(NamedTuple):
    """One podSet instance and the units above it, the gang first."""

    pods: Pods
    path: tuple[Unit, ...]


class Section(NamedTuple):
    """Equal nodes of one job: a part between `#SBATCH hetjob` lines."""

    leaves: tuple[Leaf, ...]
    per_node: int
    segment: int = 0  # nodes
    consolidate: bool = False
    spread: bool = False
    switches: int = 0
    channels: bool = False  # an IMEX channel for each segment

    @property
    def first(self) -> Pods:
        """The first instance; the others differ in names and ranks."""
        return self.leaves[0].pods

    @property
    def each(self) -> int:
        """Pods of one instance."""
        return self.first.replicas

    @property
    def nodes(self) -> int:
        """All nodes of the section."""
        return len(self.leaves) * self.each // self.per_node


class Loss(NamedTuple):
    """A placement that the job does not keep: the feature that would be needed, and the unit."""

    feature: str
    unit: Unit
    preferred: bool = False


class Job(NamedTuple):
    """One gang."""

    gang: GangPlan
    sections: tuple[Section, ...]
    losses: tuple[Loss, ...] = ()  # each once for a unit
    uses: tuple[Loss, ...] = ()  # what it needs of the version to keep the others


class Cluster(NamedTuple):
    """What a section must know of its pool."""

    pool: Pool
    laid: Laid
    target: Target


def job(plan: Plan, gang: GangPlan, target: Target) -> Job:
    """The sections of a gang, in rank order."""
    leaves = tuple(_leaves(gang.root, ()))
    made = [
        _section(tuple(run), Cluster(pool, layout(plan.topology, pool, target), target))
        for run in _runs(leaves)
        for pool in (_pool(plan, run[0].pods),)
    ]
    sections = tuple(section for each in made for section in each.sections)
    found = [*_torn(leaves, made), *(loss for each in made for loss in each.losses)]
    losses = tuple({(loss.feature, loss.unit.route, loss.preferred): loss for loss in found}.values())
    uses = tuple({(use.feature, use.unit.route): use for each in made for use in each.uses}.values())
    return Job(gang, sections, losses, uses)


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


def _runs(leaves: Sequence[Leaf]) -> list[list[Leaf]]:
    """Instances that may share a section: of one podSet of the file and one size, in the order of the first ones."""
    runs: dict[tuple[object, ...], list[Leaf]] = {}
    for leaf in leaves:
        runs.setdefault((leaf.pods.route, leaf.pods.pool, leaf.pods.replicas), []).append(leaf)
    return list(runs.values())


class _Made(NamedTuple):
    sections: tuple[Section, ...]
    losses: tuple[Loss, ...] = ()
    uses: tuple[Loss, ...] = ()


def _torn(leaves: Sequence[Leaf], made: Sequence[_Made]) -> Iterator[Loss]:
    """Units with a placement over more than one section."""
    home = {leaf.pods.name: number for number, each in enumerate(made) for s in each.sections for leaf in s.leaves}
    pools = {leaf.pods.name: leaf.pods.pool for leaf in leaves}
    below: dict[str, set[int]] = {}
    units: dict[str, Unit] = {}
    for leaf in leaves:
        for unit in leaf.path:
            units[unit.name] = unit
            below.setdefault(unit.name, set()).add(home[leaf.pods.name])
    for name, numbers in below.items():
        unit = units[name]
        if len(numbers) > 1 and (unit.required or unit.preferred):
            yield Loss("unlike-shapes", unit, not unit.required)
    del pools


def _section(run: tuple[Leaf, ...], cluster: Cluster) -> _Made:
    """One section, or one for each outer group where only that keeps what the groups need."""
    whole = _single(run, cluster)
    if not whole.losses:
        return whole
    for depth in range(1, len(run[0].path)):
        parts = [tuple(part) for _, part in groupby(run, key=lambda leaf: leaf.path[depth].name)]
        if len(parts) > 1:
            made = [_single(part, cluster) for part in parts]
            losses = (*_above(run, depth, cluster), *(loss for each in made for loss in each.losses))
            if len(losses) < len(whole.losses):
                uses = tuple(use for each in made for use in each.uses)
                return _Made(tuple(s for each in made for s in each.sections), losses, uses)
    return whole


def _above(run: tuple[Leaf, ...], depth: int, cluster: Cluster) -> Iterator[Loss]:
    """Placements of units that are cut into sections."""
    for level in range(depth):
        unit = run[0].path[level]
        if _asked(unit.required, cluster):
            yield Loss("unlike-shapes", unit)


class _Depth(NamedTuple):
    """The units of a run at one depth: the first of them, and how many nodes each has (0: they differ)."""

    unit: Unit
    nodes: int
    count: int


def _single(run: tuple[Leaf, ...], cluster: Cluster) -> _Made:
    share = per_node(run[0].pods, cluster.pool)
    section = Section(run, share)
    depths = [_depth(run, number, share) for number in range(len(run[0].path))]
    asked = [(number, each) for number, each in enumerate(depths) if _asked(each.unit.required, cluster)]
    if cluster.laid.plugin == TREE:
        return _on_tree(section, depths, asked, cluster)
    apart = next((number for number, each in enumerate(depths) if each.unit.separate), 0)
    best: _Made | None = None
    for cut in (apart,) if apart else _cuts(depths):
        made = _cut(section, depths, asked, cut, cluster)
        if best is None or len(made.losses) < len(best.losses):
            best = made
    if best is None:
        raise AssertionError("the gang itself is always a cut")
    return best


def _cuts(depths: Sequence[_Depth]) -> list[int]:
    """Depths at which the run can be cut into segments of one size, uncut first; that of ComputeDomains before."""
    return [number for number, each in enumerate(depths) if each.nodes and (number == 0 or each.count > 1)] or [0]


def _depth(run: tuple[Leaf, ...], number: int, share: int) -> _Depth:
    sizes = [sum(leaf.pods.replicas for leaf in part) for _, part in groupby(run, key=lambda leaf: leaf.path[number].name)]
    alike = len(set(sizes)) == 1 and sizes[0] % share == 0
    return _Depth(run[0].path[number], sizes[0] // share if alike else 0, len(sizes))


def _asked(level: str, cluster: Cluster) -> bool:
    """Whether a level asks for anything: all nodes of the pool may be one domain of it."""
    if not level:
        return False
    if level == HOST_LEVEL or cluster.pool.level(level) is None:
        return True
    depth = cluster.pool.depth(level)
    return len({row.path[: depth + 1] for row in cluster.pool.domains}) > 1


def _cut(
    section: Section, depths: Sequence[_Depth], asked: Sequence[tuple[int, _Depth]], cut: int, cluster: Cluster
) -> _Made:
    """The section with segments at one depth: what stands at or below is kept by size, above only by consolidation."""
    cut_nodes, total = depths[cut].nodes or section.nodes, section.nodes
    losses: list[Loss] = []
    uses: list[Loss] = []
    consolidate = False
    for number, each in asked:
        if number >= cut:
            feature = _short(cut_nodes, each, cluster)
        elif each.count > 1:
            feature = "nested-placement"
        else:
            feature = _short(total, each, cluster)
            consolidate = consolidate or not feature
        if feature:
            losses.append(Loss(feature, each.unit))
        elif each.unit.required in cluster.laid.padded:
            uses.append(Loss("padded-level", each.unit))
        if number < cut and not feature:
            uses.append(Loss("consolidated-segments", each.unit))
    apart = depths[cut].unit
    if apart.separate and _coarser(apart.separate, cluster):
        losses.append(Loss("separate-above-block", apart))
    modern = cluster.target.since("slurm", "25.11")
    segmented = cut > 0 and (any(number >= cut for number, _ in asked) or bool(apart.separate))
    channels = section.first.compute_domain != "" and _channels(section, cut)
    made = section._replace(
        segment=cut_nodes if segmented else 0,
        consolidate=consolidate and segmented and modern,
        spread=bool(apart.separate) and modern,
        channels=channels and segmented and modern,
    )
    return _Made((made,), tuple(losses), tuple(uses))


def _channels(section: Section, cut: int) -> bool:
    """Whether each segment is one ComputeDomain."""
    pairs = {(leaf.path[cut].name, leaf.pods.compute_domain) for leaf in section.leaves}
    units, domains = {unit for unit, _ in pairs}, {domain for _, domain in pairs}
    return len(pairs) == len(units) == len(domains) > 1


def _coarser(level: str, cluster: Cluster) -> bool:
    return not cluster.pool.levels or level != cluster.pool.levels[-1].name


def _short(nodes: int, each: _Depth, cluster: Cluster) -> str:
    """What is missing for so many nodes to stay in one domain of a level; empty when nothing is."""
    level = each.unit.required
    if level == HOST_LEVEL:
        return "" if nodes == 1 else "host-level"
    if cluster.laid.plugin != BLOCK or level not in cluster.laid.planned:
        return "unaligned-level"
    return "" if nodes <= cluster.laid.planned[level] else "large-segment"


def _on_tree(
    section: Section, depths: Sequence[_Depth], asked: Sequence[tuple[int, _Depth]], cluster: Cluster
) -> _Made:
    """--switches bounds the number of leaf switches, and only for some time."""
    finest = cluster.pool.levels[-1].name
    wanted = [each for each in depths if finest in (each.unit.required, each.unit.preferred)]
    losses = tuple(Loss("tree-placement", each.unit) for _, each in asked)
    return _Made((section._replace(switches=wanted[0].count if wanted else 0),), losses)
