"""Rules for pods on secondary networks: Multus' annotation (FAB01, 02, 04, 14), devices, permissions (FAB03, 06-08)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bayplan.core.diagnostics import Diagnostic, Route, error, warning
from bayplan.core.phrases import count, did_you_mean, listing
from bayplan.fabrics import LOCK
from bayplan.fabrics.cards import SHARED, unlocked
from bayplan.kube.kinds import GANG_LABEL
from bayplan.kube.networks import bad_interface, unknown_keys
from bayplan.kube.objects import get, items, kind, mapping, name, namespace, text, title
from bayplan.kube.pod import HOST_DNS, NETWORKS
from bayplan.kube.pod_security import BASELINE, PRIVILEGED, RESTRICTED, Breach, added, as_root, breaches
from bayplan.kube.templates import Path, PodTemplate, containers
from bayplan.linting.network_index import (
    AttachedPods,
    DescribedNetwork,
    NetworkIndex,
    device_requests,
    extended_resources,
    whole_number,
)
from bayplan.linting.objects import LintContext

RENAMED = {"gateway": "use `default-route`, a list of addresses", "ip": "use `ips`, a list of addresses"}


def check_annotations(context: LintContext, described: NetworkIndex) -> Iterator[Diagnostic]:
    """M815, M842, M853: Multus' annotation."""
    for template in context.templates:
        yield from _misplaced_annotation(template)
        yield from _host_network(template)
    yield from _unattached_members(context, described)
    for each in described.attached:
        yield from _annotation_faults(each)
        yield from _unknown_networks(each, described)
        yield from _interface_names(each)


def _misplaced_annotation(template: PodTemplate) -> Iterator[Diagnostic]:
    """M815: Multus reads pods, and no controller copies annotations from a Job to them (multus-cni#404)."""
    for path in misplaced_annotations(template):
        route: Route = (*template.object.route, *path, "metadata", "annotations", NETWORKS)
        what = title(template.object) if not path else f"{'.'.join(map(str, path))} of {title(template.object)}"
        message = f"the annotation is on {what}, but Multus reads it only on pods"
        yield error("M815", route, message, hint="move it to `metadata.annotations` of every pod template")


def misplaced_annotations(template: PodTemplate) -> list[Path]:
    """The paths above a pod template that have the annotation."""
    paths = [template.path[:depth] for depth in range(len(template.path))]
    parents = ((path, get(template.object.data, *path) if path else template.object.data) for path in paths)
    return [path for path, data in parents if NETWORKS in mapping(data, "metadata", "annotations")]


def _unattached_members(context: LintContext, described: NetworkIndex) -> Iterator[Diagnostic]:
    """M844: some pods of a workload request networks, but others with devices do not."""
    attached = {each.template.route for each in described.attached}
    by_object: dict[Route, list[PodTemplate]] = {}
    for template in context.templates:
        if template.owned:
            by_object.setdefault(template.object.route, []).append(template)
    for templates in by_object.values():
        without = [each for each in templates if each.route not in attached]
        for each in without if len(without) < len(templates) else ():
            host_network = get(each.spec, "hostNetwork") is True  # these can have no network of Multus (M853)
            lacking = [] if host_network else sorted(device_requests(each))
            if lacking:
                fabric = {one.resource for one in described.every() if one.resource} & set(lacking)
                message = (
                    f"these pods request {listing(lacking, 'and', 3)}, but no network as other pods of the workload do"
                )
                hint = "add the annotation: all members of a gang need the same networks"
                severity = error if fabric else warning
                yield severity("M844", each.route, message, hint=hint)


def _annotation_faults(pods: AttachedPods) -> Iterator[Diagnostic]:
    """M842: annotations that Multus refuses, and keys that it ignores."""
    for fault in pods.annotation.faults:
        hint = "write namespace/name@interface, separated by commas, or a JSON list of mappings with `name`"
        message = f"Multus refuses the annotation, so the pods do not start: {fault}"
        yield error("M842", pods.route, message, hint=hint)
    for key in unknown_keys(pods.annotation.selections):
        message = f'Multus ignores the unknown key "{key}"'
        yield warning("M842", pods.route, message, hint=RENAMED.get(key, "") or "remove it")


