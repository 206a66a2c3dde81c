"""The judges judged: they take upstream's own examples and know which version judges what."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
import yaml

from judges import UPSTREAM, at_least, cel, crd, judge, targets_for, versions_for
from judges.crd import find
from judges.samples import Document
from judges.syntax import walk
from judges.versions import NEWEST, PREPARED

needs_upstream = pytest.mark.skipif(not (UPSTREAM / "crds").is_dir(), reason=f"no upstream CRDs at {UPSTREAM}/crds")

# --- upstream's own examples ------------------------------------------------------------------------------------------

FOLDERS = ("dra", "jobset", "kai", "lws", "kueue", "grove")
NO_OBJECT = "apiVersion is missing"
NULL = "containers[0].env: null"
NO_CRD = "no CRD for"
GONE = "Kubernetes 1.37 has no"
WEBHOOK = "'name' is a required property"

KUEUE_OTHERS = (
    "examples__appwrapper__leaderworkerset-sample",
    "examples__appwrapper__pytorch-sample",
    "examples__jobs__ray-cluster-sample",
    "examples__jobs__ray-job-sample",
    "examples__jobs__sample-sparkapplication",
    "examples__pod-based-workloads__tekton-hello-task",
    "examples__pod-based-workloads__tekton-pipeline",
    "examples__pod-based-workloads__tekton-pipeline-run",
    "examples__provisioning__provisioning-setup",
    "site__static__examples__appwrapper__deployment-sample",
    "site__static__examples__jobs__ray-service-sample",
    "site__static__examples__jobs__sample-mpijob",
    "site__static__examples__jobs__sample-pytorchjob",
    "site__static__examples__multikueue__multikueue-setup",
    "site__static__examples__multikueue__tas__manager-setup",
    "site__static__examples__pod-based-workloads__tekton-sleep-task",
    "site__static__examples__pod-based-workloads__workflow-queue-per-template",
    "site__static__examples__pod-based-workloads__workflow-single-queue",
    "site__static__examples__sample-admission-check",
)
"""Kueue's examples of kinds whose components are not stored."""

