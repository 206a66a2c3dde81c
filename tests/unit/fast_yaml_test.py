"""What is read without a parser is what the parser reads."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from patch_test import DOCUMENTS, STYLES

from bayplan.text import document, fast_yaml, scalars, yaml

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]

TOKENS = [
    *(
        "a",
        "b1",
        "kind",
        "key:",
        "key: ",
        '"q": ',
        "'s': ",
        "- ",
        "-",
        "--",
        "---",
        "--- ",
        "...",
        ":",
        ": ",
        " :",
        "#",
    ),
    *(" # c", "1", "1.5", "-3", "yes", "null", "~", "on: ", "1: ", "x y", "a:b", "a#b", '"q r"', "'s t'", '"', "'"),
    *('"\\n"', "''", "|", "|-", ">", "|+", "|2", "[]", "{}", "[a, b]", "{a: b}", "{a: [1, 2]}", "[", "}", "{{ x }}"),
    *("&x ", "*x", "!t ", "<<: ", "? ", "%Y", "@", "`", ",", "=", "\t", " ", "  ", "    ", "\n", "\n", "\n", "\n  "),
    *("\n    ", "\n- ", "\n  - ", "\n\n", "\r\n", "é", "$(X)", "nvidia.com/gpu: 8", "2024-01-01", "0755", "12:30"),
    *("1e3", "64Gi", "<<", "key", "word: word\n", "- word\n"),
]


def parsed(text: str, own: bool) -> list[Any] | None:
    """What the parser reads; None where it has anything to say."""
    return answer(text, own, fast=False)


def answer(text: str, own: bool, *, fast: bool) -> list[Any] | None:
    rules = scalars.rules_for(own)
    try:
        if fast:
            return fast_yaml.documents(text, rules.values, rules.keys, lambda piece: yaml.read_flawless(piece, rules))
        return yaml.read_flawless(text, rules)
    except ValueError:
        return None


def agree(text: str) -> bool:
    """Whether both read the same, if there is an answer without the parser; and whether there is."""
    for own in (True, False):
        found = answer(text, own, fast=True)
        if found is not None:
            assert json.dumps(found) == json.dumps(parsed(text, own)), text
    return found is not None


@settings(max_examples=1500, derandomize=True, deadline=None, suppress_health_check=SLOW)
@given(st.lists(st.sampled_from(TOKENS), max_size=14).map("".join))
@example("a: |\n  x\n\n  \n\nb: 1\n")
@example("a: |\n\n    x\n   y\n")
@example("a:\n- b:\n  - c\n  d: |-\n    e\n- f\n")
@example("---#c\n")
@example("--- # c\n- - a\n  - b\n-\n  c: 1\n---\n---\n# d\n")
@example("a: b\n  c\n")
@example("a:\n  b: 1\n c: 2\n")
@example("- a\nb: 1\n")
@example("a: {b: 1}: [x]\n")
def test_any_text(text: str) -> None:
    agree(f"{text}\n")


@settings(max_examples=300, derandomize=True, deadline=None, suppress_health_check=SLOW)
@given(st.lists(st.tuples(st.sampled_from(sorted(STYLES)), DOCUMENTS), min_size=1, max_size=3))
def test_any_documents(written: list[tuple[str, Any]]) -> None:
    agree("---\n".join(f"{STYLES[style](data)}\n".replace("\n---\n", "\n") for style, data in written))


LINES = st.sampled_from(
    [
        "a: 1",
        "b:",
        "- c",
        "- d: e",
        "-",
        "- - f",
        "g: |",
        "some words",
        "# n",
        "",
        "h: [i, {j: k}]",
        "l: 'm'",
        "  ",
        "-  n: o",
    ]
)


@settings(max_examples=1500, derandomize=True, deadline=None, suppress_health_check=SLOW)
@given(st.lists(st.tuples(st.integers(0, 4), LINES), max_size=9))
def test_any_indentation(lines: list[tuple[int, str]]) -> None:
    agree("".join(f"{' ' * pad}{line}\n" for pad, line in lines))


@pytest.mark.parametrize("style", ["emit", "marked", "wide", "pyyaml"])
def test_what_is_common_is_understood(style: str) -> None:
    data = {"kind": "Pod", "spec": {"containers": [{"name": "a", "args": ["x y", "two\nlines\n"], "env": []}], "n": 1}}
    assert agree(STYLES[style](data))


def test_long_texts_are_read_so() -> None:
    text = "".join(f"---\nkind: Pod\nname: p{number}\nodd: 'it''s'\n" for number in range(1000))
    found = document.read("", text.encode(), "manifest", own=False).value
    assert found is not None
    assert [each.data["name"] for each in found] == [f"p{number}" for number in range(1000)]
    assert [found[7].data, found[7].index] == [{"kind": "Pod", "name": "p7", "odd": "it's"}, 7]
    broken = document.read("", f"{text}---\na: [\n".encode(), "manifest", own=False)
    assert [each.code for each in broken.diagnostics] == ["R107"]


def calls(text: str, own: bool = False) -> tuple[bool, int]:
    """Whether a text is read by lines, and how often the parser is asked for parts of it."""
    rules, asked = scalars.rules_for(own), list[str]()

    def parse(piece: str) -> list[Any]:
        asked.append(piece)
        return yaml.read_flawless(piece, rules)

    understood = fast_yaml.documents(text, rules.values, rules.keys, parse) is not None
    return understood, len(asked)


POD = "---\nkind: Pod\nmetadata: {name: p%d}\nspec:\n  containers:\n%s"
CONTAINER = "  - image: nvcr.io/nvidia/pytorch:25.08-py3\n    command: [torchrun, train.py]\n" * 6


ODD = POD.replace("name: p%d", 'name: "p%d"').replace("}", ', tab: "\\\\t"}')


def test_an_unusual_flow_collection_is_parsed_once() -> None:
    assert calls("".join(ODD.replace("%d", "") % CONTAINER for _ in range(100))) == (True, 1)


def test_what_is_read_by_lines_earns_calls_of_the_parser() -> None:
    assert calls("".join(ODD % (number, CONTAINER) for number in range(100))) == (True, 100)


ROW = '  - {path: s%d/r%d, nodes: "r%d-n[01-18]"%s}\n'


def test_rows_in_flow_style_need_no_parser() -> None:
    """A topology file: no two rows are alike."""
    rows = "".join(ROW % (n // 16, n, n, "") for n in range(3000))
    assert calls(f"spec:\n  domains:\n{rows}", own=True) == (True, 0)


def test_unusual_rows_in_flow_style_are_left_to_the_parser_at_once() -> None:
    rows = "".join(ROW % (n // 16, n, n, ', tab: "\\t"') for n in range(1000))
    understood, asked = calls(f"spec:\n  domains:\n{rows}", own=True)
    assert not understood
    assert asked < 15


FLOW = [
    *(
        "a",
        "b",
        "key",
        "1",
        "1.5",
        "-3",
        "--flag",
        "-",
        "yes",
        "null",
        "~",
        "x y",
        "a:b",
        "http://x",
        "a::b",
        "a?",
        "?",
    ),
    *(
        '"q r"',
        "'s t'",
        "'it''s'",
        '"\\n"',
        "''",
        '"',
        "'",
        "<<",
        "0755",
        "12:30",
        "1e3",
        "64Gi",
        "nvidia.com/gpu",
        "=",
        "x-",
    ),
    *(
        "&x ",
        "*x",
        "!t ",
        "@",
        "`",
        "%",
        "|",
        ">",
        "#",
        " #",
        "\\",
        "$(X)",
        "{{ x }}",
        "{{",
        ".",
        "...",
        "---",
        "!",
        "a&b",
    ),
    *(
        ": ",
        ":",
        ": ",
        ": ",
        " : ",
        ", ",
        ",",
        ", ",
        " ,",
        " ",
        "  ",
        "\t",
        "[",
        "]",
        "{",
        "}",
        "[]",
        "{}",
        "k: ",
        "l: ",
    ),
]


@settings(max_examples=4000, derandomize=True, deadline=None, suppress_health_check=SLOW)
@given(st.sampled_from(["[]", "{}"]), st.lists(st.sampled_from(FLOW), max_size=9).map("".join))
@example("{}", "a: b: c")
@example("[]", "a, , b")
@example("{}", "a: 1, a: 2")
@example("{}", '"a":b')
@example("[]", "a: b")
@example("{}", "a: [b}")
@example("[]", "a], [b")
@example("{}", "a: [b, {c: d}], e: []")
def test_any_flow_collection(brackets: str, inside: str) -> None:
    text = f"{brackets[0]}{inside}{brackets[1]}"
    agree(f"k: {text}\n")
    for own in (True, False):
        rules = scalars.rules_for(own)
        found = fast_yaml.flow(text, rules.values, rules.keys)
        if found is not None:
            assert json.dumps(found) == json.dumps((parsed(f"{text}\n", own) or [None])[0]), text


NESTED = st.recursive(
    st.sampled_from(
        ["a", "x y", "1", "-3", "--flag=1", "null", '"q, r"', "'s: t'", "http://x:80/y", "64Gi", "[]", "{}"]
    ),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4).map(lambda items: f"[{', '.join(items)}]"),
        st.dictionaries(st.sampled_from(["a", "b-c", '"d e"', "'f'", "g/h"]), inner, min_size=1, max_size=4).map(
            lambda pairs: f"{{{', '.join(f'{key}: {value}' for key, value in pairs.items())}}}"
        ),
    ),
    max_leaves=12,
)


@settings(max_examples=1000, derandomize=True, deadline=None, suppress_health_check=SLOW)
@given(NESTED)
def test_usual_flow_collections_are_understood(text: str) -> None:
    if text[0] in "[{":
        rules = scalars.rules_for(True)
        found = fast_yaml.flow(text, rules.values, rules.keys)
        assert json.dumps([found]) == json.dumps(parsed(f"{text}\n", True))


def test_documents_with_escapes_are_left_to_the_parser_soon() -> None:
    understood, asked = calls("".join(f'---\nkind: Pod\nname: "p\\t{n}"\n' for n in range(1000)))
    assert not understood
    assert asked < 15


@pytest.mark.parametrize("line", ["- -1", "- - -1", "a: -1", "-  - b", "- -", "- -x: 1"])
def test_dashes_and_negative_numbers(line: str) -> None:
    agree(f"k:\n{line}\n" if line[0] == "-" else f"{line}\n")


@pytest.mark.parametrize("start", ["", "a:", "a: ", "a: [", "- ", "a: b"])
@pytest.mark.parametrize("run", [" ", "- ", "[ ", " ]", " #", "x ", "a", "'", '"', ":", "{"])
def test_long_runs_do_not_hang(start: str, run: str) -> None:
    """A line of one repeated word took the cube of its length. The alarm ends a test that hangs."""
    signal.setitimer(signal.ITIMER_REAL, 10)
    try:
        calls(f"a:\n{start}{run * 20_000}!x\n")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
