"""Tokens -> statements. Loops, branches, functions and groups are blocks: a statement with others inside."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bayplan.values import NamedTuple
from bayplan.workflows.sbatch.shell.words import Here, Operator, Token, UnreadableError, Word, tokens

OPENING = {"if": "fi", "for": "done", "while": "done", "until": "done", "select": "done", "case": "esac", "{": "}"}
PASSED = ("do", "then", "else", "elif", "!", "time", "in")
"""Words after which a command begins."""

ENDS = (";", "&", "&&", "||", "|", "|&", ";;", "\n")
DEEPEST = 50


class Redirect(NamedTuple):
    """`> file`, `<<< text` or a here-document (operator `<<`, whose body is `here`)."""

    operator: str
    word: Word | None = None
    here: str = ""
    plain: bool = False


class Statement(NamedTuple):
    """A simple command with the operator that ends it; or a block, with what it opened by and what it holds."""

    words: tuple[Word, ...]
    start: int
    stop: int
    end: str = "\n"
    redirects: tuple[Redirect, ...] = ()
    opened: str = ""  # if, for, {, (, function: a block
    inner: tuple[Statement, ...] = ()

    @property
    def name(self) -> str:
        """The command, where it is written out."""
        return self.words[0].raw if self.words else ""


def statements(text: str) -> tuple[Statement, ...]:
    """The statements of a script. UnreadableError: no shell would take it."""
    reader = _Reader(text)
    return tuple(reader.sequence("", 0))


class _Reader:
    """Goes through the tokens once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens(text)
        self.at = 0

    def peek(self) -> Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def sequence(self, close: str, depth: int) -> Iterator[Statement]:
        """Statements up to the word or parenthesis that closes them."""
        if depth > DEEPEST:
            raise UnreadableError(f"more than {DEEPEST} blocks stand in one another", len(self.text))
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
            elif isinstance(token, Here):
                redirects.append(Redirect("<<", None, token.text, token.plain))
                self.at += 1
            elif token.text in ENDS or token.text == ")":
                break
            elif token.text == "(":
                following = self.tokens[self.at + 1 : self.at + 2]
                if len(words) == 1 and following and getattr(following[0], "text", "") == ")":
                    self.at += 2
                    return self._function(words[0], start, depth)
                raise UnreadableError('a "(" stands where no command begins', token.start)
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
            raise UnreadableError(f'nothing follows "{token.text}"', token.start)
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
