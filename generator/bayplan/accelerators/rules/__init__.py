"""What HAMi refuses, ignores or takes otherwise than it reads, of any pod: one function a family of rules.

HAMi 2.8 to 2.10: `pkg/scheduler/webhook.go`, `pkg/device/*/`, `pkg/util/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bayplan.accelerators.rules import admission, amounts, chips, metax, policies
from bayplan.accelerators.rules.seen import Fault, Seen, look

RULES: tuple[Callable[[Seen], Iterator[Fault]], ...] = (
    admission.check,
    policies.check,
    amounts.check,
    chips.check,
    metax.check,
)

__all__ = ["RULES", "Fault", "Seen", "faults", "look"]


def faults(seen: Seen) -> Iterator[Fault]:
    """All of them. A pod that asks for no cards of the table has none."""
    for rule in RULES if seen.asks else ():
        yield from rule(seen)
