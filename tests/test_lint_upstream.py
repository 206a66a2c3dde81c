"""Lint over each of upstream's own examples: it finds the mistakes that are there, and nothing else.

A file that is not listed must be free of findings of these rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bayplan import pipeline
from bayplan.text import document
from judges import UPSTREAM
from support import TOPOLOGY
from test_lint import MINE

EXAMPLES = UPSTREAM / "examples"
LEVELS: Mapping[str, tuple[str, str]] = {
    "kai": ("example.com/spine", "accelerator.nvidia.com/rack"),
    "kueue": ("cloud.provider.com/topology-block", "cloud.provider.com/topology-rack"),
    "jobset": ("topology.example.com/rack", "cloud.google.com/gke-nodepool"),
    "lws": ("cloud.google.com/gce-topology-block", "cloud.google.com/gke-nodepool"),
    "helm": ("cloud.google.com/gce-topology-block", "cloud.google.com/gke-nodepool"),
}
"""Folder -> the levels that its examples speak of."""

GROVE = frozenset(f"M{number}" for number in range(883, 890))

FOUND: Mapping[str, Mapping[str, int]] = {
    "dra/demo__specs__imex__nvbandwidth-test-job-2.yaml": {"M808": 1, "M809": 1},
    "dra/demo__specs__mig+mps__sharing-demo-claims-1.yaml": {"M780": 1},
    "dra/demo__specs__mig+mps__sharing-demo-claims.yaml": {"M780": 4},
    "dra/demo__specs__mig+mps__sharing-demo-parameters.yaml": {"M780": 4},
    "dra/demo__specs__quickstart__v1__gpu-test-vfio-config.yaml": {"M800": 1},
    "dra/demo__specs__quickstart__v1__gpu-test6.yaml": {"M813": 1},
    "dra/demo__specs__quickstart__v1beta1__gpu-test6.yaml": {"M813": 1},
    "dra/demo__specs__selectors__claims.yaml": {"M780": 2},
    "dra/tests__bats__specs__gpu-mps.yaml": {"M813": 1},
    "dra/tests__bats__specs__gpu-simple-mig-ts.yaml": {"M813": 1},
    "dra/tests__bats__specs__gpu-timeslicing.yaml": {"M813": 1},
    # A template whose placeholders are filled before it is applied.
    "dra/tests__bats__specs__nvb.tmpl.yaml": {"M703": 1, "M808": 1},
    "grove/operator__e2e__yaml__auto-mnnvl__mnnvl-cpu-with-annotation.yaml": {"M809": 1},
    "grove/operator__e2e__yaml__tas-large-scale.yaml": {"M717": 1},
    "grove/operator__e2e__yaml__tas-pcs-multi-pcsg-multi-replica.yaml": {"M717": 2},
    "grove/operator__e2e__yaml__tas-pcs-multi-pcsg.yaml": {"M717": 2},
    "grove/operator__e2e__yaml__tas-preferred-pack.yaml": {"M717": 1},
    "grove/operator__e2e__yaml__tas-standalone-pclq-only-pcs-zone.yaml": {"M883": 1},
    "helm/gb200-llama31-405b-256gpus/stdin.helm3.yaml": {"M808": 1},
    "helm/gb200-llama31-405b-256gpus/stdin.helm4.yaml": {"M808": 1},
    "helm/llm-d-modelservice-pd-mnnvl/stdin.helm3.yaml": {"M800": 2},
    "helm/llm-d-modelservice-pd-mnnvl/stdin.helm4.yaml": {"M800": 2},
    "jobset/examples__failure-policy__failjobset-action.yaml": {"M703": 1},
    "jobset/examples__failure-policy__host-maintenance-event-model.yaml": {"M703": 2},
    "jobset/examples__failure-policy__onjobfailurereasons-present.yaml": {"M703": 1},
    "jobset/examples__failure-policy__restartjobsetandignoremaxrestarts-action.yaml": {"M703": 1},
    # Kubernetes 1.34, the target, has no Workloads and PodGroups.
    "jobset/examples__workload-aware-scheduling__dra__jobset.yaml": {"M707": 1, "M780": 1, "M800": 1},
    "jobset/examples__workload-aware-scheduling__dra__workload.yaml": {"M780": 1},
    "jobset/examples__workload-aware-scheduling__preemption__low-priority-jobset.yaml": {"M780": 3},
    "jobset/examples__workload-aware-scheduling__tas__podgroup.yaml": {"M780": 1},
    "jobset/examples__workload-aware-scheduling__workload.yaml": {"M780": 1},
    "kai/docs__dra__gpu-imex-pod.yaml": {"M809": 1},
    "koordinator/proposal-STALE-syntax-04.yaml": {"M815": 2},
    # A GPU that is requested and not limited.
    "kueue/examples__serving-workloads__sample-leaderworkerset-tas.yaml": {"M703": 1},
    "kueue/kep2724-00.yaml": {"M703": 1},
    "kustomize/dra-imex-nvbandwidth/nvbandwidth-test-job.yaml": {"M808": 1, "M809": 1},
    "native/hack__examples__workload__gang-job.yaml": {"M780": 3},
    "native/hack__examples__workload__workload.yaml": {"M780": 3},
    "network-operator/example__sriov-network__infiniband__sriov-network-pod1.yaml": {"M712": 1},
    "network-operator/example__sriov-network__infiniband__sriov-network-pod2.yaml": {"M712": 1},
    "network-operator/example__sriov-network__sriov-network-pod2.yaml": {"M712": 1},
    "volcano/design-network-topology-00.yaml": {"M703": 7},
}
"""File -> what is found in it. The nodes of network-operator's pods are not those of the topology."""


def files() -> list[Path]:
    return [path for path in sorted(EXAMPLES.rglob("*")) if path.suffix in {".yaml", ".yml", ".json", ".helm3"}]


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason=f"no upstream examples at {EXAMPLES}")
def test_in_upstreams_examples_it_finds_what_is_wrong_and_no_more() -> None:
    found = {}
    for path in files():
        name = str(path.relative_to(EXAMPLES))
        read = document.read(name, path.read_bytes(), "manifest", own=False).value or ()
        outcome, _ = pipeline.lint(pipeline.LintRequest(read, topology(name.split("/")[0])))
        assert outcome.value is not None
        codes = Counter(each.code for each in outcome.diagnostics if each.code in (MINE | GROVE) - {"M702"})
        if codes:
            found[name] = dict(sorted(codes.items()))
    assert found == FOUND


def topology(folder: str) -> document.Document:
    """A hall of GB200 racks whose levels have the labels that a folder's examples use."""
    spine, rack = LEVELS.get(folder, ("example.com/spine", "nvidia.com/gpu.clique"))
    pool: dict[str, Any] = TOPOLOGY["spec"]["pools"][0]
    outer = "block" if folder == "grove" else "spine"  # Grove's constraints name levels, not labels
    levels = [{"name": outer, "label": spine}, {"name": "rack", "label": rack, "nvlink": True}]
    spec = {**TOPOLOGY["spec"], "pools": [{**pool, "levels": levels}]}
    spec["defaults"] = {"scheduler": "kai", "namespace": "ml"}
    name = "network" if folder == "kai" else "hall"
    return document.Document("topology.yaml", "", 0, {**TOPOLOGY, "metadata": {"name": name}, "spec": spec})
