"""What the command line may ask for: namespaces and versions."""

from __future__ import annotations

from typing import Any

import pytest

import support
from bayplan.planning.selection import is_label

FLOW = support.workflow({"name": "train", "podSets": [{**support.WORKER, "replicas": 2}]})
SPEC = support.TOPOLOGY["spec"]


@pytest.mark.parametrize("name", ["a", "0", "ml", "team-a--b", "a" * 63])
def test_names_of_namespaces(name: str) -> None:
    assert is_label(name)


@pytest.mark.parametrize("name", ["", "Foo Bar", "A", "-a", "a-", "-", "a.b", "a_b", "a" * 64, "ä", "a\n", "²", "a/b"])
def test_no_names_of_namespaces(name: str) -> None:
    assert not is_label(name)


def test_a_wrong_namespace_is_refused() -> None:
    found = support.run(FLOW, namespace="Foo Bar").diagnostics
    assert ("A920", ("argument", "--namespace")) in [(each.code, each.route) for each in found]


def test_the_namespace_asked_for_wins() -> None:
    assert {each["metadata"]["namespace"] for each in support.run(FLOW, namespace="other").documents} == {"other"}


@pytest.mark.parametrize(
    ("asked", "route"),
    [("other", ("argument", "--namespace")), ("", ("workflow", "metadata", "namespace")), ("known", None)],
    ids=["asked", "stated", "known"],
)
def test_an_unknown_namespace_is_blamed_on_who_named_it(asked: str, route: Any) -> None:
    topology = {**support.TOPOLOGY, "spec": {**SPEC, "namespaces": {"known": {}}}}
    found = support.run(FLOW, topology, namespace=asked).diagnostics
    assert [each.route for each in found if each.code == "W323"] == ([route] if route else [])


@pytest.mark.parametrize(
    ("version", "codes"),
    [
        ("0.17", []),
        ("0.16.3", []),
        ("0.11", ["A907"]),
        ("0.99", ["A907"]),
        ("0." + "1" * 5000, ["A904"]),
        ("0" + ".1" * 5000, ["A904"]),
        ("", ["A904"]),
        ("0.x", ["A904"]),
        ("0.²", ["A904"]),
        ("0.6", ["A904"]),
    ],
    ids=lambda value: str(value)[:12],
)
def test_versions(version: str, codes: list[str]) -> None:
    bare = support.workflow({**FLOW["spec"]["gangs"][0], "workload": "pods"})
    found = support.run(bare, target={"kai": version}).codes
    assert [code for code in found if code.startswith("A9")] == codes
