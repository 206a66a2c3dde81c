"""kustomize and Helm take the rendered files as they are, and pass on the same objects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.clients import output, tool
from tools.golden import VERSIONS, Case, cases, documents

NEWEST = [case for case in cases() if case.backend in {"kai", "kueue"} and case.version == VERSIONS[case.backend][-1]]
SOURCE = "# Source: rendered/templates/"
CHART = "apiVersion: v2\nname: rendered\nversion: 0.1.0\n"


def identity(document: dict[str, Any]) -> tuple[str, ...]:
    """What makes an object itself; clients reorder objects."""
    metadata = document["metadata"]
    return document["apiVersion"], document["kind"], metadata.get("namespace", ""), metadata["name"]


def objects(text: str) -> list[dict[str, Any]]:
    """The objects of a stream, in one order."""
    loaded = yaml.load_all(text, yaml.CSafeLoader)
    return sorted((document for document in loaded if document is not None), key=identity)


@pytest.mark.parametrize("case", NEWEST, ids=str)
def test_kustomize_builds_them_as_a_resource(case: Case, tmp_path: Path) -> None:
    program = tool("kustomize")
    (tmp_path / "rendered.yaml").write_text(case.path.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "kustomization.yaml").write_text("resources: [rendered.yaml]\n", encoding="utf-8")
    assert objects(output(program, "build", ".", cwd=tmp_path)) == sorted(documents(case), key=identity)


@pytest.mark.parametrize("program", ["helm3", "helm4"])
def test_helm_templates_them_as_a_chart(program: str, tmp_path: Path) -> None:
    """All files in one chart: Helm names the template above each object."""
    helm = tool(program)
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text(CHART, encoding="utf-8")
    for case in NEWEST:
        text = case.path.read_text(encoding="utf-8").replace("{{", '{{ "{{" }}')
        (tmp_path / "templates" / f"{case}.yaml").write_text(text, encoding="utf-8")
    made: dict[str, list[str]] = {}
    for part in output(helm, "template", "rendered", ".", cwd=tmp_path).split(f"---\n{SOURCE}")[1:]:
        name, _, text = part.partition(".yaml\n")
        made.setdefault(name, []).append(text)
    for case in NEWEST:
        assert objects("---\n".join(made.pop(str(case), []))) == sorted(documents(case), key=identity), str(case)
    assert made == {}
