"""The pool of each podSet, as far as it is known."""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.diagnostics import Route
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import GANGS, Workflow
from bayplan.planning.pools import gang_pools


def pools(workflow: Workflow, topology: ClusterTopology) -> Mapping[Route, str]:
    """Route of a podSet -> its pool's name. Why some have none is said elsewhere."""
    return {
        route: name
        for index, gang in enumerate(workflow.gangs)
        for route, name in gang_pools(workflow, gang, (*GANGS, index), topology).items()
        if isinstance(name, str)
    }
