"""The placement that is requested for a workload, by its annotations and by the rule of a policy that matches it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from bayplan.core.diagnostics import KEY, Diagnostic, Note, Outcome, Route, error, info, warning
from bayplan.core.phrases import count, did_you_mean, listing, shorten
from bayplan.core.values import NamedTuple
from bayplan.kube.objects import group, items, kind, mapping, name, namespace, title
from bayplan.kube.templates import templates_in
from bayplan.kube.workloads import WORKLOADS
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
        *("topology", "whole-node", "workflow"),
    }
)
"""Keys that bayplan writes itself: nobody asks for anything by them."""

NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
DOTTED = re.compile(r"[a-z0-9]([-.a-z0-9]{0,61}[a-z0-9])?")
DOMAINS = ("auto", "group", "gang", "never")
MAX_GROUP_SIZE = 1_000_000


class RequestedValue(NamedTuple):
    """A value, and where it is requested."""

    value: Any
    route: Route


class InvalidValueError(ValueError):
    """Why a text is none of what stands there, and what would be."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def first_annotation(one: Object) -> Route | None:
    """The first annotation that asks for a placement, even one that is misspelt."""
    for key in mapping(one.data, "metadata", "annotations"):
        if isinstance(key, str) and key.startswith(PREFIX) and key[len(PREFIX) :] not in OWN_ANNOTATIONS:
            return (*one.route, "metadata", "annotations", key)
    return None


def read(one: Object) -> Outcome[Mapping[str, RequestedValue]]:
    """Word -> the value that it requests. A940: an unknown word; A940: a value that it does not take."""
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
            hint = did_you_mean(key, [PREFIX + each for each in ANNOTATIONS]) or f"known: {listing(ANNOTATIONS, 'and')}"
            message = f'bayplan knows no annotation "{shorten(key)}"'
            wrong.append(error("A940", (*route, key, KEY), message, hint=hint))
            continue
        try:
            requested[word] = RequestedValue(_value(word, value), (*route, key))
        except InvalidValueError as unfit:
            wrong.append(error("A940", (*route, key), str(unfit), hint=unfit.hint))
    return Outcome(None if wrong else requested, tuple(wrong))


def _value(word: str, value: Any) -> Any:
    if not isinstance(value, str):
        raise InvalidValueError(f"the value of {PREFIX}{word} is no text", "put it in quotes: annotations are texts")
    return ANNOTATIONS[word](value.strip())


def _placement(value: str) -> Placement:
    """`required=spine,preferred=rack`, either alone, in any order."""
    levels: dict[str, str] = {}
    for part in value.split(","):
        key, equals, level = (each.strip() for each in part.partition("="))
        if not equals or key not in Placement._fields:
            near = did_you_mean(key, Placement._fields) if equals else ""
            shown = f'"{shorten(part.strip())}" says neither `required=LEVEL` nor `preferred=LEVEL`'
            raise InvalidValueError(shown, near or "write it as required=spine,preferred=rack")
        if key in levels:
            raise InvalidValueError(f'"{key}" is there twice', "name one level for each")
        levels[key] = _matching(NAME, "the name of a level")(level)
    return Placement(**levels)


def _size(value: str) -> int:
    if not re.fullmatch("[0-9]{1,7}", value) or not 1 <= int(value) <= MAX_GROUP_SIZE:
        hint = f"use a whole number from 1 to {MAX_GROUP_SIZE}"
        raise InvalidValueError(f'"{shorten(value)}" is no number of pods', hint)
    return int(value)


def _domain(value: str) -> str:
    if value not in DOMAINS:
        raise InvalidValueError(f'"{shorten(value)}" says not who shares a ComputeDomain', f"use {listing(DOMAINS)}")
    return value


