"""What bayplan answers to a ResourceList: the wire format, where things are said to be, and bad input of every sort."""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from bayplan.cli import run
from bayplan.clients import resource_list
from bayplan.clients import resource_list as json_lines
from bayplan.model.manifest import Many, Slot
from tools.run import EXAMPLES, PRETRAIN, bayplan

COVERS = {"A960", "A964", "O808"}

WORKFLOW = yaml.safe_load((PRETRAIN / "workflow.yaml").read_text(encoding="utf-8"))
TRACES = {
    "internal.config.kubernetes.io/prefixes": "prod-",
    "internal.config.kubernetes.io/previousNames": "pretrain",
    "config.kubernetes.io/index": "1",
}
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "keys", "annotations": TRACES},
    "data": {"a": "eWVz"},
}


def config(kind: str = "ExpandWorkflows", **spec: Any) -> dict[str, Any]:
    """A function's configuration."""
    return {"apiVersion": "bayplan.dev/v1alpha1", "kind": kind, "metadata": {"name": "it"}, "spec": spec}


EXPAND = config(topology=f"{PRETRAIN}/topology.yaml")


def listed(*items: Any, function: Any = EXPAND) -> dict[str, Any]:
    """A ResourceList."""
    return {
        "apiVersion": "config.kubernetes.io/v1",
        "kind": "ResourceList",
        "items": list(items),
        "functionConfig": function,
    }


def as_kustomize(data: Mapping[str, Any]) -> str:
    """The list as kustomize writes it: block style, the items at the margin."""
    return yaml.safe_dump(data, sort_keys=False, width=10_000)


def krm(text: str, *arguments: str, cwd: Path = EXAMPLES) -> CompletedProcess[str]:
    """`bayplan krm`."""
    return bayplan("krm", *arguments, cwd=cwd, stdin=text)


def answered(done: CompletedProcess[str]) -> list[dict[str, Any]]:
    """The items of an answer."""
    assert done.returncode == 0, done.stderr
    data = yaml.safe_load(done.stdout)
    assert (data["apiVersion"], data["kind"]) == ("config.kubernetes.io/v1", "ResourceList")
    items: list[dict[str, Any]] = data["items"]
    return items


def prefixed() -> dict[str, Any]:
    """The workflow as kustomize passes it on, with the traces of a prefix."""
    metadata = {**WORKFLOW["metadata"], "name": "prod-pretrain", "annotations": TRACES}
    return {**WORKFLOW, "metadata": metadata}


@pytest.mark.parametrize("write", [as_kustomize, json.dumps], ids=["block", "json"])
def test_a_workflow_makes_room_for_its_manifests(write: Any) -> None:
    after = {**SECRET, "metadata": {"name": "later"}}
    items = answered(krm(write(listed(SECRET, prefixed(), after))))
    assert items[0] == SECRET
    assert items[-1] == after
    assert {each["kind"] for each in items[1:-1]} == {"ComputeDomain", "JobSet", "PodGroup"}
    assert all(each["metadata"]["name"].startswith("prod-pretrain") for each in items[1:-1])
    assert not [
        each
        for each in items[1:-1]
        if "annotations" in each["metadata"] and TRACES.keys() & each["metadata"]["annotations"]
    ]


