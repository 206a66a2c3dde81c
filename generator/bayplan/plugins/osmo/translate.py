"""OSMO data -> native data -> Workflow. `bayplan import` prints the same native data."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from bayplan.plugin import (
    GANGS,
    STORE,
    ClusterTopology,
    Context,
    Diagnostic,
    Note,
    Outcome,
    PodSet,
    Pool,
    Read,
    Route,
    Workflow,
    cannot_wait,
    error,
    has_errors,
    host_network,
    info,
    may_share_address,
    non_empty,
    pod_sets_of,
    warning,
)
from bayplan.plugin import Gang as NativeGang
from bayplan.plugin import native_workflow as native
from bayplan.plugins.osmo import gangs as lowering
from bayplan.plugins.osmo import rules, tokens
from bayplan.plugins.osmo.gangs import Gang, Levels, Node, Pods, tasks
from bayplan.plugins.osmo.pool.values import SUBJECT
from bayplan.plugins.osmo.site import allocations, limits, site
from bayplan.plugins.osmo.source import LONGEST, ROOT, SHORTEST, Allocation, Task, TaskGroup, label, shorten_name
from bayplan.plugins.osmo.source import read as read_source
from bayplan.plugins.osmo.task_rules import gathered
from bayplan.plugins.osmo.tasks import Movers, NativeData, pod_set
from bayplan.plugins.osmo.units import k8s_name, plain

# Groups whose tasks share nodes: a ComputeDomain would give the only channel of each node to one of the tasks.


def shares_nodes(gang: Gang, allocations: Mapping[str, Allocation], topology: ClusterTopology | None) -> Task | None:
    """The first task that must share an NVLink domain with others and requests only some of its node's GPUs."""
    if topology is None:
        return None
    return next(
        (task for task in _nvlink_tasks(gang.node, topology) if _asks_for_part(allocations[task.name], topology)), None
    )


def _nvlink_tasks(node: Node, topology: ClusterTopology) -> Iterator[Task]:
    """The tasks whose required level is inside an NVLink domain."""
    if node.placement.required and any(_inside(pool, node.placement.required) for pool in topology.pools):
        yield from tasks(node)
    else:
        for each in node.nodes:
            yield from _nvlink_tasks(each, topology)


def _inside(pool: Pool, level: str) -> bool:
    linked = [number for number, each in enumerate(pool.levels) if each.nvlink]
    return pool.level(level) is not None and bool(linked) and pool.depth(level) >= linked[0]


def _asks_for_part(allocation: Allocation, topology: ClusterTopology) -> bool:
    named = topology.pool(allocation.pool) if allocation.pool else None
    pools = [named] if named else [pool for pool in topology.pools if pool.node.accelerator]
    return 0 < allocation.accelerators < min((pool.node.accelerators for pool in pools), default=0)


# `{{host:<task>}}` -> `hosts` of the gang: the pod of each spelling.


def hosts(gang: Gang) -> dict[str, str]:
    """Every spelling of a host token that names a task of the gang. Other host tokens stay unchanged, as in OSMO."""
    places = dict(_places(gang.node, ""))
    spelled: dict[str, str] = {}
    for pods in _pods(gang.node):
        fields = {key: pods.piece.data.get(key) for key in ("command", "args", "env", "files")}
        for token in (token for text, _ in tokens.texts(fields, ()) for token in tokens.find(text)):
            if token.kind == tokens.HOST and token.name in places:
                spelled[token.text] = places[token.name]
    return dict(sorted(spelled.items()))


def _pods(node: Node) -> Iterator[Pods]:
    yield from node.pods
    for each in node.nodes:
        yield from _pods(each)


def _places(node: Node, above: str) -> Iterator[tuple[str, str]]:
    """Task -> podSet instance and the pod's number in it."""
    for pods in node.pods:
        for number, task in enumerate(pods.tasks):
            yield task.name, f"{above}{pods.name}" + (f"/{number}" if len(pods.tasks) > 1 else "")
    for each in node.nodes:
        yield from _places(each, f"{above}{each.name}-0-")


# Shortening names until the names of the pods fit Kubernetes, and reporting what was changed.

MOST_NOTES = 3


