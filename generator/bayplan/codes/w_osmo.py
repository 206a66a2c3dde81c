"""OSMO workflows: the rules of the format, and what manifests cannot do."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {}
