"""Ranks, evaluated as a cluster would: over every kind, 0 to n-1 without a gap, and the groups one after the other."""

from __future__ import annotations

import subprocess
from collections import defaultdict
from typing import Any

import pytest

import support

KINDS = ["jobset", "job", "pods"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_64_pods_have_ranks_0_to_63_and_16_consecutive_ones_a_rack(kind: str) -> None:
    pods = list(support.pods(support.run(support.workflow({**support.pretrain(), "workload": kind})).documents))
    assert sorted(int(pod.env["NODE_RANK"]) for pod in pods) == list(range(64))
    racks = defaultdict(list)
    for pod in pods:
        racks[pod.env["GROUP_INDEX"], pod.labels["kai.scheduler/subgroup-name"]].append(int(pod.env["NODE_RANK"]))
    assert {key: sorted(ranks) for key, ranks in racks.items()} == {
        (str(i), f"replica-{i}"): list(range(16 * i, 16 * i + 16)) for i in range(4)
    }


@pytest.mark.parametrize("kind", KINDS)
def test_every_pod_of_a_group_claims_that_groups_compute_domain(kind: str) -> None:
    result = support.run(support.workflow({**support.pretrain(), "workload": kind}))
    assert {each["metadata"]["name"] for each in result.kinds("ComputeDomain")} == {
        f"train-replica-{i}" for i in range(4)
    }
    for pod in support.pods(result.documents):
        claim = {"name": "compute-domain", "resourceClaimTemplateName": f"train-{pod.labels['bayplan.dev/group']}"}
        assert pod.spec["resourceClaims"] == [claim]
        assert pod.spec["containers"][0]["resources"]["claims"] == [{"name": "compute-domain"}]


CASES: dict[str, tuple[dict[str, Any], list[list[int]]]] = {
    "gang": ({"rendezvous": "gang"}, [list(range(64))]),
    "group": ({"rendezvous": "group"}, [list(range(16))] * 4),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("options", "expected"), CASES.values(), ids=CASES)
def test_rank_0_of_every_rendezvous_is_where_master_addr_points(
    kind: str, options: dict[str, Any], expected: list[list[int]]
) -> None:
    pods = list(
        support.pods(support.run(support.workflow({**support.pretrain(), "workload": kind, **options})).documents)
    )
    jobs = defaultdict(list)
    for pod in pods:
        jobs[pod.env["MASTER_ADDR"]].append(pod)
    assert [sorted(int(pod.env["NODE_RANK"]) for pod in members) for members in jobs.values()] == expected
    for address, members in jobs.items():
        assert [pod.host for pod in members if pod.env["NODE_RANK"] == "0"] == [address]
        assert {pod.env["NNODES"] for pod in members} == {str(len(members))}
        assert all(pod.env["PET_NODE_RANK"] == pod.env["NODE_RANK"] for pod in members)
        assert all(pod.env["PET_MASTER_ADDR"] == address for pod in members)


def test_none_leaves_the_command_and_the_environment_alone() -> None:
    result = support.run(support.workflow({**support.pretrain(), "rendezvous": "none"}))
    container = next(support.pods(result.documents)).spec["containers"][0]
    assert container["command"] == ["torchrun"]
    assert "env" not in container


def test_pods_without_accelerators_stay_out_of_the_ranks() -> None:
    helper = {"name": "helper", "replicas": 2, "image": "busybox", "command": ["help"], "pool": "gb200"}
    gang = {"name": "train", "podSets": [helper, {**support.WORKER, "replicas": 4}]}
    pods = list(support.pods(support.run(support.workflow(gang)).documents))
    ranked = {pod.labels["bayplan.dev/pod-set"]: "NODE_RANK" in pod.env for pod in pods}
    assert ranked == {"helper": False, "worker": True}
    assert {pod.env["NNODES"] for pod in pods if "NNODES" in pod.env} == {"4"}


def test_a_variable_that_the_user_sets_is_left_to_the_user() -> None:
    gang = support.pretrain(env={"MASTER_ADDR": "mine", "NODE_RANK": "7", "PET_NODE_RANK": "7"})
    container = next(support.pods(support.run(support.workflow(gang)).documents)).spec["containers"][0]
    assert [entry["value"] for entry in container["env"] if entry["name"] == "MASTER_ADDR"] == ["mine"]
    assert container["command"] == ["torchrun"]


def test_a_variable_in_the_template_is_left_to_the_user_too() -> None:
    entry = {"name": "MASTER_PORT", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['port']"}}}
    template = {"spec": {"containers": [{"name": "worker", "env": [entry]}]}}
    jobs = support.run(support.workflow(support.pretrain(template=template))).kinds("JobSet")[0]["spec"][
        "replicatedJobs"
    ]
    container = jobs[0]["template"]["spec"]["template"]["spec"]["containers"][0]
    assert [each for each in container["env"] if each["name"] == "MASTER_PORT"] == [entry]


def test_a_real_shell_runs_the_wrapped_command() -> None:
    gang = support.pretrain(command=["printenv", "NODE_RANK", "PET_NODE_RANK"])
    result = support.run(support.workflow(gang))
    last = result.kinds("JobSet")[0]["spec"]["replicatedJobs"][-1]["template"]["spec"]["template"]["spec"]
    command = last["containers"][0]["command"]
    ran = subprocess.run(command, env={"JOB_COMPLETION_INDEX": "15", "PATH": "/usr/bin:/bin"}, capture_output=True)
    assert ran.stdout.split() == [b"63", b"63"]


def test_cutting_by_size_keeps_the_ranks_in_order() -> None:
    group = {
        "name": "slice",
        "size": 16,
        "placement": {"required": "rack"},
        "podSets": [{**support.WORKER, "replicas": 50}],
    }
    pods = list(support.pods(support.run(support.workflow({"name": "train", "groups": [group]})).documents))
    assert sorted(int(pod.env["NODE_RANK"]) for pod in pods) == list(range(50))
    sizes = {pod.labels["bayplan.dev/group"]: pod.env["GROUP_SIZE"] for pod in pods}
    assert sizes == {"slice-0": "16", "slice-1": "16", "slice-2": "16", "slice-3": "2"}
