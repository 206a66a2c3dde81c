"""One role -> one podSet of the native format, as data, with the places its parts came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.diagnostics import Diagnostic, Route, error
from bayplan.kube import values
from bayplan.model.topology import ClusterTopology
from bayplan.values import NamedTuple
from bayplan.workflows.torchx.components.named import EFA
from bayplan.workflows.torchx.translate import losses, macros, networks, overlays, pools
from bayplan.workflows.torchx.translate.devices import Asked, Attached, attached
from bayplan.workflows.torchx.translate.finding import Part, given
from bayplan.workflows.torchx.translate.mounts import Mounts, mounts
from bayplan.workflows.torchx.translate.overlays import NETWORKS, Overlay
from bayplan.workflows.torchx.translate.wishes import Wishes, of_role

FIELD = "[FIELD_PATH]"
LOCAL_ADDRESS = "PET_LOCAL_ADDR"
TORCHRUN = ("torchrun", "torch.distributed.run", "torch.distributed.launch")
SHM: Mapping[str, Any] = {"name": "dshm", "emptyDir": {"medium": "Memory"}}


class Site(NamedTuple):
    """What is known around a role: the cluster, what -cfg says, the application's id, the podSet's name."""

    topology: ClusterTopology | None
    asked: Mapping[str, Any]
    app: str
    name: str
    alone: bool  # the application has no other role
    wishes: Wishes  # the application's


class RoleMade(NamedTuple):
    """A podSet, and which macros its role uses."""

    part: Part
    used: frozenset[str]


def pod_set(role: Mapping[str, Any], route: Route, site: Site) -> RoleMade:
    """The podSet of a role."""
    texts, own = macros.applied(role, site.app), of_role(role, route)
    wished = {**site.wishes.pods, **own.pods}
    overlay, odd = overlays.read(role, site.name, route)
    resource = _resource(role, site.asked)
    home = pools.home(resource, _selector(overlay), site.topology, (*route, "resource"))
    net, strange = _attachment(resource, overlay, home, site, route)
    cards, kind, rest = _accelerator(resource, net.devices, site.topology)
    home = home._replace(name=wished.get("pool") or home.name)
    node = pools.node_of(home, bool(cards), site.topology)
    sizes = pools.amounts(resource, node, _reserved(site.asked), (*route, "resource"))
    held = mounts(role.get("mounts") or (), bool(net.fabric or wished.get("fabric")), (*route, "mounts"))
    env = {name: value for name, value in texts.env.items() if not value.startswith(FIELD)}
    env |= {macros.RANK0: "$(MASTER_ADDR)" if site.alone else HOST} if "rank0_env" in texts.used else {}
    data = given(
        name=site.name,
        replicas=role.get("num_replicas", 1),
        minReplicas=_least(role),
        pool=home.name,
        accelerator=given(name=kind, count=cards) if cards else None,
        resources={**sizes.resources, **{name: str(count) for name, count in rest.items()}},
        fabric=wished.get("fabric") or net.fabric,
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
        *odd,
        *home.found,
        *strange,
        *net.found,
        *sizes.found,
        *held.found,
    )
    origins = _origins(route, overlay)
    origins |= {(key,): at for key, at in (*site.wishes.places.items(), *own.places.items()) if key in wished}
    return RoleMade(Part(data, origins, (*found, *_clashes(texts, route))), texts.used)


HOST = "@torchx-rank-0@"
"""What a gang's `hosts` turns into the name of rank 0, in applications of several roles."""


def _least(role: Mapping[str, Any]) -> int | None:
    least = role.get("min_replicas")
    return least if least and least < role.get("num_replicas", 1) else None


