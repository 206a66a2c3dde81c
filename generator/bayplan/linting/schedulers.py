"""Which scheduler pods are given to."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, info, warning
from bayplan.kube.safe import text
from bayplan.kube.templates import PodTemplate
from bayplan.linting.world import World
from bayplan.model.topology import ClusterTopology
from bayplan.words import did_you_mean

DEFAULT = "default-scheduler"

NAMES = (
    DEFAULT,
    "kai-scheduler",
    "volcano",
    "koord-scheduler",
    "slurm-bridge-scheduler",
    "hami-scheduler",
    "scheduler-plugins-scheduler",
)
"""The names under which the schedulers are installed unless somebody renames them (their charts)."""


def names(topology: ClusterTopology, scheduler: str, usual: str) -> tuple[str, ...]:
    """The names that a scheduler may have: its own, and the one that the topology file gives it."""
    given = topology.schedulers.get(scheduler, {}).get("schedulerName")
    return (str(given),) if given else (usual,)


def asked(template: PodTemplate) -> str:
    """The scheduler that its pods are given to. A Volcano Job says it once for all tasks."""
    own = text(template.spec, "schedulerName")
    return own or text(template.object.data, "spec", "schedulerName") or DEFAULT


def check(world: World) -> Iterator[Diagnostic]:
    """M705: a name that no scheduler has leaves pods pending without any event."""
    given = {str(each.get("schedulerName", "")) for each in world.topology.schedulers.values()}
    known = dict.fromkeys((*NAMES, *sorted(given - {""})))
    for template in world.templates:
        name = text(template.spec, "schedulerName")
        if name and name not in known:
            route = (*template.spec_route, "schedulerName")
            near = did_you_mean(name, known)
            message = f'bayplan knows no scheduler "{name}"'
            hint = "without a scheduler of that name the pods wait, and no event says why"
            yield warning("M705", route, message, hint=near) if near else info("M705", route, message, hint=hint)
