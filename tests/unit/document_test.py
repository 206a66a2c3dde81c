"""Reading: hostile bytes, the scalars that readers disagree on, places."""

from __future__ import annotations

import json
import re
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ruamel.yaml
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bayplan.core.diagnostics import AT, KEY, Diagnostic
from bayplan.report.codes import page
from bayplan.text import source
from bayplan.text import yaml as yaml_text
from bayplan.text.document import Span, locate, locate_all, read
from bayplan.text.scalars import Memo, Rules, foreign_key, foreign_value, kubectl, own_value
from tools.data import parse
from tools.effort import LONG

COVERS = {"R103", "R157", "R158", "R160", "R162"}
CASES = sorted((Path(__file__).parents[1] / "cases").glob("R1[01]*"))
"""Cases of texts that are no YAML or JSON."""


def load(text: str | bytes, own: bool = True, name: str = "f.yaml") -> Any:
    """The data of the only document."""
    found = read(name, text.encode() if isinstance(text, str) else text, "workflow", own=own)
    assert found.value is not None, found.diagnostics
    (document,) = found.value
    assert found.diagnostics == ()
    return document.data


def wrong(text: str | bytes, own: bool = True, name: str = "f.yaml") -> tuple[Diagnostic, ...]:
    """What is wrong with a text that cannot be read."""
    found = read(name, text.encode() if isinstance(text, str) else text, "workflow", own=own)
    assert found.value is None
    assert found.diagnostics
    assert all(each.severity == "error" and each.route[:2] == ("workflow", AT) for each in found.diagnostics)
    return found.diagnostics


def places(text: str | bytes, own: bool = True, name: str = "f.yaml") -> list[tuple[str, Any, Any]]:
    """Code, line and column of everything that is wrong."""
    return [(each.code, each.route[2], each.route[3]) for each in wrong(text, own, name)]


def texts() -> Iterator[tuple[str, Path]]:
    """The cases of one text: no file that cannot be read, no standard input, and no OSMO workflow."""
    for case in CASES:
        file = next((path for path in case.iterdir() if path.name != "command"), None)
        if file is None or case.name < "R104" or (case / "stdin").exists():
            continue
        if "osmo" not in case.name and not file.read_bytes().startswith(b"workflow:"):
            yield case.name, file


@pytest.mark.parametrize(("case", "file"), list(texts()), ids=lambda value: value if isinstance(value, str) else "")
def test_a_case_has_its_code_and_no_other(case: str, file: Path) -> None:
    assert {code for code, *_ in places(file.read_bytes(), name=file.name)} == {case[:4]}


def test_every_code_of_reading_has_a_case() -> None:
    assert {case.name[:4] for case in CASES} | COVERS | {"R101"} >= page("r.md").keys()


