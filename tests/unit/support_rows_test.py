"""The tables of support: every feature is answered, and every gap has a code of its own."""

from __future__ import annotations

import pytest

from bayplan.backends import BACKENDS
from bayplan.kube.kinds import KINDS
from bayplan.model.features import FEATURES, Need, Support
from bayplan.model.target import KNOWN, Target
from bayplan.planning.fidelity import CODES, compare

TABLES = {
    **{name: each.SUPPORT for name, each in BACKENDS.items()},
    **{name: each.SUPPORT for name, each in KINDS.items()},
}

COVERS = {"F600"}

REFUSED_BEFORE = {"workload-lws", "workload-volcano-job"}
"""W396 answers for these as long as bayplan cannot write them for any scheduler."""


@pytest.mark.parametrize("rows", TABLES.values(), ids=TABLES)
def test_rows_name_features_and_versions_that_exist(rows: tuple[Support, ...]) -> None:
    for row in rows:
        assert row.feature in FEATURES
        assert bool(row.since or row.until) <= bool(row.component)
        assert not row.component or row.component in KNOWN
        assert all(version in KNOWN[row.component] for version in (row.since, row.until) if version)
        assert (row.fidelity == "exact") == (not row.reason)
        assert (row.fidelity == "absent") == bool(row.word)


@pytest.mark.parametrize("rows", TABLES.values(), ids=TABLES)
def test_every_gap_has_a_code(rows: tuple[Support, ...]) -> None:
    closed = {
        row.feature for row in rows if row.fidelity == "exact" and row.up_to is None and not (row.since or row.until)
    }
    assert {row.feature for row in rows} - closed - set(CODES) - REFUSED_BEFORE == set()


def test_every_feature_is_answered_by_each_backend_or_by_every_kind() -> None:
    of_kinds = set.intersection(*({row.feature for row in each.SUPPORT} for each in KINDS.values()))
    for name, backend in BACKENDS.items():
        assert set(FEATURES) - {row.feature for row in backend.SUPPORT} - of_kinds == set(), name


def test_codes_are_given_once() -> None:
    assert len(set(CODES.values())) == len(CODES)
    assert set(CODES) <= set(FEATURES)


def test_a_feature_without_a_row_is_absent_and_has_a_code() -> None:
    need = Need("gang", 3, ("workflow", "spec", "gangs", 0, "name"))
    (gap,) = compare([need], (), Target(), "a scheduler of few words")
    assert (gap.code, gap.severity) == ("F600", "error")
