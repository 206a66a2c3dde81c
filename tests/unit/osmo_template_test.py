"""The rendering in a process of its own against Jinja in this one, and what is said of missing variables."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jinja2
import jinja2.sandbox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan.core.diagnostics import AT
from bayplan.model.formats import Source
from bayplan.plugins.osmo import sandbox, text
from bayplan.plugins.osmo import template as tokens
from bayplan.plugins.osmo import template_origins as packing
from bayplan.plugins.osmo.sandbox import child as plain
from bayplan.plugins.osmo.sandbox import parent
from bayplan.text.document import Span
from osmo_texts import data, document, in_this_process, marked, places, said, stage
from tools.effort import examples

PIECES = [
    "{{ a }}",
    "{{ b.c }}",
    "{{ l }}",
    "{{output}}",
    "{{input:0}}",
    "{{host:w-1}}",
    "{{ a ~ '{{' }}",
    "{%- if a -%} yes {%- else -%} no {%- endif %}",
    "{% for i in l %}<{{ i }}{{ loop.index }}>{% endfor %}",
    "{# a comment #}",
    "{% raw %}{{ kept }}{% endraw %}",
    "{% set x = a %}{{ x }}",
    "{{ l | map('string') | join('-') }}",
    "{{ '%05d' | format(a) }}",
    "{{ missing | default('d') }}",
    "{% macro m(x) %}[{{ x }}]{% endmacro %}{{ m(a) }}{{ m('q') }}",
    "\n",
    "  ",
    "word",
    "ü€😀",
    "}}",
    "%}",
    "{",
    "{ {",
    "\\",
    "#",
]
VALUES: dict[str, Any] = {"a": 7, "b": {"c": True, "d": None}, "l": [1, "x", 2.5]}


def directly(template: str, values: dict[str, Any]) -> str:
    """What Jinja writes in this process."""
    env = jinja2.sandbox.SandboxedEnvironment(undefined=jinja2.StrictUndefined)
    return env.from_string(template).render(values)


@settings(max_examples=examples(40, 400), deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), st.sampled_from(["", "\n", "\n\n", "  \n"]))
def test_a_template_writes_what_jinja_writes(body: str, end: str) -> None:
    hidden = tokens.mask_tokens(body + end)
    request = {"task": "render", "template": hidden.template, "variables": packing.pack({**VALUES, **hidden.tokens})}
    try:
        wanted = directly(hidden.template, {**VALUES, **hidden.tokens})
    except (jinja2.TemplateError, TypeError):
        assert "failure" in in_this_process(request)
        return
    assert in_this_process(request)["text"] == wanted
    if tokens.plain(body + end):
        assert tokens.unmask_tokens(hidden.template.removesuffix("\n"), hidden).text == wanted
    traced = in_this_process({**request, "task": "trace", "clean": wanted})
    assert [offset for offset, _ in traced["pieces"]] == sorted(offset for offset, _ in traced["pieces"])
    assert all(1 <= line <= (body + end).count("\n") + 1 for line, *_ in traced["lines"])


YAML_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.binary(max_size=4)
    | st.dates()
    | st.datetimes().map(lambda moment: moment.replace(fold=0))
    | st.datetimes().map(lambda moment: moment.replace(fold=0, tzinfo=datetime.UTC)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3) | st.integers() | st.booleans() | st.none(), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=examples(40, 200), deadline=None)
@given(YAML_VALUES)
def test_every_value_of_yaml_arrives(value: Any) -> None:
    back = plain.unpack(json.loads(json.dumps(packing.pack(value))))
    assert repr(back) == repr(value)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("{cpu: 4, gpu: [1, 2]}", {"cpu": 4, "gpu": [1, 2]}),
        ("true", "True"),
        ("null", "None"),
        ("1.50", 1.5),
        ("1e3", "1e3"),
        ("2024-01-31", datetime.date(2024, 1, 31)),
        ("0x10", 16),
        ("12:30", 750),
        ("'4'", 4),
        ("{on: 1}", {"True": 1}),
    ],
)
def test_a_default_value_is_written_as_python_writes_it(value: str, written: object) -> None:
    quoted = '"{{ v }}"' if isinstance(written, str) else "{{ v }}"
    file = f"default-values:\n  v: {value}\nworkflow:\n  environment: {quoted}\n"
    assert data(file)["environment"] == written


MISSING = {
    "one": ("{{ a }}", [(3, "a")], ""),
    "three": ("{{ a }}\n  y: {{ b }} {{ c.d }}", [(3, "a"), (4, "b"), (4, "c")], ""),
    "the-same-twice": ("{{ a }}\n  y: {{ a }}", [(3, "a")], ""),
    "with-a-default": ("{{ a | default(1) }}{{ b }}", [(3, "b")], ""),
    "asked-about": ("{% if a is defined %}{{ a }}{% endif %}{{ b }}", [(3, "b")], ""),
    "not-taken": ("{% if false %}{{ a }}{% endif %}{{ b }}", [(3, "b")], ""),
    "decides": ("{% if a %}{{ b }}{% else %}{{ c }}{% endif %}{{ d }}", [(3, "a"), (3, "d")], "b c"),
    "a-range": ("{% for i in range(a) %}{{ b }}{% endfor %}{{ c }}", [(3, "a"), (3, "c")], "b"),
    "a-loop": ("{% for i in a %}{{ b }}{% else %}{{ c }}{% endfor %}", [(3, "a")], "b c"),
    "behind-or": ("{{ a or b }}{{ c }}", [(3, "a"), (3, "c")], "b"),
    "arithmetic": ("{{ a + 1 }}{{ 2 * b }}{{ c | int }}", [(3, "a"), (3, "b"), (3, "c")], ""),
    "compared": ("{{ 'x' if a == 1 else b }}", [(3, "a")], "b"),
    "several-lines": ("{{ [a,\n  b,\n  c] | join }}", [(3, "a"), (4, "b"), (5, "c")], ""),
    "in-a-macro": ("{% macro m() %}{{ a }}{% endmacro %}{{ m() }}", [(3, "a")], ""),
    "in-a-loop": ("{% for i in [1, 2] %}{{ a }}{% endfor %}", [(3, "a")], ""),
    "called": ("{{ a(1) }}{{ b[0] }}", [(3, "a"), (3, "b")], ""),
    "a-key": ("{{ {'gpu': 1}.gpus }}", [(3, ".gpus")], ""),
    "a-loop-variable-outside": ("{% for i in [1] %}{% endfor %}{{ i }}", [(3, "i")], ""),
}


@pytest.mark.parametrize(("body", "missing", "also"), list(MISSING.values()), ids=list(MISSING))
def test_every_variable_without_a_value_is_named_in_one_run(body: str, missing: list[Any], also: str) -> None:
    found = said(f"workflow:\n  name: x\n  x: {body}\n")
    assert {each.code for each in found} == {"R126"}
    assert [marked(each) for each in found] == missing
    reported = " ".join(note.message for each in found for note in each.notes)
    assert [name for name in "abcd" if f'"{name}"' in reported] == also.split()


def test_a_missing_variable_has_a_near_name_and_a_way_out() -> None:
    (found,) = said("default-values:\n  num_gpu: 4\nworkflow:\n  n: {{ num_gpus }}\n")
    assert found.hint == 'did you mean "num_gpu"? Otherwise pass --set num_gpus=VALUE, or add it under default-values'
    (found,) = said("workflow:\n  n: {{ image }}\n")
    assert found.hint == "pass --set image=VALUE, or add it under default-values"
    (found,) = said("default-values: {r: {gpu: 1}}\nworkflow:\n  n: {{ r.gpus }}\n")
    assert found.hint == 'did you mean "gpu"?'


def test_indented_default_values_are_told() -> None:
    (found,) = said("workflow:\n  n: {{ gpu }}\n  default-values:\n    gpu: 4\n")
    assert found.hint.startswith("write `default-values:` at the start of a line")
    (note,) = found.notes
    assert note.place is not None
    assert (note.place.line, note.place.column) == (3, 3)


def test_a_variable_that_nothing_uses_is_told() -> None:
    found = stage("workflow:\n  n: {{ num_gpu }}\n", num_gpu=1, num_gpus=2)
    assert [(each.code, each.route, each.hint) for each in found.diagnostics] == [
        ("A931", ("argument", "--set"), 'did you mean "num_gpu"?')
    ]
    assert [each.code for each in stage("workflow:\n  n: 1\n", a=1).diagnostics] == ["A931"]


@pytest.mark.parametrize(
    "body",
    ["a: b", "a: b\n", "a: b\n\n", "a: '{{output}}'\n", "a: '{{output}}'\n\n", "a: |\n    x {{host:w}}\n", "a: '}}'\n"],
)
def test_what_needs_no_jinja_starts_no_process(body: str) -> None:
    file = f"workflow:\n  {body}"
    found = text.read("w.yaml", file.encode(), "workflow", Source("", {}, None, None))
    assert found.value is not None
    source_map = found.value[0].source_map
    templated = "{{" in file
    assert source_map is not None
    assert source_map.text == (tokens.mask_tokens(file).template and file.removesuffix("\n") if templated else file)


@pytest.mark.parametrize(
    ("task", "code", "message"),
    [
        ("args: ['{{ n }}']", "R127", "this caller cannot render templates"),
        ("files: [{path: p, localpath: s}]", "R134", '"s" cannot be read: this caller has no folder'),
    ],
)
def test_a_caller_that_renders_and_reads_nothing(task: str, code: str, message: str) -> None:
    file = f"workflow:\n  tasks:\n  - {task}\n"
    (found,) = text.read("w.yaml", file.encode(), "workflow", Source()).diagnostics
    assert (found.code, found.message) == (code, message)


@pytest.mark.parametrize("body", ["{{{output}}}", "{{ output }}", "{% if 1 %}{% endif %}", "{# {{output}} #}"])
def test_what_needs_jinja_is_not_taken_for_plain(body: str) -> None:
    assert not tokens.plain(body)


def test_tokens_are_exact() -> None:
    file = "workflow:\n  a: '{{uuid}} {{workflow_id}} {{output}} {{input:0}} {{input:a b}} {{host:x}} {{ 1 }}'\n"
    assert data(file) == {"a": "{{uuid}} {{workflow_id}} {{output}} {{input:0}} {{input:a b}} {{host:x}} 1"}
    assert [each[:2] for each in places("workflow:\n  a: '{{ output }}'\n")] == [("R126", 2)]
    assert [each[:2] for each in places("workflow:\n  a: '{{ input:0 }}'\n")] == [("R127", 2)]


def test_a_token_may_be_built_with_raw() -> None:
    file = "workflow:\n  a: '{% raw %}{{host:w-{% endraw %}{{ 1 + 1 }}{% raw %}}}{% endraw %}'\n"
    assert data(file) == {"a": "{{host:w-2}}"}


def test_a_whole_token_in_raw_is_kept_and_told() -> None:
    found = stage("workflow:\n  a: '{% raw %}{{output}}{% endraw %}'\n")
    assert found.value is not None
    assert found.value[0].data == {"workflow": {"a": "{{output}}"}}
    assert [(each.code, each.severity) for each in found.diagnostics] == [("R138", "warning")]


def test_each_whole_token_in_raw_has_its_place() -> None:
    raw = "{% raw %}{{output}} {{host:ab}}{% endraw %}"
    file = f"workflow:\n  a: '{{{{output}}}} {raw}'\n{{% for i in [1, 2] %}}\n  b{{{{ i }}}}: '{raw}'\n{{% endfor %}}\n"
    found = said(file)
    assert [marked(each) for each in found] == [
        (line, token) for line in (2, 4) for token in ("{{output}}", "{{host:ab}}")
    ]
    assert [each.place.column for each in found if each.place] == [27, 38, 23, 34]
    (_, _, *looped) = found
    remark = "line 4 is rendered 2 times; this is the 1st (loop at line 3)"
    assert {each.notes[0].message for each in looped} == {remark}


def test_what_stands_behind_a_token_in_raw_has_its_place() -> None:
    raw = "{% raw %}{{host:ab}}{% endraw %}"
    for comment in ("", "{# {{ 0 }} #}"):
        file = f"workflow:\n  a: {{b: '{raw}', {comment} c: {{{{ 1 }}}}, {{{{ 2 }}}}: 3}}\n"
        assert places(file) == [("R138", 2, "{{host:ab}}"), ("R112", 2, "{{ 2 }}")]


def test_so_many_tokens_in_raw_are_looked_for() -> None:
    line = "  b{{ i }}: '{% raw %}{{output}}{% endraw %}'"
    (only,) = said(f"workflow:\n{{% for i in range(150) %}}\n{line}\n{{% endfor %}}\n")
    assert [note.message for note in only.notes][1:] == ["50 more like it"]


def test_a_token_with_spaces_in_raw_is_taken_for_one() -> None:
    raw = "'{% raw %}{{ output }}{% endraw %}'"
    found = said(f"workflow:\n  a: {raw}\n  b: {raw.replace('{% end', '{{ x }}{% end')}\n")
    assert ["treats it as a runtime token" in each.message for each in found] == [True, False]
    assert found[0].hint == "write {{output}}, without spaces and not in a raw block"
    (uuid,) = said("workflow:\n  a: '{% raw %}{{ uuid }}{% endraw %}'\n")
    assert "leaves it unchanged" in uuid.message


@pytest.mark.parametrize(
    ("written", "token"),
    [
        ("{{ host:t }}", "{{host:t}}"),
        ("{{ host : t-1 }}", "{{host:t-1}}"),
        ("{{hosts:t}}", "{{host:t}}"),
        ("{{ Input:0 }}", "{{input:0}}"),
    ],
)
def test_a_token_with_spaces_is_told_as_one(written: str, token: str) -> None:
    (found,) = said(f"workflow:\n  a: ['{{{{ b }}}}', '{written}']\n")
    assert (found.code, marked(found)) == ("R127", (2, written))
    assert found.hint == f"write {token}: a runtime token has no spaces"


@pytest.mark.parametrize("name", ["output", "workflow_id", "uuid"])
@pytest.mark.parametrize("form", ["{{ %s }}", "{{%s ~ 'x'}}", "{%% if %s %%}{%% endif %%}"])
def test_a_token_that_reads_like_a_variable_is_told_as_one(name: str, form: str) -> None:
    (found,) = said(f"workflow:\n  a: '{form % name}'\n")
    assert (found.code, marked(found)) == ("R126", (2, name))
    assert found.hint.startswith(f"for the runtime token write {{{{{name}}}}}, without spaces; otherwise pass")


def test_a_character_that_jinja_does_not_know_has_its_column() -> None:
    (found,) = said("default-values:\n  b: 1\nworkflow:\n  a: '{{host:abc}} {{output}} {{ b ? 1 }}'\n  c: {{ b }}\n")
    assert (found.code, found.message) == ("R127", "the template has a syntax error: unexpected char '?'")
    assert marked(found) == (4, "?")


def test_where_the_expression_is_not_known_all_of_the_line_is_marked() -> None:
    (several,), (one,) = (said(f"workflow:\n  a: [{each}]  \n") for each in ("{{ 1 }}, {{ 1 / 0 }}", "{{ 1 / 0 }}"))
    assert marked(several) == (2, "a: [{{ 1 }}, {{ 1 / 0 }}]")
    assert marked(one) == (2, "{{ 1 / 0 }}")


def test_what_is_left_for_a_second_rendering_is_told() -> None:
    file = "workflow:\n  a: '{% raw %}{{ x }}{% endraw %}'\n  tasks: [{files: [{path: p, localpath: s}]}]\n"
    assert [each[:2] for each in places(file, {"s": b"echo ${#list[@]}"})] == [("R138", 2), ("R138", 3)]
    assert data("workflow:\n  tasks: [{files: [{path: p, localpath: s}]}]\n", {"s": b"{{output}} {x}"})


def test_jinja_that_is_missing_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("osmo_texts.render", sandbox.run)
    monkeypatch.setattr(parent, "_NEEDED", ("nosuchpackage",))
    (found,) = said("workflow:\n  a: {{ 1 }}\n")
    assert (found.code, found.hint) == ("R127", "install jinja2: `pip install 'jinja2>=3.1,<4'`")


def test_an_interpreter_that_is_missing_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("osmo_texts.render", sandbox.run)
    monkeypatch.setattr("sys.executable", "/nonexistent/python")
    (found,) = said("workflow:\n  a: {{ 1 }}\n")
    assert found.code == "R127"
    assert "cannot start a process" in found.message


def test_a_child_that_dies_or_hangs_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    ready = "import sys, os, time; sys.stdin.read(); print(flush=True); "
    monkeypatch.setattr(parent, "_SOURCE", ready + "os.abort()")
    assert sandbox.run({}) == {"failure": "died", "message": "the process ended with SIGABRT"}
    monkeypatch.setattr(parent, "_SOURCE", "raise SystemExit(3)")
    assert sandbox.run({}) == {"failure": "start", "message": "the process ended with 3"}
    monkeypatch.setattr(parent, "REPLY_TIMEOUT", 0.2)
    monkeypatch.setattr(parent, "_SOURCE", ready + "time.sleep(60)")
    assert sandbox.run({}) == {"failure": "time"}


def test_chance_falls_the_same_way() -> None:
    file = "workflow:\n  a: '{{ range(1000) | random }} {{ lipsum(1, false) }}'\n"
    assert data(file) == data(file)


def test_sets_have_one_order() -> None:
    keys = ", ".join(f"key{number}: 1" for number in range(40))
    file = f"workflow:\n  a: {{{{ (d.keys() - [0]) | list }}}}\ndefault-values:\n  d: {{{keys}}}\n"
    assert data(file) == data(file)


@pytest.mark.parametrize("surroundings", [{"TZ": "Asia/Tokyo"}, {"PYTHONHASHSEED": "7", "PYTHONPATH": "/nowhere"}])
def test_the_surroundings_change_nothing(surroundings: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    file = "workflow:\n  a: '{{ t.timestamp() }} {{ t.astimezone() }} {{ (d.keys() - [0]) | join }}'\n"
    file += "default-values:\n  t: 2024-01-31 10:20:30\n  d: {a: 1, b: 2, c: 3, d: 4}\n"
    before = data(file)
    for name, value in surroundings.items():
        monkeypatch.setenv(name, value)
    assert data(file) == before
    assert "1706696430.0 2024-01-31 10:20:30+00:00" in before["a"]


@pytest.mark.parametrize(
    "call",
    [
        "d.today()",
        "t.today()",
        "t.now()",
        "t.utcnow()",
        "t.fromtimestamp(0)",
        "d.fromtimestamp(0)",
        "(d | attr('max')).today()",
    ],
)
def test_a_template_has_no_clock(call: str) -> None:
    (found,) = said(f"workflow:\n  a: {{{{ {call} }}}}\ndefault-values:\n  d: 2024-01-31\n  t: 2024-01-31 10:20:30\n")
    assert (found.code, marked(found)) == ("R127", (2, f"{{{{ {call} }}}}"))
    assert found.message.startswith("the template reads the clock: date")
    assert "in every run" in found.hint


def test_dates_count_without_a_clock() -> None:
    calls = '{{ d.year }} {{ d.isoformat() }} {{ d.replace(day=1) }} {{ d.fromisoformat("2024-02-01") - d }}'
    file = f"workflow:\n  a: '{calls}'\n"
    assert data(f"{file}default-values:\n  d: 2024-01-31\n") == {"a": "2024 2024-01-31 2024-01-01 1 day, 0:00:00"}


@pytest.mark.parametrize("filters", ["", " | lower", " | upper", " | e", " | string | urlencode"])
def test_no_object_is_written_by_its_address(filters: str) -> None:
    (found,) = said(f"workflow:\n  b: 1\n  a: '{{{{ [1] | map(\"int\"){filters} }}}}'\n")
    assert (found.code, marked(found)[0]) == ("R127", 3)
    assert " at 0x" not in found.message.lower()
    assert data("workflow:\n  a: '<x at 0x12> {{ \"<y at 0x34>\" }}'\n") == {"a": "<x at 0x12> <y at 0x34>"}


@pytest.mark.parametrize(
    "expression",
    [
        "cycler(1) | e",
        "(cycler(1) | string)[-9:]",
        "(cycler(1).next | string)[-9:]",
        "range | upper",
        "'%s' % [''.upper]",
        "'{0.upper}'.format('a')",
        "namespace(a=joiner())",
        "('a' | attr('upper') | string)[9:]",
        "{'a': [1, 2] | reverse} | pprint",
        "self.b",
    ],
)
def test_no_piece_of_an_address_is_written(expression: str) -> None:
    block = "{% block b %}{% endblock %}"
    (found,) = said(f"workflow:\n  b: 1\n  a: >-\n    {block}{{{{ {expression} }}}}\n")
    assert (found.code, found.place and found.place.line) == ("R127", 4)
    assert "which is a Python object" in found.message


def test_objects_without_a_text_do_what_they_do() -> None:
    calls = ["c.next()", "c.next()", "c.current", "j()", "j()", "range is callable", "r is iterable", "r is callable"]
    calls += [
        "[10 ** 5000] | first > 1",
        "r | join('+')",
        "('a' | attr('upper'))()",
        "self.b()",
        "'{0}'.format(1)",
        "{'a': 1} | items | list",
    ]
    text = "{% block b %}x{% endblock %}{% set c, j, r = cycler(1, 2), joiner(','), [1, 2] | reverse %}|"
    text += "|".join(f"{{{{ {each} }}}}" for each in calls)
    assert data(f"workflow:\n  a: >-\n    {text}\n")["a"] == directly(text, {})


def test_a_syntax_error_has_its_line() -> None:
    found = said("# note\n\ndefault-values:\n  a: 1\n\nworkflow:\n  n: 1\n  m: {{ a b }}\n")
    assert [(each.code, *marked(each)) for each in found] == [("R127", 8, "{{ a b }}")]


def test_routes_lie_in_the_file() -> None:
    found = stage("workflow:\n  n: {{ a }}\n").diagnostics
    assert [each.route for each in found] == [("workflow", AT, 2, 9, 2, 10)]


def each(*templates: str) -> Any:
    """The replies to several templates without variables."""
    items = [{"task": "render", "template": template, "variables": {"map": []}} for template in templates]
    return sandbox.run({"task": "each", "items": items})["replies"]


SLOW, LARGE = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", "{{ 'a' * 10 ** 9 }}"


def test_one_request_renders_many_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    popen = parent.subprocess.Popen
    monkeypatch.setattr(parent.subprocess, "Popen", lambda *a, **k: started.append(a) or popen(*a, **k))
    replies = each(*(f"{{{{ {number} + 1 }}}}" for number in range(300)))
    assert [reply["text"] for reply in replies] == [str(number + 1) for number in range(300)]
    assert len(started) == 1
    assert each() == []


def test_of_many_templates_each_fails_by_itself() -> None:
    replies = each("{{ 1 }}", LARGE, "{{ 2 }}", SLOW, SLOW, "{{ x }}", "{{ 3 }}", LARGE)
    assert [reply.get("text", reply.get("failure")) for reply in replies] == [
        *("1", "memory", "2", "time", "time", "undefined", "3", "memory"),
    ]


@pytest.mark.parametrize("failure", ["memory", "time", "died"])
def test_what_ends_a_child_is_tried_again_by_itself(failure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those before it may have taken what it lacked."""
    children: list[int] = []

    def child(requests: Any) -> Any:
        children.append(len(requests))
        return [{"text": "a"}, {"failure": failure}] if len(children) == 1 else [{"text": "b"}] * len(requests)

    monkeypatch.setattr(parent, "_run_all", child)
    assert each("1", "2", "3") == [{"text": "a"}, {"text": "b"}, {"text": "b"}]
    assert children == [3, 2]


