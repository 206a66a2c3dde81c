"""PodCliqueSets and graphs of Dynamo: the gangs that Grove makes of them, and placements in their own fields."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.augment import augment
from bayplan.augment.reading import plans
from bayplan.kube import grove
from bayplan.kube.objects import get
from bayplan.model.augment import AugmentRequest
from bayplan.model.manifest import Object
from bayplan.model.plan import GangPlan, all_pods, walk
from bayplan.text import document
from bayplan.text.document import Document
from support import TOPOLOGY as HALL
from tools.data import parse

TOPOLOGY = document.Document("topology.yaml", "", 0, HALL)
POD = "{schedulerName: kai-scheduler, containers: [{name: main, image: i, resources: {limits: {nvidia.com/gpu: 4}}}]}"
SET = f"""
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {{name: serve, namespace: ml, labels: {{kai.scheduler/queue: research}}}}
spec:
  replicas: 2
  template:
    topologyConstraint: {{topologyName: any, pack: {{required: outer}}}}
    podCliqueScalingGroups:
    - name: prefill
      cliqueNames: [leader, worker]
      replicas: 3
      minAvailable: 2
      topologyConstraint: {{pack: {{required: inner, preferred: inner}}}}
    - {{name: plain, cliqueNames: [other], replicas: 2}}
    cliques:
    - {{name: front, spec: {{roleName: front, replicas: 3, minAvailable: 1, podSpec: {POD}}}}}
    - {{name: leader, spec: {{roleName: leader, replicas: 1, podSpec: {POD}}}}}
    - name: worker
      topologyConstraint: {{pack: {{required: host}}}}
      spec: {{roleName: worker, replicas: 1, podSpec: {POD}}}
    - {{name: other, spec: {{roleName: other, replicas: 1, podSpec: {POD}}}}}
"""
BINDING = """
apiVersion: grove.io/v1alpha1
kind: ClusterTopologyBinding
metadata: {name: any}
spec:
  levels:
  - {domain: outer, key: LABEL0}
  - {domain: inner, key: LABEL1}
  - {domain: host, key: kubernetes.io/hostname}
"""
LABELS = [level["label"] for level in HALL["spec"]["pools"][0]["levels"]][-2:]
NAMES = [level["name"] for level in HALL["spec"]["pools"][0]["levels"]][-2:]


def objects(*texts: str) -> tuple[Object, ...]:
    """The objects of some texts."""
    every = (parse(text.replace("LABEL0", LABELS[0]).replace("LABEL1", LABELS[1])) for text in texts)
    return tuple(Object((f"manifest:{number}",), each) for number, each in enumerate(every))


def read(*texts: str) -> dict[str, GangPlan]:
    """Name -> gang, of the plans of some manifests."""
    outcome, _ = plans(AugmentRequest(objects(*texts), TOPOLOGY, target={"kai": "0.17"}))
    assert outcome.value is not None, outcome.diagnostics
    assert [each.diagnostics for each in outcome.value if each.planned is None] == []
    return {gang.name: gang for each in outcome.value if each.planned for gang in each.planned.plan.gangs}


def test_a_set_makes_a_gang_for_each_copy_and_for_each_replica_beyond_the_minimum() -> None:
    """Grove's buildExpectedBasePodGangForPCSReplica and buildExpectedScaledPodGangsForPCSG (syncflow.go)."""
    gangs = read(SET, BINDING)
    scaled = {f"serve-{copy}-{rest}" for copy in (0, 1) for rest in ("prefill-0", "plain-0")}
    assert gangs.keys() == {"serve-0", "serve-1", *scaled}
    base = gangs["serve-0"]
    assert base.root.required == NAMES[0]
    assert sum(pods.replicas for pods in all_pods(base.root)) == 3 + 2 * 2 + 1
    assert sum(pods.minimum for pods in all_pods(base.root)) == 1 + 2 * 2 + 1
    levels = {unit.name: unit.required for unit in walk(base.root) if unit.required}
    assert levels[""] == NAMES[0]
    assert {unit: level for unit, level in levels.items() if level == NAMES[1]}.keys() == {"prefill-0", "prefill-1"}
    assert sum(level == "host" for level in levels.values()) == 2
    assert gangs["serve-0-prefill-0"].root.required == NAMES[1]
    assert gangs["serve-0-plain-0"].root.required == NAMES[0]


def test_without_a_binding_levels_have_their_names_in_the_topology() -> None:
    text = SET.replace("outer", NAMES[0]).replace("inner", NAMES[1])
    assert read(text)["serve-1"].root.required == NAMES[0]


def test_a_graph_has_the_cliques_of_its_services() -> None:
    """Dynamo's expandRolesForComponent: `ldr` and `wkr`, and one replica in the first gang."""
    gangs = read(GRAPH.replace("ASKED", ""))
    assert gangs.keys() == {"chat", "chat-decode-0"}
    assert {pods.spec.name: pods.replicas for pods in all_pods(gangs["chat"].root)} == {
        "front": 1,
        "decode-ldr": 1,
        "decode-wkr": 3,
    }