def test_items_that_nobody_reads_come_out_byte_for_byte() -> None:
    odd = (
        "- apiVersion: v1\n  kind: Odd  # why\n  metadata:\n    name: odd\n"
        "  text: |+\n    a\n\n  number: 1.10\n  keep: |+\n    b\n\n\n"
    )
    head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
    tail = as_kustomize({"functionConfig": EXPAND})
    done = krm(f"{head}{odd}{as_kustomize([prefixed()])}{odd}{tail}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(head + odd)
    assert done.stdout.endswith(odd)
    assert done.stdout.count("Odd") == 2


def test_without_a_workflow_nothing_changes() -> None:
    text = as_kustomize(listed(SECRET))
    done = krm(text, "-v")
    assert done.stdout.partition("results:")[0] == text.partition("functionConfig:")[0]
    assert "info[A973]" in done.stderr


def test_a_generator_leaves_out_its_own_copy() -> None:
    function = {"config.kubernetes.io/function": "exec: {path: bayplan-krm}\n"}
    own = {**WORKFLOW, "metadata": {**WORKFLOW["metadata"], "annotations": function}}
    copy = {
        **own,
        "metadata": {**own["metadata"], "annotations": {**function, "config.kubernetes.io/local-config": "true"}},
    }
    items = answered(krm(as_kustomize(listed(copy, function=own)), "-t", f"{PRETRAIN}/topology.yaml"))
    assert {each["kind"] for each in items} == {"ComputeDomain", "JobSet", "PodGroup"}
    assert [
        each
        for each in items
        if "annotations" in each["metadata"] and function.keys() & each["metadata"]["annotations"]
    ] == []


JOBSET = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2",
    "kind": "JobSet",
    "metadata": {
        "name": "train",
        "namespace": "ml",
        "annotations": {"bayplan.dev/placement": "required=rack", **TRACES},
    },
    "spec": {
        "replicatedJobs": [
            {
                "name": "worker",
                "template": {
                    "spec": {
                        "parallelism": 4,
                        "completions": 4,
                        "completionMode": "Indexed",
                        "template": {
                            "spec": {
                                "restartPolicy": "Never",
                                "containers": [
                                    {"name": "a", "image": "b", "resources": {"limits": {"nvidia.com/gpu": 4}}}
                                ],
                            }
                        },
                    }
                },
            }
        ]
    },
}


def test_placed_workloads_keep_what_travels_with_them_and_are_placed_once() -> None:
    place = config("PlaceWorkloads", topology=f"{PRETRAIN}/topology.yaml")
    first = answered(krm(as_kustomize(listed(SECRET, JOBSET, function=place))))
    jobset = next(each for each in first if each["kind"] == "JobSet")
    assert TRACES.items() <= jobset["metadata"]["annotations"].items()
    assert first[0] == SECRET
    news = [each for each in first if each["kind"] in ("ComputeDomain", "PodGroup")]
    assert [each["metadata"]["namespace"] for each in news] == ["ml", "ml"]
    assert not [each for each in news if TRACES.keys() & each["metadata"].get("annotations", {}).keys()]
    traced = [
        {**each, "metadata": {**each["metadata"], "annotations": {**each["metadata"].get("annotations", {}), **TRACES}}}
        for each in first
    ]
    assert answered(krm(as_kustomize(listed(*traced, function=place)))) == traced


def test_a_validator_prints_nothing_when_all_is_well() -> None:
    items = answered(krm(as_kustomize(listed(prefixed()))))
    validate = config("ValidateWorkloads", topology=f"{PRETRAIN}/topology.yaml")
    done = krm(as_kustomize(listed(*items, function=validate)))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    broken = json.loads(json.dumps(items).replace('"prod-pretrain-replica-0"}', '"gone"}', 1))
    done = krm(as_kustomize(listed(*broken, function={**validate, "spec": {**validate["spec"], "strict": True}})))
    assert done.returncode == 1
    assert done.stdout == ""
    assert "M80" in done.stderr


@pytest.mark.parametrize("key", ["internal.config.kubernetes.io/path", "config.kubernetes.io/path"])
def test_callers_that_read_results_get_them_with_the_items(key: str) -> None:
    path = {key: "team/train.yaml"}  # no file of the folder in which the function runs
    broken = {**WORKFLOW, "metadata": {**WORKFLOW["metadata"], "annotations": path}, "spec": {"gangs": []}}
    done = krm(as_kustomize(listed(broken)))
    assert done.returncode == 1
    data = yaml.safe_load(done.stdout)
    assert data["items"] == [broken]
    (result,) = data["results"]
    assert (result["severity"], result["tags"]["code"][0]) == ("error", "S")
    assert result["file"] == {"path": "team/train.yaml"}


