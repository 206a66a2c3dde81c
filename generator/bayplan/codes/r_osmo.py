"""Reading OSMO files: sections, variables, templates, files beside them."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {}
