"""What a plan and a topology need from Slurm, jobs for which no block has room, and settings of the cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.plugin import (
    AUTO_SHM,
    PROBES,
    ClusterTopology,
    Diagnostic,
    Domain,
    GangPlan,
    Need,
    Plan,
    Pods,
    Pool,
    Shape,
    Target,
    Workload,
    all_pods,
    entries,
    error,
    info,
    name_rules,
    once,
    settings,
    slurm_name,
    warning,
)
from bayplan.plugin import plan_title as title
from bayplan.plugins.slurm.backend.jobs import Cluster, Job, Loss, Section, clusters, job, most_per_node, per_node
from bayplan.plugins.slurm.backend.script import mounted, partition_of
from bayplan.plugins.slurm.backend.tasks import FIELDS, looked_up, task
from bayplan.plugins.slurm.topology import BLOCK, FLAT
from bayplan.plugins.slurm.topology.layout import SlurmLayout, plugin_of, topology_name

NEWEST = Target()
"""Needs are those for the newest Slurm; the rows of support declare what an older one lacks."""

ARRAY = 1001
"""The default of MaxArraySize, above which no task of an array has its number (`man slurm.conf`, 24.11 to 25.11)."""

RESOURCES = ("cpu", "memory", "ephemeral-storage")

ADDRESS = {"name": "PET_LOCAL_ADDR", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
OWN_ADDRESS: Mapping[str, Any] = {"spec": {"containers": [{"env": [ADDRESS]}]}}
"""A template that only passes the pod's address to torchrun. Under Slurm, nodes find each other by name."""


def needs(plan: Plan) -> tuple[Need, ...]:
    """Placements that a job does not keep, options that keep the others, and fields of pods that tasks lack."""
    of_cluster = tuple(cluster_needs(plan.topology))
    if any(need.feature == "mapped-names" for need in of_cluster):
        return of_cluster
    firsts = [gang for gang in plan.gangs if gang.copy == 0]
    clusters_by_pool = clusters(plan, NEWEST)
    jobs = [job(plan, gang, clusters_by_pool) for gang in firsts]
    return (
        *of_cluster,
        *_object_needs(plan),
        *_idle_timeouts(jobs),
        *_partitions(plan, jobs),
        *(need for each in jobs for need in _placement_needs(each)),
        *(need for each in jobs for need in _imex_channels(each)),
        *(need for each in jobs for section in each.sections for need in _scattered_names(plan, each, section)),
        *(need for gang in firsts for pods in once(all_pods(gang.root)) for need in _pod_needs(plan, gang, pods)),
    )


def kind_needs(plan: Plan, workload: Workload) -> Iterator[Need]:
    """The limits of job arrays: their size, and that no heterogeneous job is one (Slurm, heterogeneous_jobs.shtml)."""
    most = int(settings(plan.topology).get("maxArraySize", ARRAY))
    for gang in (each for each in workload.gangs if each.copies > 1):
        route, subject = (*gang.route, "matrix" if gang.gang.rows else "replicas"), f'gang "{gang.gang.name}"'
        sections = len(job(plan, gang, clusters(plan, NEWEST)).sections)
        yield Need("array-sections", sections, route, subject=subject)
        yield Need("array-size", 1 if gang.copies <= most else max(gang.copies, ARRAY + 1), route, subject=subject)


def _object_needs(plan: Plan) -> Iterator[Need]:
    """Fields of Kubernetes objects."""
    metadata = ("workflow", "metadata")
    for key, values in (("labels", plan.workflow.labels), ("annotations", plan.workflow.annotations)):
        if values:
            yield Need("object-fields", 1, (*metadata, key), subject=f"`{key}`")
    if plan.workflow.image_pull_secrets:
        yield Need("pull-secrets", 1, ("workflow", "spec", "imagePullSecrets"), subject="`imagePullSecrets`")
    for gang in (each for each in plan.gangs if each.copy == 0):
        if gang.gang.ttl_seconds_after_finished is not None:
            at = (*gang.route, "ttlSecondsAfterFinished")
            yield Need("object-fields", 1, at, subject="`ttlSecondsAfterFinished`")


