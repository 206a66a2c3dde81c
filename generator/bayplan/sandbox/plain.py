"""JSON -> values of YAML: keys that are no texts, dates and bytes included.

A mapping is `{"map": [[key, value], ...]}`, a date `{"date": "2024-01-31"}`, bytes are hexadecimal. Whoever asks packs
them so (`bayplan.workflows.osmo.text.packing`).
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Any


def unpack(packed: Any) -> Any:
    """The value that was packed."""
    if isinstance(packed, list):
        return [unpack(item) for item in packed]
    if not isinstance(packed, dict):
        return packed
    ((kind, inner),) = packed.items()
    if kind == "map":
        return {unpack(key): unpack(item) for key, item in inner}
    makers: dict[str, Any] = {"datetime": datetime.fromisoformat, "date": date.fromisoformat, "bytes": bytes.fromhex}
    return makers[kind](inner)
