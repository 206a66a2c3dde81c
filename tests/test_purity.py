"""The core is a function of its input: no clock, chance, network, process, environment or file, by its source and by
running it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tools.imports import imports, sources, tree
from tools.run import RENDER_64, hooked

OUTSIDE = ("cli", "clients", "plugin", "plugins.osmo.sandbox", "plugins.torchx.scheduler", "__main__")
"""The parts that may touch the world. The door passes names of `cli` on."""

MODULES = frozenset(
    {
        "asyncio",
        "ctypes",
        "datetime",
        "getpass",
        "glob",
        "http",
        "locale",
        "logging",
        "multiprocessing",
        "platform",
        "random",
        "secrets",
        "shutil",
        "signal",
        "socket",
        "ssl",
        "subprocess",
        "tempfile",
        "threading",
        "time",
        "urllib",
        "uuid",
        "zoneinfo",
    }
)
NAMES = frozenset({"open", "print", "input", "hash", "exec", "eval", "breakpoint"})
"""Builtins that do I/O, or whose answer differs from run to run."""

IMPURE = re.compile(rf"\b(?:{'|'.join(NAMES)})\(|\b(?:os|sys)\.")

WORLD = frozenset(
    {f"os.{name}" for name in ("environ", "getenv", "urandom", "getcwd", "getpid", "listdir", "stat", "system", "open")}
    | {f"sys.{name}" for name in ("argv", "stdin", "stdout", "stderr", "exit")}
)
"""The process's surroundings."""

ALLOWED = {
    ("core.package_data", "open"),  # the packaged schemas and texts
    ("core.package_data", "os.listdir"),
    ("plugins", "open"),  # the descriptions of plug-ins of other packages
    ("plugins", "os.listdir"),
}


def core() -> list[str]:
    """The modules that must be pure."""
    return [module for module in sources() if not any(f"{module}.".startswith(f"{part}.") for part in OUTSIDE)]


def impurities(path: Path) -> Iterator[tuple[str, int]]:
    """Calls of forbidden builtins, and uses of the process's environment."""
    if not IMPURE.search(path.read_text(encoding="utf-8")):
        return
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NAMES:
            yield node.func.id, node.lineno
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = f"{node.value.id}.{node.attr}"
            if name in WORLD:
                yield name, node.lineno


def test_the_core_imports_nothing_impure() -> None:
    ours = set(core())
    assert [each for each in imports() if each.importer in ours and each.target.split(".")[0] in MODULES] == []


def test_the_core_calls_nothing_impure() -> None:
    found = [(module, name, line) for module in core() for name, line in impurities(sources()[module])]
    assert [each for each in found if each[:2] not in ALLOWED] == []


WATCH = """
import sys
FORBIDDEN = ("socket.", "subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "urllib.", "ctypes.")
def watch(event, arguments):
    if event.startswith(FORBIDDEN):
        raise SystemExit(f"forbidden: {event} {arguments}")
    if event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
        raise SystemExit(f"forbidden: {event} {arguments}")
sys.dont_write_bytecode = True
sys.addaudithook(watch)
"""


def test_a_render_uses_no_network_and_writes_no_file() -> None:
    result = hooked(WATCH, RENDER_64)
    assert result.returncode == 0, result.stderr
    assert "forbidden" not in result.stderr
    assert result.stdout.count("kind: ComputeDomain\n") == 4


def test_the_watch_works() -> None:
    result = hooked(WATCH + "import socket; socket.create_connection(('127.0.0.1', 9))", ["--version"])
    assert "forbidden: socket." in result.stderr
