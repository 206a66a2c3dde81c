"""Which pool a role runs in, and how much of a node it may ask for there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.diagnostics import Diagnostic, Route, error, info, warning
from bayplan.model.topology import ClusterTopology, Pool
from bayplan.values import NamedTuple
from bayplan.words import listing
from bayplan.workflows.torchx.translate.names import label

INSTANCE = "node.kubernetes.io/instance-type"
MEGA = 10**6
RESERVED_MILLICPU, RESERVED_MB = 100, 1024
"""What TorchX leaves to a node, as it takes roles to ask for whole ones (TorchX 0.7, kubernetes_scheduler.py)."""


class Home(NamedTuple):
    """The pool (empty: nobody's choice yet), labels that nodes must have besides, what was found."""

    name: str = ""
    selector: Mapping[str, str] = {}
    found: tuple[Diagnostic, ...] = ()


def home(resource: Mapping[str, Any], selector: Mapping[str, str], topology: ClusterTopology | None, at: Route) -> Home:
    """The pool whose nodes are of the instance type, or carry the labels of an overlay's nodeSelector.

    W580: no pool, or several, are of the instance type.
    """
    kind = str((resource.get("capabilities") or {}).get(INSTANCE) or "")
    asked = {**({INSTANCE: kind} if kind else {}), **selector}
    if topology is None or not asked:
        return Home("", asked)
    fitting = [pool for pool in topology.pools if asked.items() <= dict(pool.node.node_selector).items()]
    if len(fitting) == 1:
        return Home(fitting[0].name)
    if kind:
        return _of_kind(kind, [pool.name for pool in fitting or topology.pools], bool(fitting), selector, topology, at)
    return Home("", asked)


def _of_kind(
    kind: str, names: list[str], several: bool, selector: Mapping[str, str], topology: ClusterTopology, at: Route
) -> Home:
    called = next((pool for pool in topology.pools if pool.name in (kind, label(kind))), None)
    if called:
        return Home(called.name, selector)
    route: Route = (*at, "capabilities", INSTANCE)
    if len(names) == 1 and not several:
        message = f'no pool has nodes of instance type "{kind}"; the pods run in the only one, "{names[0]}"'
        hint = f"give the pool's nodes the nodeSelector {INSTANCE}: {kind}"
        return Home(names[0], selector, (warning("W580", route, message, hint=hint),))
    quoted = listing(names, "and")
    message = f'no pool of the topology has nodes of instance type "{kind}"; it has {quoted}'
    message = f'instance type "{kind}" could be any of the pools {quoted}' if several else message
    hint = f"give one pool's nodes the nodeSelector {INSTANCE}: {kind}"
    return Home("", {}, (error("W580", route, message, hint=hint),))


class Amounts(NamedTuple):
    """CPU and memory as quantities, what /dev/shm may hold (empty: nobody says), what was found."""

    resources: Mapping[str, str]
    shm: str
    found: tuple[Diagnostic, ...] = ()


def amounts(resource: Mapping[str, Any], pool: Pool | None, reserved: tuple[int, int], at: Route) -> Amounts:
    """As the role asks, less TorchX' share for the node where the whole does not fit and the rest does (W592)."""
    milli, mega = round(1000 * (resource.get("cpu") or 0)), int(resource.get("memMB") or 0)
    found: list[Diagnostic] = []
    made: dict[str, str] = {}
    if milli > 0:
        own = _within(milli, reserved[0], pool.node.resources.get("cpu") if pool else None)
        made["cpu"] = str(own // 1000) if own % 1000 == 0 else f"{own}m"
        found += [_less("CPU", made["cpu"], f"{milli}m", (*at, "cpu"))] if own != milli else []
    if mega > 0:
        offer = pool.node.resources.get("memory") if pool else None
        own = _within(mega, reserved[1], None if offer is None else offer // (1000 * MEGA))
        made["memory"] = f"{own}M"
        found += [_less("memory", made["memory"], f"{mega}M", (*at, "memMB"))] if own != mega else []
    return Amounts(made, made.get("memory", ""), tuple(found))


def _within(asked: int, reserved: int, offer: int | None) -> int:
    return asked - reserved if offer is not None and asked - reserved <= offer < asked else asked


def _less(what: str, made: str, asked: str, route: Route) -> Diagnostic:
    message = f"the pods ask for {made} of {what}, not for {asked}: nodes keep the rest for their own pods"
    return info("W592", route, message, hint="ask for what a node offers to have it exactly")


def node_of(home: Home, cards: bool, topology: ClusterTopology | None) -> Pool | None:
    """The pool that a role can only run in, as far as that shows."""
    if topology is None:
        return None
    if home.name:
        return topology.pool(home.name)
    able = [pool for pool in topology.pools if bool(pool.node.accelerator) == cards]
    return able[0] if len(able) == 1 else topology.pools[0] if len(topology.pools) == 1 else None
