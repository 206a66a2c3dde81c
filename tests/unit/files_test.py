"""Binary files: base64 in, `binaryData` out, mounted as texts are."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import support
from bayplan import schemas
from bayplan.checks import templates as amounts
from bayplan.kube.pod import decoded_size
from bayplan.model.workflow import Binary, Gang, PodSet, Workflow
from bayplan.workflows import native


def flow(files: Any, **gang: Any) -> dict[str, Any]:
    """One pod with the files."""
    worker = {"name": "worker", "image": "x", "command": ["run"], "resources": {"cpu": "1"}, "files": files}
    return support.workflow({"name": "main", "podSets": [worker], **gang})


def found(content: str, *more: str) -> list[str]:
    """The codes of a podSet with binary files."""
    files = {f"/opt/{number}": Binary(each) for number, each in enumerate((content, *more))}
    workflow = Workflow("w", gangs=(Gang("main", pod_sets=(PodSet("worker", image="x", files=files),)),))
    return [each.code for each in amounts.check_amounts(workflow)]


@pytest.mark.parametrize("kind", ["jobset", "job", "pods"])
def test_texts_and_bytes_travel_in_one_config_map(kind: str) -> None:
    raw = base64.b64encode(bytes(range(256))).decode()
    broken = "\n".join(raw[at : at + 76] for at in range(0, len(raw), 76)) + "\n"
    result = support.run(flow({"/opt/run.sh": "true\n", "/opt/key": {"base64": broken}}, workload=kind))
    (held,) = result.kinds("ConfigMap")
    assert held["data"] == {"opt.run.sh": "true\n"}
    assert base64.b64decode(held["binaryData"]["opt.key"], validate=True) == bytes(range(256))
    (pod,) = support.pods(result.documents)
    assert [(each["mountPath"], each["subPath"]) for each in pod.spec["containers"][0]["volumeMounts"]] == [
        ("/opt/key", "opt.key"),
        ("/opt/run.sh", "opt.run.sh"),
    ]


def test_bytes_alone_leave_no_empty_data() -> None:
    (held,) = support.run(flow({"/opt/key": {"base64": "AAEC"}})).kinds("ConfigMap")
    assert set(held) == {"apiVersion", "kind", "metadata", "binaryData"}


def test_hosts_leave_bytes_alone() -> None:
    files = {"/opt/key": {"base64": "AAEC"}, "/opt/text": "AAEC"}
    (held,) = support.run(flow(files, hosts={"AAEC": "worker"})).kinds("ConfigMap")
    assert held["binaryData"] == {"opt.key": "AAEC"}
    assert held["data"] == {"opt.text": "train-worker-0-0.train.ml.svc.cluster.local"}


@given(st.binary(max_size=100))
def test_what_base64_makes_is_taken_and_counted(raw: bytes) -> None:
    text = base64.b64encode(raw).decode()
    assert found(text) == []
    assert decoded_size(text) == len(raw)


@pytest.mark.parametrize("text", ["A", "AAE", "AAECA", "AA-_", "AA=A", "A===", "=", "AAEé", "AA EC"])
def test_anything_else_is_refused(text: str) -> None:
    assert found(text) == ["W345"]


def test_the_limit_is_of_the_bytes_that_they_stand_for() -> None:
    half = base64.b64encode(bytes(2**19)).decode()
    assert found(half, half) == []
    assert found(half, half, "AA==") == []  # the third is in a ConfigMap of its own
    assert found(base64.b64encode(bytes(2**20)).decode()) == []
    assert found(base64.b64encode(bytes(2**20 + 1)).decode()) == ["P515"]


@pytest.mark.parametrize(
    ("content", "code"), [({}, "S204"), ({"base64": 1}, "S202"), ({"base65": "", "base64": ""}, "S201"), (1, "S202")]
)
def test_the_schema_says_what_is_wrong(content: Any, code: str) -> None:
    assert [each.code for each in schemas.validate("Workflow", flow({"/a": content}), "workflow")] == [code]


def test_a_files_own_content_replaces_the_inherited_one() -> None:
    data = flow({"/a": {"base64": "AAEC"}, "/b": "text"})
    data["spec"]["defaults"] = {"files": {"/a": "text", "/b": {"base64": "AAEC"}, "/c": {"base64": ""}}}
    value = native.read(data).value
    assert value
    assert value.value.gangs[0].pod_sets[0].files == {"/a": Binary("AAEC"), "/b": "text", "/c": Binary("")}
