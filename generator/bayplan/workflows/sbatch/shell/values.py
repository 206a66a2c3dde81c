"""Words -> texts, as far as they are known before the job starts.

Some texts are known only by what they stand for: the name of a node, the number of the job. They are marks between two
NUL characters, which no script holds, until the pods are known that they lead to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from bayplan.values import NamedTuple
from bayplan.workflows.sbatch.shell import sums
from bayplan.workflows.sbatch.shell.words import (
    ARRAY,
    BRACE,
    COMMAND,
    PROCESS,
    SUM,
    TEXT,
    VARIABLE,
    Piece,
    UnreadableError,
    Word,
)
from bayplan.workflows.sbatch.shell.words import inside as pieces


class Unknown(NamedTuple):
    """What takes running the script, or its environment, to know."""

    why: str
    hint: str = ""
    drawn: bool = False  # by chance: any value does


Value = str | Unknown
List = tuple[str, ...]

JOB, NODES, RANK, NODE, TIME = "job", "nodes", "rank", "node", "time"
"""Marks: the job's number, the list of its nodes, the number of a task, the name of one node, when the job starts."""

MARK = re.compile("\0(job|nodes|rank|node|time):([0-9.]*)\0")

BY_CHANCE = ("RANDOM", "SRANDOM")
"""Variables that bash draws."""

LOGIN: Mapping[str, str] = {
    "PWD": "the folder that the script is submitted from",
    "SLURM_SUBMIT_DIR": "the folder that the script is submitted from",
    "HOME": "the user's folder on Slurm's nodes",
    "USER": "who submits the script",
}
"""What the login node knows, and no script."""

FOLDERS = "name a folder that the nodes have, --set {0}=/FOLDER, or lay a volume of the cluster over it in `template`"


def mark(kind: str, text: str = "") -> str:
    """A text that stands for what is not known yet."""
    return f"\0{kind}:{text}\0"


class Scope(NamedTuple):
    """The variables of a script at some place: texts, lists, and what is known not to be known."""

    texts: Mapping[str, Value] = {}
    lists: Mapping[str, List] = {}
    sections: int = 1
    output: Callable[[str, Scope], Value] | None = None  # what a substitution gives

    def text(self, name: str) -> Value:
        """The value of a variable."""
        if name in self.texts:
            return self.texts[name]
        if name in self.lists:
            return self.lists[name][0] if self.lists[name] else ""
        hint = f"give it a value with --set {name}=VALUE" if name.isidentifier() else "write the value into the script"
        if name in BY_CHANCE:
            return Unknown(f"${name} is drawn by chance", hint, drawn=True)
        if name in LOGIN:
            return Unknown(f"${name} is {LOGIN[name]}", hint if name == "USER" else FOLDERS.format(name))
        return Unknown(f"${name} has no value in the script", hint)


def text(word: Word | Sequence[Piece], scope: Scope) -> Value:
    """The text of a word."""
    made: list[str] = []
    for piece in word.pieces if isinstance(word, Word) else word:
        value = _piece(piece, scope)
        if isinstance(value, Unknown):
            return value
        made.append(value)
    return "".join(made)


def split(word: Word, scope: Scope) -> list[str] | Unknown:
    """The words that a word becomes: what variables hold is split at blanks where it is not quoted."""
    for piece in word.pieces:
        if piece.kind == BRACE and (found := re.fullmatch(r"(\w+)\[[@*]\]", piece.text)) and len(word.pieces) < 3:
            held = scope.lists.get(found[1])
            return list(held) if held is not None else Unknown(f"${{{piece.text}}} has no value in the script")
    if all(piece.quoted or piece.kind == TEXT for piece in word.pieces):
        value = text(word, scope)
        return value if isinstance(value, Unknown) else [value]
    words: list[str] = []
    open_ = False
    for piece in word.pieces:
        value = _piece(piece, scope)
        if isinstance(value, Unknown):
            return value
        if piece.quoted or piece.kind == TEXT:
            words[len(words) - open_ :] = [(words[-1] if open_ else "") + value]
            open_ = True
            continue
        parts = value.split()
        if parts and open_ and not value[:1].isspace():
            words[-1] += parts.pop(0)
        words += parts
        open_ = bool(words) and bool(value) and not value[-1:].isspace()
    return words


