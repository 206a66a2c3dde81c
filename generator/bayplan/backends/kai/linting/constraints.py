"""Constraints: in PodGroups, and as annotations from which KAI's podgrouper makes PodGroups (M717, M718)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.backends.kai.linting.parts import (
    Levels,
    Node,
    ancestors,
    for_kai,
    known_levels,
    pod_groups,
    root,
    subgroups,
)
from bayplan.core.diagnostics import Diagnostic, Note, Route, error, warning
from bayplan.core.phrases import did_you_mean, suggest
from bayplan.core.values import NamedTuple
from bayplan.kube.objects import get, mapping, text
from bayplan.linting.objects import LintContext

KEYS = ("topology", "requiredTopologyLevel", "preferredTopologyLevel")
ANNOTATIONS = tuple(
    f"kai.scheduler/{word}" for word in ("topology", "topology-required-placement", "topology-preferred-placement")
)


class Constraint(NamedTuple):
    """Topology, required and preferred level as they are written under `keys` at a place."""

    topology: str
    required: str
    preferred: str
    route: Route
    keys: tuple[str, ...]

    def at(self, part: int) -> Route:
        """The place of the topology (0), the required (1) or the preferred (2) level."""
        return (*self.route, self.keys[part])


def constraint_of(node: Node) -> Constraint | None:
    """What a PodGroup or a subgroup says, if anything."""
    own = mapping(node.data, "topologyConstraint")
    return _read(own, (*node.route, "topologyConstraint"), KEYS) if own else None


def _read(data: Mapping[str, object], route: Route, keys: tuple[str, ...]) -> Constraint:
    topology, required, preferred = (text(data, key) for key in keys)
    return Constraint(topology, required, preferred, route, keys)


def check(context: LintContext) -> Iterator[Diagnostic]:
    """M717 and M718. What no webhook sees: most of it shows in KAI's log alone, and the pods just wait."""
    levels = known_levels(context)
    for group in pod_groups(context):
        nodes = {node.name: node for node in subgroups(group)}
        for node in (root(group), *nodes.values()):
            own = constraint_of(node)
            if own:
                yield from _alone(own, levels, context)
                around = (*ancestors(node, nodes), *([root(group)] if node.name else []))
                yield from _inside(own, [each for up in around if (each := constraint_of(up))], levels)
    for own in _annotated(context):
        yield from _alone(own, levels, context)


def _annotated(context: LintContext) -> Iterator[Constraint]:
    """On workloads for KAI, and since 0.16 on the Job templates of JobSets (podgrouper/plugins/jobset)."""
    seen: set[Route] = set()
    for template in context.templates:
        places: list[tuple[str | int, ...]] = [()] if template.owned else []
        if get(template.object.data, "kind") == "JobSet" and context.target.since("kai", "0.16"):
            places.append(template.path[:4])
        for path in places if for_kai(template, context) else ():
            data = mapping(template.object.data, *path, "metadata", "annotations")
            route: Route = (*template.object.route, *path, "metadata", "annotations")
            if any(text(data, key) for key in ANNOTATIONS) and route not in seen:
                seen.add(route)
                yield _read(data, route, ANNOTATIONS)


def _alone(own: Constraint, known: Mapping[str, Levels], context: LintContext) -> Iterator[Diagnostic]:
    level = own.required or own.preferred
    if not own.topology:
        if level:
            message = f'the level "{level}" belongs to no Topology, so KAI ignores it without a word'
            part = 1 if own.required else 2
            yield error("M717", own.at(part), message, hint=f"add `{own.keys[0]}:` with the name of the Topology")
        return
    if not level:
        message = f'Topology "{own.topology}" is named without a level, and KAI then places nothing'
        yield error("M717", own.at(0), message, hint=f"add `{own.keys[1]}` or `{own.keys[2]}`")
    elif own.topology in known:
        yield from _levels(own, known[own.topology], context)
    elif known:
        message = f'there is no Topology "{own.topology}" in the manifests or in the topology file'
        near = did_you_mean(own.topology, known)
        hint = near or "KAI says that it does not exist, and the pods wait"
        yield (error if near else warning)("M717", own.at(0), message, hint=hint)


def _levels(own: Constraint, levels: Levels, context: LintContext) -> Iterator[Diagnostic]:
    for part, level in ((1, own.required), (2, own.preferred)):
        if level and levels.depth(level) is None:
            message = f'Topology "{own.topology}" has no level "{level}", and KAI then places nothing'
            hint = suggest(level, (*levels.labels, *levels.aliases), "levels")
            yield error("M717", own.at(part), message, hint=hint)
        elif level in levels.aliases and not context.target.since("kai", "0.17"):
            message = f'"{level}" is an alias, and KAI {context.target.version("kai")} knows none'
            yield error("M717", own.at(part), message, hint=f'write "{levels.aliases[level]}"')
    outer, inner = levels.depth(own.required), levels.depth(own.preferred)
    if own.required and own.preferred and outer is not None and inner is not None:
        if inner < outer:
            message = f'"{own.preferred}" is preferred and coarser than "{own.required}", which is required'
            hint = "KAI then places nothing: prefer the same level or a finer one"
            yield error("M718", own.at(2), message, hint=hint)
        elif inner == outer and not context.target.since("kai", "0.13"):
            message = f'"{own.preferred}" is required and preferred, which KAI below 0.13 refuses'
            yield error("M718", own.at(2), message, hint=f"remove `{own.keys[2]}`, or use KAI 0.13 or later")


def _inside(own: Constraint, around: list[Constraint], known: Mapping[str, Levels]) -> Iterator[Diagnostic]:
    """The nearest requirement around it must not be finer: KAI looks for the inner domain inside the outer."""
    outer = next((each for each in around if each.required), None)
    levels = known.get(own.topology)
    if not outer or not levels or outer.topology != own.topology:
        return
    for part, level in ((1, own.required), (2, own.preferred if not own.required else "")):
        depth, limit = levels.depth(level), levels.depth(outer.required)
        if level and depth is not None and limit is not None and depth < limit:
            word = "required" if part == 1 else "preferred"
            message = f'"{level}" is {word} inside "{outer.required}", which is the finer level'
            note = Note("required here", outer.at(1))
            yield error("M718", own.at(part), message, hint="swap the two, or remove one", notes=(note,))
