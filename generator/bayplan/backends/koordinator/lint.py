"""Rules about ClusterNetworkTopologies, PodGroups and gang annotations that others wrote.

Koordinator has no webhook for them: it reads them when they are used, logs, and goes on with a default, or without
(gang.go, gang_cache.go, network_topology_types.go, tree.go and tree_manager.go; 1.7 and 1.8).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.backends.koordinator.pod_group import (
    GROUPS,
    MATCH,
    MODE,
    MUST,
    POD_GROUP,
    PREFER,
    PREFIX,
    SCHEDULER,
    SPEC,
    TOTAL,
)
from bayplan.core.diagnostics import KEY, Diagnostic, Route, error, warning
from bayplan.kube.networks import parsed
from bayplan.kube.objects import get, items, kind, mapping, name, named, namespace, number_in, text
from bayplan.kube.templates import PodTemplate
from bayplan.linting.objects import LintContext, Rule
from bayplan.linting.schedulers import scheduler_of
from bayplan.model.manifest import Object
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.topologies.koordinator import (
    CLUSTER_LAYER,
    NODE_LAYER,
    OBJECT,
    Layer,
    chain,
    is_topology,
    ordered,
    read_layers,
)

# ClusterNetworkTopologies

FIELDS: Mapping[str, frozenset[str]] = {
    "spec": frozenset({"networkTopologySpec"}),
    "layer": frozenset({"topologyLayer", "parentTopologyLayer", "labelKey"}),
}
LAYERS = ("spec", "networkTopologySpec")


def check_topologies(context: LintContext) -> Iterator[Diagnostic]:
    """Every ClusterNetworkTopology, alone and against the nodes."""
    for each in context.objects:
        if is_topology(each.data):
            if name(each) != OBJECT:
                message = f'Koordinator reads the ClusterNetworkTopology "{OBJECT}" and no other, not "{name(each)}"'
                yield error("M760", named(each), message, hint=f"call it {OBJECT}")
            yield from _known_fields(each)
            yield from _layer_chain(each)
            yield from _layer_labels(each, context.topology)


def _known_fields(each: Object) -> Iterator[Diagnostic]:
    """Fields of early drafts, such as spec.hierarchy: the API server drops them."""
    layers = (((*LAYERS, number), "layer") for number in range(len(items(each.data, *LAYERS))))
    for path, part in ((("spec",), "spec"), *layers):
        for key in mapping(each.data, *path):
            if key not in FIELDS[part]:
                message = f'a ClusterNetworkTopology has no field "{key}" here'
                hint = f"known here: {', '.join(sorted(FIELDS[part]))}"
                yield error("M760", (*each.route, *path, str(key), KEY), message, hint=hint)


def _layer_chain(each: Object) -> Iterator[Diagnostic]:
    layers = list(read_layers(each.data))
    if NODE_LAYER not in [layer.name for layer in layers]:
        message = f"{NODE_LAYER} is not listed, so Koordinator builds no tree and no placed gang ever starts"
        yield error("M760", (*each.route, *LAYERS), message, hint=f"list {NODE_LAYER} with its parentTopologyLayer")
        return
    walked, broken = ordered(layers)
    if broken:
        message = f"the layers are no chain: {broken}; Koordinator builds no tree and no placed gang ever starts"
        hint = f"let parentTopologyLayer lead from {NODE_LAYER} upwards over every entry once"
        yield error("M760", (*each.route, *LAYERS), message, hint=hint)
    elif walked[0].parent not in ("", CLUSTER_LAYER):
        at = (*each.route, *LAYERS, walked[0].place, "parentTopologyLayer")
        message = f'the parent "{walked[0].parent}" is not listed; Koordinator takes "{walked[0].name}" as the top'
        yield warning("M760", at, message, hint="list that layer too, or leave the parent out")


def _layer_labels(each: Object, topology: ClusterTopology) -> Iterator[Diagnostic]:
    known = {level.label for pool in topology.pools for level in pool.levels}
    layers, _ = ordered(list(read_layers(each.data)))
    above: Layer | None = None
    for layer in layers:
        at = (*each.route, *LAYERS, layer.place)
        if layer.name == NODE_LAYER:
            continue
        if not layer.labels:
            message = f'layer "{layer.name}" has no labelKey, so Koordinator leaves every node out'
            yield error("M765", at, message, hint="name the node label that tells the domain")
        elif not known & set(layer.labels):
            message = f'no level of the topology has a label of layer "{layer.name}"; nodes without it are left out'
            hint = f"levels have the labels {', '.join(sorted(known))}" if known else "give the topology's pools levels"
            yield error("M765", (*at, "labelKey"), message, hint=hint)
        elif above is not None and (value := _repeated_value(topology, layer, above)):
            message = (
                f'the value "{value}" of layer "{layer.name}" occurs under several domains of "{above.name}";'
                " Koordinator makes one domain of it, under the first"
            )
            yield error("M765", (*at, "labelKey"), message, hint="use a label whose values are unique in the cluster")
        above = layer


def _repeated_value(topology: ClusterTopology, layer: Layer, above: Layer) -> str:
    """A value that occurs below two parents, if there is one."""
    parents: dict[str, str] = {}
    for pool in topology.pools:
        labels = [level.label for level in pool.levels]
        own_rank = next((labels.index(key) for key in layer.labels if key in labels), None)
        parent_rank = next((labels.index(key) for key in above.labels if key in labels), None)
        for domain in pool.domains if own_rank is not None and parent_rank is not None else ():
            value = domain.path[own_rank or 0]
            if parents.setdefault(value, domain.path[parent_rank or 0]) != domain.path[parent_rank or 0]:
                return value
    return ""


# PodGroups and the pods that name them

POD_GROUP_KIND = ("scheduling.sigs.k8s.io", "PodGroup")
CHOICES: Mapping[str, tuple[str, ...]] = {
    MODE: ("Strict", "NonStrict"),
    MATCH: ("only-waiting", "waiting-and-running", "once-satisfied"),
}
LEGACY = ("name", "min-available", "waiting-time", "timeout")
ANNOTATIONS = frozenset(
    {TOTAL, MODE, MATCH, GROUPS, SPEC, f"{PREFIX}network-topology-index", *(PREFIX + each for each in LEGACY)}
)
STRATEGIES = (MUST, PREFER)


def check_gangs(context: LintContext) -> Iterator[Diagnostic]:
    """Every PodGroup alone, with the gangs of its group, and with the pods that name it."""
    members: dict[Route, list[PodTemplate]] = {}
    unknown_groups: list[PodTemplate] = []
    for template in context.templates:
        if text(template.labels, POD_GROUP):
            group = _pod_group(text(template.labels, POD_GROUP), namespace(template.object), context)
            (members.setdefault(group.route, []) if group else unknown_groups).append(template)
    layers = known_layers(context)
    for group in context.of(*POD_GROUP_KIND):
        yield from _annotations(group)
        yield from _minimum(group)
        yield from _topology_spec(group, layers, context.target)
        yield from _gang_group(group, context)
        yield from _pod_counts(group, members.get(group.route, []))
        yield from _other_scheduler(group, members.get(group.route, []), context)
    for template in unknown_groups:
        where = f'"{text(template.labels, POD_GROUP)}" in the namespace "{namespace(template.object)}"'
        message = f"there is no PodGroup {where}; the pods wait for it"
        at = (*template.route, "metadata", "labels", POD_GROUP)
        yield error("M707", at, message, hint="write that PodGroup too, or name one that is there")


def known_layers(context: LintContext) -> frozenset[str]:
    """The layers of the ClusterNetworkTopologies that are here; without any, those that the topology file makes."""
    written = {layer.name for each in context.objects if is_topology(each.data) for layer in read_layers(each.data)}
    return frozenset({*(written or {layer.name for layer in chain(context.topology)}), CLUSTER_LAYER})


def _pod_group(group: str, where: str, context: LintContext) -> Object | None:
    """The PodGroup of that name. Where a namespace is left out, `kubectl -n` decides, so any is right."""
    return next(iter(context.find(*POD_GROUP_KIND, group, where)), None)


def own_annotations(group: Object) -> Mapping[str, Any]:
    """The annotations of a PodGroup that are Koordinator's."""
    annotations = mapping(group.data, "metadata", "annotations")
    return {str(key): value for key, value in annotations.items() if str(key).startswith(PREFIX)}


