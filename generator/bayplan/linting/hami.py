"""Pods with cards of HAMi: what its webhook refuses, what it reads otherwise, what does nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.diagnostics import Diagnostic, error, warning
from bayplan.kube.safe import mapping
from bayplan.kube.templates import PodTemplate
from bayplan.linting.world import World, title

CODES: Mapping[str, str] = {
    "privileged": "M870",
    "node": "M871",
    "scheduler": "M872",
    "policy": "M873",
    "idle": "M874",
    "twice": "M875",
    "amount": "M876",
    "chip": "M877",
    "unknown": "M878",
    "choice": "M879",
    "half": "M880",
}
"""Family of rules (accelerators/rules) -> code."""


def check(world: World) -> Iterator[Diagnostic]:
    """M870 to M882."""
    for template in world.templates:
        yield from _template(template, world)
    for one in world.objects:
        notes = mapping(one.data, "metadata", "annotations")
        below = [each for each in world.templates if each.object is one and each.owned]
        for key in POLICIES:
            if key in notes and below and not any(key in each.annotations for each in below):
                message = f"{key} stands on {title(one)}, and HAMi reads it on pods alone"
                route = (*one.route, "metadata", "annotations", key)
                yield warning("M882", route, message, hint="move it to the pod template")


POLICIES = ("hami.io/node-scheduler-policy", "hami.io/gpu-scheduler-policy", "hami.io/device-scoring-weights")
"""Annotations that people put on a Job or a Deployment (HAMi#882)."""


def _template(template: PodTemplate, world: World) -> Iterator[Diagnostic]:
    from bayplan.accelerators.rules import faults, look

    seen = look(template.data, world.topology.accelerators.values(), world.target)
    for each in faults(seen):
        yield Diagnostic(CODES[each.rule], each.severity, each.message, (*template.route, *each.path), hint=each.hint)
    for ask in seen.asks:
        most = _most(ask.names.cards, world)
        if most is not None and ask.cards > most:
            message = (
                f"{ask.cards} cards ({ask.names.cards}) are asked for, and no node of the topology has more than {most}"
            )
            hint = "ask for fewer in one pod, and for more pods"
            yield error("M881", (*template.route, *ask.place), message, hint=hint)


def _most(resource: str, world: World) -> int | None:
    """Cards of the node that has most of those that the resource counts; None where the topology does not know it."""
    kinds = world.topology.accelerators
    own = {name for name, kind in kinds.items() if kind.resources.get("count", "nvidia.com/gpu") == resource}
    pools = [pool.node.accelerators for pool in world.topology.pools if pool.node.accelerator in own]
    return max(pools, default=None)
