"""What a plan and a topology need of Slurm alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.backends.slurm.jobs import clusters, job
from bayplan.backends.slurm.nodes import per_node
from bayplan.backends.slurm.script import partition_of
from bayplan.backends.slurm.sections import Job, Loss, Section
from bayplan.model.features import Need
from bayplan.model.plan import GangPlan, Plan, Pods, all_pods, once, title
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.topologies.slurm import BLOCK, FLAT
from bayplan.topologies.slurm.layout import name_rules, plugin_of, slurm_name

NEWEST = Target()
"""Needs are counted for the newest Slurm; the rows of support say what an older one lacks."""

KNOWN = ("cpu", "memory", "ephemeral-storage")

ADDRESS = {"name": "PET_LOCAL_ADDR", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
OWN_ADDRESS: Mapping[str, Any] = {"spec": {"containers": [{"env": [ADDRESS]}]}}
"""A template that says no more than what torchrun is told of its pod's address: nodes know each other by name."""


def needs(plan: Plan) -> tuple[Need, ...]:
    """Placements that no job keeps, what keeps the others, and what pods have that tasks have not."""
    wrong = tuple(cluster_needs(plan.topology))
    if any(need.feature == "mapped-names" for need in wrong):
        return wrong
    firsts = [gang for gang in plan.gangs if gang.copy == 0]
    known = clusters(plan, NEWEST)
    jobs = [job(plan, gang, known) for gang in firsts]
    return (
        *wrong,
        *_partitions(plan, jobs),
        *(need for each in jobs for need in _placed(each)),
        *(need for each in jobs for need in _channels(each)),
        *(need for each in jobs for section in each.sections for need in _scattered(plan, each, section)),
        *(need for gang in firsts for pods in once(all_pods(gang.root)) for need in _pods(plan, gang, pods)),
    )


def _partitions(plan: Plan, jobs: Sequence[Job]) -> Iterator[Need]:
    """Pools of one workflow that Slurm could not tell apart."""
    pools: dict[str, dict[str, Job]] = {}
    for made in jobs:
        for section in made.sections:
            if not made.gang.gang.backends.get("slurm", {}).get("constraint"):
                pools.setdefault(partition_of(plan, made.gang, section), {}).setdefault(section.first.pool, made)
    for partition, found in pools.items():
        named = f'partition "{partition}"' if partition else "the default partition"
        yield Need("shared-partition", len(found), (*list(found.values())[-1].gang.route, "name"), subject=named)


def _placed(made: Job) -> Iterator[Need]:
    for loss in (*made.losses, *made.uses):
        route, key = loss.unit.route, "separate" if loss.feature == "separate-above-block" else "placement"
        at = (*route, key) if key == "separate" else (*route, key, "preferred" if loss.preferred else "required")
        yield Need(loss.feature, _amount(made, loss), at, loss.preferred, _subject(made.gang, loss))


def _amount(made: Job, loss: Loss) -> int:
    """The nodes that would have to be together."""
    for section in made.sections:
        mine = [leaf for leaf in section.leaves if any(unit.name == loss.unit.name for unit in leaf.path)]
        if mine:
            return sum(leaf.pods.replicas for leaf in mine) // section.per_node
    return 1


def _subject(gang: GangPlan, loss: Loss) -> str:
    unit = loss.unit
    level = (
        f' at level "{unit.separate if loss.feature == "separate-above-block" else unit.required or unit.preferred}"'
    )
    return title(gang, unit) + level


def _channels(made: Job) -> Iterator[Need]:
    """ComputeDomains that share a section's IMEX channel, and those that several sections tear apart."""
    subject = f'gang "{made.gang.gang.name}"'
    homes: dict[str, set[int]] = {}
    for number, section in enumerate(made.sections):
        domains = {leaf.pods.compute_domain for leaf in section.leaves if leaf.pods.compute_domain}
        for each in domains:
            homes.setdefault(each, set()).add(number)
        if len(domains) > 1:
            yield Need("shared-channel", 1 if section.channels else 2, section.first.route, subject=subject)
    if any(len(numbers) > 1 for numbers in homes.values()):
        yield Need("torn-channel", 1, (*made.gang.route, "name"), subject=subject)