def _at(group: Object, annotation: str) -> Route:
    return (*group.route, "metadata", "annotations", annotation)


def _annotations(group: Object) -> Iterator[Diagnostic]:
    """Names that Koordinator knows, values that are text, words that it knows."""
    for key, value in own_annotations(group).items():
        if key not in ANNOTATIONS:
            message = f'Koordinator has no annotation "{key}"; it is ignored'
            hint = f"known: {', '.join(sorted(each.removeprefix(PREFIX) for each in ANNOTATIONS))}"
            yield error("M815", (*_at(group, key), KEY), message, hint=hint)
        elif not isinstance(value, str):
            message = f'the annotation "{key}" must be text, and the API server refuses anything else'
            yield error("M767", _at(group, key), message, hint="put it in quotes: what stands in it is JSON")
        elif key in CHOICES and value not in CHOICES[key]:
            message = f'Koordinator does not know "{value}" and takes its default'
            yield error("M767", _at(group, key), message, hint=f"one of {', '.join(CHOICES[key])}")


def _minimum(group: Object) -> Iterator[Diagnostic]:
    stated, least = get(group.data, "metadata", "annotations", TOTAL), number_in(group.data, "spec", "minMember")
    if not isinstance(stated, str) or least is None:
        return
    total = amount(stated)
    if total is None or total < least:
        what = "no number" if total is None else f"less than minMember {least}"
        message = f'total-number "{stated}" is {what}; Koordinator takes minMember instead'
        yield error("M773", _at(group, TOTAL), message, hint="give the number of pods of the gang")
    elif total > least and SPEC in own_annotations(group):
        message = f"minMember {least} of {total} pods: the nodes of a placed gang are planned for all waiting pods"
        hint = "make minMember the number of pods: pods that come later are placed without regard to the others"
        yield warning("M773", (*group.route, "spec", "minMember"), message, hint=hint)


