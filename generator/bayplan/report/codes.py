"""The codes of diagnostics. The pages of docs/diagnostics declare them: a section `## CODE: title` and its text each.

A section may end with the line `Retired codes: CODE, CODE.`: its code replaces them.

bayplan reads the pages, which takes a few milliseconds, only when somebody needs a title or names a code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from bayplan.core.package_data import data_names, data_text
from bayplan.core.values import NamedTuple


class Section(NamedTuple):
    """What a page says about one code. `text` is Markdown without the heading."""

    title: str
    text: str
    retired: tuple[str, ...] = ()


RETIRED = re.compile(r"\s*^Retired codes?: (.*)\.$", re.MULTILINE)


@cache
def sections() -> Mapping[str, Section]:
    """Code -> its section, of all pages."""
    names = data_names("docs", "diagnostics")
    return {code: section for name in names if name.endswith(".md") for code, section in page(name).items()}


def page(name: str) -> Mapping[str, Section]:
    """Code -> its section, of one page such as `w_osmo.md`. What stands before its first section is of no code."""
    found: dict[str, Section] = {}
    for section in data_text("docs", "diagnostics", name).split("\n## ")[1:]:
        heading, _, text = section.partition("\n")
        code, _, title = heading.partition(": ")
        line = RETIRED.search(text)
        found[code] = Section(title, RETIRED.sub("", text).strip(), tuple(line[1].split(", ")) if line else ())
    return found


@cache
def successors() -> Mapping[str, str]:
    """Retired code -> the code that replaces it."""
    return {old: code for code, section in sections().items() for old in section.retired}


def title(code: str) -> str:
    """What a code is about, in a few words."""
    return sections()[code].title
