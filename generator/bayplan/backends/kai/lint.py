"""Rules for KAI's Topologies, constraints, queues, fields, labels and claims. `lint_groups` has those for PodGroups.

Sources: KAI scheduler v0.10 to v0.17, CRDs in deployments/kai-scheduler/crds, webhooks in pkg/apis/scheduling and
pkg/admission/webhook, the rest in pkg/podgrouper and pkg/scheduler. The rules also find what KAI's webhooks refuse in
the cluster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from bayplan.backends.kai.existing import (
    MIN_MEMBER,
    PREFERRED,
    REQUIRED,
    SEGMENT,
    SEGMENT_PREFERRED,
    SEGMENT_REQUIRED,
    TOPOLOGY,
)
from bayplan.backends.kai.lint_groups import (
    API,
    KAI_TOPOLOGY,
    KUEUE_TOPOLOGY,
    Levels,
    Node,
    ancestors,
    check_members,
    check_minimums,
    check_pods,
    check_subgroups,
    for_kai,
    group_of,
    known_levels,
    leaves,
    members,
    pod_groups,
    root,
    subgroup_of,
    subgroups,
    whole,
)
from bayplan.backends.kai.pod_group import NODE_POOL, POD_GROUP, QUEUE, SKIP, SUBGROUP
from bayplan.core.diagnostics import KEY, Diagnostic, Note, Route, error, info, warning
from bayplan.core.phrases import did_you_mean, listing, suggest
from bayplan.kube.objects import api_group, get, items, mapping, name, named, namespace, number_in, text, title
from bayplan.kube.templates import PodTemplate
from bayplan.linting.claims import claims, device_classes, device_requests, gpus
from bayplan.linting.objects import LintContext, Rule, grouped
from bayplan.linting.workloads import WELL_KNOWN
from bayplan.model.manifest import Object
from bayplan.model.topology import HOST, HOSTNAME_LABEL, Pool

# Topologies, constraints on their levels, and queues (M713, M714, M717, M719).
#
# Constraints are in PodGroups, and in annotations from which KAI's podgrouper makes PodGroups.

MOST_LEVELS = 16


def check_topologies(context: LintContext) -> Iterator[Diagnostic]:
    """M713, M714. KAI 0.10 reads Kueue's Topologies, which have their own rules."""
    has_topologies = context.target.since("kai", "0.12")
    for one in context.of(*KAI_TOPOLOGY):
        if not has_topologies:
            message = f"KAI {context.target.version('kai')} has no Topology of its own: it reads Kueue's"
            yield error("M713", (*one.route, "apiVersion"), message, hint="use `kueue.x-k8s.io/v1alpha1`, or KAI 0.12")
            continue
        yield from _level_list(one, context)
        yield from _node_labels(one, context)
    for one in () if has_topologies else context.of(*KUEUE_TOPOLOGY):
        yield from _node_labels(one, context)


def _level_list(one: Object, context: LintContext) -> Iterator[Diagnostic]:
    """M713: the CRD with its CEL rules, and the webhook for aliases (0.17, topology_validator.go)."""
    levels = items(one.data, "spec", "levels")
    route: Route = (*one.route, "spec", "levels")
    if not 1 <= len(levels) <= MOST_LEVELS:
        message = f"{title(one)} has {len(levels) or 'no'} levels, but 1 to {MOST_LEVELS} are allowed"
        yield error("M713", route, message, hint="list node labels from coarse to fine: `- nodeLabel: ...`")
    labels = [text(each, "nodeLabel") for each in levels]
    aliases = [text(each, "alias") for each in levels]
    for index, (label, alias) in enumerate(zip(labels, aliases, strict=True)):
        here: Route = (*route, index, "nodeLabel")
        if not label:
            hint = "set `nodeLabel` to the node label of the level"
            yield error("M713", (*route, index), "this level has no `nodeLabel`", hint=hint)
        elif label in labels[:index]:
            yield error("M713", here, f'two levels have the label "{label}"', hint="remove one of the two")
        elif label == HOSTNAME_LABEL and index < len(levels) - 1:
            message = f'"{label}" must be the last level, because it is the finest'
            yield error("M713", here, message, hint="move it to the end")
        if alias:
            yield from _alias(alias, aliases[:index], labels, (*route, index, "alias"), context)


def _alias(
    alias: str, before: Sequence[str], labels: Sequence[str], route: Route, context: LintContext
) -> Iterator[Diagnostic]:
    if not context.target.since("kai", "0.17"):
        message = f"KAI {context.target.version('kai')} has no aliases, so constraints cannot use this one"
        yield warning("M713", route, message, hint="remove it and write the node label in constraints, or use KAI 0.17")
    elif alias in before:
        yield error("M713", route, f'two levels have the alias "{alias}"', hint="rename one of the two")
    elif alias in labels:
        yield error("M713", route, f'the alias "{alias}" is the node label of a level', hint="remove the alias")


