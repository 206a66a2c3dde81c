"""The annotation: where it stands, what it says, and which networks and interfaces it names (FAB01, 02, 04, 14)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Route, error, warning
from bayplan.core.phrases import count, did_you_mean, listing
from bayplan.kube.networks import NETWORKS, bad_interface, unknown_keys
from bayplan.kube.objects import get, items, kind, mapping, name, namespace, text, title
from bayplan.kube.pod import HOST_DNS
from bayplan.kube.pod_security import BASELINE, PRIVILEGED, RESTRICTED, Breach, added, as_root, breaches
from bayplan.kube.templates import Path, PodTemplate, containers
from bayplan.linting.network_scene import Asking, Known, Scene, amounts, asked, whole
from bayplan.linting.objects import LintContext

RENAMED = {"gateway": "the key is `default-route`, a list of addresses", "ip": "the key is `ips`, a list"}


def check_annotations(context: LintContext, known: Scene) -> Iterator[Diagnostic]:
    """M840 to M843, M845, M853."""
    for template in context.templates:
        yield from _above(template)
        yield from _host(template)
    yield from _members(context, known)
    for each in known.asking:
        yield from _annotation(each)
        yield from _missing(each, known)
        yield from _interfaces(each)


def _above(template: PodTemplate) -> Iterator[Diagnostic]:
    """M840: Multus reads pods, and no controller hands annotations of a Job down to them (multus-cni#404)."""
    for path in above(template):
        route: Route = (*template.object.route, *path, "metadata", "annotations", NETWORKS)
        what = title(template.object) if not path else f"{'.'.join(map(str, path))} of {title(template.object)}"
        message = f"the annotation stands on {what}, and its pods never get it"
        yield error("M840", route, message, hint="put it into `metadata.annotations` of every pod template")


def above(template: PodTemplate) -> list[Path]:
    """Where the annotation stands above a pod template."""
    paths = [template.path[:depth] for depth in range(len(template.path))]
    held = ((path, get(template.object.data, *path) if path else template.object.data) for path in paths)
    return [path for path, data in held if NETWORKS in mapping(data, "metadata", "annotations")]


def _members(context: LintContext, known: Scene) -> Iterator[Diagnostic]:
    """M841: some pods of one workload are on the networks, others with devices are not."""
    attached = {each.template.route for each in known.asking}
    by_object: dict[Route, list[PodTemplate]] = {}
    for template in context.templates:
        if template.owned:
            by_object.setdefault(template.object.route, []).append(template)
    for templates in by_object.values():
        on = [each for each in templates if each.route in attached]
        for each in templates:
            apart = get(each.spec, "hostNetwork") is True  # these can have no network of Multus (M853)
            lacking = sorted(asked(each)) if on and each not in on and not apart else []
            if lacking:
                fabric = {one.resource for one in known.every() if one.resource} & set(lacking)
                message = (
                    f"these pods ask for {listing(lacking, 'and', 3)} and for no network; others of the workload do"
                )
                hint = "a gang talks over networks that all its members have: add the annotation"
                tell = error if fabric else warning
                yield tell("M841", each.route, message, hint=hint)


def _annotation(asking: Asking) -> Iterator[Diagnostic]:
    """M842."""
    for fault in asking.annotation.faults:
        hint = "write namespace/name@interface, several with commas between, or a JSON list of mappings with `name`"
        message = f"Multus refuses the annotation, and no such pod starts: {fault}"
        yield error("M842", asking.route, message, hint=hint)
    for key in unknown_keys(asking.annotation.selections):
        message = f'Multus has no key "{key}" and ignores it'
        yield warning("M842", asking.route, message, hint=RENAMED.get(key, "") or "take it out")


def _missing(asking: Asking, known: Scene) -> Iterator[Diagnostic]:
    """M843: where some networks are described, one that is not among them."""
    titles = [each.title for each in known.every()]
    for selection, found in zip(asking.annotation.selections, asking.found, strict=False):
        if found is not None or not titles:
            continue
        home = namespace(asking.template.object)
        elsewhere = [each.title for each in known.by_name.get(selection.name, ())]
        if elsewhere:
            where = f'namespace "{selection.namespace or home}"'
            message = f'"{selection.name}" is asked for in {where}, and it is {listing(elsewhere)}'
            yield error("M843", asking.route, message, hint=f"write {elsewhere[0]}")
            continue
        near = did_you_mean(selection.title, titles) or did_you_mean(selection.name, known.by_name)
        message = f'nobody describes a network "{selection.title}"'
        hint = near or f"described: {listing(sorted(titles), 'and', 4)}"
        yield (error if near else warning)("M843", asking.route, message, hint=hint)


def _interfaces(asking: Asking) -> Iterator[Diagnostic]:
    """M845."""
    seen: set[str] = set()
    for name in asking.annotation.interfaces():
        why = bad_interface(name) or ("is given to two networks" if name in seen else "")
        seen.add(name)
        if why:
            message = f'the interface "{name}" {why}'
            yield error("M845", asking.route, message, hint="give each network one of its own, such as net1 and net2")


def _host(template: PodTemplate) -> Iterator[Diagnostic]:
    """M853."""
    if get(template.spec, "hostNetwork") is not True:
        return
    if NETWORKS in template.annotations:
        route = (*template.route, "metadata", "annotations", NETWORKS)
        message = "pods on the host's network get no other: Multus is not asked"
        yield error("M853", route, message, hint="remove `hostNetwork`, or the annotation")
    policy = get(template.spec, "dnsPolicy")
    meets = bool(asked(template)) and kind(template.object) != "Pod"
    if policy == "ClusterFirst" or (policy != HOST_DNS and meets):
        message = "pods on the host's network look names up as the host does, and find no Service"
        hint = f"write `dnsPolicy: {HOST_DNS}`"
        here = "dnsPolicy" if policy is not None else "hostNetwork"
        yield warning("M853", (*template.spec_route, here), message, hint=hint)


# Extended resources of pods: whole numbers, as many as networks, and the right to lock memory (FAB03, 06, 07).

SHARED = "rdma/"
EXCLUSIVE = ("hostdevice", "sriov", "spectrumx")
LOCK = "IPC_LOCK"


def check_devices(context: LintContext, known: Scene) -> Iterator[Diagnostic]:
    """M844, M846, M847."""
    rdma = verbs(context, known)
    annotated = {each.template.route: each for each in known.asking}
    for template in context.templates:
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


def verbs(context: LintContext, known: Scene) -> frozenset[str]:
    """Resources that stand for RDMA devices whose pods need IPC_LOCK."""
    free = {
        rail.resource
        for fabric in context.topology.fabrics.values()
        for rail in fabric.rails
        if fabric.ipc_lock is False or fabric.memlock or fabric.kind in ("efa", "gke")
    }
    of_fabrics = {
        rail.resource
        for each in context.topology.fabrics.values()
        for rail in each.rails
        if rail.resource and each.rails
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


# What pods on networks may do, against what their namespace lets in (FAB07, FAB08).
#
# Judged like the pods of a workflow (`checks/security.py`), by the same rules of Pod Security.

ENFORCED = ("metadata", "labels", "pod-security.kubernetes.io/enforce")
OPENSHIFT = "openshift"


def check_permissions(context: LintContext, known: Scene) -> Iterator[Diagnostic]:
    """M858 to M860, of pods that ask for networks or for RDMA devices."""
    rdma = verbs(context, known)
    asking = {each.template.route for each in known.asking}
    for template in context.templates:
        found = list(containers(template))
        if template.route in asking or any(needy(container, rdma) for _, container in found):
            yield from _level(template, context)
            yield from _openshift(template, context)
        for route, container in found:
            if needy(container, rdma) and LOCK in added(container) and not as_root(template.spec, container):
                message = f"the container does not run as root, so {LOCK} is of no use to it, and it may lock 8 MiB"
                hint = "raise LimitMEMLOCK of the container runtime on the nodes, and say so: `memlock: unlimited`"
                yield warning("M860", route, message, hint=hint)


def level(context: LintContext, where: str) -> str:
    """The Pod Security level of a namespace: as its object among the manifests says, or else the topology."""
    known = context.topology.namespaces.get(where)
    own = (text(each.data, *ENFORCED) for each in context.of("", "Namespace") if name(each) == where)
    return next(filter(None, own), known.pod_security if known else PRIVILEGED)


def _level(template: PodTemplate, context: LintContext) -> Iterator[Diagnostic]:
    where = namespace(template.object)
    asked = level(context, where)
    found = list(dict.fromkeys(breaches(template.spec, asked))) if asked in (BASELINE, RESTRICTED) else []
    for each in found:
        if not each.lacking:
            message = f'namespace "{where}" is {asked}, and that refuses {each.what}'
            hint = f"label the namespace {ENFORCED[-1]}: privileged, or run in another namespace"
            yield error("M858", _place(template, each), message, hint=hint)
    lacking = list(dict.fromkeys(each.what for each in found if each.lacking))
    if lacking:
        message = f'namespace "{where}" is {asked}, and that wants said: {", ".join(lacking)}'
        yield error("M858", template.spec_route, message, hint="write it into `securityContext` of each container")


def _place(template: PodTemplate, each: Breach) -> Route:
    return (*template.spec_route, *each.path)


def _openshift(template: PodTemplate, context: LintContext) -> Iterator[Diagnostic]:
    """M859: restricted-v2, the SCC that all may use, refuses what `baseline` refuses."""
    found = list(dict.fromkeys(breaches(template.spec, BASELINE))) if context.topology.platform == OPENSHIFT else []
    if not found:
        return
    known = context.topology.namespaces.get(namespace(template.object))
    what = ", ".join(dict.fromkeys(each.what for each in found))
    own = text(template.spec, "serviceAccountName")
    if known is None or not known.scc or not known.service_account:
        message = f"OpenShift's restricted-v2 refuses {what}"
        hint = "make a SecurityContextConstraints that allows it, and name it with its service account in the topology"
        yield error("M859", _place(template, found[0]), message, hint=hint)
    elif own != known.service_account:
        message = f'the pod runs as the service account "{own or "default"}", and OpenShift refuses {what} to it'
        hint = f'write `serviceAccountName: {known.service_account}`, which the SCC "{known.scc}" is for'
        here = ("serviceAccountName",) if get(template.spec, "serviceAccountName") is not None else ()
        yield error("M859", (*template.spec_route, *here), message, hint=hint)