GRAPH = """
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: chat, namespace: ml, annotations: {ASKED}}
spec:
  services:
    Front: {componentType: frontend, extraPodSpec: {mainContainer: {image: i}}}
    Decode:
      componentType: worker
      replicas: 2
      multinode: {nodeCount: 4}
      resources: {limits: {gpu: '4'}}
      extraPodSpec: {mainContainer: {image: i}}
"""
BETA = """
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: chat, namespace: ml, annotations: {ASKED}}
spec:
  components:
  - name: Decode
    type: worker
    replicas: 1
    multinode: {nodeCount: 4}
    podTemplate: {spec: {containers: [{name: main, image: i, resources: {limits: {nvidia.com/gpu: 4}}}]}}
"""
WHOLE = f"bayplan.dev/placement: required={NAMES[1]}, bayplan.dev/queue: research"


def placed(text: str, topology: Document = TOPOLOGY) -> tuple[Any, list[Any]]:
    """The object with its placement, and the new objects. A second run changes nothing."""
    (one,) = objects(text)
    outcome, _ = augment(AugmentRequest((one,), topology, target={"kai": "0.17"}))
    assert outcome.value is not None, outcome.diagnostics
    (changed,) = (each.data for each in outcome.value.changes)
    added = [each.data for each in outcome.value.added]
    every = tuple(Object((f"manifest:{number}",), each) for number, each in enumerate((changed, *added)))
    again, _ = augment(AugmentRequest(every, topology, target={"kai": "0.17"}))
    assert again.value is not None, again.diagnostics
    assert again.value.changes == ()
    return changed, added


BARE = f"""
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {{name: serve, namespace: ml, annotations: {{{WHOLE}}}}}
spec:
  replicas: 1
  template:
    cliques:
    - {{name: decode, spec: {{roleName: decode, replicas: 2, minAvailable: 2, podSpec: {POD}}}}}
"""


def test_a_set_gets_its_placement_in_its_own_fields() -> None:
    data, added = placed(BARE)
    pack = {"required": NAMES[1], "preferred": NAMES[1]}
    assert get(data, "spec", "template", "topologyConstraint", "pack") == pack
    assert get(data, "metadata", "labels", "kai.scheduler/queue") == "research"
    spec = get(data, "spec", "template", "cliques", 0, "spec", "podSpec")
    assert spec["schedulerName"] == "kai-scheduler"
    assert [each["kind"] for each in added] == ["ComputeDomain"]
    assert [each["resourceClaimTemplateName"] for each in spec["resourceClaims"]] == [added[0]["metadata"]["name"]]


def test_a_set_takes_the_compute_domains_that_grove_makes() -> None:
    spec = {**HALL["spec"], "schedulers": {"kai": {"groveComputeDomains": True}}}
    topology = document.Document("topology.yaml", "", 0, {**HALL, "spec": spec})
    data, added = placed(BARE, topology)
    clique = get(data, "spec", "template", "cliques", 0)
    assert added == []
    assert clique["annotations"][grove.MNNVL] == "all"
    assert "resourceClaims" not in clique["spec"]["podSpec"]


@pytest.mark.parametrize(
    ("text", "path", "key"),
    [
        (GRAPH, ("services", "Decode", "extraPodSpec"), "topologyProfile"),
        (BETA, ("components", 0, "podTemplate", "spec"), "clusterTopologyName"),
    ],
)
def test_a_graph_gets_what_dynamo_passes_on(text: str, path: tuple[str | int, ...], key: str) -> None:
    level = NAMES[0] if text is GRAPH else NAMES[1]  # CPU pods have no racks
    asked = f"bayplan.dev/placement: required={level}, bayplan.dev/queue: research, bayplan.dev/compute-domain: never"
    data, added = placed(text.replace("replicas: 2", "replicas: 1").replace("ASKED", asked))
    constraint = get(data, "spec", "topologyConstraint")
    assert constraint["packDomain"] == level
    assert constraint[key]
    assert get(data, "metadata", "annotations", grove.DYNAMO_QUEUE) == "research"
    assert added == []
    pool = HALL["spec"]["pools"][0]["node"].get("nodeSelector", {})
    assert get(data, "spec", *path, "nodeSelector") in (pool, None)


def test_the_channel_of_grove_counts_in_the_plan() -> None:
    text = SET.replace("name: front,", "name: front, annotations: {grove.io/mnnvl-group: none},").replace(
        "labels: {kai", "annotations: {grove.io/mnnvl-group: one}, labels: {kai"
    )
    gangs = read(text, BINDING)
    assert {each.name for gang in gangs.values() for each in gang.compute_domains} == {"serve-0-one", "serve-1-one"}
    assert {pods.spec.name for pods in all_pods(gangs["serve-0"].root) if not pods.compute_domain} == {"front"}
