"""What a platform refuses a task: rights, mounts, and rules about amounts and nodes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from osmo_pool_test import cluster, codes, config, share_of
from osmo_share_test import ASK, HEAD, given_by, share, user

from bayplan.model.topology import ClusterTopology, NodeShape
from bayplan.plugins.osmo.pool import requests as asking
from bayplan.plugins.osmo.pool.rendering import of_node
from bayplan.plugins.osmo.pool.values import TaskRequest

RIGHTS = {"gb200": {"allowed_mounts": ["/mnt/a", "/b"], "privileged_allowed": True}}
MOUNTING = user(volumeMounts=[{"name": "b", "mountPath": "/b"}, {"name": "c", "mountPath": "/c"}])


@pytest.mark.parametrize(
    ("ask", "found"),
    [
        (ASK._replace(privileged=True), []),
        (ASK._replace(host_network=True), ["W483"]),
        (ASK._replace(mounts=("/mnt/a",)), []),
        (ASK._replace(mounts=("/mnt/a:/elsewhere",)), []),
        (ASK._replace(mounts=("/mnt",)), ["W483"]),
        (ASK._replace(mounts=("/c",)), ["W423"]),
        (ASK._replace(mounts=("/b",)), []),
    ],
)
def test_rights(ask: TaskRequest, found: list[str]) -> None:
    assert codes(share(MOUNTING, ask, platforms=RIGHTS)) == found


def test_a_mount_that_the_template_makes_is_not_made_again() -> None:
    made = given_by(MOUNTING, ASK._replace(mounts=("/mnt/a:/x", "/b")), platforms=RIGHTS)
    assert made.mounts == ("/mnt/a:/x",)


@pytest.mark.parametrize(("name", "found"), [("", []), ("gb200", []), ("gb300", ["W408"])])
def test_platforms(name: str, found: list[str]) -> None:
    assert codes(share({}, ASK._replace(platform=name))) == found


def ruled(*rules: tuple[str, str, str], nodes: ClusterTopology | None = None, ask: TaskRequest = ASK) -> list[str]:
    """The codes that come of rules."""
    listed = [
        {"operator": o, "left_operand": left, "right_operand": right, "assert_message": "no"}
        for o, left, right in rules
    ]
    own = {**HEAD, "common_resource_validations": ["r"], "platforms": {"gb200": {}}}
    return codes(share_of(config({"pools": {"hall": own}, "resource_validations": {"r": listed}}), ask, nodes))


@pytest.mark.parametrize(
    ("operator", "left", "right", "found"),
    [
        ("LE", "4", "4", []),
        ("LT", "4", "4", ["W483"]),
        ("GT", "4.5", "4", []),
        ("GE", "4", "5", ["W483"]),
        ("EQ", "4", "4.0", []),
        ("EQ", "4", "x", ["W483"]),
        ("LT", "512Mi", "1Gi", []),
        ("LT", "1G", "1Gi", ["W483"]),
        ("GT", "1Gi", "0", []),
        ("LT", "a", "b", []),
        ("LT", "4", "b", ["W481"]),
    ],
)
def test_comparisons(operator: str, left: str, right: str, found: list[str]) -> None:
    assert ruled((operator, left, right)) == found


def with_nodes(*nodes: NodeShape) -> ClusterTopology:
    (own,) = cluster().pools
    return cluster()._replace(pools=tuple(own._replace(name=f"p{n}", node=node) for n, node in enumerate(nodes)))


SMALL = NodeShape("a", 1, {"cpu": 4_500, "memory": 2**30 * 1000})
LARGE = NodeShape("b", 8, {"cpu": 2_000, "memory": 2**40 * 1000})
BIG_CPU, BIG_GPU = ("LE", "4", "{{K8_CPU}}"), ("LE", "{{USER_GPU}}", "{{K8_GPU}}")


@pytest.mark.parametrize(
    ("rules", "nodes", "found"),
    [
        pytest.param([BIG_GPU], (SMALL, LARGE), [], id="one kind is enough"),
        pytest.param([BIG_GPU], (SMALL,), ["W483"], id="none has so many"),
        pytest.param([BIG_CPU, BIG_GPU], (SMALL, LARGE), ["W483"], id="all rules on one kind"),
        pytest.param([("LT", "1Gi", "{{K8_MEMORY}}")], (SMALL,), ["W483"], id="memory"),
        pytest.param([("LT", "1Gi", "{{K8_STORAGE}}")], (SMALL,), ["W481"], id="not stated"),
    ],
)
def test_rules_about_nodes(rules: list[tuple[str, str, str]], nodes: tuple[NodeShape, ...], found: list[str]) -> None:
    assert ruled(*rules, nodes=with_nodes(*nodes), ask=ASK._replace(gpu=4)) == found


def test_rules_about_nodes_go_by_the_pool_of_the_platforms_name_or_labels() -> None:
    named = with_nodes(SMALL, LARGE)
    pools = (named.pools[0]._replace(name="gb200"), named.pools[1])
    assert ruled(BIG_GPU, nodes=named._replace(pools=pools), ask=ASK._replace(gpu=4)) == ["W483"]


def test_node_values() -> None:
    assert of_node({"cpu": 4_500, "memory": 1_536_000}, 2) == {
        "K8_CPU": "4",
        "K8_GPU": "2",
        "K8_MEMORY": "1Ki",
        "K8_STORAGE": None,
    }


@given(st.one_of(st.integers(0, 99).map(str), st.sampled_from(["1Gi", "512Mi", "1.5Ki", "x", "", "3m"])))
def test_an_operand_equals_itself(text: str) -> None:
    assert asking.compare("EQ", asking.operand(text), asking.operand(text)) is True