KPT = """\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- # the licence
  apiVersion: batch/v1
  kind: Job
  metadata: {name: train, annotations: {config.kubernetes.io/path: 'job.yaml', bayplan.dev/placement: LEVEL}} # keep me
  spec:
    completions: 4
    parallelism: 4
    completionMode: Indexed
    template:
      spec:
        restartPolicy: Never
        # the image
        containers:
        - {name: m, image: 'registry.example.com/train:1', resources: {limits: {nvidia.com/gpu: 4}}}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: other, annotations: {config.kubernetes.io/path: 'other.yaml'}}
  data:
    a: "1" # untouched
functionConfig:
  metadata:
    name: function-input
  data: {topology: pretrain/topology.yaml, failOn: 'P554,A943', strict: 'false'}
  kind: ConfigMap
  apiVersion: v1
results:
- {message: earlier, severity: info}
"""
"""What kpt sends for `kpt fn eval FOLDER --exec bayplan-krm -- topology=...` in a pipeline."""


def test_kpt_gets_the_files_of_the_user_in_their_style() -> None:
    done = krm(KPT.replace("LEVEL", "required=rack"))
    before = KPT.partition("functionConfig:")[0].splitlines()
    changed = [line.split()[:2] for line in before if line not in done.stdout.splitlines()]
    assert changed == [["metadata:", "{name:"], ["-", "{name:"]], "its labels, and its claim"
    assert "# keep me" in done.stdout
    assert "\n        schedulerName: kai-scheduler\n" in done.stdout
    assert [each["kind"] for each in answered(done)] == ["ComputeDomain", "PodGroup", "Job", "ConfigMap"]
    assert "{" not in done.stdout.partition("- # the licence")[0]
    assert yaml.safe_load(done.stdout)["results"][0] == {"message": "earlier", "severity": "info"}


def test_results_name_the_object_and_the_field() -> None:
    done = krm(KPT.replace("LEVEL", "required=rak"))
    assert done.returncode == 1
    first, *own = yaml.safe_load(done.stdout)["results"]
    assert first == {"message": "earlier", "severity": "info"}
    (result,) = [each for each in own if each["severity"] == "error"]
    assert result["resourceRef"] == {"apiVersion": "batch/v1", "kind": "Job", "name": "train"}
    assert result["field"] == {"path": "metadata.annotations.bayplan.dev/placement"}
    assert result["file"] == {"path": "job.yaml"}


@pytest.mark.parametrize(("key", "value"), [("strict", "maybe"), ("topologie", "a"), ("function", "Place")])
def test_a_config_map_has_to_describe_a_configuration(key: str, value: str) -> None:
    done = krm(KPT.replace("LEVEL", "required=rack").replace("strict: 'false'", f"{key}: '{value}'"))
    assert done.returncode == 1
    assert f'"{key}"' in done.stderr or value in done.stderr


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "A960"),
        ("[]", "A960"),
        ("just text", "A960"),
        ("kind: ConfigMap\napiVersion: v1\n", "A960"),
        ("a: 1\n---\nb: 2\n", "A960"),
        ("kind: ResourceList\napiVersion: config.kubernetes.io/v1\nitems: 3\n", "A960"),
        ("kind: ResourceList\napiVersion: config.kubernetes.io/v1\nitems: false\n", "A960"),
        ("kind: ResourceList\napiVersion: config.kubernetes.io/v1\nitems: [1]\n", "A960"),
        (as_kustomize(listed({"apiVersion": "v1", "kind": "Pod"})), "A960"),
        (as_kustomize(listed({"kind": "Pod", "metadata": {"name": "a"}})), "A960"),
        (as_kustomize(listed(SECRET, function=None)), "A960"),
        (as_kustomize(listed(SECRET, function=config("ExpandWorkflow"))), "A960"),
        (as_kustomize(listed(SECRET, function={**EXPAND, "apiVersion": "bayplan.dev/v9"})), "A960"),
        (as_kustomize(listed(SECRET, function=config(topologie="a"))), "S201"),
        (as_kustomize(listed(prefixed(), function=config(topology="none.yaml"))), "R101"),
        (as_kustomize(listed(prefixed(), function=config())), "A921"),
        (
            as_kustomize(listed(prefixed(), function=config(topology=f"{PRETRAIN}/topology.yaml", scheduler="slurm"))),
            "O808",
        ),
        (as_kustomize(listed({**prefixed(), "spec": 3})), "S2"),
        (as_kustomize(listed(prefixed())).replace("kind: Workflow", "kind: Workflow\n  kind: Workflow"), "R"),
        ("kind: ResourceList\napiVersion: config.kubernetes.io/v1\nitems: [{a: .nan}]\n", "R111"),
        (as_kustomize(listed(SECRET)) + "\x00", "R1"),
    ],
)
def test_bad_input_is_an_error_and_writes_nothing(text: str, code: str) -> None:
    done = krm(text)
    assert done.returncode in (1, 2), done.stderr
    assert done.stdout == ""
    assert f"[{code}" in done.stderr


