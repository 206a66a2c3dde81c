"""YAML as OSMO's PyYAML reads it: the same data for whatever gives JSON-like data, and the same refusals."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bayplan.text import document
from bayplan.text.document import Span
from tools.effort import examples

WORDS = [
    "yes No on OFF true True TRUE y N null ~ Null NULL None",
    "0 7 010 0o10 0x1F 0b11 1_000 +5 -5 12:30 1:2:3 190:20:30.15 0x_ 09 9_9_9",
    "1.5 1. .5 1e3 1.0e3 1.0e+3 -.5 +.5 .inf -.INF .nan 1_0.5 6.8523015e+5 1e+3 .1e+2",
    "2024-01-31 2024-1-1 2024-01-31T10:20:30Z 2001-12-14t21:59:43.10-05:00 2024-13-01 20240131",
    "4Gi 1h30m 0-10,16 v1.2 = << a=b a:b http://x:1 !x @y `z %w",
]
SCALARS = [word for line in WORDS for word in line.split()]


class Osmo(yaml.SafeLoader):
    """The safe loader with the order of merges of PyYAML 6.0.3, which OSMO 6.4 pins. PyYAML 6.0.4 has another one."""

    def flatten_mapping(self, node: Any) -> None:
        """Puts the pairs of each `<<` before the other pairs, in the order in which a later one wins."""
        merged, others = [], []
        for key, value in node.value:
            if key.tag == "tag:yaml.org,2002:value":
                key.tag = "tag:yaml.org,2002:str"
            if key.tag != "tag:yaml.org,2002:merge":
                others.append((key, value))
                continue
            for part in value.value[::-1] if isinstance(value, yaml.SequenceNode) else [value]:
                if not isinstance(part, yaml.MappingNode):
                    raise yaml.YAMLError("a merge of what is no mapping")
                self.flatten_mapping(part)
                merged += part.value
        if merged:
            node.merge = merged
            node.value = merged + others
        else:
            node.value = others


def pyyaml(text: str) -> Any:
    """What OSMO's safe_load gives, or the exception."""
    try:
        return yaml.load(text, Osmo)
    except (yaml.YAMLError, ValueError, TypeError) as problem:
        return problem


def ours(text: str) -> Any:
    """What `document.load` gives; None where it has errors."""
    found = document.load(text, "workflow", "R110")
    return None if found.value is None else (found.value[0] if found.value else None)


@pytest.mark.parametrize("word", SCALARS)
@pytest.mark.parametrize("form", ["a: {}\n", "- {}\n", "{}: b\n", "'{}'\n", "a: [{}, 1]\n", "a: !!str {}\n"])
def test_a_scalar(word: str, form: str) -> None:
    text = form.format(word)
    wanted, got = pyyaml(text), document.load(text, "workflow", "R110")
    if isinstance(wanted, Exception):
        assert got.value is None
    else:
        assert got.value is not None, got.diagnostics
        assert repr(got.value[0]) == repr(wanted)


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\na: 2\n",
        "a: {b: 1}\nc: 3\na: {d: 2}\n",
        "1: a\ntrue: b\n",
        "a: &x {b: 1, c: 2}\nd: {<<: *x, b: 3}\n",
        "a: &x {b: 1, c: 2}\nd: {b: 3, <<: *x}\n",
        "a: &x {b: 1}\ne: &y {b: 2, c: 3}\nd: {<<: [*x, *y]}\n",
        "a: &x {b: 1}\ne: &y {b: 2, c: 3}\nd: {<<: *x, <<: *y, f: 1}\n",
        "a: &x {b: 1}\nd:\n  <<:\n    b: 2\n    c: 3\n  <<: *x\n",
        "d: {<<: {a: 1}, '<<': 2}\n",
        "a: !!int '3'\nb: !!float 3\nc: !!bool 'yes'\nd: !!null ''\ne: !!str 5\n",
        "a: ! 5\n",
        "a: !!timestamp '2024-01-31'\n",
        "a: !!binary aGk=\n",
        "a: !!map {b: 1}\nc: !!seq [1]\n",
        "a: |\n  x\n  y\nb: >-\n  x\n  y\n",
        "? a\n: b\n",
        "a: &x 1\n*x : b\n",
        "a: &x y\n*x : b\n",
        "",
        "# note\n",
        "a:\n- 1\n-  2\n",
        "a: |\n  x\ty\n  \tz\n",
        "\ufeffa: 1\n\ufeffb: 2\n",
        "a: 'x\ty' #\tc\n#\td\n",
        "a: 'it''s'\nb: \"\\x41\\u00e9\"\n",
    ],
)
def test_a_text(text: str) -> None:
    assert repr(ours(text)) == repr(pyyaml(text))


