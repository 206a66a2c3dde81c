"""The architecture in numbers: which room may import which, and how large the house may grow.

A room is a package or module directly in `bayplan/`. An arrow is "room A imports room B", wherever the import stands.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from token import NAME, STRING
from tokenize import generate_tokens

import pytest

from bayplan import plugins
from bayplan.core import package_data
from bayplan.model.backend import Backend
from tools import bounds
from tools.bounds import arrows, inner, room_of
from tools.imports import imports, sources

PLUGINS = ("osmo", "pictures", "slurm", "sources", "torchx")
"""The plug-ins of bayplan. Each is a room above the door."""

LAYERS = (
    ("__main__", "api", *(f"plugins.{name}" for name in PLUGINS)),
    ("plugin",),
    ("cli",),
    ("augment",),
    ("pipeline",),
    ("passes",),
    ("backends", "manifests"),
    ("checks", "linting", "formats"),
    ("planning", "topologies"),
    ("clients", "fabrics", "accelerators", "workflows"),
    ("kube", "report"),
    ("model",),
    ("schemas", "text"),
    ("plugins",),
    ("core",),
    ("bayplan",),
)
"""Top to bottom. The last is the package itself, which holds only the version. `api` is above `cli`: its functions are
the commands without arguments, streams and exit codes, so they read files and word answers as the commands do."""

RANK = {room: rank for rank, layer in enumerate(LAYERS) for room in layer}

THIRD_PARTY = {
    "yaml": {"text", "plugins.torchx"},
    "click": {"cli"},
    "jinja2": {"plugins.osmo"},
    "jsonschema": {"schemas"},
    "referencing": {"schemas"},
    "ortools": {"planning"},
    "torchx": {"plugins.torchx"},
}
"""Distribution -> the only rooms that may import it."""


def test_every_module_stands_in_a_layer() -> None:
    assert [module for module in sources() if room_of(module) not in RANK] == []


def test_no_module_imports_upwards_or_sideways() -> None:
    assert [f"{one} -> {other}" for one, other in sorted(arrows()) if RANK[one] >= RANK[other]] == []


def test_no_import_cycles() -> None:
    graph: dict[str, set[str]] = {module: set() for module in sources()}
    for each in imports():
        target = inner(each.target)
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
    named = [
        e
        for e in imports()
        if (inner(e.target) or "").startswith("backends.") and not e.importer.startswith("backends")
    ]
    assert {e.target for e in named} <= {"bayplan.backends.table"}


# The door: plug-ins know the core by `bayplan.plugin` alone, and the core knows plug-ins by their descriptions alone.


def test_a_plugin_imports_nothing_of_bayplan_but_the_door() -> None:
    wrong = [
        f"{room} -> {target}"
        for room, target in sorted(arrows())
        if room.startswith("plugins.") and target not in ("plugin", room)
    ]
    assert wrong == []


def test_the_core_imports_no_plugin() -> None:
    assert [f"{room} -> {target}" for room, target in arrows() if target.startswith("plugins.")] == []


NAMED = {"osmo": 14, "pictures": 7, "sbatch": 29, "slurm": 65, "sunk": 8, "torchx": 8}
"""How often code of the core names something of a plug-in, in names and in strings that are no docstrings: fields of
formats that users have, and versions that a cluster has. The numbers only fall."""


def test_the_core_names_few_things_of_plugins() -> None:
    words = Counter(
        word
        for module, path in sources().items()
        if not module.startswith("plugins")
        for token in generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
        if token.type == NAME or (token.type == STRING and not token.string.startswith('"""'))
        for word in NAMED
        if word in token.string.lower()
    )
    assert {word: words[word] for word in NAMED} == NAMED


def test_the_words_of_absent_plugins_are_those_of_present_ones() -> None:
    known: dict[str, set[str]] = {}
    for package, description in plugins.descriptions().items():
        sections = (description.get(name, {}) for name in ("backends", "plans", "schemas"))
        words = {word for section in sections for word in section} | set(description.get("schemas", {}).values())
        named = (row for name in ("workflows", "configurations", "topologies") for row in description.get(name, ()))
        known[package.rpartition(".")[2]] = words | {row["name"] for row in named}
    assert plugins.absent() == {}
    rows = json.loads(package_data.table("plugins", "words.json"))
    assert {name: set(row["words"]) for name, row in rows.items()} == known


def test_the_house_only_shrinks() -> None:
    """A bound that is more than 3 % above what it bounds says nothing: `tools/bounds.py` lowers it."""
    for title, rows in {"whole": bounds.measured(), "rooms": bounds.lines()}.items():
        limits = bounds.bounds()[title]
        assert set(rows) == set(limits), title
        assert {name: number for name, number in rows.items() if number > limits[name]} == {}, "too large"
        slack = {name: number for name, number in rows.items() if number < limits[name] * 0.97 - 3}
        assert slack == {}, "run `python tests/tools/bounds.py`"


def test_a_backend_has_few_members() -> None:
    assert len([name for name in vars(Backend) if not name.startswith("_")]) <= 8
