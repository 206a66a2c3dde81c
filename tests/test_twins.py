"""Workloads that differ only in their name: bayplan places two of them, and fills in the others."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bayplan.augment import twins
from bayplan.text.patch import rewrite_all
from tools.data import parse_all
from tools.run import bayplan

ROOT = Path(__file__).parents[1]
NAMES = ("train-1", "train-2", "train-3", "train-40", "train-7", "no", "train-8", "a", "3", "train", "e", "train-9")
POD: dict[str, Any] = {
    "containers": [{"name": "main", "image": "train-1", "resources": {"limits": {"nvidia.com/gpu": 8}}}],
    "restartPolicy": "Never",
}
JOB = {"parallelism": 2, "completions": 2, "completionMode": "Indexed", "template": {"spec": POD}}
LWS = {"replicas": 2, "leaderWorkerTemplate": {"size": 2, "workerTemplate": {"spec": POD}}}
JOBSET = {"replicatedJobs": [{"name": "worker", "replicas": 1, "template": {"spec": JOB}}]}
KINDS = {
    "pod": ("v1", "Pod", POD),
    "job": ("batch/v1", "Job", JOB),
    "jobset": ("jobset.x-k8s.io/v1alpha2", "JobSet", JOBSET),
    "lws": ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", LWS),
}


def workload(kind: str, name: str) -> str:
    """A workload with a comment on its name and a placement."""
    version, called, spec = KINDS[kind]
    metadata = {"name": name, "annotations": {"bayplan.dev/placement": "preferred=rack", "bayplan.dev/queue": "q"}}
    text = yaml.safe_dump({"apiVersion": version, "kind": called, "metadata": metadata, "spec": spec})
    return f"---\n# {name}\n{text}"


def topology(folder: Path, kai: str) -> Path:
    """A cluster with racks."""
    path = folder / "topology.yaml"
    domains = [{"path": f"r{number}", "nodes": f"r{number}-n[1-9]"} for number in range(3)]
    pool = {"name": "h100", "node": {"accelerator": "h100", "count": 8}, "domains": domains}
    spec = {
        "versions": {"kai": kai},
        "accelerators": {"h100": {"resources": {"count": "nvidia.com/gpu"}}},
        "pools": [{**pool, "levels": [{"name": "rack", "label": "example.com/rack"}]}],
    }
    head = {"apiVersion": "bayplan.dev/v1alpha1", "kind": "ClusterTopology", "metadata": {"name": "hall"}}
    path.write_text(yaml.safe_dump({**head, "spec": spec}), encoding="utf-8")
    return path


def post_render(cluster: Path, *texts: str, scheduler: str = "kai") -> tuple[int, str]:
    done = bayplan("post-render", "-t", str(cluster), "-s", scheduler, stdin="".join(texts))
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("scheduler", "kai"), [("kai", "0.17"), ("kai", "0.13"), ("volcano", "0.17"), ("kueue", "0.17")]
)
@pytest.mark.parametrize("kind", KINDS)
def test_twins_get_what_each_gets_by_itself(tmp_path: Path, kind: str, scheduler: str, kai: str) -> None:
    """Names that need quotes, occur elsewhere in the manifest, or are a part of another name are among them."""
    cluster = topology(tmp_path, kai)
    alone = [post_render(cluster, workload(kind, name), scheduler=scheduler) for name in NAMES]
    together = post_render(cluster, *(workload(kind, name) for name in NAMES), scheduler=scheduler)
    assert [list(parse_all(out)) for _, out in alone] == list(_by_workload(together[1], alone))
    assert together[0] == max(code for code, _ in alone)
    if together[0] == 0:
        assert together[1] == "".join(out for _, out in alone)


def _by_workload(whole: str, alone: list[tuple[int, str]]) -> Iterator[list[Any]]:
    documents = iter(list(parse_all(whole)))
    for _, out in alone:
        yield list(itertools.islice(documents, len(list(parse_all(out)))))
    assert not list(documents)


def test_a_twin_whose_object_exists_is_refused_as_alone(tmp_path: Path) -> None:
    cluster = topology(tmp_path, "0.17")
    texts = [workload("pod", name) for name in ("train-1", "train-2", "train-3")]
    code, out = post_render(cluster, *texts)
    group = next(each for each in parse_all(out) if each["metadata"]["name"].startswith("train-3-"))
    taken = yaml.safe_dump({**group, "metadata": {"name": group["metadata"]["name"]}})
    done = bayplan("post-render", "-t", str(cluster), "-s", "kai", stdin="".join((*texts, f"---\n{taken}")))
    assert (code, done.returncode) == (0, 1)
    assert "A950" in done.stderr


def test_results_that_differ_in_more_than_the_name_have_no_form() -> None:
    alike = twins._form({"a": "x-1", "n": ["x-1-h1"]}, {"a": "x-2", "n": ["x-2-h2"]}, (("h1", "x-1"), ("h2", "x-2")))
    assert alike
    assert alike.filled(("h3", "x-3")) == {"a": "x-3", "n": ["x-3-h3"]}
    words = ("x-1",), ("x-2",)
    for left, right in (("x-1-aa", "x-2-bb"), ("x-1", "x-1-x-2"), (1, 2), (1, True), ({"x-1": 1}, {"x-2": 1})):
        assert twins._form({"a": left}, {"a": right}, words) is None


def test_texts_alike_but_for_their_names_are_rewritten_by_their_own_data() -> None:
    """The second has other new data, and the third needs quotes in place of the name."""
    names, marks = ("a-1", "a-2", "no"), ("a-1", "other", "no")
    tasks = [
        (
            f"---\nmetadata:\n  name: {json}  # {json}\n",
            {"metadata": {"name": name}},
            {"metadata": {"name": name, "m": m}},
        )
        for name, m in zip(names, marks, strict=True)
        for json in (f'"{name}"' if name == "no" else name,)
    ]
    assert rewrite_all(tasks) == [rewrite_all([task])[0] for task in tasks]