def _piece(piece: Piece, scope: Scope) -> Value:
    if piece.kind == TEXT:
        return piece.text
    if piece.kind == VARIABLE:
        return scope.text(piece.text)
    if piece.kind == BRACE:
        return _brace(piece.text, scope)
    if piece.kind == SUM:
        return _sum(piece.text, scope)
    if piece.kind == COMMAND:
        return scope.output(piece.text, scope) if scope.output else Unknown(f"$({piece.text}) takes running the script")
    shown = {PROCESS: f"<({piece.text})", ARRAY: "a list"}[piece.kind]
    return Unknown(f"{shown} takes running the script")


_BRACES = re.compile(
    r"(#?)([A-Za-z_]\w*|[0-9@*#])(?:\[([^\]]*)\])?(?:(:?[-=+?]|%%?|##?|:|//?|\^\^?|,,?|@)(.*))?", re.DOTALL
)


def _brace(inside: str, scope: Scope) -> Value:
    """`${NAME}`, `${NAME:-default}`, `${NAME[3]}`, `${#NAME[@]}`."""
    found = _BRACES.fullmatch(inside)
    if found is None:
        return Unknown(f"${{{inside}}} takes running the script")
    length, name, index, operator, rest = found.groups()
    held = _element(name, index, scope) if index is not None else scope.text(name)
    if length:
        several = scope.lists.get(name) if index in ("@", "*") else None
        if several is not None:
            return str(len(several))
        return held if isinstance(held, Unknown) else str(len(held))
    if operator in ("-", ":-", "=", ":="):
        return _else(rest, scope) if isinstance(held, Unknown) or (held == "" and ":" in operator) else held
    if operator in ("+", ":+"):
        return "" if isinstance(held, Unknown) else _else(rest, scope)
    if operator in ("?", ":?") or operator is None:
        return held
    if isinstance(held, Unknown):
        return held
    return _cut(held, operator, rest, inside)


def _else(inside: str, scope: Scope) -> Value:
    try:
        return text(pieces(inside.strip("\"'")), scope)
    except UnreadableError:
        return Unknown(f"{inside} cannot be read")


def _element(name: str, index: str, scope: Scope) -> Value:
    held = scope.lists.get(name)
    if held is None:
        return scope.text(name) if index == "0" else Unknown(f"${{{name}[{index}]}} has no value in the script")
    number = int(index) if re.fullmatch(r"-?[0-9]{1,6}", index) else None
    if number is None:
        found = _sum(index, scope)
        number = int(found) if isinstance(found, str) and re.fullmatch(r"-?[0-9]{1,6}", found) else None
    if number is None or not -len(held) <= number < len(held):
        return Unknown(f"${{{name}[{index}]}} is no entry that the script makes")
    return held[number]


def _cut(held: str, operator: str, rest: str, inside: str) -> Value:
    """`${NAME%%.*}` and its like, for patterns of a fixed text and one star."""
    pattern = rest.replace("\\", "")
    if "\0" in held or operator not in ("%", "%%", "#", "##") or not re.fullmatch(r"\*?[^*?\[\]]+\*?", pattern):
        return Unknown(f"${{{inside}}} takes running the script")
    fixed = pattern.strip("*")
    if operator.startswith("%") and pattern.endswith("*") and not pattern.startswith("*"):
        cut = held.find(fixed) if operator == "%%" else held.rfind(fixed)
        return held[:cut] if cut >= 0 else held
    if operator.startswith("#") and pattern.startswith("*") and not pattern.endswith("*"):
        cut = held.rfind(fixed) if operator == "##" else held.find(fixed)
        return held[cut + len(fixed) :] if cut >= 0 else held
    if "*" not in pattern:
        return held.removesuffix(fixed) if operator.startswith("%") else held.removeprefix(fixed)
    return Unknown(f"${{{inside}}} takes running the script")


_NAMES = re.compile(r"\$?\{?([A-Za-z_]\w*)\}?")


def _sum(inside: str, scope: Scope) -> Value:
    wrong: list[Unknown] = []

    def filled(found: re.Match[str]) -> str:
        held = scope.text(found[1])
        if isinstance(held, Unknown):
            wrong.append(held)
            return "0"
        return held

    written = _NAMES.sub(filled, inside) if len(inside) < 1000 else inside
    if wrong:
        return wrong[0]
    number = sums.value(written)
    return Unknown(f"$(({inside.strip()})) takes running the script") if number is None else str(number)
