"""The packaged table of pod template fields equals what its tool writes."""

from __future__ import annotations

import json

import pytest

kubernetes_validate = pytest.importorskip("kubernetes_validate")


def test_the_table_is_fresh() -> None:
    from tools import generate_pod_fields

    assert generate_pod_fields.FILE.read_text() == generate_pod_fields.text()


def test_every_type_is_in_the_table() -> None:
    from tools import generate_pod_fields

    table = json.loads(generate_pod_fields.FILE.read_text())
    plain = {"string", "integer", "boolean", "number", "any"}
    used = {name for fields in table.values() for kind in fields.values() for name in generate_pod_fields.names(kind)}
    assert used - set(table) == set()
    flat = {kind for fields in table.values() for kind in fields.values() if isinstance(kind, str)}
    assert {kind for kind in flat if not kind[0].isupper()} <= plain
