"""Which messages of the product the cases report, by the golden files of the cases.

A *message* is a literal of a code in the product together with a text that is reported under it. A text that is known
only at run time has a hole.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tools import cases, hints
from tools.imports import tree
from tools.run import ROOT

CODE = re.compile(r"[RSWTPFMOA][1-9]\d\d")
PACKAGE = ROOT / "generator" / "bayplan"
HOLE = "{}"
"""Stands in a template for what is known at run time only."""

SEVERITIES = ("error", "warning", "info")
Assignment = ast.Assign | ast.NamedExpr
DEPTH = 3
"""How many callers up a message is looked for."""


class Literal(NamedTuple):
    """A code that the product spells: where, and the messages that go with it, as far as the source shows them."""

    place: str
    code: str
    templates: tuple[str, ...]


class Source:
    """The product's syntax trees, with what encloses each node and who calls each function."""

    def __init__(self) -> None:
        paths = [path for path in sorted(PACKAGE.rglob("*.py")) if CODE.search(path.read_text(encoding="utf-8"))]
        self.trees = {path: tree(path) for path in paths}
        self.parents: dict[ast.AST, ast.AST] = {}
        self.calls: dict[str, list[ast.Call]] = defaultdict(list)
        self.functions: dict[str, list[ast.FunctionDef]] = defaultdict(list)
        nodes: list[ast.AST] = [*self.trees.values()]
        for node in nodes:
            for child in ast.iter_child_nodes(node):
                if not isinstance(child, ast.expr_context):
                    self.parents[child] = node
                    nodes.append(child)
                    self._note(child)

    def _note(self, node: ast.AST) -> None:
        if isinstance(node, ast.Call):
            self.calls[_last_name(node.func)].append(node)
        elif isinstance(node, ast.FunctionDef):
            self.functions[node.name].append(node)

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """What encloses a node, from the inside out."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def templates(self, node: ast.expr, depth: int = 0) -> list[str]:
        """The texts that an expression may be."""
        match node:
            case ast.Constant(value=str(text)):
                return [text]
            case ast.JoinedStr(values=parts):
                return ["".join(str(part.value) if isinstance(part, ast.Constant) else HOLE for part in parts)]
            case ast.IfExp(body=body, orelse=orelse):
                return [*self.templates(body, depth), *self.templates(orelse, depth)]
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                ends = self.templates(right, depth)
                return [start + end for start in self.templates(left, depth) for end in ends]
            case ast.Name():
                return self._of_name(node, depth) or [HOLE]
            case _:
                return [HOLE]

    def _of_name(self, name: ast.Name, depth: int) -> list[str]:
        """What the assignments that may reach a use of a name give it; else what callers give the parameter."""
        above = list(self.above(name))
        function = next((each for each in above if isinstance(each, ast.FunctionDef)), None)
        if function is None:
            return []
        made = [each for each in ast.walk(function) if isinstance(each, Assignment) and _set(each, name.id)]
        found: list[str] = []
        for each in sorted(made, key=lambda each: -each.lineno):
            if (each.end_lineno or 0) > name.lineno or each in above or self._apart(each, name):
                continue
            value = _set(each, name.id)
            found += self.templates(value, depth) if value else []
            if self._around(each) in above:
                return found
        return found or (self._of_callers(function, name.id, depth + 1) if depth < DEPTH else [])

    def _around(self, assignment: Assignment) -> ast.AST:
        """What holds only code that runs with the assignment: a condition may make one."""
        if isinstance(assignment, ast.Assign):
            return self.parents[assignment]
        return next(each for each in self.above(assignment) if isinstance(each, ast.stmt))

    def _apart(self, one: ast.AST, other: ast.AST) -> bool:
        """Whether two nodes stand in the two branches of one `if`."""
        paths = [[node, *self.above(node)] for node in (one, other)]
        around = next(each for each in paths[0] if each in paths[1])
        below = [path[path.index(around) - 1] for path in paths]
        return isinstance(around, ast.If) and len({below[0] in around.orelse, below[1] in around.orelse}) == 2

    def _of_callers(self, function: ast.FunctionDef, parameter: str, depth: int) -> list[str]:
        names = [each.arg for each in (*function.args.posonlyargs, *function.args.args) if each.arg != "self"]
        if len(self.functions[function.name]) > 1:
            return []
        found: list[str] = []
        for call in self.calls[function.name]:
            given = dict(zip(names, call.args, strict=False)) | {each.arg: each.value for each in call.keywords}
            if parameter in given and not any(isinstance(each, ast.Starred) for each in call.args):
                found += self.templates(given[parameter], depth)
        return found

    def faults(self) -> Iterator[tuple[str, str, str]]:
        """(Place, family, template) of faults of HAMi's rules, whose users have a table of codes."""
        for call in self.calls["Fault"]:
            match call.args:
                case [ast.Constant(value=str(family)), _, _, message, *_] if not CODE.fullmatch(family):
                    module = list(self.above(call))[-1]
                    path = next(path for path, tree in self.trees.items() if tree is module)
                    place = f"{path.relative_to(PACKAGE)}:{call.lineno}"
                    yield from ((place, family, each) for each in self.templates(message))

    def picks(self, codes: ast.expr) -> bool:
        """Whether codes are given a name that is only compared with: findings are picked by them."""
        given = next((each for each in self.above(codes) if isinstance(each, ast.Assign | ast.AnnAssign)), None)
        if given is None:
            return False
        targets = given.targets if isinstance(given, ast.Assign) else [given.target]
        names = {each.id for each in targets if isinstance(each, ast.Name)}
        module = list(self.above(codes))[-1]
        uses = [each for each in ast.walk(module) if isinstance(each, ast.Name) and each.id in names]
        loads = [each for each in uses if isinstance(each.ctx, ast.Load)]
        return bool(loads) and all(isinstance(self.parents[each], ast.Compare) for each in loads)

    def of_code(self, code: ast.Constant) -> tuple[str, ...]:
        """The messages that stand beside the literal of a code: behind it in a call or a tuple."""
        around = self.parents[code]
        row = around.args if isinstance(around, ast.Call) else around.elts if isinstance(around, ast.Tuple) else []
        behind = row[row.index(code) + 1 :] if code in row else []
        if isinstance(around, ast.Call) and _last_name(around.func) in SEVERITIES:  # code, route, message
            return tuple(dict.fromkeys(self.templates(behind[1])))
        texts = ([each for each in self.templates(one) if re.search(r"\w \w|\} \w|\w \{", each)] for one in behind)
        return tuple(dict.fromkeys(next((each for each in texts if each), [HOLE])))


