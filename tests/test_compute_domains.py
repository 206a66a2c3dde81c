"""Which ComputeDomains there are: by the required level, the wish on gang and group, and the number of nodes."""

from __future__ import annotations

from typing import Any

import pytest

import support

WORKER = {**support.WORKER, "replicas": 4}
ONE_NODE = {**support.WORKER, "replicas": 1}


def group(required: str = "", wish: str = "", replicas: int = 2, pods: Any = WORKER, **more: Any) -> dict[str, Any]:
    """A group named g, with what is given."""
    options: dict[str, Any] = {"computeDomain": wish} if wish else {}
    if required:
        options["placement"] = {"required": required}
    inside = {} if "groups" in more else {"podSets": [pods]}
    return {"name": "g", "replicas": replicas, **options, **inside, **more}


def gang(*groups: dict[str, Any], required: str = "", wish: str = "") -> dict[str, Any]:
    """A gang of these groups, or of one podSet."""
    options: dict[str, Any] = {"computeDomain": wish} if wish else {}
    if required:
        options["placement"] = {"required": required}
    return {"name": "main", **options, **({"groups": list(groups)} if groups else {"podSets": [WORKER]})}


CASES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "one for each group in one rack": (gang(group("rack")), ["train-g-0", "train-g-1"]),
    "a finer level than nvlink counts": (gang(group("host", pods=ONE_NODE)), []),
    "none where a coarser level is required": (gang(group("spine")), []),
    "none where nothing is required": (gang(group()), []),
    "the outermost unit inside nvlink": (gang(group("rack"), required="rack"), ["train"]),
    "a gang without groups": (gang(required="rack"), ["train"]),
    "one node needs none": (gang(group("rack", pods=ONE_NODE)), []),
    "never on the group": (gang(group("rack", "never")), []),
    "never on the gang holds below": (gang(group("rack"), wish="never"), []),
    "group asked for below never": (gang(group("rack", "group"), wish="never"), ["train-g-0", "train-g-1"]),
    "group asked for on one node": (gang(group("rack", "group", pods=ONE_NODE)), ["train-g-0", "train-g-1"]),
    "gang asked for by the group": (gang(group("rack", "gang"), required="rack"), ["train"]),
    "the outer of nested groups": (
        gang(group("rack", replicas=1, groups=[group("rack", replicas=2)])),
        ["train-g-0"],
    ),
    "the inner where only it is inside": (
        gang(group("spine", replicas=1, groups=[group("rack", replicas=2)])),
        ["train-g-0-g-0", "train-g-0-g-1"],
    ),
}


@pytest.mark.parametrize(("one", "names"), CASES.values(), ids=CASES)
def test_compute_domains(one: dict[str, Any], names: list[str]) -> None:
    result = support.run(support.workflow(one))
    assert result.compiled is not None, result.diagnostics
    assert [each["metadata"]["name"] for each in result.kinds("ComputeDomain")] == names
    claims = {
        claim["resourceClaimTemplateName"]
        for pod in support.pods(result.documents)
        for claim in pod.spec.get("resourceClaims", ())
    }
    assert claims == set(names)
    assert all(
        each["spec"]["channel"]["resourceClaimTemplate"]["name"] in names for each in result.kinds("ComputeDomain")
    )


VERSIONS = {
    "25.3": {"numNodes": 4, "channel": {"resourceClaimTemplate": {"name": "train"}}},
    "25.8": {"numNodes": 0, "channel": {"resourceClaimTemplate": {"name": "train"}, "allocationMode": "Single"}},
    "25.12": {"numNodes": 0, "channel": {"resourceClaimTemplate": {"name": "train"}, "allocationMode": "Single"}},
    "0.4": {"numNodes": 0, "channel": {"resourceClaimTemplate": {"name": "train"}, "allocationMode": "Single"}},
}


@pytest.mark.parametrize(("version", "spec"), VERSIONS.items(), ids=VERSIONS)
def test_the_spec_by_driver(version: str, spec: dict[str, Any]) -> None:
    result = support.run(support.workflow(gang(required="rack")), target={"draDriver": version})
    assert [each["spec"] for each in result.kinds("ComputeDomain")] == [spec]


DIALECTS = {
    "1.32": (
        "resource.k8s.io/v1beta1",
        {"name": "gpu", "deviceClassName": "gpu.nvidia.com", "allocationMode": "ExactCount", "count": 4},
    ),
    "1.33": (
        "resource.k8s.io/v1beta2",
        {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "allocationMode": "ExactCount", "count": 4}},
    ),
    "1.34": (
        "resource.k8s.io/v1",
        {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "allocationMode": "ExactCount", "count": 4}},
    ),
}


@pytest.mark.parametrize(("version", "wanted"), DIALECTS.items(), ids=DIALECTS)
def test_gpu_claims_by_kubernetes(version: str, wanted: tuple[str, dict[str, Any]]) -> None:
    worker = {**WORKER, "accelerator": {"name": "gb200", "count": 4, "allocator": "dra"}}
    topology = {
        **support.TOPOLOGY,
        "spec": {**support.TOPOLOGY["spec"], "accelerators": {"gb200": {"allocator": ["device-plugin", "dra"]}}},
    }
    flow = support.workflow({"name": "main", "computeDomain": "never", "podSets": [worker]})
    (claim,) = support.run(flow, topology, target={"kubernetes": version}).kinds("ResourceClaimTemplate")
    assert (claim["apiVersion"], claim["spec"]["spec"]["devices"]["requests"]) == (wanted[0], [wanted[1]])
