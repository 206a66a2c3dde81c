"""Rules for PodCliqueSets and ClusterTopologyBindings of Grove, and for DynamoGraphDeployments.

Sources: Grove v0.1.0-alpha.10 to alpha.12-rc1, operator/internal/webhook/admission/pcs/validation (podcliqueset.go,
podcliquedeps.go, topologyconstraints.go), clustertopology/validation, internal/mnnvl, internal/scheduler/kai.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.core.diagnostics import Diagnostic, Note, Route, error, info, warning
from bayplan.core.phrases import listing, shorten, suggest
from bayplan.core.values import cycles
from bayplan.kube import grove
from bayplan.kube.objects import get, group, items, kind, mapping, name, named, number_in, text, title
from bayplan.kube.workloads.parts import NAME
from bayplan.linting.objects import LintContext
from bayplan.model.augment import Path
from bayplan.model.manifest import Object

LONGEST_NAMES = 45
"""Characters that the names of a set, a scaling group and a clique have together (maxCombinedResourceNameLength)."""

EXPLICIT = "CliqueStartupTypeExplicit"


def check(context: LintContext) -> Iterator[Diagnostic]:
    """M883, M717, M719, M809."""
    for one in context.objects:
        if (group(one), kind(one)) in grove.BINDINGS:
            yield from _binding(one)
        elif (group(one), kind(one)) == grove.SET:
            parts = grove.layout(one.data)
            for rule in (_names, _amounts, _pods, _start_order, _queue):
                yield from rule(one, parts)
            yield from _channels(one, parts, context)
            yield from _constraints(one, parts, context)
            yield from _scaled(one, parts)
        elif (group(one), kind(one)) == grove.GRAPH:
            made = Object(one.route, grove.of_dynamo(one))
            parts = grove.layout(made.data)
            for finding in (*_constraints(made, parts, context), *_scaled(made, parts)):
                yield grove.located(finding, {one.route: one})


# Names, members and numbers that the webhook refuses (M883).


def _names(one: Object, parts: grove.Layout) -> Iterator[Diagnostic]:
    """M883: names of cliques, their roles and scaling groups are unique, and short enough for the pods' names.

    The first clique with whose name that of a PodClique ends gives it its pods (buildResource in
    internal/controller/podcliqueset/components/podclique/podclique.go, main branch fcc3b3bb).
    """
    if not parts.cliques:
        yield error("M883", (*one.route, "spec"), f"{title(one)} has no cliques", hint="add `template.cliques`")
    yield from _twice(one, [(each.name, (*each.path, "name")) for each in parts.cliques], "clique")
    yield from _twice(one, [(each.name, (*each.path, "name")) for each in parts.groups], "scaling group")
    roles = [(text(one.data, *each.path, "spec", "roleName"), each.path) for each in parts.cliques]
    yield from _twice(one, [(role, (*path, "spec", "roleName")) for role, path in roles if role], "role")
    known = {each.name for each in parts.cliques}
    first: dict[str, str] = {}
    for each in parts.groups:
        for number, clique in enumerate(each.cliques):
            route = (*one.route, *each.path, "cliqueNames", number)
            if clique not in known:
                message = f'{title(one)} has no clique "{shorten(clique)}"'
                yield error("M883", route, message, hint=suggest(clique, sorted(known), "its cliques are"))
            elif first.setdefault(clique, each.name) != each.name:
                message = f'clique "{clique}" is in two scaling groups, "{first[clique]}" and "{each.name}"'
                yield error("M883", route, message, hint="a clique can be in only one: remove it from one of the two")
    for part in parts.cliques:
        called = "-".join(filter(None, (name(one), "0", *((part.group, "0") if part.group else ()), part.name)))
        found = next((each.name for each in parts.cliques if each.name and called.endswith(each.name)), part.name)
        if part.name and found != part.name:
            message = f'Grove gives clique "{part.name}" the pods of clique "{found}", with which its name ends'
            hint = f'move clique "{part.name}" before "{found}", or rename one of the two'
            yield error("M883", (*one.route, *part.path, "name"), message, hint=hint)
        words = [each for each in (name(one), part.group, part.name) if each]
        total = sum(len(each) for each in words)
        if total > LONGEST_NAMES:
            shown = listing(words, "and")
            message = f"the names {shown} have {total} characters together, but Grove allows {LONGEST_NAMES}"
            hint = f"shorten them by {total - LONGEST_NAMES}"
            yield error("M883", (*one.route, *part.path, "name"), message, hint=hint)


def _twice(one: Object, called: Iterable[tuple[str, Path]], what: str) -> Iterator[Diagnostic]:
    first: dict[str, Path] = {}
    for word, path in called:
        if not word:
            message = f"this {what} of {title(one)} has no name"
            yield error("M883", (*one.route, *path[:-1]), message, hint="add `name:`")
        elif first.setdefault(word, path) != path:
            note = Note("the first is here", (*one.route, *first[word]))
            message = f'{title(one)} has the {what} "{shorten(word)}" twice'
            yield error("M883", (*one.route, *path), message, hint="rename one of the two", notes=(note,))


def _amounts(one: Object, parts: grove.Layout) -> Iterator[Diagnostic]:
    """M883: 0 < minAvailable <= replicas, and the bounds of a scale configuration."""
    places: list[tuple[Path, int | None, int | None]] = [
        ((*each.path, "spec"), each.replicas, each.least) for each in parts.cliques
    ]
    places += [(each.path, each.replicas, each.least) for each in parts.groups]
    for path, replicas, least in places:
        data, route = mapping(one.data, *path), (*one.route, *path)
        for key, number in (("replicas", replicas), ("minAvailable", least)):
            if get(data, key) is not None and (number is None or number < 1) and (key, number) != ("replicas", 0):
                yield error(
                    "M883", (*route, key), f"`{key}` is not an integer of 1 or more", hint="set it to 1 or more"
                )
        if replicas is not None and least is not None and least > replicas >= 1:
            message = f"`minAvailable` is {least}, but there are only {replicas} replicas"
            place = (*route, "minAvailable" if "minAvailable" in data else "replicas")
            yield error("M883", place, message, hint=f"set `minAvailable: {replicas}`")
        yield from _scale(data, route, replicas or 1, least or 1)
    for clique in parts.cliques:
        scale = "autoScalingConfig"
        if clique.group and get(one.data, *clique.path, "spec", scale):
            message = f'clique "{clique.name}" is in scaling group "{clique.group}", so it cannot scale by itself'
            hint = "move it to `scaleConfig` of the scaling group"
            yield error("M883", (*one.route, *clique.path, "spec", scale), message, hint=hint)


def _scale(data: Mapping[str, Any], route: Route, replicas: int, least: int) -> Iterator[Diagnostic]:
    for key in ("scaleConfig", "autoScalingConfig"):
        own = mapping(data, key)
        low, high = number_in(own, "minReplicas"), number_in(own, "maxReplicas")
        if low is not None and low < least:
            message = f"`minReplicas: {low}` is below `minAvailable: {least}`, under which Grove ends the gang"
            yield error("M883", (*route, key, "minReplicas"), message, hint=f"set {least} or more")
        lowest = max(replicas if key == "autoScalingConfig" else 1, replicas if low is None else low)
        if own and high is not None and high < lowest:
            message = f"`maxReplicas` is {high}, but the replicas begin with {lowest}"
            yield error("M883", (*route, key, "maxReplicas"), message, hint=f"set {lowest} or more")


FORBIDDEN = ("topologySpreadConstraints", "nodeName")


def _pods(one: Object, parts: grove.Layout) -> Iterator[Diagnostic]:
    """M883: fields of pods that the webhook refuses, and one scheduler for all."""
    schedulers: dict[str, Route] = {}
    for clique in parts.cliques:
        path: Path = (*clique.path, "spec", "podSpec")
        spec = mapping(one.data, *path)
        for key in FORBIDDEN:
            if spec.get(key) is not None:
                message = f"Grove refuses pods with `{key}`"
                hint = "remove it, and use `topologyConstraint` or `nodeSelector`"
                yield error("M883", (*one.route, *path, key), message, hint=hint)
        at = (*one.route, *path, *(("schedulerName",) if "schedulerName" in spec else ()))
        schedulers.setdefault(text(spec, "schedulerName"), at)
    if len(schedulers) > 1:
        (_, before), (other, at) = list(schedulers.items())[:2]
        shown = f'"{other}"' if other else "no scheduler"
        message = f"pods of one {kind(one)} name {shown}, and others another one: Grove refuses them"
        note = Note("the other pods are here", before)
        yield error("M883", at, message, hint="set the same `schedulerName` in all cliques", notes=(note,))


# Levels (M883, M717).


class Levels(NamedTuple):
    """The domains of a topology, coarse to fine."""

    names: tuple[str, ...]

    def coarser(self, one: str, other: str) -> bool:
        """Whether both are known and the first is the coarser one."""
        return one in self.names and other in self.names and self.names.index(one) < self.names.index(other)


def _constraints(one: Object, parts: grove.Layout, context: LintContext) -> Iterator[Diagnostic]:
    """M883: levels that exist, one topology, and none that is finer than one inside. M717: what KAI never finds."""
    whole: Path = (*grove.TEMPLATE, grove.CONSTRAINT)
    paths: list[tuple[Path, tuple[Path, ...]]] = [(whole, ())]
    group_of = {each.name: (*each.path, grove.CONSTRAINT) for each in parts.groups}
    paths += [(path, (whole,)) for path in group_of.values()]
    for clique in parts.cliques:
        around = (group_of[clique.group], whole) if clique.group in group_of else (whole,)
        paths.append(((*clique.path, grove.CONSTRAINT), around))
    called: dict[str, Path] = {}
    for path, above in paths:
        own = mapping(one.data, *path)
        if not own:
            continue
        inherited = next(filter(None, (text(one.data, *each, "topologyName") for each in (path, *above))), "")
        if inherited:
            called.setdefault(inherited, path)
        elif (group(one), kind(one)) == grove.SET:
            message = "the constraint names no topology, and inherits none"
            hint = "add `topologyName:` with the name of the ClusterTopologyBinding"
            yield error("M883", (*one.route, *path), message, hint=hint)
        levels = _levels(inherited, context)
        yield from _levels_of(one, path, levels)
        yield from _nesting(one, path, above, levels)
    if len(called) > 1:
        (first, before), (other, at) = list(called.items())[:2]
        message = f'one {kind(one)} has only one topology, but its constraints name "{first}" and "{other}"'
        note = Note("the other one is here", (*one.route, *before))
        yield error("M883", (*one.route, *at, "topologyName"), message, hint="name the same one", notes=(note,))


def _levels(topology: str, context: LintContext) -> Levels:
    return Levels(tuple(grove.domains(topology, context.objects, context.topology)))


def _levels_of(one: Object, path: Path, levels: Levels) -> Iterator[Diagnostic]:
    data = mapping(one.data, *path)
    at = {"packDomain": text(data, "packDomain")}
    at |= {key: text(data, "pack", key) for key in ("required", "preferred")}
    if at["packDomain"]:
        message = "new objects cannot have `packDomain`: Grove replaced it by `pack.required` in v0.1.0-alpha.10"
        hint = f"write `pack: {{required: {at['packDomain']}}}`"
        yield error("M883", (*one.route, *path, "packDomain"), message, hint=hint)
    for key, level in at.items():
        if level and levels.names and level not in levels.names:
            route = (*one.route, *path, *(("pack",) if key != "packDomain" else ()), key)
            message = f'the topology has no level "{shorten(level)}"'
            yield error("M883", route, message, hint=suggest(level, levels.names, "its levels are"))
    required = at["packDomain"] or at["required"]
    if levels.coarser(at["preferred"], required):
        message = f'the preferred level "{at["preferred"]}" is coarser than the required level "{required}"'
        hint = "prefer the same level or a finer one: Grove accepts this, but KAI never places the pods"
        yield error("M717", (*one.route, *path, "pack", "preferred"), message, hint=hint)


def _nesting(one: Object, path: Path, above: Sequence[Path], levels: Levels) -> Iterator[Diagnostic]:
    own = mapping(one.data, *path)
    for around in above:
        for read, key in ((grove.required, "required"), (grove.preferred, "preferred")):
            outer, inner = read(mapping(one.data, *around)), read(own)
            if levels.coarser(inner, outer):
                message = f'the {key} level "{inner}" is coarser than "{outer}" around it, which Grove refuses'
                note = Note("the outer level is here", (*one.route, *around))
                hint = "swap the two levels, or remove one"
                yield error("M883", (*one.route, *path, "pack", key), message, hint=hint, notes=(note,))


MOST_KEY = 63


def _binding(one: Object) -> Iterator[Diagnostic]:
    """M883: levels are unique. KAI's Topology has the name of the binding, because PodGangs name the binding."""
    seen: dict[tuple[str, str], Route] = {}
    for number, level in enumerate(items(one.data, "spec", "levels")):
        for key in ("domain", "key"):
            value, route = text(level, key), (*one.route, "spec", "levels", number, key)
            if value and seen.setdefault((key, value), route) != route:
                message = f'two levels of {title(one)} have the {key} "{shorten(value)}"'
                yield error("M883", route, message, hint="remove one of the two levels")
            if key == "key" and len(value) > MOST_KEY:
                message = f"the label of this level has {len(value)} characters, but Grove allows {MOST_KEY}"
                yield error("M883", route, message, hint="label the nodes with a shorter key")
    for number, each in enumerate(items(one.data, "spec", "schedulerTopologyBindings")):
        called, route = text(each, "topologyReference"), (*one.route, "spec", "schedulerTopologyBindings", number)
        if text(each, "schedulerName") == grove.SCHEDULER and called and called != name(one):
            message = f'Grove gives KAI the Topology "{name(one)}", although this binding names "{shorten(called)}"'
            hint = "give the binding and KAI's Topology the same name"
            yield error("M883", (*route, "topologyReference"), message, hint=hint)


