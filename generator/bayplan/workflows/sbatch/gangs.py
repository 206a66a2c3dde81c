"""Steps -> gangs: those that run at the same time are one, those that follow each other wait for each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.core.diagnostics import Outcome, Route, has_errors
from bayplan.core.values import NamedTuple
from bayplan.model.formats import Context, Read
from bayplan.model.topology import Pool
from bayplan.model.workflow import GANGS, Workflow
from bayplan.workflows import native
from bayplan.workflows.sbatch import pods
from bayplan.workflows.sbatch.body import Step
from bayplan.workflows.sbatch.expansion import NODE, RANK, mark
from bayplan.workflows.sbatch.options import KEPT, Findings, Position
from bayplan.workflows.sbatch.pods import MarkResolver, Names, amounts, command, container
from bayplan.workflows.sbatch.script import Levels, Script, largest_block, levels, pool_of
from bayplan.workflows.sbatch.script import script as read_script
from bayplan.workflows.sbatch.shape import Given, count, seconds
from bayplan.workflows.sbatch.steps import Part, parts, steps_of

MOST_FINDINGS = 1000
"""Findings of one script that are listed."""


def read(data: Mapping[str, Any], context: Context) -> Outcome[Read[Workflow]]:
    """The workflow in the data of a script. W600 to W629."""
    findings = Findings()
    whole = read_script(data, context.topology, findings)
    made = document(whole, findings) if whole else None
    ours = whole is not None and whole.remarks is not None
    found = tuple(each for each in findings.all()[:MOST_FINDINGS] if not (ours and each.severity == "info"))
    if whole is None or made is None or has_errors(found):
        return Outcome(None, found)
    queue = {"queue": whole.queue} if whole.queue else {}
    native_data = native.document({"name": whole.name}, {**queue, "gangs": list(made.gangs)})
    return native.finish(native_data, _origins(whole, made), found, Position().route)


def _origins(whole: Script, made: ScriptGangs) -> dict[Route, Route]:
    origins: dict[Route, Route] = {("workflow", "spec"): Position().route, ("workflow", "metadata"): Position().route}
    for own, spot in made.places.items():
        origins[(*GANGS, *own)] = spot.route
    for key, name in (("queue", "partition"), ("name", "job-name")):
        if given := whole.sections[0].options.get(name):
            origins[("workflow", "spec" if key == "queue" else "metadata", key)] = given.spot.route
    return origins


# Job arrays: `--array=0-7`. Where the script asks for its number there is a gang for each, else copies of one gang.

MOST = 256
"""Gangs or copies of one script."""

_PART = re.compile(r"([0-9]{1,7})(?:-([0-9]{1,7})(?::([0-9]{1,7}))?)?")


class Array(NamedTuple):
    """The numbers that the script is gone through with, or how many copies there are."""

    each: tuple[int, ...] = ()
    copies: int = 1


def indices(script: Script, findings: Findings) -> Array:
    """What an array asks for. W602, W604, W624."""
    given = script.first.options.get("array")
    if given is None:
        return Array()
    listed, percent, _ = given.value.partition("%")
    found: set[int] = set()
    for part in listed.split(","):
        one = _PART.fullmatch(part)
        if one is None or int(one[3] or 1) < 1 or int(one[2] or one[1]) < int(one[1]):
            message = f'--array: "{given.value}" is no list of numbers such as 0-7 or 1,3,5'
            findings.error("W602", given.spot, message, "Slurm would refuse it too")
            return Array()
        numbers = range(int(one[1]), int(one[2] or one[1]) + 1, int(one[3] or 1))
        if len(found) + len(numbers) > MOST:
            message = f"--array makes more than {MOST} gangs of one script"
            findings.error("W624", given.spot, message, "cut the array into several scripts")
            return Array()
        found |= set(numbers)
    if percent:
        message = f"--array: that at most {given.value.partition('%')[2]} run at a time is lost"
        findings.warning("W604", given.spot, message, "limit the queue")
    if "SLURM_ARRAY" in script.body:
        return Array(each=tuple(sorted(found)))
    return Array(copies=len(found))


MASTER = mark(NODE, "0.0")
PORT = "29500"


class ScriptGangs(NamedTuple):
    """Gangs as native data, and where their parts come from."""

    gangs: tuple[dict[str, Any], ...]
    places: Mapping[Route, Position]


def document(script: Script, findings: Findings) -> ScriptGangs | None:
    """The gangs of a script; None where nothing can be said of its body."""
    array = indices(script, findings)
    gangs: list[dict[str, Any]] = []
    places: dict[Route, Position] = {}
    for number, index in enumerate(array.each or (None,)):
        batches = steps_of(script, index, findings)
        if batches is None:
            return None
        names = _names(script, batches, index)
        for place, batch in enumerate(batches):
            waits = names[place - 1 : place] if place else []
            gang = _gang(script, batch, names[place], waits, array.copies, findings)
            for own_, spot in gang.places.items():
                places[(len(gangs), *own_)] = spot
            gangs.append(gang.data)
        if len(batches) > 1 and not number:
            message = f"{len(batches)} steps follow each other, and become gangs that wait for each other"
            hint = "each finds its nodes anew, and starts only if the one before has ended well"
            findings.info("W628", batches[1][0].spot, message, hint)
    return ScriptGangs(tuple(gangs), places)


def _names(script: Script, batches: Sequence[Sequence[Step]], index: int | None) -> list[str]:
    suffix = "" if index is None else f"-{index}"
    if len(batches) == 1:
        return [f"{script.name}{suffix}"]
    return [f"step-{number}{suffix}" for number in range(len(batches))]


class Gang(NamedTuple):
    """One gang as data, and where its parts come from."""

    data: dict[str, Any]
    places: Mapping[Route, Position]


def _gang(script: Script, batch: Sequence[Step], name: str, waits: list[str], copies: int, findings: Findings) -> Gang:
    made = parts(script, batch, findings)
    single = len(made) == 1
    texts = MarkResolver(
        Names(
            script.name, {"0.0": "$(MASTER_ADDR)"} if single and not script.remarks and not _own_master(batch) else {}
        )
    )
    groups, places = [], {}
    cards = any(part.shape.gpus for part in made)
    shared_ranks = _shared_ranks(script, made, findings)
    for number, part in enumerate(made):
        ranks = Ranks(single, bool(part.shape.gpus) or not cards, shared_ranks or part.shape.tasks)
        sets = _pod_sets(script, part, ranks, texts, findings)
        group = _group(script, part, sets, single, findings)
        groups.append(group)
        at = ("groups", number) if not single else ()
        for key, spot in part.places.items():
            places[(*at, *key)] = spot
        places[at] = part.step.spot
    places[()] = batch[0].spot
    ours = script.remarks is not None and not any("groups" in each or "placement" in each for each in groups)
    body = dict(groups[0]) if single else {"groups": groups}
    if ours and not single:  # steps of one rendezvous, cut where the lead begins and ends
        body = {"podSets": [each for group in groups for each in group["podSets"]]}
    body = {**_implicit_placement(script, made), **body} if ours else body
    body.pop("name", None) if single else None
    data = {
        "name": name,
        **({"dependsOn": waits} if waits else {}),
        **({"replicas": copies} if copies > 1 else {}),
        **_rendezvous(script, made, bool(shared_ranks)),
        **_limits(script, findings),
        **_backends(script, findings),
        **({"hosts": hosts} if (hosts := dict(_hosts(made, single or ours, texts, findings))) else {}),
        **body,
    }
    if script.remarks and script.remarks.lead is not None and script.remarks.lead < len(made):
        data["lead"] = made[script.remarks.lead].names[0][0]
    for what in (*(("number of the job",) if texts.job else ()), *(("time of the start",) if texts.time else ())):
        message = f'the {what} is "{script.name}" here, in every run'
        findings.warning("W616", batch[0].spot, message, "let the command add the time where runs must differ")
    return Gang(data, places)


def _implicit_placement(script: Script, made: Sequence[Part]) -> dict[str, Any]:
    """What one of our scripts keeps without an option: nodes that are its alone, though it says how much it wants of
    them, are those of a ComputeDomain, which takes a level inside which NVLink works."""
    part = made[0]
    pool = pool_of(script.topology, part.pool, part.shape.kind, part.shape.gpus)
    level = next((each.name for each in pool.levels if each.nvlink), "") if pool else ""
    nodes = sum(each.shape.nodes for each in made)
    alone = all(each.shape.exclusive and each.shape.memory and not each.asked for each in made)
    return {"placement": {"required": level}} if level and alone and nodes > 1 else {}


def _own_master(batch: Sequence[Step]) -> bool:
    """Whether the script gives MASTER_ADDR another value than its first node."""
    return any(step.env.get("MASTER_ADDR", MASTER) != MASTER for step in batch)


class Ranks(NamedTuple):
    """How the tasks of a part are counted."""

    single: bool  # nothing else runs beside it
    ranked: bool
    tasks: int  # of the whole step


def _shared_ranks(script: Script, made: Sequence[Part], findings: Findings) -> int:
    """The tasks of the one step that all parts are, which Slurm counts through; else 0. W623: a count that is lost.

    Source: Slurm 25.11, heterogeneous jobs: the components of a step share its ranks."""
    lines = [part.step.spot for part in made]
    shared = next((spot for spot in lines if lines.count(spot) > 1), None)
    if shared is None or script.remarks:
        return 0
    cards = any(part.shape.gpus for part in made)
    if len(set(lines)) > 1:
        message = (
            "the parts of this step share one count of ranks in Slurm; here each counts its own, as other steps run"
        )
        findings.warning("W623", shared, message, "start it with `wait` before the others, or as a job of its own")
    elif cards and not all(part.shape.gpus for part in made):
        message = "the parts of this step share one count of ranks in Slurm; here those without GPUs are not counted"
        findings.warning("W623", shared, message, "where a program counts all tasks, give none or all of them GPUs")
    return sum(part.shape.tasks for part in made if part.shape.gpus or not cards) if len(set(lines)) == 1 else 0


def _rendezvous(script: Script, made: Sequence[Part], shared_ranks: bool) -> dict[str, str]:
    if script.remarks:
        ranked = any(branch.ranked for part in made for branch in part.branches or ())
        return {} if ranked else {"rendezvous": "none"}
    return {"rendezvous": "group"} if len(made) > 1 and not shared_ranks else {}


def _limits(script: Script, findings: Findings) -> dict[str, Any]:
    """How long a gang may run, and how often."""
    made: dict[str, Any] = {}
    given = script.first.options.get("time")
    limit = seconds(given.value) if given else 0
    if given and limit is None:
        message = f'--time: "{given.value}" is not a time such as 30, 1:30:00 or 2-12'
        findings.error("W602", given.spot, message, "Slurm would refuse it too")
    if limit:
        made["activeDeadlineSeconds"] = limit
    if script.remarks and script.remarks.restarts:
        made["maxRestarts"] = script.remarks.restarts
    return made


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
        **({"pool": part.pool} if part.pool else {}),
        **amounts(shape, _whole_node(part, pool, findings)),
        **container(part.options, script.image, findings, step.spot),
    }
    if part.branches:
        hosts = {name: value for name, value in step.env.items() if name.startswith(pods.HOST)}
        named = {f"$({name})": texts.plain(value) for name, value in hosts.items()}
        return [_branch(branch, number, part, common, named) for branch, number in part.members()]
    words = [
        texts.plain(word)
        for word in command(step, ranks.tasks if ranks.ranked else shape.tasks, ranks.ranked, findings)
    ]
    entry = "container-entrypoint" in part.options
    size = part.segment * shape.per_node if part.segment else shape.tasks
    least = shape.least * shape.per_node
    return [
        {
            "name": part.names[0][0],
            "replicas": size,
            **({"minReplicas": least} if least < shape.tasks and not part.segment else {}),
            **common,
            ("args" if entry else "command"): words,
            **({"env": env} if (env := _env(step, ranks.single, texts, findings)) else {}),
        }
    ]


def _branch(
    branch: pods.PodSetBranch, number: int, part: Part, common: Mapping[str, Any], named: Mapping[str, str]
) -> dict[str, Any]:
    def resolved(text: str) -> str:
        for variable, host in named.items():
            text = text.replace(variable, host)
        return text

    files = {"files": dict(part.files)} if part.files else {}
    env = {"env": {key: resolved(value) for key, value in branch.env.items()}} if branch.env else {}
    command = [resolved(word) for word in branch.command]
    return {"name": branch.name, "replicas": number, **common, "command": command, **env, **files}


def _env(step: Step, single: bool, texts: MarkResolver, findings: Findings) -> dict[str, str]:
    """What the script exports, but for what bayplan sets by itself. W618."""
    found = {}
    for name, value in step.env.items():
        if single and ((name == "MASTER_ADDR" and value == MASTER) or (name == "MASTER_PORT" and value == PORT)):
            continue
        if f"\0{RANK}:" in value:
            message = f"the batch shell sets {name} to 0 for every task; here each has the rank that bayplan gives it"
            hint = "set it in the task: srun bash -c 'export ...; ...'"
            findings.warning("W618", step.spot, message, hint)
            continue
        found[name] = texts.plain(value)
    return found


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
    found = levels(pool, part.segment or shape.nodes, shape.nodes)
    in_background = {"separate": found.segment} if "spread-segments" in options else {}
    name = part.names[0][0]
    if part.segment and not single and not part.branches:
        message = "segments are cut for the one step of a job, and here several run side by side"
        findings.error("W620", options["segment"].spot, message, "make the steps jobs of their own")
    if part.asked:
        _assumed(found, options["segment"], findings)
    if part.segment:
        inner = {
            "name": "segment" if name != "segment" else "part",
            "replicas": shape.nodes // part.segment,
            "placement": {"required": found.segment},
            **in_background,
            "podSets": sets,
        }
        together = {"placement": {"required": found.job}} if "consolidate-segments" in options else {}
        return {"name": name, **together, "groups": [inner]}
    if part.asked:
        return {"name": name, "placement": {"required": found.segment}, "podSets": sets}
    if single:
        _report_implicit_segment(script, part, pool, findings)
    return _on_switches(part, sets, found, findings) or {"name": name, "podSets": sets}


def _report_implicit_segment(script: Script, part: Part, pool: Pool | None, findings: Findings) -> None:
    """W629: Slurm's block topology keeps together what fits a block, asked or not."""
    nodes, own_ = part.shape.nodes, (script.topology.schedulers.get("slurm", {}) if script.topology else {})
    blocks = pool is not None and pool.levels and pool.levels[-1].nvlink and own_.get("plugin", "block") == "block"
    if blocks and pool and 1 < nodes <= largest_block([pool]):
        message = f"where Slurm plans in blocks it keeps these {nodes} nodes in one, and here nothing asks for it"
        findings.info("W629", part.step.spot, message, f"add --segment={nodes}")


