"""The properties of tests/fuzz/semantic.py, for a few random cases of every scheduler; and each fault that the fuzzer
has found, by a small workflow."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import support
from bayplan import pipeline
from bayplan.backends import NAMES
from bayplan.text.document import Document
from fuzz import semantic
from fuzz.semantic_cases import accepted, draw, drawn, every
from fuzz.semantic_inputs import FORMATS, complaint
from judges import UPSTREAM
from tools.effort import LONG, examples, thorough

needs_upstream = pytest.mark.skipif(not (UPSTREAM / "crds").is_dir(), reason=f"no upstream CRDs at {UPSTREAM}/crds")
FEW, MANY = 8, 100
SEEDS = 10 if LONG else 2
"""Values of PYTHONHASHSEED: each is a process."""


@needs_upstream
@pytest.mark.parametrize("scheduler", NAMES)
def test_every_property_holds(scheduler: str) -> None:
    """At least 40 % of the cases are rendered, and nothing is wrong with their manifests."""
    score = semantic.Score()
    for seed in range(examples(FEW, MANY)):
        score.add(draw(seed, scheduler))
    assert [(case.seed, name, complaint) for case, name, complaint in score.faults] == []
    assert len(score.rendered) >= 0.4 * examples(FEW, MANY)


@thorough
def test_no_process_renders_other_bytes() -> None:
    """Under other seeds of Python's hashes, locales, time zones and folders."""
    cases = [accepted(draw(seed, name)).case for name in NAMES for seed in range(examples(3, 40))]
    assert semantic.everywhere(cases, range(SEEDS)) == []


@pytest.mark.skipif(not LONG, reason="draws thousands of cases")
@pytest.mark.parametrize("name", ["workflow", "cluster-topology"])
def test_every_field_is_drawn(name: str) -> None:
    """Every field of the schema, and every word of those that have a fixed set of them."""
    cases = (draw(seed, scheduler) for scheduler in NAMES for seed in range(600))
    found = set().union(*(drawn(name, case.workflow if name == "workflow" else case.topology) for case in cases))
    assert every(name) - found == NEVER_DRAWN


NEVER_DRAWN: set[str] = set()
"""None: what a scheduler does not support is drawn too, and then removed."""


@needs_upstream
def test_a_wrong_manifest_is_noticed() -> None:
    """The judges themselves: a change of each kind has a complaint."""
    rendered = next(each for each in _cases("kai") if each.result.kinds("PodGroup") and each.result.kinds("JobSet"))
    documents = rendered.result.documents
    changed = copy.deepcopy(documents)
    job = next(each for each in changed if each["kind"] == "JobSet")["spec"]["replicatedJobs"][0]
    job["template"]["spec"]["template"]["spec"]["priorityClassName"] = "nobody"
    twice = [*documents, documents[-1]]
    fewer = copy.deepcopy(documents)
    next(each for each in fewer if each["kind"] == "JobSet")["spec"]["replicatedJobs"].pop()
    for name, wrong in (("references", changed), ("names", twice), ("subgroups", fewer), ("judges", twice)):
        broken = rendered._replace(result=rendered.result._replace(documents=wrong))
        assert list(semantic.PROPERTIES[name](rendered)) == []
        assert list(semantic.PROPERTIES[name](broken)) != [], name


def _cases(scheduler: str) -> Iterator[semantic.Rendered]:
    for seed in range(1000):
        rendered = accepted(draw(seed, scheduler))
        if rendered.result.compiled and not semantic.lossy(rendered):
            yield rendered


# --- faults that the fuzzer has found ---------------------------------------------------------------------------------

WORKER = {**support.WORKER, "replicas": 2, "resources": {"cpu": "1", "memory": "1Gi"}}


def topology(**spec: Any) -> dict[str, Any]:
    """The hall with other facts."""
    made: dict[str, Any] = copy.deepcopy(support.TOPOLOGY)
    made["spec"].update(spec)
    return made


def test_half_of_a_pair_is_no_group_for_kueue() -> None:
    """Kueue's webhook refuses a Job whose podSet is in a group: each Job is a Workload of one podSet."""
    pair = [{**WORKER, "name": "a", "replicas": 1}, WORKER]
    gang = {"name": "train", "workload": "job", "placement": {"required": "rack"}, "podSets": pair, **NO_DOMAIN}
    result = support.run(support.workflow(gang), scheduler="kueue", accept=frozenset({"F616"}))
    assert len(result.kinds("Job")) == 2
    for job in result.kinds("Job"):
        asked = job["spec"]["template"]["metadata"]["annotations"]
        assert asked.get("kueue.x-k8s.io/podset-required-topology") == "nvidia.com/gpu.clique"
        assert "kueue.x-k8s.io/podset-group-name" not in asked


