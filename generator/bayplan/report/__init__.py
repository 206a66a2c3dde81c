"""Diagnostics -> findings with files, lines and columns -> text, json, github or sarif.

`batch` is what a run collects, `findings` makes places of routes, `formats` writes. Only here is a route turned into a
place, in one more pass over the text; a run without diagnostics loads nothing but `batch`.
"""

from __future__ import annotations

FORMATS = ("text", "json", "github", "sarif")
"""How findings can be written."""
