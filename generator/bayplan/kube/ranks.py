"""How a pod learns its rank: literal, by the downward API, or by one line of shell where it takes arithmetic."""

from collections.abc import Iterable, Mapping
from typing import Any

from bayplan.diagnostics import Route
from bayplan.kube.pod import container_name, containers
from bayplan.model.manifest import Slot
from bayplan.model.plan import Pods, Ranks
from bayplan.model.workflow import PodSet
from bayplan.values import NamedTuple

MASTER_PORT = 29500
"""The port that torchrun's static rendezvous uses by default (PyTorch torch.distributed.run)."""

RANK_NAMES = ("NODE_RANK", "PET_NODE_RANK")


class RankEnv(NamedTuple):
    """Environment entries and the command to run."""

    env: tuple[Mapping[str, Any], ...]
    command: tuple[Any, ...]


def arithmetic(everyone: Iterable[Pods]) -> frozenset[Route]:
    """PodSets of the file whose ranks take a shell to add up, where pods know just their number in a Job.

    All instances of such a podSet do it, the first ones too, so that they read alike.
    """
    return frozenset(pods.route for pods in everyone if pods.ranks and pods.ranks.first and pods.replicas > 1)


def user_names(spec: PodSet) -> set[str]:
    """The variables that the user sets; ours keep away from them."""
    own = [c for c in containers(spec.template) if c.get("name", container_name(spec)) == container_name(spec)]
    return set(spec.env) | {entry["name"] for container in own for entry in container.get("env") or []}


def rank_env(spec: PodSet, ranks: Ranks, host: str, own: Slot | int | str, arithmetic: bool) -> RankEnv:
    """Rendezvous variables of one podSet instance.

    `own` is where a pod finds its number: a slot (every pod is written out, and the slot holds its rank), a literal
    rank, or the annotation that holds the pod's number in its Job. `arithmetic`: the rank is that number plus
    `ranks.first`, which no Kubernetes field can say, so a shell adds it.
    """
    taken = user_names(spec)
    taken |= {f"PET_{name}" for name in taken} | {name.removeprefix("PET_") for name in taken}  # torchrun reads these
    plain = {
        "MASTER_ADDR": host,
        "MASTER_PORT": str(MASTER_PORT),
        "NNODES": str(ranks.nodes),
        "PET_MASTER_ADDR": host,
        "PET_MASTER_PORT": str(MASTER_PORT),
        "PET_NNODES": str(ranks.nodes),
        "GROUP_INDEX": str(ranks.group_index),
        "GROUP_COUNT": str(ranks.group_count),
        "GROUP_SIZE": str(ranks.group_size),
    }
    env = [{"name": name, "value": value} for name, value in plain.items() if name not in taken]
    missing = [name for name in RANK_NAMES if name not in taken]
    if not arithmetic:
        return RankEnv((*env, *({"name": name, **_value(own)} for name in missing)), spec.command)
    return RankEnv(tuple(env), wrapped(spec.command, missing, ranks.first) if missing else spec.command)


def _value(own: Slot | int | str) -> dict[str, Any]:
    if isinstance(own, str):
        return {"valueFrom": {"fieldRef": {"fieldPath": f"metadata.annotations['{own}']"}}}
    return {"value": own if isinstance(own, Slot) else str(own)}


def wrapped(command: tuple[str, ...], names: list[str], first: int) -> tuple[str, ...]:
    """The user's command behind one line of shell that adds the rank of the group's first pod."""
    exports = " ".join(f"{name}=$(({first}+JOB_COMPLETION_INDEX))" for name in names)
    return ("sh", "-c", f'export {exports}; exec "$@"', "sh", *command)
