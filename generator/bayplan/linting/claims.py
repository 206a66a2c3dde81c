"""Rules for claims of pods (DRA), their API versions and driver configurations, and for ComputeDomains."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Note, Route, error, info, warning
from bayplan.core.phrases import count, did_you_mean, suggest
from bayplan.kube.objects import get, items, kind, mapping, name, named, namespace, number_in, text, title
from bayplan.kube.templates import PodTemplate, containers
from bayplan.kube.vendors import names
from bayplan.linting.objects import CHANNEL, LintContext, grouped, in_namespace, same_namespace
from bayplan.model.manifest import Object
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology, Pool

API = "resource.k8s.io"
SERVED_SINCE = {"v1beta2": "1.33", "v1": "1.34"}
"""API version -> the first Kubernetes version that serves it. All known versions serve v1beta1."""

REMOVED = ("v1alpha1", "v1alpha2")
CLASSIC = "gpu.resource.nvidia.com"
"""The API group of the driver's first kinds, such as GpuClaimParameters. No release since 25.3 has them."""

OBSOLETE_CLASSES = {"imex.nvidia.com": "compute-domain-default-channel.nvidia.com through a ComputeDomain"}
SHARING = {"TimeSlicing": "TimeSlicingSettings", "MPS": "MPSSupport"}
"""Strategy -> the driver's feature gate, alpha and off by default (pkg/featuregates/featuregates.go, v25.3 to v0.4)."""

CONFIGS: Mapping[str, tuple[str, ...]] = {
    "GpuConfig": ("sharing",),
    "MigDeviceConfig": ("sharing",),
    "VfioDeviceConfig": ("iommu",),
    "ComputeDomainChannelConfig": ("domainID", "allocationMode"),
    "ComputeDomainDaemonConfig": ("domainID",),
}
"""Kind -> its fields (NVIDIA DRA driver, api/nvidia.com/resource/v1beta1). It prepares no claim with other fields."""


def check(context: LintContext) -> Iterator[Diagnostic]:
    """M780, M804, M813: claims that pods declare and use, and the API versions of claims."""
    for template in context.templates:
        yield from _claim_use(template)
    for one in context.among([each for each in context.kinds if each[0] in (API, CLASSIC)]):
        yield from _api_version(one, context.target)


def claims(template: PodTemplate) -> Iterator[tuple[Route, Mapping[str, Any]]]:
    """The entries of `resourceClaims` of a pod template, with their routes."""
    for index, each in enumerate(items(template.spec, "resourceClaims")):
        if isinstance(each, Mapping):
            yield (*template.spec_route, "resourceClaims", index), each


def _claim_use(template: PodTemplate) -> Iterator[Diagnostic]:
    """M804: a container gets a device only if both the pod and the container name the claim."""
    declared = {text(each, "name"): route for route, each in claims(template) if text(each, "name")}
    used: set[str] = set()
    for route, container in containers(template):
        for index, each in enumerate(items(container, "resources", "claims")):
            name = text(each, "name")
            used.add(name)
            if name and name not in declared:
                message = f'container "{text(container, "name")}" uses claim "{name}", which the pod does not declare'
                hint = suggest(name, declared, "declared") or "add it to `resourceClaims` of the pod"
                yield error("M804", (*route, "resources", "claims", index, "name"), message, hint=hint)
    in_pod_group = bool(mapping(template.spec, "schedulingGroup"))  # since 1.36 it may have claims that pods only name
    for name, route in declared.items():
        if name not in used and not in_pod_group:
            message = f'the pod declares claim "{name}", but no container uses it'
            hint = f"add `resources: {{claims: [{{name: {name}}}]}}` to the container that needs the devices"
            yield error("M804", (*route, "name"), message, hint=hint)


def _api_version(one: Object, target: Target) -> Iterator[Diagnostic]:
    version = text(one.data, "apiVersion").rpartition("/")[2]
    route: Route = (*one.route, "apiVersion")
    served = next((each for each in ("v1", "v1beta2") if target.since("kubernetes", SERVED_SINCE[each])), "v1beta1")
    served = f"{API}/{served}"
    if version in REMOVED:
        message = f"no Kubernetes version that bayplan knows serves {text(one.data, 'apiVersion')}"
        yield error("M780", route, message, hint=f"rewrite the object for {served}")
        return
    if version in SERVED_SINCE and not target.since("kubernetes", SERVED_SINCE[version]):
        message = f"Kubernetes {target.version('kubernetes')} does not serve {API}/{version}"
        yield error("M780", route, message, hint=f"use {served} and its fields")
    yield from _requests(one, version)


