"""One role -> one podSet of the native format, as data, with the places its parts came from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Route, error, info
from bayplan.core.values import NamedTuple
from bayplan.kube import validation
from bayplan.model.topology import ClusterTopology
from bayplan.workflows.torchx import devices, losses
from bayplan.workflows.torchx.devices import FabricAttachment, FabricRequest, PodSetPart, attach_fabric, without_empty
from bayplan.workflows.torchx.losses import NETWORKS, MetadataRequests, Overlay, role_requests
from bayplan.workflows.torchx.marks import EFA

# TorchX' macros, put in as its Kubernetes scheduler puts them in (TorchX 0.7 and 0.8, specs/api.py `macros`).
#
# Arguments and variables are templates of Python's `string.Template`: `$$` is a dollar sign, and names without a value
# stay as they are. Every replica has one text here, so what differs between replicas becomes a reference that
# Kubernetes resolves in each pod.

RANK0 = "TORCHX_RANK0_HOST"
"""The variable that holds the host of replica 0 of the first role, in all pods."""

NUMBER = "NODE_RANK"
"""The variable that holds a pod's number in its role."""

MACRO = re.compile(r"\$(?:(\$)|([_a-z][_a-z0-9]*)|\{([_a-z][_a-z0-9]*)\})", re.IGNORECASE | re.ASCII)


class Role(NamedTuple):
    """A role's texts with the macros in, and which of them it uses."""

    args: list[str]
    env: dict[str, str]
    used: frozenset[str]


def applied(role: Mapping[str, Any], app: str) -> Role:
    """A role's texts; `app` is the application's id."""
    used: set[str] = set()
    put = _putter(app, used)
    args = [put(each) for each in role.get("args") or ()]
    env = {name: put(value) for name, value in (role.get("env") or {}).items()}
    return Role(args, env, frozenset(used))


def _putter(app: str, used: set[str]) -> Callable[[str], str]:
    values = {"img_root": "", "base_img_root": "", "app_id": app, "replica_id": f"$({NUMBER})", "rank0_env": RANK0}

    def value(found: re.Match[str]) -> str:
        if found[1]:
            return "$"
        name = found[2] or found[3]
        if name not in values:
            return found[0]
        used.add(name)
        return values[name]

    return lambda text: MACRO.sub(value, text)


# Mounts of a role -> volumes and mounts of the template. `asdict` drops their kind, which their keys tell again.

RDMA = "/dev/infiniband"


class Mounts(NamedTuple):
    """Volumes of the pod, mounts of its container, what was found."""

    volumes: list[dict[str, Any]]
    mounts: list[dict[str, Any]]
    found: tuple[Diagnostic, ...]


def mounts(role_mounts: Sequence[Mapping[str, Any]], fabric: bool, route: Route) -> Mounts:
    """W576 (rule TX02): devices that a device plugin hands in; W577: devices that would take a privileged pod, and
    mounts that say not what they mount; W599."""
    made = Mounts([], [], ())
    for number, each in enumerate(role_mounts):
        at: Route = (*route, number)
        if "permissions" in each:
            made = made._replace(found=(*made.found, _device(each, fabric, at)))
        elif ("src" in each) == ("src_path" in each):
            hint = "give src of a volume claim, or src_path of a folder of the node"
            wrong = error("W577", at, f'the mount at "{each["dst_path"]}" names no source, or two', hint=hint)
            made = made._replace(found=(*made.found, wrong))
        else:
            _add_volume(made, each, f"mount-{number}")
            made = made._replace(found=(*made.found, *_claim(each, at)))
    return made


def _claim(each: Mapping[str, Any], at: Route) -> Iterator[Diagnostic]:
    """W599: a volume claim cannot have that name."""
    if "src" in each and (wrong := validation.claim(each["src"])):
        yield error("W599", (*at, "src"), wrong, hint=validation.CLAIM_HINT)


def _add_volume(made: Mounts, each: Mapping[str, Any], name: str) -> None:
    claim = {"persistentVolumeClaim": {"claimName": each.get("src")}}
    made.volumes.append({"name": name, **(claim if "src" in each else {"hostPath": {"path": each["src_path"]}})})
    sealed = {"readOnly": True} if each.get("read_only") else {}
    made.mounts.append({"name": name, "mountPath": each["dst_path"], **sealed})


def _device(each: Mapping[str, Any], fabric: bool, at: Route) -> Diagnostic:
    path = str(each.get("src_path", ""))
    if fabric and (path == RDMA or path.startswith(f"{RDMA}/")):
        message = f'"{path}" is left out: the device plugin of the fabric\'s resource gives it to the container'
        return info("W576", at, message, hint="drop the mount: with it TorchX makes the pod privileged")
    message = f'"{path}" as a device needs a privileged pod, which bayplan makes of no role'
    hint = "ask for the device by a device plugin's resource in `devices`"
    if path.startswith(RDMA):
        hint = "ask for the cards in `devices`, and describe them in the topology's `fabrics`"
    return error("W577", at, message, hint=hint)


