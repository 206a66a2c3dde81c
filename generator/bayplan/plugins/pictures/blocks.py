"""Scenes for a terminal: a character per node, or per domain in a large cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bayplan.plugin import count, escape
from bayplan.plugins.pictures.scene import Box, Cell, Scene, boxes, group_name, legend, mark

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SIGNS = {
    "free": "·",
    "beyond": "-",
    "occupied": "▓",
    "spare": "s",
    "reserved": "r",
    "cordoned": "/",
    "notReady": "×",
    "unhealthy": "+",
    "removed": "_",
    "other": "?",
}
PALETTE = (110, 209, 72, 222, 217, 149, 117, 142)
"""The colours of the groups, of the 256 of a terminal: those of svg.css."""

WIDE = 64
"""Cells in a line."""

Text = tuple[str, str]
"""A part of a line, and its mark: the mark of a group, `wrong`, or empty."""


def draw(scenes: Sequence[Scene], coloured: bool) -> Iterator[str]:
    """The lines of all scenes, with an empty line between them."""
    for number, scene in enumerate(scenes):
        yield "\n" if number else ""
        for line in _scene(scene):
            yield "".join(_painted(text, word) if coloured and word else text for text, word in line).rstrip() + "\n"


def _painted(text: str, word: str) -> str:
    """The text in black on the colour of its group, or in red."""
    code = "31" if word == "wrong" else f"30;48;5;{PALETTE[int(word[1:])]}"
    return f"\x1b[{code}m{text}\x1b[0m"


def _scene(scene: Scene) -> Iterator[list[Text]]:
    yield [(f"{escape(scene.title)}{f': {scene.note}' if scene.note else ''}", "")]
    if scene.missing:
        yield [(f"does not fit: {escape(scene.missing.message)}", "wrong")]
    drawn = boxes(scene)
    for box in drawn:
        yield [("", "")]
        yield [(escape(box.title), "")]
        yield from _below(box, "")
    yield [("", "")]
    for number, group in enumerate(scene.groups[: len(LETTERS)]):
        where = f" in {group.domain}" if group.domain else ""
        text = escape(f"{group_name(scene, group)}: {count(group.pods, 'pod')}{where}")
        yield [(_letter(number), mark(number)), (f" {text}", "")]
    if len(scene.groups) > len(LETTERS):
        yield [(f"and {len(scene.groups) - len(LETTERS)} more groups, with the same letters", "")]
    states = [f"{SIGNS[word]} {text}" for word, text in legend(drawn)]
    yield [("  ".join(states), "")]


def _letter(group: int) -> str:
    return LETTERS[group % len(LETTERS)]


def _below(box: Box, indent: str) -> Iterator[list[Text]]:
    """The lines inside a box: a line for each box with cells, and for each box around it."""
    wide = max((len(escape(each.title)) for each in box.boxes), default=0)
    for each in box.boxes:
        name = escape(each.title)
        if each.boxes:
            yield [(f"{indent}{name}", "")]
            yield from _below(each, indent + "  ")
        else:
            yield from _cells(each, f"{indent}{name.ljust(wide)}  ")
    if box.cells:
        yield from _cells(box, indent)
    elif box.missing:
        yield [(indent, ""), (_lack(box), "wrong")]


def _cells(box: Box, begin: str) -> Iterator[list[Text]]:
    """The cells of a box, in lines of `WIDE`, and what is missing."""
    lines = [box.cells[n : n + WIDE] for n in range(0, len(box.cells), WIDE)] or [()]
    for number, cells in enumerate(lines):
        line: list[Text] = [(begin if not number else " " * len(begin), "")]
        for cell in cells:
            text, word = _sign(cell)
            if len(line) > 1 and line[-1][1] == word:
                line[-1] = (line[-1][0] + text, word)
            else:
                line.append((text, word))
        if box.missing and number == len(lines) - 1:
            line.append((f" {_lack(box)}", "wrong"))
        yield line


def _lack(box: Box) -> str:
    missing = box.missing
    return f"<- no room for {count(missing.pods, 'pod')}" if missing else ""


def _sign(cell: Cell) -> Text:
    """A letter for a group, a sign for a state. A domain with several has the sign of its largest share."""
    ours = [(number, word) for word, number in cell.shares if word not in SIGNS]
    if ours:
        return _letter(cell.group), max(ours, key=lambda pair: pair[0])[1]
    states = max(cell.shares, key=lambda pair: pair[1])[0] if cell.shares else "other"
    return SIGNS[states], ""