NO_DOMAIN = {"computeDomain": "never"}


@pytest.mark.parametrize("version", ["1.32", "1.34"])
def test_there_is_no_workload_api_before_1_35(version: str) -> None:
    """Who accepts pods that start one by one gets pods without a Workload, which no API server would take."""
    gang = {"name": "train", "podSets": [WORKER]}
    target = {"kubernetes": version}
    result = support.run(
        support.workflow(gang), scheduler="native", target=target, accept=frozenset({"F615", "F683", "F638"})
    )
    assert result.compiled is not None, result.diagnostics
    assert result.kinds("Workload") == []
    assert "workloadRef" not in json.dumps(result.documents)


@pytest.mark.parametrize("code", ["F605", "F681"])
def test_nobody_can_accept_what_slurm_bridge_refuses(code: str) -> None:
    """Its webhook refuses each pod with a resource claim."""
    dra = {"gb200": {"vendor": "nvidia", "allocator": "dra", "deviceClass": "gpu.nvidia.com"}}
    claimed = topology(accelerators=dra) if code == "F605" else topology()
    gang = {"name": "train", "placement": {"required": "rack"}, "podSets": [WORKER]}
    gang |= NO_DOMAIN if code == "F605" else {}
    result = support.run(support.workflow(gang), claimed, scheduler="slurm-bridge", accept=frozenset({code, "F631"}))
    assert [each.severity for each in result.diagnostics if each.code == code] == ["error"]


@pytest.mark.parametrize(("scheduler", "kind"), [("kueue", "LocalQueue"), ("kai", "Queue"), ("volcano", "Queue")])
def test_the_objects_of_the_cluster_include_the_workflows_queue(scheduler: str, kind: str) -> None:
    flow = support.workflow({"name": "train", "podSets": [WORKER]}, queue="vision")
    result = support.run(flow, scheduler=scheduler, cluster_objects=True)
    assert {"research", "vision"} <= {each["metadata"]["name"] for each in result.kinds(kind)}
    closed = support.run(flow, topology(queues=["research"]), scheduler=scheduler, cluster_objects=True)
    assert closed.compiled is None


def test_hamis_scheduler_is_no_gang_scheduler() -> None:
    """HAMi's webhook gives its scheduler only to pods with cards, so pods of one JobSet may have two."""
    hami = topology(accelerators={"gb200": {"vendor": "nvidia", "allocator": "hami"}})
    sets = [{**WORKER, "accelerator": {"count": 1, "memory": "8Gi"}}, {**WORKER, "name": "side"}]
    del sets[1]["accelerator"]
    flow = support.workflow({"name": "train", "podSets": sets, **NO_DOMAIN})
    result = support.run(flow, hami, scheduler="kueue", accept=frozenset({"F762"}))
    assert result.compiled is not None, result.diagnostics
    assert "hami-scheduler" in json.dumps(result.documents)
    assert "M706" not in linted(result, hami)


def test_all_metax_cards_of_a_node_have_their_links() -> None:
    """The default policy of HAMi loses nothing for a pod that takes every card: `render` and lint report nothing."""
    kinds = {"gb200": {"vendor": "metax", "allocator": "hami", "resources": {"count": "metax-tech.com/gpu"}}}
    metax = topology(accelerators=kinds)
    metax["spec"]["pools"][0]["levels"] = [{"name": name, "label": f"example.com/{name}"} for name in ("spine", "rack")]
    result = support.run(support.workflow({"name": "train", "podSets": [WORKER]}), metax, scheduler="kueue")
    assert result.compiled is not None, result.diagnostics
    assert {"W555", "M873"} & {*result.codes, *linted(result, metax)} == set()


def test_hami_of_another_pool_is_no_matter() -> None:
    """Volcano places cards of a device plugin, although another pool has HAMi's under the same name."""
    mixed = topology(accelerators={"gb200": {"vendor": "nvidia"}, "l40s": {"vendor": "nvidia", "allocator": "hami"}})
    gpu = mixed["spec"]["pools"][0]
    gpu["node"]["nodeSelector"] = {"example.com/pool": "gb200"}
    shared = {"accelerator": "l40s", "count": 8, "nodeSelector": {"example.com/pool": "l40s"}}
    mixed["spec"]["pools"].append({"name": "l40s", "node": shared, "domains": [{"nodes": "l-[1-4]"}]})
    flow = support.workflow({"name": "train", "pool": "gb200", "podSets": [WORKER], **NO_DOMAIN})
    result = support.run(flow, mixed, scheduler="volcano")
    assert result.compiled is not None, result.diagnostics
    assert "M870" not in linted(result, mixed)


