"""The placement that the annotations of a workload and the matching policy rule request."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from bayplan.core.diagnostics import KEY, Diagnostic, Note, Outcome, Route, error, info
from bayplan.core.phrases import count, did_you_mean, listing, shorten
from bayplan.kube.objects import get, group, items, kind, mapping, name, namespace, text, title
from bayplan.kube.templates import templates_in
from bayplan.kube.workloads import BY_NAME, WORKLOADS
from bayplan.model.augment import TemplateSlot, WorkloadTemplates
from bayplan.model.encoding import camel_case
from bayplan.model.manifest import Object
from bayplan.model.policy import RULES, GangRule, GroupRule, Policy, Rule
from bayplan.model.workflow import Placement

PREFIX = "bayplan.dev/"
OWN_ANNOTATIONS = frozenset(
    {
        *("accepted", "gang", "group", "level", "path", "pod-set", "separate", "subgroup", "subgroup-policy"),
        *("leaves", "levels", "nvlink-domain"),
        *("service", "topology", "whole-node", "workflow"),
    }
)
"""Annotations and labels that bayplan writes itself. They request nothing."""

NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
DOTTED = re.compile(r"[a-z0-9]([-.a-z0-9]{0,61}[a-z0-9])?")
REPLICAS = ("together", "apart")
DOMAINS = ("auto", "group", "gang", "never")
MAX_GROUP_SIZE = 1_000_000


class RequestedValue(NamedTuple):
    """A value, and the place of its request."""

    value: Any
    route: Route


class InvalidValueError(ValueError):
    """Why a value is invalid, and how to correct it."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def first_annotation(one: Object) -> Route | None:
    """The first annotation that requests a placement, even if it is misspelled."""
    for key in mapping(one.data, "metadata", "annotations"):
        if isinstance(key, str) and key.startswith(PREFIX) and key[len(PREFIX) :] not in OWN_ANNOTATIONS:
            return (*one.route, "metadata", "annotations", key)
    return None


def read(one: Object) -> Outcome[Mapping[str, RequestedValue]]:
    """Name -> the value that it requests. A940: an unknown name, or an invalid value."""
    route = (*one.route, "metadata", "annotations")
    requested: dict[str, RequestedValue] = {}
    wrong: list[Diagnostic] = []
    for key, value in mapping(one.data, "metadata", "annotations").items():
        if not isinstance(key, str) or not key.startswith(PREFIX):
            continue
        word = key[len(PREFIX) :]
        if word in OWN_ANNOTATIONS:
            continue
        if word not in ANNOTATIONS:
            hint = did_you_mean(key, [PREFIX + each for each in ANNOTATIONS]) or f"use one of {listing(ANNOTATIONS)}"
            message = f'unknown annotation "{shorten(key)}"'
            wrong.append(error("A940", (*route, key, KEY), message, hint=hint))
            continue
        try:
            requested[word] = RequestedValue(_value(word, value), (*route, key))
        except InvalidValueError as unfit:
            wrong.append(error("A940", (*route, key), str(unfit), hint=unfit.hint))
    return Outcome(None if wrong else requested, tuple(wrong))


def _value(word: str, value: Any) -> Any:
    if not isinstance(value, str):
        raise InvalidValueError(f"the value of {PREFIX}{word} is not a string", "put it in quotes")
    return ANNOTATIONS[word](value.strip())


def _placement(value: str) -> Placement:
    """`required=spine,preferred=rack`, or one of the two, in any order."""
    levels: dict[str, str] = {}
    for part in value.split(","):
        key, equals, level = (each.strip() for each in part.partition("="))
        if not equals or key not in Placement._fields:
            near = did_you_mean(key, Placement._fields) if equals else ""
            shown = f'"{shorten(part.strip())}" is not `required=LEVEL` or `preferred=LEVEL`'
            raise InvalidValueError(shown, near or "write required=spine,preferred=rack, or one of the two")
        if key in levels:
            raise InvalidValueError(f'the placement has "{key}" twice', "keep one of them")
        levels[key] = _matching(NAME, "level name")(level)
    return Placement(**levels)


def _size(value: str) -> int:
    if not re.fullmatch("[0-9]{1,7}", value) or not 1 <= int(value) <= MAX_GROUP_SIZE:
        hint = f"use an integer from 1 to {MAX_GROUP_SIZE}"
        raise InvalidValueError(f'"{shorten(value)}" is not a number of pods', hint)
    return int(value)


