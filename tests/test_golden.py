"""Every example, for every version of every backend, as it was when a person last read it.

`python tests/tools/refresh_golden.py` rewrites the files; read the diff.
"""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from bayplan.backends import BACKENDS
from bayplan.model.target import KNOWN, minor
from tools.golden import GOLDEN, INSTEAD, VERSIONS, Case, GoldenExtension, cases, render
from tools.run import ROOT


@pytest.mark.parametrize("case", cases(), ids=str)
def test_golden(case: Case, snapshot: SnapshotAssertion) -> None:
    assert render(case) == snapshot(extension_class=GoldenExtension)


@pytest.mark.parametrize("backend", sorted(VERSIONS))
def test_no_golden_is_an_orphan(backend: str) -> None:
    expected = {case.path.name for case in cases() if case.backend == backend}
    assert {path.name for path in (GOLDEN / backend).iterdir()} == expected


def test_only_known_releases_have_others_that_speak_for_them() -> None:
    """And the newest speaks for itself."""
    for backend, instead in INSTEAD.items():
        known = KNOWN[BACKENDS[backend].declared.component]
        assert set(instead) < set(known)
        assert {minor(each) for each in instead.values()} <= set(map(minor, known))
        assert VERSIONS[backend][-1] == known[-1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend_has_a_page(backend: str) -> None:
    assert (ROOT / "docs" / "reference" / "schedulers" / f"{backend}.md").is_file()
