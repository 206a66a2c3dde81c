"""The rendering in a process of its own against Jinja in this one, and what is said of missing variables."""

from __future__ import annotations

import datetime
from typing import Any

import jinja2
import jinja2.sandbox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan import sandbox
from bayplan.diagnostics import AT
from bayplan.model.formats import Source
from bayplan.sandbox import parent, plain
from bayplan.workflows.osmo import text
from bayplan.workflows.osmo.text import packing, tokens
from osmo_texts import data, marked, places, said, stage

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


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), st.sampled_from(["", "\n", "\n\n", "  \n"]))
def test_a_template_writes_what_jinja_writes(body: str, end: str) -> None:
    hidden = tokens.hide(body + end)
    request = {"task": "render", "template": hidden.template, "variables": packing.pack({**VALUES, **hidden.tokens})}
    try:
        wanted = directly(hidden.template, {**VALUES, **hidden.tokens})
    except (jinja2.TemplateError, TypeError):
        assert "failure" in sandbox.run(request)
        return
    assert sandbox.run(request)["text"] == wanted
    if tokens.plain(body + end):
        assert tokens.reveal(hidden.template.removesuffix("\n"), hidden).text == wanted
    traced = sandbox.run({**request, "task": "trace", "clean": wanted})
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


@settings(max_examples=200, deadline=None)
@given(YAML_VALUES)
def test_every_value_of_yaml_arrives(value: Any) -> None:
    import json

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
    told = " ".join(note.message for each in found for note in each.notes)
    assert [name for name in "abcd" if f'"{name}"' in told] == also.split()


def test_a_missing_variable_has_a_near_name_and_a_way_out() -> None:
    (found,) = said("default-values:\n  num_gpu: 4\nworkflow:\n  n: {{ num_gpus }}\n")
    assert found.hint == 'did you mean "num_gpu"? Else pass --set num_gpus=VALUE, or add it under default-values'
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
    lens = found.value[0].lens
    templated = "{{" in file
    assert lens is not None
    assert lens.text == (tokens.hide(file).template and file.removesuffix("\n") if templated else file)


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
    remark = "line 4 was written 2 times; this is the 1st (loop at line 3)"
    assert {each.notes[0].message for each in looped} == {remark}


def test_what_stands_behind_a_token_in_raw_has_its_place() -> None:
    raw = "{% raw %}{{host:ab}}{% endraw %}"
    for comment in ("", "{# {{ 0 }} #}"):
        file = f"workflow:\n  a: {{b: '{raw}', {comment} c: {{{{ 1 }}}}, {{{{ 2 }}}}: 3}}\n"
        assert places(file) == [("R138", 2, "{{host:ab}}"), ("R133", 2, "{{ 2 }}")]


def test_so_many_tokens_in_raw_are_looked_for() -> None:
    line = "  b{{ i }}: '{% raw %}{{output}}{% endraw %}'"
    (only,) = said(f"workflow:\n{{% for i in range(150) %}}\n{line}\n{{% endfor %}}\n")
    assert [note.message for note in only.notes][1:] == ["50 more like it"]


def test_a_token_with_spaces_in_raw_is_taken_for_one() -> None:
    raw = "'{% raw %}{{ output }}{% endraw %}'"
    found = said(f"workflow:\n  a: {raw}\n  b: {raw.replace('{% end', '{{ x }}{% end')}\n")
    assert ["taken for a runtime token" in each.message for each in found] == [True, False]
    assert found[0].hint == "write {{output}}, without spaces and in no raw block"
    (uuid,) = said("workflow:\n  a: '{% raw %}{{ uuid }}{% endraw %}'\n")
    assert "stands as it is" in uuid.message


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
    assert found.hint == f"write {token}: a runtime token takes no spaces"