FIELD = "[FIELD_PATH]"
LOCAL_ADDRESS = "PET_LOCAL_ADDR"
TORCHRUN = ("torchrun", "torch.distributed.run", "torch.distributed.launch")
SHM: Mapping[str, Any] = {"name": "dshm", "emptyDir": {"medium": "Memory"}}


class Site(NamedTuple):
    """What is known around a role: the cluster, what -cfg says, the application's id, the podSet's name."""

    topology: ClusterTopology | None
    scheduler_args: Mapping[str, Any]
    app: str
    name: str
    alone: bool  # the application has no other role
    requests: MetadataRequests  # the application's


class TranslatedRole(NamedTuple):
    """A podSet, and which macros its role uses."""

    part: PodSetPart
    used: frozenset[str]


def pod_set(role: Mapping[str, Any], route: Route, site: Site) -> TranslatedRole:
    """The podSet of a role."""
    texts, own = applied(role, site.app), role_requests(role, route)
    requested = {**site.requests.pods, **own.pods}
    overlay, overlay_findings = losses.read(role, site.name, route)
    selector = overlay.spec.get("nodeSelector")
    selector = {str(k): str(v) for k, v in selector.items()} if isinstance(selector, Mapping) else {}
    resource = _resource(role, site.scheduler_args)
    home = devices.choose_pool(resource, selector, site.topology, (*route, "resource"))
    net, network_findings = _attachment(resource, overlay, home, site, route)
    cards, kind, rest = _accelerator(resource, net.devices, site.topology)
    home = home._replace(name=requested.get("pool") or home.name)
    node = devices.certain_pool(home, bool(cards), site.topology)
    sizes = devices.amounts(resource, node, _reserved(site.scheduler_args), (*route, "resource"))
    held = mounts(role.get("mounts") or (), bool(net.fabric or requested.get("fabric")), (*route, "mounts"))
    least = role.get("min_replicas")
    env = {name: value for name, value in texts.env.items() if not value.startswith(FIELD)}
    env |= {RANK0: "$(MASTER_ADDR)" if site.alone else HOST} if "rank0_env" in texts.used else {}
    data = without_empty(
        name=site.name,
        replicas=role.get("num_replicas", 1),
        minReplicas=least if least and least < role.get("num_replicas", 1) else None,
        pool=home.name,
        accelerator=without_empty(name=kind, count=cards) if cards else None,
        resources={**sizes.resources, **{name: str(count) for name, count in rest.items()}},
        fabric=requested.get("fabric") or net.fabric,
        image=role["image"],
        command=[role["entrypoint"]],
        args=texts.args,
        env=env,
        ports=dict(role.get("port_map") or {}),
        shm=sizes.shm,
        template=_template(role, texts, overlay, home, net, held, site, bool(sizes.shm)),
    )
    found = (
        *losses.role(role, route),
        *_fields(texts, route),
        *own.found,
        *overlay_findings,
        *home.found,
        *network_findings,
        *net.found,
        *sizes.found,
        *held.found,
    )
    origins = _origins(route, overlay)
    origins |= {(key,): at for key, at in (*site.requests.places.items(), *own.places.items()) if key in requested}
    return TranslatedRole(PodSetPart(data, origins, (*found, *_clashes(texts, route))), texts.used)


HOST = "@torchx-rank-0@"
"""What a gang's `hosts` turns into the name of rank 0, in applications of several roles."""


