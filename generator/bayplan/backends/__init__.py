"""The table of schedulers that bayplan can write for; each is one module or package here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from bayplan.model.backend import Backend

MODULES: Mapping[str, str] = {
    "kai": "kai",
    "volcano": "volcano",
    "kueue": "kueue",
    "koordinator": "koordinator",
    "native": "native",
    "slurm": "slurm",
    "slurm-bridge": "slurm_bridge",
    "sunk": "sunk",
    "none": "none",
}
"""The word in `scheduler:` -> the module in this folder."""


class _Backends(Mapping[str, Backend]):
    """The backends by name, each imported when it is asked for: a run needs one of them."""

    def __getitem__(self, name: str) -> Backend:
        module: Backend = import_module(f"bayplan.backends.{MODULES[name]}")
        return module

    def __contains__(self, name: object) -> bool:
        return name in MODULES

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


BACKENDS: Mapping[str, Backend] = _Backends()
