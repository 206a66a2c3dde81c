"""Where in an OSMO file a finding stands that was made in the text its template wrote."""

from __future__ import annotations

import pytest

from bayplan.core.diagnostics import KEY, Note, warning
from bayplan.plugins.osmo import template_origins as source_map
from bayplan.plugins.osmo.template_origins import ordinal
from bayplan.report import Batch
from bayplan.report.findings import findings
from bayplan.text.document import Span
from osmo_texts import document, marked, said, seen, stage

TWO_TASKS = """\
workflow:
  name: x
  tasks:
  {% for i in range(2) %}
  - name: t{{ i }}
    image: a
    {% for j in range(3) %}
    e{{ j }}: {{ i * 10 + j }}
    {% endfor %}
  {% endfor %}
"""

MACRO = """\
workflow:
  name: x
  tasks:
{% macro task(name, gpu=1) %}
  - name: {{ name }}
    gpu: {{ gpu }}
{% endmacro %}
  {{ task("a") }}
  {%- for n in ["b", "c"] %}
  {{- task(n, 8) }}
  {%- endfor %}
  last: no
"""

CASES = [
    ("plain", "workflow:\n  name: x\n  tasks: [a, b]\n", ("tasks", 1), (3, "b"), ""),
    ("plain-key", "workflow:\n  name: x\n  tasks: []\n", ("tasks", KEY), (3, "tasks"), ""),
    (
        "defaults-first",
        "default-values:\n  a: 1\n\nworkflow:\n  name: x\n  n: {{ a }}\n",
        ("n",),
        (6, "{{ a }}"),
        '"a" is set at line 2',
    ),
    (
        "defaults-last",
        "workflow:\n  name: x\n  n: {{ a }}\ndefault-values: {a: 1}\n",
        ("n",),
        (3, "{{ a }}"),
        '"a" is set at line 4',
    ),
    ("same-line", "workflow:\n  name: x{{ '' }}\n  n: 17\n", ("n",), (3, "17"), ""),
    ("after-a-statement", "workflow:\n  {% set a = 1 %}\n\n  n: 17\n", ("n",), (4, "17"), ""),
    ("after-a-long-comment", "workflow:\n  {# a\n  b\n  c #}\n  n: 17\n", ("n",), (5, "17"), ""),
    ("if", "workflow:\n{% if false %}\n  n: 1\n{% else %}\n  n: 2\n{% endif %}\n", ("n",), (5, "2"), ""),
    ("stripped", "workflow:\n  a: 1\n  {%- if true -%}\n  {{ '\\n' }}  n: 2\n  {%- endif %}\n", ("n",), (4, "2"), ""),
    ("set-block", "workflow:\n{% set b %}\n  n: 17\n{% endset %}\n  a: 1\n{{ b }}\n", ("n",), (3, "17"), ""),
    ("raw", "workflow:\n  a: {{ 1 }}\n  {% raw %}\n  n: 17\n  {% endraw %}\n", ("n",), (4, "17"), ""),
    ("long-expression", "workflow:\n  n: {{ {\n    'a': 1,\n    'b': 2} }}\n  m: 3\n", ("m",), (5, "3"), ""),
    ("in-an-expression", "workflow:\n  n: {{ {\n    'a': 1,\n    'b': 2} }}\n", ("n", "b"), (2, "{{ {"), ""),
    (
        "in-a-value",
        "workflow:\n  n: {{ r }}\n  m: 3\ndefault-values:\n  r: {a: 7}\n",
        ("n", "a"),
        (2, "{{ r }}"),
        '"r" is set at line 5',
    ),
    ("token", "workflow:\n  a: {{ 1 }}\n  n: a{{output}}/x\n", ("n",), (3, "a{{output}}/x"), ""),
    ("duplicate", "workflow:\n  n: 1\n  n: {{ 2 }}\n", ("n",), (3, "{{ 2 }}"), ""),
    ("crlf", "workflow:\r\n  a: {{ 1 }}\r\n  n: 17\r\n", ("n",), (3, "17"), ""),
    ("bool-key", "workflow:\n  environment:\n    on: 1\n    x: {{ 1 }}\n", ("environment", "True"), (3, "1"), ""),
    (
        "loop",
        TWO_TASKS,
        ("tasks", 1, "image"),
        (6, "a"),
        "line 6 is rendered 2 times; this is the 2nd (loop at line 4)",
    ),
    (
        "loop-value",
        TWO_TASKS,
        ("tasks", 1, "name"),
        (5, "t{{ i }}"),
        "line 5 is rendered 2 times; this is the 2nd (loop at line 4)",
    ),
    (
        "nested-loop",
        TWO_TASKS,
        ("tasks", 1, "e2"),
        (8, "{{ i * 10 + j }}"),
        "line 8 is rendered 6 times; this is the 6th (loops at lines 4 and 7)",
    ),
    (
        "macro",
        MACRO,
        ("tasks", 0, "gpu"),
        (6, "{{ gpu }}"),
        'line 6 is rendered 3 times; this is the 1st (macro "task" at line 4)',
    ),
    (
        "macro-in-a-loop",
        MACRO,
        ("tasks", 2, "gpu"),
        (6, "{{ gpu }}"),
        'line 6 is rendered 3 times; this is the 3rd (macro "task" at line 4)',
    ),
    ("after-a-macro", MACRO, ("last",), (12, "no"), ""),
]


