"""A step -> the podSet that runs it, as native data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.values import NamedTuple
from bayplan.workflows.sbatch.findings import Findings, Spot
from bayplan.workflows.sbatch.job.body import Step
from bayplan.workflows.sbatch.job.given import Given, Options
from bayplan.workflows.sbatch.job.images import image, mounts
from bayplan.workflows.sbatch.job.known import base, launches, script
from bayplan.workflows.sbatch.job.own import literal
from bayplan.workflows.sbatch.job.shape import Shape
from bayplan.workflows.sbatch.shell.values import JOB, MARK, NODE, RANK, TIME

TASK = {
    "SLURM_PROCID": "$NODE_RANK",
    "SLURM_NODEID": "$NODE_RANK",
    "SLURM_LOCALID": "0",
    "SLURM_NTASKS": "$NNODES",
    "SLURM_NPROCS": "$NNODES",
    "SLURM_NNODES": "$NNODES",
    "SLURM_JOB_NUM_NODES": "$NNODES",
    "SLURM_STEP_NUM_TASKS": "$NNODES",
    "SLURM_STEP_NUM_NODES": "$NNODES",
    "SLURM_NTASKS_PER_NODE": "1",
    "SLURM_TASKS_PER_NODE": "1",
}
"""Variables of Slurm that a task may ask for, in the words of a pod: each pod is a node with one task."""

USUAL = ("SLURM_PROCID", "SLURM_NODEID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_NNODES")
"""What programs look for that have no launcher of their own."""

_ASKED = re.compile(r"\bSLURM_\w+|\bSLURMD_NODENAME\b")


class Names(NamedTuple):
    """What marks become: the workflow's name, and for a node the text that stands for a pod's address."""

    workflow: str
    nodes: Mapping[str, str] = {}  # "0.3" -> $(MASTER_ADDR) or @node-3@


class Texts:
    """Marks in texts -> what stands for them; notes which were used."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.used: set[str] = set()
        self.job = self.time = False

    def plain(self, text: str) -> str:
        """The text with Kubernetes' own words escaped."""
        parts, end = [], 0
        for found in MARK.finditer(text):
            parts += [literal(text[end : found.start()]), self._mark(found[1], found[2])]
            end = found.end()
        return "".join([*parts, literal(text[end:])])

    def _mark(self, kind: str, which: str) -> str:
        if kind in (JOB, TIME):
            self.job |= kind == JOB
            self.time |= kind == TIME
            return self.names.workflow
        if kind == NODE:
            self.used.add(which)
            return self.names.nodes.get(which, f"@node-{which.replace('.', '-')}@")
        return "0" if kind == RANK else ""


def command(step: Step, tasks: int, ranked: bool, findings: Findings) -> list[str]:
    """The command of every pod, behind the lines of shell that it needs. W616, W623: variables that nobody sets.

    `ranked`: each pod finds its number among the `tasks` of the step.
    """
    words = list(step.command)
    at = script(step.command)
    named = tuple(dict.fromkeys(_ASKED.findall(words[at]))) if at is not None else ()
    asked = tuple(name for name in named if name in TASK and name not in step.env)
    for name in named:
        if name not in TASK and name not in step.env:
            hint = f"give it a value in the script: export {name}=VALUE"
            findings.warning("W616", step.spot, f"the task asks for ${name}, which only Slurm sets", hint)
    if asked and not ranked:
        message = f"the task asks for ${asked[0]}, and only pods with GPUs have ranks where some of the gang have GPUs"
        findings.error("W623", step.spot, message, "make the steps jobs of their own")
        return words
    if at is None and not launches(step.command) and tasks > 1 and ranked:
        asked = USUAL
    if not ranked and tasks > 1:
        message = f"nothing tells the {tasks} tasks apart: they have no GPUs, and others of the gang have"
        hint = "where tasks ask for their number, make the steps jobs of their own"
        findings.warning("W616", step.spot, message, hint)
    lines = [*step.before, *(["export " + " ".join(f"{name}={TASK[name]}" for name in asked)] if asked else [])]
    if not lines:
        return words
    if at is not None:
        words[at] = "\n".join([*lines, words[at]])
        return words
    return ["sh", "-c", "; ".join([*lines, 'exec "$@"']), "sh", *words]


