"""The page that compares workflows with examples of upstream lists exactly the fields that rendered manifests lack."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from judges import UPSTREAM
from tools.data import parse_all
from tools.docs import steps
from tools.run import EXAMPLES, ROOT, bayplan

PAGE = (ROOT / "docs" / "explanation" / "upstream-examples.md").read_text(encoding="utf-8")
HEAD = "| missing field | what to know |\n|---|---|\n"
LLM_D = "kustomize/llm-d-wide-ep/guides/wide-ep-lws/modelserver/gpu/vllm/base"
NAMED = frozenset({"annotations", "labels", "limits", "requests", "selector"})
"""Maps whose keys users choose."""


@pytest.mark.parametrize(
    ("section", "folder", "upstream"),
    [
        ("Wide expert parallelism of llm-d", "disaggregated-lws", (f"{LLM_D}/decode.yaml", f"{LLM_D}/prefill.yaml")),
        ("vLLM on two nodes", "vllm", ("lws/docs__examples__vllm__GPU__lws.yaml",)),
    ],
)
def test_the_page_lists_the_fields_that_only_upstream_has(
    section: str, folder: str, upstream: tuple[str, ...], tmp_path: Path
) -> None:
    files = [UPSTREAM / "examples" / each for each in upstream]
    if not all(each.is_file() for each in files):
        pytest.skip("there are no examples of upstream")
    text = PAGE.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    workflow = EXAMPLES / folder / "workflow.yaml"
    for step in (each for each in steps(text) if each.file):
        workflow = tmp_path / step.file
        workflow.write_text(step.command, encoding="utf-8")
    rendered = bayplan("render", str(workflow), "-t", str(EXAMPLES / folder / "topology.yaml"))
    assert rendered.returncode == 0, rendered.stderr
    theirs = set[str]().union(*(fields(each.read_text("utf-8")) for each in files))
    rows = text.partition(HEAD)[2].partition("\n\n")[0].splitlines()
    listed = [name for row in rows for name in re.findall(r"`([^`]+)`", row.split(" | ")[0])]
    assert theirs
    assert sorted(listed) == sorted(theirs - fields(rendered.stdout))


def fields(manifests: str) -> set[str]:
    """The fields of pod templates, from the pod's `spec` on, and of LeaderWorkerSets and Services, from the kind on."""
    documents = [each for each in parse_all(manifests) if each["kind"] in ("LeaderWorkerSet", "Service")]
    paths = {".".join(path) for each in documents for path in _paths((each["kind"],), each)}
    return {re.sub(r"^.*(?:leader|worker)Template\.spec\.", "", each) for each in paths}


def _paths(above: tuple[str, ...], value: Any) -> Iterator[tuple[str, ...]]:
    """Each field with a value. Entries of a list, and keys that users choose, are one field."""
    inside = value.items() if isinstance(value, dict) and above[-1] not in NAMED else ()
    below = [((*above, key), each) for key, each in inside] or [(above, each) for each in _entries(value)]
    for path, each in below:
        yield from _paths(path, each)
    if not below:
        yield above


def _entries(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