def _node_labels(one: Object, context: LintContext) -> Iterator[Diagnostic]:
    """M714: the Topology ignores a node that lacks any of the labels (pkg/scheduler/plugins/topology)."""
    pools = [pool for pool in context.topology.pools if pool.domains]
    known = context.labels()
    route: Route = (*one.route, "spec", "levels")
    labels = [text(each, "nodeLabel") for each in items(one.data, "spec", "levels")]
    unknown = [(index, label) for index, label in enumerate(labels) if label and label not in known]
    for index, label in unknown if pools else ():
        message = f'no node has the label "{label}", so no node is in a domain of {title(one)}'
        hint = did_you_mean(label, known) or "remove the level, or add it to the topology file if nodes have the label"
        severity = warning if label in WELL_KNOWN else error
        yield severity("M714", (*route, index, "nodeLabel"), message, hint=hint)
    if not unknown and pools:
        yield from _level_order(one, labels, pools, route)
        yield from _ambiguous_domains(one, labels, pools, route)


def _level_order(one: Object, labels: Sequence[str], pools: Sequence[Pool], route: Route) -> Iterator[Diagnostic]:
    complete = [pool for pool in pools if set(labels) <= {level.label for level in (*pool.levels, HOST)}]
    if not complete:
        message = f"no pool has nodes with all levels of {title(one)}"
        yield error("M714", route, message, hint="write one Topology for each list of levels")
        return
    for pool in complete:
        order = [level.label for level in (*pool.levels, HOST)]
        for index, (outer, inner) in enumerate(pairwise(labels)):
            if order.index(outer) > order.index(inner):
                message = f'"{outer}" is listed above "{inner}", but in pool "{pool.name}" it is the finer level'
                yield error("M714", (*route, index, "nodeLabel"), message, hint="list the levels from coarse to fine")
                return


def _ambiguous_domains(one: Object, labels: Sequence[str], pools: Sequence[Pool], route: Route) -> Iterator[Diagnostic]:
    """M714: KAI identifies domains by their values joined with dots, and values may have dots (topology_structs.go)."""
    seen: dict[str, tuple[str, ...]] = {}
    for pool in pools:
        chosen = [index for index, level in enumerate(pool.levels) if level.label in labels]
        for domain in pool.domains:
            path = tuple(domain.path[index] for index in chosen if index < len(domain.path))
            for depth in range(1, len(path) + 1):
                joined = ".".join(path[:depth])
                if seen.setdefault(joined, path[:depth]) != path[:depth]:
                    message = f'KAI treats "{"/".join(path[:depth])}" and "{"/".join(seen[joined])}" as one domain'
                    yield error("M714", route, f"{message} of {title(one)}", hint="avoid dots in the label values")
                    return


# Constraints in PodGroups and annotations (M717)

CONSTRAINT_KEYS = ("topology", "requiredTopologyLevel", "preferredTopologyLevel")
PLACEMENT = (TOPOLOGY, REQUIRED, PREFERRED)


class Constraint(NamedTuple):
    """The topology, the required and the preferred level under `keys` at a route."""

    topology: str
    required: str
    preferred: str
    route: Route
    keys: tuple[str, ...]

    def at(self, part: int) -> Route:
        """The route of the topology (0), the required (1) or the preferred (2) level."""
        return (*self.route, self.keys[part])


def constraint_of(node: Node) -> Constraint | None:
    """The constraint of a PodGroup or a subgroup, if it has one."""
    own = mapping(node.data, "topologyConstraint")
    return _read_constraint(own, (*node.route, "topologyConstraint"), CONSTRAINT_KEYS) if own else None


def _read_constraint(data: Mapping[str, object], route: Route, keys: tuple[str, ...]) -> Constraint:
    topology, required, preferred = (text(data, key) for key in keys)
    return Constraint(topology, required, preferred, route, keys)


def check_constraints(context: LintContext) -> Iterator[Diagnostic]:
    """M717: no webhook checks constraints. KAI mostly only logs mistakes, and the pods stay pending."""
    levels = known_levels(context)
    for group in pod_groups(context):
        nodes = {node.name: node for node in subgroups(group)}
        for node in (root(group), *nodes.values()):
            own = constraint_of(node)
            if own:
                yield from _single_constraint(own, levels, context)
                enclosing = (*ancestors(node, nodes), *([root(group)] if node.name else []))
                yield from _nested_constraint(own, [each for up in enclosing if (each := constraint_of(up))], levels)
    for own in _annotated(context):
        yield from _single_constraint(own, levels, context)


