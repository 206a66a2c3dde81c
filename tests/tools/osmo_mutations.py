"""Changed OSMO workflow files: what users mistype, and the borders of what OSMO reads. The same seed gives the same file.

A mutant comes from one file by one to three changes. Changes of the text are of lines, templates and forms of YAML.
Changes of the structure are of keys, types and values, and write the data in another form of YAML or JSON.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import yaml

Edit = Callable[[str, random.Random], str]
Place = tuple[Any, Any]
"""A mapping or list, and the key or index of one of its values."""

SCALARS = (
    *("0", "1", "-1", "10", "010", "0x10", "0o10", "1_000", "1e3", "1.5", "-0.0", ".5", ".inf", ".nan", "1e400"),
    *("true", "false", "yes", "no", "on", "off", "y", "null", "~", '""', "''", '"null"', '"true"', '"1"', "' 2 '"),
    *("2024-01-02", "2024-01-02 03:04:05", "12:30", "1:30:45", "[]", "{}", "[a]", "{a: b}", "[[]]", "=", "<<"),
    *("- a", "a: b", "a # b", "&x a", "*x", "!!str 5", "!!int '5'", "!!binary aGk=", "!y 5", "|", ">-", "?", "'", '"'),
    *('"\\u0041"', '"\\x00"', '"\\ud83d"', "é", "日本", "\t5", "5\t", "@a", "`a`", "%a", "!!null ''", "!!float 1"),
)
"""Values as a YAML file has them."""

ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 5, 2**31, 2**63, 10**30, 0.5, 2.0, -0.0, 1e300, float("inf"), float("nan"), ""),
    *(" ", "x", "5", "0x10", "1e3", "010", "1_0", "yes", "No", "ON", "t", "null", "a b", "a\nb", "é", "日本", "a\u0085b"),
    *([], {}, [None], ["x"], [1], [[]], {"a": "b"}, {"a": None}, {1: 2}, {True: "x"}, [{}], [{"a": 1}]),
)
"""Values in place of another."""

NAMES = (
    *("a", "A", "a" * 63, "a" * 64, "a" * 65, "a" * 58, "a" * 59, "a1", "1a", "a-", "-a", "a_", "a_b", "a--b", "a.b"),
    *("a b", "", "osmo-ctrl", "OSMO_CTRL", "osmo-ctrl-1", "main", "é", "a\n", "group", 5, 1.5, True, "a:b", "a/b"),
)
AMOUNTS = (
    *("64Gi", "64G", "64GB", "64GiB", "64gi", "1.5Ti", "1.5", "16", 16, 1.5, 0, -1, "0", "0Gi", "-1Gi", "16 Gi", "1e3"),
    *("1e3Gi", "5m", "5B", "5Kib", "100k", "1Ei", "1Pi", "16Mi ", "+5Gi", "5.Gi", ".5Gi", "٥Gi", "9" * 30 + "Gi", "", True),
    *("1000000000000Ti", 0.1, "0.0001Ki", 1e20, "Gi", "5 ", "5\n"),
)
COUNTS = (
    *(0, 1, 8, -1, 1.0, 1.5, "1", " 2 ", "2.0", "+3", "-3", "1e1", "0x8", "010", "1_0", "", "a", True, False, None),
    *(10**6, 10**7, 2**31, 2**63, 1e3, "٣", "1000m", "500m", [1], "2.", "0"),
)
DURATIONS = (
    *("10m", "10 m", "10M", "1h30m", "1h", "1d", "1w", "0s", "5ms", "5us", "10", 10, 10.5, 0, -1, "-1h", "+1h", " 1h"),
    *("1_0m", "PT10M", "PT1H30M", "P1D", "P1DT2H", "PT", "P", "P1W", "P1M", "pt10m", "PT1.5S", "PT1.5M", "PT10M\n", "1.5h"),
    *("", "m", "٣m", True, None, [], 1e10, 1e300, 10**12, "999999999d", "9999999999d", "60d", "61d", "12:30", "1h ", "1 h"),
)
CODES = (
    *("0", "0-10,16", "5", 5, 5.5, True, "9-3", "256", "-1", "1,", ",1", "1, 2", "1-2-3", "", "a", "0-255", "1-", "٣", " 1"),
    *(None, [1], "01", "0x1", "1\n", "137", "1,1", "0-1,1-2", 2**70),
)
PATHS = (
    *("/tmp/a", "tmp/a", "a", "/", "", "//", "/tmp/", "/tmp//a", "/osmo/a", "osmo/a", "/osmo", "/osmo/data/output/a"),
    *("/osmo/data/output/", "//osmo/a", "/tmp/../osmo/a", "/tmp/./a", "~/a", "$HOME/a", "/tmp/a:b", "/tmp/a b", 5, True),
    *("/tmp/" + "a" * 300, "/é", "/tmp/a\n", "/osmosis/a", "/tmp/{{workflow_id}}", "/a,b"),
)
IMAGES = (
    *("ubuntu", "ubuntu:24.04", "ubuntu:", "Ubuntu", "a/b/c:1", "nvcr.io/a/b:1", "localhost:5000/a", "http://x/y", "x/"),
    *("x//y", "x:-t", "x@sha256:" + "a" * 64, "x:1@sha256:" + "a" * 64, "x@sha256:abc", "a.b/c", "a:99999/c", " x", "x ", ""),
    *("x:" + "t" * 128, "x:" + "t" * 129, "a_b", "a__b", "a___b", "a.-b", "-a", 5, 1.5, True, None, "x\n", "é", "[::1]/a"),
    *("{{workflow_id}}", "a:{{workflow_id}}", "a" * 300, "a" * 600),
)
URLS = (
    *("s3://b", "s3://b/x", "s3://b/x/", "s3://", "s3:/b", "S3://b", "gs://b", "swift://h/n/c/p", "swift://h/n/c", "http://b"),
    *("swift://h/n", "azure://a/c", "azure://a", "tos://h/b", "tos://h", "b", "", 5, None, "s3://b,c", "s3://b;c", "s3://b*"),
    *("s3://b c", "file:///x", "s3://b//c", "s3://b/{{workflow_id}}", "s3://B_", "s3://b?x=1", "s3://b#x", "s3://b\n"),
)
PATTERNS = (".*", "(", "*.txt", "[", "a{2,1}", "\\", "", "(?P<x>a)(?P<x>b)", "a" * 2000, 5, None, True, "(?i)a", "a|b", "(?<=a+)b")
LABELS: tuple[Any, ...] = (
    *({"a": "b"}, {"a": ""}, {"a": 1}, {"a": None}, {"a": True}, {1: "a"}, {"": "a"}, {"a/b": "c"}, {"A.b/c": "d"}),
    *({"a" * 63: "b"}, {"a" * 64: "b"}, {"a": "b" * 63}, {"a": "b" * 64}, {"-a": "b"}, {"a": "-b"}, {"a": "b c"}, {"a": "é"}),
    *({f"k{n}": "v" for n in range(16)}, {f"k{n}": "v" for n in range(17)}, {"osmo.x": "y"}, {"osmo.nvidia.com/x": "y"}),
    *({"kubernetes.io/x": "y"}, {"a//b": "c"}, [], None, "a", {}, ["a"], {"a.b.c/" + "d" * 63: "e"}, {"x" * 253 + "/a": "b"}),
)
CREDENTIALS: tuple[Any, ...] = (
    *({"c": "/etc/c"}, {"c": {"A": "a"}}, {"c": {"A": 5}}, {"c": {"A": None}}, {"c": None}, {"c": []}, {"c": {}}, {"c": True}),
    *({"c": 5}, {"c": ""}, {"c_d": "/a", "C-d": "/b"}, {"c": "/osmo/x"}, {"c": "rel"}, {"c": "/"}, {"c": "/etc"}, {1: "/a"}),
    *({"c": {"1A": "a"}}, {"c": {"A B": "a"}}, {"c": {"A": ""}}, {"c": {"A=B": "a"}}, {"c": {"": "a"}}, {"é": "/a"}, {"a b": "/a"}),
    *([], None, "x", {}, {"c": {"A": "a b"}}, {"c": {"A": ["a"]}}, {"c" * 260: "/a"}, {"c": "/a:b"}, {"c": "/a/", "d": "/a"}),
    *({"c": {1: "a"}}, {"c": {True: "a"}}, {"c": "/tmp", "d": "/tmp/x"}, {"c": {"A": "a"}, "d": {"A": "b"}}),
)
ENVIRONMENTS: tuple[Any, ...] = (
    *({"A": "b"}, {"A": 1}, {"A": 1.0}, {"A": True}, {"A": None}, {"A": []}, {"A": {}}, {1: "a"}, {True: "a"}, {"a b": "c"}),
    *({"": "a"}, {"1A": "b"}, {"A=B": "c"}, {"A-b.c": "d"}, {"é": "a"}, {"A": ""}, {"A": "{{workflow_id}}"}, {"A": "$(B)"}),
    *([], None, "A=b", ["A=b"], [{"name": "A", "value": "b"}], {}, {"A": 10**30}, {"A": 1e22}, {"A": "a\nb"}, {None: "a"}),
    *({"NVIDIA_VISIBLE_DEVICES": "all"}, {"A": "{{host:a}} {{ output }}"}, {"A" * 300: "b"}, {"{{output}}": "a"}, {"A": 0.1}),
)
TOPOLOGIES: tuple[Any, ...] = (
    *([{"key": "rack"}], [{"key": "zone"}, {"key": "rack"}], [{"key": "rack"}, {"key": "zone"}], [{"key": "rack", "group": "a"}]),
    *([{"key": "rack", "group": "b"}], [{"key": "zone", "group": "a"}, {"key": "rack", "group": "b"}], [{"key": "rack", "x": 1}]),
    *([{"key": "rack", "requirementType": "preferred"}], [{"key": "rack", "requirementType": "Preferred"}], [{"key": "nope"}]),
    *([{"key": "zone"}, {"key": "rack", "requirementType": "preferred"}], [{"key": "rack"}, {"key": "rack", "group": "b"}], []),
    *([{"key": "zone"}, {"key": "spine", "group": "s"}, {"key": "rack", "group": "r"}], [{"group": "a"}], [{"key": 5}], None),
    *([{"key": "rack", "group": 5}], [{"key": "rack", "group": None}], [{"key": "rack", "group": ""}], {"key": "rack"}, "rack"),
    *([{"key": "rack", "group": "A b!"}], [{"key": "rack", "group": "g" * 80}], ["rack"], [{"key": "rack", "requirementType": None}]),
)
TOKENS = (
    *("{{output}}", "{{ output }}", "{{uuid}}", "{{workflow_id}}", "{{ workflow_id }}", "{{input:0}}", "{{input:9}}", "{{ input:0 }}"),
    *("{{host:NAME}}", "{{ host:NAME }}", "{{host: NAME}}", "{{hosts:NAME}}", "{{host:nobody}}", "{{input:NAME}}", "{{Output}}"),
    *("{{host:NAME}}{{host:NAME}}", "{{{output}}}", "{{output}", "{ {output}}", "{{host:}}", "{{host:a b}}", "{{output }}", "{{\toutput}}"),
)
TEMPLATES = (
    *("{{ nothing }}", "{{ nothing | default('x') }}", "{{ 1 + 1 }}", "{{ 'a' ~ 'b' }}", "{{ 'a' | upper }}", "{{ 'a' | nofilter }}"),
    *("{# a comment #}", "{% raw %}{{ x }}{% endraw %}", "{% raw %}{{output}}{% endraw %}", "{% if true %}a{% endif %}", "{{", "{%", "{#"),
    *("{%- if true -%} a {%- endif -%}", "{% set x = 5 %}{{ x }}", "{% for i in range(3) %}{{ i }}{% endfor %}", "}}", "%}", "{{ }}"),
    *("{{ [1, 2] }}", "{{ {'a': 1} }}", "{{ none }}", "{{ true }}", "{{ 1 / 0 }}", "{{ 'x' * 3 }}", "{% if nothing is defined %}a{% endif %}"),
    *("{{ range(3) | list | join(',') }}", "{{ '{{output}}' }}", "{{ x.y }}", "{{ 5 | int }}", "{{ '5' | int + 1 }}", "{{ ''.__class__ }}"),
    *("{{ '{{' }}output{{ '}}' }}", "{% macro m() %}a{% endmacro %}{{ m() }}", "{% include 'x' %}", "{{ lipsum() }}", "{{ cycler('a').next() }}"),
    *("{{ now() }}", "{{ 'é' }}", "{{ '\\n' }}", "{{ \"a: b\" }}", "{{ 1.0 }}", "{{ 10**40 }}", "{{ 'a' if true }}", "{{ ('a', 'b') }}"),
)
DEFAULTS = (
    *("default-values:\n  extra: 1\n", "default-values: {extra: 1}\n", "default-values:\n", "default-values: []\n", "default-values: x\n"),
    *("  default-values:\n    extra: 1\n", "default-values:\n  1: a\n", "default-values:\n  extra: 1\n  extra: 2\n", "default_values: {}\n"),
    *('"default-values":\n  extra: 1\n', "default-values:\n  extra: 2024-01-01\n", "default-values: null\n", "default-values:\n- a\n"),
    *("default-values:\n  extra: *x\n", "version: 3\n", "version: '2'\n", "version: 2\n", "version: x\n", "version:\n", "other: 1\n"),
    *("default-values:\n  a-b: 1\n", "default-values:\n\textra: 1\n", "default-values:\n  extra: {{ y }}\n", "default-values:\n  true: 1\n"),
    *("workflow: {}\n", "# a comment\n", "---\n", "...\n", "%YAML 1.1\n---\n", "text before\n", "\ufeff", "- a\n", "{}\n", "name: x\n"),
)

VALUES: dict[str, Sequence[Any]] = {
    **dict.fromkeys(("name", "task", "group", "resource", "platform", "pool", "backend"), NAMES),
    **dict.fromkeys(("memory", "storage", "cacheSize"), AMOUNTS),
    "cacheSize": ("50%", "0%", "101%", "-1%", "5.5%", "%", "50 %", "50%%", "1e1%", "nan%", *AMOUNTS),
    **dict.fromkeys(("cpu", "gpu"), COUNTS),
    **dict.fromkeys(("exec_timeout", "queue_timeout", "frequency"), DURATIONS),
    **dict.fromkeys(("COMPLETE", "FAIL", "RESCHEDULE"), CODES),
    "exitActions": tuple({key: code} for key in ("COMPLETE", "fail", "Reschedule", "RESTART", "", 1) for code in CODES[:9]),
    "path": PATHS,
    "image": IMAGES,
    "url": URLS,
    "regex": PATTERNS,
    "labels": LABELS,
    "credentials": CREDENTIALS,
    "environment": ENVIRONMENTS,
    "topology": TOPOLOGIES,
    **dict.fromkeys(("lead", "barrier", "ignoreNonleadStatus", "base64", "privileged", "hostNetwork"), (
        *(True, False, "yes", "No", "TRUE", "on", "y", "t", "1", "0", 1, 0, 1.0, 2, "", " true", "oui", None, []),
    )),  # fmt: skip
    "volumeMounts": tuple([each] for each in ("/mnt", "/mnt:/data", "/mnt:", ":/a", "/a:/b:ro", "/nope", 5, "", "/dev/shm", "/mnt:rel")),
    "nodesExcluded": (["n1"], ["n1", "n1"], [5], [], [""], ["a b"], "n1", None, [True], ["n" * 300], ["N1"]),
    "requirementType": ("required", "preferred", "Required", "", None, True, "soft"),
    "downloadType": ("download", "mountpoint", "mountpoint-s3", "Download", "", None, 5),
    "contents": ("x", 5, 1.5, True, None, "", "é\n", "a" * 3000, "aGk=", "aGk", "{{output}}", "a\u0000b", ["a"], "\ttab\n", "a\r\nb"),
    "command": ([], ["a"], "a", [""], [1], [True], [None], [["a"]], [1.0], ["a b", "é"], None, ["{{output}}"], ["a", 0x10]),
    "args": ([], ["a"], "a", [""], [1], [True], [None], [1e3], ["{{host:a}}"], None, ["a\nb"], [10**30], [0.1]),
    "inputs": ([], None, [{}], [{"task": "nobody"}], [{"url": "s3://b"}], [{"task": "a:b"}], [{"task": "a", "url": "s3://b"}], ["a"]),
    "outputs": ([], None, [{}], [{"url": "s3://b"}], [{"task": "a"}], [{"dataset": {"name": "x"}}], [{"url": "s3://b", "regex": "("}]),
    "files": ([], None, [{}], [{"path": "/a"}], [{"contents": "a"}], ["a"], [{"path": "/a", "contents": "x"}] * 2, [{"path": "/a", "contents": "é", "base64": True}]),
    "resources": ({}, None, {"default": {}}, {"default": None}, [], {"default": {"cpu": 1}}, {1: {}}, {"a": {}}, {"default": {"disk": "1Gi"}}),
    "timeout": ({}, None, {"exec_timeout": "1h"}, {"timeout": 5}, "1h", {"queue_timeout": None}, []),
    "checkpoint": ([], None, [{"path": "/a", "url": "s3://b", "frequency": "10m"}], [{"path": "/a"}], [{"path": "/a", "url": "s3://b", "frequency": True}]),
    "kpis": ([], None, [{"index": "a", "path": "b"}], [{"index": 1, "path": 2}], [{"index": "a"}], [{}]),
    "tasks": ([], None, {}, "a", [None], ["a"], [{}]),
    "groups": ([], None, {}, "a", [None], [{}], [{"name": "g"}], [{"name": "g", "tasks": []}]),
}  # fmt: skip
"""Key -> the values at the borders of what OSMO accepts for it."""

OPTIONAL = {
    "task": (
        *("args", "environment", "resource", "inputs", "outputs", "files", "credentials", "volumeMounts", "privileged"),
        *("hostNetwork", "exitActions", "checkpoint", "kpis", "downloadType", "cacheSize", "lead", "resources", "backend"),
    ),
    "workflow": ("labels", "pool", "backend", "resources", "timeout", "tasks", "groups"),
    "group": ("barrier", "ignoreNonleadStatus"),
    "resource": ("cpu", "gpu", "memory", "storage", "platform", "nodesExcluded", "topology"),
    "timeout": ("exec_timeout", "queue_timeout"),
}
"""Keys that a mutant may get."""

UNKNOWN = ("foo", "Name", "image ", "cmd", "env", "replicas", "dataset", "ports", "x-y", "1", "description")


def mutant(text: str, seed: str, variables: Sequence[str] = ()) -> str:
    """A changed file. `variables`: the names that `--set` gives."""
    chosen = random.Random(seed)
    data = structure(text, variables)
    if data is not None and chosen.random() < 0.6:
        for _ in range(chosen.choice((1, 1, 1, 2, 3))):
            data = changed(data, chosen)
        result = written(data, chosen)
        return result if chosen.random() < 0.85 else chosen.choice(EDITS)(result, chosen)
    for _ in range(chosen.choice((1, 1, 2))):
        text = chosen.choice(EDITS)(text, chosen)
    return text


# Changes of the structure.


def structure(text: str, variables: Sequence[str] = ()) -> dict[str, Any] | None:
    """The data of a file that is YAML before its template runs, without its default values."""
    if "{%" in text or "default-values" in text or any(f"{{{{ {name}" in text for name in variables):
        return None
    try:
        data = yaml.load(text, yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError):
        return None
    return data if isinstance(data, dict) and isinstance(data.get("workflow"), dict) else None


def changed(data: dict[str, Any], chosen: random.Random) -> dict[str, Any]:
    """The data with one change."""
    data = copy.deepcopy(data)
    try:
        chosen.choice((_value, _value, _value, _value, _value, _odd, _delete, _add, _add, _add, _rename, _repeat, _token, _regroup))(data, chosen)
    except (TypeError, AttributeError, KeyError, IndexError, ValueError):
        pass  # an earlier change has left nothing to change here
    return data


def _places(value: Any) -> Iterator[Place]:
    """The places of all values."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from _places(value[key])


