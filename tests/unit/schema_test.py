"""The schemas, the validators made from them, and how refusals are explained."""

from __future__ import annotations

import copy
import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from referencing import Registry
from scenes import EXAMPLES, WORKFLOWS, changed, load, topologies, topology_data, workflow_data

from bayplan import schemas
from bayplan.core import package_data as data_files
from bayplan.core.diagnostics import KEY
from bayplan.schemas import Patterns, Word, is_dns_subdomain
from bayplan.schemas import explain as slow
from bayplan.schemas.explain import _Validator, describe, explain
from bayplan.topologies import native as native_topology
from bayplan.workflows import native as native_workflow
from tools import field_tables

COVERS = {"R103", "S209", "S210"}
KINDS = sorted(schemas.SCHEMAS)
OPEN = {"OsmoPool"}
"""Foreign formats in which unknown keys are ignored, with a warning of ours."""


def engine(kind: str) -> Patterns:
    """The patterns of a validator."""
    patterns: Patterns = schemas._generated(kind).REGEX_PATTERNS
    return patterns


@pytest.fixture
def edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The schemas of a checkout, open for changes."""
    shutil.copytree(data_files.data_path("schemas"), tmp_path / "schemas")
    monkeypatch.setattr(data_files, "_ROOT", str(tmp_path))
    schemas._generated.cache_clear()
    yield tmp_path / "schemas"
    schemas._generated.cache_clear()


def test_an_edited_schema_holds_before_its_validator_is_made_again(edited: Path) -> None:
    path = edited / "workflow.json"
    path.write_text(path.read_text("utf-8").replace('"maxRestarts"', '"restarts"'), encoding="utf-8")
    before, after = (changed(workflow_data(), (*GANG, key), 3) for key in ("maxRestarts", "restarts"))
    assert (schemas.accepts("Workflow", before), schemas.accepts("Workflow", after)) == (False, True)
    assert schemas.accepts("ClusterTopology", topology_data())
    assert (schemas._generated("Workflow"), schemas._generated("ClusterTopology") is None) == (None, False)


def test_an_installed_bayplan_reads_no_schema_to_accept_a_document(
    edited: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schemas, "CHECKOUT", False)
    (edited / "workflow.json").unlink()
    assert schemas.accepts("Workflow", workflow_data())


def fields(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every property of a schema."""
    if isinstance(node, dict):
        for name, each in node.get("properties", {}).items():
            yield f"{path}.{name}", each
        for key, below in node.items():
            yield from fields(below, f"{path}.{key}")


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_is_described_with_examples_that_it_takes(kind: str) -> None:
    whole = schemas.load(kind)
    jsonschema.Draft7Validator.check_schema(whole)
    for path, each in fields(whole):
        assert each.get("description", "").endswith("."), path
        assert each.get("examples"), path
        judge = _Validator({**each, "definitions": whole["definitions"]}, registry=Registry())
        for example in each["examples"]:
            assert list(judge.iter_errors(example)) == [], (path, example)


@pytest.mark.parametrize("kind", KINDS)
def test_the_schemas_keep_to_what_both_engines_read_alike(kind: str) -> None:
    text = json.dumps(schemas.load(kind))
    for word in ("anyOf", "oneOf", "allOf", "format", "patternProperties", "prefixItems", "multipleOf"):
        assert f'"{word}"' not in text
    for pattern in re.findall(r'"pattern": "(.*?)"', text):
        assert pattern.startswith("^")
        assert pattern.endswith("$")
        assert "\\" not in re.sub(r"\\\\(x[0-9a-f]{2}|u[0-9a-f]{4})", "", pattern)
        assert "$" not in pattern[:-1]
    assert set(re.findall(r'"\$ref": "(.)', text)) == {"#"}


@pytest.mark.parametrize("kind", KINDS)
def test_patterns_stand_in_definitions_that_describe_them_as_a_noun(kind: str) -> None:
    for name, each in schemas.load(kind)["definitions"].items():
        if "pattern" in each:
            assert not each["description"].endswith("."), name


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in OPEN])
def test_unknown_keys_are_refused_everywhere(kind: str) -> None:
    def closed(node: Any, path: str) -> Iterator[str]:
        if isinstance(node, dict):
            if "properties" in node and node.get("additionalProperties") is not False and node.get("type") == "object":
                yield path
            for key, below in node.items():
                yield from closed(below, f"{path}.{key}")

    columns = [".definitions.matrix"]  # any variables
    assert list(closed(schemas.load(kind), "")) == (columns if kind == "Workflow" else [])


