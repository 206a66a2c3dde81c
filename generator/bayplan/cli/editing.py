"""Edits of a topology file: a YAML file keeps every byte that is not edited, a JSON file its order.

What is written is read again: only a text that says exactly what was wanted is taken.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from bayplan.core.diagnostics import Outcome, error
from bayplan.text import patch
from bayplan.text.document import Document, read
from bayplan.text.edits import Edit, edited


def apply(document: Document, edits: Iterable[Edit]) -> Outcome[str]:
    """The text of a topology file with the edits. W499: that would change its meaning."""
    edits = tuple(edits)
    wanted = edited(document.data, edits)
    try:
        json.loads(document.text)
    except ValueError:
        text = patch.edited(document.text, document.data, edits)
        again = read(document.name, (text or "").encode("utf-8", "surrogatepass"), "topology").value or ()
        if text is not None and len(again) == 1 and again[0].data == wanted:
            return Outcome(text)
        message = "the file cannot be changed without changing its meaning"
        return Outcome(None, (error("W499", ("topology",), message, hint="make the changes by hand"),))
    return Outcome(f"{json.dumps(wanted, indent=2, ensure_ascii=False)}\n")
