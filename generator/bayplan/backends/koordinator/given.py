"""Koordinator and workloads that are there: one PodGroup, whose pods are dealt out in the order of their names.

Names are the controllers', not bayplan's. Read from Koordinator 1.7 and 1.8, network_topology_solver.go: pods are
sorted by name as text, and the next n of them go to one domain.
"""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.backends.koordinator.gather import held, inner_sizes, mixed
from bayplan.backends.koordinator.pod_group import lower
from bayplan.core.diagnostics import Diagnostic, error
from bayplan.model.features import Support
from bayplan.model.given import PLAIN, carries, refuses
from bayplan.model.manifest import Lowered, Shape
from bayplan.model.plan import GangPlan, Plan, all_pods
from bayplan.model.target import Target

RAY = ("raycluster", "rayjob")
GIVEN: tuple[Support, ...] = (
    *carries("place", *PLAIN),
    *refuses(
        "place",
        "its pods have a scheduler and a PodGroup of their own",
        "use a JobSet, or another workload whose pods Koordinator takes as they are",
        word="not yet here",
        but=PLAIN,
    ),
    *carries("copies", "jobset"),
    *refuses("copies", "its pods are not called after a copy", "use a JobSet", but=("jobset",)),
    *refuses(
        "ranks",
        "pods are dealt out in the order of their names as text, where 10 comes before 2, which mixes groups",
        "let each group be a Job of a JobSet, write a pod template for each, or use a Workflow",
        word="not yet upstream",
    ),
    *refuses(
        "gangs",
        "a PodGroup is named by a label of the pod template, so all pods of it are one gang",
        "write a workload for each gang",
    ),
)


def place(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """A PodGroup for the gang. Jobs of a JobSet are called after their number, so each stays whole by itself."""
    return lower(plan, shape, target)


def scattered(shape: Shape) -> Iterator[Diagnostic]:
    """F665: pods of one group between those of another, by the names that their controller gives them."""
    workload = shape.workloads[0]
    gang = workload.gangs[0]
    for level in inner_sizes(gang) if shape.given else ():
        if _mixed(gang, level, workload.kind):
            unit = next(unit for unit in held(gang) if unit.required == level)
            message = (
                f'gang "{gang.gang.name}": Koordinator fills domains in the alphabetical order of pod names, and here'
                " pods of another group come between"
            )
            hint = "let a group take pod templates whose names follow each other in the alphabet"
            yield error("F665", unit.route, message, hint=hint)


def _mixed(gang: GangPlan, level: str, kind: str) -> bool:
    units = [unit for unit in held(gang) if unit.required == level]
    owner = {_stem(pods.spec.name, kind): unit.name for unit in units for pods in all_pods(unit)}
    random = kind in RAY and any(one != other and other.startswith(one) for one in owner for other in owner)
    return random or mixed(owner)


def _stem(name: str, kind: str) -> str:
    """What the names of a template's pods begin with, after that of the workload; letters by chance end those of Ray
    (KubeRay 1.4, utils.PodName)."""
    return f"{name}-worker-" if kind in RAY and name != "head" else f"{name}-"
