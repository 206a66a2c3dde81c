"""`bayplan plan`: the groups of pods, and one placement that proves that they fit."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

from bayplan import plugins
from bayplan.cli import destination, existing, inputs, output, project
from bayplan.cli.compiling import (
    MISFITS,
    Changes,
    CompiledWorkflow,
    changes,
    cluster_title,
    compile_all,
    contradiction,
    prove_jointly,
)
from bayplan.cli.finish import coloured, finish
from bayplan.cli.inputs import Inputs
from bayplan.cli.options import Arguments
from bayplan.core.diagnostics import Diagnostic, error, warning
from bayplan.core.phrases import count, listing
from bayplan.core.values import Modules, common, grouped
from bayplan.model.manifest import File
from bayplan.model.plan import GangPlan, Plan, Pods, Unit, all_pods, plan_queues, walk
from bayplan.model.topology import Quota
from bayplan.pipeline import Planned, enforces_quotas
from bayplan.report import Batch
from bayplan.topologies.hostlist import compress
from bayplan.topologies.native import quota_document

PICTURES: Mapping[str, Any] = Modules(plugins.modules("plans"))
"""Forms that also show a plan that does not fit, and the modules that draw them."""

LONGEST = 200
"""The most characters of a list of failed nodes in a tree."""

MOST_NAMES = 3
"""The most workloads of a kind that the first line names."""


class Site(NamedTuple):
    """A placement of the pods of one stage: (gang, podSet instance) -> nodes; node -> its path in the tree."""

    nodes: Mapping[tuple[str, str], Sequence[str]]
    paths: Mapping[str, tuple[str, ...]]


def as_json(planned: Sequence[Planned], slack: bool, changed: Changes) -> str:
    """A list of workflows, each with its stages: gangs that may run at the same time."""
    return json.dumps({"workflows": [_workflow(each, slack, changed) for each in planned]}, indent=2) + "\n"


def as_tree(planned: Sequence[Planned], slack: bool, changed: Changes) -> str:
    """The same as a tree of lines."""
    shown = ((_workflow(each, slack, changed), queue_lines(each)) for each in planned)
    return "".join(f"{line}\n" for data, queues in shown for line in _lines(data, queues))


class Pod(NamedTuple):
    """Where one pod runs. `number`: from 0, in its podSet instance; `rank`: None without a rendezvous."""

    rendezvous: str
    gang: str
    group: str
    pods: Pods
    number: int
    rank: int | None
    node: str
    path: tuple[str, ...]


def _workflow(planned: Planned, slack: bool, changed: Changes) -> dict[str, Any]:
    plan = planned.plan
    return {
        "workflow": plan.workflow.name,
        "namespace": plan.namespace,
        "topology": plan.topology.name,
        **changed,
        "scheduler": planned.backend.declared.name,
        "queue": plan.queue or None,
        "queues": queues_data(planned),
        "workloads": [{"kind": workload.kind, "name": workload.name} for workload in planned.shape.workloads],
        "stages": [*_stages(planned)],
        **({"slack": _slack(planned)} if slack else {}),
    }


def _slack(planned: Planned) -> dict[str, Any] | None:
    """What may fail before the plan no longer fits; if not all replicas fit, before not even `minReplicas` do."""
    from bayplan.planning.fit.certificate import least
    from bayplan.planning.fit.slack import slack

    if planned.fits is None:
        return None
    found = slack(planned.plan if planned.fits.complete else least(planned.plan))
    return {
        "nodes": found.nodes,
        "exact": found.exact,
        "breaking": list(found.breaking),
        "levels": [
            {
                "level": level.name,
                "domains": level.domains,
                "breaking": list(level.breaking),
                "untried": list(level.untried),
            }
            for level in found.levels
        ],
    }


def _queues(planned: Planned) -> list[tuple[str, list[Quota]]]:
    """The queue and its parents with their numbers of what the plan requests, if the scheduler has queues."""
    if not enforces_quotas(planned.plan, planned.backend, planned.target):
        return []
    from bayplan.planning.queues import numbers

    return numbers(planned.plan)


def queues_data(planned: Planned) -> list[dict[str, Any]]:
    """These queues as JSON data."""
    return [{"name": name, "quotas": list(map(quota_document, rows))} for name, rows in _queues(planned)]


def queue_lines(planned: Planned) -> Iterator[str]:
    """A line for each of these queues."""
    for name, quotas in _queues(planned):
        from bayplan.planning.queues import described

        kind = "queue" if name in plan_queues(planned.plan) else "parent queue"
        yield f"{kind} {name}: {', '.join(map(described, quotas))}"


def _stages(planned: Planned) -> Iterator[dict[str, Any]]:
    for gangs, site in _sites(planned):
        yield {"gangs": [{**_copies(g), "after": [*g.after], **_unit(g, g.root, site)} for g in gangs]}


def _sites(planned: Planned) -> Iterator[tuple[Sequence[GangPlan], Site]]:
    """The gangs of each stage, and where their pods run."""
    plan = planned.plan
    paths = plan.topology.paths
    gangs = {gang.name: gang for gang in plan.gangs}
    for stage in planned.fits.witness if planned.fits else ():
        nodes: dict[tuple[str, str], list[str]] = {}
        for run in stage.runs:
            nodes.setdefault((run.gang, run.pods), []).extend(node for node in run.nodes for _ in range(run.each))
        yield [gangs[name] for name in stage.gangs], Site(nodes, paths)


def _copies(gang: GangPlan) -> dict[str, Any]:
    """The copy of a gang, how many there are, and how many of them run at the same time (null: no limit)."""
    return {"gang": gang.name, "copies": gang.gang.replicas, "atOnce": gang.gang.at_once}


def _unit(gang: GangPlan, unit: Unit, site: Site) -> dict[str, Any]:
    """One gang or group, with its groups and podSets. The first of several copies has the ComputeDomain of all."""
    pods = list(all_pods(unit))
    shared = () if gang.compute_domains or unit is not gang.root else (each.compute_domain for each in pods)
    domains = (*(each.name for each in gang.compute_domains if each.unit == unit.name), *filter(None, shared))
    placed = [site.paths[node] for each in pods for node in site.nodes.get((gang.name, each.name), ())]
    return {
        "name": unit.name,
        "pods": sum(each.replicas for each in pods),
        "required": unit.required or None,
        "preferred": unit.preferred or None,
        "domain": "/".join(common(placed)) or None,
        "computeDomain": next(iter(domains), None),
        "groups": [_unit(gang, member, site) for units in unit.groups for member in units.members],
        "podSets": [_pods(gang, unit, each, site) for each in unit.pods],
    }


def _pods(gang: GangPlan, unit: Unit, pods: Pods, site: Site) -> dict[str, Any]:
    return {
        "name": pods.name,
        "pods": pods.replicas,
        "pool": pods.pool,
        "rendezvous": _rendezvous(gang, unit, pods) or None,
        "firstRank": pods.ranks.first if pods.ranks else None,
        "nodes": list(site.nodes.get((gang.name, pods.name), ())),
    }


def _lines(workflow: Mapping[str, Any], queues: Iterable[str]) -> Iterator[str]:
    names = grouped((each["kind"], each["name"]) for each in workflow["workloads"])
    kinds = ", ".join(f"{kind} {_some(each)}" for kind, each in names.items())
    where = f"{cluster_title(workflow)}, namespace {workflow['namespace']}"
    yield f"{workflow['workflow']} on {where}, for {workflow['scheduler']}: {kinds}"
    yield from queues
    for number, stage in enumerate(workflow["stages"], 1):
        if len(workflow["stages"]) > 1:
            yield f"stage {number} of {len(workflow['stages'])}"
        yield from output.tree((_unit_line(gang, _gang_title(gang)), _below(gang)) for gang in stage["gangs"])
    if workflow.get("slack"):
        yield "slack"
        yield from output.tree((line, ()) for line in _slack_lines(workflow["slack"]))


def _some(names: Sequence[str]) -> str:
    """`a, b`, or `a and 599 more`."""
    return ", ".join(names) if len(names) <= MOST_NAMES else f"{names[0]} and {len(names) - 1} more"


def _slack_lines(slack: Mapping[str, Any]) -> Iterator[str]:
    breaking = slack["breaking"]
    named = compress(breaking)
    named = named if len(named) <= LONGEST else f"{named[: LONGEST - 3]}..."
    these = "this node" if len(breaking) == 1 else f"these {len(breaking)} nodes"
    without = [f"without {these} it does not fit: {named}"] if breaking else []
    may_fail = [f"any {count(slack['nodes'], 'node')} may fail"] if slack["nodes"] or not breaking else []
    yield "; ".join([*may_fail, *without])
    for level in slack["levels"]:
        kinds = (("it does not fit without", level["breaking"]), ("bayplan did not try", level["untried"]))
        worse = "; ".join(f"{text} {listing(names, 'or')}" for text, names in kinds if names)
        yield f"{level['level']}: {worse or 'any one may fail'}"


def _gang_title(gang: Mapping[str, Any]) -> str:
    several = f" of {gang['copies']} copies" if gang["copies"] > 1 else ""
    return f"gang {gang['gang']}{several}" + (f", {gang['atOnce']} at once" if several and gang["atOnce"] else "")


def _below(unit: Mapping[str, Any]) -> output.Branches:
    yield from ((_unit_line(each, each["name"]), _below(each)) for each in unit["groups"])
    yield from ((_pods_line(each), ()) for each in unit["podSets"])


def _unit_line(unit: Mapping[str, Any], title: str) -> str:
    levels = (f"{word} {unit[word]}" for word in ("required", "preferred") if unit[word])
    domain = unit["computeDomain"] and f"ComputeDomain {unit['computeDomain']}"
    facts = filter(None, (count(unit["pods"], "pod"), *levels, unit["domain"] and f"in {unit['domain']}", domain))
    return f"{title}: {', '.join(facts)}"


def _pods_line(pods: Mapping[str, Any]) -> str:
    first, size, nodes = pods["firstRank"], len(pods["nodes"]), dict.fromkeys(pods["nodes"])
    number = f"{size} of {count(pods['pods'], 'pod')}" if size < pods["pods"] else count(size, "pod")
    ranks = "" if first is None else f", rank {first}" if size == 1 else f", ranks {first}-{first + size - 1}"
    return f"{pods['name']}: {number}" + (f"{ranks} on {compress(nodes)}" if nodes else "")


# Ranks and nodes: one line for each pod or node.


def _placed(planned: Planned) -> Iterator[Pod]:
    """Every pod, by stage, gang and rank. A gang of several stages has the nodes of its first one."""
    seen = set[str]()
    for gangs, site in _sites(planned):
        new = [gang for gang in gangs if gang.name not in seen]
        seen |= {gang.name for gang in new}
        for gang in new:
            for unit in walk(gang.root):
                for pods in unit.pods:
                    first = pods.ranks.first if pods.ranks else None
                    job = _rendezvous(gang, unit, pods)
                    for number, node in enumerate(site.nodes.get((gang.name, pods.name), ())):
                        rank = None if first is None else first + number
                        yield Pod(job, gang.name, unit.name, pods, number, rank, node, site.paths[node])


def _rendezvous(gang: GangPlan, unit: Unit, pods: Pods) -> str:
    """The name of the rendezvous of ranked pods: of the gang, or of the group whose pods form a job of their own."""
    if pods.ranks is None:
        return ""
    return f"{gang.name}-{unit.name}" if unit.name and gang.gang.rendezvous == "group" else gang.name


COLUMNS = ("workflow", "namespace", "rank", "gang", "group", "podSet", "pod", "node")


def _levels(planned: Sequence[Planned]) -> list[str]:
    """The names of the levels of all pools, coarse to fine."""
    pools = [pool for each in planned for pool in each.plan.topology.pools]
    return list(dict.fromkeys(level.name for pool in pools for level in pool.levels))


def _rows(planned: Sequence[Planned]) -> Iterator[tuple[str, ...]]:
    """A row for each pod, with the values of all levels."""
    names = _levels(planned)
    for each in planned:
        levels = {pool.name: [level.name for level in pool.levels] for pool in each.plan.topology.pools}
        for pod in _placed(each):
            values = dict(zip(levels[pod.pods.pool], pod.path, strict=False))
            rank = "" if pod.rank is None else str(pod.rank)
            names_of_pod = (pod.gang, pod.group, pod.pods.spec.name, f"{pod.pods.name}-{pod.number}")
            own = (each.plan.workflow.name, each.plan.namespace, rank, *names_of_pod, pod.node)
            yield (*own, *(values.get(name, "") for name in names))


def as_csv(planned: Sequence[Planned]) -> str:
    """A line for each pod, with a header. A level with the name of another column gets the prefix `level-`."""
    import csv
    from io import StringIO

    text = StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow([*COLUMNS, *(f"level-{each}" if each in COLUMNS else each for each in _levels(planned))])
    lines.writerows(_rows(planned))
    return text.getvalue()


def as_table(planned: Sequence[Planned]) -> str:
    """The same in aligned columns."""
    rows = [(*COLUMNS, *_levels(planned)), *(tuple(cell or "-" for cell in row) for row in _rows(planned))]
    return "".join(f"{line}\n" for line in output.table(rows))


def _hostfiles(planned: Sequence[Planned]) -> tuple[tuple[File, ...], tuple[Diagnostic, ...]]:
    """A hostfile of Open MPI for each rendezvous: a line for each node, whose slots are its ranks. A975.

    Source: Open MPI 5.0.11: mpirun refuses a second line with slots for a node.
    """
    files: list[File] = []
    found: list[Diagnostic] = []
    for each in planned:
        for name, pods in grouped((pod.rendezvous, pod) for pod in _placed(each)).items():
            ordered = sorted(pods, key=lambda pod: pod.rank or 0)
            runs = [(node, sum(1 for _ in here)) for node, here in groupby(pod.node for pod in ordered)]
            twice = sorted(node for node, times in Counter(node for node, _ in runs).items() if times > 1)
            if name and twice:
                where = listing(twice, "and", 3)
                message = f'the ranks of "{name}" on node {where} are not consecutive; a hostfile has one line per node'
                found.append(error("A975", ("argument", "--format"), message, hint="use --format csv"))
            elif name:
                slots = "".join(f"{node} slots={number}\n" for node, number in runs)
                files.append(File(f"{name}.hostfile", f"# {name}: {count(len(ordered), 'rank')}\n{slots}"))
    if planned and not files and not found:
        message = "no pod of the workflows has a rank, so there is no hostfile"
        found.append(error("A975", ("argument", "--format"), message, hint="use --format csv"))
    return tuple(files), tuple(found)


def _without_slack(form: str) -> Diagnostic:
    """A931: a format that does not show the slack."""
    message = f"--slack has no effect with --format {form}"
    return warning("A931", ("argument", "--slack"), message, hint="use `--format tree` or `--format json`")


def _projects(
    args: Arguments, misfits: list[Plan] | None
) -> tuple[Arguments, list[CompiledWorkflow], tuple[Batch, ...]]:
    """The command line without project files, the workflows of their outputs, and the diagnostics of these.

    bayplan proves the workflows of a project each by itself: they need not run at the same time.
    """
    words = [word for word in args.words if os.path.basename(word) == project.NAME]
    if not words:
        return args, [], ()
    from bayplan.cli import generate

    compiled: list[CompiledWorkflow] = []
    batches: list[Batch] = []
    for word in words:
        found, problems = project.load(word)
        batches += problems
        more, diagnosed = generate.compile_outputs(found, misfits) if found else ([], [])
        compiled += more
        batches += diagnosed
    rest = tuple(word for word in args.words if word not in words)
    return args._replace(words=rest, options={**args.options, "alone": ("",)}), compiled, tuple(batches)


def run(args: Arguments) -> int:
    """Shows the plans of all workflows. A picture also shows plans that do not fit; the exit code stays 1."""
    if wrong := contradiction(args):
        return finish(args, wrong)
    form, misfits = args.value("format", "tree"), list[Plan]()
    drawn_misfits = misfits if form in PICTURES else None
    args, of_projects, found_there = _projects(args, drawn_misfits)
    args, manifests = existing.split(args)
    only_projects = not args.words and not manifests
    read = Inputs((), None, ()) if only_projects else inputs.read_all(args)
    compiled, batches = ([], []) if only_projects else compile_all(args, read, misfits=drawn_misfits)
    if manifests:
        read, there, more = existing.planned(args, manifests, read)
        compiled, batches = [*there, *compiled], [*batches, *more]
    jointly, more = prove_jointly(args, read, compiled, batches, misfits)
    jointly = [*of_projects, *jointly]
    batches += [*found_there, *more, Batch(destination.option_errors(args))]
    batches += [Batch((_without_slack(form),))] if args.has("slack") and form not in ("tree", "json") else []
    planned = [value.planned for _, value in jointly]
    if form in PICTURES:
        codes = {each.code for batch in batches for each in batch.diagnostics if each.severity == "error"}
        refused = misfits if codes and codes <= MISFITS else []
        proven = [(value.plan, value.fits) for value in planned]
        colours = args.value("output", "-") == "-" and coloured(sys.stdout)
        pieces = PICTURES[form].plans(form, proven, args.has("alone"), refused, colours)
        return finish(args, batches, destination.file_writer(args, pieces), despite=bool(refused))
    if form == "hostfile":
        files, found = _hostfiles(planned)
        return finish(args, [*batches, Batch(found)], destination.writer(args, files))
    slack, changed = args.has("slack"), changes(args)
    forms: dict[str, Callable[[Sequence[Planned]], str]]
    forms = {form: partial(show, slack=slack, changed=changed) for form, show in (("tree", as_tree), ("json", as_json))}
    forms["csv"] = as_csv
    show = forms.get(form, as_table)
    return finish(args, batches, destination.file_writer(args, (show(planned) for _ in range(1))))
