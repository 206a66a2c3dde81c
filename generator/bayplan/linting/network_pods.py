"""Multus' annotation on pods: its place, its syntax, its networks and its interfaces (FAB01, 02, 04, 14)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Route, error, warning
from bayplan.core.phrases import count, did_you_mean, listing
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

RENAMED = {"gateway": "the key is `default-route`, a list of addresses", "ip": "the key is `ips`, a list"}


def check_annotations(context: LintContext, described: NetworkIndex) -> Iterator[Diagnostic]:
    """M840 to M843, M842, M853."""
    for template in context.templates:
        yield from _misplaced_annotation(template)
        yield from _host_network(template)
    yield from _unattached_members(context, described)
    for each in described.attached:
        yield from _annotation_faults(each)
        yield from _unknown_networks(each, described)
        yield from _interface_names(each)


def _misplaced_annotation(template: PodTemplate) -> Iterator[Diagnostic]:
    """M840: Multus reads pods, and no controller hands annotations of a Job down to them (multus-cni#404)."""
    for path in misplaced_annotations(template):
        route: Route = (*template.object.route, *path, "metadata", "annotations", NETWORKS)
        what = title(template.object) if not path else f"{'.'.join(map(str, path))} of {title(template.object)}"
        message = f"the annotation stands on {what}, and its pods never get it"
        yield error("M840", route, message, hint="put it into `metadata.annotations` of every pod template")


def misplaced_annotations(template: PodTemplate) -> list[Path]:
    """Where the annotation stands above a pod template."""
    paths = [template.path[:depth] for depth in range(len(template.path))]
    parents = ((path, get(template.object.data, *path) if path else template.object.data) for path in paths)
    return [path for path, data in parents if NETWORKS in mapping(data, "metadata", "annotations")]


def _unattached_members(context: LintContext, described: NetworkIndex) -> Iterator[Diagnostic]:
    """M841: some pods of one workload are on the networks, others with devices are not."""
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
                    f"these pods ask for {listing(lacking, 'and', 3)} and for no network; others of the workload do"
                )
                hint = "a gang talks over networks that all its members have: add the annotation"
                severity = error if fabric else warning
                yield severity("M841", each.route, message, hint=hint)


def _annotation_faults(pods: AttachedPods) -> Iterator[Diagnostic]:
    """M842."""
    for fault in pods.annotation.faults:
        hint = "write namespace/name@interface, several with commas between, or a JSON list of mappings with `name`"
        message = f"Multus refuses the annotation, and no such pod starts: {fault}"
        yield error("M842", pods.route, message, hint=hint)
    for key in unknown_keys(pods.annotation.selections):
        message = f'Multus has no key "{key}" and ignores it'
        yield warning("M842", pods.route, message, hint=RENAMED.get(key, "") or "take it out")


def _unknown_networks(pods: AttachedPods, described: NetworkIndex) -> Iterator[Diagnostic]:
    """M843: where some networks are described, one that is not among them."""
    titles = [each.title for each in described.every()]
    for selection, network in zip(pods.annotation.selections, pods.networks, strict=False):
        if network is not None or not titles:
            continue
        own_namespace = namespace(pods.template.object)
        elsewhere = [each.title for each in described.by_name.get(selection.name, ())]
        if elsewhere:
            where = f'namespace "{selection.namespace or own_namespace}"'
            message = f'"{selection.name}" is asked for in {where}, and it is {listing(elsewhere)}'
            yield error("M843", pods.route, message, hint=f"write {elsewhere[0]}")
            continue
        near = did_you_mean(selection.title, titles) or did_you_mean(selection.name, described.by_name)
        message = f'nobody describes a network "{selection.title}"'
        hint = near or f"described: {listing(sorted(titles), 'and', 4)}"
        yield (error if near else warning)("M843", pods.route, message, hint=hint)


