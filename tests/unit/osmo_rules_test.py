"""OSMO's rules on data: what each finds and where, and that none of them falls over data that the schema accepts."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings

from bayplan import schemas
from bayplan.core.diagnostics import KEY, Diagnostic
from bayplan.plugins.osmo import rules
from bayplan.report.codes import page
from random_osmo import DATA, sound
from tools.effort import examples

Route = tuple[Any, ...]


def task(name: str = "a", **more: Any) -> dict[str, Any]:
    """A task that is sound."""
    return {"name": name, "image": "example.com/i:1", "command": ["run"], **more}


def bare(*tasks: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A workflow of tasks outside of groups."""
    return {"name": "w", "tasks": list(tasks), **more}


def team(*tasks: dict[str, Any], name: str = "g", **more: Any) -> dict[str, Any]:
    """A group whose first task leads."""
    first, *rest = tasks
    return {"name": name, "tasks": [{"lead": True, **first}, *rest], **more}


def grouped(*groups: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A workflow of groups."""
    return {"name": "w", "groups": list(groups), **more}


def with_resource(**resource: Any) -> dict[str, Any]:
    """A task that has this resource."""
    return bare(task(), resources={"default": resource})


def found(workflow: dict[str, Any]) -> list[Diagnostic]:
    """What the rules say of a workflow that the schema accepts."""
    data = {"workflow": workflow}
    assert schemas.validate("OsmoWorkflow", data, "workflow") == ()
    return list(rules.check(data))


T: Route = ("tasks", 0)
G: Route = ("groups", 0)
FILE = {"path": "/tmp/a", "contents": "x"}
ZONE, RACK = {"key": "zone"}, {"key": "rack"}

CASES: dict[str, tuple[dict[str, Any], str, str, Route, str]] = {
    "both": (bare(task(), groups=[team(task("b"))]), "error", "W401", ("groups",), "has both"),
    "neither": (bare(), "error", "W401", ("tasks",), "no `tasks`"),
    "two-tasks": (bare(task("Rank_0"), task("rank-0")), "error", "W401", ("tasks", 1, "name"), 'and "Rank_0"'),
    "group-like-task": (grouped(team(task("g"))), "error", "W401", (*G, "tasks", 0, "name"), 'the name "g"'),
    "made-name": (bare(task("a"), task("a_Group")), "error", "W401", (*T, "name"), '"a-group"'),
    "reserved": (bare(task("OSMO_ctrl")), "error", "W401", (*T, "name"), "container of OSMO"),
    "long": (bare(task("a" * 59)), "error", "W401", (*T, "name"), "65 characters"),
    "no-lead": (grouped(team(task(lead=False), task("b"))), "error", "W401", (*G, "tasks"), "has no lead"),
    "two-leads": (grouped(team(task(), task("b", lead="y"))), "error", "W401", (*G, "tasks"), '"a" and "b"'),
    "no-source": (bare(task(inputs=[{}])), "error", "W408", (*T, "inputs", 0), "no `task` and no `url`"),
    "unknown-input": (
        bare(task("prepare"), task(inputs=[{"task": "prepair"}])),
        "error",
        "W408",
        ("tasks", 1, "inputs", 0, "task"),
        'unknown task: "prepair"',
    ),
    "same-task": (bare(task(inputs=[{"task": "a"}])), "error", "W408", (*T, "inputs", 0, "task"), "the task itself"),
    "later-task": (
        bare(task(inputs=[{"task": "b"}]), task("b")),
        "error",
        "W408",
        (*T, "inputs", 0, "task"),
        "a task of a later group",
    ),
    "same-group": (
        grouped(team(task(), task("b", inputs=[{"task": "a"}]), ignoreNonleadStatus=False)),
        "error",
        "W408",
        (*G, "tasks", 1, "inputs", 0, "task"),
        "a task of the same group",
    ),
    "regex": (
        bare(task(outputs=[{"url": "s3://b", "regex": "a("}])),
        "error",
        "W413",
        (*T, "outputs", 0, "regex"),
        "not a valid regular expression",
    ),
    "regex-of-a-checkpoint": (
        bare(task(checkpoint=[{"path": "/a", "url": "s3://b", "frequency": 1, "regex": "*"}])),
        "error",
        "W413",
        (*T, "checkpoint", 0, "regex"),
        "nothing to repeat",
    ),
    "resource": (
        bare(task(resource="gpus"), resources={"gpu": {}, "default": {}}),
        "error",
        "W408",
        (*T, "resource"),
        'unknown resource: "gpus"',
    ),
    "no-default": (bare(task(), resources={}), "error", "W408", (*T, "name"), "has no `resource`"),
    "unused": (bare(task(), resources={"default": {}, "b": {}}), "info", "W446", ("resources", "b"), "no task"),
    "unit": (with_resource(memory="16GB"), "error", "W413", ("resources", "default", "memory"), '"16GB"'),
    "too-large": (with_resource(storage="9999999Ti"), "error", "W413", ("resources", "default", "storage"), "amount"),
    "bytes": (with_resource(memory=16), "warning", "W414", ("resources", "default", "memory"), "16 bytes"),
    "decimal": (with_resource(memory="16G"), "warning", "W414", ("resources", "default", "memory"), "16Gi"),
    "cache": (bare(task(cacheSize="101%")), "error", "W413", (*T, "cacheSize"), '"101%"'),
    "cache-below-zero": (bare(task(cacheSize="-0.5%")), "error", "W413", (*T, "cacheSize"), '"-0.5%"'),
    "key-twice": (
        with_resource(topology=[RACK, {"key": "rack", "group": "b"}]),
        "error",
        "W418",
        ("resources", "default", "topology", 1, "key"),
        'two entries for topology key "rack"',
    ),
    "two-key-sets": (
        bare(
            task(resource="x"),
            task("b", resource="y"),
            resources={"x": {"topology": [ZONE, RACK]}, "y": {"topology": [RACK]}},
        ),
        "error",
        "W418",
        ("resources", "y", "topology"),
        'task "b" has the topology key "rack", task "a" has keys "rack" and "zone"',
    ),
    "restart": (
        bare(task(exitActions={"RESTART": 3})),
        "error",
        "W413",
        (*T, "exitActions", "RESTART", KEY),
        '"RESTART" is no',
    ),
    "codes": (bare(task(exitActions={"fail": "1, 2"})), "error", "W413", (*T, "exitActions", "fail"), '"1, 2" is no'),
    "overlap": (
        bare(task(exitActions={"COMPLETE": "0-10", "fail": "5,7-9"})),
        "warning",
        "W421",
        (*T, "exitActions", "fail"),
        "exit code 5",
    ),
    "backwards": (
        bare(task(exitActions={"FAIL": "9-3"})),
        "warning",
        "W421",
        (*T, "exitActions", "FAIL"),
        "the larger code first",
    ),
    "below-osmo": (
        bare(task(files=[{"path": "//osmo/x", "contents": ""}])),
        "error",
        "W423",
        (*T, "files", 0, "path"),
        "below /osmo",
    ),
    "empty-path": (
        bare(task(files=[{"path": "", "contents": ""}])),
        "error",
        "W423",
        (*T, "files", 0, "path"),
        "does not name a file",
    ),
    "folder": (
        bare(task(files=[{"path": "/osmo/data/output/", "contents": ""}])),
        "error",
        "W423",
        (*T, "files", 0, "path"),
        "is a folder",
    ),
    "colon": (bare(task(files=[{"path": "/a:b", "contents": ""}])), "error", "W423", (*T, "files", 0, "path"), "colon"),
    "twins": (
        bare(task(files=[FILE, {"path": "//tmp/a", "contents": ""}])),
        "error",
        "W423",
        (*T, "files", 1, "path"),
        'two files at "/tmp/a"',
    ),
    "base64": (
        bare(task(files=[{**FILE, "base64": "true"}])),
        "error",
        "W413",
        (*T, "files", 0, "contents"),
        "not base64",
    ),
    "mount": (bare(task(volumeMounts=["/a:/b:ro"])), "error", "W413", (*T, "volumeMounts", 0), '"/a:/b:ro"'),
    "duration": (
        bare(task(), timeout={"exec_timeout": "1h30m"}),
        "error",
        "W413",
        ("timeout", "exec_timeout"),
        '"1h30m"',
    ),
    "negative": (bare(task(), timeout={"exec_timeout": -1}), "error", "W413", ("timeout", "exec_timeout"), "number -1"),
    "zero": (bare(task(), timeout={"exec_timeout": "0s"}), "warning", "W457", ("timeout", "exec_timeout"), "zero"),
    "host": (
        bare(task(args=["{{host:b}}"]), task("b")),
        "warning",
        "W429",
        (*T, "args", 0),
        "{{host:b}} does not name a task of this group",
    ),
    "input": (
        bare(task(files=[{**FILE, "contents": "cat {{input:0}}"}])),
        "warning",
        "W429",
        (*T, "files", 0, "contents"),
        "does not name an input",
    ),
    "almost": (
        bare(task(environment={"A": "{{ host: a }}"})),
        "warning",
        "W429",
        (*T, "environment", "A"),
        "not a token",
    ),
    "uuid": (bare(task(args=["{{uuid}}"])), "warning", "W429", (*T, "args", 0), "do not replace"),
    "id": (bare(task(args=["{{workflow_id}}"])), "info", "W432", (*T, "args", 0), "the name of the workflow"),
    "pool": (bare(task(), pool="p"), "warning", "W433", ("pool",), "overwrites"),
    "inner-resources": (bare(task(resources={"cpu": 1})), "warning", "W433", (*T, "resources"), "overwrites"),
    "inputs": (bare(task(inputs=[{"url": "s3://b"}])), "warning", "W441", (*T, "inputs", 0), "/osmo/data/input"),
    "outputs": (bare(task(outputs=[{"url": "s3://b"}])), "warning", "W441", (*T, "outputs", 0), "/osmo/data/output"),
    "earlier": (bare(task(inputs=[{"task": "w-1:b"}])), "warning", "W441", (*T, "inputs", 0), "earlier workflow"),
    "checkpoint": (
        bare(task(checkpoint=[{"path": "/a", "url": "s3://b", "frequency": "10m"}])),
        "warning",
        "W441",
        (*T, "checkpoint", 0),
        "checkpoints",
    ),
    "kpis": (bare(task(kpis=[{"index": 1, "path": "a"}])), "warning", "W441", (*T, "kpis", 0), "KPIs"),
    "cache-size": (bare(task(cacheSize="10%")), "warning", "W446", (*T, "cacheSize"), "no effect"),
    "queue": (
        bare(task(), timeout={"queue_timeout": "1h", "exec_timeout": None}),
        "warning",
        "W447",
        ("timeout", "queue_timeout"),
        "waiting time",
    ),
    "reschedule": (
        bare(task(exitActions={"reschedule": "5,3004-3006"})),
        "warning",
        "W450",
        (*T, "exitActions", "reschedule"),
        "above 255",
    ),
    "reschedule-success": (
        bare(task(exitActions={"RESCHEDULE": 0})),
        "warning",
        "W450",
        (*T, "exitActions", "RESCHEDULE"),
        "exit code 0",
    ),
    "secret-name": (
        bare(task(credentials={"my key": "/secrets/a"})),
        "error",
        "W453",
        (*T, "credentials", "my key"),
        "not a valid name",
    ),
    "one-secret": (
        bare(task(credentials={"a_b": {"A": "k"}, "A-b": {"B": "k"}})),
        "error",
        "W453",
        (*T, "credentials", "A-b"),
        "both become the Secret",
    ),
    "secret-key": (
        bare(task(credentials={"a": {"A": "my key"}})),
        "error",
        "W453",
        (*T, "credentials", "a", "A"),
        "not a valid key",
    ),
    "hidden-folder": (
        bare(task(credentials={"a": "/root"})),
        "warning",
        "W453",
        (*T, "credentials", "a"),
        "hides",
    ),
    "folder-in-folder": (
        bare(task(credentials={"a": "/secrets/a", "b": "/secrets/a/b"})),
        "error",
        "W423",
        (*T, "credentials", "b"),
        "inside the folder",
    ),
    "tiny": (
        bare(task(), resources={"default": {"memory": "100m"}}),
        "warning",
        "W414",
        ("resources", "default", "memory"),
        "1/1024",
    ),
    "credentials": (
        bare(task(credentials={"my_cred": {"TOKEN": "key"}})),
        "info",
        "W451",
        (*T, "credentials", "my_cred"),
        'the Secret "my-cred"',
    ),
}
"""What is wrong -> workflow, and the severity, code, route and words of the finding."""

SERVICE = {"W446", "W441", "W451"}
"""What a workflow may bring along that is there to break another rule."""


@pytest.mark.parametrize("name", CASES)
def test_each_rule(name: str) -> None:
    workflow, severity, code, route, words = CASES[name]
    everything = found(workflow)
    (only,) = [each for each in everything if each.code == code]
    assert {each.code for each in everything} - {code} <= SERVICE
    assert (only.severity, only.route) == (severity, ("workflow", "workflow", *route))
    assert words in only.message
    assert only.hint


def test_every_rule_is_in_the_table() -> None:
    translated = {"W448", "W449", "W483"}  # these, and the codes from W456 on, are of the translation or of a cluster
    own = {code for code in page("w_osmo.md") if code < "W456"} - translated | {"W457"}
    assert {code for _, _, code, _, _ in CASES.values()} == own


SOUND = {
    "numbers": bare(task(image=5, args=[1, 0.5], environment={"A": True, "B": 1e3}, lead="no")),
    "default-resource": bare(task(), resources={"default": {}}),
    "no-resources": bare(task()),
    "longest": bare(task("a" * 58)),
    "long-in-a-group": grouped(team(task("a" * 64))),
    "output-file": bare(task(files=[{"path": "/osmo/data/output/x", "contents": ""}])),
    "other-osmo": bare(task(files=[{"path": "/osmosis/x", "contents": ""}])),
    "base64": bare(task(files=[{"path": "/a", "contents": "aGVs\nbG8=\n", "base64": True}])),
    "mounts": bare(task(volumeMounts=["/a", "/a:/b"])),
    "timeouts": bare(task(), timeout={"exec_timeout": "PT1H30M", "queue_timeout": 90.5}),
    "no-timeouts": bare(task(), timeout={"exec_timeout": None, "queue_timeout": None}),
    "amounts": with_resource(cpu="4", gpu=2.0, memory="1.5Ti", storage="64GiB"),
    "nothing": with_resource(cpu=None, gpu=None, memory=None, storage=None, platform=None, nodesExcluded=[]),
    "one-key-set": bare(task(resource="x"), task("b"), resources={"default": {}, "x": {"topology": [ZONE, RACK]}}),
    "codes": bare(task(exitActions={"Complete": "0-10,16", "FAIL": 11})),
    "same-action-twice": bare(task(exitActions={"Complete": "0-10", "COMPLETE": 5})),
    "own-host": bare(task(args=["{{host:a}}", "{{ output }}", "{{ name }}", "{{outputs.result}}"])),
    "empty-lists": bare(task(inputs=[], outputs=[], files=[], kpis=[], checkpoint=[], credentials={}), groups=[]),
    "lone-barrier": grouped(team(task(lead=False), barrier=False)),
}


@pytest.mark.parametrize("name", SOUND)
def test_what_is_sound_is_passed_over(name: str) -> None:
    assert found(SOUND[name]) == []


def test_all_findings_come_at_once() -> None:
    workflow = bare(
        task(exitActions={"RESTART": "x"}, resource="b", inputs=[{"task": "z"}]),
        task("A", volumeMounts=[":"]),
        timeout={"exec_timeout": "soon"},
    )
    codes = sorted(each.code for each in found(workflow))
    assert codes == ["W401", "W408", "W408", "W413", "W413", "W413", "W413", "W441"]


def test_what_the_service_does_is_told_once_a_kind() -> None:
    workflow = bare(*(task(f"t{number}", outputs=[{"url": "s3://b"}]) for number in range(9)))
    (only,) = found(workflow)
    assert (only.code, only.route) == ("W441", ("workflow", "workflow", "tasks", 0, "outputs", 0))
    assert only.message.endswith("(and in 8 other places)")
    assert [note.route[3] for note in only.notes] == [1, 2, 3]


def test_credentials_name_each_secret_and_its_keys() -> None:
    workflow = bare(
        task(credentials={"store": {"ID": "id", "KEY": "key"}, "reg_istry": "/etc/r"}),
        task("b", credentials={"store": {"KEY": "other"}}),
    )
    (only,) = found(workflow)
    assert '"store" and "reg-istry"' in only.message
    assert only.hint.endswith("generic store --from-literal=id=... --from-literal=key=... --from-literal=other=...")
    (only,) = found(bare(task(credentials={"reg_istry": "/etc/r"})))
    assert only.hint.endswith("generic reg-istry --from-file=FOLDER")


def test_a_mount_of_a_secret_obeys_the_rule_of_paths() -> None:
    workflow = bare(task(credentials={"a": "/osmo/x"}), task("b", credentials={"b": "/"}))
    paths = [each for each in found(workflow) if each.code == "W423"]
    assert [each.route[-1] for each in paths] == ["a", "b"]


HINTS = {
    "Gi": ("16GB", 'did you mean "16Gi"?'),
    "blank": ("16 Gi", "without a space"),
    "lower": ("16gi", 'did you mean "16Gi"?'),
    "kilo": ("5k", 'did you mean "5Ki"?'),
    "other": ("5Pi", "write a number with"),
    "words": ("much", "write a number with"),
    "huge": ("9999999Ti", "a smaller amount"),
}


@pytest.mark.parametrize("name", HINTS)
def test_hints_of_amounts(name: str) -> None:
    value, hint = HINTS[name]
    (only,) = found(with_resource(memory=value))
    assert (only.code, hint in only.hint) == ("W413", True), only.hint


def test_hints_name_what_is_near() -> None:
    (typo,) = [each for each in found(bare(task("prep"), task(inputs=[{"task": "prp"}]))) if each.code == "W408"]
    assert typo.hint == 'did you mean "prep"?'
    groups = grouped(team(task("p"), name="prepare"), team(task(inputs=[{"task": "prepare"}])))
    (of_group,) = [each for each in found(groups) if each.code == "W408"]
    assert "this is a group" in of_group.hint
    (elsewhere,) = found(bare(task(args=["{{host:b}}"]), task("b")))
    assert "put both tasks into one group" in elsewhere.hint
    (near,) = found(grouped(team(task(args=["{{host:rank1}}"]), task("rank-1"), ignoreNonleadStatus=False)))
    assert near.hint == 'did you mean "rank-1"?'


def test_each_name_of_a_token_is_told_once_a_task() -> None:
    workflow = bare(task(args=["{{host:x}} {{ host:x }}", "{{host:x}}", "{{host:y}}"]))
    assert [each.message.split()[0] for each in found(workflow)] == ["{{host:x}}", "{{host:y}}"]


@given(DATA)
@settings(max_examples=examples(25, 150), deadline=None)
def test_no_rule_falls_over_data_that_the_schema_accepts(data: Any) -> None:
    assert schemas.accepts("OsmoWorkflow", data)
    for each in rules.check(data):
        assert re.fullmatch(r"W4[0-5]\d", each.code)
        assert each.message
        assert each.message.isprintable()
        here = data
        for step in [step for step in each.route[1:] if step != KEY]:
            here = here[step]


@given(sound())
@settings(max_examples=examples(12, 60), deadline=None)
def test_what_osmo_runs_has_no_errors(data: Any) -> None:
    assert schemas.validate("OsmoWorkflow", data, "workflow") == ()
    assert [each for each in rules.check(data) if each.severity == "error"] == []
