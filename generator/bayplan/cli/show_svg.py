"""A topology as a picture: nested boxes with a square per node, or per domain in a large cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, sqrt

from bayplan.cli.show_tree import state_of
from bayplan.core.phrases import count
from bayplan.core.values import NamedTuple
from bayplan.model.topology import ClusterTopology
from bayplan.topologies.inventory import PoolCount, Unit

MOST_NODES, MOST_UNITS = 3000, 8000
"""The most nodes to draw one by one; the most domains to draw before the level above them is the last."""

WIDTH, CELL, STEP, PAD, HEAD, LETTER = 1160, 12, 15, 8, 18, 6.2
STYLE = """\
  <style>
    .page { fill: #fff } .ink { fill: #1f2937 } .dim { fill: #6b7280 } .line { fill: none; stroke: #9ca3af }
    .free { fill: #2563eb } .beyond { fill: #bfdbfe } .short { fill: #d97706 } .cordoned { fill: #f59e0b }
    .notReady { fill: #dc2626 } .unhealthy { fill: #9333ea } .reserved { fill: #6b7280 } .spare { fill: #059669 }
    .none { fill: #e5e7eb }
  </style>
"""
MEANING = {
    "free": "may be planned",
    "beyond": "usable, beyond the plan",
    "short": "domain with unusable nodes",
    "cordoned": "cordoned",
    "notReady": "not ready",
    "unhealthy": "unhealthy",
    "reserved": "reserved",
    "spare": "spare",
    "none": "domain without usable nodes",
}


class Box(NamedTuple):
    """A part of the picture, drawn at 0, 0."""

    width: float
    height: float
    text: str


def draw(topology: ClusterTopology, counted: Sequence[PoolCount]) -> Iterator[str]:
    """The picture."""
    large = sum(each.amount.nodes for each in counted) > MOST_NODES
    pools = [_pool(each, large) for each in counted]
    legend = _legend([each.text for each in pools])
    height = 48 + sum(each.height + 16 for each in pools) + 28
    title = f"{topology.name}: {count(sum(each.amount.nodes for each in counted), 'node')}"
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 {_n(height)}" role="img" aria-labelledby="t"'
        ' font-family="ui-sans-serif, system-ui, sans-serif" font-size="11">\n'
        f'  <title id="t">{_safe(title)}</title>\n{STYLE}'
        f'  <rect class="page" width="1200" height="{_n(height)}" rx="10"/>\n'
        f'  <text class="ink" x="20" y="30" font-size="15" font-weight="600">{_safe(title)}</text>\n'
    )
    y = 48.0
    for each in pools:
        yield f'  <g transform="translate(20 {_n(y)})">\n{each.text}  </g>\n'
        y += each.height + 16
    yield f'  <g transform="translate(20 {_n(y)})">\n{legend}  </g>\n</svg>\n'


def _pool(counted: PoolCount, large: bool) -> Box:
    amount = counted.amount
    title = f"{counted.pool.name}: {count(amount.nodes, 'node')}, {state_of(amount)}"
    depth = _depth(counted, large)
    if large and depth == 0:
        boxes = [_grid(_whole(counted, unit) for unit in counted.units)]
    else:
        boxes = [_box(counted, unit, depth, large, WIDTH - 2 * PAD) for unit in counted.units]
    return _framed(title, boxes, WIDTH, fixed=True)


def _depth(counted: PoolCount, large: bool) -> int:
    """How many levels are boxes. In a large cluster, the level below them has squares."""
    levels = counted.levels
    if not large:
        return len(levels)
    drawn = [n for n, level in enumerate(levels) if level.units <= MOST_UNITS]
    return max(drawn, default=0)


def _box(counted: PoolCount, unit: Unit, depth: int, large: bool, width: float) -> Box:
    """A unit with the boxes of its units, or with squares for its nodes or, in a large cluster, its units."""
    if len(unit.path) < depth and unit.below:
        inside = [_box(counted, each, depth, large, width - 2 * PAD) for each in unit.below]
    elif large:
        inside = [_grid(_whole(counted, each) for each in unit.below or (unit,))]
    else:
        inside = [_grid(_nodes(counted, unit))]
    return _framed(unit.path[-1] if unit.path else "nodes", inside, width)


def _nodes(counted: PoolCount, unit: Unit) -> Iterator[tuple[str, str]]:
    """Class and name of each node."""
    left = unit.amount.planned
    for node in unit.members:
        reason = counted.reasons.get(node)
        if reason:
            yield reason, f"{node}: {reason}"
        else:
            yield ("free" if left > 0 else "beyond"), node
            left -= 1


def _whole(counted: PoolCount, unit: Unit) -> tuple[str, str]:
    amount = unit.amount
    word = "none" if not amount.usable else "free" if amount.usable == amount.nodes else "short"
    return word, f"{'/'.join(unit.path) or counted.pool.name}: {count(amount.nodes, 'node')}, {state_of(amount)}"


def _grid(squares: Iterator[tuple[str, str]]) -> Box:
    """Squares in columns: two for a rack, and more for a larger unit."""
    cells = [*squares]
    columns = 2 if len(cells) <= 20 else min(ceil(sqrt(2 * len(cells))), 70)
    lines = []
    for number, (word, name) in enumerate(cells):
        x, y = number % columns * STEP, number // columns * STEP
        square = f'<rect class="{_safe(word)}" x="{x}" y="{y}" width="{CELL}" height="{CELL}" rx="2">'
        lines.append(f"{square}<title>{_safe(name)}</title></rect>\n")
    rows = ceil(len(cells) / columns)
    return Box(max(min(columns, len(cells)) * STEP - 3, 0), max(rows * STEP - 3, 0), "".join(lines))


def _framed(title: str, inside: Sequence[Box], most: float, fixed: bool = False) -> Box:
    """Boxes in rows in a frame with a title, at most `most` wide (`fixed`: exactly)."""
    x, y, height, width = float(PAD), float(HEAD + PAD), 0.0, 0.0
    placed = []
    for box in inside:
        if x > PAD and x + box.width + PAD > most:
            x, y, height = float(PAD), y + height + PAD, 0.0
        placed.append(f'<g transform="translate({_n(x)} {_n(y)})">\n{box.text}</g>\n')
        x, width, height = x + box.width + PAD, max(width, x + box.width), max(height, box.height)
    label = max(width, min(len(title) * LETTER + PAD, 90.0))
    wide = most if fixed else label + PAD
    head = f'<rect class="line" width="{_n(wide)}" height="{_n(y + height + PAD)}" rx="5"/>\n'
    letters = int((wide - PAD) / LETTER)
    shown = title if len(title) <= letters else f"{title[: max(letters - 1, 1)]}\u2026"
    head += f'<text class="ink" x="{PAD}" y="16">{_safe(shown)}<title>{_safe(title)}</title></text>\n'
    return Box(wide, y + height + PAD, head + "".join(placed))


def _legend(pieces: Sequence[str]) -> str:
    """The legend of the colors in the picture."""
    x, lines = 0.0, []
    for word, meaning in MEANING.items():
        if any(f'class="{word}"' in piece for piece in pieces):
            lines.append(f'<rect class="{word}" x="{_n(x)}" y="0" width="{CELL}" height="{CELL}" rx="2"/>\n')
            lines.append(f'<text class="dim" x="{_n(x + 18)}" y="10">{meaning}</text>\n')
            x += 18 + len(meaning) * LETTER + 20
    return "".join(lines)


def _n(number: float) -> str:
    """A coordinate, without the fraction of an integer."""
    return f"{number:.1f}".removesuffix(".0")


def _safe(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
