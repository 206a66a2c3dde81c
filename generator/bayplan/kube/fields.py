"""Optional fields of a manifest."""

from __future__ import annotations

from typing import Any


def given(**fields: Any) -> dict[str, Any]:
    """The fields that hold something."""
    return {name: value for name, value in fields.items() if value}
