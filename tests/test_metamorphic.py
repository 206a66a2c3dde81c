"""What must not matter does not: the order of rows and keys, the names that a cluster gives to things, and spines
that nobody asked for. For every backend.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import all_backends
import random_workflows
from bayplan.backends import BACKENDS
from bayplan.text.emit import emit
from test_determinism import shuffled
from tools import golden
from tools.effort import examples, sample

Data = dict[str, Any]
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
LEVELS = [
    {"name": "qqqzone", "label": "qqq.example.com/zone"},
    {"name": "qqqspine", "label": "qqq.example.com/spine"},
    {"name": "qqqrack", "label": "qqq.example.com/rack", "nvlink": True},
]


def topology(spines: int = 2) -> Data:
    """Two zones of so many spines of two racks, in which every word of the cluster's own begins with `qqq`."""
    made = deepcopy(all_backends.TOPOLOGY)
    made["spec"]["pools"][0] |= {
        "levels": LEVELS,
        "domains": [
            {"path": f"qqqz{z}/qqqs{z}{s}/qqqr{z}{s}{r}", "nodes": f"qqqn{z}{s}{r}-[01-40]"}
            for z in range(2)
            for s in range(spines)
            for r in range(2)
        ],
    }
    return made


def worded(value: Any) -> Any:
    """A workflow in the words of this cluster."""
    if isinstance(value, dict):
        return {key: worded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [worded(each) for each in value]
    return f"qqq{value}" if value in random_workflows.LEVELS[:3] else value


WORD = re.compile(r"([Qq])qq([a-z]*)([01]*)")


def renamed(text: str) -> str:
    """Every word of the cluster's own by another, which sorts differently. Hashes of such words are masked."""
    swap = str.maketrans("01", "10")
    other = WORD.sub(lambda m: f"{'W' if m[1] == 'Q' else 'w'}xyz{m[2]}{m[3].translate(swap)}", text)
    return re.sub(r"\b[0-9a-f]{8}\b", "<hash>", other)


def written(flow: Data, cluster: Data, at: all_backends.At) -> str | None:
    """What is written for the workflow; None where it is refused."""
    result = all_backends.run(flow, at, cluster)
    return "".join(emit(result.compiled.documents)) if result.compiled else None


def exported(cluster: Data, at: all_backends.At) -> list[str]:
    """The cluster's own objects, without the order of anything in them."""
    return sorted(json.dumps(unordered(each)) for each in all_backends.cluster_objects(at, cluster))


def unordered(value: Any) -> Any:
    """The value with its lists and mappings sorted; the lines of a text too."""
    if isinstance(value, Mapping):
        return {key: unordered(value[key]) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return sorted(map(unordered, value), key=json.dumps)
    return sorted(value.splitlines()) if isinstance(value, str) and "\n" in value else value


def cases(backend: str, check: Callable[[all_backends.At, Data], bool]) -> None:
    """Random workflows that a backend carries, at any version."""
    carried = []

    @settings(max_examples=examples(5, 12), deadline=None, suppress_health_check=SLOW)
    @given(at=all_backends.at_any_version(backend), flow=random_workflows.even(), seed=st.integers(0, 9))
    def run(at: all_backends.At, flow: Data, seed: int) -> None:
        carried.append(check(at, worded(flow)))

    run()
    assert sum(carried) > len(carried) // 10


@pytest.mark.parametrize("backend", BACKENDS)
def test_names_are_only_names(backend: str) -> None:
    """Other names for levels, labels, domains and nodes give the same manifests with other names."""
    before = topology()
    after = json.loads(WORD.sub(lambda m: renamed(m[0]), json.dumps(before)))

    def check(at: all_backends.At, flow: Data) -> bool:
        text = written(flow, before, at)
        other = written(json.loads(renamed(json.dumps(flow))), after, at)
        assert (text is None) == (other is None)
        assert text is None or other is None or masked(other) == renamed(text)
        return text is not None

    cases(backend, check)
    for version in all_backends.versions(backend):
        at = all_backends.At(backend, version)
        ours = [renamed(each) for each in exported(before, at)]
        assert reordered(ours) == reordered([masked(each) for each in exported(after, at)])


def masked(text: str) -> str:
    """A text without hashes."""
    return re.sub(r"\b[0-9a-f]{8}\b", "<hash>", text)


def reordered(texts: list[str]) -> list[str]:
    """The objects in an order of their own after a renaming."""
    return sorted(json.dumps(unordered(json.loads(each))) for each in texts)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_spine_that_nobody_asked_for_changes_no_workload(backend: str) -> None:
    small, large = topology(), topology(spines=3)

    def check(at: all_backends.At, flow: Data) -> bool:
        text = written(flow, small, at)
        assert text == written(flow, large, at)
        return text is not None

    cases(backend, check)


@pytest.mark.parametrize("at", all_backends.NEWEST, ids=str)
def test_the_order_of_rows_nodes_and_keys_changes_nothing(at: all_backends.At) -> None:
    for name, flow, cluster in shipped(at):
        random = Random(name)
        mixed = reversed_nodes(shuffled(cluster, random))
        assert written(shuffled(flow, random), mixed, at) == written(flow, cluster, at), name


@pytest.mark.parametrize("at", all_backends.NEWEST, ids=str)
def test_the_order_of_rows_and_keys_changes_nothing_of_the_cluster(at: all_backends.At) -> None:
    cluster = topology()
    assert exported(shuffled(cluster, Random(1)), at) == exported(cluster, at)


def shipped(at: all_backends.At) -> Iterator[tuple[str, Data, Data]]:
    """The workflows and topologies of the repository's examples; by default a quarter of them for each backend."""
    for name in sample(golden.examples(), 4, all_backends.NEWEST.index(at)):
        flow, cluster = golden.sources(name)
        if isinstance(flow, dict) and flow.get("kind") == "Workflow":
            yield name, flow, cluster


def reversed_nodes(cluster: Data) -> Data:
    """The nodes of each domain in another order, one by one."""
    made = deepcopy(cluster)
    for pool in made["spec"]["pools"]:
        for domain in pool["domains"]:
            found = re.fullmatch(r"([^\[\],]*)\[(\d+)-(\d+)\]", domain["nodes"])
            if found:
                stem, first, last = found.groups()
                numbers = range(int(last), int(first) - 1, -1)
                domain["nodes"] = ",".join(f"{stem}{number:0{len(first)}}" for number in numbers)
    return made
