"""What a scheduler makes of cards and parts of them."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "F760": "cards that the scheduler cannot hand out",
    "F761": "a part of a card, or a policy, that the scheduler cannot carry",
    "F762": "cards that the scheduler hands out with a catch",
    "F763": "a release of HAMi that does not know it yet",
    "F764": "extensions of MetaX that do not tell how cards are linked",
    "F765": "sharing that Volcano must be told of",
    "F766": "a device plugin that does not offer the profile yet",
}
