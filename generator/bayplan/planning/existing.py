"""The shape of an existing workload: its plan is folded until each pod template has one podSet instance.

The plan has groups and their instances; the workload has pod templates. If the instances of a group come from one
template, they are folded into it, and the scheduler needs a feature for this.
"""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.core.diagnostics import Diagnostic, Outcome, error, warning
from bayplan.model.augment import TemplateSlot, WorkloadTemplates
from bayplan.model.backend import Need
from bayplan.model.existing import LED, SOLE, SPANNING, UNNUMBERED
from bayplan.model.manifest import Shape, Workload
from bayplan.model.plan import GangPlan, Plan, Pods, Unit, all_pods, edit_unit, walk
from bayplan.model.workflow import GANGS, Gang, Group
from bayplan.planning import compute_domains
from bayplan.planning.shape import fold


def merge_compute_domains(plan: Plan, templates: WorkloadTemplates) -> Plan:
    """The plan with one ComputeDomain per gang if pods of one template would claim from several, and with one for all
    gangs if they share their templates."""
    claimed = compute_domains.merge(plan) if any(_has_several_domains(gang) for gang in plan.gangs) else plan
    if templates.gangs < 2 or not any(gang.compute_domains for gang in plan.gangs):
        return claimed
    return compute_domains.share(claimed)


def shared_domains(plan: Plan) -> Iterator[Diagnostic]:
    """F744: groups or gangs that would have a ComputeDomain each, but whose pods come from one template."""
    gang = plan.gangs[0]
    count = sum(len(each.compute_domains) for each in plan.gangs)
    if not (_has_several_domains(gang) or (len(plan.gangs) > 1 and count > 1)):
        return
    what = f"{len(plan.gangs)} gangs" if len(plan.gangs) > 1 else f"{count} groups"
    message = f'the pods of {what} of "{plan.workflow.name}" come from one pod template and can claim from only one'
    requesting = [unit for unit in walk(gang.root) if _requests_own_domain(unit, gang)]
    if requesting:
        at = (*requesting[0].route, "computeDomain")
        hint = "set `computeDomain: gang`, or use a pod template for each group"
        yield error("F744", at, f"{message} ComputeDomain", hint=hint)
    else:
        hint = "use one pod template for each to get one each; NVLink works inside each either way"
        yield warning("F744", gang.route, f"{message} ComputeDomain, so bayplan creates one for all", hint=hint)


def kept_domain(gang: Gang) -> Iterator[Diagnostic]:
    """F744 of a workload with a ComputeDomain of its own, which bayplan keeps."""
    for number, group in enumerate(gang.groups):
        if group.compute_domain == "group":
            message = (
                f'the pods of "{gang.name}" already claim from a ComputeDomain of the workload, and can have only one'
            )
            hint = "remove that claim from the pod templates, or remove `computeDomain`"
            yield error("F744", (*GANGS, 0, "groups", number, "computeDomain"), message, hint=hint)


def _requests_own_domain(unit: Unit, gang: GangPlan) -> bool:
    """Whether the unit has `computeDomain: group`."""
    node: Gang | Group = gang.gang
    for key in unit.route[len(gang.route) :]:
        if isinstance(key, int):
            node = node.groups[key]
    return unit is not gang.root and node.compute_domain == "group"


def _has_several_domains(gang: GangPlan) -> bool:
    domains: dict[str, set[str]] = {}
    for pods in all_pods(gang.root):
        domains.setdefault(pods.spec.name, set()).add(pods.compute_domain)
    return any(len(names) > 1 for names in domains.values())


def existing_shape(plan: Plan, templates: WorkloadTemplates) -> Outcome[Shape]:
    """One workload of that kind with all gangs of the plan. P523: groups of one template with different sizes."""
    gangs = tuple(map(fold, plan.gangs))
    wrong = tuple(_uneven(gangs[0], templates))
    return Outcome(
        None if wrong else Shape((Workload(templates.kind, plan.workflow.name, gangs),), existing=True), wrong
    )


