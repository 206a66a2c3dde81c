"""Rules for Workloads, PodGroups, CompositePodGroups and the pods that name them.

kube-apiserver refuses some of these mistakes. With most, pods stay pending, because the scheduler waits for what is
missing (KEP-4671, KEP-6012; gangscheduling.go and topology_placement.go, 1.35.0 to 1.37.0).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.backends.native.groups import COMPONENT, GROUP, SINCE_LEVELS, SINCE_TREES, SINCE_WORKLOADS
from bayplan.core.diagnostics import Diagnostic, Note, Route, error, warning
from bayplan.kube.objects import get, items, kind, mapping, name, namespace, number_in, text
from bayplan.kube.templates import PodTemplate
from bayplan.linting.objects import LintContext, Rule, grouped
from bayplan.linting.schedulers import DEFAULT
from bayplan.model.manifest import Object
from bayplan.model.target import Target
from bayplan.model.topology import HOST, ClusterTopology

# An index of the objects that kube-scheduler reads

MOST_DEPTH = 4
"""The most groups on a path from the root to the pods (`WorkloadMaxTreeDepth`, 1.37)."""


class Index(NamedTuple):
    """The objects of a run, by the keys of their lookups."""

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
        """The version in messages."""
        return f"Kubernetes {self.target.version(COMPONENT)}"

    def made_from(self, group: Group) -> tuple[Group | None, Template | None]:
        """The Workload and the template that a group names; None if the objects do not have them."""
        _, workload, name = group.template
        key, composite = (group.namespace, workload), group.kind == COMPOSITE
        inside = self.inside.get(key, ())
        template = next((each for each in inside if each.name == name and each.composite == composite), None)
        return self.named[WORKLOAD].get(key), template

    def above(self, group: Group) -> Iterator[Group]:
        """The groups above a group, nearest first. It returns at most one more than allowed, so that a cycle ends."""
        here: Group | None = group
        for _ in range(MOST_DEPTH):
            here = self.named[COMPOSITE].get((here.namespace, here.parent)) if here and here.parent else None
            if here:
                yield here

    def root(self, group: Group) -> Group:
        """The topmost known group of the tree."""
        return (group, *self.above(group))[-1]


def indexed(context: LintContext) -> Index:
    """The index of all objects. There may be thousands of groups."""
    groups = tuple(_groups_in(context.among([(GROUP, each) for each in (WORKLOAD, POD_GROUP, COMPOSITE)])))
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
        """The name in messages."""
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
        """The path of its template reference, the Workload and the template, in the fields of 1.37 or of 1.36."""
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
    """The Workloads, PodGroups and CompositePodGroups."""
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
    """Namespace and name of the PodGroup that the pods name (1.36 and later). The name is empty without one."""
    return _namespace(pods.object), text(pods.spec, "schedulingGroup", "podGroupName")


def _namespace(each: Object) -> str:
    """The namespace of an object. Without one it is `default`, unless kubectl gets another one."""
    return namespace(each) or "default"


# M780: fields of another Kubernetes version, and pod templates whose CRD drops them

SERVED: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    SINCE_WORKLOADS: {WORKLOAD: ("v1alpha1",)},
    SINCE_LEVELS: {WORKLOAD: ("v1alpha2",), POD_GROUP: ("v1alpha2",)},
    SINCE_TREES: {WORKLOAD: ("v1beta1", "v1alpha3"), POD_GROUP: ("v1beta1", "v1alpha3"), COMPOSITE: ("v1alpha3",)},
}
"""Kubernetes -> kind -> the versions of `scheduling.k8s.io` that have it. Each minor version has its own."""

CRD_SINCE: Mapping[str, tuple[str, str]] = {"JobSet": ("jobset", "0.12"), "LeaderWorkerSet": ("lws", "0.9")}
"""Kind -> its component, and the first version whose CRD has `schedulingGroup` in pod templates."""


def _versions(index: Index) -> Iterator[Diagnostic]:
    """M780: versions and fields that the target's API server does not have."""
    for group in index.groups:
        yield from _served(index, group)
        yield from _fields(index, group)
    for each in index.pods:
        yield from _pod_fields(index, each)


def _newest_version(index: Index) -> str:
    """The newest version with its own fields, up to that of the target; empty below 1.35."""
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
        serving = [version for version, kinds in SERVED.items() if group.version in kinds.get(group.kind, ())]
        first = next(version for version, kinds in SERVED.items() if group.kind in kinds)
        message = f"{index.kubernetes} has no kind {group.kind}"
        hint = f"use Kubernetes {serving[0]}" if serving else f"use Kubernetes {first} or later"
        yield error("M780", route, message, hint=hint)
        return
    message = f"{index.kubernetes} has no {group.kind} in `scheduling.k8s.io/{group.version}`"
    yield error("M780", route, message, hint=f"use `scheduling.k8s.io/{versions[0]}` and its fields")


