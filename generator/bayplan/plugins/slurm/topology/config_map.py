"""Slurm's files in a ConfigMap, as Slinky's operator, soperator and Topograph keep them: one key for each file.

slurm-operator 1.3 (`topology.yaml`), Topograph 1.0 (docs/engines/slinky.md: `topology.conf` or `topology.yaml`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from bayplan.plugin import (
    Outcome,
    Part,
    ReadOptions,
    Route,
    SourceFile,
    error,
    has_errors,
    is_kind,
    kube_objects,
    mapping,
    merge,
    text,
)
from bayplan.plugin import read_documents as read

FILES: Mapping[str, str] = {
    "topology.yaml": "topology_yaml",
    "topology.conf": "topology_conf",
    "slurm.conf": "node_lines",
}
"""Key -> the module that reads its value. Slurm ignores a topology.conf next to a topology.yaml."""


def sniff(source: SourceFile) -> bool:
    """Whether the file has a ConfigMap with one of Slurm's files."""
    return any(key in source.head for key in FILES) and any(True for _ in _held(source))


def _held(source: SourceFile) -> Iterator[tuple[Route, str, str]]:
    """(Place, key, text) of each file."""
    for route, data in kube_objects(source):
        if is_kind(data, "", "ConfigMap"):
            keys = [key for key in FILES if text(data, "data", key).strip()]
            for key in keys:
                if not (key == "topology.conf" and "topology.yaml" in keys):
                    yield (*route, "data", key), key, mapping(data, "data")[key]


def new(source: SourceFile, options: ReadOptions) -> Outcome[Part]:
    """The content of all files, merged. Ignores a slurm.conf without nodes: slurmd pods register nodes themselves."""
    held = list(_held(source))
    alone = len(held) == 1
    relevant = (each for each in held if alone or each[1] != "slurm.conf" or "nodename" in each[2].lower())
    read_all = [(at, _read(at, key, content, options)) for at, key, content in relevant]
    if not read_all:
        return Outcome(None, (error("T530", source.at(), "the ConfigMap has no topology and no nodes", hint=HINT),))
    issues = tuple(each for _, outcome in read_all for each in outcome.diagnostics)
    parts = [
        outcome.value._replace(places=dict.fromkeys(outcome.value.places, at), source=source.name)
        for at, outcome in read_all
        if outcome.value
    ]
    if has_errors(issues) or not parts:
        return Outcome(None, issues)
    result = merge(parts)
    return Outcome(result.value, (*issues, *result.diagnostics))


HINT = "use a ConfigMap with a topology.yaml, topology.conf or slurm.conf"


def _read(at: Route, key: str, content: str, options: ReadOptions) -> Outcome[Part]:
    """The content of one file. All diagnostics are at its key."""
    documents = read(key, content.encode("utf-8", "replace"), str(at[0]), own=False).value or ()
    if key == "topology.yaml" and not documents:
        hint = "correct the YAML in this string"
        return Outcome(None, (error("T530", at, "the topology.yaml is not valid YAML", hint=hint),))
    outcome: Outcome[Part] = import_module(f"bayplan.plugins.slurm.topology.{FILES[key]}").new(
        SourceFile(key, content, documents), options
    )
    moved = (
        each._replace(route=at, notes=tuple(note._replace(route=at) for note in each.notes))
        for each in outcome.diagnostics
    )
    return Outcome(outcome.value, tuple(moved))