def _annotated(context: LintContext) -> Iterator[Constraint]:
    """The constraints in annotations of workloads, and since 0.16 of Job templates (podgrouper/plugins/jobset)."""
    seen: set[Route] = set()
    for template in context.templates:
        places: list[tuple[str | int, ...]] = [()] if template.owned else []
        if get(template.object.data, "kind") == "JobSet" and context.target.since("kai", "0.16"):
            places.append(template.path[:4])
        for path in places if for_kai(template, context) else ():
            data = mapping(template.object.data, *path, "metadata", "annotations")
            route: Route = (*template.object.route, *path, "metadata", "annotations")
            if any(text(data, key) for key in PLACEMENT) and route not in seen:
                seen.add(route)
                yield _read_constraint(data, route, PLACEMENT)


def _single_constraint(own: Constraint, topologies: Mapping[str, Levels], context: LintContext) -> Iterator[Diagnostic]:
    level = own.required or own.preferred
    if not own.topology:
        if level:
            message = f'KAI ignores level "{level}", because the constraint names no Topology'
            part = 1 if own.required else 2
            yield error("M717", own.at(part), message, hint=f"add `{own.keys[0]}:` with the name of the Topology")
        return
    if not level:
        message = f'the constraint names Topology "{own.topology}", but no level, so KAI does not place the pods'
        yield error("M717", own.at(0), message, hint=f"add `{own.keys[1]}` or `{own.keys[2]}`")
    elif own.topology in topologies:
        yield from _level_names(own, topologies[own.topology], context)
    elif topologies:
        message = f'the manifests and the topology file have no Topology "{own.topology}"'
        near = did_you_mean(own.topology, topologies)
        hint = near or "add the Topology: without it the pods stay pending"
        yield (error if near else warning)("M717", own.at(0), message, hint=hint)


def _level_names(own: Constraint, levels: Levels, context: LintContext) -> Iterator[Diagnostic]:
    for part, level in ((1, own.required), (2, own.preferred)):
        if level and levels.depth(level) is None:
            message = f'Topology "{own.topology}" has no level "{level}", so KAI does not place the pods'
            hint = suggest(level, (*levels.labels, *levels.aliases), "levels")
            yield error("M717", own.at(part), message, hint=hint)
        elif level in levels.aliases and not context.target.since("kai", "0.17"):
            message = f'"{level}" is an alias, but KAI {context.target.version("kai")} has no aliases'
            yield error("M717", own.at(part), message, hint=f'write "{levels.aliases[level]}"')
    outer, inner = levels.depth(own.required), levels.depth(own.preferred)
    if own.required and own.preferred and outer is not None and inner is not None:
        if inner < outer:
            message = f'the preferred level "{own.preferred}" is coarser than the required level "{own.required}"'
            hint = "prefer the same level or a finer one: otherwise KAI does not place the pods"
            yield error("M717", own.at(2), message, hint=hint)
        elif inner == outer and not context.target.since("kai", "0.13"):
            message = f'"{own.preferred}" is both required and preferred, which KAI below 0.13 refuses'
            yield error("M717", own.at(2), message, hint=f"remove `{own.keys[2]}`, or use KAI 0.13 or later")


def _nested_constraint(
    own: Constraint, enclosing: list[Constraint], topologies: Mapping[str, Levels]
) -> Iterator[Diagnostic]:
    """M717: the nearest required level around must not be finer, because KAI searches for domains inside its domain."""
    outer = next((each for each in enclosing if each.required), None)
    levels = topologies.get(own.topology)
    if not outer or not levels or outer.topology != own.topology:
        return
    for part, level in ((1, own.required), (2, own.preferred if not own.required else "")):
        depth, limit = levels.depth(level), levels.depth(outer.required)
        if level and depth is not None and limit is not None and depth < limit:
            word = "required" if part == 1 else "preferred"
            message = f'the {word} level "{level}" is coarser than "{outer.required}" around it'
            note = Note("the outer level is required here", outer.at(1))
            yield error("M717", own.at(part), message, hint="swap the two levels, or remove one", notes=(note,))


# Valid constraints that KAI may never satisfy, or not for all pods (M717): docs/explanation/fit.md

SINGLE_POD_GANGS = {("batch", "Job"), ("apps", "Deployment"), ("apps", "StatefulSet"), ("apps", "ReplicaSet")}
"""Kinds whose gangs start with one pod. The podgrouper makes a gang for each pod of a Deployment (KAI#2109)."""


def check_unsatisfiable(context: LintContext) -> Iterator[Diagnostic]:
    """M717: valid constraints that KAI may never satisfy."""
    levels = known_levels(context)
    for group in pod_groups(context):
        group_pods = members(group, context)
        for node in (root(group), *subgroups(group)):
            own = constraint_of(node)
            if own and own.required:
                yield from _shared_finer_level(own, levels, context)
        yield from _pods_beyond_minimum(group, group_pods)
        yield from _unequal_gpus(group, group_pods)
    for template in context.templates:
        if for_kai(template, context) and not group_of(template):
            yield from _grouped_by_kai(template)


