"""A batch script's body as a shell reads it: words of pieces, and statements in blocks. Nothing is run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bayplan.core.values import NamedTuple

# Characters of a shell script -> tokens: words made of pieces, and operators. POSIX, and the bash of job scripts.

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


class Operator(NamedTuple):
    """`;`, `&&`, `|`, a line's end, a redirection such as `2>`."""

    text: str
    start: int


class HereDocument(NamedTuple):
    """A here-document, `<<WORD`. Its body follows the line; `plain`: the word is quoted, so nothing expands."""

    text: str
    plain: bool
    start: int


Token = Word | Operator | HereDocument


class UnreadableError(Exception):
    """A syntax error, and its offset."""

    def __init__(self, message: str, start: int) -> None:
        self.message, self.start = message, start


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_ASSIGN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=\Z")
_OPERATORS = ("&&", "||", ";;", "|&", "\n", ";", "&", "|", "(", ")")
_REDIRECT = re.compile(r"[0-9]*(&>>|&>|>>|>&|<&|>\||<>|>|<)")
_PLAIN = re.compile(r"[^\s\\'\"$`;&|()<>]+")
_BLANK = re.compile(r"(?:[ \t]|\\\n)+")
_DOUBLE = re.compile(r"[^\\\"$`]+")
DEEPEST = 20


def tokens(text: str) -> list[Token]:
    """The tokens of a script, without comments. A here-document is at the position of its operator."""
    result: list[Token] = []
    waiting: list[tuple[int, str, bool]] = []  # index of its token, delimiter, whether tabs are stripped
    at = 0
    while at < len(text):
        if blank := _BLANK.match(text, at):
            at = blank.end()
        elif text[at] == "#":
            at = _line_end(text, at)
        elif text[at] == "\n":
            result.append(Operator("\n", at))
            at += 1
            for index, delimiter, tabs in waiting:
                document = result[index]
                body, at = _document(text, at, delimiter, tabs, document.start)
                result[index] = HereDocument(
                    body, isinstance(document, HereDocument) and document.plain, document.start
                )
            waiting = []
        elif text.startswith("<<", at) and not text.startswith("<<<", at):
            tabs = text.startswith("<<-", at)
            blank = _BLANK.match(text, at + 2 + tabs)
            word, end = _word(text, blank.end() if blank else at + 2 + tabs, 0)
            delimiter = "".join(piece.text for piece in word.pieces)
            waiting.append((len(result), delimiter, tabs))
            result.append(HereDocument("", word.raw != delimiter, at))
            at = end
        else:
            token, at = _token(text, at)
            result.append(token)
    if waiting:
        index, delimiter, _ = waiting[0]
        raise UnreadableError(f'here-document "{delimiter}" is not closed', result[index].start)
    return result


def _token(text: str, at: int) -> tuple[Token, int]:
    """The operator or word at an offset, and where it ends."""
    if text.startswith("((", at):
        end = closing(text, at, 0)
        return Word((Piece(SUM, text[at + 2 : end - 1]),), at, text[at : end + 1]), end + 1
    if text.startswith("<<<", at):
        return Operator("<<<", at), at + 3
    if text[at : at + 2] not in ("<(", ">(") and (redirect := _REDIRECT.match(text, at)):
        return Operator(redirect[0], at), redirect.end()
    if operator := next((each for each in _OPERATORS if text.startswith(each, at)), ""):
        return Operator(operator, at), at + len(operator)
    return _word(text, at, 0)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _document(text: str, at: int, delimiter: str, tabs: bool, start: int) -> tuple[str, int]:
    """The body of a here-document, and the offset behind it."""
    lines: list[str] = []
    while at < len(text):
        end = _line_end(text, at)
        line = text[at:end].lstrip("\t") if tabs else text[at:end]
        at = min(end + 1, len(text))
        if line == delimiter:
            return "".join(f"{each}\n" for each in lines), at
        lines.append(line)
    raise UnreadableError(f'here-document "{delimiter}" is not closed', start)