def fit_names(workflow: str, gangs: tuple[Gang, ...]) -> tuple[str, tuple[Gang, ...]]:
    """The workflow's name and the gangs, with all names cut so far that every pod's name fits.

    Kubernetes allows 63 characters. If names of SHORTEST characters are too long, the checks of the plan refuse them.
    """
    for most in range(63, SHORTEST - 1, -1):
        short = shorten_name(workflow, most), _shorten_all(gangs, most)
        if _longest(*short) <= LONGEST:
            break
    return short


def _shorten_all(gangs: tuple[Gang, ...], most: int) -> tuple[Gang, ...]:
    names = _short_names([gang.node.name for gang in gangs], most)
    return tuple(
        gang._replace(node=_shorten_names(gang.node, most, set())._replace(name=name))
        for gang, name in zip(gangs, names, strict=True)
    )


def _shorten_names(node: Node, most: int, pods: set[str]) -> Node:
    """The names below a node. All podSets of a gang have different names, since `lead` names one of them."""
    own = zip(node.pods, _short_names([each.name for each in node.pods], most, pods), strict=True)
    below = zip(node.nodes, _short_names([each.name for each in node.nodes], most), strict=True)
    return node._replace(
        pods=tuple(each._replace(name=name) for each, name in own),
        nodes=tuple(_shorten_names(each, most, pods)._replace(name=name) for each, name in below),
    )


def _short_names(names: list[str], most: int, taken: set[str] | None = None) -> list[str]:
    """The names of siblings, cut."""
    short, used = [], set() if taken is None else taken
    for name in names:
        short.append(shorten_name(name, most, used))
        used.add(short[-1])
    return short


def _longest(workflow: str, gangs: tuple[Gang, ...]) -> int:
    several = len(gangs) > 1
    return max(
        len(workflow) + (len(gang.node.name) + 1 if several else 0) + 1 + below
        for gang in gangs
        for below in _shorten_below(gang.node)
    )


def _shorten_below(node: Node) -> Iterator[int]:
    """For each podSet the length of `<group>-0-...-<podSet>` and of its last pod's number."""
    for pods in node.pods:
        yield len(pods.name) + len(str(len(pods.tasks) - 1))
    for each in node.nodes:
        for length in _shorten_below(each):
            yield len(each.name) + len("-0-") + length


def renaming_findings(workflow: str, short: str, gangs: tuple[Gang, ...]) -> Iterator[Diagnostic]:
    """W461: names in the manifests that differ from OSMO's by more than case and underscores."""
    changes: list[tuple[str, str, Route]] = []
    if k8s_name(workflow) != short:
        changes.append((workflow, short, (*ROOT, "name")))
    for gang in gangs:
        if k8s_name(gang.group.name) != gang.node.name:
            changes.append((gang.group.name, gang.node.name, (*gang.group.route, "name")))
        changes += () if gang.group.bare else _changes(gang.node)
    if changes:
        (old, new, route), *rest = dict.fromkeys(changes)
        more = f"; {len(rest)} more names change too" if rest else ""
        notes = tuple(Note(f'"{a}" becomes "{b}"', at) for a, b, at in rest[:MOST_NOTES])
        message = f'bayplan renames "{old}" to "{new}", so that the names in the manifests are valid{more}'
        yield info("W461", route, message, notes=notes, hint="use short names of letters, digits and hyphens")


def _changes(node: Node) -> Iterator[tuple[str, str, Route]]:
    for pods in node.pods:
        if len(pods.tasks) == 1 and k8s_name(pods.tasks[0].name) != pods.name:
            yield pods.tasks[0].name, pods.name, (*pods.tasks[0].route, "name")
    for each in node.nodes:
        written = "-".join(dict.fromkeys(r.group for r in each.requirements))
        if each.requirements and k8s_name(written) != each.name:
            yield written, each.name, (*each.requirements[-1].route, "group")
        yield from _changes(each)


UNCLEAR = "W401"
"""The workflow has both tasks and groups, or no tasks and no groups, so bayplan cannot translate it."""


