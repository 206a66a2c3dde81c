"""Every regular expression of bayplan takes a number of steps in proportion to its text.

The test finds all of them in the syntax trees of the modules and in the schemas, makes texts of long runs from each
one's own characters, and uses it as bayplan does: with `search` where bayplan searches.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from bayplan.checks.workflow import FOREIGN
from bayplan.cli.post_render import NAMED
from bayplan.core import package_data
from bayplan.plugins.slurm.sbatch import programs
from bayplan.plugins.slurm.sbatch.expansion import _between_stars, _joined, regular
from bayplan.text.emit import _Cutter
from bayplan.text.patterns import MOST_STEPS, steps
from tools.steps import steps as counted

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "generator" / "bayplan"
METHODS = {"match": 2, "fullmatch": 2, "search": 2, "sub": 4, "subn": 4, "split": 3, "findall": 2, "finditer": 2}
"""The methods of patterns, and the position of the flags in a call of the function of that name."""


class Use(NamedTuple):
    """A pattern and the method that bayplan calls. `place`: the file and the expression."""

    place: str
    pattern: str | bytes
    flags: int
    method: str

    @property
    def bytes(self) -> bool:
        """Whether the pattern is for bytes."""
        return isinstance(self.pattern, bytes)


WORDS = json.loads(package_data.table("plugins", "words.json"))
READ = "only read, never matched"
LIMITED = "from the user's file; `text/patterns.py` limits the steps"
BY_SCHEMA = "one of the schemas"
STARS = _between_stars("*a*a?[b-c]*d")
GLOB = f"(?s){_joined(STARS)}"

MADE: Mapping[str, str | tuple[str | bytes, ...]] = {
    "checks/workflow.py: pattern": READ,
    "checks/workflow.py: find": tuple(find for find, _ in FOREIGN),
    "cli/post_render.py: pattern": tuple(NAMED.values()),
    "manifests/pod_dns.py: '|'.join((re.escape(text) for text in sorted(names, key=len, reverse=True)))": ("a-0|a|b",),
    "plugins/osmo/sandbox/child.py: f'{table.left}([0-9]+){table.right}'": ("<([0-9]+)>",),
    "schemas/__init__.py: pattern.replace('$', '\\\\Z')": BY_SCHEMA,
    "schemas/explain.py: each.schema.get('pattern', '')": BY_SCHEMA,
    "schemas/explain.py: pattern.replace('$', '\\\\Z')": BY_SCHEMA,
    "text/emit.py: cutter.token('([0-9]+)')": (_Cutter(0).token("([0-9]+)"),),
    "text/patterns.py: token if len(token) > 1 or token == '.' else re.escape(token)": "for one character",
    "topologies/hypernodes/__init__.py: python": LIMITED,
    """plugins/slurm/sbatch/steps.py: f'\\\\$\\\\{{?{name}\\\\b'""": (r"\$\{?A\b",),
    "topologies/native.py: rule['from']": LIMITED,
    "topologies/unit_names.py: each['from']": LIMITED,
    "plugins/slurm/topology/node_names.py: rule['from']": ("r([0-9]+)-n([0-9]{2})", "a[.]b"),
    "plugins/osmo/sections.py: f'(?<![\\\\w.]){re.escape(name)}(?!\\\\w)' if name[:1] != '.' else"
    " f'{re.escape(name)}(?!\\\\w)'": (r"(?<![\w.])name(?!\w)", r"\.aaa(?!\w)"),
    "plugins/__init__.py: row['file']": tuple(row["file"] for row in WORDS.values() if "file" in row),
    "plugins/osmo/task_rules.py: pattern": READ,
    "plugins/osmo/template.py: f'{{{{({hidden.stem}[0-9]+)\\\\n*}}}}'": ("{{(runtime_token0_[0-9]+)\n*}}",),
    "plugins/slurm/sbatch/programs.py: row['acts']": tuple(each.pattern for each in programs.ACTS.values()),
    "plugins/slurm/sbatch/builtins.py: f'\\\\A[{re.escape(separators)}]'": (r"\A[:,]",),
    "plugins/slurm/sbatch/builtins.py: f'{name}\\\\b'": (r"NAME\b",),
    "plugins/slurm/sbatch/conditions.py: regular(pattern)": (GLOB,),
    "plugins/slurm/sbatch/conditions.py: expression": LIMITED,
    "plugins/slurm/sbatch/control.py: expression": (GLOB,),
    "plugins/slurm/sbatch/expansion.py: f'\\\\A{blank}+'": (r"\A[ \t]+",),
    "plugins/slurm/sbatch/expansion.py: delimiter": (r"[ \t]*[:,][ \t]*|[ \t]+",),
    "plugins/slurm/sbatch/expansion.py: _joined(parts, shortest=shortest)": (
        GLOB,
        f"(?s){_joined(STARS, shortest=True)}",
    ),
    "plugins/slurm/sbatch/expansion.py: ''.join(parts[0])": ("aa[b-c].d",),
    "plugins/slurm/sbatch/expansion.py: _joined(parts)": (GLOB, regular("a*b"), regular("a?")),
    "plugins/torchx/losses.py: f'{re.escape(own)}-([0-9]+)'": ("name-([0-9]+)",),
}
"""Patterns that depend on variables: typical ones, or why there are none."""

PATH = "a file's name has at most 255 bytes"
BOUNDED: Mapping[str, tuple[int, str]] = {
    "cli/check.py: WORKFLOW": (255, PATH),
    r"topologies/kubernetes_nodes/source.py: (\.[A-Za-z0-9]+)+$": (255, PATH),
    r"""plugins/slurm/sbatch/expansion.py: (?:\\.|'[^']*'|\"[^\"]*\"|\$\{[^}]*\}|\$\([^)]*\)|[^/\\])*""": (
        500,
        "`_changed` refuses more",
    ),
    "plugins/slurm/sbatch/conditions.py: OTHERWISE": (200, "`_matches` refuses more"),
    "cluster-topology.json: ^[-+]?[0-9.]+[A-Za-z]*[-+]?[0-9]*$": (64, "maxLength"),
    "workflow.json: ^[-+]?[0-9.]+[A-Za-z]*[-+]?[0-9]*$": (64, "maxLength"),
    "workflow.json: ^([a-z0-9]+-)*[0-9]*[a-z][a-z0-9]*(-[a-z0-9]+)*$": (15, "maxLength"),
}
"""Patterns that take the square of the time: the most characters of their texts, and what bounds them."""


