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
        asked = place.pods.accelerator
        kind = topology.accelerators.get(asked.name) if asked else None
        if asked and asked.selectors:
            yield from _selectors(asked, (*place.route, "accelerator", "selectors"))
        if asked and kind and _special(asked):
            route: Route = (*place.route, "accelerator")
            yield from _shares(asked, kind, route)
            yield from _profile(asked, kind, route)
            yield from _policies(asked, kind, route)
    if any(_special(place.pods.accelerator) for place in pod_sets(workflow)):
        yield from _on_nodes(workflow, topology)


def _selectors(asked: Accelerator, route: Route) -> Iterator[Diagnostic]:
    from bayplan.kube import validation as cel

    for number, text in enumerate(asked.selectors):
        if why := cel.fault(text):
            yield error("W565", (*route, number), f"the CEL expression cannot be read: {why}", hint="correct it")


def _special(asked: Accelerator | None) -> bool:
    if asked is None:
        return False
    return not asked.whole or bool(asked.node or asked.cards or asked.links or asked.app_class or asked.qos)


def _shares(asked: Accelerator, kind: AcceleratorKind, route: Route) -> Iterator[Diagnostic]:
    way = allocator(asked, kind)
    for key in ("memory", "cores"):
        if getattr(asked, key) and way != HAMI:
            message = f'"{way}" hands out whole cards, and a share of each is asked for, which only HAMi can'
            yield error("W550", (*route, key), message, hint=_other(kind, "ask for whole cards"))
    if way == HAMI and (asked.memory or asked.cores):
        from bayplan.accelerators import hami as shares

        for rule, key, message, hint in shares.faults(asked, kind):
            yield error(rule, (*route, key), message, hint=hint)


def _other(kind: AcceleratorKind, else_: str) -> str:
    return f"add `allocator: {HAMI}`" if HAMI in kind.allocators else else_


def _profile(asked: Accelerator, kind: AcceleratorKind, route: Route) -> Iterator[Diagnostic]:
    at, way = (*route, "profile"), allocator(asked, kind)
    if not asked.profile:
        return
    if asked.memory or asked.cores:
        yield error("W553", at, "a slice of a card has its own memory and cores", hint="remove `profile` or the shares")
    elif kind.vendor != "nvidia":
        yield error("W553", at, f"cards of {kind.vendor} have no MIG profiles", hint="ask for whole cards")
    elif way == HAMI:
        message = "HAMi chooses the profile itself, by the memory that is asked for"
        hint = "write `memory`, and the annotation nvidia.com/vgpu-mode: mig in the podSet's `template`"
        yield error("W553", at, message, hint=hint)
    elif kind.profile and kind.profile != asked.profile:
        message = f'the cards of "{kind.name}" are cut into {kind.profile}, and {asked.profile} is asked for'
        yield error("W553", at, message, hint=f"write {kind.profile}, or name another accelerator")


POLICIES = ("node", "cards", "links", "app_class", "qos")
KEYS = {"app_class": "appClass"}


def _policies(asked: Accelerator, kind: AcceleratorKind, route: Route) -> Iterator[Diagnostic]:
    way = allocator(asked, kind)
    for field in POLICIES:
        value, key = getattr(asked, field), KEYS.get(field, field)
        if value and way != HAMI:
            if field == "links" and value == "best" and way == "device-plugin" and kind.vendor == "nvidia":
                continue  # the plugin prefers linked cards by itself (NVIDIA/k8s-device-plugin, GetPreferredAllocation)
            message = f'"{way}" has no policies of its own: {key} is for HAMi'
            yield error("W554", (*route, key), message, hint=_other(kind, "remove it"))
        elif value:
            yield from _policy(field, value, asked, kind, (*route, key))


def _policy(field: str, value: str, asked: Accelerator, kind: AcceleratorKind, at: Route) -> Iterator[Diagnostic]:
    from bayplan.accelerators import hami as policies
    from bayplan.kube.vendors import SGPU, names

    if field in ("app_class", "qos") and names(kind).cards != SGPU:
        message = f"{at[-1]} is for cards of MetaX that are shared ({SGPU})"
        yield error("W554", at, message, hint="remove it")
    elif field == "links" and value in ("guaranteed", "restricted") and asked.per_pod > 1:
        message = "nobody promises links between cards: HAMi likes cards with good links, and takes others where there"
        yield error("W554", at, f"{message} are none", hint="write `links: best`")
    elif field == "links" and kind.vendor not in (*policies.LINKED, "metax"):
        message = f"HAMi knows no links between cards of {kind.vendor}"
        yield error("W554", at, message, hint="remove it")
    elif field == "links" and asked.node == "binpack" and policies.linked_by_node(kind):
        message = "binpack takes the node where least is lost for others, and `links` asks for the best links"
        yield error("W554", at, message, hint="write `node: spread`, or remove `links`")
    elif field == "links" and asked.cards and kind.vendor in policies.LINKED:
        message = f"`links` and `cards: {asked.cards}` both say which cards of a node to take"
        yield error("W554", at, message, hint="remove one of them")
    elif field == "cards" and policies.linked_by_node(kind) and value != "mutex":
        message = "MetaX's device plugin chooses whole cards itself, and HAMi only the node"
        yield error("W554", at, message, hint="remove it; `node` chooses the node")


