"""`explain --why`: each line that it names changes the field, and no other value of the files does.

The judge edits the text of a file at the place that bayplan names, and reads what the whole pipeline then writes. For
the other values it tries changes of its own.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from typing import Any

import pytest

from bayplan.cli import causes, inputs
from bayplan.cli.causes import Edit, Objects
from bayplan.cli.why import Answer, Maker, _as_json, _of_object, _sources, leaves, maker_of
from bayplan.formats import documents
from bayplan.kube.objects import get, put, text
from bayplan.model.formats import Source
from bayplan.model.manifest import Object
from bayplan.pipeline import Request
from bayplan.report.findings import Place, places
from tools.golden import cases
from tools.run import EXAMPLES

LONG = bool(os.environ.get("BAYPLAN_LONG"))
FEW = {("kai", "osmo-two-racks"), ("volcano", "elastic"), ("koordinator", "torchx-macvlan")}
FORMATS = ("osmo.yaml", "app.json", "train.sbatch", "generate.sbatch", "workflow.yaml")
"""The files with the job of an example: of another format, if it has one."""


def jobs() -> list[Any]:
    """(scheduler, example) of all examples that a scheduler runs. Slurm has scripts instead of manifests."""
    pairs = sorted({(case.backend, case.example) for case in cases() if case.backend != "slurm"})
    return [pytest.param(*pair, id="/".join(pair)) for pair in pairs if LONG or pair in FEW]


def read(example: str, scheduler: str) -> Maker | None:
    """The job, if the scheduler runs it."""
    folder = EXAMPLES / example
    path = next(folder / name for name in FORMATS if (folder / name).exists())
    flows, _ = inputs.workflow(str(path), Source())
    (cluster,) = documents("topology", (folder / "topology.yaml").read_bytes(), "topology", Source()).value or ()
    request = Request(flows[0], cluster, scheduler=scheduler, render=inputs.render, accept=frozenset({"F605"}))
    return maker_of(request, inputs.Inputs(flows, cluster, ()))[0]


@pytest.mark.parametrize(("scheduler", "example"), jobs())
def test_exactly_the_named_lines_change_a_field(scheduler: str, example: str) -> None:
    maker = read(example, scheduler)
    if maker is None:
        assert scheduler == "native", "only Kubernetes' own scheduler needs another version for an example"
        return
    made = maker.experiments
    pick = random.Random(f"{scheduler} {example}")
    objects = [(kind, number) for kind, listed in made.objects.items() for number in range(len(listed))]
    fields = [(*path, *leaf) for path in objects for leaf in leaves(get(made.objects, *path))]
    others = list(_other_changes(maker, pick))
    named = 0
    for path in pick.sample(fields, min(len(fields), 60 if LONG else 5)):
        made = read(example, scheduler).experiments  # type: ignore[union-attr]
        made.watch(path)
        edits = causes.caused(made.objects, made.variants, path)
        by_text = [edit for edit in edits if _is_edit_of_text(edit)]
        for edit, place in zip(by_text, places([edit.route for edit in by_text], maker.files), strict=True):
            native = "apiVersion" in maker.files.sources[str(edit.route[0])].data  # other formats have other values
            if place and native and _is_value(get(made.sources, *edit.route), place):
                changed = _with_text(maker, edit, place)
                assert changed is not None, (path, edit, place)
                assert _value(made.objects, changed, path) != get(made.objects, *path), (path, edit, place)
                named += 1
        for other, changed in others:
            if not any(edit.route[: len(other.route)] == other.route[: len(edit.route)] for edit in edits):
                assert _value(made.objects, changed, path) in (None, get(made.objects, *path)), (path, other, edits)
    assert named or not LONG


def _value(before: Objects, after: Objects, path: causes.Path) -> Any:
    """The value of a field in other objects; None without it."""
    there = causes.follow(before, after, path)
    return get(after, *there) if len(there) == len(path) else None


def _is_edit_of_text(edit: Edit) -> bool:
    """Whether one place in one file changes."""
    return isinstance(edit.value, str | int | float) and edit.route[0] != "argument" and not edit.everywhere


def _is_value(value: Any, place: Place) -> bool:
    """Whether the text at the place is the value: templates and scripts have it in other words."""
    written = place.source[place.column - 1 : place.end_column - 1] if place.line == place.end_line else ""
    return written.strip("\"'") == (str(value).lower() if isinstance(value, bool) else str(value))


def _with_text(maker: Maker, edit: Edit, place: Place) -> Objects | None:
    """The objects after an edit of the text of a file."""
    subject = str(edit.route[0])
    source = maker.files.sources[subject]
    lines = source.text.split("\n")
    line = lines[place.line - 1]
    lines[place.line - 1] = line[: place.column - 1] + json.dumps(edit.value) + line[place.end_column - 1 :]
    (changed,) = documents(source.name, "\n".join(lines).encode(), subject, Source()).value or ()
    return maker.experiments.written({**maker.experiments.sources, subject: changed.data})


def _other_changes(maker: Maker, pick: random.Random) -> Iterator[tuple[Edit, Objects]]:
    """Changes of values in another way than bayplan makes them, with the objects after them."""
    made = maker.experiments
    tried = [route for route, value in causes.values(made.sources) if isinstance(value, str | int)]
    for route in tried if LONG else pick.sample(tried, 16):
        value = get(made.sources, *route)
        for other in [value + 3] if isinstance(value, int) else [f"z{value}", f"{value}-z"]:
            objects = None if route[0] == "argument" else made.written(put(made.sources, route, other))
            if objects is not None:
                yield Edit(route, other), objects
                break


@pytest.mark.parametrize(("scheduler", "example"), [("kai", "pretrain"), ("kueue", "pipeline"), ("none", "elastic")])
def test_every_object_of_a_gang_names_a_line_of_the_workflow(scheduler: str, example: str) -> None:
    maker = read(example, scheduler)
    assert maker
    for kind, listed in maker.experiments.objects.items():
        for number, manifest in enumerate(listed):
            routes = [edit.route for edit in _of_object(maker, (kind, number), manifest)]
            labels = manifest["metadata"].get("labels", {})
            if "bayplan.dev/gang" in labels:
                gang = maker.gangs[labels["bayplan.dev/gang"]]
                assert any(route[: len(gang)] == gang for route in routes), (kind, number)
            assert "bayplan.dev/workflow" not in labels or any(route[0] == "workflow" for route in routes), kind


@pytest.mark.parametrize(
    ("field", "sources"),
    [
        (("spec", "minMember"), {"spec.gangs[0].groups[0].replicas", "spec.gangs[0].groups[0].podSets[0].replicas"}),
        (("spec", "queue"), {"spec.queue", "spec.queues[0]"}),
        (("metadata", "namespace"), {"metadata.namespace"}),
    ],
)
def test_json_has_the_lines_of_a_field(field: tuple[str, ...], sources: set[str]) -> None:
    maker = read("pretrain", "kai")
    assert maker
    path: causes.Path = ("PodGroup.scheduling.run.ai", 0, *field)
    maker.experiments.watch(path)
    manifest = get(maker.experiments.objects, *path[:2])
    answer = Answer(Object((), manifest), maker, ".".join(field), get(manifest, *field), maker.experiments.causes(path))
    (row,) = json.loads("".join(_as_json([answer])))["answers"]
    assert row["name"] == text(manifest, "metadata", "name")
    assert row["value"] == get(manifest, *field)
    assert {cause["source"] for cause in row["causes"]} >= sources
    assert all(cause["line"] for cause in row["causes"] if not cause["source"].startswith("--"))


def test_a_field_of_a_sweep_names_the_cell_of_its_csv_file() -> None:
    maker = read("trials", "koordinator")
    assert maker
    container = ("spec", "replicatedJobs", 0, "template", "spec", "template", "spec", "containers", 0, "env")
    env = get(maker.experiments.objects, "JobSet.jobset.x-k8s.io", 0, *container)
    entry = next(number for number, entry in enumerate(env) if entry["name"] == "NOTE")
    path: causes.Path = ("JobSet.jobset.x-k8s.io", 0, *container, entry, "value")
    maker.experiments.watch(path)
    value = get(maker.experiments.objects, *path)
    answer = Answer(Object((), {}), maker, "", value, maker.experiments.causes(path))
    places_of = [(place.file.rpartition("/")[2], place.line) for place, _, _ in _sources(answer) if place]
    assert ("trials.csv", 2) in places_of