def _scattered(plan: Plan, made: Job, section: Section) -> Iterator[Need]:
    """Segments whose ranks do not follow each other: nodes sorted by name jump between blocks."""
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
    return [(1, int(part[:18]), part) if part.isdigit() else (0, 0, part) for part in parts if part]


def _pods(plan: Plan, gang: GangPlan, pods: Pods) -> Iterator[Need]:
    spec, subject = pods.spec, f'podSet "{pods.spec.name}"'
    own = gang.gang.backends.get("slurm", {})
    if spec.template and spec.template != OWN_ADDRESS:
        yield Need("pod-template", 1, (*pods.route, "template"), subject=subject)
    if spec.restart_policy == "OnFailure":
        yield Need("task-restart", 1, (*pods.route, "restartPolicy"), subject=subject)
    if not spec.command:
        yield Need("no-command", 1, (*pods.route, "args" if spec.args else "name"), subject=subject)
    if spec.ports or spec.shm:
        yield Need("own-network", 1, (*pods.route, "ports" if spec.ports else "shm"), subject=subject)
    container = bool(spec.image) and own.get("container", "pyxis") == "pyxis"
    if (spec.image or spec.files) and not container:
        yield Need("no-container", 1, (*pods.route, "files" if spec.files else "image"), subject=subject)
    strange = sorted(set(spec.resources) - set(KNOWN)) if not spec.whole_node else []
    if strange:
        yield Need("other-resources", 1, (*pods.route, "resources", strange[0]), subject=subject)
    pool = plan.topology.pool(pods.pool)
    share = per_node(pods, pool) if pool else 1
    if share > 1:
        yield Need("shared-nodes", share, (*pods.route, "replicas"), subject=subject)


def cluster_needs(topology: ClusterTopology) -> Iterator[Need]:
    """A cluster that Slurm can hold, in which every node has one name."""
    nodes = [node for pool in topology.pools for row in pool.domains for node in row.nodes]
    yield Need("many-nodes", len(nodes), ("topology", "spec", "pools"))
    laid = [pool for pool in topology.pools if pool.levels and plugin_of(topology, pool) != FLAT]
    yield Need("several-layouts", len(laid), ("topology", "spec", "pools"))
    yield from _short_blocks(topology)
    route = ("topology", "spec", "schedulers", "slurm", "names")
    try:
        rules = name_rules(topology)
        named: dict[str, str] = {}
        for node in nodes if rules else ():
            if not any(rule.pattern.fullmatch(node) for rule in rules):
                yield Need("mapped-names", 1, route, subject=f'no rule of `names` is about node "{node}"')
                return
            if named.setdefault(slurm_name(node, rules), node) != node:
                other = named[slurm_name(node, rules)]
                said = f'nodes "{other}" and "{node}" would both be called "{slurm_name(node, rules)}"'
                yield Need("mapped-names", 1, route, subject=said)
                return
    except (re.error, IndexError) as problem:
        yield Need("mapped-names", 1, route, subject=f"a rule of `names` cannot be read ({problem})")


def _short_blocks(topology: ClusterTopology) -> Iterator[Need]:
    """Domains with fewer nodes than are planned of each."""
    for number, pool in enumerate(topology.pools):
        if pool.levels and plugin_of(topology, pool) == BLOCK and (planned := pool.levels[-1].plan):
            short = [row for row in pool.domains if len(row.nodes) < planned]
            if short:
                at = ("topology", "spec", "pools", number, "levels", len(pool.levels) - 1, "plan")
                one = f'"{"/".join(short[0].path)}" with {len(short[0].nodes)} nodes'
                subject = f"{len(short)} domains such as {one}"
                yield Need("padded-level", 1, at, subject=subject)
