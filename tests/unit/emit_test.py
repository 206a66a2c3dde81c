"""Writing: every reader reads back what was written, and skeletons write what plain data would."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import pytest
import ruamel.yaml
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bayplan.model.manifest import Many, Slot
from bayplan.text.document import read
from bayplan.text.emit import emit, scalar
from tools.data import parse

WORDS = """
y Y yes Yes YES yEs n N no No NO on On ON off Off OFF true True TRUE tRuE false False FALSE null Null NULL nUll ~ Nan
.inf .Inf .INF -.inf +.inf .nan .NaN .NAN NaN nan inf Infinity 0 1 -1 +1 007 0777 09 0o7 0O7 0x1 0X1F 0b1 0B1 1_000 _1
1_ 1e3 1E3 5e5 1e-3 1e+3 12e03 .5 -.5 +.5 5. 1.5 1.5e3 ._5 .5_0 . .. ... .e5 .e+5 0. 1:20 12:30 22:22 190:20:30.15
1.2.3 10.0.0.1 2024-01-01 2001-12-14t21:59:43.10-05:00 2001-1-1 = << < > - -- --- --x -x ? ?x : :: a: :a a:b a::b # #a
a#b % %YAML ! !! !a !!str & &a * *a | |- > >- @ @a ` ' '' " "" { } {} [ ] [] , {a} [a] {a: a,b a;b $ ${A} $(A) \\ \\n
a\\ / /a ./a ../a .a .dockerconfigjson 480Gi 10m 1E 5Ei 0d 0xg 0bx 0m 9999999999999999999 18446744073709551616 5b1e.1
1a 1-2 nvidia.com/gpu image:1.2 registry:5000/a@sha256:0 = =a a=b
"""
# fmt: off
STRINGS = [
    *WORDS.split(),
    "", " ", "  ", " a", "a ", "a b", "a  b", "a: b", "a : b", "a #b", "a# b", "a - b", "- a", "? a", ": a", "a:\tb",
    "\n", "\n\n", "a\n", "a\n\n", "\na", "a\nb", "a\nb\n", "a\n b\n", " a\nb", "a \nb", "a\n\nb", "a\n \nb", "a\nb ",
    "a\n# b", "a\n---\nb", "#!/bin/sh\nset -e\n", "a\n%b", "a\n\tb", "a\r\nb", "a\rb", "\t", "a\tb", "\ta", "---\na",
    "a\n\tb\n\t\tc\td\n", "a\tb\n", "\ta\nb", "a\n\t", "a\n\t\nb", "a\t\nb", "a\n\t \nb\n",
    "\0", "\x01", "\x1b[0m", "\x7f", "\x80", "\x85", "a\x85b", "\xa0", "\u2028", "\u2029a", "\ufeff", "a\ufeff",
    "é", "Ω", "😀", "a\n😀\n", "日本", "\ue000", "\ufffe", "\uffff", "\U0010ffff", "\xad", "\u200b", "a\n\xa0b\n",
    "k" * 999, "k" * 2000, "k " * 700, '"' * 600, 'a "b" c', "it's", "a 'b'", "train.py --lr=1e-3 --x '{}'", "e\u0301",
]
# fmt: on


def written(*documents: Any) -> str:
    """The text of the documents."""
    return "".join(emit(documents))


def version_1_1(text: str) -> Any:
    """PyYAML."""
    return yaml.load(text, yaml.CSafeLoader)


def version_1_1_pure(text: str) -> Any:
    """PyYAML without libyaml."""
    return parse(text)


def version_1_2(text: str) -> Any:
    """ruamel.yaml."""
    return ruamel.yaml.YAML(typ="safe", pure=True).load(text)


def foreign(text: str) -> Any:
    """Ourselves, as kubectl."""
    (document,) = read("f", text.encode(), "manifest", own=False).value or ()
    return document.data


def own(text: str) -> Any:
    """Ourselves, at our strictest."""
    (document,) = read("f", text.encode(), "workflow").value or ()
    return document.data


READERS = (version_1_1, version_1_1_pure, version_1_2, foreign, own)


def same(one: Any, other: Any) -> bool:
    """Equal, with booleans, numbers and texts told apart."""
    return json.dumps(normal(one)) == json.dumps(normal(other))


def normal(data: Any) -> Any:
    """Whole floats as integers, as JSON does not tell them apart."""
    if isinstance(data, dict):
        return {key: normal(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [normal(value) for value in data]
    return int(data) if isinstance(data, float) and data.is_integer() else data


@pytest.mark.parametrize("reader", READERS)
def test_tricky_strings_come_back_from_every_place(reader: Any) -> None:
    for text in STRINGS:
        if reader is version_1_2 and text == "\ufeff":
            continue
        for data in (
            {"a": text},
            {text: "a"},
            {"a": [text, [text], {text: text}]},
            {"a": {"b": {text: [text], "c": 1}}},
        ):
            assert same(reader(written(data)), data), written(data)


@pytest.mark.parametrize("reader", READERS)
def test_a_lone_string_is_a_document(reader: Any) -> None:
    for text in STRINGS:
        assert reader(written(text)) == text


leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda value: abs(value) < 2**53)
    | st.text(st.characters(codec="utf-8"), max_size=10)
    | st.text("aby10 :-#'\"{}[],&*!|>%@`\\\n\t~?=<.eEx_/\x85\u2028\ufeff\x7f\xa0", max_size=10)
    | st.sampled_from(STRINGS)
)
keys = st.text(st.characters(codec="utf-8"), max_size=8) | st.sampled_from(STRINGS)
trees = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=15,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(keys, trees, min_size=1, max_size=4))
@example({"a": [[], {}, [[]], [{}], [[[1], 2], {"b": [[{"c": {}}]]}]]})
@example({"k" * 1100: ["a"], "b": [{"k" * 1100: {"c": ["d"]}}]})
@example({"a": 1e16, "b": 1e-7, "c": 1.5e300, "d": -0.0, "e": 5e-324, "f": 123456.789})
def test_trees_come_back_from_every_reader(tree: dict[str, Any]) -> None:
    text = written(tree)
    for reader in (version_1_1, version_1_2, foreign):
        assert same(reader(text), tree)
    if all(ord(c) < 0x10000 for c in text):
        assert same(version_1_1_pure(text), tree)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.dictionaries(keys, trees, max_size=3), max_size=5))
def test_several_documents_come_back(documents: list[dict[str, Any]]) -> None:
    text = written(*documents)
    assert same(list(yaml.load_all(text, yaml.CSafeLoader)), documents)
    found = read("f", text.encode(), "manifest", own=False)
    assert same([each.data for each in found.value or ()], documents)


def test_the_layout() -> None:
    document = {
        "apiVersion": "v1",
        "metadata": {"name": "a", "labels": {}, "annotations": {"nvidia.com/x": "true"}},
        "list": ["a", "1", 2, None, True, {"b": "c", "d": ["e", {"f": 1.5}]}, [["g"], []], "x\ny\n"],
        "empty": [],
        "script": "#!/bin/sh\nexit 0",
        "big": 1e21,
    }
    assert written(document, {"second": False}, {}) == (
        "apiVersion: v1\n"
        "metadata:\n"
        "  name: a\n"
        "  labels: {}\n"
        "  annotations:\n"
        '    nvidia.com/x: "true"\n'
        "list:\n"
        "- a\n"
        '- "1"\n'
        "- 2\n"
        "- null\n"
        "- true\n"
        "- b: c\n"
        "  d:\n"
        "  - e\n"
        "  - f: 1.5\n"
        "- - - g\n"
        "  - []\n"
        "- |\n"
        "  x\n"
        "  y\n"
        "empty: []\n"
        "script: |-\n"
        "  #!/bin/sh\n"
        "  exit 0\n"
        "big: 1.0e+21\n"
        "---\n"
        "second: false\n"
        "---\n"
        "{}\n"
    )


def test_other_mappings_and_sequences_are_written_alike() -> None:
    class Word(str):
        """A string by another name."""

    odd = MappingProxyType({"a": (1, MappingProxyType({"b": ()})), Word("c"): Word("no"), "d": MappingProxyType({})})
    assert written(odd) == written({"a": [1, {"b": []}], "c": "no", "d": {}})
    assert written({"a": ("x", "y")}) == written({"a": ["x", "y"]})
    assert written({"a": [("x",), MappingProxyType({"b": 1})]}) == written({"a": [["x"], {"b": 1}]})


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ({"a": float("nan")}, ValueError),
        ({"a": [float("-inf")]}, ValueError),
        ({"a": "\ud83d"}, ValueError),
        ({"\ude00": "a"}, ValueError),
        ({"a": "x\n\ud83d\n"}, ValueError),
        ({"a": {1, 2}}, TypeError),
        ({"a": b"x"}, TypeError),
        ({1: "a"}, TypeError),
        ({None: "a"}, TypeError),
        ({"a": Slot(0, "name")}, TypeError),
        ({"a": ["x", Slot(0, "name")]}, TypeError),
    ],
    ids=repr,
)
def test_what_is_no_data_is_refused(data: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        written(data)


def test_usual_strings_are_not_quoted() -> None:
    usual = "a kai-scheduler nvidia.com/gpu 480Gi 10m 1.2Mi registry:5000/a/b:1.2-py3 /dev/shm ./run.sh a=b A_B .x/y"
    for text in usual.split():
        assert scalar(text) == text
    for text in ("train.py --lr 3", "a (b), c", "exec sh -c 'x'"):
        assert scalar(text) == text


names = st.from_regex(r"[a-z0-9][a-z0-9.-]{0,6}", fullmatch=True) | st.sampled_from(
    ["true", "y", "12", "1e3", "0x1f", "5m", "on"]
)
rows = st.lists(st.tuples(names, names, st.integers(0, 10**6), st.integers(0, 12)), min_size=1, max_size=5)
FORMS = ("name", "name", "text", "number")
slots = st.integers(0, 3).map(lambda column: Slot(column, FORMS[column]))
literals = st.text("abtrue01-./: \"'{%=_.\n\t ~", max_size=6) | st.sampled_from(
    ["slot0x0z", "slot0x1z", "%s", "%%", "on", "--n=", "{}"]
)
joined = st.lists(slots | literals, min_size=1, max_size=4).filter(
    lambda parts: any(isinstance(part, Slot) for part in parts)
)
skeletons = st.recursive(
    leaves | slots | joined.map(tuple),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(literals | slots | joined.map(tuple), inner, max_size=4)
    ),
    max_leaves=10,
)


class ClashError(Exception):
    """Two keys of a filled mapping are the same."""


def filled(data: Any, row: tuple[Any, ...], key: bool = False) -> Any:
    """The skeleton with one row's values in the place of its slots."""
    if isinstance(data, Slot):
        return int(row[data.column]) if data.form == "number" and not key else str(row[data.column])
    if isinstance(data, dict):
        found = {filled(name, row, True): filled(value, row) for name, value in data.items()}
        if len(found) < len(data):
            raise ClashError
        return found
    if isinstance(data, tuple) and any(isinstance(part, Slot) for part in data):
        return "".join(str(row[part.column]) if isinstance(part, Slot) else part for part in data)
    return [filled(item, row) for item in data] if isinstance(data, list | tuple) else data