@pytest.mark.parametrize(("name", "file", "path", "expected", "remark"), CASES, ids=[each[0] for each in CASES])
def test_a_place(name: str, file: str, path: tuple[str | int, ...], expected: tuple[int, str], remark: str) -> None:
    (only,) = stage(file).value or ()
    found = seen(only, warning("R110", ("workflow", "workflow", *path), "here"))
    assert marked(found) == expected
    assert [note.message for note in found.notes] == ([remark] if remark else [])


def test_contents_of_a_local_file_stand_at_its_localpath() -> None:
    file = "workflow:\n  a: {{ 1 }}\n  tasks:\n  - files:\n    - path: /a\n      localpath: run.sh\n"
    found = document(file, {"run.sh": b"echo\n"})
    assert found.data["workflow"]["tasks"][0]["files"] == [{"path": "/a", "contents": "echo\n"}]
    route = ("workflow", "workflow", "tasks", 0, "files", 0, "contents")
    assert marked(seen(found, warning("R110", route, "here"))) == (6, "run.sh")


def test_a_note_says_the_turn_in_its_own_line() -> None:
    route = ("workflow", "workflow", "tasks", 1, "image")
    found = seen(document(TWO_TASKS), warning("R110", (), "here", notes=(Note("there", route),)))
    assert [note.message for note in found.notes] == [
        "there (line 6 is rendered 2 times; this is the 2nd (loop at line 4))"
    ]


def test_marks_that_change_the_text_are_taken_back() -> None:
    """The length of a captured text decides: with marks in it, another branch would be written."""
    loop = "{% for i in range(2) %}\n  a{{ i }}: {% if b|length == 2 %}1{% endif %}\n{% endfor %}\n"
    file = f"workflow:\n{{% set b %}}ab{{% endset %}}\n{loop}  n: {{{{ b }}}}\n"
    found = seen(document(file), warning("R110", ("workflow", "workflow", "a1"), "here"))
    assert marked(found) == (4, "1")
    assert [note.message for note in found.notes] == ["line 4 is rendered 2 times; this is the 2nd (loop at line 3)"]


def test_a_text_that_no_mark_survives_is_aligned_by_its_lines() -> None:
    file = "workflow:\n  a: 1\n{% for i in [1] %}\n  b: {{ [1, 2] | random }}\n{% endfor %}\n  n: 3\n"
    found = document(file)
    assert found.source_map is not None
    back = source_map.back(file, found.source_map.text, lambda _: {"pieces": None}, {})
    line = found.source_map.text.split("\n").index("  n: 3") + 1
    assert back(Span(line, 6, line, 7)) == (Span(6, 6, 6, 7), "")
    odd = next(n for n, text in enumerate(found.source_map.text.split("\n"), 1) if text.startswith("  b:"))
    assert back(Span(odd, 6, odd, 7))[1] == "bayplan could not trace the template: this place is a guess"


def test_broken_yaml_is_shown_as_it_was_rendered() -> None:
    (found,) = said("workflow:\n  a: 1\n  b: {{ v }}\n", v="c: d")
    assert (found.code, found.place and found.place.line) == ("R107", 3)
    assert "rendered, the line is `b: c: d`" in [note.message for note in found.notes]


def test_findings_that_a_loop_repeats_are_one() -> None:
    file = "workflow:\n{% for i in range(16) %}\n  a{{ i }}: {b: 1, b: 2}\n{% endfor %}\n"
    (found,) = said(file)
    assert found.notes[0].message == "line 3 is rendered 16 times; this is the 1st (loop at line 2)"
    assert found.notes[-1].message == "15 more like it"


def test_findings_of_later_stages_that_a_loop_repeats_are_one() -> None:
    found = document(TWO_TASKS)
    routes = [("workflow", "workflow", "tasks", number, "image") for number in (0, 1)]
    batch = Batch(tuple(warning("R110", route, "here") for route in routes), {"workflow": found})
    (only,) = findings([batch])
    assert [note.message for note in only.notes] == [
        "line 6 is rendered 2 times; this is the 1st (loop at line 4)",
        "1 more like it",
    ]
    other = Batch((warning("R110", routes[0], "here"), warning("R110", routes[1], "there")), {"workflow": found})
    assert len(findings([other])) == 2


@pytest.mark.parametrize(
    ("number", "word"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (112, "112th"), (22, "22nd")]
)
def test_ordinals(number: int, word: str) -> None:
    assert ordinal(number) == word
