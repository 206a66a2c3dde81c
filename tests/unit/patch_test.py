"""A text is changed where its data are, and nowhere else."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bayplan.text import document
from bayplan.text.emit import emit
from bayplan.text.patch import rewrite_all, same

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]

WORDS = st.sampled_from(
    ["a", "b", "name", "kai.scheduler/queue", "yes", "1", "x y", "metadata", "spec", "", "é", "- x"]
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.sampled_from([0.5, 1e30]),
    WORDS,
    st.sampled_from(
        ["two\nlines", "two\nlines\n", "end\n\n", " lead\nx", "a: b", "# c", "'", '"', "~", "*a", "<<", "|"]
    ),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(WORDS, inner, max_size=4)),
    max_leaves=14,
)
DOCUMENTS = st.dictionaries(WORDS, VALUES, min_size=1, max_size=4)


def rewrite(text: str, old: Any, new: Any) -> str:
    """The text of one document with other data."""
    (found,) = rewrite_all([(text, old, new)])
    return found


def block(data: Any) -> str:
    return "".join(emit([data]))


def pyyaml(data: Any, **options: Any) -> str:
    text: str = yaml.safe_dump(data, allow_unicode=True, sort_keys=False, **options)
    return text


class Indented(yaml.SafeDumper):
    """Lists two further in than their key."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


STYLES = {
    "emit": block,
    "marked": lambda data: f"---\n# Source: chart/templates/a.yaml\n{block(data)}",
    "crlf": lambda data: block(data).replace("\n", "\r\n"),
    "cut": lambda data: block(data).removesuffix("\n"),
    "ended": lambda data: f"--- # first\n{block(data)}...\n",
    "pyyaml": lambda data: pyyaml(data, default_flow_style=False),
    "quoted": lambda data: pyyaml(data, default_flow_style=False, default_style='"'),
    "single": lambda data: pyyaml(data, default_flow_style=False, default_style="'"),
    "narrow": lambda data: pyyaml(data, default_flow_style=False, width=10),
    "wide": lambda data: yaml.dump(data, Dumper=Indented, sort_keys=False, indent=4, default_flow_style=False),
    "mixed": lambda data: pyyaml(data, default_flow_style=None),
    "flow": lambda data: pyyaml(data, default_flow_style=True, width=20),
    "json": json.dumps,
    "pretty": lambda data: json.dumps(data, indent=2),
    "comments": lambda data: commented(block(data)),
}
"""Ways to write the same."""


def commented(text: str) -> str:
    """With a comment below each line that is no part of a block scalar."""
    if "|" in text or ">" in text:
        return text
    return "".join(f"{line}\n  # {number}\n\n" for number, line in enumerate(text.splitlines()))


def read(text: str) -> Any:
    found = document.read("", text.encode(), "manifest", own=False)
    return found.value[0].data if found.value and len(found.value) == 1 else None


@st.composite
def changed(draw: st.DrawFn, value: Any) -> Any:
    """Something near a value."""
    act = draw(st.integers(0, 5))
    if isinstance(value, dict) and value and act:
        made = dict(value)
        name = draw(st.sampled_from(sorted(made)))
        if act == 1:
            del made[name]
        elif act == 2:
            made[draw(WORDS)] = draw(VALUES)
        else:
            made[name] = draw(changed(made[name]))
        return made
    if isinstance(value, list) and value and act:
        items = list(value)
        place = draw(st.integers(0, len(items) - 1))
        if act == 1:
            del items[place]
        elif act == 2:
            items.insert(place + draw(st.integers(0, 1)), draw(VALUES))
        else:
            items[place] = draw(changed(items[place]))
        return items
    return draw(VALUES)


@st.composite
def tasks(draw: st.DrawFn) -> tuple[str, Any, Any]:
    """A text, its data, and other data."""
    text = STYLES[draw(st.sampled_from(sorted(STYLES)))](draw(DOCUMENTS))
    old = read(text)
    new = json.loads(json.dumps(old))
    for _ in range(draw(st.integers(1, 4))):
        new = draw(changed(new))
    return text, old, new if isinstance(new, dict) and new else {"a": new}


