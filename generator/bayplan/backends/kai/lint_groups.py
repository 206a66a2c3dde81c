"""Rules for PodGroups as trees of subgroups, and for the pods that name them.

M704, M706, M707, M715, M809.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from bayplan.backends.kai.pod_group import POD_GROUP, SCHEDULER, SKIP, SUBGROUP, topology_name
from bayplan.core.diagnostics import Diagnostic, Note, Route, error, info, warning
from bayplan.core.phrases import count, did_you_mean, listing, shorten, suggest
from bayplan.kube import quantity
from bayplan.kube.objects import get, items, kind, mapping, name, namespace, number_in, text, title
from bayplan.kube.objects import named as name_route
from bayplan.kube.templates import PodTemplate
from bayplan.linting.claims import claimed
from bayplan.linting.objects import LintContext, grouped, in_namespace, same_namespace
from bayplan.linting.schedulers import scheduler_of
from bayplan.model.manifest import Object
from bayplan.model.topology import HOSTNAME_LABEL

API = "scheduling.run.ai"
KAI_TOPOLOGY = ("kai.scheduler", "Topology")
KUEUE_TOPOLOGY = ("kueue.x-k8s.io", "Topology")


class Node(NamedTuple):
    """The root of a PodGroup (its name is empty) or one of its subgroups."""

    name: str
    parent: str
    data: Mapping[str, object]
    route: Route

    def title(self, group: Object) -> str:
        """The name in messages."""
        whole = f'PodGroup "{name(group)}"'
        return f'subgroup "{self.name}" of {whole}' if self.name else whole


def pod_groups(context: LintContext) -> Sequence[Object]:
    """The PodGroups of KAI."""
    return context.of(API, "PodGroup")


def root(group: Object) -> Node:
    """The root node of a PodGroup."""
    return Node("", "", mapping(group.data, "spec"), (*group.route, "spec"))


def subgroups(group: Object) -> Iterator[Node]:
    """The subgroups of a PodGroup that have a name, in the order of the manifest."""
    for index, each in enumerate(items(group.data, "spec", "subGroups")):
        if text(each, "name"):
            route: Route = (*group.route, "spec", "subGroups", index)
            yield Node(text(each, "name"), text(each, "parent"), mapping(each), route)


def leaves(group: Object) -> dict[str, Node]:
    """Name -> subgroup, of the subgroups that can have pods because they are nobody's parent."""
    nodes = list(subgroups(group))
    parents = {node.parent for node in nodes}
    return {node.name: node for node in nodes if node.name not in parents}


def ancestors(node: Node, nodes: Mapping[str, Node]) -> Iterator[Node]:
    """The subgroups around a node, nearest first. A cycle ends the iteration."""
    seen = {node.name}
    while node.parent in nodes and node.parent not in seen:
        seen.add(node.parent)
        node = nodes[node.parent]
        yield node


class Levels(NamedTuple):
    """The levels of a Topology, from coarse to fine, and its route (empty for the topology file)."""

    labels: tuple[str, ...]
    aliases: Mapping[str, str]
    route: Route = ()

    def depth(self, level: str) -> int | None:
        """The depth of a level, 0 for the coarsest; None if this Topology does not have it."""
        label = self.aliases.get(level, level)
        return self.labels.index(label) if label in self.labels else None


def known_levels(context: LintContext) -> dict[str, Levels]:
    """Name -> levels of a Topology, from the topology file and from the manifests. The manifests win."""
    topologies: dict[str, Levels] = {}
    for pool in context.topology.pools:
        labels = tuple(level.label for level in pool.levels)
        topologies[topology_name(context.topology, pool.name)] = Levels((*labels, HOSTNAME_LABEL), {})
    own = KAI_TOPOLOGY if context.target.since("kai", "0.12") else KUEUE_TOPOLOGY
    for one in context.of(*own):
        levels = [level for level in items(one.data, "spec", "levels") if text(level, "nodeLabel")]
        aliases = {text(level, "alias"): text(level, "nodeLabel") for level in levels if text(level, "alias")}
        topologies[name(one)] = Levels(tuple(text(level, "nodeLabel") for level in levels), aliases, one.route)
    return topologies


def for_kai(template: PodTemplate, context: LintContext) -> bool:
    """Whether KAI schedules the pods of a template."""
    return scheduler_of(template) == context.topology.scheduler_name("kai", SCHEDULER)


def group_of(template: PodTemplate) -> str:
    """The PodGroup that the pods of a template name."""
    return text(template.annotations, POD_GROUP)


def subgroup_of(template: PodTemplate) -> str:
    """The subgroup that the pods of a template name. Without one, KAI uses `default`."""
    return text(template.labels, SUBGROUP)


