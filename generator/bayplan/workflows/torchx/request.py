"""The objects that TorchX writes -> their AppDef.

TorchX 0.7 and 0.8 write a Volcano Job with a task for each replica (schedulers/kubernetes_scheduler.py), 0.7 also an
AppWrapper of MCAD with a Pod for each replica (schedulers/kubernetes_mcad_scheduler.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.core.diagnostics import Diagnostic, Outcome, error
from bayplan.kube.objects import get, is_kind, items, mapping, non_empty, text
from bayplan.text.document import Document, Path
from bayplan.workflows.torchx import reading
from bayplan.workflows.torchx.marks import BROKEN, INSTANCE, LABEL
from bayplan.workflows.torchx.reading import Translated, mappings, route_of, whole

# Pods that TorchX wrote for the replicas of a role -> the role.
#
# Fields of the pod that a role does not have become an overlay of the pod in the role's metadata, as in TorchX 0.8.

ISTIO = "sidecar.istio.io/inject"
SHM = "dshm"
GPU = "nvidia.com/gpu"
OWN_LABELS = (LABEL, "app.kubernetes.io/")
OWN_FIELDS = ("containers", "restartPolicy", "volumes", "nodeSelector", "hostname", "subdomain", "schedulerName")
SCHEDULER_FIELDS = ("serviceAccountName", "imagePullSecrets", "priorityClassName", "priority")
"""Fields that come back as `scheduler_args`."""


class Replica(NamedTuple):
    """One pod template, its place, and its Volcano task."""

    template: Mapping[str, Any]
    path: Path
    task: Mapping[str, Any] = {}

    @property
    def labels(self) -> Mapping[str, Any]:
        """Of the pod."""
        return mapping(self.template, "metadata", "labels")

    @property
    def spec(self) -> Mapping[str, Any]:
        """Of the pod."""
        return mapping(self.template, "spec")

    @property
    def container(self) -> Mapping[str, Any]:
        """TorchX writes one container; an overlay may have added others after it."""
        return next(iter(mappings(self.spec, "containers")), {})

    @property
    def number(self) -> int:
        """The number of the replica in its role."""
        return whole(self.labels.get(f"{LABEL}replica-id", 0))


def role_of(replicas: Sequence[Replica], app: str) -> Translated:
    """The role without its counts. Data of None: its replicas differ."""
    first = replicas[0]
    commands = [[reading.macros(word, app) for word in reading.words(each.container)] for each in replicas]
    environments = [reading.environment(each.container, app) for each in replicas]
    numbers = [each.number for each in replicas]
    command = _words(commands, numbers)
    env = _env(environments, numbers)
    if not command or env is None or any(_common_fields(each) != _common_fields(first) for each in replicas):
        return Translated(None, {})
    role = {
        "name": text(first.labels, f"{LABEL}role-name"),
        "image": text(first.container, "image"),
        "entrypoint": command[0],
        "args": command[1:],
        "env": env,
        "resource": _resource(first),
        "port_map": {str(each.get("name")): each.get("containerPort") for each in mappings(first.container, "ports")},
        "mounts": _mounts(first),
        "metadata": _overlay(first),
    }
    return Translated(role, _origins(first))


def _words(commands: list[list[str]], numbers: list[int]) -> list[str] | None:
    if len({len(each) for each in commands}) > 1:
        return None
    common = [reading.common_text(words, numbers) for words in zip(*commands, strict=True)]
    return None if None in common else [word for word in common if word is not None]


def _env(environments: Sequence[dict[str, str] | None], numbers: list[int]) -> dict[str, str] | None:
    readable = [each for each in environments if each is not None]
    if len(readable) < len(environments) or any(set(each) != set(readable[0]) for each in readable):
        return None
    common = {name: reading.common_text([each[name] for each in readable], numbers) for name in readable[0]}
    return None if None in common.values() else {name: value for name, value in common.items() if value is not None}


def _common_fields(replica: Replica) -> Any:
    """The fields that must be the same in all replicas, because they come from one role."""
    own = ("name", "command", "args", "env")
    inner = {key: value for key, value in replica.container.items() if key not in own}
    outer = {key: value for key, value in replica.spec.items() if key not in ("containers", "hostname")}
    return inner, outer, mappings(replica.spec, "containers")[1:], _annotations(replica)


def _resource(replica: Replica) -> dict[str, Any]:
    """Limits are the role's request; the pod's requests are smaller by the reserve of TorchX for the node."""
    limits = dict(mapping(replica.container, "resources", "limits"))
    cpu, memory = str(limits.pop("cpu", "")), str(limits.pop("memory", ""))
    amounts = {
        "cpu": _cpu(cpu),
        "gpu": whole(limits.pop(GPU, 0)),
        "memMB": whole(memory.removesuffix("M")) if memory.endswith("M") else -1,
        "devices": {name: whole(amount) for name, amount in limits.items()},
    }
    kind = text(replica.spec, "nodeSelector", INSTANCE)
    return {**amounts, "capabilities": {INSTANCE: kind} if kind else {}}


def _cpu(text: str) -> float | int:
    if not text.endswith("m"):
        return whole(text) or -1
    milli = whole(text.removesuffix("m"))
    return milli // 1000 if milli % 1000 == 0 else milli / 1000


def _mounts(replica: Replica) -> list[dict[str, Any]]:
    volumes = {text(each, "name"): each for each in mappings(replica.spec, "volumes")}
    privileged = mapping(replica.container, "securityContext").get("privileged") is True
    mounts: list[dict[str, Any]] = []
    for mount in mappings(replica.container, "volumeMounts"):
        volume = volumes.get(text(mount, "name"), {})
        target, read_only = text(mount, "mountPath"), mount.get("readOnly") is True
        if path := text(volume, "hostPath", "path"):
            device = privileged and path.startswith("/dev/")
            kind = {"permissions": "r" if read_only else "rwm"} if device else {"read_only": read_only}
            mounts.append({"src_path": path, "dst_path": target, **kind})
        elif claim := text(volume, "persistentVolumeClaim", "claimName"):
            mounts.append({"src": claim, "dst_path": target, "read_only": read_only})
    return mounts


def _overlay(replica: Replica) -> dict[str, Any]:
    """The pod fields that a role does not have."""
    fields = {key: value for key, value in replica.spec.items() if key not in (*OWN_FIELDS, *SCHEDULER_FIELDS)}
    selector = {key: value for key, value in mapping(replica.spec, "nodeSelector").items() if key != INSTANCE}
    role_kinds = ("emptyDir", "persistentVolumeClaim", "hostPath")
    volumes = [each for each in mappings(replica.spec, "volumes") if not any(kind in each for kind in role_kinds)]
    names = {text(each, "name") for each in volumes}
    mounts = [each for each in mappings(replica.container, "volumeMounts") if text(each, "name") in names]
    security = {k: v for k, v in mapping(replica.container, "securityContext").items() if k != "privileged"}
    main = non_empty(volumeMounts=mounts, securityContext=security)
    containers = [*([main] if main else []), *map(dict, mappings(replica.spec, "containers")[1:])]
    spec = {"nodeSelector": selector, "volumes": volumes, "__join__:containers:name": containers, **fields}
    labels = {k: v for k, v in replica.labels.items() if not k.startswith(OWN_LABELS)}
    metadata = non_empty(labels=labels, annotations=_annotations(replica))
    pod = non_empty(metadata=metadata, spec=non_empty(**spec))
    return {"kubernetes": {"V1Pod": pod}} if pod else {}


def _annotations(replica: Replica) -> dict[str, Any]:
    return {k: v for k, v in mapping(replica.template, "metadata", "annotations").items() if k != ISTIO}


def _origins(replica: Replica) -> dict[Path, Path]:
    """Part of a role -> its place in the replica's pod."""
    inner: Path = (*replica.path, "spec", "containers", 0)
    joined: Path = ("metadata", "kubernetes", "V1Pod")
    return {
        (): replica.path,
        ("name",): (*replica.path, "metadata", "labels", f"{LABEL}role-name"),
        ("image",): (*inner, "image"),
        ("entrypoint",): (*inner, "command"),
        ("args",): (*inner, "command"),
        ("env",): (*inner, "env"),
        ("resource",): (*inner, "resources", "limits"),
        ("resource", "capabilities"): (*replica.path, "spec", "nodeSelector"),
        ("port_map",): (*inner, "ports"),
        ("mounts",): (*inner, "volumeMounts"),
        (*joined, "metadata"): (*replica.path, "metadata"),
        (*joined, "spec"): (*replica.path, "spec"),
    }


