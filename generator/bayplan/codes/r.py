"""Reading: bytes -> text -> data."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "R101": "a file cannot be read",
    "R102": "not a regular file",
    "R103": "too large a file",
    "R104": "not UTF-8",
    "R105": "a character that may not stand in a text",
    "R106": "no document in the file",
    "R107": "broken YAML",
    "R108": "a tab in the indentation",
    "R109": "broken JSON",
    "R110": "a key given twice",
    "R111": "an unquoted scalar that readers disagree on",
    "R112": "a key that is not a text",
    "R113": "a tag without meaning",
    "R114": "a number that cannot be held",
    "R115": "too deep nesting",
    "R116": "an alias that leads nowhere",
    "R117": "half of a surrogate pair",
    "R118": "aliases that stand for too much",
    "R119": "a merge key that cannot be followed",
}
"""Code -> what it is about. R101 to R103 belong to files, the others to `document.read`."""
