"""The variables of a batch shell: their values, which ones tasks get, and which ones are unknown beforehand."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bayplan.kube.shell import quote
from bayplan.workflows.sbatch import shell
from bayplan.workflows.sbatch.expansion import (
    RANDOM_VARIABLES,
    RANK,
    Scope,
    Unknown,
    Value,
    output,
    split,
    split_all,
    text,
)
from bayplan.workflows.sbatch.options import Findings, Position
from bayplan.workflows.sbatch.shell import Piece, Redirect, Statement, UnreadableError, Word, statements

RANDOM_NUMBER = "10000"
"""Replaces a random number of bash."""

PORT = "29500"
"""The port of every gang (`kube/ranks.py`). Each pod has its own ports."""


class Body:
    """The text of a body, and the line of the script in which it starts."""

    def __init__(self, text: str, line: int) -> None:
        self.text, self.line = text, line
        self.starts = [0, *(newline.end() for newline in re.finditer("\n", text))]

    def spot(self, offset: int) -> Position:
        """The place of an offset."""
        row = bisect_right(self.starts, offset) - 1
        return Position(self.line + row, offset - self.starts[row] + 1)


class Variables:
    """The variables while a shell runs a body."""

    def __init__(self, body: Body, scope: Scope, exported: Mapping[str, str], findings: Findings) -> None:
        self.body, self.findings = body, findings
        self.exported = dict(exported)
        self.texts: dict[str, Value] = {**scope.texts, **exported}
        self.lists: dict[str, tuple[str, ...]] = dict(scope.lists)
        self.sections = scope.sections
        self.exports: dict[str, None] = dict.fromkeys(exported)
        self.before: list[str] = []

    @property
    def scope(self) -> Scope:
        """The variables as they are now."""
        return Scope(self.texts, self.lists, self.sections, output)

    def env(self) -> dict[str, str]:
        """The environment of tasks."""
        values = {name: self.texts.get(name) for name in self.exports}
        return {name: value for name, value in values.items() if isinstance(value, str)}

    def spot(self, statement: Statement | Word) -> Position:
        """The place of a statement or word."""
        return self.body.spot(statement.start)

    def _text(self, word: Word | Sequence[Piece], at: int) -> Value:
        """The value of a word."""
        value = text(word, self.scope)
        return text(word, self._with_random_numbers(at)) if isinstance(value, Unknown) and value.random else value

    def _split(self, word: Word) -> list[str] | Unknown:
        """The words that a word expands to."""
        words = split(word, self.scope)
        return (
            split(word, self._with_random_numbers(word.start)) if isinstance(words, Unknown) and words.random else words
        )

    def _split_all(self, words: Iterable[Word]) -> list[str] | Unknown:
        """The words that several words expand to."""
        return split_all(words, self._split)

    def _with_random_numbers(self, at: int) -> Scope:
        """The variables, with a fixed number instead of random ones."""
        message = f"the script uses a random number; bayplan sets it to {RANDOM_NUMBER} for all tasks, in every run"
        self.findings.info(
            "W621", self.body.spot(at), message, "check that runs may share it; tasks that share it still agree"
        )
        return self.scope._replace(texts={**self.texts, **dict.fromkeys(RANDOM_VARIABLES, RANDOM_NUMBER)})

    def unknown(self, value: Unknown, spot: Position) -> None:
        """W609."""
        self.findings.error("W609", spot, value.why, value.hint or "write the value into the script")

    def _assign(self, word: Word, assignment: re.Match[str]) -> None:
        name, adds = assignment[1], bool(assignment[2])
        pieces = after(word, len(assignment[0]))
        if len(pieces) == 1 and pieces[0].kind == shell.ARRAY:
            self._list(name, pieces[0].text, adds)
            return
        value = text(pieces, self.scope) if _port(name) else self._text(pieces, word.start)
        if adds and isinstance(value, str) and isinstance(self.texts.get(name, ""), str):
            value = f"{self.texts.get(name, '')}{value}"
        self.assign(name, value, word.start)

    def assign(self, name: str, value: Value, at: int = 0) -> None:
        """Set a variable. If the value is unknown, `--set` provides it."""
        if isinstance(value, Unknown) and name in self.exported:
            value = self.exported[name]
        if isinstance(value, Unknown) and _port(name):
            value = PORT
            message = f"the script chooses a free port for {name}; bayplan sets it to {PORT}"
            self.findings.info("W621", self.body.spot(at), message, "keep it: each pod has its own ports")
        self.lists.pop(name, None)
        self.texts[name] = value

    def _defaults(self, words: list[Word]) -> None:
        """`: ${NAME:=default}` sets a variable that has no value."""
        for word in words:
            for piece in word.pieces:
                match = re.match(r"([A-Za-z_]\w*):?=", piece.text) if piece.kind == shell.BRACE else None
                if match:
                    self.assign(match[1], text([piece], self.scope), word.start)

    def _list(self, name: str, inside: str, adds: bool) -> None:
        try:
            commands = statements(inside.replace("\n", " "))
        except UnreadableError:
            commands = ()
        entries = self._split_all(commands[0].words) if len(commands) == 1 else []
        if len(commands) > 1:
            entries = Unknown(f"cannot evaluate the list {name} without running the script")
        if isinstance(entries, Unknown):
            self.assign(name, entries)
            return
        self.texts.pop(name, None)
        self.lists[name] = (*(self.lists.get(name, ()) if adds else ()), *entries)

    def _export(self, each: Statement, words: list[Word]) -> None:
        exports = words[0].raw == "export" or any(re.fullmatch(r"-[a-z]*x[a-z]*", word.raw) for word in words)
        for word in words[1:]:
            if word.raw.startswith("-"):
                continue
            assignment = shell.ASSIGNMENT.match(word.raw)
            name = assignment[1] if assignment else word.raw
            if assignment:
                self._assign(word, assignment)
            if not exports or not re.fullmatch(r"[A-Za-z_]\w*", name):
                continue
            value = self.scope.text(name)
            if isinstance(value, str):
                self.exports[name] = None
            elif assignment:
                pieces = after(word, len(assignment[0]))
                if any(piece.kind != shell.TEXT and re.match(rf"{name}\b", piece.text) for piece in pieces):
                    self._prepend(name, word, pieces)
                else:
                    self.unknown(value, self.spot(word))

    def _prepend(self, name: str, word: Word, pieces: Sequence[Piece]) -> None:
        """`export PATH=/opt/bin:$PATH`: every pod adds to the value of its image."""
        own = f"\0rank:9{len(name)}\0"
        value = text(pieces, self.scope._replace(texts={**self.texts, name: own}))
        if isinstance(value, Unknown) or RANK in value.replace(own, ""):
            self.unknown(
                value if isinstance(value, Unknown) else Unknown(f"the value of ${name} is unknown"), self.spot(word)
            )
            return
        parts = [quote(part) if part else "" for part in value.split(own)]
        variable = f'"${{{name}-}}"'
        self.before.append(f"export {name}={variable.join(parts)}")
        self.texts.pop(name, None)

    def _read(self, each: Statement, words: list[Word]) -> None:
        """`mapfile -t nodes < <(...)`, `read -r -d '' text <<'END'`, `read -a nodes <<< "$list"`."""
        names = [word.raw for word in words[1:] if re.fullmatch(r"[A-Za-z_]\w*", word.raw)]
        name, source = (names[-1] if names else "REPLY"), next(iter(each.redirects), None)
        value = self._input(source)
        if isinstance(value, Unknown):
            self.assign(name, value)
        elif words[0].raw in ("mapfile", "readarray"):
            self.texts.pop(name, None)
            self.lists[name] = tuple(value.splitlines())
        elif any(re.fullmatch(r"-[a-z]*a", word.raw) for word in words):
            self.texts.pop(name, None)
            self.lists[name] = tuple(value.split())
        else:
            whole = any(word.raw == "-d" or word.raw.startswith("-d") for word in words)
            self.assign(name, value if whole else value.partition("\n")[0])

    def _input(self, source: Redirect | None) -> Value:
        if source is None:
            return Unknown("the script reads a variable without input")
        if source.operator == "<<":
            return source.here if source.plain else text(shell.inside(source.here), self.scope)
        if source.operator == "<<<" and source.word:
            return text(source.word, self.scope)
        if source.operator == "<" and source.word and [p.kind for p in source.word.pieces] == [shell.PROCESS]:
            return output(source.word.pieces[0].text, self.scope)
        return Unknown("the script reads a variable from a file, whose content is unknown")


def after(word: Word, length: int) -> tuple[Piece, ...]:
    """The pieces of a word behind its first characters, which are literal."""
    pieces = list(word.pieces)
    while pieces and length:
        piece = pieces.pop(0)
        rest = piece.text[length:] if piece.kind == shell.TEXT else ""
        length -= min(length, len(piece.text)) if piece.kind == shell.TEXT else length
        if rest:
            pieces.insert(0, piece._replace(text=rest))
    return tuple(pieces)


def _port(name: str) -> bool:
    return "PORT" in name.upper()


# Commands of a script other than steps, by their translation.

NO_EFFECT = frozenset(
    ("true", "false", ":", "wait", "exit", "return", "set", "shopt", "test", "[", "[[", "exec", "shift")
)
"""Commands without an effect on tasks."""

QUIET = NO_EFFECT | frozenset(
    {
        *("echo", "printf", "date", "hostname", "pwd", "env", "printenv", "whoami", "id", "uname", "uptime", "lscpu"),
        *("free", "df", "du", "ls", "cat", "nvidia-smi", "nvcc", "which", "type", "sleep", "squeue", "sinfo"),
        *("sacct", "sstat", "scontrol", "sattach", "scancel", "trap", "clear", "nproc", "ibstat", "ibv_devinfo"),
        *("lsof", "ps", "top", "tee", "grep", "rocm-smi", "ulimit", "stat", "wc", "tail", "head", "sort", "times"),
        *("logger", "local", "unalias", "hash", "alias", "kill", "jobs", "disown"),
    }
)
"""Commands that print, inspect or wait: no task depends on them."""

SETUP = frozenset(
    ["module", "ml", "source", ".", "conda", "mamba", "micromamba", "spack", "lmod", "eval", "activate", "enroot"]
)
"""Commands that set up the software of a node. A pod has its software in the image."""

PER_POD = frozenset(["mkdir", "umask"])
"""Commands that every pod can repeat."""

LAUNCHERS = frozenset(["mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prun", "pdsh", "clush", "ssh", "parallel"])
"""Commands that start programs on other nodes, with Slurm or a login there."""

TORCH = re.compile(r"(torchrun|accelerate|deepspeed)$|python[0-9.]*$")
"""Programs that get their rank from arguments, or from the variables that torchrun reads."""

MODULES = ("torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch")

SHELLS = ("bash", "sh", "zsh", "dash", "ksh")


def base(word: str) -> str:
    """The command of a path."""
    return word.rpartition("/")[2]


def launches(words: tuple[str, ...]) -> bool:
    """Whether a command is a launcher that needs none of Slurm's variables."""
    name = base(words[0]) if words else ""
    if TORCH.match(name) and not name.startswith("python"):
        return True
    modules = words[words.index("-m") + 1 :][:1] if "-m" in words[:4] else ()
    return name.startswith("python") and any(each in MODULES for each in modules)