# Where the patterns are.


def uses_of_modules() -> tuple[list[Use], list[Use]]:
    """The uses in all modules, and those whose pattern is not a constant, without it."""
    trees = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}
    trees.pop("__main__.py")
    uses: list[Use] = []
    unknown: list[Use] = []
    for file, path in trees.items():
        name = ".".join(("bayplan", *Path(file).with_suffix("").parts)).removesuffix(".__init__")
        text, known = path.read_text(encoding="utf-8"), names_of(name)
        if "re." not in text and not any(isinstance(each, re.Pattern) for each in known.values()):
            continue
        found = uses_in(file, text, known)
        uses += found[0]
        unknown += found[1]
    compiled = {(use.pattern, use.flags): use.place for use in uses if use.method == "compile"}
    methods = {(use.pattern, use.flags) for use in uses if use.method != "compile"}
    idle = [Use(place, *key, method) for key, place in compiled.items() if key not in methods for method in ANY]
    return [use for use in uses if use.method != "compile"] + idle, unknown


def names_of(module: str) -> Mapping[str, Any]:
    """The values of a module's names; none if it needs a package that is not installed."""
    try:
        return vars(importlib.import_module(module))
    except ModuleNotFoundError:
        return {}


ANY = ("match", "fullmatch", "sub")
"""The methods for a pattern that is passed on."""