PLAIN = [
    ("a: 1", {"a": 1}),
    (
        "a:\n- b: c\n  d: [1.5, true, null, '2', ~, False]\n- |\n  x\n   y\n",
        {"a": [{"b": "c", "d": [1.5, True, None, "2", None, False]}, "x\n y\n"]},
    ),
    ('{"a": [1, 2.5, "x\\u00e9", {"b": null}]}', {"a": [1, 2.5, "xé", {"b": None}]}),
    ("{a: b, c: [d]}", {"a": "b", "c": ["d"]}),
    ("[1, 2,]", [1, 2]),
    ("a: &x {b: 1}\nc: *x\n", {"a": {"b": 1}, "c": {"b": 1}}),
    ("a: &x y1\n*x : 2\n", {"a": "y1", "y1": 2}),
    ("a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\n", {"a": {"b": 1, "c": 2}, "d": {"b": 1, "c": 3}}),
    (
        "a: &x {b: 1}\ne: &y {b: 2, c: 2}\nd: {<<: [*x, *y], f: 3}\n",
        {"a": {"b": 1}, "e": {"b": 2, "c": 2}, "d": {"b": 1, "c": 2, "f": 3}},
    ),
    ("a: &x 1\nb: &x 2\nc: *x\n", {"a": 1, "b": 2, "c": 2}),
    ("a: &x [&x 1, *x]\nc: *x", {"a": [1, 1], "c": 1}),
    ('"<<": 1', {"<<": 1}),
    (
        "a: !!str 1\nb: !!int '2'\nc: !!float 3\nd: !!bool true\ne: !!null ~\nf: !!map {}\ng: !!seq []",
        {"a": "1", "b": 2, "c": 3, "d": True, "e": None, "f": {}, "g": []},
    ),
    ("a: ! 1", {"a": "1"}),
    ("a: 'x ! y'\nb: ! 2", {"a": "x ! y", "b": "2"}),
    ("a: 4.0\nb: 1.34", {"a": 4, "b": 1.34}),
    ('a: "\\0\\x01\\ud7ff\\U0001F600"', {"a": "\0\x01\ud7ff😀"}),
    ("a: 🚀 é\n", {"a": "🚀 é"}),
    ("a:\r\n- b\r\n- c\r\n", {"a": ["b", "c"]}),
    ("plain", "plain"),
    ('\n \n{\n\t"a": 1}', {"a": 1}),
    (
        "a: 0x1F\nb: +1\nc: -5\nd: 0\ne: 10.0.0.1\nf: 5b1e.1\ng: 480Gi\nh: '' \ni:",
        {"a": 31, "b": 1, "c": -5, "d": 0, "e": "10.0.0.1", "f": "5b1e.1", "g": "480Gi", "h": "", "i": None},
    ),
]


@pytest.mark.parametrize(("text", "data"), PLAIN, ids=[text[:30] for text, _ in PLAIN])
def test_texts_are_read(text: str, data: Any) -> None:
    assert load(text) == data
    assert load(text, own=False) == data
    assert load(b"\xef\xbb\xbf" + text.encode()) == data
    assert load(b"\xff\xfe" + text.encode("utf-16-le")) == data
    assert load(b"\xfe\xff" + text.encode("utf-16-be")) == data


@pytest.mark.parametrize("text", [text for text, _ in PLAIN if "\t" not in text])
def test_the_pure_parser_reads_the_same(text: str) -> None:
    rules = Rules(Memo(own_value), Memo(foreign_key), True)
    trees = [
        list(yaml_text.documents(yaml_text.events(text, pure=pure), rules, source.Errors("w", text))) for pure in (0, 1)
    ]
    assert trees[0] == trees[1]


def test_documents_are_numbered_with_the_empty_ones() -> None:
    found = read("f.yaml", b"# comment\n---\na: 1\n---\n---\nnull\n---\nb: 2\n...\n", "manifest")
    assert found.value is not None
    assert [(each.index, each.data) for each in found.value] == [(0, {"a": 1}), (3, {"b": 2})]
    assert {(each.name, each.text) for each in found.value} == {
        ("f.yaml", "# comment\n---\na: 1\n---\n---\nnull\n---\nb: 2\n...\n")
    }


