"""Secondary networks and the pods that ask for them: what waits for ever, and what never sees its network.

Most of it is checked by nobody: the Network Operator's webhook is off by default, and Multus reads an annotation when
the pod starts.
"""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.core.diagnostics import Diagnostic
from bayplan.linting.objects import LintContext


def check(context: LintContext) -> Iterator[Diagnostic]:
    """M840 to M863. What it takes is loaded where networks or extended resources are spoken of."""
    from bayplan.linting import network_objects as addresses
    from bayplan.linting import network_objects as objects
    from bayplan.linting import network_pods as allowed
    from bayplan.linting import network_pods as attached
    from bayplan.linting import network_pods as devices
    from bayplan.linting import network_rails as claims
    from bayplan.linting import network_rails as rails
    from bayplan.linting import network_rails as variables
    from bayplan.linting import network_scene as scene
    from bayplan.linting import sriov
    from bayplan.linting import sriov as plugins

    known = scene.scene(context)
    for check_one in (
        attached.check_annotations,
        devices.check_devices,
        allowed.check_permissions,
        rails.check_rails,
        variables.check_variables,
        objects.check_objects,
        addresses.check_addresses,
    ):
        yield from check_one(context, known)
    yield from sriov.check_sriov(context)
    yield from plugins.check_plugins(context)
    yield from claims.check_claims(context)
