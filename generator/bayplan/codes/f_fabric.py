"""Fidelity: what schedulers make of network cards."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "F750": "network cards as extended resources",
    "F751": "network cards claimed through DRA",
    "F752": "secondary networks of pods",
    "F753": "a fixed address of rank 0",
}
