"""How a pod gets its rank: literal, by the downward API, or by one line of shell if it needs arithmetic."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from bayplan.core.diagnostics import Route
from bayplan.kube.pod import container_name, containers
from bayplan.model.manifest import Manifest, Slot
from bayplan.model.plan import Plan, Pods, Ranks
from bayplan.model.workflow import PodSet, texts

MASTER_PORT = 29500
"""The port that torchrun's static rendezvous uses by default (PyTorch torch.distributed.run)."""


def master_port(pods: Pods) -> int:
    """The port on which rank 0 of the rendezvous listens."""
    port = texts(pods.spec.env).get("MASTER_PORT", "")
    return int(port) if port.isascii() and port.isdigit() and len(port) < 6 else MASTER_PORT


NAMESPACE_VARIABLE = "POD_NAMESPACE"


def full_name(host: str, spec: PodSet | None, plan: Plan) -> str:
    """The full DNS name of `<pod>.<service>`, in the containers of a podSet, or in a file.

    The kubelet writes the full name of a pod into its own hosts file (Kubernetes 1.37, pkg/kubelet/kubelet_pods.go), so
    the pod recognises it before DNS does. Under its short name, torchrun's rank 0 would not recognise itself and wait
    for another one. A container reads its namespace from the pod, because kustomize and Helm may change it.
    """
    literal = spec is None or NAMESPACE_VARIABLE in user_names(spec)
    namespace = plan.namespace if literal else f"$({NAMESPACE_VARIABLE})"
    return f"{host}.{namespace}.svc.{plan.topology.cluster_domain}"


def own_fields(
    spec: PodSet, command: Iterable[Any], env: Iterable[Mapping[str, Any]], fields: Mapping[str, str]
) -> tuple[Manifest, ...]:
    """The variables with the pod's namespace, and with the fields of its kind, to which the container refers and that
    the user does not set."""
    texts = [each for each in (*command, *spec.args, *(each.get("value") for each in env)) if isinstance(each, str)]
    taken = user_names(spec)
    return tuple(
        {"name": name, **field(path)}
        for name, path in {NAMESPACE_VARIABLE: "metadata.namespace", **fields}.items()
        if name not in taken and any(f"$({name})" in each for each in texts)
    )


RANK_NAMES = ("NODE_RANK", "PET_NODE_RANK")

GROUP_NAMES = ("GROUP_INDEX",)
MASTER_NAMES = ("MASTER_ADDR", "PET_MASTER_ADDR")


class Numbers(NamedTuple):
    """How a shell in a pod computes its number: arithmetic over variables, and the entries that set them."""

    pod: str  # its number in its copy
    copy: str = "0"  # the number of its copy
    running: str = ""  # its number over all copies, if there is one
    env: tuple[Mapping[str, Any], ...] = ()


class RankEnv(NamedTuple):
    """Environment entries, and what a shell must set before the command."""

    env: tuple[Mapping[str, Any], ...]
    values: Mapping[str, str] = {}


def running_on(variable: str, pods: Pods) -> Numbers:
    """The numbers of a kind that counts pods over all copies."""
    if pods.copies == 1:
        return Numbers(variable)
    return Numbers(f"{variable}%{pods.replicas}", f"{variable}/{pods.replicas}", variable)


def running_number(pods: Pods, copy: int | str, number: int) -> str:
    """The number of a pod over all copies. It is a piece of shell if only the shell knows the copy."""
    return str(copy * pods.replicas + number) if isinstance(copy, int) else f"$(({copy}*{pods.replicas}+{number}))"


def arithmetic(everyone: Iterable[tuple[Pods, int]]) -> frozenset[Route]:
    """PodSets of the file whose ranks need a shell to add up, because pods know only their number in a Job.

    All instances of such a podSet do it, the first ones too, so that they read alike. `everyone`: each with the number
    of its first pod.
    """
    return frozenset(
        pods.route
        for pods, start in everyone
        if pods.ranks and (pods.copies > 1 or (pods.ranks.first != start and pods.replicas > 1))
    )


def shell_names(pods: Pods) -> tuple[str, ...]:
    """The variables that only a shell can set for a podSet in `arithmetic`, without those that the user sets."""
    folded, each = pods.copies > 1, bool(pods.ranks and pods.ranks.each)
    names = (*RANK_NAMES, *(GROUP_NAMES if folded else ()), *(MASTER_NAMES if each else ()))
    return tuple(name for name in names if name not in _taken(pods.spec))


