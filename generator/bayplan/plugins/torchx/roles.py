"""One role -> one podSet of the native format as data, with the origins of its parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.plugin import (
    NETWORKS,
    Annotation,
    ClusterTopology,
    Diagnostic,
    Route,
    error,
    info,
    items,
    lifted,
    mapping,
    validation,
    with_origins,
)
from bayplan.plugin import read_networks as read
from bayplan.plugins.torchx import devices, losses
from bayplan.plugins.torchx.devices import (
    EFA,
    FabricAttachment,
    FabricRequest,
    PodSetPart,
    attach_fabric,
    without_empty,
)
from bayplan.plugins.torchx.losses import MetadataRequests, Overlay, role_requests

# TorchX macros, with the values of its Kubernetes scheduler (TorchX 0.7 and 0.8, specs/api.py `macros`).
#
# Arguments and variables are templates of Python's `string.Template`: `$$` is a dollar sign, and names without a value
# stay unchanged. All replicas share one template here. So a value that differs between replicas becomes a reference
# that Kubernetes resolves in each pod.

RANK0 = "TORCHX_RANK0_HOST"
"""The variable with the host of replica 0 of the first role, in all pods."""

NUMBER = "NODE_RANK"
"""The variable with a pod's number in its role."""

MACRO = re.compile(r"\$(?:(\$)|([_a-z][_a-z0-9]*)|\{([_a-z][_a-z0-9]*)\})", re.IGNORECASE | re.ASCII)


class RoleTexts(NamedTuple):
    """A role's arguments and variables with the macros replaced, and the macros that it uses."""

    args: list[str]
    env: dict[str, str]
    used: frozenset[str]


def applied(role: Mapping[str, Any], app: str) -> RoleTexts:
    """The arguments and variables of a role; `app` is the application's ID."""
    values = {"img_root": "", "base_img_root": "", "app_id": app, "replica_id": f"$({NUMBER})", "rank0_env": RANK0}
    used: set[str] = set()

    def value(match: re.Match[str]) -> str:
        name = match[2] or match[3]
        if match[1] or name not in values:
            return "$" if match[1] else match[0]
        used.add(name)
        return values[name]

    args = [MACRO.sub(value, each) for each in role.get("args") or ()]
    env = {name: MACRO.sub(value, each) for name, each in (role.get("env") or {}).items()}
    return RoleTexts(args, env, frozenset(used))


# Mounts of a role -> volumes and mounts of the template. `asdict` drops their kind, so their keys identify it.

RDMA = "/dev/infiniband"


class Mounts(NamedTuple):
    """Volumes of the pod, mounts of its container, diagnostics."""

    volumes: list[dict[str, Any]]
    mounts: list[dict[str, Any]]
    findings: list[Diagnostic]


def mounts(role_mounts: Sequence[Mapping[str, Any]], fabric: bool, route: Route) -> Mounts:
    """The volumes and mounts of a role.

    W571 (rule TX02): devices that a device plugin provides; W584: devices that need a privileged pod, and mounts
    without one source; W598: an invalid name of a PersistentVolumeClaim.
    """
    result = Mounts([], [], [])
    for number, each in enumerate(role_mounts):
        at: Route = (*route, number)
        claim = "src" in each
        if "permissions" in each:
            result.findings.append(_device(each, fabric, at))
        elif claim == ("src_path" in each):
            hint = "set either src (a PersistentVolumeClaim) or src_path (a directory of the node)"
            message = f'the mount at "{each["dst_path"]}" has no source, or two'
            result.findings.append(error("W584", at, message, hint=hint))
        else:
            name, read_only = f"mount-{number}", {"readOnly": True} if each.get("read_only") else {}
            source = {"claimName": each["src"]} if claim else {"path": each["src_path"]}
            result.volumes.append({"name": name, ("persistentVolumeClaim" if claim else "hostPath"): source})
            result.mounts.append({"name": name, "mountPath": each["dst_path"], **read_only})
            if claim and (wrong := validation.claim(each["src"])):
                result.findings.append(error("W598", (*at, "src"), wrong, hint=validation.CLAIM_HINT))
    return result