@settings(max_examples=150, deadline=None)
@example({"": ("", Slot(0, "name"), "slot0x0z")}, [("0", "true", 0, 0)])
@given(st.dictionaries(literals | slots, skeletons, min_size=1, max_size=4), rows)
@example({"a": "slot0x0z", "b": Slot(0, "name"), "slot1x1z": "x"}, [("true", "a", 1, 2), ("a-b", "a", 1, 2)])
@example({"a": ("x\n", Slot(0, "name"), "\n y"), "b": [("#", Slot(2, "text"))]}, [("true", "a", 1, 2)])
@example({"a": ("tr", Slot(0, "name"))}, [("ue", "a", 1, 2), ("ain", "a", 1, 2)])
def test_a_filled_skeleton_is_what_its_documents_are(skeleton: dict[Any, Any], rows: list[tuple[Any, ...]]) -> None:
    try:
        documents = [filled(skeleton, row) for row in rows]
    except ClashError:
        return
    assert written(Many(skeleton, rows)) == written(*documents)
    assert written({"a": 1}, Many(skeleton, iter(rows)), {"b": 2}) == written({"a": 1}, *documents, {"b": 2})


def test_a_skeleton_without_slots_or_rows() -> None:
    assert written(Many({"a": "x%"}, [(), ()])) == "a: x%\n---\na: x%\n"
    assert written({"a": 1}, Many({"b": Slot(0, "text")}, []), {"c": 1}) == "a: 1\n---\nc: 1\n"
    assert written(Many({"b": Slot(0, "text")}, [])) == ""
    assert written() == ""


@pytest.mark.parametrize("name", ["", "A", "a_b", "a b", "a\nb", "-a", ".a", "a: b", "é", 'a"b', "a\n"])
def test_only_names_fill_a_name(name: str) -> None:
    for value in (Slot(0, "name"), ("x-", Slot(0, "name"))):
        with pytest.raises(ValueError, match="DNS-1123"):
            written(Many({"a": value}, [("ok",), (name,)]))


def test_rows_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        written(Many({"a": Slot(0, "number")}, [(1, 2), (1,)]))


def test_output_is_streamed() -> None:
    taken = 0

    def rows() -> Iterator[tuple[int]]:
        nonlocal taken
        for taken in range(1_000_000):
            yield (taken,)

    def documents() -> Iterator[dict[str, Any]]:
        nonlocal taken
        for taken in range(1_000_000):
            yield {"metadata": {"name": f"pod-{taken}"}, "spec": {"args": ["a"] * 20}}

    for items in ([Many({"a": Slot(0, "number"), "b": "c" * 100}, rows())], documents()):
        first = next(emit(items))
        assert taken < 20_000
        assert 200_000 < len(first) < 4_000_000
