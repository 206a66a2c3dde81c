"""Expand words as bash does, before the job starts.

Some values exist only later: the name of a node, the job ID. Such a value is a mark between two NUL characters, which
no script contains. `pods.py` replaces the marks when it knows the pods. Other values are unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from bayplan.plugin import shorten
from bayplan.plugins.slurm.sbatch import shell
from bayplan.plugins.slurm.sbatch.arithmetic import CalculationError, Calculator
from bayplan.plugins.slurm.sbatch.shell import Piece, UnreadableError, Word


class Unknown(NamedTuple):
    """A value that only the running script or its environment has.

    `unset`: nothing in the script sets it. `refused`: bash stops with an error."""

    why: str
    hint: str = ""
    unset: bool = False
    refused: bool = False


class UnknownError(Exception):
    """A word has an unknown value."""

    def __init__(self, value: Unknown) -> None:
        self.value = value


Array = dict[int, str]
Value = str | Unknown | Array

JOB, NODES, RANK, NODE, TIME, STATUS = "job", "nodes", "rank", "node", "time", "status"
"""Marks: the job ID, the list of its nodes, the rank of a task, the name of one node, the start time, and the exit code
of a step."""

MARK = re.compile("\0(job|nodes|rank|node|time|status):([0-9.]*)\0")

RANDOM = ("RANDOM", "SRANDOM", "$", "BASHPID")
"""Variables with a random value in bash."""

RANDOM_NUMBER = "10000"
"""Replaces a random number of bash."""

SUBMITTED = "the directory that the user submits the script from"
LOGIN_VARIABLES: Mapping[str, str] = {
    **dict.fromkeys(("PWD", "SLURM_SUBMIT_DIR"), SUBMITTED),
    "OLDPWD": "the directory before the last `cd`",
    "HOME": "the user's home directory on Slurm's nodes",
    **dict.fromkeys(("USER", "LOGNAME", "UID", "EUID"), "the user who submits the script"),
    **dict.fromkeys(("PATH", "SHELL", "TMPDIR", "LANG", "BASH_SOURCE"), "part of the environment of Slurm's nodes"),
    **dict.fromkeys(("SECONDS", "EPOCHSECONDS", "!", "_", "LINENO"), "known only while the script runs"),
}
"""Variables that have a value without the script."""

FOLDER_HINT = "set a directory of the nodes with --set {0}=/DIR; `volumes` can mount a volume of the cluster there"
WITHOUT_RUNNING = "without running the script"
BLANKS = " \t\n"
GLOB = re.compile(r"[*?]|\[(?:[^][]+\[?|\[)\]")
MOST = 100_000
"""Words or characters that one expansion makes at most."""
MOST_EXPANDED = 20_000_000
"""Characters of all expanded words of a script, which take a few seconds."""
MOST_BRACES = 100
"""Opening braces in one word."""


def mark(kind: str, text: str = "") -> str:
    """The mark of a value that is known later."""
    return f"\0{kind}:{text}\0"


def unknown(shown: str, hint: str = "") -> UnknownError:
    """The error for a construct that bayplan cannot evaluate."""
    return UnknownError(Unknown(f"cannot evaluate {shorten(shown)} {WITHOUT_RUNNING}", hint))


class Expander:
    """The variables of a shell, and what words expand to with them."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self.values: dict[str, Value] = dict(values)
        self.given_arguments: list[str] | Unknown = [values[str(n)] for n in range(1, 10) if str(n) in values]
        self.splits = False  # the shell splits the word that is evaluated into fields
        self.random = False  # an expansion used a random number
        self.files: dict[str, None] = {}  # patterns of file names that the shell replaces
        self.expanded = 0  # characters
        self.missing: dict[str, None] = {}  # variables without a value that the script uses
        self.supposed = False  # the last status counts on the success of a step

    def capture(self, text: str) -> str:
        """What a command substitution prints."""
        raise NotImplementedError

    # -- variables

    @property
    def arguments(self) -> list[str]:
        """The positional parameters."""
        if isinstance(self.given_arguments, Unknown):
            raise UnknownError(self.given_arguments)
        return self.given_arguments

    def value(self, name: str) -> Value:
        """The value of a variable."""
        if name.isdigit() and name != "0":
            number = int(name)
            if number <= len(self.arguments):
                return self.arguments[number - 1]
            self.missing[name] = None
            why, hint = f"${name} has no value: sbatch sets it from its command line", f"use --set {name}=VALUE"
            return Unknown(why, hint, unset=True)
        if name in self.values:
            if isinstance(value := self.values[name], Unknown) and value.unset:
                self.missing[name] = None
            return value
        hint = f"use --set {name}=VALUE" if name.isidentifier() else "write the value into the script"
        if name in RANDOM:
            self.random = True
            return RANDOM_NUMBER
        if name in LOGIN_VARIABLES:
            why = f"cannot evaluate ${name}: it is {LOGIN_VARIABLES[name]}"
            return Unknown(why, FOLDER_HINT.format(name) if name in ("PWD", "SLURM_SUBMIT_DIR", "HOME") else hint)
        if name.isidentifier():
            self.missing[name] = None
        return Unknown(f"${name} has no value in the script", hint, unset=name.isidentifier())

    def settled(self, text: str) -> str:
        """Text with the exit codes of steps: 0, because a step that fails ends the job. The batch shell has rank 0."""
        self.supposed |= mark(STATUS) in text
        return text.replace(mark(STATUS), "0").replace(mark(RANK), "0")

    def entry(self, name: str, index: str | None = None) -> str | Unknown:
        """The value of a variable, or of an entry of a list."""
        value = self.value(name)
        if isinstance(value, dict) or index is not None:
            if isinstance(value, Unknown) and not value.unset:
                return value
            entries = value if isinstance(value, dict) else {0: value} if isinstance(value, str) else {}
            number = self.number(index) if index else 0
            number += max(entries, default=-1) + 1 if number < 0 else 0
            missing = Unknown(f"the script sets no list entry ${{{name}[{index or 0}]}}", "correct the index", True)
            return entries.get(number, missing)
        return value

    def entries(self, name: str) -> list[str]:
        """The values of a list."""
        value = self.value(name)
        if isinstance(value, Unknown):
            if value.unset:
                return []
            raise UnknownError(value)
        return [value] if isinstance(value, str) else [value[key] for key in sorted(value)]

    def known(self, value: str | Unknown) -> str:
        """A value that is text."""
        if isinstance(value, Unknown):
            raise UnknownError(value)
        return value

    def put(self, name: str, value: str, index: str | None = None) -> None:
        """Set a variable or an entry of a list."""
        if len(value) > MOST * 10:
            raise unknown(f"the {len(value):,} characters of {name}")
        old = self.values.get(name)
        if index is None and not isinstance(old, dict):
            self.values[name] = value
            return
        entries = dict(old) if isinstance(old, dict) else {0: old} if isinstance(old, str) else {}
        number = self.number(index) if index else 0
        entries[number + (max(entries, default=-1) + 1 if number < 0 else 0)] = value
        self.values[name] = entries

    def number(self, text: str) -> int:
        """The value of an arithmetic expression."""
        shown = f"$(({text.strip()}))"

        def checked(value: str) -> str:
            if "\0" in value.replace(mark(STATUS), ""):
                raise unknown(shown)
            return self.settled(value)

        def read(name: str) -> str:
            name, _, index = name.partition("[")
            return checked(self.known(self.entry(name, index[:-1] if index else None)))

        def write(name: str, value: str) -> None:
            name, _, index = name.partition("[")
            self.put(name, value, index[:-1] if index else None)

        try:
            return Calculator(read, write).value(checked(self.text(shell.inside(text))))
        except CalculationError:
            why = f"bash cannot evaluate {shorten(shown)}, or the result has more than 64 bits"
            raise UnknownError(Unknown(why, "correct the expression", refused=True)) from None

    # -- words

    def text(self, word: Word | Sequence[Piece], joined: str = " ") -> str:
        """The value of a word that the shell does not split: of an assignment, or after `<<<`."""
        pieces = word.pieces if isinstance(word, Word) else word
        parts = []
        for number, piece in enumerate(pieces):
            value = self._tilde(piece, number) or self.piece(piece)
            parts.append(joined.join(value) if isinstance(value, list) else value)
        return self._spent("".join(parts))

    def _spent(self, text: str, each: int = 0) -> str:
        """The same text. UnknownError if the script has expanded to too much text; a word costs like `each` more."""
        self.expanded += len(text) + each
        if self.expanded > MOST_EXPANDED:
            why = f"the script expands to more than {MOST_EXPANDED:,} characters"
            raise UnknownError(Unknown(why, "shorten its loops and lists"))
        return text

    def fields(self, words: Iterable[Word]) -> list[str]:
        """The words that words expand to."""
        kept, self.splits = self.splits, True
        try:
            return self._words(words)
        finally:
            self.splits = kept

    def _words(self, words: Iterable[Word]) -> list[str]:
        result = []
        for word in words:
            self._spent("")
            for pieces in braces(word.pieces):
                result += [self._spent(text, each=50) for text in self._fields(pieces, word)]
            if len(result) > MOST:
                raise unknown(word.raw)
        return result

    def _fields(self, pieces: Sequence[Piece], word: Word) -> list[str]:
        done: list[str] = []
        current: str | None = None
        for number, piece in enumerate(pieces):
            if not piece.quoted and piece.kind == shell.TEXT and GLOB.search(piece.text):
                self.files[word.raw] = None
            value = self._tilde(piece, number) or self.piece(piece)
            if piece.quoted or piece.kind == shell.TEXT:
                for place, text in enumerate(value if isinstance(value, list) else [value]):
                    if place and current is not None:
                        done.append(current)
                        current = None
                    current = (current or "") + text
                continue
            for place, text in enumerate(value if isinstance(value, list) else [value]):
                if place and current is not None:
                    done.append(current)
                    current = None
                if GLOB.search(text):
                    self.files[word.raw] = None
                parts, starts, ends = split(text, self.separators())
                if starts and current is not None:
                    done.append(current)
                    current = None
                for at, part in enumerate(parts):
                    if at and current is not None:
                        done.append(current)
                        current = None
                    current = (current or "") + part
                if ends and current is not None:
                    done.append(current)
                    current = None
        return done if current is None else [*done, current]

    def _tilde(self, piece: Piece, number: int) -> str:
        if number or piece.quoted or piece.kind != shell.TEXT or not piece.text.startswith("~"):
            return ""
        user, slash, rest = piece.text[1:].partition("/")
        if user:
            raise unknown(piece.text)
        return self.known(self.entry("HOME")) + slash + rest

    def separators(self) -> str:
        """The characters that separate fields."""
        value = self.values.get("IFS", BLANKS)
        if not isinstance(value, str):
            raise unknown("$IFS")
        return value

    def pattern(self, pieces: Sequence[Piece]) -> str:
        """A word as a pattern, with its quoted parts escaped."""
        parts = []
        for piece in pieces:
            value = self.piece(piece)
            text = " ".join(value) if isinstance(value, list) else value
            parts.append(re.sub(r"([*?\[\]\\])", r"\\\1", text) if piece.quoted else text)
        return "".join(parts)

    def piece(self, piece: Piece) -> str | list[str]:
        """The value of a piece; a list for several words."""
        match piece.kind:
            case shell.TEXT:
                return piece.text
            case shell.VARIABLE | shell.BRACE:
                return self._brace(piece.text, piece.quoted)
            case shell.SUM:
                return str(self.number(piece.text))
            case shell.COMMAND:
                return self.capture(piece.text).rstrip("\n")
            case shell.PROCESS:
                raise unknown(f"<({piece.text})")
        raise unknown("a list")

    # -- ${...}

    def _brace(self, inside: str, quoted: bool) -> str | list[str]:
        match = _BRACES.fullmatch(inside)
        if match is None:
            raise unknown(f"${{{inside}}}")
        mark_, name, index, operator, rest = match.groups()
        rest = rest or ""
        several = name in ("@", "*") or index in ("@", "*")
        if mark_ == "!":
            if index in ("@", "*") and operator is None:
                value = self.value(name)
                return [str(key) for key in sorted(value)] if isinstance(value, dict) else ["0"]
            if index is not None or several or operator in ("@", "*"):
                raise unknown(f"${{{inside}}}")
            name, index = self.known(self.entry(name)), None
            if not re.fullmatch(r"[A-Za-z_]\w*|[0-9]+", name):
                raise unknown(f"${{{inside}}}")
        if name == "#" or (mark_ == "#" and name in ("@", "*")):
            self.missing[str(len(self.arguments) + 1)] = None
            return str(len(self.arguments))
        if several:
            return self._several(inside, mark_ or "", name, index or name, operator, rest, quoted)
        if mark_ == "#":
            return str(len(plain(self.known(self.entry(name, index)), inside)))
        content = self.entry(name, index)
        if operator and operator.lstrip(":") in ("-", "=", "+", "?"):
            unset = isinstance(content, Unknown) and content.unset
            if isinstance(content, Unknown) and not unset and "+" not in operator:
                raise UnknownError(content)
            missing = unset or (operator.startswith(":") and content == "")
            match operator[-1]:
                case "+":
                    return "" if missing else self._word(rest, quoted, inside)
                case "?":
                    return self.known(content)
            if not missing:
                return self.known(content)
            value = self._word(rest, quoted, inside)
            if operator[-1] == "=":
                self.put(name, value, index)
            return value
        text = self.known(content)
        return self._changed(text, operator, rest, inside) if operator else text

    def _several(
        self, inside: str, mark_: str, name: str, index: str, operator: str | None, rest: str, quoted: bool
    ) -> str | list[str]:
        """`${A[@]}`, `$*` and their operators."""
        if operator and operator.lstrip(":") in ("-", "+"):
            value = self.arguments if name in ("@", "*") else self.value(name)
            if isinstance(value, Unknown) and not value.unset:
                raise UnknownError(value)
            missing = isinstance(value, Unknown) or not value
            if missing == (operator[-1] == "-"):
                pieces = self._pieces(rest, quoted)
                if not pieces:
                    return []
                only = pieces[0] if len(pieces) == 1 else None
                return self.piece(only) if only else self._word(rest, quoted, inside)
            if missing:
                return []
            operator = None
        values = list(self.arguments) if name in ("@", "*") else self.entries(name)
        if mark_ == "#":
            return str(len(values))
        if operator == ":":
            first, _, length = rest.partition(":")
            offset = self.number(first)
            if name in ("@", "*"):
                if offset < 1:
                    raise unknown(f"${{{inside}}}")
                offset -= 1
            elif not isinstance(listed := self.value(name), dict) or max(listed, default=-1) + 1 != len(values):
                raise unknown(f"${{{inside}}}")
            offset += len(values) if offset < 0 else 0
            count = self.number(length) if length else len(values)
            if offset < 0 or count < 0:
                raise unknown(f"${{{inside}}}")
            values = values[offset : offset + count]
        elif operator:
            values = [self._changed(each, operator, rest, inside) for each in values]
        return self.separators()[:1].join(values) if quoted and index == "*" else values

    def _pieces(self, text: str, quoted: bool) -> tuple[Piece, ...]:
        try:
            return (shell.inside(text) if quoted else shell.pieces(text)) if text else ()
        except UnreadableError:
            raise unknown(text) from None

    def _word(self, text: str, quoted: bool, inside: str) -> str:
        """The word of `${NAME:-word}`."""
        pieces = self._pieces(text, quoted)
        if quoted and '"' in text:
            pieces = tuple(
                each._replace(text=each.text.replace('"', "")) if each.kind == shell.TEXT else each for each in pieces
            )
            if "\\" in text:
                raise unknown(f"${{{inside}}}")
        value = self.text(pieces)
        if (
            self.splits
            and not quoted
            and re.search(r"[\"'\\]", text)
            and (set(value) & set(self.separators()) or not value)
        ):
            raise unknown(f"${{{inside}}}", "put the expansion in quotes")
        return value

    def _changed(self, text: str, operator: str, rest: str, inside: str) -> str:
        """`${NAME%%.*}`, `${NAME/a/b}`, `${NAME:2:3}`, `${NAME^^}`."""
        text = plain(text, inside)
        if operator == ":":
            first, colon, length = rest.partition(":")
            offset = self.number(first)
            offset += len(text) if offset < 0 else 0
            end = self.number(length) if colon else len(text)
            end = end + len(text) if end < 0 else offset + end
            if offset < 0 or end < offset:
                if end < offset and offset >= 0 and "-" in length:
                    raise unknown(f"${{{inside}}}")
                return ""
            return text[offset:end]
        if operator in ("^", "^^", ",", ",,"):
            if rest:
                raise unknown(f"${{{inside}}}")
            change = str.upper if operator[0] == "^" else str.lower
            return change(text) if len(operator) == 2 else change(text[:1]) + text[1:]
        if operator == "@":
            raise unknown(f"${{{inside}}}")
        if len(text) > 5000 or len(rest) > 500:
            raise unknown(f"${{{inside}}}")
        if operator.startswith("/"):
            return self._replaced(text, operator, rest, inside)
        pattern = plain(self.pattern(self._pieces(rest, quoted=False)), inside)
        start, end = _matched_end(pattern, text, operator[0], shortest=len(operator) == 1) or (0, 0)
        return text[:start] + text[end:]

    def _replaced(self, text: str, operator: str, rest: str, inside: str) -> str:
        anchor = rest[:1] if operator == "/" and rest[:1] in ("#", "%") else ""
        rest = rest[len(anchor) :]
        match = re.match(r"(?:\\.|'[^']*'|\"[^\"]*\"|\$\{[^}]*\}|\$\([^)]*\)|[^/\\])*", rest, re.DOTALL)
        old, new = rest[: match.end()] if match else rest, rest[match.end() + 1 :] if match else ""
        pattern = plain(self.pattern(self._pieces(old, quoted=False)), inside)
        replacement = self.text(self._pieces(new, quoted=False)) if new else ""
        if "&" in new or not pattern or (new and not replacement and not new.strip("\"'") == ""):
            raise unknown(f"${{{inside}}}")
        if not anchor:
            return _replace(pattern, text, replacement, once=operator == "/")
        found = _matched_end(pattern, text, anchor, shortest=False)
        return text[: found[0]] + replacement + text[found[1] :] if found else text


