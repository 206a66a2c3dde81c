"""PodGroups as trees of subgroups, and the pods that name them (M701, M707, M708, M715, M716, M809, M701, M818)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from bayplan.backends.kai.pod_group import POD_GROUP, SCHEDULER, SKIP, SUBGROUP, topology_name
from bayplan.core.diagnostics import Diagnostic, Note, Route, error, info, warning
from bayplan.core.phrases import count, did_you_mean, listing, shorten, suggest
from bayplan.core.values import NamedTuple
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
        """How messages call it."""
        whole = f'PodGroup "{name(group)}"'
        return f'subgroup "{self.name}" of {whole}' if self.name else whole


def pod_groups(context: LintContext) -> Sequence[Object]:
    """KAI's PodGroups."""
    return context.of(API, "PodGroup")


def root(group: Object) -> Node:
    """The PodGroup itself."""
    return Node("", "", mapping(group.data, "spec"), (*group.route, "spec"))


def subgroups(group: Object) -> Iterator[Node]:
    """Its subgroups, in the order written; those without a name are left out."""
    for index, each in enumerate(items(group.data, "spec", "subGroups")):
        if text(each, "name"):
            route: Route = (*group.route, "spec", "subGroups", index)
            yield Node(text(each, "name"), text(each, "parent"), mapping(each), route)


def leaves(group: Object) -> dict[str, Node]:
    """Subgroups in which pods may be: those that are nobody's parent."""
    nodes = list(subgroups(group))
    parents = {node.parent for node in nodes}
    return {node.name: node for node in nodes if node.name not in parents}


def ancestors(node: Node, nodes: Mapping[str, Node]) -> Iterator[Node]:
    """The subgroups around one, nearest first; a cycle ends it."""
    seen = {node.name}
    while node.parent in nodes and node.parent not in seen:
        seen.add(node.parent)
        node = nodes[node.parent]
        yield node


class Levels(NamedTuple):
    """The levels of a Topology, coarse to fine, and where it is written (empty: in the topology file)."""

    labels: tuple[str, ...]
    aliases: Mapping[str, str]
    route: Route = ()

    def depth(self, level: str) -> int | None:
        """0 for the coarsest; None for no level of this Topology."""
        label = self.aliases.get(level, level)
        return self.labels.index(label) if label in self.labels else None


def known_levels(context: LintContext) -> dict[str, Levels]:
    """Topologies by name: those of the manifests, else those that the topology file would export."""
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
    """Whether its pods are given to KAI."""
    return scheduler_of(template) == context.topology.scheduler_name("kai", SCHEDULER)


def group_of(template: PodTemplate) -> str:
    """The PodGroup that its pods name."""
    return text(template.annotations, POD_GROUP)


def subgroup_of(template: PodTemplate) -> str:
    """The subgroup that its pods name. Without one KAI takes `default`."""
    return text(template.labels, SUBGROUP)


def members(group: Object, context: LintContext) -> list[PodTemplate]:
    """The templates whose pods name a PodGroup."""
    members = context.members.get(name(group), ()) if name(group) else ()
    return [each for each in members if same_namespace(namespace(each.object), namespace(group))]


def whole(value: object) -> int:
    """The number that a text of digits is; 0 for anything else."""
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10 else 0


# Names and parents of subgroups (M715)

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
LONGEST_NAME = 63


def check_subgroups(context: LintContext) -> Iterator[Diagnostic]:
    """What the webhook refuses (podgroup_webhook.go), and names that no pod can carry as a label."""
    for group in pod_groups(context):
        for index, each in enumerate(items(group.data, "spec", "subGroups")):
            if not text(each, "name"):
                yield error("M715", (*group.route, "spec", "subGroups", index), "this subgroup has no name")
        seen: dict[str, Node] = {}
        for node in subgroups(group):
            yield from _subgroup_name(node)
            first = seen.setdefault(node.name, node)
            if first is not node:
                note = Note("the first is here", (*first.route, "name"))
                message = f'{title(group)} has two subgroups "{shorten(node.name)}"'
                yield error("M715", (*node.route, "name"), message, hint="rename one", notes=(note,))
        for node in seen.values():
            yield from _parent(group, node, seen)


def _subgroup_name(node: Node) -> Iterator[Diagnostic]:
    """Pods carry it as a label; since 0.15 the CRD wants a DNS label."""
    if len(node.name) > LONGEST_NAME or not LABEL.fullmatch(node.name):
        message = f'"{shorten(node.name)}" cannot be the name of a subgroup'
        hint = f"use lower-case letters, digits and hyphens, {LONGEST_NAME} at most"
        yield error("M715", (*node.route, "name"), message, hint=hint)


