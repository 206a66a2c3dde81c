"""Secondary networks and the pods that ask for them: what waits for ever, and what never sees its network.

Most of it is checked by nobody: the Network Operator's webhook is off by default, and Multus reads an annotation when
the pod starts.
"""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic
from bayplan.linting.world import World


def check(world: World) -> Iterator[Diagnostic]:
    """M840 to M863. What it takes is loaded where networks or extended resources are spoken of."""
    from bayplan.linting.networks import (
        addresses,
        allowed,
        attached,
        claims,
        devices,
        objects,
        plugins,
        rails,
        scene,
        sriov,
        variables,
    )

    known = scene.scene(world)
    for check_one in (
        attached.check,
        devices.check,
        allowed.check,
        rails.check,
        variables.check,
        objects.check,
        addresses.check,
    ):
        yield from check_one(world, known)
    yield from sriov.check(world)
    yield from plugins.check(world)
    yield from claims.check(world)
