"""What a command tells torchrun of a rendezvous, against the pods that meet (PyTorch, torch/distributed/run.py)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, Route, warning
from bayplan.model.plan import Plan, Pods, all_pods
from bayplan.model.workflow import PodSet
from bayplan.words import count

NODES = r"--nnodes[=\s]+['\"]?(?:([0-9]{1,6}):)?([0-9]{1,6})(?![0-9:])"
PROCESSES = r"--nproc[-_]per[-_]node[=\s]+['\"]?([0-9]{1,6})(?![0-9])"
DYNAMIC = r"--rdzv[-_]backend[=\s]+['\"]?(c10d|etcd)"
STARTERS = ("torchrun", "torch.distributed.run")
MASTERS = ("MASTER_ADDR", "PET_MASTER_ADDR")
ITSELF = ("localhost", "127.0.0.1", "::1")


def words(spec: PodSet) -> str:
    """The command of a podSet; empty where it does not start torchrun."""
    text = " ".join((*spec.command, *spec.args))
    return text if any(each in text for each in STARTERS) else ""


def elastic(spec: PodSet, least: int) -> bool:
    """Whether torchrun finds its peers by itself, and may start with as few nodes."""
    text = words(spec)
    nodes = re.search(NODES, text)
    return bool(nodes and nodes[1] and int(nodes[1]) <= least and re.search(DYNAMIC, text))


def contradictions(plan: Plan) -> Iterator[Diagnostic]:
    """W587: torchrun counts otherwise than the workflow; W590: pods that take themselves for rank 0."""
    everyone = {pods.route: pods for gang in plan.gangs for pods in all_pods(gang.root) if pods.ranks}
    for pods in everyone.values():
        yield from _nodes(pods)
        yield from _processes(pods)
        yield from _masters(pods)


def _nodes(pods: Pods) -> Iterator[Diagnostic]:
    """A single node is a podSet whose pods work alone; as many as there are replicas, one that meets by itself."""
    found = re.search(NODES, words(pods.spec))
    total = pods.ranks.nodes if pods.ranks else 0
    if not found or int(found[2]) == 1:
        return
    least, most = int(found[1] or found[2]), int(found[2])
    if not any(least <= number <= most for number in (total, pods.replicas)):
        said = f"{found[1]}:{found[2]}" if found[1] else found[2]
        why = "they wait for others forever" if least > total else "the others find no place"
        message = f"torchrun is to meet on {said} nodes, and {count(total, 'pod')} of the workflow meet: {why}"
        yield warning("W587", _place(pods), message, hint=f"write --nnodes={total}, or change the number of replicas")


def _processes(pods: Pods) -> Iterator[Diagnostic]:
    found = re.search(PROCESSES, words(pods.spec))
    cards = pods.spec.accelerator.per_pod if pods.spec.accelerator else 0
    if found and cards and int(found[1]) > cards:
        message = f"torchrun is to start {found[1]} processes on each node, and a pod has {count(cards, 'GPU')}"
        hint = f"write --nproc-per-node={cards}, or ask for {found[1]} GPUs"
        yield warning("W587", _place(pods), message, hint=hint)


def _place(pods: Pods) -> Route:
    return (*pods.route, "args" if pods.spec.args else "command")


def _masters(pods: Pods) -> Iterator[Diagnostic]:
    """Only rank 0 may take itself for rank 0."""
    several = pods.ranks is not None and pods.ranks.nodes > 1 and (pods.total > 1 or pods.ranks.first > 0)
    for name in MASTERS:
        if several and pods.spec.env.get(name) in ITSELF:
            message = (
                f"{name} is {pods.spec.env[name]}, which is another pod in each of them, so that nobody meets rank 0"
            )
            hint = "leave it out: it becomes the name of rank 0; or say `rendezvous: none` if each pod works alone"
            yield warning("W590", (*pods.route, "env", name), message, hint=hint)
