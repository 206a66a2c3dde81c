"""Pods and the PodGroup that they name: whether there is one (M707), pods enough (M708), one ComputeDomain (M809)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bayplan.backends.kai.linting.parts import API, group_of, leaves, members, pod_groups, root, subgroup_of
from bayplan.backends.kai.pod_group import POD_GROUP
from bayplan.core.diagnostics import Diagnostic, Note, Route, error, info, warning
from bayplan.core.phrases import count, did_you_mean
from bayplan.kube.objects import name, named, namespace, number_in, title
from bayplan.kube.templates import PodTemplate
from bayplan.linting.claims import claimed
from bayplan.linting.objects import LintContext, grouped, in_namespace
from bayplan.model.manifest import Object


def check(context: LintContext) -> Iterator[Diagnostic]:
    """M707 to M809. KAI says nothing of a PodGroup that does not come, and starts no gang below its minimum."""
    marked = [each for each in context.templates if group_of(each)]
    for (where, called), templates in grouped(lambda t: (namespace(t.object), group_of(t)), marked).items():
        if not context.find(API, "PodGroup", called, where):
            yield from _missing(called, where, templates[0], context)
    for group in pod_groups(context):
        yield from _too_few(group, members(group, context))
        yield from _apart(members(group, context), context)
        yield from _uneven(group, members(group, context))


def _missing(called: str, where: str, template: PodTemplate, context: LintContext) -> Iterator[Diagnostic]:
    route: Route = (*template.route, "metadata", "annotations", POD_GROUP)
    elsewhere = context.names.get((API, "PodGroup", called), ())
    if elsewhere:
        message = f'PodGroup "{called}" is in namespace "{namespace(elsewhere[0])}", its pods in "{where}"'
        note = Note("the PodGroup is here", named(elsewhere[0]))
        yield error("M707", route, message, hint="a PodGroup and its pods share a namespace", notes=(note,))
        return
    message = f'no PodGroup "{called}" of KAI is among the manifests'
    near = did_you_mean(called, {name(each) for each in in_namespace(pod_groups(context), where)})
    if pod_groups(context):
        yield warning("M707", route, message, hint=near or "the pods wait until there is one")
    else:
        yield info("M707", route, message, hint="the pods wait until there is one; pass its file too")


def _too_few(group: Object, mine: Sequence[PodTemplate]) -> Iterator[Diagnostic]:
    """With subgroups, KAI looks at their minimums alone."""
    if not mine or any(each.pods is None for each in mine):
        return
    ends = leaves(group)
    for leaf in ends.values():
        here = [each for each in mine if subgroup_of(each) == leaf.name]
        yield from _waiting(leaf.title(group), number_in(leaf.data, "minMember"), here, (*leaf.route, "minMember"))
    if not ends:
        least = number_in(group.data, "spec", "minMember")
        yield from _waiting(f'PodGroup "{name(group)}"', least, mine, (*group.route, "spec", "minMember"))


def _waiting(what: str, least: int | None, mine: Sequence[PodTemplate], route: Route) -> Iterator[Diagnostic]:
    total = sum(each.pods or 0 for each in mine)
    if least is not None and total < least:
        message = f"{what} waits for {count(least, 'pod')}, and the manifests make {total}"
        notes = tuple(Note("pods of it are here", each.route) for each in mine[:1])
        yield error("M708", route, message, hint="the gang never starts: lower `minMember`, or add pods", notes=notes)


def _apart(mine: Sequence[PodTemplate], context: LintContext) -> Iterator[Diagnostic]:
    """Pods that are placed as one group, on several NVLink domains for all that their claims say."""
    for subgroup, templates in grouped(subgroup_of, mine).items():
        found = [claim for each in templates for claim in claimed(context, each)[:1]]
        for route, domain in found[1:]:
            if domain.route != found[0][1].route:
                called = f'subgroup "{subgroup}"' if subgroup else f'PodGroup "{group_of(templates[0])}"'
                message = f"pods of {called} claim channels of {title(found[0][1])} and {title(domain)}"
                note = Note("the other claim is here", found[0][0])
                hint = "one group shares one NVLink domain: give each ComputeDomain a group of its own"
                yield warning("M809", route, message, hint=hint, notes=(note,))
                break


def _uneven(group: Object, mine: Sequence[PodTemplate]) -> Iterator[Diagnostic]:
    """Towards its end a Job has fewer pods than it had at its start (KAI#1347)."""
    least = max([number_in(each.data, "minMember") or 0 for each in (root(group), *leaves(group).values())])
    for each in mine:
        parallelism = number_in(each.object.data, *each.path[:-1], "parallelism") if each.owned else None
        completions = number_in(each.object.data, *each.path[:-1], "completions") if each.owned else None
        if least > 1 and parallelism is not None and completions is not None and parallelism < completions:
            route: Route = (*each.object.route, *each.path[:-1], "completions")
            message = (
                f"the last of {completions} pods, {parallelism} at a time, may be fewer than the {least} of their gang"
            )
            note = Note("the PodGroup is here", named(group))
            hint = "KAI then starts none of them: set `parallelism` and `completions` to the same number"
            yield warning("M708", route, message, hint=hint, notes=(note,))
