"""Rules for Workloads, PodGroups, CompositePodGroups and the pods that name them, as others have written them.

kube-apiserver refuses some of these mistakes; most end in pods that wait for ever, because the scheduler only waits for
what is missing (KEP-4671, KEP-6012; gangscheduling.go and topology_placement.go, 1.35.0 to 1.37.0).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.backends.native.groups import COMPONENT, GROUP, SINCE_LEVELS, SINCE_TREES, SINCE_WORKLOADS
from bayplan.core.diagnostics import Diagnostic, Note, Route, error, warning
from bayplan.core.values import NamedTuple
from bayplan.kube.objects import get, items, kind, mapping, name, namespace, number_in, text
from bayplan.kube.templates import PodTemplate
from bayplan.linting.objects import LintContext, Rule, grouped
from bayplan.linting.schedulers import DEFAULT
from bayplan.model.manifest import Object
from bayplan.model.target import Target
from bayplan.model.topology import HOST, ClusterTopology

# An index of the objects that kube-scheduler reads

MOST_DEPTH = 4
"""Groups on the way from the root to the pods (`WorkloadMaxTreeDepth`, 1.37)."""


class Index(NamedTuple):
    """The objects of one run on one cluster, each by what it is looked up by."""

    groups: tuple[Group, ...]
    pods: tuple[PodTemplate, ...]
    target: Target
    named: Mapping[str, Mapping[Key, Group]]  # kind -> name -> group
    inside: Mapping[Key, tuple[Template, ...]]  # Workload -> its templates
    members: Mapping[Key, Sequence[PodTemplate]]  # PodGroup -> the pods that name it
    children: Mapping[Key, Sequence[Group]]  # CompositePodGroup -> the groups that name it as their parent
    levels: Mapping[str, int]  # node label -> its rank, 0 for the coarsest

    @property
    def kubernetes(self) -> str:
        """For messages."""
        return f"Kubernetes {self.target.version(COMPONENT)}"

    def made_from(self, group: Group) -> tuple[Group | None, Template | None]:
        """The Workload and the template that a group names, where they are among the objects."""
        _, workload, name = group.template
        key, composite = (group.namespace, workload), group.kind == COMPOSITE
        inside = self.inside.get(key, ())
        template = next((each for each in inside if each.name == name and each.composite == composite), None)
        return self.named[WORKLOAD].get(key), template

    def above(self, group: Group) -> Iterator[Group]:
        """The groups above a group, nearest first; one more than may be, so that a cycle ends."""
        here: Group | None = group
        for _ in range(MOST_DEPTH):
            here = self.named[COMPOSITE].get((here.namespace, here.parent)) if here and here.parent else None
            if here:
                yield here

    def root(self, group: Group) -> Group:
        """The topmost group that is known of its tree."""
        return (group, *self.above(group))[-1]


def indexed(context: LintContext) -> Index:
    """Everything indexed once: there may be thousands of groups."""
    groups = tuple(_groups_in(context.objects))
    kinds = (WORKLOAD, POD_GROUP, COMPOSITE)
    named = {kind: {each.key: each for each in reversed(groups) if each.kind == kind} for kind in kinds}
    members = grouped(group_key, context.templates)
    children = grouped(lambda each: (each.namespace, each.parent), groups)
    return Index(
        groups=groups,
        pods=context.templates,
        target=context.target,
        named=named,
        inside={key: tuple(templates(each)) for key, each in named[WORKLOAD].items()},
        members={key: pods for key, pods in members.items() if key[1]},
        children={key: below for key, below in children.items() if key[1]},
        levels=_levels(context.topology),
    )


def _levels(topology: ClusterTopology) -> dict[str, int]:
    ranks: dict[str, int] = {}
    for pool in topology.pools:
        for rank, level in enumerate((*pool.levels, HOST)):
            ranks[level.label] = min(rank, ranks.get(level.label, rank))
    return ranks


WORKLOAD, POD_GROUP, COMPOSITE = "Workload", "PodGroup", "CompositePodGroup"
Key = tuple[str, str]  # namespace, name


class Group(NamedTuple):
    """A Workload, PodGroup or CompositePodGroup."""

    kind: str
    version: str
    namespace: str
    name: str
    route: Route  # of its spec
    spec: Mapping[str, Any]

    @property
    def key(self) -> Key:
        """(namespace, name)."""
        return self.namespace, self.name

    @property
    def title(self) -> str:
        """For messages."""
        return f'{self.kind} "{self.name}"'

    @property
    def parent(self) -> str:
        """The CompositePodGroup above it."""
        return text(self.spec, "parentCompositePodGroupName")

    @property
    def label(self) -> str:
        """The node label of its level."""
        return text(self.spec, "schedulingConstraints", "topology", 0, "key")

    @property
    def template(self) -> tuple[Route, str, str]:
        """Where it names its template, the Workload and the template: 1.37's words, else 1.36's."""
        if get(self.spec, "workloadRef") is not None:
            at: Route = ("workloadRef",)
            return at, text(self.spec, *at, "workloadName"), text(self.spec, *at, "templateName")
        at = ("podGroupTemplateRef", "workload")
        return at, text(self.spec, *at, "workloadName"), text(self.spec, *at, "podGroupTemplateName")


class Template(NamedTuple):
    """A template inside a Workload."""

    name: str
    route: Route
    spec: Mapping[str, Any]
    composite: bool
    depth: int


def _groups_in(objects: Sequence[Object]) -> Iterator[Group]:
    """All objects of kube-scheduler."""
    for each in objects:
        api, _, version = text(each.data, "apiVersion").rpartition("/")
        spec = get(each.data, "spec")
        if api == GROUP and kind(each) in (WORKLOAD, POD_GROUP, COMPOSITE) and isinstance(spec, Mapping):
            yield Group(kind(each), version, _namespace(each), name(each), (*each.route, "spec"), spec)


def templates(workload: Group) -> Iterator[Template]:
    """All templates of a Workload, parents first."""
    yield from _templates(workload.spec, workload.route, 1)


def _templates(spec: Mapping[str, Any], route: Route, depth: int) -> Iterator[Template]:
    for word, composite in (("podGroupTemplates", False), ("compositePodGroupTemplates", True)):
        for i, each in enumerate(items(spec, word)):
            if isinstance(each, Mapping):
                at = (*route, word, i)
                yield Template(text(each, "name"), at, each, composite, depth)
                if composite and depth < 32:
                    yield from _templates(each, at, depth + 1)


def group_key(pods: PodTemplate) -> Key:
    """The PodGroup that the pods name (1.36 and later); its name is empty where they name none."""
    return _namespace(pods.object), text(pods.spec, "schedulingGroup", "podGroupName")


def _namespace(each: Object) -> str:
    """An object without a namespace lands in `default`, unless somebody says another one to kubectl."""
    return namespace(each) or "default"


# M780: fields of another version of Kubernetes, and templates whose CRD drops them

SERVED: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    SINCE_WORKLOADS: {WORKLOAD: ("v1alpha1",)},
    SINCE_LEVELS: {WORKLOAD: ("v1alpha2",), POD_GROUP: ("v1alpha2",)},
    SINCE_TREES: {WORKLOAD: ("v1beta1", "v1alpha3"), POD_GROUP: ("v1beta1", "v1alpha3"), COMPOSITE: ("v1alpha3",)},
}
"""Kubernetes -> kind -> the versions of scheduling.k8s.io that have it; no two minors have one in common."""

CRD_SINCE: Mapping[str, tuple[str, str]] = {"JobSet": ("jobset", "0.12"), "LeaderWorkerSet": ("lws", "0.9")}
"""Kind -> its component, and the version since which its CRD has `schedulingGroup` in pod templates."""


def _versions(index: Index) -> Iterator[Diagnostic]:
    """What the target's API server does not have."""
    for group in index.groups:
        yield from _served(index, group)
        yield from _fields(index, group)
    for each in index.pods:
        yield from _pod_fields(index, each)


