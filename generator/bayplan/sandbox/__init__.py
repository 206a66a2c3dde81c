"""Runs a template of somebody else's in a process of its own, with little time and little memory.

    parent      starts the child, hands it a request, takes its reply or ends it
    child       imports Jinja, sets its limits, answers requests
    undefined   all variables that lack a value, in one run; objects whose text is an address

Requests and replies are JSON. A request: `task` ("render" or "trace"), `template`, `variables` (see `child.unpack`).
A reply to "render" has `text` and `names` (variables that the template looks up), to "trace" see `child.trace`; where
that cannot be done, `failure` and what there is to say of it: `message`, `line`, `offset`, `found`. The task "each"
has `items`, each a request with limits of its own, and its reply as many `replies`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def run(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """The child's reply. `failure` may also be "time", "died" or "start" (there is no Jinja, or no process)."""
    from bayplan.sandbox import parent

    return parent.run(request)
