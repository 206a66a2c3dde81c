"""One file per workflow format. Each reads its format into a `Workflow` and says where its parts came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bayplan.model.workflow import Workflow
from bayplan.workflows import native, osmo, sbatch, torchx

if TYPE_CHECKING:
    from bayplan.model.formats import Format, TextFormat


_EACH: tuple[TextFormat, ...] = (osmo, torchx, sbatch)

FORMATS: Mapping[str, Format[Workflow]] = {native.NAME: native, **{each.NAME: each for each in _EACH}}
"""By name, in the order in which they sniff."""

TEXTS: Mapping[str, TextFormat] = {each.NAME: each for each in _EACH}
"""Those whose files are texts of their own, which are made data by the format itself."""
