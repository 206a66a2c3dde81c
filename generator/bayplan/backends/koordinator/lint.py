"""Rules for ClusterNetworkTopologies, PodGroups and gang annotations of Koordinator.

Koordinator has no webhook for them. It reads them when it uses them, logs mistakes, and continues with a default or
without the object (gang.go, gang_cache.go, network_topology_types.go, tree.go and tree_manager.go; 1.7 and 1.8).
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
    TOPOLOGY_KIND,
    Layer,
    chain,
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
    """M760: ClusterNetworkTopologies, compared with the nodes."""
    for each in context.of(*TOPOLOGY_KIND):
        if name(each) != OBJECT:
            message = f'Koordinator ignores ClusterNetworkTopology "{name(each)}": it reads only "{OBJECT}"'
            yield error("M760", named(each), message, hint=f"rename it to {OBJECT}")
        yield from _known_fields(each)
        yield from _layer_chain(each)
        yield from _layer_labels(each, context.topology)


def _known_fields(each: Object) -> Iterator[Diagnostic]:
    """M760: fields of early drafts, such as spec.hierarchy, which the API server drops."""
    layers = (((*LAYERS, number), "layer") for number in range(len(items(each.data, *LAYERS))))
    for path, part in ((("spec",), "spec"), *layers):
        for key in mapping(each.data, *path):
            if key not in FIELDS[part]:
                message = f'a ClusterNetworkTopology has no field "{key}" here'
                hint = f"use {', '.join(sorted(FIELDS[part]))}"
                yield error("M760", (*each.route, *path, str(key), KEY), message, hint=hint)


def _layer_chain(each: Object) -> Iterator[Diagnostic]:
    layers = list(read_layers(each.data))
    if NODE_LAYER not in [layer.name for layer in layers]:
        message = f"Koordinator builds no tree, because {NODE_LAYER} is not listed; gangs with a placement never start"
        yield error("M760", (*each.route, *LAYERS), message, hint=f"list {NODE_LAYER} with its `parentTopologyLayer`")
        return
    walked, broken = ordered(layers)
    if broken:
        message = f"Koordinator builds no tree, because {broken}; gangs with a placement never start"
        hint = f"set `parentTopologyLayer` so that it leads from {NODE_LAYER} upwards through every entry once"
        yield error("M760", (*each.route, *LAYERS), message, hint=hint)
    elif walked[0].parent not in ("", CLUSTER_LAYER):
        at = (*each.route, *LAYERS, walked[0].place, "parentTopologyLayer")
        message = (
            f'the parent "{walked[0].parent}" is not listed, so Koordinator uses "{walked[0].name}" as the top layer'
        )
        yield warning("M760", at, message, hint="list that layer too, or remove the parent")


def _layer_labels(each: Object, topology: ClusterTopology) -> Iterator[Diagnostic]:
    known = {level.label for pool in topology.pools for level in pool.levels}
    layers, _ = ordered(list(read_layers(each.data)))
    above: Layer | None = None
    for layer in layers:
        at = (*each.route, *LAYERS, layer.place)
        if layer.name == NODE_LAYER:
            continue
        if not layer.labels:
            message = f'Koordinator ignores all nodes, because layer "{layer.name}" has no `labelKey`'
            yield error("M760", at, message, hint="set `labelKey` to the node label of its domains")
        elif topology.pools and not known & set(layer.labels):
            message = f'no level of the topology has a label of layer "{layer.name}", without which nodes are ignored'
            hint = f"labels of levels: {', '.join(sorted(known))}" if known else "add levels to the topology's pools"
            yield error("M760", (*at, "labelKey"), message, hint=hint)
        elif above is not None and (value := _repeated_value(topology, layer, above)):
            message = f'several domains of "{above.name}" have the value "{value}" of layer "{layer.name}", '
            message += "but Koordinator sees one domain, in the first of them"
            yield error("M760", (*at, "labelKey"), message, hint="use a label whose values are unique in the cluster")
        above = layer


def _repeated_value(topology: ClusterTopology, layer: Layer, above: Layer) -> str:
    """A value in two parents; empty if every value is in one."""
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
    """PodGroups by themselves, with the gangs of their gang group, and with the pods that name them."""
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
        message = f"the manifests have no PodGroup {where}, so the pods stay pending"
        at = (*template.route, "metadata", "labels", POD_GROUP)
        yield error("M707", at, message, hint="add the PodGroup, or correct the name")


def known_layers(context: LintContext) -> frozenset[str]:
    """The layers of the ClusterNetworkTopologies in the manifests; without one, those that the topology file gives.

    Empty without both, because the cluster may have any.
    """
    written = {layer.name for each in context.of(*TOPOLOGY_KIND) for layer in read_layers(each.data)}
    known = written or {layer.name for layer in chain(context.topology)}
    return frozenset({*known, CLUSTER_LAYER}) if written or context.topology.pools else frozenset()


def _pod_group(group: str, where: str, context: LintContext) -> Object | None:
    """The PodGroup of a name. Any namespace matches an empty one, because `kubectl -n` sets it."""
    return next(iter(context.find(*POD_GROUP_KIND, group, where)), None)


def own_annotations(group: Object) -> Mapping[str, Any]:
    """The annotations of a PodGroup that belong to Koordinator."""
    annotations = mapping(group.data, "metadata", "annotations")
    return {str(key): value for key, value in annotations.items() if str(key).startswith(PREFIX)}


def _at(group: Object, annotation: str) -> Route:
    return (*group.route, "metadata", "annotations", annotation)


def _annotations(group: Object) -> Iterator[Diagnostic]:
    """M767, M815: unknown annotations, values that are not strings, and unknown words."""
    for key, value in own_annotations(group).items():
        if key not in ANNOTATIONS:
            message = f'Koordinator ignores the unknown annotation "{key}"'
            hint = f"known names: {', '.join(sorted(each.removeprefix(PREFIX) for each in ANNOTATIONS))}"
            yield error("M815", (*_at(group, key), KEY), message, hint=hint)
        elif not isinstance(value, str):
            message = f'the API server refuses the annotation "{key}", because its value is not a string'
            yield error("M767", _at(group, key), message, hint="put the value in quotes, as JSON")
        elif key in CHOICES and value not in CHOICES[key]:
            message = f'unknown value "{value}": Koordinator uses its default'
            yield error("M767", _at(group, key), message, hint=f"use one of {', '.join(CHOICES[key])}")


def _minimum(group: Object) -> Iterator[Diagnostic]:
    stated, least = get(group.data, "metadata", "annotations", TOTAL), number_in(group.data, "spec", "minMember")
    if not isinstance(stated, str) or least is None:
        return
    total = amount(stated)
    if total is None or total < least:
        what = "not a number" if total is None else f"less than minMember {least}"
        message = f'total-number "{stated}" is {what}, so Koordinator uses minMember'
        yield error("M708", _at(group, TOTAL), message, hint="set it to the number of pods of the gang")
    elif total > least and SPEC in own_annotations(group):
        message = (
            f"minMember is {least}, but the gang has {total} pods: Koordinator places later pods without the others"
        )
        hint = f"set minMember to {total}"
        yield warning("M708", (*group.route, "spec", "minMember"), message, hint=hint)


def amount(digits: Any) -> int | None:
    """The number of pods in an annotation; None if it is not a number."""
    return int(digits) if isinstance(digits, str) and re.fullmatch("[0-9]{1,9}", digits) else None


def _topology_spec(group: Object, layers: frozenset[str], target: Target) -> Iterator[Diagnostic]:
    """M767, M772: the network-topology-spec."""
    if not isinstance(get(group.data, "metadata", "annotations", SPEC), str):
        return
    at, rules = _at(group, SPEC), _gather_strategy(group)
    if not rules or not all(isinstance(get(rule, "layer"), str) for rule in rules):
        message = (
            "Koordinator ignores network-topology-spec: it must be a JSON object with a list gatherStrategy of layers"
        )
        hint = 'write {"gatherStrategy":[{"layer":"RackLayer","strategy":"MustGather"}]}'
        yield error("M767", at, message, hint=hint)
        return
    for rule in rules:
        yield from _gather_rule(group, rule, layers, target)
    gathered = [rule.get("layer") for rule in rules if rule.get("strategy") == MUST]
    if len(gathered) > 1:
        message = f"Koordinator uses only the deepest of these {MUST} layers: {', '.join(map(str, gathered))}"
        yield warning("M767", at, message, hint="keep one of them, and use podCountMultiple for layers inside it")


def _gather_strategy(group: Object) -> Sequence[Any]:
    """The rules in the network-topology-spec; empty if it is not readable."""
    return items(parsed(text(group.data, "metadata", "annotations", SPEC)), "gatherStrategy")


def _gather_rule(
    group: Object, rule: Mapping[str, Any], layers: frozenset[str], target: Target
) -> Iterator[Diagnostic]:
    at, layer, strategy = _at(group, SPEC), rule.get("layer"), rule.get("strategy")
    if strategy not in STRATEGIES:
        message = f'Koordinator ignores the unknown strategy "{strategy}"'
        yield error("M767", at, message, hint=f"use one of {', '.join(STRATEGIES)}")
    if layers and layer not in layers:
        wait = "so the gang never starts" if strategy == MUST else "so Koordinator ignores the rule"
        message = f'the layer "{layer}" does not exist, {wait}'
        yield error("M767", at, message, hint=f"known layers: {', '.join(sorted(layers))}")
    if "podCountMultiple" in rule:
        yield from _multiple(group, rule["podCountMultiple"], target)


def _multiple(group: Object, multiple: Any, target: Target) -> Iterator[Diagnostic]:
    at, annotations = _at(group, SPEC), own_annotations(group)
    if not target.since("koordinator", "1.8"):
        message = f"Koordinator {target.version('koordinator')} ignores podCountMultiple"
        yield error("M772", at, message, hint="use Koordinator 1.8, or remove podCountMultiple")
    if isinstance(multiple, bool) or not isinstance(multiple, int) or multiple < 1:
        lost = "the rule" if type(multiple) is int else "the whole network-topology-spec"
        message = f"Koordinator ignores {lost}: podCountMultiple must be a positive integer, not {json.dumps(multiple)}"
        yield error("M772", at, message, hint="write a positive integer without quotes")
        return
    total = max(amount(annotations.get(TOTAL)) or 0, number_in(group.data, "spec", "minMember") or 0)
    if GROUPS not in annotations and total and total % multiple:
        message = f"the gang never starts, because its {total} pods are not a multiple of {multiple}"
        yield error("M772", at, message, hint="set podCountMultiple to a divisor of the number of pods")


def _gang_group(group: Object, context: LintContext) -> Iterator[Diagnostic]:
    """M767, M708: a gang group is a JSON list of namespace/name. Its gangs have the same list and topology spec."""
    annotations = own_annotations(group)
    if not isinstance(annotations.get(GROUPS), str):
        return
    at, listed = _at(group, GROUPS), _listed_gangs(group)
    if listed is None or not all(isinstance(each, str) and each.count("/") == 1 for each in listed):
        message = "Koordinator ignores the gang group, because groups is not a JSON list of namespace/name"
        yield error("M767", at, message, hint='write a list such as ["ml/leader","ml/worker"]')
        return
    for each in listed:
        where, _, pod_group = each.partition("/")
        other = _pod_group(pod_group, where, context)
        if other is None:
            message = f'the gang group waits for "{each}", which is not in the manifests'
            hint = "add that PodGroup, or remove it from the list"
            yield error("M708", at, message, hint=hint)
        elif sorted(map(str, _listed_gangs(other) or ())) != sorted(listed):
            hint = "write the same list in all gangs of the group"
            yield error("M708", at, f'"{each}" lists other gangs than this gang', hint=hint)
        elif own_annotations(other).get(SPEC) != annotations.get(SPEC):
            message = f'"{each}" has another network-topology-spec, but Koordinator uses that of the gang it sees first'
            key = SPEC if SPEC in annotations else GROUPS
            yield error("M708", _at(group, key), message, hint="write the same network-topology-spec in all gangs")


def _listed_gangs(group: Object) -> list[Any] | None:
    listed = parsed(text(group.data, "metadata", "annotations", GROUPS))
    return listed if isinstance(listed, list) else None


def _pod_counts(group: Object, members: Sequence[PodTemplate]) -> Iterator[Diagnostic]:
    multiples = [get(rule, "podCountMultiple") for rule in _gather_strategy(group)]
    if any(isinstance(each, int) and each > 1 for each in multiples):
        for each in members:
            if kind(each.object) == "Job" and (each.pods or 0) > 10:  # their names differ only in a number
                message = f"Koordinator groups these {each.pods} pods in alphabetical order, such as 0, 1, 10, 11, "
                message += "so pods with neighboring numbers are in different groups"
                hint = "use a JobSet with one replicatedJob or one replica for each group"
                yield warning("M772", each.route, message, hint=hint)


def _other_scheduler(group: Object, members: Sequence[PodTemplate], context: LintContext) -> Iterator[Diagnostic]:
    scheduler = context.topology.scheduler_name("koordinator", SCHEDULER)
    for each in members if own_annotations(group) else ():
        if scheduler_of(each) not in (scheduler, SCHEDULER):
            message = f'the pods name a PodGroup of Koordinator, but their scheduler is "{scheduler_of(each)}"'
            yield error("M706", each.spec_route, message, hint=f"set `schedulerName` to {scheduler}")


RULES: tuple[Rule, ...] = (check_topologies, check_gangs)