def _interface_names(pods: AttachedPods) -> Iterator[Diagnostic]:
    """M842."""
    used: set[str] = set()
    for interface in pods.annotation.interfaces():
        why = bad_interface(interface) or ("is given to two networks" if interface in used else "")
        used.add(interface)
        if why:
            message = f'the interface "{interface}" {why}'
            yield error("M842", pods.route, message, hint="give each network one of its own, such as net1 and net2")


def _host_network(template: PodTemplate) -> Iterator[Diagnostic]:
    """M853."""
    if get(template.spec, "hostNetwork") is not True:
        return
    if NETWORKS in template.annotations:
        route = (*template.route, "metadata", "annotations", NETWORKS)
        message = "pods on the host's network get no other: Multus is not asked"
        yield error("M853", route, message, hint="remove `hostNetwork`, or the annotation")
    policy = get(template.spec, "dnsPolicy")
    uses_devices = bool(device_requests(template)) and kind(template.object) != "Pod"
    if policy == "ClusterFirst" or (policy != HOST_DNS and uses_devices):
        message = "pods on the host's network look names up as the host does, and find no Service"
        hint = f"write `dnsPolicy: {HOST_DNS}`"
        here = "dnsPolicy" if policy is not None else "hostNetwork"
        yield warning("M853", (*template.spec_route, here), message, hint=hint)


# Extended resources of pods: whole numbers, as many as networks, and the right to lock memory (FAB03, 06, 07).

SHARED = "rdma/"
EXCLUSIVE = ("hostdevice", "sriov", "spectrumx")
LOCK = "IPC_LOCK"


def check_devices(context: LintContext, described: NetworkIndex) -> Iterator[Diagnostic]:
    """M844, M846, M847."""
    rdma = rdma_resources(context, described)
    annotated = {each.template.route: each for each in described.attached}
    for template in context.templates:
        for route, container in containers(template):
            yield from _device_amounts(mapping(container, "resources"), (*route, "resources"))
            yield from _memory_lock(template, container, route, rdma)
        pods = annotated.get(template.route)
        if pods is None or not pods.annotation.faults:  # M842: what is refused cannot be counted
            yield from _device_counts(template, pods, described)