def read(data: Any, context: Context) -> Outcome[Read[Workflow]]:
    """The workflow in data that the schema accepted: OSMO's rules, then the translation."""
    ruled = tuple(rules.check(data))
    if any(each.code == UNCLEAR for each in ruled):
        return Outcome(None, ruled)
    translated = _translate(plain(data)["workflow"], context, whole=not has_errors(ruled))
    if translated.value is None:
        return Outcome(None, (*ruled, *translated.diagnostics))
    native_data, origins, moved = translated.value
    if moved:
        ruled = tuple(rules.check(data, moved))
    ruled += _priority(context)
    if SUBJECT in context.beside:
        ruled = tuple(each for each in ruled if not _set_by_pool(each, native_data))
    finished = native.finish(native_data, origins, (*ruled, *translated.diagnostics), ROOT)
    return _with_barriers(finished.value, finished.diagnostics, context.topology) if finished.value else finished


def _with_barriers(
    flow: Read[Workflow], reported: tuple[Diagnostic, ...], topology: ClusterTopology | None
) -> Outcome[Read[Workflow]]:
    """W448: gangs whose pods cannot wait do not get the barrier that OSMO gives them by default."""
    gangs = list(flow.value.gangs)
    for number, gang in enumerate(gangs):
        why, hint = _obstacle(flow.value, gang, topology) if gang.barrier != "none" else ("", "")
        if why:
            message = f'the tasks of group "{gang.name}" do not wait for each other: {why}'
            reported += (warning("W448", flow.origins[(*GANGS, number, "barrier")], message, hint=hint),)
            gangs[number] = gang._replace(barrier="none")
    return Outcome(flow._replace(value=flow.value._replace(gangs=tuple(gangs))), reported)


def _obstacle(workflow: Workflow, gang: NativeGang, topology: ClusterTopology | None) -> tuple[str, str]:
    """Why the pods of a gang cannot wait for each other, in one of the pools that they may get, and what to change."""
    if f"{gang.name}-ready" in {each.name for each in workflow.gangs}:
        return f'their Service would have the name of group "{gang.name}-ready"', "rename that group"
    shared: list[tuple[PodSet, Pool | None]] = []
    for pods in pod_sets_of(gang):
        pools = [each for each in topology.pools if pods.pool in ("", each.name)] if topology else []
        for pool in pools or (None,):
            why, change = cannot_wait(pods, pool)
            if why:
                return f'podSet "{pods.name}": {why}', f"{change}, or set `barrier: false`"
            shared += [(pods, pool)] if host_network(pods, pool) else []
    total = sum(pods.replicas for pods in {pods.name: pods for pods, _ in shared}.values())
    if shared and may_share_address(shared, total):
        hint = "request all GPUs of a node in each task with `hostNetwork`, or set `barrier: false`"
        return f'pods of podSet "{shared[0][0].name}" may share the address of one node', hint
    return "", ""


def _priority(context: Context) -> tuple[Diagnostic, ...]:
    """W458: OSMO gives PodGroups its PriorityClass. KAI preempts pods below 100 (OSMO 6.4, deployments/charts)."""
    if context.priority or (context.topology and context.topology.defaults.get("priorityClassName")):
        return ()
    message = (
        "OSMO runs a workflow with the PriorityClass osmo-normal (100); without one KAI uses 50, and may preempt it"
    )
    hint = "use `--priority osmo-normal`, or set `defaults.priorityClassName` in the topology"
    return (info("W458", (*ROOT, "name"), message, hint=hint),)


def _set_by_pool(finding: Diagnostic, data: Mapping[str, Any]) -> bool:
    """Whether the pool configuration gives what a rule found missing: a timeout (W447), or a use of `pool` (W433)."""
    limited = any("activeDeadlineSeconds" in gang for gang in data["spec"]["gangs"])
    return (finding.code == "W447" and limited) or (finding.code == "W433" and finding.route == (*ROOT, "pool"))


