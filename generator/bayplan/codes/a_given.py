"""Selection: workloads that are there, against what they are to be given."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "A950": "the workload says something else than its placement needs",
    "A951": "an object of somebody else has the name that is needed",
    "A952": "two workloads need objects of one name",
}
