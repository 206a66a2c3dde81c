"""The shape of an existing workload: its plan is folded until each pod template has one podSet instance.

Workloads that bayplan writes have the same shape if a controller makes their pods from a few templates (`CONTROLLED`).

The plan has groups and their instances; the workload has pod templates. If the instances of a group come from one
template, they are folded into it, and the scheduler needs a feature for this.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Outcome, error, warning
from bayplan.kube.kinds import CONTROLLED, GROVE, MPIJOB, SINGLE, STATEFULSET
from bayplan.kube.objects import text
from bayplan.model.augment import TemplateSlot, WorkloadTemplates
from bayplan.model.backend import Need
from bayplan.model.existing import LED, SINGLE_PODS, SOLE, SPANNING, UNNUMBERED
from bayplan.model.manifest import Absent, Lowered, Marks, Meta, Object, Shape, Workload
from bayplan.model.plan import ComputeDomain, GangPlan, Plan, Pods, Unit, all_pods, edit_unit, gang_queue, title, walk
from bayplan.model.topology import makes_channels
from bayplan.model.workflow import GANGS, OF_GROVE, Gang, Group, base_name, most_copies, serves, varies
from bayplan.planning import compute_domains
from bayplan.planning.shape import fold


def merge_compute_domains(plan: Plan, templates: WorkloadTemplates) -> Plan:
    """The plan with one ComputeDomain per gang if pods of one template would claim from several, and with one for all
    gangs if they share their templates."""
    several = any(_has_several_domains(gang) for gang in plan.gangs)
    if templates.kind in OF_GROVE:
        claimed = plan._replace(gangs=tuple(map(compute_domains.merge_groups, plan.gangs)))
    else:
        claimed = compute_domains.merge(plan) if several else plan
    if len(plan.gangs) < 2 or not any(gang.compute_domains for gang in plan.gangs):
        return claimed
    return compute_domains.share(claimed)


def shared_domains(plan: Plan, kind: str = "") -> Iterator[Diagnostic]:
    """F626: groups or gangs that would have a ComputeDomain each, but whose pods come from one template.

    `kind`: that of an existing workload.
    """
    if kind in OF_GROVE and (len(plan.gangs) < 2 or makes_channels(plan.topology)):
        yield from () if makes_channels(plan.topology) else _shared_groups(plan.gangs[0])
        return
    gang = plan.gangs[0]
    count = sum(len(each.compute_domains) for each in plan.gangs)
    gangs = most_copies(gang.gang, len(plan.gangs))
    if not (_has_several_domains(gang) or (gangs > 1 and count)):
        return
    what = f"{'up to ' if gangs > len(plan.gangs) else ''}{gangs} gangs" if gangs > 1 else f"{count} groups"
    message = f'the pods of {what} of "{plan.workflow.name}" come from one pod template and can claim from only one'
    requesting = [unit for unit in walk(gang.root) if _requests_own_domain(unit, gang)]
    if requesting:
        at = (*requesting[0].route, "computeDomain")
        hint = "set `computeDomain: gang`, or use a pod template for each group"
        yield error("F626", at, f"{message} ComputeDomain", hint=hint)
    else:
        way_out = "remove `autoscale` and `surge`" if serves(gang.gang) else "use one pod template for each"
        hint = f"{way_out} to get one each; NVLink works inside each either way"
        yield warning("F626", gang.route, f"{message} ComputeDomain, so bayplan creates one for all", hint=hint)


def kept_domain(gang: Gang) -> Iterator[Diagnostic]:
    """F626 of a workload with a ComputeDomain of its own, which bayplan keeps."""
    for number, group in enumerate(gang.groups):
        if group.compute_domain == "group":
            message = (
                f'the pods of "{gang.name}" already claim from a ComputeDomain of the workload, and can have only one'
            )
            hint = "remove that claim from the pod templates, or remove `computeDomain`"
            yield error("F626", (*GANGS, 0, "groups", number, "computeDomain"), message, hint=hint)


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
    """One workload of that kind with all gangs of the plan. W608: groups of one template with different sizes."""
    gangs = tuple(fold(gang, templates.kind in OF_GROVE) for gang in plan.gangs)
    wrong = tuple(_uneven(gangs[0], templates))
    waits = any(slot.late and (slot.late.after or slot.late.first) for slot in templates.slots)
    whole = Workload(templates.kind, plan.workflow.name, gangs, in_order=waits)
    return Outcome(None if wrong else Shape((whole,), existing=True), wrong)


def _uneven(gang: GangPlan, templates: WorkloadTemplates) -> Iterator[Diagnostic]:
    for slot in templates.slots:
        same = [pods for pods in all_pods(gang.root) if pods.spec.name == slot.name]
        if len(same) > 1:
            sizes = " and ".join(str(pods.replicas) for pods in same)
            message = f'the {slot.total} pods of "{slot.name}" share a pod template, so groups cannot have {sizes} pods'
            yield error("W608", same[-1].route, message, hint="choose a size that divides the number of pods")


def needs(shape: Shape, templates: WorkloadTemplates) -> Iterator[Need]:
    """The features that the workload's own shape needs of a scheduler."""
    gang = shape.workloads[0].gangs[0]
    kind = templates.kind
    called = text(templates.placed.data, "metadata", "name") or gang.name
    subject = f'{kind} "{called}"' if templates.object.data else title(gang, gang.root)  # that of others, or ours
    if kind == SINGLE and serves(gang.gang):
        yield Need(f"place-{SINGLE_PODS}", 1, gang.route, subject=subject)
        return
    placed = SOLE if kind == SINGLE and templates.slots[0].total == 1 else kind
    yield Need(f"place-{placed}", len(templates.slots) + templates.left_out, gang.route, subject=subject)
    if templates.gangs > 1:
        yield Need(f"gangs-{kind}", templates.gangs, gang.route, subject=subject)
    for unit in walk(gang.root):
        if unit.copies > 1:
            whole = kind in OF_GROVE or all(_is_copy(pods, templates) for pods in all_pods(unit))
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