_BRACES = re.compile(
    r"([#!](?=[A-Za-z_0-9@*]))?([A-Za-z_]\w*|[0-9]+|[@*#?$!_-])(?:\[([^\]]*|[^\[\]]*\[[^\]]*\][^\]]*)\])?"
    r"(?:(:?[-=+?]|%%?|##?|:|//?|\^\^?|,,?|[@*])(.*))?",
    re.DOTALL,
)


def plain(text: str, shown: str) -> str:
    """Text without marks: their values have a length that nobody knows yet."""
    if "\0" in text:
        raise unknown(f"${{{shown}}}")
    return text


def split(text: str, separators: str) -> tuple[list[str], bool, bool]:
    """The fields of text, and whether separators come before the first and after the last of them."""
    blanks = re.escape("".join(each for each in separators if each in BLANKS)) or "(?!)"
    hard = re.escape("".join(each for each in separators if each not in BLANKS))
    if not text or not separators:
        return ([text] if text else []), False, False
    blank = f"[{blanks}]" if blanks != "(?!)" else blanks
    stripped = re.sub(f"\\A{blank}+", "", text)
    starts = stripped != text
    delimiter = f"{blank}*[{hard}]{blank}*|{blank}+" if hard else f"{blank}+"
    parts = re.split(delimiter, stripped)
    ends = parts[-1] == "" and bool(stripped)
    if parts[-1] == "":
        parts.pop()
    return parts, starts, ends


