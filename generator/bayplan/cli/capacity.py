"""`bayplan capacity`: the largest gangs that fit, or how many copies of a workflow and of its groups."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from bayplan import pipeline
from bayplan.cli import any_topology, inputs, output
from bayplan.cli.compiling import Changes, TopologyCheck, changed, changes, cluster_title, topology_check
from bayplan.cli.finish import finish
from bayplan.cli.options import Arguments
from bayplan.cli.plan import queue_lines, queues_data
from bayplan.cli.show_tree import state_of
from bayplan.core.diagnostics import Diagnostic, Outcome, Route, warning
from bayplan.core.phrases import count
from bayplan.model.plan import Occupied, Plan
from bayplan.model.topology import HOST_LEVEL, ClusterTopology
from bayplan.model.workflow import GANGS, Gang, Group, PodSet, Workflow
from bayplan.pipeline import Checked, Planned, Request
from bayplan.planning import capacity
from bayplan.planning.capacity import Largest
from bayplan.planning.fit.search import simultaneous
from bayplan.planning.selection import unused
from bayplan.report import Batch
from bayplan.topologies import inventory


def run(args: Arguments) -> int:
    """Shows what fits the cluster as it is."""
    return _of_workflows(args) if args.words else _of_cluster(args)


# Without a workflow: each kind of pod in each pool.


def _of_cluster(args: Arguments) -> int:
    path, batches = inputs.needed_topology(args)
    document, unread = inputs.topology_of(path) if path is not None else (None, ())
    batches += unread
    if document is None:
        return finish(args, batches)
    outcome, origins = pipeline.check_topology(document)
    outcome = changed(args, outcome)
    batches += (Batch(outcome.diagnostics, {"topology": document}, origins),)
    if outcome.value is None:
        return finish(args, batches)
    topology = outcome.value
    level = any_topology.level_of(topology, args.value("level"))
    busy, of_cluster = inputs.occupied(args, topology)
    batches += (Batch(any_topology.unknown_level(topology, level)), *of_cluster)

    def write() -> tuple[Diagnostic, ...]:
        return output.write(_shown(args, {**cluster_data(topology, busy, level), **changes(args)}, cluster_lines))

    return finish(args, batches, write)


def _shown(args: Arguments, data: Mapping[str, Any], lines: Any) -> Iterator[str]:
    if args.value("format", "tree") == "json":
        yield json.dumps(data, indent=2) + "\n"
    else:
        yield from (f"{line}\n" for line in lines(data))


def cluster_data(topology: ClusterTopology, occupied: Occupied, level: str) -> dict[str, Any]:
    """All pools, or those with a level."""
    counted = (each for each in inventory.count(topology) if not level or each.pool.level(level))
    return {"topology": topology.name, "pools": [_pool_data(topology, each, occupied, level) for each in counted]}


def _pool_data(
    topology: ClusterTopology, counted: inventory.PoolCount, occupied: Occupied, level: str
) -> dict[str, Any]:
    pool, amount = counted.pool, counted.amount
    return {
        "name": pool.name,
        "accelerator": pool.node.accelerator or None,
        "acceleratorsPerNode": pool.node.accelerators,
        "nodes": amount.nodes,
        "usable": amount.usable,
        "planned": amount.planned,
        "unusable": dict(sorted(amount.unusable.items())),
        "occupied": sum(node in occupied for node in pool.nodes() if node not in counted.reasons),
        "pods": [
            {
                "kind": room.kind.name,
                "accelerators": room.kind.cards,
                "wholeNode": room.kind.pods.spec.whole_node,
                "computeDomain": room.kind.compute_domain,
                "most": room.pods,
                "levels": [
                    {"level": each.level, "most": each.pods, "domains": each.domains, "first": "/".join(each.first)}
                    for each in room.levels
                    if level in ("", each.level)
                ],
            }
            for room in capacity.rooms(topology, pool, occupied)
        ],
    }


def cluster_lines(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"{cluster_title(data)}: the largest gangs that fit"
    for pool in data["pools"]:
        amount = inventory.Amount(pool["nodes"], pool["usable"], pool["planned"], pool["unusable"])
        cards = f" of {pool['acceleratorsPerNode']} {pool['accelerator']}" if pool["accelerator"] else ""
        used = f", {pool['occupied']} occupied" if pool["occupied"] else ""
        yield ""
        yield f"pool {pool['name']}: {count(pool['nodes'], 'node')}{cards}, {state_of(amount)}{used}"
        yield ""
        names = list(dict.fromkeys(each["level"] for room in pool["pods"] for each in room["levels"]))
        places = ("on one node" if name == HOST_LEVEL else f"in one {name}" for name in names)
        rows = [("pods of", *places, "in the pool")]
        for room in pool["pods"]:
            levels = {each["level"]: each for each in room["levels"]}
            rows.append((room["kind"], *(_cell(levels.get(name)) for name in names), str(room["most"])))
        yield from output.table(rows)


def _cell(most: Mapping[str, Any] | None) -> str:
    """`64 (x 12)`: 12 domains hold 64 each, and no domain holds more."""
    if most is None:
        return "-"
    return f"{most['most']} (x {most['domains']})" if most["most"] else "0"


# With workflows: copies of each, and the replicas of its groups and podSets.


def _of_workflows(args: Arguments) -> int:
    read = inputs.read_all(args)
    answered, batches = of_workflows(args, read, topology_check(args))

    def write() -> tuple[Diagnostic, ...]:
        lines = partial(workflow_lines, queues=[list(queue_lines(planned)) for _, _, planned in answered])
        return output.write(_shown(args, workflows_data(args, answered), lines))

    return finish(args, batches, write)


Answered = Sequence[tuple[Request, Checked, Planned]]
"""Workflows of which bayplan can say how many fit."""


def workflows_data(args: Arguments, answered: Answered) -> dict[str, Any]:
    """The copies and replicas of all workflows."""
    return {"workflows": [workflow_data(*each, changes(args)) for each in answered]}


def of_workflows(args: Arguments, read: inputs.Inputs, check_topology: TopologyCheck) -> tuple[Answered, list[Batch]]:
    """The workflows that are valid, and the diagnostics of all."""
    requested = inputs.requests(args, read)
    batches = [Batch(requested.diagnostics), *read.batches]
    if args.has("level"):
        message = "--level has no effect with a workflow, whose own levels count"
        batches.append(Batch((warning("A931", ("argument", "--level"), message, hint="leave it out"),)))
    judged = check_topology(read.topology) if read.topology else None
    busy, of_cluster = inputs.occupied(args, judged[0].value if judged else None)
    batches += of_cluster
    plans, answered = list[Plan](), list[tuple[Request, Checked, Planned]]()
    for request in requested.value or ():
        unproven = request._replace(judged=judged, occupied=busy, prove=False)
        checked, origins = pipeline.check(unproven)
        planned = pipeline.plan(unproven, checked.value) if checked.value else Outcome(None)
        batches.append(Batch((*checked.diagnostics, *planned.diagnostics), read.sources(request.workflow), origins))
        if checked.value and planned.value:
            answered.append((unproven, checked.value, planned.value))
            plans.append(planned.value.plan)
    batches.append(Batch(tuple(unused(inputs.given(args), (plan.workflow for plan in plans)))))
    return answered, batches


def workflow_data(request: Request, checked: Checked, planned: Planned, changed: Changes) -> dict[str, Any]:
    """The copies and replicas of one workflow. `checked` has the workflow as the user wrote it."""
    plan = planned.plan

    def bound(workflow: Workflow) -> Plan | None:
        claimed = pipeline.bind_workflow(request, checked._replace(workflow=workflow)).value
        return claimed and pipeline.with_ranks(claimed, checked.backend)

    rows = {row.route: row for row in capacity.replicas(checked.workflow, bound)}
    chosen = {gang.gang.name for gang in plan.gangs}
    return {
        "workflow": plan.workflow.name,
        "namespace": plan.namespace,
        "topology": plan.topology.name,
        **changed,
        "scheduler": checked.backend.declared.name,
        "queues": queues_data(planned),
        "stages": len(simultaneous(plan.gangs)),
        "copies": _largest_data(capacity.copies(plan)),
        "gangs": [
            _node_data(gang, (*GANGS, n), rows) for n, gang in enumerate(checked.workflow.gangs) if gang.name in chosen
        ],
    }


def _largest_data(most: Largest) -> dict[str, Any]:
    return {"most": most.number, "exact": most.exact}


def _node_data(node: Gang | Group | PodSet, route: Route, rows: Mapping[Route, capacity.Replicas]) -> dict[str, Any]:
    row = rows.get(route)
    data: dict[str, Any] = {"name": node.name}
    if row:
        data |= {"replicas": row.now, **_largest_data(row.most)}
    if not isinstance(node, PodSet):
        data["groups"] = [_node_data(each, (*route, "groups", n), rows) for n, each in enumerate(node.groups)]
        data["podSets"] = [_node_data(each, (*route, "podSets", n), rows) for n, each in enumerate(node.pod_sets)]
    return data


def workflow_lines(data: Mapping[str, Any], queues: Sequence[Sequence[str]]) -> Iterator[str]:
    """`queues`: the lines of the queues of each workflow."""
    for workflow, lines in zip(data["workflows"], queues, strict=True):
        where = f"{cluster_title(workflow)}, namespace {workflow['namespace']}, for {workflow['scheduler']}"
        at_once = "at the same stage" if workflow["stages"] > 1 else "at once"
        copies = _number(workflow["copies"], "copy of the workflow fits", "copies of the workflow fit")
        yield f"{workflow['workflow']} on {where}: {copies} {at_once}"
        yield from lines
        yield "the most replicas, if the other numbers stay:"
        yield from output.tree((_gang_line(gang), _below(gang)) for gang in workflow["gangs"])


def _gang_line(gang: Mapping[str, Any]) -> str:
    """`gang trial: 8 copies at once, 600 in the file`."""
    copies = f": {_number(gang, 'copy', 'copies')} at once, {gang['replicas']} in the file" if "most" in gang else ""
    return f"gang {gang['name']}{copies}"


def _number(most: Mapping[str, Any], one: str, several: str) -> str:
    return f"{'' if most['exact'] else 'at least '}{most['most']} {one if most['most'] == 1 else several}"


def _below(node: Mapping[str, Any]) -> output.Branches:
    for word, key in (("group", "groups"), ("podSet", "podSets")):
        for each in node.get(key, ()):
            most = f": {_number(each, 'replica', 'replicas')}, {each['replicas']} in the file" if "most" in each else ""
            yield f"{word} {each['name']}{most}", _below(each)