def uses_in(file: str, text: str, known: Mapping[str, Any]) -> tuple[list[Use], list[Use]]:
    """The uses in a module. `known`: the values of its names."""
    uses: list[Use] = []
    unknown: list[Use] = []
    nodes = list(ast.walk(ast.parse(text)))
    functions = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    attributes = {id(node.value): node.attr for node in nodes if isinstance(node, ast.Attribute)}
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and is_re(node.func.value):
            method = node.func.attr
            if method not in METHODS and method != "compile":
                continue
            first = node.args[0]
            place = f"{file}: {first.value if isinstance(first, ast.Constant) else ast.unparse(first)}"
            flagged = [each.value for each in node.keywords if each.arg == "flags"]
            pattern = value_of(first, known)
            flagged += node.args[METHODS.get(method, 1) :]
            flags = value_of(flagged[0], known) if flagged else 0
            if isinstance(pattern, re.Pattern):
                pattern, flags = pattern.pattern, pattern.flags
            if not isinstance(pattern, str | bytes) or not isinstance(flags, int):
                unknown.append(Use(place, "", 0, attributes.get(id(node), "sub") if method == "compile" else method))
                continue
            if method == "compile" and attributes.get(id(node)) == "scanner":
                method = "match"  # `scanner(text).match` matches where the last match ended
            uses.append(Use(place, pattern, re.compile(pattern, flags).flags, method))
            if method == "compile" and attributes.get(id(node)) in METHODS:
                uses.append(uses[-1]._replace(method=attributes[id(node)]))
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            value = value_of(node, known)
            if isinstance(node, ast.Attribute) and is_re(node.value) and node.attr in (*METHODS, "compile"):
                unknown += [Use(f"{file}: {ast.unparse(node)}", "", 0, node.attr)] * (id(node) not in functions)
            elif isinstance(value, re.Pattern):
                place = f"{file}: {ast.unparse(node)}"
                attribute = attributes.get(id(node), "")
                wanted = (attribute,) if attribute in METHODS else () if attribute else ANY
                uses += [Use(place, value.pattern, value.flags, method) for method in wanted]
    return uses, unknown


def is_re(node: ast.expr) -> bool:
    """Whether a name is that of `core.regex` or `re`, which is `python` in a function that uses both."""
    return isinstance(node, ast.Name) and node.id in ("re", "python")


def value_of(node: ast.expr, known: Mapping[str, Any]) -> Any:
    """The value of an expression of constants; None without one."""
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = value_of(node.value, known)
        return getattr(owner, node.attr, None) if isinstance(owner, ModuleType) else None
    try:
        return eval(compile(ast.Expression(node), "", "eval"), dict(known))  # our own code
    except Exception:
        return None


def uses_of_schemas() -> Iterator[Use]:
    """The patterns of the schemas. The validators check maxLength first, and search."""
    for path in sorted((ROOT / "schemas").glob("*.json")):
        for schema in dicts(json.loads(path.read_text(encoding="utf-8"))):
            if isinstance(pattern := schema.get("pattern"), str):
                written = pattern.replace("$", r"\Z")
                yield Use(f"{path.name}: {pattern}", written, re.UNICODE, "search")


def dicts(data: Any) -> Iterator[dict[str, Any]]:
    if isinstance(data, dict):
        yield data
    for each in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from dicts(each)


# Texts for a pattern.

USUAL = "a1A -_./:\"'\n\t#=,\0\xe9(["


class Part(NamedTuple):
    """A repeated part of a pattern: strings that lead to it, and strings of one repetition."""

    before: str
    once: tuple[str, ...]


def parts_of(pattern: str | bytes, flags: int) -> tuple[tuple[str, ...], list[Part]]:
    """Strings that the pattern matches, and its repeated parts."""
    parts: list[Part] = []
    tree = _parser.parse(pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern, flags & ~re.UNICODE)
    return samples(tree, "", parts), parts


def samples(tree: Any, before: str, parts: list[Part]) -> tuple[str, ...]:
    """Up to six strings that match a part of a pattern. Adds the repeats in it."""
    results = [""]
    for operation, argument in tree:
        choices = sample(operation, argument, before + results[0], parts)
        first = results[0]
        results = [text + choices[0] for text in results] + [first + choice for choice in choices[1:]]
        del results[6:]
    return tuple(dict.fromkeys(results))


