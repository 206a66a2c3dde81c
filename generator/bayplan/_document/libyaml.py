"""PyYAML without the patterns of its pure Python reader, which libyaml's parser never looks at.

Importing `yaml` compiles some twenty regular expressions: half a bare interpreter start, in every run. Here they are
compiled when somebody uses them, so the package works as ever for whoever else imports it.
"""

from __future__ import annotations

import re
import sys
from typing import Any


class _Pattern:
    """A pattern that is compiled with its first use."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._arguments, self._options = arguments, options

    def __getattr__(self, name: str) -> Any:
        return getattr(re.compile(*self._arguments, **self._options), name)


def load() -> Any:
    """The package `yaml`."""
    if "yaml" not in sys.modules:
        compile_now = re.compile
        re.compile = _Pattern  # type: ignore[assignment]
        try:
            import yaml  # noqa: F401
        finally:
            re.compile = compile_now
    return sys.modules["yaml"]