def devices_path(one: Object) -> Route:
    """The path of `devices` in a ResourceClaim or a ResourceClaimTemplate."""
    return ("spec", "spec", "devices") if kind(one) == "ResourceClaimTemplate" else ("spec", "devices")


def device_requests(one: Object) -> Iterator[tuple[Route, Any]]:
    """The requests of a ResourceClaim or a ResourceClaimTemplate, with their routes."""
    path: Route = (*devices_path(one), "requests")
    return (((*one.route, *path, index), each) for index, each in enumerate(items(one.data, *path)))


def device_classes(one: Object) -> Iterator[tuple[Route, str]]:
    """The device classes that a claim requests, in both forms, with their routes."""
    for route, each in device_requests(one):
        for path in (("deviceClassName",), ("exactly", "deviceClassName")):
            yield (*route, *path), text(each, *path)


def _requests(one: Object, version: str) -> Iterator[Diagnostic]:
    for route, each in device_requests(one):
        flat = get(each, "deviceClassName") is not None
        if flat and version in ("v1", "v1beta2"):
            hint = "write `exactly: {deviceClassName: ...}`, and move the selectors and the count into it"
            yield error(
                "M780", (*route, "deviceClassName"), f"{API}/{version} has no `deviceClassName` here", hint=hint
            )
        if version == "v1beta1" and get(each, "exactly") is not None:
            message = f"{API}/v1beta1 has no `exactly`"
            yield error("M780", (*route, "exactly"), message, hint="move its fields up, next to `name`")
    for route, device_class in device_classes(one):
        if device_class in OBSOLETE_CLASSES:
            message = f'the driver no longer has DeviceClass "{device_class}"'
            yield error("M780", route, message, hint=f"claim {OBSOLETE_CLASSES[device_class]}")
    path = (*devices_path(one), "config")
    for index, each in enumerate(items(one.data, *path)):
        yield from _config(get(each, "opaque"), (*one.route, *path, index, "opaque"))


def _config(opaque: object, route: Route) -> Iterator[Diagnostic]:
    """M813: NVIDIA's driver decodes its parameters strictly when the pod starts."""
    if not text(opaque, "driver").endswith("nvidia.com"):
        return
    own, place = mapping(opaque, "parameters"), (*route, "parameters")
    kind = text(own, "kind")
    if kind not in CONFIGS:
        hint = did_you_mean(kind, CONFIGS)
        yield error("M813", (*place, "kind"), f'the driver has no configuration kind "{kind}"', hint=hint)
        return
    for key in own:
        if key not in ("apiVersion", "kind", *CONFIGS[kind]):
            message = f'{kind} has no field "{key}", so the driver prepares no device'
            yield error("M813", (*place, key), message, hint=did_you_mean(key, CONFIGS[kind]))
    strategy = text(own, "sharing", "strategy")
    if own.get("sharing") is not None:
        gate = SHARING.get(strategy)
        if gate is None:
            message = f'the driver has no sharing strategy "{strategy}"'
            yield warning("M813", (*place, "sharing"), message, hint="set `strategy` to TimeSlicing or MPS")
        else:
            message = f"the driver refuses {strategy} unless its feature gate {gate} is on"
            yield info(
                "M813", (*place, "sharing"), message, hint=f"check that {gate} is on: it is alpha and off by default"
            )


# ComputeDomains, the channel templates that their controller creates, and the pods that claim channels.
#
# Sources: NVIDIA DRA driver 25.3 to 0.4, api/nvidia.com/resource/v1beta1, cmd/compute-domain-controller and
# cmd/compute-domain-kubelet-plugin.

COMPUTE_DOMAINS_API = "resource.nvidia.com"
CLASS = "compute-domain-default-channel.nvidia.com"
NODE_LABEL = "resource.nvidia.com/computeDomain"
MODES = ("All", "Single")
GPU = "nvidia.com/gpu"
MISSING = "add the template, or pass the file that makes it: without it the pods stay pending"


def domains(context: LintContext) -> Sequence[Object]:
    """The ComputeDomains."""
    return context.of(COMPUTE_DOMAINS_API, "ComputeDomain")


def channel(domain: Object) -> str:
    """The name of the claim template that the controller creates for a ComputeDomain."""
    return text(domain.data, *CHANNEL)


def claimed(context: LintContext, template: PodTemplate) -> list[tuple[Route, Object]]:
    """The ComputeDomains of which the pods of a template claim a channel, with the routes of the claims."""
    domains_claimed = []
    for route, each in claims(template):
        requested = text(each, "resourceClaimTemplateName")
        own_claims = in_namespace(context.channels.get(requested, ()) if requested else (), namespace(template.object))
        domains_claimed += [(route, one) for one in list(own_claims)[:1]]
    return domains_claimed


