"""Every example, for every version of every backend, as it was when a person last read it.

`pytest tests/test_golden.py --snapshot-update` rewrites the files; read the diff.
"""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from tools.golden import GOLDEN, VERSIONS, Case, GoldenExtension, cases, render


@pytest.mark.parametrize("case", cases(), ids=str)
def test_golden(case: Case, snapshot: SnapshotAssertion) -> None:
    assert render(case) == snapshot(extension_class=GoldenExtension)


@pytest.mark.parametrize("backend", sorted(VERSIONS))
def test_no_golden_is_an_orphan(backend: str) -> None:
    expected = {case.path.name for case in cases() if case.backend == backend}
    assert {path.name for path in (GOLDEN / backend).iterdir()} == expected
