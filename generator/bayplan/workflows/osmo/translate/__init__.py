"""OSMO data -> native data -> Workflow, so that what an OSMO file says and what `bayplan import` prints is one thing.

source.py      the data as task groups, tasks and requirements
levels.py      topology keys -> levels, coarse to fine
tree.py        requirements -> domains, scoped by the domains around them
portion.py     what a task gets of its cluster; platforms.py: from which pool
pod_sets.py    a task -> a podSet; template.py, exit_codes.py: its less common parts; places.py: where all come from
gangs.py       a task group -> a gang, equal tasks folded
names.py       DNS labels; shorten.py: short enough
hosts.py       {{host:task}} -> the pod that it means
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from bayplan import schemas
from bayplan.diagnostics import Diagnostic, Outcome, Route, has_errors, origin, warning
from bayplan.model.formats import Context, Read
from bayplan.model.workflow import GANGS, Workflow
from bayplan.workflows import native
from bayplan.workflows.osmo import rules
from bayplan.workflows.osmo.plain import plain
from bayplan.workflows.osmo.pool.values import SUBJECT
from bayplan.workflows.osmo.rules.places import ROOT
from bayplan.workflows.osmo.translate import channels, levels
from bayplan.workflows.osmo.translate import gangs as lowering
from bayplan.workflows.osmo.translate.channels import on_parts
from bayplan.workflows.osmo.translate.hosts import hosts
from bayplan.workflows.osmo.translate.names import label
from bayplan.workflows.osmo.translate.platforms import portions
from bayplan.workflows.osmo.translate.pod_sets import Piece, pod_set
from bayplan.workflows.osmo.translate.shorten import fitted, renamed
from bayplan.workflows.osmo.translate.site import Site, limits, site
from bayplan.workflows.osmo.translate.source import TaskGroup, task_groups

UNCLEAR = "W401"
"""Tasks or groups, both or none: nothing can be said of what they ask for."""


def read(data: Any, context: Context) -> Outcome[Read[Workflow]]:
    """The workflow in data that the schema accepted: OSMO's rules, then the translation."""
    ruled = tuple(rules.check(data))
    if any(each.code == UNCLEAR for each in ruled):
        return Outcome(None, ruled)
    translated = _translate(plain(data)["workflow"], context, whole=not has_errors(ruled))
    if translated.value is None:
        return Outcome(None, (*ruled, *translated.diagnostics))
    native_data, origins = translated.value
    if SUBJECT in context.beside:
        ruled = tuple(each for each in ruled if not _settled(each, native_data))
    found = (*ruled, *translated.diagnostics, *_invalid(native_data, origins))
    if has_errors(found):
        return Outcome(None, found)
    made = native.read(native_data).value
    return Outcome(made and Read(made.value, {**made.origins, **origins}), found)


def _settled(found: Diagnostic, data: Mapping[str, Any]) -> bool:
    """Whether a pool configuration gives what a rule misses: a timeout (W447), a meaning to `pool` (W433)."""
    limited = any("activeDeadlineSeconds" in gang for gang in data["spec"]["gangs"])
    return (found.code == "W447" and limited) or (found.code == "W433" and found.route == (*ROOT, "pool"))


def _invalid(data: Mapping[str, Any], origins: Mapping[Route, Route]) -> tuple[Diagnostic, ...]:
    """What the native format cannot hold, at its place in the OSMO file."""
    return tuple(
        each._replace(route=_source(each.route, origins)) for each in schemas.validate("Workflow", data, "workflow")
    )


def _source(route: Route, origins: Mapping[Route, Route]) -> Route:
    found = origin(route, origins)
    return found[0] if found else ROOT


def _translate(spec: Mapping[str, Any], context: Context, *, whole: bool) -> Outcome[Piece]:
    """The native document. Not `whole`: only what is wrong with resources on this cluster."""
    groups = task_groups(spec)
    here = site(spec, context)
    if here.value is None:
        return Outcome(None, here.diagnostics)
    order = _levels(groups, spec.get("resources", {}), here.value)
    given = portions(groups, spec["name"], here.value)
    allowed, cut = limits(spec, here.value.config)
    found = (*here.diagnostics, *order.diagnostics, *given.diagnostics, *cut)
    if order.value is None or given.value is None or allowed is None or not whole:
        return Outcome(None, found)
    name = label(spec["name"])
    tasks = [task for group in groups for task in group.tasks]
    pieces = {task.name: pod_set(task, given.value[task.name], name, allowed.execution) for task in tasks}
    made = tuple(lowering.gang(group, order.value, pieces) for group in groups)
    short, made = fitted(name, made)
    found += tuple(d for group in groups for d in lowering.findings(group, order.value))
    found += (*renamed(spec["name"], short, made), *_outlived(made))
    parts = {gang.group.name: task for gang in made if (task := on_parts(gang, given.value, here.value.topology))}
    found += tuple(channels.findings(parts))
    return Outcome(_document(spec, short, made, allowed.total, frozenset(parts)), found)


