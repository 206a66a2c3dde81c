"""The objects that TorchX writes -> the AppDef that they were made from.

TorchX 0.7 and 0.8 write a Volcano Job with a task for each replica (schedulers/kubernetes_scheduler.py), 0.7 also an
AppWrapper of MCAD with a Pod for each replica (schedulers/kubernetes_mcad_scheduler.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.core.diagnostics import AT, Diagnostic, Outcome, Route, error
from bayplan.core.values import NamedTuple
from bayplan.text.document import Document, Path, spans_of
from bayplan.workflows.torchx import reading
from bayplan.workflows.torchx.marks import BROKEN, INSTANCE, LABEL
from bayplan.workflows.torchx.reading import Made, items, mapping, mappings, text, value_at, whole

# Pods that TorchX wrote for the replicas of a role -> the role.
#
# What a role has no field for goes where TorchX 0.8 takes it from: an overlay of the pod in the role's metadata.

ISTIO = "sidecar.istio.io/inject"
SHM = "dshm"
GPU = "nvidia.com/gpu"
OWN_LABELS = (LABEL, "app.kubernetes.io/")
OWN_FIELDS = ("containers", "restartPolicy", "volumes", "nodeSelector", "hostname", "subdomain", "schedulerName")
SCHEDULER_FIELDS = ("serviceAccountName", "imagePullSecrets", "priorityClassName", "priority")
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


class TranslatedRole(NamedTuple):
    """A role (None: its replicas differ), and path in it -> path in the object."""

    value: Any
    origins: Mapping[Path, Path] = {}


def role_of(replicas: Sequence[Replica], app: str) -> TranslatedRole:
    """The role without its counts."""
    first = replicas[0]
    commands = [[reading.macros(word, app) for word in reading.words(each.container)] for each in replicas]
    environments = [reading.environment(each.container, app) for each in replicas]
    numbers = [each.number for each in replicas]
    command = _words(commands, numbers)
    env = _env(environments, numbers)
    if not command or env is None or any(_rest(each) != _rest(first) for each in replicas):
        return TranslatedRole(None)
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
    return TranslatedRole(value, _origins(first))


def _words(commands: list[list[str]], numbers: list[int]) -> list[str] | None:
    if len({len(each) for each in commands}) > 1:
        return None
    made = [reading.common_text(words, numbers) for words in zip(*commands, strict=True)]
    return None if None in made else [word for word in made if word is not None]


def _env(environments: Sequence[dict[str, str] | None], numbers: list[int]) -> dict[str, str] | None:
    known = [each for each in environments if each is not None]
    if len(known) < len(environments) or any(set(each) != set(known[0]) for each in known):
        return None
    made = {name: reading.common_text([each[name] for each in known], numbers) for name in known[0]}
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
    spec = {key: value for key, value in replica.spec.items() if key not in (*OWN_FIELDS, *SCHEDULER_FIELDS)}
    selector = {key: value for key, value in mapping(replica.spec, "nodeSelector").items() if key != INSTANCE}
    plain = ("emptyDir", "persistentVolumeClaim", "hostPath")
    volumes = [each for each in mappings(replica.spec, "volumes") if not any(kind in each for kind in plain)]
    known = {text(each, "name") for each in volumes}
    mounts = [each for each in mappings(replica.container, "volumeMounts") if text(each, "name") in known]
    security = {k: v for k, v in mapping(replica.container, "securityContext").items() if k != "privileged"}
    main = {**({"volumeMounts": mounts} if mounts else {}), **({"securityContext": security} if security else {})}
    containers = [main] if main else []
    containers += [dict(each) for each in mappings(replica.spec, "containers")[1:]]
    parts = {"nodeSelector": selector, "volumes": volumes, "__join__:containers:name": containers, **spec}
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


VOLCANO, MCAD = ("Job", "batch.volcano.sh/"), ("AppWrapper", "workload.codeflare.dev/")


def sniff(data: Any) -> bool:
    """Whether an object is of a kind that TorchX writes."""
    return any(_is(data, kind) for kind in (VOLCANO, MCAD))


def _is(data: Any, kind: tuple[str, str]) -> bool:
    return text(data, "kind") == kind[0] and text(data, "apiVersion").startswith(kind[1])


def scheduler_args(data: Any) -> dict[str, str]:
    """What `-cfg` said, as far as the object holds it."""
    spec = next((each.spec for each in _replicas(data)), {})
    found = {
        "queue": text(data, "spec", "queue"),
        "namespace": text(data, "metadata", "namespace"),
        "priority_class": text(data, "spec", "priorityClassName") or text(spec, "priorityClassName"),
        "service_account": text(spec, "serviceAccountName"),
        "image_secret": text(spec, "imagePullSecrets", 0, "name"),
    }
    return {key: value for key, value in found.items() if value}


def _replicas(data: Any) -> Iterator[Replica]:
    """The pods in order, each with its task where it has one."""
    if _is(data, VOLCANO):
        for number, task in enumerate(items(data, "spec", "tasks")):
            path: Path = ("spec", "tasks", number, "template")
            yield Replica(mapping(task, "template"), path, mapping(task))
        return
    for number, item in enumerate(items(data, "spec", "resources", "GenericItems")):
        if text(item, "generictemplate", "kind") == "Pod":
            yield Replica(
                mapping(item, "generictemplate"), ("spec", "resources", "GenericItems", number, "generictemplate")
            )


def application(document: Document, subject: str) -> Outcome[Made]:
    """The AppDef behind an object. R142: pods without TorchX' labels; R145: a role with unequal replicas."""
    data, roles = document.data, _roles(document.data)
    if not roles:
        message = "the object has no pods with TorchX' labels"
        hint = f"TorchX labels pods with {LABEL}role-name; other objects are for `bayplan post-render`"
        return Outcome(None, (error("R142", _at(document, (), subject), message, hint=hint),))
    made: list[TranslatedRole] = []
    wrong: list[Diagnostic] = []
    for replicas in roles.values():
        role = role_of(replicas, text(data, "metadata", "name"))
        misnamed = [*_broken(document, replicas, subject)]
        wrong += misnamed
        if not misnamed and role.value is None:
            named = text(replicas[0].labels, f"{LABEL}role-name")
            message = f'the replicas of role "{named}" differ in more than their number'
            hint = "import the application as JSON: the request holds each replica apart"
            wrong.append(error("R145", _at(document, replicas[0].path, subject), message, hint=hint))
        made.append(_counted(role, replicas, data) if role.value is not None else role)
    if wrong:
        return Outcome(None, tuple(wrong))
    name = text(next(iter(roles.values()))[0].labels, f"{LABEL}app-name") or text(data, "metadata", "name")
    app = {"name": name, "roles": [each.value for each in made], "scheduler_args": scheduler_args(data)}
    origins: dict[Path, Path] = {("name",): ("metadata", "name"), (): ("metadata",)}
    for number, role in enumerate(made):
        origins |= {("roles", number, *own): there for own, there in role.origins.items()}
    return Outcome(Made(app, origins))


