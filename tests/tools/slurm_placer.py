"""A scheduler that keeps the promises of topology/block and no more: it places segments at random, where it may.

Written from Slurm's own `eval_nodes_block.c` (24.11 to 25.11), and from nothing of bayplan: it reads the options of a
section and the blocks of a topology.yaml.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

Blocks = Sequence[Sequence[str]]


def blocks_of(topology: Mapping[str, Any], expand: Any) -> tuple[list[list[str]], list[int]]:
    """The nodes of each block in the order of the file, and the planning sizes."""
    body = topology["block"]
    return [list(expand(each.get("nodes", ""))) for each in body["blocks"]], list(body["block_sizes"])


def place(options: Mapping[str, str], blocks: Blocks, sizes: Sequence[int], seed: int) -> list[str] | None:
    """The nodes of a section, in the order in which Slurm numbers them; None where it would wait."""
    chance = random.Random(seed)
    nodes, segment = int(options["nodes"]), int(options.get("segment", 0))
    if segment and nodes % segment:
        raise AssertionError("Slurm refuses such a job")
    segment = segment if 0 < segment < nodes else nodes
    area = list(range(len(blocks)))
    if "consolidate-segments" in options and segment < nodes:
        area = _run(blocks, sizes, nodes, area, chance) or []
    taken: list[str] = []
    used: set[int] = set()
    for _ in range(nodes // segment):
        spread = "spread-segments" in options
        free = [
            [n for n in block if n not in taken] if i in area and not (spread and i in used) else []
            for i, block in enumerate(blocks)
        ]
        got = _segment(free, sizes, segment, chance)
        if got is None:
            return None
        taken += got
        used |= {i for i, block in enumerate(blocks) if set(block) & set(got)}
    return sorted(taken, key=natural)


def _run(blocks: Blocks, sizes: Sequence[int], nodes: int, area: list[int], chance: random.Random) -> list[int] | None:
    """An aligned run of blocks of the smallest size that takes so many nodes; all of them where none is so large."""
    size = next((size for size in sorted(sizes) if size >= nodes), 0)
    if not size:
        return area
    run = size // min(sizes)
    runs = [list(range(at, min(at + run, len(blocks)))) for at in range(0, len(blocks), run)]
    fit = [each for each in runs if sum(len(blocks[i]) for i in each) >= nodes]
    return chance.choice(fit) if fit else None


def _segment(free: Blocks, sizes: Sequence[int], nodes: int, chance: random.Random) -> list[str] | None:
    """One segment: in a run of the smallest size that takes it, on as few of the next smaller runs as it would fill."""
    area = _run(free, sizes, nodes, list(range(len(free))), chance)
    if area is None:
        return None
    lower = max((size for size in sizes if size < nodes), default=0)
    if not lower:
        pool = [n for i in area for n in free[i]]
        return chance.sample(pool, nodes) if len(pool) >= nodes else None
    run = lower // min(sizes)
    parts: dict[int, list[str]] = {}
    for i in area:
        parts.setdefault(i // run, []).extend(free[i])
    chosen = sorted(parts.values(), key=len, reverse=True)[: -(-nodes // lower)]
    pool = [n for part in chosen for n in part]
    return chance.sample(pool, nodes) if len(pool) >= nodes else None


def natural(name: str) -> list[Any]:
    """Digits as numbers, as Slurm 25.05 sorts nodes."""
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in re.split(r"(\d+)", name) if part]
