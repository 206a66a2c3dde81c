"""Output of `bayplan generate`: files that are kept up to date."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "O809": "generated files have changed",
    "O810": "a stale file that is no longer ours",
}
"""Code -> what it is about."""
