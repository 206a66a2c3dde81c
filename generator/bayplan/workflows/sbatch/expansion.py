"""Evaluate words before the job starts.

Some values exist only later: the name of a node, the job ID. Such a value is a mark between two NUL characters, which
no script contains. `pods.py` replaces the marks when it knows the pods.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from bayplan.core.values import NamedTuple
from bayplan.workflows.sbatch import shell
from bayplan.workflows.sbatch.shell import Piece, UnreadableError, Word, statements

# Shell arithmetic with integers: + - * / %, parentheses.

_TOKEN = re.compile(r"\s*([0-9]{1,18}|[-+*/%()])")
MOST = 10**18


def value(text: str) -> int | None:
    """The value of an arithmetic expression. None: not an expression of integers, or too large for 64 bits."""
    tokens: list[str] = []
    at, text = 0, text.strip()
    while at < len(text) and len(tokens) < 200:
        token = _TOKEN.match(text, at)
        if token is None:
            return None
        tokens.append(token[1])
        at = token.end()
    try:
        number, rest = _arithmetic_sum(tokens)
    except (IndexError, ValueError, ZeroDivisionError):
        return None
    return None if rest or at < len(text) or abs(number) > MOST else number


def _arithmetic_sum(tokens: list[str]) -> tuple[int, list[str]]:
    number, rest = _product(tokens)
    while rest and rest[0] in "+-":
        sign = 1 if rest[0] == "+" else -1
        other, rest = _product(rest[1:])
        number += sign * other
    return number, rest


def _product(tokens: list[str]) -> tuple[int, list[str]]:
    number, rest = _atom(tokens)
    while rest and rest[0] in "*/%":
        other, after = _atom(rest[1:])
        quotient = abs(number) // abs(other) if rest[0] != "*" else 0
        quotient = quotient if (number < 0) == (other < 0) else -quotient  # shells round towards zero
        number = {"*": number * other, "/": quotient, "%": number - quotient * other}[rest[0]]
        rest = after
    return number, rest


def _atom(tokens: list[str]) -> tuple[int, list[str]]:
    first, rest = tokens[0], tokens[1:]
    if first == "-":
        number, rest = _atom(rest)
        return -number, rest
    if first == "(":
        number, rest = _arithmetic_sum(rest)
        if rest[0] != ")":
            raise ValueError
        return number, rest[1:]
    return int(first), rest


class Unknown(NamedTuple):
    """A value that only the running script or its environment has."""

    why: str
    hint: str = ""
    random: bool = False  # any value serves


Value = str | Unknown
List = tuple[str, ...]

JOB, NODES, RANK, NODE, TIME = "job", "nodes", "rank", "node", "time"
"""Marks: the job ID, the list of its nodes, the rank of a task, the name of one node, the start time."""

MARK = re.compile("\0(job|nodes|rank|node|time):([0-9.]*)\0")

RANDOM_VARIABLES = ("RANDOM", "SRANDOM")
"""Variables with a random value in bash."""

LOGIN_VARIABLES: Mapping[str, str] = {
    "PWD": "the directory that the user submits the script from",
    "SLURM_SUBMIT_DIR": "the directory that the user submits the script from",
    "HOME": "the user's home directory on Slurm's nodes",
    "USER": "the user who submits the script",
}
"""Variables that only the login node knows."""

FOLDER_HINT = "set a directory of the nodes with --set {0}=/DIR; `template` can mount a volume of the cluster there"


def mark(kind: str, text: str = "") -> str:
    """The mark of a value that is known later."""
    return f"\0{kind}:{text}\0"


class Scope(NamedTuple):
    """The variables of a script at one place: strings, lists, and unknown values."""

    texts: Mapping[str, Value] = {}
    lists: Mapping[str, List] = {}
    sections: int = 1
    output: Callable[[str, Scope], Value] | None = None  # evaluates a command substitution

    def text(self, name: str) -> Value:
        """The value of a variable."""
        if name in self.texts:
            return self.texts[name]
        if name in self.lists:
            return self.lists[name][0] if self.lists[name] else ""
        hint = f"use --set {name}=VALUE" if name.isidentifier() else "write the value into the script"
        if name in RANDOM_VARIABLES:
            return Unknown(f"cannot evaluate ${name}: its value is random", hint, random=True)
        if name in LOGIN_VARIABLES:
            why = f"cannot evaluate ${name}: it is {LOGIN_VARIABLES[name]}"
            return Unknown(why, hint if name == "USER" else FOLDER_HINT.format(name))
        return Unknown(f"${name} has no value in the script", hint)


def text(word: Word | Sequence[Piece], scope: Scope) -> Value:
    """The value of a word."""
    texts: list[str] = []
    for piece in word.pieces if isinstance(word, Word) else word:
        value = _piece(piece, scope)
        if isinstance(value, Unknown):
            return value
        texts.append(value)
    return "".join(texts)


def split(word: Word, scope: Scope) -> list[str] | Unknown:
    """The words that a word expands to: values of unquoted variables are split at whitespace."""
    for piece in word.pieces:
        if piece.kind == shell.BRACE and (match := re.fullmatch(r"(\w+)\[[@*]\]", piece.text)) and len(word.pieces) < 3:
            one = scope.texts.get(match[1])
            entries = (one,) if isinstance(one, str) else scope.lists.get(match[1])
            return list(entries) if entries is not None else _no_list(match[1], piece.text, scope)
    if all(piece.quoted or piece.kind == shell.TEXT for piece in word.pieces):
        value = text(word, scope)
        return value if isinstance(value, Unknown) else [value]
    words: list[str] = []
    open_ = False
    for piece in word.pieces:
        value = _piece(piece, scope)
        if isinstance(value, Unknown):
            return value
        if piece.quoted or piece.kind == shell.TEXT:
            words[len(words) - open_ :] = [(words[-1] if open_ else "") + value]
            open_ = True
            continue
        parts = value.split()
        if parts and open_ and not value[:1].isspace():
            words[-1] += parts.pop(0)
        words += parts
        open_ = bool(words) and bool(value) and not value[-1:].isspace()
    return words


def split_all(words: Iterable[Word], split_one: Callable[[Word], list[str] | Unknown]) -> list[str] | Unknown:
    """The words that several words expand to, or the first unknown one."""
    texts: list[str] = []
    for word in words:
        parts = split_one(word)
        if isinstance(parts, Unknown):
            return parts
        texts += parts
    return texts


def _no_list(name: str, shown: str, scope: Scope) -> Unknown:
    """Why a list has no entries: bayplan could not evaluate it, or the script does not set it."""
    cause = scope.texts.get(name)
    return cause if isinstance(cause, Unknown) else Unknown(f"${{{shown}}} has no value in the script")


def _piece(piece: Piece, scope: Scope) -> Value:
    if piece.kind == shell.TEXT:
        return piece.text
    if piece.kind == shell.VARIABLE:
        return scope.text(piece.text)
    if piece.kind == shell.BRACE:
        return _brace(piece.text, scope)
    if piece.kind == shell.SUM:
        return _sum(piece.text, scope)
    if piece.kind == shell.COMMAND:
        why = f"cannot evaluate $({piece.text}) without running the script"
        return scope.output(piece.text, scope) if scope.output else Unknown(why)
    shown = {shell.PROCESS: f"<({piece.text})", shell.ARRAY: "a list"}[piece.kind]
    return Unknown(f"cannot evaluate {shown} without running the script")


_BRACES = re.compile(
    r"(#?)([A-Za-z_]\w*|[0-9@*#])(?:\[([^\]]*)\])?(?:(:?[-=+?]|%%?|##?|:|//?|\^\^?|,,?|@)(.*))?", re.DOTALL
)


def _brace(inside: str, scope: Scope) -> Value:
    """`${NAME}`, `${NAME:-default}`, `${NAME[3]}`, `${#NAME[@]}`."""
    match = _BRACES.fullmatch(inside)
    if match is None:
        return Unknown(f"cannot evaluate ${{{inside}}} without running the script")
    length, name, index, operator, rest = match.groups()
    content = _element(name, index, scope) if index is not None else scope.text(name)
    if length:
        several = scope.lists.get(name) if index in ("@", "*") else None
        if several is not None:
            return str(len(several))
        return content if isinstance(content, Unknown) else str(len(content))
    if operator in ("-", ":-", "=", ":="):
        return _else(rest, scope) if isinstance(content, Unknown) or (content == "" and ":" in operator) else content
    if operator in ("+", ":+"):
        return "" if isinstance(content, Unknown) else _else(rest, scope)
    if operator in ("?", ":?") or operator is None:
        return content
    if isinstance(content, Unknown):
        return content
    return _cut(content, operator, rest, inside)


def _else(inside: str, scope: Scope) -> Value:
    try:
        return text(shell.inside(inside.strip("\"'")), scope)
    except UnreadableError:
        return Unknown(f"cannot parse {inside}")


def _element(name: str, index: str, scope: Scope) -> Value:
    entries = scope.lists.get(name)
    if entries is None:
        return scope.text(name) if index == "0" else _no_list(name, f"{name}[{index}]", scope)
    number = int(index) if re.fullmatch(r"-?[0-9]{1,6}", index) else None
    if number is None:
        total = _sum(index, scope)
        number = int(total) if isinstance(total, str) and re.fullmatch(r"-?[0-9]{1,6}", total) else None
    if number is None or not -len(entries) <= number < len(entries):
        return Unknown(f"the script sets no list entry ${{{name}[{index}]}}")
    return entries[number]


def _cut(content: str, operator: str, rest: str, inside: str) -> Value:
    """`${NAME%%.*}` and similar, for patterns of fixed characters and one star."""
    pattern = rest.replace("\\", "")
    if "\0" in content or operator not in ("%", "%%", "#", "##") or not re.fullmatch(r"\*?[^*?\[\]]+\*?", pattern):
        return Unknown(f"cannot evaluate ${{{inside}}} without running the script")
    fixed = pattern.strip("*")
    if operator.startswith("%") and pattern.endswith("*") and not pattern.startswith("*"):
        cut = content.find(fixed) if operator == "%%" else content.rfind(fixed)
        return content[:cut] if cut >= 0 else content
    if operator.startswith("#") and pattern.startswith("*") and not pattern.endswith("*"):
        cut = content.rfind(fixed) if operator == "##" else content.find(fixed)
        return content[cut + len(fixed) :] if cut >= 0 else content
    if "*" not in pattern:
        return content.removesuffix(fixed) if operator.startswith("%") else content.removeprefix(fixed)
    return Unknown(f"cannot evaluate ${{{inside}}} without running the script")


_NAMES = re.compile(r"\$?\{?([A-Za-z_]\w*)\}?")


def _sum(inside: str, scope: Scope) -> Value:
    wrong: list[Unknown] = []

    def filled(match: re.Match[str]) -> str:
        content = scope.text(match[1])
        if isinstance(content, Unknown):
            wrong.append(content)
            return "0"
        return content

    written = _NAMES.sub(filled, inside) if len(inside) < 1000 else inside
    if wrong:
        return wrong[0]
    number = value(written)
    why = f"cannot evaluate $(({inside.strip()})) without running the script"
    return Unknown(why) if number is None else str(number)


# The output of command substitutions that look up nodes, such as `$(scontrol show hostnames | head -n 1)`.

ADDRESS = {"-s", "-f", "-i", "-I", "-A", "--short", "--fqdn", "--long", "--ip-address", "--all-ip-addresses"}
"""Options of hostname that still print a name or an address of the node."""

COMMANDS_AS_VARIABLES = {"pwd": "PWD", "whoami": "USER", "id -un": "USER", "uuidgen": "RANDOM"}
"""Commands that print the value of a variable, or an equivalent one."""

NUMBER = re.compile(r"date (-u )?[\"']?\+[\"']?(%[CdGHIjmMNsSuVwyY]|[0-9])+[\"']?")
"""A time as a number, which programs may calculate with."""

MOST_HOSTS = 65_536
"""Nodes of a job (Slurm, MAX_SLURM_NODES)."""


def output(inside: str, scope: Scope) -> Value:
    """The output of a command substitution."""
    command = " ".join(inside.split())
    why = f"cannot evaluate $({command[:60]}) without running the script"
    unknown = Unknown(why, "write its output into the script")
    if variable := COMMANDS_AS_VARIABLES.get(command) or ("RANDOM" if NUMBER.fullmatch(command) else ""):
        return scope.text(variable)
    try:
        steps = statements(inside)
    except UnreadableError:
        return unknown
    if not steps or any(each.opened or each.end not in ("|", "\n", ";") for each in steps):
        return unknown
    lines: list[str] | None = None
    for number, step in enumerate(steps):
        words = split_all(step.words, lambda word: split(word, scope))
        if isinstance(words, Unknown) or (number and lines is None):
            return unknown
        lines = _through_filter(words, lines or []) if number else _first(words, scope)
    return unknown if lines is None else "\n".join(lines)


def _first(words: list[str], scope: Scope) -> list[str] | None:
    """The lines that the first command of a pipe prints."""
    match words:
        case ["scontrol", "show", "hostnames" | "hostname", *rest]:
            return hosts(rest[0] if rest else mark(NODES, "0"), scope)
        case ["date", *_] if not {"-d", "--date", "-r", "-f"} & {word.partition("=")[0] for word in words}:
            return [mark(TIME)]
        case ["hostname", *options] if set(options) <= ADDRESS:
            return [mark(NODE, "0.0")]
        case ["srun", *rest]:
            return _address_by_srun(rest)
        case ["getent", "hosts" | "ahostsv4" | "ahosts", host]:
            return [host]
        case ["echo" | "printf", *texts] if not any("%" in text or text.startswith("-") for text in texts):
            return [" ".join(texts)]
    return None


def hosts(listed: str, scope: Scope) -> list[str] | None:
    """A line for each node of a list of nodes."""
    match = MARK.fullmatch(listed)
    if match is None or match[1] not in (NODES, NODE):
        return None
    if match[1] == NODE:
        return [listed]
    section = int(match[2] or 0)
    count = scope.texts.get(f"\0nodes{section}", "")
    nodes = int(count) if isinstance(count, str) and count.isdigit() else 1
    return [mark(NODE, f"{section}.{number}") for number in range(min(nodes, MOST_HOSTS))]


def _address_by_srun(words: list[str]) -> list[str] | None:
    """`srun --nodes=1 --ntasks=1 -w NODE hostname --ip-address` prints the address of a node."""
    place = mark(NODE, "0.0")
    at = 0
    while at < len(words) and words[at].startswith("-"):
        name, equals, value = words[at].partition("=")
        if name in ("-w", "--nodelist", "-N", "-n", "--nodes", "--ntasks") and not equals:
            at += 1
            value = words[at] if at < len(words) else ""
        if name in ("-w", "--nodelist"):
            place = value
        at += 1
    is_hostname = words[at : at + 1] == ["hostname"] and set(words[at + 1 :]) <= ADDRESS
    match = MARK.fullmatch(place)
    return [place] if is_hostname and match and match[1] == NODE else None


def _through_filter(words: list[str], lines: list[str]) -> list[str] | None:
    """The lines that head, tail, sed, awk, cut and similar filters print."""
    line = " ".join(words)
    if match := re.fullmatch(r"head(?: -n ?| -| --lines=)?([0-9]{1,5})?", line):
        return lines[: int(match[1] or 10)]
    if match := re.fullmatch(r"tail (?:-n ?|-)([0-9]{1,5})", line):
        return lines[-int(match[1]) :] if int(match[1]) else []
    if match := re.fullmatch(r"sed (?:-n )?([0-9]{1,5})(?:p|q|q;d|!d)", line):
        return lines[int(match[1]) - 1 : int(match[1])] if "-n" in line or "d" in line else lines[: int(match[1])]
    if re.fullmatch(r"sort|uniq|sort -u|cat|xargs|tr -d .*|awk .?\{ ?print \$1;? ?\}.?", line):
        return lines
    if words[:1] == ["cut"]:
        return lines if words[-1] in ("-f1", "1") else None
    return [str(len(lines))] if words == ["wc", "-l"] else None