def amount(digits: Any) -> int | None:
    """A number of pods as an annotation states it."""
    return int(digits) if isinstance(digits, str) and re.fullmatch("[0-9]{1,9}", digits) else None


def _topology_spec(group: Object, layers: frozenset[str], target: Target) -> Iterator[Diagnostic]:
    """The network-topology-spec."""
    if not isinstance(get(group.data, "metadata", "annotations", SPEC), str):
        return
    at, rules = _at(group, SPEC), _gather_strategy(group)
    if not rules or not all(isinstance(get(rule, "layer"), str) for rule in rules):
        message = (
            "network-topology-spec is no JSON object with a list gatherStrategy of layers, so it asks for no level"
        )
        hint = 'write {"gatherStrategy":[{"layer":"RackLayer","strategy":"MustGather"}]}'
        yield error("M767", at, message, hint=hint)
        return
    for rule in rules:
        yield from _gather_rule(group, rule, layers, target)
    gathered = [rule.get("layer") for rule in rules if rule.get("strategy") == MUST]
    if len(gathered) > 1:
        message = f"{MUST} for {' and '.join(map(str, gathered))}: only the deepest of them counts"
        yield warning("M771", at, message, hint="leave one, and use podCountMultiple for layers inside")


def _gather_strategy(group: Object) -> Sequence[Any]:
    """The rules in the network-topology-spec; none where it cannot be read."""
    return items(parsed(text(group.data, "metadata", "annotations", SPEC)), "gatherStrategy")


def _gather_rule(
    group: Object, rule: Mapping[str, Any], layers: frozenset[str], target: Target
) -> Iterator[Diagnostic]:
    at, layer, strategy = _at(group, SPEC), rule.get("layer"), rule.get("strategy")
    if strategy not in STRATEGIES:
        message = f'Koordinator does not know the strategy "{strategy}" and ignores it'
        yield error("M767", at, message, hint=f"one of {', '.join(STRATEGIES)}")
    if layers and layer not in layers:
        wait = "and the gang never starts" if strategy == MUST else "and the rule is ignored"
        message = f'there is no layer "{layer}", {wait}'
        yield error("M770", at, message, hint=f"layers are {', '.join(sorted(layers))}")
    if "podCountMultiple" in rule:
        yield from _multiple(group, rule["podCountMultiple"], target)


