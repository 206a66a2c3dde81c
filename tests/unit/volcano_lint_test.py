"""Lint of Volcano's objects: each rule on one broken manifest, and nothing on sound ones."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import support
from bayplan import backends
from bayplan.linting.objects import lint_context
from bayplan.model.manifest import Object
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.text.patterns import MOST_STEPS
from bayplan.topologies import hypernodes, native
from bayplan.topologies.hypernodes import Member, faults, read_hyper_node
from tools import golden
from tools.data import parse_all

COVERS = {"M707", "M719", "M720", "M722", "M731", "M708", "M706"}


def topology(**spec: Any) -> ClusterTopology:
    """Two spines of four racks of 18 nodes."""
    read = native.read({**support.TOPOLOGY, "spec": {**support.TOPOLOGY["spec"], **spec}}).value
    assert read is not None
    return read.value


HALL = topology()


def objects(text: str) -> list[Object]:
    """What `bayplan lint` makes of a file."""
    return [Object((f"manifest:{i}",), each) for i, each in enumerate(parse_all(text))]


def codes(text: str, hall: ClusterTopology = HALL) -> list[str]:
    context = lint_context(objects(text), hall, Target({"volcano": "1.15.1"}))
    return [each.code for each in backends.lint("volcano", context)]


def hyper_node(name: str, tier: int, *members: str, tier_name: str = "") -> str:
    """Members that are called n... are nodes, and `regex`, `label` and `both` are selectors of that kind."""
    selectors = {
        "regex": "{type: Node, selector: {regexMatch: {pattern: '^n00-'}}}",
        "nothing": "{type: Node, selector: {regexMatch: {pattern: '^x'}}}",
        "behind": "{type: Node, selector: {regexMatch: {pattern: '(?<=n)0'}}}",
        "broken": "{type: Node, selector: {regexMatch: {pattern: '(['}}}",
        "label": "{type: Node, selector: {labelMatch: {matchLabels: {nvidia.com/gpu.clique: r00}}}}",
        "unlabelled": "{type: Node, selector: {labelMatch: {matchExpressions: [{key: x, operator: Exists}]}}}",
        "hyper-regex": "{type: HyperNode, selector: {regexMatch: {pattern: r}}}",
        "both": "{type: Node, selector: {exactMatch: {name: n00-01}, regexMatch: {pattern: n}}}",
        "neither": "{type: Node}",
    }
    kinds = {True: "Node", False: "HyperNode"}
    listed = [
        selectors.get(m) or f"{{type: {kinds[m.startswith('n')]}, selector: {{exactMatch: {{name: {m}}}}}}}"
        for m in members
    ]
    named = f", tierName: {tier_name}" if tier_name else ""
    return (
        f"apiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\nmetadata: {{name: {name}}}\n"
        f"spec: {{tier: {tier}{named}, members: [{', '.join(listed)}]}}\n"
    )


def joined(*documents: str) -> str:
    return "---\n".join(documents)


R0, R1 = hyper_node("r0", 1, "n00-01", "n00-02"), hyper_node("r1", 1, "n01-01")
SPINE = hyper_node("s0", 2, "r0", "r1")

TREES = {
    "a sound tree": ((SPINE, R0, R1), []),
    "by pattern and label": ((hyper_node("r0", 1, "regex"), hyper_node("r1", 1, "label")), []),
    "a cycle of two": ((hyper_node("a", 1, "b"), hyper_node("b", 2, "a")), ["M720", "M720"]),
    "one that holds itself": ((hyper_node("a", 1, "a"),), ["M720"]),
    "two parents": ((SPINE, hyper_node("s1", 2, "r1"), R0, R1), ["M720"]),
    "a child that is missing": ((SPINE, R0), ["M722"]),
    "a parent of the same tier": ((hyper_node("s0", 1, "r0", "r1"), R0, R1), ["M720", "M720"]),
    "a node in two leaves": ((SPINE, R0, hyper_node("r1", 1, "n00-01")), ["M720"]),
    "a pattern without a node": ((hyper_node("r0", 1, "nothing"),), ["M722"]),
    "a pattern that looks behind": ((hyper_node("r0", 1, "behind"),), ["M722"]),
    "a pattern that is none": ((hyper_node("r0", 1, "broken"),), ["M722"]),
    "a label without a node": ((hyper_node("r0", 1, "unlabelled"),), ["M722"]),
    "HyperNodes by pattern": ((hyper_node("s0", 2, "hyper-regex"), R0), ["M722"]),
    "one name for two tiers": (
        (hyper_node("s0", 2, "r0", tier_name="rack"), hyper_node("r0", 1, "n00-01", tier_name="rack")),
        ["M720"],
    ),
    "nodes beside HyperNodes": ((hyper_node("s0", 2, "r0", "n01-01"), R0), ["M720"]),
    "branches of different depth": (
        (hyper_node("z", 3, "s0", "s1"), hyper_node("s0", 2, "r0"), hyper_node("s1", 2, "n03-01"), R0),
        ["M720"],
    ),
    "no members": ((hyper_node("r0", 1),), ["M722"]),
    "two selectors": ((hyper_node("r0", 1, "both"),), ["M722"]),
    "no selector": ((hyper_node("r0", 1, "neither"),), ["M722"]),
    "a node that the topology lacks": ((hyper_node("r0", 1, "n99-99"),), ["M722"]),
}


@pytest.mark.parametrize("name", TREES)
def test_trees(name: str) -> None:
    documents, expected = TREES[name]
    assert codes(joined(*documents)) == expected


JOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train, namespace: ml}
spec:
  queue: research
  minAvailable: 8
  networkTopology: {mode: hard, highestTierAllowed: 2}
  tasks:
  - name: worker
    replicas: 8
    minAvailable: 8
    partitionPolicy:
      totalPartitions: 2
      partitionSize: 4
      minPartitions: 2
      networkTopology: {mode: hard, highestTierAllowed: 1}
    template: {spec: {containers: [{name: worker, image: "x:1"}]}}
"""
GANG = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: train, namespace: ml}
spec:
  queue: research
  minMember: 8
  networkTopology: {mode: hard, highestTierAllowed: 2}
  subGroupPolicy:
  - name: groups
    subGroupSize: 4
    minSubGroups: 2
    labelSelector: {matchLabels: {app: train}}
    matchLabelKeys: [group]
    networkTopology: {mode: hard, highestTierAllowed: 1}
