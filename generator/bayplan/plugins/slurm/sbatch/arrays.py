"""The gangs of an array's tasks -> one gang with copies. bayplan loads this only for arrays that read their index.

The gangs may differ in strings. A string that is the same but for the number of the task refers to that number. The
values of any other string become a column of a matrix.
"""

from __future__ import annotations

import re
import shlex
import string
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from bayplan.plugin import GANG_INDEX, Route, matrix, non_empty

TASK_ID = "SLURM_ARRAY_TASK_ID"
"""What Slurm sets in every task of an array (`man sbatch`, output environment variables)."""

Table = Sequence[Mapping[str, str]]


def together(gangs: Sequence[Mapping[str, Any]], numbers: Sequence[int], table: Table | None) -> dict[str, Any] | None:
    """One gang for all, without its name; None if they differ in more than strings.

    `table`: the matrix of a script that bayplan wrote, in whose strings only variables are left.
    """
    each = [{key: value for key, value in gang.items() if key != "name"} for gang in gangs]
    texts = [dict(_texts(gang)) for gang in each]
    if any(set(one) != set(texts[0]) for one in texts) or any(_bare(gang) != _bare(each[0]) for gang in each):
        return None
    if table:
        same = all(one == texts[0] for one in texts)
        return {"matrix": _matrix(table), **each[0]} if same and len(table) == len(numbers) else None
    maker = _Maker(numbers, frozenset(map(str, (key for route in texts[0] for key in route))))
    changed: dict[Route, str] = {}
    for route in texts[0]:
        values = [one[route] for one in texts]
        if len(set(values)) > 1:
            made = maker.text(values, _option(texts[0], route))
            if made is None:
                return None
            changed[route] = made
    rows = [dict(zip(maker.columns, values, strict=True)) for values in zip(*maker.columns.values(), strict=True)]
    copies: dict[str, Any] = {"matrix": _matrix(rows)} if rows else {"replicas": len(numbers)}
    return {**(copies if len(numbers) > 1 or rows else {}), **_changed(each[0], changed)}


def numbered(gang: Mapping[str, Any], numbers: Sequence[int]) -> dict[str, Any]:
    """A gang with a copy for each number, whose programs can read the number only from their environment."""
    maker = _Maker(numbers)
    number = maker.text([*map(str, numbers)], "") if len(numbers) > 1 else str(numbers[0])
    copies = {"replicas": ("matrix", maker.columns)} if maker.columns else {}
    return dict(copies.get(key, (key, value)) for key, value in _with_env(gang, {TASK_ID: number}).items())


def _with_env(holder: Mapping[str, Any], env: Mapping[str, Any]) -> dict[str, Any]:
    """A gang or group whose podSets also have these variables."""
    groups = [_with_env(group, env) for group in holder.get("groups", ())]
    pod_sets = [{**pods, "env": {**env, **pods.get("env", {})}} for pods in holder.get("podSets", ())]
    return {**holder, **non_empty(groups=groups, podSets=pod_sets)}


def _matrix(rows: Table) -> dict[str, Any]:
    """Rows as a matrix: a list for a single column."""
    if len(rows[0]) == 1:
        (name,) = rows[0]
        return {name: [row[name] for row in rows]}
    return {"rows": [dict(row) for row in rows]}


def _texts(value: Any, route: Route = ()) -> Iterator[tuple[Route, str]]:
    parts = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from _texts(part, (*route, key))
    if isinstance(value, str):
        yield route, value


def _bare(value: Any) -> Any:
    """The value without its strings."""
    if isinstance(value, Mapping):
        return {key: _bare(part) for key, part in value.items()}
    return [_bare(part) for part in value] if isinstance(value, list) else "" if isinstance(value, str) else value


def _changed(value: Any, texts: Mapping[Route, str], route: Route = ()) -> Any:
    if isinstance(value, Mapping):
        return {key: _changed(part, texts, (*route, key)) for key, part in value.items()}
    if isinstance(value, list):
        return [_changed(part, texts, (*route, number)) for number, part in enumerate(value)]
    return texts.get(route, value)


def _option(texts: Mapping[Route, str], route: Route) -> str:
    """The word before one of a command, or the name of a variable: what a value may be called."""
    last = route[-1]
    if isinstance(last, int):
        return texts.get((*route[:-1], last - 1), "")
    return f"--{last}"


class _Maker:
    """The columns so far, by their names, none of which is in `taken`."""

    def __init__(self, numbers: Sequence[int], taken: Container[str] = ()) -> None:
        self.numbers, self.taken = numbers, taken
        self.plain = list(numbers) == list(range(len(numbers)))
        self.columns: dict[str, list[str]] = {}

    def text(self, values: Sequence[str], option: str) -> str | None:
        """The one text for these values of the tasks; None if a value refers to other variables."""
        last = str(self.numbers[-1])
        for parts in (values[-1].split(last), *self._once(values[-1], last)):
            if all(str(number).join(parts) == value for number, value in zip(self.numbers, values, strict=True)):
                return f"$({self._number()})".join(parts)
        low, high = min(values), max(values)  # they share what all of them share
        common = next((at for at, pair in enumerate(zip(low, high, strict=False)) if pair[0] != pair[1]), len(low))
        start = low[:common].rstrip(f"{string.ascii_letters}{string.digits}_.")
        own = [value.removeprefix(start) for value in values]
        if any("$(" in value or "$$" in value for value in own) or start.endswith("$"):
            return None
        return f"{start}$({self._column(own, start if re.match(r'-*[A-Za-z]', start) else option)})"

    def _once(self, text: str, number: str) -> Iterator[list[str]]:
        """The text around each of the places where it has the number."""
        at = text.find(number)
        while at >= 0:
            yield [text[:at], text[at + len(number) :]]
            at = text.find(number, at + len(number))

    def _number(self) -> str:
        return GANG_INDEX if self.plain else self._column([str(number) for number in self.numbers], "--task-id")

    def _column(self, values: list[str], option: str) -> str:
        for name, present in self.columns.items():
            if present == values:
                return name
        word = re.sub(r"[^A-Z0-9]+", "_", option.upper()).strip("_")
        stem = word if re.fullmatch(r"[A-Z][A-Z0-9_]{0,30}", word) else "VALUE"
        stem = f"TASK_{stem}" if stem in self.taken or [*matrix.named(stem, ())] else stem
        name = stem if stem not in self.columns else f"{stem}_{len(self.columns)}"
        self.columns[name] = values
        return name


_HEAD, _TAIL = "\ncase $SLURM_ARRAY_TASK_ID in\n", "\nesac\nexport "


def table(body: str) -> Table | None:
    """The matrix in a script that bayplan wrote (`kube.shell.table_of_rows`)."""
    _, head, rest = f"\n{body}".partition(_HEAD)
    lines, tail, _ = rest.partition(_TAIL)
    if not (head and tail):
        return None
    rows: list[dict[str, str]] = []
    for before, word in pairwise(("", *shlex.split(lines))):
        if before in ("", ";;"):
            rows.append({})
        elif word != ";;":
            name, _, value = word.partition("=")
            rows[-1][name] = value
    return rows