def regular(pattern: str) -> str:
    """The regular expression that matches a whole text like a pattern of bash. Its time is linear in the text."""
    return _joined(_between_stars(pattern))


def _joined(parts: list[list[str]], *, shortest: bool = False) -> str:
    """The regular expression for a pattern from its parts. `match` finds the longest beginning of a string, or the
    shortest.

    Each part between two stars matches at its nearest place. A lookahead and a reference to it never try another one.
    """
    first, *others = ("".join(each) for each in parts)
    if not others:
        return first
    *middle, last = others
    nearest = (f"(?=(?P<part{number}>.*?{each}))(?P=part{number})" for number, each in enumerate(middle) if each)
    return first + "".join(nearest) + f".*{'?' * shortest}{last}"


def _matched_end(pattern: str, text: str, end: str, *, shortest: bool) -> tuple[int, int] | None:
    """The offsets of what matches at an end of the text: the first (`#`) or the last (`%`)."""
    parts = _between_stars(pattern)
    if end == "%":
        parts, text = [each[::-1] for each in reversed(parts)], text[::-1]
    match = re.match(_joined(parts, shortest=shortest), text, re.DOTALL)
    if match is None:
        return None
    return (0, match.end()) if end == "#" else (len(text) - match.end(), len(text))


def _replace(pattern: str, text: str, replacement: str, *, once: bool) -> str:
    """Replaces the longest match at each place, from left to right.

    If the rest of a pattern does not follow its first part, it follows no later occurrence of that part either.
    """
    parts = _between_stars(pattern)
    find_first = re.compile("".join(parts[0]), re.DOTALL).search
    whole = re.compile(_joined(parts), re.DOTALL).match
    result, at = [], 0
    while (start := find_first(text, at)) and (match := whole(text, start.start())):
        result += [text[at : match.start()], replacement]
        at = match.end()
        if once or at == len(text):
            break
    return "".join(result) + text[at:]


