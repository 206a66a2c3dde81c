"""Extended resources of pods: whole numbers, as many as networks, and the right to lock memory (FAB03, 06, 07)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.diagnostics import Diagnostic, Route, error, warning
from bayplan.kube.pod_security import as_root
from bayplan.kube.safe import get, items, mapping
from bayplan.kube.templates import PodTemplate, containers
from bayplan.linting.networks.attached import above
from bayplan.linting.networks.scene import Asking, Known, Scene, amounts, asked, whole
from bayplan.linting.world import World
from bayplan.words import count

SHARED = "rdma/"
EXCLUSIVE = ("hostdevice", "sriov", "spectrumx")
LOCK = "IPC_LOCK"


def check(world: World, known: Scene) -> Iterator[Diagnostic]:
    """M844, M846, M847."""
    rdma = verbs(world, known)
    annotated = {each.template.route: each for each in known.asking}
    for template in world.templates:
        for route, container in containers(template):
            yield from _amounts(mapping(container, "resources"), (*route, "resources"))
            yield from _locked(template, container, route, rdma)
        asking = annotated.get(template.route)
        if asking is None or not asking.annotation.faults:  # M842: what is refused cannot be counted
            yield from _counted(template, asking, known)


def _amounts(resources: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    """M846: the API server takes whole numbers, and a request only where it equals the limit."""
    limits = dict(amounts(resources, "limits"))
    for key in ("limits", "requests"):
        for name, value in amounts(resources, key):
            if whole(value) is None and (key == "limits" or limits.get(name) != value):
                message = f'{str(value)[:40]} of "{name}" is no whole number, and devices have no parts'
                yield error("M846", (*route, key, name), message, hint="such as 1")
    for name, value in amounts(resources, "requests"):
        if name not in limits:
            message = f'"{name}" has a request and no limit; of devices the two are equal'
            yield error("M846", (*route, "requests", name), message, hint=f"add it to `limits`: {str(value)[:40]}")
        elif None not in (whole(value), whole(limits[name])) and whole(value) != whole(limits[name]):
            message = f'the request of "{name}" is {str(value)[:40]} and its limit {str(limits[name])[:40]}'
            yield error("M846", (*route, "requests", name), message, hint="of devices the two are equal")


def verbs(world: World, known: Scene) -> frozenset[str]:
    """Resources that stand for RDMA devices whose pods need IPC_LOCK."""
    free = {
        rail.resource
        for fabric in world.topology.fabrics.values()
        for rail in fabric.rails
        if fabric.ipc_lock is False or fabric.memlock or fabric.kind in ("efa", "gke")
    }
    of_fabrics = {
        rail.resource for each in world.topology.fabrics.values() for rail in each.rails if rail.resource and each.rails
    }
    of_networks = {each.resource for each in known.every() if each.kind == "hostdevice" and each.resource}
    return frozenset((of_fabrics | of_networks) - free)


def _locked(
    template: PodTemplate, container: Mapping[str, Any], route: Route, rdma: frozenset[str]
) -> Iterator[Diagnostic]:
    """M847: to register memory with a card is to lock it. `privileged` brings the right, and much else."""
    security = mapping(container, "securityContext")
    if get(security, "privileged") is True or {LOCK, "ALL"} & {*_texts(items(security, "capabilities", "add"))}:
        return
    lacking = needy(container, rdma)
    if lacking:
        message = f'the container asks for the RDMA device "{lacking[0]}" and may not lock memory for it'
        more = "that is enough for root alone: run it as root, or raise LimitMEMLOCK on the nodes"
        enough = "no more is needed, and nothing less works"
        hint = "add `securityContext: {capabilities: {add: [IPC_LOCK]}}`; "
        hint += enough if as_root(template.spec, container) else more
        yield error("M847", route, message, hint=hint)


def needy(container: Mapping[str, Any], rdma: frozenset[str]) -> list[str]:
    """The RDMA devices that a container asks for."""
    resources = mapping(container, "resources")
    names = {**dict(amounts(resources, "limits")), **dict(amounts(resources, "requests"))}
    return [name for name in names if name in rdma or name.startswith(SHARED)]


def _texts(values: Any) -> Iterator[str]:
    return (each for each in values if isinstance(each, str))


def _counted(template: PodTemplate, asking: Asking | None, known: Scene) -> Iterator[Diagnostic]:
    """M844: Multus hands out a resource's devices in the order of networks; one too few, and the pod never starts."""
    wanted = asked(template)
    networks = [each for each in asking.found if each] if asking else []
    exclusive = Counter(_resource(each, wanted) for each in networks if each.kind in EXCLUSIVE and each.resource)
    route = asking.route if asking else template.route
    for name, attached in exclusive.items():
        devices = wanted.get(name, 0)
        if attached > devices:
            message = f'{count(attached, "network")} take a device of "{name}" each, and the pod asks for {devices}'
            hint = f"add {name}: {attached} to requests and limits of the container"
            yield error("M844", route, message, hint=hint)
        elif devices > attached:
            message = f'the pod asks for {devices} of "{name}" and for {count(attached, "network")} of them'
            yield error("M844", route, message, hint="ask for as many networks as devices; others stay idle")
    if get(template.spec, "hostNetwork") is not True:  # those have the cards' interfaces, and M853
        yield from _idle(template, wanted, exclusive, known)
    yield from _shares(template, wanted, networks, route)


def _resource(network: Known, wanted: Mapping[str, int]) -> str:
    """The resource as pods call it: SR-IOV networks leave the operator's prefix out."""
    if "/" in network.resource:
        return network.resource
    return next((name for name in wanted if name.endswith(f"/{network.resource}")), network.resource)


def _idle(
    template: PodTemplate, wanted: Mapping[str, int], attached: Mapping[str, int], known: Scene
) -> Iterator[Diagnostic]:
    """Devices without any network: InfiniBand needs none, RoCE does. One that stands too high is M840."""
    for name in () if above(template) else wanted:
        owners = [each for each in known.every() if each.kind in EXCLUSIVE and each.resource == name]
        if owners and name not in attached and not any(each.link_type == "infiniband" for each in owners):
            message = f'the pod asks for "{name}" and not for its network "{owners[0].title}"'
            hint = "add the annotation k8s.v1.cni.cncf.io/networks: a card without a network interface carries no RoCE"
            yield warning("M844", template.spec_route, message, hint=hint)


def _shares(
    template: PodTemplate, wanted: Mapping[str, int], networks: list[Known], route: Route
) -> Iterator[Diagnostic]:
    """One share brings all cards of the shared plugin's pool (k8s-rdma-shared-dev-plugin, pkg/resources/server.go)."""
    for name, number in wanted.items():
        if name.startswith(SHARED) and number > 1 and not _owned(name, networks):
            message = f'{number} shares of "{name}" bring no more cards than one'
            yield warning("M844", template.spec_route, message, hint="ask for 1")
    for each in networks:
        if each.kind in ("macvlan", "ipoib") and each.resource and each.resource not in wanted:
            message = f'the pod is on "{each.title}" and asks for no share of "{each.resource}": it gets TCP alone'
            yield warning("M844", route, message, hint=f"add {each.resource}: 1 to requests and limits")
            return


def _owned(name: str, networks: list[Known]) -> bool:
    """Whether the resource is one of whole devices, whatever its prefix."""
    return any(each.kind in EXCLUSIVE and each.resource == name for each in networks)
