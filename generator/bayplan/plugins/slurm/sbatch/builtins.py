"""The variables of a batch shell: commands that set them, which ones tasks get, and its working directory."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence

from bayplan.plugin import quote
from bayplan.plugins.slurm.sbatch import expansion, shell
from bayplan.plugins.slurm.sbatch.expansion import (
    BLANKS,
    RANDOM_NUMBER,
    Expander,
    Unknown,
    UnknownError,
    Value,
    braces,
    mark,
    split,
    unknown,
)
from bayplan.plugins.slurm.sbatch.options import Findings, Position
from bayplan.plugins.slurm.sbatch.programs import formatted
from bayplan.plugins.slurm.sbatch.shell import ASSIGNMENT, Piece, Statement, Word

PORT = "29500"
"""The port of every gang (`kube/ranks.py`). Each pod has its own ports."""


class Body:
    """The text of a body, and the line of the script in which it starts."""

    def __init__(self, text: str, line: int) -> None:
        self.text, self.line = text, line
        self.starts = [0, *(newline.end() for newline in re.finditer("\n", text))]

    def spot(self, offset: int) -> Position:
        """The place of an offset."""
        row = bisect_right(self.starts, min(offset, len(self.text))) - 1
        return Position(self.line + row, offset - self.starts[row] + 1)


class Builtins(Expander):
    """A shell without control flow: its variables, exports and working directory."""

    def __init__(self, body: Body, values: Mapping[str, str], given: Mapping[str, str], findings: Findings) -> None:
        super().__init__({**values, **given})
        self.body, self.findings, self.given = body, findings, dict(given)
        self.place = Position(body.line)  # of the statement that runs
        self.exports: dict[str, None] = dict.fromkeys(["PATH", *(name for name in given if name.isidentifier())])
        self.exporting = False  # set -a
        self.frames: list[dict[str, tuple[Value | None, bool]]] = []  # what local variables hide
        self.doubtful: dict[str, Unknown] = {}  # variables that the script may export or not
        self.before: list[str] = []  # shell lines that every pod runs first
        self.loose: set[str] = set()  # those of them that begin in the directory where the script starts
        start = self.values.get("PWD")
        self.folder: str | Unknown | None = start if isinstance(start, str) else None
        self.stack: list[str | Unknown | None] = []
        self.input: str | None = None

    def spot(self, part: Statement | Word) -> Position:
        """The place of a statement or word. Text that the script evaluates is where `eval` is."""
        return self.body.spot(part.start) if not self.frozen else self.place

    frozen = ""  # the text that `eval` or a command substitution runs

    def env(self) -> dict[str, str]:
        """The environment of tasks. W609: a value is unknown."""
        result = {}
        for name in self.exports:
            value = self.values.get(name)
            if isinstance(value, str):
                result[name] = value
            elif isinstance(value, Unknown) and not value.unset:
                self.unknown(value, self.place)
        for value in self.doubtful.values():
            self.unknown(value, self.place)
        return result

    def unknown(self, value: Unknown, spot: Position) -> None:
        """W609."""
        self.findings.error("W609", spot, value.why, value.hint or "write the value into the script")

    def report_random(self, spot: Position) -> None:
        """W616: an expansion used a random number."""
        if self.random:
            self.random = False
            message = f"the script uses a random number; bayplan sets it to {RANDOM_NUMBER} for all tasks, in every run"
            self.findings.info("W616", spot, message, "check that runs may share it; tasks that share it still agree")

    # -- assignments

    def assign(self, word: Word, assignment: re.Match[str]) -> None:
        """`NAME=value`, `NAME+=value`, `NAME[3]=value` or `NAME=(list)`."""
        name, index, adds = assignment[1], assignment[2], bool(assignment[3])
        pieces = after(word, len(assignment[0]))
        self.random = False
        try:
            if len(pieces) == 1 and pieces[0].kind == shell.ARRAY:
                self._list(name, pieces[0].text, adds)
            else:
                old = self.values.get(name) if adds else None
                if isinstance(old, Unknown):
                    raise UnknownError(old)
                value = self.text(pieces)
                value = f"{self.known(self.entry(name, index)) if old is not None else ''}{value}"
                if self.random and _port(name):
                    self.random = False
                    raise UnknownError(Unknown(""))
                self.report_random(self.spot(word))
                self.put(name, value, index)
        except UnknownError as problem:
            self.forget(name, problem.value, self.spot(word))
        if self.exporting:
            self.exports[name] = None

    def forget(self, name: str, value: Unknown, spot: Position) -> None:
        """Set a variable to an unknown value. `--set` provides another one."""
        if value.refused and name not in self.given:
            hint = value.hint if "correct" in value.hint else f"use --set {name}=VALUE with what it prints"
            self.unknown(value._replace(hint=hint), spot)
        if name in self.given:
            self.values[name] = self.given[name]
        elif _port(name):
            self.values[name] = PORT
            message = f"the script chooses a free port for {name}; bayplan sets it to {PORT}"
            self.findings.info("W616", spot, message, "no action needed: each pod has its own ports")
        else:
            hint = value.hint if "--set" in value.hint else f"use --set {name}=VALUE"
            self.values[name] = value._replace(hint=hint, unset=False, refused=False)

    def _list(self, name: str, inside: str, adds: bool) -> None:
        if name in self.maps:
            raise unknown(f"the list {name} with keys")
        old = self.value(name) if adds and name in self.values else {}
        if isinstance(old, Unknown):
            raise UnknownError(old)
        entries = {0: old} if isinstance(old, str) else dict(old)
        following = max(entries, default=-1) + 1
        self.files.clear()
        for word in shell.entries(inside):
            if match := re.match(r"\[([^\]]*)\]=", word.raw):
                self.values[name] = entries
                number = self.number(match[1])
                entries[number] = self.text(after(word, len(match[0])))
                following = max(following, number + 1)
                continue
            added = self.fields((word,))
            entries |= dict(enumerate(added, following))
            following += len(added)
            if len(entries) > expansion.MOST:
                raise unknown(f"the {len(entries):,} entries of {name}")
        self.refuse_files()
        self.report_random(self.place)
        self.values[name] = entries

    def refuse_files(self) -> None:
        """UnknownError if the shell replaces a pattern of the last words by names of files."""
        if self.files:
            raise unknown(next(iter(self.files)), "write the names of the files into the script")

    def without_files(self, words: Sequence[Word]) -> list[str]:
        """The words that words expand to, of which none may be a pattern of names of files."""
        self.files.clear()
        texts = self.fields(words)
        self.refuse_files()
        return texts

    maps: frozenset[str] = frozenset()

    def declare(self, words: Sequence[Word]) -> None:
        """`export`, `declare`, `local` and similar."""
        command, options = (
            words[0].raw,
            "".join(word.raw[1:] for word in words if re.fullmatch(r"[-+][a-zA-Z]+", word.raw)),
        )
        exports = command == "export" or "x" in options
        if command == "local" and not self.frames:
            return
        for word in self._declared(words[1:]):
            assignment = ASSIGNMENT.match(word.raw)
            name = assignment[1] if assignment else word.raw
            if word.raw.startswith(("-", "+")) or "f" in options or not re.fullmatch(r"[A-Za-z_]\w*", name):
                continue
            if (command == "local" or (command != "export" and self.frames and "g" not in options)) and self.frames:
                self.frames[-1].setdefault(name, (self.values.get(name), name in self.exports))
                if not assignment:
                    self.values[name] = ""
            if "A" in options:
                self.maps |= {name}
                self.values[name] = Unknown(f"cannot evaluate the list {name} with keys", f"use --set {name}=VALUE")
            elif assignment:
                self.assign(word, assignment)
                if set(options) & set("iulnc"):
                    self.forget(name, Unknown(f"cannot evaluate ${name}, declared with -{options}"), self.spot(word))
            if exports and "n" not in options:
                self._export(name, word, assignment)
            elif exports:
                self.exports.pop(name, None)

    def _declared(self, words: Sequence[Word]) -> list[Word]:
        """The words, and those that an unquoted variable of names expands to."""
        result = []
        for word in words:
            if assignment := ASSIGNMENT.match(word.raw):
                if len(braces(word.pieces)) > 1:  # the shell no longer sees an assignment, and splits the words
                    result += [_assigning(text, word.start) for text in self.fields((word,))]
                else:
                    result.append(self._expanded(word, assignment) if len(words) > 1 else word)
            elif all(piece.kind == shell.TEXT for piece in word.pieces):
                result.append(word)
            else:
                try:
                    texts = self.fields((word,))
                except UnknownError as problem:
                    self.unknown(problem.value, self.spot(word))
                    continue
                result += [literal(text, word.start) for text in texts]
        return result

    def _expanded(self, word: Word, assignment: re.Match[str]) -> Word:
        """`NAME=value` with its value: the shell expands all words of a command before it assigns any."""
        pieces = after(word, len(assignment[0]))
        if all(piece.kind in (shell.TEXT, shell.ARRAY) for piece in pieces):
            return word
        random, self.random = self.random, False
        try:
            value = self.text(pieces)
            return (
                word
                if self.random
                else word._replace(pieces=(Piece(shell.TEXT, assignment[0]), Piece(shell.TEXT, value, True)))
            )
        except UnknownError:
            if any(piece.text.startswith(assignment[1]) for piece in pieces):
                return word
            raise
        finally:
            self.random = random

    def _export(self, name: str, word: Word, assignment: re.Match[str] | None) -> None:
        value = self.value(name)
        self.doubtful.pop(name, None)
        if isinstance(value, (str, dict)) or not assignment:
            self.exports[name] = None
            return
        self.exports.pop(name, None)
        pieces = after(word, len(assignment[0]))
        if any(piece.kind != shell.TEXT and re.match(rf"{name}\b", piece.text) for piece in pieces):
            self.prepend(name, word, pieces)
        else:
            self.unknown(value, self.spot(word))

    def prepend(self, name: str, word: Word, pieces: Sequence[Piece]) -> None:
        """`export PATH=/opt/bin:$PATH`: every pod adds to the value of its image."""
        own, old = f"\0rank:9{len(name)}\0", self.values.get(name)
        self.values[name] = own
        try:
            value = self.text(pieces)
            if mark(expansion.RANK) in value:
                raise UnknownError(Unknown(f"the value of ${name} is unknown"))
            parts = [quote(part) if part else "" for part in value.split(own)]
            variable = f'"${{{name}-}}"'
            self.before.append(f"export {name}={variable.join(parts)}")
        except UnknownError as problem:
            self.unknown(problem.value, self.spot(word))
        self.values.pop(name)
        if old is not None:
            self.values[name] = old

    def defaults(self, words: Sequence[Word]) -> None:
        """`: ${NAME:=default}` sets a variable that has no value."""
        for word in words:
            try:
                self.fields((word,))
            except UnknownError as problem:
                if match := re.match(r"\$\{(\w+):?=", word.raw.strip('"')):
                    self.forget(match[1], problem.value, self.spot(word))

    # -- commands

    def read(self, words: Sequence[Word], given: str | None, own: Mapping[str, Value]) -> int:
        """`mapfile -t nodes`, `read -r -d '' text`, `read -a nodes`, with an input. The exit code."""
        name = words[0].raw
        texts = [word.raw for word in words[1:]]
        names = [text for text in texts if re.fullmatch(r"[A-Za-z_]\w*", text)]
        options = "".join(text[1:] for text in texts if text.startswith("-"))
        if "d" in options and "''" not in texts and '""' not in texts:
            given = None
        names = names if name == "read" else names[-1:]
        names = names or ["MAPFILE" if name != "read" else "REPLY"]
        if given is None or set(options) - set("rdatp"):
            for each in names:
                why = "the script reads it from an input that is unknown"
                self.forget(each, Unknown(f"cannot evaluate ${each}: {why}"), self.place)
            return 0
        if name != "read":
            entries = given.removesuffix("\n").split("\n") if given else []
            entries = entries if "t" in options else [f"{each}\n" for each in entries]
            self.values[names[-1]] = dict(enumerate(entries))
            return 0
        separators = own.get("IFS", self.separators())
        if not isinstance(separators, str) or ("r" not in options and "\\" in given) or len(names) > 100:
            raise unknown("read")
        line = given if "d" in options else given.partition("\n")[0]
        if "a" in options:
            self.values[names[-1]] = dict(enumerate(split(line, separators)[0]))
            return 0
        for each in names[:-1]:
            parts = split(line, separators)[0]
            self.values[each] = parts[0] if parts else ""
            line = line.lstrip("".join(char for char in separators if char in BLANKS))[len(parts[0]) :] if parts else ""
            line = re.sub(rf"\A[{re.escape(separators)}]", "", line) if separators else line
            if separators.strip():
                line = line if not separators[:1].isspace() else line.lstrip()
        blanks = "".join(char for char in separators if char in BLANKS)
        self.values[names[-1]] = line.strip(blanks) if blanks else line
        return 1 if "d" in options else 0

    def print_to(self, words: Sequence[Word]) -> None:
        """`printf -v NAME format ...`."""
        texts = self.fields(words[1:])
        value = formatted(texts[2:])
        if value is None:
            self.forget(texts[1], Unknown(f"cannot evaluate ${texts[1]}, which printf sets"), self.place)
        else:
            self.put(texts[1], value)

    def unset(self, words: Sequence[Word]) -> None:
        """`unset NAME`. The name has no value then, not even one of the login node."""
        for text in self.fields(words[1:]):
            name, _, index = text.partition("[")
            entries = self.values.get(name)
            if index and isinstance(entries, dict):
                number = self.number(index[:-1])
                self.values[name] = {key: value for key, value in entries.items() if key != number}
            elif re.fullmatch(r"[A-Za-z_]\w*", name):
                self.exports.pop(name, None)
                self.doubtful.pop(name, None)
                self.values[name] = Unknown(f"${name} has no value: the script unsets it", "correct the script", True)

    # -- the working directory

    def path(self, text: str) -> str:
        """A path from the working directory, if bayplan knows it."""
        if isinstance(self.folder, Unknown) and not text.startswith("/"):
            raise UnknownError(self.folder)
        return posixpath.join(self.folder, text) if isinstance(self.folder, str) else text

    def move(self, words: Sequence[Word]) -> None:
        """`cd DIR`."""
        names = [word for word in words[1:] if word.raw not in ("-P", "-L", "--")]
        hint = expansion.FOLDER_HINT.format("PWD")
        try:
            texts = self.fields(names) if names else [self.known(self.entry("HOME"))]
            if texts == ["-"]:
                raise unknown("cd -", "write the directory")
            target = texts[0] if texts else ""
            if not target.startswith("/"):
                if self.folder is None:
                    why = f"cannot evaluate `cd {target}`: the script starts in a directory that bayplan does not know"
                    raise UnknownError(Unknown(why, hint))
                target = f"{self.known(self.folder)}/{target}"
            self.enter(re.sub(r"\A//+", "/", posixpath.normpath(target)))
        except UnknownError as problem:
            self.enter(problem.value if problem.value.hint else problem.value._replace(hint=hint))

    def enter(self, folder: str | Unknown | None) -> None:
        """Change the working directory."""
        old = self.values.get("PWD")
        self.folder = folder
        if isinstance(folder, str):
            self.values["OLDPWD"] = old if isinstance(old, str) else Unknown("cannot evaluate $OLDPWD")
            self.values["PWD"] = folder
        elif folder is None:
            self.values.pop("PWD", None)
        else:
            self.values["PWD"] = folder


def literal(text: str, start: int) -> Word:
    """A word for text that nothing expands."""
    return Word((Piece(shell.TEXT, text, True),), start, text)


def _assigning(text: str, start: int) -> Word:
    """A word for text that nothing expands, and that may be an assignment."""
    name, equals, value = text.partition("=")
    return Word((Piece(shell.TEXT, name + equals), Piece(shell.TEXT, value, True)), start, text)


def after(word: Word, length: int) -> tuple[Piece, ...]:
    """The pieces of a word behind its first characters of source text, which are an assignment."""
    pieces = list(word.pieces)
    while pieces and length:
        piece = pieces.pop(0)
        if piece.kind != shell.TEXT or piece.quoted:  # in an index
            taken, found = "", word.raw.find("=")
            while pieces and "=" not in taken:
                taken = pieces[0].text
                if "=" in taken and not pieces[0].quoted and found >= 0:
                    rest = taken.partition("=")[2]
                    return (pieces[0]._replace(text=rest), *pieces[1:]) if rest else tuple(pieces[1:])
                pieces.pop(0)
            return tuple(pieces)
        rest = piece.text[length:]
        length -= min(length, len(piece.text))
        if rest:
            pieces.insert(0, piece._replace(text=rest))
    return tuple(pieces)


def _port(name: str) -> bool:
    return "PORT" in name.upper()