def sample(operation: Any, argument: Any, before: str, parts: list[Part]) -> tuple[str, ...]:
    if operation is sre.LITERAL:
        return (chr(argument),)
    if operation in (sre.NOT_LITERAL, sre.ANY, sre.IN):
        negated = operation is sre.NOT_LITERAL
        one = re.compile("") if operation is sre.ANY else None
        test = (lambda char: char != "\n") if one else (lambda char: matches_one(operation, argument, char) != negated)
        return tuple(filter(test, named(argument if operation is sre.IN else []) + USUAL))[:6] or ("",)
    if operation is sre.BRANCH:
        return tuple(text for branch in argument[1] for text in samples(branch, before, parts)[:3])[:8]
    if operation is sre.SUBPATTERN:
        return samples(argument[3], before, parts)
    if operation is sre.ATOMIC_GROUP:
        return samples(argument, before, parts)
    if operation in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        least, most, inner = argument
        once = samples(inner, before, parts)
        if most > 8:
            parts.append(Part(before, once))
        return tuple(text * max(least, 0) for text in (once if least else ("",))) + (() if least else once[:2])
    if operation in (sre.ASSERT, sre.ASSERT_NOT):
        samples(argument[1], before, parts)
    return ("",)


def named(items: Iterable[Any]) -> str:
    """The first characters of each item of a class."""
    found = ""
    for operation, argument in items:
        found += chr(argument) if operation is sre.LITERAL else chr(argument[0]) if operation is sre.RANGE else ""
    return found


CATEGORIES = {
    sre.CATEGORY_DIGIT: str.isdigit,
    sre.CATEGORY_SPACE: str.isspace,
    sre.CATEGORY_WORD: lambda char: char.isalnum() or char == "_",
    sre.CATEGORY_NOT_DIGIT: lambda char: not char.isdigit(),
    sre.CATEGORY_NOT_SPACE: lambda char: not char.isspace(),
    sre.CATEGORY_NOT_WORD: lambda char: not (char.isalnum() or char == "_"),
}


def matches_one(operation: Any, argument: Any, char: str) -> bool:
    """Whether a character is in a class, or is the literal."""
    if operation is sre.NOT_LITERAL:
        return chr(argument) == char
    inside, negated = False, False
    for kind, value in argument:
        negated = negated or kind is sre.NEGATE
        inside = inside or (
            (kind is sre.LITERAL and chr(value) == char)
            or (kind is sre.RANGE and value[0] <= ord(char) <= value[1])
            or (kind is sre.CATEGORY and CATEGORIES[value](char))
        )
    return inside != negated


def literals(tree: Any) -> Iterator[str]:
    """The characters that a pattern names, and one of each class."""
    for operation, argument in tree:
        if operation in (sre.LITERAL, sre.NOT_LITERAL):
            yield chr(argument)
        elif operation is sre.IN:
            yield from named(argument)
            yield from [char for char in USUAL if matches_one(operation, argument, char)][:1]
        elif operation is sre.ANY:
            yield "a"
        elif operation is sre.BRANCH:
            for branch in argument[1]:
                yield from literals(branch)
        elif operation in (sre.ASSERT, sre.ASSERT_NOT):
            yield from literals(argument[1])
        elif isinstance(argument, _parser.SubPattern):
            yield from literals(argument)
        elif isinstance(argument, tuple) and argument and isinstance(argument[-1], _parser.SubPattern):
            yield from literals(argument[-1])


