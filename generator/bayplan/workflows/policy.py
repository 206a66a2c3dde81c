"""The Policy format. Reading assumes that the schema accepted the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.diagnostics import Outcome
from bayplan.model.formats import Context, Read
from bayplan.model.policy import GangRule, GroupRule, Match, Policy, Rule
from bayplan.model.rows import Table, fields, ordered
from bayplan.model.workflow import Placement

NAME = "policy"
SCHEMA = "Policy"


def sniff(data: Any) -> bool:
    """Whether the data claims to be a policy."""
    return isinstance(data, Mapping) and data.get("kind") == SCHEMA


def read(data: Any, _context: Context = Context()) -> Outcome[Read[Policy]]:  # noqa: B008
    """The policy. Never a diagnostic: the schema left nothing to say."""
    return Outcome(Read(Policy(tuple(Rule(**fields(RULE, each)) for each in data["spec"]["rules"]))))


def _placement(data: Mapping[str, str]) -> Placement:
    return Placement(**data)


def _match(data: Mapping[str, Any]) -> Match:
    return Match(**fields(MATCH, data))


def _gang(data: Mapping[str, Any]) -> GangRule:
    return GangRule(**fields(GANG, data))


def _groups(data: list[Any]) -> tuple[GroupRule, ...]:
    return tuple(GroupRule(**fields(GROUP, each)) for each in data)


MATCH: Table = (
    ("kind", "kind", str),
    ("name", "name", str),
    ("namespace", "namespace", str),
    ("labels", "labels", ordered),
)
GANG: Table = (
    ("scheduler", "scheduler", str),
    ("queue", "queue", str),
    ("pool", "pool", str),
    ("fabric", "fabric", str),
    ("placement", "placement", _placement),
    ("computeDomain", "compute_domain", str),
)
GROUP: Table = (
    ("name", "name", str),
    ("size", "size", int),
    ("placement", "placement", _placement),
    ("computeDomain", "compute_domain", str),
    ("separate", "separate", str),
    ("pool", "pool", str),
    ("podSets", "pod_sets", tuple),
)
RULE: Table = (
    ("match", "match", _match),
    ("gang", "gang", _gang),
    ("groups", "groups", _groups),
    ("adopt", "adopt", bool),
)