VOLCANO, MCAD = ("batch.volcano.sh", "Job"), ("workload.codeflare.dev", "AppWrapper")


def sniff(data: Any) -> bool:
    """Whether an object is of a kind that TorchX writes."""
    return is_kind(data, *VOLCANO) or is_kind(data, *MCAD)


def scheduler_args(data: Any) -> dict[str, str]:
    """The values of `-cfg` in the object."""
    spec = next((each.spec for each in _replicas(data)), {})
    return non_empty(
        queue=text(data, "spec", "queue"),
        namespace=text(data, "metadata", "namespace"),
        priority_class=text(data, "spec", "priorityClassName") or text(spec, "priorityClassName"),
        service_account=text(spec, "serviceAccountName"),
        image_secret=text(spec, "imagePullSecrets", 0, "name"),
    )


def _replicas(data: Any) -> Iterator[Replica]:
    """The pods in order, each with its task if it has one."""
    if is_kind(data, *VOLCANO):
        for number, task in enumerate(items(data, "spec", "tasks")):
            yield Replica(mapping(task, "template"), ("spec", "tasks", number, "template"), mapping(task))
        return
    for number, item in enumerate(items(data, "spec", "resources", "GenericItems")):
        if text(item, "generictemplate", "kind") == "Pod":
            path: Path = ("spec", "resources", "GenericItems", number, "generictemplate")
            yield Replica(mapping(item, "generictemplate"), path)