def _shared_finer_level(
    own: Constraint, topologies: Mapping[str, Levels], context: LintContext
) -> Iterator[Diagnostic]:
    """M717 (`lowestCommonDomainID`): if all nodes share the next level too, KAI starts below the required level."""
    levels = topologies.get(own.topology)
    depth = levels.depth(own.required) if levels else None
    if own.preferred or not levels or depth is None or depth + 1 >= len(levels.labels):
        return
    if not context.target.since("kai", "0.10.4"):
        return
    if len(context.labels().get(levels.labels[depth + 1]) or ()) == 1:
        message = f'KAI finds no domain of "{own.required}", because all nodes share one "{levels.labels[depth + 1]}"'
        newer = context.target.since("kai", "0.13")
        hint = f"set `{own.keys[2]}` to the same level" if newer else "prefer the level instead of requiring it"
        yield error("M717", own.at(1), message, hint=hint)


def _pods_beyond_minimum(group: Object, group_pods: list[PodTemplate]) -> Iterator[Diagnostic]:
    """M717: KAI places the minimum in the tightest domain. The other pods must fit into the rest of it."""
    leaf_groups, named = leaves(group), grouped(subgroup_of, group_pods)
    for node in leaf_groups.values() or [root(group)]:
        own = constraint_of(node)
        least = number_in(node.data, "minMember")
        pods = sum(each.pods or 0 for each in (named.get(node.name, ()) if leaf_groups else group_pods))
        if own and own.required and least == 1 and pods > 1:  # more than 1 is an elastic gang, on purpose
            message = f'{node.title(group)} starts with 1 of {pods} pods, but all must be in one "{own.required}"'
            hint = f"set {pods}: KAI selects the tightest domain for 1 pod, where the others may never fit"
            yield warning("M717", (*node.route, "minMember"), message, hint=hint)


def _grouped_by_kai(template: PodTemplate) -> Iterator[Diagnostic]:
    """M717: the same if the podgrouper makes the PodGroup. The gang of a Job has one pod without an annotation."""
    data = template.object.data
    kind = (api_group(data), text(data, "kind"))
    level = text(data, "metadata", "annotations", REQUIRED)
    if kind not in SINGLE_POD_GANGS or not level or not template.pods or template.pods < 2:
        return
    route: Route
    given = get(data, "metadata", "annotations", MIN_MEMBER)
    if kind[1] == "Deployment":
        message = f'KAI places each of the {template.pods} pods of this Deployment by itself, in any "{level}"'
        route = (*template.object.route, "metadata", "annotations", REQUIRED)
        hint = "write a PodGroup, or use another kind, so that the pods share a domain"
        yield warning("M717", route, message, hint=hint)
    elif kind[1] != "Job" or whole(given) < 2:
        message = f'KAI starts this {kind[1]} with 1 of {template.pods} pods, but all must be in one "{level}"'
        way = f'add the annotation {MIN_MEMBER}: "{template.pods}"' if kind[1] == "Job" else "write a PodGroup"
        route = (*template.object.route, "metadata", "annotations", REQUIRED)
        yield warning(
            "M717", route, message, hint=f"{way}; otherwise the first pod may get a domain without room for the others"
        )


def _unequal_gpus(group: Object, group_pods: list[PodTemplate]) -> Iterator[Diagnostic]:
    """M717 (`calcNodeAccommodation`): if all pods request GPUs, KAI counts each as the largest."""
    nodes: dict[str, Node] = {"": root(group), **{node.name: node for node in subgroups(group)}}
    requested: dict[str, set[int | None]] = {}  # subgroup -> the GPUs of each pod in it and below it
    for called, same in grouped(subgroup_of, group_pods).items():
        above = (node.name for node in ancestors(nodes[called], nodes)) if called in nodes else ()
        for place in {"", called, *above}:
            requested.setdefault(place, set()).update(map(gpus, same))
    for node in nodes.values():
        own, sizes = constraint_of(node), requested.get(node.name, set())
        if own and own.required and len(sizes) > 1 and None not in sizes and 0 not in sizes:
            shown = " and ".join(str(size) for size in sorted(each for each in sizes if each is not None))
            message = f"pods of {node.title(group)} request {shown} GPUs, but KAI counts each as the largest"
            hint = "give each size its own subgroup and constraint: otherwise KAI may reject domains with enough room"
            yield warning("M717", own.at(1), message, hint=hint)


# Queues, their parents, and the pods that name them (M719). KAI schedules only from leaf queues

INSTALLED = {"default-queue": "default-parent-queue"}
"""Leaf queue -> parent queue, as KAI's chart installs them."""


