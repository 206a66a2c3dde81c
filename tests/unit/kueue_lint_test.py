"""What lint says of manifests for Kueue, by version. 0.20: CHANGELOG-0.20.md, read, not replayed."""

from __future__ import annotations

import pytest

from bayplan import pipeline
from bayplan.text import document


def jobset(leader: str, workers: str, count: int = 16) -> str:
    """Two replicatedJobs with annotations, which name the level of both and what is given."""
    job = """  - name: {name}
    template:
      spec:
        parallelism: {count}
        completions: {count}
        template:
          metadata: {{annotations: {{kueue.x-k8s.io/podset-required-topology: example.com/rack{more}}}}}
          spec: {{restartPolicy: Never, containers: [{{name: main, image: i, resources: {{requests: {{cpu: "1"}}}}}}]}}
"""
    head = """apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train, namespace: ml, labels: {kueue.x-k8s.io/queue-name: research}}
spec:
  replicatedJobs:
"""
    jobs = (("lead", 1, leader), ("work", count, workers)) if leader else (("work", count, workers),)
    return head + "".join(job.format(name=name, count=n, more=more) for name, n, more in jobs)


GROUP = ", kueue.x-k8s.io/podset-group-name: g"
SLICES = ', kueue.x-k8s.io/podset-slice-required-topology: example.com/host, kueue.x-k8s.io/podset-slice-size: "4"'
FLAVOR = """apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: gpus}
spec: {nodeLabels: {example.com/pool: gpus}}
"""
CASES = {
    "slices in a group": (jobset(GROUP, GROUP + SLICES), ("M750", "error")),
    "slices that do not divide": (jobset("", SLICES, 6), ("M750", "error")),
    "spreading": (jobset("", ", kueue.x-k8s.io/podset-topology-spreading: example.com/rack"), ("M815", "error")),
}


def said(text: str, version: str) -> list[tuple[str, str]]:
    """Code and severity of what lint reports of Kueue."""
    read = document.read("m.yaml", text.encode(), "manifest", own=False).value or ()
    outcome, _ = pipeline.lint(pipeline.LintRequest(read, None, target={"kueue": version}))
    return [(each.code, each.severity) for each in outcome.diagnostics if each.code in ("M750", "M780", "M815")]


@pytest.mark.parametrize(("text", "before"), CASES.values(), ids=CASES)
def test_what_kueue_accepts_since_0_20(text: str, before: tuple[str, str]) -> None:
    assert (said(text, "0.19"), said(text, "0.20")) == ([before], [])


def test_v1beta1_is_served_until_0_19() -> None:
    assert [said(FLAVOR, version) for version in ("0.14", "0.19", "0.20")] == [
        [],
        [("M780", "warning")],
        [("M780", "error")],
    ]
