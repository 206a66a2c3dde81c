"""Every workload in upstream's own examples, selected by a rule that takes all: read, or refused with a reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from bayplan.core.diagnostics import Diagnostic, has_errors
from bayplan.kube.templates import templates_in
from bayplan.linting.objects import collect
from bayplan.model.policy import Policy, Rule
from bayplan.text import document
from bayplan.workflows.existing import Selected, select
from judges import UPSTREAM

EXAMPLES = UPSTREAM / "examples"
NAMELESS = "W339"
"""Most of Kueue's examples have a `generateName`."""

FOUND: Mapping[str, Mapping[str, int]] = {
    "dra/demo__specs__imex__nvbandwidth-test-job-2.yaml": {"W506": 1},
    "dra/tests__bats__specs__nvb.tmpl.yaml": {"W641": 1, "W506": 1},
    "grove/operator__e2e__yaml__tas-topology-condition.yaml": {"W506": 1},
    "helm/kuberay-raycluster-32gpus/stdin.helm3.yaml": {"W506": 1},
    "helm/kuberay-raycluster-32gpus/stdin.helm4.yaml": {"W506": 1},
    "koordinator/proposal-STALE-syntax-08.yaml": {"W641": 2},
    "kustomize/dra-imex-nvbandwidth/nvbandwidth-test-job.yaml": {"W506": 1},
    "lws/docs__examples__sample__lws-rollout-strategy.yaml": {"W506": 1},
    "lws/docs__examples__vllm__TPU__lws.yaml": {"W506": 1},
    "trainer/examples__flux__lammps-train-gpus.yaml": {"W508": 1},
    "trainer/examples__flux__lammps-train-job.yaml": {"W508": 1},
    "trainer/examples__yaml__02-runtime-patches.yaml": {"W508": 1},
    "trainer/examples__yaml__04-volcano-integration.yaml": {"A950": 1},
    "volcano/design-network-topology-02.yaml": {"W506": 1},
    "volcano/doc-network-topology-04.yaml": {"W506": 1},
    "volcano/doc-pytorch-plugin-00.yaml": {"W506": 1},
    "volcano/example__MindSpore-example__mindspore_cpu__mindspore-cpu.yaml": {"W506": 1},
    "volcano/example__hierarchical-jobs__jobs.yaml": {"W506": 4},
    "volcano/example__kubecon-2019-china__task-priority__elastic-job.yaml": {"W506": 1},
    "volcano/example__task-start-dependency__mpi.yaml": {"W506": 1},
}
"""File -> what is said of its workloads."""

pytestmark = pytest.mark.skipif(not EXAMPLES.is_dir(), reason=f"no upstream examples at {EXAMPLES}")


def files() -> list[Path]:
    """All that may hold manifests."""
    return [path for path in sorted(EXAMPLES.rglob("*")) if path.suffix in {".yaml", ".yml", ".json", ".helm3"}]


def selected(path: Path) -> tuple[tuple[Selected, ...], tuple[Diagnostic, ...]]:
    """All workloads of a file."""
    read = document.read(path.name, path.read_bytes(), "manifest", own=False).value or ()
    value, diagnostics = select(collect(read).objects, Policy((Rule(),)))
    assert (value is None) == has_errors(diagnostics)
    return value or (), diagnostics


def test_what_is_said_of_upstreams_workloads() -> None:
    found = {}
    for path in files():
        diagnostics = selected(path)[1]
        codes = Counter(each.code for each in diagnostics if each.code not in {"A943", "W500", NAMELESS})
        if codes:
            found[str(path.relative_to(EXAMPLES))] = dict(sorted(codes.items()))
    assert found == FOUND


def test_upstreams_workloads_have_the_pods_that_lint_counts() -> None:
    kinds: Counter[str] = Counter()
    for path in files():
        for each in selected(path)[0]:
            counted = {one.path: one.pods for one in templates_in((each.templates.object,)) if one.pods}
            read = {slot.path: slot.total * each.templates.gangs for slot in each.templates.slots}
            assert {path: counted.get(path) for path in read} == read
            kinds[each.templates.kind] += 1
    assert set(kinds) == {
        *("job", "jobset", "lws", "mpijob", "pod", "podcliqueset", "pytorchjob", "raycluster", "rayjob", "statefulset"),
        "volcano-job",
    }
