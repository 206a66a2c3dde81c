"""Templates and rules that a pool names: found in their section, else in what OSMO's chart brings, else missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bayplan.diagnostics import Diagnostic, Route, error, info
from bayplan.values import NamedTuple
from bayplan.words import suggest
from bayplan.workflows.osmo.pool.built_in import BUILT_IN
from bayplan.workflows.osmo.pool.merging import helm
from bayplan.workflows.osmo.pool.shapes import Part, Sections

WORDS = {
    "pools": "pool",
    "pod_templates": "pod template",
    "group_templates": "group template",
    "resource_validations": "validation",
}
"""Section -> what to call an entry of it."""

PRINTED = {"pod_templates": "POD_TEMPLATE", "group_templates": "GROUP_TEMPLATE"}
"""Section -> what `osmo config show` calls it."""


class Library(NamedTuple):
    """The sections of a file. `found` and `borrowed` collect what is missing and what comes from the chart."""

    sections: Sections
    found: list[Diagnostic]
    borrowed: dict[str, Route]

    def has(self, section: str) -> bool:
        """Whether the file has entries of that section."""
        return bool(self.sections.section(section).data)

    def entries(self, section: str, names: Iterable[tuple[str, Route]]) -> list[Part]:
        """The entries of those names, in order; W475 for each that does not exist."""
        return [part for name, route in names for part in [self._entry(section, name, route)] if part is not None]

    def completed(self, section: str, name: str, part: Part) -> Part:
        """An entry of Helm values on the chart's entry of that name."""
        chart = BUILT_IN.get(section, {}).get(name)
        if not self.sections.helm or chart is None or not isinstance(part.data, Mapping):
            return part
        whole = helm(chart, part.data)
        if whole != part.data:
            self.borrowed.setdefault(f'parts of {WORDS[section]} "{name}"', part.route)
        return Part(whole, part.route)

    def _entry(self, section: str, name: str, route: Route) -> Part | None:
        own, chart = self.sections.section(section), BUILT_IN.get(section, {})
        if name in own.data:
            return self.completed(section, name, Part(own.data[name], (*own.route, name)))
        if name in chart:
            self.borrowed.setdefault(f'{WORDS[section]} "{name}"', route)
            return Part(chart[name], route)
        self.found.append(_missing(section, name, route, [*own.data, *chart]))
        return None

    def said(self) -> tuple[Diagnostic, ...]:
        """Everything collected; W494 for what the chart brings."""
        if not self.borrowed:
            return tuple(self.found)
        first = next(iter(self.borrowed.values()))
        message = f"not in this file, so taken as OSMO 6.4 brings them: {', '.join(self.borrowed)}"
        hint = "put them into the file if yours differ"
        return (*self.found, info("W494", first, message, hint=hint))


def names(owner: Any, key: str, route: Route) -> list[tuple[str, Route]]:
    """The names in a list of an owner, with their places."""
    listed = owner.get(key)
    return [(name, (*route, key, index)) for index, name in enumerate(listed or ())]


def _missing(section: str, name: str, route: Route, known: list[str]) -> Diagnostic:
    what = WORDS[section]
    message = f'there is no {what} "{name}" in the file; OSMO leaves it out of a ConfigMap with only a line in its log'
    if section == "group_templates":
        message += ", and pods that claim what it makes would wait forever"
    hint = suggest(name, known, f"{what}s that are there") if known else ""
    printed = PRINTED.get(section, "RESOURCE_VALIDATION")
    more = f"add what `osmo config show {printed}` prints as section `{section}`"
    return error("W475", route, message, hint=hint if hint.startswith("did") else f"{more}; {hint}".rstrip("; "))
