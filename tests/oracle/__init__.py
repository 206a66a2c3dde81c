"""The oracle of the proofs: for each backend what the manifests of a plan must ask for, and what manifests do ask for.

Nothing of the product reads manifests back. Tests compare the two, and hand what was read to a reference scheduler.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from bayplan.core.diagnostics import Outcome
from bayplan.model.manifest import Manifest
from bayplan.model.plan import Plan
from bayplan.model.target import Target
from oracle import kai, koordinator, kueue, native, none, slurm, slurm_bridge, sunk, volcano
from oracle.intent import GangIntent


class Oracle(Protocol):
    """What a module in this folder offers. `read(lower(plan))` equals `intent(plan)`, or differs by a declared gap."""

    def intent(self, plan: Plan, target: Target, /) -> tuple[GangIntent, ...]:
        """What the manifests of a plan must ask for: `gang_intent` in the scheduler's names, without its gaps."""

    def read(self, documents: Sequence[Manifest], /) -> Outcome[tuple[GangIntent, ...]]:
        """What manifests ask for."""


ORACLES: Mapping[str, Oracle] = {
    "kai": kai,
    "volcano": volcano,
    "kueue": kueue,
    "koordinator": koordinator,
    "native": native,
    "slurm": slurm,
    "slurm-bridge": slurm_bridge,
    "sunk": sunk,
    "none": none,
}