---
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train, namespace: ml}
spec:
  replicatedJobs:
  - name: group
    replicas: 2
    template:
      spec:
        parallelism: 4
        template:
          metadata:
            labels: {app: train, group: a}
            annotations: {scheduling.k8s.io/group-name: train}
          spec:
            schedulerName: volcano
            containers: [{name: worker, image: "x:1"}]
"""
INNER = "minPartitions: 2\n      networkTopology: {mode: hard, highestTierAllowed: 1}"


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", "((a*)b*)*c", "a*a*a*a*a*b", "(n|m)00-.*"])
def test_patterns_that_could_take_for_ever_are_not_tried(pattern: str) -> None:
    """The last one is harmless, and finds its nodes."""
    node = hyper_node("r0", 1, "nothing").replace("^x", pattern)
    hall = topology()
    pool = hall.pools[0]
    long = pool.domains[0]._replace(nodes=("a" * 60, *pool.domains[0].nodes))
    found = codes(node, hall._replace(pools=(pool._replace(domains=(long, *pool.domains[1:])),)))
    assert found == []


EDITS = {
    "a sound Volcano Job": (JOB, "", "", []),
    "partitions that do not add up": (JOB, "totalPartitions: 2", "totalPartitions: 3", ["M708"]),
    "a minimum that is no multiple": (JOB, "minPartitions: 2", "minPartitions: 1", ["M708"]),
    "more than there are": (JOB, "    minAvailable: 8", "    minAvailable: 9", ["M708", "M708"]),
    "replica for replicas": (JOB, "replicas: 8", "replica: 8", ["M708"]),
    "no partition must be whole": (JOB, "      minPartitions: 2\n", "", ["M708"]),
    "a gang smaller than its tasks": (JOB, "\n  minAvailable: 8", "\n  minAvailable: 4", ["M708"]),
    "a partition wider than the gang": (JOB, "highestTierAllowed: 2", "highestTierAllowed: 1", []),
    "hard, and no tier": (JOB, "mode: hard, highestTierAllowed: 2", "mode: hard", ["M731"]),
    "soft needs none": (JOB, "mode: hard, highestTierAllowed: 2", "mode: soft", []),
    "a tier's name that no HyperNode has": (JOB, "highestTierAllowed: 2", "highestTierName: row", ["M731"]),
    "a tier's name that they have": (JOB, "highestTierAllowed: 2", "highestTierName: example.com/spine", []),
    "a tier above them all": (JOB, "highestTierAllowed: 2", "highestTierAllowed: 7", ["M731"]),
    "a tier below them all": (JOB, "highestTierAllowed: 1", "highestTierAllowed: 0", ["M731"]),
    "number and name": (JOB, "Allowed: 2", "Allowed: 2, highestTierName: example.com/spine", ["M731"]),
    "the root queue": (JOB, "queue: research", "queue: root", ["M719"]),
    "a sound PodGroup": (GANG, "", "", []),
    "a policy without keys": (GANG, "    matchLabelKeys: [group]\n", "", ["M731"]),
    "pods without the key": (GANG, "group: a}", "grup: a}", ["M731"]),
    "keys that a controller adds": (GANG, "[group]", "[jobset.sigs.k8s.io/job-index]", []),
    "a PodGroup that is not there": (GANG, "group-name: train", "group-name: trian", ["M707"]),
    "a PodGroup of another namespace": (GANG, "train, namespace: ml}\nspec:\n  rep", "train}\nspec:\n  rep", ["M707"]),
    "more subgroups than there can be": (GANG, "minSubGroups: 2", "minSubGroups: 3", ["M708"]),
    "no subgroup must be whole": (GANG, "    minSubGroups: 2\n", "", ["M708"]),
    "a selector that takes nobody": (GANG, "matchLabels: {app: train}", "matchLabels: {app: other}", ["M731"]),
    "a subgroup wider than the gang": (GANG, "highestTierAllowed: 2", "highestTierAllowed: 1", []),
    "pods of another scheduler": (GANG, "            schedulerName: volcano\n", "", ["M706"]),
}


@pytest.mark.parametrize("name", EDITS)
def test_gangs(name: str) -> None:
    text, old, new, expected = EDITS[name]
    assert old in text
    assert codes(text.replace(old, new, 1)) == expected


@pytest.mark.parametrize("text", [JOB, GANG])
def test_an_inner_tier_above_the_outer_one(text: str) -> None:
    swapped = text.replace("Allowed: 2", "Allowed: 0").replace("Allowed: 1", "Allowed: 2").replace("d: 0", "d: 1")
    assert codes(swapped) == ["M731"]


def test_a_queue_that_the_topology_does_not_have() -> None:
    assert codes(JOB, topology(queues=["other"])) == ["M719"]


def test_policies_of_one_name_are_counted_together() -> None:
    policy = GANG[GANG.index("  - name: groups") : GANG.index("---")]
    assert codes(GANG.replace(policy, policy + policy)) == ["M731", "M731"]


def test_pods_beside_a_volcano_job_are_its_controllers_to_mark() -> None:
    assert codes(joined(JOB, hyper_node("r0", 1, "n00-01"), hyper_node("s0", 2, "r0"))) == []


@pytest.mark.parametrize("case", golden.distinct("volcano"), ids=str)
def test_nothing_is_wrong_with_what_bayplan_writes(case: golden.Case) -> None:
    text = (golden.EXAMPLES / case.example / "topology.yaml").read_text("utf-8")
    read = native.read(yaml.load(text, yaml.CSafeLoader)).value
    assert read is not None
    text = case.path.read_text("utf-8")
    assert codes(text, read.value._replace(queues=None)) == []


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), text=st.sampled_from([JOB, GANG, joined(SPINE, R0, R1)]))
def test_whatever_stands_anywhere_is_no_crash(data: st.DataObject, text: str) -> None:
    documents = list(parse_all(text))
    places = [place for document in documents for place in _places(document)]
    holder, key = data.draw(st.sampled_from(places))
    holder[key] = data.draw(junk)
    objects = [Object((f"manifest:{i}",), each) for i, each in enumerate(documents)]
    list(backends.lint("volcano", lint_context(objects, HALL, Target())))


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a document: what holds it, and under which key."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, inner in pairs for found in ((value, key), *_places(inner))]


def test_many_ways_to_a_hyper_node_are_not_walked_one_by_one() -> None:
    """27 layers of two, each a member of both above: 2^27 ways from the top."""
    layers = [[f"l{depth}-{side}" for side in "ab"] for depth in range(27)]
    members = [
        [{"type": "HyperNode", "selector": {"exactMatch": {"name": name}}} for name in layer] for layer in layers
    ]
    members.append([{"type": "Node", "selector": {"exactMatch": {"name": "n1"}}}])
    objects = [
        {
            "apiVersion": "topology.volcano.sh/v1alpha1",
            "kind": "HyperNode",
            "metadata": {"name": name},
            "spec": {"tier": 27 - depth, "members": members[depth + 1]},
        }
        for depth, layer in enumerate(layers)
        for name in layer
    ]
    found = [read_hyper_node(Object(("manifest:0",), each)) for each in objects]
    assert {each.code for each in faults(found, None)} >= {"M720"}


@pytest.mark.parametrize("pattern", ["^" + "a?" * 40 + "a" * 40 + "$", "a*a*a*a*b", "a|" * 100_000, "(a+)+$"])
def test_such_patterns_need_too_many_steps(pattern: str) -> None:
    assert hypernodes.needed_steps(pattern, ["a" * 60]) > MOST_STEPS


def test_other_digits_than_those_of_ascii_match_no_digit() -> None:
    """As in Go. With Python's own classes, this pattern would take forever."""
    member = Member("Node", "", {"regexMatch": {"pattern": r"(?:\d|[^0-9])*x"}}, ())
    assert hypernodes.matches(member, {"\u0663" * 200: {}, "n3x": {}}) == ["n3x"]
