"""The steps of a script in batches. Without steps, the body is the only task of a job with one node."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from bayplan.plugin import Route, has_errors
from bayplan.plugins.slurm.sbatch import pods
from bayplan.plugins.slurm.sbatch.body import BodyResult, Step, run_body
from bayplan.plugins.slurm.sbatch.builtins import Body
from bayplan.plugins.slurm.sbatch.expansion import MARK, NODE
from bayplan.plugins.slurm.sbatch.mpi import Launch
from bayplan.plugins.slurm.sbatch.options import STEPS, Findings, Position
from bayplan.plugins.slurm.sbatch.pods import step_name
from bayplan.plugins.slurm.sbatch.programs import CLIENTS, SHELLS, base, commands_in
from bayplan.plugins.slurm.sbatch.script import Script, Section, slurm_variables
from bayplan.plugins.slurm.sbatch.shape import Shape, UsedOption, count, per_node, shape

_LOOKUPS = re.compile(r"\bscontrol\s+show\s+hostnames?\b")

LEFT_OUT = "bayplan leaves out", "the pod runs the whole script, so its image must have"
"""Parts of W612 for scripts with steps, and for scripts that are the only task."""


def array_variables(index: int, numbers: Sequence[int]) -> dict[str, str]:
    """What Slurm sets in a task of an array (`man sbatch`, output environment variables)."""
    step = numbers[1] - numbers[0] if len(numbers) > 1 else 1
    values = {"ID": index, "MIN": numbers[0], "MAX": numbers[-1], "COUNT": len(numbers), "STEP": step}
    return {f"SLURM_ARRAY_TASK_{name}": str(value) for name, value in values.items()}


def steps_of(script: Script, index: int | None, numbers: Sequence[int], findings: Findings) -> list[list[Step]] | None:
    """The batches of steps; None without any. `index`: of the array with these numbers. R150, W611, W614."""
    words = script.interpreter.split()
    shell = base(words[0]) if words else ""
    if shell == "env":
        words = [word for word in words[1:] if not word.startswith("-")]
        shell = base(words[0]) if words else ""
    if shell not in SHELLS:
        return _program(script, words, findings)
    array = {} if index is None else array_variables(index, numbers)
    values = {**slurm_variables(script), **array}
    nodes = {number: section.shape.nodes for number, section in enumerate(script.sections)}
    body, seen = Body(script.body, script.line), Findings()
    modules, ours = script.site.get("modules", ()), script.remarks is not None
    result = run_body(body, values, nodes, script.exported, script.first.options, modules, seen, ours)
    if result is None or result.steps:
        findings.diagnostics.update(seen.diagnostics)
    if result is None:
        return None
    if ours and not result.steps and len(result.work) == 1 and result.work[0].step:
        return [[result.work[0].step._replace(options={}, launch=Launch(()))]]
    if not result.steps:
        return _single_task(script, shell, result, values, seen, findings)
    steps = list(result.steps)
    for each in result.work:
        if each.step:
            message = f"{each.shown} runs only on the first node: bayplan makes it a gang of one pod beside no step"
            hint = "run it before the job, or mount a volume for the files that it leaves to the steps"
            findings.warning("W611", each.spot, message, hint)
            steps.append(each.step)
            continue
        what, hint = (
            "runs only on the first node, next to the steps, and",
            "make it a step with `srun -N 1 -n 1`, move it",
        )
        hint += " into the task's command, or run it before the job"
        if each.file:
            what = f"writes {each.file} on the first node for tasks to read, but"
            hint = (
                "use `files` of the podSet or the task's command instead; if no task reads the file, remove the command"
            )
        findings.error("W611", each.spot, f"{each.shown or 'this command'} {what} no pod runs it", hint)
    batches: dict[int, list[Step]] = {}
    for step in sorted(steps, key=lambda each: each.batch):
        text = "\n".join(step.command)
        read = {name: value for name, value in array.items() if re.search(rf"\$\{{?{name}\b", text)}
        batches.setdefault(step.batch, []).append(step._replace(env={**read, **step.env}))
    return list(batches.values())


def _single_task(
    script: Script, shell: str, result: BodyResult, values: Mapping[str, str], seen: Findings, findings: Findings
) -> list[list[Step]] | None:
    """A body without steps runs on the first node: the whole body is the only task."""
    shape = script.first.shape
    spot = result.work[0].spot if result.work else script.first.spot
    clients, text = commands_in(script.body) & CLIENTS, script.body
    if len(re.findall(r"\bscontrol\b", text)) == len(_LOOKUPS.findall(text)):
        clients -= {"scontrol"}
        text = f"scontrol() {{ hostname; }}  # the only node of the job\n{text}" if "scontrol" in text else text
    if has_errors(seen.all()) and (clients or not result.work):
        findings.diagnostics.update(seen.diagnostics)
        return None
    if not result.work:
        findings.diagnostics.update(seen.diagnostics)
        hint = "start the program with srun"
        findings.error("W614", spot, "the script starts no program", hint)
        return None
    if shape.nodes * shape.tasks > 1 or len(script.sections) > 1:
        message = f"the script has no srun line, so only the first of its {shape.nodes} nodes has work"
        if shape.nodes == 1:
            message = f"the script has no srun line, so only one of its {shape.tasks} tasks runs"
        hint = "start the program with srun, or request one node and one task"
        findings.error("W614", spot, message, hint)
        return None
    only = result.work[0].step if len(result.work) == 1 and result.work[0].alone else None
    if only:
        findings.diagnostics.update(seen.diagnostics)
        return [[only._replace(options={}, batch=0)]]
    if clients and all(each.step for each in result.work):  # bayplan has evaluated what they print
        findings.diagnostics.update(seen.diagnostics)
        return [[each.step._replace(options={})] for each in result.work if each.step]
    for name in sorted(clients):
        hint = "remove it, or start the program with srun: then bayplan evaluates the script"
        findings.error("W611", spot, f"the pod runs the whole script, and {name} needs Slurm, which no pod has", hint)
    for each in seen.all():
        if each.code == "W612":
            findings.diagnostics[each._replace(message=each.message.replace(*LEFT_OUT))] = None
    names = set(re.findall(r"\bSLURM_\w+", script.body))
    slurm = {name: values[name] for name in sorted(names) if name in values}
    folder = values.get("PWD", "")
    return [[Step({}, (shell, "-c", text), {**slurm, **script.exported}, (), folder, spot, 0)]]


def _program(script: Script, words: Sequence[str], findings: Findings) -> list[list[Step]] | None:
    """A script in another language is a program that runs on the first node."""
    name = base(words[0]) if words else ""
    shape = script.first.shape
    if not re.fullmatch(r"python[0-9.]*", name) or shape.nodes * shape.tasks > 1:
        message = f'the interpreter "{name}" is not a shell, and bayplan reads steps only from shell scripts'
        findings.error("W614", Position(), message, "use `#!/bin/bash`, and start the program with srun")
        return None
    return [[Step({}, (name, "-c", script.body), dict(script.exported), (), "", Position(script.line), 0)]]


# The steps of a batch as parts of a gang: the section, nodes and segments of each.

TASK_OPTIONS = ("nodes", "ntasks", "ntasks-per-node", "ntasks-per-gpu")
GPU_OPTIONS = ("gpus", "gpus-per-node", "gpus-per-task", "gres", "tres-per-task")
MEMORY = ("mem", "mem-per-cpu", "mem-per-gpu")
INHERITED = ("cpus-per-task", "cpus-per-gpu", "mem-per-cpu", "mem-per-gpu", "mem", "tmp", "exclusive", "gres")
"""Options that a step inherits from its section."""

CPU_OPTIONS = ("cpus-per-task", "cpus-per-gpu")


class Part(NamedTuple):
    """One step on some nodes of one section."""

    step: Step
    shape: Shape
    options: Mapping[str, UsedOption]  # those of the section, and the step's own
    section: int
    base: int
    pool: str
    names: tuple[tuple[str, int], ...]
    slots: int = 0  # ranks on each node, if mpirun starts them
    segment: int = 0  # nodes of each, if there are several
    segmented: bool = False  # --segment is set
    branches: tuple[pods.PodSetBranch, ...] = ()
    files: Mapping[str, str] = {}
    places: Mapping[Route, Position] = {}

    def host(self, section: int, node: int, single: bool) -> str:
        """The pod on a node of the job: `worker/3`, `segment-1-worker/3`, or `server-0-server/3` with other steps."""
        number = node - self.base
        if section != self.section or not 0 <= number < self.shape.nodes:
            return ""
        name = self.names[0][0]
        if self.segment:
            group = "segment" if name != "segment" else "part"
            return f"{group}-{number // self.segment}-{name}/{number % self.segment * self.shape.per_node}"
        return f"{'' if single else f'{name}-0-'}{name}/{number * self.shape.per_node}"

    def members(self) -> Iterator[tuple[pods.PodSetBranch, int]]:
        """The podSets that share the section, each with its number of pods in one segment or in total."""
        per_segment = (self.segment or self.shape.nodes) * self.shape.per_node
        period = sum(branch.pods for branch in self.branches)
        for branch in self.branches:
            yield branch, branch.pods * (per_segment // period) if period else per_segment


def parts(script: Script, batch: Sequence[Step], findings: Findings) -> list[Part]:
    """The parts of a batch, in the order of their steps. W603, W608, W623."""
    result: list[Part] = []
    taken: Counter[int] = Counter()
    used: Counter[str] = Counter()
    for number, step in enumerate(batch):
        for index in _sections(script, step, findings):
            section = script.sections[index]
            shape = _shape(section, step, findings)
            slots = _slots(section, step, shape, findings) if step.launch else 0
            shape = per_node(shape) if step.launch else shape
            base = _base(step, index, shape.nodes, taken[index], findings)
            taken[index] = max(taken[index], base + shape.nodes)
            name = step_name(step) if len(batch) > 1 else "worker"
            used[name] += 1
            name = name if used[name] == 1 else f"{name}-{used[name]}"
            options = {**section.options, **step.options}
            part = Part(step, shape, options, index, base, section.pool, ((name, 0),), slots)
            result.append(_with_branches(script, _segmented(part, section, findings), number))
    for index, nodes in taken.items():
        available = script.sections[index].shape.nodes
        spans = sorted((part.base, part.base + part.shape.nodes) for part in result if part.section == index)
        if nodes > available or any(one[1] > other[0] for one, other in pairwise(spans)):
            message = f"steps that run at the same time overlap, or need more nodes than the job has ({available})"
            hint = "set --nodes for each step, in total at most the nodes of the job"
            findings.error("W623", batch[-1].spot, message, hint)
    return result


def _with_branches(script: Script, part: Part, number: int) -> Part:
    """The part with the podSets that a script written by bayplan describes."""
    if script.remarks is None or not part.step.command[-1:] or part.step.command[:2] != ("sh", "-c"):
        return part
    names = script.remarks.pods[number] if number < len(script.remarks.pods) else ()
    pod_sets = pods.branches(part.step.command[2], names)
    if not pod_sets:
        return part
    pool = script.remarks.pools.get(part.section, part.pool)
    named = script.topology and script.topology.pool(pool) and len(script.topology.pools) > 1
    return part._replace(branches=pod_sets, names=((pod_sets[0].name, 0),), pool=pool if named else "")


def _sections(script: Script, step: Step, findings: Findings) -> list[int]:
    option = step.options.get("het-group")
    numbers = [count(part, 0) for part in option.value.split(",")] if option else [0]
    valid = [each for each in numbers if each is not None and each < len(script.sections)]
    if option and len(valid) < len(numbers):
        sections = "1 section" if len(script.sections) == 1 else f"{len(script.sections)} sections"
        message = f"--het-group={option.value}: the script has {sections}, numbered from 0"
        findings.error("W600", option.spot, message, "separate sections with `#SBATCH hetjob`")
        return [0]
    return valid


def _shape(section: Section, step: Step, findings: Findings) -> Shape:
    """The shape of the section, with the options of the step."""
    families = (GPU_OPTIONS, MEMORY, CPU_OPTIONS)
    names = {name for family in (TASK_OPTIONS, *families) for name in family}
    own = {name: option for name, option in step.options.items() if name in names}
    if not own:
        return section.shape
    whole, nodes = section.shape, own.get("nodes", section.options.get("nodes"))

    def option(name: str, value: int) -> UsedOption:
        return UsedOption(STEPS[name], str(value), step.spot)

    replaced = {name for family in families if own.keys() & set(family) for name in family}
    inherited = {name: each for name, each in section.options.items() if name in INHERITED and name not in replaced}
    inherited["nodes"] = nodes if nodes else option("nodes", whole.nodes)
    if not own.keys() & {"ntasks", "ntasks-per-node", "ntasks-per-gpu"}:
        inherited["ntasks-per-node"] = option("ntasks-per-node", whole.per_node)
    if whole.gpus and not own.keys() & set(GPU_OPTIONS):
        inherited.pop("gres", None)
        inherited["gpus-per-node"] = option("gpus-per-node", whole.gpus * whole.per_node)
    result = shape({**inherited, **own}, step.spot, findings)
    return result._replace(by_gres=whole.by_gres, kind=result.kind or whole.kind)


def _slots(section: Section, step: Step, shape: Shape, findings: Findings) -> int:
    """The ranks that mpirun may start on each node: as a list of nodes, the tasks of the job or its options say."""
    launch, options = step.launch, {**section.options, **step.options}
    if launch is None or launch.slots:
        return launch.slots if launch else 0
    if not launch.words or any(name in options for name in TASK_OPTIONS if name != "nodes"):
        return shape.per_node
    if launch.per_node or launch.ranks:
        slots = launch.per_node or -(-launch.ranks // shape.nodes)
        if not launch.per_node and shape.nodes > 1:
            message = f"mpirun gets {slots} slots on each node; in Slurm their number depends on the CPUs of the node"
            findings.warning("W639", step.spot, message, f"set --ntasks-per-node={slots}")
        return slots
    message = "mpirun starts a rank for each slot, and Slurm makes a slot for each CPU of a node"
    findings.error("W639", step.spot, message, "set --ntasks-per-node")
    return 1


def _base(step: Step, section: int, nodes: int, free: int, findings: Findings) -> int:
    """The first node of a step."""
    if option := step.options.get("relative"):
        number = count(option.value, 0)
        if number is None:
            message = f'--relative: "{option.value}" is not a number'
            findings.error("W600", option.spot, message, "correct the value: Slurm refuses it as well")
        return number or 0
    if option := step.options.get("nodelist"):
        listed = [MARK.fullmatch(word) for word in re.split(r"[,\s]+", option.value.strip())]
        places = [each[2].partition(".")[::2] for each in listed if each and each[1] == NODE]
        numbers = [int(number) for of, number in places if int(of) == section]
        if len(numbers) == len(listed) in (1, nodes) and numbers == [*range(numbers[0], numbers[0] + len(numbers))]:
            return numbers[0]
        if MARK.search(option.value):  # otherwise `check_options` reports it
            message = "bayplan cannot translate --nodelist with nodes in another order, or of another section"
            hint = "set the number of nodes with --nodes, and the first one with --relative"
            findings.error("W603", option.spot, message, hint)
    return free


def _segmented(part: Part, section: Section, findings: Findings) -> Part:
    """The part with its segments."""
    option = part.options.get("segment")
    if option is None or (part.shape.nodes == 1 < section.shape.nodes):  # a helper of one node is in any segment
        return part
    size, nodes = count(option.value), part.shape.nodes
    if size is None or (nodes % size and nodes > size):
        message = f"{nodes} nodes do not divide into segments of {option.value}"
        findings.error("W608", option.spot, message, "use a divisor of --nodes")
        return part
    if nodes != section.shape.nodes:
        message = f"the step uses {nodes} of {section.shape.nodes} nodes, but --segment applies to the whole job"
        findings.error("W608", option.spot, message, "let the step use all nodes, or remove --segment")
        return part
    return part._replace(segment=size if nodes > size else 0, segmented=True)