def _unknown_networks(pods: AttachedPods, described: NetworkIndex) -> Iterator[Diagnostic]:
    """M842: a network that is unknown, although the manifests or the topology describe others."""
    titles = [each.title for each in described.every()]
    for selection, network in zip(pods.annotation.selections, pods.networks, strict=False):
        if network is not None or not titles:
            continue
        own_namespace = namespace(pods.template.object)
        elsewhere = [each.title for each in described.by_name.get(selection.name, ())]
        if elsewhere:
            where = f'namespace "{selection.namespace or own_namespace}"'
            message = f'{where} has no network "{selection.name}", only {listing(elsewhere)} exists'
            yield error("M842", pods.route, message, hint=f"write {elsewhere[0]}")
            continue
        near = did_you_mean(selection.title, titles) or did_you_mean(selection.name, described.by_name)
        message = f'unknown network "{selection.title}"'
        hint = near or f"known networks: {listing(sorted(titles), 'and', 4)}"
        yield (error if near else warning)("M842", pods.route, message, hint=hint)


def _interface_names(pods: AttachedPods) -> Iterator[Diagnostic]:
    """M842: interface names that Linux refuses, or that the pod uses twice."""
    used: set[str] = set()
    for interface in pods.annotation.interfaces():
        why = bad_interface(interface) or ("belongs to two networks" if interface in used else "")
        used.add(interface)
        if why:
            message = f'the interface "{interface}" {why}'
            yield error("M842", pods.route, message, hint="give each network its own interface, such as net1 and net2")


def _host_network(template: PodTemplate) -> Iterator[Diagnostic]:
    """M853: pods on the host network that request other networks, or that use the host's DNS."""
    if get(template.spec, "hostNetwork") is not True:
        return
    if NETWORKS in template.annotations:
        route = (*template.route, "metadata", "annotations", NETWORKS)
        message = "Multus ignores pods on the host network, so they get no other network"
        yield error("M853", route, message, hint="remove `hostNetwork` or the annotation")
    policy = get(template.spec, "dnsPolicy")
    uses_devices = bool(device_requests(template)) and kind(template.object) != "Pod"
    if policy == "ClusterFirst" or (policy != HOST_DNS and uses_devices):
        message = "pods on the host network use the host's DNS, which resolves no Services"
        hint = f"set `dnsPolicy: {HOST_DNS}`"
        here = "dnsPolicy" if policy is not None else "hostNetwork"
        yield warning("M853", (*template.spec_route, here), message, hint=hint)


# Extended resources of pods: integers, as many as networks, and the right to lock memory (FAB03, 06, 07).

EXCLUSIVE = ("hostdevice", "sriov", "spectrumx")


def check_devices(context: LintContext, described: NetworkIndex) -> Iterator[Diagnostic]:
    """M844, M703, M847: devices of pods."""
    rdma = rdma_resources(context, described)
    unshared = frozenset(
        rail.resource for each in context.topology.fabrics.values() if each.kind == "none" for rail in each.rails
    )
    annotated = {each.template.route: each for each in described.attached}
    for template in context.templates:
        for route, container in containers(template):
            yield from _device_amounts(mapping(container, "resources"), (*route, "resources"))
            yield from _memory_lock(template, container, route, rdma)
        pods = annotated.get(template.route)
        if pods is None or not pods.annotation.faults:  # with faults (M842), the networks are unknown
            yield from _device_counts(template, pods, described, unshared)


