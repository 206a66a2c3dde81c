"""A plan under another name: what is alike but for its name is planned and proven once."""

from __future__ import annotations

from bayplan.model.manifest import Shape
from bayplan.model.plan import GangPlan, Plan, Pods, Unit


def renamed(plan: Plan, shape: Shape, name: str) -> tuple[Plan, Shape]:
    """The plan of a workload that is alike, and its shape. All names in it begin with the workflow's."""
    old = plan.workflow.name
    gangs = tuple(gang._replace(name=name) for gang in plan.workflow.gangs)
    workflow = plan.workflow._replace(name=name, gangs=gangs)
    workloads = tuple(
        each._replace(name=name, gangs=tuple(_gang(gang, old, name) for gang in each.gangs)) for each in shape.workloads
    )
    made = plan._replace(workflow=workflow, gangs=tuple(_gang(gang, old, name) for gang in plan.gangs))
    return made, shape._replace(workloads=workloads)


def _gang(gang: GangPlan, old: str, new: str) -> GangPlan:
    domains = tuple(each._replace(name=_name(each.name, old, new)) for each in gang.compute_domains)
    return gang._replace(
        name=_name(gang.name, old, new),
        gang=gang.gang._replace(name=new),
        root=_unit(gang.root, old, new) if domains or _claims(gang.root) else gang.root,
        compute_domains=domains,
    )


def _claims(unit: Unit) -> bool:
    below = (member for units in unit.groups for member in units.members)
    return any(pods.compute_domain for pods in unit.pods) or any(map(_claims, below))


def _unit(unit: Unit, old: str, new: str) -> Unit:
    return unit._replace(
        pods=tuple(_pods(pods, old, new) for pods in unit.pods),
        groups=tuple(
            units._replace(members=tuple(_unit(member, old, new) for member in units.members)) for units in unit.groups
        ),
    )


def _pods(pods: Pods, old: str, new: str) -> Pods:
    if not pods.compute_domain:
        return pods
    return pods._replace(compute_domain=_name(pods.compute_domain, old, new))


def _name(name: str, old: str, new: str) -> str:
    return new + name.removeprefix(old)