def test_a_validator_that_would_delete_everything_refuses(tmp_path: Path) -> None:
    validate = config("ValidateWorkloads")
    (tmp_path / "validate.yaml").write_text(yaml.safe_dump(validate), encoding="utf-8")
    (tmp_path / "kustomization.yaml").write_text("transformers: [validate.yaml]\n", encoding="utf-8")
    done = krm(as_kustomize(listed(SECRET, function=validate)), cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "validate.yaml:2:7: error[A964]" in done.stderr


def test_two_policies_in_one_file(tmp_path: Path) -> None:
    policy = "apiVersion: bayplan.dev/v1alpha1\nkind: Policy\nspec: {rules: []}\n"
    (tmp_path / "policy.yaml").write_text(f"{policy}---\n{policy}", encoding="utf-8")
    place = config("PlaceWorkloads", topology=f"{PRETRAIN}/topology.yaml", policy="policy.yaml")
    done = krm(as_kustomize(listed(JOBSET, function=place)), cwd=tmp_path)
    assert done.returncode == 1
    assert "[A912]" in done.stderr


BASE = """\
apiVersion: bayplan.dev/v1alpha1
kind: Workflow
metadata: {name: train}
spec:
  gangs:
  - name: train
    placement: {required: rock}
    podSets:
    - {name: worker, replicas: 4, image: "a:1", command: [x], accelerator: {name: gb200, count: 4}}
"""
OPERATIONS = "- op: replace\n  path: /spec/gangs/0/placement\n  value: {required: rock}\n"


@pytest.mark.parametrize(
    ("base", "patch", "place"),
    [
        (BASE, {}, "../base/workflow.yaml:7:27"),
        (BASE.replace("rock", "rack"), {"path": "operations.yaml"}, "operations.yaml:3:21"),
        (BASE.replace("rock", "rack"), {"patch": OPERATIONS}, "kustomization.yaml:5:25"),
        (BASE.replace("rock", "rack"), {"path": "merge.yaml"}, "merge.yaml:7:27"),
        (BASE.replace("rock", "stone"), {"path": "other.yaml"}, "../base/workflow.yaml:7:27"),
    ],
    ids=["base", "operations", "inline", "merge", "a value that something else changed"],
)
def test_the_place_is_the_one_in_the_files(base: str, patch: dict[str, str], place: str, tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "workflow.yaml").write_text(base, encoding="utf-8")
    (tmp_path / "base" / "kustomization.yaml").write_text("resources: [workflow.yaml]\n", encoding="utf-8")
    top = tmp_path / "top"
    top.mkdir()
    inline = "".join(f"    {line}\n" for line in patch.get("patch", "").splitlines())
    entry = (
        f"- patch: |-\n{inline}  target: {{kind: Workflow}}\n"
        if inline
        else f"- path: {patch.get('path')}\n  target: {{kind: Workflow}}\n"
    )
    (top / "kustomization.yaml").write_text(
        f"patches:{chr(10) + entry if patch else ' []'}\nresources: [../base]\n", encoding="utf-8"
    )
    (top / "operations.yaml").write_text(OPERATIONS, encoding="utf-8")
    (top / "merge.yaml").write_text(BASE, encoding="utf-8")
    (top / "other.yaml").write_text(BASE.replace("    placement: {required: rock}\n", ""), encoding="utf-8")
    data = yaml.safe_load(BASE)
    data["metadata"] = {
        "name": "prod-train",
        "annotations": {**TRACES, "internal.config.kubernetes.io/previousNames": "train,train"},
    }
    done = krm(as_kustomize(listed(data)), "--no-sandbox", cwd=top)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{place}: error[")


BUSY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
"""On a machine that does other things too, time says nothing."""

texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@settings(BUSY)
@given(values)
def test_a_line_of_json_is_what_it_says(value: Any) -> None:
    line = json_lines.line(value)
    assert "\n" not in line
    assert json.loads(line) == value


@settings(BUSY)
@given(texts)
def test_a_line_of_json_holds_nothing_that_yaml_refuses_or_folds(text: str) -> None:
    line = json_lines.line([text])
    assert not [c for c in line if c in "\x7f\x85\u2028\u2029\ufeff\ufffe\uffff" or (c != "\t" and ord(c) < 32)]


def test_many_objects_are_filled() -> None:
    skeleton = {
        "a": ("x-", Slot(0, "name")),
        "b": Slot(1, "number"),
        "c": Slot(1, "text"),
        "d": [Slot(0, "name")],
        "e": (1, 2),
    }
    made = list(json_lines.lines(Many(skeleton, [("p", 1), ("q", 2)])))
    assert [json.loads(each) for each in made] == [
        {"a": "x-p", "b": 1, "c": "1", "d": ["p"], "e": [1, 2]},
        {"a": "x-q", "b": 2, "c": "2", "d": ["q"], "e": [1, 2]},
    ]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}])
