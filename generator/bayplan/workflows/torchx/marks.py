"""Signs of TorchX files and objects, and variables with a hyphen in objects that TorchX wrote."""

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
"""The prefix of labels that TorchX adds to every pod."""

INSTANCE = "node.kubernetes.io/instance-type"
EFA = "vpc.amazonaws.com/efa"

BROKEN = r"(?<![\w-])(?:VC|TORCHX_MCAD)_[A-Z0-9_]*-[A-Z0-9_-]*_HOSTS\b"
"""A variable name that shells do not support: TorchX keeps the hyphens of the role's name (0.7 and 0.8)."""


def broken_variables(template: PodTemplate) -> Iterator[Diagnostic]:
    """W573 (rule TX01): the variable with the host of rank 0 has a hyphen in its name."""
    if not any(str(key).startswith(LABEL) for key in template.labels):
        return
    from bayplan.kube.templates import containers  # every workflow loads the names above

    for route, container in containers(template):
        words = [(key, container.get(key)) for key in ("command", "args")]
        texts = [(key, *each) for key, value in words if isinstance(value, list) for each in enumerate(value)]
        for key, number, text in texts:
            if isinstance(text, str) and (match := re.search(BROKEN, text)):
                message = f'shells cannot read the variable "{match[0]}", because it has the hyphen of the role\'s name'
                hint = "use `_` in the role's name: otherwise the other replicas never find rank 0"
                yield error("W573", (*route, key, number), message, hint=hint)
