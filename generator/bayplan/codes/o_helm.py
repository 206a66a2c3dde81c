"""Output: Helm's plugins."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "O820": "no message is kept",
    "O821": "a Helm that cannot be asked",
    "O822": "a Helm without plugins of this kind",
    "O823": "a foreign plugin in the way",
}
"""Code -> what it is about."""
