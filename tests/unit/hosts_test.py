"""Texts that stand for pods: what was emitted is evaluated as a cluster would, over every workload kind."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import random_workflows
import support
from bayplan.checks import workflow as checks
from bayplan.manifests.pod_dns import replacing
from bayplan.model.workflow import Gang, Group, PodSet, Workflow, pod_of
from bayplan.planning.bind import cut

KINDS = ["jobset", "job", "pods"]
IMAGE = "registry.example.com/x:1"
SERVER = {"name": "server", "image": IMAGE, "command": ["serve"], "resources": {"cpu": "1"}}
CLIENT = {
    "name": "client",
    "replicas": 2,
    "image": IMAGE,
    "command": ["ask", "http://@server@:80/@server@"],
    "args": ["--peer=@second@"],
    "env": {"SERVER": "@server@:1", "PLAIN": "server"},
    "files": {"/opt/hosts": "@server@\n@second@\n", "/opt/none": "nobody"},
    "resources": {"cpu": "1"},
}


def gang(name: str = "main", **changes: Any) -> dict[str, Any]:
    """A server and its clients in each of two groups; all ask the server of the second group."""
    group = {"name": "part", "replicas": 2, "podSets": [SERVER, CLIENT]}
    hosts = {"@server@": "part-1-server", "@second@": "part-0-client/1"}
    return {"name": name, "rendezvous": "none", "hosts": hosts, "groups": [group], **changes}


def files(result: support.Result) -> dict[str, dict[str, str]]:
    """ConfigMap -> its texts."""
    return {each["metadata"]["name"]: each["data"] for each in result.kinds("ConfigMap")}


def of(pods: list[support.Pod], **labels: str) -> list[support.Pod]:
    """The pods with these labels of ours."""
    wanted = {f"bayplan.dev/{key.replace('_', '-')}": value for key, value in labels.items()}
    return [pod for pod in pods if wanted.items() <= pod.labels.items()]


def services(result: support.Result) -> set[str]:
    """The headless Services, those that a JobSet brings included."""
    return {each["metadata"]["name"] for kind in ("Service", "JobSet") for each in result.kinds(kind)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rendezvous", ["none", "gang", "group"])
def test_texts_become_the_name_that_the_pod_has(kind: str, rendezvous: str) -> None:
    result = support.run(support.workflow(gang(workload=kind, rendezvous=rendezvous)))
    pods = list(support.pods(result.documents))
    (server,) = of(pods, pod_set="server", group="part-1")
    second = of(pods, pod_set="client", group="part-0")[1]
    assert {"@server@", "@second@"} & {server.host, second.host, ""} == set()
    for pod in of(pods, pod_set="client"):
        container = pod.spec["containers"][0]
        assert f"http://{server.host}:80/{server.host}" in container["command"]
        assert container["args"] == [f"--peer={second.host}"]
        assert (pod.env["SERVER"], pod.env["PLAIN"]) == (f"{server.host}:1", "server")
    name = next(iter(files(result)))
    assert files(result)[name] == {"opt.hosts": f"{server.host}\n{second.host}\n", "opt.none": "nobody"}
    assert not re.search("@server@|@second@", str(result.documents))
    assert server.host.split(".")[1] in services(result)


@pytest.mark.parametrize("kind", KINDS)
def test_every_copy_asks_its_own_server(kind: str) -> None:
    result = support.run(support.workflow(gang(workload=kind, replicas=3)))
    pods = list(support.pods(result.documents))
    seen = set()
    for copy in range(3):
        (server,) = of(pods, gang=f"train-{copy}", pod_set="server", group="part-1")
        assert {pod.env["SERVER"] for pod in of(pods, gang=f"train-{copy}", pod_set="client")} == {f"{server.host}:1"}
        assert files(result)[f"train-{copy}-part-client-files"]["opt.hosts"].startswith(f"{server.host}\n")
        seen.add(server.host)
    assert len(seen) == 3


def test_gangs_that_share_a_jobset_keep_apart() -> None:
    first, second = gang("first"), gang("second", dependsOn=["first"], hosts={"@server@": "part-0-server"})
    result = support.run(support.workflow(first, second))
    assert len(result.kinds("JobSet")) == 1
    pods = list(support.pods(result.documents))
    for name, group in (("first", "part-1"), ("second", "part-0")):
        (server,) = of(pods, gang=f"train-{name}", pod_set="server", group=group)
        assert {pod.env["SERVER"] for pod in of(pods, gang=f"train-{name}", pod_set="client")} == {f"{server.host}:1"}
    assert "@second@" in of(pods, gang="train-second", pod_set="client")[0].spec["containers"][0]["args"][0]


def test_a_gang_alone_has_the_names_it_has_then() -> None:
    first, second = gang("first"), gang("second", dependsOn=["first"])
    result = support.run(support.workflow(first, second), gangs=("second",))
    pods = list(support.pods(result.documents))
    (server,) = of(pods, pod_set="server", group="part-1")
    assert {pod.env["SERVER"] for pod in of(pods, pod_set="client")} == {f"{server.host}:1"}


@pytest.mark.parametrize("kind", ["job", "pods"])
def test_only_gangs_with_hosts_bring_a_service_without_rendezvous(kind: str) -> None:
    quiet = support.run(support.workflow(gang(workload=kind, hosts={})))
    assert quiet.kinds("Service") == []
    assert {pod.host for pod in support.pods(quiet.documents)} == {""}
    heard = support.run(support.workflow(gang(workload=kind)))
    (service,) = heard.kinds("Service")
    assert service["spec"]["selector"] == {"bayplan.dev/gang": "train"}
    assert all(pod.spec["subdomain"] == service["metadata"]["name"] for pod in support.pods(heard.documents))


def test_the_last_instance_of_a_cut_podset_can_be_named() -> None:
    worker = {**support.WORKER, "replicas": 10, "env": {"LAST": "@last@"}}
    slices = {"name": "slice", "size": 4, "podSets": [worker]}
    flow = support.workflow({"name": "main", "hosts": {"@last@": "slice-2-worker/1"}, "groups": [slices]})
    pods = list(support.pods(support.run(flow).documents))
    assert {pod.env["LAST"] for pod in pods} == {of(pods, group="slice-2")[1].host}


def test_templates_keep_their_texts() -> None:
    template = {"spec": {"containers": [{"name": "client", "env": [{"name": "A", "value": "@server@"}]}]}}
    group = {"name": "part", "replicas": 2, "podSets": [SERVER, {**CLIENT, "template": template}]}
    pods = list(support.pods(support.run(support.workflow(gang(groups=[group]))).documents))
    assert of(pods, pod_set="client")[0].env["A"] == "@server@"


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_complete_in_every_namespace(kind: str) -> None:
    result = support.run(support.workflow(gang(workload=kind)))
    documents = [{**each, "metadata": {**each["metadata"], "namespace": "other"}} for each in result.documents]
    pods = list(support.pods(documents))
    (server,) = of(pods, pod_set="server", group="part-1")
    assert server.host.endswith(".other.svc.cluster.local")
    assert {pod.env["SERVER"] for pod in of(pods, pod_set="client")} == {f"{server.host}:1"}


def test_the_cluster_has_another_domain() -> None:
    topology = {**support.TOPOLOGY, "spec": {**support.TOPOLOGY["spec"], "clusterDomain": "gpu.example.com"}}
    result = support.run(support.workflow(gang()), topology)
    assert files(result).popitem()[1]["opt.hosts"].startswith("train-part-1-server-0-0.train.ml.svc.gpu.example.com\n")


def test_a_user_may_set_the_variable_of_the_namespace() -> None:
    client = {**CLIENT, "env": {"POD_NAMESPACE": "mine", "SERVER": "@server@"}}
    result = support.run(support.workflow(gang(groups=[{"name": "part", "replicas": 2, "podSets": [SERVER, client]}])))
    pods = list(support.pods(result.documents))
    (server,) = of(pods, pod_set="server", group="part-1")
    assert {(pod.env["POD_NAMESPACE"], pod.env["SERVER"]) for pod in of(pods, pod_set="client")} == {
        ("mine", server.host)
    }


def test_files_that_grow_past_the_limit_are_refused() -> None:
    big = {**CLIENT, "files": {"/opt/hosts": "@" * (2**20 // 2) + "@server@" * (2**20 // 16)}}
    result = support.run(support.workflow(gang(groups=[{"name": "part", "replicas": 2, "podSets": [SERVER, big]}])))
    assert "P515" in result.codes
    assert "at most 1,048,576" in next(each.message for each in result.diagnostics if each.code == "P515")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(flow=random_workflows.workflows())
def test_random_gangs_find_their_first_pod(flow: dict[str, Any]) -> None:
    result = support.run(flow, random_workflows.TOPOLOGY)
    assume("W301" not in result.codes)
    assert result.compiled
    first: dict[str, str] = {}
    for pod in support.pods(result.documents):  # in rank order
        first.setdefault(pod.labels["bayplan.dev/gang"], pod.host)
    asking = {gang.name for gang in result.compiled.planned.plan.gangs if gang.gang.hosts}
    for pod in support.pods(result.documents):
        gang = pod.labels["bayplan.dev/gang"]
        text = pod.spec["containers"][0]["command"][-1]
        assert text == (first[gang] if gang in asking else "@first@")
        assert "." in text or gang not in asking


TEXTS = st.text("ab$.(", min_size=1, max_size=3)


@given(
    st.dictionaries(TEXTS, st.sampled_from(["x-0.y", "ab-0.y"]), min_size=1, max_size=4), st.text("ab$.(c", max_size=9)
)
@settings(max_examples=200, deadline=None)
def test_the_longest_text_at_each_place_is_replaced_once(names: dict[str, str], text: str) -> None:
    expected, at = "", 0
    while at < len(text):
        found = max((key for key in names if text.startswith(key, at)), key=len, default="")
        expected += names[found] if found else text[at]
        at += len(found) or 1
    assert replacing(names)(text) == expected


def test_a_value_names_an_instance_and_a_number() -> None:
    assert [pod_of(value) for value in ("a", "a-0-b", "a/0", "a-1/12")] == [
        ("a", 0),
        ("a-0-b", 0),
        ("a", 0),
        ("a-1", 12),
    ]


@pytest.mark.parametrize("total", range(1, 12))
@pytest.mark.parametrize("size", [None, 1, 3, 4])
def test_instances_are_found_as_planning_makes_them(total: int, size: int | None) -> None:
    inner = Group("b-0", size=size, pod_sets=(PodSet("w-1", replicas=total),))
    one = Gang("main", groups=(Group("a", replicas=2, groups=(inner,)),))
    sizes = cut(total, size) if size else [total]
    wanted = {f"a-{a}-b-0-{b}-w-1": pods for a in range(2) for b, pods in enumerate(sizes)}
    found = {f"a-{a}-b-0-{b}-w-1": None for a in range(3) for b in range(13)}
    for name in found:
        assert next(checks._replicas(one, name), None) == wanted.get(name)
    assert sorted(checks._names(one, "")) == sorted(wanted)


@pytest.mark.parametrize("value", ["a-00-w", "a--w", "a-w", "a-1-w-0", "w", "a-0", "a-99999999999-w", "a-²-w"])
def test_no_other_name_is_an_instance(value: str) -> None:
    one = Gang("main", hosts={"@": value}, groups=(Group("a", pod_sets=(PodSet("w", args=("@",), image="x"),)),))
    assert [each.code for each in checks.check_hosts(Workflow("w", gangs=(one,)))] == ["W305"]


def test_a_million_instances_cost_nothing() -> None:
    deep = Group("c", replicas=10**6, pod_sets=(PodSet("w", args=("@",)),))
    one = Gang(
        "main",
        hosts={"@": "a-1-b-7-c-999999-w"},
        groups=(Group("a", 10**6, groups=(Group("b", 10**6, groups=(deep,)),)),),
    )
    assert list(checks.check_hosts(Workflow("w", gangs=(one,)))) == []
