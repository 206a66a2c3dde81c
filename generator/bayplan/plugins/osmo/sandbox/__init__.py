"""Renders an untrusted template in another process, with limits for time and memory.

    parent      starts the child, sends requests, and reads replies
    child       imports Jinja, sets its limits, answers requests
    undefined   all undefined variables, in one run; objects whose string is an address

Requests and replies are JSON. A request: `task` ("render" or "trace"), `template`, `variables` (see `child.unpack`).
A reply to "render" has `text` and `names` (variables that the template uses). For "trace", see `child.trace`. A failed
reply has `failure` and its details: `message`, `line`, `offset`, `found`. A reply that the child completed has the
`seconds` of processor time that it took. The task "each" has `items`, which are requests with limits of their own, and
its reply has as many `replies`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SECONDS = 0.5
"""The processor time of one request, in seconds."""


def run(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """The reply of the child. `failure` may also be "time", "died" or "start" (Jinja or the process is missing)."""
    from bayplan.plugins.osmo.sandbox import parent

    return parent.run(request)