def _idle_timeouts(jobs: Sequence[Job]) -> Iterator[Need]:
    """`switchesTimeout` of gangs without --switches."""
    for each in jobs:
        if "switchesTimeout" in each.gang.gang.backends.get("slurm", {}) and not any(s.switches for s in each.sections):
            at = (*each.gang.route, "backends", "slurm", "switchesTimeout")
            yield Need("idle-timeout", 1, at, subject=f'gang "{each.gang.gang.name}"')


def _partitions(plan: Plan, jobs: Sequence[Job]) -> Iterator[Need]:
    """Partitions that several pools of one workflow share."""
    pools: dict[str, dict[str, Job]] = {}
    for gang_job in jobs:
        for section in gang_job.sections:
            if not gang_job.gang.gang.backends.get("slurm", {}).get("constraint"):
                pools.setdefault(partition_of(plan, gang_job.gang, section), {}).setdefault(
                    section.first.pool, gang_job
                )
    for partition, jobs_by_pool in pools.items():
        named = f'partition "{partition}"' if partition else "the default partition"
        yield Need(
            "shared-partition", len(jobs_by_pool), (*list(jobs_by_pool.values())[-1].gang.route, "name"), subject=named
        )


def _placement_needs(gang_job: Job) -> Iterator[Need]:
    for loss in (*gang_job.losses, *gang_job.uses):
        route, key = loss.unit.route, "separate" if loss.feature == "separate-above-block" else "placement"
        at = (*route, key) if key == "separate" else (*route, key, "preferred" if loss.preferred else "required")
        nodes, subject = _amount(gang_job, loss), _subject(gang_job.gang, loss)
        named = f"{subject} ({nodes} nodes)" if loss.feature == "large-segment" else subject
        yield Need(loss.feature, nodes, at, loss.preferred, named)


def _amount(gang_job: Job, loss: Loss) -> int:
    """The number of nodes that must be together."""
    for section in gang_job.sections:
        leaves = [leaf for leaf in section.leaves if any(unit.name == loss.unit.name for unit in leaf.path)]
        if leaves:
            return sum(leaf.pods.replicas for leaf in leaves) // section.per_node
    return 1


def _subject(gang: GangPlan, loss: Loss) -> str:
    unit = loss.unit
    level = unit.separate if loss.feature == "separate-above-block" else unit.required or unit.preferred
    return f'{title(gang, unit)} at level "{level}"'


def _imex_channels(gang_job: Job) -> Iterator[Need]:
    """ComputeDomains that share the IMEX channel of a section, and those over several sections."""
    subject = f'gang "{gang_job.gang.gang.name}"'
    homes: dict[str, set[int]] = {}
    for number, section in enumerate(gang_job.sections):
        domains = {leaf.pods.compute_domain for leaf in section.leaves if leaf.pods.compute_domain}
        for each in domains:
            homes.setdefault(each, set()).add(number)
        if len(domains) > 1:
            yield Need("shared-channel", 1 if section.channels else 2, section.first.route, subject=subject)
    if any(len(numbers) > 1 for numbers in homes.values()):
        yield Need("torn-channel", 1, (*gang_job.gang.route, "name"), subject=subject)


def _scattered_names(plan: Plan, gang_job: Job, section: Section) -> Iterator[Need]:
    """Segments whose ranks do not follow each other, because nodes sorted by name are in alternating blocks."""
    pool = plan.topology.pool(section.first.pool)
    if not section.segment or section.segment == section.nodes or pool is None:
        return
    rules = name_rules(plan.topology)
    named = [(natural(slurm_name(node, rules)), row.path) for row in pool.domains for node in row.nodes]
    seen, last = set(), None
    for _, path in sorted(named):
        if path != last and path in seen:
            subject = f'podSet "{section.first.spec.name}"'
            yield Need("scattered-names", 1, section.first.route, subject=subject)
            return
        seen.add(path)
        last = path


def natural(name: str) -> list[tuple[int, int, str]]:
    """A key that sorts digits as numbers (Slurm 25.05, `strnatcmp.c`)."""
    parts = re.split(r"([0-9]+)", name)
    return [(1, int(part[:18]), part) if part.isascii() and part.isdigit() else (0, 0, part) for part in parts if part]


