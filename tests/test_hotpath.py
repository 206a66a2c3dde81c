"""What each entry point loads. An import that nobody needs costs more than the work, and benchmarks/ measure it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.run import PRETRAIN, RENDER_64, bayplan, hooked, python

HEAVY = frozenset(
    {
        "argparse",
        "asyncio",
        "click",
        "dataclasses",
        "email",
        "fastjsonschema",
        "importlib.metadata",
        "importlib.resources",
        "inspect",
        "jinja2",
        "jsonschema",
        "kubernetes_validate",
        "logging",
        "ortools",
        "pathlib",
        "referencing",
        "rich",
        "socket",
        "subprocess",
        "tempfile",
        "typing_extensions",
    }
)
"""Modules that the hot path may not load."""

LIGHT = HEAVY | {"yaml", "bayplan.pipeline", "bayplan.text.document", "bayplan.model"}
"""Modules that `--version` and `--help` may not load either."""

TOPOLOGY = f"{PRETRAIN}/topology.yaml"
BARE = HEAVY | {"yaml", "bayplan.pipeline", "bayplan.model", "bayplan.schemas", "bayplan.text.emit", "bayplan.kube"}
"""Modules that a command may not load that reads none of the user's files."""

NO_OUTPUT = HEAVY | {"bayplan.text.emit", "bayplan.cli.output_folder"}
"""Modules that a command may not load that writes no manifests."""

PASSING = BARE | {"bayplan.cli.inputs", "bayplan.clients.helm", "bayplan.augment"}
"""Modules that post-render may not load where nobody asks for anything."""

REPORT = """
import atexit, sys
BEFORE = set(sys.modules)
atexit.register(lambda: print("\\nLOADED", *sorted(set(sys.modules) - BEFORE), file=sys.stderr))
"""


def loaded(*arguments: str) -> set[str]:
    """The modules that a run adds to what the interpreter itself had loaded."""
    result = hooked(REPORT, arguments, stdin="kind: ConfigMap\n")
    assert result.returncode == 0, result.stderr
    before, _, after = result.stderr.rpartition("\nLOADED ")
    assert after, before
    return set(after.split())


def test_a_generate_that_finds_everything_up_to_date_loads_nothing_heavy(tmp_path: Path) -> None:
    outputs = f"[{{workflows: [{PRETRAIN}/workflow.yaml], to: out/}}, {{export: kai, to: cluster/}}]"
    spec = f"{{topology: {TOPOLOGY}, outputs: {outputs}}}"
    (tmp_path / "bayplan.yaml").write_text(f"apiVersion: bayplan.dev/v1alpha1\nkind: Project\nspec: {spec}\n")
    assert bayplan("generate", str(tmp_path)).returncode == 1
    assert sorted(loaded("generate", str(tmp_path)) & (HEAVY | {"difflib"})) == []


RESOURCE_LIST = f"""\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: bayplan.dev/v1alpha1
  kind: Workflow
  metadata:
    name: train
  spec:
    gangs:
    - name: train
      placement: {{required: rack}}
      podSets:
      - {{name: worker, replicas: 4, accelerator: {{name: gb200, count: 4}}, image: a, command: [b]}}
functionConfig:
  apiVersion: bayplan.dev/v1alpha1
  kind: ExpandWorkflows
  spec:
    topology: {TOPOLOGY}
"""
UNSEEN = HEAVY | {
    "bayplan.text.emit",
    "bayplan.text.patch",
    "bayplan.text.positions",
    "bayplan.cli.commands",
    "bayplan.cli.krm.kustomizations",
    "bayplan.report.findings",
}
"""Modules that kustomize's function may not load while all goes well."""


def test_a_function_of_kustomize_loads_nothing_heavy() -> None:
    call = "import sys\nfrom bayplan.cli.run import krm\nsys.exit(krm([]))\n"
    result = python("-c", REPORT + call, stdin=RESOURCE_LIST)
    assert result.returncode == 0, result.stderr
    assert "ComputeDomain" in result.stdout
    assert sorted(set(result.stderr.rpartition("\nLOADED ")[2].split()) & UNSEEN) == []


@pytest.mark.parametrize(
    ("arguments", "forbidden"),
    [
        pytest.param(["--version"], LIGHT, id="version"),
        pytest.param(RENDER_64, HEAVY, id="render"),
        pytest.param(["check", *RENDER_64[1:4]], HEAVY, id="check"),
        pytest.param(["plan", *RENDER_64[1:4]], NO_OUTPUT, id="plan"),
        pytest.param(["delete-plan", *RENDER_64[1:4]], NO_OUTPUT, id="delete-plan"),
        pytest.param(["import", RENDER_64[1]], HEAVY | {"bayplan.manifests.pod_dns"}, id="import"),
        pytest.param(["topology", "check", TOPOLOGY], NO_OUTPUT, id="topology-check"),
        pytest.param(["topology", "show", TOPOLOGY], HEAVY, id="topology-show"),
        pytest.param(["topology", "diff", TOPOLOGY, TOPOLOGY], HEAVY, id="topology-diff"),
        pytest.param(["topology", "export", TOPOLOGY], HEAVY, id="topology-export"),
        pytest.param(["post-render", "-t", TOPOLOGY], PASSING, id="post-render"),
        pytest.param(["helm", "last-error"], PASSING, id="last-error"),
        pytest.param(["schema", "workflow"], BARE, id="schema"),
        pytest.param(["explain", "A901"], BARE, id="explain-a-code"),
        pytest.param(["explain", "spec.gangs"], BARE, id="explain-a-field"),
        pytest.param(["--help"], LIGHT, id="help"),
        pytest.param(
            ["completion", "bash"], BARE - {"click", "inspect", "typing", "typing_extensions"}, id="completion"
        ),
    ],
)
def test_an_entry_point_loads_nothing_heavy(arguments: list[str], forbidden: frozenset[str]) -> None:
    assert sorted(loaded(*arguments) & forbidden) == []


def test_a_render_loads_few_modules_of_its_own() -> None:
    own = {name for name in loaded(*RENDER_64) if name.split(".")[0] == "bayplan"}
    assert len(own) <= 99, sorted(own)
