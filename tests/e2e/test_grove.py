"""What Grove's own code makes of PodCliqueSets, whether its webhooks take them, and where KAI then starts the pods."""

from __future__ import annotations

import re
from typing import Any

import pytest

import support
from bayplan.kube import grove
from bayplan.model.manifest import Object as Manifest
from e2e import random_cases
from e2e.cases import read_example
from e2e.compare import Verdict
from e2e.grove import GROVE_ON_KAI, case
from e2e.releases import require as require_release
from e2e.run import judge
from e2e.scene import RefusedError
from e2e.scheduler import Case, Documents, Object, Release, edited, removed
from e2e.workloads import GROVE, PODGROUPER, Made, grouped, made, require, resumed
from test_grove import BARE, LABELS, SET, placed
from tools.data import parse
from tools.effort import sample

RELEASE = Release(GROVE_ON_KAI, "0.17.0")
VARIABLE = re.compile(r"(?<!\$)\$\(([A-Z_]+)\)")


@pytest.fixture(autouse=True)
def _built() -> None:
    require(GROVE.program, PODGROUPER)
    require_release(RELEASE)


def example(copies: int) -> Case:
    """The gang of the example that Grove makes."""
    found = read_example("disaggregated")
    gangs = [{**each, "replicas": copies} for each in found.workflow["spec"]["gangs"] if each["name"] == "serve"]
    return found._replace(workflow={**found.workflow, "spec": {**found.workflow["spec"], "gangs": gangs}})


@pytest.mark.parametrize(("copies", "outcome"), [(1, "placed"), (3, "placed"), (4, "refused")])
def test_kai_starts_the_copies_of_the_example_that_fit(copies: int, outcome: str) -> None:
    assert [each.outcome for each in judge(example(copies), RELEASE)] == [outcome]


SEEDS = sample(random_cases.seeds(0, 180), 24)


@pytest.mark.parametrize("seed", SEEDS)
def test_grove_and_kai_agree_with_the_proof(seed: int) -> None:
    verdicts = judged(case(seed))
    assert all(verdict.agrees for verdict in verdicts), verdicts


def judged(each: Case) -> list[Verdict]:
    try:
        return judge(each, RELEASE)
    except RefusedError:  # no PodCliqueSet expresses it
        return []


def test_a_replica_beyond_the_minimum_may_leave_the_level_around_its_group() -> None:
    """As F631 says (Grove#648)."""
    (verdict,) = judged(case(100026))
    assert verdict.outcome == "may fail"
    assert "several domains of rack" in verdict.why[0]


@pytest.mark.parametrize(("seed", "outcome"), [(3, "found"), (7, "broken")])
def test_lost_constraints_are_noticed(seed: int, outcome: str) -> None:
    def spoil(documents: Documents) -> Documents:
        return edited(documents, "PodCliqueSet ** topologyConstraint", removed)

    assert [each.outcome for each in judge(case(seed), RELEASE, spoil=spoil)] == [outcome]


# What is rendered, in the pods.


def rendered(*pod_sets: Object, **gang: Any) -> Object:
    """The PodCliqueSet of a service."""
    common = {"image": "registry.example.com/x:1", "command": ["run"], "resources": {"cpu": "1"}}
    groups = [{**each, "podSets": [{**common, **pods} for pods in each["podSets"]]} for each in gang.pop("groups", ())]
    own = {"podSets": [{**common, **each} for each in pod_sets]} if pod_sets else {"groups": groups}
    whole = {"name": "serve", "workload": "podcliqueset", "lifecycle": "service", "rendezvous": "none", **gang, **own}
    (found,) = support.run(support.workflow(whole, priorityClassName="inference")).kinds("PodCliqueSet")
    return dict(found)


def taken(*documents: Object) -> Made:
    found = made(documents, GROVE)
    assert found.refused == []
    return found


def test_each_clique_gets_its_own_pods() -> None:
    """Grove takes the first clique whose name is the end of a PodClique's name."""
    names = ("worker", "decode-worker", "er")
    found = taken(rendered(*({"name": name, "image": f"registry.example.com/{name}:1"} for name in names)))
    images = {name: pod["spec"]["containers"][0]["image"] for name, pod in found.named("Pod").items()}
    assert images == {f"train-0-{name}-0": f"registry.example.com/{name}:1" for name in names}
    wrong = rendered(*({"name": name} for name in names))
    wrong["spec"]["template"]["cliques"].reverse()
    containers = [each["spec"]["containers"][0]["name"] for each in taken(wrong).pods]
    assert containers == ["er", "er", "er"]