def _between_stars(pattern: str) -> list[list[str]]:
    """The parts of a pattern between its stars: a regular expression for each character."""
    parts: list[list[str]] = [[]]
    at = 0
    while at < len(pattern):
        char = pattern[at]
        end = pattern.find("]", at + 2 + (pattern[at + 1 : at + 2] in ("!", "^")))
        if char == "*":
            parts.append([])
        elif char == "\\" and at + 1 < len(pattern):
            parts[-1].append(re.escape(pattern[at + 1]))
            at += 1
        elif char == "[" and end > 0:
            inner = pattern[at + 1 : end]
            if "[:" in inner:
                raise unknown(pattern)
            other = inner[0] in "!^"
            escaped = re.escape(inner[other:]).replace("\\-", "-")
            parts[-1].append(f"[{'^' if other else ''}{escaped}]")
            at = end
        else:
            parts[-1].append("." if char == "?" else re.escape(char))
        at += 1
    return parts


# Brace expansion: `{a,b}` and `{1..3}` in the unquoted text of a word.


def braces(pieces: Sequence[Piece]) -> list[tuple[Piece, ...]]:
    """The words that brace expansion makes of a word. `A={a,b}` of an assignment stays."""
    if not any(not piece.quoted and piece.kind == shell.TEXT and "{" in piece.text for piece in pieces):
        return [tuple(pieces)]
    if sum(piece.text.count("{") for piece in pieces if not piece.quoted) > MOST_BRACES:
        raise unknown("a word of more than 100 braces", "put it in quotes")
    atoms: list[Piece] = []
    for piece in pieces:
        split_ = piece.kind == shell.TEXT and not piece.quoted
        atoms += [Piece(shell.TEXT, char) for char in piece.text] if split_ else [piece]
    result = []
    for word in _braces(atoms):
        joined: list[Piece] = []
        for piece in word:
            if joined and piece.kind == joined[-1].kind == shell.TEXT and not piece.quoted and not joined[-1].quoted:
                joined[-1] = Piece(shell.TEXT, joined[-1].text + piece.text)
            else:
                joined.append(piece)
        for first, second in pairwise(joined):
            if first.kind == shell.VARIABLE and re.match(r"\w", second.text) and not second.quoted:
                raise unknown("a name that a brace expansion ends", "write ${NAME}")
        if joined:
            result.append(tuple(joined))
    return result