# Start order (M883), queues (M719), channels (M809).


def _start_order(one: Object, parts: grove.Layout) -> Iterator[Diagnostic]:
    """M883: what the webhook refuses, and an order that Grove ignores."""
    after = {each.name: items(one.data, *each.path, "spec", "startsAfter") for each in parts.cliques}
    explicit = text(one.data, *grove.TEMPLATE, "cliqueStartupType") == EXPLICIT
    for clique in parts.cliques:
        route: Route = (*one.route, *clique.path, "spec", "startsAfter")
        if after[clique.name] and not explicit:
            message = f'Grove ignores `startsAfter` of clique "{clique.name}", because the order is not explicit'
            hint = f"set `cliqueStartupType: {EXPLICIT}`"
            yield warning("M883", route, message, hint=hint)
            continue
        for number, other in enumerate(after[clique.name]):
            if not (isinstance(other, str) and other in after):
                message = f'{title(one)} has no clique "{shorten(str(other))}"'
                hint = suggest(str(other), after, "its cliques are", but=clique.name) or "remove it"
                yield error("M883", (*route, number), message, hint=hint)
    paths = {clique.name: clique.path for clique in parts.cliques}
    strings = {name: [each for each in others if isinstance(each, str)] for name, others in after.items()}
    for cycle in cycles(strings) if explicit else ():
        message = f'clique "{cycle[0]}" starts after itself'
        route = (*one.route, *paths[cycle[0]], "spec", "startsAfter")
        yield error("M883", route, message, hint="remove one `startsAfter` of the cycle")


