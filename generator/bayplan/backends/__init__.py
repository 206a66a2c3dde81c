"""One file per scheduler."""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.backends import kai
from bayplan.model.backend import Backend

BACKENDS: Mapping[str, Backend] = {kai.NAME: kai}

LATER = ("volcano", "kueue", "koordinator", "native", "slurm", "none")
"""Schedulers that are planned: asking for one is answered "not yet", not "unknown"."""
