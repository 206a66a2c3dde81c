"""The documents of a plan: the script of its one gang, or a script that submits all of them in order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from bayplan.backends.slurm.jobs import jobs
from bayplan.backends.slurm.script import script
from bayplan.backends.slurm.shell import here_document
from bayplan.model.manifest import File, Lowered, Marks, Shape
from bayplan.model.plan import GangPlan, Plan, Pods, all_pods
from bayplan.model.target import Target
from bayplan.planning.fit.certificate import edited


def lower(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """One file; no marks, because there is nothing of Kubernetes to mark."""
    plan = told(plan)
    marks = {(gang.name, pods.name): Marks() for gang in plan.gangs for pods in all_pods(gang.root)}
    texts = {made.gang.name: script(plan, made) for made in jobs(plan, target)}
    if len(plan.gangs) == 1:
        (name,) = texts
        return Lowered((File(f"{name}.sbatch", texts[name], _undo(texts)),), marks)
    text = "".join(f"{line}\n" for line in _submitting(plan, texts))
    backwards = [gang.name for gang in reversed(_in_order(plan.gangs))]
    return Lowered((File(f"{plan.workflow.name}.sh", text, _undo(backwards)),), marks)


def told(plan: Plan) -> Plan:
    """The plan with what NCCL and Gloo are told of the cards of the nodes, but for what the user says."""
    if not any(pods.spec.fabric for gang in plan.gangs for pods in all_pods(gang.root)):
        return plan
    from bayplan.fabrics import wanted
    from bayplan.fabrics.pods import on_node

    def dressed(pods: Pods) -> Pods:
        asked = wanted(pods.spec, plan.topology, plan.namespace, pods.pool)
        if asked is None:
            return pods
        return pods._replace(spec=pods.spec._replace(env={**on_node(asked), **pods.spec.env}))

    return edited(plan, pods=dressed)


def _undo(names: Iterable[str]) -> tuple[str, ...]:
    """One's own jobs of these names; what is done already is passed over (Slurm, `man scancel`)."""
    return tuple(f"scancel --me --name={name}" for name in names)


def _submitting(plan: Plan, texts: dict[str, str]) -> Iterator[str]:
    yield "#!/bin/bash"
    yield f"# Submits the {len(texts)} jobs of {plan.workflow.name}, and prints their numbers. Run it with bash."
    yield "set -euo pipefail"
    for gang in _in_order(plan.gangs):
        text = texts[gang.name]
        end = here_document(text, "SBATCH")
        variable = _variable(gang.name)
        after = ":".join(f"${{{_variable(name)}%%;*}}" for name in gang.after)
        waits = f' --dependency="afterok:{after}" --kill-on-invalid-dep=yes' if after else ""
        yield ""
        yield f"IFS= read -r -d '' script <<'{end}' || true"
        yield text.removesuffix("\n")
        yield end
        yield f'{variable}=$(sbatch --parsable{waits} <<< "$script")'
        yield f'echo "{gang.name} ${{{variable}%%;*}}"'


def _variable(name: str) -> str:
    return "job_" + re.sub(r"[^A-Za-z0-9]", "_", name)


def _in_order(gangs: tuple[GangPlan, ...]) -> list[GangPlan]:
    """Those that others wait for first, otherwise as they came."""
    done: dict[str, GangPlan] = {}
    waiting = list(gangs)
    while waiting:
        ready = next((gang for gang in waiting if all(name in done for name in gang.after)), waiting[0])
        waiting.remove(ready)
        done[ready.name] = ready
    return list(done.values())