def _matching(pattern: re.Pattern[str], what: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        if not pattern.fullmatch(value):
            shown = f'"{shorten(value)}" is not {what}' if value else f"{what} is missing"
            raise InvalidValueError(shown, "use lower-case letters, digits and dashes, 63 at most")
        return value

    return check


ANNOTATIONS: Mapping[str, Callable[[str], Any]] = {
    "placement": _placement,
    "group-size": _size,
    "group-placement": _placement,
    "compute-domain": _domain,
    "pool": _matching(NAME, "the name of a pool"),
    "fabric": _matching(NAME, "the name of a fabric"),
    "scheduler": _matching(NAME, "the name of a scheduler"),
    "queue": _matching(DOTTED, "the name of a queue"),
}
"""Word after the prefix -> what makes a value of its text."""


def misplaced(one: Object) -> Iterator[Diagnostic]:
    """A940: bayplan's annotations where they have no effect, among labels or on pod templates."""
    at: Route = (*one.route, "metadata")
    places = [(mapping(one.data, "metadata", "labels"), (*at, "labels"), "a label")]
    for each in templates_in((one,)):
        if each.owned:
            at = (*each.route, "metadata")
            places.append((each.labels, (*at, "labels"), "a label of its pods"))
            places.append((each.annotations, (*at, "annotations"), "an annotation of its pods"))
    for fields, route, what in places:
        for key in sorted({PREFIX + word for word in ANNOTATIONS} & fields.keys()):
            message = f"{key} is {what} here, and {title(one)} is placed by its own annotations"
            yield error("A940", (*route, key, KEY), message, hint="move it to `metadata.annotations` of the workload")


class GroupRequest(NamedTuple):
    """A group, and the podSets it is made of. `fields`: field -> value."""

    fields: Mapping[str, RequestedValue]
    pod_sets: tuple[str, ...]  # patterns
    route: Route


class PlacementRequest(NamedTuple):
    """Everything that is asked for. `fields`: field of `GangRule` -> value."""

    fields: Mapping[str, RequestedValue] = {}
    groups: tuple[GroupRequest, ...] = ()
    every_group: RequestedValue | None = None  # who shares a ComputeDomain, for all groups
    adopt: bool = False


def placement_request(
    templates: WorkloadTemplates, policy: Policy | None, rule: int | None, annotations: Mapping[str, RequestedValue]
) -> Outcome[PlacementRequest]:
    """Annotations win over the rule, key by key. A942: which groups are meant is not clear."""
    by_rule = PlacementRequest()
    if policy is not None and rule is not None:
        row, route = policy.rules[rule], (*RULES, rule)
        listed = [(each, (*route, "groups", number)) for number, each in enumerate(row.groups)]
        rule_groups = tuple(GroupRequest(_fields(each, at), each.pod_sets, at) for each, at in listed)
        by_rule = PlacementRequest(_fields(row.gang, (*route, "gang")), rule_groups, adopt=row.adopt)
    own = {word.replace("-", "_"): each for word, each in annotations.items()}
    groups = _groups(templates, by_rule.groups, own.pop("group_size", None), own.pop("group_placement", None))
    if groups.value is None:
        return Outcome(None, groups.diagnostics)
    every = own.pop("compute_domain", None) if groups.value else None
    return Outcome(PlacementRequest({**by_rule.fields, **own}, groups.value, every, by_rule.adopt))


def _fields(rule: GangRule | GroupRule, route: Route) -> dict[str, RequestedValue]:
    values = ((field, getattr(rule, field)) for field in rule._fields if field != "pod_sets")
    return {
        field: RequestedValue(each, (*route, camel_case(field))) for field, each in values if each not in ("", None)
    }


def _groups(
    templates: WorkloadTemplates,
    groups: tuple[GroupRequest, ...],
    size: RequestedValue | None,
    placement: RequestedValue | None,
) -> Outcome[tuple[GroupRequest, ...]]:
    """The rule's groups with what the annotations say of them; without a rule, the groups that annotations make."""
    first = size or placement
    if first is None:
        return Outcome(groups)
    own = {key: each for key, each in (("size", size), ("placement", placement)) if each}
    if len(groups) > 1:
        message = (
            f"the policy cuts {title(templates.placed)} into several groups, and an annotation says one thing of all"
        )
        note = Note("the groups are here", groups[0].route[:-1])
        return _unclear(first.route, message, "say it in the policy, for each group", (note,))
    if groups:
        return Outcome((groups[0]._replace(fields={**groups[0].fields, **own}),))
    if size is None:
        message = f"nothing says how many pods of {title(templates.placed)} make a group"
        return _unclear(first.route, message, f"add {PREFIX}group-size, or use {PREFIX}placement for all of them")
    divided = [each for each in templates.slots if devices(templates, each)] or list(templates.slots)
    if len(divided) != 1:
        names = listing([each.name for each in divided], "and")
        message = f"{title(templates.placed)} has the podSets {names}, and a group-size cuts one"
        return _unclear(first.route, message, "say in a policy which podSets make the groups")
    requested = {"name": RequestedValue(divided[0].name, size.route), **own}
    return Outcome((GroupRequest(requested, (divided[0].name,), size.route),))


def devices(templates: WorkloadTemplates, slot: TemplateSlot) -> bool:
    """Whether pods ask for more than their share of a machine: a resource of a vendor, or a claim."""
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
    return Outcome(None, (error("A942", route, message, hint=hint, notes=notes),))


# Matching the rules of a policy with workloads.


def matching(one: Object, policy: Policy, where: str) -> tuple[int, ...]:
    """The numbers of the rules that match. `where`: the namespace of objects that name none."""
    return tuple(index for index, rule in enumerate(policy.rules) if matches(rule, one, where))


def matches(rule: Rule, one: Object, where: str) -> bool:
    """Kinds whose pods nobody can count are matched by their very name alone, as if by an annotation."""
    match = rule.match
    if match.kind != kind(one) and ((group(one), kind(one)) not in WORKLOADS or not _fits(kind(one), match.kind)):
        return False
    if not (_fits(name(one), match.name) and _fits(namespace(one) or where, match.namespace)):
        return False
    labels = mapping(one.data, "metadata", "labels") if match.labels else {}
    return all(labels.get(key) == value for key, value in match.labels.items())


def _fits(text: str, pattern: str) -> bool:
    """Most patterns are plain, or fit everything."""
    return pattern == "*" or text == pattern or fnmatchcase(text, pattern)


def findings(
    policy: Policy, matched: Sequence[tuple[Object, tuple[int, ...]]], shared: bool = False
) -> Iterator[Diagnostic]:
    """A943: a rule that matches nothing, or no rule that matches; A944: one that asks for more, but comes later."""
    used = {index for _, rules in matched for index in rules}
    if policy.rules and not used and not shared:
        message = "the policy selects nothing: no workload among the manifests is what one of its rules describes"
        yield error("A943", RULES, message, hint="see `match`; where there is nothing to place, leave the policy away")
        return
    for index in range(len(policy.rules)):
        if index not in used:
            message = f"rule {index + 1} of the policy matches none of the workloads"
            yield warning("A943", (*RULES, index), message, hint="see `match`, or remove the rule")
    shadowed: dict[tuple[int, int], list[Object]] = {}
    for one, rules in matched:
        for later in rules[1:]:
            if policy.rules[rules[0]]._replace(match=policy.rules[later].match) != policy.rules[later]:
                shadowed.setdefault((rules[0], later), []).append(one)
    for (first, later), objects in shadowed.items():
        more = f" and {count(len(objects) - 1, 'other')}" if objects[1:] else ""
        message = f"rule {later + 1} matches {title(objects[0])}{more} too, but rule {first + 1} comes first"
        note = Note("the first rule that matches holds", (*RULES, first))
        yield info("A944", (*RULES, later), message, notes=(note,))