def _roles(data: Any) -> dict[str, list[Replica]]:
    """The pods of each role, in the order of replicas."""
    found: dict[str, list[Replica]] = {}
    for replica in _replicas(data):
        if name := text(replica.labels, f"{LABEL}role-name"):
            found.setdefault(text(replica.labels, f"{LABEL}role-index") or name, []).append(replica)
    return {index: sorted(each, key=lambda replica: replica.number) for index, each in found.items()}


def _counted(role: TranslatedRole, replicas: list[Replica], data: Any) -> TranslatedRole:
    """The role with its counts: replicas, those it cannot do without, and how often it starts again."""
    needed = [whole(each.task["minAvailable"]) for each in replicas if "minAvailable" in each.task]
    if _is(data, MCAD):
        retries = whole(value_at(data, "spec", "schedulingSpec", "requeuing", "maxNumRequeuings"))
        counts: dict[str, Any] = {"max_retries": retries}
    else:
        first = replicas[0].task
        policy = "APPLICATION" if mappings(first, "policies") or "maxRetry" not in first else "REPLICA"
        counts = {"max_retries": whole(first.get("maxRetry", 0)), "retry_policy": policy}
    least = {"min_replicas": sum(needed)} if needed and sum(needed) else {}
    return role._replace(value={**role.value, **counts, **least, "num_replicas": len(replicas)})


def _broken(document: Document, replicas: list[Replica], subject: str) -> Iterator[Diagnostic]:
    """W573 (rule TX01), once a role."""
    for replica in replicas:
        path = (*replica.path, "spec", "containers", 0, "command")
        for number, word in enumerate(reading.words(replica.container)):
            if found := re.search(BROKEN, word):
                yield broken(found[0], _at(document, (*path, number), subject))
                return


def broken(name: str, route: Route) -> Diagnostic:
    """W573: no shell takes the name of a variable with dashes."""
    message = f'no shell takes "{name}" for the name of a variable: TorchX keeps the dashes of a role\'s name in it'
    hint = f"call the role with `_`, or import the application as JSON, where ${{rank0_env}} stands for {name}"
    return error("W573", route, message, hint=hint)


def _at(document: Document, path: Path, subject: str) -> Route:
    span = spans_of(document, [path])[path][0]
    return (subject, AT, *span)