def _pod_needs(plan: Plan, gang: GangPlan, pods: Pods) -> Iterator[Need]:
    spec, subject = pods.spec, f'podSet "{pods.spec.name}"'
    own = gang.gang.backends.get("slurm", {})
    if spec.template and spec.template != OWN_ADDRESS:
        yield Need("pod-template", 1, (*pods.route, "template"), subject=subject)
    if spec.image_pull_secrets:
        yield Need("pull-secrets", 1, (*pods.route, "imagePullSecrets"), subject=f"{subject}, `imagePullSecrets`")
    if spec.restart_policy == "OnFailure":
        yield Need("task-restart", 1, (*pods.route, "restartPolicy"), subject=subject)
    if not spec.command:
        yield Need("no-command", 1, (*pods.route, "args" if spec.args else "name"), subject=subject)
    if spec.ports or (spec.has_shm and spec.shm != AUTO_SHM):
        yield Need("own-network", 1, (*pods.route, "ports" if spec.ports else "shm"), subject=subject)
    container = bool(spec.image) and own.get("container", "pyxis") == "pyxis"
    alone = pods.ranks and pods.ranks.nodes == sum(each.replicas for each in all_pods(gang.root))
    if spec.launcher and (container or not alone):
        yield Need("mpi-launcher", 1, (*pods.route, "launcher"), subject=subject)
    if (spec.image or spec.files) and not container:
        yield Need("no-container", 1, (*pods.route, "files" if spec.files else "image"), subject=subject)
    if any(spec.data):
        yield Need("data", 1, (*pods.route, "data"), subject=subject)
    yield from _lookups(pods, subject)
    yield from _beside(pods, subject, container)
    others = sorted(set(spec.resources) - set(RESOURCES)) if not spec.whole_node else []
    if others:
        yield Need("other-resources", 1, (*pods.route, "resources", others[0]), subject=subject)
    pool = plan.topology.pool(pods.pool)
    share = per_node(pods, pool) if pool else 1
    if share > 1:
        each = f"up to {share} pods of {subject} fit on a node"
        yield Need("shared-nodes", share, (*pods.route, "replicas"), subject=each)


def _lookups(pods: Pods, subject: str) -> Iterator[Need]:
    """Values of Secrets, ConfigMaps, fields of the pod and requests."""
    spec, route = pods.spec, pods.route
    for entry in entries(spec.env):
        if "value" not in entry and looked_up(entry) not in FIELDS and entry != ADDRESS:
            name = entry["name"]
            yield Need("looked-up-values", 1, (*route, "env", name), subject=f"{subject}, variable {name}")
    if spec.env_from:
        yield Need("looked-up-values", 1, (*route, "envFrom"), subject=f"{subject}, `envFrom`")
    for path, each in spec.volumes.items():
        if each.secret or each.config_map or each.projected:
            yield Need("looked-up-values", 1, (*route, "volumes", path), subject=f"{subject}, {path}")


def _beside(pods: Pods, subject: str, container: bool) -> Iterator[Need]:
    """Storage, probes, other containers, and fields that have no effect."""
    spec, route = pods.spec, pods.route
    for path, each in spec.volumes.items():
        there = mounted(path, each) if container else each.host_path == path and not (each.sub_path or each.read_only)
        if not (there or each.secret or each.config_map or each.projected):
            yield Need("volumes", 1, (*route, "volumes", path), subject=f"{subject}, {path}")
    for key in ("initContainers", "sidecars"):
        if spec.init_containers if key == "initContainers" else spec.sidecars:
            yield Need("other-containers", 1, (*route, key), subject=f"{subject}, `{key}`")
    probes = (spec.startup_probe, spec.readiness_probe, spec.liveness_probe)
    for key in (key for key, probe in zip(PROBES, probes, strict=True) if probe):
        yield Need("probes", 1, (*route, key), subject=f"{subject}, `{key}`")
    if spec.service_account:
        yield Need("object-fields", 1, (*route, "serviceAccount"), subject=f"{subject}, `serviceAccount`")
    if spec.termination_grace_period_seconds is not None:
        at = (*route, "terminationGracePeriodSeconds")
        yield Need("end-of-tasks", 1, at, subject=f"{subject}, `terminationGracePeriodSeconds`")