def texts_of(pattern: str | bytes, flags: int) -> Iterator[tuple[str, str, str]]:
    """Texts: their beginning, what they repeat, and their end."""
    whole, parts = parts_of(pattern, flags)
    text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
    characters = list(dict.fromkeys(literals(_parser.parse(text, flags & ~re.UNICODE))))
    few = characters[:7] + [char for char in " a\n" if char not in characters[:7]]
    runs = dict.fromkeys(("", run, end) for run in (*characters, *whole, *few) for end in ("", "\0"))
    runs |= dict.fromkeys(("", one + other, "\0") for one in few for other in few if one != other)
    for part in parts:
        once = [each for each in part.once if each]
        for end in ("", "\0", "\n\0"):
            runs |= dict.fromkeys((part.before, run, end) for run in (*once, *few[:4]))
            runs |= dict.fromkeys(("", part.before + run, end) for run in ("", *once[:3]))
            runs |= dict.fromkeys((part.before, one + other, end) for one in once[:3] for other in once[:3])
    return (each for each in runs if each[1])


# How many steps the patterns take.

SIZES = (64, 256)
"""The lengths of texts that are compared with texts of half the length."""

FEW, MOST = 4, 200
"""Steps for each character: so few that the pattern is linear, and so many that it is not."""


def steps_of(use: Use, text: str) -> int:
    """The steps of a use on a text."""
    bytes_or_text = text.encode("latin-1", "replace") if use.bytes else text
    return counted(use.pattern, use.flags, use.method, bytes_or_text, MOST * len(text))