def _newest_version(index: Index) -> str:
    """The newest version with words of its own that the target has reached; empty below 1.35."""
    return next(
        (version for version in (SINCE_TREES, SINCE_LEVELS, SINCE_WORKLOADS) if index.target.since(COMPONENT, version)),
        "",
    )


def _served(index: Index, group: Group) -> Iterator[Diagnostic]:
    versions = SERVED.get(_newest_version(index), {}).get(group.kind, ())
    if group.version in versions:
        return
    route = (*group.route[:-1], "apiVersion")
    if not versions:
        first = next(version for version, kinds in SERVED.items() if group.kind in kinds)
        message = f"{index.kubernetes} has no {group.kind}"
        yield error("M780", route, message, hint=f"target Kubernetes {first} or later")
        return
    message = f"{index.kubernetes} has no {group.kind} in scheduling.k8s.io/{group.version}"
    yield error("M780", route, message, hint=f"write scheduling.k8s.io/{versions[0]}, and its fields")


RENAMED_FIELDS: Mapping[str, Mapping[str, str]] = {
    SINCE_LEVELS: {"podGroups": "podGroupTemplates", "workloadRef": "podGroupTemplateRef"},
    SINCE_TREES: {"podGroups": "podGroupTemplates", "podGroupTemplateRef": "workloadRef"},
}
"""Version -> fields of other versions and what they are called there."""