def cluster_needs(topology: ClusterTopology) -> Iterator[Need]:
    """Limits of Slurm's files: the number of nodes and topologies, short blocks and unique names of nodes."""
    nodes = [node for pool in topology.pools for row in pool.domains for node in row.nodes]
    yield Need("many-nodes", len(nodes), ("topology", "spec", "pools"), subject="the topology")
    placed_pools = [pool for pool in topology.pools if pool.levels and plugin_of(topology, pool) != FLAT]
    yield Need("several-layouts", len(placed_pools), ("topology", "spec", "pools"), subject="the topology")
    yield from _short_blocks(topology)
    route = ("topology", "spec", "schedulers", "slurm", "names")
    rules = name_rules(topology)
    named: dict[str, str] = {}
    for node in nodes if rules else ():
        if not any(rule.pattern.fullmatch(node) for rule in rules):
            yield Need("mapped-names", 1, route, subject=f'no rule of `names` matches node "{node}"')
            return
        if named.setdefault(slurm_name(node, rules), node) != node:
            other = named[slurm_name(node, rules)]
            subject = f'nodes "{other}" and "{node}" would both have the name "{slurm_name(node, rules)}"'
            yield Need("mapped-names", 1, route, subject=subject)
            return


def _short_blocks(topology: ClusterTopology) -> Iterator[Need]:
    """Domains with fewer nodes than their level's `plan`."""
    for number, pool in enumerate(topology.pools):
        if pool.levels and plugin_of(topology, pool) == BLOCK and (planned := pool.levels[-1].plan):
            short = [row for row in pool.domains if len(row.nodes) < planned]
            if short:
                at = ("topology", "spec", "pools", number, "levels", len(pool.levels) - 1, "plan")
                one = f'"{"/".join(short[0].path)}" ({len(short[0].nodes)})'
                subject = f"{len(short)} domains have fewer than {planned} nodes, such as {one}"
                yield Need("padded-level", 1, at, subject=subject)


# F704 and F614: jobs that Slurm keeps in one block although no block has room for them, jobs whose sections need more
# nodes than their pool has, and limits of Slurm.
#
# Without segments, all nodes of a job stay in one block of the smallest planning size that is large enough, in as few
# blocks of the next smaller size as possible. The same holds for each segment. Consolidated segments stay in one block
# of the smallest size that is large enough for all (Slurm 24.11 to 25.11, `eval_nodes_block.c`).

Domains = list[Domain]


class PlannedPool(NamedTuple):
    """A pool as Slurm plans it."""

    pool: Pool
    layout: SlurmLayout
    unusable: frozenset[str]  # unusable nodes


def prove(plan: Plan, target: Target) -> tuple[Diagnostic, ...]:
    """Jobs that fit the cluster but not as Slurm starts them: in a single block, and each section on its own nodes."""
    clusters_by_pool = clusters(plan, target)
    firsts = [job(plan, gang, clusters_by_pool) for gang in plan.gangs if gang.copy == 0]
    over_limits = tuple(found for each in firsts for found in _over_limits(each))
    if over_limits:
        return over_limits
    planned_pools = {name: _planned_pool(each) for name, each in clusters_by_pool.items()}
    return tuple(found for each in firsts for found in _without_nodes(each, planned_pools))


def _without_nodes(gang_job: Job, planned_pools: Mapping[str, PlannedPool]) -> Iterator[Diagnostic]:
    """Sections for which no block has room, else the sections of a pool that need more nodes than it has.

    No two sections of a heterogeneous job run on the same node (Slurm 25.11, `backfill.c`, _het_job_start_now).
    """
    gang = gang_job.gang
    sections_by_pool: dict[str, list[Section]] = {}
    for section in gang_job.sections:
        sections_by_pool.setdefault(section.first.pool, []).append(section)
    for name, sections in sections_by_pool.items():
        planned = planned_pools[name]
        in_blocks = sections if planned.layout.plugin == BLOCK else ()
        found = [each for section in in_blocks for each in _without_room(gang, section, planned)]
        yield from found
        wanted = sum(section.nodes for section in sections)
        usable = sum(len(row.nodes) for row in planned.pool.domains) - len(planned.unusable)
        if wanted > usable and not found:
            parts = "the job" if len(sections) == 1 else f"{len(sections)} sections of the job, which share no node,"
            message = (
                f'gang "{gang.gang.name}": Slurm starts {parts} on {wanted} nodes of pool "{name}", of which {usable}'
                " are usable"
            )
            hint = "make the podSets equal, so that one section has all of them, or remove pods"
            hints = [_even(section, planned.pool) for section in sections]
            yield warning("F704", (*gang.route, "name"), message, hint=next(filter(None, hints), hint))


