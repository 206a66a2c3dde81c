"""Words by which files of TorchX' are known."""

from __future__ import annotations

NAME = "torchx"
APPLICATION = "=== APPLICATION ==="
REQUEST = "=== SCHEDULER REQUEST ==="
LABEL = "torchx.pytorch.org/"
"""How the labels begin that TorchX puts on every pod."""

BROKEN = r"\b(?:VC|TORCHX_MCAD)_[A-Z0-9_]*-[A-Z0-9_-]*_HOSTS\b"
"""A variable's name that no shell takes for one: TorchX keeps the dashes of a role's name in it (0.7 and 0.8)."""
