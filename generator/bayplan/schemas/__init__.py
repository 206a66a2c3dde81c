"""The JSON Schemas of the formats. Accepting a document is fast, and explaining its errors is slow.

hatch_build.py generates a validator for each schema in `generated/`, which only accepts or rejects. jsonschema then
finds every error of a rejected document and its place. In a checkout, a validator may be missing or older than its
schema. Then jsonschema also decides.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from bayplan.core.diagnostics import Diagnostic
from bayplan.core.package_data import CHECKOUT, data_bytes

if TYPE_CHECKING:
    from re import Pattern

SCHEMAS: Mapping[str, str] = {
    "Workflow": "workflow",
    "ClusterTopology": "cluster-topology",
    "OsmoWorkflow": "osmo-workflow",
    "OsmoPool": "osmo-pool",
    "SbatchScript": "sbatch-script",
    "TorchXApp": "torchx-app",
    "Policy": "policy",
    "Project": "project",
    "ExpandWorkflows": "expand-workflows",
    "PlaceWorkloads": "place-workloads",
    "ValidateWorkloads": "validate-workloads",
}
"""Kind of document -> schema file."""


def validate(kind: str, data: Any, subject: str) -> tuple[Diagnostic, ...]:
    """All errors of the data against the schema of this kind.

    `subject` is the first element of the routes.
    """
    if accepts(kind, data):
        return ()
    from bayplan.schemas.explain import explain

    return explain(load(kind), data, subject)


def accepts(kind: str, data: Any) -> bool:
    """Whether the data matches the schema of this kind."""
    generated = _generated(kind)
    if generated is None:
        from bayplan.schemas.explain import accepts

        return accepts(load(kind), data)
    try:
        generated.validate(data)
    except Exception:  # rejected, or an error of the generated code for keys that are not strings and for deep nesting
        return False
    return True


@cache
def _generated(kind: str) -> Any:
    """The module of the generated validator. None: the current schema has no validator."""
    try:
        found = import_module(f"bayplan.schemas.generated.{SCHEMAS[kind].replace('-', '_')}")
    except ModuleNotFoundError:
        return None
    if CHECKOUT:
        from zlib import crc32

        return found if crc32(data_bytes("schemas", f"{SCHEMAS[kind]}.json")) == found.CHECKSUM else None
    return found


def load(kind: str) -> dict[str, Any]:
    """The schema of this kind, as data."""
    import json

    schema: dict[str, Any] = json.loads(data_bytes("schemas", f"{SCHEMAS[kind]}.json"))
    return schema


# The common code of the generated validators: patterns of names that need no regular expression.


class Refused(Exception):  # noqa: N818
    """The data does not match the schema."""


LOWER = "abcdefghijklmnopqrstuvwxyz0123456789"
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Word:
    """A pattern for names, such as `^[a-z]([-a-z0-9]*[a-z0-9])?$`, without a regular expression to compile."""

    __slots__ = ("empty", "first", "last", "middle")

    def __init__(self, first: str, middle: str, last: str, empty: bool = False) -> None:
        self.first = first
        self.middle = middle
        self.last = last
        self.empty = empty

    def search(self, text: str) -> bool:
        """Whether the pattern matches. `middle` has all characters of `first` and `last`."""
        if not text:
            return self.empty
        return text[0] in self.first and text[-1] in self.last and not text.strip(self.middle)


DNS_LABEL = Word(LOWER, LOWER + "-", LOWER)
LABEL_VALUE = Word(LOWER + UPPER, LOWER + UPPER + "-._", LOWER + UPPER)


def is_dns_subdomain(text: str) -> bool:
    """Whether the string is one or more DNS labels joined by dots (Kubernetes apimachinery pkg/util/validation)."""
    return len(text) <= 253 and (DNS_LABEL.search(text) or all(map(DNS_LABEL.search, text.split("."))))


def are_dns_subdomains(texts: Sequence[str]) -> bool:
    """Whether all strings are DNS subdomains, in one check."""
    joined = f",{','.join(texts)},"
    apart = not any(pair in joined for pair in _APART) and joined.count(",") == len(texts) + 1
    return not texts or (apart and not joined.strip(LOWER + "-.,") and max(map(len, texts)) <= 253)


_APART = (",,", ",-", "-,", ",.", ".,", "..", ".-", "-.")
"""These never occur in a list of such names, because each label begins and ends with a letter or digit."""


def is_label_key(text: str) -> bool:
    """Whether the string is a label key: a name, with an optional DNS subdomain and slash before it."""
    prefix, slash, name = text.rpartition("/")
    return len(name) <= 63 and bool(name) and LABEL_VALUE.search(name) and (not slash or is_dns_subdomain(prefix))


class Patterns(dict[str, "Word | Pattern[str]"]):
    """Patterns by their text. A regular expression compiles when it is first used."""

    def __missing__(self, pattern: str) -> Pattern[str]:
        compiled = self[pattern] = re.compile(pattern.replace("$", r"\Z"))
        return compiled
