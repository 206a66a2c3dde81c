"""Every example, for every version of every backend, as it was when a person last read it.

`pytest tests/test_golden.py --snapshot-update` rewrites the files; read the diff.
"""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from bayplan.backends import BACKENDS
from bayplan.model.target import KNOWN, minor
from tools.golden import GOLDEN, VERSIONS, Case, GoldenExtension, cases, render
from tools.run import ROOT


@pytest.mark.parametrize("case", cases(), ids=str)
def test_golden(case: Case, snapshot: SnapshotAssertion) -> None:
    assert render(case) == snapshot(extension_class=GoldenExtension)


@pytest.mark.parametrize("backend", sorted(VERSIONS))
def test_no_golden_is_an_orphan(backend: str) -> None:
    expected = {case.path.name for case in cases() if case.backend == backend}
    assert {path.name for path in (GOLDEN / backend).iterdir()} == expected


def test_every_backend_has_goldens() -> None:
    assert sorted(VERSIONS) == sorted(BACKENDS)


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_known_version_has_goldens(backend: str) -> None:
    """Each minor version; of Kubernetes those at which the manifests change."""
    known = list(dict.fromkeys(map(minor, KNOWN[BACKENDS[backend].declared.component])))
    rendered = [minor(each) for each in VERSIONS[backend]]
    partly = BACKENDS[backend].declared.component == "kubernetes"
    assert rendered == [each for each in known if each in rendered or not partly]
    assert rendered[-1] == known[-1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend_has_a_page(backend: str) -> None:
    assert (ROOT / "docs" / "schedulers" / f"{backend}.md").is_file()
