"""The formats of workflows. A module reads its format into a `Workflow`, and records the origins of its parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from bayplan import plugins
from bayplan.core.values import Modules
from bayplan.model.workflow import Workflow

if TYPE_CHECKING:
    from bayplan.model.formats import Format, TextFormat


class TextRow(NamedTuple):
    """A format of a plug-in, whose files are not YAML, or more than YAML.

    `title`: its name in messages. `marks`: every such file has at least one of these byte strings, so bayplan neither
    decodes other files nor loads the module for them. `variables`: whether the format takes --set.
    """

    name: str  # the word after --from
    module: str
    title: str
    marks: tuple[bytes, ...]
    variables: bool = False

    def is_marked(self, raw: bytes) -> bool:
        """Whether a file has one of the marks."""
        return any(mark in raw for mark in self.marks)


def _row(row: Mapping[str, Any]) -> TextRow:
    return TextRow(**{**row, "marks": tuple(mark.encode() for mark in row["marks"])})


ROWS = tuple(map(_row, plugins.rows("workflows")))

TEXTS: Mapping[str, TextFormat] = Modules({row.name: row.module for row in ROWS})
"""The modules of these formats by name. A module itself parses the files of its format."""

FORMATS: Mapping[str, Format[Workflow]] = Modules(
    {"native": f"{__name__}.native"} | {row.name: row.module for row in ROWS}
)
"""All formats by name, in the order of detection."""


def text_format(raw: bytes) -> TextRow | None:
    """The format of a plug-in that claims a file."""
    marked = [row for row in ROWS if row.is_marked(raw)]
    text = raw.decode("utf-8", "replace") if marked else ""
    return next((row for row in marked if TEXTS[row.name].claims(text)), None)