@settings(max_examples=600, derandomize=True, deadline=None, suppress_health_check=SLOW)
@given(tasks())
def test_what_is_written_reads_as_what_was_meant(task: tuple[str, Any, Any]) -> None:
    text, old, new = task
    if not isinstance(old, dict):  # PyYAML writes texts that kubectl reads otherwise, or not at all
        return
    found = rewrite(text, old, new)
    assert same(read(found), new)


@settings(max_examples=100, derandomize=True, deadline=None, suppress_health_check=SLOW)
@given(tasks())
def test_nothing_to_change_is_no_change(task: tuple[str, Any, Any]) -> None:
    text, old, _ = task
    assert rewrite(text, old, copy.deepcopy(old)) == text


@settings(max_examples=200, derandomize=True, deadline=None, suppress_health_check=SLOW)
@given(tasks(), st.dictionaries(WORDS, VALUES, min_size=1, max_size=3))
def test_lines_of_what_does_not_change_stay(task: tuple[str, Any, Any], other: Any) -> None:
    text, old, _ = task
    if not isinstance(old, dict) or not old or not text.endswith("\n") or text.startswith("{"):
        return
    found = rewrite(text, old, {**old, "added": other})
    assert [line for line in text.splitlines() if line not in found.splitlines()] == []


POD = """\
---
# Source: chart/templates/pod.yaml
apiVersion: v1   # the core
kind: Pod
metadata:
  name: "worker"
  labels:
  # no labels yet
spec:
  containers:
  - name: main   # the first
    command: [run, it]   # two words
    env:
      - {name: A, value: "1"}
    args:
    - |
      one
        two

  - name: side
    resources: {}

  priority: ~ # none
"""


def edited(text: str, *changes: tuple[str, Any]) -> str:
    """The text with values set at paths such as `spec.containers.0.name`; None removes."""
    old = read(text)
    new = json.loads(json.dumps(old))  # what aliases share is apart
    for path, value in changes:
        *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
        at = new
        for step in way:
            at = at[step]
        if value is None:
            del at[last]
        elif isinstance(at, list) and last == len(at):
            at.append(value)
        else:
            at[last] = value
    return rewrite(text, old, new)


def difference(old: str, new: str) -> list[str]:
    """Lines that go and lines that come."""
    left, right = old.splitlines(), new.splitlines()
    return [f"-{line}" for line in left if line not in right] + [f"+{line}" for line in right if line not in left]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([("metadata.name", "other")], ['-  name: "worker"', '+  name: "other"']),
        ([("metadata.labels", {"a": "yes"})], ['+    a: "yes"']),
        ([("metadata.annotations", {"a": "x\ny\n"})], ["+  annotations:", "+    a: |", "+      x", "+      y"]),
        (
            [("spec.containers.0.command.2", "now")],
            ["-    command: [run, it]   # two words", "+    command: [run, it, now]   # two words"],
        ),
        (
            [("spec.containers.0.env.0.value", "2")],
            ['-      - {name: A, value: "1"}', '+      - {name: A, value: "2"}'],
        ),
        ([("spec.containers.0.env.1", {"name": "B"})], ["+      - name: B"]),
        (
            [("spec.containers.1.resources", {"claims": [{"name": "c"}]})],
            ["-    resources: {}", "+    resources:", "+      claims:", "+      - name: c"],
        ),
        ([("spec.containers.0.args.1", "end")], ["+    - end"]),
        (
            [("spec.containers.0", None)],
            [
                "-  - name: main   # the first",
                "-    command: [run, it]   # two words",
                "-    env:",
                '-      - {name: A, value: "1"}',
                "-    args:",
                "-    - |",
                "-      one",
                "-        two",
            ],
        ),
        ([("spec.priority", 5)], ["-  priority: ~ # none", "+  priority: 5 # none"]),
        ([("spec.priority", ["a"])], ["-  priority: ~ # none", "+  priority: # none", "+  - a"]),
        ([("metadata.labels", None)], ["-  labels:"]),
        ([("metadata", None)], ["-metadata:", '-  name: "worker"', "-  labels:"]),
        (
            [("spec.containers.0.name", None)],
            [
                "-  - name: main   # the first",
                "-    command: [run, it]   # two words",
                "+  - command: [run, it]   # two words",
            ],
        ),
    ],
)
def test_an_edit_is_small(changes: list[tuple[str, Any]], expected: list[str]) -> None:
    assert difference(POD, edited(POD, *changes)) == expected
    windows = POD.replace("\n", "\r\n")
    assert edited(windows, *changes) == edited(POD, *changes).replace("\n", "\r\n")