def _word(words: Sequence[str], what: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        if value not in words:
            raise InvalidValueError(f'"{shorten(value)}" is not a valid {what}', f"use {listing(words)}")
        return value

    return check


def _matching(pattern: re.Pattern[str], what: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        if not pattern.fullmatch(value):
            shown = f'"{shorten(value)}" is not a valid {what}' if value else f"the {what} is missing"
            raise InvalidValueError(shown, "use at most 63 lowercase letters, digits and hyphens")
        return value

    return check


def _patterns(value: str) -> tuple[str, ...]:
    patterns = tuple(each.strip() for each in value.split(","))
    if not all(patterns):
        raise InvalidValueError("a name of a podSet is missing", "write names of podSets with commas between them")
    return patterns


ANNOTATIONS: Mapping[str, Callable[[str], Any]] = {
    "placement": _placement,
    "group-size": _size,
    "group-placement": _placement,
    "compute-domain": _word(DOMAINS, "compute-domain"),
    "pool": _matching(NAME, "pool name"),
    "fabric": _matching(NAME, "fabric name"),
    "scheduler": _matching(NAME, "scheduler name"),
    "queue": _matching(DOTTED, "queue name"),
    "leave-out": _patterns,
    "replicas": _word(REPLICAS, "number of gangs"),
}
"""Name after the prefix -> the parser of its value."""


def misplaced(one: Object) -> Iterator[Diagnostic]:
    """A940: annotations of bayplan in places without effect, as labels or on pod templates."""
    at: Route = (*one.route, "metadata")
    places = [(mapping(one.data, "metadata", "labels"), (*at, "labels"), "a label")]
    for each in templates_in((one,)):
        if each.owned:
            at = (*each.route, "metadata")
            places.append((each.labels, (*at, "labels"), "a label of its pods"))
            places.append((each.annotations, (*at, "annotations"), "an annotation of its pods"))
    for fields, route, what in places:
        for key in sorted({PREFIX + word for word in ANNOTATIONS} & fields.keys()):
            message = f"{key} is {what}, but bayplan reads only annotations of {title(one)} itself"
            yield error("A940", (*route, key, KEY), message, hint=_move(key[len(PREFIX) :], fields[key]))


def _move(word: str, value: Any) -> str:
    """The hint for an annotation in another place, whose value may be invalid too: labels contain no `=`."""
    hint = "move it to `metadata.annotations` of the workload"
    try:
        _value(word, value)
    except InvalidValueError as unfit:
        return f"{hint}, and {unfit.hint}"
    return hint


LEAVE_OUT = "leave-out"


def without_left_out(
    templates: WorkloadTemplates, policy: Policy | None, rule: int | None, annotations: Mapping[str, RequestedValue]
) -> Outcome[WorkloadTemplates]:
    """The workload without the podSets that it leaves out of its gang. A940: a name without a podSet, or none left."""
    of_rule = policy.rules[rule].gang.leave_out if policy and rule is not None else ()
    asked = annotations.get(LEAVE_OUT) or RequestedValue(of_rule, (*RULES, rule or 0, "gang", "leaveOut"))
    names = [slot.name for slot in templates.slots]
    listed = listing(names, "and")
    for pattern in asked.value:
        if not any(fnmatchcase(each, pattern) for each in names):
            message = f'no podSet of {title(templates.placed)} has the name "{pattern}"; its podSets are {listed}'
            return _unclear(asked.route, message, "correct the name of the podSet to leave out")
    kept = tuple(each for each in templates.slots if not any(fnmatchcase(each.name, one) for one in asked.value))
    if templates.slots and not kept:
        message = f"{title(templates.placed)} leaves out all of its podSets: {listed}"
        return _unclear(asked.route, message, "leave out only some of them, or remove the placement")
    if len(kept) < len(names) and templates.gangs > 1:
        message = f"each group of {title(templates.placed)} is a gang, and bayplan cannot leave out a part of each"
        return _unclear(asked.route, message, "remove it, or write a workload for each gang")
    return Outcome(templates._replace(slots=kept, left_out=len(names) - len(kept)))


class GroupRequest(NamedTuple):
    """A group and its podSets. `fields`: field -> value."""

    fields: Mapping[str, RequestedValue]
    pod_sets: tuple[str, ...]  # patterns
    route: Route


class PlacementRequest(NamedTuple):
    """All requests for a workload. `fields`: field of `GangRule` -> value."""

    fields: Mapping[str, RequestedValue] = {}
    groups: tuple[GroupRequest, ...] = ()
    every_group: RequestedValue | None = None  # `computeDomain` of all groups
    adopt: bool = False


def placement_request(
    templates: WorkloadTemplates, policy: Policy | None, rule: int | None, annotations: Mapping[str, RequestedValue]
) -> Outcome[PlacementRequest]:
    """Annotations override the rule, key by key. A940: the groups are not clear."""
    by_rule = PlacementRequest()
    if policy is not None and rule is not None:
        row, route = policy.rules[rule], (*RULES, rule)
        listed = [(each, (*route, "groups", number)) for number, each in enumerate(row.groups)]
        rule_groups = tuple(GroupRequest(_fields(each, at), each.pod_sets, at) for each, at in listed)
        by_rule = PlacementRequest(_fields(row.gang, (*route, "gang")), rule_groups, adopt=row.adopt)
    own = {word.replace("-", "_"): each for word, each in annotations.items() if word != LEAVE_OUT}
    groups = _groups(templates, by_rule.groups, own.pop("group_size", None), own.pop("group_placement", None))
    if groups.value is None:
        return Outcome(None, groups.diagnostics)
    sized = next((each.fields["size"] for each in groups.value if "size" in each.fields), None)
    if templates.left_out and sized:
        message = f"{title(templates.placed)} leaves out podSets, so schedulers cannot cut the others into groups"
        return _unclear(sized.route, message, "remove the size and the placement of the groups, or leave out no podSet")
    every = own.pop("compute_domain", None) if groups.value else None
    return Outcome(PlacementRequest({**by_rule.fields, **own}, groups.value, every, by_rule.adopt))


def _fields(rule: GangRule | GroupRule, route: Route) -> dict[str, RequestedValue]:
    values = ((field, getattr(rule, field)) for field in rule._fields if field not in ("pod_sets", "leave_out"))
    return {
        field: RequestedValue(each, (*route, camel_case(field))) for field, each in values if each not in ("", None)
    }


def _groups(
    templates: WorkloadTemplates,
    groups: tuple[GroupRequest, ...],
    size: RequestedValue | None,
    placement: RequestedValue | None,
) -> Outcome[tuple[GroupRequest, ...]]:
    """The rule's groups with the values of annotations; without a rule, the groups of the annotations."""
    first = size or placement
    if first is None:
        return Outcome(groups)
    own = {key: each for key, each in (("size", size), ("placement", placement)) if each}
    if len(groups) > 1:
        message = f"the policy splits {title(templates.placed)} into several groups, but the annotation applies to all"
        note = Note("the policy defines the groups here", groups[0].route[:-1])
        return _unclear(first.route, message, "set it in the policy for each group", (note,))
    if groups:
        return Outcome((groups[0]._replace(fields={**groups[0].fields, **own}),))
    if size is None:
        message = f"the group size of {title(templates.placed)} is missing"
        return _unclear(first.route, message, f"add {PREFIX}group-size, or use {PREFIX}placement for all pods")
    divided = [each for each in templates.slots if devices(templates, each)] or list(templates.slots)
    if len(divided) != 1:
        names = listing([each.name for each in divided], "and")
        message = f"{title(templates.placed)} has the podSets {names}, but group-size can split only one"
        return _unclear(first.route, message, "set the podSets of each group in a policy")
    requested = {"name": RequestedValue(divided[0].name, size.route), **own}
    return Outcome((GroupRequest(requested, (divided[0].name,), size.route),))


def devices(templates: WorkloadTemplates, slot: TemplateSlot) -> bool:
    """Whether pods request devices: a resource of a vendor, or a claim."""
    spec = mapping(templates.object.data, *slot.path, "spec")
    if items(spec, "resourceClaims"):
        return True
    return any(
        isinstance(resource, str) and "/" in resource
        for each in items(spec, "containers")
        for kept in ("limits", "requests")
        for resource in mapping(each, "resources", kept)
    )


def _unclear(route: Route, message: str, hint: str, notes: tuple[Note, ...] = ()) -> Outcome[Any]:
    return Outcome(None, (error("A940", route, message, hint=hint, notes=notes),))


# Matching the rules of a policy with workloads.


class Rules(NamedTuple):
    """The rules of a policy, and which of them may match an object: those of its kind and name, and all others."""

    policy: Policy
    plain: Mapping[tuple[str, str], Sequence[int]]
    others: Sequence[int]


def indexed(policy: Policy) -> Rules:
    """An index, with which a policy may have a rule for each object."""
    plain: dict[tuple[str, str], list[int]] = {}
    others: list[int] = []
    for index, rule in enumerate(policy.rules):
        named = not any(map(_MAGIC.__contains__, rule.match.kind + rule.match.name))
        (plain.setdefault((rule.match.kind, rule.match.name), []) if named else others).append(index)
    return Rules(policy, plain, others)


_MAGIC = frozenset("*?[")


def matching(one: Object, rules: Rules, where: str) -> tuple[int, ...]:
    """The indices of the rules that match. `where`: the namespace of objects without one."""
    possible = sorted((*rules.plain.get((kind(one), name(one)), ()), *rules.others))
    return tuple(index for index in possible if matches(rules.policy.rules[index], one, where))


def matches(rule: Rule, one: Object, where: str) -> bool:
    """Whether a rule matches an object. Patterns match only kinds that bayplan reads; other kinds need their name."""
    match = rule.match
    key = group(one), kind(one)
    if match.kind != key[1] and (key not in WORKLOADS or key in BY_NAME):
        return False
    return covers(rule, one, where)


def covers(rule: Rule, one: Object, where: str) -> bool:
    """Whether the patterns of a rule fit an object of any kind."""
    match = rule.match
    if not (_fits(kind(one), match.kind) and _fits(text(one.data, "apiVersion"), match.api_version)):
        return False
    if not (_fits(name(one), match.name) and _fits(namespace(one) or where, match.namespace)):
        return False
    labels = mapping(one.data, "metadata", "labels") if match.labels else {}
    return all(labels.get(key) == value for key, value in match.labels.items())


def _fits(value: str, pattern: str) -> bool:
    """Whether a string matches a pattern. Most patterns are plain strings or `*`."""
    return pattern == "*" or value == pattern or fnmatchcase(value, pattern)


def _devices_inside(data: Any) -> bool:
    """Whether something in an object requests devices: a resource of a vendor, or a claim."""
    if isinstance(data, Mapping):
        amounts = (mapping(data, "resources", key) for key in ("limits", "requests"))
        named = any("/" in str(key) for each in amounts for key in each)
        return named or bool(data.get("resourceClaims")) or any(map(_devices_inside, data.values()))
    return isinstance(data, list) and any(map(_devices_inside, data))


TEMPLATES_ALONE = ("TrainingRuntime", "ClusterTrainingRuntime", "PodTemplate")
"""Kinds with pod templates that create no pods."""


def passed_over(rules: Rules, objects: Sequence[Object], where: str) -> Iterator[Diagnostic]:
    """W500 for each rule whose patterns fit objects with devices that it does not place: which, and why."""
    for index in rules.others:
        rule = rules.policy.rules[index]
        left = [one for one in objects if covers(rule, one, where) and not matches(rule, one, where)]
        left = [one for one in left if kind(one) not in TEMPLATES_ALONE and _devices_inside(get(one.data, "spec"))]
        if left:
            names = ", ".join([*map(title, left[:5]), *(["..."] if left[5:] else [])])
            message = (
                f"rule {index + 1} covers {count(len(left), 'object')} with devices that bayplan leaves as they are"
            )
            hint = "write a rule with `kind: Deployment` to place Deployments; bayplan does not place the other kinds"
            yield info("W500", (*RULES, index, "match"), f"{message}: {names}", hint=hint)


def findings(
    policy: Policy, matched: Sequence[tuple[Object, tuple[int, ...]]], shared: bool = False
) -> Iterator[Diagnostic]:
    """A943: a rule without a match, or no match at all; A944: a later rule with other requests also matches."""
    used = {index for _, rules in matched for index in rules}
    if policy.rules and not used and not shared:
        message = "the policy matches no workload in the manifests"
        yield error("A943", RULES, message, hint="correct `match` of its rules, or add `--accept A943`")
        return
    for index in range(len(policy.rules)):
        if index not in used:
            message = f"rule {index + 1} of the policy matches no workload"
            yield info("A943", (*RULES, index), message, hint="correct its `match`, unless it is for other manifests")
    shadowed: dict[tuple[int, int], list[Object]] = {}
    for one, rules in matched:
        for later in rules[1:]:
            if policy.rules[rules[0]]._replace(match=policy.rules[later].match) != policy.rules[later]:
                shadowed.setdefault((rules[0], later), []).append(one)
    for (first, later), objects in shadowed.items():
        more = f" and {count(len(objects) - 1, 'other')}" if objects[1:] else ""
        message = f"rule {later + 1} has no effect on {title(objects[0])}{more}, because rule {first + 1} also matches"
        note = Note("bayplan uses only the first rule that matches", (*RULES, first))
        yield info("A944", (*RULES, later), message, notes=(note,))
