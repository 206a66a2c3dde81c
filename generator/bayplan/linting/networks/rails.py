"""Rails of a fabric that a pod leaves out though it has all GPUs of its node (FAB18)."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, warning
from bayplan.fabrics.hanging import pools_of
from bayplan.linting.networks.scene import Asking, Scene, asked
from bayplan.linting.world import World
from bayplan.model.fabric import Fabric

COUNT = "nvidia.com/gpu"


def check(world: World, known: Scene) -> Iterator[Diagnostic]:
    """M862."""
    for asking in known.asking:
        attached = [one for one in asking.found if one and one.rail and one.fabric]
        for name in dict.fromkeys(one.fabric.name for one in attached if one.fabric):
            fabric = world.topology.fabrics[name]
            left = len(fabric.rails) - len({one.name for one in attached if one.fabric == fabric})
            cards = _whole(asking, fabric, world)
            if left > 0 and cards:
                message = f'the pod takes all {cards} GPUs of its node and leaves out {left} of the rails of "{name}"'
                yield warning("M862", asking.route, message, hint="attach them all: no other pod has use for them")


def _whole(asking: Asking, fabric: Fabric, world: World) -> int:
    """The GPUs of a node, if the pod asks for all of them; 0 where it does not."""
    wanted = asked(asking.template)
    for pool in pools_of(world.topology, fabric.name):
        kind = world.topology.accelerators.get(pool.node.accelerator)
        cards = pool.node.accelerators
        if kind and cards > 1 and wanted.get(kind.resources.get("count", COUNT), 0) >= cards:
            return cards
    return 0
