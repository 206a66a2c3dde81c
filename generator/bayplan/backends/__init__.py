"""The table of schedulers that bayplan can write for; each is one module or package here."""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.backends import kai
from bayplan.model.backend import Backend

BACKENDS: Mapping[str, Backend] = {kai.NAME: kai}
