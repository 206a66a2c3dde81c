"""Marks in a template that come out in what it writes, and tell where each piece of that comes from.

A mark is a number between two characters that the text itself does not hold. One stands before every piece of plain
text, after each line feed in it, and before every expression.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from jinja2 import nodes
from jinja2.sandbox import SandboxedEnvironment

_PRIVATE = (*range(0xE000, 0xE100), *range(0xF0000, 0xF0100))
"""Characters that mean nothing to anybody (Unicode: private use)."""


class Table(NamedTuple):
    """What the numbers mean. `lines`: number -> [line of the template, what it stands in, -1 for nothing, is it plain].

    `constructs`: [kind, line, name, what it stands in]; kinds are "loop" and "macro".
    """

    lines: list[list[int]]
    constructs: list[list[Any]]
    left: str
    right: str


def mark(
    tree: nodes.Template, env: SandboxedEnvironment, clean: str, *, captured: bool
) -> tuple[nodes.Template, Table]:
    """The template with its marks. `captured`: also where what is written goes into a variable or a filter."""
    left, right = [chr(code) for code in _PRIVATE if chr(code) not in clean][:2]
    table = Table([], [], left, right)
    _Marker(env, table, captured).visit(tree, -1)
    return tree, table


def pieces(marked: str, clean: str, table: Table) -> list[list[int]] | None:
    """[offset in the clean text, number of the mark] in order; None unless the marks are all that was added."""
    parts = re.split(f"{table.left}([0-9]+){table.right}", marked)
    if "".join(parts[::2]) != clean:
        return None
    found: list[list[int]] = []
    offset = len(parts[0])
    for number, text in zip(parts[1::2], parts[2::2], strict=True):
        found.append([offset, int(number)])
        offset += len(text)
    return found


class _Marker:
    """Walks a template and changes what it writes."""

    def __init__(self, env: SandboxedEnvironment, table: Table, captured: bool) -> None:
        self.env, self.table, self.captured = env, table, captured

    def visit(self, node: nodes.Node, within: int) -> None:
        """Marks all that is written below a node that stands in the construct of that number."""
        if isinstance(node, nodes.Output):
            node.nodes = [each for old in node.nodes for each in self.output(old, within)]
            return
        if not self.captured and isinstance(
            node, nodes.AssignBlock | nodes.FilterBlock | nodes.CallBlock | nodes.Macro
        ):
            return
        if isinstance(node, nodes.For):
            within = self.construct("loop", node.lineno, "", within)
        elif isinstance(node, nodes.Macro):
            within = self.construct("macro", node.lineno, node.name, within)
        for child in node.iter_child_nodes():
            self.visit(child, within)

    def construct(self, kind: str, line: int, name: str, within: int) -> int:
        self.table.constructs.append([kind, line, name, within])
        return len(self.table.constructs) - 1

    def output(self, node: nodes.Expr, within: int) -> list[nodes.Expr]:
        """A piece of what is written with its marks."""
        if not isinstance(node, nodes.TemplateData):
            return [self.data(self.number(node.lineno, within, plain=False), node), node]
        lines = node.data.split("\n")
        marked = [self.number(node.lineno + n, within, plain=True) + line for n, line in enumerate(lines)]
        return [self.data("\n".join(marked), node)]

    def number(self, line: int, within: int, *, plain: bool) -> str:
        self.table.lines.append([line, within, int(plain)])
        return f"{self.table.left}{len(self.table.lines) - 1}{self.table.right}"

    def data(self, text: str, at: nodes.Node) -> nodes.TemplateData:
        return nodes.TemplateData(text, lineno=at.lineno, environment=self.env)
