"""Shares of cards and policies that a podSet requests, compared with what its accelerator's allocator can do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan import fabrics
from bayplan.accelerators import PARTS
from bayplan.core.diagnostics import Diagnostic, Route, error, info
from bayplan.core.phrases import listing
from bayplan.kube.objects import get
from bayplan.kube.pod import combine, own_parts, template
from bayplan.model.manifest import PodParts
from bayplan.model.plan import allocator
from bayplan.model.target import Target
from bayplan.model.topology import AcceleratorKind, ClusterTopology, Pool
from bayplan.model.workflow import Accelerator, Place, PodSet, Workflow, pod_sets
from bayplan.planning.pools import pools_of

CODES: Mapping[str, str] = {
    "privileged": "W559",
    "scheduler": "W559",
    "policy": "W559",
    "idle": "W559",
    "unknown": "W559",
    "twice": "W559",
    "amount": "W551",
    "chip": "W551",
    "choice": "W555",
    "half": "W555",
}
"""Family of rules (`accelerators/hami_rules.py`) -> code."""

HINTS = {
    "warning": "set `node: spread`, which takes the node whose free GPUs have the best links",
    "info": "set `node: binpack`, which leaves well-linked GPUs to pods that need them",
}
"""Severity of a finding about MetaX's node policy -> the hint, in the words of a workflow."""

HAMI = "hami"


