"""Variables of pods whose names no shell reads."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bayplan.core.diagnostics import Diagnostic, error
from bayplan.kube.templates import PodTemplate, containers

ROLE_LABEL = "torchx.pytorch.org/"
"""The prefix of labels that TorchX adds to every pod."""

BROKEN = r"(?<![\w-])(?:VC|TORCHX_MCAD)_[A-Z0-9_]*-[A-Z0-9_-]*_HOSTS\b"
"""A variable name that shells do not support: TorchX keeps the hyphens of the role's name (0.7 and 0.8)."""


def broken_variables(template: PodTemplate) -> Iterator[Diagnostic]:
    """W573 (rule TX01): the variable with the host of rank 0 has a hyphen in its name."""
    if not any(str(key).startswith(ROLE_LABEL) for key in template.labels):
        return
    for route, container in containers(template):
        words = [(key, container.get(key)) for key in ("command", "args")]
        texts = [(key, *item) for key, value in words if isinstance(value, list) for item in enumerate(value)]
        for key, number, text in texts:
            if isinstance(text, str) and (match := re.search(BROKEN, text)):
                message = f'shells cannot read the variable "{match[0]}", because it has the hyphen of the role\'s name'
                hint = "use `_` in the role's name: otherwise the other replicas never find rank 0"
                yield error("W573", (*route, key, number), message, hint=hint)
