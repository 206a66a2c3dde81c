"""Steps -> gangs: simultaneous steps are one gang, and consecutive steps are gangs that wait for each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.plugin import GANG_INDEX, GANGS, Context, Outcome, Pool, Read, Route, Workflow, has_errors, non_empty
from bayplan.plugin import native_workflow as native
from bayplan.plugins.slurm.sbatch import pods
from bayplan.plugins.slurm.sbatch.body import Step, report_node_names
from bayplan.plugins.slurm.sbatch.builtins import PORT
from bayplan.plugins.slurm.sbatch.expansion import NODE, RANK, mark
from bayplan.plugins.slurm.sbatch.options import KEPT, Findings, Position
from bayplan.plugins.slurm.sbatch.pods import MarkResolver, Names, amounts, command, container
from bayplan.plugins.slurm.sbatch.script import Levels, Script, levels, pool_of, sizes, slurm_variables
from bayplan.plugins.slurm.sbatch.script import script as read_script
from bayplan.plugins.slurm.sbatch.shape import UsedOption, count, seconds
from bayplan.plugins.slurm.sbatch.steps import Part, parts, steps_of

MOST_FINDINGS = 1000
"""The largest number of findings that bayplan lists for a script."""


def read(data: Mapping[str, Any], context: Context) -> Outcome[Read[Workflow]]:
    """The workflow in the data of a script. W600 to W619."""
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


# Job arrays: `--array=0-7`. Its tasks become copies of one gang. bayplan evaluates the script for each index: what
# differs is the number of the copy, or a column of a matrix.

MOST = 1001
"""Indices of one script: as many as an array has by default (MaxArraySize in `man slurm.conf`)."""

_PART = re.compile(r"([0-9]{1,7})(?:-([0-9]{1,7})(?::([0-9]{1,7}))?)?")


class Array(NamedTuple):
    """The indices of an array, how many run at once (0: all), and whether the script reads its index."""

    numbers: tuple[int, ...] = ()
    at_once: int = 0
    read: bool = False

    @property
    def copies(self) -> dict[str, int]:
        """The fields of a gang whose copies differ by index only."""
        return non_empty(replicas=len(self.numbers) if len(self.numbers) > 1 else 0, **self.limit)

    @property
    def limit(self) -> dict[str, int]:
        """The field of a gang with the copies that run at the same time."""
        return non_empty(atOnce=self.at_once if self.at_once < len(self.numbers) else 0)


def indices(script: Script, findings: Findings) -> Array:
    """The array of a script. W600, W603."""
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
            message = f'--array: "{option.value}" is not a list of numbers such as 0-7 or 1,3,5'
            findings.error("W600", option.spot, message, "correct the value: Slurm refuses it as well")
            return Array()
        if len(numbers) + len(range(first, last + 1, step)) > MOST:
            message = f"--array makes more than {MOST} copies from one script"
            findings.error("W603", option.spot, message, "split the array into several scripts")
            return Array()
        numbers |= set(range(first, last + 1, step))
    limit = int(at_a_time) if at_a_time.isdecimal() and len(at_a_time) < 8 else 0
    if percent and not limit:
        message = f"bayplan drops the limit of {f'{at_a_time} ' if at_a_time else ''}concurrent jobs in --array"
        findings.warning("W604", option.spot, message, "write a number of jobs after %")
    return Array(tuple(sorted(numbers)), limit, "SLURM_ARRAY" in script.body)


MASTER = mark(NODE, "0.0")
LOCAL = ("localhost", "127.0.0.1")


def document(script: Script, findings: Findings) -> Translated | None:
    """The gangs of a script; None if bayplan cannot read its body."""
    array = indices(script, findings)
    gangs: list[dict[str, Any]] = []
    places: dict[Route, Position] = {}
    copies = array.copies if not array.read else {}
    for number, index in enumerate(array.numbers if array.read else (None,)):
        batches = steps_of(script, index, array.numbers, findings)
        if batches is None:
            return None
        suffix = "" if index is None else f"-{index}"
        names = [f"{f'step-{n}' if len(batches) > 1 else script.name}{suffix}" for n in range(len(batches))]
        for place, batch in enumerate(batches):
            waits = names[place - 1 : place] if place else []
            gang = _gang(script, batch, names[place], waits, copies, findings)
            places |= {(len(gangs), *route): spot for route, spot in gang.places.items()}
            gangs.append(gang.data)
        if len(batches) > 1 and not number:
            message = f"{len(batches)} consecutive steps become gangs with their own nodes, which wait for each other"
            hint = "do not rely on files that an earlier step leaves on its nodes"
            findings.info("W628", batches[1][0].spot, message, hint)
    hidden = bool(array.numbers) and script.remarks is None  # no word has the number, so the programs must read it
    if array.read and len(gangs) == len(array.numbers):
        from bayplan.plugins.slurm.sbatch import arrays

        one = arrays.together(gangs, array.numbers, arrays.table(script.body) if script.remarks else None)
        if one and hidden and "matrix" not in one and f"$({GANG_INDEX})" not in repr(one):
            one = arrays.numbered(one, array.numbers)
        if one:
            own = {(0, *route[1:]): spot for route, spot in places.items() if route[0] == 0}
            return Translated([{"name": script.name, **array.limit, **one}], own)
    if array.read and array.limit:
        message = f"bayplan drops the limit of {array.at_once} concurrent jobs in --array: each index becomes a gang"
        hint = f"remove %{array.at_once}, and limit the queue instead"
        findings.warning("W604", script.first.options["array"].spot, message, hint)
    if hidden and not array.read:
        from bayplan.plugins.slurm.sbatch import arrays

        gangs = [arrays.numbered(gang, array.numbers) for gang in gangs]
    return Translated(gangs, places)


class Translated(NamedTuple):
    """A gang as native data, or all of them, and where their parts come from."""

    data: Any
    places: Mapping[Route, Position]


def _gang(
    script: Script,
    batch: Sequence[Step],
    name: str,
    waits: list[str],
    copies: Mapping[str, int],
    findings: Findings,
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
        **non_empty(dependsOn=waits, **copies),
        **_rendezvous(script, members, bool(shared_ranks)),
        **_limits(script, findings),
        **non_empty(backends=_backends(script, bool(script.remarks and members[0].step.launch), findings)),
        **non_empty(hosts=dict(_hosts(members, single or ours, texts, findings))),
        **body,
    }
    if script.remarks and script.remarks.lead is not None and script.remarks.lead < len(members):
        data["lead"] = members[script.remarks.lead].names[0][0]
        data |= {"ignoreNonleadFailures": True} if script.remarks.ignores_failures else {}
    same = f'becomes "{script.name}", which is the same in every run'
    if texts.job:
        hint = "if runs must differ, give each run its own value: --set SLURM_JOB_ID=VALUE"
        findings.warning("W616", batch[0].spot, f"the job ID {same}", hint)
    if texts.time:
        hint = "if runs must differ, use a variable instead, and give each run its own value: --set NAME=VALUE"
        findings.warning("W616", batch[0].spot, f"the start time {same}", hint)
    return Translated(data, places)


def _implicit_placement(script: Script, members: Sequence[Part]) -> dict[str, Any]:
    """The placement that a script written by bayplan implies without an option.

    Exclusive nodes with an amount of memory belong to a ComputeDomain. It requires a level within which NVLink works.
    """
    part = members[0]
    pool = pool_of(script.topology, part.pool, part.shape.kind, part.shape.gpus)
    level = next((each.name for each in pool.levels if each.nvlink), "") if pool else ""
    nodes = sum(each.shape.nodes for each in members)
    exclusive = all(each.shape.exclusive and each.shape.memory and not each.segmented for each in members)
    return {"placement": {"required": level}} if level and exclusive and nodes > 1 else {}


class Ranks(NamedTuple):
    """How the tasks of a part get their ranks."""

    single: bool  # no other step runs at the same time
    ranked: bool
    tasks: int  # of the whole step


def _shared_ranks(script: Script, members: Sequence[Part], findings: Findings) -> int:
    """The number of tasks that share ranks, if all parts belong to one step; otherwise 0. W623: shared ranks are lost.

    Source: Slurm 25.11, heterogeneous jobs: the components of a step share its ranks."""
    lines = [part.step.spot for part in members]
    shared = next((spot for spot in lines if lines.count(spot) > 1), None)
    if shared is None or script.remarks:
        return 0
    if any(part.step.launch for part in members if part.step.spot == shared):
        message = "mpirun starts the ranks of one part of a step, but this step has several"
        findings.error("W623", shared, message, "let the step use one kind of nodes")
    any_gpus = any(part.shape.gpus for part in members)
    if len(set(lines)) > 1:
        message = (
            "in Slurm the parts of this step share one sequence of ranks; beside other steps each part has its own"
        )
        findings.warning(
            "W623", shared, message, "end it with `wait` before the others start, or make it a separate job"
        )
        return 0
    if any_gpus and not all(part.shape.gpus for part in members):
        message = "in Slurm the parts of this step share one sequence of ranks; here the parts without GPUs have none"
        findings.warning("W623", shared, message, "if the program counts all tasks, give GPUs to all parts or to none")
    return sum(part.shape.tasks for part in members if part.shape.gpus or not any_gpus)


def _rendezvous(script: Script, members: Sequence[Part], shared_ranks: bool) -> dict[str, str]:
    if script.remarks:
        ranked = any(branch.ranked for part in members for branch in part.branches or ())
        return {} if ranked else {"rendezvous": "none"}
    return {"rendezvous": "group"} if len(members) > 1 and not shared_ranks else {}


def _limits(script: Script, findings: Findings) -> dict[str, Any]:
    """The time limit and the restarts of a gang."""
    option = script.first.options.get("time")
    limit = seconds(option.value) if option else 0
    if option and limit is None:
        message = f'--time: "{option.value}" is not a time such as 30, 1:30:00 or 2-12'
        findings.error("W600", option.spot, message, "correct the value: Slurm refuses it as well")
    restarts = script.remarks.restarts if script.remarks else 0
    return non_empty(activeDeadlineSeconds=limit, maxRestarts=restarts)


def _pod_sets(
    script: Script, part: Part, ranks: Ranks, texts: MarkResolver, findings: Findings
) -> list[dict[str, Any]]:
    """The podSets of a part: one, or several that share a section of a script written by bayplan."""
    step, shape = part.step, part.shape
    pool = pool_of(script.topology, part.pool, shape.kind, shape.gpus)
    if shape.per_node > 1 and shape.gpus and not part.branches:
        message = (
            f"the {shape.per_node} tasks of each node become separate pods, which communicate only over the network"
        )
        findings.warning("W617", step.spot, message, "use one task for all GPUs of a node, as torchrun does")
    options = {
        name: each._replace(value=texts.plain(each.value)) if name.startswith("container-") else each
        for name, each in part.options.items()
    }
    common = {
        **non_empty(pool=part.pool),
        **amounts(shape, _whole_node(part, pool, findings)),
        **container(options, script.image, texts.plain(step.folder), script.site, findings, step.spot),
    }
    if part.branches:
        hosts = {name: value for name, value in step.env.items() if name.startswith(pods.HOST)}
        named = {f"$({name})": texts.plain(value) for name, value in hosts.items()}
        return [_branch(branch, number, part, common, named) for branch, number in part.members()]
    tasks, job = ranks.tasks if ranks.ranked else shape.tasks, slurm_variables(script, part.section)
    words, moved = command(step, shape, part.slots, tasks, ranks.ranked, job, findings)
    launched = {
        **({"MPI_SLOTS": str(part.slots)} if part.slots not in (0, shape.gpus) else {}),
        **({"MPI_BEFORE": texts.plain("\n".join(step.before))} if step.launch and step.before else {}),
    }
    least = shape.least * shape.per_node
    return [
        {
            "name": part.names[0][0],
            "replicas": part.segment * shape.per_node if part.segment else shape.tasks,
            **({"minReplicas": least} if least < shape.tasks and not part.segment else {}),
            **common,
            ("args" if "container-entrypoint" in part.options else "command"): [texts.plain(word) for word in words],
            **({"launcher": "mpi"} if step.launch else {}),
            **non_empty(env={**_env(part, ranks.single, moved, texts, findings), **launched}),
        }
    ]


NODE_NAME = {"field": "spec.nodeName"}
"""What the SLURMD_NODENAME of a task is for a pod."""


def _branch(
    branch: pods.PodSetBranch, number: int, part: Part, common: Mapping[str, Any], named: Mapping[str, str]
) -> dict[str, Any]:
    def resolved(text: str) -> str:
        for variable, host in named.items():
            text = text.replace(variable, host)
        return text

    env = {key: NODE_NAME if value == "$(SLURMD_NODENAME)" else resolved(value) for key, value in branch.env.items()}
    command = [resolved(word) for word in branch.command]
    fields = non_empty(launcher="mpi" if part.step.launch else "", env=env, files=dict(part.files))
    return {"name": branch.name, "replicas": number, **common, "command": command, **fields}


def _env(part: Part, single: bool, moved: Mapping[str, str], texts: MarkResolver, findings: Findings) -> dict[str, str]:
    """The variables that the script exports, without those that bayplan or the command sets. W609, W616."""
    step, rendezvous = part.step, {("MASTER_ADDR", MASTER), ("MASTER_PORT", PORT)} if single else set()
    if single and part.shape.nodes == 1 < part.shape.tasks:  # the tasks of one node are pods
        rendezvous |= {("MASTER_ADDR", host) for host in LOCAL}
    report_node_names(((value, step.spot) for name, value in step.env.items()), findings)
    env = {}
    for name, value in step.env.items():
        if f"\0{RANK}:" in value:
            message = f"in Slurm the batch shell sets {name} to 0 for every task; here each task gets its own rank"
            hint = "set it in the task: srun bash -c 'export ...; ...'"
            findings.warning("W616", step.spot, message, hint)
        elif (name, value) not in rendezvous and name not in moved:
            env[name] = texts.plain(value)
    return env


def _whole_node(part: Part, pool: Pool | None, findings: Findings) -> bool:
    """Whether a pod gets a whole node. W604: several pods share it."""
    shape = part.shape
    fills = pool is not None and 0 < pool.node.accelerators == shape.gpus * shape.per_node
    if shape.all_memory and not shape.exclusive:
        if fills and shape.per_node == 1:  # no other job with GPUs could use the memory
            return True
        message = "bayplan drops --mem=0: without --exclusive a pod cannot get all memory of a node"
        findings.warning("W604", part.step.spot, message, "add --exclusive, or write the amount")
    if not shape.exclusive:
        return False
    if shape.per_node == 1:
        return not fills or shape.all_memory or not shape.memory
    if not fills:
        message = f"bayplan drops --exclusive: {shape.per_node} pods share a node, and other pods may join them"
        hint = "use one task for the whole node, as torchrun does"
        findings.warning("W604", part.step.spot, message, hint)
    return False


def _group(script: Script, part: Part, sets: list[dict[str, Any]], single: bool, findings: Findings) -> dict[str, Any]:
    """The podSets of a part with their placement, in groups for its segments if it has any."""
    shape, options = part.shape, part.options
    pool = pool_of(script.topology, part.pool, shape.kind, shape.gpus)
    names = levels(pool, part.segment or shape.nodes, shape.nodes)
    name = part.names[0][0]
    if part.segment and not single and not part.branches:
        message = "--segment works for a single step, but several steps run at the same time"
        findings.error("W608", options["segment"].spot, message, "make the steps separate jobs")
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
    """W619: Slurm's block topology keeps a job that fits within one block, with or without an option."""
    nodes, slurm = part.shape.nodes, (script.topology.schedulers.get("slurm", {}) if script.topology else {})
    blocks = pool is not None and pool.levels and pool.levels[-1].nvlink and slurm.get("plugin", "block") == "block"
    if blocks and pool and 1 < nodes <= sizes(pool)[-1]:
        message = (
            f"Slurm's block topology keeps these {nodes} nodes in one block; other schedulers do not without --segment"
        )
        findings.info("W619", part.step.spot, message, f"add --segment={nodes}")


