"""The order of environment variables."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.kube.pod import entries


def names(env: Mapping[str, str]) -> list[str]:
    return [entry["name"] for entry in entries(env)]


@pytest.mark.parametrize(
    ("env", "order"),
    [
        pytest.param({}, "", id="none"),
        pytest.param({"C": "1", "A": "2", "B": "3"}, "ABC", id="by-name"),
        pytest.param({"A": "$(C)/x", "B": "", "C": "1"}, "CAB", id="a-reference"),
        pytest.param({"A": "$(B)", "B": "$(C)", "C": "$(D)", "D": "1"}, "DCBA", id="a-chain"),
        pytest.param({"A": "$(D) $(C)", "B": "", "C": "", "D": ""}, "CDAB", id="several-by-name"),
        pytest.param({"A": "$(B)$(C)", "B": "$(D)", "C": "$(D)", "D": ""}, "DBCA", id="a-diamond"),
        pytest.param({"A": "$(HOME) $(", "B": "$(A"}, "AB", id="no-references"),
        pytest.param({"A": "$(A)", "B": ""}, "AB", id="itself"),
        pytest.param({"A": "$(B)", "B": "$(A)", "C": ""}, "BAC", id="a-circle-of-two"),
        pytest.param({"A": "$(B)", "B": "$(C)", "C": "$(A)"}, "CBA", id="a-circle-of-three"),
        pytest.param({"A": "$(C)", "B": "$(C)", "C": "$(B)"}, "BCA", id="entered-from-outside"),
        pytest.param({"A": "$$(B)", "B": ""}, "BA", id="an-escape-counts"),
        pytest.param({"A": "$($(B))", "B": ""}, "BA", id="nested"),
    ],
)
def test_the_order(env: dict[str, str], order: str) -> None:
    assert names(env) == list(order)
    assert names(dict(reversed(env.items()))) == list(order)


def test_values_stay_as_they_are() -> None:
    assert entries({"A": "$(B)", "B": "$$(A)"}) == ({"name": "B", "value": "$$(A)"}, {"name": "A", "value": "$(B)"})


@given(st.dictionaries(st.sampled_from("ABCDEFGH"), st.lists(st.sampled_from("ABCDEFGHX"))))
def test_every_variable_comes_once_and_after_what_it_refers_to(wanted: dict[str, list[str]]) -> None:
    acyclic = {name: [other for other in others if other > name] for name, others in wanted.items()}
    for references in (wanted, acyclic):
        made = names({name: "".join(f"$({other})" for other in others) for name, others in references.items()})
        assert sorted(made) == sorted(references)
    place = {name: number for number, name in enumerate(made)}
    assert all(place[b] < place[a] for a, others in acyclic.items() for b in others if b in place)


@pytest.mark.parametrize("reach", [1, 200], ids=["a-chain", "many-each"])
def test_two_thousand_variables_take_no_time(reach: int) -> None:
    keys = [f"V{number:04}" for number in range(2000)]
    env = {key: "".join(f"$({other})" for other in keys[i + 1 : i + 1 + reach]) for i, key in enumerate(keys)}
    before = time.process_time()
    assert names(env) == keys[::-1]
    assert time.process_time() - before < 5
