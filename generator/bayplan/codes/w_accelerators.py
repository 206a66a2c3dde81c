"""Workflow: parts of cards, policies of allocators, and pods that an allocator refuses."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "W550": "a share where cards are handed out whole",
    "W551": "a share that cannot be said exactly",
    "W552": "more cards than a node has",
    "W553": "a MIG profile that the cards do not have",
    "W554": "a policy that the allocator does not know",
    "W555": "spread and binpack of MetaX mean the reverse",
    "W556": "nodes that do not say how their cards hang together",
    "W557": "a part of a card that the vendor does not make",
    "W558": "a privileged pod with cards of HAMi",
    "W559": "a pod that HAMi leaves alone or refuses",
    "W560": "a policy of HAMi with a wrong value",
    "W561": "an annotation or a resource that does nothing",
    "W562": "cards of one pod asked for twice",
    "W563": "more cards than are linked with each other",
    "W564": "shares that the proof only adds up",
    "W565": "a selector of devices that is no expression",
}