def _last_name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _set(node: Assignment, name: str) -> ast.expr | None:
    """What an assignment gives a name."""
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        if isinstance(target, ast.Name) and target.id == name:
            return node.value
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = zip(target.elts, node.value.elts, strict=False)
            return next((value for each, value in pairs if isinstance(each, ast.Name) and each.id == name), None)
    return None


class Finder(ast.NodeVisitor):
    """Finds the literals of codes in one module. Codes that a code is compared with are no messages."""

    def __init__(self, source: Source, path: Path) -> None:
        self.source, self.path = source, path
        self.literals: list[Literal] = []

    def visit_Compare(self, node: ast.Compare) -> None:
        """No message."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """No code."""

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and CODE.fullmatch(node.value) and not self.source.picks(node):
            place = f"{self.path.relative_to(PACKAGE)}:{node.lineno}"
            self.literals.append(Literal(place, node.value, self.source.of_code(node)))


def literals(source: Source) -> Iterator[Literal]:
    """The literals of the product."""
    for path, module in source.trees.items():
        finder = Finder(source, path)
        finder.visit(module)
        yield from finder.literals


@cache
def _shape(template: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, template.split(HOLE))), re.DOTALL)


def fits(template: str, message: str) -> bool:
    """Whether a message was made from a template; words may have been added around it."""
    return _shape(template).search(message) is not None


def unreached() -> list[tuple[str, str, str]]:
    """(place, code, template) of each message that no case reports. The golden files say what the cases report."""
    source = Source()
    messages: dict[str, set[str]] = defaultdict(set)
    for case in cases.NAMES:
        for each in hints.said(case):
            messages[each["code"]].add(each["message"])
    every = set().union(*messages.values())
    return [
        *(
            (literal.place, literal.code, template)
            for literal in literals(source)
            for template in literal.templates
            if not any(fits(template, message) for message in messages[literal.code])
        ),
        *(each for each in source.faults() if not any(fits(each[2], message) for message in every)),
    ]
