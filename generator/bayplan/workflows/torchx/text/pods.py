"""Pods that TorchX wrote for the replicas of a role -> the role.

What a role has no field for goes where TorchX 0.8 takes it from: an overlay of the pod in the role's metadata.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bayplan.text.document import Path
from bayplan.values import NamedTuple
from bayplan.workflows.torchx.text import common
from bayplan.workflows.torchx.text.shapes import mapping, mappings, text, whole
from bayplan.workflows.torchx.words import LABEL

INSTANCE = "node.kubernetes.io/instance-type"
ISTIO = "sidecar.istio.io/inject"
SHM = "dshm"
GPU = "nvidia.com/gpu"
OWN_LABELS = (LABEL, "app.kubernetes.io/")
OWN_FIELDS = ("containers", "restartPolicy", "volumes", "nodeSelector", "hostname", "subdomain", "schedulerName")
ASKED = ("serviceAccountName", "imagePullSecrets", "priorityClassName", "priority")
"""Fields that come back as `scheduler_args`."""


class Replica(NamedTuple):
    """One pod template, where it stands, and the Volcano task that it is in."""

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
        """TorchX writes one; an overlay may have added others behind it."""
        return next(iter(mappings(self.spec, "containers")), {})

    @property
    def number(self) -> int:
        """The replica's, in its role."""
        return whole(self.labels.get(f"{LABEL}replica-id", 0))


class RoleMade(NamedTuple):
    """A role (None: its replicas differ), and path in it -> path in the object."""

    value: Any
    origins: Mapping[Path, Path] = {}


def role(replicas: Sequence[Replica], app: str) -> RoleMade:
    """The role without its counts."""
    first = replicas[0]
    commands = [[common.macros(word, app) for word in common.words(each.container)] for each in replicas]
    environments = [_environment(each, app) for each in replicas]
    numbers = [each.number for each in replicas]
    command = _words(commands, numbers)
    env = _env(environments, numbers)
    if not command or env is None or any(_rest(each) != _rest(first) for each in replicas):
        return RoleMade(None)
    value = {
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
    return RoleMade(value, _origins(first))


def _environment(replica: Replica, app: str) -> dict[str, str] | None:
    found = common.environment(replica.container)
    return None if found is None else {name: common.macros(value, app) for name, value in found.items()}


def _words(commands: list[list[str]], numbers: list[int]) -> list[str] | None:
    if len({len(each) for each in commands}) > 1:
        return None
    made = [common.one(words, numbers) for words in zip(*commands, strict=True)]
    return None if None in made else [word for word in made if word is not None]


def _env(environments: Sequence[dict[str, str] | None], numbers: list[int]) -> dict[str, str] | None:
    known = [each for each in environments if each is not None]
    if len(known) < len(environments) or any(set(each) != set(known[0]) for each in known):
        return None
    made = {name: common.one([each[name] for each in known], numbers) for name in known[0]}
    return None if None in made.values() else {name: value for name, value in made.items() if value is not None}


def _rest(replica: Replica) -> Any:
    """What must be alike in all replicas, since one role gave it."""
    own = ("name", "command", "args", "env")
    inner = {key: value for key, value in replica.container.items() if key not in own}
    outer = {key: value for key, value in replica.spec.items() if key not in ("containers", "hostname")}
    return inner, outer, mappings(replica.spec, "containers")[1:], _annotations(replica)


def _resource(replica: Replica) -> dict[str, Any]:
    """Limits are what the role asked for; requests are less by what TorchX leaves to the node."""
    limits = dict(mapping(replica.container, "resources", "limits"))
    cpu, memory = str(limits.pop("cpu", "")), str(limits.pop("memory", ""))
    made = {
        "cpu": _cpu(cpu),
        "gpu": whole(limits.pop(GPU, 0)),
        "memMB": whole(memory.removesuffix("M")) if memory.endswith("M") else -1,
        "devices": {name: whole(amount) for name, amount in limits.items()},
    }
    kind = text(replica.spec, "nodeSelector", INSTANCE)
    return {**made, "capabilities": {INSTANCE: kind} if kind else {}}


def _cpu(text: str) -> float | int:
    if not text.endswith("m"):
        return whole(text) or -1
    milli = whole(text.removesuffix("m"))
    return milli // 1000 if milli % 1000 == 0 else milli / 1000


def _mounts(replica: Replica) -> list[dict[str, Any]]:
    volumes = {text(each, "name"): each for each in mappings(replica.spec, "volumes")}
    privileged = mapping(replica.container, "securityContext").get("privileged") is True
    made: list[dict[str, Any]] = []
    for mount in mappings(replica.container, "volumeMounts"):
        volume = volumes.get(text(mount, "name"), {})
        to, sealed = text(mount, "mountPath"), mount.get("readOnly") is True
        if path := text(volume, "hostPath", "path"):
            device = privileged and path.startswith("/dev/")
            kind = {"permissions": "r" if sealed else "rwm"} if device else {"read_only": sealed}
            made.append({"src_path": path, "dst_path": to, **kind})
        elif claim := text(volume, "persistentVolumeClaim", "claimName"):
            made.append({"src": claim, "dst_path": to, "read_only": sealed})
    return made


def _overlay(replica: Replica) -> dict[str, Any]:
    """What a role has no field for."""
    spec = {key: value for key, value in replica.spec.items() if key not in (*OWN_FIELDS, *ASKED)}
    selector = {key: value for key, value in mapping(replica.spec, "nodeSelector").items() if key != INSTANCE}
    plain = ("emptyDir", "persistentVolumeClaim", "hostPath")
    volumes = [each for each in mappings(replica.spec, "volumes") if not any(kind in each for kind in plain)]
    known = {text(each, "name") for each in volumes}
    mounts = [each for each in mappings(replica.container, "volumeMounts") if text(each, "name") in known]
    security = {k: v for k, v in mapping(replica.container, "securityContext").items() if k != "privileged"}
    main = {**({"volumeMounts": mounts} if mounts else {}), **({"securityContext": security} if security else {})}
    containers = [main] if main else []
    containers += [dict(each) for each in mappings(replica.spec, "containers")[1:]]
    parts = {
        "nodeSelector": selector,
        "volumes": volumes,
        "__join__:containers:name": containers,
        **spec,
    }
    labels = {k: v for k, v in replica.labels.items() if not k.startswith(OWN_LABELS)}
    metadata = {"labels": labels, "annotations": _annotations(replica)}
    pod = {"metadata": _filled(metadata), "spec": _filled(parts)}
    return {"kubernetes": {"V1Pod": _filled(pod)}} if _filled(pod) else {}


def _annotations(replica: Replica) -> dict[str, Any]:
    return {k: v for k, v in mapping(replica.template, "metadata", "annotations").items() if k != ISTIO}


def _filled(parts: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in parts.items() if value}


def _origins(replica: Replica) -> dict[Path, Path]:
    """Where the parts of a role stand in the replica's pod."""
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