def test_shared_cards_are_cards_of_the_node() -> None:
    """A pod with all cards of its node has the node's channel for itself, under any name of the cards."""
    kind = {"vendor": "nvidia", "allocator": "hami", "resources": {"count": "volcano.sh/vgpu-number"}}
    vgpu = topology(accelerators={"gb200": kind})
    flow = support.workflow({"name": "train", "placement": {"required": "rack"}, "podSets": [WORKER]})
    result = support.run(flow, vgpu, scheduler="volcano")
    assert result.kinds("ComputeDomain"), result.diagnostics
    assert "M809" not in linted(result, vgpu)


def linted(result: support.Result, cluster: dict[str, Any]) -> list[str]:
    """The codes of lint for what was rendered."""
    documents = tuple(Document("m.yaml", "", 0, each) for each in result.documents)
    request = pipeline.LintRequest(documents, Document("topology.yaml", "", 0, cluster))
    return [each.code for each in pipeline.lint(request)[0].diagnostics]


def test_jobset_drops_no_field_that_was_written() -> None:
    """JobSet below 0.12 has no `schedulingGroup` in its pod templates, and kubectl refuses a manifest with it."""
    gang = {"name": "train", "workload": "jobset", "podSets": [WORKER], **NO_DOMAIN}
    for version, there in (("0.11", False), ("0.12", True)):
        result = support.run(
            support.workflow(gang),
            scheduler="native",
            target={"kubernetes": "1.37", "jobset": version},
            accept=frozenset({"F616", "F683"}),
        )
        assert result.compiled is not None, result.diagnostics
        assert ("schedulingGroup" in json.dumps(result.kinds("JobSet"))) == there


@pytest.mark.parametrize("word", FORMATS)
def test_an_import_renders_to_the_same_bytes(word: str, tmp_path: Path) -> None:
    """Random files of other systems; at least a third of them is rendered."""
    found = [complaint(word, seed, tmp_path) for seed in range(examples(5, 200))]
    assert [each for each in found if each] == []
    assert found.count("") > len(found) // 3


def test_a_slice_is_not_larger_than_a_job_of_a_jobset() -> None:
    """Kueue's webhook refuses it; who accepts F638 gets the JobSet without the slice."""
    inner = {"name": "part", "replicas": 3, "podSets": [{**WORKER, "replicas": 1}]}
    group = {"name": "unit", "replicas": 2, "placement": {"required": "rack"}, "groups": [inner]}
    gang = {"name": "train", "workload": "jobset", "groups": [group], **NO_DOMAIN}
    flow = support.workflow(gang)
    assert "F638" in support.run(flow, scheduler="kueue").codes
    result = support.run(flow, scheduler="kueue", accept=frozenset({"F638"}))
    (jobset,) = result.kinds("JobSet")
    assert [each["template"]["spec"]["parallelism"] for each in jobset["spec"]["replicatedJobs"]] == [1]
    assert "podset-slice" not in json.dumps(jobset)


def test_a_placed_group_in_an_optional_one_is_two_subgroups() -> None:
    """Volcano has no nested subgroups; its webhook refuses a PodGroup whose subgroups wait for more pods than it."""
    inner = {"name": "part", "placement": {"preferred": "rack"}, "podSets": [{**WORKER, "replicas": 1}]}
    outer = {"name": "unit", "replicas": 4, "minReplicas": 1, "groups": [inner]}
    gang = {"name": "train", "placement": {"preferred": "spine"}, "rendezvous": "none", "groups": [outer], **NO_DOMAIN}
    result = support.run(support.workflow(gang), scheduler="volcano")
    assert [each.severity for each in result.diagnostics if each.code == "F638"] == ["error"]
    taken = support.run(support.workflow(gang), scheduler="volcano", accept=frozenset({"F638"}))
    (group,) = taken.kinds("PodGroup")
    assert group["spec"]["minMember"] == 1
    assert [each["minSubGroups"] for each in group["spec"]["subGroupPolicy"]] == [1]


def test_volcano_places_cards_of_hami_in_its_own_jobs() -> None:
    """A pod of a Volcano Job keeps the scheduler that its template names, so the template must not name HAMi's."""
    kinds = {"gb200": {"vendor": "ascend", "allocator": "hami", "resources": {"count": "huawei.com/Ascend910B3"}}}
    npu = topology(accelerators=kinds)
    npu["spec"]["pools"][0]["levels"] = [{"name": name, "label": f"example.com/{name}"} for name in ("spine", "rack")]
    gang = {"name": "train", "workload": "volcano-job", "podSets": [WORKER]}
    result = support.run(support.workflow(gang), npu, scheduler="volcano")
    assert result.compiled is not None, result.diagnostics
    (job,) = result.kinds("Job")
    assert job["spec"]["tasks"][0]["template"]["spec"].get("schedulerName") == "volcano"