RENAMED_FIELDS: Mapping[str, Mapping[str, str]] = {
    SINCE_LEVELS: {"podGroups": "podGroupTemplates", "workloadRef": "podGroupTemplateRef"},
    SINCE_TREES: {"podGroups": "podGroupTemplates", "podGroupTemplateRef": "workloadRef"},
}
"""Version -> field of another version -> its name in this version."""


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
    message = f"{title}: {index.kubernetes} has no field `{old}`, so the API server drops or refuses it"
    return error("M780", route, message, hint=f"write `{new}`")


def _pod_fields(index: Index, pods: PodTemplate) -> Iterator[Diagnostic]:
    """M780: 1.35 has `workloadRef` in pods, later versions have `schedulingGroup`. Each drops the other."""
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
        message = f"the CRD of {owner} {written} drops `schedulingGroup`, so the pods start one by one"
        yield error("M780", (*pods.spec_route, "schedulingGroup"), message, hint=f"use {owner} {version} or later")


# M782: templates that groups name, and the limits of a Workload (validation.go, 1.35 to 1.37)

MOST_TEMPLATES = 8
TEMPLATE_LISTS = ("podGroups", "podGroupTemplates", "compositePodGroupTemplates")
REPEATED_FIELDS = ("schedulingPolicy", "schedulingConstraints", "disruptionMode", "priorityClassName", "resourceClaims")
"""Fields that a group must repeat, because the scheduler never reads the template."""


def _workload_templates(index: Index) -> Iterator[Diagnostic]:
    """M782: each Workload, and each group with its template."""
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
        deepest = max(each.depth for each in nested)
        message = f"{workload.title} has templates nested {deepest} deep, but at most {MOST_DEPTH} are allowed"
        yield error("M782", deep.route, message, hint="remove a level")
    yield from _names(nested)
    yield from _priorities(workload, nested)