def members(group: Object, context: LintContext) -> list[PodTemplate]:
    """The templates whose pods name a PodGroup."""
    members = context.members.get(name(group), ()) if name(group) else ()
    return [each for each in members if same_namespace(namespace(each.object), namespace(group))]


def whole(value: object) -> int:
    """The integer in a string of digits; 0 for anything else."""
    return quantity.whole(value, 9) if isinstance(value, str) else 0


# Names and parents of subgroups (M715)

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
LONGEST_NAME = 63


def check_subgroups(context: LintContext) -> Iterator[Diagnostic]:
    """M715: subgroups that the webhook refuses (podgroup_webhook.go), and names that cannot be label values."""
    for group in pod_groups(context):
        for index, each in enumerate(items(group.data, "spec", "subGroups")):
            if not text(each, "name"):
                route = (*group.route, "spec", "subGroups", index)
                yield error("M715", route, "this subgroup has no `name`", hint="add `name:`")
        seen: dict[str, Node] = {}
        for node in subgroups(group):
            yield from _subgroup_name(node)
            first = seen.setdefault(node.name, node)
            if first is not node:
                note = Note("the first is here", (*first.route, "name"))
                message = f'{title(group)} has two subgroups "{shorten(node.name)}"'
                yield error("M715", (*node.route, "name"), message, hint="rename one of the two", notes=(note,))
        for node in seen.values():
            yield from _parent(group, node, seen)


def _subgroup_name(node: Node) -> Iterator[Diagnostic]:
    """M715: pods have the name as a label value, and since 0.15 the CRD requires a DNS label."""
    if len(node.name) > LONGEST_NAME or not LABEL.fullmatch(node.name):
        message = f'"{shorten(node.name)}" is not a valid name of a subgroup'
        hint = f"use at most {LONGEST_NAME} lower-case letters, digits and hyphens"
        yield error("M715", (*node.route, "name"), message, hint=hint)


def _parent(group: Object, node: Node, nodes: dict[str, Node]) -> Iterator[Diagnostic]:
    if node.parent and node.parent not in nodes:
        message = f'{title(group)} has no subgroup "{shorten(node.parent)}"'
        hint = suggest(node.parent, [each for each in nodes if each != node.name], "subgroups")
        yield error("M715", (*node.route, "parent"), message, hint=hint)
    above = list(ancestors(node, nodes))
    if node.parent == node.name or (above and above[-1].parent == node.name):
        message = f'subgroup "{shorten(node.name)}" is its own ancestor'
        yield error("M715", (*node.route, "parent"), message, hint="remove one `parent` of the cycle")


# How many pods and subgroups must start (M715)

MINIMUMS = ("minMember", "minSubGroup")


def check_minimums(context: LintContext) -> Iterator[Diagnostic]:
    """M715: since 0.15, the webhook refuses most mistakes. Before, KAI read only leaves and reported nothing."""
    for group in pod_groups(context):
        nodes = list(subgroups(group))
        for node in (root(group), *nodes):
            children = [each for each in nodes if each.parent == node.name]
            yield from _least_values(node, context)
            if context.target.since("kai", "0.15"):
                yield from _one_minimum(group, node, children)
        yield from _root_minimum(group, nodes)
        yield from _stale_gang(group, nodes, context)


def _least_values(node: Node, context: LintContext) -> Iterator[Diagnostic]:
    """M715: the minimums of the CRD, 1 for the root up to 0.16.8 and in 0.17.0, and 1 for leaves up to 0.14."""
    of_root = context.target.since("kai", "0.17.1") or context.target.between("kai", "0.16.9", "0.17")
    least = 0 if of_root or (node.name and context.target.since("kai", "0.15")) else 1
    for key in MINIMUMS:
        value = get(node.data, key)
        stated = number_in(node.data, key)
        if value is not None and (stated is None or stated < least):
            yield error("M715", (*node.route, key), f"`{key}` must be an integer, {least} or more")


def _one_minimum(group: Object, node: Node, children: Sequence[Node]) -> Iterator[Diagnostic]:
    pods, groups = (get(node.data, key) is not None for key in MINIMUMS)
    what = node.title(group)
    if pods and groups:
        hint = "keep `minMember` in a leaf, or `minSubGroup` in a group with subgroups"
        yield error("M715", (*node.route, "minSubGroup"), f"{what} has both `minMember` and `minSubGroup`", hint=hint)
    elif node.name and children and pods:
        hint = "remove it, or replace it by `minSubGroup` if not all subgroups must start"
        message = f"{what} has subgroups, so it cannot have `minMember`"
        yield error("M715", (*node.route, "minMember"), message, hint=hint)
    elif not children and groups:
        hint = "write `minMember` instead"
        yield error("M715", (*node.route, "minSubGroup"), f"{what} has `minSubGroup`, but no subgroups", hint=hint)
    elif node.name and not children and not pods:
        yield error("M715", node.route, f"{what} has no `minMember`", hint="add `minMember`: how many pods must start")
    wanted = number_in(node.data, "minSubGroup")
    if wanted is not None and children and wanted > len(children):
        message = f"{what} never starts: it waits for {wanted} subgroups, but has only {len(children)}"
        yield error("M715", (*node.route, "minSubGroup"), message, hint=f"set {len(children)}, or remove the field")


