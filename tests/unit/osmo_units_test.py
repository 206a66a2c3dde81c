"""Amounts, durations, exit codes, types and tokens of OSMO, each as OSMO 6.4 reads it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.kube import quantity as kube_quantity
from bayplan.plugins.osmo import tokens
from bayplan.plugins.osmo.tokens import Token, find, misspelt, replace
from bayplan.plugins.osmo.units import (
    UNITS,
    exit_codes,
    flag,
    k8s_name,
    plain,
    quantity,
    seconds,
    split_amount,
    text,
    whole,
)

SECONDS: list[tuple[Any, int | None]] = [
    (10, 10),
    (1.5, 2),
    (0, 0),
    ("2d", 172800),
    ("1h", 3600),
    ("90m", 5400),
    ("45s", 45),
    ("5ms", 1),
    ("2000001us", 3),
    ("PT1H30M", 5400),
    ("PT10M\n", 600),
    ("٣m", 180),
    ("P1D", 86400),
    ("P1DT1S", 86401),
    ("PT0.1S", 1),
    ("1h30m", None),
    ("10", None),
    ("1.5h", None),
    ("h", None),
    ("ms", None),
    ("-5m", None),
    ("", None),
    ("P", None),
    ("PT", None),
    ("PT1M1H", None),
    ("pt1h", None),
    ("P1W", None),
    (-1, None),
    (True, None),
    (None, None),
    ([], None),
    (float("nan"), None),
    (float("inf"), None),
    (10**30, None),
    ("9" * 18 + "d", None),
    ("9" * 5000 + "s", None),
    ("P" + "9" * 5000 + "D", None),
]


@pytest.mark.parametrize(("value", "expected"), SECONDS, ids=lambda each: str(each)[:20])
def test_durations(value: Any, expected: int | None) -> None:
    assert seconds(value) == expected


AMOUNTS: list[tuple[Any, str | None]] = [
    ("64Gi", "64Gi"),
    ("64G", "64Gi"),
    ("64GiB", "64Gi"),
    ("1.5Gi", "1536Mi"),
    ("2048Mi", "2Gi"),
    ("1Ti", "1Ti"),
    ("2K", "2048"),
    ("7B", "7"),
    ("0.1B", "1"),
    (0.1, None),
    (0.11, "1"),
    (16, "16"),
    (1.5, "2"),
    ("16", "16"),
    ("0Gi", "0"),
    ("1m", "1"),
    ("0.3Ki", "308"),
    ("64GB", None),
    ("64gi", None),
    ("5Pi", None),
    ("5k", None),
    ("1e3", None),
    (1e20, None),
    ("-1Gi", None),
    (".5Gi", None),
    ("5.Gi", None),
    ("1 Gi", None),
    ("1Gi\n", None),
    ("", None),
    (True, None),
    (None, None),
    ("9999999Ti", None),
    ("1" * 65, None),
    (16**5000, None),
]


@pytest.mark.parametrize(("value", "expected"), AMOUNTS, ids=[str(number) for number, _ in enumerate(AMOUNTS)])
def test_amounts(value: Any, expected: str | None) -> None:
    assert quantity(value) == expected


@given(st.integers(0, 10**9), st.integers(0, 999), st.sampled_from(sorted(UNITS)))
def test_an_amount_keeps_its_bytes(whole_part: int, fraction: int, unit: str) -> None:
    written = f"{whole_part}.{fraction:03}{unit}"
    exact = Fraction(f"{whole_part}.{fraction:03}") * Fraction(2) ** UNITS[unit]
    made = quantity(written)
    if made is None:
        assert exact > 2**63 - 1
    else:
        assert kube_quantity.parse(made) == -(-exact // 1) * 1000


def test_an_amount_in_parts() -> None:
    assert split_amount("1.5Gi") == (Fraction(3, 2), "Gi")
    assert split_amount(16) == (16, "")
    assert split_amount("16GB") is None


CODES: list[tuple[Any, tuple[tuple[int, int], ...] | None]] = [
    ("0-10,16", ((0, 10), (16, 16))),
    ("٣", ((3, 3),)),
    ("3", ((3, 3),)),
    (3, ((3, 3),)),
    ("9-3", ()),
    ("9-3,4", ((4, 4),)),
    ("1, 2", None),
    ("1-2-3", None),
    ("1-23-4", None),
    ("-1", None),
    ("", None),
    ("1,", None),
    (1.5, None),
    (True, None),
]


@pytest.mark.parametrize(("value", "expected"), CODES, ids=str)
def test_exit_codes(value: Any, expected: Any) -> None:
    assert exit_codes(value) == expected


def test_names() -> None:
    assert k8s_name("Rank_0-A") == "rank-0-a"


def test_scalars() -> None:
    assert [text(each) for each in ("x", 5, 0.5, True, 1e20)] == ["x", "5", "0.5", "True", "1e+20"]
    assert text(16**5000).startswith("0x1")
    assert [flag(each) for each in (True, 1, 1.0, "Yes", "on", "T", "1")] == [True] * 7
    assert [flag(each) for each in (False, 0, "no", "OFF", "f", "0")] == [False] * 6
    assert [whole(each) for each in (4, 4.0, "4", " 4 ", "4.0", "+4")] == [4] * 6


def test_data_in_one_type_a_field() -> None:
    task = {
        "name": "a",
        "image": 5,
        "command": ["x", 1],
        "lead": "no",
        "environment": {"A": True},
        "credentials": {"c": {"K": 1}, "d": 5},
        "files": [{"path": 1, "contents": 2.5, "base64": "0"}],
        "cacheSize": None,
        "kpis": [{"index": 1, "path": "p"}],
    }
    resource = {"cpu": "2", "gpu": 1.0, "memory": 16, "storage": None, "nodesExcluded": [7]}
    timeout = {"exec_timeout": 5, "queue_timeout": None}
    made = plain({"workflow": {"name": "w", "tasks": [task], "resources": {"default": resource}, "timeout": timeout}})
    workflow = made["workflow"]
    assert workflow["tasks"] == [
        {
            "name": "a",
            "image": "5",
            "command": ["x", "1"],
            "lead": False,
            "environment": {"A": "True"},
            "credentials": {"c": {"K": "1"}, "d": "5"},
            "files": [{"path": "/1", "contents": "2.5", "base64": False}],
            "kpis": [{"index": "1", "path": "p"}],
        }
    ]
    assert workflow["resources"] == {"default": {"cpu": 2, "gpu": 1, "memory": "16", "nodesExcluded": ["7"]}}
    assert workflow["timeout"] == {"exec_timeout": 5}
    assert plain(made) == made


def test_tokens_are_found_in_order() -> None:
    found = find("a {{host:rank_0}} {{ output }}{{input:0}} {{workflow_id}} {{uuid}} {{other}} {{host:a b}}")
    assert [(each.kind, each.name) for each in found] == [
        ("host", "rank_0"),
        ("output", ""),
        ("input", "0"),
        ("workflow_id", ""),
        ("uuid", ""),
    ]
    assert found[1].text == "{{ output }}"
    assert find("plain") == ()


def test_tokens_are_replaced() -> None:
    def value(token: Token) -> str | None:
        return {"host": f"<{token.name}>", "output": "/out"}.get(token.kind)

    assert replace("{{host:a}}:{{ host:b }} {{output}}{{uuid}} {{x}}", value) == "<a>:<b> /out{{uuid}} {{x}}"
    assert replace("plain", value) == "plain"


@pytest.mark.parametrize(
    "word", ["{{hosts:a}}", "{{ host: a }}", "{{host :a}}", "{{Output}}", "{{workflow-id}}", "{{ inputs:0 }}"]
)
def test_what_is_almost_a_token(word: str) -> None:
    assert misspelt(f"x {word} y") == (word,)
    assert find(word) == ()


@pytest.mark.parametrize(
    "word", ["{{host:a}}", "{{ output }}", "{{outputs.x}}", "{{ .Values.host }}", "{{name}}", "{x}"]
)
def test_what_is_no_mistake(word: str) -> None:
    assert misspelt(word) == ()


def test_texts_of_a_value() -> None:
    data = {"a": ["x", 5, {"b": "y"}], "c": None}
    assert list(tokens.texts(data, ("r",))) == [("x", ("r", "a", 0)), ("y", ("r", "a", 2, "b"))]