def test_values_refer_to_variables_before_them() -> None:
    """The kubelet leaves other references as they are; Grove adds its own variables after those of the template."""
    pods = {"name": "worker", "replicas": 2}
    for copies in (1, 2):
        for how in ({"podSets": [pods]}, {"groups": [{"name": "part", "replicas": 2, "podSets": [pods]}]}):
            whole = rendered(*how.get("podSets", ()), **{"rendezvous": "group", "replicas": copies, **how})
            for pod in taken(whole).pods:
                known: set[str] = set()
                for entry in pod["spec"]["containers"][0]["env"]:
                    assert set(VARIABLE.findall(entry.get("value", ""))) <= known
                    known.add(entry["name"])
                words = " ".join(pod["spec"]["containers"][0]["command"])
                assert set(VARIABLE.findall(words)) <= known


def test_the_pod_groups_have_the_queue_and_the_priority() -> None:
    found = taken(rendered({"name": "worker", "replicas": 2, "minReplicas": 1}))
    (gang,) = found.named("PodGang").values()
    assert gang["spec"]["priorityClassName"] == "inference"
    (group,) = grouped(found).groups
    assert (group["spec"]["priorityClassName"], group["spec"]["queue"]) == ("inference", "research")
    assert group["spec"]["minMember"] == 1


def test_pods_wait_for_the_cliques_before_them() -> None:
    """Those of a replica beyond the minimum for cliques of their own replica alone."""
    leader = {"name": "leader"}
    workers = {"name": "worker", "replicas": 2, "minReplicas": 1, "startsAfter": ["leader"]}
    router = {"name": "router", "startsAfter": ["worker", "leader"]}
    groups = [
        {"name": "part", "replicas": 3, "minReplicas": 2, "podSets": [workers, leader]},
        {"name": "front", "podSets": [router]},
    ]
    whole = rendered(groups=groups)
    assert whole["spec"]["template"]["cliqueStartupType"] == "CliqueStartupTypeExplicit"
    waits = {
        name: sorted(word.removeprefix("--podcliques=train-0-") for word in each["args"])
        for name, pod in taken(whole).named("Pod").items()
        for each in pod["spec"].get("initContainers", ())
    }
    first = [f"part-{number}-leader:1" for number in range(2)]
    assert waits["train-0-part-0-worker-1"] == first
    assert waits["train-0-part-2-worker-0"] == ["part-2-leader:1"]
    assert waits["train-0-router-0"] == sorted([*first, *(f"part-{number}-worker:1" for number in range(2))])
    assert not any("leader" in name for name in waits)


def test_pods_beyond_the_minimum_wait_until_the_others_have_nodes() -> None:
    groups = [{"name": "part", "replicas": 2, "minReplicas": 1, "podSets": [{"name": "worker", "replicas": 2}]}]
    found = taken(rendered(groups=groups))

    def gated(made_of: Made) -> list[str]:
        return [name for name, pod in made_of.named("Pod").items() if pod["spec"].get("schedulingGates")]

    assert gated(found) == [f"train-0-part-1-worker-{number}" for number in range(2)]
    status = {"conditions": [{"type": "PodScheduled", "status": "True"}]}
    pods = [each if each["metadata"]["name"] in gated(found) else {**each, "status": status} for each in found.pods]
    assert gated(resumed([*found.objects, *pods], GROVE)) == []


# The gangs that bayplan reads.


def binding(name: str) -> Object:
    levels = zip(("spine", "rack", "host"), (*LABELS, "kubernetes.io/hostname"), strict=True)
    spec = {"levels": [{"domain": domain, "key": key} for domain, key in levels]}
    metadata = {"name": name}
    return {"apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopologyBinding", "metadata": metadata, "spec": spec}


def test_groves_own_code_makes_the_gangs_that_bayplan_reads() -> None:
    text = SET.replace("outer", "spine").replace("inner", "rack").replace("minAvailable: 1, podSpec", "podSpec")
    for whole in (parse(text), rendered({"name": "worker", "replicas": 2})):
        one = Manifest(("manifest:0",), whole)
        several = whole["spec"]["replicas"] > 1
        name = whole["metadata"]["name"]
        ours: dict[str, list[int | None]] = {}
        for each in grove.pod_cliques(one, grove.layout(whole)):
            gang = each.gang if several else f"{name}-0{each.gang[len(name) :]}"
            ours.setdefault(gang, []).append(each.clique.least)
        theirs = {
            called: [each["minReplicas"] for each in gang["spec"]["podgroups"]]
            for called, gang in taken(binding("any"), whole).named("PodGang").items()
        }
        assert {gang: sorted(map(int, sizes)) for gang, sizes in ours.items()} == {
            gang: sorted(sizes) for gang, sizes in theirs.items()
        }


def test_groves_own_webhook_takes_what_is_placed() -> None:
    data, _ = placed(BARE)
    assert taken(binding("hall"), data).pods
