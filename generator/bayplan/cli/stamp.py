"""The stamp of `bayplan generate`: what the last run that found everything up to date asked of the file system.

A run whose questions all have the same answers finds everything up to date again, so that it only asks them. Any doubt
means a full run: a stamp that is missing or cut off, another version, another Python, or a changed module.
"""

from __future__ import annotations

import builtins
import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b

from bayplan import __version__
from bayplan.core.typing import Any

SWITCH = "BAYPLAN_STAMP"
"""The variable that turns the stamp off, with the value 0."""

LARGEST = 1 << 26
"""Bytes. A run that reads a larger file leaves no stamp: to hash it would take longer than the run."""


class DoubtError(Exception):
    """A question that a stamp cannot keep."""


# The questions: a function of `os` or `open`, and a path. An answer is a string without NUL, which no path has either.


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=20).hexdigest()


def _kind(path: str) -> str:
    return str(stat.S_IFMT(os.stat(path).st_mode))


def _own_kind(path: str) -> str:
    return str(stat.S_IFMT(os.lstat(path).st_mode))


def _names(path: str) -> str:
    """The names in a folder, and what each of them is. A link also counts as what it leads to."""
    with os.scandir(path) as entries:
        listed = sorted(f"{each.name}/{each.is_symlink():d}{each.is_dir():d}{each.is_file():d}" for each in entries)
    return _digest(os.fsencode("\0".join(listed)))


def _content(path: str) -> str:
    """The hash of a regular file. DoubtError: it is another kind of file, or it is large. A pipe does not block."""
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(number)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
            raise DoubtError
        pieces = []
        while piece := os.read(number, 1 << 20):
            pieces.append(piece)
    finally:
        os.close(number)
    return _digest(b"".join(pieces))


def _identity(path: str) -> str:
    """What changes when somebody replaces or edits a file of the program."""
    status = os.stat(path)
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"


ASK: dict[str, Callable[[str], str]] = {
    "stat": _kind,
    "lstat": _own_kind,
    "readlink": lambda path: os.readlink(path),
    "listdir": _names,
    "scandir": _names,
    "open": _content,
    "module": _identity,
}
"""Question -> its answer for a path. OSError is an answer too."""


def answer(question: str, path: str) -> str:
    """The answer now. DoubtError."""
    try:
        return ASK[question](path)
    except OSError as problem:
        return f"error {problem.errno}"
    except (KeyError, ValueError) as problem:
        raise DoubtError from problem


