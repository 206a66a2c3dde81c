"""Fidelity: koordinator."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {}