def _value(data: Any, chosen: random.Random) -> None:
    """Another value at the borders of what OSMO accepts for the key."""
    places = [(owner, key) for owner, key in _places(data) if isinstance(key, str) and key in VALUES]
    names = sorted({key for _, key in places})  # each key as often as the others
    name = chosen.choice(names)
    owner, key = chosen.choice([each for each in places if each[1] == name])
    owner[key] = copy.deepcopy(chosen.choice(VALUES[key]))


def _odd(data: Any, chosen: random.Random) -> None:
    owner, key = chosen.choice(list(_places(data)))
    owner[key] = copy.deepcopy(chosen.choice(ODD))


def _delete(data: Any, chosen: random.Random) -> None:
    owner, key = chosen.choice(list(_places(data)))
    del owner[key]


def _add(data: Any, chosen: random.Random) -> None:
    """A key that the mapping may have, with a value at its borders, or a key that it may not have."""
    owner, kind = chosen.choice(list(_owners(data["workflow"])))
    if chosen.random() < 0.15:
        owner[chosen.choice(UNKNOWN)] = chosen.choice(("x", None, 5))
    else:
        key = chosen.choice(OPTIONAL[kind])
        owner[key] = copy.deepcopy(chosen.choice(VALUES[key]))


def _owners(flow: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    yield flow, "workflow"
    tasks = list(flow.get("tasks") or ())
    for group in flow.get("groups") or ():
        yield group, "group"
        tasks += group["tasks"]
    yield from ((each, "task") for each in tasks)
    yield from ((each, "resource") for each in (flow.get("resources") or {}).values())
    if "timeout" in flow:
        yield flow["timeout"], "timeout"


def _rename(data: Any, chosen: random.Random) -> None:
    """A key in another spelling."""
    owner, key = chosen.choice([(owner, key) for owner, key in _places(data) if isinstance(key, str)])
    change = chosen.choice((str.upper, str.lower, str.title, lambda k: k + "s", lambda k: k[:-1], lambda k: f" {k}", lambda k: k + " "))
    items = [(change(k) if k == key else k, v) for k, v in owner.items()]
    owner.clear()
    owner.update(items)


def _repeat(data: Any, chosen: random.Random) -> None:
    """An entry of a list twice."""
    owner, key = chosen.choice([each for each in _places(data) if isinstance(each[0], list)])
    other = copy.deepcopy(owner[key])
    if isinstance(other, dict) and "name" in other and chosen.random() < 0.7:
        other["name"] = f"{other['name']}-2"
        other.pop("lead", None)
    owner.insert(chosen.randrange(len(owner) + 1), other)


def _token(data: Any, chosen: random.Random) -> None:
    """A token in a string."""
    texts = [each for each in _places(data["workflow"]) if isinstance(each[0][each[1]], str)]
    owner, key = chosen.choice(texts)
    names = [owner[key] for owner, key in _places(data) if key == "name" and isinstance(owner[key], str)]
    token = chosen.choice(TOKENS).replace("NAME", chosen.choice(names))
    owner[key] = chosen.choice((token, f"{owner[key]}{token}", f"{token} {owner[key]}"))


def _regroup(data: Any, chosen: random.Random) -> None:
    """Tasks become a group, or groups become tasks, or change their order."""
    flow = data["workflow"]
    if flow.get("tasks"):
        tasks = flow.pop("tasks")
        if chosen.random() < 0.8:
            tasks[0]["lead"] = True
        flow["groups"] = [{"name": "grouped", "tasks": tasks}] if chosen.random() < 0.7 else tasks
    elif chosen.random() < 0.5:
        flow["tasks"] = [task for group in flow.pop("groups") for task in group["tasks"]]
    else:
        chosen.choice([flow["groups"], *(group["tasks"] for group in flow["groups"])]).reverse()


def written(data: dict[str, Any], chosen: random.Random) -> str:
    """The data in one of the forms of YAML."""
    form = chosen.randrange(10)
    if form < 5:
        return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=200)
    if form < 7:
        return yaml.safe_dump(data, sort_keys=True, width=40, indent=4)
    if form == 7:
        return yaml.safe_dump(data, default_flow_style=True, sort_keys=False)
    if form == 8:
        return yaml.safe_dump(data, default_style=chosen.choice(("'", '"', "|")), sort_keys=False)
    try:
        return json.dumps(data, indent=chosen.choice((None, 2)), ensure_ascii=chosen.random() < 0.5)
    except TypeError:  # a date, or a key that JSON does not have
        return yaml.safe_dump(data)


