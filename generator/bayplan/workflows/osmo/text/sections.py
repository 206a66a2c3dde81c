"""The sections of an OSMO file: what stands below a key at the start of a line, split before anything is YAML.

Source: OSMO 6.4, src/lib/utils/workflow.py, `parse_workflow_spec`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from bayplan.diagnostics import AT, Diagnostic, Note, Outcome, Route, error, has_errors, warning
from bayplan.text.document import load
from bayplan.values import NamedTuple
from bayplan.words import did_you_mean

KNOWN = ("workflow", "default-values", "version")
VERSION = 2
"""The only version of the format there is."""

_KEY = re.compile(r"^([a-zA-Z][a-zA-Z0-9_-]*):", re.MULTILINE)
_BELOW = frozenset(("name", "tasks", "groups", "resources", "timeout", "labels", "pool", "backend"))
"""Keys of a workflow."""


class Section(NamedTuple):
    """A section: its key, its text with the key, and the line (from 1) that begins it."""

    key: str
    text: str
    line: int

    @property
    def padded(self) -> str:
        """The text, moved down to its own line: a place in it is a place in the file."""
        return "\n" * (self.line - 1) + self.text


class Sections(NamedTuple):
    """The sections of a file that count."""

    workflow: Section
    defaults: Section | None


def split(text: str, subject: str) -> Outcome[Sections]:
    """R121 unknown key, R122 a key given twice, R123 no workflow, R124 an odd version, R139 text in no section."""
    all_sections = list(_sections(text))
    found: list[Diagnostic] = [*_preamble(text, subject), *_keys(all_sections, subject)]
    by_key = {each.key: each for each in reversed(all_sections)}
    if "workflow" not in by_key:
        hint = "write `workflow:` at the very start of a line, without quotes"
        found.append(error("R123", (subject, AT, 1, 1), "the file has no section `workflow:`", hint=hint))
    if "version" in by_key:
        found += _version(by_key["version"], subject)
    if has_errors(found):
        return Outcome(None, tuple(found))
    return Outcome(Sections(by_key["workflow"], by_key.get("default-values")), tuple(found))


def _sections(text: str) -> Iterable[Section]:
    keys = list(_KEY.finditer(text))
    ends = [*(key.start() for key in keys[1:]), len(text)]
    line, counted = 1, 0
    for key, end in zip(keys, ends, strict=True):
        line += text.count("\n", counted, key.start())
        counted = key.start()
        yield Section(key[1], text[key.start() : end], line)


def _keys(found: list[Section], subject: str) -> Iterable[Diagnostic]:
    """Keys that OSMO does not know, or meets twice."""
    first: dict[str, Section] = {}
    for each in found:
        place = _place(subject, each)
        if each.key not in KNOWN:
            message = f'unknown section "{each.key}"; OSMO knows workflow, default-values and version'
            yield error("R121", place, message, hint=_hint(each.key))
        elif each.key in first:
            note = Note("it was first given here", _place(subject, first[each.key]))
            yield error("R122", place, f'section "{each.key}" is given twice', hint="keep one of them", notes=(note,))
        first.setdefault(each.key, each)


def _hint(key: str) -> str:
    if key in _BELOW:
        return f"indent it: {key} belongs below `workflow:`"
    return did_you_mean(key, KNOWN) or "remove it, or indent it where it belongs to the text of a file"


def _place(subject: str, section: Section) -> Route:
    return (subject, AT, section.line, 1, section.line, len(section.key) + 1)


def _preamble(text: str, subject: str) -> Iterable[Diagnostic]:
    """What stands before the first key, which OSMO drops."""
    first = _KEY.search(text)
    for number, line in enumerate(text[: first.start() if first else 0].split("\n"), 1):
        if line.strip() and not line.startswith(("#", "---", "%")) and line.strip()[0] != "#":
            message = "this stands before the first section, and OSMO drops it"
            place = (subject, AT, number, len(line) - len(line.lstrip()) + 1, number, len(line.rstrip()) + 1)
            yield warning("R139", place, message, hint="remove it, or write a section's key at the start of the line")
            return


def _version(section: Section, subject: str) -> Iterable[Diagnostic]:
    """OSMO drops this section unread, so a version that it does not have is no error there."""
    loaded = load(section.padded, subject, "R132").value
    value = loaded[0].get("version") if loaded and isinstance(loaded[0], dict) else None
    if isinstance(value, bool) or str(value) not in (str(VERSION), f"{VERSION}.0"):
        message = f"OSMO drops the version unread; this is not {VERSION}, and the file is read as version {VERSION}"
        yield warning("R124", _place(subject, section), message, hint=f"write `version: {VERSION}`, or remove it")
