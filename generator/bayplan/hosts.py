"""Put the DNS names of pods in the place of the texts that a gang's `hosts` gives them.

A pure step between shape and manifests: what a pod is called depends on the workload kind, and on the copy of the gang.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from bayplan.diagnostics import Route
from bayplan.kube.kinds import KINDS
from bayplan.model.manifest import Shape, Workload
from bayplan.model.plan import GangPlan, Plan, Unit, all_pods
from bayplan.model.workflow import PodSet, pod_of

Replace = Callable[[str], str]


def resolve(plan: Plan, shape: Shape) -> tuple[Plan, Shape]:
    """Both with every text of `hosts` replaced, in commands, arguments, env values and text files."""
    resolved = Shape(tuple(_workload(workload) for workload in shape.workloads))
    gangs = {gang.name: gang for workload in resolved.workloads for gang in workload.gangs}
    return plan._replace(gangs=tuple(gangs[gang.name] for gang in plan.gangs)), resolved


def _workload(workload: Workload) -> Workload:
    return workload._replace(gangs=tuple(_gang(workload, gang) for gang in workload.gangs))


def _gang(workload: Workload, gang: GangPlan) -> GangPlan:
    if not gang.gang.hosts:
        return gang
    replace = replacing(_names(workload, gang))
    specs = {pods.route: pods.spec for pods in all_pods(gang.root)}  # instances of one podSet share theirs
    return gang._replace(root=_unit(gang.root, {route: _pod_set(spec, replace) for route, spec in specs.items()}))


def _names(workload: Workload, gang: GangPlan) -> dict[str, str]:
    """Text -> DNS name."""
    kind, instances = KINDS[workload.kind], {pods.name: pods for pods in all_pods(gang.root)}
    asked = {text: pod_of(value) for text, value in gang.gang.hosts.items()}
    return {text: kind.host(workload, gang, instances[name], number) for text, (name, number) in asked.items()}


def replacing(names: Mapping[str, str]) -> Replace:
    """One pass from left to right: of texts that begin at one place the longest counts, and no name is searched."""
    find = re.compile("|".join(re.escape(text) for text in sorted(names, key=len, reverse=True)))
    return lambda text: find.sub(lambda match: names[match[0]], text)


def _unit(unit: Unit, specs: Mapping[Route, PodSet]) -> Unit:
    return unit._replace(
        pods=tuple(pods._replace(spec=specs[pods.route]) for pods in unit.pods),
        groups=tuple(units._replace(members=tuple(_unit(m, specs) for m in units.members)) for units in unit.groups),
    )


def _pod_set(spec: PodSet, replace: Replace) -> PodSet:
    return spec._replace(
        command=tuple(map(replace, spec.command)),
        args=tuple(map(replace, spec.args)),
        env={name: replace(value) for name, value in spec.env.items()},
        files={path: replace(held) if isinstance(held, str) else held for path, held in spec.files.items()},
    )
