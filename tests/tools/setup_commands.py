"""Print the README's set-up commands, one a line: what a fresh machine is told to run, and what `.ci/run` runs."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "generator"))  # nothing is installed yet

from tools.docs import ROOT, steps

if __name__ == "__main__":
    for step in steps((ROOT / "README.md").read_text(encoding="utf-8")):
        if not step.tested:
            print(step.command.replace("\\\n", " "))