# Workloads that bayplan writes, and whose copies come from one pod template for each role.


def own_templates(workload: Workload) -> WorkloadTemplates:
    """The pod templates of a workload to write, as if it were there already."""
    gang = workload.gangs[0]
    slots = tuple(TemplateSlot(pods.spec.name, (), pods.total) for pods in all_pods(gang.root))
    copies = max(len(workload.gangs), 2 if varies(gang.gang) and workload.kind != STATEFULSET else 1)
    return WorkloadTemplates(workload.kind, Object((), {}), slots, copies)


def own_needs(workload: Workload) -> Iterator[Need]:
    """The features that it needs of a scheduler."""
    return needs(Shape((workload,), existing=True), own_templates(workload))


def own_plan(plan: Plan, gangs: tuple[GangPlan, ...], name: str) -> Plan:
    """The part of a plan that is one workload, under the workload's name."""
    names = {gang.name for gang in gangs}
    workflow = plan.workflow._replace(name=name, gangs=(gangs[0].gang,))
    own = tuple(gang for gang in plan.gangs if gang.name in names)
    return plan._replace(workflow=workflow, queue=gang_queue(plan, gangs[0]), gangs=own)


def _services(plan: Plan) -> Iterator[Plan]:
    """The parts of the plan that are services with a varying number of copies: each is one workload."""
    for gang in plan.gangs:
        own = gang.gang.workload == GROVE and makes_channels(plan.topology)  # a ComputeDomain for each copy
        if gang.copy == 0 and serves(gang.gang) and varies(gang.gang) and not own:
            copies = tuple(each for each in plan.gangs if each.route == gang.route)
            yield own_plan(plan, copies, base_name(plan.workflow, gang.gang))


def with_own_domains(plan: Plan) -> Plan:
    """The plan with one ComputeDomain for pods of one template: in each copy of a service, and for all copies if their
    number varies."""
    merged = {
        gang.name: compute_domains.merge_groups(gang)
        if gang.gang.workload == GROVE
        else compute_domains.merge(plan._replace(gangs=(gang,))).gangs[0]
        for gang in plan.gangs
        if _from_few_templates(gang.gang) and _has_several_domains(gang)
    }
    claimed = plan._replace(gangs=tuple(merged.get(gang.name, gang) for gang in plan.gangs))
    shared = {
        gang.name: gang
        for part in _services(claimed)
        if any(gang.compute_domains for gang in part.gangs)
        for gang in compute_domains.share(part).gangs
    }
    return claimed._replace(gangs=tuple(shared.get(gang.name, gang) for gang in claimed.gangs))


def _from_few_templates(gang: Gang) -> bool:
    return serves(gang) or gang.workload in CONTROLLED


def own_shared_domains(plan: Plan) -> Iterator[Diagnostic]:
    """F626 of the gangs that `with_own_domains` changes."""
    varying = list(_services(plan))
    done = {gang.name for part in varying for gang in part.gangs}
    firsts = [gang for gang in plan.gangs if gang.copy == 0 and gang.name not in done]
    alone = [own_plan(plan, (gang,), gang.name) for gang in firsts if _from_few_templates(gang.gang)]
    for part in (*varying, *alone):
        if part.gangs[0].gang.workload != GROVE or part in varying:
            yield from shared_domains(part)
        elif not makes_channels(plan.topology):
            yield from _shared_groups(part.gangs[0])


def _shared_groups(gang: GangPlan) -> Iterator[Diagnostic]:
    """F626 of the scaling groups of a PodCliqueSet: each clique has its own pod template."""
    for units in gang.root.groups:
        claimed = {pods.compute_domain for member in units.members for pods in all_pods(member)} - {""}
        if len(claimed) > 1:
            message = f'group "{units.name}" would have {len(claimed)} ComputeDomains, but its pods come from the same'
            message += " templates and can claim from only one"
            if any(_requests_own_domain(member, gang) for member in units.members):
                hint = "set `computeDomain: gang`, or make each instance a group"
                yield error("F626", (*units.route, "computeDomain"), message, hint=hint)
            else:
                hint = "make each instance a group to get one each; NVLink works inside each either way"
                yield warning("F626", units.route, f"{message}, so bayplan creates one for all", hint=hint)


