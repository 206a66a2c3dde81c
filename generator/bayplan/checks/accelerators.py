"""Parts of cards and policies that a podSet asks for, against what its accelerator's allocator can do."""

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
    "privileged": "W558",
    "scheduler": "W559",
    "policy": "W560",
    "idle": "W561",
    "unknown": "W561",
    "twice": "W562",
    "amount": "W557",
    "chip": "W557",
    "choice": "W555",
    "half": "W556",
}
"""Family of rules (`accelerators/hami_rules.py`) -> code."""

HINTS = {
    "warning": "write `node: spread`: it takes the node whose free cards are linked best",
    "info": "write `node: binpack`: it leaves the well-linked cards to those who need them",
}
"""What to do about the choice of nodes of MetaX, in the words of a workflow."""

HAMI = "hami"


def check(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """W550 to W554, W563, W565. Whole cards without a policy need no check here."""
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
            yield error("W565", (*route, number), f"the CEL expression cannot be read: {why}", hint="correct it")


def _special(accelerator: Accelerator | None) -> bool:
    return accelerator is not None and (not accelerator.whole or accelerator.has_policy)


def _shares(accelerator: Accelerator, kind: AcceleratorKind, route: Route) -> Iterator[Diagnostic]:
    way = allocator(accelerator, kind)
    for key in ("memory", "cores"):
        if getattr(accelerator, key) and way != HAMI:
            message = f'"{way}" hands out whole cards, and a share of each is asked for, which only HAMi can'
            yield error("W550", (*route, key), message, hint=_other(kind, "ask for whole cards"))
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
        yield error("W553", at, "a slice of a card has its own memory and cores", hint="remove `profile` or the shares")
    elif kind.vendor != "nvidia":
        yield error("W553", at, f"cards of {kind.vendor} have no MIG profiles", hint="ask for whole cards")
    elif way == HAMI:
        message = "HAMi chooses the profile itself, by the memory that is asked for"
        hint = "write `memory`, and the annotation nvidia.com/vgpu-mode: mig in the podSet's `template`"
        yield error("W553", at, message, hint=hint)
    elif kind.profile and kind.profile != accelerator.profile:
        message = f'the cards of "{kind.name}" are cut into {kind.profile}, and {accelerator.profile} is asked for'
        yield error("W553", at, message, hint=f"write {kind.profile}, or name another accelerator")


POLICIES = ("node", "cards", "links", "app_class", "qos")
KEYS = {"app_class": "appClass"}


def _policies(accelerator: Accelerator, kind: AcceleratorKind, route: Route) -> Iterator[Diagnostic]:
    way = allocator(accelerator, kind)
    for field in POLICIES:
        value, key = getattr(accelerator, field), KEYS.get(field, field)
        if value and way != HAMI:
            if field == "links" and value == "best" and way == "device-plugin" and kind.vendor == "nvidia":
                continue  # the plugin prefers linked cards by itself (NVIDIA/k8s-device-plugin, GetPreferredAllocation)
            message = f'"{way}" has no policies of its own: {key} is for HAMi'
            yield error("W554", (*route, key), message, hint=_other(kind, "remove it"))
        elif value:
            yield from _policy(field, value, accelerator, kind, (*route, key))


def _policy(field: str, value: str, accelerator: Accelerator, kind: AcceleratorKind, at: Route) -> Iterator[Diagnostic]:
    from bayplan.accelerators import hami as policies
    from bayplan.kube.vendors import SGPU, names

    if field in ("app_class", "qos") and names(kind).cards != SGPU:
        message = f"{at[-1]} is for cards of MetaX that are shared ({SGPU})"
        yield error("W554", at, message, hint="remove it")
    elif field == "links" and value in ("guaranteed", "restricted") and accelerator.per_pod > 1:
        message = "nobody promises links between cards: HAMi likes cards with good links, and takes others where there"
        yield error("W554", at, f"{message} are none", hint="write `links: best`")
    elif field == "links" and kind.vendor not in (*policies.LINKED, "metax"):
        message = f"HAMi knows no links between cards of {kind.vendor}"
        yield error("W554", at, message, hint="remove it")
    elif field == "links" and accelerator.node == "binpack" and policies.linked_by_node(kind):
        message = "binpack takes the node where least is lost for others, and `links` asks for the best links"
        yield error("W554", at, message, hint="write `node: spread`, or remove `links`")
    elif field == "links" and accelerator.cards and kind.vendor in policies.LINKED:
        message = f"`links` and `cards: {accelerator.cards}` both say which cards of a node to take"
        yield error("W554", at, message, hint="remove one of them")
    elif field == "cards" and policies.linked_by_node(kind) and value != "mutex":
        message = "MetaX's device plugin chooses whole cards itself, and HAMi only the node"
        yield error("W554", at, message, hint="remove it; `node` chooses the node")


def _on_nodes(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """What depends on the nodes of the podSet's pool."""
    for place, pool in _pools(workflow, topology):
        accelerator, route = place.pods.accelerator, (*place.route, "accelerator")
        kind = topology.accelerators.get(accelerator.name) if accelerator else None
        if not accelerator or not kind:
            continue
        if (accelerator.memory or accelerator.cores) and accelerator.per_pod > pool.node.accelerators > 0:
            has = pool.node.accelerators
            message = f"a share of each of {accelerator.per_pod} cards is asked for; a node of the pool has {has}"
            hint = "the shares of one pod are of different cards: ask for larger shares of fewer"
            yield error("W552", (*route, "count"), message, hint=hint)
        yield from _slices(accelerator, kind, pool, route)
        largest = max(map(len, kind.link_zones), default=0)
        if accelerator.links and 0 < largest < accelerator.per_pod < pool.node.accelerators:
            linked = f"at most {largest} of a node are linked with each other"
            message = f"{accelerator.per_pod} cards are asked for, and {linked}"
            yield info("W563", (*route, "count"), message, hint=f"with {largest} or fewer, all can be linked")


def _slices(accelerator: Accelerator, kind: AcceleratorKind, pool: Pool, route: Route) -> Iterator[Diagnostic]:
    from bayplan import accelerators as mig

    counted = accelerator.profile and not kind.profile and kind.vendor == "nvidia"
    if not counted or allocator(accelerator, kind) != "device-plugin":
        return
    name = mig.slice_resource(accelerator, kind)
    offered = [each for each in pool.node.resources if each.startswith(mig.PREFIX)]
    if name not in offered:
        has = f"they offer {listing(offered, 'and')}" if offered else "the topology knows of no slices there"
        hint = f'add it to the pool: `node: {{resources: {{"{name}": 7}}}}`, or ask for another profile'
        yield error("W553", (*route, "profile"), f'no node of pool "{pool.name}" offers "{name}"; {has}', hint=hint)


def _pools(workflow: Workflow, topology: ClusterTopology) -> Iterator[tuple[Place, Pool]]:
    names = pools_of(workflow, topology)
    for place in pod_sets(workflow):
        pool = topology.pool(names.get(place.route, ""))
        if pool:
            yield place, pool


def check_pods(workflow: Workflow, topology: ClusterTopology, target: Target, scheduler: str) -> Iterator[Diagnostic]:
    """W555 to W562: the pods as they will be, by HAMi's own rules."""
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
                    continue  # who takes all cards of a node has their links too
                if fault.rule in AMONG_NODES and _placed(scheduler, kind):
                    continue  # F762 says so where something was asked for
                ours = fault.rule == "privileged" and network.privileged
                route = (*place.route, "fabric") if ours else _place(fault.path, place, pool, topology, kind)
                hint = HINTS.get(fault.severity, "") if fault.rule == "choice" else fault.hint
                message = fault.message
                if "template" not in route:
                    message, hint = _spoken(message, accelerator, kind), _spoken(hint, accelerator, kind)
                yield Diagnostic(CODES[fault.rule], fault.severity, message, route, hint=hint)


def _network(spec: PodSet, topology: ClusterTopology, pool: Pool) -> PodParts:
    """What the pods' fabric adds."""
    request = fabrics.fabric_request(spec, topology, pool=pool.name)
    if request is None:
        return PodParts()
    from bayplan.fabrics import kinds

    return kinds.parts(request)


AMONG_NODES = ("choice", "half")
"""Advice on the choice of nodes, which is no advice where HAMi has none."""


def _placed(scheduler: str, kind: AcceleratorKind) -> bool:
    """Whether the scheduler has chosen the node before HAMi looks."""
    from bayplan.accelerators import matrix

    return any(matrix.catches(scheduler, kind.vendor, HAMI, frozenset({"node"})))


def _place(path: Route, place: Place, pool: Pool, topology: ClusterTopology, kind: AcceleratorKind) -> Route:
    """Where a part of the pod was written: in the podSet's template, in its pool's, or as its accelerator."""
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
    """Name of a resource or an annotation -> the key that it was made of, of those that are written."""
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
    """What is said of the pod, in the words of the workflow."""
    for name, key in sorted(_words(accelerator, kind).items(), key=lambda each: -len(each[0])):
        text = text.replace(name, f"`{key}`")
    return text


def _written(data: Mapping[str, Any], path: Route) -> Route:
    """The path in a template; containers stand there in an order of their own."""
    if get(data, *path) is not None and path[1:2] != ("containers",):
        return path
    for number in range(len(get(data, "spec", "containers") or ())):
        moved = (*path[:2], number, *path[3:])
        if path[1:2] == ("containers",) and get(data, *moved) is not None:
            return moved
    return ()
