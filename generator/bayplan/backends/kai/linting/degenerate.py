"""Constraints that are sound, and that KAI yet never meets, or meets at the expense of the pods left over (M817).

See docs/fit.md for what KAI estimates; here it is about manifests whose constraints others wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.backends.kai.linting.constraints import Constraint, constraint_of
from bayplan.backends.kai.linting.keys import whole
from bayplan.backends.kai.linting.parts import (
    Levels,
    Node,
    for_kai,
    group_of,
    known_levels,
    leaves,
    members,
    pod_groups,
    root,
    subgroup_of,
    subgroups,
)
from bayplan.core.diagnostics import Diagnostic, Route, error, warning
from bayplan.kube.objects import api_group, get, number_in, text
from bayplan.kube.templates import PodTemplate
from bayplan.linting.claims import gpus
from bayplan.linting.objects import LintContext
from bayplan.model.manifest import Object

REQUIRED = "kai.scheduler/topology-required-placement"
LEAST = "kai.scheduler/batch-min-member"
ALONE = {("batch", "Job"), ("apps", "Deployment"), ("apps", "StatefulSet"), ("apps", "ReplicaSet")}
"""Kinds of which the podgrouper makes gangs that start with one pod; of a Deployment one for each pod (KAI#2109)."""


def check(context: LintContext) -> Iterator[Diagnostic]:
    """M817."""
    levels = known_levels(context)
    for group in pod_groups(context):
        mine = members(group, context)
        for node in (root(group), *subgroups(group)):
            own = constraint_of(node)
            if own and own.required:
                yield from _shared(own, levels, context)
        yield from _left_over(group, mine)
        yield from _unlike(group, mine)
    for template in context.templates:
        if for_kai(template, context) and not group_of(template):
            yield from _grouped(template)


def _shared(own: Constraint, known: Mapping[str, Levels], context: LintContext) -> Iterator[Diagnostic]:
    """`lowestCommonDomainID`: where all nodes share the next level too, KAI starts below the required one."""
    levels = known.get(own.topology)
    depth = levels.depth(own.required) if levels else None
    if own.preferred or not levels or depth is None or depth + 1 >= len(levels.labels):
        return
    if not context.target.since("kai", "0.10.4"):
        return
    values = _values(levels.labels[depth + 1], context)
    if len(values) == 1:
        message = f'all nodes share one "{levels.labels[depth + 1]}", and KAI then finds no domain of "{own.required}"'
        newer = context.target.since("kai", "0.13")
        hint = f"set `{own.keys[2]}` to the same level" if newer else "prefer the level instead of requiring it"
        yield error("M817", own.at(1), message, hint=hint)


def _values(label: str, context: LintContext) -> frozenset[str]:
    """The values of a level on all nodes; empty where some are unknown."""
    return context.labels().get(label) or frozenset()


def _left_over(group: Object, mine: list[PodTemplate]) -> Iterator[Diagnostic]:
    """KAI places the minimum, in the tightest domain that holds it; the rest must fit what is left there."""
    ends = leaves(group)
    for node in ends.values() or [root(group)]:
        own = constraint_of(node)
        least = number_in(node.data, "minMember")
        here = [each for each in mine if not ends or subgroup_of(each) == node.name]
        pods = sum(each.pods or 0 for each in here)
        if own and own.required and least == 1 and pods > 1:  # more than 1 is meant: an elastic gang
            yield _too_low((*node.route, "minMember"), pods, own.required, node.title(group))


def _too_low(route: Route, pods: int, level: str, what: str) -> Diagnostic:
    message = f'{what} starts with 1 of {pods} pods, all in one "{level}"'
    hint = f"KAI picks the tightest domain for 1, and the others may never fit there: set {pods}"
    return warning("M817", route, message, hint=hint)


def _grouped(template: PodTemplate) -> Iterator[Diagnostic]:
    """The same where the podgrouper makes the PodGroup: a Job's gang is one pod unless an annotation says more."""
    data = template.object.data
    kind = (api_group(data), text(data, "kind"))
    level = text(data, "metadata", "annotations", REQUIRED)
    if kind not in ALONE or not level or not template.pods or template.pods < 2:
        return
    route: Route
    given = get(data, "metadata", "annotations", LEAST)
    if kind[1] == "Deployment":
        message = f'KAI places each of the {template.pods} pods of this Deployment by itself, in any "{level}"'
        route = (*template.object.route, "metadata", "annotations", REQUIRED)
        yield warning("M817", route, message, hint="for pods that share a domain write a PodGroup, or another kind")
    elif kind[1] != "Job" or whole(given) < 2:
        message = f'KAI starts this {kind[1]} with 1 of {template.pods} pods, all in one "{level}"'
        way = f'add the annotation {LEAST}: "{template.pods}"' if kind[1] == "Job" else "write a PodGroup"
        route = (*template.object.route, "metadata", "annotations", REQUIRED)
        hint = f"the first pod may take a domain that holds no other: {way}"
        yield warning("M817", route, message, hint=hint)


def _unlike(group: Object, mine: list[PodTemplate]) -> Iterator[Diagnostic]:
    """`calcNodeAccommodation`: pods that all ask for GPUs are all counted as the largest."""
    nodes: dict[str, Node] = {"": root(group), **{node.name: node for node in subgroups(group)}}
    for node in nodes.values():
        own = constraint_of(node)
        below = [each for each in mine if _within(subgroup_of(each), node.name, nodes)]
        sizes = {gpus(each) for each in below}
        if own and own.required and len(sizes) > 1 and None not in sizes and 0 not in sizes:
            shown = " and ".join(str(size) for size in sorted(each for each in sizes if each is not None))
            message = f"pods of {node.title(group)} ask for {shown} GPUs, and KAI counts each as the largest"
            hint = "it may refuse domains that hold them all: give each size a subgroup with a constraint of its own"
            yield warning("M817", own.at(1), message, hint=hint)


def _within(subgroup: str, above: str, nodes: Mapping[str, Node]) -> bool:
    seen: set[str] = set()
    while subgroup and subgroup != above and subgroup in nodes and subgroup not in seen:
        seen.add(subgroup)
        subgroup = nodes[subgroup].parent
    return subgroup == above or not above
