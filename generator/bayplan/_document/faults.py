"""Collects what is wrong with a text, in lines and columns. A text is given up after `MOST` errors."""

import re
from bisect import bisect_right
from typing import Any, NoReturn

from bayplan.diagnostics import AT, Diagnostic, Note, Route, error, warning
from bayplan.values import NamedTuple

MOST = 1000
"""Errors of one text that are listed."""


class GiveUpError(Exception):
    """The text cannot be read any further; what is wrong is in the faults."""


class Fault(NamedTuple):
    """Stands for a scalar that may not be written so."""

    code: str
    message: str
    hint: str = ""


class Spot:
    """A place in a text as an offset in characters, which is all that is asked of YAML's marks, too."""

    def __init__(self, index: int) -> None:
        self.index = index


class Lines:
    """Turns offsets into lines and columns, both from 1. A line ends at LF, CR LF or CR, as editors count."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts: list[int] = []

    def at(self, index: int) -> tuple[int, int]:
        """Line and column of a character."""
        self._starts = self._starts or [0, *(found.end() for found in re.finditer(r"\r\n?|\n", self.text))]
        line = bisect_right(self._starts, index)
        return line, index - self._starts[line - 1] + 1


class Faults:
    """The errors of one text that was given as `subject`."""

    def __init__(self, subject: str, text: str) -> None:
        self.subject, self.text = subject, text
        self.found: list[Diagnostic] = []
        self._lines = Lines(text)

    def route(self, mark: Any) -> Route:
        """The route of the place of a mark."""
        return (self.subject, AT, *self._lines.at(mark.index))

    def add(self, code: str, mark: Any, message: str, hint: str = "", *notes: Note) -> None:
        """One more error; reading goes on, unless there are far too many."""
        if len(self.found) + 1 >= MOST:
            last = Note(f"reading stopped after {MOST} errors")
            self.found.append(error(code, self.route(mark), message, hint=hint, notes=(*notes, last)))
            raise GiveUpError
        self.found.append(error(code, self.route(mark), message, hint=hint, notes=notes))

    def warn(self, code: str, mark: Any, message: str, hint: str = "", *notes: Note) -> None:
        """Something that is likely not meant; as many as errors are listed."""
        if len(self.found) + 1 < MOST:
            self.found.append(warning(code, self.route(mark), message, hint=hint, notes=notes))

    def stop(self, code: str, mark: Any, message: str, hint: str = "", *notes: Note) -> NoReturn:
        """One more error, after which nothing can be read."""
        self.add(code, mark, message, hint, *notes)
        raise GiveUpError
