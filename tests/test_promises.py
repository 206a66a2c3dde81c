"""What the documentation promises: each promise has a test, and no field that bayplan accepts is silent.

A field is silent if no accepted value of it changes what is rendered or reported, in any of the examples.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import pytest

import support
from all_backends import GAPS
from bayplan import pipeline
from bayplan.backends import BACKENDS
from bayplan.manifests.order import head
from bayplan.text import document
from tools.effort import LONG, sample
from tools.golden import SCRIPTS, examples, sources
from tools.run import ROOT

Data = Mapping[str, Any]
Path = tuple[str | int, ...]
PAGE = (ROOT / "docs" / "explanation" / "promises.md").read_text(encoding="utf-8")
SCHEMA = json.loads((ROOT / "schemas" / "workflow.json").read_text(encoding="utf-8"))


def resolved(root: Data, schema: Data) -> dict[str, Any]:
    """The schema with its reference replaced."""
    while "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        schema = {**root["definitions"][name], **{key: value for key, value in schema.items() if key != "$ref"}}
    return dict(schema)


class Place(NamedTuple):
    """Where a document has a field, or could have it. `field`: its path in the schema."""

    path: Path
    field: str
    schema: Data


def places(root: Data, schema: Data, value: Any, path: Path = (), field: str = "") -> Iterator[Place]:
    """Every field that a document has or could have."""
    own = resolved(root, schema)
    for form in (own, *(resolved(root, each) for each in own.get("anyOf", ()))):
        if isinstance(value, dict):
            for key, part in form.get("properties", {}).items():
                inner = f"{field}.{key}".lstrip(".")
                yield Place((*path, key), inner, part)
                if key in value:
                    yield from places(root, part, value[key], (*path, key), inner)
        elif isinstance(value, list) and "items" in form:
            for number, each in enumerate(value):
                yield from places(root, form["items"], each, (*path, number), field)


def values(root: Data, schema: Data, words: Data, key: Any) -> list[Any]:
    """Values to try: of the cluster, of the schema, and its examples."""
    own = resolved(root, schema)
    tried = [*words.get(key, ()), *own.get("enum", ()), *own.get("examples", ())]
    tried += [True, False] if own.get("type") == "boolean" else []
    return tried + [value for each in own.get("anyOf", ()) for value in values(root, each, words, key)]


def changed(data: Any, path: Path, value: Any) -> Any:
    """The data with this value at a place."""
    if not path:
        return value
    if isinstance(data, dict):
        return {**data, path[0]: changed(data.get(path[0]), path[1:], value)}
    return [changed(each, path[1:], value) if number == path[0] else each for number, each in enumerate(data)]


def outcome(flow: Data, topology: Data, scheduler: str) -> tuple[bool, Any]:
    """Whether a workflow is rendered, and all that a reader sees."""
    one, other = (document.Document(name, "", 0, data) for name, data in (("w", flow), ("t", topology)))
    result, _ = pipeline.compile(pipeline.Request(one, other, scheduler=scheduler, accept=GAPS))
    reported = [(each.code, each.severity, each.message) for each in result.diagnostics]
    shown = [getattr(each, "text", None) or head(each) for each in result.value.documents] if result.value else []
    return result.value is not None, (reported, shown)


def words_of(topology: Data) -> Data:
    """Names of the cluster, by the fields that take them."""
    spec = topology["spec"]
    levels = [*(each["name"] for pool in spec["pools"] for each in pool.get("levels", ())), "host"]
    fabrics = list(spec.get("fabrics", ()))
    return {
        "pool": [each["name"] for each in spec["pools"]],
        **dict.fromkeys(("required", "preferred", "separate"), levels),
        "fabric": fabrics,
    }


@cache
def silent(scheduler: str) -> dict[str, bool]:
    """Field -> whether no accepted value changed anything. The first example in which one does decides."""
    root = SCHEMA
    found: dict[str, bool] = {}
    for name in examples():
        flow, topology = sources(name)
        rendered, plain = outcome(flow, topology, scheduler)
        if not rendered:
            continue
        words = words_of(topology)
        for place in places(root, root, flow):
            if place.path[-1] in CHOICES:
                continue
            for value in values(root, place.schema, words, place.path[-1]) if found.get(place.field, True) else ():
                other = changed(flow, place.path, value)
                accepted, seen = outcome(other, topology, scheduler) if other != flow else (False, None)
                if accepted:
                    found[place.field] = seen == plain
                    if not found[place.field]:
                        break
    return found


CHOICES = {
    "pool": "the only pool anyway",
    "scheduler": "the command line, which names one, takes precedence",
    "queue": "the cluster's default queue anyway",
    "accelerator": "the pool's accelerators anyway",
    "name": "the pool's accelerator, or the name of a group that no task needs, anyway",
    "count": "the same number",
    "links": "NVIDIA's device plugin takes the best links anyway",
    "allocator": "the first allocator anyway",
    "size": "a group of one instance",
    "minReplicas": "all pods anyway",
    "rails": "all rails anyway",
    "workload": "the same kind as `auto`",
    "cleanup": "the default",
    "args": "each podSet has its own",
    "command": "each podSet has its own",
    "image": "each podSet has its own",
    "placement": "the same placement",
    "lifecycle": "the default",
    "trainer": "only TrainJobs have a runtime (W360)",
    "ports": "the only ports anyway",
    "container": "the default",
    "backends": "settings of other schedulers",
}
"""Last word of a field -> why the values that are accepted in an example may say what holds anyway."""


@pytest.mark.parametrize("scheduler", BACKENDS if LONG else ("kai",))
def test_no_field_of_a_workflow_is_silent(scheduler: str) -> None:
    """The settings of other schedulers are, as their section says."""
    found = silent(scheduler)
    assert len(found) > 20
    quiet = [field for field, is_silent in found.items() if is_silent]
    others = [f"backends.{name}" for name in BACKENDS if name != scheduler]
    assert [field for field in quiet if not any(f"{each}." in f"{field}." for each in others)] == []


def test_a_silent_field_is_noticed() -> None:
    """The judge itself: KAI uses no setting of Slurm."""
    assert silent("kai").get("spec.gangs.backends.slurm") is True


TABLES = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)
ROWS = [row for row in TABLES if row[0] != "promise"]
TEST = re.compile(r"`([a-z_0-9/]+\.py)(?:::(test_\w+))?`")


@cache
def source(path: str) -> str:
    return (ROOT / "tests" / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:40])
def test_each_promise_names_tests_that_exist(row: tuple[str, str, str]) -> None:
    named = TEST.findall(row[2])
    assert named or row[2].startswith("no test")
    for path, name in named:
        assert not name or re.search(rf"^ *def {name}\(", source(path), re.MULTILINE), (path, name)


def test_the_page_has_enough_promises() -> None:
    assert len(ROWS) > 20


@pytest.mark.parametrize("scheduler", [name for name in BACKENDS if name not in SCRIPTS])
def test_labels_and_annotations_of_a_workflow_are_on_every_object_and_pod(scheduler: str) -> None:
    own = {"labels": {"team": "vision"}, "annotations": {"example.com/ticket": "ML-1204"}}
    for name in {"files-and-adoption", *sample(examples(), 6)}:
        flow, topology = sources(name)
        result = support.run(
            {**flow, "metadata": {**flow["metadata"], **own}}, topology, scheduler=scheduler, accept=GAPS
        )
        for each in result.documents:
            for key, expected in own.items():
                assert expected.items() <= each["metadata"][key].items(), (name, each["kind"])
            for template in pod_templates(each):
                assert own["labels"].items() <= template["metadata"]["labels"].items(), (name, each["kind"])


def pod_templates(data: Any) -> Iterator[Any]:
    """Everything with containers, at any place."""
    if isinstance(data, dict):
        if "containers" in (data.get("spec") or ()):
            yield data
        for each in data.values():
            yield from pod_templates(each)
    elif isinstance(data, list):
        for each in data:
            yield from pod_templates(each)
