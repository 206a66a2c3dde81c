"""Templates and rules that a pool names, from the file's sections or from OSMO's chart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from bayplan.plugin import Diagnostic, Route, error, info, listing, suggest, text, warning
from bayplan.plugin import text_beside as table
from bayplan.plugins.osmo.pool.values import (
    GroupTemplate,
    Part,
    PoolConfig,
    Rule,
    Sections,
    merge_helm_values,
    merge_templates,
)


@cache
def chart() -> Mapping[str, Mapping[str, Any]]:
    """Section -> entries by name that the Helm chart of OSMO 6.4 contains, so that files only name them.

    Source: deployments/charts/service/values.yaml. The service writes the same templates and rules to an empty database
    (src/service/core/config/objects.py).
    """
    from json import loads

    entries: Mapping[str, Mapping[str, Any]] = loads(table("plugins", "osmo", "pool", "chart.json"))
    return entries


WORDS = {
    "pools": "pool",
    "pod_templates": "pod template",
    "group_templates": "group template",
    "resource_validations": "validation",
}
"""Section -> the noun for its entries."""

PRINTED = {"pod_templates": "POD_TEMPLATE", "group_templates": "GROUP_TEMPLATE"}
"""Section -> its name for `osmo config show`."""


class Library(NamedTuple):
    """The sections of a file. `findings` collects missing entries, `from_chart` the entries of the chart."""

    sections: Sections
    findings: list[Diagnostic]
    from_chart: dict[str, Route]

    def has(self, section: str) -> bool:
        """Whether the file has entries of that section."""
        return bool(self.sections.section(section).data)

    def entries(self, section: str, names: Iterable[tuple[str, Route]]) -> list[Part]:
        """The entries of those names, in order; W408 for each that does not exist."""
        return [part for name, route in names for part in [self._entry(section, name, route)] if part is not None]

    def completed(self, section: str, name: str, part: Part) -> Part:
        """An entry of Helm values, merged over the chart's entry of that name."""
        built_in = chart().get(section, {}).get(name)
        if not self.sections.helm or built_in is None or not isinstance(part.data, Mapping):
            return part
        whole = merge_helm_values(built_in, part.data)
        if whole != part.data:
            self.from_chart.setdefault(f'parts of {WORDS[section]} "{name}"', part.route)
        return Part(whole, part.route)

    def _entry(self, section: str, name: str, route: Route) -> Part | None:
        own, built_in = self.sections.section(section), chart().get(section, {})
        if name in own.data:
            return self.completed(section, name, Part(own.data[name], (*own.route, name)))
        if name in built_in:
            self.from_chart.setdefault(f'{WORDS[section]} "{name}"', route)
            return Part(built_in[name], route)
        self.findings.append(_missing(section, name, route, [*own.data, *built_in]))
        return None

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All findings, and W491 for entries of the chart."""
        if not self.from_chart:
            return tuple(self.findings)
        first = next(iter(self.from_chart.values()))
        message = (
            f"bayplan uses the entries of OSMO 6.4 for names that are not in the file: {', '.join(self.from_chart)}"
        )
        hint = "add them to the file if your installation changes them"
        return (*self.findings, info("W491", first, message, hint=hint))


def names(owner: Any, key: str, route: Route) -> list[tuple[str, Route]]:
    """The names in a list of an owner, with their places."""
    listed = owner.get(key)
    return [(name, (*route, key, index)) for index, name in enumerate(listed or ())]


def _missing(section: str, name: str, route: Route, candidates: list[str]) -> Diagnostic:
    what = WORDS[section]
    message = f'the file has no {what} "{name}"; OSMO only logs this if the pool comes from a ConfigMap'
    if section == "group_templates":
        message = f'the file has no {what} "{name}"; pods that claim the object of this template wait forever in OSMO'
    hint = suggest(name, candidates, f"known {what}s") if candidates else ""
    printed = PRINTED.get(section, "RESOURCE_VALIDATION")
    more = f"add the output of `osmo config show {printed}` as section `{section}`"
    return error("W408", route, message, hint=hint if hint.startswith("did") else f"{more}; {hint}".rstrip("; "))


# Resource validations: rules that compare a task's requests with numbers or with the resources of nodes.

OPERATORS = ("GT", "GE", "LT", "LE", "EQ")

ARITHMETIC = re.compile(r"\}\}\s*[-+*/]|[-+*/]\s*\{\{")
"""OSMO does not evaluate arithmetic outside of the braces. It compares the string with a number and fails."""


def read_rules(owner: Part, key: str, library: Library) -> tuple[Rule, ...]:
    """The rules that a pool or platform names. W408, and W481 for rules that OSMO cannot evaluate."""
    parsed = owner.data.get("parsed_resource_validations")
    if parsed and not library.has("resource_validations"):
        parts = [Part(parsed, (*owner.route, "parsed_resource_validations"))]
    else:
        parts = library.entries("resource_validations", names(owner.data, key, owner.route))
    rules = []
    for part, index, data in [(each, *entry) for each in parts for entry in enumerate(each.data or ())]:
        in_file = not isinstance(part.route[-1], int)  # the place of a rule of the chart is the place that names it
        route = (*part.route, index) if in_file else part.route
        wrong = tuple(_wrong(data, route))
        library.findings.extend(wrong if in_file else ())
        if not wrong:
            fields = (data["operator"], data["left_operand"], data["right_operand"], data["assert_message"])
            rules.append(Rule(*fields, route=route))
    return tuple(rules)


def _wrong(data: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    if data["operator"] not in OPERATORS:
        message = f'OSMO has no operator "{data["operator"]}", despite its documentation; bayplan skips the rule'
        yield warning("W481", (*route, "operator"), message, hint=f"use {listing(OPERATORS)}")
    for side in ("left_operand", "right_operand"):
        if ARITHMETIC.search(data[side]):
            message = f'OSMO does not calculate outside of braces, as in "{data[side]}"; bayplan skips the rule'
            yield warning("W481", (*route, side), message, hint="calculate inside the braces, or write a number")


# Group templates: objects that OSMO makes for every task group.

COMPUTE_DOMAIN = "ComputeDomain"


def read_groups(pool: Part, library: Library) -> tuple[GroupTemplate, ...]:
    """The pool's group templates, merged as in OSMO (postgres.py, Pool.calculate_group_templates). W408, W495."""
    parsed = pool.data.get("parsed_group_templates")
    if parsed and not library.has("group_templates"):
        parts = [Part(each, (*pool.route, "parsed_group_templates", n)) for n, each in enumerate(parsed)]
    else:
        listed = names(pool.data, "common_group_templates", pool.route)
        parts = library.entries("group_templates", listed)
    merged: dict[tuple[str, str, str], GroupTemplate] = {}
    for part in parts:
        wrong = tuple(_groups_wrong(part))
        library.findings.extend(wrong)
        if not wrong:
            data = part.data
            key = (data["apiVersion"], data["kind"], data["metadata"]["name"])
            below = merged[key].data if key in merged else {}
            merged[key] = GroupTemplate(key[2], key[1], key[0], merge_templates(below, data, []), part.route)
    return tuple(merged.values())