def script(words: tuple[str, ...]) -> int | None:
    """The position of the script in a shell command: `bash -lc SCRIPT`."""
    if not words or base(words[0]) not in SHELLS:
        return None
    for number, word in enumerate(words[1:], 1):
        if re.fullmatch(r"-[a-zA-Z]*c", word):
            return number + 1 if number + 1 < len(words) else None
        if not word.startswith(("-", "+")):
            return None
    return None


# Files that commands other than steps write. Tasks may read them, because the nodes of a job share its directory.

NOWHERE = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty")
READING = QUIET | {"export", "declare", "read", "["}
"""Commands of a block that only prints, inspects and sets variables."""


def file_of(each: Statement) -> str:
    """The file that a command writes, as the script names it; empty: none. A file for errors is a log."""
    target = next((named for redirect in each.redirects if (named := _target(redirect))), "")
    if not target and base(each.name) == "tee":
        files = (word.raw for word in each.words[1:] if not word.raw.startswith("-"))
        target = next((word for word in files if word.strip("\"'") not in NOWHERE), "")
    return target


def _target(redirect: Redirect) -> str:
    operator, word = redirect.operator, redirect.word
    if ">" not in operator or operator.startswith("2") or word is None or word.raw.strip("\"'") in NOWHERE:
        return ""
    return "" if operator.endswith("&") and re.fullmatch(r"[0-9]*-?", word.raw) else word.raw