def _planned_pool(cluster: Cluster) -> PlannedPool:
    unusable = cluster.pool.unusable_nodes()
    return PlannedPool(cluster.pool, cluster.layout, unusable)


MOST_SECTIONS = 128
"""MAX_HET_JOB_COMPONENTS (Slurm 25.11, `slurm.h`)."""
LONGEST_WORD = 131_072
"""Bytes of one argument of a program (Linux, MAX_ARG_STRLEN): the text of a task is an argument of srun."""


def _over_limits(gang_job: Job) -> Iterator[Diagnostic]:
    """Jobs with more sections, or with more podSets in one section, than Slurm and Linux accept."""
    name, at = f'gang "{gang_job.gang.gang.name}"', (*gang_job.gang.route, "name")
    if len(gang_job.sections) > MOST_SECTIONS:
        count = len(gang_job.sections)
        message = f"{name} needs a heterogeneous job of {count} sections; Slurm accepts at most {MOST_SECTIONS}"
        yield error("F614", at, message, hint="make its podSets equal, or split it into several gangs")
    for number in range(len(gang_job.steps)):
        size = len(task(gang_job, number).encode())
        if size >= LONGEST_WORD:
            message = f"the task script of {name} has {size} bytes; an argument of srun has at most {LONGEST_WORD - 1}"
            hint = "merge equal podSets into one with more `replicas`, or put long commands into `files`"
            yield error("F614", at, message, hint=hint)


def _without_room(gang: GangPlan, section: Section, planned: PlannedPool) -> Iterator[Diagnostic]:
    pool = planned.pool
    nodes, segment = section.nodes, section.segment or section.nodes
    size = _block_size(planned, nodes)
    areas = _blocks(planned, list(pool.domains), size) if section.consolidate else [list(pool.domains)]
    most = max(_segment_count(planned, area, segment, section.spread) for area in areas)
    if most * segment >= nodes:
        return
    parts = f"{nodes // segment} segments of {segment} nodes" if segment < nodes else f"{nodes} nodes"
    one_block = f" in one block of {size or 'all'} planned nodes"
    where = one_block if section.consolidate else ""
    each = f"each segment in one block of {_block_size(planned, segment) or 'all'}"
    kept = f"{where}, {each}" if segment < nodes else one_block
    message = f'gang "{gang.gang.name}": Slurm keeps {parts}{kept}, and no such block has enough usable nodes'
    hint = "wait until nodes are repaired, or split the job into smaller groups with a level of their own"
    yield warning("F704", (*gang.route, "name"), message, hint=_even(section, pool) or hint)