def _groups_wrong(part: Part) -> Iterator[Diagnostic]:
    data: Any = part.data or {}
    metadata = data.get("metadata") or {}
    fields = {"apiVersion": data.get("apiVersion"), "kind": data.get("kind"), "metadata.name": metadata.get("name")}
    for missing in (name for name, value in fields.items() if not value):
        message = f"the group template has no {missing}"
        yield error("W495", part.route, message, hint=f"add `{missing}`")
    if metadata.get("namespace"):
        route: Route = (*part.route, "metadata", "namespace")
        message = "the group template has a namespace, but OSMO creates the object in the namespace of the pods"
        yield error("W495", route, message, hint="remove `namespace`")


def group_template_findings(config: PoolConfig) -> Iterator[Diagnostic]:
    """W456 for ComputeDomains, which bayplan makes by itself, and W491 for other objects, which it does not make."""
    for each in config.group_templates:
        if each.kind == COMPUTE_DOMAIN:
            message = f'bayplan ignores the ComputeDomain "{each.name}" of the group template and makes its own'
            hint = "no action needed: gangs that need a ComputeDomain get one, single pods and pods without GPUs do not"
            yield info("W456", each.route, message, hint=hint)
        else:
            message = f'bayplan does not make the {each.kind} "{each.name}", which OSMO makes for every task group'
            hint = "if the pods need it, fill in its variables and apply it with the manifests"
            yield warning("W491", each.route, message, hint=hint)


def channels(config: PoolConfig) -> tuple[str, ...]:
    """Names of the claim templates that the driver makes for the ComputeDomains, before rendering."""
    domains = [each.data for each in config.group_templates if each.kind == COMPUTE_DOMAIN]
    return tuple(filter(None, (text(each, "spec", "channel", "resourceClaimTemplate", "name") for each in domains)))