def _parent(group: Object, node: Node, nodes: dict[str, Node]) -> Iterator[Diagnostic]:
    if node.parent and node.parent not in nodes:
        message = f'{title(group)} has no subgroup "{shorten(node.parent)}"'
        hint = suggest(node.parent, [each for each in nodes if each != node.name], "subgroups")
        yield error("M715", (*node.route, "parent"), message, hint=hint)
    above = list(ancestors(node, nodes))
    if node.parent == node.name or (above and above[-1].parent == node.name):
        message = f'subgroup "{shorten(node.name)}" is its own ancestor'
        yield error("M715", (*node.route, "parent"), message, hint="a subgroup without `parent` ends the chain")


# How many pods and subgroups must start (M716)

MINIMUMS = ("minMember", "minSubGroup")


def check_minimums(context: LintContext) -> Iterator[Diagnostic]:
    """Since 0.15 the webhook refuses most of it; before, KAI looked at leaves alone and said nothing."""
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
    """The CRD's least numbers: 1 at the root up to 0.17, 1 at leaves up to 0.14."""
    least = 1 if not node.name or not context.target.since("kai", "0.15") else 0
    for key in MINIMUMS:
        value = get(node.data, key)
        stated = number_in(node.data, key)
        if value is not None and (stated is None or stated < least):
            yield error("M716", (*node.route, key), f"`{key}` must be a whole number, {least} or more")


def _one_minimum(group: Object, node: Node, children: Sequence[Node]) -> Iterator[Diagnostic]:
    pods, groups = (get(node.data, key) is not None for key in MINIMUMS)
    what = node.title(group)
    if pods and groups:
        hint = "`minMember` is for leaves, `minSubGroup` for what has subgroups; keep one"
        yield error("M716", (*node.route, "minSubGroup"), f"{what} has both `minMember` and `minSubGroup`", hint=hint)
    elif node.name and children and pods:
        hint = "remove it: all its subgroups must start, or `minSubGroup` of them"
        yield error("M716", (*node.route, "minMember"), f"{what} has subgroups, so it takes no `minMember`", hint=hint)
    elif not children and groups:
        hint = "write `minMember` instead"
        yield error("M716", (*node.route, "minSubGroup"), f"{what} has no subgroups to count", hint=hint)
    elif node.name and not children and not pods:
        yield error("M716", node.route, f"{what} does not say how many pods must start", hint="add `minMember`")
    wanted = number_in(node.data, "minSubGroup")
    if wanted is not None and children and wanted > len(children):
        message = f"{what} waits for {wanted} subgroups and has {len(children)}, so it never starts"
        yield error("M716", (*node.route, "minSubGroup"), message, hint=f"set {len(children)}, or leave it out")


def _root_minimum(group: Object, nodes: Sequence[Node]) -> Iterator[Diagnostic]:
    """With subgroups KAI does not look at the root's number (job_info.go)."""
    least = [number_in(node.data, "minMember") for node in leaves(group).values()]
    own = number_in(group.data, "spec", "minMember")
    optional = any(get(node.data, "minSubGroup") is not None for node in (root(group), *nodes))
    if own is None or not least or None in least or optional:
        return
    total = sum(each for each in least if each is not None)
    if own != total:
        message = f"{title(group)} has minMember {own}, and the minimums of its subgroups add up to {total}"
        hint = f"KAI looks at the subgroups alone; set {total}, so that readers are not misled"
        yield warning("M716", (*group.route, "spec", "minMember"), message, hint=hint)


def _stale_gang(group: Object, nodes: Sequence[Node], context: LintContext) -> Iterator[Diagnostic]:
    """A gang that runs without optional leaves counts as stale, since that test knows no minSubGroup
    (pkg/scheduler/actions/stalegangeviction)."""
    if text(group.data, "spec", "stalenessGracePeriod").startswith("-") or not context.target.since("kai", "0.15"):
        return
    for node in (root(group), *nodes):
        children = [each for each in nodes if each.parent == node.name]
        wanted = number_in(node.data, "minSubGroup")
        if wanted is not None and wanted < len(children):
            message = (
                f"{node.title(group)} may start with {wanted} of {count(len(children), 'subgroup')}, and KAI evicts"
            )
            newer = context.target.since("kai", "0.17")
            hint = 'set `stalenessGracePeriod: "-1s"`' if newer else "require all subgroups, or use KAI 0.17"
            yield warning("M716", (*node.route, "minSubGroup"), f"{message} it after a minute as stale", hint=hint)


# Pods and the PodGroup that they name: it exists (M707), has enough pods (M708) and one ComputeDomain (M809)


