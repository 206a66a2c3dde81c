"""The files of `topology import`. bayplan reads them lazily: a list of all nodes can have a gigabyte."""

from __future__ import annotations

import codecs
from collections.abc import Generator, Iterator
from contextlib import closing
from functools import cached_property
from io import IncrementalNewlineDecoder
from itertools import chain

from bayplan.cli import files
from bayplan.cli.files import UnreadableError
from bayplan.core.diagnostics import AT, Diagnostic, Outcome, error
from bayplan.model.formats import HEAD, SourceFile
from bayplan.report import Batch
from bayplan.text.document import Document, read, read_text
from bayplan.text.source import Lines, limits, text_of

PIECE = 2**22
"""Bytes that are read at a time."""


class OpenedFile(SourceFile):
    """A file or standard input, with the interface that formats use. UnreadableError: it cannot be read."""

    def __init__(self, path: str, number: int) -> None:
        super().__init__(files.STDIN if path == "-" else path, number=number)
        self.uses_documents = False  # whether somebody has read `documents` since this was last False
        self._path = path
        self._stream: Iterator[bytes] = iter(())

    @cached_property
    def _begin(self) -> bytes:
        """The first piece; standard input has it only once."""
        if self._path != "-":
            with closing(self._pieces()) as pieces:
                return next(pieces, b"")
        self._stream = self._pieces()
        return next(self._stream, b"")

    def _pieces(self) -> Generator[bytes, None, None]:
        left = limits().streamed
        try:
            with files.open_regular(self._path, self.at()) as file:
                while piece := file.read(PIECE):
                    left -= len(piece)
                    if left < 0:
                        raise UnreadableError(files.too_large(self.at(), "streamed"))
                    yield piece
        except (OSError, ValueError) as problem:
            raise UnreadableError(files.unreadable(problem, self.at())) from None

    @property
    def _all(self) -> Iterator[bytes]:
        """All pieces. Standard input has them only once; `_raw` keeps them."""
        if "_raw" in self.__dict__:
            return iter((self._raw,))
        return chain((self._begin,), self._stream) if self._path == "-" else self._pieces()

    @cached_property
    def _raw(self) -> bytes:
        pieces, size = [], 0
        for piece in self._all:
            pieces.append(piece)
            size += len(piece)
            if size > limits().bytes:
                raise UnreadableError(files.too_large(self.at(), "bytes"))
        return b"".join(pieces)

    @cached_property
    def head(self) -> str:
        """The beginning of the text, with invalid bytes replaced."""
        begin = self._raw if "_raw" in self.__dict__ else self._begin
        return text_of(begin[: 4 * HEAD])[:HEAD].replace("\r\n", "\n")

    @property
    def small(self) -> bool:
        """Whether reading the whole file several times is cheap."""
        return "_raw" in self.__dict__ or len(self._begin) < PIECE

    @cached_property
    def text(self) -> str:
        """All of it."""
        outcome = read_text(self._raw, str(self.at()[0]))
        if outcome.value is None:
            raise UnreadableError(*outcome.diagnostics)
        return outcome.value

    @cached_property
    def _read(self) -> Outcome[tuple[Document, ...]]:
        return read(self.name, self._raw, str(self.at()[0]), own=False)

    @property
    def documents(self) -> tuple[Document, ...]:
        """The YAML or JSON documents; empty if `faults` has errors."""
        self.uses_documents = True
        return self._read.value or ()

    @property
    def faults(self) -> tuple[Diagnostic, ...]:
        """The diagnostics of reading the documents."""
        return self._read.diagnostics

    def chunks(self) -> Iterator[str]:
        """The text in pieces."""
        pieces = self._all
        first = next(pieces, b"")
        encoding = "utf-16" if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
        strict = codecs.getincrementaldecoder(encoding)("strict")
        decoder = IncrementalNewlineDecoder(strict, translate=True)
        line = 1
        for piece in chain((first,), pieces, (b"",)):
            try:
                text = decoder.decode(piece, final=not piece)
            except UnicodeDecodeError as problem:
                raise UnreadableError(self._undecodable(problem, line, encoding)) from None
            line += text.count("\n")
            yield text

    def _undecodable(self, problem: UnicodeDecodeError, line: int, encoding: str) -> Diagnostic:
        before = problem.object[: problem.start].decode(encoding, "replace")
        row, column = Lines(before).at(len(before))
        characters = problem.object[problem.start : problem.end].hex(" ")
        message = f"the file is not {encoding.removesuffix('-sig').upper()}: {characters} is not a character"
        return error("R104", (*self.at(), AT, line + row - 1, column), message, hint="save it as UTF-8")

    def batch(self, diagnostics: tuple[Diagnostic, ...]) -> Batch:
        """Diagnostics of this file, with the documents that reports quote."""
        if self.__dict__.get("_raw") == b"":  # the whole of an empty file is its first line
            begin = (*self.at(), AT, 1, 1)
            diagnostics = tuple(each._replace(route=begin) if each.route == self.at() else each for each in diagnostics)
        text = self.__dict__.get("text", "")
        if not text and "_raw" in self.__dict__ and diagnostics:
            text = read_text(self._raw, "").value or ""
        own = f"source:{self.number}:"
        subjects = {str(each.route[0]) for each in diagnostics if each.route and str(each.route[0]).startswith(own)}
        numbered = {str(self.at(number)[0]): document for number, document in enumerate(self.documents)} if text else {}
        plain = {subject: Document(self.name, text, 0, None) for subject in (*subjects, str(self.at()[0]))}
        return Batch(diagnostics, {**plain, **numbered})
