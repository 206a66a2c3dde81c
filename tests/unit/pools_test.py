"""An accelerator without a name: that of the pool which the podSet runs in."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import support
from bayplan.model.plan import all_pods

CPU = {"name": "cpu", "node": {"cpu": "64", "memory": "256Gi"}, "domains": [{"nodes": "c[01-08]"}]}
SPARE = {**support.TOPOLOGY["spec"]["pools"][0], "name": "spare", "domains": [{"path": "s9/r9", "nodes": "m[01-18]"}]}
H100 = {
    **CPU,
    "name": "h100",
    "node": {**CPU["node"], "accelerator": "h100", "count": 8},
    "domains": [{"nodes": "h[1-4]"}],
}


def topology(*pools: Any, **accelerators: Any) -> dict[str, Any]:
    """The usual cluster with further pools and accelerators."""
    made = copy.deepcopy(support.TOPOLOGY)
    made["spec"]["pools"] += [{**each, "domains": [dict(d) for d in each["domains"]]} for each in pools]
    made["spec"]["accelerators"] |= accelerators
    return made


def flow(accelerator: Any, **gang: Any) -> dict[str, Any]:
    """One podSet that asks for the accelerator."""
    worker = {**support.WORKER, "accelerator": accelerator}
    group = {"name": "replica", "replicas": 2, "placement": {"required": "rack"}, "podSets": [worker]}
    return support.workflow({"name": "train", "groups": [group], **gang})


def bytes_of(accelerator: Any, where: Any, **gang: Any) -> list[dict[str, Any]]:
    """What is rendered."""
    result = support.run(flow(accelerator, **gang), where)
    assert result.compiled, result.diagnostics
    return result.documents


@pytest.mark.parametrize("allocator", ["device-plugin", "dra"])
def test_it_renders_as_if_it_were_named(allocator: str) -> None:
    where = topology(CPU, gb200={"vendor": "nvidia", "allocator": allocator})
    assert bytes_of({"count": 4}, where) == bytes_of({"name": "gb200", "count": 4}, where)
    assert "ComputeDomain" in {each["kind"] for each in bytes_of({"count": 4}, where)}


def test_the_nearest_pool_decides() -> None:
    where = topology(H100, h100={"vendor": "nvidia", "allocator": "dra", "deviceClass": "h100.example.com"})
    template = next(
        each
        for each in bytes_of(
            {}, where, pool="h100", groups=[{"name": "a", "podSets": [{**support.WORKER, "accelerator": {}}]}]
        )
        if each["kind"] == "ResourceClaimTemplate"
    )
    (request,) = template["spec"]["spec"]["devices"]["requests"]
    assert (request["exactly"]["deviceClassName"], request["exactly"]["count"]) == ("h100.example.com", 1)


def test_several_pools_with_accelerators_are_named() -> None:
    result = support.run(flow({"count": 4}), topology(SPARE, H100, CPU, h100={}))
    (found,) = [each for each in result.diagnostics if each.severity == "error"]
    assert found.code == "P502"
    assert '"gb200", "spare", "h100"' in found.message
    assert '"cpu"' not in found.message


def test_a_cluster_without_accelerators_has_none_to_give() -> None:
    bare = {**support.TOPOLOGY, "spec": {**support.TOPOLOGY["spec"], "pools": [CPU], "accelerators": {}}}
    for pools in ([CPU], [CPU, {**CPU, "name": "more", "domains": [{"nodes": "d1"}]}]):
        gang = {"name": "train", "podSets": [{**support.WORKER, "accelerator": {}}]}
        result = support.run(support.workflow(gang), {**bare, "spec": {**bare["spec"], "pools": pools}})
        found = [each for each in result.diagnostics if each.severity == "error"]
        assert [(each.code, each.route[-1]) for each in found] == [("P502", "accelerator")]


SETTINGS: dict[str, tuple[Any, Any, str]] = {
    "an allocator that is not offered": ({"allocator": "dra"}, {}, "W550"),
    "selectors without DRA": ({"selectors": ["true"]}, {}, "W550"),
    "HAMi": ({}, {"gb200": {"vendor": "nvidia", "allocator": "hami"}}, "F760"),
    "more than a node has": ({"count": 8}, {}, "P552"),
    "a share": ({"memory": "20Gi"}, {}, "W550"),
}


@pytest.mark.parametrize(("asked", "kinds", "code"), SETTINGS.values(), ids=SETTINGS)
def test_what_is_wrong_with_it_is_found_as_if_it_were_named(asked: Any, kinds: Any, code: str) -> None:
    nameless = support.run(flow({"count": 4, **asked}), topology(**kinds))
    named = support.run(flow({"name": "gb200", "count": 4, **asked}), topology(**kinds))
    assert nameless.diagnostics == named.diagnostics
    assert code in nameless.codes


def test_a_pool_that_is_not_there_is_one_finding() -> None:
    assert support.run(flow({"count": 4}, pool="gb20"), topology()).codes == ["W323"]


TWO = {"name": "cpu-2", "node": {"cpu": "64", "memory": "256Gi"}, "domains": [{"nodes": "d[01-08]"}]}
PLAIN = {key: value for key, value in support.WORKER.items() if key != "accelerator"}


@pytest.mark.parametrize(
    ("pod_sets", "default", "codes"),
    [
        pytest.param([PLAIN], "cpu-2", [], id="of-several-without-accelerators"),
        pytest.param([PLAIN], "", ["P502"], id="none-is-named"),
        pytest.param([{**support.WORKER, "accelerator": {}}], "gb200", [], id="of-several-with-accelerators"),
        pytest.param([{**support.WORKER, "accelerator": {}}], "cpu", ["P502"], id="not-one-that-cannot-hold-it"),
    ],
)
def test_the_default_pool_decides_where_several_could(pod_sets: list[Any], default: str, codes: list[str]) -> None:
    where = topology(CPU, TWO, SPARE)
    where["spec"]["defaults"] = {**where["spec"]["defaults"], **({"pool": default} if default else {})}
    result = support.run(support.workflow({"name": "train", "podSets": pod_sets}), where)
    assert [code for code in result.codes if code.startswith("P5")] == codes


def test_the_default_pool_takes_what_could_follow_several() -> None:
    where = topology(CPU, TWO, H100, h100={"vendor": "nvidia", "allocator": "device-plugin"})
    where["spec"]["pools"] = [pool for pool in where["spec"]["pools"] if "accelerator" in pool["node"]]
    where["spec"]["defaults"] = {**where["spec"]["defaults"], "pool": "h100"}
    both = [{**support.WORKER, "name": name, "accelerator": {"name": name, "count": 4}} for name in ("gb200", "h100")]
    result = support.run(support.workflow({"name": "train", "podSets": [*both, {**PLAIN, "replicas": 1}]}), where)
    assert "P502" not in result.codes


def pool_of(gang: dict[str, Any], where: Any) -> str:
    """The pool of the last podSet of a gang."""
    result = support.run(support.workflow({"name": "train", **gang}), where)
    assert result.compiled, result.diagnostics
    *_, last = [pods for each in result.compiled.planned.plan.gangs for pods in all_pods(each.root)]
    return last.pool


PLAIN = {"name": "launcher", "replicas": 1, "image": "busybox", "command": ["run"]}
MORE = {**CPU, "name": "more", "domains": [{"nodes": "d[1-8]"}]}


@pytest.mark.parametrize(
    ("pod_set", "gang", "others", "pool"),
    [
        ({}, {}, [CPU], "cpu"),
        ({}, {}, [CPU, MORE], "gb200"),
        ({}, {"placement": {"required": "rack"}}, [CPU], "gb200"),
        ({}, {"placement": {"required": "host"}}, [CPU], "gb200"),
        ({"wholeNode": True}, {}, [CPU], "gb200"),
        ({"wholeNode": True, "pool": "cpu"}, {}, [CPU], "cpu"),
    ],
)
def test_a_pod_set_without_an_accelerator(pod_set: Any, gang: Any, others: Any, pool: str) -> None:
    accelerator = {"name": "gb200", "count": 1}
    pod_sets = [{**support.WORKER, "replicas": 1, "accelerator": accelerator}, {**PLAIN, **pod_set}]
    assert pool_of({"podSets": pod_sets, **gang}, topology(*others)) == pool


def test_a_whole_node_alone_has_its_accelerators() -> None:
    assert pool_of({"podSets": [{**PLAIN, "wholeNode": True}]}, topology(CPU)) == "gb200"


def test_a_gang_without_accelerators_has_the_only_pool_without_them() -> None:
    assert pool_of({"podSets": [PLAIN], "placement": {"required": "host"}}, topology(CPU)) == "cpu"