def test_what_json_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises(json_lines.UnfitError):
        json_lines.line(value)


def answer(text: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Exit code, output and errors of `bayplan-krm` in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode("utf-8", "surrogatepass"))))
        patch.chdir(PRETRAIN)
        return (run.krm([]), *capsys.readouterr())


WORDS = st.sampled_from(
    ["apiVersion", "kind", "metadata", "name", "spec", "gangs", "annotations", "labels", "podSets", "replicas", "items"]
)
WILD = st.recursive(values, lambda inner: st.dictionaries(WORDS, inner, max_size=4), max_leaves=8)
KINDS = st.sampled_from(["ExpandWorkflows", "PlaceWorkloads", "ValidateWorkloads", "Workflow"])


def spoiled(data: Any, draw: Any) -> Any:
    """The data with something else in one place."""
    if isinstance(data, dict) and data and draw(st.integers(0, 4)):
        key = draw(st.sampled_from(sorted(data)))
        return {**data, key: spoiled(data[key], draw)}
    if isinstance(data, list) and data and draw(st.integers(0, 4)):
        number = draw(st.integers(0, len(data) - 1))
        return [spoiled(each, draw) if index == number else each for index, each in enumerate(data)]
    return draw(WILD)


@settings(BUSY, max_examples=150)
@given(st.data())
def test_nothing_that_comes_in_ends_in_a_traceback(capsys: pytest.CaptureFixture[str], data: st.DataObject) -> None:
    function = config(data.draw(KINDS), topology="topology.yaml")
    whole = listed(SECRET, prefixed(), JOBSET, function=WORKFLOW if function["kind"] == "Workflow" else function)
    for _ in range(data.draw(st.integers(1, 3))):
        whole = spoiled(whole, data.draw)
    text = data.draw(st.sampled_from([json.dumps, lambda each: yaml.safe_dump(each, sort_keys=False)]))(whole)
    code, out, err = answer(text, capsys)
    assert code in (0, 1, 2), err
    assert code == 0 or not out or "results:" in out
    assert code == 0 or "error[" in err


@settings(BUSY)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_list_or_a_diagnostic(raw: bytes) -> None:
    found = resource_list.parse(raw)
    assert (found.value is None) == bool(found.diagnostics)


