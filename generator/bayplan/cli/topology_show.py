"""`bayplan topology show`: the tree of a cluster with its sizes and spares, and which groups fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from bayplan import plugins
from bayplan.cli import any_topology, destination, files, inputs
from bayplan.cli.finish import finish
from bayplan.cli.options import Arguments
from bayplan.model.plan import Occupied
from bayplan.model.topology import HOST_LEVEL, ClusterTopology, Pool
from bayplan.report import Batch
from bayplan.topologies import inventory


def run(args: Arguments) -> int:
    """Shows the named file, of any format, or the project's topology."""
    batches = [Batch(destination.option_errors(args))]
    path, read_batches = inputs.needed_topology(args, args.words)
    twice = files.stdin_twice((path, *args.values("occupied")))
    if twice:
        return finish(args, [Batch(twice)])
    batches += read_batches
    topology = any_topology.load(args, path, None, batches).topology if path else None
    if topology is None:
        return finish(args, batches)
    level = any_topology.level_of(topology, args.value("level"))
    batches.append(Batch(any_topology.unknown_level(topology, level)))
    busy, of_cluster = inputs.occupied(args, topology)
    batches += of_cluster
    return finish(args, batches, destination.file_writer(args, _drawn(args, topology, busy, level)))


def taken(pool: Pool, occupied: Occupied) -> Mapping[str, tuple[inventory.Taken, ...]]:
    """What runs on the nodes of a pool."""
    from bayplan.model.plan import accelerator

    cards = accelerator(pool.node.accelerator)
    return {
        node: tuple(inventory.Taken(each.name, each.amounts.get(cards, 0), 1) for each in occupied[node])
        for node in pool.nodes()
        if node in occupied
    }


def _drawn(args: Arguments, topology: ClusterTopology, occupied: Occupied, level: str) -> Iterator[str]:
    """The text, piece by piece."""
    counted = inventory.count(topology)
    if args.has("free") or args.has("occupied"):
        from bayplan.planning.capacity import free_nodes

        counted = tuple(
            inventory.with_free(each, taken(each.pool, occupied), free_nodes(topology, each.pool, occupied))
            for each in counted
        )
    form = args.value("format", "tree")
    if form == "json":
        import json

        yield json.dumps(inventory.data(topology, counted, level), indent=2) + "\n"
    elif form == "svg":
        module: Any = import_module(plugins.modules("clusters")[form])
        yield from module.cluster(topology, occupied)
    else:
        from bayplan.cli import show_tree

        lowest = HOST_LEVEL if args.has("all") and not level else level
        yield from show_tree.draw(topology, counted, lowest, "now" if args.has("occupied") else "if nothing runs")