def _device_amounts(resources: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    """M846: the API server takes whole numbers, and a request only where it equals the limit."""
    limits = dict(extended_resources(resources, "limits"))
    for key in ("limits", "requests"):
        for device, value in extended_resources(resources, key):
            if whole_number(value) is None and (key == "limits" or limits.get(device) != value):
                message = f'{str(value)[:40]} of "{device}" is no whole number, and devices have no parts'
                yield error("M846", (*route, key, device), message, hint="such as 1")
    for device, value in extended_resources(resources, "requests"):
        requested, limit = whole_number(value), whole_number(limits.get(device))
        if device not in limits:
            message = f'"{device}" has a request and no limit; of devices the two are equal'
            yield error("M846", (*route, "requests", device), message, hint=f"add it to `limits`: {str(value)[:40]}")
        elif None not in (requested, limit) and requested != limit:
            message = f'the request of "{device}" is {str(value)[:40]} and its limit {str(limits[device])[:40]}'
            yield error("M846", (*route, "requests", device), message, hint="of devices the two are equal")


def rdma_resources(context: LintContext, described: NetworkIndex) -> frozenset[str]:
    """Resources that stand for RDMA devices whose pods need IPC_LOCK."""
    unlocked = {
        rail.resource
        for fabric in context.topology.fabrics.values()
        for rail in fabric.rails
        if fabric.ipc_lock is False or fabric.memlock or fabric.kind in ("efa", "gke")
    }
    fabric_resources = {
        rail.resource
        for each in context.topology.fabrics.values()
        for rail in each.rails
        if rail.resource and each.rails
    }
    network_resources = {each.resource for each in described.every() if each.kind == "hostdevice" and each.resource}
    return frozenset((fabric_resources | network_resources) - unlocked)


def _memory_lock(
    template: PodTemplate, container: Mapping[str, Any], route: Route, rdma: frozenset[str]
) -> Iterator[Diagnostic]:
    """M847: to register memory with a card is to lock it. `privileged` brings the right, and much else."""
    security = mapping(container, "securityContext")
    if get(security, "privileged") is True or any(
        each in (LOCK, "ALL") for each in items(security, "capabilities", "add")
    ):
        return
    lacking = rdma_devices(container, rdma)
    if lacking:
        message = f'the container asks for the RDMA device "{lacking[0]}" and may not lock memory for it'
        more = "that is enough for root alone: run it as root, or raise LimitMEMLOCK on the nodes"
        enough = "no more is needed, and nothing less works"
        hint = "add `securityContext: {capabilities: {add: [IPC_LOCK]}}`; "
        hint += enough if as_root(template.spec, container) else more
        yield error("M847", route, message, hint=hint)


def rdma_devices(container: Mapping[str, Any], rdma: frozenset[str]) -> list[str]:
    """The RDMA devices that a container asks for."""
    resources = mapping(container, "resources")
    names = {**dict(extended_resources(resources, "limits")), **dict(extended_resources(resources, "requests"))}
    return [name for name in names if name in rdma or name.startswith(SHARED)]


def _device_counts(template: PodTemplate, pods: AttachedPods | None, described: NetworkIndex) -> Iterator[Diagnostic]:
    """M844: Multus hands out a resource's devices in the order of networks; one too few, and the pod never starts."""
    requested = device_requests(template)
    networks = [each for each in pods.networks if each] if pods else []
    exclusive = Counter(_resource(each, requested) for each in networks if each.kind in EXCLUSIVE and each.resource)
    route = pods.route if pods else template.route
    for device, attached in exclusive.items():
        devices = requested.get(device, 0)
        if attached > devices:
            message = f'{count(attached, "network")} take a device of "{device}" each, and the pod asks for {devices}'
            hint = f"add {device}: {attached} to requests and limits of the container"
            yield error("M844", route, message, hint=hint)
        elif devices > attached:
            message = f'the pod asks for {devices} of "{device}" and for {count(attached, "network")} of them'
            yield error("M844", route, message, hint="ask for as many networks as devices; others stay idle")
    if get(template.spec, "hostNetwork") is not True:  # those have the cards' interfaces, and M853
        yield from _without_network(template, requested, exclusive, described)
    yield from _rdma_shares(template, requested, networks, route)


def _resource(network: DescribedNetwork, requested: Mapping[str, int]) -> str:
    """The resource as pods call it: SR-IOV networks leave the operator's prefix out."""
    if "/" in network.resource:
        return network.resource
    return next((name for name in requested if name.endswith(f"/{network.resource}")), network.resource)


def _without_network(
    template: PodTemplate, requested: Mapping[str, int], attached: Mapping[str, int], described: NetworkIndex
) -> Iterator[Diagnostic]:
    """Devices without any network: InfiniBand needs none, RoCE does. One that stands too high is M840."""
    for device in () if misplaced_annotations(template) else requested:
        owners = [each for each in described.every() if each.kind in EXCLUSIVE and each.resource == device]
        if owners and device not in attached and not any(each.link_type == "infiniband" for each in owners):
            message = f'the pod asks for "{device}" and not for its network "{owners[0].title}"'
            hint = "add the annotation k8s.v1.cni.cncf.io/networks: a card without a network interface carries no RoCE"
            yield warning("M844", template.spec_route, message, hint=hint)


def _rdma_shares(
    template: PodTemplate, requested: Mapping[str, int], networks: list[DescribedNetwork], route: Route
) -> Iterator[Diagnostic]:
    """One share brings all cards of the shared plugin's pool (k8s-rdma-shared-dev-plugin, pkg/resources/server.go)."""
    for device, number in requested.items():
        if (
            device.startswith(SHARED)
            and number > 1
            and not any(each.kind in EXCLUSIVE and each.resource == device for each in networks)
        ):
            message = f'{number} shares of "{device}" bring no more cards than one'
            yield warning("M844", template.spec_route, message, hint="ask for 1")
    for each in networks:
        if each.kind in ("macvlan", "ipoib") and each.resource and each.resource not in requested:
            message = f'the pod is on "{each.title}" and asks for no share of "{each.resource}": it gets TCP alone'
            yield warning("M844", route, message, hint=f"add {each.resource}: 1 to requests and limits")
            return


# Permissions that pods on networks need, and those that their namespace allows (FAB07, FAB08).
#
# Judged like the pods of a workflow (`checks/security.py`), by the same rules of Pod Security.

ENFORCED = ("metadata", "labels", "pod-security.kubernetes.io/enforce")
OPENSHIFT = "openshift"


def check_permissions(context: LintContext, described: NetworkIndex) -> Iterator[Diagnostic]:
    """M858 to M847, of pods that ask for networks or for RDMA devices."""
    rdma = rdma_resources(context, described)
    pods = {each.template.route for each in described.attached}
    for template in context.templates:
        pod_containers = list(containers(template))
        if template.route in pods or any(rdma_devices(container, rdma) for _, container in pod_containers):
            yield from _pod_security(template, context)
            yield from _openshift(template, context)
        for route, container in pod_containers:
            if rdma_devices(container, rdma) and LOCK in added(container) and not as_root(template.spec, container):
                message = f"the container does not run as root, so {LOCK} is of no use to it, and it may lock 8 MiB"
                hint = "raise LimitMEMLOCK of the container runtime on the nodes, and say so: `memlock: unlimited`"
                yield warning("M847", route, message, hint=hint)


def pod_security_level(context: LintContext, where: str) -> str:
    """The Pod Security level of a namespace: as its object among the manifests says, or else the topology."""
    policy = context.topology.namespaces.get(where)
    own = (text(each.data, *ENFORCED) for each in context.of("", "Namespace") if name(each) == where)
    return next(filter(None, own), policy.pod_security if policy else PRIVILEGED)


def _pod_security(template: PodTemplate, context: LintContext) -> Iterator[Diagnostic]:
    where = namespace(template.object)
    level = pod_security_level(context, where)
    violations = list(dict.fromkeys(breaches(template.spec, level))) if level in (BASELINE, RESTRICTED) else []
    for violation in violations:
        if not violation.lacking:
            message = f'namespace "{where}" is {level}, and that refuses {violation.what}'
            hint = f"label the namespace {ENFORCED[-1]}: privileged, or run in another namespace"
            yield error("M858", _place(template, violation), message, hint=hint)
    lacking = list(dict.fromkeys(violation.what for violation in violations if violation.lacking))
    if lacking:
        message = f'namespace "{where}" is {level}, and that wants said: {", ".join(lacking)}'
        yield error("M858", template.spec_route, message, hint="write it into `securityContext` of each container")


def _place(template: PodTemplate, each: Breach) -> Route:
    return (*template.spec_route, *each.path)


def _openshift(template: PodTemplate, context: LintContext) -> Iterator[Diagnostic]:
    """M858: restricted-v2, the SCC that all may use, refuses what `baseline` refuses."""
    violations = list(dict.fromkeys(breaches(template.spec, BASELINE)))
    if not violations or context.topology.platform != OPENSHIFT:
        return
    policy = context.topology.namespaces.get(namespace(template.object))
    what = ", ".join(dict.fromkeys(each.what for each in violations))
    own = text(template.spec, "serviceAccountName")
    if policy is None or not policy.scc or not policy.service_account:
        message = f"OpenShift's restricted-v2 refuses {what}"
        hint = "make a SecurityContextConstraints that allows it, and name it with its service account in the topology"
        yield error("M858", _place(template, violations[0]), message, hint=hint)
    elif own != policy.service_account:
        message = f'the pod runs as the service account "{own or "default"}", and OpenShift refuses {what} to it'
        hint = f'write `serviceAccountName: {policy.service_account}`, which the SCC "{policy.scc}" is for'
        here = ("serviceAccountName",) if get(template.spec, "serviceAccountName") is not None else ()
        yield error("M858", (*template.spec_route, *here), message, hint=hint)