EXCEPTIONS = {
    # Files that hold values or parameters, not Kubernetes objects.
    "dra/demo__specs__quickstart__mig-parted-config.yaml": NO_OBJECT,
    "jobset/examples__workload-aware-scheduling__dra__kind.yaml": "metadata.name is missing",
    "kai/docs__metrics__kube-prometheus-values.yaml": NO_OBJECT,
    "kai/docs__migrationguides__v0.6.0__values.yaml": NO_OBJECT,
    "kai/examples__time-based-fairshare__two-queue-oscillation__simulation-config.yaml": NO_OBJECT,
    # Templates whose placeholders are filled before they are applied.
    "dra/tests__bats__specs__nvb.tmpl.yaml": "${NVB_",
    "dra/tests__bats__specs__pods-shared-gpu.yaml": "__INDEX__",
    # Kinds of components that are not stored.
    "dra/demo__specs__imex__nvbandwidth-test-job-2.yaml": NULL,
    "dra/demo__specs__mig+mps__sharing-demo-parameters.yaml": NO_CRD,
    "kai/docs__metrics__service-monitors.yaml": "no CRD for ServiceMonitor",
    "kai/examples__time-based-fairshare__scheduling-shard-external-prometheus.yaml": "no CRD for ServiceMonitor",
    "lws/config__samples__disaggregatedset_v1_3role.yaml": "no CRD for DisaggregatedSet",
    "lws/config__samples__disaggregatedset_v1_disaggregatedset.yaml": "no CRD for DisaggregatedSet",
    "lws/config__samples__lws_v1alpha1_configuration.yaml": "no CRD for Configuration",
    **{f"kueue/{name}.yaml": NO_CRD for name in KUEUE_OTHERS},
    "kueue/examples__multikueue__dev__worker-kind-config.yaml": "metadata.name is missing",
    "kueue/site__static__examples__tas__kind-cluster.yaml": "metadata.name is missing",
    # Real mistakes: a Job without a name; a GPU that is requested and not limited, which no API server takes.
    "kueue/kep2724-00.yaml": "metadata.name is missing",
    "kueue/examples__serving-workloads__sample-leaderworkerset-tas.yaml": "needs equal requests and limits",
    # API versions that Kubernetes no longer serves.
    "dra/demo__specs__mig+mps__sharing-demo-claims-1.yaml": GONE,
    "dra/demo__specs__mig+mps__sharing-demo-claims.yaml": GONE,
    "dra/demo__specs__selectors__claims.yaml": GONE,
    "dra/demo__specs__selectors__pods.yaml": "('source' was unexpected)",
    "jobset/examples__workload-aware-scheduling__dra__workload.yaml": GONE,
    "jobset/examples__workload-aware-scheduling__preemption__low-priority-jobset.yaml": GONE,
    "jobset/examples__workload-aware-scheduling__tas__podgroup.yaml": GONE,
    "jobset/examples__workload-aware-scheduling__workload.yaml": GONE,
    # Names that JobSet's mutating webhook fills in before the schema is applied.
    "jobset/examples__failure-policy__failjobset-action.yaml": WEBHOOK,
    "jobset/examples__failure-policy__host-maintenance-event-model.yaml": WEBHOOK,
    "jobset/examples__failure-policy__onjobfailurereasons-present.yaml": WEBHOOK,
    "jobset/examples__failure-policy__restartjobsetandignoremaxrestarts-action.yaml": WEBHOOK,
    # A constraint without a value, which the API server drops; and a role that only the CRD requires.
    "grove/operator__e2e__yaml__tas-large-scale.yaml": "topologyConstraint",
    "grove/operator__samples__user-guide__02_pod-and-resource-naming-conventions__multinode-disaggregated-with-frontend"
    ".yaml": "'roleName' is a required property",
    # The volumes come from volumeClaimTemplates, which only the controller adds to the pods.
    "lws/docs__examples__sample__lws-volume-claim-templates.yaml": "undeclared volume 'persistent-storage'",
}
"""Upstream example -> what every complaint about it, at least the first, must say."""


def upstream_examples() -> list[str]:
    """`folder/file` of every stored example of the folders judged here."""
    files = (path for folder in FOLDERS for path in sorted((UPSTREAM / "examples" / folder).glob("*.yaml")))
    return [f"{path.parent.name}/{path.name}" for path in files]


@needs_upstream
@pytest.mark.parametrize("name", upstream_examples())
def test_upstreams_examples_are_taken(name: str) -> None:
    text = (UPSTREAM / "examples" / name).read_text(encoding="utf-8")
    documents = [document for document in yaml.load_all(text, yaml.CSafeLoader) if document is not None]
    complaints = [complaint for document in documents for complaint in judge(document, NEWEST)]
    if EXCEPTIONS.get(name) in (NO_CRD, NULL) and not complaints:
        return  # a release that CI has fetched brings the CRD that takes it, or the one that does not
    if name in EXCEPTIONS:
        assert any(EXCEPTIONS[name] in complaint for complaint in complaints)
    else:
        assert complaints == []


@needs_upstream
def test_no_exception_is_stale() -> None:
    assert sorted(set(EXCEPTIONS) - set(upstream_examples())) == []


@needs_upstream
def test_every_rule_of_every_crd_compiles() -> None:
    rules = {rule for path in sorted(UPSTREAM.glob("crds/**/*.yaml")) for rule in rules_of(path)}
    assert len(rules) > 50
    for rule in rules:
        cel.program(rule)


def rules_of(path: Any) -> Iterator[str]:
    """The CEL rules in a file of CRDs."""
    for document in yaml.load_all(path.read_text(encoding="utf-8"), yaml.CSafeLoader):
        for place, value in walk(document):
            if place[-2:-1] == ("x-kubernetes-validations",) and isinstance(value, dict):
                yield value["rule"]