def _word(text: str, at: int, depth: int) -> tuple[Word, int]:
    """The word at an offset, and where it ends."""
    start, pieces = at, []
    while at < len(text):
        char = text[at]
        if plain := _PLAIN.match(text, at):
            pieces.append(Piece(TEXT, plain[0]))
            at = plain.end()
        elif char == "\\":
            kept = text[at + 1 : at + 2]
            pieces += [Piece(TEXT, kept, True)] if kept not in ("\n", "") else []
            at += 2
        elif char == "'":
            end = _closed(text, text.find("'", at + 1), at, "a quote")
            pieces.append(Piece(TEXT, text[at + 1 : end], True))
            at = end + 1
        elif char == '"':
            quoted, at = _double(text, at, depth)
            pieces += quoted
        elif text.startswith("$'", at):
            if not (ansi := _ANSI_QUOTE.match(text, at)):
                raise UnreadableError("a quote is not closed", at)
            escaped = re.sub(r"\\(.)", lambda quoted: _ANSI.get(quoted[1], quoted[0]), ansi[1], flags=re.DOTALL)
            pieces.append(Piece(TEXT, escaped, True))
            at = ansi.end()
        elif char in "$`":
            piece, at = _expansion(text, at, False, depth)
            pieces.append(piece)
        elif text[at : at + 2] in ("<(", ">("):
            end = closing(text, at + 1, depth)
            pieces.append(Piece(PROCESS, text[at + 2 : end]))
            at = end + 1
        elif char == "(" and _ASSIGN.match(text[start:at]):
            end = closing(text, at, depth)
            pieces.append(Piece(ARRAY, text[at + 1 : end]))
            at = end + 1
        else:
            break
    if at == start:
        raise UnreadableError(f'expected a word, found "{text[at : at + 1]}"', at)
    return Word(tuple(pieces), start, text[start:at]), at


def _closed(text: str, end: int, start: int, what: str) -> int:
    if end < 0:
        raise UnreadableError(f"{what} is not closed", start)
    return end


_ANSI_QUOTE = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "e": "\x1b", "a": "\a"}


def _double(text: str, at: int, depth: int, quote: str = '"') -> tuple[list[Piece], int]:
    """The content of double quotes; without a `quote`, the body of a here-document. A backslash removes the line end
    behind it."""
    start, pieces = at, [Piece(TEXT, "", True)]
    at += len(quote)
    while at < len(text) and text[at] != quote:
        if plain := _DOUBLE.match(text, at):
            pieces.append(Piece(TEXT, plain[0], True))
            at = plain.end()
        elif text[at] == '"':
            pieces.append(Piece(TEXT, '"', True))
            at += 1
        elif text[at] == "\\":
            following = text[at + 1 : at + 2]
            escaped = following in ("$", "`", "\\", "\n", quote)
            pieces.append(Piece(TEXT, following.strip("\n") if escaped else f"\\{following}", True))
            at += 2
        else:
            piece, at = _expansion(text, at, True, depth)
            pieces.append(piece)
    if quote and at >= len(text):
        raise UnreadableError("a quote is not closed", start)
    return pieces, at + len(quote)


def _expansion(text: str, at: int, quoted: bool, depth: int) -> tuple[Piece, int]:
    """`$NAME`, `${...}`, `$(...)`, `$((...))` or backticks."""
    if text[at] == "`":
        end = _closed(text, text.find("`", at + 1), at, "a backtick")
        return Piece(COMMAND, text[at + 1 : end], quoted), end + 1
    if text.startswith("$((", at):
        end = closing(text, at + 1, depth)
        if text[end - 1 : end] == ")":
            return Piece(SUM, text[at + 3 : end - 1], quoted), end + 1
    if text.startswith("$(", at):
        end = closing(text, at + 1, depth)
        return Piece(COMMAND, text[at + 2 : end], quoted), end + 1
    if text.startswith("${", at):
        end = closing(text, at + 1, depth, "{}")
        return Piece(BRACE, text[at + 2 : end], quoted), end + 1
    if name := _NAME.match(text, at + 1):
        return Piece(VARIABLE, name[0], quoted), name.end()
    return Piece(TEXT, "$", True), at + 1


def closing(text: str, at: int, depth: int, pair: str = "()") -> int:
    """The offset of the closing character for the opening one at an offset. Quotes and inner pairs are skipped."""
    if depth > DEEPEST:
        raise UnreadableError(f"substitutions are nested more than {DEEPEST} levels deep", at)
    start, level = at, 0
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 2
            continue
        if char == "'":
            at = _closed(text, text.find("'", at + 1), at, "a quote")
        elif char == '"':
            _, at = _double(text, at, depth + 1)
            continue
        elif char == pair[0]:
            level += 1
        elif char == pair[1]:
            level -= 1
            if not level:
                return at
        at += 1
    raise UnreadableError(f'"{pair[0]}" is not closed', start)


def inside(text: str) -> tuple[Piece, ...]:
    """The pieces of a here-document's body in which variables expand."""
    return tuple(_double(text, 0, 0, "")[0])


# Tokens -> statements. Loops, branches, functions and groups are blocks: a statement with others inside.

OPENING = {"if": "fi", "for": "done", "while": "done", "until": "done", "select": "done", "case": "esac", "{": "}"}
PASSED = ("do", "then", "else", "elif", "!", "time", "in")
"""Words after which a command begins."""

ENDS = (";", "&", "&&", "||", "|", "|&", ";;", "\n")
DEEPEST_STATEMENT = 50