def _even(section: Section, pool: Pool) -> str:
    """The number of pods with which Slurm, which starts equally many on each node, needs fewer nodes; or nothing."""
    pods = section.first
    nodes = -(-pods.replicas // most_per_node(pods, pool))
    if nodes >= pods.replicas // section.per_node:
        return ""
    even = nodes * -(-pods.replicas // nodes)
    change = f'use {even} replicas of podSet "{pods.spec.name}" instead of {pods.replicas}'
    return f"{change}: Slurm starts equally many pods on each node"


def _block_size(planned: PlannedPool, nodes: int) -> int:
    """The smallest planning size for so many nodes; 0 if all are smaller, so that the whole pool counts."""
    return next((size for size in planned.layout.sizes if size >= nodes), 0)


def _segment_count(planned: PlannedPool, area: Domains, nodes: int, apart: bool) -> int:
    """The number of segments of so many nodes that fit into an area, one by one."""
    lower = max((size for size in planned.layout.sizes if size < nodes), default=0)
    total = 0
    for block in _blocks(planned, area, _block_size(planned, nodes)):
        counts = [
            sum(node not in planned.unusable for row in part for node in row.nodes)
            for part in _blocks(planned, block, lower)
        ]
        counts = sorted(counts, reverse=True) if lower else [sum(counts)]
        first = sum(counts[: -(-nodes // lower)] if lower else counts)
        here = sum(counts) // nodes if first >= nodes else 0
        total += min(here, 1) if apart else here
    return total


def _blocks(planned: PlannedPool, rows: Domains, size: int) -> list[Domains]:
    """The domains of each block of a planning size; all of them together if no level has that size."""
    levels = enumerate(planned.pool.levels, 1)
    depth = max((n for n, level in levels if size and planned.layout.planned.get(level.name) == size), default=0)
    parts: dict[tuple[str, ...], Domains] = {}
    for row in rows:
        parts.setdefault(row.path[:depth], []).append(row)
    return list(parts.values())


# F689: settings of the cluster that a script depends on

CODE = "F689"


def notices(plan: Plan, shape: Shape, target: Target) -> tuple[Diagnostic, ...]:
    """One for each setting, even if several gangs depend on it."""
    notices_by_message: dict[str, Diagnostic] = {}
    clusters_by_pool = clusters(plan, target)
    for gang in (each for each in plan.gangs if each.copy == 0):
        for section in job(plan, gang, clusters_by_pool).sections:
            for each in _section_notices(plan, gang, section, clusters_by_pool[section.first.pool]):
                notices_by_message.setdefault(each.message, each)
    return tuple(notices_by_message.values())


def _section_notices(plan: Plan, gang: GangPlan, section: Section, cluster: Cluster) -> Iterator[Diagnostic]:
    placed = any(unit.required or unit.preferred or unit.separate for leaf in section.leaves for unit in leaf.path)
    if placed and cluster.layout.plugin != FLAT:
        yield _topology_notice(plan, cluster)
    if len(plan.topology.pools) > 1:
        yield _partition_notice(plan, gang, section, cluster)
    if section.first.compute_domain:
        message = "Slurm creates the IMEX channel of a job only with SwitchType=switch/nvidia_imex"
        stated = "state it in the topology file: `schedulers: {slurm: {featureGates: {NvidiaImex: true}}}`"
        hint = f"configure it (switch/nvidia_imex in man slurm.conf), and {stated}"
        yield from _unless_configured(plan, "NvidiaImex", info(CODE, (*gang.route, "name"), message, hint=hint))
    if section.first.spec.image and gang.gang.backends.get("slurm", {}).get("container", "pyxis") == "pyxis":
        message = "srun starts the image with --container-image, which needs the plugin pyxis and enroot"
        stated = "state it in the topology file, `schedulers: {slurm: {featureGates: {Pyxis: true}}}`"
        hint = f"install them and {stated}, or set `backends: {{slurm: {{container: none}}}}` and remove the image"
        yield from _unless_configured(plan, "Pyxis", info(CODE, (*section.first.route, "image"), message, hint=hint))


def _partition_notice(plan: Plan, gang: GangPlan, section: Section, cluster: Cluster) -> Diagnostic:
    partition = partition_of(plan, gang, section)
    named = f'partition "{partition}"' if partition else "the default partition"
    number = plan.topology.pools.index(cluster.pool)
    message = f'{named} must have only nodes of pool "{cluster.pool.name}": Slurm selects nodes by partition'
    hint = (
        "if it has others, name another in the topology file: `schedulers: {slurm: {pools: {POOL: {partition: NAME}}}}`"
    )
    return info(CODE, ("topology", "spec", "pools", number, "name"), message, hint=hint)


def _unless_configured(plan: Plan, gate: str, notice: Diagnostic) -> Iterator[Diagnostic]:
    """No notice if the topology file states that the cluster has the setting, an error if it states that it has not."""
    state = settings(plan.topology).get("featureGates", {}).get(gate)
    if state is not True:
        yield notice if state is None else notice._replace(severity="error")


def _topology_notice(plan: Plan, cluster: Cluster) -> Diagnostic:
    pool, layout = cluster.pool, cluster.layout
    number = plan.topology.pools.index(pool)
    named = f" with BlockSizes={','.join(map(str, layout.sizes))}" if layout.sizes else ""
    modern = cluster.target.since("slurm", "25.05")
    where = f' "{topology_name(plan.topology, pool)}" of topology.yaml' if modern else " of topology.conf"
    message = (
        f'Slurm keeps the placement only if the nodes of pool "{pool.name}" are in a {layout.plugin}'
        f" topology{where}{named}"
        ", and the partition uses it"
    )
    hint = "run `bayplan topology export --to slurm` to write the file"
    return info(CODE, ("topology", "spec", "pools", number, "levels"), message, hint=hint)
