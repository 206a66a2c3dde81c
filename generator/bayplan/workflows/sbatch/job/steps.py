"""The steps of a script, batch by batch. Where it has none, its body itself is the one task of a job of one node."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bayplan.diagnostics import has_errors
from bayplan.workflows.sbatch.findings import Findings, Spot
from bayplan.workflows.sbatch.job import effects
from bayplan.workflows.sbatch.job.body import SRUN, Step, Walked, walk
from bayplan.workflows.sbatch.job.known import SHELLS, base
from bayplan.workflows.sbatch.job.script import Script, variables
from bayplan.workflows.sbatch.job.variables import Body
from bayplan.workflows.sbatch.shell.values import Scope

ARRAY = ("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_COUNT")


def steps_of(script: Script, index: int | None, findings: Findings) -> list[list[Step]] | None:
    """The batches of steps; None where there are none. R151, W611, W614."""
    words = script.interpreter.split()
    shell = base(words[0]) if words else ""
    if shell == "env":
        words = [word for word in words[1:] if not word.startswith("-")]
        shell = base(words[0]) if words else ""
    if shell not in SHELLS:
        return _program(script, words, findings)
    known = {} if index is None else {ARRAY[0]: str(index)}
    scope = Scope({**variables(script), **known}, {}, len(script.sections))
    body, seen = Body(script.body, script.line), Findings()
    walked = walk(body, scope, script.exported, seen)
    if walked is None or walked.steps:
        findings.found.update(seen.found)
    if walked is None:
        return None
    if not walked.steps:
        return _alone(script, shell, walked, scope, body, seen, findings)
    for each in walked.work:
        name = base(each.name) if not each.opened else f"`{each.opened} ...`"
        if written := effects.file_of(each):
            message = (
                f"{name or 'this'} writes {written} on the first node, where tasks may read it, and no pod does that"
            )
            hint = "let the task's command write it, or put it into `files` of the podSet; leave out what no task reads"
        else:
            message = f"{name or 'this'} runs on the first node alone, beside the steps, and no pod does that"
            hint = (
                "make it a step of its own with `srun -N 1 -n 1`, put it into the task's command, or do it beforehand"
            )
        findings.error("W611", body.spot(each.start), message, hint)
    batches: dict[int, list[Step]] = {}
    for step in walked.steps:
        batches.setdefault(step.batch, []).append(step)
    return list(batches.values())


def _alone(
    script: Script, shell: str, walked: Walked, scope: Scope, body: Body, seen: Findings, findings: Findings
) -> list[list[Step]] | None:
    """A body without steps runs on the first node: all of it is the one task."""
    shape = script.first.shape
    spot = body.spot(walked.work[0].start) if walked.work else script.first.spot
    if has_errors(seen.all()) and SRUN.search(script.body):
        findings.found.update(seen.found)
        return None
    if not walked.work:
        findings.found.update(seen.found)
        hint = "start the program with srun"
        findings.error("W614", spot, "the script starts no program", hint)
        return None
    if shape.nodes * shape.tasks > 1 or len(script.sections) > 1:
        message = f"the script starts nothing with srun, so only the first of its {shape.nodes} nodes has work"
        if shape.nodes == 1:
            message = f"the script starts nothing with srun, so {shape.tasks} tasks are asked for and one runs"
        hint = "start the program with srun on all nodes, or ask for one node and one task"
        findings.error("W614", spot, message, hint)
        return None
    plain = len(walked.work) == 1 and bool(walked.words)
    wanted = ("W612", "W613") if plain else ("W612",)
    findings.found.update((each, None) for each in seen.found if plain or each.code in wanted)
    if plain:
        return [[Step({}, walked.words, walked.env, walked.before, walked.folder, spot, 0)]]
    asked = set(re.findall(r"\bSLURM_\w+", script.body))
    known = {name: value for name in sorted(asked) if isinstance(value := scope.text(name), str)}
    return [[Step({}, (shell, "-c", script.body), {**known, **script.exported}, (), "", spot, 0)]]


def _program(script: Script, words: Sequence[str], findings: Findings) -> list[list[Step]] | None:
    """A script in another language is a program for the first node."""
    name = base(words[0]) if words else ""
    shape = script.first.shape
    if not re.fullmatch(r"python[0-9.]*", name) or shape.nodes * shape.tasks > 1:
        message = f'the script is written for "{name or "nothing"}", and steps are looked for in shell scripts'
        findings.error("W614", Spot(), message, "start it with `#!/bin/bash`, and the program with srun")
        return None
    return [[Step({}, (name, "-c", script.body), dict(script.exported), (), "", Spot(script.line), 0)]]
