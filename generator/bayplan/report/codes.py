"""The codes of diagnostics. Pages of docs/reference/diagnostics declare them in sections: `## CODE: title` and prose.

A section may end with the line `Retired codes: CODE, CODE.`: its code replaces them.

bayplan reads the pages, which takes a few milliseconds, only when somebody needs a title or names a code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from bayplan.core.package_data import data_names, data_text
from bayplan.core.values import NamedTuple

PAGES = ("docs", "reference", "diagnostics")


class Section(NamedTuple):
    """The section of one code. `text` is Markdown without the heading."""

    title: str
    text: str
    retired: tuple[str, ...] = ()


RETIRED = re.compile(r"^Retired codes?: (.*)\.$", re.MULTILINE)


@cache
def sections() -> Mapping[str, Section]:
    """Code -> its section, of all pages."""
    names = data_names(*PAGES)
    return {code: section for name in names if name.endswith(".md") for code, section in page(name).items()}


def page(name: str) -> Mapping[str, Section]:
    """Code -> its section, of one page such as `w_osmo.md`. The text before the first section has no code."""
    sections_of_page: dict[str, Section] = {}
    for section in data_text(*PAGES, name).split("\n## ")[1:]:
        heading, _, text = section.partition("\n")
        code, _, title = heading.partition(": ")
        line = RETIRED.search(text)
        sections_of_page[code] = Section(
            title, RETIRED.sub("", text).strip(), tuple(line[1].split(", ")) if line else ()
        )
    return sections_of_page


@cache
def successors() -> Mapping[str, str]:
    """Retired code -> the code that replaces it."""
    return {old: code for code, section in sections().items() for old in section.retired}


def title(code: str) -> str:
    """The title of a code."""
    return sections()[code].title
