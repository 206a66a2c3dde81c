"""A gang as a Slurm job: one section for each shape of nodes, divided into segments, and the placements that it keeps.

The topology/block plugin (Slurm 24.11 to 25.11, `eval_nodes_block.c`) keeps the n nodes of a job without segments, or
of one segment, in one block. It is a block of the smallest enabled size that is n or more. Segments of a job may be
anywhere, unless --consolidate-segments (25.11) keeps them in one aggregated block. Sections of a heterogeneous job
share no block.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from typing import NamedTuple

from bayplan.plugin import HOST_LEVEL, GangPlan, Plan, Pods, Pool, Target, Unit, all_pods, quantity
from bayplan.plugins.slurm.topology import BLOCK, TREE
from bayplan.plugins.slurm.topology.layout import SlurmLayout, layout

# The parts of a job: equal nodes, and the pods that run on them in the order of their tasks


class Leaf(NamedTuple):
    """One podSet instance and the units above it, the gang first."""

    pods: Pods
    path: tuple[Unit, ...]


class Branch(NamedTuple):
    """Instances of one podSet in a section: the tasks from number `start` on in each period."""

    start: int
    leaves: tuple[Leaf, ...]

    @property
    def first(self) -> Pods:
        """The first instance; the others differ in names and ranks."""
        return self.leaves[0].pods


class Step(NamedTuple):
    """One srun: instances whose tasks follow each other on nodes of one section, from node `base` on."""

    section: int
    base: int
    nodes: int
    leaves: tuple[Leaf, ...]
    lead: bool = False  # its end is the gang's

    @property
    def first(self) -> Pods:
        """The first instance."""
        return self.leaves[0].pods

    @property
    def repeat(self) -> int:
        """The number of instances after which the podSets repeat, with the same numbers of pods."""
        pattern = [(leaf.pods.route, leaf.pods.replicas) for leaf in self.leaves]
        count = len(pattern)
        lengths = (length for length in range(1, count + 1) if count % length == 0)
        return next(length for length in lengths if pattern == pattern[:length] * (count // length))

    @property
    def period(self) -> int:
        """The number of tasks in these instances."""
        return sum(leaf.pods.replicas for leaf in self.leaves[: self.repeat])

    @property
    def branches(self) -> tuple[Branch, ...]:
        """The branches of one period, in the order of their tasks."""
        starts, repeat = first_tasks(self.leaves), self.repeat
        return tuple(Branch(starts[number], self.leaves[number::repeat]) for number in range(repeat))


def first_tasks(leaves: tuple[Leaf, ...]) -> tuple[int, ...]:
    """The first task of each instance."""
    return (0, *accumulate(leaf.pods.replicas for leaf in leaves))[:-1]


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
        """The first instance: all request the same from a node, and use the same image and files."""
        return self.leaves[0].pods

    @property
    def nodes(self) -> int:
        """All nodes of the section."""
        return sum(leaf.pods.replicas for leaf in self.leaves) // self.per_node


class Loss(NamedTuple):
    """A placement that the job does not keep, or that it keeps by a feature: the feature and the unit."""

    feature: str
    unit: Unit
    preferred: bool = False


class Job(NamedTuple):
    """One gang."""

    gang: GangPlan
    sections: tuple[Section, ...]
    losses: tuple[Loss, ...] = ()  # each once for a unit of the file
    uses: tuple[Loss, ...] = ()  # what it needs of the version to keep the others

    @property
    def steps(self) -> tuple[Step, ...]:
        """One step for each section; several if the gang's lead is only a part of one."""
        return tuple(step for number, section in enumerate(self.sections) for step in _steps(self, number, section))


def _steps(job: Job, number: int, section: Section) -> Iterator[Step]:
    base, lead = 0, job.gang.gang.lead
    for led, leaves in groupby(section.leaves, key=lambda leaf: bool(lead) and leaf.pods.spec.name == lead):
        led_leaves = tuple(leaves)
        nodes = sum(leaf.pods.replicas for leaf in led_leaves) // section.per_node
        yield Step(number, base, nodes, led_leaves, led)
        base += nodes


# What a job requests of one node: how many pods share the node, and the sum of their requests

MEBIBYTE = 2**20


class Amounts(NamedTuple):
    """The requests of all pods on one node. `cpus` is for each task; 0 or an empty string: no request."""

    gpus: int
    cpus: int
    memory: str
    scratch: str


def per_node(pods: Pods, pool: Pool) -> int:
    """How many pods of an instance run on one node: as many as fit and divide the instance evenly."""
    most = most_per_node(pods, pool)
    return next(number for number in range(min(most, pods.replicas), 0, -1) if pods.replicas % number == 0)