# Changes of the text.


def _line(text: str, chosen: random.Random, change: Callable[[str], str], wanted: str = r"\S") -> str:
    """The text with one line changed."""
    lines = text.split("\n")
    numbers = [number for number, line in enumerate(lines) if re.search(wanted, line)]
    if numbers:
        number = chosen.choice(numbers)
        lines[number] = change(lines[number])
    return "\n".join(lines)


KEY = r"^\s*(- )?[\w-]+:( |$)"


def _delete_line(text: str, chosen: random.Random) -> str:
    lines = text.split("\n")
    del lines[chosen.randrange(len(lines))]
    return "\n".join(lines)


def _double_line(text: str, chosen: random.Random) -> str:
    return _line(text, chosen, lambda line: f"{line}\n{line}", KEY)


def _indent(text: str, chosen: random.Random) -> str:
    change = chosen.choice((lambda s: f" {s}", lambda s: f"  {s}", lambda s: s.removeprefix(" "), lambda s: s.removeprefix("  "), lambda s: f"\t{s}"))
    return _line(text, chosen, change)


def _scalar(text: str, chosen: random.Random) -> str:
    value = chosen.choice(SCALARS)
    return _line(text, chosen, lambda line: f"{line[: line.index(':') + 1]} {value}", KEY)


def _quote(text: str, chosen: random.Random) -> str:
    mark = chosen.choice("'\"")
    return _line(text, chosen, lambda line: re.sub(r": (.+)$", lambda m: f": {mark}{m[1]}{mark}", line), r": \S")