def _resource(role: Mapping[str, Any], asked: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the role asks for; -cfg efa_device_count takes the place of its count of EFA cards (TorchX 0.8)."""
    resource = role.get("resource") or {}
    efa = asked.get("efa_device_count")
    if not isinstance(efa, int) or isinstance(efa, bool):
        return resource
    return {**resource, "devices": {**(resource.get("devices") or {}), EFA: efa}}


def _reserved(asked: Mapping[str, Any]) -> tuple[int, int]:
    """What is left to the node, by -cfg where it says so (TorchX 0.8)."""
    cpu, memory = (asked.get(key) for key in losses.RESERVES)
    return (
        cpu if isinstance(cpu, int) else pools.RESERVED_MILLICPU,
        memory if isinstance(memory, int) else pools.RESERVED_MB,
    )


def _selector(overlay: Overlay) -> dict[str, str]:
    selector = overlay.spec.get("nodeSelector")
    return {str(k): str(v) for k, v in selector.items()} if isinstance(selector, Mapping) else {}


def _attachment(
    resource: Mapping[str, Any], overlay: Overlay, home: pools.Home, site: Site, route: Route
) -> tuple[Attached, tuple[Diagnostic, ...]]:
    """The fabric. W597: an annotation that Multus does not read."""
    text = overlay.networks if overlay.networks is not None else site.asked.get("network") or None
    at: Route = (*overlay.route, "metadata", "annotations", NETWORKS)
    at = at if overlay.networks is not None else ("workflow", "scheduler_args", "network")
    parsed = networks.parse(text) if text is not None else ()
    wrong: tuple[Diagnostic, ...] = ()
    if parsed is None:
        hint = "write `namespace/name` with commas between, or a JSON list of mappings with `name`"
        wrong = (error("W597", at, "Multus does not read this list of networks", hint=hint),)
    pool = site.topology.pool(home.name) if site.topology and home.name else None
    asked = Asked(
        resource.get("devices") or {},
        parsed or (),
        (*route, "resource", "devices"),
        at,
        str(site.asked.get("namespace") or (site.topology.defaults.get("namespace", "") if site.topology else "")),
        pool.node.fabrics if pool else None,
    )
    return attached(asked, site.topology), wrong


def _accelerator(
    resource: Mapping[str, Any], devices: Mapping[str, int], topology: ClusterTopology | None
) -> tuple[int, str, dict[str, int]]:
    """GPUs, their kind where a device's name tells it, and the devices left. TorchX' own count has no kind."""
    cards = int(resource.get("gpu") or 0)
    if cards > 0 or topology is None:
        return max(cards, 0), "", dict(devices)
    for name, kind in topology.accelerators.items():
        if count := devices.get(kind.resources.get("count", "")):
            return count, name, {d: c for d, c in devices.items() if d != kind.resources["count"]}
    return 0, "", dict(devices)


def _template(
    role: Mapping[str, Any],
    texts: macros.Role,
    overlay: Overlay,
    home: pools.Home,
    net: Attached,
    held: Mounts,
    site: Site,
    sized: bool,
) -> dict[str, Any]:
    """What a podSet has no key for."""
    text = overlay.networks if overlay.networks is not None else site.asked.get("network")
    annotations = {**overlay.metadata.get("annotations", {}), **({} if net.covered or not text else {NETWORKS: text})}
    shm = [] if sized else [dict(SHM)]
    mounts = [*([] if sized else [{"name": SHM["name"], "mountPath": "/dev/shm"}]), *held.mounts]
    env = [_field(name, value) for name, value in texts.env.items() if value.startswith(FIELD)]
    env += [_field(LOCAL_ADDRESS, "status.podIP")] if _needs_address(role, texts, net) else []
    main = given(**{**overlay.main, "env": [*env, *_list(overlay.main, "env")]})
    main = given(**{**main, "volumeMounts": [*mounts, *_list(overlay.main, "volumeMounts")]})
    named = [{"name": site.name, **main}] if overlay.sidecars else [main] if main else []
    secret = site.asked.get("image_secret")
    spec = {
        **given(serviceAccountName=site.asked.get("service_account")),
        **given(imagePullSecrets=[{"name": secret}] if secret else []),
        **{key: value for key, value in overlay.spec.items() if key != "nodeSelector"},
        **given(nodeSelector=dict(home.selector) if home.selector or not home.name else {}),
        **given(volumes=[*shm, *held.volumes, *_list(overlay.spec, "volumes")]),
        **given(containers=[*named, *overlay.sidecars]),
    }
    return given(metadata=given(labels=overlay.metadata.get("labels"), annotations=annotations), spec=spec)


def _list(part: Mapping[str, Any], key: str) -> list[Any]:
    found = part.get(key)
    return found if isinstance(found, list) else []


def _field(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path.removeprefix(FIELD)}}}


def _fields(texts: macros.Role, route: Route) -> Iterator[Diagnostic]:
    """W599: a reference to a field that no variable can hold."""
    for name, value in texts.env.items():
        if value.startswith(FIELD) and (wrong := values.field(value.removeprefix(FIELD))):
            yield error("W599", (*route, "env", name), wrong, hint=values.FIELD_HINT)


def _needs_address(role: Mapping[str, Any], texts: macros.Role, net: Attached) -> bool:
    """Whether torchrun would tell the others a name of its own that they cannot resolve (pytorch#73656): without
    --local-addr that is the pod's host name. A fabric says the address itself."""
    words = " ".join([role["entrypoint"], *texts.args])
    elastic = any(word in words for word in TORCHRUN) and not any(f"--local{s}addr" in words for s in "-_")
    return elastic and role.get("num_replicas", 1) > 1 and not net.fabric and LOCAL_ADDRESS not in texts.env


def _clashes(texts: macros.Role, route: Route) -> Iterator[Diagnostic]:
    """W581: a variable that a macro needs is the user's."""
    needed = {"replica_id": (macros.NUMBER, f"PET_{macros.NUMBER}"), "rank0_env": (macros.RANK0,)}
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