def _multiple(group: Object, multiple: Any, target: Target) -> Iterator[Diagnostic]:
    at, annotations = _at(group, SPEC), own_annotations(group)
    if not target.since("koordinator", "1.8"):
        message = "podCountMultiple came with Koordinator 1.8; this version ignores it"
        yield error("M772", at, message, hint="target Koordinator 1.8")
    if isinstance(multiple, bool) or not isinstance(multiple, int) or multiple < 1:
        lost = "the rule" if type(multiple) is int else "the whole network-topology-spec"
        message = f"podCountMultiple {json.dumps(multiple)} is no number from 1; {lost} is ignored"
        yield error("M772", at, message, hint="write a number without quotes")
        return
    total = max(amount(annotations.get(TOTAL)) or 0, number_in(group.data, "spec", "minMember") or 0)
    if GROUPS not in annotations and total and total % multiple:
        message = f"{total} pods are no multiple of {multiple}, so the gang never starts"
        yield error("M772", at, message, hint="make podCountMultiple a divisor of the number of pods")


def _gang_group(group: Object, context: LintContext) -> Iterator[Diagnostic]:
    """A gang group: a JSON list of namespace/name, the same on each of its gangs, and with one topology spec."""
    annotations = own_annotations(group)
    if not isinstance(annotations.get(GROUPS), str):
        return
    at, listed = _at(group, GROUPS), _listed_gangs(group)
    if listed is None or not all(isinstance(each, str) and each.count("/") == 1 for each in listed):
        message = "groups is no JSON list of namespace/name; Koordinator takes the gang alone"
        yield error("M767", at, message, hint='write ["ml/leader","ml/worker"]')
        return
    for each in listed:
        where, _, pod_group = each.partition("/")
        other = _pod_group(pod_group, where, context)
        if other is None:
            hint = "write that PodGroup too, or leave it out"
            yield error("M775", at, f'the gang group waits for "{each}", which is not here', hint=hint)
        elif sorted(map(str, _listed_gangs(other) or ())) != sorted(listed):
            yield error("M775", at, f'"{each}" lists other gangs than this one', hint="give all of them the same list")
        elif own_annotations(other).get(SPEC) != annotations.get(SPEC):
            message = f'"{each}" has another network-topology-spec; Koordinator takes that of the gang it meets first'
            key = SPEC if SPEC in annotations else GROUPS
            yield error("M775", _at(group, key), message, hint="make them equal")


def _listed_gangs(group: Object) -> list[Any] | None:
    listed = parsed(text(group.data, "metadata", "annotations", GROUPS))
    return listed if isinstance(listed, list) else None


def _pod_counts(group: Object, members: Sequence[PodTemplate]) -> Iterator[Diagnostic]:
    least, counts = number_in(group.data, "spec", "minMember"), [each.pods for each in members]
    there = sum(filter(None, counts))
    if members and None not in counts and least is not None and there < least:
        message = f"minMember is {least}, but {there} pods name this PodGroup"
        yield error("M708", (*group.route, "spec", "minMember"), message, hint="the gang never starts")
    multiples = [get(rule, "podCountMultiple") for rule in _gather_strategy(group)]
    if any(isinstance(each, int) and each > 1 for each in multiples):
        for each in members:
            if kind(each.object) == "Job" and (each.pods or 0) > 10:  # they differ only by a number
                message = (
                    f"{each.pods} pods with numbers at the end of their names: Koordinator cuts them in alphabetical"
                    " order, 0, 1, 10, 11, so groups are not of neighbouring numbers"
                )
                hint = "use a JobSet with one replicatedJob, or one replica, a group"
                yield warning("M779", each.route, message, hint=hint)


def _other_scheduler(group: Object, members: Sequence[PodTemplate], context: LintContext) -> Iterator[Diagnostic]:
    scheduler = context.topology.scheduler_name("koordinator", SCHEDULER)
    for each in members if own_annotations(group) else ():
        if scheduler_of(each) not in (scheduler, SCHEDULER):
            message = f'the pods belong to a gang of Koordinator, but go to "{scheduler_of(each)}"'
            yield error("M778", each.spec_route, message, hint=f"set schedulerName: {scheduler}")


RULES: tuple[Rule, ...] = (check_topologies, check_gangs)
