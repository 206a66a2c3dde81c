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
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"missing: {', '.join(MISSING)}")

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
    urllib.request.urlopen(urllib.request.Request(url, content.encode(), method="PUT"), timeout=10).close()


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

    def __init__(self, folder: Path, server: str, command: str, **data: Any) -> None:
        worker = {**WORKER, "replicas": 1, "command": ["sh", "-c", command], "data": data}
        documents = run(workflow({"name": "train", "podSets": [worker]}), {**TOPOLOGY, "spec": SPEC}).documents
        self.spec = next(iter(pods(documents))).spec
        self.maps = {each["metadata"]["name"]: each["data"] for each in documents if each["kind"] == "ConfigMap"}
        self.folder, self.server = folder, server
        for volume in self.spec["volumes"]:
            for key, text in self.maps[volume["configMap"]["name"]].items() if "configMap" in volume else ():
                (folder / volume["name"]).mkdir(parents=True, exist_ok=True)
                (folder / volume["name"] / key).write_text(text)

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


def test_inputs_are_fetched_and_outputs_uploaded(server: str, tmp_path: Path) -> None:
    for name in ("a.txt", "sub/b.txt", "sub/b.bin"):
        _put(f"{server}/bucket/in/{name}", name)
    inputs = [_to("s3://bucket/in", "/pod/in", regex=r".*\.txt$"), _to("s3://bucket/nothing", "/pod/none")]
    outputs = [_to("store:train", "/pod/out"), _to("s3://bucket/logs", "/pod/out", regex="log{1}")]
    command = "cd /pod/in && find . -type f | sort > /pod/out/found; echo text > /pod/out/logs.txt; ls -A /pod/none"
    code, own, said = Pod(tmp_path, server, command, inputs=inputs, outputs=outputs).run()
    assert (code, own) == (0, "")
    assert "there is nothing at bucket/nothing" in said
    assert _get(f"{server}/store/runs/ml/train/train/found") == "./a.txt\n./sub/b.txt\n"
    assert _get(f"{server}/bucket/logs/logs.txt") == "text\n"
    assert _get(f"{server}/bucket/logs/found") == ""


def test_a_missing_bucket_stops_the_pod(server: str, tmp_path: Path) -> None:
    code, own, said = Pod(tmp_path, server, "true", inputs=[_to("s3://other/in", "/pod/in")]).run()
    assert (code, own) == (1, "")
    assert "cannot download other/in" in said


@pytest.mark.parametrize(("command", "expected"), {"true": 1, "exit 7": 7}.items())
def test_an_upload_that_fails_is_a_failure(server: str, tmp_path: Path, command: str, expected: int) -> None:
    pod = Pod(tmp_path, server, f"echo x > /pod/out/x; {command}", outputs=[_to("s3://other/out", "/pod/out")])
    code, own, said = pod.run(RCLONE_RETRIES="1")
    assert code == expected
    assert own == "data: the upload failed, see the log of container upload-s3\n"
    assert "cannot upload" in said


def test_a_command_that_fails_uploads_too(server: str, tmp_path: Path) -> None:
    pod = Pod(tmp_path, server, "echo half > /pod/out/x; exit 3", outputs=[_to("s3://bucket/failed", "/pod/out")])
    assert pod.run()[0] == 3
    assert _get(f"{server}/bucket/failed/x") == "half\n"


def test_a_stopped_pod_uploads(server: str, tmp_path: Path) -> None:
    command = "trap 'echo stopped > /pod/out/x; exit 5' TERM; while :; do sleep 0.1; done"
    pod = Pod(tmp_path, server, command, outputs=[_to("s3://bucket/stopped", "/pod/out")])
    assert pod.spec["terminationGracePeriodSeconds"] == 1800
    assert pod.run(stop=3)[0] == 5
    assert _get(f"{server}/bucket/stopped/x") == "stopped\n"


def test_a_killed_container_uploads(server: str, tmp_path: Path) -> None:
    command = "echo before > /pod/out/x; while :; do sleep 0.1; done"
    pod = Pod(tmp_path, server, command, outputs=[_to("s3://bucket/killed", "/pod/out")])
    assert pod.run(kill=3)[0] == -signal.SIGKILL
    assert _get(f"{server}/bucket/killed/x") == "before\n"


def test_checkpoints_are_uploaded_while_the_command_runs(server: str, tmp_path: Path) -> None:
    wait = f'until curl -sf -H "$SIGNED" {server}/bucket/steps/1.pt; do sleep 0.2; done > /pod/out/seen'
    command = f"echo one > /pod/out/steps/1.pt; timeout 60 sh -c '{wait}'; echo two > /pod/out/steps/2.pt"
    steps = _to("s3://bucket/steps", "/pod/out/steps", everySeconds=1, regex=r"[0-9]\.pt")
    pod = Pod(tmp_path, server, f"mkdir /pod/out/steps; {command}", checkpoints=[steps], outputs=[_to("store:s", "/pod/out")])
    assert pod.run()[0] == 0
    assert _get(f"{server}/store/runs/ml/train/s/seen") == "one\n"
    assert _get(f"{server}/bucket/steps/2.pt") == "two\n"


def test_a_restarted_command_uploads_again(server: str, tmp_path: Path) -> None:
    command = "[ -e /pod/out/x ] || { echo first > /pod/out/x; exit 2; }; echo second > /pod/out/x"
    pod = Pod(tmp_path, server, command, outputs=[_to("s3://bucket/again", "/pod/out")])
    assert [pod.run()[0], _get(f"{server}/bucket/again/x")] == [2, "first\n"]
    assert [pod.run()[0], _get(f"{server}/bucket/again/x")] == [0, "second\n"]
