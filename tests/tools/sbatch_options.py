"""The options that bayplan does not translate, in docs/reference/sbatch.md: `refresh_docs.py` writes the lists."""

from __future__ import annotations

from pathlib import Path

from bayplan.plugins.slurm.sbatch.options import DIRECTIVES, KEPT, LOST, NOTHING, REFUSED, STEPS
from tools.docs import filled

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "sbatch.md"


def page(text: str) -> str:
    """The page with the options as they are now."""
    return filled(text, {does: _listed(does) for does in (KEPT, NOTHING, LOST, REFUSED)})


def _listed(does: str) -> str:
    names = sorted(name for name, option in {**STEPS, **DIRECTIVES}.items() if option.does == does)
    return ", ".join(f"`--{name}`" for name in names) + "."