def _quote_key(text: str, chosen: random.Random) -> str:
    mark = chosen.choice("'\"")
    return _line(text, chosen, lambda line: re.sub(r"^(\s*(?:- )?)([\w-]+):", rf"\1{mark}\2{mark}:", line), KEY)


def _insert_template(text: str, chosen: random.Random) -> str:
    piece = chosen.choice(TEMPLATES)
    return _line(text, chosen, lambda line: chosen.choice((f"{line}{piece}", f"{line} {piece}", re.sub(r": .*$", lambda _: f": {piece}", line), f"{line}\n{piece}")))


def _insert_token(text: str, chosen: random.Random) -> str:
    names = re.findall(r"name: *([\w-]+)", text) or ["a"]
    piece = chosen.choice(TOKENS).replace("NAME", chosen.choice(names))
    return _line(text, chosen, lambda line: f"{line}{piece}" if chosen.random() < 0.5 else f"{line} {piece}")


def _section(text: str, chosen: random.Random) -> str:
    piece = chosen.choice(DEFAULTS)
    return f"{piece}{text}" if chosen.random() < 0.5 else f"{text.rstrip()}\n{piece}"


def _variable(text: str, chosen: random.Random) -> str:
    """Another default value."""
    at = text.find("default-values:")
    value = chosen.choice(SCALARS)
    if at < 0:
        name = chosen.choice(("n", "my-var", "loop", "self", "true", "None", "x y"))
        return _line(text, chosen, lambda line: re.sub(r": .*$", lambda _: f": {{{{ {name} }}}}", line), r": \S").rstrip() + (
            f"\n\ndefault-values:\n  {name}: {value}\n"
        )
    return text[:at] + _line(text[at:], chosen, lambda line: f"{line[: line.index(':') + 1]} {value}", r"^ +[\w-]+:")


