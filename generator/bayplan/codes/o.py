"""Output: writing what was made."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "O801": "two workflows make one object",
    "O802": "an output that cannot be written",
    "O803": "no room for the output",
    "O804": "a foreign file in the way",
    "O805": "the output is not up to date",
    "O806": "an index that cannot be trusted",
    "O807": "init would overwrite a file",
    "O808": "several files for one text",
    "O811": "scripts that are no objects",
}
"""Code -> what it is about."""
