"""NVLink partitions against the levels that claim to be them, and against the hardware that is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.checks.nodes import POOLS
from bayplan.diagnostics import Diagnostic, Note, Route, error, warning
from bayplan.model.topology import ClusterTopology, Pool

LARGEST_NODES = 18
LARGEST_CARDS = 72
CARDS: Mapping[str, int] = {"gb200": 4, "gb300": 4}
"""Accelerators of the NVL72 rack (18 compute trays of 4 GPUs, each tray a node) -> GPUs of a node."""


def check(topology: ClusterTopology) -> Iterator[Diagnostic]:
    """T406, T407, T409."""
    for index, pool in enumerate(topology.pools):
        route: Route = (*POOLS, index)
        depth = next((depth for depth, level in enumerate(pool.levels) if level.nvlink), None)
        if depth is not None and all(len(domain.path) == len(pool.levels) for domain in pool.domains):
            yield from _partitions(pool, route, depth)
            yield from _sizes(pool, route, depth)
        family = pool.node.accelerator.split("-")[0]
        if pool.node.accelerators and CARDS.get(family, pool.node.accelerators) != pool.node.accelerators:
            message = f"a {family} node has {CARDS[family]} GPUs, not {pool.node.accelerators}"
            yield warning("T409", (*route, "node", "count"), message, hint="count the GPUs of one compute tray")


def _partitions(pool: Pool, route: Route, depth: int) -> Iterator[Diagnostic]:
    of_domain: dict[tuple[str, ...], int] = {}
    of_partition: dict[str, int] = {}
    name = pool.levels[depth].name
    for index, domain in enumerate(pool.domains):
        if not domain.nvlink_domain:
            continue
        path, here = domain.path[: depth + 1], (*route, "domains", index, "nvlinkDomain")
        other = pool.domains[of_domain.setdefault(path, index)].nvlink_domain
        if other != domain.nvlink_domain:
            message = f'{name} "{path[-1]}" holds two NVLink partitions, "{other}" and "{domain.nvlink_domain}"'
            notes = (Note("the other one", (*route, "domains", of_domain[path], "nvlinkDomain")),)
            yield error(
                "T406", here, message, hint="mark the level of the partitions `nvlink`, not this one", notes=notes
            )
        twin = of_partition.setdefault(domain.nvlink_domain, index)
        if pool.domains[twin].path[: depth + 1] != path:
            message = f'the NVLink partition "{domain.nvlink_domain}" lies in two domains of the level "{name}"'
            notes = (Note("the other one", (*route, "domains", twin, "nvlinkDomain")),)
            yield error(
                "T407", here, message, hint="a partition is one rack or a part of one: correct a line", notes=notes
            )


def _sizes(pool: Pool, route: Route, depth: int) -> Iterator[Diagnostic]:
    if pool.node.accelerator.split("-")[0] not in CARDS:
        return
    sizes: dict[tuple[str, ...], int] = {}
    for domain in pool.domains:
        sizes[domain.path[: depth + 1]] = sizes.get(domain.path[: depth + 1], 0) + len(domain.nodes)
    path, most = max(sizes.items(), key=lambda item: item[1], default=((), 0))
    if most > LARGEST_NODES or most * pool.node.accelerators > LARGEST_CARDS:
        message = (
            f'{pool.levels[depth].name} "{path[-1]}" has {most} nodes with {most * pool.node.accelerators} GPUs; an'
            f" NVLink partition of {pool.node.accelerator} has at most {LARGEST_NODES} nodes and {LARGEST_CARDS} GPUs"
        )
        yield warning("T409", (*route, "levels", depth), message, hint="is `nvlink` on the right level?")
