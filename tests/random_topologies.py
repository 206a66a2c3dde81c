"""Random cluster topologies that are sound, with everything in them that the file can say."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from bayplan.model.topology import (
    AcceleratorKind,
    ClusterTopology,
    Domain,
    Level,
    Namespace,
    NodeShape,
    Pool,
    Queue,
    Quota,
    named_queues,
)

NUMBERED = (
    (
        Queue("all", "", (Quota("gpu", "", 8000, 64000),)),
        Queue("research", "all", (Quota("cpu", "", 0, 500),)),
        Queue("r", "all"),
    ),
    (
        Queue("all"),
        Queue("research", "all", (Quota("nvidia.com/gpu", "", 8000, None), Quota("memory", "", None, 2**40))),
    ),
    (Queue("research", "", (Quota("gpu", "", None, 0), Quota("example.com/nic", "", 1000, 2000))),),
)
"""Queues with numbers and parents."""

LABELS = ("topology.kubernetes.io/zone", "example.com/topology-spine", "nvidia.com/gpu.clique")
NAMES = (("zone", "spine", "rack"), ("region", "gpu-block", "sub-block"))
SELECTOR = "example.com/pool"
UUID = "4d1f9e3a-0000-4000-8000-"
REASONS = ("cordoned", "notReady", "unhealthy", "reserved", "spare")

values = st.from_regex(r"[a-zA-Z0-9]([a-zA-Z0-9_-]{0,5}[a-zA-Z0-9])?", fullmatch=True)
odd_values = st.one_of(values, st.sampled_from(["1e3", "007", "no", "A.b", "a.B", "x" * 63, "8" * 20, "none", "Node"]))


@st.composite
def paths(draw: st.DrawFn, depth: int, taken: set[str], repeats: bool) -> list[tuple[str, ...]]:
    """Paths of a tree in which every value is used once, so that levels may be global; but for the finest, if asked."""
    found: list[tuple[str, ...]] = [()]
    for level in range(1, depth + 1):
        below = []
        for path in found:
            for number, value in enumerate(draw(st.lists(odd_values, min_size=1, max_size=3, unique=True))):
                free = value if value.lower() not in taken else f"another-{len(taken)}"
                if repeats and level == depth:
                    below.append((*path, f"r{number}"))
                    continue
                taken.add(free.lower())
                below.append((*path, free))
        found = below
    return found


@st.composite
def pools(draw: st.DrawFn, number: int, depth: int, taken: set[str], names: tuple[str, ...]) -> Pool:
    """One pool, whose nodes carry its number."""
    levels = tuple(Level(name, label) for name, label in zip(names, LABELS, strict=True))[3 - depth :]
    width = draw(st.integers(1, 3))
    stem = draw(st.sampled_from(["n", "gb-r", "ip-10-0-", "host.x"]))
    rows = []
    repeats = depth > 1 and draw(st.integers(0, 3)) == 0
    for row, path in enumerate(draw(paths(depth, taken, repeats)) if depth else [()]):
        sizes = st.integers(1, 6) if row == 0 else st.integers(0, 6)
        nodes = tuple(f"{stem}{number}{row}-{n:0{width}}" for n in range(draw(sizes)))
        leaves = draw(st.sampled_from([(), (), ("leaf-1", f"L{row}.2")]))
        rows.append(Domain(path, nodes, leaves=leaves if depth else ()))
    if draw(st.booleans()):
        rows = list(draw(st.permutations(rows)))
    node = draw(shapes(number))
    if levels:
        marks: dict[str, Any] = {"plan": draw(st.sampled_from([None, 1, 2, 6]))}
        marks["nvlink"] = bool(node.accelerator) and draw(st.booleans())
        marks["unique"] = "parent" if repeats else "global"
        levels = (*levels[:-1], levels[-1]._replace(**marks))
        applied = draw(st.sampled_from([0, 0, depth, 1]))
        levels = tuple(level._replace(apply=number < applied) for number, level in enumerate(levels))
        if marks["nvlink"] and draw(st.booleans()):
            rows = [row._replace(nvlink_domain=f"{UUID}{n:012}.{n + 1}") for n, row in enumerate(rows)]
    held = [node for row in rows for node in row.nodes]
    out = draw(st.lists(st.sampled_from(held), max_size=3, unique=True)) if held else []
    unusable = {
        reason: (node,) for reason, node in zip(sorted(draw(st.permutations(REASONS))[: len(out)]), out, strict=True)
    }
    return Pool(f"pool-{number}", node, levels, tuple(rows), unusable)


@st.composite
def shapes(draw: st.DrawFn, number: int) -> NodeShape:
    resources = {"pods": 110_000, **({"cpu": 64_000, "memory": 2**40 * 1000} if draw(st.booleans()) else {})}
    cards = draw(st.booleans())
    selector = {SELECTOR: str(number)} if number or draw(st.booleans()) else {}
    tolerations = draw(
        st.sampled_from([(), ({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},)])
    )
    return NodeShape("h100" if cards else "", 8 if cards else 0, dict(sorted(resources.items())), selector, tolerations)


@st.composite
def topologies(draw: st.DrawFn, most: int = 3, depths: tuple[int, ...] = (0, 1, 2, 3)) -> ClusterTopology:
    """Up to three pools of up to three levels."""
    taken: set[str] = set()
    names = draw(st.sampled_from(NAMES))
    count = draw(st.integers(1, most))
    made = tuple(draw(pools(n, draw(st.sampled_from(depths)), taken, names)) for n in range(count))
    return ClusterTopology(
        "hall-1",
        made,
        versions=draw(st.sampled_from([{}, {"kubernetes": "1.34"}])),
        defaults=draw(st.sampled_from([{}, {"queue": "research", "namespace": "ml"}])),
        queues=draw(st.sampled_from([None, named_queues("batch", "research"), *NUMBERED])),
        schedulers=draw(st.sampled_from([{}, {"slurm": {"plugin": "tree"}}, {"kueue": {"flavor": "f.1"}}])),
        accelerators={"h100": AcceleratorKind("h100", resources={"count": "nvidia.com/gpu"})},
        namespaces=draw(st.sampled_from([{}, {"ml": Namespace("ml")}])),
    )