def test_of_many_templates_each_has_time_of_its_own() -> None:
    third = "{{ range(40000) | map('string') | sort | list | length }}" * 2
    alone = each(third)
    assert [reply["text"] for reply in each(*[third] * 5)] == [alone[0]["text"]] * 5


def test_where_no_process_starts_that_is_said_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    monkeypatch.setattr("sys.executable", "/nonexistent/python")
    popen = parent.subprocess.Popen
    monkeypatch.setattr(parent.subprocess, "Popen", lambda *a, **k: started.append(a) or popen(*a, **k))
    assert [reply["failure"] for reply in each("1", "2", "3")] == ["start"] * 3
    assert len(started) == 1


def test_a_large_request_and_a_large_reply() -> None:
    (reply,) = each("ü" * 300_000)
    assert reply["text"] == "ü" * 300_000


def test_a_child_that_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parent, "_SOURCE", "raise SystemExit(3)")
    assert each("x" * 3_000_000) == [{"failure": "start", "message": "the process ended with 3"}]


def bayplan(before: str, template: str) -> dict[str, Any]:
    """What a process that does something `before` is told of a template."""
    source = f"import json, signal, sys; from bayplan.plugins.osmo import sandbox; {before}"
    source += "; print(json.dumps(sandbox.run(json.loads(sys.argv[1]))))"
    request = json.dumps({"task": "render", "template": template, "variables": {"map": []}})
    folder = Path(parent.__file__).parent.parent.parent
    given = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-c", source, request]
    ran = subprocess.run(command, env=given, capture_output=True, timeout=60, check=True)
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def test_it_takes_no_thread() -> None:
    before = "import threading; threading.Thread.start = None"
    assert bayplan(before, "{{ 1 }}")["text"] == "1"