def _translate(spec: Mapping[str, Any], context: Context, *, whole: bool) -> Outcome[NativeData]:
    """The native document. Without `whole`: only the findings about resources on this cluster."""
    groups = read_source(spec).task_groups
    here = site(spec, context)
    if here.value is None:
        return Outcome(None, here.diagnostics)
    used = lowering.used(spec.get("resources", {}))
    config = here.value.config
    if config and (unknown := tuple(lowering.not_in_pool(used, config.name, here.value.keys))):
        levels: Outcome[Levels] = Outcome(None, unknown)
    elif here.value.topology is None:
        levels = lowering.assumed(groups, here.value.keys)
    else:
        levels = lowering.of_cluster(used, here.value.topology, here.value.levels)
    portions = allocations(groups, spec["name"], here.value)
    timeouts, timeout_findings = limits(spec, here.value.config)
    findings = (*here.diagnostics, *levels.diagnostics, *portions.diagnostics, *timeout_findings)
    if levels.value is None or portions.value is None or timeouts is None or not whole:
        return Outcome(None, findings)
    name = label(spec["name"])
    movers = _movers(groups, portions.value, here.value.topology)
    pieces = {
        task.name: pod_set(
            task,
            portions.value[task.name],
            name,
            timeouts.execution,
            movers[task.name],
            alone=group.restarts_alone(task),
        )
        for group in groups
        for task in group.tasks
    }
    if many := tuple(_too_many(groups, pieces)):
        return Outcome(None, (*findings, *many))
    short, gangs = fit_names(name, tuple(lowering.gang(group, levels.value, pieces) for group in groups))
    waits = _waits(gangs)
    findings += tuple(d for group in groups for d in lowering.findings(group, levels.value))
    findings += (*renaming_findings(spec["name"], short, gangs), *_lead_findings(gangs, _awaited(waits)))
    findings += tuple(_retry_findings(gangs, waits, pieces))
    partial: set[str] = set()
    for gang in gangs:
        if task := shares_nodes(gang, portions.value, here.value.topology):
            partial.add(gang.group.name)
            what = f'task "{task.name}" requests only some GPUs of its node'
            message = f'group "{gang.group.name}" gets no ComputeDomain: {what}'
            hint = "to use NVLink between nodes, request all GPUs of a node in one task"
            findings += (warning("W456", (*task.resource_route, "gpu"), message, hint=hint),)
    moved = frozenset(route for piece in pieces.values() for route in piece.moved)
    return Outcome(_document(spec, short, gangs, waits, timeouts.total, partial)._replace(moved=moved), findings)


def _movers(
    groups: Sequence[TaskGroup], allocations: Mapping[str, Allocation], topology: ClusterTopology | None
) -> dict[str, Movers]:
    """What the data movers of each task's pool can move."""
    tasks = [task for group in groups for task in group.tasks]
    if topology is None:
        return {task.name: Movers() for task in tasks}
    sources = frozenset(each["task"] for task in tasks for each in task.data.get("inputs", ()) if "task" in each)
    leads = frozenset((group.lead or group.tasks[0]).name for group in groups)
    only = topology.pools[0].name if len(topology.pools) == 1 else ""
    schemes: dict[str, frozenset[str]] = {}
    for pool in {allocation.pool or only for allocation in allocations.values()}:
        served = frozenset(topology.movers(pool))
        schemes[pool] = served | ({STORE} if topology.store(pool).partition(":")[0] in served else frozenset())
    return {task.name: Movers(schemes[allocations[task.name].pool or only], sources, leads) for task in tasks}


MOST_POD_SETS = 1000
"""The limit of the native schema for a gang."""


def _too_many(groups: Iterable[TaskGroup], pieces: Mapping[str, NativeData]) -> Iterator[Diagnostic]:
    """P515: a group with more different tasks than a gang has podSets. Counting is fast; making gangs is not."""
    for group in groups:
        if (
            len(group.tasks) > MOST_POD_SETS
            and (different := len({str(pieces[task.name].data) for task in group.tasks})) > MOST_POD_SETS
        ):
            message = f'group "{group.name}" has {different:,} different tasks; a gang has at most {MOST_POD_SETS:,}'
            hint = "let tasks differ only in their names, or use several groups"
            yield error("P515", (*group.route, "tasks"), message, hint=hint)


