"""What each task of a section runs: ranks by arithmetic over SLURM_PROCID, the podSet's env, then its command."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.backends.slurm.sections import Branch, Job, Step, starts_of
from bayplan.backends.slurm.shell import PICK, VARIABLE, expanded, series
from bayplan.core.values import NamedTuple
from bayplan.kube.kinds.sbatch import host_variable
from bayplan.kube.pod import entries
from bayplan.kube.ranks import MASTER_PORT, user_names
from bayplan.kube.shell import quote
from bayplan.model.plan import Pods, Ranks
from bayplan.model.workflow import pod_of

Place = tuple[int, int]
"""A section and a node in it."""


class Text(NamedTuple):
    """Lines of a task, and whether they call `pick`."""

    lines: tuple[str, ...]
    picks: bool = False


def hosts_in_use(job: Job) -> dict[str, Place]:
    """Variable -> where the pod stands that `hosts` names."""
    asked = dict.fromkeys(pod_of(value) for value in job.gang.gang.hosts.values())
    leaves = {leaf.pods.name: leaf.pods for section in job.sections for leaf in section.leaves}
    return {host_variable(leaves[name], 0, pod): place(job, name, pod) for name, pod in asked if name in leaves}


def place(job: Job, name: str, pod: int) -> Place:
    """The section and the node of a pod."""
    for number, section in enumerate(job.sections):
        for start, leaf in zip(starts_of(section.leaves), section.leaves, strict=True):
            if leaf.pods.name == name:
                return number, (start + pod) // section.per_node
    raise AssertionError(f"no podSet instance {name!r}")


def masters(job: Job, branch: Branch) -> tuple[Place, ...]:
    """Where the instances of a branch find rank 0; empty where they do not look for it."""
    ranked = [leaf.pods.ranks for leaf in branch.leaves if leaf.pods.ranks]
    if not ranked or "MASTER_ADDR" in taken(branch.first):
        return ()
    known = {ranks.master: place(job, ranks.master.pods, ranks.master.number) for ranks in ranked}
    return tuple(known[ranks.master] for ranks in ranked)


def everyones_master(job: Job) -> Place | None:
    """Rank 0, where all tasks of the job look for the same."""
    found = [masters(job, branch) for step in job.steps for branch in step.branches]
    places = {each for places in found for each in places}
    return next(iter(places)) if len(places) == 1 and all(found) else None


def taken(pods: Pods) -> set[str]:
    """Variables that the user sets, in both forms that torchrun reads."""
    own = user_names(pods.spec)
    return own | {f"PET_{name}" for name in own} | {name.removeprefix("PET_") for name in own}


def master_lists(job: Job) -> Iterator[tuple[str, list[Place]]]:
    """Variable -> the nodes of rank 0, for branches whose instances have several."""
    if everyones_master(job) is None:
        for number, step in enumerate(job.steps):
            for which, branch in enumerate(step.branches):
                if places := list(dict.fromkeys(masters(job, branch))):
                    yield _variable(number, which), places


def _variable(number: int, which: int) -> str:
    return f"MASTERS_{number}_{which}"


def task(job: Job, number: int) -> str:
    """The text for `sh -c`: it exports, and then becomes the command of its podSet."""
    step = job.steps[number]
    texts = [_branch(job, number, which) for which in range(len(step.branches))]
    head = [PICK] if any(text.picks for text in texts) else []
    if len(texts) == 1:
        return "\n".join([*head, *texts[0].lines])
    lines = [*head, f"place=$((SLURM_PROCID % {step.period}))"]
    for which, (branch, text) in enumerate(zip(step.branches, texts, strict=True)):
        end = branch.start + branch.first.replicas
        last = which == len(texts) - 1
        word = "else" if last else f'{"elif" if which else "if"} [ "$place" -lt {end} ]; then'
        lines += [f"{word}  # {branch.first.spec.name}", *text.lines]
    return "\n".join([*lines, "fi"])


def _branch(job: Job, number: int, which: int) -> Text:
    step = job.steps[number]
    branch = step.branches[which]
    spec = branch.first.spec
    made = _ranked(job, number, which) if branch.first.ranks else Text((_index(step, branch),))
    known = {line.partition("=")[0] for line in made.lines} | set(hosts_in_use(job))
    known |= {"MASTER_ADDR"} if branch.first.ranks else set()
    odd: list[str] = []
    lines = [f"export {line}" for line in made.lines]
    for entry in entries(spec.env):
        word = expanded(entry["value"], known)
        known.add(entry["name"])
        if VARIABLE.fullmatch(entry["name"]):
            lines.append(f"export {entry['name']}={word}")
        else:
            odd.append(f"{quote(entry['name'] + '=')}{word}")
    words = [expanded(word, known) for word in (*spec.command, *spec.args)]
    return Text((*lines, " ".join(["exec", *(["env", *odd] if odd else []), *words])), made.picks)


def _index(step: Step, branch: Branch) -> str:
    """Pods without ranks know their number, as those of an Indexed Job do."""
    number = _number(step, branch)
    return f"JOB_COMPLETION_INDEX={_value(number)}"


def _number(step: Step, branch: Branch) -> str:
    """A pod's number in its instance."""
    if branch.first.replicas == 1:
        return "0"
    number = "SLURM_PROCID" if len(branch.leaves) == 1 else f"SLURM_PROCID % {step.period}"
    return f"{number} - {branch.start}" if branch.start else number


