"""Secondary networks and the pods that ask for them: what waits for ever, and what never sees its network.

Most of it is checked by nobody: the Network Operator's webhook is off by default, and Multus reads an annotation when
the pod starts.
"""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.core.diagnostics import Diagnostic
from bayplan.linting import network_objects, network_pods, network_rails, sriov
from bayplan.linting.network_index import network_index
from bayplan.linting.objects import LintContext


def check(context: LintContext) -> Iterator[Diagnostic]:
    """M840 to M863."""
    index = network_index(context)
    for rule in (
        network_pods.check_annotations,
        network_pods.check_devices,
        network_pods.check_permissions,
        network_rails.check_rails,
        network_rails.check_variables,
        network_objects.check_objects,
        network_objects.check_addresses,
    ):
        yield from rule(context, index)
    yield from sriov.check_sriov(context)
    yield from sriov.check_plugins(context)
    yield from network_rails.check_claims(context)
