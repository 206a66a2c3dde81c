"""Which upstream versions judge a document that was written for a given version."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path

from bayplan.model.target import KNOWN

ROOT = Path(__file__).resolve().parents[2]
UPSTREAM = Path(os.environ.get("BAYPLAN_UPSTREAM") or ROOT.parent / "shared").resolve()
"""CRDs and examples of other projects: a folder `shared` beside the checkout, unless the environment names another.

Tests that need them skip where it is absent."""

PREPARED = ROOT / ".ci" / "crds"
"""More of them, by release: `prepare` in this folder fetches them."""

FOLDERS = {"kai": "kai-scheduler", "draDriver": "dra-driver-nvidia-gpu", "mpiOperator": "mpi-operator"}
"""Component -> its folder under UPSTREAM/crds, where the two names differ."""

OPERATORS = ("trainer", "mpiOperator")
JUDGING = ("kubernetes", "kai", "draDriver", "jobset", "lws", "kueue", "volcano", "koordinator", *OPERATORS)
NEWEST = {component: KNOWN[component][-1] for component in JUDGING}
"""The newest release of each component that judges documents. Which releases there are is the one thing that judges
take from bayplan."""


def stored(component: str, version: str) -> bool:
    """Whether the CRDs of a release are here. UPSTREAM has the newest; `prepare` fetches others."""
    folder = FOLDERS.get(component, component)
    if version == NEWEST[component]:
        return (UPSTREAM / "crds").is_dir()
    return any(any(each.glob(f"{folder}/versions/v{version}.*")) for each in (UPSTREAM / "crds", PREPARED))


def key(component: str, version: str) -> tuple[int, ...]:
    """A sortable version. The DRA driver went from 25.12 to 0.4."""
    numbers = tuple(int(part) for part in version.removeprefix("v").split("."))
    late = component == "draDriver" and numbers[0] < 20
    return (int(late), *numbers)


def at_least(component: str, version: str, floor: str) -> bool:
    """Whether version >= floor, missing parts counting as 0."""
    pairs = zip_longest(key(component, version), key(component, floor), fillvalue=0)
    return next((ours > theirs for ours, theirs in pairs if ours != theirs), True)


def versions_for(component: str, version: str) -> tuple[str, ...]:
    """The lowest and the highest version that a document written for `version` must hold for.

    A document outlives upgrades: what is written for KAI 0.15 must still be taken by the newest KAI.
    """
    newest = NEWEST[component]
    return (version,) if not at_least(component, newest, version) or version == newest else (version, newest)


def targets_for(target: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The target itself (absent components: the newest), then the same with every component at its newest."""
    lowest = {component: target.get(component, newest) for component, newest in NEWEST.items()}
    highest = {component: versions_for(component, version)[-1] for component, version in lowest.items()}
    yield lowest
    if highest != lowest:
        yield highest
