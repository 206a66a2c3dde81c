"""Integer arithmetic of bash: `$(( ))`, `(( ))`, `let`, indices and substrings."""

from __future__ import annotations

import re
from collections.abc import Callable

MOST = 2**63
"""Numbers of bash have 64 bits."""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+#[0-9a-zA-Z]+|0[xX][0-9a-fA-F]+|[0-9]+)|(?P<name>[A-Za-z_]\w*(?:\[[^\]]*\])?)"
    r"|(?P<operator>\*\*|\+\+|--|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%<>=!~&|^?:(),]))"
)
_BINARY: tuple[tuple[str, ...], ...] = (
    *(("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">=")),
    *(("<<", ">>"), ("+", "-"), ("*", "/", "%"), ("**",)),
)
"""Operators from the weakest to the strongest."""


class CalculationError(Exception):
    """An expression that bash refuses, or whose value needs more than 64 bits."""


class Calculator:
    """Evaluates one expression. `read` and `write` access variables as text."""

    def __init__(self, read: Callable[[str], str], write: Callable[[str, str], None], depth: int = 0) -> None:
        self.read, self.write, self.depth = read, write, depth
        self.tokens: list[str] = []
        self.at, self.live = 0, True  # live: this branch of `?:`, `&&` or `||` is evaluated

    def value(self, text: str) -> int:
        """The value of an expression; that of an empty one is 0."""
        if self.depth > 20 or len(text) > 2000:
            raise CalculationError
        at, text = 0, text.strip()
        while at < len(text):
            token = _TOKEN.match(text, at)
            if token is None:
                raise CalculationError
            self.tokens.append(token[0].strip())
            at = token.end()
        if not self.tokens:
            return 0
        result = self._comma()
        if self.at < len(self.tokens):
            raise CalculationError
        return result

    def _next(self, *options: str) -> str:
        token = self.tokens[self.at] if self.at < len(self.tokens) else ""
        if options and token not in options:
            return ""
        self.at += 1
        return token

    def _comma(self) -> int:
        result = self._assignment()
        while self._next(","):
            result = self._assignment()
        return result

    def _assignment(self) -> int:
        name = self.tokens[self.at] if self.at < len(self.tokens) else ""
        operator = self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else ""
        if (name[:1].isalpha() or name[:1] == "_") and re.fullmatch(r"(<<|>>|[-+*/%&|^])?=", operator):
            self.at += 2
            right = self._assignment()
            return self._set(
                name, self._apply(operator[:-1], self._variable(name), right) if operator != "=" else right
            )
        return self._choice()

    def _set(self, name: str, value: int) -> int:
        if self.live:
            self.write(name, str(value))
        return value

    def _choice(self) -> int:
        condition = self._binary(0)
        if not self._next("?"):
            return condition
        live = self.live
        self.live = live and bool(condition)
        first = self._comma()
        if not self._next(":"):
            raise CalculationError
        self.live = live and not condition
        second = self._assignment()
        self.live = live
        return first if condition else second

    def _binary(self, level: int) -> int:
        if level == len(_BINARY):
            return self._unary()
        left = self._binary(level + 1)
        if level == len(_BINARY) - 1:  # ** groups from the right
            return self._apply("**", left, self._binary(level)) if self._next("**") else left
        while operator := self._next(*_BINARY[level]):
            live = self.live
            if operator in ("&&", "||"):
                self.live = live and bool(left) == (operator == "&&")
            right = self._binary(level + 1)
            self.live = live
            left = self._apply(operator, left, right)
        return left

    def _unary(self) -> int:
        match self._next():
            case "-":
                return -self._unary()
            case "+":
                return self._unary()
            case "!":
                return int(not self._unary())
            case "~":
                return ~self._unary()
            case "++" | "--" as operator:
                name = self._next()
                return self._set(name, self._variable(name) + (1 if operator == "++" else -1))
            case "(":
                result = self._comma()
                if not self._next(")"):
                    raise CalculationError
                return result
            case token:
                return self._atom(token)

    def _atom(self, token: str) -> int:
        if token[:1].isdigit():
            return _number(token)
        if not (token[:1].isalpha() or token[:1] == "_"):
            raise CalculationError
        value = self._variable(token)
        if operator := self._next("++", "--"):
            self._set(token, value + (1 if operator == "++" else -1))
        return value

    def _variable(self, name: str) -> int:
        if not self.live:
            return 0
        text = self.read(name).strip()
        if re.fullmatch(r"-?[1-9][0-9]{0,17}|0?", text):
            return int(text or 0)
        return Calculator(self.read, self.write, self.depth + 1).value(text)

    def _apply(self, operator: str, left: int, right: int) -> int:
        if not self.live:
            return 0
        if operator in ("/", "%"):
            if not right:
                raise CalculationError
            quotient = abs(left) // abs(right)
            quotient = quotient if (left < 0) == (right < 0) else -quotient  # shells round towards zero
            return quotient if operator == "/" else left - quotient * right
        if operator in ("**", "<<", ">>") and not 0 <= right < 64:
            raise CalculationError
        result = int(_OPERATIONS[operator](left, right))
        if not -MOST <= result < MOST:
            raise CalculationError
        return result


def _number(text: str) -> int:
    base, mark, digits = text.partition("#")
    try:
        if mark:
            return int(digits, int(base)) if 2 <= int(base) <= 36 else int("")
        result = int(text, 16) if text[:2] in ("0x", "0X") else int(text, 8 if text[0] == "0" and len(text) > 1 else 10)
    except ValueError:
        raise CalculationError from None
    if result >= MOST:
        raise CalculationError
    return result


_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "**": lambda a, b: a**b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "&&": lambda a, b: bool(a) and bool(b),
    "||": lambda a, b: bool(a) or bool(b),
}