def _levels(groups: tuple[TaskGroup, ...], resources: Mapping[str, Any], here: Site) -> Outcome[levels.Levels]:
    if here.topology is None:
        return levels.assumed(groups, here.keys)
    return levels.of_cluster(levels.used(resources), here.topology, here.levels)


def _document(
    spec: Mapping[str, Any], name: str, gangs: tuple[lowering.Gang, ...], deadline: int | None, parts: Collection[str]
) -> Piece:
    """The native document and its origins. `parts`: the groups that get no ComputeDomain."""
    owner = _owners(gangs)
    metadata = {"name": name, **({"labels": dict(spec["labels"])} if spec.get("labels") else {})}
    origins: dict[Route, Route] = {("workflow", "spec"): ROOT, ("workflow", "metadata"): ROOT}
    origins[GANGS] = (*ROOT, "groups" if spec.get("groups") else "tasks")
    for number, gang in enumerate(gangs):
        for own, source in lowering.origins(gang).items():
            origins[(*GANGS, number, *own)] = source
        for place, source in enumerate(_waits(gang, owner).values()):
            origins[(*GANGS, number, "dependsOn", place)] = source
        origins[(*GANGS, number, "activeDeadlineSeconds")] = (*ROOT, "timeout")
    awaited = _awaited(gangs, owner)
    body = {"gangs": [_gang(gang, owner, awaited, deadline, parts) for gang in gangs]}
    return Piece({"apiVersion": native.API_VERSION, "kind": native.KIND, "metadata": metadata, "spec": body}, origins)


def _owners(gangs: tuple[lowering.Gang, ...]) -> dict[str, str]:
    """Task -> the gang it is in."""
    return {task.name: gang.node.name for gang in gangs for task in gang.group.tasks}


def _awaited(gangs: tuple[lowering.Gang, ...], owner: Mapping[str, str]) -> set[str]:
    """The gangs that others wait for."""
    return {name for gang in gangs for name in _waits(gang, owner)}


def _waits(gang: lowering.Gang, owner: Mapping[str, str]) -> dict[str, Route]:
    """The gangs whose tasks' outputs this one takes, and where it says so first."""
    found: dict[str, Route] = {}
    for task in gang.group.tasks:
        for number, each in enumerate(task.data.get("inputs") or ()):
            if each.get("task") in owner:
                found.setdefault(owner[each["task"]], (*task.route, "inputs", number, "task"))
    return found


def _outlived(gangs: tuple[lowering.Gang, ...]) -> Iterator[Diagnostic]:
    """W469: gangs that wait for each other share a JobSet, and nothing in it stops the tasks beside a lead."""
    awaited = _awaited(gangs, _owners(gangs))
    for gang in gangs:
        if gang.group.lead and gang.node.name in awaited:
            message = (
                f'group "{gang.group.name}" ends with its lead in OSMO; here what follows it waits for all its tasks'
            )
            hint = "let the other tasks end by themselves once the lead is done"
            yield warning("W469", (*gang.group.lead.route, "lead"), message, hint=hint)


def _gang(
    gang: lowering.Gang,
    owner: Mapping[str, str],
    awaited: Collection[str],
    deadline: int | None,
    parts: Collection[str],
) -> dict[str, Any]:
    waits, named = list(_waits(gang, owner)), hosts(gang)
    body = lowering.data(gang.node, channel=gang.group.name not in parts)
    lead = None if gang.node.name in awaited else gang.group.lead
    led = {"lead": lowering.pod_set_of(gang.node, lead)} if lead else {}
    return {
        "name": body.pop("name"),
        **({"dependsOn": waits} if waits else {}),
        "rendezvous": "none",
        **led,
        **({} if deadline is None else {"activeDeadlineSeconds": deadline}),
        **({"hosts": named} if named else {}),
        **body,
    }