def check_members(context: LintContext) -> Iterator[Diagnostic]:
    """M707 to M809. KAI says nothing of a PodGroup that does not come, and starts no gang below its minimum."""
    named = [each for each in context.templates if group_of(each)]
    for (where, pod_group), templates in grouped(lambda t: (namespace(t.object), group_of(t)), named).items():
        if not context.find(API, "PodGroup", pod_group, where):
            yield from _missing_pod_group(pod_group, where, templates[0], context)
    for group in pod_groups(context):
        yield from _too_few_pods(group, members(group, context))
        yield from _one_compute_domain(members(group, context), context)
        yield from _fewer_pods_at_the_end(group, members(group, context))


def _missing_pod_group(pod_group: str, where: str, template: PodTemplate, context: LintContext) -> Iterator[Diagnostic]:
    route: Route = (*template.route, "metadata", "annotations", POD_GROUP)
    elsewhere = context.names.get((API, "PodGroup", pod_group), ())
    if elsewhere:
        message = f'PodGroup "{pod_group}" is in namespace "{namespace(elsewhere[0])}", its pods in "{where}"'
        note = Note("the PodGroup is here", name_route(elsewhere[0]))
        yield error("M707", route, message, hint="a PodGroup and its pods share a namespace", notes=(note,))
        return
    message = f'no PodGroup "{pod_group}" of KAI is among the manifests'
    near = did_you_mean(pod_group, {name(each) for each in in_namespace(pod_groups(context), where)})
    if pod_groups(context):
        yield warning("M707", route, message, hint=near or "the pods wait until there is one")
    else:
        yield info("M707", route, message, hint="the pods wait until there is one; pass its file too")


def _too_few_pods(group: Object, group_pods: Sequence[PodTemplate]) -> Iterator[Diagnostic]:
    """With subgroups, KAI looks at their minimums alone."""
    if not group_pods or any(each.pods is None for each in group_pods):
        return
    leaf_groups = leaves(group)
    for leaf in leaf_groups.values():
        here = [each for each in group_pods if subgroup_of(each) == leaf.name]
        yield from _below_minimum(
            leaf.title(group), number_in(leaf.data, "minMember"), here, (*leaf.route, "minMember")
        )
    if not leaf_groups:
        least = number_in(group.data, "spec", "minMember")
        yield from _below_minimum(f'PodGroup "{name(group)}"', least, group_pods, (*group.route, "spec", "minMember"))


def _below_minimum(
    what: str, least: int | None, group_pods: Sequence[PodTemplate], route: Route
) -> Iterator[Diagnostic]:
    total = sum(each.pods or 0 for each in group_pods)
    if least is not None and total < least:
        message = f"{what} waits for {count(least, 'pod')}, and the manifests make {total}"
        notes = tuple(Note("pods of it are here", each.route) for each in group_pods[:1])
        yield error("M708", route, message, hint="the gang never starts: lower `minMember`, or add pods", notes=notes)


def _one_compute_domain(group_pods: Sequence[PodTemplate], context: LintContext) -> Iterator[Diagnostic]:
    """Pods that are placed as one group, on several NVLink domains for all that their claims say."""
    for subgroup, templates in grouped(subgroup_of, group_pods).items():
        channel_claims = [claim for each in templates for claim in claimed(context, each)[:1]]
        for route, domain in channel_claims[1:]:
            if domain.route != channel_claims[0][1].route:
                what = f'subgroup "{subgroup}"' if subgroup else f'PodGroup "{group_of(templates[0])}"'
                message = f"pods of {what} claim channels of {title(channel_claims[0][1])} and {title(domain)}"
                note = Note("the other claim is here", channel_claims[0][0])
                hint = "one group shares one NVLink domain: give each ComputeDomain a group of its own"
                yield warning("M809", route, message, hint=hint, notes=(note,))
                break


def _fewer_pods_at_the_end(group: Object, group_pods: Sequence[PodTemplate]) -> Iterator[Diagnostic]:
    """Towards its end a Job has fewer pods than it had at its start (KAI#1347)."""
    least = max([number_in(each.data, "minMember") or 0 for each in (root(group), *leaves(group).values())])
    for each in group_pods:
        parallelism = number_in(each.object.data, *each.path[:-1], "parallelism") if each.owned else None
        completions = number_in(each.object.data, *each.path[:-1], "completions") if each.owned else None
        if least > 1 and parallelism is not None and completions is not None and parallelism < completions:
            route: Route = (*each.object.route, *each.path[:-1], "completions")
            message = (
                f"the last of {completions} pods, {parallelism} at a time, may be fewer than the {least} of their gang"
            )
            note = Note("the PodGroup is here", name_route(group))
            hint = "KAI then starts none of them: set `parallelism` and `completions` to the same number"
            yield warning("M708", route, message, hint=hint, notes=(note,))