def _fields(index: Index, group: Group) -> Iterator[Diagnostic]:
    for old, new in RENAMED_FIELDS.get(_newest_version(index), {}).items():
        if old in group.spec:
            yield _renamed(index, (*group.route, old), group.title, old, new)
    for route, spec in _specs(group):
        mode = get(spec, "disruptionMode")
        if isinstance(mode, str) and _newest_version(index) == SINCE_TREES:
            new = "disruptionMode: {all: {}}" if mode == "PodGroup" else "disruptionMode: {single: {}}"
            yield _renamed(index, (*route, "disruptionMode"), group.title, f"disruptionMode: {mode}", new)
        for i, level in enumerate(items(spec, "schedulingConstraints", "topology")):
            if get(level, "level") is not None and get(level, "key") is None:
                at = (*route, "schedulingConstraints", "topology", i, "level")
                yield _renamed(index, at, group.title, "level", "key")


def _renamed(index: Index, route: Route, title: str, old: str, new: str) -> Diagnostic:
    message = f"{title}: {index.kubernetes} has no `{old}`; a field that it does not know is dropped or refused"
    return error("M780", route, message, hint=f"write `{new}`")


def _pod_fields(index: Index, pods: PodTemplate) -> Iterator[Diagnostic]:
    """1.35 has `workloadRef` in pods, later versions `schedulingGroup`; either is dropped where it is not known."""
    owner = kind(pods.object)
    own, other = "schedulingGroup", "workloadRef"
    if _newest_version(index) in ("", SINCE_WORKLOADS):
        own, other = other, own
    if get(pods.spec, other) is not None:
        yield _renamed(index, (*pods.spec_route, other), f"pods of this {owner}", other, own)
    grouped = get(pods.spec, "schedulingGroup") is not None
    if grouped and owner in CRD_SINCE and not index.target.since(*CRD_SINCE[owner]):
        component, version = CRD_SINCE[owner]
        written = index.target.version(component)
        message = f"the CRD of {owner} {written} drops `schedulingGroup` without a word, so its pods start one by one"
        yield error("M780", (*pods.spec_route, "schedulingGroup"), message, hint=f"use {owner} {version} or later")


# M781 and M782: templates that groups name, and what a Workload may hold (validation.go, 1.35 to 1.37)

MOST_TEMPLATES = 8
TEMPLATE_LISTS = ("podGroups", "podGroupTemplates", "compositePodGroupTemplates")
REPEATED_FIELDS = ("schedulingPolicy", "schedulingConstraints", "disruptionMode", "priorityClassName", "resourceClaims")
"""What a group must say again, because the scheduler never reads the template."""


def _workload_templates(index: Index) -> Iterator[Diagnostic]:
    """Each Workload, and each group with the template that it names."""
    for group in index.groups:
        if group.kind == WORKLOAD:
            yield from _limits(group)
        else:
            yield from _reference(index, group)


def _limits(workload: Group) -> Iterator[Diagnostic]:
    nested = list(templates(workload))
    yield from _lists(workload.spec, workload.route)
    for each in nested:
        yield from _lists(each.spec, each.route)
        yield from _child_templates(each)
    deep = next((each for each in nested if each.depth > MOST_DEPTH), None)
    if deep:
        message = (
            f"{workload.title} nests templates {max(each.depth for each in nested)} deep; {MOST_DEPTH} is the most"
        )
        yield error("M782", deep.route, message, hint="leave out a level")
    yield from _names(nested)
    yield from _priorities(workload, nested)


