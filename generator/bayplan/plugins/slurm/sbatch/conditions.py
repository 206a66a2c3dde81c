"""Conditions of bash: `[ ]`, `test` and `[[ ]]`. None: only the running script knows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from bayplan.plugin import MOST_STEPS, steps
from bayplan.plugins.slurm.sbatch.expansion import Expander, Unknown, UnknownError, regular, unknown
from bayplan.plugins.slurm.sbatch.shell import Word

FILES = ("-f", "-d", "-e", "-r", "-w", "-x", "-s", "-L", "-h", "-a", "-b", "-c", "-p", "-S", "-t", "-N", "-O", "-G")
COMPARED = {
    "-eq": lambda a, b: a == b,
    "-ne": lambda a, b: a != b,
    "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b,
    "-gt": lambda a, b: a > b,
    "-ge": lambda a, b: a >= b,
}
STRINGS = ("=", "==", "!=", "<", ">")
OTHERWISE = r"\[:|\\[^.\\$^*+?()\[\]{}| -]|\(\?|\[[^\]]*\\|[*+?}][?+]"
"""What an extended regular expression may contain that means something else in Python."""


def negated(value: bool | None) -> bool | None:
    """The opposite of a condition."""
    return None if value is None else not value


def single(words: Sequence[Word], expander: Expander) -> bool | None:
    """`[ ... ]` or `test ...`, without the brackets."""
    if words and words[0].raw == "!":
        return negated(single(words[1:], expander))
    for operator, decided in (("-o", True), ("-a", False)):
        for at, word in enumerate(words):
            if word.raw == operator and 0 < at < len(words) - 1 and len(words) > 3:
                one, other = single(words[:at], expander), single(words[at + 1 :], expander)
                return decided if decided in (one, other) else None if None in (one, other) else not decided
    if len(words) == 2 and words[0].raw in ("-z", "-n"):
        return (_set(words[1], expander, split=True) == "") == (words[0].raw == "-z")
    texts = [expander.settled(text) for text in expander.fields(words)]
    match texts:
        case []:
            return False
        case [text]:
            return bool(text)
        case ["-v", name]:
            return _has_value(name, expander)
        case ["-z" | "-n" as operator, text]:
            return (not text) == (operator == "-z")
        case [operator, _] if operator in FILES:
            return None
        case [left, operator, right] if operator in COMPARED:
            if not re.fullmatch(r" *-?[0-9]+ *", left) or not re.fullmatch(r" *-?[0-9]+ *", right):
                return None
            return bool(COMPARED[operator](int(left), int(right)))
        case [left, "=" | "==" | "!=" as operator, right]:
            return _same(left, right, operator == "!=")
    raise unknown(" ".join(word.raw for word in words))


def _has_value(name: str, expander: Expander) -> bool | None:
    value = expander.value(name)
    return not value.unset and None if isinstance(value, Unknown) else True


def _same(left: str, right: str, other: bool) -> bool | None:
    if "\0" in left + right and left != right:
        return None
    return (left == right) != other


def _set(word: Word, expander: Expander, split: bool) -> str:
    """The value of a word; empty if nothing sets its variable."""
    try:
        return " ".join(expander.fields((word,))) if split else expander.text(word)
    except UnknownError as problem:
        if problem.value.unset and len([piece for piece in word.pieces if piece.text]) == 1:
            return ""
        raise


class Test:
    """Evaluates the words between `[[` and `]]` once."""

    def __init__(self, words: Sequence[Word], expander: Expander) -> None:
        self.words, self.expander = words, expander
        self.at, self.live = 0, True

    def value(self) -> bool | None:
        """Whether it holds."""
        result = self._either()
        if self.at < len(self.words):
            raise unknown(" ".join(word.raw for word in self.words))
        return result

    def _raw(self, ahead: int = 0) -> str:
        return self.words[self.at + ahead].raw if self.at + ahead < len(self.words) else ""

    def _either(self) -> bool | None:
        return self._joined("||", self._both, True)

    def _both(self) -> bool | None:
        return self._joined("&&", self._one, False)

    def _joined(self, operator: str, part: Callable[[], bool | None], decided: bool) -> bool | None:
        result = part()
        live = self.live
        while self._raw() == operator:
            self.at += 1
            self.live = self.live and result is not decided
            other = part()
            if self.live:
                result = other if result is (not decided) else (decided if other is decided else None)
        self.live = live
        return result

    def _one(self) -> bool | None:
        word = self._raw()
        if word == "!":
            self.at += 1
            return negated(self._one())
        if word == "(":
            self.at += 1
            result = self._either()
            if self._raw() != ")":
                raise unknown(" ".join(each.raw for each in self.words))
            self.at += 1
            return result
        if re.fullmatch(r"-[a-zA-Z]", word) and self._raw(1) not in ("&&", "||", ")", "", *STRINGS):
            self.at += 2
            return self._unary(word, self.words[self.at - 1]) if self.live else None
        if self._raw(1) in (*STRINGS, *COMPARED, "=~"):
            self.at += 3
            left, operator, right = self.words[self.at - 3 : self.at]
            return self._binary(left, operator.raw, right) if self.live else None
        if self.at >= len(self.words):
            raise unknown("[[ ]]")
        self.at += 1
        return bool(self.expander.text(self.words[self.at - 1])) if self.live else None

    def _unary(self, operator: str, word: Word) -> bool | None:
        if operator in ("-z", "-n"):
            return (_set(word, self.expander, split=False) == "") == (operator == "-z")
        if operator == "-v":
            return _has_value(self.expander.text(word), self.expander)
        return None

    def _binary(self, left: Word, operator: str, right: Word) -> bool | None:
        if operator in COMPARED:
            numbers = [self.expander.number(self.expander.settled(self.expander.text(each))) for each in (left, right)]
            return bool(COMPARED[operator](*numbers))
        text = self.expander.settled(self.expander.text(left))
        if operator == "=~":
            return self._matches(text, right)
        if operator in ("<", ">"):
            other = self.expander.settled(self.expander.text(right))
            return None if "\0" in text + other or not (text + other).isalnum() else (text < other) == (operator == "<")
        pattern = self.expander.settled(self.expander.pattern(right.pieces))
        if "\0" in text + pattern:
            return None if text != pattern else operator != "!="
        return bool(re.fullmatch(regular(pattern), text, re.DOTALL)) == (operator != "!=")

    def _matches(self, text: str, word: Word) -> bool | None:
        """`=~`, for expressions that mean the same in Python."""
        expression = "".join(
            re.escape(self.expander.text((piece,))) if piece.quoted else self.expander.text((piece,))
            for piece in word.pieces
        )
        if "\0" in text + expression or len(expression) > 200 or re.search(OTHERWISE, expression):
            return None
        try:
            compiled = re.compile(expression, re.DOTALL | re.ASCII)
        except re.error:
            return None
        return bool(compiled.search(text)) if steps(f"(?s){expression}", len(text), whole=False) < MOST_STEPS else None
