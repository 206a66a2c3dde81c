"""Fidelity: volcano."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "F640": "Volcano's subgroups hold no others",
    "F641": "a Volcano release that cannot be relied on",
    "F642": "Volcano knows no level of a single node",
    "F643": "Volcano places pods without requests anywhere",
    "F644": "more than a Volcano Job can say",
    "F646": "Volcano counts a subgroup's pods together",
    "F647": "a subgroup's name that is too long for Volcano",
    "F648": "Volcano aligns whole CPUs alone",
}