def _lists(spec: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    for word in TEMPLATE_LISTS:
        if (count := len(items(spec, word))) > MOST_TEMPLATES:
            message = f"{count} entries in one list of templates; {MOST_TEMPLATES} is the most"
            hint = "many groups may be made from one template; only different ones need their own"
            yield error("M782", (*route, word, MOST_TEMPLATES), message, hint=hint)


def _child_templates(template: Template) -> Iterator[Diagnostic]:
    """A composite has children; where it is disrupted as a whole, so are they (KEP-6012)."""
    children = [*items(template.spec, "podGroupTemplates"), *items(template.spec, "compositePodGroupTemplates")]
    if template.composite and not children:
        message = f'the composite template "{template.name}" has no templates inside'
        yield error("M782", template.route, message, hint="give it podGroupTemplates, or make it one of them")
    if get(template.spec, "disruptionMode", "all") is None:
        return
    for child in children:
        if get(child, "disruptionMode", "all") is None:
            name = text(child, "name")
            message = f'the template "{template.name}" is disrupted as a whole, but "{name}" inside it is not'
            hint = "write `all: {}` in both, or in none"
            yield warning("M782", (*template.route, "disruptionMode"), message, hint=hint)


def _names(nested: Sequence[Template]) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for each in nested:
        if each.name in seen:
            message = f'two templates of one Workload are called "{each.name}"'
            yield error("M782", (*each.route, "name"), message, hint="names are unique in the whole tree of templates")
        seen.add(each.name)


def _priorities(workload: Group, nested: Sequence[Template]) -> Iterator[Diagnostic]:
    classes = {text(each.spec, "priorityClassName") for each in nested}
    if len(classes) > 1:
        classes_named = ", ".join(f'"{each}"' if each else "none" for each in sorted(classes))
        message = f"templates of {workload.title} differ in their priority class: {classes_named}"
        yield error("M782", workload.route, message, hint="all templates of a Workload have one priority")


def _reference(index: Index, group: Group) -> Iterator[Diagnostic]:
    """kube-apiserver refuses a group whose template is missing (admission plugin PodGroupWorkloadExists)."""
    path, name, wanted = group.template
    workload, template = index.made_from(group)
    if not name:
        if group.parent or group.kind == COMPOSITE:
            hint = "write workloadRef with workloadName and templateName"
            yield error("M781", group.route, f"{group.title} is part of a tree and names no template", hint=hint)
    elif workload is None:
        message = f'{group.title} is made from the Workload "{name}", which is not there'
        yield error("M781", (*group.route, *path, "workloadName"), message, hint="name a Workload of its namespace")
    elif template is None:
        last = "templateName" if path == ("workloadRef",) else "podGroupTemplateName"
        kind = "composite template" if group.kind == COMPOSITE else "pod group template"
        known = ", ".join(
            f'"{each.name}"' for each in templates(workload) if each.composite == (group.kind == COMPOSITE)
        )
        message = f'{workload.title} has no {kind} "{wanted}", which {group.title} is made from'
        hint = f"name one of {known}" if known else "give the Workload such a template"
        yield error("M781", (*group.route, *path, last), message, hint=hint)
    else:
        yield from _differences(group, template)


def _differences(group: Group, template: Template) -> Iterator[Diagnostic]:
    for word in REPEATED_FIELDS:
        own, meant = get(group.spec, word), get(template.spec, word)
        if meant is not None and own != meant and not _differs_in_count_only(word, own, meant):
            message = f'{group.title} does not say what its template "{template.name}" says in {word}'
            hint = "the scheduler reads the group alone: repeat it there"
            yield warning("M781", (*group.route, *((word,) if own is not None else ())), message, hint=hint)


def _differs_in_count_only(word: str, own: Any, meant: Any) -> bool:
    """minCount may be changed later, so a difference there is meant."""
    return word == "schedulingPolicy" and bool(mapping(own, "gang")) and bool(mapping(meant, "gang"))


# M782, M708, M785, M785 and M789: the tree of groups, its counts, its levels and its claims


def _groups(index: Index, context: LintContext) -> Iterator[Diagnostic]:
    """Each group with those around it."""
    for group in index.groups:
        if group.kind != WORKLOAD:
            yield from _parent(index, group)
            yield from _finer_level(index, group)
        yield from _minimums(index, group)
        yield from _known_labels(index, group)
        yield from _shared_channels(context, group)


def _parent(index: Index, group: Group) -> Iterator[Diagnostic]:
    above = list(index.above(group))
    at = (*group.route, "parentCompositePodGroupName")
    if group.parent and not above:
        message = f'{group.title} belongs to the CompositePodGroup "{group.parent}", which is not there'
        hint = "name a CompositePodGroup of its namespace; until it exists, no pod of the tree starts"
        yield error("M782", at, message, hint=hint)
    elif group.key in {each.key for each in above if each.kind == group.kind}:
        yield error("M782", at, f"{group.title} is its own ancestor", hint="a tree has a root without a parent")
    elif len(above) >= MOST_DEPTH:
        message = f"{group.title} has {len(above)} groups above it; a tree is {MOST_DEPTH} groups deep at most"
        yield error("M782", at, message, hint="leave out a level")
    elif above and {each.template[1] for each in above} != {group.template[1]}:
        message = f"the tree of {group.title} is made from several Workloads"
        yield error("M782", (*group.route, *group.template[0]), message, hint="one tree comes of one Workload")


def _minimums(index: Index, group: Group) -> Iterator[Diagnostic]:
    if group.kind == WORKLOAD:
        return
    if group.kind == COMPOSITE:
        counts: list[int | None] = [1 for _ in index.children.get(group.key, ())]
        key, what = "minGroupCount", "groups"
    else:
        counts = [each.pods for each in index.members.get(group.key, ())]
        key, what = "minCount", "pods"
    least, total = number_in(group.spec, "schedulingPolicy", "gang", key), sum(filter(None, counts))
    countable = group.kind == COMPOSITE or (counts and None not in counts)
    if least is not None and countable and total < least:
        message = f"{group.title} waits for {least} {what}, and {total} name it: none of them ever starts"
        route = (*group.route, "schedulingPolicy", "gang", key)
        yield error("M708", route, message, hint=f"lower {key}, or add {what}")


def _specs(group: Group) -> Iterator[tuple[Route, Mapping[str, Any]]]:
    """What a group, and each template in it, says, with its place."""
    yield group.route, group.spec
    yield from ((each.route, each.spec) for each in templates(group))


def _known_labels(index: Index, group: Group) -> Iterator[Diagnostic]:
    """A node without the label is left out, so a label that no node carries leaves none (topology_placement.go)."""
    known = ", ".join(f'"{each}"' for each in index.levels)
    for route, spec in _specs(group):
        for i, level in enumerate(items(spec, "schedulingConstraints", "topology")):
            key = text(level, "key")
            if key and index.levels and key not in index.levels:
                message = f'{group.title} is placed by "{key}", a label that no node of the cluster carries'
                at = (*route, "schedulingConstraints", "topology", i, "key")
                yield error("M785", at, message, hint=f"name one of {known}")


def _finer_level(index: Index, group: Group) -> Iterator[Diagnostic]:
    """Levels are resolved from the root down, so an inner one that is not finer constrains nothing, or too much."""
    levels = index.levels
    outer = next((each for each in index.above(group) if each.label), None)
    if outer and group.label in levels and levels[group.label] <= levels.get(outer.label, -1):
        here = (*group.route, "schedulingConstraints", "topology", 0, "key")
        there = (*outer.route, "schedulingConstraints", "topology", 0, "key")
        message = f'{group.title} is placed by "{group.label}", which is no finer than "{outer.label}" of {outer.title}'
        hint = "place inner groups by a finer level, or leave the level out"
        yield error("M785", here, message, hint=hint, notes=(Note(outer.title, there),))


def _shared_channels(context: LintContext, group: Group) -> Iterator[Diagnostic]:
    """A claim of a group is one claim for all of its pods, and an IMEX channel is a device of one node (KEP-5729)."""
    for route, spec in _specs(group):
        for i, claim in enumerate(items(spec, "resourceClaims")):
            domains = context.channels.get(text(claim, "resourceClaimTemplateName"), ())
            for domain in [each for each in domains if _namespace(each) == group.namespace][-1:]:
                message = (
                    f'{group.title} shares one channel of the ComputeDomain "{name(domain)}" among its pods, and a'
                    " channel belongs to one node: pods on other nodes never start"
                )
                yield error("M789", (*route, "resourceClaims", i), message, hint="claim the channel in the pods alone")


# M707 and M788: the pods that name groups


def _pods(index: Index) -> Iterator[Diagnostic]:
    """The group that pods name, and what all pods of a tree have in common."""
    for pods in index.pods:
        yield from _pod_group(index, pods)
    yield from _one_scheduler_a_tree(index)


def _pod_group(index: Index, pods: PodTemplate) -> Iterator[Diagnostic]:
    """The scheduler holds pods back until their group exists (PreEnqueue), without an end."""
    key = group_key(pods)
    if key[1] and key not in index.named[POD_GROUP]:
        at = (*pods.spec_route, "schedulingGroup", "podGroupName")
        message = f'these pods belong to the PodGroup "{key[1]}", which is not there: they would wait for ever'
        yield error("M707", at, message, hint="name a PodGroup of their namespace")
    if text(pods.spec, "workloadRef", "name"):
        yield from _counting_workload(index, pods)


def _counting_workload(index: Index, pods: PodTemplate) -> Iterator[Diagnostic]:
    """1.35: a pod names a pod group inside a Workload."""
    workload_name, wanted = text(pods.spec, "workloadRef", "name"), text(pods.spec, "workloadRef", "podGroup")
    workload = index.named[WORKLOAD].get((_namespace(pods.object), workload_name))
    inside = {text(each, "name") for each in items(workload.spec, "podGroups")} if workload else set()
    if wanted not in inside:
        where = (
            f'the Workload "{workload_name}" has no pod group "{wanted}"' if workload else "there is no such Workload"
        )
        message = f'these pods belong to the pod group "{wanted}" of "{workload_name}", but {where}'
        yield error("M707", (*pods.spec_route, "workloadRef"), message, hint="name a pod group that the Workload lists")


def _one_scheduler_a_tree(index: Index) -> Iterator[Diagnostic]:
    """kube-scheduler refuses a tree whose pods name several schedulers, or differ from their group in priority."""
    groups = index.named[POD_GROUP]
    first: dict[Key, PodTemplate] = {}
    for key, members in index.members.items():
        group = groups.get(key)
        root = index.root(group).key if group else key
        for pods in members:
            before = first.setdefault(root, pods)
            yield from _same_scheduler(before, pods)
            group_class = text(group.spec, "priorityClassName") if group else ""
            if group and group_class and group_class != text(pods.spec, "priorityClassName"):
                own = text(pods.spec, "priorityClassName") or "none"
                message = f'pods of {group.title} have the priority class "{own}", and the group has "{group_class}"'
                at = (*pods.spec_route, *(("priorityClassName",) if own != "none" else ()))
                yield error("M788", at, message, hint="give the pods the priority class of their group")


def _same_scheduler(first: PodTemplate, pods: PodTemplate) -> Iterator[Diagnostic]:
    one, other = (text(each.spec, "schedulerName") or DEFAULT for each in (first, pods))
    if one != other:
        at = (*pods.spec_route, *(("schedulerName",) if get(pods.spec, "schedulerName") else ()))
        message = f'pods of one tree of groups name the schedulers "{one}" and "{other}"; neither starts them'
        yield error("M788", at, message, hint="name one scheduler in all of them", notes=(Note(one, first.spec_route),))


def _names_a_group(pods: PodTemplate) -> bool:
    """Whether the pods name a group at all, in any version's words."""
    return any(get(pods.spec, word) is not None for word in ("schedulingGroup", "workloadRef"))


def check_objects(context: LintContext) -> Iterator[Diagnostic]:
    """Every finding in the objects that kube-scheduler reads."""
    index = indexed(context)
    if index.groups or any(_names_a_group(each) for each in index.pods):
        yield from _versions(index)
        yield from _workload_templates(index)
        yield from _groups(index, context)
        yield from _pods(index)


RULES: tuple[Rule, ...] = (check_objects,)