def _whole(text: str, chosen: random.Random) -> str:
    """Another form of the whole file."""
    form = chosen.randrange(9)
    if form == 0:
        return text.replace("\n", "\r\n")
    if form == 1:
        return "".join(f"  {line}\n" for line in text.split("\n"))
    if form == 2:
        return text.rstrip("\n")
    if form == 3:
        return text.replace("workflow:", chosen.choice(("'workflow':", '"workflow":', "? workflow\n:", "workflow :", "Workflow:", "!!str workflow:")), 1)
    if form == 4:
        return text[: chosen.randrange(len(text) + 1)]
    if form == 5:
        end = chosen.choice(("...", "---", "--- {}", "# end", "---\nworkflow: {}"))
        return f"{text.rstrip()}\n{end}\n"
    if form == 6:
        at = chosen.randrange(len(text) + 1)
        return text[:at] + chosen.choice(("\x00", "\x07", "\u2028", "\u0085", "\t", "\ufeff", "\\", "é", ":", "#", "-", '"', "'", "{", "}", "[", "*", "&", "!")) + text[at:]
    if form == 7:
        return text.replace("tasks:", "tasks: &anchor", 1).rstrip() + "\n# *anchor\n"
    return text.replace("  name:", "  <<: {lead: true}\n  name:", 1)


EDITS: tuple[Edit, ...] = (
    *(_delete_line, _double_line, _indent, _scalar, _scalar, _scalar, _quote, _quote_key, _insert_template, _insert_template),
    *(_insert_token, _insert_token, _section, _variable, _variable, _whole),
)