@pytest.mark.parametrize("name", ["output", "workflow_id", "uuid"])
@pytest.mark.parametrize("form", ["{{ %s }}", "{{%s ~ 'x'}}", "{%% if %s %%}{%% endif %%}"])
def test_a_token_that_reads_like_a_variable_is_told_as_one(name: str, form: str) -> None:
    (found,) = said(f"workflow:\n  a: '{form % name}'\n")
    assert (found.code, marked(found)) == ("R126", (2, name))
    assert found.hint.startswith(f"if the runtime token is meant, write {{{{{name}}}}}, without spaces. Else pass")


def test_a_character_that_jinja_does_not_know_has_its_column() -> None:
    (found,) = said("default-values:\n  b: 1\nworkflow:\n  a: '{{host:abc}} {{output}} {{ b ? 1 }}'\n  c: {{ b }}\n")
    assert (found.code, found.message) == ("R127", "the template is broken: unexpected char '?'")
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
    monkeypatch.setattr(parent, "_NEEDED", ("nosuchpackage",))
    (found,) = said("workflow:\n  a: {{ 1 }}\n")
    assert (found.code, found.hint) == ("R131", "install jinja2: `pip install 'jinja2>=3.1,<4'`")


def test_an_interpreter_that_is_missing_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nonexistent/python")
    (found,) = said("workflow:\n  a: {{ 1 }}\n")
    assert found.code == "R131"
    assert "no process can be started" in found.message


def test_a_child_that_dies_or_hangs_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    ready = "import sys, os, time; sys.stdin.read(); print(flush=True); "
    monkeypatch.setattr(parent, "_SOURCE", ready + "os.abort()")
    assert sandbox.run({}) == {"failure": "died", "message": "the process ended with SIGABRT"}
    monkeypatch.setattr(parent, "_SOURCE", "raise SystemExit(3)")
    assert sandbox.run({}) == {"failure": "start", "message": "the process ended with 3"}
    monkeypatch.setattr(parent, "PATIENCE", 0.2)
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
    assert (found.code, marked(found)) == ("R128", (2, f"{{{{ {call} }}}}"))
    assert found.message.startswith("the template asks the clock: date")
    assert "in every run" in found.hint


def test_dates_count_without_a_clock() -> None:
    calls = '{{ d.year }} {{ d.isoformat() }} {{ d.replace(day=1) }} {{ d.fromisoformat("2024-02-01") - d }}'
    file = f"workflow:\n  a: '{calls}'\n"
    assert data(f"{file}default-values:\n  d: 2024-01-31\n") == {"a": "2024 2024-01-31 2024-01-01 1 day, 0:00:00"}


@pytest.mark.parametrize("filters", ["", " | lower", " | upper", " | e", " | string | urlencode"])
def test_no_object_is_written_by_its_address(filters: str) -> None:
    (found,) = said(f"workflow:\n  b: 1\n  a: '{{{{ [1] | map(\"int\"){filters} }}}}'\n")
    assert (found.code, marked(found)[0]) == ("R131", 3)
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
    assert (found.code, found.place and found.place.line) == ("R131", 4)
    assert "an object of Python and no value" in found.message


def test_objects_without_a_text_do_what_they_do() -> None:
    calls = ["c.next()", "c.next()", "c.current", "j()", "j()", "range is callable", "r is iterable", "r is callable"]
    calls += ["r | join('+')", "('a' | attr('upper'))()", "self.b()", "'{0}'.format(1)", "{'a': 1} | items | list"]
    text = "{% block b %}x{% endblock %}{% set c, j, r = cycler(1, 2), joiner(','), [1, 2] | reverse %}|"
    text += "|".join(f"{{{{ {each} }}}}" for each in calls)
    assert data(f"workflow:\n  a: >-\n    {text}\n")["a"] == directly(text, {})


def test_a_syntax_error_has_its_line() -> None:
    found = said("# note\n\ndefault-values:\n  a: 1\n\nworkflow:\n  n: 1\n  m: {{ a b }}\n")
    assert [(each.code, *marked(each)) for each in found] == [("R127", 8, "{{ a b }}")]


def test_routes_lie_in_the_file() -> None:
    found = stage("workflow:\n  n: {{ a }}\n").diagnostics
    assert [each.route for each in found] == [("workflow", AT, 2, 9, 2, 10)]
