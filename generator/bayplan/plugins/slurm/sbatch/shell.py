"""A batch script's body as bash parses it: words of pieces, and statements in blocks. Nothing is run."""

from __future__ import annotations

import re
from typing import NamedTuple

TEXT, VARIABLE, BRACE, COMMAND, SUM, PROCESS, ARRAY = "text", "variable", "brace", "command", "sum", "process", "array"


class Piece(NamedTuple):
    """A part of a word: literal text, the name of a variable, the inside of `${}`, `$()`, `$(())`, `<()` or `=()`."""

    kind: str
    text: str
    quoted: bool = False


class Word(NamedTuple):
    """A word and its offset. `raw` is its source text."""

    pieces: tuple[Piece, ...]
    start: int
    raw: str


class Redirect(NamedTuple):
    """`> file`, `<<< text` or a here-document (operator `<<`). `plain`: nothing expands in its body `here`."""

    operator: str
    word: Word | None = None
    here: str = ""
    plain: bool = False


class Statement(NamedTuple):
    """A simple command with the operator that ends it; or a block with its opening word and its clauses."""

    words: tuple[Word, ...]
    start: int
    stop: int
    end: str = "\n"
    redirects: tuple[Redirect, ...] = ()
    opened: str = ""  # if, for, while, case, {, (, [[, ((, function: not a simple command
    clauses: tuple[Clause, ...] = ()
    negated: bool = False

    @property
    def name(self) -> str:
        """The name of the command, if the script has it literally."""
        return self.words[0].raw if self.words else ""

    @property
    def inner(self) -> tuple[Statement, ...]:
        """The statements inside a block."""
        return tuple(each for clause in self.clauses for each in (*clause.test, *clause.body))


class Clause(NamedTuple):
    """A branch of `if` or `case`, or the body of a loop: its condition or patterns, and its statements."""

    body: tuple[Statement, ...]
    test: tuple[Statement, ...] = ()
    patterns: tuple[Word, ...] = ()
    end: str = ""  # of `case`: ;;, ;& or ;;&


class UnreadableError(Exception):
    """A syntax error, and its offset."""

    def __init__(self, message: str, start: int) -> None:
        self.message, self.start = message, start


ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[([^\]]*)\])?(\+?)=")
OPENING = ("if", "for", "select", "while", "until", "case", "{", "(", "((", "[[", "function")
CLOSING = ("fi", "then", "else", "elif", "do", "done", "esac", "}", ")", ";;", ";&", ";;&")
DEEPEST = 50

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_REDIRECT = re.compile(r"[0-9]*(?:&>>|&>|<<<|<<-|<<|>>|>&|<&|>\||<>|>(?!\()|<(?!\())")
_END = re.compile(r"&&|\|\||\|&|\||;;&|;;|;&|;|&|\n|\)|\Z")
_PLAIN = re.compile(r"[^\s\\'\"$`;&|()<>]+")
_BLANK = re.compile(r"(?:[ \t]|\\\n)+")
_DOUBLE = re.compile(r"[^\\\"$`]+")
_ANSI_QUOTE = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_ANSI_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|[0-7]{1,3}|.)", re.DOTALL)
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "e": "\x1b", "E": "\x1b", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def statements(text: str) -> tuple[Statement, ...]:
    """The statements of a script. UnreadableError: a shell refuses it."""
    return _Reader(text).sequence((), 0)


def inside(text: str) -> tuple[Piece, ...]:
    """The pieces of a here-document's body, or of other text in which only variables expand."""
    return tuple(_Reader(text).double("", 0)[0])


def pieces(text: str) -> tuple[Piece, ...]:
    """The pieces of text that is one word with its blanks, as in `${NAME:-text}`."""
    return _Reader(text).word(0, ends="").pieces if text else ()


def entries(text: str) -> tuple[Word, ...]:
    """The words of a list, `(a b)`, without its parentheses."""
    return _Reader(text).entries("", 0)