WRONG = [
    ("", [("R106", 1, 1)]),
    ("# only\n--- \n~\n", [("R106", 1, 1)]),
    (b"\xff\xfe\0\0a\0\0\0", [("R104", 1, 1)]),
    (b"a: 1\nb: \xc3\xa9\xff", [("R104", 2, 5)]),
    (b"\xff\xfea\0\0", [("R104", 1, 2)]),
    (b"a\0:\0", [("R104", 1, 2)]),
    ("a: b\x7f", [("R104", 1, 5)]),
    ("é: \x9f", [("R104", 1, 4)]),
    ("a: \ufffe", [("R104", 1, 4)]),
    ("a: x\u2028y", [("R104", 1, 5)]),
    ("a: 1\n\ufeffb: 2", [("R104", 2, 1)]),
    ("a: b: c", [("R107", 1, 5)]),
    ("a: {b: 1\nc: 2", [("R107", 2, 2)]),
    ("a: 'b\n", [("R107", 2, 1)]),
    ("a: @b\n", [("R107", 1, 4)]),
    ("a:\n\tb: 1\n", [("R107", 2, 1)]),
    ("a:\n  b: 1\n\tc: 2\n", [("R107", 3, 1)]),
    ('{"a": 1\n "b": 2}', [("R107", 2, 5)]),
    ('{"a": 1} {"b": 2}', [("R107", 1, 10)]),
    ("a: 1\nb:\n  c: 1\n  c: 2\na: 3\n'a': 4\n", [("R110", 4, 3), ("R110", 5, 1), ("R110", 6, 1)]),
    ('{"a": 1,\n "b": {"c": 1, "c": 2}, "a": 1}', [("R110", 2, 16), ("R110", 2, 25)]),
    ("<<: {a: 1}\n<<: {b: 1}", [("R110", 2, 1)]),
    (
        "a: [y, no, 012]\nb: 1_0\non: x",
        [("R111", 1, 5), ("R111", 1, 8), ("R111", 1, 12), ("R111", 2, 4), ("R111", 3, 1)],
    ),
    ("1: a\ntrue: b\n~: c\n? \n: d", [("R112", 1, 1), ("R112", 2, 1), ("R112", 3, 1), ("R112", 4, 2)]),
    ("{a: 1}: 2", [("R112", 1, 1)]),
    ("a: {{ .Values.b }}", [("R107", 1, 4)]),
    ("a: &x [1]\n*x : 2", [("R112", 2, 1)]),
    ("a: !b c\nd: !e [f]\ng: !!set {h}\ni: !!int j\nk: !!binary aGk=", [("R111", n, 4) for n in range(1, 6)]),
    (
        "a: .inf\nb: -.Inf\nc: .NaN\nd: 99999999999999999999\ne: 0xffffffffffffffffffff",
        [("R111", n, 4) for n in range(1, 6)],
    ),
    ("[NaN, 1e999, -Infinity, Infinity]", [("R111", 1, 2), ("R111", 1, 7), ("R111", 1, 14), ("R111", 1, 25)]),
    ("a: *b", [("R116", 1, 4)]),
    ("a: &b [*b]", [("R116", 1, 8)]),
    ("a: &b 1\n---\na: *b", [("R116", 3, 4)]),
    ('["\\ud83d", "\\ude00x", "\\ud83d\\ude00"]', [("R104", 1, 2), ("R104", 1, 12)]),
    ("<<: 3", [("R116", 1, 5)]),
    ("<<: [{}, 3]", [("R116", 1, 5)]),
    ("a: &x {b: 1}\nc: {b: 2, <<: *x}", [("R116", 2, 15)]),
]


@pytest.mark.parametrize(("text", "expected"), WRONG, ids=[repr(text)[:40] for text, _ in WRONG])
def test_all_that_is_wrong_is_found_at_its_place(text: str | bytes, expected: list[tuple[str, int, int]]) -> None:
    assert places(text) == expected


@pytest.mark.parametrize(
    ("text", "data"),
    [
        (
            "a: [y, NO, 012, 1_0, 0o7, 12:30, 2024-01-01, =, <<]",
            [True, False, 10, 10, 7, "12:30", "2024-01-01", "=", "<<"],
        ),
        ("a: [1e3, 1.0, 1e400, 99999999999999999999999, .5_0, ._5]", [1000, 1, "1e400", 1e23, 0.5, "._5"]),
        ("a: 'x\u2028y'", "x\u2028y"),
        ("n: 1\na: 2", 2),
        ("<<: {a: 2}\na: 1", 1),
        ("{a: 1, <<: {a: 2}}", 2),
    ],
)
def test_foreign_files_are_read_as_kubectl_does(text: str, data: Any) -> None:
    assert load(text, own=False)["a"] == data