def _root_minimum(group: Object, nodes: Sequence[Node]) -> Iterator[Diagnostic]:
    """M715: with subgroups, KAI ignores the minimum of the root (job_info.go)."""
    least = [number_in(node.data, "minMember") for node in leaves(group).values()]
    own = number_in(group.data, "spec", "minMember")
    optional = any(get(node.data, "minSubGroup") is not None for node in (root(group), *nodes))
    if own is None or not least or None in least or optional:
        return
    total = sum(each for each in least if each is not None)
    if own != total:
        message = f"{title(group)} has `minMember: {own}`, but the minimums of its subgroups add up to {total}"
        hint = f"set {total}: KAI reads only the subgroups"
        yield warning("M715", (*group.route, "spec", "minMember"), message, hint=hint)


def _stale_gang(group: Object, nodes: Sequence[Node], context: LintContext) -> Iterator[Diagnostic]:
    """M715: KAI treats a gang without its optional leaves as stale, because that test ignores minSubGroup.

    Source: pkg/scheduler/actions/stalegangeviction.
    """
    period = text(group.data, "spec", "stalenessGracePeriod")
    if period.startswith("-") or not context.target.since("kai", "0.15"):
        return
    for node in (root(group), *nodes):
        children = [each for each in nodes if each.parent == node.name]
        wanted = number_in(node.data, "minSubGroup")
        if wanted is not None and wanted < len(children):
            message = f"{node.title(group)} may start with {wanted} of {count(len(children), 'subgroup')}, "
            message += f"but KAI then evicts it as stale after {period or 'a minute'}"
            newer = context.target.since("kai", "0.17")
            hint = 'set `stalenessGracePeriod: "-1s"`' if newer else "require all subgroups, or use KAI 0.17"
            yield warning("M715", (*node.route, "minSubGroup"), message, hint=hint)


# Pods and their PodGroup, which exists (M707) and has one ComputeDomain (M809)


def check_members(context: LintContext) -> Iterator[Diagnostic]:
    """M707, M809. KAI does not report a missing PodGroup."""
    named = [each for each in context.templates if group_of(each)]
    for (where, pod_group), templates in grouped(lambda t: (namespace(t.object), group_of(t)), named).items():
        if not context.find(API, "PodGroup", pod_group, where):
            yield from _missing_pod_group(pod_group, where, templates[0], context)
    for group in pod_groups(context):
        yield from _one_compute_domain(members(group, context), context)


def _missing_pod_group(pod_group: str, where: str, template: PodTemplate, context: LintContext) -> Iterator[Diagnostic]:
    route: Route = (*template.route, "metadata", "annotations", POD_GROUP)
    elsewhere = context.names.get((API, "PodGroup", pod_group), ())
    if elsewhere:
        message = f'PodGroup "{pod_group}" is in namespace "{namespace(elsewhere[0])}", but its pods are in "{where}"'
        note = Note("the PodGroup is here", name_route(elsewhere[0]))
        yield error("M707", route, message, hint=f'move it to namespace "{where}"', notes=(note,))
        return
    message = f'the manifests have no PodGroup "{pod_group}" of KAI'
    near = did_you_mean(pod_group, {name(each) for each in in_namespace(pod_groups(context), where)})
    if pod_groups(context):
        yield warning("M707", route, message, hint=near or "add the PodGroup: without it the pods stay pending")
    else:
        yield info("M707", route, message, hint="add it, or pass its file too: without it the pods stay pending")


def _one_compute_domain(group_pods: Sequence[PodTemplate], context: LintContext) -> Iterator[Diagnostic]:
    """M809: pods of one group that claim channels of different ComputeDomains."""
    for subgroup, templates in grouped(subgroup_of, group_pods).items():
        channel_claims = [claim for each in templates for claim in claimed(context, each)[:1]]
        for route, domain in channel_claims[1:]:
            if domain.route != channel_claims[0][1].route:
                what = f'subgroup "{subgroup}"' if subgroup else f'PodGroup "{group_of(templates[0])}"'
                message = f"pods of {what} claim channels of {title(channel_claims[0][1])} and {title(domain)}"
                note = Note("the other claim is here", channel_claims[0][0])
                hint = "use one ComputeDomain, or give each ComputeDomain its own group"
                yield warning("M809", route, message, hint=hint, notes=(note,))
                break


