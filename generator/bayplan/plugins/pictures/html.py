"""Scenes as one HTML page without requests. Its script draws the part of the cluster that the reader looks at.

Nodes have numbers, in the order of the tree. Everything about them is a list of runs: the first node, the number of
nodes, and what they have in common.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any

from bayplan.plugin import hostlist
from bayplan.plugin import text_beside as table
from bayplan.plugins.pictures.scene import COLOURS, STATES, Missing, Scene, finest, node_full, occupant, states
from bayplan.plugins.pictures.svg import safe

Run = list[Any]


def draw(scenes: Sequence[Scene]) -> Iterator[str]:
    """The page."""
    style, script = (table("plugins", "pictures", name) for name in ("page.css", "page.js"))
    title = "; ".join(dict.fromkeys(each.title for each in scenes))
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    yield (
        table("plugins", "pictures", "page.html")
        .replace("{policy}", policy)
        .replace("{style}", style)
        .replace("{script}", script)
        .replace("{title}", safe(title))
        .replace("{data}", _data(scenes))
    )


def _hash(text: str) -> str:
    """How a Content-Security-Policy names an inline script or style."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _data(scenes: Sequence[Scene]) -> str:
    """The scenes as JSON that cannot end its script element."""
    clusters = list({id(each.pools): each.pools for each in scenes}.values())
    data = {
        "colours": COLOURS,
        "states": list(STATES.items()),
        "clusters": [[_pool(each) for each in pools] for pools in clusters],
        "scenes": [_scene(each, next(n for n, pools in enumerate(clusters) if pools is each.pools)) for each in scenes],
    }
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _pool(counted: Any) -> dict[str, Any]:
    """The levels of a pool, and its finest domains: path, number of nodes, hostlist."""
    rows = [[[*unit.path], len(unit.members), hostlist.compress(unit.members)] for unit in finest(counted.units)]
    return {"name": counted.pool.name, "levels": [each.name for each in counted.levels], "rows": rows}


def _scene(scene: Scene, cluster: int) -> dict[str, Any]:
    seen = [
        (node, state, counted)
        for counted in scene.pools
        for unit in finest(counted.units)
        for node, state in zip(unit.members, states(scene, counted, unit), strict=True)
    ]
    words = list(STATES)
    others: dict[tuple[Any, ...], int] = {}
    for node, _, counted in seen:
        if node in scene.occupied:
            taken = scene.occupied[node]
            others.setdefault((node_full(taken, counted.pool), *map(occupant, taken)), len(others))
    reasons = list(dict.fromkeys(counted.reasons[node] for node, _, counted in seen if node in counted.reasons))
    return {
        "title": scene.title,
        "note": scene.note,
        "cluster": cluster,
        "groups": [list(each) for each in scene.groups],
        "parts": [list(each) for each in scene.parts],
        "seats": sorted(_seats(scene, [node for node, _, _ in seen])),
        "states": list(_runs([words.index(state)] if state not in ("", "free") else None for _, state, _ in seen)),
        "reasons": reasons,
        "why": list(_runs([reasons.index(c.reasons[node])] if node in c.reasons else None for node, _, c in seen)),
        "others": [list(each) for each in others],
        "occupied": list(
            _runs(
                [others[node_full(scene.occupied[node], c.pool), *map(occupant, scene.occupied[node])]]
                if node in scene.occupied
                else None
                for node, _, c in seen
            )
        ),
        "missing": _missing(scene.missing) if scene.missing else None,
    }


def _missing(missing: Missing) -> dict[str, Any]:
    return {**missing._asdict(), "path": [*missing.path]}


def _runs(values: Iterable[list[Any] | None]) -> Iterator[Run]:
    """[First node, number of nodes, *value] for neighbouring nodes with equal values."""
    run: Run = []
    for number, value in enumerate(values):
        if run and value == run[2:]:
            run[1] += 1
            continue
        if run:
            yield run
        run = [number, 1, *value] if value is not None else []
    if run:
        yield run


def _seats(scene: Scene, nodes: Sequence[str]) -> Iterator[Run]:
    """[First node, number of nodes, part, first pod, pods of each node]. The pods of a run follow each other."""
    open_runs: dict[int, Run] = {}
    for number, node in enumerate(nodes):
        for seat in scene.seats.get(node, ()):
            run = open_runs.get(seat.part)
            if run and run[0] + run[1] == number and run[4] == seat.number and run[3] + run[1] * run[4] == seat.first:
                run[1] += 1
                continue
            if run:
                yield run
            open_runs[seat.part] = [number, 1, *seat]
    yield from open_runs.values()
