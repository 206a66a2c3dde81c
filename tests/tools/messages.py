"""Which messages of the product the cases reach: `python -m tools.messages` runs all of them in one process.

A *message* is a literal of a code in the product together with a text that is reported under it. The product is
imported with every such literal replaced by a `TrackedCode`, a text that knows its literal, so a diagnostic says where
its code was written, through whatever tables and helpers the code came. Nothing depends on where a module stands.
"""

from __future__ import annotations

import ast
import builtins
import gc
import importlib.machinery
import json
import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tools import cases
from tools.run import DROPPED, ROOT

CODE = re.compile(r"[RSWTPFMOA][1-9]\d\d")
PACKAGE = ROOT / "generator" / "bayplan"
HOLE = "{}"
"""Stands in a template for what is known at run time only."""

SEVERITIES = ("error", "warning", "info")
Assignment = ast.Assign | ast.NamedExpr
DEPTH = 3
"""How many callers up a message is looked for."""


class TrackedCode(str):
    """The code of a diagnostic that knows the number of its literal."""

    literal: int

    def __new__(cls, code: str, literal: int) -> TrackedCode:
        made = super().__new__(cls, code)
        made.literal = literal
        return made


class Literal(NamedTuple):
    """A code that the product spells: where, and the messages that go with it, as far as the source shows them."""

    place: str
    code: str
    templates: tuple[str, ...]


class Source:
    """The product's syntax trees, with what encloses each node and who calls each function."""

    def __init__(self) -> None:
        paths = [path for path in sorted(PACKAGE.rglob("*.py")) if "codes" not in path.relative_to(PACKAGE).parts]
        self.trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in paths}
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


class Tracker(ast.NodeTransformer):
    """Replaces the literals of codes in one module. Codes that a code is compared with are no messages."""

    def __init__(self, source: Source, path: Path, literals: list[Literal]) -> None:
        self.source, self.path, self.literals = source, path, literals

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if not isinstance(node.value, str) or not CODE.fullmatch(node.value) or self.source.picks(node):
            return node
        number = ast.copy_location(ast.Constant(len(self.literals)), node)
        place = f"{self.path.relative_to(PACKAGE)}:{node.lineno}"
        self.literals.append(Literal(place, node.value, self.source.of_code(node)))
        made = ast.Call(ast.Name(TrackedCode.__name__, ast.Load()), [node, number], [])
        return ast.fix_missing_locations(ast.copy_location(made, node))


def track(source: Source) -> list[Literal]:
    """The literals of the product. What is imported from now on reports under tracked codes."""
    literals: list[Literal] = []
    trees: dict[str, ast.Module] = {}
    for path, tree in source.trees.items():
        if not CODE.search(path.read_text(encoding="utf-8")):
            continue
        before = len(literals)
        tracked = Tracker(source, path, literals).visit(tree)
        if len(literals) > before:
            trees[str(path)] = tracked
    as_it_is = importlib.machinery.SourceFileLoader.get_code

    def get_code(self: Any, name: str) -> Any:
        tree = trees.get(self.path)
        return compile(tree, self.path, "exec", dont_inherit=True) if tree else as_it_is(self, name)

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[assignment,method-assign]
    vars(builtins)[TrackedCode.__name__] = TrackedCode
    return literals


def reached() -> Iterator[tuple[int, str]]:
    """The literals that the cases report, each with its message. A diagnostic that is not printed does not count."""
    from bayplan.core.diagnostics import Diagnostic

    made: list[Diagnostic] = []
    construct = Diagnostic.__new__

    def record(cls: Any, *values: Any, **named: Any) -> Any:
        made.append(construct(cls, *values, **named))
        return made[-1]

    Diagnostic.__new__ = record  # type: ignore[method-assign]
    for case in cases.NAMES:
        answer = cases.run(case)
        printed = answer.out + answer.err
        for each in made:
            if isinstance(each.code, TrackedCode) and _shown(each.message, printed):
                yield each.code.literal, each.message
        made.clear()


def _shown(message: str, printed: str) -> bool:
    """Whether a message stands in a report, in one for people or in one of JSON or YAML."""
    escaped = message.replace("\t", r"\t")
    return message in printed or escaped in printed or json.dumps(message)[1:-1] in printed


def fits(template: str, message: str) -> bool:
    """Whether a message was made from a template; words may have been added around it."""
    return re.search(".*".join(map(re.escape, template.split(HOLE))), message, re.DOTALL) is not None


def unreached() -> list[tuple[str, str, str]]:
    """(place, code, template) of each message that no case reaches."""
    gc.disable()  # no tree of the source is garbage, and looking for some takes longer than reading them
    source = Source()
    literals = track(source)
    gc.freeze()
    gc.enable()
    messages: dict[int, set[str]] = defaultdict(set)
    for literal, message in reached():
        messages[literal].add(message)
    every = set().union(*messages.values())
    return [
        *(
            (literal.place, literal.code, template)
            for number, literal in enumerate(literals)
            for template in literal.templates
            if not any(fits(template, message) for message in messages[number])
        ),
        *(each for each in source.faults() if not any(fits(each[2], message) for message in every)),
    ]


if __name__ == "__main__":
    for name in DROPPED:
        os.environ.pop(name, None)
    found = unreached()
    json.dump(found, sys.stdout)
