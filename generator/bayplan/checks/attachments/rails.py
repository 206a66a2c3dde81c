"""Which rails a podSet has, and how their interfaces are called."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.checks.attachments.seen import Seen
from bayplan.diagnostics import Diagnostic, Note, error, info
from bayplan.fabrics.hanging import NETWORKED, pools_of
from bayplan.fabrics.kinds import interfaces
from bayplan.kube.multus import bad_interface
from bayplan.words import listing


def numbers(seen: Seen) -> Iterator[Diagnostic]:
    """W520: rails that there are not."""
    rails = seen.asked.fabric.rails
    for index, number in enumerate(seen.asked.asked.rails):
        if number >= len(rails):
            message = f"{seen.fabric} has no rail {number}: it has {len(rails)}, counted from 0"
            notes = (Note("the fabric is here", seen.origin),)
            hint = "leave `rails` out for all of them"
            yield error("W520", (*seen.route, "rails", index), message, hint=hint, notes=notes)


def check(seen: Seen) -> Iterator[Diagnostic]:
    """W521, W527, W544."""
    yield from _pool(seen)
    yield from _interfaces(seen)
    yield from _host(seen)


def _pool(seen: Seen) -> Iterator[Diagnostic]:
    """W521: nodes that hang on other fabrics."""
    pool = seen.asked.pool
    if pool.node.fabrics is None or seen.asked.fabric.name in pool.node.fabrics:
        return
    able = [each.name for each in pools_of(seen.topology, seen.asked.fabric.name)]
    has = listing(pool.node.fabrics, "and") if pool.node.fabrics else "none"
    message = f'{seen.title} runs in pool "{pool.name}", whose nodes are not on {seen.fabric}: they have {has}'
    hint = f"choose the pool {listing(able)}" if able else "add the fabric to `fabrics` of the pool's node"
    yield error("W521", seen.route, message, hint=hint)


def _interfaces(seen: Seen) -> Iterator[Diagnostic]:
    """W527: names that no interface can have beside the others."""
    if seen.asked.fabric.kind not in (*NETWORKED, "gke", "dranet"):
        return
    taken = {seen.asked.primary: "the primary network"}
    for number, name in enumerate(interfaces(seen.asked)):
        why = bad_interface(name) if name not in taken else f"is that of {taken[name]}"
        if why:
            message = f'{seen.title}: the name "{name}" of the interface on rail {number} {why}'
            notes = (Note("the fabric is here", seen.origin),)
            hint = "give each rail an `interface` of its own, or none any"
            yield error("W527", seen.route, message, hint=hint, notes=notes)
        taken.setdefault(name, f"rail {number}")


def _host(seen: Seen) -> Iterator[Diagnostic]:
    """W544: nobody knows the node's interface."""
    told = seen.variables().keys() & {"GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"}
    if seen.asked.fabric.kind == "hostnetwork" and seen.asked.asked.bootstrap == "primary" and not told:
        message = f"{seen.fabric} does not say which interface of the node NCCL and Gloo start on: they choose one"
        hint = "say GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME in `env` of the fabric"
        yield info("W544", seen.route, message, hint=hint)
