"""Laying a template over a generated pod, as a strategic merge patch does."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.kube.merge import overlay

CASES: dict[str, tuple[Any, Any, Any]] = {
    "a new key": ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
    "a scalar is replaced": ({"a": 1}, {"a": 2}, {"a": 2}),
    "maps merge": ({"a": {"x": 1, "y": 2}}, {"a": {"y": 3}}, {"a": {"x": 1, "y": 3}}),
    "null deletes": ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
    "null of nothing is nothing": ({"b": 2}, {"a": None}, {"b": 2}),
    "null in a new map is nothing": ({}, {"a": {"x": None, "y": 1}}, {"a": {"y": 1}}),
    "a list without merge key is replaced": ({"args": ["a", "b"]}, {"args": ["c"]}, {"args": ["c"]}),
    "an empty list empties": ({"args": ["a"]}, {"args": []}, {"args": []}),
    "tolerations are one value": (
        {"tolerations": [{"key": "a"}]},
        {"tolerations": [{"key": "b"}]},
        {"tolerations": [{"key": "b"}]},
    ),
    "containers merge by name": (
        {"containers": [{"name": "a", "image": "x"}, {"name": "b"}]},
        {"containers": [{"name": "c"}, {"name": "a", "image": "y"}]},
        {"containers": [{"name": "a", "image": "y"}, {"name": "b"}, {"name": "c"}]},
    ),
    "env merges by name": (
        {"env": [{"name": "A", "value": "1"}]},
        {"env": [{"name": "B", "value": "2"}, {"name": "A", "value": "3"}]},
        {"env": [{"name": "A", "value": "3"}, {"name": "B", "value": "2"}]},
    ),
    "spread constraints merge by both their keys": (
        {"topologySpreadConstraints": [{"topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 1}]},
        {
            "topologySpreadConstraints": [
                {"topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway", "maxSkew": 2},
                {"topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 3},
            ]
        },
        {
            "topologySpreadConstraints": [
                {"topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 3},
                {"topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway", "maxSkew": 2},
            ]
        },
    ),
    "two new spread constraints of one key stay two": (
        {},
        {
            "topologySpreadConstraints": [
                {"topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"},
                {"topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway"},
            ]
        },
        {
            "topologySpreadConstraints": [
                {"topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"},
                {"topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway"},
            ]
        },
    ),
    "a volume of the same name is replaced": (
        {"volumes": [{"name": "a", "emptyDir": {"medium": "Memory"}}, {"name": "b"}]},
        {"volumes": [{"name": "a", "hostPath": {"path": "/x", "type": None}}]},
        {"volumes": [{"name": "a", "hostPath": {"path": "/x"}}, {"name": "b"}]},
    ),
    "a claim of the same name is replaced": (
        {"resourceClaims": [{"name": "a", "resourceClaimTemplateName": "t"}]},
        {"resourceClaims": [{"name": "a", "resourceClaimName": "c"}]},
        {"resourceClaims": [{"name": "a", "resourceClaimName": "c"}]},
    ),
    "entries of the base that look alike all stay": (
        {"ports": [{"name": "a", "containerPort": 80}, {"name": "b", "containerPort": 80}]},
        {"ports": [{"containerPort": 80, "hostPort": 80}]},
        {"ports": [{"name": "a", "containerPort": 80, "hostPort": 80}, {"name": "b", "containerPort": 80}]},
    ),
    "volumeMounts merge by path": (
        {"volumeMounts": [{"mountPath": "/a", "name": "x"}]},
        {"volumeMounts": [{"mountPath": "/a", "readOnly": True}]},
        {"volumeMounts": [{"mountPath": "/a", "name": "x", "readOnly": True}]},
    ),
}


@pytest.mark.parametrize(("base", "patch", "merged"), CASES.values(), ids=CASES)
def test_overlay(base: Any, patch: Any, merged: Any) -> None:
    assert overlay(base, patch) == merged


def test_neither_side_is_changed() -> None:
    base, patch = {"containers": [{"name": "a"}]}, {"containers": [{"name": "a", "image": "x"}]}
    overlay(base, patch)
    assert (base, patch) == ({"containers": [{"name": "a"}]}, {"containers": [{"name": "a", "image": "x"}]})
