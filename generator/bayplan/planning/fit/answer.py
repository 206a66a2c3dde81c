"""What a search can say."""

from __future__ import annotations

from bayplan.planning.fit.witness import Run
from bayplan.values import NamedTuple


class Placed(NamedTuple):
    """It fits, for example so. No runs when only the answer was asked for."""

    runs: tuple[Run, ...] = ()


class NoRoom(NamedTuple):
    """It does not fit."""


class Unknown(NamedTuple):
    """Not decided within the budget, nor by a solver."""

    why: str
    hint: str = ""


Answer = Placed | NoRoom | Unknown
