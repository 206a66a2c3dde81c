"""The script of each task of a section: ranks computed from SLURM_PROCID, the podSet's env, then its command."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.plugin import GANG_INDEX, MASTER_PORT, Pods, Ranks, entries, objects, pod_of, quote, user_names
from bayplan.plugins.slurm.backend.jobs import Branch, Job, Step, first_tasks
from bayplan.plugins.slurm.kind import host_variable

NodeIndex = tuple[int, int]
"""A section and a node in it."""


FIELDS = {"spec.nodeName": '"$SLURMD_NODENAME"'}
"""A field of a pod -> what a task has instead (Slurm 25.11, srun's manual, "OUTPUT ENVIRONMENT VARIABLES")."""


def looked_up(entry: Mapping[str, Any]) -> str:
    """The field of the pod that a variable has; empty if it is another value."""
    return objects.text(entry, "valueFrom", "fieldRef", "fieldPath")


class TaskText(NamedTuple):
    """Lines of a task, and whether they call `pick`."""

    lines: tuple[str, ...]
    picks: bool = False


def host_nodes(job: Job) -> dict[str, NodeIndex]:
    """Variable -> the node of the pod that `hosts` names."""
    pods_named = dict.fromkeys(pod_of(value) for value in job.gang.gang.hosts.values())
    leaves = {leaf.pods.name: leaf.pods for section in job.sections for leaf in section.leaves}
    return {host_variable(leaves[name], 0, pod): node_of(job, name, pod) for name, pod in pods_named if name in leaves}


def node_of(job: Job, name: str, pod: int) -> NodeIndex:
    """The section and the node of a pod."""
    for number, section in enumerate(job.sections):
        for start, leaf in zip(first_tasks(section.leaves), section.leaves, strict=True):
            if leaf.pods.name == name:
                return number, (start + pod) // section.per_node
    raise AssertionError(f"no podSet instance {name!r}")


def masters(job: Job, branch: Branch) -> tuple[NodeIndex, ...]:
    """The nodes where the instances of a branch find rank 0; empty if they do not need it."""
    ranked = [leaf.pods.ranks for leaf in branch.leaves if leaf.pods.ranks]
    if not ranked or "MASTER_ADDR" in user_variables(branch.first):
        return ()
    nodes = {ranks.master: node_of(job, ranks.master.pods, ranks.master.number) for ranks in ranked}
    return tuple(nodes[ranks.master] for ranks in ranked)


def common_master(job: Job) -> NodeIndex | None:
    """The node of rank 0 if it is the same for all tasks of the job."""
    branch_masters = [masters(job, branch) for step in job.steps for branch in step.branches]
    nodes = {each for nodes in branch_masters for each in nodes}
    return next(iter(nodes)) if len(nodes) == 1 and all(branch_masters) else None


def user_variables(pods: Pods) -> set[str]:
    """Variables that the user sets, in both forms that torchrun reads."""
    own = user_names(pods.spec)
    return own | {f"PET_{name}" for name in own} | {name.removeprefix("PET_") for name in own}


def master_lists(job: Job) -> Iterator[tuple[str, list[NodeIndex]]]:
    """Variable -> the nodes of rank 0, for branches whose instances have several."""
    if common_master(job) is None:
        for number, step in enumerate(job.steps):
            for which, branch in enumerate(step.branches):
                if places := list(dict.fromkeys(masters(job, branch))):
                    yield _variable(number, which), places


def _variable(number: int, which: int) -> str:
    return f"MASTERS_{number}_{which}"


def task(job: Job, number: int) -> str:
    """The script for `sh -c`: it exports variables, then runs the command of its podSet by exec."""
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


def _branch(job: Job, number: int, which: int) -> TaskText:
    step = job.steps[number]
    branch = step.branches[which]
    spec = branch.first.spec
    rendezvous = _ranked(job, number, which) if branch.first.ranks else TaskText((_index(step, branch),))
    variables = {line.partition("=")[0] for line in rendezvous.lines} | set(host_nodes(job))
    variables |= {"MASTER_ADDR"} if branch.first.ranks else set()
    variables |= {*job.gang.variables, *((GANG_INDEX, *job.gang.columns) if job.gang.copies > 1 else ())}
    unexportable: list[str] = []
    lines = [f"export {line}" for line in rendezvous.lines]
    for entry in (each for each in entries(spec.env) if "value" in each or looked_up(each) in FIELDS):
        word = expand(entry["value"], variables) if "value" in entry else FIELDS[looked_up(entry)]
        variables.add(entry["name"])
        if VARIABLE.fullmatch(entry["name"]):
            lines.append(f"export {entry['name']}={word}")
        else:
            unexportable.append(f"{quote(entry['name'] + '=')}{word}")
    words = [expand(word, variables) for word in (*spec.command, *spec.args)]
    before = ['eval "$MPI_BEFORE"'] if spec.launcher and "MPI_BEFORE" in spec.env else []
    start = [f"cd {quote(spec.working_dir)} || exit"] if spec.working_dir and spec.launcher else []
    return TaskText(
        (*lines, *start, *before, " ".join(["exec", *(["env", *unexportable] if unexportable else []), *words])),
        rendezvous.picks,
    )


def _index(step: Step, branch: Branch) -> str:
    """The number of a pod without ranks, as in an Indexed Job."""
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


def _ranked(job: Job, number: int, which: int) -> TaskText:
    """NAME=word for each variable of the rendezvous that the user does not set, and whether `pick` is called."""
    step = job.steps[number]
    branch = step.branches[which]
    ranks = [leaf.pods.ranks for leaf in branch.leaves if leaf.pods.ranks]
    group = f"SLURM_PROCID / {step.period}" if len(ranks) > 1 else "0"
    own = user_variables(branch.first) | (
        {"NODE_RANK"} if branch.first.spec.launcher else set()
    )  # mpirun's ranks differ
    values = {
        "MASTER_PORT": (str(MASTER_PORT), False),
        "NNODES": series([each.nodes for each in ranks], group),
        "NODE_RANK": _rank(ranks, step, branch, group),
        "GROUP_INDEX": series([each.group_index for each in ranks], group),
        "GROUP_COUNT": (str(ranks[0].group_count), False),
        "GROUP_SIZE": series([each.group_size for each in ranks], group),
    }
    if common_master(job) is None and "MASTER_ADDR" not in own:
        values = {"MASTER_ADDR": _master(job, number, which, group), **values}
    lines = [] if "MASTER_ADDR" in own or "MASTER_ADDR" in values else ['PET_MASTER_ADDR="$MASTER_ADDR"']
    for name, (word, _) in values.items():
        if name not in own:
            torch = name in ("MASTER_ADDR", "MASTER_PORT", "NNODES", "NODE_RANK")
            lines += [f"{name}={word}", *([f'PET_{name}="${name}"'] if torch else [])]
    return TaskText(tuple(lines), any(picked for name, (_, picked) in values.items() if name not in own))


def _master(job: Job, number: int, which: int, group: str) -> tuple[str, bool]:
    places = masters(job, job.steps[number].branches[which])
    different = list(dict.fromkeys(places))
    variable = _variable(number, which)
    if len(different) == 1:
        return f'"${variable}"', False
    index, _ = series([different.index(each) for each in places], group)
    return f'$(pick "{index}" ${variable})', True


def _rank(ranks: list[Ranks], step: Step, branch: Branch, group: str) -> tuple[str, bool]:
    """The instance's first rank plus the pod's number in it; a single sum if ranks follow tasks."""
    shifts = {rank.first - step.period * number for number, rank in enumerate(ranks)}
    if len(shifts) == 1 and (len(ranks) > 1 or branch.first.replicas > 1):
        shift = shifts.pop() - branch.start
        moved = f"SLURM_PROCID + {shift}" if shift > 0 else f"SLURM_PROCID - {-shift}"
        return _value(moved if shift else "SLURM_PROCID"), False
    word, picked = series([rank.first for rank in ranks], group)
    number, first = _number(step, branch), word[3:-2] if word.startswith("$((") else word
    return (_value(number if first == "0" else first if number == "0" else f"{first} + {number}"), picked)


# Shell: Kubernetes' `$(NAME)`, and numbers that depend on a task's group

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REFERENCE = re.compile(r"\$\$|\$\(([^()]*)\)")


def expand(text: str, variables: Container[str]) -> str:
    """One word in which `$(NAME)` is the variable of that name, as Kubernetes expands it in env, command and args.

    Names that are not known stay as they are; `$$` is a dollar (Kubernetes `third_party/forked/golang/expansion`).
    """
    parts: list[tuple[bool, str]] = []
    end = 0
    for reference in _REFERENCE.finditer(text):
        parts.append((False, text[end : reference.start()]))
        name = reference[1]
        if name is None:
            parts.append((False, "$"))
        else:
            parts.append((True, name) if name in variables and VARIABLE.fullmatch(name) else (False, reference[0]))
        end = reference.end()
    parts.append((False, text[end:]))
    literal = ""
    words = []
    for variable, piece in [*parts, (True, "")]:
        if not variable:
            literal += piece
            continue
        words += [quote(literal)] if literal else []
        words += [f'"${{{piece}}}"'] if piece else []
        literal = ""
    return "".join(words) or "''"


def series(values: Sequence[int], index: str) -> tuple[str, bool]:
    """The shell expression for the value number `index` of a list, and whether it calls `pick`."""
    first = values[0]
    step = values[1] - first if len(values) > 1 else 0
    if list(values) != [first + number * step for number in range(len(values))]:
        return f'$(pick "$(({index}))" {" ".join(map(str, values))})', True
    if not step:
        return str(first), False
    grown = index if step == 1 else f"{index} * {step}"
    return f"$(({first} + {grown}))" if first else f"$(({grown}))", False


PICK = 'pick() { shift "$(($1 + 1))"; printf %s "$1"; }'
"""`pick 2 a b c` prints c."""


def here_document(text: str, word: str) -> str:
    """A delimiter that does not occur as a line of the text."""
    lines, free, number = set(text.splitlines()), word, 0
    while free in lines:
        number += 1
        free = f"{word}_{number}"
    return free