class Record:
    """The questions of a run with their answers. `said`: what a run printed that found everything up to date."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], str] = {}
        self.sound = True
        self.said: str | None = None

    def ask(self, question: str, path: Any) -> None:
        """Notes a question that the run is about to ask. A number is an open file, whose path is noted already."""
        if isinstance(path, int):
            return
        key = (question, os.fsdecode(path))
        if key not in self.answers:
            try:
                self.answers[key] = answer(*key)
            except DoubtError:
                self.sound = False


_record: Record | None = None
"""The record of the running command."""


def confirm(said: str) -> None:
    """The command found everything up to date, and its report has no diagnostics. `said`: what it tells a person."""
    if _record is not None:
        _record.said = said


@contextmanager
def _recording() -> Iterator[Record]:
    """Notes each question that the program asks the file system through `os` and `open`, until the end."""
    global _record
    record = _record = Record()
    places: tuple[tuple[Any, str], ...] = (
        *((os, name) for name in ("stat", "lstat", "readlink", "listdir", "scandir")),
        (builtins, "open"),
    )
    before = [(module, name, getattr(module, name)) for module, name in places]
    asking = False

    def noting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def noted(path: Any = os.curdir, *others: Any, **options: Any) -> Any:
            nonlocal asking
            if not asking:
                asking = True
                try:
                    if options.get("dir_fd") is not None:
                        record.sound = False
                    question = "lstat" if name == "stat" and not options.get("follow_symlinks", True) else name
                    record.ask(question, path)
                finally:
                    asking = False
            return function(path, *others, **options)

        return noted

    try:
        for module, name, function in before:
            setattr(module, name, noting(name, function))
        yield record
    finally:
        _record = None
        for module, name, function in before:
            setattr(module, name, function)


def _reaches_the_record(record: Record) -> bool:
    """Whether `os.path` asks through `os`, as it does not on every system."""
    with suppress(OSError, ValueError):
        os.path.isfile("isfile"), os.path.isdir("isdir"), os.path.lexists("lexists"), os.path.exists("exists")
        os.path.islink("islink")
    asked = {path for _, path in record.answers}
    record.answers.clear()
    return {"isfile", "isdir", "lexists", "exists", "islink"} <= asked


# The file of a stamp.


def _path(argv: Sequence[str]) -> str | None:
    """The file for this command in this folder. None: the user has turned stamps off, or has no place for them."""
    home, cache = os.environ.get("HOME", ""), os.environ.get("XDG_CACHE_HOME", "")
    place = cache if os.path.isabs(cache) else os.path.join(home, ".cache")
    kept = any(each.startswith(("--sandbox", "--trust", "--tracked")) for each in argv)
    if os.name != "posix" or kept or os.environ.get(SWITCH) == "0" or not os.path.isabs(place):
        return None
    ours = sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith("BAYPLAN_"))
    try:
        person = sys.stderr is not None and sys.stderr.isatty()
        key = (os.getcwd(), *argv, "person" if person else "", *ours)
    except OSError:
        return None
    return os.path.join(place, "bayplan", f"generate-{_digest(os.fsencode(chr(0).join(key)))}")


def _head() -> str:
    """The program: a stamp of another one does not hold."""
    return f"bayplan {__version__} Python {sys.version} {sys.executable}"


def _packed(said: str, answers: dict[tuple[str, str], str]) -> bytes:
    fields = (field for (question, path), text in answers.items() for field in (question, path, text))
    body = os.fsencode("\0".join((_head(), said, *fields)))
    return f"{_digest(body)}\0".encode() + body


def _valid(raw: bytes) -> str | None:
    """What the run of a stamp said. None: the stamp is not whole or not of this program, or an answer has changed."""
    digest, _, body = raw.partition(b"\0")
    if _digest(body).encode() != digest:
        return None
    try:
        head, said, *fields = os.fsdecode(body).split("\0")
        triples = zip(*[iter(fields)] * 3, strict=True)
        holds = head == _head() and all(answer(question, path) == text for question, path, text in triples)
    except (DoubtError, ValueError):
        return None
    return said if holds else None


def run(argv: Sequence[str], work: Callable[[], int]) -> int:
    """The exit code of `generate`: 0 at once if the stamp holds, else that of the work, which may leave a stamp."""
    path = _path(argv)
    if path is None:
        return work()
    try:
        with open(path, "rb") as file:
            said = _valid(file.read())
    except OSError:
        said = None
    if said:
        from bayplan.cli.finish import write_stderr

        write_stderr(said)
    if said is not None:
        return 0
    with _recording() as record:
        reached = _reaches_the_record(record)
        code = work()
    there = bool(getattr(sys, "frozen", None)) or os.path.isfile(__file__)
    if there and reached and record.sound and record.said is not None and not code:
        files = {getattr(module, "__file__", None) for module in [*sys.modules.values()]} | {sys.executable}
        for each in sorted(each for each in files if isinstance(each, str)):
            record.ask("module", each)
        raw = _packed(record.said, record.answers)
        if _valid(raw) is not None:  # nobody changed a file meanwhile
            _write(path, raw)
    return code


def _write(path: str, raw: bytes) -> None:
    """Replaces the stamp at once, if the folder can be written."""
    new = f"{path}.{os.getpid()}"
    with suppress(OSError):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        try:
            with open(new, "xb") as file:
                file.write(raw)
            os.replace(new, path)
        except OSError:
            with suppress(OSError):
                os.unlink(new)