class Redirect(NamedTuple):
    """`> file`, `<<< text` or a here-document (operator `<<`, whose body is `here`)."""

    operator: str
    word: Word | None = None
    here: str = ""
    plain: bool = False


class Statement(NamedTuple):
    """A simple command with the operator that ends it; or a block with its opening word and its statements."""

    words: tuple[Word, ...]
    start: int
    stop: int
    end: str = "\n"
    redirects: tuple[Redirect, ...] = ()
    opened: str = ""  # if, for, {, (, function: a block
    inner: tuple[Statement, ...] = ()

    @property
    def name(self) -> str:
        """The name of the command, if the script has it literally."""
        return self.words[0].raw if self.words else ""


def statements(text: str) -> tuple[Statement, ...]:
    """The statements of a script. UnreadableError: a shell refuses it."""
    reader = _Reader(text)
    return tuple(reader.sequence("", 0))


class _Reader:
    """Reads the tokens once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens(text)
        self.at = 0

    def peek(self) -> Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def sequence(self, close: str, depth: int) -> Iterator[Statement]:
        """Statements up to the word or parenthesis that closes them."""
        if depth > DEEPEST_STATEMENT:
            raise UnreadableError(f"blocks are nested more than {DEEPEST_STATEMENT} levels deep", len(self.text))
        while (token := self.peek()) is not None:
            if isinstance(token, Operator) and token.text in (*ENDS, ")"):
                self.at += 1
                if token.text == close:
                    return
                continue
            if isinstance(token, Word) and token.raw == close:
                self.at += 1
                return
            if isinstance(token, Word) and token.raw in PASSED:
                self.at += 1
                continue
            yield self.statement(depth)
        if close:
            raise UnreadableError(f'"{close}" is missing', len(self.text))

    def statement(self, depth: int) -> Statement:
        token = self.peek()
        assert token is not None
        start = token.start
        opened = self._opens(token)
        if opened:
            return self._block(opened, start, depth)
        words: list[Word] = []
        redirects: list[Redirect] = []
        while (token := self.peek()) is not None:
            if isinstance(token, Word) or (words and words[0].raw == "[[" and words[-1].raw != "]]"):
                words += [token] if isinstance(token, Word) else []
                self.at += 1
            elif isinstance(token, HereDocument):
                redirects.append(Redirect("<<", None, token.text, token.plain))
                self.at += 1
            elif token.text in ENDS or token.text == ")":
                break
            elif token.text == "(":
                following = self.tokens[self.at + 1 : self.at + 2]
                if len(words) == 1 and following and getattr(following[0], "text", "") == ")":
                    self.at += 2
                    return self._function(words[0], start, depth)
                raise UnreadableError('unexpected "("', token.start)
            else:
                redirects.append(self._redirect(token))
        end, stop = self._end()
        return Statement(tuple(words), start, stop, end, tuple(redirects))

    def _opens(self, token: Token) -> str:
        if isinstance(token, Word):
            return token.raw if token.raw in OPENING or token.raw == "function" else ""
        return "(" if isinstance(token, Operator) and token.text == "(" else ""

    def _block(self, opened: str, start: int, depth: int) -> Statement:
        self.at += 1
        if opened == "function":
            name = self.peek()
            self.at += 1
            if not isinstance(name, Word):
                raise UnreadableError("a function has no name", start)
            while isinstance(token := self.peek(), Operator) and token.text in "()\n":
                self.at += 1
            return self._function(name, start, depth)
        close = ")" if opened == "(" else OPENING[opened]
        inner = tuple(self.sequence(close, depth + 1))
        redirects = []
        while isinstance(token := self.peek(), Operator) and token.text not in (*ENDS, "(", ")"):
            redirects.append(self._redirect(token))
        end, stop = self._end()
        return Statement((), start, stop, end, tuple(redirects), opened, inner)

    def _function(self, name: Word, start: int, depth: int) -> Statement:
        while isinstance(token := self.peek(), Operator) and token.text == "\n":
            self.at += 1
        if self.peek() is None:
            raise UnreadableError("a function has no body", start)
        body = self.statement(depth + 1)
        return body._replace(words=(name,), start=start, opened="function", inner=(body,))

    def _redirect(self, token: Operator) -> Redirect:
        self.at += 1
        word = self.peek()
        if not isinstance(word, Word):
            raise UnreadableError(f'a word is missing after "{token.text}"', token.start)
        self.at += 1
        return Redirect(token.text, word)

    def _end(self) -> tuple[str, int]:
        token = self.peek()
        stop = token.start if token else len(self.text)
        if isinstance(token, Operator) and token.text in ENDS:
            self.at += 1
            return token.text, stop
        return (token.text if isinstance(token, Operator) else "\n"), stop


ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=")
