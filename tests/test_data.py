"""Rendered containers that move data run as processes, with a real rclone and an S3 server (moto)."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

import pytest

from support import TOPOLOGY, WORKER, pods, run, workflow

MISSING = [name for name in ("rclone", "moto_server") if not shutil.which(name)]
needs_programs = pytest.mark.skipif(bool(MISSING), reason=f"missing: {', '.join(MISSING)}")

MOVERS = {"s3": {"image": "rclone/rclone:1.71", "secret": "s3-keys", "command": ["rclone", "--s3-provider=Minio"]}}
SPEC = {**TOPOLOGY["spec"], "dataMovers": MOVERS, "dataStore": "s3://store/runs"}


@pytest.fixture(scope="module", name="server")
def _server() -> Iterator[str]:
    """The address of an S3 server with the buckets `bucket` and `store`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["moto_server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        address = f"http://127.0.0.1:{port}"
        for _ in range(300):
            try:
                _put(f"{address}/bucket")
                break
            except URLError:
                time.sleep(0.1)
        _put(f"{address}/store")
        yield address
        process.terminate()


def _put(url: str, content: str = "") -> None:
    kind = {"Content-Type": "application/octet-stream"}
    urllib.request.urlopen(urllib.request.Request(url, content.encode(), kind, method="PUT"), timeout=10).close()


SIGNED = {"Authorization": "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/s3/aws4_request"}
"""moto does not check signatures, but the objects of rclone are private."""


def _get(url: str) -> str:
    """The content of an object; empty if there is none."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=SIGNED), timeout=10) as answer:
            return str(answer.read().decode())
    except HTTPError:
        return ""


class Pod:
    """A rendered pod whose containers are processes. Its volumes are folders; paths of mounts become paths of these."""

    def __init__(self, folder: Path, server: str, documents: list[dict[str, Any]], number: int = 0) -> None:
        self.spec = list(pods(documents))[number].spec
        self.maps = {each["metadata"]["name"]: each["data"] for each in documents if each["kind"] == "ConfigMap"}
        self.folder, self.server = folder, server
        for volume in self.spec["volumes"]:
            for key, text in self.maps[volume["configMap"]["name"]].items() if "configMap" in volume else ():
                (folder / volume["name"]).mkdir(parents=True, exist_ok=True)
                (folder / volume["name"] / key).write_text(text)

    @classmethod
    def of(cls, folder: Path, server: str, command: str, **data: Any) -> Pod:
        """The pod of a worker with this command and data."""
        worker = {**WORKER, "replicas": 1, "command": ["sh", "-c", command], "data": data}
        flow = workflow({"name": "train", "podSets": [worker]})
        return cls(folder, server, run(flow, {**TOPOLOGY, "spec": SPEC}).documents)

    def start(self, container: Mapping[str, Any], **env: str) -> subprocess.Popen[str]:
        """A process with the container's command and variables, with paths in the folders of its volumes."""
        paths = {}
        for mount in container["volumeMounts"]:
            paths[mount["mountPath"]] = place = self.folder / mount["name"] / mount.get("subPath", "")
            if not place.exists():
                place.mkdir(parents=True)
        find = re.compile("|".join(map(re.escape, sorted(paths, key=len, reverse=True))))
        words = [
            find.sub(lambda match: str(paths[match[0]]), word)
            for word in (*container["command"], *container.get("args", ()))
        ]
        assert container.get("envFrom", [{"secretRef": {"name": "s3-keys"}}]) == [{"secretRef": {"name": "s3-keys"}}]
        secret = {
            "RCLONE_S3_ENDPOINT": self.server,
            "RCLONE_S3_ACCESS_KEY_ID": "key",
            "RCLONE_S3_SECRET_ACCESS_KEY": "secret",
        }
        values = {each["name"]: each["value"] for each in container.get("env", ()) if "value" in each}
        variables = {"PATH": os.environ["PATH"], **values, "DATA_STATE": str(self.folder / "data-state")}
        variables["SIGNED"] = f"Authorization: {SIGNED['Authorization']}"
        variables |= (secret if "envFrom" in container else {}) | env
        return subprocess.Popen(words, env=variables, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def run(self, stop: float = 0, kill: float = 0, **env: str) -> tuple[int, str, str]:
        """What the kubelet does: the main container's exit code, and what it and the movers say.

        `stop`, `kill`: seconds after which the main container gets SIGTERM, or its processes SIGKILL.
        """
        said, sidecars = "", []
        for container in self.spec.get("initContainers", ()):
            process = self.start(container, **env)
            if container.get("restartPolicy") == "Always":
                sidecars.append(process)
            else:
                said += process.communicate(timeout=60)[1]
                if process.returncode:
                    return process.returncode, "", said
        main = self.start(self.spec["containers"][0])
        if stop or kill:
            time.sleep(stop or kill)
            if stop:
                main.terminate()
            else:
                os.killpg(main.pid, signal.SIGKILL)
        own = main.communicate(timeout=120)[1]
        for sidecar in sidecars:
            sidecar.terminate()
            said += sidecar.communicate(timeout=60)[1]
        return main.returncode, own, said


def _to(url: str, path: str, **more: Any) -> dict[str, Any]:
    return {"url": url, "path": path, **more}


@needs_programs
def test_inputs_are_fetched_and_outputs_uploaded(server: str, tmp_path: Path) -> None:
    for name in ("a.txt", "sub/b.txt", "sub/b.bin"):
        _put(f"{server}/bucket/in/{name}", name)
    inputs = [_to("s3://bucket/in", "/pod/in", regex=r".*\.txt$"), _to("s3://bucket/nothing", "/pod/none")]
    outputs = [_to("store:train", "/pod/out"), _to("s3://bucket/logs", "/pod/out", regex="log{1}")]
    command = (
        "cd /pod/in && cat $(find . -type f | sort) > /pod/out/found; echo text > /pod/out/logs.txt; ls -A /pod/none"
    )
    code, own, said = Pod.of(tmp_path, server, command, inputs=inputs, outputs=outputs).run()
    assert (code, own) == (0, "")
    assert "there is nothing at bucket/nothing" in said
    assert _get(f"{server}/store/runs/ml/train/train/found") == "a.txtsub/b.txt"
    assert _get(f"{server}/bucket/logs/logs.txt") == "text\n"
    assert _get(f"{server}/bucket/logs/found") == ""


@needs_programs
def test_a_missing_bucket_stops_the_pod(server: str, tmp_path: Path) -> None:
    code, own, said = Pod.of(tmp_path, server, "true", inputs=[_to("s3://other/in", "/pod/in")]).run()
    assert (code, own) == (1, "")
    assert "cannot download other/in" in said


@needs_programs
@pytest.mark.parametrize(("command", "expected"), {"true": 1, "exit 7": 7}.items())
def test_an_upload_that_fails_is_a_failure(server: str, tmp_path: Path, command: str, expected: int) -> None:
    pod = Pod.of(tmp_path, server, f"echo x > /pod/out/x; {command}", outputs=[_to("s3://other/out", "/pod/out")])
    code, own, said = pod.run(RCLONE_RETRIES="1")
    assert code == expected
    assert own == "data: the upload failed, see the log of container upload-s3\n"
    assert "cannot upload" in said


@needs_programs
def test_a_command_that_fails_uploads_too(server: str, tmp_path: Path) -> None:
    pod = Pod.of(tmp_path, server, "echo half > /pod/out/x; exit 3", outputs=[_to("s3://bucket/failed", "/pod/out")])
    assert pod.run()[0] == 3
    assert _get(f"{server}/bucket/failed/x") == "half\n"


@needs_programs
def test_a_stopped_pod_uploads(server: str, tmp_path: Path) -> None:
    command = "trap 'echo stopped > /pod/out/x; exit 5' TERM; while :; do sleep 0.1; done"
    pod = Pod.of(tmp_path, server, command, outputs=[_to("s3://bucket/stopped", "/pod/out")])
    assert pod.spec["terminationGracePeriodSeconds"] == 1800
    assert pod.run(stop=3)[0] == 5
    assert _get(f"{server}/bucket/stopped/x") == "stopped\n"


@needs_programs
def test_a_killed_container_uploads(server: str, tmp_path: Path) -> None:
    command = "echo before > /pod/out/x; while :; do sleep 0.1; done"
    pod = Pod.of(tmp_path, server, command, outputs=[_to("s3://bucket/killed", "/pod/out")])
    assert pod.run(kill=3)[0] == -signal.SIGKILL
    assert _get(f"{server}/bucket/killed/x") == "before\n"


@needs_programs
def test_checkpoints_are_uploaded_while_the_command_runs(server: str, tmp_path: Path) -> None:
    wait = f'until curl -sf -H "$SIGNED" {server}/bucket/steps/1.pt; do sleep 0.2; done > /pod/out/seen'
    command = f"echo one > /pod/out/steps/1.pt; timeout 60 sh -c '{wait}'; echo two > /pod/out/steps/2.pt"
    steps = _to("s3://bucket/steps", "/pod/out/steps", everySeconds=1, regex=r"[0-9]\.pt")
    pod = Pod.of(
        tmp_path, server, f"mkdir /pod/out/steps; {command}", checkpoints=[steps], outputs=[_to("store:s", "/pod/out")]
    )
    assert pod.run()[0] == 0
    assert _get(f"{server}/store/runs/ml/train/s/seen") == "one\n"
    assert _get(f"{server}/bucket/steps/2.pt") == "two\n"


@needs_programs
def test_a_restarted_command_uploads_again(server: str, tmp_path: Path) -> None:
    command = "[ -e /pod/out/x ] || { echo first > /pod/out/x; exit 2; }; echo second > /pod/out/x"
    pod = Pod.of(tmp_path, server, command, outputs=[_to("s3://bucket/again", "/pod/out")])
    assert [pod.run()[0], _get(f"{server}/bucket/again/x")] == [2, "first\n"]
    assert [pod.run()[0], _get(f"{server}/bucket/again/x")] == [0, "second\n"]


@needs_programs
def test_tasks_of_osmo_pass_their_output(server: str, tmp_path: Path) -> None:
    image = {"image": "busybox", "resource": "default"}
    first = {
        "name": "one",
        "command": ["sh", "-c", "cp {{input:0}}/a {{output}}/b"],
        "inputs": [{"url": "s3://bucket/o"}],
    }
    second = {"name": "two", "command": ["sh", "-c", "cp {{input:one}}/b {{output}}/c"], "inputs": [{"task": "one"}]}
    second["outputs"] = [{"url": "s3://bucket/p/{{workflow_id}}/"}]
    second["checkpoint"] = [{"path": "/osmo/data/output", "url": "s3://bucket/q", "frequency": "1h"}]
    _put(f"{server}/bucket/o/a", "passed")
    flow = {"workflow": {"name": "Flow", "tasks": [{**image, **first}, {**image, **second}]}}
    flow["workflow"]["resources"] = {"default": {"cpu": 1}}
    result = run(flow, {**TOPOLOGY, "spec": SPEC})
    assert not {"W441"} & set(result.codes)
    for number in range(2):
        code, own, said = Pod(tmp_path / str(number), server, result.documents, number).run()
        assert code == 0, (own, said)
    assert _get(f"{server}/bucket/p/flow/c") == "passed"
    assert _get(f"{server}/bucket/q/output/c") == "passed"


def test_equal_workers_stay_replicas_and_only_the_lead_uploads() -> None:
    task = {"image": "busybox", "command": ["train", "{{output}}"]}
    tasks = [{**task, "name": f"rank-{number}", **({} if number else {"lead": True})} for number in range(3)]
    result = run({"workflow": {"name": "flow", "groups": [{"name": "g", "tasks": tasks}]}}, {**TOPOLOGY, "spec": SPEC})
    found = [[each["args"] for each in pod.spec.get("initContainers", ())] for pod in pods(result.documents)]
    assert found == [[["0", "", ":s3,no_check_bucket:store/runs/ml/flow/rank-0", "/osmo/data/output"]], [], []]
    assert len(result.kinds("JobSet")[0]["spec"]["replicatedJobs"]) == 2


def _spec(data: dict[str, Any], changes: dict[str, Any] | None = None, **topology: Any) -> dict[str, Any]:
    """The spec of the pod of one worker."""
    worker = {**WORKER, "replicas": 1, "data": data, **(changes or {})}
    spec = {**SPEC, **topology}
    result = run(workflow({"name": "train", "podSets": [worker]}), {**TOPOLOGY, "spec": spec})
    assert result.compiled, result.diagnostics
    return dict(next(iter(pods(result.documents))).spec)


URLS = {
    "s3://b": ":s3,no_check_bucket:b",
    "s3://b//f/g/": ":s3,no_check_bucket:b/f/g",
    "gs://b/f": ":gcs,no_check_bucket:b/f",
    "azure://a/c/f/g": ":azureblob,no_check_container,account=a:c/f/g",
    "swift://h:8080/AUTH_a/c/f": ':s3,no_check_bucket,provider=Other,endpoint="h:8080":c/f',
    "tos://tos-s3-cn-beijing.volces.com/b/f": (
        ":s3,no_check_bucket,provider=Other,force_path_style=false,region=cn-beijing,"
        "endpoint=tos-s3-cn-beijing.volces.com:b/f"
    ),
    "store:f": ":s3,no_check_bucket:store/runs/ml/train/f",
    "store:/other/f": ":s3,no_check_bucket:store/runs/ml/other/f",
}


@pytest.mark.parametrize(("url", "remote"), URLS.items())
def test_each_url_is_a_remote_of_rclone(url: str, remote: str) -> None:
    movers = {scheme: {"image": "rclone"} for scheme in ("s3", "gs", "azure", "swift", "tos")}
    (fetch,) = _spec({"inputs": [_to(url, "/in")]}, dataMovers=movers)["initContainers"]
    assert fetch["args"] == ["", remote, "/in"]
    assert fetch["command"] == ["sh", "/etc/data/move", "fetch"]
    assert "envFrom" not in fetch


KINDS = {"job": "kai", "jobset": "kai", "pods": "kai", "volcano-job": "volcano"}


@pytest.mark.parametrize(("kind", "scheduler"), KINDS.items())
def test_each_workload_kind_moves_data(kind: str, scheduler: str) -> None:
    worker = {**WORKER, "replicas": 2, "data": {"inputs": [_to("s3://b", "/in")], "outputs": [_to("s3://b", "/out")]}}
    flow = workflow({"name": "train", "workload": kind, "podSets": [worker]})
    result = run(flow, {**TOPOLOGY, "spec": SPEC}, scheduler=scheduler)
    found = [[each["name"] for each in pod.spec["initContainers"]] for pod in pods(result.documents)]
    assert found == [["fetch-s3", "upload-s3"]] * 2


def test_each_scheme_has_its_containers_and_the_command_waits_for_all() -> None:
    movers = {**MOVERS, "gs": {"image": "other", "command": ["gcs"]}}
    data = {"inputs": [_to("gs://b/in", "/in")], "outputs": [_to("s3://b", "/out"), _to("gs://b", "/out")]}
    spec = _spec(data, dataMovers=movers)
    found = [(each["name"], each["image"], each["env"][0]["value"]) for each in spec["initContainers"]]
    minio = ("rclone/rclone:1.71", "rclone --s3-provider=Minio")
    assert found == [("fetch-gs", "other", "gcs"), ("upload-s3", *minio), ("upload-gs", "other", "gcs")]
    assert spec["containers"][0]["command"] == ["sh", "/etc/data/move", "run", "upload-s3,upload-gs", "1", "torchrun"]


def test_a_pool_may_have_its_own_mover_and_store() -> None:
    (pool,) = SPEC["pools"]
    own = [{**pool, "dataMovers": {"s3": {"image": "own"}}, "dataStore": "s3://edge/x/"}]
    (fetch,) = _spec({"inputs": [_to("store:f", "/in")]}, pools=own)["initContainers"]
    assert (fetch["image"], fetch["args"][1]) == ("own", ":s3,no_check_bucket:edge/x/ml/train/f")


def test_settings_of_movers_in_a_pool_are_for_pods_with_these_movers() -> None:
    limits = {"limits": {"cpu": "4"}}
    settings = [{"name": name, "resources": limits} for name in ("fetch-s3", "upload-s3")]
    (pool,) = SPEC["pools"]
    pools = [{**pool, "template": {"spec": {"initContainers": settings}}}]
    (fetch,) = _spec({"inputs": [_to("s3://b", "/in")]}, pools=pools)["initContainers"]
    assert (fetch["name"], fetch["image"], fetch["resources"]) == ("fetch-s3", "rclone/rclone:1.71", limits)
    assert "initContainers" not in _spec({}, pools=pools)


def test_the_settings_of_a_sidecar_count_in_the_fit() -> None:
    settings = [{"name": "upload-s3", "resources": {"limits": {"cpu": "2"}}}]
    (pool,) = SPEC["pools"]
    all_of_it = {"resources": {"cpu": str(pool["node"]["cpu"])}, "template": {"spec": {"initContainers": settings}}}
    outputs = {"data": {"outputs": [_to("s3://b", "/out")]}}
    for changes, codes in ((all_of_it | outputs, {"P552"}), (all_of_it, set())):
        result = run(workflow({"name": "train", "podSets": [{**WORKER, **changes}]}), {**TOPOLOGY, "spec": SPEC})
        assert {code for code in result.codes if code == "P552"} == codes


def test_a_failed_upload_has_an_exit_code_that_starts_nothing_again() -> None:
    worker = {**WORKER, "retryOnExitCodes": [1, 3], "data": {"outputs": [_to("s3://b", "/out")]}}
    result = run(workflow({"name": "train", "podSets": [worker]}), {**TOPOLOGY, "spec": SPEC})
    (pod, *_) = pods(result.documents)
    assert pod.spec["containers"][0]["command"][2:5] == ["run", "upload-s3", "2"]


def test_inputs_alone_leave_the_command_as_it_is() -> None:
    spec = _spec({"inputs": [_to("s3://b", "/in")]})
    assert spec["containers"][0]["command"] == ["torchrun"]
    assert "terminationGracePeriodSeconds" not in spec
    assert [each["name"] for each in spec["volumes"]] == ["shm", "files", "data-folders"]


def test_volumes_of_a_template_hold_data_and_its_fields_take_precedence() -> None:
    mounts = [
        {"name": "disk", "mountPath": "/disk", "readOnly": True},
        {"name": "key", "mountPath": "/out/key"},
        {"name": "part", "mountPath": "/out/part"},
    ]
    context = {"runAsUser": 7, "privileged": True, "capabilities": {"drop": ["ALL"], "add": ["IPC_LOCK"]}}
    template = {
        "spec": {
            "terminationGracePeriodSeconds": 60,
            "initContainers": [{"name": "upload-s3", "resources": {"limits": {"cpu": "1"}}}],
            "containers": [{"volumeMounts": mounts, "securityContext": context}],
            "volumes": [
                {"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}},
                {"name": "key", "secret": {"secretName": "key"}},
                {"name": "part", "emptyDir": {}},
            ],
        }
    }
    data = {"inputs": [_to("s3://b", "/disk/in")], "outputs": [_to("s3://b", "/out/")]}
    spec = _spec(data, {"template": template, "files": {"/out/run.sh": "true", "/opt/run.sh": "true"}})
    fetch, upload = spec["initContainers"]
    assert [each["mountPath"] for each in fetch["volumeMounts"]] == ["/disk", "/etc/data/move"]
    assert "readOnly" not in fetch["volumeMounts"][0]
    inside = ["/out", "/out/part", "/out/run.sh", "/run/data", "/etc/data/move"]
    assert [each["mountPath"] for each in upload["volumeMounts"]] == inside
    assert upload["securityContext"] == {"runAsUser": 7, "capabilities": {"drop": ["ALL"]}}
    assert (upload["restartPolicy"], upload["resources"]) == ("Always", {"limits": {"cpu": "1"}})
    assert spec["terminationGracePeriodSeconds"] == 60
    assert [each["mountPath"] for each in spec["containers"][0]["volumeMounts"] if each["name"] == "data-folders"] == [
        "/out"
    ]


NAMES = ("a.pt", "b.pt", "sub/a.pt", "sub/b.txt", "a{2}}", "aa", "x$(y)")
PATTERNS = (".*[.]pt$", "(?i)A", "a{2}", "[^/]*$", "a|sub/b", "a[{]2}}", "x[$][(]y")


@needs_programs
@pytest.mark.parametrize("regex", PATTERNS)
def test_patterns_match_as_in_python(tmp_path: Path, regex: str) -> None:
    for name in NAMES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (fetch,) = _spec({"inputs": [_to("s3://b", "/in", **({"regex": regex} if regex else {}))]})["initContainers"]
    words = ["rclone", "lsf", "-R", "--files-only", "--config", "", tmp_path]
    words += ["--include", fetch["args"][0].replace("$$(", "$(")] if regex else []
    found = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    assert sorted(found) == sorted(name for name in NAMES if re.match(regex, name))
