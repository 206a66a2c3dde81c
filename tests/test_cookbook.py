"""OSMO's training jobs run as processes from rendered manifests, and the runner does what Kubernetes does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support import run as compiled
from support import workflow
from tools.cookbook import JOBS, LAUNCHERS, missing, play
from tools.data import parse_all
from tools.pod_runner import Image, Report, Scene, lacking, run

MISSING, LACKING = missing(), lacking()
needs_launchers = pytest.mark.skipif(bool(MISSING), reason=f"without {', '.join(MISSING)}")
needs_root = pytest.mark.skipif(bool(LACKING), reason=f"without {', '.join(LACKING)}")

MODELS = {
    "torchrun": "my-trained-model/train-multi-gpu/models/snapshot.pth",
    "torchrun-template": "my-trained-model/train-torchrun/models/snapshot.pth",
    "elastic": "model-sample/elastic-sample/models/snapshot.pth",
    "deepspeed": "model-sample/deepspeed-sample/models/rank_0/1/mp_rank_00_model_states.pt",
}
"""What each training job writes, below its URL."""


@needs_launchers
@pytest.mark.parametrize("kai", ["0.14", "0.17"])
@pytest.mark.parametrize("job", MODELS)
def test_jobs_meet_finish_and_leave_their_model_in_the_store(tmp_path: Path, job: str, kai: str) -> None:
    report = play(job, tmp_path, kai=kai, dns_delay=10)
    assert set(report.ends.values()) == {"Complete"}, report.text()
    model = tmp_path / "store" / "osmo" / MODELS[job]
    load = "import sys, torch; torch.load(sys.argv[1], map_location='cpu')"
    subprocess.run([LAUNCHERS / "bin" / "python", "-c", load, model], check=True)


@needs_launchers
@pytest.mark.parametrize(("kai", "end"), [("0.14", "Failed: DeadlineExceeded"), ("0.17", "")])
def test_rays_head_waits_for_the_worker_and_the_worker_for_the_head(tmp_path: Path, kai: str, end: str) -> None:
    report = play("ray", tmp_path, kai=kai, pulls={"master": 60}, seconds=300)
    lead = {key: code for key, code in report.codes.items() if key.endswith("/master")}
    assert list(lead.values()) == [0], report.text()
    assert len((tmp_path / "store" / "osmo" / "ray-example" / "hosts.txt").read_text().split()) == 2
    # bare pods: nothing ends the worker before its deadline
    assert {each for each in report.ends.values() if each != "Complete"} == ({end} if end else set())


def scene(folder: Path, text: str, **changes: Any) -> Report:
    """Run documents with images that have only what the machine has."""
    documents = [each for each in parse_all(text) if each]
    return run(Scene(documents, {"": Image()}, **{"seconds": 60, **changes}), folder)


def lines(report: Report, container: str) -> list[str]:
    """What the container of the only such pod printed, without the times."""
    (text,) = (text for name, text in report.logs.items() if name.endswith(container))
    return [line[8:] for line in text.splitlines()]


PODS = """
kind: Service
apiVersion: v1
metadata: {name: all, namespace: ml}
spec: {clusterIP: None, publishNotReadyAddresses: true, selector: {app: train}}
---
kind: Service
apiVersion: v1
metadata: {name: ready, namespace: ml}
spec: {clusterIP: None, selector: {app: train}}
---
kind: ConfigMap
apiVersion: v1
metadata: {name: files, namespace: ml}
data: {run.sh: "cat /shared/fetched; echo $1 $FLAVOR $IP $KEY; tail -n 1 /etc/hosts; ls /tmp; exec sleep 2"}
---
kind: Secret
apiVersion: v1
metadata: {name: keys, namespace: ml}
stringData: {KEY: sesame}
---
kind: Pod
apiVersion: v1
metadata: {name: one, namespace: ml, labels: {app: train}}
spec:
  hostname: one
  subdomain: all
  restartPolicy: Never
  initContainers:
  - name: upload
    image: any
    restartPolicy: Always
    command: [sh, -c, "trap 'echo uploads; exit 0' TERM; while :; do sleep 0.1; done"]
  - name: fetch
    image: any
    command: [sh, -c, "echo fetched > /shared/fetched"]
    volumeMounts: [{name: shared, mountPath: /shared}]
  containers:
  - name: main
    image: any
    command: [sh, /tmp/run.sh, "$(FLAVOR) $$(FLAVOR) $(OTHER)"]
    env:
    - {name: FLAVOR, value: sweet}
    - {name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
    envFrom: [{secretRef: {name: keys}}]
    volumeMounts:
    - {name: files, mountPath: /tmp/run.sh, subPath: run.sh}
    - {name: shared, mountPath: /shared}
  volumes:
  - {name: files, configMap: {name: files}}
  - {name: shared, emptyDir: {}}
---
kind: Pod
apiVersion: v1
metadata: {name: two, namespace: ml, labels: {app: train}}
spec:
  hostname: two
  subdomain: all
  restartPolicy: Never
  initContainers:
  - {name: slow, image: any, command: [sleep, "1"]}
  containers:
  - name: main
    image: any
    command:
    - sh
    - -c
    - for name in one.all one.all.ml.svc.cluster.local three.all; do getent ahostsv4 $name | head -n 1; done;
      getent ahostsv4 ready | grep -c STREAM; exit 3
"""


@needs_root
def test_a_pod_has_what_the_kubelet_gives_it(tmp_path: Path) -> None:
    report = scene(tmp_path, PODS)
    assert report.ends == {"Pod/one": "Complete", "Pod/two": "Failed: PodFailed"}, report.text()
    address, host = "10.77.1.1", "one.all.ml.svc.cluster.local\tone"
    assert lines(report, "one/main") == [
        "fetched",
        f"sweet $(FLAVOR) $(OTHER) sweet {address} sesame",
        f"{address}\t{host}",
        "run.sh",
    ]
    assert lines(report, "one/upload") == ["uploads"]
    found = [line.split() for line in lines(report, "two/main")]
    assert found == [[address, "STREAM", "one.all.ml.svc.cluster.local"], [address, "STREAM", found[1][2]], ["2"]]


@needs_root
@pytest.mark.parametrize(
    ("kind", "scheduler"), [("jobset", "kai"), ("job", "kai"), ("pods", "koordinator"), ("volcano-job", "volcano")]
)
def test_pods_of_each_kind_have_their_ranks_and_the_name_of_the_first(
    tmp_path: Path, kind: str, scheduler: str
) -> None:
    show = 'echo "$NODE_RANK of $NNODES"; sleep 1; getent ahostsv4 "$MASTER_ADDR" | head -n 1; sleep 1'
    pod_set = {"name": "worker", "replicas": 2, "command": ["sh", "-c", show], "image": "any"}
    rendered = compiled(workflow({"name": "main", "workload": kind, "podSets": [pod_set]}), scheduler=scheduler)
    report = run(Scene(rendered.documents, {"": Image()}, seconds=30), tmp_path)
    assert set(report.ends.values()) == {"Complete"}, report.text()
    printed = sorted(line[8:] for text in report.logs.values() for line in text.splitlines())
    assert printed[:2] == ["0 of 2", "1 of 2"]
    assert printed[2] == printed[3], printed


@needs_root
def test_names_exist_after_the_delay_and_answers_are_repeated(tmp_path: Path) -> None:
    ask = "for second in $(seq 5); do getent ahostsv4 one.all > /dev/null && echo known; sleep 1; done"
    text = f"""
{PODS.split("---")[0]}
---
kind: Pod
apiVersion: v1
metadata: {{name: one, namespace: ml, labels: {{app: train}}}}
spec:
  hostname: other
  subdomain: all
  restartPolicy: Never
  containers: [{{name: main, image: any, command: [sh, -c, "sleep 6"]}}]
---
kind: Pod
apiVersion: v1
metadata: {{name: two, namespace: ml, labels: {{app: train}}}}
spec:
  hostname: one
  subdomain: all
  restartPolicy: Never
  containers: [{{name: main, image: any, command: [sh, -c, "sleep 6"]}}]
---
kind: Pod
apiVersion: v1
metadata: {{name: three, namespace: ml}}
spec:
  restartPolicy: Never
  containers: [{{name: main, image: any, command: [sh, -c, {ask!r}]}}]
"""
    report = scene(tmp_path, text, dns_delay=1, dns_ttl=2)
    assert 2 <= len(lines(report, "three/main")) <= 4, report.text()


JOBSET = """
kind: JobSet
apiVersion: jobset.x-k8s.io/v1alpha2
metadata: {name: train, namespace: ml}
spec:
  failurePolicy: {maxRestarts: 1}
  successPolicy: {operator: All, targetReplicatedJobs: [lead]}
  replicatedJobs:
  - name: lead
    template:
      spec:
        backoffLimit: 0
        completionMode: Indexed
        template:
          spec:
            restartPolicy: Never
            containers:
            - name: main
              image: any
              command: [sh, -c, "echo $HOSTNAME $JOB_COMPLETION_INDEX $ATTEMPT; sleep 1; exit $((1 - ATTEMPT))"]
              env:
              - name: ATTEMPT
                valueFrom: {fieldRef: {fieldPath: "metadata.labels['jobset.sigs.k8s.io/restart-attempt']"}}
  - name: worker
    template:
      spec:
        backoffLimit: 0
        parallelism: 2
        completions: 2
        completionMode: Indexed
        template:
          spec:
            restartPolicy: Never
            containers:
            - name: main
              image: any
              command: [sh, -c, "trap 'exit 5' TERM; while :; do sleep 0.1; done"]
"""


@needs_root
def test_a_jobset_restarts_and_ends_with_its_lead(tmp_path: Path) -> None:
    report = scene(tmp_path, JOBSET)
    assert report.ends == {"JobSet/train": "Complete"}, report.text()
    leads = [line[8:] for name, text in report.logs.items() if "-lead-" in name for line in text.splitlines()]
    assert leads == ["train-lead-0-0 0 0", "train-lead-0-0 0 1"]
    assert [code for name, code in report.codes.items() if "-worker-" in name] == [5] * 4


def test_the_cookbook_runs_as_a_program() -> None:
    folders = os.pathsep.join(str(Path(__file__).parents[1] / each) for each in ("generator", "tests"))
    words = [sys.executable, "-m", "tools.cookbook", "--help"]
    environment = {**os.environ, "PYTHONPATH": folders}
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
    assert all(job in done.stdout for job in JOBS)