def slow(use: Use) -> str:
    """A text for which the steps grow faster than its length; empty if there is none."""
    for start, run, end in texts_of(use.pattern, use.flags):
        for size in SIZES:
            long = steps_of(use, start + run * (size // len(run) + 1) + end)
            if long <= FEW * size:
                break
            short = steps_of(use, start + run * (size // 2 // len(run) + 1) + end)
            if long <= min(2.5 * short, MOST * size):
                break
        else:
            return f"{start!r} + {size // len(run)} * {run!r} + {end!r}: {short} to {long} steps"
    return ""


# The tests.


@cache
def every_use() -> tuple[tuple[Use, ...], frozenset[str]]:
    """All uses, each pattern and method once, and the expressions whose patterns are not constants."""
    uses, unknown = uses_of_modules()
    typical = {place: each for place, each in MADE.items() if not isinstance(each, str)}
    made = [use._replace(pattern=pattern) for use in unknown for pattern in typical.get(use.place, ())]
    once: dict[tuple[Any, ...], Use] = {}
    for use in (*uses, *made, *uses_of_schemas()):
        once.setdefault((use.place * (use.place in BOUNDED), *use[1:]), use)
    return tuple(once.values()), frozenset(use.place for use in unknown)


def test_every_pattern_is_known() -> None:
    """A pattern that is not a constant is in the table above, so that none escapes."""
    assert every_use()[1] == set(MADE)


def test_the_steps_of_every_pattern_grow_with_the_text() -> None:
    uses = every_use()[0]
    assert len(uses) > 350
    found = {use.place: text for use in uses if use.place not in BOUNDED and (text := slow(use))}
    assert not found


def test_patterns_for_short_texts() -> None:
    """They take few steps for the longest text, and would be slow for a longer one."""
    bounded = [use for use in every_use()[0] if use.place in BOUNDED]
    assert {use.place for use in bounded if slow(use)} == set(BOUNDED)
    for use in bounded:
        most = BOUNDED[use.place][0]
        for start, run, end in [*texts_of(use.pattern, use.flags)][::8]:
            text = (start + run * most)[: most - len(end)] + end
            assert counted(use.pattern, use.flags, use.method, text) < 1_000_000


OLD_LINE = (
    r"( *)((?:-(?: +|$))*)(?:([A-Za-z0-9_./$(][^\s:#,\[\]{}\"']*|\"[^\"\\]*\"|'[^']*'):(?= |$))?"
    r" *((?:[A-Za-z0-9_./$(+=~^]|-(?=[^\s-]))[^\s:#]*(?:(?::+(?=[^\s:])|\#| +(?=[^#\s]))[^\s:#]*)*|\"[^\"\\]*\""
    r"|'[^']*'|\|-?|[\[{][^#]*[\]}])?(?: +\#.*| *)$"
)
"""A pattern for lines of YAML that took the cube of the time."""


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"(a|a)*b", "match"),
        (r"(a|b|ab)*c", "fullmatch"),
        (r"(?:a+)+$", "match"),
        (r"(x?a|a)*b", "match"),
        (r"\s*#.*$", "search"),
        (r"[ ]*\n", "search"),
        (r"\s+$", "sub"),
        (r"\([^)]*\)", "sub"),
        (r"key: +[a-z]*[a-m]*!", "match"),
        (r"key: *(?:[^,]+,?)+;", "match"),
        (r"\[[^\]]+\]", "search"),
        (OLD_LINE, "match"),
        (r"^[\s-]*\{?\s*topology\s*:\s*([^#]+?)\s*(?:[,}#].*)?$", "match"),
        (r"{[{%].*?(?:[%}]}|$)", "finditer"),
        (r"sed s(.)([\w .:=-]*[\w :=-])\1([\w .:=,-]*)\1(g?)", "fullmatch"),
        (rb"(?:a|b)*?ab+c[ab]*d", "search"),
    ],
)
def test_slow_patterns_are_found(pattern: str | bytes, method: str) -> None:
    assert slow(Use("", pattern, 0, method))


def test_patterns_without_a_known_value_are_found() -> None:
    code = "re.compile(f'{x}').match\nre.search(y, z)\nre.match('a+', z, re.I)\nmap(re.escape, z)\nmap(re.search, z)"
    uses, unknown = uses_in("a.py", code, {"re": re})
    assert {use.place: use.method for use in unknown} == {
        "a.py: f'{x}'": "match",
        "a.py: re.search": "search",
        "a.py: y": "search",
    }
    assert uses == [Use("a.py: a+", "a+", re.I | re.U, "match")]


@pytest.mark.parametrize(
    ("pattern", "many"),
    [
        ("gb-(.+)", False),
        ("([^-]+)-([^-]+)-([^-]+)-([0-9]+)", False),
        ("(?i)^rack[0-9]{1,3}-n(?:a|b)$", False),
        ("(?:ab|cd)+x", False),
        ("(.+)-(.+)-(.+)x", True),
        ("(a+)+b", True),
        ("(a|.)" * 25, True),
        ("(?:a?){30}b", True),
        ("a*a*a*b", True),
        ("(?=a)a", True),
        (r"(a)\1", True),
        (r"[\xe0-\xff]+a", True),
    ],
)
def test_patterns_of_users_that_take_many_steps(pattern: str, many: bool) -> None:
    assert (steps(pattern, 253, whole=True) > MOST_STEPS) == many


def test_steps_are_an_upper_bound() -> None:
    """The steps of random patterns are below the bound, with a constant for the splits and places of a repeat."""
    numbers = random.Random(1)

    def part(depth: int) -> str:
        one = numbers.choice(["a", "b", "-", ".", "[ab]", "[^a]", r"\w", r"\d", r"[^\D0-9]", "[^0-9]", "$", "^"])
        if depth < 3 and numbers.random() < 0.5:
            one = f"({'|'.join(sequence(depth + 1) for _ in range(numbers.randint(1, 3)))})"
        return one + numbers.choice(["", "", "*", "+", "?", "{2}", "{1,9}", "*?"])

    def sequence(depth: int) -> str:
        return "".join(part(depth) for _ in range(numbers.randint(0, 4)))

    tried = 0
    while tried < 1000:
        pattern, whole = sequence(0), numbers.random() < 0.5
        with contextlib.suppress(re.error):
            re.compile(pattern, re.ASCII)
            parts = (numbers.choice(["a", "b", "ab", "-", "3", "\u0663"]) for _ in range(2))
            text = "".join(each * numbers.randint(1, 30) for each in parts) + "!"
            if (bound := steps(pattern, len(text), whole=whole)) < MOST_STEPS:
                tried += 1
                needed = counted(pattern, re.ASCII, "fullmatch" if whole else "search", text)
                assert needed <= 4 * bound + 4, (pattern, text)