def _queue(one: Object, parts: grove.Layout) -> Iterator[Diagnostic]:
    """M719: all cliques are in the queue of the set (kai/backend.go, resolveQueueNameForPodCliqueSet)."""
    specs = [mapping(one.data, *each.path, "spec", "podSpec") for each in parts.cliques]
    if not any(text(each, "schedulerName") == grove.SCHEDULER for each in specs):
        return
    words = ("labels", "annotations")
    places: list[Path] = [("metadata", word, grove.QUEUE) for word in words]
    places += [(*each.path, word, grove.QUEUE) for each in parts.cliques for word in words]
    queues: dict[str, Path] = {}
    for path in places:
        if queue := text(one.data, *path):
            queues.setdefault(queue, path)
    if not queues:
        message = f"{title(one)} names no queue, without which Grove gives KAI no PodGroup"
        yield error("M719", named(one), message, hint=f"add the label {grove.QUEUE}")
    elif len(queues) > 1:
        (first, before), (other, at) = list(queues.items())[:2]
        message = f'{title(one)} is in two queues, "{first}" and "{other}"'
        note = Note("the other one is here", (*one.route, *before))
        yield error("M719", (*one.route, *at), message, hint="name the same queue everywhere", notes=(note,))


def _channels(one: Object, parts: grove.Layout, context: LintContext) -> Iterator[Diagnostic]:
    """M809: names of ComputeDomains that Grove makes, cliques that get no channel, and pods that get two."""
    group_path = {each.name: each.path for each in parts.groups}
    places: list[Path] = [("metadata",), *(each.path for each in parts.cliques), *group_path.values()]
    for path in places:
        value = get(one.data, *path, "annotations", grove.MNNVL)
        if value is not None and not NAME.fullmatch(str(value)):
            route = (*one.route, *path, "annotations", grove.MNNVL)
            message = f'"{shorten(str(value))}" is not a valid name of a group of NVLink'
            hint = f"use at most 63 lower-case letters, digits and dashes, or `{grove.OPTED_OUT}`"
            yield error("M809", route, message, hint=hint)
    for clique in parts.cliques:
        around = [group_path[clique.group]] if clique.group in group_path else []
        layers: list[Path] = [clique.path, *around, ("metadata",)]
        found = next((path for path in layers if text(one.data, *path, "annotations", grove.MNNVL)), None)
        if found is None or text(one.data, *found, "annotations", grove.MNNVL) == grove.OPTED_OUT:
            continue
        route = (*one.route, *found, "annotations", grove.MNNVL)
        spec: Path = (*clique.path, "spec", "podSpec")
        if found == clique.path and not _with_gpus(mapping(one.data, *spec)):
            message = f'no container of clique "{clique.name}" requests nvidia.com/gpu, so Grove adds no channel'
            yield warning("M809", route, message, hint="remove the annotation, or request the GPUs")
        for number, claim in enumerate(items(one.data, *spec, "resourceClaims")):
            if text(claim, "resourceClaimTemplateName") in context.channels:
                message = f'the pods of clique "{clique.name}" get two channels, and a node has only one'
                note = Note("Grove adds one because of this annotation", route)
                hint = "remove the annotation, or the claim and its ComputeDomain"
                yield error("M809", (*one.route, *spec, "resourceClaims", number), message, hint=hint, notes=(note,))


def _with_gpus(spec: Mapping[str, Any]) -> bool:
    containers = (*items(spec, "containers"), *items(spec, "initContainers"))
    return any(get(each, "resources", key, grove.GPU) for each in containers for key in ("limits", "requests"))


def _scaled(one: Object, parts: grove.Layout) -> Iterator[Diagnostic]:
    """M717: the constraint of the set holds for each PodGang by itself (Grove#648)."""
    whole = mapping(one.data, *grove.TEMPLATE, grove.CONSTRAINT)
    level = grove.required(whole)
    for each in parts.groups if level else ():
        beyond = (each.replicas or 0) - (each.least or 0)
        if beyond > 0:
            own = grove.required(mapping(one.data, *each.path, grove.CONSTRAINT)) or level
            what = "the last replica" if beyond == 1 else f"the last {beyond} replicas"
            message = f'{what} of scaling group "{each.name}" may be in another {level} than the others'
            hint = f"set `minAvailable: {each.replicas}`, or expect them in any {own}"
            place = "minAvailable" if get(one.data, *each.path, "minAvailable") is not None else "name"
            yield info("M717", (*one.route, *each.path, place), message, hint=hint)