def _is(atom: Piece, char: str) -> bool:
    return atom.kind == shell.TEXT and not atom.quoted and atom.text == char


def _braces(atoms: list[Piece]) -> list[list[Piece]]:
    for start, atom in enumerate(atoms):
        if not _is(atom, "{"):
            continue
        level, cuts = 0, [start]
        for end in range(start, len(atoms)):
            level += _is(atoms[end], "{") - _is(atoms[end], "}")
            if level == 1 and _is(atoms[end], ","):
                cuts.append(end)
            if level:
                continue
            cuts.append(end)
            inner = _alternatives(atoms, cuts)
            if inner is None:
                break
            rest = _braces(atoms[end + 1 :])
            if len(inner) * len(rest) > MOST // 10:
                raise unknown("a brace expansion")
            return [[*atoms[:start], *middle, *tail] for middle in inner for tail in rest]
    return [atoms]


def _alternatives(atoms: list[Piece], cuts: list[int]) -> list[list[Piece]] | None:
    """The alternatives between braces at the first and last offset. None: no brace expansion."""
    if len(cuts) > 2:
        return [made for first, last in pairwise(cuts) for made in _braces(atoms[first + 1 : last])]
    inside = atoms[cuts[0] + 1 : cuts[1]]
    if any(each.kind != shell.TEXT or each.quoted for each in inside):
        return None
    text = "".join(each.text for each in inside)
    match = re.fullmatch(r"(-?[0-9]{1,9})\.\.(-?[0-9]{1,9})(?:\.\.(-?[0-9]{1,9}))?", text)
    letters = re.fullmatch(r"([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?[0-9]{1,9}))?", text)
    found = match or letters
    if found is None:
        return None
    first, last = (int(found[1]), int(found[2])) if match else (ord(found[1]), ord(found[2]))
    step = abs(int(found[3] or 1)) or 1
    if abs(last - first) // step > MOST // 10:
        raise unknown(f"{{{text}}}")
    numbers = range(first, last + 1, step) if last >= first else range(first, last - 1, -step)
    padded = match and any(re.match(r"-?0[0-9]", found[n]) for n in (1, 2))
    width = max(len(found[1]), len(found[2])) if padded else 0
    shown = [f"{number:0{width}d}" if match else chr(number) for number in numbers]
    return [[Piece(shell.TEXT, each)] for each in shown]
