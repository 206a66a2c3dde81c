"""The tables of support: every feature is answered, and every gap has a code of its own."""

from __future__ import annotations

import json

import pytest

import support
from bayplan.backends import BACKENDS, existing
from bayplan.cli.schedulers import extent
from bayplan.core.package_data import data_text
from bayplan.kube.kinds import CONTROLLED, KINDS
from bayplan.model.backend import FEATURES, Backend, Feature, Need, Support, never
from bayplan.model.existing import Existing
from bayplan.model.target import KNOWN, TITLES, Target, minor
from bayplan.planning.fidelity import compare
from bayplan.report.codes import sections

TABLES = {
    **{name: each.declared.support for name, each in BACKENDS.items()},
    **{name: each.SUPPORT for name, each in KINDS.items()},
}

COVERS = {"F600", "F609"}

OWN: dict[str, dict[str, Feature]] = {name: dict(each.declared.features) for name, each in BACKENDS.items()}


def feature(table: str, name: str) -> Feature | None:
    """What a table's rows of that name are about."""
    return {**FEATURES, **OWN.get(table, {})}.get(name)


@pytest.mark.parametrize("table", TABLES)
def test_rows_name_features_and_versions_that_exist(table: str) -> None:
    for row in TABLES[table]:
        assert feature(table, row.feature)
        assert bool(row.since or row.until) <= bool(row.component)
        assert not row.component or row.component in KNOWN.keys() & TITLES.keys()
        assert all(minor(version) in KNOWN[row.component] for version in (row.since, row.until) if version)
        assert (row.fidelity == "exact") == (not (row.reason or row.hint))
        assert (row.fidelity == "absent") == bool(row.word)


def test_a_topology_states_versions_of_what_has_releases() -> None:
    """The schema's list of components is that of the table, and its examples are releases."""
    spec = json.loads(data_text("schemas", "cluster-topology.json"))["properties"]["spec"]["properties"]
    stated = spec["versions"]["properties"]
    assert stated.keys() == KNOWN.keys()
    assert [name for name, field in stated.items() if minor(field["examples"][0]) not in KNOWN[name]] == []


def test_every_feature_is_answered_by_each_backend_or_by_every_kind() -> None:
    """Kinds whose controllers make the pods answer what those of jobs answer, and their own features."""
    rows = {kind: {row.feature for row in each.SUPPORT} for kind, each in KINDS.items()}
    of_jobs = set.intersection(*(own for kind, own in rows.items() if kind not in CONTROLLED))
    own = set.union(*(rows[kind] - of_jobs for kind in CONTROLLED))
    assert [(kind, gone) for kind in CONTROLLED if (gone := of_jobs - rows[kind] - {"depends-on"})] == []  # W306
    for name, backend in BACKENDS.items():
        asked = {*FEATURES, *backend.declared.features}
        assert asked - {row.feature for row in backend.declared.support} - of_jobs - own == set(), name


def test_every_feature_has_a_documented_code() -> None:
    codes = {each.code for table in (FEATURES, *OWN.values()) for each in table.values()}
    assert codes <= sections().keys()


def test_a_feature_without_a_row_is_absent_and_has_a_code() -> None:
    need = Need("gang", 3, ("workflow", "spec", "gangs", 0, "name"))
    (gap,) = compare([need], (), Target(), "a scheduler of few words")
    assert (gap.code, gap.severity) == ("F600", "error")
    assert gap.message == f"a scheduler of few words does not support {FEATURES['gang'].meaning}"


ROWS = (
    Support("gang", up_to=2, component="kai", since="0.15"),
    never("gang", "KAI below 0.15 starts at most 2 pods together", component="kai", until="0.15"),
    never("gang"),
)


@pytest.mark.parametrize(
    ("version", "text"),
    [
        ("0.14", 'gang "a" has 3 pods: KAI below 0.15 starts at most 2 pods together; the target is KAI 0.14'),
        ("0.15", 'gang "a" has 3 pods: KAI 0.15 supports at most 2 pods'),
    ],
)
def test_a_message_names_what_was_found_where_rows_limit_it(version: str, text: str) -> None:
    target = Target({"kai": version})
    (gap,) = compare([Need("gang", 3, (), subject='gang "a"')], ROWS, target, target.title("kai"))
    assert gap.message == text


@pytest.mark.parametrize(("name", "code"), [("deadline", "F609")])
def test_what_no_scheduler_lacks_today_still_has_its_code(name: str, code: str) -> None:
    """Every kind of jobs has a deadline."""
    lacking = Support(name, "absent", word="no", reason="it has none")
    (gap,) = compare([Need(name, 1, ())], (lacking,), Target(), "a scheduler of few words")
    assert (gap.code, gap.severity) == (code, "error")


@pytest.mark.parametrize("kind", ["pods", "job", "jobset"])
def test_a_kind_that_means_nothing_to_a_scheduler_cannot_be_accepted(kind: str) -> None:
    """Slurm would get its script and Kubernetes the same job once more."""
    gang = {**support.pretrain(), "workload": kind}
    every = frozenset(each.code for each in FEATURES.values())
    result = support.run(support.workflow(gang), scheduler="slurm", accept=every)
    assert result.compiled is None


@pytest.mark.parametrize("name", BACKENDS)
def test_a_backend_declares_the_values_of_the_contract(name: str) -> None:
    """mypy holds the values to their types; they are found by name."""
    assert isinstance(BACKENDS[name], Backend)
    assert BACKENDS[name].declared.name == name
    assert isinstance(existing(name), Existing)
    assert set(BACKENDS[name].declared.folds) <= set(BACKENDS[name].declared.kinds)


@pytest.mark.parametrize(
    ("since", "until", "up_to", "shown"),
    [
        ("", "", None, ""),
        ("0.15", "", None, "KAI 0.15 and later"),
        ("", "0.17", None, "KAI below 0.17"),
        ("0.15", "0.17", None, "KAI 0.15 to below 0.17"),
        ("", "", 8, "at most 8 nodes"),
        ("0.15", "", 8, "at most 8 nodes, KAI 0.15 and later"),
    ],
)
def test_how_far_a_row_reaches_is_said(since: str, until: str, up_to: int | None, shown: str) -> None:
    row = BACKENDS["kai"].declared.support[0]._replace(component="kai", since=since, until=until, up_to=up_to)
    assert extent(row, "nodes") == shown