def _document(
    spec: Mapping[str, Any],
    name: str,
    gangs: tuple[Gang, ...],
    waits: Waits,
    deadline: int | None,
    partial: Collection[str],
) -> NativeData:
    """The native document and its origins. `partial`: the groups without a ComputeDomain."""
    metadata = {"name": name, **non_empty(labels=dict(spec.get("labels") or {}))}
    origins: dict[Route, Route] = {("workflow", "spec"): ROOT, ("workflow", "metadata"): ROOT}
    origins[GANGS] = (*ROOT, "groups" if spec.get("groups") else "tasks")
    bodies = []
    for number, gang in enumerate(gangs):
        awaited = waits[gang.node.name]
        origins |= {(*GANGS, number, *own): source for own, source in lowering.origins(gang).items()}
        origins |= {(*GANGS, number, "dependsOn", place): source for place, source in enumerate(awaited.values())}
        origins[(*GANGS, number, "activeDeadlineSeconds")] = (*ROOT, "timeout")
        body = lowering.data(gang.node, channel=gang.group.name not in partial)
        lead = None if gang.node.name in _awaited(waits) else gang.group.lead
        written = gang.group.data
        waiting = len(gang.group.tasks) > 1 and written.get("barrier", True)
        origins[(*GANGS, number, "barrier")] = (*gang.group.route, "barrier" if "barrier" in written else "name")
        bodies.append(
            {
                "name": body.pop("name"),
                **non_empty(dependsOn=list(awaited)),
                "rendezvous": "none",
                **non_empty(barrier="gang" if waiting else ""),
                **non_empty(lead=lead and lowering.pod_set_of(gang.node, lead)),
                **({"ignoreNonleadFailures": gang.group.ignores_failures} if lead else {}),
                **({} if deadline is None else {"activeDeadlineSeconds": deadline}),
                **non_empty(hosts=hosts(gang)),
                **body,
            }
        )
    return NativeData(native.document(metadata, {"gangs": bodies}), origins)


Waits = Mapping[str, Mapping[str, Route]]
"""Gang -> the gangs whose outputs it uses, each with the first input that names it."""


def _waits(gangs: tuple[Gang, ...]) -> Waits:
    owner = {task.name: gang.node.name for gang in gangs for task in gang.group.tasks}
    waits: dict[str, dict[str, Route]] = {gang.node.name: {} for gang in gangs}
    for gang in gangs:
        for task in gang.group.tasks:
            for number, each in enumerate(task.data.get("inputs") or ()):
                if each.get("task") in owner:
                    route = (*task.route, "inputs", number, "task")
                    waits[gang.node.name].setdefault(owner[each["task"]], route)
    return waits


def _awaited(waits: Waits) -> set[str]:
    """The gangs that other gangs wait for."""
    return {name for each in waits.values() for name in each}


def _lead_findings(gangs: tuple[Gang, ...], awaited: Collection[str]) -> Iterator[Diagnostic]:
    """W449: gangs that wait for each other share a JobSet, and nothing in a JobSet stops the tasks beside a lead."""
    for gang in gangs:
        if gang.group.lead and gang.node.name in awaited:
            message = (
                f'groups after "{gang.group.name}" wait until all its tasks end; OSMO ends the group with its lead'
            )
            hint = "let the other tasks exit by themselves after the lead"
            yield warning("W449", (*gang.group.lead.route, "lead"), message, hint=hint)
            if gang.group.ignores_failures:
                message = (
                    f'a failed task ends group "{gang.group.name}", for which other groups wait; in OSMO the group'
                )
                hint = "end commands that may fail with `|| true`, and set `ignoreNonleadStatus: false`"
                yield warning("W449", gang.group.status_route, f"{message} continues unless its lead fails", hint=hint)


def _retry_findings(gangs: tuple[Gang, ...], waits: Waits, pieces: Mapping[str, NativeData]) -> Iterator[Diagnostic]:
    """W450: groups in one JobSet restart together, and nothing counts the retries of a task."""
    places: list[Route] = []
    for gang in gangs:
        shared = bool(waits[gang.node.name]) or gang.node.name in _awaited(waits)
        for task in gang.group.tasks:
            piece = pieces[task.name]
            key = next((key for key in ("retryOnExitCodes", "restartGangOnExitCodes") if key in piece.data), "")
            if key:
                places.append(piece.origins[(key,)])
            if key == "restartGangOnExitCodes" and shared:
                message = (
                    f'with task "{task.name}", all groups that wait for each other start again; OSMO restarts only'
                )
                hint = "let the command skip what is done, or submit the groups one after the other"
                yield warning("W450", places[-1], f'{message} group "{gang.group.name}"', hint=hint)
    message = "nothing limits how often Kubernetes starts the task again"
    message += "; OSMO has `max_retry_per_task`, which is 0 by default"
    hint = "to limit it, retry inside the command, and remove RESCHEDULE"
    yield from gathered(info, "W450", places, message, hint)
