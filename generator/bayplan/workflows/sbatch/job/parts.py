"""The steps of a batch as parts of a gang: which nodes of which section each has, and in which segments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from bayplan.diagnostics import Route
from bayplan.values import NamedTuple
from bayplan.workflows.sbatch.findings import Findings, Spot
from bayplan.workflows.sbatch.job import own
from bayplan.workflows.sbatch.job.amounts import count
from bayplan.workflows.sbatch.job.body import Step
from bayplan.workflows.sbatch.job.given import Given
from bayplan.workflows.sbatch.job.pods import step_name
from bayplan.workflows.sbatch.job.script import Script, Section
from bayplan.workflows.sbatch.job.shape import Shape, shape
from bayplan.workflows.sbatch.options import STEPS
from bayplan.workflows.sbatch.shell.values import MARK, NODE

COUNTS = ("nodes", "ntasks", "ntasks-per-node", "ntasks-per-gpu")
CARDS = ("gpus", "gpus-per-node", "gpus-per-task", "gres", "tres-per-task")
MEMORY = ("mem", "mem-per-cpu", "mem-per-gpu")
HELD = ("cpus-per-task", "cpus-per-gpu", "mem-per-cpu", "mem-per-gpu", "mem", "tmp", "exclusive", "gres")
"""What a step has from its section, where it says nothing else."""

CPUS = ("cpus-per-task", "cpus-per-gpu")


class Part(NamedTuple):
    """One step on some nodes of one section."""

    step: Step
    shape: Shape
    options: Mapping[str, Given]  # those of the section, and the step's own
    section: int
    base: int
    pool: str
    names: tuple[tuple[str, int], ...]
    segment: int = 0  # nodes of each, where there are several
    asked: bool = False  # --segment is there
    branches: tuple[own.Branch, ...] = ()
    files: Mapping[str, str] = {}
    places: Mapping[Route, Spot] = {}

    def host(self, section: int, node: int, lone: bool) -> str:
        """The pod on a node of the job: `worker/3`, `segment-1-worker/3`, or `server-0-server/3` beside others."""
        number = node - self.base
        if section != self.section or not 0 <= number < self.shape.nodes:
            return ""
        name = self.names[0][0]
        if self.segment:
            group = "segment" if name != "segment" else "part"
            return f"{group}-{number // self.segment}-{name}/{number % self.segment * self.shape.per_node}"
        return f"{'' if lone else f'{name}-0-'}{name}/{number * self.shape.per_node}"

    def members(self) -> Iterator[tuple[own.Branch, int]]:
        """The podSets that share the section, each with its pods in one segment or in all."""
        pods = (self.segment or self.shape.nodes) * self.shape.per_node
        period = sum(branch.pods for branch in self.branches)
        for branch in self.branches:
            yield branch, branch.pods * (pods // period) if period else pods


def parts(script: Script, batch: Sequence[Step], findings: Findings) -> list[Part]:
    """The parts of a batch, in the order of their steps. W603, W620, W623."""
    made: list[Part] = []
    taken: dict[int, int] = {}
    used: dict[str, int] = {}
    for number, step in enumerate(batch):
        for section in _sections(script, step, findings):
            own_ = script.sections[section]
            asked = _shape(own_, step, findings)
            base = _base(step, section, taken.get(section, 0), findings)
            taken[section] = max(taken.get(section, 0), base + asked.nodes)
            part = Part(
                step,
                asked,
                {**own_.options, **step.options},
                section,
                base,
                own_.pool,
                ((_name(batch, step, used), 0),),
            )
            made.append(_labelled(script, _segmented(part, own_, findings), number))
    for section, nodes in taken.items():
        has = script.sections[section].shape.nodes
        if nodes > has or _overlap([part for part in made if part.section == section]):
            message = f"the steps that run together take more than the {has} nodes, or share some of them"
            hint = "give each `--nodes`, and together no more than the job has"
            findings.error("W623", batch[-1].spot, message, hint)
    return made


def _name(batch: Sequence[Step], step: Step, used: dict[str, int]) -> str:
    """`worker` where there is one step, else after the program."""
    name = step_name(step) if len(batch) > 1 else "worker"
    used[name] = used.get(name, 0) + 1
    return name if used[name] == 1 else f"{name}-{used[name]}"


def _labelled(script: Script, part: Part, number: int) -> Part:
    """With what a script of ours says of its podSets."""
    if script.remarks is None or not part.step.command[-1:] or part.step.command[:2] != ("sh", "-c"):
        return part
    names = script.remarks.pods[number] if number < len(script.remarks.pods) else ()
    found = own.branches(part.step.command[2], names)
    if not found:
        return part
    pool = script.remarks.pools.get(part.section, part.pool)
    known = script.topology and script.topology.pool(pool) and len(script.topology.pools) > 1
    return part._replace(branches=found, names=((found[0].name, 0),), pool=pool if known else "")


def _overlap(made: Sequence[Part]) -> bool:
    ends = sorted((part.base, part.base + part.shape.nodes) for part in made)
    return any(one[1] > other[0] for one, other in pairwise(ends))


def _sections(script: Script, step: Step, findings: Findings) -> list[int]:
    given = step.options.get("het-group")
    if given is None:
        return [0]
    found = [count(part, 0) for part in given.value.split(",")]
    good = [each for each in found if each is not None and each < len(script.sections)]
    if len(good) < len(found) or not good:
        message = f"--het-group={given.value}: the script has {len(script.sections)} sections, numbered from 0"
        findings.error("W602", given.spot, message, "separate sections with `#SBATCH hetjob`")
        return [0]
    return good


def _shape(section: Section, step: Step, findings: Findings) -> Shape:
    """The shape of the section, unless the step says otherwise."""
    own_ = {name: given for name, given in step.options.items() if name in (*COUNTS, *CARDS, *MEMORY, *CPUS)}
    if not own_:
        return section.shape
    held = {name: given for name, given in section.options.items() if name in HELD}
    whole, nodes = section.shape, own_.get("nodes", section.options.get("nodes"))

    def said(name: str, value: int) -> Given:
        return Given(STEPS[name], str(value), step.spot)

    options = {name: given for name, given in held.items() if not _replaced(name, own_)}
    options["nodes"] = nodes if nodes else said("nodes", whole.nodes)
    if "ntasks" not in own_ and "ntasks-per-node" not in own_ and "ntasks-per-gpu" not in own_:
        options["ntasks-per-node"] = said("ntasks-per-node", whole.per_node)
    if whole.gpus and not any(name in own_ for name in CARDS):
        options.pop("gres", None)
        options["gpus-per-node"] = said("gpus-per-node", whole.gpus * whole.per_node)
    options.pop("gres", None) if any(name in own_ for name in CARDS) else None
    made = shape({**options, **own_}, step.spot, findings)
    return made._replace(by_gres=whole.by_gres, kind=made.kind or whole.kind)


def _replaced(name: str, own_: Mapping[str, Given]) -> bool:
    """Whether an option of the section is said otherwise by the step."""
    return any(name in family and any(each in own_ for each in family) for family in (CARDS, MEMORY, CPUS))


def _base(step: Step, section: int, free: int, findings: Findings) -> int:
    """The first node of a step."""
    if given := step.options.get("relative"):
        number = count(given.value, 0)
        if number is None:
            findings.error(
                "W602", given.spot, f'--relative: "{given.value}" is not a number', "Slurm would refuse it too"
            )
        return number or 0
    if given := step.options.get("nodelist"):
        first = given.value.split(",")[0]
        found = MARK.fullmatch(first)
        if found and found[1] == NODE and int(found[2].partition(".")[0]) == section:
            return int(found[2].partition(".")[2])
        message = "--nodelist cannot be carried: Slurm's names of nodes are not a placement"
        findings.error("W603", given.spot, message, "say how many nodes with --nodes, and the first with --relative")
    return free


def _segmented(part: Part, section: Section, findings: Findings) -> Part:
    """With its segments."""
    given = part.options.get("segment")
    if given is None:
        return part
    size, nodes = count(given.value), part.shape.nodes
    if size is None or (nodes % size and nodes > size):
        message = f"{nodes} nodes cannot be cut into segments of {given.value}"
        findings.error("W620", given.spot, message, "Slurm wants a number that divides --nodes")
        return part
    if nodes != section.shape.nodes:
        message = f"the step takes {nodes} of {section.shape.nodes} nodes, and segments are those of the job"
        findings.error("W620", given.spot, message, "let the step take all nodes, or leave --segment out")
        return part
    return part._replace(segment=size if nodes > size else 0, asked=True)