def claimants(context: LintContext) -> Mapping[Route, Sequence[PodTemplate]]:
    """Route of a ComputeDomain -> the templates whose pods claim a channel of it."""
    pairs = [(domain.route, template) for template in context.templates for _, domain in claimed(context, template)]
    return {route: [template for _, template in same] for route, same in grouped(lambda pair: pair[0], pairs).items()}


def check_compute_domains(context: LintContext) -> Iterator[Diagnostic]:
    """M800, M807, M809, M812, M813: ComputeDomains and the pods that claim their channels."""
    for domain in domains(context):
        yield from _domain_fields(domain, context)
    yield from _template_clashes(context)
    for template in context.templates:
        yield from _missing_templates(context, template)
        yield from _driver_label(template)
        own_claims = claimed(context, template)
        yield from _two_channels(own_claims)
        if own_claims:
            yield from _part_of_a_node(template, own_claims[0][0], context.topology)
    claims_of = claimants(context)
    for domain in domains(context):
        yield from _node_count(domain, claims_of.get(domain.route, []), context)


def _domain_fields(domain: Object, context: LintContext) -> Iterator[Diagnostic]:
    """M807, M813: fields that the driver's release does not have, or requires."""
    spec, since = get(domain.data, "spec"), context.target.since
    if not channel(domain):
        message = f"the channel of {title(domain)} names no claim template"
        hint = "add `channel: {resourceClaimTemplate: {name: ...}}`, and claim that template in the pods"
        yield error("M813", (*domain.route, "spec", "channel"), message, hint=hint)
    mode = get(spec, "channel", "allocationMode")
    if mode is not None and not since("draDriver", "25.8"):
        message = f"driver {context.target.version('draDriver')} drops `allocationMode`"
        hint = "remove it, or install driver 25.8 or later"
        yield warning("M813", (*domain.route, "spec", "channel", "allocationMode"), message, hint=hint)
    elif mode is not None and mode not in MODES:
        message = f'`allocationMode` is "{mode}", but the driver accepts only All and Single'
        hint = did_you_mean(str(mode), MODES)
        yield error("M813", (*domain.route, "spec", "channel", "allocationMode"), message, hint=hint)
    if get(spec, "numNodes") is None and not since("draDriver", "0.4"):
        message = f"{title(domain)} has no `numNodes`, but driver {context.target.version('draDriver')} requires it"
        hint = "set 0" if since("draDriver", "25.8") else "set the number of its nodes"
        yield error("M807", (*domain.route, "spec"), message, hint=hint)


def _template_clashes(context: LintContext) -> Iterator[Diagnostic]:
    """M800: the controller creates the template, and fails if it already exists."""
    for domain in domains(context):
        same = context.channels[channel(domain)] if channel(domain) else ()
        for other in same[: next((n for n, each in enumerate(same) if each is domain), 0)]:
            if same_namespace(namespace(domain), namespace(other)):
                message = f'two ComputeDomains name the claim template "{channel(domain)}"'
                note = Note("the other ComputeDomain names it here", (*other.route, *CHANNEL))
                hint = "name another template in one of them"
                yield error("M800", (*domain.route, *CHANNEL), message, hint=hint, notes=(note,))
                break
    for template in context.of("resource.k8s.io", "ResourceClaimTemplate"):
        makers = list(
            in_namespace(context.channels.get(name(template), ()) if name(template) else (), namespace(template))
        )
        if makers:
            message = f"{title(template)} conflicts with {title(makers[0])}, which creates a template of that name"
            note = Note("the ComputeDomain names it here", (*makers[0].route, *CHANNEL))
            hint = "remove the template: while it exists, the driver's controller fails and creates no channel"
            yield error("M800", named(template), message, hint=hint, notes=(note,))
        else:
            yield from _handmade_channel(template)


def _handmade_channel(template: Object) -> Iterator[Diagnostic]:
    """M800: a channel belongs to a ComputeDomain, whose UID only the controller knows."""
    for route, device_class in device_classes(template):
        if device_class == CLASS:
            message = f"{title(template)} requests a channel that belongs to no ComputeDomain"
            hint = "write a ComputeDomain instead, and claim the template that its `channel` names"
            yield warning("M800", route, message, hint=hint)


