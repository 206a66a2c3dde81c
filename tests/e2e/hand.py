"""Small cases by hand: a cluster of a few racks, one gang, and PodGroups as bayplan would not write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from e2e.random_cases import KINDS, LEVELS
from e2e.scheduler import Case, Change, Object, edited

LABELS = {**dict(LEVELS), "host": "kubernetes.io/hostname"}


def cluster(racks: Mapping[str, int], cards: int = 4, kind: str = "counted", **node: Any) -> Object:
    """`racks`: path ("z/s/r0") -> how many nodes it has, named after the path."""
    levels = LEVELS[3 - len(next(iter(racks)).split("/")) :]
    domains = [
        {"path": path, "nodes": ",".join(f"{path.replace('/', '-').replace('.', 'x')}-{i}" for i in range(count))}
        for path, count in racks.items()
    ]
    pool = {
        "name": "gb",
        "node": {"accelerator": "gb200", "count": cards, "cpu": "64", "memory": "64Gi", **node},
        "levels": [{"name": name, "label": label, "nvlink": name == "rack"} for name, label in levels],
        "domains": domains,
    }
    return {
        "apiVersion": "bayplan.dev/v1alpha1",
        "kind": "ClusterTopology",
        "metadata": {"name": "hall"},
        "spec": {
            "versions": {"kubernetes": "1.34", "kai": "0.13", "draDriver": "25.12", "jobset": "0.12"},
            "defaults": {"scheduler": "kai", "queue": "research", "namespace": "ml"},
            "pools": [pool],
            "accelerators": {"gb200": KINDS[kind]},
        },
    }


def pods(name: str, replicas: int, cards: int = 4, cpu: str = "") -> Object:
    """One podSet."""
    return {
        "name": name,
        "replicas": replicas,
        "image": "registry.example.com/x:1",
        "command": ["run"],
        **({"accelerator": {"count": cards}} if cards else {}),
        **({"resources": {"cpu": cpu}} if cpu else {}),
    }


def case(name: str, topology: Object, *parts: Object, **placement: str) -> Case:
    """One gang of podSets, or of groups (parts that have podSets)."""
    key = "groups" if "podSets" in parts[0] else "podSets"
    gang: Object = {"name": "g", "workload": "pods", "rendezvous": "none", "computeDomain": "never", key: list(parts)}
    if placement:
        gang["placement"] = placement
    flow = {
        "apiVersion": "bayplan.dev/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": "wf", "namespace": "ml"},
        "spec": {"queue": "research", "gangs": [gang]},
    }
    return Case(name, flow, topology)


def group(name: str, *sets: Object, replicas: int = 1, **placement: str) -> Object:
    """One group."""
    return {"name": name, "replicas": replicas, "placement": placement, "podSets": list(sets)}


def constrained(subgroup: str = "", topology: str = "hall", **levels: str) -> Change:
    """The PodGroup with this constraint on a subgroup, or on itself; `required` and `preferred` are level names."""
    words = {f"{word}TopologyLevel": LABELS.get(level, level) for word, level in levels.items()}
    wanted = {**({"topology": topology} if topology else {}), **words}

    def change(spec: Object) -> Object:
        if not subgroup:
            return {**spec, "topologyConstraint": wanted}
        groups = [
            {**each, "topologyConstraint": wanted} if each["name"] == subgroup else each for each in spec["subGroups"]
        ]
        return {**spec, "subGroups": groups}

    return pod_group(change)


def pod_group(change: Change) -> Change:
    """Change the spec of every PodGroup."""
    return lambda documents: edited(documents, "PodGroup spec", change)


def both(first: Change, second: Change) -> Change:
    """One change after the other."""
    return lambda documents: second(first(documents))
