"""What a Policy file says about workloads that others wrote. Rules stand at `("policy", "spec", "rules", n)`."""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.core.diagnostics import Route
from bayplan.core.values import NamedTuple
from bayplan.model.workflow import Placement

RULES: Route = ("policy", "spec", "rules")
"""Where the rules of a policy stand."""


class Match(NamedTuple):
    """Which workloads a rule is about: patterns with `*`, `?` and `[abc]`, and labels that they must have."""

    kind: str = "*"
    name: str = "*"
    namespace: str = "*"
    labels: Mapping[str, str] = {}


class GangRule(NamedTuple):
    """What holds for the whole workload. The fields mean what they mean in a Workflow."""

    scheduler: str = ""
    queue: str = ""
    pool: str = ""
    fabric: str = ""
    placement: Placement | None = None
    compute_domain: str = ""


class GroupRule(NamedTuple):
    """Podsets whose names match `pod_sets`: placed as one group, or cut into groups of `size` pods each."""

    name: str
    size: int | None = None
    placement: Placement | None = None
    compute_domain: str = ""
    separate: str = ""
    pool: str = ""
    pod_sets: tuple[str, ...] = ("*",)


class Rule(NamedTuple):
    """`adopt`: what a workload says already is replaced."""

    match: Match = Match()
    gang: GangRule = GangRule()
    groups: tuple[GroupRule, ...] = ()
    adopt: bool = False


class Policy(NamedTuple):
    """The first rule that matches a workload holds for it."""

    rules: tuple[Rule, ...] = ()
