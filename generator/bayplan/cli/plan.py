"""`bayplan plan`: the groups of pods, and one placement that proves that they fit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.cli import inputs, output
from bayplan.cli.compiling import compile_all
from bayplan.cli.finish import finish
from bayplan.cli.options import Arguments
from bayplan.core.phrases import count
from bayplan.core.values import NamedTuple
from bayplan.model.plan import GangPlan, Plan, Pods, Unit, all_pods
from bayplan.pipeline import Planned
from bayplan.planning.fit import Fits, prove
from bayplan.topologies.hostlist import compress


class Site(NamedTuple):
    """A placement of the pods of one stage: (gang, podSet instance) -> nodes; node -> its path in the tree."""

    nodes: Mapping[tuple[str, str], tuple[str, ...]]
    paths: Mapping[str, tuple[str, ...]]


def as_json(planned: Sequence[Planned]) -> str:
    """A list of workflows, each with its stages: gangs that may run at the same time."""
    return json.dumps({"workflows": [_workflow(each) for each in planned]}, indent=2) + "\n"


def as_tree(planned: Sequence[Planned]) -> str:
    """The same as a tree of lines."""
    return "".join(f"{line}\n" for each in planned for line in _lines(_workflow(each)))


def _workflow(planned: Planned) -> dict[str, Any]:
    plan = planned.plan
    return {
        "workflow": plan.workflow.name,
        "namespace": plan.namespace,
        "topology": plan.topology.name,
        "scheduler": planned.backend.declared.name,
        "workloads": [{"kind": workload.kind, "name": workload.name} for workload in planned.shape.workloads],
        "stages": [*_stages(plan)],
    }


def _stages(plan: Plan) -> Iterator[dict[str, Any]]:
    proof = prove(plan)
    domains = (domain for pool in plan.topology.pools for domain in pool.domains)
    paths = {node: domain.path for domain in domains for node in domain.nodes}
    gangs = {gang.name: gang for gang in plan.gangs}
    for stage in proof.witness if isinstance(proof, Fits) else ():
        nodes: dict[tuple[str, str], tuple[str, ...]] = {}
        for run in stage.runs:
            placed = tuple(node for node in run.nodes for _ in range(run.each))
            nodes[run.gang, run.pods] = (*nodes.get((run.gang, run.pods), ()), *placed)
        site = Site(nodes, paths)
        placed_gangs = (gangs[name] for name in stage.gangs)
        yield {"gangs": [{"gang": g.name, "after": [*g.after], **_unit(g, g.root, site)} for g in placed_gangs]}


def _unit(gang: GangPlan, unit: Unit, site: Site) -> dict[str, Any]:
    """One gang or group, with its groups and podSets."""
    pods = list(all_pods(unit))
    placed = [site.paths[node] for each in pods for node in site.nodes.get((gang.name, each.name), ())]
    return {
        "name": unit.name,
        "pods": sum(each.replicas for each in pods),
        "required": unit.required or None,
        "preferred": unit.preferred or None,
        "domain": "/".join(_shared(placed)) or None,
        "computeDomain": next((each.name for each in gang.compute_domains if each.unit == unit.name), None),
        "groups": [_unit(gang, member, site) for units in unit.groups for member in units.members],
        "podSets": [_pods(gang, each, site) for each in unit.pods],
    }


def _shared(paths: Sequence[Sequence[str]]) -> Iterator[str]:
    """The common beginning of all paths, coarse to fine."""
    for values in zip(*paths, strict=False):
        if len(set(values)) > 1:
            return
        yield values[0]


def _pods(gang: GangPlan, pods: Pods, site: Site) -> dict[str, Any]:
    return {
        "name": pods.name,
        "pods": pods.replicas,
        "pool": pods.pool,
        "firstRank": pods.ranks.first if pods.ranks else None,
        "nodes": list(site.nodes.get((gang.name, pods.name), ())),
    }


def _lines(workflow: Mapping[str, Any]) -> Iterator[str]:
    kinds = ", ".join(f"{each['kind']} {each['name']}" for each in workflow["workloads"])
    where = f"{workflow['topology']}, namespace {workflow['namespace']}"
    yield f"{workflow['workflow']} on {where}, for {workflow['scheduler']}: {kinds}"
    for number, stage in enumerate(workflow["stages"], 1):
        if len(workflow["stages"]) > 1:
            yield f"stage {number} of {len(workflow['stages'])}"
        yield from output.tree((_unit_line(gang, f"gang {gang['gang']}"), _below(gang)) for gang in stage["gangs"])


def _below(unit: Mapping[str, Any]) -> output.Branches:
    yield from ((_unit_line(each, each["name"]), _below(each)) for each in unit["groups"])
    yield from ((_pods_line(each), ()) for each in unit["podSets"])


def _unit_line(unit: Mapping[str, Any], title: str) -> str:
    levels = (f"{word} {unit[word]}" for word in ("required", "preferred") if unit[word])
    domain = unit["computeDomain"] and f"ComputeDomain {unit['computeDomain']}"
    facts = filter(None, (count(unit["pods"], "pod"), *levels, unit["domain"] and f"in {unit['domain']}", domain))
    return f"{title}: {', '.join(facts)}"


def _pods_line(pods: Mapping[str, Any]) -> str:
    first, size = pods["firstRank"], pods["pods"]
    ranks = "" if first is None else f", rank {first}" if size == 1 else f", ranks {first}-{first + size - 1}"
    return f"{pods['name']}: {count(size, 'pod')}{ranks} on {compress(dict.fromkeys(pods['nodes']))}"


def run(args: Arguments) -> int:
    """Shows the plans of all workflows."""
    compiled, batches = compile_all(args, inputs.read_all(args))
    planned = [value.planned for _, value in compiled]
    show = as_json if args.value("format", "tree") == "json" else as_tree
    return finish(args, batches, lambda: output.write([show(planned)]))
