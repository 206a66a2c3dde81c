"""Templates that take too much or reach too far: one diagnostic each, soon, and no trace of Python."""

from __future__ import annotations

import time

import pytest

from bayplan.plugins.osmo import sandbox
from osmo_texts import said, stage
from tools.effort import LONG, sample

SECONDS = 30.0
"""Half a second of processor time is what a template has; the rest is for a busy machine."""

LOOP = "{{% for {0} in range(10000) %}}"
FOUR_LOOPS = "".join(LOOP.format(name) for name in "abcd") + "{% endfor %}" * 4

HOSTILE = {
    "loops-of-10-to-the-16th": ("R127", FOUR_LOOPS),
    "a-huge-power": ("R127", "{{ (2 ** 100000000) | string | length }}"),
    "sorting": ("R127", "{{ range(100000) | map('string') | sort | unique | list | length }}" * 100),
    "a-text-of-lorem-ipsum": ("R127", "{{ lipsum(n=10 ** 7) }}"),
    "a-sum-of-300000-terms": ("R127", "{{ " + "+".join(["1"] * 300000) + " }}"),
    "ten-gigabytes": ("R127", "{{ 'a' * 10 ** 10 }}"),
    "a-list-of-10-to-the-9th": ("R127", "{{ [0] * 10 ** 9 }}"),
    "doubling": (
        "R127",
        "{% set n = namespace(x='abcdabcd') %}{% for i in range(9999) %}{% set n.x = n.x + n.x %}{% endfor %}",
    ),
    "doubling-a-list": (
        "R127",
        "{% set n = namespace(x=[1]) %}{% for i in range(9999) %}{% set n.x = n.x + n.x %}{% endfor %}",
    ),
    "a-wide-number": ("R127", "{{ '%1000000000d' | format(1) }}"),
    "a-wide-format": ("R127", "{{ '{:1000000000}'.format(1) }}"),
    "centred": ("R127", "{{ 'a' | center(10 ** 10) }}"),
    "indented": ("R127", "{{ 'a\\nb' | indent(10 ** 10) }}"),
    "joined": ("R127", "{{ range(100000) | join('a' * 10000) }}"),
    "replaced": ("R127", "{{ ('a' * 1000000) | replace('a', 'b' * 1000) }}"),
    "a-macro-that-doubles": ("R127", "{% macro m(x) %}{{ m(x + x) }}{% endmacro %}{{ m('abc') }}"),
    "much-to-write": ("R127", "{% for i in range(18) %}{{ 'a' * 1000000 }}{% endfor %}"),
    "a-large-range": ("R127", "{% for i in range(10 ** 12) %}{% endfor %}"),
    "a-macro-that-calls-itself": ("R127", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"),
    "a-loop-that-calls-itself": ("R127", "{% for i in [[1]] recursive %}{{ loop([i]) }}{% endfor %}"),
    "include": ("R127", "{% include 'a' %}"),
    "include-of-a-file": ("R127", "{% include '/etc/passwd' %}"),
    "import": ("R127", "{% import 'a' as b %}"),
    "from-import": ("R127", "{% from 'a' import b %}"),
    "extends": ("R127", "{% extends 'a' %}"),
    "parentheses": ("R127", "{{ " + "(" * 100000 + "1" + ")" * 100000 + " }}"),
    "brackets": ("R127", "{{ " + "[" * 5000 + "]" * 5000 + " }}"),
    "conditions": ("R127", "{% if 1 %}" * 3000 + "{% endif %}" * 3000),
    "nested-loops": ("R127", "{% for i in [1] %}" * 100 + "{% endfor %}" * 100),
    "negations": ("R127", "{{ " + "not " * 50000 + "1 }}"),
    "a-number-of-5000-digits": ("R127", "{{ " + "9" * 5000 + " }}"),
    "a-function": ("R127", "{{ range }}"),
    "a-generator": ("R127", "{{ [1] | map('int') }}"),
    "division": ("R127", "{{ 1 / 0 }}"),
    "a-text-and-a-number": ("R127", "{{ 'a' + 1 }}"),
    "a-class": ("R127", "{{ ''.__class__ }}"),
    "a-class-by-filter": ("R127", "{{ '' | attr('__class__') }}"),
    "a-class-by-item": ("R127", "{{ ''['__class__'] }}"),
    "a-class-by-format": ("R127", "{{ '{0.__class__}'.format('') }}"),
    "a-class-by-format-map": ("R127", "{{ '{a.__class__}'.format_map({'a': 1}) }}"),
    "a-class-by-format-as-a-filter": ("R127", "{{ ('{0.__class__.__mro__}' | attr('format'))(1) }}"),
    "cycler": ("R127", "{{ cycler.__init__.__globals__ }}"),
    "joiner": ("R127", "{{ joiner.__init__.__globals__.os }}"),
    "lipsum": ("R127", "{{ lipsum.__globals__['os'].popen('id').read() }}"),
    "namespace": ("R127", "{{ namespace.__init__.__globals__ }}"),
    "self": ("R127", "{{ self._TemplateReference__context }}"),
    "a-frame": ("R127", "{{ ([1] | map('int')).gi_frame }}"),
    "a-class-of-nothing": ("R127", "{{ nothing.__class__ }}"),
    "eval": ("R126", "{{ eval('1') }}"),
    "unclosed": ("R127", "{{ 1"),
    "unknown-tag": ("R127", "{% do x %}"),
    "unknown-filter": ("R127", "{{ 1 | nope }}"),
    "shell": ("R127", "echo ${#list[@]}"),
    "half-of-a-pair": ("R104", "{{ '\\ud800' }}"),
    "nul": ("R104", "{{ '\\x00' }}"),
}


@pytest.fixture(autouse=True)
def _in_a_process_with_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("osmo_texts.render", sandbox.run)


@pytest.mark.parametrize("name", sample(list(HOSTILE), 1))
def test_a_hostile_template_ends_in_one_diagnostic(name: str) -> None:
    code, template = HOSTILE[name]
    start = time.monotonic()
    found = said(f"workflow:\n  name: x\n  text: |\n    {template}\n")
    assert time.monotonic() - start < SECONDS
    assert [each.code for each in found] == [code]
    words = " ".join([found[0].message, found[0].hint, *(note.message for note in found[0].notes)])
    assert " at 0x" not in words
    assert "Traceback" not in words


HUGE = 1_000_000 if LONG else 400_000
"""Characters, of which a search that goes back for each of them takes minutes."""


def lines(form: str) -> str:
    return "".join(form.format(number) for number in range(HUGE // 20))


ENDLESS = {
    "host": ("  a: " + "{{host:" * (HUGE // 7), ["R127"]),
    "input-and-a-brace": ("  a: " + "{{input:" * (HUGE // 8) + "} }", ["R127"]),
    "many-tokens": ("  a: '" + lines("{{{{host:{}}}}}") + "'", []),
    "many-tokens-and-an-expression": ("  a: '" + lines("{{{{host:{}}}}}") + "{{ 1 }}'", ["R127"]),
    "names-like-ours": ("  a: '" + "runtime_token0_" * (HUGE // 15) + "{{ 1 }}'", []),
    "underscores": ("  a: 'runtime_token" + "_" * HUGE + "{{ 1 }}'", []),
    "blanks-in-a-token": ("  a: {{" + " " * HUGE + "output", ["R127"]),
    "addresses": ("  a: '{% raw %}" + lines("<a at 0x{:x}>") + "{% endraw %}'", []),
    "escaped-addresses": ("  a: '{% raw %}" + "&lt;" * (HUGE // 4) + "{% endraw %}'", []),
    "sixties": ("  a: 1" + ":10" * (HUGE // 3), ["R111"]),
    "hexadecimal": ("  a: 0x" + "f" * HUGE, ["R111"]),
    "keys-given-twice": ("  b: {{ 1 }}\n" + "  a: 1\n" * (HUGE // 25), ["R110"] * 999),
    "keys-that-are-no-texts": ("  b: {{ 1 }}\n" + lines("  a{}: {{1: 2}}\n"), ["R112"] * 1000),
    "sections": (lines("a{}:\n"), ["R123"] * 20_000),
    "an-indented-section": (" " * HUGE + "default-values:\n  {{ a }}", ["R126"]),
    "lines-alike": ("  a: {{ range }}\n" + "  - x\n  - {{ 2 }}\n" * 4000, ["R127"]),
}


@pytest.mark.parametrize("name", sample(list(ENDLESS), 1))
def test_a_long_text_is_searched_once(name: str) -> None:
    body, codes = ENDLESS[name]
    start = time.monotonic()
    found = stage(f"workflow:\n{body}\n")
    assert time.monotonic() - start < SECONDS
    assert [each.code for each in found.diagnostics] == codes


def test_a_long_local_file_is_searched_once() -> None:
    start = time.monotonic()
    file = "workflow:\n  tasks: [{files: [{path: p, localpath: s}]}]\n"
    found = stage(file, {"s": b"{{host:" * (HUGE // 7)})
    assert time.monotonic() - start < SECONDS
    assert [each.code for each in found.diagnostics] == ["R138"]


def test_numbers_that_python_does_not_write() -> None:
    number = f"0x{'f' * 5000}"
    for file in (
        f"default-values:\n  a: {number}\nworkflow:\n  a: {{{{ a }}}}\n",
        f"default-values:\n  ? {number}\n  : 1\nworkflow:\n  a: 1\n",
        f"workflow:\n  environment:\n    ? {number}\n    : 1\n",
    ):
        assert next(each.code for each in said(file)) == "R111"


def test_a_template_may_end_lines_by_carriage_returns() -> None:
    (found,) = said("workflow:\n  b: 1\n  a: {{ 'x\\r  a: 1\\r\\n  c: [' }}\n")[:1]
    assert (found.code, found.place and found.place.line) == ("R107", 3)


def test_a_bomb_in_the_default_values() -> None:
    lines = ["  a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    (found,) = said("default-values:\n" + "\n".join(lines) + "\nworkflow:\n  a: {{ a8 }}\n")
    assert (found.code, found.place and found.place.line) == ("R103", 6)


def test_a_bomb_in_what_is_written() -> None:
    lines = ["  a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += ["  a{{ n }}: &a{{ n }} [{{ (['*a' ~ (n - 1)] * 10) | join(', ') }}]"]
    file = f"workflow:\n{lines[0]}\n{{% for n in range(1, 9) %}}\n{lines[1]}\n{{% endfor %}}\n"
    (found,) = said(file)
    assert (found.code, found.place and found.place.line) == ("R103", 4)
    assert found.notes[0].message == "line 4 is rendered 8 times; this is the 4th (loop at line 3)"


def test_deep_data() -> None:
    (found,) = said("workflow:\n  a: {{ '[' * 500 }}{{ ']' * 500 }}\n")
    assert found.code == "R103"
