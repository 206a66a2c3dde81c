"""Manifests that others wrote: what lint finds in pods with cards that HAMi hands out."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "M870": "a privileged pod with cards of HAMi",
    "M871": "a pod with cards of HAMi and a node of its own",
    "M872": "pods that HAMi's webhook leaves alone",
    "M873": "a policy that HAMi does not know",
    "M874": "an annotation that does nothing for these cards",
    "M875": "cards of MetaX asked for twice",
    "M876": "an amount that HAMi refuses or misreads",
    "M877": "a part of a card that the vendor does not make",
    "M878": "a resource that HAMi does not know",
    "M879": "spread and binpack of MetaX mean the reverse",
    "M880": "nodes that do not say how their cards hang together",
    "M881": "more cards than any node has",
    "M882": "a policy that stands on the workload",
}
