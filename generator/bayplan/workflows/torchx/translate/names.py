"""TorchX' names -> DNS labels, which Kubernetes wants."""

from __future__ import annotations

import re
from collections.abc import Sequence

LONGEST = 40
"""What is left of a name: a pod's name holds the workflow's, the role's and two numbers, in 63 characters."""


def label(name: str) -> str:
    """Lower case, a hyphen for whatever is no letter or digit; hashed where two names could become one."""
    plain = re.sub(r"[_./ -]+", "-", name.lower()).strip("-")
    made = re.sub(r"-+", "-", re.sub(r"[^a-z0-9-]", "-", plain)).strip("-")
    if made == plain and made and len(made) <= LONGEST:
        return made
    return _hashed(made[: LONGEST - 5].strip("-") or "app", name)


def labels(names: Sequence[str]) -> tuple[str, ...]:
    """Those of several, no two alike."""
    made: list[str] = []
    for name in names:
        short, whole = label(name), name
        while short in made:
            short, whole = _hashed(label(name)[: LONGEST - 5].strip("-"), whole), f"{whole}'"
        made.append(short)
    return tuple(made)


def _hashed(stem: str, name: str) -> str:
    from hashlib import sha256

    return f"{stem}-{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:4]}"
