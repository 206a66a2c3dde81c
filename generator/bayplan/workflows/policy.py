"""The Policy format. Reading assumes that the schema accepted the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.core.diagnostics import Outcome
from bayplan.model.encoding import decode
from bayplan.model.formats import Context, Read
from bayplan.model.policy import Policy

NAME = "policy"
SCHEMA = "Policy"


def sniff(data: Any) -> bool:
    """Whether the data has the kind of a policy."""
    return isinstance(data, Mapping) and data.get("kind") == SCHEMA


def read(data: Any, _context: Context = Context()) -> Outcome[Read[Policy]]:  # noqa: B008
    """The policy, without diagnostics: the schema has validated the data."""
    return Outcome(Read(decode(Policy, data["spec"])))