def check_queues(context: LintContext) -> Iterator[Diagnostic]:
    """M719: queues that are missing, or from which KAI does not schedule."""
    queues = {name(one): one for one in context.of(API, "Queue") if name(one)}
    parents = _parent_queues(queues, context)
    for one in queues.values():
        yield from _queue_parent(one, queues, context)
    for group in pod_groups(context):
        queue, route = text(group.data, "spec", "queue"), (*group.route, "spec", "queue")
        if queue:
            yield from _requested_queue(queue, route, parents, queues, context)
        else:
            message = f"KAI ignores {title(group)}, because it has no queue"
            yield error("M719", (*group.route, "spec"), message, hint="add `queue:` with the name of a leaf Queue")
        yield from _different_queue(group, queue, context)
    yield from _queue_labels(parents, queues, context)


def _parent_queues(queues: Mapping[str, Object], context: LintContext) -> dict[str, Route]:
    """Queue that is a parent -> the route that names it as one."""
    parents: dict[str, Route] = dict.fromkeys(INSTALLED.values(), ())
    declared = context.topology.schedulers.get("kai", {}).get("parentQueue")
    if declared:
        parents[str(declared)] = ("topology", "spec", "schedulers", "kai", "parentQueue")
    for one in queues.values():
        if text(one.data, "spec", "parentQueue"):
            parents[text(one.data, "spec", "parentQueue")] = (*one.route, "spec", "parentQueue")
    return parents


def _queue_parent(one: Object, queues: Mapping[str, Object], context: LintContext) -> Iterator[Diagnostic]:
    above, route = text(one.data, "spec", "parentQueue"), (*one.route, "spec", "parentQueue")
    if get(one.data, "spec", "resources") is None and context.target.since("kai", "0.14"):
        hint = "add `resources: {gpu: ..., cpu: ..., memory: ...}`; -1 means no limit"
        yield error("M719", (*one.route, "spec"), f"{title(one)} has no `resources`, but KAI requires it", hint=hint)
    seen = {name(one)}
    at = above
    while at in queues and at not in seen:
        seen.add(at)
        at = text(queues[at].data, "spec", "parentQueue")
    if at == name(one):
        hint = "remove `parentQueue` from one queue: KAI drops all queues of the cycle"
        yield error("M719", route, f"{title(one)} is its own ancestor", hint=hint)
    declared = str(context.topology.schedulers.get("kai", {}).get("parentQueue") or "")
    if above and above not in queues and above not in (*INSTALLED.values(), declared):
        near = did_you_mean(above, [each for each in (*queues, declared) if each != name(one)])
        message = f'the manifests have no Queue "{above}"'
        hint = near or "add the parent: without it KAI drops the queue and all queues below it"
        yield (warning if near else info)("M719", route, message, hint=hint)


def _requested_queue(
    queue: str, route: Route, parents: Mapping[str, Route], queues: Mapping[str, Object], context: LintContext
) -> Iterator[Diagnostic]:
    """M719: a queue of pods must exist and be a leaf."""
    named = context.topology.queue_names
    if queue in parents:
        notes = (Note("this names it as a parent", parents[queue]),) if parents[queue] else ()
        message = f'KAI schedules nothing from "{queue}", because it is the parent of other queues'
        yield error("M719", route, message, hint="name a leaf queue", notes=notes)
    elif queue not in queues and queue not in INSTALLED:
        known = (*queues, *(named or ()))
        near = did_you_mean(queue, [each for each in known if each not in parents])
        if named is not None and queue not in named:
            message = f'the topology has no queue "{queue}"'
            yield error("M719", route, message, hint=near or suggest(queue, named, "queues"))
        elif named is None and near:
            yield info("M719", route, f'the manifests have no Queue "{queue}"', hint=near)


def _different_queue(group: Object, queue: str, context: LintContext) -> Iterator[Diagnostic]:
    """M719: pods with another queue than their PodGroup."""
    for template in members(group, context):
        own = text(template.labels, QUEUE)
        if own and queue and own != queue:
            route: Route = (*template.route, "metadata", "labels", QUEUE)
            message = f'KAI ignores the queue "{own}" of the pods, because their {title(group)} has "{queue}"'
            note = Note("the PodGroup names its queue here", (*group.route, "spec", "queue"))
            yield warning("M719", route, message, hint="name the same queue in both", notes=(note,))


def _queue_labels(
    parents: Mapping[str, Route], queues: Mapping[str, Object], context: LintContext
) -> Iterator[Diagnostic]:
    """M719: without a PodGroup, the queue is the label of the workload or of its pods (default_grouper.go)."""
    seen: set[Route] = set()
    for template in context.templates:
        if not for_kai(template, context) or group_of(template):
            continue
        for path in ((), template.path):
            queue = text(template.object.data, *path, "metadata", "labels", QUEUE)
            route: Route = (*template.object.route, *path, "metadata", "labels", QUEUE)
            if queue and route not in seen:
                seen.add(route)
                yield from _requested_queue(queue, route, parents, queues, context)


