"""The architecture in numbers: which room may import which, and how large the house may grow.

A room is a package or module directly in `bayplan/`. An arrow is "room A imports room B", wherever the import stands.
"""

from __future__ import annotations

from functools import cache
from graphlib import CycleError, TopologicalSorter

import pytest

from bayplan.model.backend import Backend
from tools.imports import Import, imports, sources

LAYERS = (
    ("__main__", "torchx_scheduler", "api"),
    ("cli",),
    ("augment",),
    ("pipeline",),
    ("backends", "manifests"),
    ("checks", "linting", "formats"),
    ("planning", "topologies"),
    ("clients", "fabrics", "accelerators", "workflows"),
    ("kube", "report"),
    ("model",),
    ("schemas", "text", "sandbox"),
    ("core",),
    ("",),
)
"""Top to bottom. The last is the package itself, which holds only the version. `api` is above `cli`: its functions are
the commands without arguments, streams and exit codes, so they read files and word answers as the commands do."""

RANK = {room: rank for rank, layer in enumerate(LAYERS) for room in layer}

THIRD_PARTY = {
    "yaml": {"text", "torchx_scheduler"},
    "click": {"cli"},
    "jinja2": {"sandbox"},
    "jsonschema": {"schemas"},
    "referencing": {"schemas"},
    "ortools": {"planning"},
    "torchx": {"torchx_scheduler"},
}
"""Distribution -> the only rooms that may import it."""


def room_of(module: str) -> str:
    """`kube.kinds.job` -> `kube`."""
    return module.partition(".")[0]


def inner(each: Import) -> str | None:
    """The imported module without the leading package, or None for a foreign one. The package itself is ``."""
    return each.target.removeprefix("bayplan").lstrip(".") if each.target.split(".")[0] == "bayplan" else None


@cache
def arrows() -> frozenset[tuple[str, str]]:
    """(Room, room that it imports). The package imports `api` only when a program uses one of its names."""
    pairs = ((room_of(each.importer), room_of(target)) for each in imports() if (target := inner(each)) is not None)
    return frozenset((one, other) for one, other in pairs if one != other and one)


def floors() -> int:
    """Rooms on the longest chain of arrows."""
    below: dict[str, int] = {}
    graph = {room_of(module): set[str]() for module in sources()}
    for one, other in arrows():
        graph[one].add(other)
    for room in TopologicalSorter(graph).static_order():
        below[room] = 1 + max((below[each] for each in graph[room]), default=0)
    return max(below.values())


def test_every_module_stands_in_a_layer() -> None:
    assert [module for module in sources() if room_of(module) not in RANK] == []


def test_no_module_imports_upwards_or_sideways() -> None:
    assert [f"{one} -> {other}" for one, other in sorted(arrows()) if RANK[one] >= RANK[other]] == []


def test_no_import_cycles() -> None:
    graph: dict[str, set[str]] = {module: set() for module in sources()}
    for each in imports():
        target = inner(each)
        if target and target != each.importer:
            graph[each.importer].add(target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as cycle:
        pytest.fail(" -> ".join(cycle.args[1]))


def test_a_third_party_package_has_one_user() -> None:
    users = {name: {room_of(e.importer) for e in imports() if e.target.split(".")[0] == name} for name in THIRD_PARTY}
    assert {name: rooms for name, rooms in users.items() if not rooms <= THIRD_PARTY[name]} == {}


def test_a_backend_is_known_to_its_table_only() -> None:
    named = [e for e in imports() if (inner(e) or "").startswith("backends.") and not e.importer.startswith("backends")]
    assert named == []


MOST = {"lines": 91_160, "files": 378, "rooms": 25, "floors": 11, "arrows": 126, "members of a backend": 8}
"""What the product may measure at most. Remove code before you raise a number."""


def test_the_house_stays_small() -> None:
    texts = [path.read_text(encoding="utf-8") for path in sources().values()]
    measured = {
        "lines": sum(text.count("\n") for text in texts),
        "files": len(texts),
        "rooms": len({room_of(module) for module in sources()}),
        "floors": floors(),
        "arrows": len(arrows()),
        "members of a backend": len([name for name in vars(Backend) if not name.startswith("_")]),
    }
    assert {name: number for name, number in measured.items() if number > MOST[name]} == {}
