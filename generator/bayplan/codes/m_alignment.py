"""Manifests that others wrote: claims of network cards."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "M890": "one PCIe root for several devices of a request",
    "M891": "one PCIe root for GPUs and cards that share none",
    "M892": "settings of a card that its driver refuses",
}
