"""The schedulers for which bayplan writes manifests: one package each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from bayplan import plugins
from bayplan.core.diagnostics import Diagnostic
from bayplan.core.values import Modules
from bayplan.model.backend import Backend

if TYPE_CHECKING:
    from bayplan.kube.asked import Ask
    from bayplan.linting.objects import LintContext
    from bayplan.model.existing import Existing


CORE = (
    "kai",
    "volcano",
    "kueue",
    "koordinator",
    "native",
    "none",
)
"""The packages beside this module."""

PATHS: Mapping[str, str] = (
    {name: f"{__name__}.{name}" for name in CORE[:-1]}
    | plugins.modules("backends")
    | {CORE[-1]: f"{__name__}.{CORE[-1]}"}
)
"""Scheduler -> its package. The one that schedules nothing is the last, because its objects may be any other's."""

NAMES = tuple(PATHS)
"""The values of `scheduler:`."""

BACKENDS: Mapping[str, Backend] = Modules(PATHS, "BACKEND")
"""The backends by name."""


def existing(name: str) -> Existing:
    """How a scheduler places existing workloads; `NOT_YET` if its package has no such module."""
    from bayplan.model.existing import NOT_YET

    value: Existing = _part(name, "existing", "EXISTING", NOT_YET)
    return value


def asks() -> dict[str, Ask]:
    """Scheduler -> the reader of what manifests request of it. The first that matches counts."""
    return {name: each for name in NAMES if (each := existing(name).ask)}


def lint(name: str, context: LintContext) -> Iterator[Diagnostic]:
    """What is wrong with existing manifests of this scheduler: each object, all together, and on the cluster."""
    for rule in _part(name, "lint", "RULES", ()):
        yield from rule(context)


def _part(name: str, module: str, value: str, default: Any) -> Any:
    """A value from a module of a backend's package, or the default if the package has no such module."""
    path = f"{PATHS[name]}.{module}"
    try:
        return getattr(import_module(path), value)
    except ModuleNotFoundError as missing:
        if missing.name != path:
            raise
        return default