def test_foreign_keys_become_texts_as_in_kubectl() -> None:
    assert load("1: a\nyes: b\n010: c\n2024-01-01: d", own=False) == {
        "1": "a",
        "true": "b",
        "8": "c",
        "2024-01-01": "d",
    }
    assert places("1.5: a\n~: b\n1: c\n'1': d", own=False) == [("R112", 1, 1), ("R112", 2, 1), ("R110", 4, 1)]


def test_messages_and_hints_say_what_to_do() -> None:
    (norway,) = wrong("a: NO")
    assert '"NO"' in norway.message
    assert norway.hint == 'write "NO" in quotes for the string, or false for the boolean'
    assert wrong("a: 0777")[0].hint == 'write "0777" in quotes for the string, or 511 for the number'
    assert wrong("a: 12:30")[0].hint == 'write "12:30" in quotes for the string'
    (twice,) = wrong("a: 1\nb: 2\na: 3")
    assert twice.notes[0].route == ("workflow", AT, 1, 1)
    assert "template" in wrong("a: {{ .Values.b }}")[0].message
    assert "UTF-16" in wrong("a: 1".encode("utf-16-le"))[0].hint
    assert wrong('{"a": 1,', name="f.json")[0].code == "R107"
    assert "not JSON" in wrong('{"a": 1,')[0].notes[-1].message


def test_a_text_is_given_up_after_many_errors() -> None:
    found = wrong("- on\n" * 5000)
    assert len(found) == source.Limits().findings
    assert "stopped" in found[-1].notes[-1].message


def test_too_large_a_text() -> None:
    with source.limited(source.Limits(bytes=10)):
        assert places("a: 12345678") == [("R103", 1, 1)]


@pytest.mark.parametrize(
    ("text", "values", "place"),
    [
        ("a: 1\nb: [2, 3]\n", 8, (2, 8)),
        ("- - a\n  - b\n- ? c\n", 8, (4, 1)),
        ("[a: b, c: d]", 8, (1, 11)),
        ("---\n---\n---\n---\n", 8, (5, 1)),
        ("- a\n-\n", 4, (2, 2)),
        ("- &x a\n- *x\n", 5, (2, 3)),  # documents and anchors count too
        ("a:\r  b:\r    c: 1", 8, (3, 8)),
        ("a: 1\r\nb: 2\r\n", 6, (2, 4)),
        ('{"a": [1, "x,y", {}]}', 7, (1, 18)),
        ('["a\\"", "b:[", [[]]]', 6, (1, 17)),
        ("[1.5e-3, -2, true, null]", 6, (1, 20)),
        ("['a, b', c]", 4, (1, 10)),  # YAML that begins like JSON
        ("a:\n# b: c\n- 'd: [e, f]'\n", 5, (3, 3)),
    ],
)
def test_a_text_with_too_many_values(text: str, values: int, place: tuple[int, int]) -> None:
    """The limit is exact, and the error is at the first value above it."""
    with source.limited(source.Limits(values=values)):
        assert "R157" not in [each.code for each in read("f.yaml", text.encode(), "workflow", own=False).diagnostics]
    with source.limited(source.Limits(values=values - 1)):
        assert places(text, own=False) == [("R157", *place)]


@pytest.mark.parametrize(
    "text", ["", "a", "\n", "a\nb", "a\r\nb\r\rc\n\nd", "\r\n" * 40_000, "a\r" * 40_000, "b" * 40_000]
)
def test_lines_and_columns(text: str) -> None:
    """The places of all line ends, in a text of several blocks."""
    lines, starts = source.Lines(text), [0, *(end.end() for end in re.finditer(r"\r\n?|\n", text))]
    texts = re.split(r"\r\n?|\n", text)
    for number in {*range(10), *range(8180, 8200), *range(len(starts) - 5, len(starts) + 5)} & {*range(len(starts))}:
        assert lines.at(starts[number]) == (number + 1, 1)
        assert lines.at(starts[number] + len(texts[number])) == (number + 1, len(texts[number]) + 1)
        assert lines.line(number + 1) == texts[number]
    assert lines.line(len(texts) + 1) == ""


