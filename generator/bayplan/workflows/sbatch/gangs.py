"""Steps -> gangs: those that run at the same time are one, those that follow each other wait for each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.core.diagnostics import Outcome, Route, has_errors
from bayplan.core.values import NamedTuple
from bayplan.kube.objects import non_empty
from bayplan.model.formats import Context, Read
from bayplan.model.topology import Pool
from bayplan.model.workflow import GANGS, Workflow
from bayplan.workflows import native
from bayplan.workflows.sbatch import pods
from bayplan.workflows.sbatch.body import Step
from bayplan.workflows.sbatch.expansion import NODE, RANK, mark
from bayplan.workflows.sbatch.options import KEPT, Findings, Position
from bayplan.workflows.sbatch.pods import MarkResolver, Names, amounts, command, container
from bayplan.workflows.sbatch.script import Levels, Script, levels, pool_of, sizes
from bayplan.workflows.sbatch.script import script as read_script
from bayplan.workflows.sbatch.shape import UsedOption, count, seconds
from bayplan.workflows.sbatch.steps import Part, parts, steps_of
from bayplan.workflows.sbatch.variables import PORT

MOST_FINDINGS = 1000
"""Findings of one script that are listed."""


def read(data: Mapping[str, Any], context: Context) -> Outcome[Read[Workflow]]:
    """The workflow in the data of a script. W600 to W629."""
    findings = Findings()
    script = read_script(data, context.topology, findings)
    gangs = document(script, findings) if script else None
    ours = script is not None and script.remarks is not None
    reported = tuple(each for each in findings.all()[:MOST_FINDINGS] if not (ours and each.severity == "info"))
    if script is None or gangs is None or has_errors(reported):
        return Outcome(None, reported)
    native_data = native.document({"name": script.name}, {**non_empty(queue=script.queue), "gangs": gangs.data})
    origins: dict[Route, Route] = {("workflow", "spec"): Position().route, ("workflow", "metadata"): Position().route}
    origins |= {(*GANGS, *route): spot.route for route, spot in gangs.places.items()}
    for route, name in ((("spec", "queue"), "partition"), (("metadata", "name"), "job-name")):
        if option := script.sections[0].options.get(name):
            origins[("workflow", *route)] = option.spot.route
    return native.finish(native_data, origins, reported, Position().route)


# Job arrays: `--array=0-7`. A script that reads its number in the array becomes a gang for each number, others copies
# of one gang.

MOST = 256
"""Gangs or copies of one script."""

_PART = re.compile(r"([0-9]{1,7})(?:-([0-9]{1,7})(?::([0-9]{1,7}))?)?")


class Array(NamedTuple):
    """The numbers that the script is gone through with, or how many copies there are."""

    each: tuple[int, ...] = ()
    copies: int = 1


def indices(script: Script, findings: Findings) -> Array:
    """What an array asks for. W600, W604, W603."""
    option = script.first.options.get("array")
    if option is None:
        return Array()
    listed, percent, at_a_time = option.value.partition("%")
    numbers: set[int] = set()
    for part in listed.split(","):
        match = _PART.fullmatch(part)
        first, last, step = (int(each or 0) for each in match.groups()) if match else (0, 0, 0)
        last, step = (last if match and match[2] else first), (step if match and match[3] else 1)
        if match is None or step < 1 or last < first:
            message = f'--array: "{option.value}" is no list of numbers such as 0-7 or 1,3,5'
            findings.error("W600", option.spot, message, "Slurm would refuse it too")
            return Array()
        if len(numbers) + len(range(first, last + 1, step)) > MOST:
            message = f"--array makes more than {MOST} gangs of one script"
            findings.error("W603", option.spot, message, "cut the array into several scripts")
            return Array()
        numbers |= set(range(first, last + 1, step))
    if percent:
        message = f"--array: that at most {at_a_time} run at a time is lost"
        findings.warning("W604", option.spot, message, "limit the queue")
    return Array(each=tuple(sorted(numbers))) if "SLURM_ARRAY" in script.body else Array(copies=len(numbers))


MASTER = mark(NODE, "0.0")


def document(script: Script, findings: Findings) -> Translated | None:
    """The gangs of a script; None where nothing can be said of its body."""
    array = indices(script, findings)
    gangs: list[dict[str, Any]] = []
    places: dict[Route, Position] = {}
    for number, index in enumerate(array.each or (None,)):
        batches = steps_of(script, index, findings)
        if batches is None:
            return None
        suffix = "" if index is None else f"-{index}"
        names = [f"{f'step-{n}' if len(batches) > 1 else script.name}{suffix}" for n in range(len(batches))]
        for place, batch in enumerate(batches):
            waits = names[place - 1 : place] if place else []
            gang = _gang(script, batch, names[place], waits, array.copies, findings)
            places |= {(len(gangs), *route): spot for route, spot in gang.places.items()}
            gangs.append(gang.data)
        if len(batches) > 1 and not number:
            message = f"{len(batches)} steps follow each other, and become gangs that wait for each other"
            hint = "each finds its nodes anew, and starts only if the one before has ended well"
            findings.info("W628", batches[1][0].spot, message, hint)
    return Translated(gangs, places)


class Translated(NamedTuple):
    """A gang as native data, or all of them, and where their parts come from."""

    data: Any
    places: Mapping[Route, Position]


def _gang(
    script: Script, batch: Sequence[Step], name: str, waits: list[str], copies: int, findings: Findings
) -> Translated:
    members = parts(script, batch, findings)
    single = len(members) == 1
    own_master = any(step.env.get("MASTER_ADDR", MASTER) != MASTER for step in batch)
    master = {"0.0": "$(MASTER_ADDR)"} if single and not script.remarks and not own_master else {}
    texts = MarkResolver(Names(script.name, master))
    groups: list[dict[str, Any]] = []
    places: dict[Route, Position] = {}
    any_gpus = any(part.shape.gpus for part in members)
    shared_ranks = _shared_ranks(script, members, findings)
    for number, part in enumerate(members):
        ranks = Ranks(single, bool(part.shape.gpus) or not any_gpus, shared_ranks or part.shape.tasks)
        sets = _pod_sets(script, part, ranks, texts, findings)
        groups.append(_group(script, part, sets, single, findings))
        at: Route = ("groups", number) if not single else ()
        places |= {(*at, *route): spot for route, spot in part.places.items()}
        places[at] = part.step.spot
    places[()] = batch[0].spot
    ours = script.remarks is not None and not any("groups" in each or "placement" in each for each in groups)
    body = dict(groups[0]) if single else {"groups": groups}
    if ours and not single:  # steps of one rendezvous, cut where the lead begins and ends
        body = {"podSets": [each for group in groups for each in group["podSets"]]}
    body = {**_implicit_placement(script, members), **body} if ours else body
    body.pop("name", None) if single else None
    data = {
        "name": name,
        **non_empty(dependsOn=waits, replicas=copies if copies > 1 else 0),
        **_rendezvous(script, members, bool(shared_ranks)),
        **_limits(script, findings),
        **non_empty(backends=_backends(script, findings)),
        **non_empty(hosts=dict(_hosts(members, single or ours, texts, findings))),
        **body,
    }
    if script.remarks and script.remarks.lead is not None and script.remarks.lead < len(members):
        data["lead"] = members[script.remarks.lead].names[0][0]
    for what in (*(("number of the job",) if texts.job else ()), *(("time of the start",) if texts.time else ())):
        message = f'the {what} is "{script.name}" here, in every run'
        findings.warning("W616", batch[0].spot, message, "let the command add the time where runs must differ")
    return Translated(data, places)


def _implicit_placement(script: Script, members: Sequence[Part]) -> dict[str, Any]:
    """The placement that a script of bayplan's implies without an option. Exclusive nodes with amounts of memory are
    those of a ComputeDomain, which requires a level inside which NVLink works."""
    part = members[0]
    pool = pool_of(script.topology, part.pool, part.shape.kind, part.shape.gpus)
    level = next((each.name for each in pool.levels if each.nvlink), "") if pool else ""
    nodes = sum(each.shape.nodes for each in members)
    exclusive = all(each.shape.exclusive and each.shape.memory and not each.segmented for each in members)
    return {"placement": {"required": level}} if level and exclusive and nodes > 1 else {}


class Ranks(NamedTuple):
    """How the tasks of a part are counted."""

    single: bool  # nothing else runs beside it
    ranked: bool
    tasks: int  # of the whole step


def _shared_ranks(script: Script, members: Sequence[Part], findings: Findings) -> int:
    """The tasks of the one step that all parts are, which Slurm counts through; else 0. W623: a count that is lost.

    Source: Slurm 25.11, heterogeneous jobs: the components of a step share its ranks."""
    lines = [part.step.spot for part in members]
    shared = next((spot for spot in lines if lines.count(spot) > 1), None)
    if shared is None or script.remarks:
        return 0
    any_gpus = any(part.shape.gpus for part in members)
    if len(set(lines)) > 1:
        message = (
            "the parts of this step share one count of ranks in Slurm; here each counts its own, as other steps run"
        )
        findings.warning("W623", shared, message, "start it with `wait` before the others, or as a job of its own")
        return 0
    if any_gpus and not all(part.shape.gpus for part in members):
        message = "the parts of this step share one count of ranks in Slurm; here those without GPUs are not counted"
        findings.warning("W623", shared, message, "where a program counts all tasks, give none or all of them GPUs")
    return sum(part.shape.tasks for part in members if part.shape.gpus or not any_gpus)


def _rendezvous(script: Script, members: Sequence[Part], shared_ranks: bool) -> dict[str, str]:
    if script.remarks:
        ranked = any(branch.ranked for part in members for branch in part.branches or ())
        return {} if ranked else {"rendezvous": "none"}
    return {"rendezvous": "group"} if len(members) > 1 and not shared_ranks else {}


def _limits(script: Script, findings: Findings) -> dict[str, Any]:
    """How long a gang may run, and how often."""
    option = script.first.options.get("time")
    limit = seconds(option.value) if option else 0
    if option and limit is None:
        message = f'--time: "{option.value}" is not a time such as 30, 1:30:00 or 2-12'
        findings.error("W600", option.spot, message, "Slurm would refuse it too")
    restarts = script.remarks.restarts if script.remarks else 0
    return non_empty(activeDeadlineSeconds=limit, maxRestarts=restarts)


def _pod_sets(
    script: Script, part: Part, ranks: Ranks, texts: MarkResolver, findings: Findings
) -> list[dict[str, Any]]:
    """The podSets of a part: one, or those that share a section of a script of ours."""
    step, shape = part.step, part.shape
    pool = pool_of(script.topology, part.pool, shape.kind, shape.gpus)
    if shape.per_node > 1 and shape.gpus and not part.branches:
        message = (
            f"the {shape.per_node} tasks of a node become as many pods, which reach each other by the network alone"
        )
        findings.warning("W617", step.spot, message, "let one task use all GPUs of its node, as torchrun does")
    common = {
        **non_empty(pool=part.pool),
        **amounts(shape, _whole_node(part, pool, findings)),
        **container(part.options, script.image, findings, step.spot),
    }
    if part.branches:
        hosts = {name: value for name, value in step.env.items() if name.startswith(pods.HOST)}
        named = {f"$({name})": texts.plain(value) for name, value in hosts.items()}
        return [_branch(branch, number, part, common, named) for branch, number in part.members()]
    words = command(step, ranks.tasks if ranks.ranked else shape.tasks, ranks.ranked, findings)
    least = shape.least * shape.per_node
    return [
        {
            "name": part.names[0][0],
            "replicas": part.segment * shape.per_node if part.segment else shape.tasks,
            **({"minReplicas": least} if least < shape.tasks and not part.segment else {}),
            **common,
            ("args" if "container-entrypoint" in part.options else "command"): [texts.plain(word) for word in words],
            **non_empty(env=_env(step, ranks.single, texts, findings)),
        }
    ]


def _branch(
    branch: pods.PodSetBranch, number: int, part: Part, common: Mapping[str, Any], named: Mapping[str, str]
) -> dict[str, Any]:
    def resolved(text: str) -> str:
        for variable, host in named.items():
            text = text.replace(variable, host)
        return text

    env = {key: resolved(value) for key, value in branch.env.items()}
    command = [resolved(word) for word in branch.command]
    fields = non_empty(env=env, files=dict(part.files))
    return {"name": branch.name, "replicas": number, **common, "command": command, **fields}


def _env(step: Step, single: bool, texts: MarkResolver, findings: Findings) -> dict[str, str]:
    """What the script exports, but for what bayplan sets by itself. W616."""
    rendezvous = (("MASTER_ADDR", MASTER), ("MASTER_PORT", PORT)) if single else ()
    env = {}
    for name, value in step.env.items():
        if f"\0{RANK}:" in value:
            message = f"the batch shell sets {name} to 0 for every task; here each has the rank that bayplan gives it"
            hint = "set it in the task: srun bash -c 'export ...; ...'"
            findings.warning("W616", step.spot, message, hint)
        elif (name, value) not in rendezvous:
            env[name] = texts.plain(value)
    return env


def _whole_node(part: Part, pool: Pool | None, findings: Findings) -> bool:
    """Whether a pod gets its node for itself. W604: where several pods share it, none does."""
    shape = part.shape
    fills = pool is not None and 0 < pool.node.accelerators == shape.gpus * shape.per_node
    if shape.all_memory and not shape.exclusive:
        message = "--mem=0 is all the memory of a node, and only whole nodes have that here"
        findings.warning("W604", part.step.spot, message, "add --exclusive, or write the amount")
    if not shape.exclusive:
        return False
    if shape.per_node == 1:
        return not fills or shape.all_memory or not shape.memory
    if not fills:
        message = f"--exclusive is lost: {shape.per_node} pods share a node, and others may come to it"
        hint = "let one task use the whole node, as torchrun does"
        findings.warning("W604", part.step.spot, message, hint)
    return False


def _group(script: Script, part: Part, sets: list[dict[str, Any]], single: bool, findings: Findings) -> dict[str, Any]:
    """The podSets of a part with their placement, below segments where it is cut."""
    shape, options = part.shape, part.options
    pool = pool_of(script.topology, part.pool, shape.kind, shape.gpus)
    names = levels(pool, part.segment or shape.nodes, shape.nodes)
    name = part.names[0][0]
    if part.segment and not single and not part.branches:
        message = "segments are cut for the one step of a job, and here several run side by side"
        findings.error("W608", options["segment"].spot, message, "make the steps jobs of their own")
    if part.segmented:
        _report_assumed_level(names, options["segment"], findings)
    if part.segment:
        inner = {
            "name": "segment" if name != "segment" else "part",
            "replicas": shape.nodes // part.segment,
            "placement": {"required": names.segment},
            **({"separate": names.segment} if "spread-segments" in options else {}),
            "podSets": sets,
        }
        together = {"placement": {"required": names.job}} if "consolidate-segments" in options else {}
        return {"name": name, **together, "groups": [inner]}
    if part.segmented:
        return {"name": name, "placement": {"required": names.segment}, "podSets": sets}
    if single:
        _report_implicit_segment(script, part, pool, findings)
    return _on_switches(part, sets, names, findings) or {"name": name, "podSets": sets}


def _report_implicit_segment(script: Script, part: Part, pool: Pool | None, findings: Findings) -> None:
    """W629: Slurm's block topology keeps together what fits a block, asked or not."""
    nodes, slurm = part.shape.nodes, (script.topology.schedulers.get("slurm", {}) if script.topology else {})
    blocks = pool is not None and pool.levels and pool.levels[-1].nvlink and slurm.get("plugin", "block") == "block"
    if blocks and pool and 1 < nodes <= sizes(pool)[-1]:
        message = f"where Slurm plans in blocks it keeps these {nodes} nodes in one, and here nothing asks for it"
        findings.info("W629", part.step.spot, message, f"add --segment={nodes}")