def _device(each: Mapping[str, Any], fabric: bool, at: Route) -> Diagnostic:
    path = str(each.get("src_path", ""))
    if fabric and (path == RDMA or path.startswith(f"{RDMA}/")):
        message = f'bayplan drops the mount "{path}": the device plugin of the fabric provides the devices'
        return info("W571", at, message, hint="remove the mount: with it TorchX makes the pod privileged")
    message = f'the device mount "{path}" needs a privileged pod, which bayplan does not create for a role'
    hint = "request the device by a device plugin's resource in `devices`"
    if path.startswith(RDMA):
        hint = "request the cards in `devices`, and describe them in `fabrics` of the topology"
    return error("W584", at, message, hint=hint)


FIELD = "[FIELD_PATH]"
LOCAL_ADDRESS = "PET_LOCAL_ADDR"
TORCHRUN = ("torchrun", "torch.distributed.run", "torch.distributed.launch")
SHM: Mapping[str, Any] = {"name": "dshm", "emptyDir": {"medium": "Memory"}}


class Site(NamedTuple):
    """The context of a role: the cluster, the values of -cfg, the application's ID, the podSet's name."""

    topology: ClusterTopology | None
    scheduler_args: Mapping[str, Any]
    app: str
    name: str
    alone: bool  # the application has no other role
    requests: MetadataRequests  # the application's


class TranslatedRole(NamedTuple):
    """A podSet, and the macros that its role uses."""

    part: PodSetPart
    used: frozenset[str]


def pod_set(role: Mapping[str, Any], route: Route, site: Site) -> TranslatedRole:
    """The podSet of a role."""
    texts, requests = applied(role, site.app), role_requests(role, route)
    requested = {**site.requests.pods, **requests.pods}
    overlay, overlay_findings = losses.read(role, site.name, route)
    selector = {str(key): str(value) for key, value in mapping(overlay.spec, "nodeSelector").items()}
    resource = _resource(role, site.scheduler_args)
    pool = devices.choose_pool(resource, selector, site.topology, (*route, "resource"))
    attachment, network_findings = _attachment(resource, overlay, pool, site, route)
    gpus, kind, other_devices = _accelerator(resource, attachment.devices, site.topology)
    pool = pool._replace(name=requested.get("pool") or pool.name)
    certain = devices.certain_pool(pool, bool(gpus), site.topology)
    amounts = devices.amounts(resource, certain, _reserved(site.scheduler_args), (*route, "resource"))
    with_fabric = bool(attachment.fabric or requested.get("fabric"))
    role_mounts = mounts(role.get("mounts") or (), with_fabric, (*route, "mounts"))
    least, replicas = role.get("min_replicas"), role.get("num_replicas", 1)
    env = {name: value for name, value in texts.env.items() if not value.startswith(FIELD)}
    env |= {RANK0: "$(MASTER_ADDR)" if site.alone else HOST} if "rank0_env" in texts.used else {}
    data = without_empty(
        name=site.name,
        replicas=replicas,
        minReplicas=least if least and least < replicas else None,
        pool=pool.name,
        accelerator=without_empty(name=kind, count=gpus) if gpus else None,
        resources={**amounts.resources, **{name: str(count) for name, count in other_devices.items()}},
        fabric=requested.get("fabric") or attachment.fabric,
        image=role["image"],
        command=[role["entrypoint"]],
        args=texts.args,
        env=env,
        ports=dict(role.get("port_map") or {}),
        shm=amounts.shm,
        template=_template(role, texts, overlay, pool, attachment, role_mounts, site, bool(amounts.shm)),
    )
    findings = (
        *(*losses.role(role, route), *_fields(texts, route), *requests.findings, *overlay_findings, *pool.findings),
        *(*network_findings, *attachment.findings, *amounts.findings, *role_mounts.findings, *_clashes(texts, route)),
    )
    origins = _origins(route, overlay)
    origins |= {(k,): at for k, at in (*site.requests.places.items(), *requests.places.items()) if k in requested}
    data, moved = lifted(data)
    return TranslatedRole(PodSetPart(data, with_origins(origins, moved), findings), texts.used)