DEEP = 10_000
HOSTILE = {
    "brackets": ("[" * DEEP + "]" * DEEP, "R103"),
    "open brackets": ("[" * DEEP, "R103"),
    "braces": ('{"a":' * DEEP + "1" + "}" * DEEP, "R103"),
    "braces in YAML": ("{a: " * DEEP, "R103"),
    "dashes": ("- " * DEEP + "x", "R103"),
    "a hundred and one": ("[" * 101 + "]" * 101, "R103"),
    "block mappings": ("".join(" " * n + "a:\n" for n in range(1000)), "R103"),
    "aliases in depth": ("a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 110)), "R103"),
    "bomb": (
        "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"{q}: &{q} [{','.join([f'*{p} '] * 10)}]\n" for p, q in zip("abcdefgh", "bcdefghi", strict=True)),
        "R103",
    ),
    "merge bomb": (
        "a0: &a0 {k0: 1}\n" + "".join(f"a{n}: &a{n} {{<<: *a{n - 1}, k{n}: 1}}\n" for n in range(1, 2000)),
        "R103",
    ),
    "question marks": ("? " * DEEP, "R112"),
    "huge integer": ("a: " + "9" * 100_000, "R111"),
    "huge integer in JSON": ('{"a": ' + "9" * 100_000 + "}", "R111"),
    "duplicate keys": ("a: 1\n" * 100_000, "R110"),
    "duplicate keys in JSON": ("{" + '"a": 1,\n' * 100_000 + '"a": 1}', "R110"),
    "huge documents": ("---\na: 1\n" * 50_000 + "---\na: *b", "R116"),
    "huge underscores": ("- 1" + "_" * 100_000 + "x\n- *b", "R116"),
    "huge numbers": ("- 1" + "1_.e+:" * 50_000 + "x\n- *b", "R116"),
    "huge dates": ("- 2001-1-1" + " " * 100_000 + "x\n- *b", "R116"),
    "deep where nothing is wanted": ("z: " + "{b: " * 100_000, "R103"),
    "a long quote": ('{"a": "' + "\\\\" * 100_000, "R107"),
}


@pytest.mark.parametrize(
    ("own", "name"),
    [(own, name) for number, name in enumerate(HOSTILE) for own in (True, False) if LONG or own == bool(number % 2)],
)
def test_hostile_texts_end_soon_in_a_diagnostic(name: str, own: bool) -> None:
    text, code = HOSTILE[name]
    begun = time.process_time()
    if not own and name == "huge integer":
        assert isinstance(load(text, own)["a"], str)  # kubectl: neither an integer nor a float
    else:
        assert wrong(text, own)[0].code == code
    locate_all(text, [(0, ("a", 0, "b")), (3, ())])
    assert time.process_time() - begun < 5


def test_a_hundred_levels_are_fine() -> None:
    assert load("[" * 100 + "]" * 100) == json.loads("[" * 100 + "]" * 100)
    assert load("{a: " * 100 + "1" + "}" * 100)["a"]


numbers = st.text(alphabet="0123456789+-._eExXobB:", min_size=1, max_size=8)
WORDS = """
y Y yes Yes YES n no on Off oFF true True TRUE tRUE null Null ~ = <<
 .inf .NaN 2024-01-01 2001-1-1 2001-12-14t21:59:43.10-05:00 1:20 1:60
"""
words = st.sampled_from(WORDS.split())


def version_1_1(text: str) -> Any:
    """What YAML 1.1 makes of a plain scalar, by PyYAML."""
    try:
        return parse("- " + text)[0]
    except (yaml.YAMLError, ValueError):
        return "error"


def version_1_2(text: str) -> Any:
    """What YAML 1.2 makes of a plain scalar, by ruamel.yaml."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ruamel.yaml.YAML(typ="safe", pure=True).load("- " + text)[0]
        except (ruamel.yaml.error.YAMLError, ValueError):
            return "error"


@settings(max_examples=400, deadline=None)
@given(numbers | words)
@example("0x1F")
@example("-0x1F")
@example("1e3")
@example("1.5e3")
@example("1_000")
@example("0777")
@example("09")
@example("0b1")
@example("12:30")
@example("+.5")
def test_own_formats_take_only_what_all_readers_agree_on(text: str) -> None:
    if re.search(r"^[-?:]$|:$|: |^- ", text):
        return
    mine = own_value(text)
    if isinstance(mine, source.InvalidScalar):
        return
    for theirs in (version_1_1(text), version_1_2(text), kubectl(text)):
        assert theirs == mine
        assert isinstance(theirs, bool) is isinstance(mine, bool)
        assert isinstance(theirs, str) is isinstance(mine, str)


USUAL = """
name z1/s1/5b1e.1 480Gi 10m 1.34.2 a:b 10.0.0.1 ./x
-x +x --flag 0x 1-2 01:00:5e 2024 yEs 1.34 0.5 -3 true ~ 8080:80
"""


@pytest.mark.parametrize("text", USUAL.split())
def test_usual_scalars_need_no_quotes(text: str) -> None:
    assert not isinstance(own_value(text), source.InvalidScalar)


trees = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), inner, max_size=3)
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(st.lists(trees, max_size=4))
def test_json_is_read_and_every_place_is_found(tree: Any) -> None:
    text = json.dumps(tree, indent=2)
    assert load(text) == tree
    wanted = [(0, path) for path in every_path(tree)]
    found = locate_all(text, wanted)
    lines = text.split("\n")
    for (_, path), span in found.items():
        if path[-1:] == (KEY,):
            assert json.loads(cut(lines, span)) == path[-2]
        else:
            assert json.loads(cut(lines, span)) == at(tree, path)


@settings(max_examples=200, deadline=None)
@given(
    st.binary(max_size=60) | st.text("a1:-[]{}&*<>|!'\"#\n \t,?%@~\\\r\u2028", max_size=40).map(str.encode),
    st.booleans(),
)
def test_no_bytes_crash_it(raw: bytes, own: bool) -> None:
    found = read("f", raw, "workflow", own=own)
    assert (found.value is None) is bool(found.diagnostics)
    for document in found.value or ():
        for path in every_path(document.data):
            locate(document.text, document.index, path)


def every_path(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All paths of a tree, those of the keys too."""
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    keys = [(*path, key, KEY) for key, _ in pairs] if isinstance(tree, dict) else []
    return [path, *keys, *(p for key, inner in pairs for p in every_path(inner, (*path, key)))]


def at(tree: Any, path: tuple[Any, ...]) -> Any:
    """The value at a path."""
    for step in path:
        tree = tree[step]
    return tree


def cut(lines: list[str], span: Span) -> str:
    """The piece of text."""
    if span.line == span.end_line:
        return lines[span.line - 1][span.column - 1 : span.end_column - 1]
    inner = lines[span.line : span.end_line - 1]
    return "\n".join([lines[span.line - 1][span.column - 1 :], *inner, lines[span.end_line - 1][: span.end_column - 1]])


TEXT = """\
# a workflow
spec:
  gangs:
  - name: train
    placement: {required: spine, preferred: rack}
    groups:
    - &g
      name: replica
      podSets: []
    - <<: *g
      size: 16
    - *g
  - - x
    - y
  note: |
    two
    lines
common: &c {a: 1}
more: {<<: [*c, {b: 2}], d: "e"}
---
second: 2
"""

LOCATIONS = [
    (0, ("spec",), (2, 1, 2, 5), "spec"),
    (0, (), (2, 1, 2, 5), "spec"),
    (0, ("spec", "gangs"), (3, 3, 3, 8), "gangs"),
    (0, ("spec", "gangs", 0), (4, 5, 4, 9), "name"),
    (0, ("spec", "gangs", 0, "name"), (4, 11, 4, 16), "train"),
    (0, ("spec", "gangs", 0, "name", KEY), (4, 5, 4, 9), "name"),
    (0, ("spec", "gangs", 0, "placement"), (5, 16, 5, 50), "{required: spine, preferred: rack}"),
    (0, ("spec", "gangs", 0, "placement", KEY), (5, 5, 5, 14), "placement"),
    (0, ("spec", "gangs", 0, "placement", "required"), (5, 27, 5, 32), "spine"),
    (0, ("spec", "gangs", 0, "placement", "absent", "x"), (5, 5, 5, 14), "placement"),
    (0, ("spec", "gangs", 0, "groups", 0), (8, 7, 8, 11), "name"),
    (0, ("spec", "gangs", 0, "groups", 1, "name"), (8, 13, 8, 20), "replica"),
    (0, ("spec", "gangs", 0, "groups", 1, "size"), (11, 13, 11, 15), "16"),
    (0, ("spec", "gangs", 0, "groups", 2, "podSets"), (9, 16, 9, 18), "[]"),
    (0, ("spec", "gangs", 0, "groups", 9), (6, 5, 6, 11), "groups"),
    (0, ("spec", "gangs", 1), (13, 5, 13, 6), "-"),
    (0, ("spec", "gangs", 1, 1), (14, 7, 14, 8), "y"),
    (0, ("spec", "note"), (15, 9, 18, 1), "|\n    two\n    lines\n"),
    (0, ("absent",), (2, 1, 2, 5), "spec"),
    (0, ("more", "a"), (18, 16, 18, 17), "1"),
    (0, ("more", "b"), (19, 21, 19, 22), "2"),
    (0, ("more", "d"), (19, 29, 19, 32), '"e"'),
    (1, ("second",), (21, 9, 21, 10), "2"),
    (7, ("absent",), (1, 1, 1, 1), ""),
]


@pytest.mark.parametrize(
    ("index", "path", "expected", "piece"), LOCATIONS, ids=[str(path) for _, path, *_ in LOCATIONS]
)
def test_places(index: int, path: tuple[Any, ...], expected: tuple[int, ...], piece: str) -> None:
    assert cut(TEXT.split("\n"), locate(TEXT, index, path)) == piece
    assert tuple(locate(TEXT, index, path)) == expected


def test_many_places_at_once() -> None:
    found = locate_all(TEXT, [(index, path) for index, path, *_ in LOCATIONS])
    assert {key: tuple(span) for key, span in found.items()} == {(i, path): span for i, path, span, _ in LOCATIONS}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_as_editors_do(end: str) -> None:
    assert locate(f'a: 1{end}b: 2{end}{end}c: "é\u2028x"{end}d: 3{end}', 0, ("d",)) == (5, 4, 5, 5)


def test_places_of_broken_and_foreign_texts() -> None:
    assert locate("a: 1\nb: 2\nc: [", 0, ("a",)) == (1, 4, 1, 5)
    assert locate("a: 1\nb: [2\n", 0, ("c",)) == (1, 1, 1, 2)
    assert locate('{"a": "\\ud83d\\ude00", "a": 2, "b": 3}', 0, ("b",)) == (1, 36, 1, 37)
    assert locate("{a: 1, b: 2}", 0, ("b",)) == (1, 11, 1, 12)
    assert locate("yes: 1\n010: 2\n", 0, ("8",)) == (2, 6, 2, 7)
    assert locate("", 0, ("b",)) == (1, 1, 1, 1)
    assert foreign_value("yes") is True


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2, "b": 3x}',
        '{"a": 1, "a": "x\ty"}',
        '[1e999, 1e999b, "x\ty"]',
        '{"a": NaN, "b": -}',
        "[" * 3000 + "abc" + "]" * 3000,
    ],
)
def test_json_with_two_things_wrong_is_told_of_one(text: str) -> None:
    """What is wrong with a value says nothing yet of what follows it."""
    for name in ("a.json", "a.yaml"):
        outcome = read(name, text.encode(), "source", own=False)
        assert outcome.value is not None or outcome.diagnostics
