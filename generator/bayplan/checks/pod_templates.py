"""Users' `template`s against the fields that Kubernetes has in the target's version."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.checks.places import pod_sets
from bayplan.diagnostics import Diagnostic
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import Workflow


def check(workflow: Workflow, topology: ClusterTopology, target: Target) -> Iterator[Diagnostic]:
    """W381 to W383, each template of the file once."""
    written = [(place.pods.template, (*place.route, "template")) for place in pod_sets(workflow)]
    written += [(pool.template, ("topology", "spec", "pools", i, "template")) for i, pool in enumerate(topology.pools)]
    written = [(template, route) for template, route in written if template]
    if written:
        from bayplan.kube.pod_fields import faults, load

        fields = load(target)
        for template, route in written:
            yield from faults(fields, template, route)