def harmless(block: Statement, functions: Mapping[str, Statement], seen: set[str] | None = None) -> bool:
    """Whether a block only prints, inspects and sets variables. In `case`, words before a parenthesis are patterns."""
    seen = set() if seen is None else seen
    if file_of(block):
        return False
    for each in block.inner:
        if each.opened and each.opened != "function" and not harmless(each, functions, seen):
            return False
        assigns = all(shell.ASSIGNMENT.match(word.raw) for word in each.words)
        command = not each.opened and not assigns
        pattern = block.opened == "case" and (each.end == ")" or (each.words[-1:] and each.words[-1].raw == "in"))
        looped = block.opened in ("for", "select") and each is block.inner[0]
        if command and not pattern and not looped and not _only_reads(each, functions, seen):
            return False
    return True


def _only_reads(each: Statement, functions: Mapping[str, Statement], seen: set[str]) -> bool:
    name = base(next((word.raw for word in each.words if not shell.ASSIGNMENT.match(word.raw)), ""))
    if file_of(each):
        return False
    if name in functions and name not in seen:
        seen.add(name)
        return harmless(functions[name], functions, seen)
    return name in READING | seen


def assigned(inner: Iterable[Statement]) -> Iterator[str]:
    """The variables that a block sets."""
    for each in inner:
        yield from assigned(each.inner)
        for word in each.words:
            if match := shell.ASSIGNMENT.match(word.raw):
                yield match[1]