@settings(BUSY)
@given(st.lists(st.dictionaries(st.sampled_from(["spec", "data", "text"]), values, max_size=3), min_size=1, max_size=4))
def test_the_two_ways_of_reading_a_list_agree(extras: list[dict[str, Any]]) -> None:
    items = [{**each, "apiVersion": "v1", "kind": "A", "metadata": {"name": f"n{n}"}} for n, each in enumerate(extras)]
    raw = as_kustomize(listed(*items)).encode()
    whole = resource_list._parse_all(raw, ()).value
    quick = resource_list.parse(raw).value
    assume(whole is not None)  # PyYAML leaves out quotes that we ask for
    assert whole is not None
    assert quick is not None
    read = resource_list.parsed(quick.items, lambda _: True).value
    assert read is not None
    assert [each.data for each in read] == [each.data for each in whole.items]
    assert quick.config == whole.config


def test_the_project_file_names_the_topology(tmp_path: Path) -> None:
    project = "apiVersion: bayplan.dev/v1alpha1\nkind: Project\nspec: {topology: topology.yaml}\n"
    shutil.copy(PRETRAIN / "topology.yaml", tmp_path)
    (tmp_path / "bayplan.yaml").write_text(project, encoding="utf-8")
    (tmp_path / "overlay").mkdir()
    items = answered(krm(as_kustomize(listed(prefixed(), function=config())), cwd=tmp_path / "overlay"))
    assert "JobSet" in {each["kind"] for each in items}


@pytest.mark.parametrize("kind", ["ExpandWorkflows", "PlaceWorkloads"])
def test_a_project_that_names_no_topology_is_told_so(kind: str, tmp_path: Path) -> None:
    """An empty answer with exit code 0 would delete every object of the kustomization."""
    (tmp_path / "bayplan.yaml").write_text(
        "apiVersion: bayplan.dev/v1alpha1\nkind: Project\nspec: {}\n", encoding="utf-8"
    )
    done = krm(as_kustomize(listed(prefixed(), function=config(kind))), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[A921]" in done.stderr


def test_options_win_over_the_configuration(tmp_path: Path) -> None:
    text = as_kustomize(listed(prefixed(), function=config(topology="none.yaml", scheduler="volcano")))
    items = answered(krm(text, "-t", f"{PRETRAIN}/topology.yaml", "-s", "kai"))
    assert "scheduling.run.ai/v2alpha2" in {each["apiVersion"] for each in items}


def test_the_workflow_s_own_annotations_go_on_and_those_of_kustomize_do_not() -> None:
    own = {"example.com/ticket": "ML-1", "config.kubernetes.io/depends-on": "a/b/c"}
    more = {"alpha.config.kubernetes.io/transformations": "x", "config.kubernetes.io/origin": "path: a\n"}
    metadata = {**WORKFLOW["metadata"], "annotations": {**own, **more, **TRACES}}
    for each in answered(krm(as_kustomize(listed({**WORKFLOW, "metadata": metadata})))):
        assert own.items() <= each["metadata"]["annotations"].items()
        assert not {**more, **TRACES}.keys() & each["metadata"]["annotations"].keys()


PLUGIN = as_kustomize(config(topology="topology.yaml"))


@pytest.mark.parametrize(
    ("configuration", "stream", "code"),
    [
        (None, "", "R101"),
        ("", "", "R106"),
        ("[1]", "", "A960"),
        (PLUGIN, "a: [", "R1"),
        (PLUGIN, "a: 1\n", "A960"),
        (PLUGIN.replace("ExpandWorkflows", "Expand"), "", "A960"),
    ],
)
def test_bad_input_of_a_plugin(configuration: str | None, stream: str, code: str, tmp_path: Path) -> None:
    if configuration is not None:
        (tmp_path / "config").write_text(configuration, encoding="utf-8")
    done = krm(stream, "config", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"[{code}" in done.stderr


def test_a_plugin_answers_with_a_stream(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(PLUGIN, encoding="utf-8")
    shutil.copy(PRETRAIN / "topology.yaml", tmp_path)
    stream = f"{as_kustomize(SECRET)}---\n{as_kustomize(prefixed())}"
    done = krm(stream, "config", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    built = list(yaml.safe_load_all(done.stdout))
    assert built[0] == SECRET
    assert {each["kind"] for each in built[1:]} == {"ComputeDomain", "JobSet", "PodGroup"}
    assert krm("", "config", cwd=tmp_path).stdout == ""
