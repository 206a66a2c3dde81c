"""Ranks, evaluated from what was emitted: the same for every backend and workload kind, and those of the plan.

What pods learn is compared with the plan's one rank function; that function with a count made by hand in
`test_ranks.py`.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

import all_backends
import support
from bayplan.backends import BACKENDS
from bayplan.kube.pod import entries
from bayplan.model.plan import GangPlan, all_pods
from tools.effort import LONG, examples
from tools.pod_runner import expand

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
KNOWN = ("NODE_RANK", "PET_NODE_RANK", "NNODES", "PET_NNODES", "GROUP_INDEX", "GROUP_COUNT", "GROUP_SIZE")
Place = tuple[str, ...]
"""Gang, podSet, the values of KNOWN, and what the pod at MASTER_ADDR has for GROUP_INDEX and NODE_RANK."""

WITHOUT_PODS = ("sbatch",)
"""Kinds whose processes are no Kubernetes pods: tests of their own run the scripts."""


def planned(gang: GangPlan) -> Iterator[Place]:
    """The places that a plan gives to the pods of a gang."""
    groups = {pods.name: str(pods.ranks.group_index) for pods in all_pods(gang.root) if pods.ranks}
    for pods in all_pods(gang.root):
        for number in range(pods.replicas):
            head = (gang.name, pods.spec.name)
            if pods.ranks is None:
                yield (*head, *("" for _ in KNOWN), "", "")
            else:
                rank, nodes = str(pods.ranks.first + number), str(pods.ranks.nodes)
                group = (pods.ranks.group_index, pods.ranks.group_count, pods.ranks.group_size)
                yield (*head, rank, rank, nodes, nodes, *map(str, group), groups[pods.ranks.master.pods], "0")


def emitted(result: support.Result) -> Iterator[Place]:
    """The places that pods find in their environment, whoever their master is."""
    everyone = list(support.pods(result.documents))
    assert len({pod.name for pod in everyone}) == len(everyone)
    by_host = {pod.host: pod for pod in everyone if pod.host}
    for pod in everyone:
        address = pod.env.get("MASTER_ADDR", "")
        assert pod.env.get("PET_MASTER_ADDR", "") == address
        master = by_host[address].env if address else {}
        known = (pod.env.get(name, "") for name in KNOWN)
        head = (pod.labels["bayplan.dev/gang"], pod.labels["bayplan.dev/pod-set"])
        yield (*head, *known, master.get("GROUP_INDEX", ""), master.get("NODE_RANK", ""))


@pytest.mark.parametrize("backend", BACKENDS)
def test_pods_learn_their_ranks(backend: str) -> None:
    tally = all_backends.Tally()

    @settings(max_examples=examples(8, 40), derandomize=True, deadline=None, suppress_health_check=SLOW)
    @given(case=all_backends.flows(backend))
    def check(case: tuple[all_backends.At, dict[str, Any]]) -> None:
        at, flow = case
        result = all_backends.run(flow, at)
        if not tally.refused(result):
            assert result.compiled is not None
            if not any(each.kind in WITHOUT_PODS for each in result.compiled.planned.shape.workloads):
                wanted = (place for gang in result.compiled.planned.plan.gangs for place in planned(gang))
                assert sorted(emitted(result)) == sorted(wanted)

    check()
    assert tally.enough(), tally


KINDS = [(at, kind) for at in all_backends.NEWEST for kind in all_backends.kinds(at) if kind not in WITHOUT_PODS]


NO_RACKS_IN_A_SPINE = {"slurm-bridge", "none"}
"""Schedulers that have no groups of racks in a spine."""


@pytest.mark.parametrize(("at", "kind"), KINDS, ids=lambda value: str(value))
@pytest.mark.parametrize("rendezvous", ["gang", "group", "none"])
def test_the_64_pods_have_the_same_ranks_in_every_kind(at: all_backends.At, kind: str, rendezvous: str) -> None:
    worker = {"resources": {"cpu": "8", "memory": "64Gi"}}
    gang = {**support.pretrain(**worker), "workload": kind, "rendezvous": rendezvous, "computeDomain": "never"}
    result = all_backends.run(support.workflow(gang, queue="research"), at, support.TOPOLOGY)
    if result.compiled is None:
        gaps = {each.code for each in result.diagnostics if each.severity == "error"}
        assert all(code.startswith("F") for code in gaps), result.diagnostics
        assert at.backend in NO_RACKS_IN_A_SPINE
        return
    places = sorted(emitted(result))
    assert len(places) == 64
    if rendezvous == "none":
        assert {place[2] for place in places} == {""}
    else:
        each = 64 if rendezvous == "gang" else 16
        ranks = sorted((int(place[6]), int(place[2])) for place in places)
        assert ranks == [(n // 16, n if rendezvous == "gang" else n % 16) for n in range(64)]
        assert {place[4] for place in places} == {str(each)}


PRINTS = "import json, os, sys; json.dump([sys.argv[1:], dict(os.environ)], sys.stdout)"
NASTY = (
    "'",
    '"',
    "$",
    "$$",
    "$(A)",
    "`id`",
    "\\",
    "\n",
    " ",
    "é",
    ";",
    "#",
    "*",
    "!",
    "",
    "=",
    "-x=",
    "$(POD_NAMESPACE)",
)
REFERENCES = tuple(f"$({name})" for name in ("NODE_RANK", "MASTER_ADDR", "GROUP_INDEX", "NNODES", "PET_NODE_RANK"))


def referring(seed: int) -> dict[str, Any]:
    """Words and variables that refer to ranks, to each other, also to later ones, and to nothing."""
    pick = random.Random(seed)

    def text(*names: str) -> str:
        return "".join(pick.choices([*NASTY, *REFERENCES, *(f"$({name})" for name in names)], k=pick.randrange(6)))

    env = {"P": text("Q", "P"), "Q": text("P", "R"), "R": text("P", "Q")}
    return {"env": env, "args": [text("P", "Q", "R") for _ in range(4)]}


@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize(
    ("scheduler", "kind", "rendezvous"),
    [
        ("kai", "jobset", "gang"),
        ("kai", "jobset", "group"),
        ("volcano", "volcano-job", "gang"),
        ("volcano", "volcano-job", "group"),
        ("none", "job", "gang"),
        ("none", "pods", "gang"),
    ],
)
@pytest.mark.parametrize("seed", range(4 if LONG else 1))
def test_texts_may_refer_to_ranks(
    seed: int, scheduler: str, kind: str, rendezvous: str, shell: str, tmp_path: Path
) -> None:
    """A real shell runs what each pod gets, and the program sees what Kubernetes makes of literal ranks."""
    own = {"name": "worker", "replicas": 2, "image": "x:1", "command": [sys.executable, "-c", PRINTS]}
    said = referring(seed)

    def pods(**more: Any) -> list[support.Pod]:
        groups = [{"name": "part", "replicas": 3, "podSets": [{**own, **more}]}]
        gang = {"name": "serve", "workload": kind, "rendezvous": rendezvous, "groups": groups}
        result = support.run(support.workflow(gang), scheduler=scheduler)
        assert result.compiled is not None, result.diagnostics
        return list(support.pods(result.documents))

    for plain, pod in zip(pods(), pods(**said), strict=True):
        env = {**plain.env, "POD_NAMESPACE": "ml"}
        wanted = {}
        for entry in entries(said["env"]):
            wanted[entry["name"]] = env[entry["name"]] = expand(entry["value"], env)
        container = pod.spec["containers"][0]
        started = {each["name"]: pod.env[each["name"]] for each in container["env"]}
        words = [*container["command"], *container.get("args", ())]
        words = [shell if word == "sh" and not place else word for place, word in enumerate(words)]
        ran = subprocess.run(
            words, env={**started, "PATH": "/usr/bin:/bin", **numbers(pod)}, capture_output=True, check=True
        )
        got, seen = json.loads(ran.stdout)
        assert got == [expand(word, env) for word in said["args"]]
        assert {name: seen[name] for name in wanted} == wanted
        assert seen["NODE_RANK"] == plain.env["NODE_RANK"]


def numbers(pod: support.Pod) -> dict[str, str]:
    """What controllers set in containers by themselves."""
    return {name: pod.env[name] for name in ("JOB_COMPLETION_INDEX", "VC_TASK_INDEX") if name in pod.env}
