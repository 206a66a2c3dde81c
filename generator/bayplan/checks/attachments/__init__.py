"""PodSets on fabrics: what is attached, what they ask for beside it, what their libraries are told."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.checks.places import pod_sets
from bayplan.diagnostics import Diagnostic
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import Workflow


def check(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """W520 to W548. Most of it is loaded where there is a fabric, and where templates attach networks themselves."""
    from bayplan.checks.attachments import alone

    yield from dict.fromkeys(alone.check(workflow, topology))
    if any(place.pods.fabric for place in pod_sets(workflow)):
        from bayplan.checks.attachments import asked

        yield from dict.fromkeys(asked.check(workflow, topology))