# Other marks that pods of a PodGroup need (M707, M706), and PodGroups with one name in two namespaces (M704)


def check_pods(context: LintContext) -> Iterator[Diagnostic]:
    """M707, M706, M704: marks without which pods stay pending, mostly without an event."""
    leaf_groups = {each.route: leaves(each) for each in pod_groups(context)}
    for template in context.templates:
        if group_of(template):
            yield from _scheduler_name(template, context)
            yield from _skip_annotation(template, context)
            for group in context.find(API, "PodGroup", group_of(template), namespace(template.object))[:1]:
                yield from _leaf_subgroup(template, group, leaf_groups[group.route])
    yield from _ambiguous_names(context)


def _scheduler_name(template: PodTemplate, context: LintContext) -> Iterator[Diagnostic]:
    if not for_kai(template, context):
        wanted = f'"{context.topology.scheduler_name("kai", SCHEDULER)}"'
        message = f'the pods name a PodGroup of KAI, but their scheduler is "{scheduler_of(template)}"'
        has = text(template.spec, "schedulerName")
        route = (*template.spec_route, "schedulerName") if has else template.spec_route
        yield error("M706", route, message, hint=f"set `schedulerName` to {wanted}")


def _skip_annotation(template: PodTemplate, context: LintContext) -> Iterator[Diagnostic]:
    """M707: without the annotation, KAI makes another PodGroup for the pods (podgrouper/pod_controller.go)."""
    if not template.owned or not for_kai(template, context):
        return
    route: Route = (*template.route, "metadata", "annotations", POD_GROUP)
    if not context.target.since("kai", "0.15"):
        message = (
            f"KAI {context.target.version('kai')} removes the pods of a {kind(template.object)} from this PodGroup"
        )
        hint = "use KAI 0.15, or write Pods: below 0.15, only pods without an owner keep their PodGroup"
        yield error("M707", route, message, hint=hint)
        return
    paths = [template.path[:depth] for depth in range(len(template.path) + 1)]
    marks = [(path, get(template.object.data, *path, "metadata", "annotations", SKIP)) for path in paths]
    wrong = [(path, mark) for path, mark in marks if mark is not None and mark != "true"]
    if any(mark == "true" for _, mark in marks):
        return
    if wrong:
        place = (*template.object.route, *wrong[0][0], "metadata", "annotations", SKIP)
        message = 'KAI ignores this value: it must be the string "true"'
        yield error("M707", place, message, hint='write "true" with the quotes')
    else:
        message = f"KAI ignores this PodGroup, and makes another one for the pods of this {kind(template.object)}"
        yield error("M707", route, message, hint=f'add the annotation {SKIP}: "true" to the {kind(template.object)}')


def _leaf_subgroup(template: PodTemplate, group: Object, leaf_groups: Mapping[str, Node]) -> Iterator[Diagnostic]:
    """M707: pods belong to leaf subgroups. Without the label, KAI uses the subgroup `default`."""
    called = subgroup_of(template) or "default"
    if not leaf_groups or called in leaf_groups:
        return
    own = bool(subgroup_of(template))
    route: Route = (*template.route, "metadata", "labels", SUBGROUP) if own else template.route
    if called in {node.name for node in subgroups(group)}:
        message = f'subgroup "{called}" of PodGroup "{name(group)}" has subgroups, but pods must be in a leaf'
    elif own:
        message = f'PodGroup "{name(group)}" has no subgroup "{called}"'
    else:
        message = f'the pods name no subgroup of PodGroup "{name(group)}"'
    note = Note("the PodGroup is here", name_route(group))
    near = did_you_mean(called, leaf_groups) if own else ""
    hint = near or f"set the label {SUBGROUP} to {listing(leaf_groups, most=5)}"
    yield error("M707", route, message, hint=hint, notes=(note,))


def _ambiguous_names(context: LintContext) -> Iterator[Diagnostic]:
    """M704: KAI up to 0.17 finds PodGroups only by name (KAI#2095)."""
    if context.target.since("kai", "0.18"):
        return
    for same in grouped(name, filter(name, pod_groups(context))).values():
        others = [each for each in same[1:] if not same_namespace(namespace(each), namespace(same[0]))]
        for other in others:
            note = Note("the other is here", name_route(same[0]))
            message = f'PodGroups in two namespaces have the name "{name(other)}", and KAI confuses their pods'
            hint = "rename one: up to 0.17, KAI finds PodGroups only by name"
            yield error("M704", name_route(other), message, hint=hint, notes=(note,))