# Fields that the CRDs of the target version do not have, which an API server drops (M780)

Versions = Mapping[str, tuple[str, str]]
"""Field -> the first version that has it, and the first one without it again; empty if all versions have it."""

ALWAYS = ("", "")
POD_GROUP_FIELDS: Versions = {
    **dict.fromkeys(("markUnschedulable", "minMember", "preemptibility", "priorityClassName", "queue"), ALWAYS),
    **dict.fromkeys(("schedulingBackoff", "subGroups", "topologyConstraint"), ALWAYS),
    **dict.fromkeys(("backoffLimit", "completions", "parallelism"), ("", "0.15")),
    "minSubGroup": ("0.15", ""),
    **dict.fromkeys(("preemptionDelay", "stalenessGracePeriod"), ("0.17", "")),
}
SUB_GROUP_FIELDS: Versions = {
    **dict.fromkeys(("minMember", "name", "parent", "topologyConstraint"), ALWAYS),
    "minSubGroup": ("0.15", ""),
}
CONSTRAINT_FIELDS: Versions = dict.fromkeys(CONSTRAINT_KEYS, ALWAYS)
QUEUE_FIELDS: Versions = dict.fromkeys(
    ("displayName", "parentQueue", "preemptMinRuntime", "priority", "reclaimMinRuntime", "resources"), ALWAYS
)
RESOURCES_FIELDS: Versions = dict.fromkeys(("cpu", "gpu", "memory"), ALWAYS)
RESOURCE_FIELDS: Versions = dict.fromkeys(("limit", "overQuotaWeight", "quota"), ALWAYS)
LEVEL_FIELDS: Versions = {"nodeLabel": ALWAYS, "alias": ("0.17", "")}

DURATION = re.compile(r"[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+)")

CHOICES: Mapping[str, Sequence[object]] = {
    "preemptibility": ("preemptible", "non-preemptible"),
    "schedulingBackoff": (-1, 1),
}
SEMI = "semi-preemptible"
"""A value of `preemptibility` since 0.18 (KAI#1804)."""


def check_fields(context: LintContext) -> Iterator[Diagnostic]:
    """M780: unknown fields and values. Source: the CRDs of v0.10.5 to v0.17.0."""
    for pod_group in pod_groups(context):
        for node in (root(pod_group), *subgroups(pod_group)):
            yield from _known_fields(
                node.data, SUB_GROUP_FIELDS if node.name else POD_GROUP_FIELDS, node.route, context
            )
            own = mapping(node.data, "topologyConstraint")
            yield from _known_fields(own, CONSTRAINT_FIELDS, (*node.route, "topologyConstraint"), context)
        yield from _choices(pod_group.data, (*pod_group.route, "spec"), context)
        yield from _durations(pod_group.data, (*pod_group.route, "spec"))
    for one in context.of(API, "Queue"):
        route: Route = (*one.route, "spec")
        yield from _known_fields(mapping(one.data, "spec"), QUEUE_FIELDS, route, context)
        own = mapping(one.data, "spec", "resources")
        yield from _known_fields(own, RESOURCES_FIELDS, (*route, "resources"), context)
        for key in RESOURCES_FIELDS:
            yield from _known_fields(mapping(own, key), RESOURCE_FIELDS, (*route, "resources", key), context)
    for one in context.of(*KAI_TOPOLOGY):
        for index, each in enumerate(items(one.data, "spec", "levels")):
            later = (
                mapping(each) if context.target.since("kai", "0.17") else {k: 0 for k in mapping(each) if k != "alias"}
            )
            yield from _known_fields(later, LEVEL_FIELDS, (*one.route, "spec", "levels", index), context)


def _known_fields(
    data: Mapping[str, object], known: Versions, route: Route, context: LintContext
) -> Iterator[Diagnostic]:
    version = context.target.version("kai")
    for key in data:
        since, until = known.get(key, ALWAYS)
        if key not in known:
            hint = did_you_mean(key, known) or f"known: {listing(known, 'and')}"
            yield error("M780", (*route, key), f'KAI has no field "{key}" here: the API server drops it', hint=hint)
        elif since and not context.target.since("kai", since):
            message = f'KAI {version} has no "{key}": the API server drops it'
            yield warning("M780", (*route, key), message, hint=f"remove it, or use KAI {since}")
        elif until and context.target.since("kai", until):
            message = f'KAI {version} no longer has "{key}": the API server drops it'
            yield warning("M780", (*route, key), message, hint=f"remove it: KAI {until} removed the field")


def _durations(data: object, route: Route) -> Iterator[Diagnostic]:
    """M780: durations in Go's format."""
    for key in ("preemptionDelay", "stalenessGracePeriod"):
        value = get(data, "spec", key)
        if value is not None and not (isinstance(value, str) and DURATION.fullmatch(value[:40])):
            yield error(
                "M780", (*route, key), f"`{key}` is not a duration", hint='write a duration such as "90s" or "1h30m"'
            )


