"""A Policy file for existing workloads. Its rules have the routes `("policy", "spec", "rules", n)`."""

from collections.abc import Mapping
from typing import NamedTuple

from bayplan.core.diagnostics import Route
from bayplan.model.workflow import Placement

RULES: Route = ("policy", "spec", "rules")
"""The route of a policy's rules."""


class Match(NamedTuple):
    """The workloads of a rule: patterns with `*`, `?` and `[abc]`, and labels that they must have."""

    kind: str = "*"
    name: str = "*"
    namespace: str = "*"
    labels: Mapping[str, str] = {}
    api_version: str = "*"


class GangRule(NamedTuple):
    """Fields for the whole workload. They have the same meaning as in a Workflow.

    `replicas`: `apart` if each pod of a Deployment is a gang of its own. `leave_out`: patterns of podSets that are not
    in the gang.
    """

    scheduler: str = ""
    queue: str = ""
    pool: str = ""
    fabric: str = ""
    placement: Placement | None = None
    compute_domain: str = ""
    leave_out: tuple[str, ...] = ()
    replicas: str = ""


class GroupRule(NamedTuple):
    """PodSets whose names match `pod_sets`: one group, or groups of `size` pods each."""

    name: str
    size: int | None = None
    placement: Placement | None = None
    compute_domain: str = ""
    separate: str = ""
    pool: str = ""
    pod_sets: tuple[str, ...] = ("*",)


class Rule(NamedTuple):
    """`adopt`: marks replace fields that the workload already has."""

    match: Match = Match()
    gang: GangRule = GangRule()
    groups: tuple[GroupRule, ...] = ()
    adopt: bool = False


class Policy(NamedTuple):
    """The first rule that matches a workload applies to it."""

    rules: tuple[Rule, ...] = ()
