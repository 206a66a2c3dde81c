"""Replace the placeholders of a gang's `hosts` with the DNS names of pods.

A pure step between shape and manifests: a pod's name depends on the workload kind and on the copy of the gang.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from bayplan.core.diagnostics import Route
from bayplan.kube.kinds import KINDS, SBATCH
from bayplan.kube.ranks import full_name
from bayplan.model.manifest import Shape, Workload
from bayplan.model.plan import GangPlan, Plan, all_pods, edit_unit, instance, once
from bayplan.model.workflow import PodSet, pod_of

Replace = Callable[[str], str]


def resolve(plan: Plan, shape: Shape) -> tuple[Plan, Shape]:
    """Both with every placeholder of `hosts` replaced, in commands, arguments, env values and text files."""
    specs = {gang.name: _specs(plan, workload, gang) for workload in shape.workloads for gang in workload.gangs}
    workloads = (each._replace(gangs=tuple(_gang(gang, specs) for gang in each.gangs)) for each in shape.workloads)
    return plan._replace(gangs=tuple(_gang(gang, specs) for gang in plan.gangs)), Shape(tuple(workloads))


Specs = Mapping[Route, PodSet]


def _specs(plan: Plan, workload: Workload, gang: GangPlan) -> Specs:
    """The podSets of a gang by their place in the file, which instances share."""
    if not gang.gang.hosts:
        return {}
    names = _names(workload, gang)

    def replace_in(spec: PodSet | None) -> Replace:
        outside = workload.kind == SBATCH  # a node of Slurm has no other name
        return replacing(names if outside else {text: full_name(host, spec, plan) for text, host in names.items()})

    in_files = replace_in(None)
    return {pods.route: _pod_set(pods.spec, replace_in(pods.spec), in_files) for pods in once(all_pods(gang.root))}


def _gang(gang: GangPlan, specs: Mapping[str, Specs]) -> GangPlan:
    own = specs[gang.name]
    replaced = edit_unit(gang.root, pods=lambda pods: pods._replace(spec=own[pods.route])) if own else gang.root
    return gang._replace(root=replaced)


def _names(workload: Workload, gang: GangPlan) -> dict[str, str]:
    """Placeholder -> `<pod>.<service>`."""
    kind = KINDS[workload.kind]
    hosts = {text: pod_of(value) for text, value in gang.gang.hosts.items()}
    return {
        text: kind.host(workload, gang, *instance(gang.root, name), number) for text, (name, number) in hosts.items()
    }


def replacing(names: Mapping[str, str]) -> Replace:
    """One pass from left to right. The longest placeholder at a place counts, and inserted names are not searched."""
    find = re.compile("|".join(re.escape(text) for text in sorted(names, key=len, reverse=True)))
    return lambda text: find.sub(lambda match: names[match[0]], text)


def _pod_set(spec: PodSet, replace: Replace, in_files: Replace) -> PodSet:
    return spec._replace(
        command=tuple(map(replace, spec.command)),
        args=tuple(map(replace, spec.args)),
        env={name: replace(value) if isinstance(value, str) else value for name, value in spec.env.items()},
        files={path: in_files(held) if isinstance(held, str) else held for path, held in spec.files.items()},
    )