def container(options: Options, fallback: str, findings: Findings, where: Spot) -> dict[str, Any]:
    """Image and template of a step. W602, W615, W622."""
    made: dict[str, Any] = {}
    if given := options.get("container-image"):
        found = image(given.value)
        if found.why and not fallback:
            hint = "push it to a registry, and name it with --set image=IMAGE"
            findings.error("W615", given.spot, f'no kubelet can pull "{given.value}": {found.why}', hint)
        elif found.user:
            hint = "name a Secret in `imagePullSecrets` of `template`"
            message = f'the registry\'s user "{found.user}" is lost: kubelets pull with Secrets'
            findings.warning("W604", given.spot, message, hint)
        made["image"] = found.name
    if fallback:
        made["image"] = fallback
    if not made.get("image") and "container-image" not in options:
        hint = "write --container-image=IMAGE on the srun line, or name one with --set image=IMAGE"
        findings.error("W615", where, "the tasks have no image: they use what is installed on Slurm's nodes", hint)
    template = dict(_template(options, findings))
    if template:
        made["template"] = _spec(template)
    return made


def _template(options: Options, findings: Findings) -> Iterator[tuple[str, Any]]:
    if given := options.get("container-workdir"):
        yield "workingDir", given.value
    if "container-readonly" in options:
        yield "securityContext", {"readOnlyRootFilesystem": True}
    given = options.get("container-mounts")
    if given and given.value:
        yield from _mounts(given, findings)


def _mounts(given: Given, findings: Findings) -> Iterator[tuple[str, Any]]:
    found = mounts(given.value)
    if found is None:
        message = f'--container-mounts: "{given.value}" is no list of absolute paths such as /data:/data:ro'
        findings.error("W602", given.spot, message, "write absolute paths without `..`")
        return
    names = [f"host-{number}" for number in range(len(found))]
    mounted = [
        {"name": name, "mountPath": each.target, **({"readOnly": True} if each.read_only else {})}
        for name, each in zip(names, found, strict=True)
    ]
    yield "volumeMounts", mounted
    yield (
        "volumes",
        [{"name": name, "hostPath": {"path": each.source}} for name, each in zip(names, found, strict=True)],
    )
    folders = ", ".join(dict.fromkeys(each.source for each in found))
    message = f"{folders}: pods mount them from their nodes (hostPath), which must have them"
    hint = "lay a PersistentVolumeClaim over the volume in `template`, where the data are not on the nodes"
    findings.warning("W622", given.spot, message, hint)


def _spec(template: Mapping[str, Any]) -> dict[str, Any]:
    volumes = {"volumes": template["volumes"]} if "volumes" in template else {}
    main = {key: value for key, value in template.items() if key != "volumes"}
    return {"spec": {"containers": [main], **volumes}}


def amounts(shape: Shape, whole: bool) -> dict[str, Any]:
    """Accelerator and resources of a pod."""
    asked = {"cpu": str(shape.cpus) if shape.cpus else "", "memory": shape.memory, "ephemeral-storage": shape.scratch}
    resources = {name: amount for name, amount in asked.items() if amount}
    return {
        **({"accelerator": {"count": shape.gpus}} if shape.gpus else {}),
        **({"resources": resources} if resources else {}),
        **({"wholeNode": True} if whole else {}),
    }


def label(text: str, fallback: str) -> str:
    """A DNS label of a name: lower case, dashes for all else, a letter first, at most 40 characters."""
    made = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    made = f"{fallback}-{made}" if made[:1].isdigit() else made
    return made[:40].strip("-") or fallback


def step_name(step: Step) -> str:
    """What a step is called: its job name, else its program."""
    if given := step.options.get("job-name"):
        return label(given.value, "step")
    name = base(step.command[0])
    return label(name.removesuffix(".sh").removesuffix(".py"), "step")
