"""Workloads that are there, and policies for them, by chance."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from random import Random
from typing import Any

import workloads

NAMES = ("a", "b", "a-b", "a-1", "w", "worker", "lead", "b-2", "z")
LEVELS = ("spine", "rack", "rack", "host")


def case(chance: Random) -> tuple[str, list[dict[str, Any]], dict[str, Any]]:
    """Kind, objects, and a policy with one rule for them."""
    kind = chance.choice(("jobset", *workloads.KINDS))
    objects, names = _jobset(chance) if kind == "jobset" else _other(kind, chance)
    if chance.random() < 0.5:
        for each in objects:
            del each["metadata"]["namespace"]
    _apart(objects)
    return kind, objects, _policy(chance, names)


def _jobset(chance: Random) -> tuple[list[dict[str, Any]], list[str]]:
    names = chance.sample(NAMES, chance.randint(1, 4))
    jobs = [
        {
            "name": name,
            "replicas": chance.choice((1, 1, 2, 3, 4, 12)),
            "template": {"spec": workloads.job(chance.choice((1, 2, 4, 8)))[0]["spec"]},
        }
        for name in names
    ]
    made = workloads.jobset()
    made[0]["spec"] = {"replicatedJobs": jobs}
    return made, names


def _other(kind: str, chance: Random) -> tuple[list[dict[str, Any]], list[str]]:
    made = workloads.KINDS[kind](chance.choice((1, 2, 4, 8, 16)))
    spec, names = made[0]["spec"], ["worker"]
    if kind == "lws":
        spec["replicas"] = chance.choice((1, 1, 2, 3))
        if chance.random() < 0.5 and spec["leaderWorkerTemplate"]["size"] > 1:
            spec["leaderWorkerTemplate"]["leaderTemplate"] = workloads.template("")
            names = ["leader", "worker"]
    if kind == "pytorchjob" and chance.random() < 0.5:
        spec["pytorchReplicaSpecs"]["Master"] = {"replicas": 1, "template": workloads.template("")}
        names = ["master", "worker"]
    if kind == "volcano-job" and chance.random() < 0.5:
        spec["tasks"].append({"name": "ps", "replicas": chance.choice((1, 2, 4)), "template": workloads.template()})
        names = ["worker", "ps"]
    more = {"raycluster": ["head", "worker"], "rayjob": ["head", "worker"], "trainjob": ["node"]}
    return made, more.get(kind, names)


def _apart(objects: list[dict[str, Any]]) -> None:
    """Pod templates that a scheduler can tell apart."""
    for number, each in zip(itertools.count(), _templates(objects[0]), strict=False):
        each.setdefault("metadata", {}).setdefault("labels", {})["role"] = f"role-{number}"


def _templates(data: Any) -> Iterator[dict[str, Any]]:
    if isinstance(data, dict):
        if isinstance(data.get("spec"), dict) and "containers" in data["spec"]:
            yield data
        for value in data.values():
            yield from _templates(value)
    elif isinstance(data, list):
        for value in data:
            yield from _templates(value)


def _placement(chance: Random) -> dict[str, str]:
    asked = {"required": 0.7, "preferred": 0.3}
    return {word: chance.choice(LEVELS) for word, share in asked.items() if chance.random() < share}


def _policy(chance: Random, names: list[str]) -> dict[str, Any]:
    gang: dict[str, Any] = {}
    if chance.random() < 0.5 and (placement := _placement(chance)):
        gang["placement"] = placement
    if chance.random() < 0.3:
        gang["computeDomain"] = chance.choice(("never", "gang", "group", "auto"))
    if chance.random() < 0.2:
        gang["queue"] = "batch"
    groups = list(_groups(chance, names)) if chance.random() < 0.7 else []
    rule = {"match": {"name": "*"}, **({"gang": gang} if gang else {}), **({"groups": groups} if groups else {})}
    head = {"apiVersion": "bayplan.dev/v1alpha1", "kind": "Policy", "metadata": {"name": "all"}}
    return {**head, "spec": {"rules": [rule]}}


def _groups(chance: Random, names: list[str]) -> Iterator[dict[str, Any]]:
    left = chance.sample(names, len(names))
    for number in range(chance.randint(1, 3)):
        taken = [left.pop() for _ in range(min(len(left), chance.randint(1, 2)))]
        if not taken:
            return
        made: dict[str, Any] = {"name": f"{chance.choice(('g', 'one', 'x-1'))}{number}", "podSets": taken}
        if chance.random() < 0.85 and (placement := _placement(chance)):
            made["placement"] = placement
        if chance.random() < 0.4:
            made["size"] = chance.choice((1, 2, 4, 8))
        yield made
