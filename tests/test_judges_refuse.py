"""The judges refuse, object by object, what an API server or a webhook would refuse."""

from __future__ import annotations

from typing import Any

import pytest

from judges import UPSTREAM, builtin, crd, judge
from judges.samples import CONSTRAINT, CONTAINER, GOOD, OPERATED, REMOVE, Edit, edited
from judges.versions import NEWEST

if not (UPSTREAM / "crds").is_dir():
    pytest.skip(f"no upstream CRDs at {UPSTREAM}/crds", allow_module_level=True)


@pytest.mark.parametrize("name", sorted(GOOD))
def test_the_good_objects_are_taken(name: str) -> None:
    assert judge(GOOD[name], NEWEST) == []


def case(base: str, path: str, value: Any, complaint: str, **target: str) -> Any:
    """A good object, one edit, and what must be complained about."""
    return pytest.param(base, (path, value), complaint, target, id=f"{base}-{complaint[:40]}")


def failing(container: str, *codes: int) -> dict[str, Any]:
    """A podFailurePolicy for these exit codes."""
    ends = {"containerName": container, "operator": "In", "values": [*codes]}
    return {"rules": [{"action": "Ignore", "onExitCodes": ends}]}


POD_CONTAINER = "spec.containers.0."
BAD = [
    # the envelope, names, labels
    case("pod", "apiVersion", REMOVE, "apiVersion is missing"),
    case("pod", "metadata.name", REMOVE, "metadata.name is missing"),
    case("pod", "metadata.name", "Bad_Name", "no DNS subdomain"),
    case("pod", "metadata.name", "a" * 254, "no DNS subdomain of at most 253"),
    case("service", "metadata.name", "a" * 64, "no DNS label of at most 63"),
    case("service", "metadata.name", "0-starts-with-a-digit", "no DNS label of at most 63 characters"),
    case("pod", "metadata.namespace", "a.b", "'a.b' is no DNS label"),
    case("topology", "metadata.namespace", "ml", "Topology is cluster-scoped"),
    case("pod", "metadata.labels.x", "-", "bad label value x='-'"),
    case("pod", "metadata.labels.x", "a" * 64, "bad label value"),
    case("pod", "metadata.labels.a/b/c", "x", "bad label key 'a/b/c'"),
    case("pod", "metadata.annotations.a b", "x", "bad annotation key 'a b'"),
    case("pod", "metadata.annotations.x", "a" * (256 * 1024), "more than 256 KiB"),
    case("pod", "metadata.labels.x", 1, "metadata.labels.x: 1 is not of type"),
    case("pod", "spec.nodeSelector", {"rack": "a b"}, "bad label value rack='a b'"),
    case("pod", "spec.containers.0.env.0.value", None, "spec.containers[0].env[0].value: null"),
    # Kubernetes' schemas
    case("pod", "spec.containerz", [], "'containerz' was unexpected"),
    case("pod", "spec.containers.0.resources.limits.cpu", "1 core", "cpu: '1 core' does not match"),
    case("pod", "spec.containers.0.resources.limits.memory", "1gb", "'1gb' does not match"),
    case("claim", "spec.spec.devices.requests.0.count", 1, "'count' was unexpected"),
    case("claim", "kind", "ResourceClaimTemplate", "Kubernetes 1.33 has no", kubernetes="1.33"),
    case("claim", "apiVersion", "resource.k8s.io/v1alpha2", "has no ResourceClaimTemplate in resource.k8s.io/v1alpha2"),
    case("pod", "apiVersion", "scheduling.volcano.sh/v9", "no CRD for Pod in scheduling.volcano.sh/v9"),
    # pods
    case("pod", "spec.containers", [], "no container"),
    case("pod", "spec.tolerations", [{"key": "a", "operator": "Exists", "value": "b"}], "value must be empty"),
    case("pod", "spec.tolerations", [{"value": "b"}], "operator must be Exists when `key` is empty"),
    case("pod", "spec.tolerations", [{"key": "a", "tolerationSeconds": 1}], "effect must be NoExecute"),
    case("pod", "spec.containers", [CONTAINER, CONTAINER], "container 'worker' occurs 2 times"),
    case("pod", "spec.containers.0.name", "Worker", "its name is no DNS label"),
    case("pod", "spec.containers.0.image", "", "no image"),
    case("pod", "spec.containers.0.env", [{"name": "A", "value": "1"}, {"name": "A"}], "env 'A' occurs 2 times"),
    case("pod", "spec.containers.0.env.0.name", "A=B", "bad env name 'A=B'"),
    case("pod", "spec.containers.0.env.0.valueFrom", {"fieldRef": {"fieldPath": "x"}}, "both value and valueFrom"),
    case("pod", "spec.containers.0.ports", [{"containerPort": 99999}], "not within 1 to 65535"),
    case("pod", "spec.containers.0.ports", [{"containerPort": 1, "name": "a" * 16}], "no IANA service name"),
    case("pod", "spec.containers.0.volumeMounts", [{"name": "v", "mountPath": "/v"}], "undeclared volume 'v'"),
    case("pod", "spec.volumes", [{"name": "v"}], "exactly one source"),
    case("pod", "spec.containers.0.resources.limits.gpu", "1", "neither standard nor fully qualified"),
    case("pod", "spec.containers.0.resources.limits.nvidia|com/gpu", "500m", "must be a whole number"),
    case("pod", "spec.containers.0.resources.requests", {"nvidia.com/gpu": "2"}, "equal requests and limits"),
    case("pod", "spec.containers.0.resources.claims", [{"name": "x"}], "claim 'x' is not declared by the pod"),
    case("pod", "spec.resourceClaims.0.resourceClaimName", "x", "exactly one of resourceClaimName"),
    case("pod", "spec.resourceClaims.0.resourceClaimTemplateName", "A_B", "'A_B' is no DNS subdomain"),
    case("pod", "spec.hostname", "a.b", "hostname 'a.b' is no DNS label"),
    case("job", "spec.template.spec.restartPolicy", "Always", "need restartPolicy Never or OnFailure"),
    case("job", "spec.completions", REMOVE, "completionMode Indexed needs completions"),
    case("job", "metadata.name", "a" * 62, "pod host name"),
    case("job", "spec.podFailurePolicy", failing("other", 3), "unknown container 'other'"),
    case("job", "spec.podFailurePolicy", failing("worker", 3, 2), "sorted, different codes"),
    case("job", "spec.podFailurePolicy", failing("worker", 0), "sorted, different codes"),
    # CRDs
    case("podgroup", "spec.minmember", 1, "'minmember' was unexpected"),
    case("podgroup", "spec.minMember", "2", "'2' is not of type 'integer'"),
    case("podgroup", "spec.minMember", 0, "0 is less than the minimum of 1", kai="0.17"),
    case("podgroup", "spec.minMember", 2**31, "is not a 'int32'"),
    case("podgroup", "spec.preemptibility", "sometimes", "'sometimes' is not one of"),
    case("podgroup", "spec.stalenessGracePeriod", "-1s", "'stalenessGracePeriod' was unexpected", kai="0.16"),
    case("podgroup", "spec.minSubGroup", 1, "'minSubGroup' was unexpected", kai="0.14"),
    case("podgroup", "spec.subGroups.0.name", "a.b", "does not match", kai="0.15"),
    case("topology", "spec.levels.0.alias", "rack", "'alias' was unexpected", kai="0.16"),
    case("topology", "spec.levels", [], "spec.levels"),
    case("topology", "spec.levels", [{"nodeLabel": "rack"}] * 2, "nodeLabel must be unique"),
    case("topology", "spec.levels", [{"nodeLabel": "kubernetes.io/hostname"}, {"nodeLabel": "r"}], "hostname"),
    case("topology", "kind", "Topology", "no CRD for Topology", kai="0.10"),
    case("domain", "spec.numNodes", -1, "-1 is less than the minimum of 0"),
    case("domain", "spec.numNodes", REMOVE, "'numNodes' is a required property", draDriver="25.8"),
    case("domain", "spec.channel.allocationMode", "All", "'allocationMode' was unexpected", draDriver="25.3"),
    case("domain", "spec.channel.allocationMode", "Some", "'Some' is not one of"),
    case("domain", "spec.channel", REMOVE, "'channel' is a required property"),
    case("domain", "metadata.labels", {"a": 1}, "metadata.labels.a: 1 is not of type"),
    case("jobset", "spec.replicatedJobs.0.template.spec.parallelism", "2", "is not of type 'integer'"),
    case("jobset", "spec.replicatedJobs.0.template.spec.template.spec.gpus", 2, "'gpus' was unexpected"),
    case("jobset", "spec.replicatedJobs", [GOOD["jobset"]["spec"]["replicatedJobs"][0]] * 2, "duplicate list entry"),
    # JobSet's webhook
    case("jobset", "metadata.name", "a" * 60, "the Job name"),
    case("jobset", "metadata.name", "a" * 48, "the pod name"),
    case("jobset", "metadata.name", "0", "is no DNS label"),
    case(
        "jobset", "spec.successPolicy", {"operator": "All", "targetReplicatedJobs": ["x"]}, "unknown replicatedJob 'x'"
    ),
    case("jobset", "spec.replicatedJobs.0.dependsOn", [{"name": "x", "status": "Ready"}], "which does not precede it"),
    # KAI's webhooks
    case("podgroup", "spec.subGroups.1.name", "mid", "duplicate subgroup name"),
    case("podgroup", "spec.subGroups.1.parent", "nobody", "unknown parent 'nobody'"),
    case("podgroup", "spec.subGroups.0.parent", "leaf", "is part of a cycle"),
    case("podgroup", "spec.minSubGroup", 1, "minMember and minSubGroup are both set"),
    case("podgroup", "spec.subGroups.1.minSubGroup", 1, "'leaf': minMember and minSubGroup are both set"),
    case("podgroup", "spec.subGroups.0.minMember", 2, "subgroup 'mid' has children and minMember"),
    case("podgroup", "spec.subGroups.0.minSubGroup", 2, "minSubGroup 2 of 1: never ready"),
    case("podgroup", "spec.subGroups.1.minMember", REMOVE, "leaf subgroup 'leaf' needs minMember"),
    case("podgroup", "spec.topologyConstraint.topology", "", "needs a topology and a level"),
    case("podgroup", "spec.topologyConstraint", CONSTRAINT, "equal required and preferred levels", kai="0.12"),
    case("queue", "spec.resources", REMOVE, "spec.resources is required"),
    case("topology", "spec.levels.0.alias", "rack", "the alias 'rack' is also a nodeLabel"),
]


