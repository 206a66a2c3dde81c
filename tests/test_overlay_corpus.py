"""The tool that measures public overlays: it places, adopts and patches as its hints say, and notices what is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tools import kustomize, overlay_corpus
from tools.overlay_corpus import Bench, Overlay, compared

JOB: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "train"},
    "spec": {
        "parallelism": 4,
        "completions": 4,
        "completionMode": "Indexed",
        "template": {
            "spec": {
                "restartPolicy": "Never",
                "nodeSelector": {"example.com/gpu": "h200"},
                "containers": [
                    {
                        "name": "main",
                        "image": "registry.example.com/train:1",
                        "envFrom": [{"configMapRef": {"name": "settings"}}],
                        "resources": {"limits": {"nvidia.com/gpu": 8}},
                    }
                ],
            }
        },
    },
}
SERVER: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "serve"},
    "spec": {"replicas": 2, "template": JOB["spec"]["template"]},
}
QUEUED = {**JOB, "metadata": {"name": "queued", "labels": {"kueue.x-k8s.io/queue-name": "theirs"}}}
OTHER = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "other"}, "spec": {"clusterIP": "None"}}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    (tmp_path / "bin").mkdir()
    return Bench(tmp_path / "bench", kustomize.install(tmp_path / "bin"))


def overlay(folder: Path, bench: Bench) -> Overlay:
    """A base, and an overlay with a prefix and a generated ConfigMap."""
    (folder / "base").mkdir(parents=True)
    (folder / "dev").mkdir()
    base = yaml.safe_dump_all([JOB, OTHER, SERVER, QUEUED])
    (folder / "base" / "all.yaml").write_text(base, encoding="utf-8")
    (folder / "base" / "kustomization.yaml").write_text("resources: [all.yaml]\n", encoding="utf-8")
    keys = {
        "resources": ["../base"],
        "namePrefix": "dev-",
        "configMapGenerator": [{"name": "settings", "literals": ["a=b"]}],
    }
    (folder / "dev" / "kustomization.yaml").write_text(yaml.safe_dump(keys), encoding="utf-8")
    found = dict(overlay_corpus.overlays(folder, [folder / "dev"], bench.programs))
    made = found[folder / "dev"]
    assert isinstance(made, Overlay)
    bench.write("topology.yaml", overlay_corpus.topology(made.workloads))
    return made


@pytest.mark.parametrize("scheduler", ["kai", "kueue"])
def test_an_overlay_is_placed_through_both_doors(scheduler: str, bench: Bench, tmp_path: Path) -> None:
    result = overlay_corpus.judge(overlay(tmp_path / "tree", bench), scheduler, "block", bench)
    assert result.faults == ()
    assert result.placed == ("Job dev-train",)
    able = ("Job dev-queued",) if scheduler == "kueue" else ("Job dev-queued", "Deployment dev-serve")
    assert result.after == able
    assert [why[:4] for _, why in result.refused] == (["F740"] if scheduler == "kueue" else [])


LESS = {**JOB, "spec": {key: value for key, value in JOB["spec"].items() if key != "completions"}}
MORE = {**JOB, "spec": {**JOB["spec"], "suspend": True}}


@pytest.mark.parametrize(
    ("after", "fault"),
    [
        ([OTHER, JOB], "an object is missing, or the order differs"),
        ([JOB], "an object is missing, or the order differs"),
        ([JOB, {**OTHER, "spec": {"clusterIP": "none"}}], "Service other is not placed, but its text differs"),
        ([LESS, OTHER], "Job train: .spec: a field is missing, or the order differs"),
        ([MORE, OTHER], "Job train: .spec.suspend is new"),
        ([JOB, OTHER, SERVER], "unexpected new object Deployment serve"),
    ],
)
def test_what_is_lost_or_new_is_a_fault(after: list[Any], fault: str) -> None:
    before, now = (yaml.safe_dump_all(each, sort_keys=False) for each in ([JOB, OTHER], after))
    assert list(compared(before, before, ["Job train"])) == []
    assert list(compared(before, now, ["Job train"])) == [fault]