def own_marks(plan: Plan, workload: Workload, lowered: Lowered) -> dict[tuple[str, str], Marks]:
    """The marks of a workload's pod templates under its own name, without those that only remove fields."""
    gangs = (*plan.gangs, *workload.gangs)
    routes = {(gang.name, pods.name): pods.route for gang in gangs for pods in all_pods(gang.root)}
    marked = {routes[key]: marks for key, marks in lowered.marks.items()}
    parts = {
        pods.name: lowered.marks.get((workload.name, pods.name)) or marked.get(pods.route, Marks())
        for pods in all_pods(workload.gangs[0].root)
    }
    return {(workload.name, name): _present(marks) for name, marks in parts.items()}


def _present(marks: Marks) -> Marks:
    """The marks that are values."""
    pod = marks.pod._replace(
        labels=_values(marks.pod.labels), annotations=_values(marks.pod.annotations), spec=_values(marks.pod.spec)
    )
    return Marks(_present_meta(marks.owner), _present_meta(marks.job), pod)


def _present_meta(meta: Meta) -> Meta:
    return Meta(_values(meta.labels), _values(meta.annotations), _values(meta.spec))


def _values(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if not isinstance(value, Absent)}


def with_parts(plan: Plan, shape: Shape) -> Plan:
    """The plan with the launcher and the workers of each MPIJob."""
    split = {gang.name: gang for each in shape.workloads if each.kind == MPIJOB for gang in each.gangs}
    return plan._replace(gangs=tuple(split.get(gang.name, gang) for gang in plan.gangs))


def one_of_each(plan: Plan, shape: Shape) -> tuple[Plan, Shape]:
    """Both with one gang, under the name of its workload, in place of all copies that come from the same templates."""
    owners = {gang.name: each for each in shape.workloads if each.kind in CONTROLLED for gang in each.gangs}
    domains = {
        each.name: tuple(
            domain for gang in plan.gangs if owners.get(gang.name) is each for domain in gang.compute_domains
        )
        for each in shape.workloads
    }
    gangs = (
        _standing(gang, owners[gang.name], domains[owners[gang.name].name]) if gang.name in owners else gang
        for gang in plan.gangs
        if gang.name not in owners or owners[gang.name].gangs[0].name == gang.name
    )
    workloads = (
        each._replace(gangs=(_standing(each.gangs[0], each, domains[each.name]),)) if each.kind in CONTROLLED else each
        for each in shape.workloads
    )
    whole = plan._replace(gangs=tuple(gangs)), shape._replace(workloads=tuple(workloads))
    return _without_channels(*whole) if makes_channels(plan.topology) else whole


def _without_channels(plan: Plan, shape: Shape) -> tuple[Plan, Shape]:
    """Both without the ComputeDomains that Grove makes, and the claims on them, which it adds to the pods."""

    def bare(gang: GangPlan) -> GangPlan:
        root = edit_unit(gang.root, pods=lambda pods: pods._replace(compute_domain=""))
        return gang._replace(root=root, compute_domains=())

    made = {gang.name for each in shape.workloads if each.kind == GROVE for gang in each.gangs}
    workloads = (
        each._replace(gangs=tuple(map(bare, each.gangs))) if each.kind == GROVE else each for each in shape.workloads
    )
    gangs = (bare(gang) if gang.name in made else gang for gang in plan.gangs)
    return plan._replace(gangs=tuple(gangs)), shape._replace(workloads=tuple(workloads))


def _standing(gang: GangPlan, workload: Workload, domains: tuple[ComputeDomain, ...]) -> GangPlan:
    """The gang that stands for all copies of its workload."""

    def ranked(pods: Pods) -> Pods:
        if pods.ranks is None or workload.kind == SINGLE:  # no other pod knows a pod without a name
            return pods._replace(ranks=None)
        return pods._replace(ranks=pods.ranks._replace(master=pods.ranks.master._replace(gang=workload.name)))

    return gang._replace(
        name=workload.name,
        gang=gang.gang._replace(replicas=len(workload.gangs)),
        root=edit_unit(gang.root, pods=ranked),
        compute_domains=domains,
    )


# Rename a plan: bayplan plans and proves workloads that differ only in their name once.


def renamed(plan: Plan, shape: Shape, name: str) -> tuple[Plan, Shape]:
    """The plan and the shape under another name. All names in them begin with the workflow's name."""
    old = plan.workflow.name
    workflow = plan.workflow._replace(
        name=name, gangs=tuple(each._replace(name=_name(each.name, old, name)) for each in plan.workflow.gangs)
    )
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
        gang=gang.gang._replace(name=_name(gang.gang.name, old, new)),
        root=edit_unit(gang.root, pods=rename) if domains or claiming else gang.root,
        compute_domains=domains,
    )


def _name(name: str, old: str, new: str) -> str:
    return new + name.removeprefix(old)
