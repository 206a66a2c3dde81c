"""Words by which files of TorchX' are known."""

from __future__ import annotations

NAME = "torchx"
APPLICATION = "=== APPLICATION ==="
REQUEST = "=== SCHEDULER REQUEST ==="
LABEL = "torchx.pytorch.org/"
"""How the labels begin that TorchX puts on every pod."""
