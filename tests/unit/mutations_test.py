"""What a mutation run changes in a module, and what it leaves as it is."""

from __future__ import annotations

from pathlib import Path

from tools.mutations import mutants

SOURCE = '''\
"""A module with 1 docstring."""

from typing import Literal

Kind = Literal["a", "b"]
TABLE = {"one": 1, "two": 2}


def small(count: int, limits: dict[str, int]) -> Iterator[str]:
    if not count < limits["one"]:
        raise ValueError(f"{count} of {1}")
    yield "text"


def names(found: list[str]) -> tuple[str, ...]:
    return tuple(name for name in found if name or found)
'''

CHANGES = """\
6: 'one': 1 -> (no row)
6: "one" -> 'oneX'
6: 'two': 2 -> (no row)
6: "two" -> 'twoX'
6: 1 -> 2
6: 2 -> 3
10: not count < limits["one"] -> True
10: not count < limits["one"] -> False
10: not count < limits["one"] -> count < limits['one']
10: count < limits["one"] -> count <= limits['one']
10: "one" -> 'oneX'
11: raise ValueError(f"{count} of {1}") -> pass
12: yield "text" -> yield from ()
16: return tuple(name for name in found if name or found) -> return ()
16: name or found -> True
16: name or found -> False
16: name or found -> name and found
"""


def test_every_change_of_a_module(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(SOURCE, encoding="utf-8")
    found = list(mutants(path))
    assert [str(each).removeprefix(f"{path}:") for each in found] == CHANGES.splitlines()
    first, *_, last = (SOURCE[: each.place.start] + each.text.decode() + SOURCE[each.place.stop :] for each in found)
    assert first == SOURCE.replace('{"one": 1, "two": 2}', "({'two': 2})")
    assert last == SOURCE.replace("if name or found", "if (name and found)")
    assert [each.name for each in found if not each.function] == ["TABLE"] * 6