OWN = {"GANG_INDEX", "GANG_COUNT", "NNODES", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT", "JOB_COMPLETION_INDEX"}
OWN |= {"GROUP_INDEX", "GROUP_COUNT", "GROUP_SIZE", "POD_NAMESPACE"}
"""Variables that bayplan, the Job controller or Slurm (by their prefixes) set."""

REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_][A-Za-z0-9_]*)\)")
"""`$(NAME)`, which Kubernetes replaces, and `$$`, which it makes `$`."""

OWN_PREFIXES = ("PET_", "BARRIER_", "MPI_", "SLURM_", "VC_")


def user_names(spec: PodSet) -> set[str]:
    """The variables that the user sets and bayplan does not."""
    own = [c for c in containers(spec.template) if c.get("name", container_name(spec)) == container_name(spec)]
    return set(spec.env) | {entry["name"] for container in own for entry in container.get("env") or []}


def _taken(spec: PodSet) -> set[str]:
    """The user's variables, under both names if torchrun reads two."""
    taken = user_names(spec)
    return taken | {f"PET_{name}" for name in taken} | {name.removeprefix("PET_") for name in taken}


def rank_env(pods: Pods, ranks: Ranks, host: str, own: Slot | int | str, numbers: Numbers | None) -> RankEnv:
    """Rendezvous variables of one podSet instance.

    `own` is the source of a pod's rank: a slot (bayplan writes every pod, and the slot has its rank), a literal rank,
    or the field with the pod's number. `numbers`: no Kubernetes field has the rank, so a shell computes it from these.
    """
    shelled = shell_names(pods) if numbers else ()
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
    taken = _taken(pods.spec)
    env = [{"name": name, "value": value} for name, value in plain.items() if name not in {*taken, *shelled}]
    if numbers is None:
        missing = [name for name in RANK_NAMES if name not in taken]
        return RankEnv((*env, *({"name": name, **_value(own)} for name in missing)))
    return RankEnv((*numbers.env, *env), {name: _shell(name, pods, ranks, host, numbers) for name in shelled})


def local_address(address: str) -> dict[str, Any]:
    """The address that torchrun of rank 0 sends to the others: the pod's own. By default it sends the full name, which
    may not resolve if there are several networks (PyTorch `--local-addr`; pytorch#73656, #79388).

    `address`: that of the pod on its fabric, with its prefix.
    """
    if address:
        return {"name": "PET_LOCAL_ADDR", "value": address.partition("/")[0]}
    return {"name": "PET_LOCAL_ADDR", **field("status.podIP")}


def field(path: str) -> dict[str, Any]:
    """The value of an entry that is a field of the pod."""
    return {"valueFrom": {"fieldRef": {"fieldPath": path}}}


def literal_value(value: str) -> str:
    """The value of an entry in which Kubernetes expands nothing (`third_party/forked/golang/expansion`, 1.37)."""
    return value.replace("$", "$$") if "$(" in value or "$$" in value else value


def _value(own: Slot | int | str) -> dict[str, Any]:
    if isinstance(own, str):
        return field(own)
    return {"value": own if isinstance(own, Slot) else str(own)}


def _shell(name: str, pods: Pods, ranks: Ranks, host: str, numbers: Numbers) -> str:
    """The value that a shell gives a variable."""
    if name in MASTER_NAMES:
        return host
    if name in GROUP_NAMES:
        return f"$(({_sum(ranks.group_index, _times(numbers.copy, ranks.group_stride))}))"
    if numbers.running and ranks.stride == pods.replicas:
        return f"$(({_sum(ranks.first, numbers.running)}))"
    return f"$(({_sum(ranks.first, _times(numbers.copy, ranks.stride), numbers.pod)}))"


def _sum(first: int, *terms: str) -> str:
    return "+".join((*([str(first)] if first else []), *filter(None, terms))) or "0"


def _times(number: str, stride: int) -> str:
    if not stride or number == "0":
        return ""
    return number if stride == 1 else f"{number}*{stride}"


def exports(values: Mapping[str, str]) -> str:
    """A line of shell that sets the variables."""
    return f"export {' '.join(f'{name}={value}' for name, value in values.items())}"


def wrapped(command: tuple[str, ...], values: Mapping[str, str]) -> tuple[str, ...]:
    """The user's command after one line of shell that sets the variables."""
    return ("sh", "-c", f'{exports(values)}; exec "$@"', "sh", *command) if values else command
