"""Quoting for a POSIX shell."""

from __future__ import annotations

import re

PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")


def quote(text: str) -> str:
    """The string as one word of a shell."""
    return text if PLAIN.fullmatch(text) else "'" + text.replace("'", "'\\''") + "'"