def _on_nodes(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """What depends on the nodes of the podSet's pool."""
    for place, pool in _pools(workflow, topology):
        asked, route = place.pods.accelerator, (*place.route, "accelerator")
        kind = topology.accelerators.get(asked.name) if asked else None
        if not asked or not kind:
            continue
        if (asked.memory or asked.cores) and asked.per_pod > pool.node.accelerators > 0:
            has = pool.node.accelerators
            message = f"a share of each of {asked.per_pod} cards is asked for; a node of the pool has {has}"
            hint = "the shares of one pod are of different cards: ask for larger shares of fewer"
            yield error("W552", (*route, "count"), message, hint=hint)
        yield from _slices(asked, kind, pool, route)
        largest = max(map(len, kind.link_zones), default=0)
        if asked.links and 0 < largest < asked.per_pod < pool.node.accelerators:
            message = f"{asked.per_pod} cards are asked for, and at most {largest} of a node are linked with each other"
            yield info("W563", (*route, "count"), message, hint=f"with {largest} or fewer, all can be linked")


def _slices(asked: Accelerator, kind: AcceleratorKind, pool: Pool, route: Route) -> Iterator[Diagnostic]:
    from bayplan import accelerators as mig

    if not asked.profile or kind.profile or kind.vendor != "nvidia" or allocator(asked, kind) != "device-plugin":
        return
    name = mig.slice_resource(asked, kind)
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
        asked = spec.accelerator
        kind = topology.accelerators.get(asked.name) if asked else None
        if asked and kind and allocator(asked, kind) == HAMI:
            network = _network(spec, topology, pool)
            data = template(spec, pool, combine(own_parts(spec, pool, ""), PARTS[HAMI](asked, kind, ""), network), ())
            for fault in faults(hami_pod(data, topology.accelerators.values(), target)):
                if fault.rule == "choice" and asked.per_pod >= pool.node.accelerators:
                    continue  # who takes all cards of a node has their links too
                if fault.rule in AMONG_NODES and _placed(scheduler, kind):
                    continue  # F762 says so where something was asked for
                ours = fault.rule == "privileged" and network.privileged
                route = (*place.route, "fabric") if ours else _place(fault.path, place, pool, topology, kind)
                hint = HINTS.get(fault.severity, "") if fault.rule == "choice" else fault.hint
                message = fault.message
                if "template" not in route:
                    message, hint = _spoken(message, asked, kind), _spoken(hint, asked, kind)
                yield Diagnostic(CODES[fault.rule], fault.severity, message, route, hint=hint)


def _network(spec: PodSet, topology: ClusterTopology, pool: Pool) -> PodParts:
    """What the pods' fabric adds."""
    asked = fabrics.fabric_request(spec, topology, pool=pool.name)
    if asked is None:
        return PodParts()
    from bayplan.fabrics import kinds

    return kinds.parts(asked)


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
            found = _written(data, path)
            if found:
                return (*owner, *found)
        asked = place.pods.accelerator
        key = _words(asked, kind).get(str(path[-1])) if asked else None
        return (*place.route, "accelerator", *((key,) if key else ())) if asked else (*place.route, "wholeNode")
    return (*place.route, "template", *path)


def _words(asked: Accelerator, kind: AcceleratorKind) -> Mapping[str, str]:
    """Name of a resource or an annotation -> the key that it was made of, of those that are written."""
    from bayplan.accelerators.hami import CARDS, NODE, SGPU_CLASS, SGPU_QOS, SGPU_TOPOLOGY
    from bayplan.kube.vendors import names

    own = names(kind)
    keys = (
        (SGPU_TOPOLOGY, "links", asked.links),
        (SGPU_CLASS, "appClass", asked.app_class),
        (SGPU_QOS, "qos", asked.qos),
        (NODE, "links", asked.links),
        (NODE, "node", asked.node),
        (CARDS, "links", asked.links),
        (CARDS, "cards", asked.cards),
        (own.percentage, "memory", asked.memory),
        (own.memory, "memory", asked.memory),
        (own.cores, "cores", asked.cores),
    )
    return {name: key for name, key, requested in keys if name and requested}


def _spoken(text: str, asked: Accelerator, kind: AcceleratorKind) -> str:
    """What is said of the pod, in the words of the workflow."""
    for name, key in sorted(_words(asked, kind).items(), key=lambda each: -len(each[0])):
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
