"""Names of OSMO -> DNS labels, short enough that the names made from them fit Kubernetes.

A name that is changed by more than case and underscores gets four digits of its hash, so that it stays itself when
others come and go.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

SHORTEST = 10
"""Names are not cut below this."""
LONGEST = 63 - len("-0-") - len("-xxxxx")
"""What the names of workflow, gang, groups and podSet, joined, and the pod's index may take: the pods of a JobSet are
called `<jobset>-<replicatedJob>-0-<index>-<5 letters>`, which is a DNS label."""


def label(name: str) -> str:
    """Lower case, hyphens for whatever is no letter or digit; hashed where that takes more than OSMO itself does."""
    plain = name.lower().replace("_", "-")
    made = re.sub(r"-+", "-", re.sub(r"[^a-z0-9-]", "-", plain)).strip("-")
    return made if made and made == plain else _hashed(made or "group", name)


def cut(name: str, most: int, taken: Collection[str] = ()) -> str:
    """The name, or its beginning with a hash, in `most` characters; another hash where others have that one."""
    if len(name) <= most:
        return name
    made, whole = "", name
    while not made or made in taken:
        made, whole = _hashed(name[: most - 5].rstrip("-"), whole), f"{whole}'"
    return made


def _hashed(stem: str, name: str) -> str:
    from hashlib import sha256

    return f"{stem}-{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:4]}"


def unique(name: str, taken: Iterable[str], whole: str) -> str:
    """The name, hashed if another has it."""
    others, first = set(taken), name
    while name in others:
        name, whole = _hashed(first, whole), f"{whole}'"
    return name


def stem(names: tuple[str, ...]) -> str:
    """What numbered names have in common: `worker` of `worker-0` and `worker-1`; empty when there is nothing."""
    first, last = min(names), max(names)
    same = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return re.sub(r"[-_]*[0-9]*$", "", first[:same]).rstrip("-_")