def _choices(data: object, route: Route, context: LintContext) -> Iterator[Diagnostic]:
    younger = (SEMI,) if context.target.since("kai", "0.18") else ()
    for key, choices in {**CHOICES, "preemptibility": (*CHOICES["preemptibility"], *younger)}.items():
        value = get(data, "spec", key)
        if value is not None and value not in choices:
            message = (
                f"`{key}` cannot be {value!r}" if not isinstance(value, str) else f'`{key}` cannot be "{value[:60]}"'
            )
            yield error("M780", (*route, key), message, hint=f"set it to {listing(map(str, choices))}")


# Labels and annotations that are misspelled, swapped, or on an object where KAI does not read them (M815)

PREFIX = "kai.scheduler/"
SEGMENTS = (SEGMENT, SEGMENT_REQUIRED, SEGMENT_PREFERRED)
PREEMPTIBILITY = f"{PREFIX}preemptibility"

LABELS = (QUEUE, NODE_POOL, SUBGROUP, PREEMPTIBILITY)
ANNOTATIONS = (
    *(POD_GROUP, SKIP, *PLACEMENT, MIN_MEMBER, *SEGMENTS),
    *(f"{PREFIX}preemption-delay", f"{PREFIX}staleness-grace-period"),
)
WRITTEN_BY_KAI = tuple(
    f"{PREFIX}{word}"
    for word in (
        *(
            "accounting",
            "ignore-workload-api",
            "last-eviction-timestamp",
            "last-start-timestamp",
            "task-priority",
            "type",
        ),
        *("numa-placement-observed", "numa-placement-predicted", "stale-podgroup-timestamp", "top-owner-metadata"),
    )
)
"""Keys that KAI writes, or uses in its tests (a search of its Go files at v0.17)."""

DEPRECATED = {"runai/queue": QUEUE, "runai/node-pool": NODE_POOL}
"""Key that KAI read until 0.5, and now reads only if it is configured -> its successor."""

READ_FROM_OWNER = {
    ("apps", "Deployment"),
    ("batch", "Job"),
    ("jobset.x-k8s.io", "JobSet"),
    ("apps", "StatefulSet"),
    ("apps", "ReplicaSet"),
}
"""Kinds whose placement KAI reads from their own annotations, and for JobSets also from those of the Job templates."""

SEGMENTED = {("kubeflow.org", "PyTorchJob"), ("leaderworkerset.x-k8s.io", "LeaderWorkerSet")}


def check_keys(context: LintContext) -> Iterator[Diagnostic]:
    """M815: labels and annotations that KAI does not read."""
    places: dict[Route, object] = {}
    for one in context.objects:
        places[one.route] = one.data
    for template in context.templates:
        for depth in (len(template.path), 4 if get(template.object.data, "kind") == "JobSet" else len(template.path)):
            path = template.path[:depth]
            places[(*template.object.route, *path)] = get(template.object.data, *path)
        if for_kai(template, context) and template.owned and not group_of(template):
            yield from _unread_annotations(template)
            yield from _segments(template)
    for route, data in places.items():
        yield from _metadata_keys(data, (*route, "metadata"))
        value = get(data, "metadata", "annotations", MIN_MEMBER)
        if value is not None and whole(value) < 1:  # the podgrouper fails on it
            message = "this must be an integer in quotes, 1 or more"
            at = (*route, "metadata", "annotations", MIN_MEMBER)
            yield error("M815", at, message, hint='write a value such as "8"')


def _metadata_keys(data: object, route: Route) -> Iterator[Diagnostic]:
    """M815: the keys of one metadata."""
    known = {"labels": LABELS, "annotations": ANNOTATIONS}
    for kind, other in (("labels", "annotations"), ("annotations", "labels")):
        for key in mapping(data, "metadata", kind):
            here: Route = (*route, kind, key, KEY)
            if key in known[other] and key not in mapping(data, "metadata", other):
                message = f'KAI reads "{key}" as {_NOUN[other]}, but here it is {_NOUN[kind]}'
                yield error("M815", here, message, hint=f"move it to `{other}`")
            elif key in DEPRECATED:
                message = f'KAI reads "{DEPRECATED[key]}"; it ignores "{key}" unless it is configured to read it'
                yield warning("M815", here, message, hint=f"use {DEPRECATED[key]}")
            elif key not in (*LABELS, *ANNOTATIONS, *WRITTEN_BY_KAI):
                yield from _misspelt(key, here)


_NOUN = {"labels": "a label", "annotations": "an annotation"}