NATIVE = [path for path in EXAMPLES if path.name not in ("osmo.yaml", "pool.yaml")]
"""OSMO's form is a template, and tested where that is rendered."""


@pytest.mark.parametrize("path", NATIVE, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_examples_follow_their_schema(path: Path) -> None:
    data = load(path)
    if data.get("kind") in schemas.SCHEMAS:
        assert schemas.validate(data["kind"], data, "workflow") == ()


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value."""
    yield path
    if isinstance(data, dict):
        for key, below in data.items():
            yield from places(below, (*path, key))
    elif isinstance(data, list):
        for index, below in enumerate(data):
            yield from places(below, (*path, index))


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2**70),
    st.floats(),
    st.text(max_size=4),
    st.sampled_from(
        ["a", "a\n", "A", "", "1", "4", "a.b", "a" * 64, "-", "25.12", "é", "dra", "kai", "50%", [], {}, ["dra"]]
    ),
    st.sampled_from([["a", "a"], {"a": 1}, {"a": "b"}, {"cpu": "x"}, {"name": "a"}, [{"name": "a"}], 1.0, -1.0, "1\n"]),
)


@st.composite
def mutants(draw: st.DrawFn, base: Any) -> Any:
    """A valid document after at most three changes."""
    data = copy.deepcopy(base)
    for _ in range(draw(st.integers(0, 3))):
        path = draw(st.sampled_from([path for path in places(data) if path]))
        here = data
        for step in path[:-1]:
            here = here[step]
        action = draw(st.sampled_from(["set", "delete", "add"]))
        if action == "delete":
            del here[path[-1]]
        elif action == "add" and isinstance(here[path[-1]], dict):
            here[path[-1]][draw(st.text(max_size=3))] = copy.deepcopy(draw(ODD))
        elif action == "add" and isinstance(here[path[-1]], list):
            here[path[-1]].append(copy.deepcopy(draw(ODD)))
        else:
            here[path[-1]] = copy.deepcopy(draw(ODD))
        if not data:
            break
    return data


def judged_slowly(kind: str, data: Any) -> bool:
    return slow.accepts(schemas.load(kind), data)


@given(WORKFLOWS.map(native_workflow.write).flatmap(mutants))
@settings(max_examples=80, deadline=None)
def test_both_engines_agree_on_workflows(data: Any) -> None:
    assert schemas.accepts("Workflow", data) == judged_slowly("Workflow", data)


@given(topologies().map(native_topology.write).flatmap(mutants))
@settings(max_examples=80, deadline=None)
def test_both_engines_agree_on_topologies(data: Any) -> None:
    assert schemas.accepts("ClusterTopology", data) == judged_slowly("ClusterTopology", data)


@given(WORKFLOWS.map(native_workflow.write).flatmap(mutants))
@settings(max_examples=50, deadline=None)
def test_every_refusal_is_explained_where_it_is(data: Any) -> None:
    found = schemas.validate("Workflow", data, "workflow")
    assert bool(found) != schemas.accepts("Workflow", data)
    for each in found:
        assert each.code != "S210"
        assert each.message
        assert each.message.isprintable()
        here = data
        for step in [step for step in each.route[1:] if step != KEY]:
            here = here[step]


GANG = ("spec", "gangs", 0)
PODS = (*GANG, "groups", 0, "podSets", 0)


@pytest.mark.parametrize(
    ("path", "value", "code", "words", "hint"),
    [
        (("spec", "qeue"), "x", "S201", 'unknown key "qeue"', 'did you mean "queue"?'),
        (("spec", "colour"), "x", "S201", 'unknown key "colour"', "allowed keys:"),
        ((*GANG, "placement", "require"), "rack", "S201", 'unknown key "require"', 'did you mean "required"?'),
        ((*PODS, "replicas"), "16", "S202", 'found "16", expected an integer', "remove the quotes"),
        ((*PODS, "replicas"), 1.5, "S202", "found the number 1.5, expected an integer", ""),
        ((*PODS, "replicas"), True, "S202", "found true, expected an integer", ""),
        ((*PODS, "image"), None, "S202", "found null, expected a string", ""),
        ((*PODS, "command"), "torchrun", "S202", "expected a list", '["torchrun"]'),
        (
            (*PODS, "env", "A"),
            True,
            "S202",
            "expected a string, an integer or a mapping",
            "put it in quotes",
        ),
        ((*PODS, "env"), [], "S202", "found a list, expected a mapping", ""),
        ((*PODS, "resources", "cpu"), 0.5, "S202", "found the number 0.5", "put it in quotes"),
        ((*GANG, "workload"), "Jobset", "S206", 'found "Jobset", expected "auto"', 'did you mean "jobset"?'),
        (("apiVersion",), "v1", "S206", 'expected "bayplan.dev/v1alpha1"', ""),
        ((*GANG, "groups"), [], "S206", "found a list of 0, expected at least 1 entry", ""),
        ((*PODS, "replicas"), 0, "S206", "found the number 0, expected 1 or more", ""),
        ((*PODS, "replicas"), 10**9, "S206", "expected 1000000 or less", ""),
        ((*PODS, "ports"), {"metrics": 99999}, "S206", "expected 65535 or less", ""),
        ((*GANG, "name"), "", "S206", "expected at least 1 character", ""),
        ((*GANG, "name"), "x" * 64, "S206", "of 64, expected at most 63 characters", ""),
        ((*GANG, "name"), "Train", "S206", '"Train" is not a DNS label', ""),
        ((*GANG, "name"), "train\n", "S206", '"train\\n" is not a DNS label', ""),
        (("metadata", "name"), "9lives", "S206", "starts with a letter", ""),
        ((*PODS, "image"), "a b", "S206", "is not an image reference", ""),
        ((*GANG, "dependsOn"), ["a", "b", "a"], "S206", '"a" is listed twice', "remove one"),
    ],
)
def test_explanations_of_a_workflow(path: tuple[Any, ...], value: Any, code: str, words: str, hint: str) -> None:
    (found,) = schemas.validate("Workflow", changed(workflow_data(), path, value), "workflow")
    assert found.code == code
    assert words in found.message
    assert hint in found.hint
    assert found.route[: len(path) + 1] == ("workflow", *path)
    assert (found.route[-1] == KEY) == (code == "S201")


def test_a_bad_key_is_named_by_its_own_route() -> None:
    data = changed(workflow_data(), (*PODS, "env"), {"1A": "x"})
    (found,) = schemas.validate("Workflow", data, "workflow")
    assert found.route == ("workflow", *PODS, "env", "1A", KEY)


def test_a_bare_version_needs_quotes() -> None:
    data = changed(topology_data(), ("spec", "versions", "kai"), 0.1)
    (found,) = schemas.validate("ClusterTopology", data, "topology")
    assert (found.code, found.hint) == ("S202", "put it in quotes")


def test_all_errors_come_at_once() -> None:
    data = changed(changed(workflow_data(), (*PODS, "replicas"), 0), ("spec", "colour"), 1)
    del data["metadata"]["name"]
    found = schemas.validate("Workflow", data, "workflow")
    assert sorted(each.code for each in found) == ["S201", "S204", "S206"]


def test_another_kind_is_the_only_error() -> None:
    (found,) = schemas.validate("Workflow", topology_data(), "workflow")
    assert found.route == ("workflow", "kind")


@pytest.mark.parametrize("data", [None, [], "x", 1, True], ids=str)
def test_no_mapping_at_all(data: Any) -> None:
    (found,) = schemas.validate("Workflow", data, "workflow")
    assert (found.code, found.route) == ("S202", ("workflow",))


def test_keys_that_are_not_text() -> None:
    data = changed(workflow_data(), (*PODS, "env"), {1: "x", None: "y"})
    found = schemas.validate("Workflow", data, "workflow")
    assert [(each.code, each.route) for each in found] == [("S202", ("workflow", *PODS, "env"))] * 2
    assert "found the number 1 as a key, expected a string" in {each.message for each in found}


def test_bottomless_nesting() -> None:
    group: dict[str, Any] = {"name": "a"}
    for _ in range(sys.getrecursionlimit()):
        group = {"name": "a", "groups": [group]}
    data = changed(workflow_data(), GANG, group)
    (found,) = schemas.validate("Workflow", data, "workflow")
    assert found.code == "R103"


def test_too_many_errors_are_cut() -> None:
    data = changed(workflow_data(), (*PODS, "args"), [1] * 200)
    found = schemas.validate("Workflow", data, "workflow")
    assert len(found) == 101
    assert found[-1].code == "S209"


def test_a_refusal_without_a_reason_is_still_a_refusal() -> None:
    assert [each.code for each in explain({}, {}, "workflow")] == ["S210"]
    assert [each.code for each in explain({"not": {}}, {}, "workflow")] == ["S210"]


@pytest.mark.parametrize("key", ["minimum", "maximum"])
def test_a_range_refuses_a_number_that_python_does_not_write(key: str) -> None:
    far = 10**5000 if key == "maximum" else -(10**5000)
    (found,) = explain({key: 7}, far, "workflow")
    assert found.message.startswith("found the number with thousands of digits, expected 7 or ")
    for fits in (7, 7.0, True, "text", None, []):
        assert [each.code for each in explain({key: 7}, fits, "workflow")] == ["S210"]  # nothing is refused


def test_values_in_a_sentence() -> None:
    assert describe(10**5000) == "the number with thousands of digits"
    assert describe(object) == "a value of type type"
    assert describe("x" * 100) == '"' + "x" * 60 + '..."'
    assert describe({}) == "a mapping"


def test_no_reference_is_ever_fetched() -> None:
    whole = schemas.load("Workflow")
    judge = _Validator({"$ref": "http://127.0.0.1:9/x"}, registry=Registry())
    assert whole["$schema"].startswith("http")
    with pytest.raises(jsonschema.exceptions._WrappedReferencingError):
        list(judge.iter_errors({}))


NAMED = [(kind, text, word) for kind in KINDS for text, word in engine(kind).items() if isinstance(word, Word)]


@pytest.mark.parametrize(("kind", "text", "word"), NAMED, ids=[f"{kind} {text}" for kind, text, _ in NAMED])
def test_words_match_what_their_patterns_match(kind: str, text: str, word: Word) -> None:
    pattern = re.compile(text.replace("$", r"\Z"))

    @given(st.one_of(st.text("aZ0-._/:@+é\n", max_size=5), st.from_regex(pattern)))
    @settings(max_examples=50, deadline=None)
    def agree(each: str) -> None:
        assert bool(word.search(each)) == bool(pattern.search(each))

    agree()


@given(st.one_of(st.text("aZ0-.\n", max_size=6), st.from_regex(r"\A[a-z0-9.-]{250,256}\Z")))
def test_dns_subdomains(text: str) -> None:
    exact = re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", text)
    assert is_dns_subdomain(text) == bool(exact and len(text) <= 253)


@pytest.mark.parametrize("page", field_tables.PAGES, ids=lambda page: page.stem)
def test_the_documentation_lists_the_fields(page: Path) -> None:
    """`python tests/tools/refresh_docs.py` writes them."""
    text = page.read_text(encoding="utf-8")
    assert field_tables.filled(page, text) == text
    schema = json.loads(field_tables.PAGES[page].read_text(encoding="utf-8"))
    assert all(table in text for table in field_tables.tables(schema))


def test_a_field_of_a_table_has_its_type_and_default() -> None:
    unit = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string", "description": "Its name."}},
    }
    fields = {
        "size": {"type": "integer", "default": 2, "description": "How many."},
        "units": {"type": "array", "items": {"$ref": "#/definitions/unit"}, "description": "All | of them."},
        "k": (kind := {"type": "object", "properties": {"on": {"enum": ["a", "b"], "description": "One."}}}),
        "v": kind,
    }
    document, table = field_tables.tables({"properties": fields, "definitions": {"unit": unit}})
    assert document == field_tables.HEAD + (
        "| `size` | integer | How many. Default: `2`. |\n"
        "| `units` | list of [unit](#unit) | All \\| of them. |\n"
        "| `k.on`, `v.on` | `a`, `b` | One. |\n"
    )
    assert table == f"### unit\n\n{field_tables.HEAD}| `name` | string; required | Its name. |\n"