@pytest.mark.parametrize(
    "before",
    [
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGPROF])",
        "signal.signal(signal.SIGPROF, signal.SIG_IGN)",
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
    ],
)
def test_the_signals_of_the_caller_change_nothing(before: str) -> None:
    start = time.monotonic()
    assert bayplan(before, SLOW) == {"failure": "time"}
    assert time.monotonic() - start < parent.REPLY_TIMEOUT
    assert bayplan(before, "{{ 1 }}")["text"] == "1"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits address space")
@pytest.mark.parametrize("statm", ["/proc/self/statm", "/nonexistent/statm"])
def test_memory_is_limited_with_and_without_proc(statm: str) -> None:
    source = f"import resource; from bayplan.plugins.osmo.sandbox import child; child._STATM = {statm!r}; "
    source += "child.set_limits(); print(resource.getrlimit(resource.RLIMIT_AS)[0]); "
    source += "bytearray(10 ** 6); bytearray(5 * child.MEMORY)"
    given = {**os.environ, "PYTHONPATH": str(Path(parent.__file__).parents[4])}
    ran = subprocess.run([sys.executable, "-c", source], env=given, capture_output=True, timeout=60, check=False)
    assert int(ran.stdout) > 100 * 2**20
    assert b"MemoryError" in ran.stderr


@pytest.mark.parametrize("character", ["\\r", "\\x85", "\\u2028", "\\u2029", "\\r\\n"])
def test_whatever_ends_a_line_findings_below_it_have_a_place(character: str) -> None:
    file = f"workflow:\n  a: [\"{{{{ '{character}' * 3 }}}}\"]\n  b: 1\n  b: 2\n"
    assert places(file) == [("R110", 4, "b")]


def test_a_place_below_the_last_line_is_in_the_last() -> None:
    made = document("workflow:\n  a: {{ 1 }}\n")
    assert made.source_map is not None
    assert made.source_map.back(Span(9, 1, 9, 2))[0].line <= 3
