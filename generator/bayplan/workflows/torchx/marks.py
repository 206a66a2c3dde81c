"""What files and objects of TorchX' are recognised by, and variables with a dash in objects that it wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from bayplan.core.diagnostics import Diagnostic, error

if TYPE_CHECKING:
    from bayplan.kube.templates import PodTemplate

NAME = "torchx"
APPLICATION = "=== APPLICATION ==="
REQUEST = "=== SCHEDULER REQUEST ==="
LABEL = "torchx.pytorch.org/"
"""How the labels begin that TorchX puts on every pod."""

INSTANCE = "node.kubernetes.io/instance-type"
EFA = "vpc.amazonaws.com/efa"

BROKEN = r"\b(?:VC|TORCHX_MCAD)_[A-Z0-9_]*-[A-Z0-9_-]*_HOSTS\b"
"""A variable's name that no shell takes for one: TorchX keeps the dashes of a role's name in it (0.7 and 0.8)."""


def broken_variables(template: PodTemplate) -> Iterator[Diagnostic]:
    """W573 (rule TX01): the variable with the host of rank 0, with a dash in its name."""
    if not any(str(key).startswith(LABEL) for key in template.labels):
        return
    from bayplan.kube.templates import containers  # the names above are loaded for every workflow

    for route, container in containers(template):
        words = [(key, container.get(key)) for key in ("command", "args")]
        texts = [(key, *each) for key, value in words if isinstance(value, list) for each in enumerate(value)]
        for key, number, text in texts:
            if isinstance(text, str) and (match := re.search(BROKEN, text)):
                message = f'no shell takes "{match[0]}" for the name of a variable: TorchX keeps the role\'s dash'
                hint = "call the role with `_` in place of `-`: replicas but the first never meet rank 0"
                yield error("W573", (*route, key, number), message, hint=hint)