def _value(arithmetic: str) -> str:
    if arithmetic.isdecimal():
        return arithmetic
    return f'"${arithmetic}"' if VARIABLE.fullmatch(arithmetic) else f"$(({arithmetic}))"


def _ranked(job: Job, number: int, which: int) -> Text:
    """NAME=word for each variable of the rendezvous that the user does not set, and whether `pick` is called."""
    step = job.steps[number]
    branch = step.branches[which]
    ranks = [leaf.pods.ranks for leaf in branch.leaves if leaf.pods.ranks]
    group = f"SLURM_PROCID / {step.period}" if len(ranks) > 1 else "0"
    own = taken(branch.first)
    values = {
        "MASTER_PORT": (str(MASTER_PORT), False),
        "NNODES": series([each.nodes for each in ranks], group),
        "NODE_RANK": _rank(ranks, step, branch, group),
        "GROUP_INDEX": series([each.group_index for each in ranks], group),
        "GROUP_COUNT": (str(ranks[0].group_count), False),
        "GROUP_SIZE": series([each.group_size for each in ranks], group),
    }
    if everyones_master(job) is None and "MASTER_ADDR" not in own:
        values = {"MASTER_ADDR": _master(job, number, which, group), **values}
    lines = [] if "MASTER_ADDR" in own or "MASTER_ADDR" in values else ['PET_MASTER_ADDR="$MASTER_ADDR"']
    for name, (word, _) in values.items():
        if name not in own:
            torch = name in ("MASTER_ADDR", "MASTER_PORT", "NNODES", "NODE_RANK")
            lines += [f"{name}={word}", *([f'PET_{name}="${name}"'] if torch else [])]
    return Text(tuple(lines), any(picked for name, (_, picked) in values.items() if name not in own))


def _master(job: Job, number: int, which: int, group: str) -> tuple[str, bool]:
    places = masters(job, job.steps[number].branches[which])
    different = list(dict.fromkeys(places))
    variable = _variable(number, which)
    if len(different) == 1:
        return f'"${variable}"', False
    index, _ = series([different.index(each) for each in places], group)
    return f'$(pick "{index}" ${variable})', True


def _rank(ranks: list[Ranks], step: Step, branch: Branch, group: str) -> tuple[str, bool]:
    """The instance's first rank plus the pod's number in it; where ranks follow tasks, that is one sum."""
    shifts = {rank.first - step.period * number for number, rank in enumerate(ranks)}
    if len(shifts) == 1 and (len(ranks) > 1 or branch.first.replicas > 1):
        shift = shifts.pop() - branch.start
        moved = f"SLURM_PROCID + {shift}" if shift > 0 else f"SLURM_PROCID - {-shift}"
        return _value(moved if shift else "SLURM_PROCID"), False
    word, picked = series([rank.first for rank in ranks], group)
    number, first = _number(step, branch), word[3:-2] if word.startswith("$((") else word
    return (_value(number if first == "0" else first if number == "0" else f"{first} + {number}"), picked)
