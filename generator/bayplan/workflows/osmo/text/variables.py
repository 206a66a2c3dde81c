"""The variables of a template: those of `default-values`, overridden by those of the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.diagnostics import AT, KEY, Diagnostic, Outcome, Route, error
from bayplan.text.document import Path, SourceMap, load, locate_all
from bayplan.workflows.osmo.text import data
from bayplan.workflows.osmo.text.sections import Section, Sections

Variables = Mapping[Any, Any]
"""Keys are names; YAML may have others, which no template can use."""


def given(sections: Sections, subject: str, set_by_user: Mapping[str, Any]) -> Outcome[Variables]:
    """All of them.

    R125: the defaults are no mapping; R132: a key given twice; R133: a name that is no text; R103 to R119: no YAML.
    """
    defaults = _defaults(sections.defaults, subject) if sections.defaults else Outcome[Variables]({})
    if defaults.value is None:
        return defaults
    return Outcome({**defaults.value, **set_by_user}, defaults.diagnostics)


def _defaults(section: Section, subject: str) -> Outcome[Variables]:
    loaded = load(section.padded, subject, "R132")
    if loaded.value is None:
        return Outcome(None, loaded.diagnostics)
    route: Route = (subject, AT, section.line, 1, section.line, len(section.key) + 1)
    if len(loaded.value) > 1:
        wrong = error("R139", route, "default-values holds a second YAML document", hint="remove the line `---`")
        return Outcome(None, (*loaded.diagnostics, wrong))
    value = loaded.value[0].get("default-values", "") if isinstance(loaded.value[0], dict) else loaded.value[0]
    if value is None:
        return Outcome({}, loaded.diagnostics)
    if not isinstance(value, dict):
        hint = "write one `name: value` a line below it, indented"
        message = f"default-values must be a mapping of names to values, and is {_kind(value)}"
        return Outcome(None, (*loaded.diagnostics, error("R125", route, message, hint=hint)))
    strange = _strange(value, section, subject)
    return Outcome(None if strange else value, (*loaded.diagnostics, *strange))


def _strange(value: Mapping[Any, Any], section: Section, subject: str) -> tuple[Diagnostic, ...]:
    """Names that are no texts: Jinja takes none of the variables then, whatever the template uses."""
    odd = [name for name in value if not isinstance(name, str)]
    names: dict[Path, Any] = {("default-values", str(name), KEY): name for name in odd}
    return tuple(data.refused(names, SourceMap(section.padded, data.unmoved), subject))


def origin(name: str, sections: Sections, set_by_user: Mapping[str, Any]) -> str:
    """Where a variable has its value from, in words."""
    if name in set_by_user:
        return f'"{name}" is given by --set'
    path = ("default-values", name, KEY)
    text = sections.defaults.padded if sections.defaults else ""
    return f'"{name}" is given at line {locate_all(text, [(0, path)], loaded=True)[0, path].line}'


def _kind(value: Any) -> str:
    if isinstance(value, list):
        return "a list"
    return "a text" if isinstance(value, str) else f"the single value {value}"
