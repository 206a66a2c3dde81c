"""The APPLICATION section of a dry run: `pprint` of a dictionary (TorchX 0.7 and 0.8, cli/cmd_run.py).

It is Python's way to write data, so Python's own parser reads it; nothing of it is run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from bayplan.diagnostics import AT, Diagnostic, Outcome, error
from bayplan.text.document import Path, Span
from bayplan.values import NamedTuple

ENUM = re.compile(r"(?<='retry_policy': )<RetryPolicy\.[A-Z]+: ('[A-Z]+')>")
"""The one value that is no literal."""


class Literal(NamedTuple):
    """Data, and the places of all values."""

    data: Any
    spans: dict[Path, Span]


class _OddError(Exception):
    """A node that is no plain value."""


def read(text: str, first: int, subject: str) -> Outcome[Literal]:
    """The value that a text holds whose first line has this number. R140: it is no literal; R141: no plain value."""
    plain = ENUM.sub(lambda found: f"{' ' * (len(found[0]) - len(found[1]))}{found[1]}", text).lstrip("\n")
    first += len(text) - len(text.lstrip("\n"))
    try:
        tree = ast.parse(plain, mode="eval")
        reader = _Reader(plain.split("\n"), first, {})
        return Outcome(Literal(reader.value(tree.body, ()), reader.spans))
    except _OddError as odd:
        node, reader = odd.args
        span = reader.span(node)
        message = "the application holds what is no text, number, list or dictionary"
        wrong = error(
            "R141", (subject, AT, *span), message, hint="take the section as `torchx run --dryrun` printed it"
        )
        return Outcome(None, (wrong,))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        return Outcome(None, (_broken(problem, first, subject),))


def _broken(problem: BaseException, first: int, subject: str) -> Diagnostic:
    line = (getattr(problem, "lineno", None) or 1) - 1 + first
    column = max(getattr(problem, "offset", None) or 1, 1)
    message = "the application is cut off, or is not what `torchx run --dryrun` prints"
    return error("R140", (subject, AT, line, column), message, hint="save all of its output, without colours")


class _Reader(NamedTuple):
    lines: list[str]
    first: int
    spans: dict[Path, Span]

    def value(self, node: ast.AST, path: Path) -> Any:
        self.spans[path] = self.span(node)
        if isinstance(node, ast.Dict):
            return {key: self.value(below, (*path, key)) for key, below in self.entries(node)}
        if isinstance(node, ast.List | ast.Tuple):
            return [self.value(each, (*path, number)) for number, each in enumerate(node.elts)]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            node = node.operand
            if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
                return -node.value
        elif isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | None):
            return node.value
        raise _OddError(node, self)

    def entries(self, node: ast.Dict) -> Iterator[tuple[str, ast.AST]]:
        for key, below in zip(node.keys, node.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                raise _OddError(key or below, self)
            yield key.value, below

    def span(self, node: Any) -> Span:
        start = self.column(node.lineno, node.col_offset)
        if node.end_lineno != node.lineno:
            return Span(node.lineno - 1 + self.first, start, node.lineno - 1 + self.first, start + 1)
        line = node.lineno - 1 + self.first
        return Span(line, start, line, self.column(node.end_lineno, node.end_col_offset))

    def column(self, line: int, offset: int) -> int:
        """Python counts bytes."""
        return len(self.lines[line - 1].encode()[:offset].decode("utf-8", "replace")) + 1