def _missing_templates(context: LintContext, template: PodTemplate) -> Iterator[Diagnostic]:
    """M800: claims of templates that nothing makes, or that are in another namespace."""
    where, claim_template = namespace(template.object), ("resource.k8s.io", "ResourceClaimTemplate")
    for route, each in claims(template):
        requested, here = text(each, "resourceClaimTemplateName"), (*route, "resourceClaimTemplateName")
        elsewhere = [*context.channels.get(requested, ()), *context.names.get((*claim_template, requested), ())]
        if not requested or any(in_namespace(elsewhere, where)):
            continue
        if elsewhere:
            other = namespace(elsewhere[0])
            message = f'the claim template "{requested}" is in namespace "{other}", but the pods are in "{where}"'
            note = Note("this object makes it", named(elsewhere[0]))
            yield error("M800", here, message, hint=f'move it to namespace "{where}"', notes=(note,))
        else:
            message = f'nothing in the manifests makes the claim template "{requested}"'
            known_templates = {
                *map(channel, in_namespace(domains(context), where)),
                *map(name, in_namespace(context.of(*claim_template), where)),
            }
            near = did_you_mean(requested, known_templates)
            yield warning("M800", here, message, hint=near or MISSING)


def _two_channels(own_claims: Sequence[tuple[Route, Object]]) -> Iterator[Diagnostic]:
    """M809: a node has one channel for all ComputeDomains."""
    if len(own_claims) > 1:
        names = " and ".join(title(one) for _, one in own_claims[:2])
        message = f"the pods claim channels of {names}, but a node has only one channel"
        note = Note("the other claim is here", own_claims[0][0])
        yield error("M809", own_claims[1][0], message, hint="keep one of the claims", notes=(note,))


def _driver_label(template: PodTemplate) -> Iterator[Diagnostic]:
    """M812: the driver's kubelet plugin adds the label to a node and removes it."""
    for key, held in (("nodeSelector", mapping(template.spec, "nodeSelector")), ("metadata", template.labels)):
        if NODE_LABEL in held:
            route = template.spec_route if key == "nodeSelector" else template.route
            place = (*route, key, NODE_LABEL) if key == "nodeSelector" else (*route, key, "labels", NODE_LABEL)
            message = f'only the driver sets "{NODE_LABEL}", when it prepares a claim on a node'
            yield error("M812", place, message, hint="remove it: no node has the label before the pod starts")


def _part_of_a_node(template: PodTemplate, claim: Route, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """M809: the pod with the channel should have all GPUs, because no other pod can use them with NVLink."""
    pools = [pool for pool in allowed_pools(template, topology) if any(level.nvlink for level in pool.levels)]
    whole = min((pool.node.accelerators for pool in pools if pool.node.accelerators), default=0)
    requested = gpus(template, {GPU, *(names(each).cards for each in topology.accelerators.values())})
    if not whole or requested is None or requested >= whole:
        return
    message = f"the pod claims the only channel of its node, but requests only {requested} of the {whole} GPUs"
    hint = "request all GPUs of the node: no other pod there can get a channel"
    yield warning("M809", claim, message, hint=hint)


def gpus(template: PodTemplate, resources: Collection[str] = (GPU,)) -> int | None:
    """The GPUs that a pod requests as extended resources; None if claims may add others, or if one is not a number."""
    if len(items(template.spec, "resourceClaims")) > 1:
        return None
    total = 0
    for route, container in containers(template):
        if "initContainers" in route:
            continue
        amounts = {**mapping(container, "resources", "requests"), **mapping(container, "resources", "limits")}
        for requested in (amounts[key] for key in amounts.keys() & resources):
            if not str(requested).isdecimal():
                return None
            total += int(str(requested)[:9])
    return total


def allowed_pools(template: PodTemplate, topology: ClusterTopology) -> list[Pool]:
    """The pools that the nodeSelector of the pods allows."""
    own = mapping(template.spec, "nodeSelector")
    return [
        pool
        for pool in topology.pools
        if all(own.get(key, value) == value for key, value in pool.node.node_selector.items())
    ]


def _node_count(domain: Object, claimants: Sequence[PodTemplate], context: LintContext) -> Iterator[Diagnostic]:
    """M807: a node has one claiming pod, so there must be as many nodes as pods."""
    requested = number_in(domain.data, "spec", "numNodes")
    counts = [each.pods for each in claimants]
    if requested is None or not claimants or None in counts:
        return
    pods = sum(each for each in counts if each is not None)
    claiming = "1 pod claims" if pods == 1 else f"{pods} pods claim"
    route: Route = (*domain.route, "spec", "numNodes")
    if context.target.since("draDriver", "25.8"):
        if requested not in (0, pods):
            message = f"{title(domain)} has `numNodes: {requested}`, but {claiming} a channel"
            hint = "set 0: since driver 25.8, the number only decides when the status is Ready"
            yield warning("M807", route, message, hint=hint)
    elif requested != pods:
        message = f"{title(domain)} waits for {count(requested, 'node')}, but {claiming} a channel"
        hint = f"set {pods}: below driver 25.8, no pod starts before exactly that many nodes have joined"
        yield error("M807", route, message, hint=hint)
