"""What is asked for one workload: by its annotations, and by the rule that matches it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.diagnostics import Note, Outcome, Route, error
from bayplan.kube.objects import title
from bayplan.kube.safe import items, mapping
from bayplan.model.augment import Roster, Seat
from bayplan.model.encoding import camel_case
from bayplan.model.policy import RULES, GangRule, GroupRule, Policy
from bayplan.values import NamedTuple
from bayplan.words import listing
from bayplan.workflows.manifests.annotated import PREFIX, Said


class GroupWish(NamedTuple):
    """A group, and the podSets it is made of. `said`: field -> wish."""

    said: Mapping[str, Said]
    pod_sets: tuple[str, ...]  # patterns
    route: Route


class Wish(NamedTuple):
    """Everything that is asked for. `said`: field of `GangRule` -> wish."""

    said: Mapping[str, Said] = {}
    groups: tuple[GroupWish, ...] = ()
    every_group: Said | None = None  # who shares a ComputeDomain, for all groups
    adopt: bool = False


def wish(roster: Roster, policy: Policy | None, rule: int | None, said: Mapping[str, Said]) -> Outcome[Wish]:
    """Annotations win over the rule, key by key. A942: which groups are meant is not clear."""
    of_rule = Wish() if policy is None or rule is None else _of_rule(policy, rule)
    own = {word.replace("-", "_"): each for word, each in said.items()}
    groups = _groups(roster, of_rule.groups, own.pop("group_size", None), own.pop("group_placement", None))
    if groups.value is None:
        return Outcome(None, groups.diagnostics)
    every = own.pop("compute_domain", None) if groups.value else None
    return Outcome(Wish({**of_rule.said, **own}, groups.value, every, of_rule.adopt))


def _of_rule(policy: Policy, index: int) -> Wish:
    rule, route = policy.rules[index], (*RULES, index)
    groups = tuple(_group(each, (*route, "groups", number)) for number, each in enumerate(rule.groups))
    return Wish(_given(rule.gang, (*route, "gang")), groups, adopt=rule.adopt)


def _group(rule: GroupRule, route: Route) -> GroupWish:
    return GroupWish(_given(rule, route), rule.pod_sets, route)


def _given(rule: GangRule | GroupRule, route: Route) -> dict[str, Said]:
    found = ((field, getattr(rule, field)) for field in rule._fields if field != "pod_sets")
    return {field: Said(each, (*route, camel_case(field))) for field, each in found if each not in ("", None)}


def _groups(
    roster: Roster, groups: tuple[GroupWish, ...], size: Said | None, placement: Said | None
) -> Outcome[tuple[GroupWish, ...]]:
    """The rule's groups with what the annotations say of them; without a rule, the groups that annotations make."""
    first = size or placement
    if first is None:
        return Outcome(groups)
    own = {key: each for key, each in (("size", size), ("placement", placement)) if each}
    if len(groups) > 1:
        message = f"the policy cuts {title(roster.placed)} into several groups, and an annotation says one thing of all"
        note = Note("the groups are here", groups[0].route[:-1])
        return _unclear(first.route, message, "say it in the policy, for each group", (note,))
    if groups:
        return Outcome((groups[0]._replace(said={**groups[0].said, **own}),))
    if size is None:
        message = f"nothing says how many pods of {title(roster.placed)} make a group"
        return _unclear(first.route, message, f"add {PREFIX}group-size, or use {PREFIX}placement for all of them")
    meant = [each for each in roster.seats if devices(roster, each)] or list(roster.seats)
    if len(meant) != 1:
        names = listing([each.name for each in meant], "and")
        message = f"{title(roster.placed)} has the podSets {names}, and a group-size cuts one"
        return _unclear(first.route, message, "say in a policy which podSets make the groups")
    made = {"name": Said(meant[0].name, size.route), **own}
    return Outcome((GroupWish(made, (meant[0].name,), size.route),))


def devices(roster: Roster, seat: Seat) -> bool:
    """Whether pods ask for more than their share of a machine: a resource of a vendor, or a claim."""
    spec = mapping(roster.object.data, *seat.path, "spec")
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