def _resource(role: Mapping[str, Any], scheduler_args: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the role asks for; -cfg efa_device_count takes the place of its count of EFA cards (TorchX 0.8)."""
    resource = role.get("resource") or {}
    efa = scheduler_args.get("efa_device_count")
    if not isinstance(efa, int) or isinstance(efa, bool):
        return resource
    return {**resource, "devices": {**(resource.get("devices") or {}), EFA: efa}}


def _reserved(scheduler_args: Mapping[str, Any]) -> tuple[int, int]:
    """What is left to the node, by -cfg where it says so (TorchX 0.8)."""
    cpu, memory = (scheduler_args.get(key) for key in losses.RESERVED_ARGS)
    return (
        cpu if isinstance(cpu, int) else devices.RESERVED_MILLICPU,
        memory if isinstance(memory, int) else devices.RESERVED_MB,
    )


def _attachment(
    resource: Mapping[str, Any], overlay: Overlay, home: devices.PoolChoice, site: Site, route: Route
) -> tuple[FabricAttachment, tuple[Diagnostic, ...]]:
    """The fabric. W597: an annotation that Multus does not read."""
    text = overlay.networks if overlay.networks is not None else site.scheduler_args.get("network") or None
    at: Route = (*overlay.route, "metadata", "annotations", NETWORKS)
    at = at if overlay.networks is not None else ("workflow", "scheduler_args", "network")
    parsed = devices.parse(text) if text is not None else ()
    wrong: tuple[Diagnostic, ...] = ()
    if parsed is None:
        hint = "write `namespace/name` with commas between, or a JSON list of mappings with `name`"
        wrong = (error("W597", at, "Multus does not read this list of networks", hint=hint),)
    pool = site.topology.pool(home.name) if site.topology and home.name else None
    request = FabricRequest(
        resource.get("devices") or {},
        parsed or (),
        (*route, "resource", "devices"),
        at,
        str(
            site.scheduler_args.get("namespace")
            or (site.topology.defaults.get("namespace", "") if site.topology else "")
        ),
        pool.node.fabrics if pool else None,
    )
    return attach_fabric(request, site.topology), wrong


def _accelerator(
    resource: Mapping[str, Any], left: Mapping[str, int], topology: ClusterTopology | None
) -> tuple[int, str, dict[str, int]]:
    """GPUs, their kind where a device's name tells it, and the devices left. TorchX' own count has no kind."""
    cards = int(resource.get("gpu") or 0)
    if cards > 0 or topology is None:
        return max(cards, 0), "", dict(left)
    for name, kind in topology.accelerators.items():
        if count := left.get(kind.resources.get("count", "")):
            return count, name, {d: c for d, c in left.items() if d != kind.resources["count"]}
    return 0, "", dict(left)


def _template(
    role: Mapping[str, Any],
    texts: Role,
    overlay: Overlay,
    home: devices.PoolChoice,
    net: FabricAttachment,
    held: Mounts,
    site: Site,
    sized: bool,
) -> dict[str, Any]:
    """What a podSet has no key for."""
    text = overlay.networks if overlay.networks is not None else site.scheduler_args.get("network")
    annotations = {**overlay.metadata.get("annotations", {}), **({} if net.covered or not text else {NETWORKS: text})}
    shm = [] if sized else [dict(SHM)]
    mounts = [*([] if sized else [{"name": SHM["name"], "mountPath": "/dev/shm"}]), *held.mounts]
    env = [_field(name, value) for name, value in texts.env.items() if value.startswith(FIELD)]
    env += [_field(LOCAL_ADDRESS, "status.podIP")] if _needs_address(role, texts, net) else []
    main = without_empty(**{**overlay.main, "env": [*env, *_list(overlay.main, "env")]})
    main = without_empty(**{**main, "volumeMounts": [*mounts, *_list(overlay.main, "volumeMounts")]})
    named = [{"name": site.name, **main}] if overlay.sidecars else [main] if main else []
    secret = site.scheduler_args.get("image_secret")
    spec = {
        **without_empty(serviceAccountName=site.scheduler_args.get("service_account")),
        **without_empty(imagePullSecrets=[{"name": secret}] if secret else []),
        **{key: value for key, value in overlay.spec.items() if key != "nodeSelector"},
        **without_empty(nodeSelector=dict(home.selector) if home.selector or not home.name else {}),
        **without_empty(volumes=[*shm, *held.volumes, *_list(overlay.spec, "volumes")]),
        **without_empty(containers=[*named, *overlay.sidecars]),
    }
    return without_empty(
        metadata=without_empty(labels=overlay.metadata.get("labels"), annotations=annotations), spec=spec
    )


def _list(part: Mapping[str, Any], key: str) -> list[Any]:
    found = part.get(key)
    return found if isinstance(found, list) else []


def _field(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path.removeprefix(FIELD)}}}


def _fields(texts: Role, route: Route) -> Iterator[Diagnostic]:
    """W599: a reference to a field that no variable can hold."""
    for name, value in texts.env.items():
        if value.startswith(FIELD) and (wrong := validation.field(value.removeprefix(FIELD))):
            yield error("W599", (*route, "env", name), wrong, hint=validation.FIELD_HINT)


def _needs_address(role: Mapping[str, Any], texts: Role, net: FabricAttachment) -> bool:
    """Whether torchrun would tell the others a name of its own that they cannot resolve (pytorch#73656): without
    --local-addr that is the pod's host name. A fabric says the address itself."""
    words = " ".join([role["entrypoint"], *texts.args])
    elastic = any(word in words for word in TORCHRUN) and not any(f"--local{s}addr" in words for s in "-_")
    return elastic and role.get("num_replicas", 1) > 1 and not net.fabric and LOCAL_ADDRESS not in texts.env


def _clashes(texts: Role, route: Route) -> Iterator[Diagnostic]:
    """W581: a variable that a macro needs is the user's."""
    needed = {"replica_id": (NUMBER, f"PET_{NUMBER}"), "rank0_env": (RANK0,)}
    for macro in sorted(texts.used & set(needed)):
        for name in needed[macro]:
            if name in texts.env:
                message = f'the macro ${{{macro}}} is the variable "{name}" here, which the role sets itself'
                yield error("W581", (*route, "env", name), message, hint="choose another name")


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