def _misspelt(key: str, route: Route) -> Iterator[Diagnostic]:
    prefix, slash, _ = key.partition("/")
    if key.startswith(PREFIX):
        near = did_you_mean(key, (*LABELS, *ANNOTATIONS))
        known = listing([each.removeprefix(PREFIX) for each in (*LABELS, *ANNOTATIONS)], "and")
        yield warning(
            "M815", route, f'KAI ignores the unknown key "{key}"', hint=near or f"keys with {PREFIX}: {known}"
        )
    elif slash and "kai" in prefix.lower() and did_you_mean(prefix, (PREFIX[:-1],)):
        name = key.partition("/")[2]
        if f"{PREFIX}{name}" in (*LABELS, *ANNOTATIONS):
            message = f'KAI ignores the unknown key "{key}"'
            yield warning("M815", route, message, hint=f'did you mean "{PREFIX}{name}"?')


def _unread_annotations(template: PodTemplate) -> Iterator[Diagnostic]:
    """M815: the podgrouper reads annotations of the workload, not of its pods (default_grouper.go, job_grouper.go)."""
    kind = (api_group(template.object.data), text(template.object.data, "kind"))
    for key in (*PLACEMENT, MIN_MEMBER) if kind in READ_FROM_OWNER else ():
        if key in template.annotations and get(template.object.data, "metadata", "annotations", key) is None:
            message = f'KAI ignores "{key}" on pods: it reads this annotation from the {kind[1]}'
            where = "the JobSet or of the Job template" if kind[1] == "JobSet" else f"the {kind[1]}"
            hint = f"move it to the `metadata` of {where}"
            yield error("M815", (*template.route, "metadata", "annotations", key, KEY), message, hint=hint)


def _segments(template: PodTemplate) -> Iterator[Diagnostic]:
    kind = (api_group(template.object.data), text(template.object.data, "kind"))
    places = ((template.object.route, template.object.data), (template.route, template.data))
    for route, data in places if kind not in SEGMENTED else ():
        for key in SEGMENTS:
            if get(data, "metadata", "annotations", key) is not None:
                message = f"KAI has no segments for the kind {kind[1] or 'of this object'}, "
                message += "only for PyTorchJobs and LeaderWorkerSets"
                hint = "write a PodGroup with one subgroup for each segment"
                yield warning("M815", (*route, "metadata", "annotations", key, KEY), message, hint=hint)


# Claims of pods that KAI's allocator does not support, and shared claims without a queue (M857)

CLAIM_API = "resource.k8s.io"


def check_claims(context: LintContext) -> Iterator[Diagnostic]:
    """M857: up to 0.17, KAI's allocator supports only plain requests (KAI#2100)."""
    seen: set[Route] = set()
    for template in context.templates:
        if not for_kai(template, context):
            continue
        for route, each in claims(template):
            for kind, key in (
                ("ResourceClaimTemplate", "resourceClaimTemplateName"),
                ("ResourceClaim", "resourceClaimName"),
            ):
                claim_name = text(each, key)
                claim_objects = (
                    context.find(CLAIM_API, kind, claim_name, namespace(template.object)) if claim_name else []
                )
                for one in claim_objects[:1]:
                    if one.route not in seen:
                        seen.add(one.route)
                        yield from _unsupported_requests(one, route, context)
                        yield from _shared_claim(one, route, context)


def _unsupported_requests(one: Object, used_at: Route, context: LintContext) -> Iterator[Diagnostic]:
    if context.target.since("kai", "0.18"):
        return
    note = Note("pods for KAI claim it here", used_at)
    for at, each in device_requests(one):
        for path in (("firstAvailable",), ("adminAccess",), ("exactly", "adminAccess"), ("exactly", "capacity")):
            if get(each, *path) not in (None, False):
                message = f"KAI up to 0.17 does not allocate requests with `{path[-1]}`"
                yield error("M857", (*at, *path), message, hint="request one class with `exactly`", notes=(note,))


def _shared_claim(one: Object, used_at: Route, context: LintContext) -> Iterator[Diagnostic]:
    """M857: since 0.13, KAI counts a shared claim for the queue in its label."""
    if text(one.data, "kind") != "ResourceClaim" or not context.target.since("kai", "0.13"):
        return
    classes = [device_class for _, device_class in device_classes(one)]
    if any("gpu" in each for each in classes) and not get(one.data, "metadata", "labels", QUEUE):
        message = f"KAI refuses {title(one)}, because it is shared and names no queue"
        note = Note("pods for KAI claim it here", used_at)
        yield error("M857", named(one), message, hint=f"set its label {QUEUE} to the queue of the pods", notes=(note,))


RULES: tuple[Rule, ...] = (
    check_members,
    check_topologies,
    check_subgroups,
    check_minimums,
    check_constraints,
    check_unsatisfiable,
    check_queues,
    check_fields,
    check_keys,
    check_pods,
    check_claims,
)
