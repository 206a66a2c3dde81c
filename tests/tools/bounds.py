"""The bounds of `tests/bounds.toml`, and what the project measures. `python tests/tools/bounds.py` lowers the bounds.

It never raises one. If a room must grow, raise its bound by hand, and lower that of the room that gives the lines up.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping
from graphlib import TopologicalSorter
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bayplan.report.codes import sections
from tools.imports import imports, sources, tree
from tools.run import ROOT

FILE = ROOT / "tests" / "bounds.toml"


def room_of(module: str) -> str:
    """`kube.kinds.job` -> `kube`, `plugins.slurm.kind` -> `plugins.slurm`."""
    parts = module.split(".")
    return ".".join(parts[: 2 if parts[0] == "plugins" else 1]) or "bayplan"


def inner(target: str) -> str | None:
    """An imported module without the leading package, or None for a foreign one."""
    return target.removeprefix("bayplan").lstrip(".") if target.split(".")[0] == "bayplan" else None


def arrows() -> frozenset[tuple[str, str]]:
    """(Room, room that it imports)."""
    pairs = ((room_of(each.importer), inner(each.target)) for each in imports())
    rooms = ((room, room_of(target)) for room, target in pairs if target)
    return frozenset((room, target) for room, target in rooms if room != target and room != "bayplan")


def floors() -> int:
    """Rooms on the longest chain of arrows."""
    below: dict[str, int] = {}
    graph = {room_of(module): set[str]() for module in sources()}
    for room, target in arrows():
        graph[room].add(target)
    for room in TopologicalSorter(graph).static_order():
        below[room] = 1 + max((below[target] for target in graph[room]), default=0)
    return max(below.values())


def lines() -> dict[str, int]:
    """Room -> its lines."""
    counter: Counter[str] = Counter()
    for module, path in sources().items():
        counter[room_of(module)] += path.read_text(encoding="utf-8").count("\n")
    return dict(sorted(counter.items()))


def measured() -> dict[str, int]:
    """What the whole measures, by the names in `[whole]`."""
    rooms = lines()
    statements = [statement for path in sources().values() for statement in tree(path).body]
    classes = [statement for statement in statements if isinstance(statement, ast.ClassDef)]
    functions = [statement for statement in statements if isinstance(statement, ast.FunctionDef)]
    constants = [
        target
        for statement in statements
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        for target in (statement.targets if isinstance(statement, ast.Assign) else [statement.target])
        if isinstance(target, ast.Name)
    ]
    names = [*(item.name for item in (*classes, *functions)), *(target.id for target in constants)]
    tuples = [item for item in classes if any(ast.unparse(base).startswith("NamedTuple") for base in item.bases)]
    tests = sum(path.read_text(encoding="utf-8").count("\n") for path in (ROOT / "tests").rglob("*.py"))
    return {
        "lines": sum(rooms.values()),
        "core lines": sum(count for room, count in rooms.items() if not room.startswith("plugins.")),
        "test lines": tests,
        "files": len(sources()),
        "rooms": len(rooms),
        "floors": floors(),
        "arrows": len(arrows()),
        "codes": len(sections()),
        "public names": sum(not name.startswith("_") for name in names),
        "tuple types": len(tuples),
    }


def bounds() -> Mapping[str, Mapping[str, int]]:
    """The tables of the file."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def write(tables: Mapping[str, Mapping[str, int]]) -> str:
    """The file with these numbers, under the comment that it has."""
    head = FILE.read_text(encoding="utf-8").partition("[")[0] if FILE.exists() else ""
    sections = (
        f"[{title}]\n" + "".join(f'"{name}" = {number}\n' for name, number in rows.items())
        for title, rows in tables.items()
    )
    return head + "\n".join(sections)


def main() -> None:
    """Lowers the bounds to what the project measures."""
    old = bounds()
    new = {"whole": measured(), "rooms": lines()}
    lowered = {
        title: {name: min(number, old.get(title, {}).get(name, number)) for name, number in rows.items()}
        for title, rows in new.items()
    }
    FILE.write_text(write(lowered), encoding="utf-8")


if __name__ == "__main__":
    main()