LEAVES = st.sampled_from(SCALARS) | st.integers().map(str) | st.floats().map(str) | st.text("ab 0.:-_'", max_size=6)


def _yaml(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.tuples(st.sampled_from(["a", "b", "c", "1", "on", "~", "<<", "2024-01-01"]), inner)
    flow = st.lists(pairs, max_size=4).map(lambda kv: "{" + ", ".join(f"{k}: {v}" for k, v in kv) + "}")
    return flow | st.lists(inner, max_size=4).map(lambda items: "[" + ", ".join(items) + "]")


@settings(max_examples=examples(150, 1500), deadline=None)
@given(st.recursive(LEAVES, _yaml, max_leaves=12))
@example("{a: {<<: {b: 1}, b: 2}, a: {<<: [{c: 1}, {c: 2}]}}")
@example("{a: {}, <<: {a: yes}, <<: {b: yes}}")
@example("{<<: {a: 1, b: 1}, c: 2, <<: {b: 2, d: 2}, a: 3}")
def test_random_flow_yaml(text: str) -> None:
    text = f"top: {text}\n"
    wanted, got = pyyaml(text), document.load(text, "workflow", "R110")
    if isinstance(wanted, Exception):
        assert got.value is None
    else:
        assert got.value is not None, got.diagnostics
        assert repr(got.value[0]) == repr(wanted)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a: [1\n", "R107"),
        ("a: \t5\n", "R107"),
        ("a: 5\t# c\n", "R107"),
        ("a: b\tc\n", "R107"),
        ("a: 1\n\ufeff\nb: 2\n", "R107"),
        ("a: 1\n\t\nb: 2\n", "R107"),
        ("\ta: 1\n", "R107"),
        ("a:\n\t- 1\n", "R107"),
        ("a: *x\n", "R116"),
        ("a: &x [*x]\n", "R116"),
        ("a: !mine b\n", "R111"),
        ("a: !!python/object:os.system x\n", "R111"),
        ("a: =\n", "R111"),
        ("a: 2024-13-01\n", "R111"),
        ("{a: 1}: b\n", "R112"),
        ("a: {{output}}\n", "R112"),
        ("<<: 1\n", "R116"),
        ("a: " + "[" * 200 + "]" * 200, "R103"),
        ("a: \x01\n", "R104"),
    ],
)
def test_a_refusal(text: str, code: str) -> None:
    found = document.load(text, "workflow", "R110")
    assert found.value is None
    assert [each.code for each in found.diagnostics] == [code]


def test_a_key_given_twice_is_a_warning_with_both_places() -> None:
    (found,) = document.load("a: 1\nb: {c: 1, c: 2}\n", "workflow", "R110").diagnostics
    assert (found.code, found.severity, found.route[2:]) == ("R110", "warning", (2, 11))
    assert [note.route[2:] for note in found.notes] == [(2, 5)]


@pytest.mark.parametrize(
    ("text", "path", "place"),
    [
        ("a: 1\na: 2\n", ("a",), (2, 4)),
        ("a: {b: 1}\nc: 2\na: {b: 3}\n", ("a", "b"), (3, 8)),
        ("on: 1\n", ("True",), (1, 5)),
        ("0x10: 1\n", ("16",), (1, 7)),
        ("~: 1\n", ("None",), (1, 4)),
        ("2024-01-01: 1\n", ("2024-01-01",), (1, 13)),
        ("a: &x {b: 1}\nc: {<<: *x}\n", ("c", "b"), (1, 11)),
    ],
)
def test_places_follow_the_same_keys(text: str, path: tuple[str, ...], place: tuple[int, int]) -> None:
    found = document.locate_all(text, [(0, path)], loaded=True)[0, path]
    assert isinstance(found, Span)
    assert (found.line, found.column) == place