def most_per_node(pods: Pods, pool: Pool) -> int:
    """How many pods fit on one node.

    One if a pod uses the IMEX channel of its node, needs the whole node, or requests nothing that limits it.
    """
    spec = pods.spec
    if spec.whole_node or pods.compute_domain:
        return 1
    fits: list[int] = []
    if spec.accelerator:
        fits.append(pool.node.accelerators // spec.accelerator.per_pod)
    for name, text in spec.resources.items():
        amount = quantity.parse(str(text))
        if amount and name in pool.node.resources:
            fits.append(pool.node.resources[name] // amount)
    return max(1, min(fits, default=1))


def amounts(pods: Pods, pods_on_node: int) -> Amounts:
    """The amounts of so many pods of one podSet."""
    spec = pods.spec
    cpu, memory, scratch = (
        quantity.parse(str(spec.resources.get(name, "0"))) for name in ("cpu", "memory", "ephemeral-storage")
    )
    return Amounts(
        gpus=spec.accelerator.per_pod * pods_on_node if spec.accelerator else 0,
        cpus=0 if spec.whole_node else -(-cpu // 1000),
        memory="" if spec.whole_node else _megabytes(memory * pods_on_node),
        scratch=_megabytes(scratch * pods_on_node),
    )


def _megabytes(thousandths: int) -> str:
    """Slurm's M and G are powers of 1024; bayplan rounds smaller amounts up."""
    mebibytes = -(-thousandths // (1000 * MEBIBYTE))
    if not mebibytes:
        return ""
    return f"{mebibytes // 1024}G" if mebibytes % 1024 == 0 else f"{mebibytes}M"


def is_exclusive(pods: Pods) -> bool:
    """Whether the job needs exclusive nodes: the user requests it, or the job uses the IMEX channel of the node."""
    return pods.spec.whole_node or bool(pods.compute_domain)


# Gangs as jobs

Instances = tuple[Leaf, ...]
"""PodSet instances that may share a section."""


class Cluster(NamedTuple):
    """What a section needs from its pool."""

    pool: Pool
    layout: SlurmLayout
    target: Target


class Division(NamedTuple):
    """Instances as sections, the placements that these lose and the features that they use."""

    sections: tuple[Section, ...]
    losses: tuple[Loss, ...] = ()
    uses: tuple[Loss, ...] = ()


class Depth(NamedTuple):
    """The units around instances at one depth: one for each in the file, and the nodes of each (0: they differ)."""

    units: tuple[Unit, ...]
    nodes: int
    units_in_all: int

    @property
    def required(self) -> str:
        """The level that all of them require."""
        return self.units[0].required

    @property
    def separate(self) -> str:
        """The level by which all of them are separate."""
        return self.units[0].separate


def clusters(plan: Plan, target: Target) -> dict[str, Cluster]:
    """The Slurm layout of each pool that the plan uses."""
    used = {pods.pool for gang in plan.gangs for pods in all_pods(gang.root)}
    pools = [pool for pool in plan.topology.pools if pool.name in used]
    return {pool.name: Cluster(pool, layout(plan.topology, pool, target), target) for pool in pools}


def jobs(plan: Plan, target: Target) -> tuple[Job, ...]:
    """The job of each gang, also of copies."""
    clusters_by_pool = clusters(plan, target)
    return tuple(job(plan, gang, clusters_by_pool) for gang in plan.gangs)


def job(plan: Plan, gang: GangPlan, clusters_by_pool: Mapping[str, Cluster]) -> Job:
    """The sections of a gang, in rank order, those without a request for memory first.

    sbatch passes `--mem` on to later sections that have none, and no value takes it back (Slurm 25.11, `slurm_opt.c`,
    reset_each_pass).
    """
    leaves = tuple(_leaves(gang.root, ()))
    divisions = []
    for instances in _instances_by_shape(plan, leaves):
        divisions.append(_sections(instances, clusters_by_pool[instances[0].pods.pool]))
    all_losses = [*_split_placements(leaves, divisions, plan), *(loss for each in divisions for loss in each.losses)]
    losses = {(loss.feature, loss.unit.route, loss.preferred): loss for loss in all_losses}
    uses = {(use.feature, use.unit.route): use for each in divisions for use in each.uses}
    sections = sorted((section for each in divisions for section in each.sections), key=_has_memory)
    return Job(gang, tuple(sections), tuple(losses.values()), tuple(uses.values()))


def _has_memory(section: Section) -> bool:
    return section.first.spec.whole_node or bool(amounts(section.first, section.per_node).memory)


def _pool_of(plan: Plan, pods: Pods) -> Pool:
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


def _instances_by_shape(plan: Plan, leaves: Instances) -> list[Instances]:
    """Instances that may share a section: with equal requests, equal options of srun and equal placements."""
    by_shape: dict[tuple[object, ...], list[Leaf]] = {}
    for leaf in leaves:
        spec, share = leaf.pods.spec, per_node(leaf.pods, _pool_of(plan, leaf.pods))
        shape = (leaf.pods.pool, share, amounts(leaf.pods, share), is_exclusive(leaf.pods))
        mounts = tuple((path, each.host_path, each.sub_path, each.read_only) for path, each in spec.volumes.items())
        started = (spec.image, spec.working_dir, tuple(spec.files.items()), mounts)
        placed = tuple((unit.required, unit.separate) for unit in leaf.path)
        by_shape.setdefault((shape, started, placed), []).append(leaf)
    return [tuple(instances) for instances in by_shape.values()]


def _split_placements(leaves: Instances, divisions: Sequence[Division], plan: Plan) -> Iterator[Loss]:
    """Units with a placement over several divisions."""
    division_of = {
        leaf.pods.name: number for number, each in enumerate(divisions) for s in each.sections for leaf in s.leaves
    }
    below: dict[str, tuple[Unit, set[int]]] = {}
    for leaf in leaves:
        for unit in leaf.path:
            below.setdefault(unit.name, (unit, set()))[1].add(division_of[leaf.pods.name])
    pools = {leaf.pods.name: _pool_of(plan, leaf.pods) for leaf in leaves}
    pool = pools[leaves[0].pods.name]
    for unit, numbers in below.values():
        if len(numbers) > 1 and (constrains(unit.required, pool) or unit.preferred):
            yield Loss("unlike-shapes", unit, not unit.required)


def constrains(level: str, pool: Pool) -> bool:
    """Whether a level restricts anything: all nodes of the pool may be in one domain of it."""
    if not level:
        return False
    if level == HOST_LEVEL or pool.level(level) is None:
        return True
    depth = pool.depth(level)
    return len({row.path[: depth + 1] for row in pool.domains}) > 1


def _sections(instances: Instances, cluster: Cluster) -> Division:
    """One section, or several if only these keep the placements: one for each size of groups, or one for each group."""
    whole = _one_section(instances, cluster)
    if not whole.losses:
        return whole
    candidates = [whole]
    for depth in range(1, len(instances[0].path)):
        units = [tuple(part) for _, part in groupby(instances, key=lambda leaf: leaf.path[depth].name)]
        sizes = [tuple(part) for _, part in groupby(units, key=_pod_count)]
        for parts in ([sum(same, ()) for same in sizes], units):
            if len(parts) > 1:
                candidates.append(_split(instances, parts, depth, cluster))
    return min(candidates, key=lambda division: (len(division.losses), len(division.sections)))


def _pod_count(unit: Instances) -> int:
    return sum(leaf.pods.replicas for leaf in unit)


def _split(instances: Instances, parts: Sequence[Instances], depth: int, cluster: Cluster) -> Division:
    """A section for each part; placements above them are lost."""
    divisions = [_one_section(part, cluster) for part in parts]
    above = [
        instances[0].path[level]
        for level in range(depth)
        if constrains(instances[0].path[level].required, cluster.pool)
    ]
    losses = (*(Loss("unlike-shapes", unit) for unit in above), *(loss for each in divisions for loss in each.losses))
    uses = tuple(use for each in divisions for use in each.uses)
    return Division(tuple(section for each in divisions for section in each.sections), losses, uses)


def _one_section(instances: Instances, cluster: Cluster) -> Division:
    section = Section(instances, per_node(instances[0].pods, cluster.pool))
    depths = [_depth(instances, number, section.per_node) for number in range(len(instances[0].path))]
    constrained = [(number, each) for number, each in enumerate(depths) if constrains(each.required, cluster.pool)]
    if cluster.layout.plugin == TREE:
        return _on_tree(section, depths, constrained, cluster)
    separated = [number for number, each in enumerate(depths) if each.separate and each.nodes]
    cuts = separated or [
        number for number, each in enumerate(depths) if not number or (each.nodes and each.units_in_all > 1)
    ]
    divisions = {cut: _cut_into_segments(section, depths, constrained, cut, cluster) for cut in cuts}
    deepest = max((number for number, _ in constrained), default=0)
    return divisions[min(cuts, key=lambda cut: (*_cost(section, divisions[cut], cut), abs(deepest - cut)))]


def _cost(section: Section, division: Division, cut: int) -> tuple[int, bool, int]:
    """Fewer losses are better, then a channel for each ComputeDomain, then fewer features of recent Slurm versions."""
    domains = {leaf.pods.compute_domain for leaf in section.leaves}
    return len(division.losses), len(domains) > 1 and not _channels(section, cut), len(division.uses)


def _depth(instances: Instances, number: int, share: int) -> Depth:
    parts = [tuple(part) for _, part in groupby(instances, key=lambda leaf: leaf.path[number].name)]
    sizes = {_pod_count(part) for part in parts}
    size = next(iter(sizes))
    units = {part[0].path[number].route: part[0].path[number] for part in parts}
    return Depth(tuple(units.values()), size // share if len(sizes) == 1 and size % share == 0 else 0, len(parts))


def _cut_into_segments(
    section: Section, depths: Sequence[Depth], constrained: Sequence[tuple[int, Depth]], cut: int, cluster: Cluster
) -> Division:
    """The section with segments at one depth. Their size keeps placements at or below it, consolidation those above."""
    size = depths[cut].nodes or section.nodes
    losses: list[Loss] = []
    uses: list[Loss] = []
    for number, each in constrained:
        nodes = size if number >= cut else section.nodes
        if number < cut and each.units_in_all > 1:
            losses += (Loss("nested-placement", unit) for unit in each.units)
        elif not _fits(nodes, each.required, cluster):
            losses += (Loss("large-segment", unit) for unit in each.units)
        else:
            padded = ["padded-level"] if _needs_padded_blocks(nodes, each.required, cluster) else []
            together = ["consolidated-segments"] if number < cut else []
            uses += (Loss(feature, unit) for feature in (*padded, *together) for unit in each.units)
    separated = depths[cut]
    if separated.separate and (not cluster.pool.levels or separated.separate != cluster.pool.levels[-1].name):
        losses += (Loss("separate-above-block", unit) for unit in separated.units)
    consolidate = any(use.feature == "consolidated-segments" for use in uses)
    return Division(
        (_with_options(section, depths, constrained, cut, consolidate, cluster),), tuple(losses), tuple(uses)
    )


def _with_options(
    section: Section,
    depths: Sequence[Depth],
    constrained: Sequence[tuple[int, Depth]],
    cut: int,
    consolidate: bool,
    cluster: Cluster,
) -> Section:
    """The section with the options that its Slurm version supports."""
    modern = cluster.target.since("slurm", "25.11")
    wanted = any(number >= cut for number, _ in constrained) or bool(depths[cut].separate)
    if not (cut and wanted and depths[cut].nodes):
        return section
    return section._replace(
        segment=depths[cut].nodes,
        consolidate=consolidate and modern,
        spread=bool(depths[cut].separate) and modern,
        channels=_channels(section, cut) and modern,
    )


def _channels(section: Section, cut: int) -> bool:
    """Whether there are several ComputeDomains, and each is one segment."""
    pairs = {(leaf.path[cut].name, leaf.pods.compute_domain) for leaf in section.leaves}
    units, domains = {unit for unit, _ in pairs}, {domain for _, domain in pairs}
    return "" not in domains and len(pairs) == len(units) == len(domains) > 1


def _fits(nodes: int, level: str, cluster: Cluster) -> bool:
    """Whether so many nodes stay in one domain of a level."""
    if level == HOST_LEVEL:
        return nodes == 1
    if cluster.layout.plugin != BLOCK:
        return False
    return nodes <= max(cluster.layout.planned.get(level, 0), cluster.layout.base)


def _needs_padded_blocks(nodes: int, level: str, cluster: Cluster) -> bool:
    """Whether only empty blocks, or blocks below the base size, keep so many nodes in one domain of a level."""
    pool, layout = cluster.pool, cluster.layout
    if level == HOST_LEVEL:
        return False
    sizes = [len(row.nodes) for row in pool.domains]
    if not pool.levels[-1].plan and max(sizes) > min(sizes) < nodes:
        return True
    finer = [each.name for each in pool.levels[pool.depth(level) :] if each.name not in layout.padded]
    return nodes > max((layout.planned.get(name, 0) for name in finer), default=layout.base)


def _on_tree(
    section: Section, depths: Sequence[Depth], constrained: Sequence[tuple[int, Depth]], cluster: Cluster
) -> Division:
    """--switches bounds the number of leaf switches, and only for some time."""
    finest = cluster.pool.levels[-1].name
    wanted = [each for each in depths if finest in (each.required, each.units[0].preferred)]
    losses = tuple(Loss("tree-placement", unit) for _, each in constrained for unit in each.units)
    return Division((section._replace(switches=wanted[0].units_in_all if wanted else 0),), losses)