HOST = "@torchx-rank-0@"
"""The placeholder that a gang's `hosts` replaces with the name of rank 0, in applications with several roles."""


def _resource(role: Mapping[str, Any], scheduler_args: Mapping[str, Any]) -> Mapping[str, Any]:
    """The request of the role; -cfg efa_device_count replaces its number of EFA cards (TorchX 0.8)."""
    resource = role.get("resource") or {}
    efa = scheduler_args.get("efa_device_count")
    if not isinstance(efa, int) or isinstance(efa, bool):
        return resource
    return {**resource, "devices": {**(resource.get("devices") or {}), EFA: efa}}


def _reserved(scheduler_args: Mapping[str, Any]) -> tuple[int, int]:
    """The reserve for the node, from -cfg if it is set (TorchX 0.8)."""
    cpu, memory = (scheduler_args.get(key) for key in losses.RESERVED_ARGS)
    return (
        cpu if isinstance(cpu, int) else devices.RESERVED_MILLICPU,
        memory if isinstance(memory, int) else devices.RESERVED_MB,
    )


def _attachment(
    resource: Mapping[str, Any], overlay: Overlay, choice: devices.PoolChoice, site: Site, route: Route
) -> tuple[FabricAttachment, tuple[Diagnostic, ...]]:
    """The fabric. W595: an annotation that Multus cannot parse."""
    text, at = overlay.networks, (*overlay.route, "metadata", "annotations", NETWORKS)
    if text is None:
        text, at = site.scheduler_args.get("network") or None, ("workflow", "scheduler_args", "network")
    annotation = read(text) if isinstance(text, str) else Annotation()
    wrong: tuple[Diagnostic, ...] = ()
    if annotation.fault or not isinstance(text, str | None):
        hint = "write `namespace/name` separated by commas, or a JSON list of mappings with `name`"
        wrong = (error("W595", at, "Multus cannot parse this list of networks", hint=hint),)
    pool = site.topology.pool(choice.name) if site.topology and choice.name else None
    default = site.topology.defaults.get("namespace", "") if site.topology else ""
    request = FabricRequest(
        resource.get("devices") or {},
        () if wrong else annotation.selections,
        (*route, "resource", "devices"),
        at,
        str(site.scheduler_args.get("namespace") or default),
        pool.node.fabrics if pool else None,
    )
    return attach_fabric(request, site.topology), wrong


def _accelerator(
    resource: Mapping[str, Any], left: Mapping[str, int], topology: ClusterTopology | None
) -> tuple[int, str, dict[str, int]]:
    """GPUs, their kind if a device's name shows it, and the other devices. TorchX's own count has no kind."""
    cards = int(resource.get("gpu") or 0)
    if cards > 0 or topology is None:
        return max(cards, 0), "", dict(left)
    for name, kind in topology.accelerators.items():
        if count := left.get(kind.resources.get("count", "")):
            return count, name, {d: c for d, c in left.items() if d != kind.resources["count"]}
    return 0, "", dict(left)


