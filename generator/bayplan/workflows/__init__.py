"""One module for each workflow format. It reads the format into a `Workflow` and records the origins of its parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bayplan.model.workflow import Workflow
from bayplan.workflows import native, osmo, sbatch, torchx

if TYPE_CHECKING:
    from bayplan.model.formats import Format, TextFormat


_EACH: tuple[TextFormat, ...] = (osmo, torchx, sbatch)

FORMATS: Mapping[str, Format[Workflow]] = {native.NAME: native, **{each.NAME: each for each in _EACH}}
"""By name, in the order of detection."""

TEXTS: Mapping[str, TextFormat] = {each.NAME: each for each in _EACH}
"""Formats whose files are not YAML or JSON data. The format itself parses them."""