def _lists(spec: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    for word in TEMPLATE_LISTS:
        if (count := len(items(spec, word))) > MOST_TEMPLATES:
            message = f"the list has {count} templates, but at most {MOST_TEMPLATES} are allowed"
            hint = "use one template for all equal groups"
            yield error("M782", (*route, word, MOST_TEMPLATES), message, hint=hint)


def _child_templates(template: Template) -> Iterator[Diagnostic]:
    """M782: a composite has children. If it is disrupted as a whole, so are they (KEP-6012)."""
    children = [*items(template.spec, "podGroupTemplates"), *items(template.spec, "compositePodGroupTemplates")]
    if template.composite and not children:
        message = f'the composite template "{template.name}" has no templates inside'
        yield error("M782", template.route, message, hint="add `podGroupTemplates`, or make it a pod group template")
    if get(template.spec, "disruptionMode", "all") is None:
        return
    for child in children:
        if get(child, "disruptionMode", "all") is None:
            name = text(child, "name")
            message = f'the template "{template.name}" is disrupted as a whole, but "{name}" inside it is not'
            hint = "set `all: {}` in both, or remove it from both"
            yield warning("M782", (*template.route, "disruptionMode"), message, hint=hint)


def _names(nested: Sequence[Template]) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for each in nested:
        if each.name in seen:
            message = f'two templates of the Workload have the name "{each.name}"'
            yield error("M782", (*each.route, "name"), message, hint="rename one of the two")
        seen.add(each.name)


def _priorities(workload: Group, nested: Sequence[Template]) -> Iterator[Diagnostic]:
    classes = {text(each.spec, "priorityClassName") for each in nested}
    if len(classes) > 1:
        classes_named = ", ".join(f'"{each}"' if each else "none" for each in sorted(classes))
        message = f"templates of {workload.title} have different priority classes: {classes_named}"
        yield error("M782", workload.route, message, hint="set the same `priorityClassName` in all templates")


def _reference(index: Index, group: Group) -> Iterator[Diagnostic]:
    """M782: kube-apiserver refuses a group without its template (admission plugin PodGroupWorkloadExists)."""
    path, name, wanted = group.template
    workload, template = index.made_from(group)
    if not name:
        if group.parent or group.kind == COMPOSITE:
            hint = "add `workloadRef` with `workloadName` and `templateName`"
            yield error("M782", group.route, f"{group.title} is part of a tree, but names no template", hint=hint)
    elif workload is None:
        message = f'{group.title} names Workload "{name}", which is not in the manifests'
        hint = "add the Workload, or name one of the same namespace"
        yield error("M782", (*group.route, *path, "workloadName"), message, hint=hint)
    elif template is None:
        last = "templateName" if path == ("workloadRef",) else "podGroupTemplateName"
        kind = "composite template" if group.kind == COMPOSITE else "pod group template"
        known = ", ".join(
            f'"{each.name}"' for each in templates(workload) if each.composite == (group.kind == COMPOSITE)
        )
        message = f'{group.title} names {kind} "{wanted}", but {workload.title} has no such template'
        hint = f"name one of {known}" if known else "add the template to the Workload"
        yield error("M782", (*group.route, *path, last), message, hint=hint)
    else:
        yield from _differences(group, template)


def _differences(group: Group, template: Template) -> Iterator[Diagnostic]:
    for word in REPEATED_FIELDS:
        own, meant = get(group.spec, word), get(template.spec, word)
        if meant is not None and own != meant and not _differs_in_count_only(word, own, meant):
            message = f'{group.title} has another `{word}` than its template "{template.name}"'
            hint = "repeat the value of the template in the group: the scheduler reads only the group"
            yield warning("M782", (*group.route, *((word,) if own is not None else ())), message, hint=hint)


def _differs_in_count_only(word: str, own: Any, meant: Any) -> bool:
    """Whether only a count differs. minCount may change later, so that difference is on purpose."""
    return word == "schedulingPolicy" and bool(mapping(own, "gang")) and bool(mapping(meant, "gang"))


# M782, M717 and M809: the tree of groups, its counts, its levels and its claims


def _groups(index: Index, context: LintContext) -> Iterator[Diagnostic]:
    """M782, M717, M809: each group and the groups around it."""
    for group in index.groups:
        if group.kind != WORKLOAD:
            yield from _parent(index, group)
            yield from _coarser_level(index, group)
        yield from _minimums(index, group)
        yield from _known_labels(index, group)
        yield from _shared_channels(context, group)


def _parent(index: Index, group: Group) -> Iterator[Diagnostic]:
    above = list(index.above(group))
    at = (*group.route, "parentCompositePodGroupName")
    if group.parent and not above:
        message = (
            f'no pod starts: {group.title} names CompositePodGroup "{group.parent}", which is not in the manifests'
        )
        hint = "add the CompositePodGroup, or name one of the same namespace"
        yield error("M782", at, message, hint=hint)
    elif group.key in {each.key for each in above if each.kind == group.kind}:
        yield error(
            "M782", at, f"{group.title} is its own ancestor", hint="remove the parent of one group of the cycle"
        )
    elif len(above) >= MOST_DEPTH and len({each.key for each in above}) == len(above):  # no cycle
        message = (
            f"{group.title} has {len(above)} groups above it, but a tree has at most {MOST_DEPTH} levels of groups"
        )
        yield error("M782", at, message, hint="remove a level")
    elif above and {each.template[1] for each in above} != {group.template[1]}:
        message = f"the groups in the tree of {group.title} name different Workloads"
        yield error("M782", (*group.route, *group.template[0]), message, hint="name the same Workload in all groups")


def _minimums(index: Index, group: Group) -> Iterator[Diagnostic]:
    """M782: fewer groups than their parent waits for."""
    path = ("schedulingPolicy", "gang", "minGroupCount")
    least, total = number_in(group.spec, *path), len(index.children.get(group.key, ()))
    if group.kind == COMPOSITE and least is not None and total < least:
        message = f"{group.title} never starts: it waits for {least} groups, but only {total} name it"
        yield error("M782", (*group.route, *path), message, hint="lower `minGroupCount`, or add groups")


def _specs(group: Group) -> Iterator[tuple[Route, Mapping[str, Any]]]:
    """The specs of a group and of the templates in it, with their routes."""
    yield group.route, group.spec
    yield from ((each.route, each.spec) for each in templates(group))


def _known_labels(index: Index, group: Group) -> Iterator[Diagnostic]:
    """M717: kube-scheduler ignores nodes without the label (topology_placement.go)."""
    known = ", ".join(f'"{each}"' for each in index.levels)
    for route, spec in _specs(group):
        for i, level in enumerate(items(spec, "schedulingConstraints", "topology")):
            key = text(level, "key")
            if key and index.levels and key not in index.levels:
                message = f'{group.title} never starts, because no node has the label "{key}" of its level'
                at = (*route, "schedulingConstraints", "topology", i, "key")
                yield error("M717", at, message, hint=f"use one of {known}")


def _coarser_level(index: Index, group: Group) -> Iterator[Diagnostic]:
    """M717: kube-scheduler takes an inner domain from the nodes of the outer one (topology_placement.go)."""
    levels = index.levels
    outer = next((each for each in index.above(group) if each.label), None)
    if outer and group.label in levels and levels[group.label] < levels.get(outer.label, -1):
        here = (*group.route, "schedulingConstraints", "topology", 0, "key")
        there = (*outer.route, "schedulingConstraints", "topology", 0, "key")
        message = (
            f'the level "{group.label}" of {group.title} adds nothing to the finer "{outer.label}" of {outer.title}'
        )
        hint = f"remove the level of {group.title}, or use a coarser one for {outer.title}"
        yield warning("M717", here, message, hint=hint, notes=(Note("the outer level is here", there),))


def _shared_channels(context: LintContext, group: Group) -> Iterator[Diagnostic]:
    """M809: all pods of a group share its claim, but an IMEX channel is a device of one node (KEP-5729)."""
    for route, spec in _specs(group):
        for i, claim in enumerate(items(spec, "resourceClaims")):
            domains = context.channels.get(text(claim, "resourceClaimTemplateName"), ())
            for domain in [each for each in domains if _namespace(each) == group.namespace][-1:]:
                message = f'the pods of {group.title} share one channel of ComputeDomain "{name(domain)}", '
                message += "so pods on other nodes than that of the channel never start"
                hint = "remove the claim from the group, and claim the channel in the pods"
                yield error("M809", (*route, "resourceClaims", i), message, hint=hint)


# M707 and M782: pods that name groups


def _pods(index: Index) -> Iterator[Diagnostic]:
    """M707, M782: the group of the pods, and what all pods of a tree must have in common."""
    for pods in index.pods:
        yield from _pod_group(index, pods)
    yield from _one_scheduler_a_tree(index)


def _pod_group(index: Index, pods: PodTemplate) -> Iterator[Diagnostic]:
    """M707: the scheduler holds pods back until their group exists (PreEnqueue)."""
    key = group_key(pods)
    if key[1] and key not in index.named[POD_GROUP]:
        at = (*pods.spec_route, "schedulingGroup", "podGroupName")
        message = f'the pods stay pending, because PodGroup "{key[1]}" is not in the manifests'
        yield error("M707", at, message, hint="add the PodGroup, or name one of the same namespace")
    if text(pods.spec, "workloadRef", "name"):
        yield from _counting_workload(index, pods)


def _counting_workload(index: Index, pods: PodTemplate) -> Iterator[Diagnostic]:
    """M707: in 1.35, a pod names a pod group of a Workload."""
    workload_name, wanted = text(pods.spec, "workloadRef", "name"), text(pods.spec, "workloadRef", "podGroup")
    workload = index.named[WORKLOAD].get((_namespace(pods.object), workload_name))
    inside = {text(each, "name") for each in items(workload.spec, "podGroups")} if workload else set()
    if wanted not in inside:
        missing = f'has no pod group "{wanted}"' if workload else "is not in the manifests"
        message = f'the pods stay pending, because Workload "{workload_name}" {missing}'
        hint = "name a pod group that it lists" if workload else "add the Workload, or name one of the same namespace"
        yield error("M707", (*pods.spec_route, "workloadRef"), message, hint=hint)


def _one_scheduler_a_tree(index: Index) -> Iterator[Diagnostic]:
    """M782: kube-scheduler refuses trees with several schedulers, or pods of another priority than their group."""
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
                message = f'pods of {group.title} have the priority class "{own}", but the group has "{group_class}"'
                at = (*pods.spec_route, *(("priorityClassName",) if own != "none" else ()))
                yield error("M782", at, message, hint="set the priority class of the group in the pods")


def _same_scheduler(first: PodTemplate, pods: PodTemplate) -> Iterator[Diagnostic]:
    one, other = (text(each.spec, "schedulerName") or DEFAULT for each in (first, pods))
    if one != other:
        at = (*pods.spec_route, *(("schedulerName",) if get(pods.spec, "schedulerName") else ()))
        message = f'the pods never start: their tree of groups has the schedulers "{one}" and "{other}"'
        notes = (Note(f'pods of "{one}" are here', first.spec_route),)
        yield error("M782", at, message, hint="set the same `schedulerName` in all pods", notes=notes)


def _names_a_group(pods: PodTemplate) -> bool:
    """Whether the pods name a group, in the fields of any version."""
    return any(get(pods.spec, word) is not None for word in ("schedulingGroup", "workloadRef"))


def check_objects(context: LintContext) -> Iterator[Diagnostic]:
    """All findings in the objects that kube-scheduler reads."""
    index = indexed(context)
    if index.groups or any(_names_a_group(each) for each in index.pods):
        yield from _versions(index)
        yield from _workload_templates(index)
        yield from _groups(index, context)
        yield from _pods(index)


RULES: tuple[Rule, ...] = (check_objects,)