def _template(
    role: Mapping[str, Any],
    texts: RoleTexts,
    overlay: Overlay,
    pool: devices.PoolChoice,
    attachment: FabricAttachment,
    role_mounts: Mounts,
    site: Site,
    sized: bool,
) -> dict[str, Any]:
    """The parts of a role that a podSet has no key for."""
    text = overlay.networks if overlay.networks is not None else site.scheduler_args.get("network")
    networks = {NETWORKS: text} if text and not attachment.covered else {}
    annotations = {**overlay.metadata.get("annotations", {}), **networks}
    shm = [] if sized else [dict(SHM)]
    mounts = [*([] if sized else [{"name": SHM["name"], "mountPath": "/dev/shm"}]), *role_mounts.mounts]
    env = [_field(name, value) for name, value in texts.env.items() if value.startswith(FIELD)]
    env += [_field(LOCAL_ADDRESS, "status.podIP")] if _needs_address(role, texts, attachment) else []
    lists = {"env": [*env, *items(overlay.main, "env")]}
    lists["volumeMounts"] = [*mounts, *items(overlay.main, "volumeMounts")]
    main = without_empty(**{**overlay.main, **lists})
    named = [{"name": site.name, **main}] if overlay.sidecars else [main] if main else []
    secret = site.scheduler_args.get("image_secret")
    spec = {
        **without_empty(serviceAccountName=site.scheduler_args.get("service_account")),
        **without_empty(imagePullSecrets=[{"name": secret}] if secret else []),
        **{key: value for key, value in overlay.spec.items() if key != "nodeSelector"},
        **without_empty(nodeSelector=dict(pool.selector) if pool.selector or not pool.name else {}),
        **without_empty(volumes=[*shm, *role_mounts.volumes, *items(overlay.spec, "volumes")]),
        **without_empty(containers=[*named, *overlay.sidecars]),
    }
    return without_empty(
        metadata=without_empty(labels=overlay.metadata.get("labels"), annotations=annotations), spec=spec
    )


def _field(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path.removeprefix(FIELD)}}}


def _fields(texts: RoleTexts, route: Route) -> Iterator[Diagnostic]:
    """W598: a reference to a field that is not available to variables."""
    for name, value in texts.env.items():
        if value.startswith(FIELD) and (wrong := validation.field(value.removeprefix(FIELD))):
            yield error("W598", (*route, "env", name), wrong, hint=validation.FIELD_HINT)


def _needs_address(role: Mapping[str, Any], texts: RoleTexts, attachment: FabricAttachment) -> bool:
    """Whether torchrun would announce a name that other pods cannot resolve (pytorch#73656): without --local-addr it
    announces the pod's host name. A fabric sets the address itself."""
    words = " ".join([role["entrypoint"], *texts.args])
    elastic = any(word in words for word in TORCHRUN) and not any(f"--local{s}addr" in words for s in "-_")
    return elastic and role.get("num_replicas", 1) > 1 and not attachment.fabric and LOCAL_ADDRESS not in texts.env


def _clashes(texts: RoleTexts, route: Route) -> Iterator[Diagnostic]:
    """W573: the role sets a variable that a macro needs."""
    needed = {"replica_id": (NUMBER, f"PET_{NUMBER}"), "rank0_env": (RANK0,)}
    for macro in sorted(texts.used & set(needed)):
        for name in needed[macro]:
            if name in texts.env:
                message = f'the macro ${{{macro}}} uses the variable "{name}", which the role sets itself'
                yield error("W573", (*route, "env", name), message, hint="rename the role's variable")


def _origins(route: Route, overlay: Overlay) -> dict[Route, Route]:
    """Below the podSet -> below the role."""
    resource: Route = (*route, "resource")
    pod = overlay.route or (*route, "metadata")
    return {
        (): route,
        ("name",): (*route, "name"),
        ("replicas",): (*route, "num_replicas"),
        ("minReplicas",): (*route, "min_replicas"),
        ("pool",): resource,
        ("accelerator",): (*resource, "gpu"),
        ("resources",): resource,
        ("resources", "cpu"): (*resource, "cpu"),
        ("resources", "memory"): (*resource, "memMB"),
        ("fabric",): (*resource, "devices"),
        ("image",): (*route, "image"),
        ("command",): (*route, "entrypoint"),
        ("args",): (*route, "args"),
        ("env",): (*route, "env"),
        ("ports",): (*route, "port_map"),
        ("shm",): (*resource, "memMB"),
        ("template",): pod,
        ("template", "metadata"): (*pod, "metadata"),
        ("template", "spec"): (*pod, "spec"),
    }