def _device_amounts(resources: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    """M703: the API server accepts only integers, and only requests that equal the limit."""
    limits = dict(extended_resources(resources, "limits"))
    for key in ("limits", "requests"):
        for device, value in extended_resources(resources, key):
            if whole_number(value) is None and (key == "limits" or limits.get(device) != value):
                message = f'the amount of "{device}" must be an integer, but it is {str(value)[:40]}'
                yield error("M703", (*route, key, device), message, hint="write an integer such as 1")
    for device, value in extended_resources(resources, "requests"):
        requested, limit = whole_number(value), whole_number(limits.get(device))
        if device not in limits:
            message = f'"{device}" has a request, but no limit'
            yield error("M703", (*route, "requests", device), message, hint=f"add it to `limits`: {str(value)[:40]}")
        elif None not in (requested, limit) and requested != limit:
            message = f'the request of "{device}" is {str(value)[:40]}, but its limit is {str(limits[device])[:40]}'
            yield error("M703", (*route, "requests", device), message, hint="set both to the same number")


class RdmaResources(NamedTuple):
    """Resources of RDMA devices whose pods need IPC_LOCK, and those whose pods do not."""

    locked: frozenset[str]
    unlocked: frozenset[str]


def rdma_resources(context: LintContext, described: NetworkIndex) -> RdmaResources:
    """The RDMA devices of the topology's fabrics and of networks in the manifests."""
    fabric_resources = {
        rail.resource
        for each in context.topology.fabrics.values()
        for rail in each.rails
        if rail.resource and each.rails
    }
    network_resources = {each.resource for each in described.every() if each.kind == "hostdevice" and each.resource}
    free = unlocked(context.topology)
    return RdmaResources(frozenset((fabric_resources | network_resources) - free), free)


def _memory_lock(
    template: PodTemplate, container: Mapping[str, Any], route: Route, rdma: RdmaResources
) -> Iterator[Diagnostic]:
    """M847: registering memory with a card locks it. `privileged` also gives that right, and many others."""
    security = mapping(container, "securityContext")
    if get(security, "privileged") is True or any(
        each in (LOCK, "ALL") for each in items(security, "capabilities", "add")
    ):
        return
    lacking = rdma_devices(container, rdma)
    if lacking:
        message = f'the container requests the RDMA device "{lacking[0]}", but may not lock memory for it'
        hint = "add `securityContext: {capabilities: {add: [IPC_LOCK]}}`"
        if not as_root(template.spec, container):
            hint += ", and run the container as root or raise LimitMEMLOCK on the nodes"
        if GANG_LABEL in template.labels:
            yield error("M847", route, message, hint=hint)
        else:  # its author may know nodes that allow it
            hint += "; if the nodes allow it, set `memlock: unlimited` on the fabric in the topology"
            yield warning("M847", route, message, hint=hint)


def rdma_devices(container: Mapping[str, Any], rdma: RdmaResources) -> list[str]:
    """The RDMA devices that a container requests."""
    resources = mapping(container, "resources")
    names = {**dict(extended_resources(resources, "limits")), **dict(extended_resources(resources, "requests"))}
    return [name for name in names if name in rdma.locked or (name.startswith(SHARED) and name not in rdma.unlocked)]


def _device_counts(
    template: PodTemplate, pods: AttachedPods | None, described: NetworkIndex, unshared: frozenset[str]
) -> Iterator[Diagnostic]:
    """M844: Multus assigns the devices of a resource in the order of networks. With one too few, no pod starts.

    `unshared`: resources of which the topology file has one device for each rail.
    """
    requested = device_requests(template)
    networks = [each for each in pods.networks if each] if pods else []
    exclusive = Counter(_resource(each, requested) for each in networks if each.kind in EXCLUSIVE and each.resource)
    route = pods.route if pods else template.route
    for device, attached in exclusive.items():
        devices = requested.get(device, 0)
        if attached > devices:
            message = f'the pod needs {attached} of "{device}", one for each network, but requests {devices}'
            hint = f"add {device}: {attached} to requests and limits of the container"
            yield error("M844", route, message, hint=hint)
        elif devices > attached:
            message = f'the pod requests {devices} of "{device}", but only {count(attached, "network")} for them'
            yield error(
                "M844", route, message, hint="request a network for each device: a device without one stays idle"
            )
    if get(template.spec, "hostNetwork") is not True:  # they have the interfaces of the cards, and M853
        yield from _without_network(template, requested, exclusive, described)
    yield from _rdma_shares(template, requested, networks, route, unshared)


def _resource(network: DescribedNetwork, requested: Mapping[str, int]) -> str:
    """The resource name in pods: SR-IOV networks omit the operator's prefix."""
    if "/" in network.resource:
        return network.resource
    return next((name for name in requested if name.endswith(f"/{network.resource}")), network.resource)


def _without_network(
    template: PodTemplate, requested: Mapping[str, int], attached: Mapping[str, int], described: NetworkIndex
) -> Iterator[Diagnostic]:
    """M844: devices without a network. RoCE needs one, InfiniBand does not. A misplaced annotation is M815."""
    for device in () if misplaced_annotations(template) else requested:
        owners = [each for each in described.every() if each.kind in EXCLUSIVE and each.resource == device]
        if owners and device not in attached and not any(each.link_type == "infiniband" for each in owners):
            message = f'the pod requests "{device}", but not its network "{owners[0].title}"'
            hint = "add the annotation `k8s.v1.cni.cncf.io/networks`: RoCE needs a network interface for the card"
            yield warning("M844", template.spec_route, message, hint=hint)


def _rdma_shares(
    template: PodTemplate,
    requested: Mapping[str, int],
    networks: list[DescribedNetwork],
    route: Route,
    unshared: frozenset[str],
) -> Iterator[Diagnostic]:
    """M844: one share gives access to all cards of the pool (`k8s-rdma-shared-dev-plugin`, pkg/resources/server.go)."""
    for device, number in requested.items():
        if (
            device.startswith(SHARED)
            and "shared" in device.lower()  # other plugins have devices under the same prefix
            and number > 1
            and device not in unshared
            and not any(each.kind in EXCLUSIVE and each.resource == device for each in networks)
        ):
            message = f'{number} shares of "{device}" give access to no more cards than one share'
            yield warning("M844", template.spec_route, message, hint="request 1")
    for each in networks:
        if each.kind in ("macvlan", "ipoib") and each.resource and each.resource not in requested:
            message = f'the pod has only TCP on "{each.title}", because it requests no share of "{each.resource}"'
            yield warning("M844", route, message, hint=f"add {each.resource}: 1 to requests and limits")
            return


# Permissions that pods on networks need, and that their namespace allows (FAB07, FAB08).
#
# The rules of Pod Security are the same as for the pods of a workflow (`checks/security.py`).

ENFORCED = ("metadata", "labels", "pod-security.kubernetes.io/enforce")
OPENSHIFT = "openshift"


def check_permissions(context: LintContext, described: NetworkIndex) -> Iterator[Diagnostic]:
    """M847, M858: permissions of pods that request networks or RDMA devices."""
    rdma = rdma_resources(context, described)
    pods = {each.template.route for each in described.attached}
    for template in context.templates:
        pod_containers = list(containers(template))
        if template.route in pods or any(rdma_devices(container, rdma) for _, container in pod_containers):
            yield from _pod_security(template, context)
            yield from _openshift(template, context)
        for route, container in pod_containers:
            if rdma_devices(container, rdma) and LOCK in added(container) and not as_root(template.spec, container):
                message = f"{LOCK} has no effect, because the container does not run as root: it can lock only 8 MiB"
                hint = (
                    "raise LimitMEMLOCK of the container runtime, and set `memlock: unlimited` on the fabric in the"
                    " topology"
                )
                yield warning("M847", route, message, hint=hint)


def pod_security_level(context: LintContext, where: str) -> str:
    """The Pod Security level of a namespace, from its object in the manifests or from the topology."""
    policy = context.topology.namespaces.get(where)
    own = (text(each.data, *ENFORCED) for each in context.of("", "Namespace") if name(each) == where)
    return next(filter(None, own), policy.pod_security if policy else PRIVILEGED)


def _pod_security(template: PodTemplate, context: LintContext) -> Iterator[Diagnostic]:
    where = namespace(template.object)
    level = pod_security_level(context, where)
    violations = list(dict.fromkeys(breaches(template.spec, level))) if level in (BASELINE, RESTRICTED) else []
    for violation in violations:
        if not violation.lacking:
            message = f'namespace "{where}" enforces {level}, which refuses {violation.what}'
            hint = f"label the namespace {ENFORCED[-1]}: privileged, or use another namespace"
            yield error("M858", _place(template, violation), message, hint=hint)
    lacking = list(dict.fromkeys(violation.what for violation in violations if violation.lacking))
    if lacking:
        message = f'namespace "{where}" enforces {level}, which requires {", ".join(lacking)}'
        yield error("M858", template.spec_route, message, hint="add it to `securityContext` of each container")


def _place(template: PodTemplate, each: Breach) -> Route:
    return (*template.spec_route, *each.path)


def _openshift(template: PodTemplate, context: LintContext) -> Iterator[Diagnostic]:
    """M858: restricted-v2, the SCC of all accounts, refuses what `baseline` refuses."""
    violations = list(dict.fromkeys(breaches(template.spec, BASELINE)))
    if not violations or context.topology.platform != OPENSHIFT:
        return
    policy = context.topology.namespaces.get(namespace(template.object))
    what = ", ".join(dict.fromkeys(each.what for each in violations))
    own = text(template.spec, "serviceAccountName")
    if policy is None or not policy.scc or not policy.service_account:
        message = f"OpenShift's restricted-v2 refuses {what}"
        hint = (
            "create a SecurityContextConstraints that allows it, name it and its service account in `namespaces` of the"
            " topology, and set this account in the pods"
        )
        yield error("M858", _place(template, violations[0]), message, hint=hint)
    elif own != policy.service_account:
        message = f'OpenShift refuses {what} for service account "{own or "default"}"'
        hint = f'set `serviceAccountName: {policy.service_account}`, which has the SCC "{policy.scc}"'
        here = ("serviceAccountName",) if get(template.spec, "serviceAccountName") is not None else ()
        yield error("M858", (*template.spec_route, *here), message, hint=hint)