def _on_switches(part: Part, sets: list[dict[str, Any]], names: Levels, findings: Findings) -> dict[str, Any] | None:
    """`--switches=2`: two groups, each preferably under one leaf switch."""
    option = part.options.get("switches")
    if option is None:
        return None
    switches = count(option.value.partition("@")[0])
    if switches is None:
        message = f'--switches: "{option.value}" is not a number of switches, with or without @time'
        findings.error("W600", option.spot, message, "correct the value: Slurm refuses it as well")
        return None
    _report_assumed_level(names, option, findings)
    placement = {"placement": {"preferred": names.leaf}}
    if switches == 1:
        return {"name": part.names[0][0], **placement, "podSets": sets}
    if part.shape.nodes % switches or part.branches:
        message = f"bayplan drops --switches={switches}: it does not divide {part.shape.nodes} nodes evenly"
        findings.warning("W604", option.spot, message, "use a divisor of the number of nodes")
        return None
    share = [{**each, "replicas": each["replicas"] // switches} for each in sets]
    inner = {"name": "switch", "replicas": switches, **placement, "podSets": share}
    return {"name": part.names[0][0], "groups": [inner]}


def _report_assumed_level(names: Levels, option: UsedOption, findings: Findings) -> None:
    if names.assumed:
        message = f'without a topology bayplan assumes the level "{names.segment}" for blocks and leaf switches'
        findings.info("W619", option.spot, message, "pass the topology with -t")


def _backends(script: Script, bare: bool, findings: Findings) -> dict[str, Any]:
    """The options that only Slurm applies. `bare`: bayplan wrote a script without containers."""
    options = script.first.options
    kept: dict[str, Any] = {
        name: option.value
        for name, option in options.items()
        if option.option.does == KEPT and not (name == "comment" and script.remarks) and option.value
    }
    if "partition" in options and script.first.pool and not script.remarks:
        kept["partition"] = options["partition"].value
    kept |= non_empty(
        container="none" if bare else "", gres=script.first.shape.by_gres, gpuType=script.first.shape.kind
    )
    if "switches" in options and "@" in options["switches"].value:
        kept["switchesTimeout"] = options["switches"].value.partition("@")[2]
    if "requeue" in options and not (script.remarks and script.remarks.restarts):
        kept["requeue"] = True
        message = "only Slurm applies --requeue: elsewhere a failed gang does not restart"
        hint = "import the script, and set `maxRestarts` of the gang"
        findings.warning("W604", options["requeue"].spot, message, hint)
    return non_empty(slurm=kept)


def _hosts(members: Sequence[Part], flat: bool, texts: MarkResolver, findings: Findings) -> Iterator[tuple[str, str]]:
    """Placeholder of a node -> the first pod on it. W623: no pod runs on it."""
    for which in sorted(texts.used - set(texts.names.nodes)):
        section, _, number = which.partition(".")
        host = next((host for part in members if (host := part.host(int(section), int(number), flat))), "")
        if host:
            yield f"@node-{which.replace('.', '-')}@", host
        else:
            message = f"a step uses the address of node {number}, but no step of its gang runs on that node"
            findings.error("W623", members[0].step.spot, message, "use a node that runs one of these steps")