def test_a_text_without_a_last_line_break_keeps_its_comments() -> None:
    assert edited("a: 1   # one", ("b", "x\ny\n")) == "a: 1   # one\nb: |\n  x\n  y\n"
    assert edited("a: 1   # one", ("b", "x")) == "a: 1   # one\nb: x"


def test_json_stays_json() -> None:
    text = json.dumps({"kind": "Pod", "spec": {"a": 1}, "list": ["x"], "none": {}}, indent=2)
    found = edited(text, ("spec.b/c", "it's"), ("list.1", True), ("none", {"z": [1]}))
    assert found == text.replace('"a": 1', '"a": 1,\n    "b/c": "it\'s"').replace('"x"\n', '"x",\n    true\n').replace(
        '"none": {}', '"none": {"z": [1]}'
    )


@pytest.mark.parametrize(
    ("text", "changes", "expected"),
    [
        pytest.param(
            "a: &x\n  k: 1\nb: *x\nc: 3\n",
            [("a.k", 2)],
            "a: &x\n  k: 2\nb:\n  k: 1\nc: 3\n",
            id="what the anchor names changes",
        ),
        pytest.param(
            "a: &x\n  k: 1\nb: *x\nc: *x\n",
            [("b", {"k": 2})],
            "a: &x\n  k: 1\nb:\n  k: 2\nc: *x\n",
            id="an alias changes",
        ),
        pytest.param("a: &x {k: 1}\nb: *x\n", [("a", None)], "b:\n  k: 1\n", id="the anchor goes"),
        pytest.param(
            "a: &x {k: 1}\nb: [1, 2]\nc: [*x, 3]\n",
            [("a.k", 2)],
            "a: &x {k: 2}\nb: [1, 2]\nc: [{k: 1}, 3]\n",
            id="lists with aliases and without",
        ),
        pytest.param(
            "a: &x\n  k: 1\nb:\n  <<: *x\n  l: 2\n",
            [("b.m", 3), ("b.l", 4)],
            "a: &x\n  k: 1\nb:\n  <<: *x\n  l: 4\n  m: 3\n",
            id="a mapping that merges gains a key",
        ),
        pytest.param(
            "a: &x\n  k: 1\nb:\n  <<: *x\n  l: 2\n",
            [("a.k", 3)],
            "a: &x\n  k: 3\nb:\n  k: 1\n  l: 2\n",
            id="what is merged changes",
        ),
        pytest.param(
            "a: &x\n  k: 1\nb:\n  <<: *x\n  l: 2\n",
            [("b.k", 5)],
            "a: &x\n  k: 1\nb:\n  <<: *x\n  l: 2\n  k: 5\n",
            id="a merged key is overridden",
        ),
        pytest.param(
            "a: &x\n  k: 1\nb:\n  <<: *x\n  l: 2\n",
            [("b.k", None)],
            "a: &x\n  k: 1\nb:\n  l: 2\n",
            id="a merged key goes",
        ),
        pytest.param("? a\n: b\n? c\n: d\n", [("a", "e"), ("f", "g")], "a: e\nc: d\nf: g\n", id="explicit keys"),
    ],
)
def test_anchors_and_rare_forms(text: str, changes: list[tuple[str, Any]], expected: str) -> None:
    assert edited(text, *changes) == expected
