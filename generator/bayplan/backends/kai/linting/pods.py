"""Pods that name a PodGroup: what they must carry besides (M701, M816), and names that two namespaces share (M818)."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.backends.kai.linting.parts import API, for_kai, group_of, leaves, pod_groups, subgroup_of, subgroups
from bayplan.backends.kai.pod_group import POD_GROUP, SKIP, SUBGROUP
from bayplan.core.diagnostics import Diagnostic, Note, Route, error
from bayplan.core.phrases import did_you_mean, listing
from bayplan.kube.objects import get, kind, name, named, namespace, text
from bayplan.kube.templates import PodTemplate
from bayplan.linting.objects import LintContext, grouped, same_namespace
from bayplan.linting.schedulers import scheduler_names, scheduler_of
from bayplan.model.manifest import Object


def check(context: LintContext) -> Iterator[Diagnostic]:
    """Each mark that is missing leaves the pods waiting, most of them without an event."""
    for template in context.templates:
        if group_of(template):
            yield from _scheduler(template, context)
            yield from _skipped(template, context)
            for group in context.find(API, "PodGroup", group_of(template), namespace(template.object))[:1]:
                yield from _subgroup(template, group)
    yield from _names(context)


def _scheduler(template: PodTemplate, context: LintContext) -> Iterator[Diagnostic]:
    if not for_kai(template, context):
        wanted = " or ".join(f'"{each}"' for each in scheduler_names(context.topology, "kai", "kai-scheduler"))
        message = f'the pods name a PodGroup of KAI, and are given to "{scheduler_of(template)}"'
        has = text(template.spec, "schedulerName")
        route = (*template.spec_route, "schedulerName") if has else template.spec_route
        yield error("M816", route, message, hint=f"set `schedulerName` to {wanted}: no other looks at the PodGroup")


def _skipped(template: PodTemplate, context: LintContext) -> Iterator[Diagnostic]:
    """Otherwise KAI makes a PodGroup of its own for the controller's pods (podgrouper/pod_controller.go)."""
    if not template.owned or not for_kai(template, context):
        return
    route: Route = (*template.route, "metadata", "annotations", POD_GROUP)
    if not context.target.since("kai", "0.15"):
        message = (
            f"KAI {context.target.version('kai')} takes the pods of a {kind(template.object)} out of this PodGroup"
        )
        hint = "below 0.15 only pods without an owner keep it: write Pods, or use KAI 0.15"
        yield error("M816", route, message, hint=hint)
        return
    paths = [template.path[:depth] for depth in range(len(template.path) + 1)]
    marks = [(path, get(template.object.data, *path, "metadata", "annotations", SKIP)) for path in paths]
    wrong = [(path, mark) for path, mark in marks if mark is not None and mark != "true"]
    if any(mark == "true" for _, mark in marks):
        return
    if wrong:
        place = (*template.object.route, *wrong[0][0], "metadata", "annotations", SKIP)
        message = 'only the text "true" keeps KAI\'s podgrouper away'
        yield error("M816", place, message, hint='write "true", with the quotes')
    else:
        message = (
            f"KAI makes a PodGroup of its own for the pods of this {kind(template.object)}, and this one is in vain"
        )
        yield error("M816", route, message, hint=f'add the annotation {SKIP}: "true" to the {kind(template.object)}')


def _subgroup(template: PodTemplate, group: Object) -> Iterator[Diagnostic]:
    """M701: pods belong to leaves; without a label, to the one called default."""
    ends, called = leaves(group), subgroup_of(template) or "default"
    if not ends or called in ends:
        return
    own = bool(subgroup_of(template))
    route: Route = (*template.route, "metadata", "labels", SUBGROUP) if own else template.route
    if called in {node.name for node in subgroups(group)}:
        message = f'subgroup "{called}" of PodGroup "{name(group)}" has subgroups, and pods belong to leaves'
    elif own:
        message = f'PodGroup "{name(group)}" has no subgroup "{called}"'
    else:
        message = f'the pods name no subgroup of PodGroup "{name(group)}"'
    note = Note("the PodGroup is here", named(group))
    near = did_you_mean(called, ends) if own else ""
    hint = near or f"label them {SUBGROUP} with one of {listing(ends, most=5)}"
    yield error("M701", route, message, hint=hint, notes=(note,))


def _names(context: LintContext) -> Iterator[Diagnostic]:
    """KAI up to 0.17 keeps PodGroups by name alone (KAI#2095)."""
    if context.target.since("kai", "0.18"):
        return
    for same in grouped(name, filter(name, pod_groups(context))).values():
        others = [each for each in same[1:] if not same_namespace(namespace(each), namespace(same[0]))]
        for other in others:
            note = Note("the other is here", named(same[0]))
            message = f'PodGroups of two namespaces are called "{name(other)}", and KAI mixes them up'
            hint = "rename one: up to 0.17 KAI knows PodGroups by their names alone"
            yield error("M818", named(other), message, hint=hint, notes=(note,))