@pytest.mark.parametrize(("base", "edit", "complaint", "target"), BAD)
def test_bad_objects_are_refused(base: str, edit: Edit, complaint: str, target: dict[str, str]) -> None:
    complaints = judge(edited(GOOD[base], edit), NEWEST | target)
    assert any(complaint in each for each in complaints), complaints


def test_a_leaf_may_lack_minimums_before_0_15() -> None:
    lax = edited(GOOD["podgroup"], ("spec.subGroups.1.minMember", REMOVE), ("spec.topologyConstraint", REMOVE))
    assert judge(lax, NEWEST | {"kai": "0.14"}) == []


def defined(base: str) -> None:
    """Skip the test where there is no CRD for what an operator reads."""
    group, _, kind = builtin.split(OPERATED[base])
    if crd.find(group, kind, tuple(sorted(NEWEST.items()))) is None:
        pytest.skip(f"no CRD for {kind}: run `bash tests/judges/prepare`")


@pytest.mark.parametrize("base", sorted(OPERATED))
def test_what_operators_read_is_taken(base: str) -> None:
    defined(base)
    assert judge(OPERATED[base], NEWEST) == []


@pytest.mark.parametrize(
    ("base", "path", "value", "complaint"),
    [
        ("lws", "spec.leaderWorkerTemplate.leaders", 1, "'leaders' was unexpected"),
        ("lws", "spec.leaderWorkerTemplate.workerTemplate", REMOVE, "'workerTemplate' is a required property"),
        ("lws", "spec.startupPolicy", "LeaderFirst", "is not one of"),
        ("mpijob", "spec.slots", 4, "'slots' was unexpected"),
        ("mpijob", "spec.mpiImplementation", "Some", "is not one of"),
        ("trainjob", "spec.podTemplateOverrides", [], "'podTemplateOverrides' was unexpected"),
        ("trainjob", "spec.runtimeRef", REMOVE, "'runtimeRef' is a required property"),
        ("cliques", "spec.template.gangs", [], "'gangs' was unexpected"),
        ("cliques", "spec.template.cliques.0.spec.roleName", REMOVE, "'roleName' is a required property"),
        ("cliques", "spec.template.cliqueStartupType", "Any", "is not one of"),
    ],
)
def test_what_operators_read_is_refused(base: str, path: str, value: Any, complaint: str) -> None:
    defined(base)
    complaints = judge(edited(OPERATED[base], (path, value)), NEWEST)
    assert any(complaint in each for each in complaints), complaints
