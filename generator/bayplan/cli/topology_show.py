"""`bayplan topology show`: the tree of a cluster with its sizes and spares, and which groups fit."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.cli import any_topology, destination, inputs
from bayplan.cli.finish import finish
from bayplan.cli.options import Arguments
from bayplan.core.diagnostics import error
from bayplan.core.phrases import suggest
from bayplan.model.topology import HOST_LEVEL, ClusterTopology
from bayplan.report import Batch
from bayplan.topologies import inventory


def run(args: Arguments) -> int:
    """Shows the named file, of any format, or the project's topology."""
    batches = [Batch(destination.option_errors(args))]
    path, read_batches = inputs.needed_topology(args, args.words)
    batches += read_batches
    topology = any_topology.load(args, path, None, batches).topology if path else None
    if topology is None:
        return finish(args, batches)
    level = args.value("level")
    names = dict.fromkeys([*(each.name for pool in topology.pools for each in pool.levels), HOST_LEVEL])
    if level and level not in names:
        message, hint = f'no pool of "{topology.name}" has a level "{level}"', suggest(level, names, "levels")
        batches.append(Batch((error("T578", ("argument", "--level"), message, hint=hint),)))
    return finish(args, batches, destination.file_writer(args, _drawn(args, topology)))


def _drawn(args: Arguments, topology: ClusterTopology) -> Iterator[str]:
    """The text, piece by piece."""
    counted = inventory.count(topology)
    form, level = args.value("format", "tree"), args.value("level")
    if form == "json":
        import json

        yield json.dumps(inventory.data(topology, counted, level), indent=2) + "\n"
    elif form == "svg":
        from bayplan.cli import show_svg

        yield from show_svg.draw(topology, counted)
    else:
        from bayplan.cli import show_tree

        yield from show_tree.draw(topology, counted, HOST_LEVEL if args.has("all") and not level else level)