def _on_switches(part: Part, sets: list[dict[str, Any]], names: Levels, findings: Findings) -> dict[str, Any] | None:
    """`--switches=2`: as many groups, each better under one leaf switch."""
    option = part.options.get("switches")
    if option is None:
        return None
    switches = count(option.value.partition("@")[0])
    if switches is None:
        message = f'--switches: "{option.value}" is not a number of switches, with or without @time'
        findings.error("W600", option.spot, message, "Slurm would refuse it too")
        return None
    _report_assumed_level(names, option, findings)
    placement = {"placement": {"preferred": names.leaf}}
    if switches == 1:
        return {"name": part.names[0][0], **placement, "podSets": sets}
    if part.shape.nodes % switches or part.branches:
        message = f"--switches={switches} is lost: {part.shape.nodes} nodes are not cut evenly to {switches} switches"
        findings.warning("W604", option.spot, message, "use a number that divides the nodes")
        return None
    share = [{**each, "replicas": each["replicas"] // switches} for each in sets]
    inner = {"name": "switch", "replicas": switches, **placement, "podSets": share}
    return {"name": part.names[0][0], "groups": [inner]}


def _report_assumed_level(names: Levels, option: UsedOption, findings: Findings) -> None:
    if names.assumed:
        message = f'no topology says which level a block or a leaf switch is; it is called "{names.segment}" here'
        findings.info("W619", option.spot, message, "give the topology with -t")


def _backends(script: Script, findings: Findings) -> dict[str, Any]:
    """What is kept for Slurm alone."""
    options = script.first.options
    kept: dict[str, Any] = {
        name: option.value
        for name, option in options.items()
        if option.option.does == KEPT and not (name == "comment" and script.remarks) and option.value
    }
    if "partition" in options and script.first.pool and not script.remarks:
        kept["partition"] = options["partition"].value
    kept |= non_empty(gres=script.first.shape.by_gres, gpuType=script.first.shape.kind)
    if "switches" in options and "@" in options["switches"].value:
        kept["switchesTimeout"] = options["switches"].value.partition("@")[2]
    if "requeue" in options and not (script.remarks and script.remarks.restarts):
        kept["requeue"] = True
        message = "--requeue: Slurm starts the job again when a node fails; here a gang that fails is done"
        hint = "import the script, and set `maxRestarts` of the gang"
        findings.warning("W604", options["requeue"].spot, message, hint)
    return non_empty(slurm=kept)


def _hosts(members: Sequence[Part], flat: bool, texts: MarkResolver, findings: Findings) -> Iterator[tuple[str, str]]:
    """Texts that stand for nodes -> the first pod of each. W623: no pod runs on it."""
    for which in sorted(texts.used - set(texts.names.nodes)):
        section, _, number = which.partition(".")
        host = next((host for part in members if (host := part.host(int(section), int(number), flat))), "")
        if host:
            yield f"@node-{which.replace('.', '-')}@", host
        else:
            message = f"a step asks for node {number} of the job, on which none of the steps beside it runs"
            findings.error("W623", members[0].step.spot, message, "name a node that runs one of these steps")