# Other marks that pods of a PodGroup need (M701, M701), and PodGroups of one name in two namespaces (M818)


def check_pods(context: LintContext) -> Iterator[Diagnostic]:
    """Each mark that is missing leaves the pods waiting, most of them without an event."""
    for template in context.templates:
        if group_of(template):
            yield from _scheduler_name(template, context)
            yield from _skip_annotation(template, context)
            for group in context.find(API, "PodGroup", group_of(template), namespace(template.object))[:1]:
                yield from _leaf_subgroup(template, group)
    yield from _ambiguous_names(context)


def _scheduler_name(template: PodTemplate, context: LintContext) -> Iterator[Diagnostic]:
    if not for_kai(template, context):
        wanted = f'"{context.topology.scheduler_name("kai", SCHEDULER)}"'
        message = f'the pods name a PodGroup of KAI, and are given to "{scheduler_of(template)}"'
        has = text(template.spec, "schedulerName")
        route = (*template.spec_route, "schedulerName") if has else template.spec_route
        yield error("M778", route, message, hint=f"set `schedulerName` to {wanted}: no other looks at the PodGroup")


def _skip_annotation(template: PodTemplate, context: LintContext) -> Iterator[Diagnostic]:
    """Otherwise KAI makes a PodGroup of its own for the controller's pods (podgrouper/pod_controller.go)."""
    if not template.owned or not for_kai(template, context):
        return
    route: Route = (*template.route, "metadata", "annotations", POD_GROUP)
    if not context.target.since("kai", "0.15"):
        message = (
            f"KAI {context.target.version('kai')} takes the pods of a {kind(template.object)} out of this PodGroup"
        )
        hint = "below 0.15 only pods without an owner keep it: write Pods, or use KAI 0.15"
        yield error("M701", route, message, hint=hint)
        return
    paths = [template.path[:depth] for depth in range(len(template.path) + 1)]
    marks = [(path, get(template.object.data, *path, "metadata", "annotations", SKIP)) for path in paths]
    wrong = [(path, mark) for path, mark in marks if mark is not None and mark != "true"]
    if any(mark == "true" for _, mark in marks):
        return
    if wrong:
        place = (*template.object.route, *wrong[0][0], "metadata", "annotations", SKIP)
        message = 'only the text "true" keeps KAI\'s podgrouper away'
        yield error("M701", place, message, hint='write "true", with the quotes')
    else:
        message = (
            f"KAI makes a PodGroup of its own for the pods of this {kind(template.object)}, and this one is in vain"
        )
        yield error("M701", route, message, hint=f'add the annotation {SKIP}: "true" to the {kind(template.object)}')


def _leaf_subgroup(template: PodTemplate, group: Object) -> Iterator[Diagnostic]:
    """M701: pods belong to leaves; without a label, to the one called default."""
    leaf_groups, called = leaves(group), subgroup_of(template) or "default"
    if not leaf_groups or called in leaf_groups:
        return
    own = bool(subgroup_of(template))
    route: Route = (*template.route, "metadata", "labels", SUBGROUP) if own else template.route
    if called in {node.name for node in subgroups(group)}:
        message = f'subgroup "{called}" of PodGroup "{name(group)}" has subgroups, and pods belong to leaves'
    elif own:
        message = f'PodGroup "{name(group)}" has no subgroup "{called}"'
    else:
        message = f'the pods name no subgroup of PodGroup "{name(group)}"'
    note = Note("the PodGroup is here", name_route(group))
    near = did_you_mean(called, leaf_groups) if own else ""
    hint = near or f"label them {SUBGROUP} with one of {listing(leaf_groups, most=5)}"
    yield error("M701", route, message, hint=hint, notes=(note,))


def _ambiguous_names(context: LintContext) -> Iterator[Diagnostic]:
    """KAI up to 0.17 keeps PodGroups by name alone (KAI#2095)."""
    if context.target.since("kai", "0.18"):
        return
    for same in grouped(name, filter(name, pod_groups(context))).values():
        others = [each for each in same[1:] if not same_namespace(namespace(each), namespace(same[0]))]
        for other in others:
            note = Note("the other is here", name_route(same[0]))
            message = f'PodGroups of two namespaces are called "{name(other)}", and KAI mixes them up'
            hint = "rename one: up to 0.17 KAI knows PodGroups by their names alone"
            yield error("M818", name_route(other), message, hint=hint, notes=(note,))