def application(document: Document, subject: str) -> Outcome[Translated]:
    """The AppDef of an object. R142: pods without labels of TorchX, or a role with different replicas."""
    data, replicas_by_role = document.data, _roles(document.data)
    if not replicas_by_role:
        message = "the object has no pods with the labels of TorchX"
        hint = f"pass the object that TorchX wrote, with its label {LABEL}role-name; or use `bayplan post-render`"
        return Outcome(None, (error("R142", route_of(document, (), subject), message, hint=hint),))
    roles: list[Any] = []
    wrong: list[Diagnostic] = []
    origins: dict[Path, Path] = {("name",): ("metadata", "name"), (): ("metadata",)}
    for number, replicas in enumerate(replicas_by_role.values()):
        role = role_of(replicas, text(data, "metadata", "name"))
        misnamed = [*_broken(document, replicas, subject)]
        wrong += misnamed
        if role.data is not None:
            roles.append({**role.data, **_counts(replicas, data)})
            origins |= {("roles", number, *own): there for own, there in role.origins.items()}
        elif not misnamed:
            name = text(replicas[0].labels, f"{LABEL}role-name")
            message = f'the replicas of role "{name}" differ in more than their numbers'
            hint = "import the application as JSON, which has each role only once"
            wrong.append(error("R142", route_of(document, replicas[0].path, subject), message, hint=hint))
    if wrong:
        return Outcome(None, tuple(wrong))
    first = next(iter(replicas_by_role.values()))[0]
    name = text(first.labels, f"{LABEL}app-name") or text(data, "metadata", "name")
    return Outcome(Translated({"name": name, "roles": roles, "scheduler_args": scheduler_args(data)}, origins))


def _roles(data: Any) -> dict[str, list[Replica]]:
    """The pods of each role, in the order of replicas."""
    roles: dict[str, list[Replica]] = {}
    for replica in _replicas(data):
        if name := text(replica.labels, f"{LABEL}role-name"):
            roles.setdefault(text(replica.labels, f"{LABEL}role-index") or name, []).append(replica)
    return {index: sorted(each, key=lambda replica: replica.number) for index, each in roles.items()}


def _counts(replicas: list[Replica], data: Any) -> dict[str, Any]:
    """A role's counts: replicas, minimum replicas, and retries."""
    needed = sum(whole(each.task["minAvailable"]) for each in replicas if "minAvailable" in each.task)
    counts = {**non_empty(min_replicas=needed), "num_replicas": len(replicas)}
    if is_kind(data, *MCAD):
        retries = whole(get(data, "spec", "schedulingSpec", "requeuing", "maxNumRequeuings"))
        return {"max_retries": retries, **counts}
    first = replicas[0].task
    policy = "APPLICATION" if mappings(first, "policies") else "REPLICA"
    return {"max_retries": whole(first.get("maxRetry", 0)), "retry_policy": policy, **counts}


def _broken(document: Document, replicas: list[Replica], subject: str) -> Iterator[Diagnostic]:
    """W573 (rule TX01), once for each role: shells do not support variable names with hyphens."""
    numbered = ((each, *entry) for each in replicas for entry in enumerate(reading.words(each.container)))
    for replica, number, word in numbered:
        if match := re.search(BROKEN, word):
            name, path = match[0], (*replica.path, "spec", "containers", 0, "command", number)
            message = f'shells cannot read the variable "{name}", because it has the hyphen of the role\'s name'
            hint = f"use `_` in the role's name, or import the application as JSON with ${{rank0_env}} for {name}"
            yield error("W573", route_of(document, path, subject), message, hint=hint)
            return