def _on_switches(part: Part, sets: list[dict[str, Any]], found: Levels, findings: Findings) -> dict[str, Any] | None:
    """`--switches=2`: as many groups, each better under one leaf switch."""
    given = part.options.get("switches")
    if given is None:
        return None
    most = count(given.value.partition("@")[0])
    if most is None:
        message = f'--switches: "{given.value}" is not a number of switches, with or without @time'
        findings.error("W602", given.spot, message, "Slurm would refuse it too")
        return None
    _assumed(found, given, findings)
    prefers = {"placement": {"preferred": found.leaf}}
    if most == 1:
        return {"name": part.names[0][0], **prefers, "podSets": sets}
    if part.shape.nodes % most or part.branches:
        message = f"--switches={most} is lost: {part.shape.nodes} nodes are not cut evenly to {most} switches"
        findings.warning("W604", given.spot, message, "use a number that divides the nodes")
        return None
    share = [{**each, "replicas": each["replicas"] // most} for each in sets]
    inner = {"name": "switch", "replicas": most, **prefers, "podSets": share}
    return {"name": part.names[0][0], "groups": [inner]}


def _assumed(found: Levels, given: Given, findings: Findings) -> None:
    if found.assumed:
        message = f'no topology says which level a block or a leaf switch is; it is called "{found.segment}" here'
        findings.info("W619", given.spot, message, "give the topology with -t")


def _backends(script: Script, findings: Findings) -> dict[str, Any]:
    """What is kept for Slurm alone."""
    options = script.first.options
    kept: dict[str, Any] = {
        name: given.value
        for name, given in options.items()
        if given.option.does == KEPT and not (name == "comment" and script.remarks) and given.value
    }
    if "partition" in options and script.first.pool and not script.remarks:
        kept["partition"] = options["partition"].value
    if script.first.shape.by_gres:
        kept["gres"] = True
    if script.first.shape.kind:
        kept["gpuType"] = script.first.shape.kind
    if "switches" in options and "@" in options["switches"].value:
        kept["switchesTimeout"] = options["switches"].value.partition("@")[2]
    if "requeue" in options and not (script.remarks and script.remarks.restarts):
        kept["requeue"] = True
        message = "--requeue: Slurm starts the job again when a node fails; here a gang that fails is done"
        findings.warning(
            "W604", options["requeue"].spot, message, "import the script, and set `maxRestarts` of the gang"
        )
    return {"backends": {"slurm": kept}} if kept else {}


def _hosts(made: Sequence[Part], flat: bool, texts: MarkResolver, findings: Findings) -> Iterator[tuple[str, str]]:
    """Texts that stand for nodes -> the first pod of each. W623: no pod runs on it."""
    for which in sorted(texts.used - set(texts.names.nodes)):
        section, _, number = which.partition(".")
        found = next((host for part in made if (host := part.host(int(section), int(number), flat))), "")
        if found:
            yield f"@node-{which.replace('.', '-')}@", found
        else:
            message = f"a step asks for node {number} of the job, on which none of the steps beside it runs"
            findings.error("W623", made[0].step.spot, message, "name a node that runs one of these steps")