class _Reader:
    """Reads the script once, from an offset on."""

    def __init__(self, text: str, at: int = 0) -> None:
        self.text, self.at = text, at
        self.documents: dict[int, int] = {}  # offset of a line's end -> end of the here-documents behind it

    # -- statements

    def sequence(self, close: tuple[str, ...], depth: int) -> tuple[Statement, ...]:
        """Statements up to one of the words or operators that close them."""
        if depth > DEEPEST:
            raise UnreadableError(f"blocks are nested more than {DEEPEST} levels deep", self.at)
        start, result = self.at, list[Statement]()
        while True:
            self.lines()
            word = self.reserved()
            if word in close:
                return tuple(result)
            if self.at >= len(self.text):
                if close:
                    raise UnreadableError(f'"{close[-1]}" is missing', min(start, len(self.text)))
                return tuple(result)
            if word in CLOSING:
                raise UnreadableError(f'unexpected "{word}"', self.at)
            if word == ";":
                self.at += 1
                continue
            result.append(self.statement(depth))

    def blank(self) -> None:
        """Skip blanks and a comment."""
        if match := _BLANK.match(self.text, self.at):
            self.at = match.end()
        if self.text.startswith("#", self.at):
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end

    def lines(self) -> None:
        """Skip blanks, comments and line ends."""
        self.blank()
        while self.text.startswith("\n", self.at):
            self.newline()
            self.blank()

    def newline(self) -> None:
        """Skip a line end, and the here-documents behind it."""
        self.at = self.documents.get(self.at, self.at + 1)

    def reserved(self) -> str:
        """The unquoted word or operator at this offset, without reading it."""
        if match := re.compile(r"[a-z]+|[{}!]|\[\[").match(self.text, self.at):
            behind = self.text[match.end() : match.end() + 1]
            return match[0] if not behind or behind in " \t\n;&|()<>" else ""
        match = re.compile(r"\(\(|\(|\)|;;&|;;|;&|;").match(self.text, self.at)
        return match[0] if match else ""

    def statement(self, depth: int) -> Statement:
        """One statement with its redirections and the operator behind it."""
        start, negated = self.at, False
        while (word := self.reserved()) in ("!", "time"):
            negated ^= word == "!"
            self.at += len(word)
            self.blank()
        if word == "((" and not self._is_sum():
            word = "("
        each = self._block(word, depth) if word in OPENING else self._simple(depth)
        redirects = list(each.redirects)
        while each.opened and (redirect := self._redirect()):
            redirects.append(redirect)
        self.blank()
        stop, match = self.at, _END.match(self.text, self.at)
        if match is None:
            raise UnreadableError(f'unexpected "{self.text[self.at : self.at + 1]}"', self.at)
        end = match[0]
        if end == "\n":
            self.newline()
        elif end in CLOSING:
            end = "\n"
        else:
            self.at += len(end)
            if end in ("&&", "||", "|", "|&"):
                self.lines()
        return each._replace(start=start, stop=stop, end=end or "\n", redirects=tuple(redirects), negated=negated)

    def _is_sum(self) -> bool:
        try:
            return self.text[self._closing(self.at, 0) - 1] == ")"
        except UnreadableError:
            return False

    def _simple(self, depth: int) -> Statement:
        words: list[Word] = []
        redirects: list[Redirect] = []
        while True:
            if redirect := self._redirect():
                redirects.append(redirect)
            elif _END.match(self.text, self.at):
                break
            elif len(words) == 1 and (match := re.compile(r"\([ \t]*\)").match(self.text, self.at)):
                self.at = match.end()
                return self._function(words[0], depth)
            else:
                words.append(self.word(depth))
        if not words and not redirects:
            raise UnreadableError(f'expected a command, found "{self.text[self.at : self.at + 1]}"', self.at)
        return Statement(tuple(words), self.at, self.at, redirects=tuple(redirects))

    def _redirect(self) -> Redirect | None:
        self.blank()
        match = _REDIRECT.match(self.text, self.at)
        if match is None:
            return None
        self.at = match.end()
        self.blank()
        if _END.match(self.text, self.at):
            raise UnreadableError(f'a word is missing after "{match[0]}"', match.start())
        word = self.word(0)
        operator = match[0].lstrip("0123456789") if "<<" in match[0] else match[0]
        if operator not in ("<<", "<<-"):
            return Redirect(operator, word)
        delimiter = "".join(piece.text for piece in word.pieces)
        here = self._document(delimiter, operator == "<<-", match.start())
        return Redirect("<<", None, here, word.raw != delimiter)

    def _document(self, delimiter: str, tabs: bool, start: int) -> str:
        """The body of a here-document: the lines behind this one, and behind other here-documents of this line."""
        end = self.at
        while end < len(self.text) and self.text[end] != "\n":
            skip = {"'": "'", '"': '"'}.get(self.text[end])
            closed = self.text.find(skip, end + 1) if skip else -1
            end = closed + 1 if closed >= 0 else end + 2 if self.text[end] == "\\" else end + 1
        at, lines = self.documents.get(end, end + 1), list[str]()
        while at < len(self.text):
            stop = self.text.find("\n", at)
            stop = len(self.text) if stop < 0 else stop
            line = self.text[at:stop].lstrip("\t") if tabs else self.text[at:stop]
            at = min(stop + 1, len(self.text))
            if line == delimiter:
                self.documents[end] = at
                return "".join(f"{each}\n" for each in lines)
            lines.append(line)
        raise UnreadableError(f'here-document "{delimiter}" is not closed', start)

    def _expect(self, word: str) -> None:
        self.lines()
        if self.reserved() != word:
            raise UnreadableError(f'"{word}" is missing', min(self.at, len(self.text)))
        self.at += len(word)

    def _block(self, opened: str, depth: int) -> Statement:
        start = self.at
        self.at += len(opened)
        words: tuple[Word, ...] = ()
        clauses: list[Clause] = []
        match opened:
            case "if":
                while True:
                    test = self.sequence(("then",), depth + 1)
                    self._expect("then")
                    clauses.append(Clause(self.sequence(("elif", "else", "fi"), depth + 1), test))
                    following = self.reserved()
                    self.at += len(following)
                    if following == "else":
                        clauses.append(Clause(self.sequence(("fi",), depth + 1)))
                        self._expect("fi")
                    if following != "elif":
                        break
            case "while" | "until":
                test = self.sequence(("do",), depth + 1)
                clauses = [self._loop(depth, test)]
            case "for" | "select":
                self.blank()
                if self.reserved() == "((":
                    words = (self._sum(),)
                else:
                    words = (self.word(depth),)
                    self.lines()
                    if self.reserved() == "in":
                        self.at += 2
                        words += self._list()
                    else:
                        words += (Word((Piece(VARIABLE, "@", True),), self.at, '"$@"'),)
                clauses = [self._loop(depth, ())]
            case "case":
                self.blank()
                words = (self.word(depth),)
                self._expect("in")
                clauses = self._cases(depth)
            case "{" | "(":
                close = {"{": "}", "(": ")"}[opened]
                clauses = [Clause(self.sequence((close,), depth + 1))]
                self._expect(close)
            case "((":
                self.at = start
                words = (self._sum(),)
            case "[[":
                words = self._test(depth)
            case "function":
                self.blank()
                name = self.word(depth)
                self.lines()
                if match := re.compile(r"\([ \t]*\)").match(self.text, self.at):
                    self.at = match.end()
                return self._function(name, depth)
        return Statement(words, start, self.at, opened=opened, clauses=tuple(clauses))

    def _loop(self, depth: int, test: tuple[Statement, ...]) -> Clause:
        self.lines()
        if self.text.startswith(";", self.at):
            self.at += 1
        self._expect("do")
        body = self.sequence(("done",), depth + 1)
        self._expect("done")
        return Clause(body, test)

    def _list(self) -> tuple[Word, ...]:
        words: list[Word] = []
        self.blank()
        while not _END.match(self.text, self.at):
            words.append(self.word(0))
            self.blank()
        return tuple(words)

    def _cases(self, depth: int) -> list[Clause]:
        clauses = []
        self.lines()
        while self.reserved() != "esac":
            if self.text.startswith("(", self.at):
                self.at += 1
            patterns = []
            while True:
                self.blank()
                patterns.append(self.word(depth))
                self.blank()
                if not self.text.startswith("|", self.at):
                    break
                self.at += 1
            self._expect(")")
            body = self.sequence((";;", ";&", ";;&", "esac"), depth + 1)
            end = self.reserved() if self.reserved() != "esac" else ""
            self.at += len(end)
            clauses.append(Clause(body, (), tuple(patterns), end or ";;"))
            self.lines()
        self._expect("esac")
        return clauses

    def _sum(self) -> Word:
        """`((...))`."""
        start, end = self.at, self._closing(self.at, 0)
        self.at = end + 1
        return Word((Piece(SUM, self.text[start + 2 : end - 1]),), start, self.text[start : self.at])

    def _test(self, depth: int) -> tuple[Word, ...]:
        """The words and operators up to `]]`. Operators are words of one unquoted piece."""
        words: list[Word] = []
        while True:
            self.lines()
            operator = re.compile(r"&&|\|\||[()<>]").match(self.text, self.at)
            if words and words[-1].raw == "=~":
                words.append(self.word(depth, ends=" \t\n"))
            elif operator:
                words.append(Word((Piece(TEXT, operator[0]),), self.at, operator[0]))
                self.at = operator.end()
            else:
                words.append(self.word(depth))
            if words[-1].raw == "]]":
                return tuple(words[:-1])

    def _function(self, name: Word, depth: int) -> Statement:
        self.lines()
        if depth > DEEPEST:
            raise UnreadableError(f"blocks are nested more than {DEEPEST} levels deep", self.at)
        if self.reserved() not in OPENING:
            raise UnreadableError("a function has no body", self.at)
        start = self.at
        body = self._block(self.reserved(), depth + 1)
        body = body._replace(start=start, stop=self.at)
        return Statement((name,), start, self.at, opened="function", clauses=(Clause((body,)),))

    # -- words

    def entries(self, close: str, depth: int) -> tuple[Word, ...]:
        """The words of a list, on any number of lines."""
        words: list[Word] = []
        while True:
            self.lines()
            if self.at >= len(self.text) or (close and self.text.startswith(close, self.at)):
                return tuple(words)
            words.append(self.word(depth))

    def word(self, depth: int, ends: str = " \t\n;&|()<>") -> Word:
        """The word at this offset. `ends`: the characters that end it."""
        text, start, result = self.text, self.at, list[Piece]()
        while self.at < len(text):
            at, char = self.at, text[self.at]
            if plain := _PLAIN.match(text, at):
                result.append(Piece(TEXT, plain[0]))
                self.at = plain.end()
            elif char == "\\":
                kept = text[at + 1 : at + 2]
                result += [Piece(TEXT, kept, True)] if kept not in ("\n", "") else []
                self.at += 2
            elif char == "'":
                self.at = self._find("'", at + 1, "a quote") + 1
                result.append(Piece(TEXT, text[at + 1 : self.at - 1], True))
            elif char == '"' or text.startswith('$"', at):
                quoted, self.at = self.double('"', at + (char == "$"), depth)
                result += quoted
            elif text.startswith("$'", at):
                if not (ansi := _ANSI_QUOTE.match(text, at)):
                    raise UnreadableError("a quote is not closed", at)
                result.append(Piece(TEXT, _ANSI_ESCAPE.sub(_ansi, ansi[1]), True))
                self.at = ansi.end()
            elif char in "$`":
                piece, self.at = self._expansion(at, False, depth)
                result.append(piece)
            elif text[at : at + 2] in ("<(", ">(") and ends:
                self.at = self._command_end(at + 2, depth)
                result.append(Piece(PROCESS, text[at + 2 : self.at]))
                self.at += 1
            elif char == "(" and ASSIGNMENT.fullmatch(text[start:at]):
                self.at += 1
                self.entries(")", depth + 1)
                if self.at >= len(text):
                    raise UnreadableError('"(" is not closed', at)
                result.append(Piece(ARRAY, text[at + 1 : self.at]))
                self.at += 1
            elif char in ends:
                break
            else:
                result.append(Piece(TEXT, char))
                self.at += 1
        if self.at == start:
            raise UnreadableError(f'expected a word, found "{text[start : start + 1]}"', start)
        self.at = min(self.at, len(text))
        return Word(tuple(result), start, text[start : self.at])

    def _find(self, char: str, at: int, what: str) -> int:
        end = self.text.find(char, at)
        if end < 0:
            raise UnreadableError(f"{what} is not closed", at - 1)
        return end

    def double(self, quote: str, at: int, depth: int = 0) -> tuple[list[Piece], int]:
        """The content of double quotes and the offset behind them; without `quote`, the rest of the text."""
        text, start, result = self.text, at, list[Piece]()
        at += len(quote)
        while at < len(text) and text[at] != quote:
            if plain := _DOUBLE.match(text, at):
                result.append(Piece(TEXT, plain[0], True))
                at = plain.end()
            elif text[at] == '"':
                result.append(Piece(TEXT, '"', True))
                at += 1
            elif text[at] == "\\":
                following = text[at + 1 : at + 2]
                escaped = following in ("$", "`", "\\", "\n", quote)
                result.append(Piece(TEXT, following.strip("\n") if escaped else f"\\{following}", True))
                at += 2
            else:
                piece, at = self._expansion(at, True, depth)
                result.append(piece)
        if quote and at >= len(text):
            raise UnreadableError("a quote is not closed", start)
        return result or [Piece(TEXT, "", True)], at + len(quote)

    def _expansion(self, at: int, quoted: bool, depth: int) -> tuple[Piece, int]:
        """`$NAME`, `${...}`, `$(...)`, `$((...))` or backticks."""
        text = self.text
        if text[at] == "`":
            end = at + 1
            while text[end : end + 1] not in ("`", ""):
                end += 2 if text[end] == "\\" else 1
            if end >= len(text):
                raise UnreadableError("a backtick is not closed", at)
            return Piece(COMMAND, re.sub(r"\\([\\$`])", r"\1", text[at + 1 : end]), quoted), end + 1
        if text.startswith("$((", at):
            end = self._closing(at + 1, depth)
            if text[end - 1 : end] == ")":
                return Piece(SUM, text[at + 3 : end - 1], quoted), end + 1
        if text.startswith("$(", at):
            end = self._command_end(at + 2, depth)
            return Piece(COMMAND, text[at + 2 : end], quoted), end + 1
        if text.startswith("${", at):
            end = self._brace_end(at, quoted, depth)
            return Piece(BRACE, text[at + 2 : end], quoted), end + 1
        if name := _NAME.match(text, at + 1):
            return Piece(VARIABLE, name[0], quoted), name.end()
        return Piece(TEXT, "$", quoted), at + 1

    def _command_end(self, at: int, depth: int) -> int:
        """The offset of the parenthesis that closes a command substitution."""
        if depth > DEEPEST // 2:
            raise UnreadableError(f"substitutions are nested more than {DEEPEST // 2} levels deep", at)
        reader = _Reader(self.text, at)
        reader.sequence((")",), depth + 1)
        return reader.at

    def _brace_end(self, at: int, quoted: bool, depth: int) -> int:
        if depth > DEEPEST // 2:
            raise UnreadableError(f"substitutions are nested more than {DEEPEST // 2} levels deep", at)
        text, start = self.text, at
        at += 2
        while at < len(text):
            char = text[at]
            if char == "}":
                return at
            if char == "\\":
                at += 2
            elif char == "'" and not quoted:
                at = self._find("'", at + 1, "a quote") + 1
            elif char == '"':
                at = self.double('"', at, depth + 1)[1]
            elif char in "$`":
                at = self._expansion(at, quoted, depth + 1)[1]
            else:
                at += 1
        raise UnreadableError('"{" is not closed', start)

    def _closing(self, at: int, depth: int) -> int:
        """The offset of the parenthesis that closes the one at an offset. Quotes and inner pairs are skipped."""
        text, start, level = self.text, at, 0
        while at < len(text):
            char = text[at]
            if char == "\\":
                at += 2
                continue
            if char == '"':
                at = self.double('"', at, depth + 1)[1]
                continue
            if char == "'":
                at = self._find("'", at + 1, "a quote")
            level += (char == "(") - (char == ")")
            if not level:
                return at
            at += 1
        raise UnreadableError('"(" is not closed', start)


def _ansi(match: re.Match[str]) -> str:
    escape = match[1]
    if escape[0] in "xu" and len(escape) > 1:
        return chr(int(escape[1:], 16))
    return (
        chr(int(escape, 8) & 0xFF)
        if escape.isdigit()
        else _ANSI.get(escape, escape if escape in "\\'\"?" else match[0])
    )