# --- versions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("component", "version", "expected"),
    [
        ("kai", "0.12", ("0.12", NEWEST["kai"])),
        ("kai", NEWEST["kai"], (NEWEST["kai"],)),
        ("kubernetes", "1.34", ("1.34", NEWEST["kubernetes"])),
        ("draDriver", "25.12", ("25.12", NEWEST["draDriver"])),
        ("draDriver", NEWEST["draDriver"], (NEWEST["draDriver"],)),
    ],
)
def test_versions_for(component: str, version: str, expected: tuple[str, ...]) -> None:
    assert versions_for(component, version) == expected


def test_the_dra_drivers_semantic_versions_follow_its_calendar() -> None:
    ordered = ["25.3", "25.8", "25.12", "0.4", "0.4.1"]
    pairs = list(pairwise(ordered))
    assert all(at_least("draDriver", late, early) for early, late in pairs)
    assert not any(at_least("draDriver", early, late) for early, late in pairs)


def test_targets_for_is_the_target_and_the_newest_of_everything() -> None:
    lowest, highest = targets_for({"kai": "0.12"})
    assert lowest == {**NEWEST, "kai": "0.12"}
    assert highest == NEWEST


JOBSET_0_9 = PREPARED / "jobset" / "versions" / "v0.9.0"


@needs_upstream
@pytest.mark.parametrize(
    ("group", "kind", "component", "version", "folder"),
    [
        ("scheduling.run.ai", "PodGroup", "kai", "0.15", "v0.15.3"),
        ("scheduling.run.ai", "PodGroup", "kai", "0.15.1", "v0.15.3"),
        ("scheduling.run.ai", "PodGroup", "kai", "0.99", "v0.17.0"),
        ("kai.scheduler", "Topology", "kai", "0.12", "v0.12.23"),
        ("kueue.x-k8s.io", "Topology", "kai", "0.10", "v0.10.5"),
        ("kueue.x-k8s.io", "Topology", "kai", "0.12", "kueue"),
        ("resource.nvidia.com", "ComputeDomain", "draDriver", "25.3", "v25.3.2"),
        ("resource.nvidia.com", "ComputeDomain", "draDriver", "0.4", "v0.4.1"),
        (
            "jobset.x-k8s.io",
            "JobSet",
            "jobset",
            "0.9",
            next((tag for tag in ("v0.9.0", "v0.8.0") if (PREPARED / "jobset" / "versions" / tag).is_dir()), "jobset"),
        ),
    ],
)
def test_the_crd_of_a_version(group: str, kind: str, component: str, version: str, folder: str) -> None:
    found = find(group, kind, ((component, version),))
    assert found is not None
    assert found.parent.name == folder


@needs_upstream
def test_kai_before_0_12_has_no_topology_of_its_own() -> None:
    assert find("kai.scheduler", "Topology", (("kai", "0.10"),)) is None


KEYWORDS: list[tuple[Document, Any, bool]] = [
    ({"type": "object", "properties": {"a": {"type": "string"}}}, {"b": 1}, False),
    ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, {"b": 1}, True),
    ({"type": "object", "additionalProperties": {"type": "string"}}, {"b": "x"}, True),
    ({"type": "object", "additionalProperties": {"type": "string"}}, {"b": 1}, False),
    ({"type": "string", "nullable": True}, None, True),
    ({"x-kubernetes-int-or-string": True}, "x", True),
    ({"x-kubernetes-int-or-string": True}, 1.5, False),
    ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, 1, False),
    ({"type": "object", "x-kubernetes-embedded-resource": True}, {"kind": "A", "metadata": {}}, True),
]


@pytest.mark.parametrize(("schema", "value", "taken"), KEYWORDS)
def test_structural_schemas_become_closed_json_schemas(schema: Document, value: Any, taken: bool) -> None:
    validate: Callable[..., Any] = crd.Draft202012Validator(crd.closed(schema, root=False)).is_valid
    assert validate(value) is taken


def test_defaults_come_before_required() -> None:
    schema = {"type": "object", "required": ["mode"], "properties": {"mode": {"type": "string", "default": "All"}}}
    assert crd.defaulted(schema, {}) == {"mode": "All"}
