"""What the modules of bayplan import, read from their source: nested and type-checking imports included."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tools.run import ROOT

PACKAGE = ROOT / "generator" / "bayplan"


class Import(NamedTuple):
    """One import statement's target."""

    importer: str  # dotted, without the leading package: "planning.bind"; "" for the package itself
    target: str  # "bayplan.model.plan" or "yaml"
    line: int


def name_of(path: Path) -> str:
    """`planning.bind`; a package's `__init__` is the package."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def sources() -> dict[str, Path]:
    """Module name -> file, sorted; none of the generated validators, which a checkout may lack."""
    return {name_of(path): path for path in sorted(PACKAGE.rglob("*.py")) if path.parent.name != "generated"}


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@cache
def imports() -> tuple[Import, ...]:
    """Every import of every module; `from bayplan.kube import pod` is an import of `bayplan.kube.pod`."""
    return tuple(_imports())


STATEMENT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n#(]+)|import[ \t]+([^\n#]+))", re.MULTILINE
)
"""An import at the start of a line: a module with names, or modules. The product has no relative imports."""


def _imports() -> Iterator[Import]:
    for name, path in sources().items():
        text = path.read_text(encoding="utf-8")
        for found in STATEMENT.finditer(text):
            base, names, modules = found.groups()
            line = text.count("\n", 0, found.start()) + 1
            words = [each.split(" as ")[0].strip() for each in (names or modules).strip("()").split(",")]
            for word in filter(None, words):
                yield Import(name, resolve(base, word) if base else word, line)


def resolve(base: str, name: str) -> str:
    """The submodule that `from base import name` imports, or `base` where the name is no module."""
    inner = f"{base}.{name}".removeprefix("bayplan.")
    return f"bayplan.{inner}" if base.split(".")[0] == "bayplan" and inner in sources() else base