def check(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """W550, W551, W563, W565, P552. Whole cards without a policy need no check here."""
    for place in pod_sets(workflow):
        accelerator = place.pods.accelerator
        kind = topology.accelerators.get(accelerator.name) if accelerator else None
        if accelerator and accelerator.selectors:
            yield from _selectors(accelerator, (*place.route, "accelerator", "selectors"))
        if accelerator and kind and _special(accelerator):
            route: Route = (*place.route, "accelerator")
            yield from _shares(accelerator, kind, route)
            yield from _profile(accelerator, kind, route)
            yield from _policies(accelerator, kind, route)
    if any(_special(place.pods.accelerator) for place in pod_sets(workflow)):
        yield from _on_nodes(workflow, topology)


def _selectors(accelerator: Accelerator, route: Route) -> Iterator[Diagnostic]:
    from bayplan.kube import validation as cel

    for number, text in enumerate(accelerator.selectors):
        if why := cel.fault(text):
            yield error("W565", (*route, number), f"the CEL expression is not valid: {why}", hint="correct it")


def _special(accelerator: Accelerator | None) -> bool:
    return accelerator is not None and (not accelerator.whole or accelerator.has_policy)


def _shares(accelerator: Accelerator, kind: AcceleratorKind, route: Route) -> Iterator[Diagnostic]:
    way = allocator(accelerator, kind)
    for key in ("memory", "cores"):
        if getattr(accelerator, key) and way != HAMI:
            message = f'allocator "{way}" gives only whole devices, and `{key}` requests a share of each; only HAMi can'
            yield error("W550", (*route, key), message, hint=_other(kind, "request whole devices"))
    if way == HAMI and (accelerator.memory or accelerator.cores):
        from bayplan.accelerators import hami as shares

        for rule, key, message, hint in shares.faults(accelerator, kind):
            yield error(rule, (*route, key), message, hint=hint)


def _other(kind: AcceleratorKind, else_: str) -> str:
    return f"add `allocator: {HAMI}`" if HAMI in kind.allocators else else_


def _profile(accelerator: Accelerator, kind: AcceleratorKind, route: Route) -> Iterator[Diagnostic]:
    at, way = (*route, "profile"), allocator(accelerator, kind)
    if not accelerator.profile:
        return
    if accelerator.memory or accelerator.cores:
        message = "`profile` cannot be combined with `memory` or `cores`: a MIG slice has its own"
        yield error("W551", at, message, hint="remove `profile`, or remove `memory` and `cores`")
    elif kind.vendor != "nvidia":
        yield error("W551", at, f"devices of {kind.vendor} have no MIG profiles", hint="remove `profile`")
    elif way == HAMI:
        message = "HAMi does not take a `profile`: it chooses the profile by the requested memory"
        hint = "set `memory`, and add the annotation nvidia.com/vgpu-mode: mig to the podSet's `template`"
        yield error("W551", at, message, hint=hint)
    elif kind.profile and kind.profile != accelerator.profile:
        message = f'the podSet requests {accelerator.profile}; the devices of "{kind.name}" have only {kind.profile}'
        yield error("W551", at, message, hint=f"set {kind.profile}, or name another accelerator")


POLICIES = ("node", "cards", "links", "app_class", "qos")
KEYS = {"app_class": "appClass"}


def _policies(accelerator: Accelerator, kind: AcceleratorKind, route: Route) -> Iterator[Diagnostic]:
    way = allocator(accelerator, kind)
    for field in POLICIES:
        value, key = getattr(accelerator, field), KEYS.get(field, field)
        if value and way != HAMI:
            if field == "links" and value == "best" and way == "device-plugin" and kind.vendor == "nvidia":
                continue  # the plugin itself prefers linked cards (`k8s-device-plugin`, GetPreferredAllocation)
            message = f'allocator "{way}" has no policies: only HAMi understands `{key}`'
            yield error("W550", (*route, key), message, hint=_other(kind, "remove it"))
        elif value:
            yield from _policy(field, value, accelerator, kind, (*route, key))


def _policy(field: str, value: str, accelerator: Accelerator, kind: AcceleratorKind, at: Route) -> Iterator[Diagnostic]:
    from bayplan.accelerators import hami as policies
    from bayplan.kube.vendors import SGPU, names

    if field in ("app_class", "qos") and names(kind).cards != SGPU:
        message = f"`{at[-1]}` is only for shared GPUs of MetaX ({SGPU})"
        yield error("W550", at, message, hint="remove it")
    elif field == "links" and value in ("guaranteed", "restricted") and accelerator.per_pod > 1:
        message = f"`links: {value}` cannot be guaranteed: HAMi prefers linked devices, and uses others otherwise"
        yield error("W550", at, message, hint="set `links: best`")
    elif field == "links" and kind.vendor not in (*policies.LINKED, "metax"):
        message = f"HAMi does not know the links between devices of {kind.vendor}"
        yield error("W550", at, message, hint="remove it")
    elif field == "links" and accelerator.node == "binpack" and policies.linked_by_node(kind):
        message = "`links` and `node: binpack` contradict each other: binpack leaves the best links to other pods"
        yield error("W550", at, message, hint="set `node: spread`, or remove `links`")
    elif field == "links" and accelerator.cards and kind.vendor in policies.LINKED:
        message = f"`links` and `cards: {accelerator.cards}` both choose the devices of a node"
        yield error("W550", at, message, hint="remove one of them")
    elif field == "cards" and policies.linked_by_node(kind) and value != "mutex":
        message = f"`cards: {value}` has no effect: MetaX's device plugin chooses whole GPUs, and HAMi only the node"
        yield error("W550", at, message, hint="remove it; `node` chooses the node")


def _on_nodes(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """Findings that depend on the nodes of the podSet's pool."""
    for place, pool in _pools(workflow, topology):
        accelerator, route = place.pods.accelerator, (*place.route, "accelerator")
        kind = topology.accelerators.get(accelerator.name) if accelerator else None
        if not accelerator or not kind:
            continue
        if (accelerator.memory or accelerator.cores) and accelerator.per_pod > pool.node.accelerators > 0:
            has = pool.node.accelerators
            message = f"a pod requests a share of each of {accelerator.per_pod} devices; a node of the pool has {has}"
            hint = "request larger shares of fewer devices: the shares of one pod are on different devices"
            yield error("P552", (*route, "count"), message, hint=hint)
        yield from _slices(accelerator, kind, pool, route)
        largest = max(map(len, kind.link_zones), default=0)
        if accelerator.links and 0 < largest < accelerator.per_pod < pool.node.accelerators:
            message = f"a pod requests {accelerator.per_pod} devices; at most {largest} devices of a node are linked"
            yield info("W563", (*route, "count"), message, hint=f"request {largest} or fewer, so that all are linked")


def _slices(accelerator: Accelerator, kind: AcceleratorKind, pool: Pool, route: Route) -> Iterator[Diagnostic]:
    from bayplan import accelerators as mig

    counted = accelerator.profile and not kind.profile and kind.vendor == "nvidia"
    if not counted or allocator(accelerator, kind) != "device-plugin":
        return
    name = mig.slice_resource(accelerator, kind)
    offered = [each for each in pool.node.resources if each.startswith(mig.PREFIX)]
    if name not in offered:
        has = f"it has {listing(offered, 'and')}" if offered else "it has no MIG slices"
        slices = f'`node: {{resources: {{"{name}": NUMBER}}}}`'
        hint = f"add the number on a node to the pool, {slices}, or request another profile"
        yield error("W551", (*route, "profile"), f'pool "{pool.name}" does not have "{name}"; {has}', hint=hint)


def _pools(workflow: Workflow, topology: ClusterTopology) -> Iterator[tuple[Place, Pool]]:
    names = pools_of(workflow, topology)
    for place in pod_sets(workflow):
        pool = topology.pool(names.get(place.route, ""))
        if pool:
            yield place, pool


def check_pods(workflow: Workflow, topology: ClusterTopology, target: Target, scheduler: str) -> Iterator[Diagnostic]:
    """W551, W555, W559: the generated pods, compared with HAMi's own rules."""
    if not any(HAMI in kind.allocators for kind in topology.accelerators.values()):
        return
    from bayplan.accelerators.hami_rules import faults, hami_pod
    from bayplan.planning.bind import filled_from_node

    for place, pool in _pools(workflow, topology):
        spec = filled_from_node(place.pods, pool)
        accelerator = spec.accelerator
        kind = topology.accelerators.get(accelerator.name) if accelerator else None
        if accelerator and kind and allocator(accelerator, kind) == HAMI:
            network = _network(spec, topology, pool)
            parts = combine(own_parts(spec, pool, ""), PARTS[HAMI](accelerator, kind, ""), network)
            for fault in faults(hami_pod(template(spec, pool, parts, ()), topology.accelerators.values(), target)):
                if fault.rule == "choice" and accelerator.per_pod >= pool.node.accelerators:
                    continue  # a pod that takes all cards of a node has their links too
                if fault.rule in AMONG_NODES and _placed(scheduler, kind):
                    continue  # F762 reports it where the workflow requests a policy
                ours = fault.rule == "privileged" and network.privileged
                route = (*place.route, "fabric") if ours else _place(fault.path, place, pool, topology, kind)
                hint = HINTS.get(fault.severity, "") if fault.rule == "choice" else fault.hint
                message = fault.message
                if "template" not in route:
                    message, hint = _spoken(message, accelerator, kind), _spoken(hint, accelerator, kind)
                yield Diagnostic(CODES[fault.rule], fault.severity, message, route, hint=hint)


def _network(spec: PodSet, topology: ClusterTopology, pool: Pool) -> PodParts:
    """What the fabric adds to the pods."""
    request = fabrics.fabric_request(spec, topology, pool=pool.name)
    if request is None:
        return PodParts()
    from bayplan.fabrics import kinds

    return kinds.parts(request)


AMONG_NODES = ("choice", "half")
"""Families of rules about the choice of nodes. They do not apply where another scheduler chooses the node."""


def _placed(scheduler: str, kind: AcceleratorKind) -> bool:
    """Whether the scheduler chooses the node before HAMi."""
    from bayplan.accelerators import matrix

    return any(matrix.catches(scheduler, kind.vendor, HAMI, frozenset({"node"})))


def _place(path: Route, place: Place, pool: Pool, topology: ClusterTopology, kind: AcceleratorKind) -> Route:
    """The source of a part of the pod: the podSet's template, its pool's template, or its accelerator."""
    if path[:2] == ("spec", "containers") or get(place.pods.template, *path) is None:
        for owner, data in (
            ((*place.route, "template"), place.pods.template),
            (("topology", "spec", "pools", topology.pools.index(pool), "template"), pool.template),
        ):
            written = _written(data, path)
            if written:
                return (*owner, *written)
        accelerator = place.pods.accelerator
        key = _words(accelerator, kind).get(str(path[-1])) if accelerator else None
        return (*place.route, "accelerator", *((key,) if key else ())) if accelerator else (*place.route, "wholeNode")
    return (*place.route, "template", *path)


def _words(accelerator: Accelerator, kind: AcceleratorKind) -> Mapping[str, str]:
    """Name of a resource or an annotation -> the key of the accelerator that it comes from."""
    from bayplan.accelerators.hami import CARDS, NODE, SGPU_CLASS, SGPU_QOS, SGPU_TOPOLOGY
    from bayplan.kube.vendors import names

    own = names(kind)
    keys = (
        (SGPU_TOPOLOGY, "links", accelerator.links),
        (SGPU_CLASS, "appClass", accelerator.app_class),
        (SGPU_QOS, "qos", accelerator.qos),
        (NODE, "links", accelerator.links),
        (NODE, "node", accelerator.node),
        (CARDS, "links", accelerator.links),
        (CARDS, "cards", accelerator.cards),
        (own.percentage, "memory", accelerator.memory),
        (own.memory, "memory", accelerator.memory),
        (own.cores, "cores", accelerator.cores),
    )
    return {name: key for name, key, requested in keys if name and requested}


def _spoken(text: str, accelerator: Accelerator, kind: AcceleratorKind) -> str:
    """A message about the pod, with the keys of the workflow instead of the names of resources and annotations."""
    for name, key in sorted(_words(accelerator, kind).items(), key=lambda each: -len(each[0])):
        text = text.replace(name, f"`{key}`")
    return text


def _written(data: Mapping[str, Any], path: Route) -> Route:
    """The path in a template, whose containers may have another order; empty if the template does not have it."""
    if get(data, *path) is not None and path[1:2] != ("containers",):
        return path
    for number in range(len(get(data, "spec", "containers") or ())):
        moved = (*path[:2], number, *path[3:])
        if path[1:2] == ("containers",) and get(data, *moved) is not None:
            return moved
    return ()
