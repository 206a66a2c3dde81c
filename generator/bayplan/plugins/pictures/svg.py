"""Scenes as an SVG picture: nested boxes with a cell per node, or per domain in a large cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, sqrt
from textwrap import wrap
from typing import NamedTuple

from bayplan.plugin import count
from bayplan.plugin import text_beside as table
from bayplan.plugins.pictures.scene import Box, Cell, Missing, Scene, boxes, group_name, legend, mark

WIDTH, MARGIN, GAP, PAD, HEAD, LETTER = 1160, 20, 3, 8, 18, 6.2
MOST_LABELLED = 1200
"""The most nodes in a picture with ranks."""

MOST_GROUPS = 24
"""The most groups in the legend."""

MOST_MISSING = 36
"""The most missing nodes to draw."""

PATTERNS = (
    ("cordoned", "M-1 1l2-2M0 6L6 0M5 7l2-2"),
    ("notReady", "M0 0L6 6M6 0L0 6"),
    ("unhealthy", "M0 3H6M3 0V6"),
    ("removed", "M1 1h1M4 4h1"),
    ("reserved", "M0 3H6"),
    ("spare", "M3 0V6"),
)
"""What the cells of unusable nodes show, so that a reader needs no colours."""


class Size(NamedTuple):
    """The size of cells, and whether they show ranks."""

    width: int
    height: int
    labels: bool


SMALL, LABELLED = Size(12, 12, False), Size(27, 15, True)


class Drawn(NamedTuple):
    """A part of the picture, drawn at 0, 0."""

    width: float
    height: float
    text: str


def draw(scenes: Sequence[Scene]) -> Iterator[str]:
    """The picture: all scenes, one below the other."""
    ranked = any(part.rank is not None for each in scenes for part in each.parts)
    parts = [_scene(each, ranked) for each in scenes]
    height = MARGIN + sum(each.height + MARGIN for each in parts)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + 2 * MARGIN} {_n(height)}" role="img"'
        ' aria-labelledby="t" font-family="ui-sans-serif, system-ui, sans-serif" font-size="11">\n'
        f'<title id="t">{safe("; ".join(f"{each.title} {each.note}".strip() for each in scenes))}</title>\n'
        f"<style>\n{table('plugins', 'pictures', 'svg.css')}</style>\n<defs>\n"
    )
    for name, path in PATTERNS:
        yield (
            f'<pattern id="p-{name}" width="6" height="6" patternUnits="userSpaceOnUse">'
            f'<rect class="paper" width="6" height="6"/><path class="strokes" d="{path}"/></pattern>\n'
        )
    yield f'</defs>\n<rect class="page" width="{WIDTH + 2 * MARGIN}" height="{_n(height)}" rx="10"/>\n'
    y = float(MARGIN)
    for each in parts:
        yield f'<g transform="translate({MARGIN} {_n(y)})">\n{each.text}</g>\n'
        y += each.height + MARGIN
    yield "</svg>\n"


def _scene(scene: Scene, ranked: bool) -> Drawn:
    """The title, the reason for a refusal, the groups, the pools, and a legend. `ranked`: some scene has ranks."""
    y = 12.0
    pieces = [f'<text class="ink title" y="{_n(y)}">{safe(scene.title)}</text>\n']
    if scene.note:
        y += 17
        pieces.append(f'<text class="dim" y="{_n(y)}">{safe(scene.note)}</text>\n')
    for class_, text in (("wrong", _sentence(scene.missing)), ("dim", scene.missing.hint if scene.missing else "")):
        for line in wrap(text, 170):
            y += 16
            pieces.append(f'<text class="{class_}" y="{_n(y)}">{safe(line)}</text>\n')
    for line in scene.lines:
        y += 16
        pieces.append(f'<text class="ink" y="{_n(y)}">{safe(line)}</text>\n')
    y += 12
    drawn = boxes(scene)
    sizes = [LABELLED if ranked and (box.detailed or scene.nodes <= MOST_LABELLED) else SMALL for box in drawn]
    pools = (_box(box, size, WIDTH, True, _noted(box)) for box, size in zip(drawn, sizes, strict=True))
    for each in (_groups(scene), *pools, _states(scene, drawn)):
        if each.height:
            pieces.append(f'<g transform="translate(0 {_n(y)})">\n{each.text}</g>\n')
            y += each.height + 12
    return Drawn(WIDTH, y - 12, "".join(pieces))


def _sentence(missing: Missing | None) -> str:
    return f"Does not fit: {missing.message}" if missing else ""


def _box(box: Box, size: Size, most: float, fixed: bool = False, noted: bool = False) -> Drawn:
    """A box, at most `most` wide (`fixed`: exactly). `noted`: boxes with cells have a line for a note."""
    inside = [_box(each, size, most - 2 * PAD, noted=noted) for each in box.boxes]
    inside += [_grid(box.cells, size)] if box.cells else []
    inside += [_ghosts(box.missing, size)] if box.missing else []
    return _framed(box, inside, most, fixed, noted and not box.boxes)


def _noted(box: Box) -> bool:
    return bool(box.note) or any(map(_noted, box.boxes))


def _grid(cells: Sequence[Cell], size: Size) -> Drawn:
    """Cells in columns: two for a rack, and more for a larger domain."""
    across, down = size.width + GAP, size.height + GAP
    columns = 2 if len(cells) <= 20 else min(ceil(sqrt(2 * len(cells))), int(1100 / across))
    text = "".join(
        f'<g transform="translate({n % columns * across} {n // columns * down})">{_cell(each, size)}</g>\n'
        for n, each in enumerate(cells)
    )
    rows = ceil(len(cells) / columns)
    return Drawn(min(columns, len(cells)) * across - GAP, rows * down - GAP, text)


def _cell(cell: Cell, size: Size) -> str:
    """A rectangle, or one for each share, from left to right."""
    title, width, height = f"<title>{safe(cell.about)}</title>", size.width, size.height
    box = f'width="{width}" height="{height}" rx="2"'
    middle = f'x="{_n(width / 2)}" y="{_n(height / 2 + 3.3)}"'
    label = f"<text {middle}>{cell.label}</text>" if cell.label and size.labels else ""
    label += f'<rect class="changed" {box}/>' if cell.changed else ""
    if len(cell.shares) == 1:
        word = cell.shares[0][0]
        if word == "occupied" and cell.full < 1000:
            tall = max(cell.full * height / 1000, 1)
            fill = f'<rect class="occupied" y="{_n(height - tall)}" width="{width}" height="{_n(tall)}"/>'
            return f'<rect class="free" {box}>{title}</rect>{fill}{label}'
        return f'<rect class="{word}" {box}>{title}</rect>{label}'
    total, x, pieces = sum(number for _, number in cell.shares), 0.0, []
    for word, number in cell.shares:
        wide = number * width / total
        pieces.append(f'<rect class="{word}" x="{_n(x)}" width="{_n(wide)}" height="{height}"/>')
        x += wide
    return f"{title}{''.join(pieces)}{label}"


def _ghosts(missing: Missing, size: Size) -> Drawn:
    """The missing nodes, and how many pods have no room."""
    number = min(missing.nodes, MOST_MISSING)
    across, down, top = size.width + GAP, size.height + GAP, 18
    columns = min(max(2, ceil(sqrt(2 * number))), 18) if number else 1
    squares = (
        f'<rect class="missing" x="{n % columns * across}" y="{top + n // columns * down}"'
        f' width="{size.width}" height="{size.height}" rx="2"/>\n'
        for n in range(number)
    )
    text = f"no room for {count(missing.pods, 'pod')}"
    more = f", {missing.nodes} nodes" if missing.nodes > MOST_MISSING else ""
    label = f'<text class="wrong" y="11">{text}{more}</text>\n'
    wide = max(columns * across - GAP if number else 0, (len(text) + len(more)) * LETTER)
    return Drawn(wide, top + ceil(number / columns) * down - GAP if number else 14, label + "".join(squares))


def _framed(box: Box, inside: Sequence[Drawn], most: float, fixed: bool, noted: bool) -> Drawn:
    """Parts in rows in a frame with a title."""
    x, y, height, width = float(PAD), float(HEAD + PAD + (13 if noted else 0)), 0.0, 0.0
    placed = []
    for each in inside:
        if x > PAD and x + each.width + PAD > most:
            x, y, height = float(PAD), y + height + PAD, 0.0
        placed.append(f'<g transform="translate({_n(x)} {_n(y)})">\n{each.text}</g>\n')
        x, width, height = x + each.width + PAD, max(width, x + each.width), max(height, each.height)
    letters = max(len(box.title), len(box.note))
    label = max(width, min(letters * LETTER + PAD, 90.0))
    wide = most if fixed else label + PAD
    frame = "line short" if box.missing else "line"
    head = f'<rect class="{frame}" width="{_n(wide)}" height="{_n(y + height + PAD)}" rx="5"/>\n'
    head += _cut("ink", box.title, 16, wide)
    head += _cut("dim", box.note, 30, wide) if box.note else ""
    return Drawn(wide, y + height + PAD, head + "".join(placed))


def _cut(class_: str, text: str, y: int, wide: float) -> str:
    """A line of text, cut to the width; the whole text is its title."""
    letters = int((wide - PAD) / LETTER)
    shown = text if len(text) <= letters else f"{text[: max(letters - 1, 1)]}\u2026"
    title = f"<title>{safe(text)}</title>" if shown != text else ""
    return f'<text class="{class_}" x="{PAD}" y="{y}">{safe(shown)}{title}</text>\n'


def _groups(scene: Scene) -> Drawn:
    """The colour of each group, its pods and its domain."""
    entries = []
    for number, each in enumerate(scene.groups[:MOST_GROUPS]):
        where = f" in {each.domain}" if each.domain else ""
        entries.append((mark(number), f"{group_name(scene, each)}: {count(each.pods, 'pod')}{where}"))
    if len(scene.groups) > MOST_GROUPS:
        entries.append(("", f"and {len(scene.groups) - MOST_GROUPS} more groups, with the same colours"))
    return _legend(entries)


def _states(scene: Scene, drawn: Sequence[Box]) -> Drawn:
    lacking = [("missing", "needed, but missing")] if scene.missing and scene.missing.nodes else []
    changed = [("changed", "not the same before and after")] if scene.changed else []
    return _legend([*legend(drawn), *lacking, *changed])


def _legend(entries: Sequence[tuple[str, str]]) -> Drawn:
    """Colours and strings in rows; many of them in columns."""
    x, y, pieces = 0.0, 0.0, []
    widest = max((18 + len(text) * 5.9 + 14 for _, text in entries), default=0)
    for word, text in entries:
        wide = widest if len(entries) > 4 else 18 + len(text) * 5.9 + 14
        if x and x + wide > WIDTH:
            x, y = 0.0, y + 18
        if word:
            pieces.append(f'<rect class="{word}" x="{_n(x)}" y="{_n(y)}" width="12" height="12" rx="2"/>\n')
        pieces.append(f'<text class="dim" x="{_n(x + 18)}" y="{_n(y + 10)}">{safe(text)}</text>\n')
        x += wide
    return Drawn(WIDTH, y + 12 if pieces else 0, "".join(pieces))


def _n(number: float) -> str:
    """A coordinate, without the fraction of an integer."""
    return f"{number:.1f}".removesuffix(".0")


def safe(text: str) -> str:
    """The text as XML, without characters that XML does not have."""
    text = "".join(c if c.isprintable() else "\ufffd" for c in text) if not text.isprintable() else text
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
