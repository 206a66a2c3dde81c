"""Fidelity: placements that exist and that KAI does not find."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "F690": "KAI's estimate finds no domain for pods of different size",
    "F691": "KAI 0.10.4 to 0.12 overlooks a domain that is not divided",
}
