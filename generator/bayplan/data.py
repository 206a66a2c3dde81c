"""Where the files that travel with the package lie: `bayplan/_data` when installed, the top of a checkout else."""

from __future__ import annotations

import os

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_CHECKOUT = os.path.dirname(os.path.dirname(_PACKAGE))


def data_path(*parts: str) -> str:
    """The path of a shipped file or folder, such as `data_path("schemas", "workflow.json")`. It need not exist."""
    packaged = os.path.join(_PACKAGE, "_data")
    return os.path.join(packaged if os.path.isdir(packaged) else _CHECKOUT, *parts)


def data_text(*parts: str) -> str:
    """The text of a shipped file."""
    with open(data_path(*parts), encoding="utf-8") as file:
        return file.read()


def data_names(*parts: str) -> list[str]:
    """The names in a shipped folder, in order."""
    return sorted(os.listdir(data_path(*parts)))
