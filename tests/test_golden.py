"""Every example, for every version of every backend, as it was when a person last read it. By default each file is made
once, for the newest of the versions that share it.

`python tests/tools/refresh_golden.py` rewrites the files; read the diff.
"""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from bayplan.backends import BACKENDS
from bayplan.model.target import KNOWN, minor
from tools.effort import LONG
from tools.golden import GOLDEN, INSTEAD, VERSIONS, Case, GoldenExtension, cases, examples, render, shared
from tools.run import ROOT


@pytest.mark.parametrize("example", examples())
@pytest.mark.parametrize("backend", VERSIONS)
def test_golden(backend: str, example: str, snapshot: SnapshotAssertion) -> None:
    every = [Case(backend, version, example) for version in VERSIONS[backend]]
    for case in every if LONG else {case.path: case for case in every}.values():
        assert render(case) == snapshot(name=case.path.stem, extension_class=GoldenExtension)


def test_versions_share_a_file_only_in_the_table() -> None:
    """A row for each file; each version is in a row; no two files of an example are the same."""
    assert shared().keys() == set(cases())
    texts = {path: path.read_text(encoding="utf-8") for path in {case.path for case in cases()}}
    assert len({(path.parent, path.name.partition("@")[0], text) for path, text in texts.items()}) == len(texts)


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
