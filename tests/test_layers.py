"""The import order of the architecture: a layer may import what stands below it, never what stands above."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import pytest

from tools.imports import Import, imports, sources

LAYERS = (
    ("__main__", "torchx_scheduler"),
    ("cli",),
    ("clients", "sandbox"),
    ("augment", "pipeline"),
    ("report",),
    (
        "adorn",
        "arrange",
        "cleanup",
        "companions",
        "contrast",
        "hosts",
        "reading",
        "removal",
        "selection",
        "weave",
    ),
    ("backends",),
    ("planning", "checks", "linting"),
    ("workflows", "topologies"),
    ("fabrics", "accelerators"),
    ("kube",),
    ("model",),
    ("schemas",),
    ("text",),
    ("data", "words"),
    ("diagnostics",),
    ("values",),
)
"""Top to bottom."""

RANK = {part: rank for rank, layer in enumerate(LAYERS) for part in layer}

THIRD_PARTY = {
    "yaml": {"text", "torchx_scheduler"},
    "click": {"cli"},
    "jinja2": {"sandbox"},
    "jsonschema": {"schemas"},
    "referencing": {"schemas"},
    "ortools": {"planning"},
    "torchx": {"torchx_scheduler"},
}
"""Distribution -> the only parts that may import it."""


def part(module: str) -> str:
    """`kube.kinds.job` -> `kube`."""
    first = module.split(".")[0]
    if first in RANK or not first:
        return first
    return first.removeprefix("_").split("_")[0]


def inner(each: Import) -> str | None:
    """The imported module without the leading package, or None for a foreign one. The package itself is ``."""
    return each.target.removeprefix("bayplan").lstrip(".") if each.target.split(".")[0] == "bayplan" else None


@pytest.mark.parametrize("module", sorted(sources()))
def test_every_module_stands_in_a_layer(module: str) -> None:
    assert module == "" or part(module) in RANK


@pytest.mark.parametrize("module", sorted(sources()))
def test_no_module_imports_upwards(module: str) -> None:
    ours = [each for each in imports() if each.importer == module]
    up = [each for each in ours if (target := inner(each)) and RANK[part(target)] < RANK.get(part(module), 99)]
    assert up == []


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


@pytest.mark.parametrize("name", sorted(THIRD_PARTY))
def test_a_third_party_package_has_one_user(name: str) -> None:
    users = {part(each.importer) for each in imports() if each.target.split(".")[0] == name}
    assert users <= THIRD_PARTY[name]


def test_a_backend_is_known_to_its_table_only() -> None:
    named = [e for e in imports() if (inner(e) or "").startswith("backends.") and not e.importer.startswith("backends")]
    assert named == []