def _uneven(gang: GangPlan, templates: WorkloadTemplates) -> Iterator[Diagnostic]:
    for slot in templates.slots:
        same = [pods for pods in all_pods(gang.root) if pods.spec.name == slot.name]
        if len(same) > 1:
            sizes = " and ".join(str(pods.replicas) for pods in same)
            message = f'the {slot.total} pods of "{slot.name}" share a pod template, so groups cannot have {sizes} pods'
            yield error("P523", same[-1].route, message, hint="choose a size that divides the number of pods")


def needs(shape: Shape, templates: WorkloadTemplates) -> Iterator[Need]:
    """The features that the workload's own shape needs of a scheduler."""
    gang = shape.workloads[0].gangs[0]
    kind, subject = templates.kind, f'{templates.kind} "{gang.name}"'
    placed = SOLE if kind == "deployment" and templates.slots[0].total == 1 else kind
    yield Need(f"place-{placed}", len(templates.slots) + templates.left_out, gang.route, subject=subject)
    if templates.gangs > 1:
        yield Need(f"gangs-{kind}", templates.gangs, gang.route, subject=subject)
    for unit in walk(gang.root):
        if unit.copies > 1:
            whole = all(_is_copy(pods, templates) for pods in all_pods(unit))
            feature = f"copies-{kind}" if whole else f"ranks-{_cut(unit, templates)}"
            yield Need(feature, unit.copies, unit.route, subject=f'group "{unit.name}"')


def _cut(unit: Unit, templates: WorkloadTemplates) -> str:
    """The part of a feature's name that says what groups of ranks consist of."""
    if templates.kind == "lws" and len(templates.slots) > 1:
        return LED
    parts = [(pods, slot_of(pods, templates)) for pods in all_pods(unit)]
    if any(slot.copy_label and pods.replicas > slot.replicas for pods, slot in parts):
        return SPANNING
    return templates.kind if all(slot.numbered for _, slot in parts) else UNNUMBERED


def _is_copy(pods: Pods, templates: WorkloadTemplates) -> bool:
    """Whether each instance is one of the copies that the controller creates and labels."""
    slot = slot_of(pods, templates)
    return bool(slot.copy_label) and (pods.copies, pods.replicas) == (slot.copies, slot.replicas)


def slot_of(pods: Pods, templates: WorkloadTemplates) -> TemplateSlot:
    """The pod template of a podSet instance."""
    return next(slot for slot in templates.slots if slot.name == pods.spec.name)


def shares(unit: Unit) -> bool:
    """Whether instances of a group come from one template anywhere below."""
    return any(each.copies > 1 for each in walk(unit))


# Rename a plan: bayplan plans and proves workloads that differ only in their name once.


def renamed(plan: Plan, shape: Shape, name: str) -> tuple[Plan, Shape]:
    """The plan and the shape under another name. All names in them begin with the workflow's name."""
    old = plan.workflow.name
    workflow = plan.workflow._replace(name=name, gangs=tuple(gang._replace(name=name) for gang in plan.workflow.gangs))
    workloads = tuple(
        each._replace(name=name, gangs=tuple(_gang(gang, old, name) for gang in each.gangs)) for each in shape.workloads
    )
    new_plan = plan._replace(workflow=workflow, gangs=tuple(_gang(gang, old, name) for gang in plan.gangs))
    return new_plan, shape._replace(workloads=workloads)


def _gang(gang: GangPlan, old: str, new: str) -> GangPlan:
    def rename(pods: Pods) -> Pods:
        return pods._replace(compute_domain=_name(pods.compute_domain, old, new)) if pods.compute_domain else pods

    domains = tuple(each._replace(name=_name(each.name, old, new)) for each in gang.compute_domains)
    claiming = any(pods.compute_domain for pods in all_pods(gang.root))
    return gang._replace(
        name=_name(gang.name, old, new),
        gang=gang.gang._replace(name=new),
        root=edit_unit(gang.root, pods=rename) if domains or claiming else gang.root,
        compute_domains=domains,
    )


def _name(name: str, old: str, new: str) -> str:
    return new + name.removeprefix(old)
