"""The codes of diagnostics. Pages of docs/reference/diagnostics declare them in sections: `## CODE: title` and prose.

bayplan reads the pages, which takes a few milliseconds, only when somebody needs a title or names a code.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from bayplan.core.package_data import data_names, data_text

PAGES = ("docs", "reference", "diagnostics")


class Section(NamedTuple):
    """The section of one code. `text` is Markdown without the heading."""

    title: str
    text: str


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
        sections_of_page[code] = Section(title, text.strip())
    return sections_of_page


def title(code: str) -> str:
    """The title of a code."""
    return sections()[code].title
