"""Reads regular files and standard input, in a sandbox only files of one folder. Other files might block or never end.

`inside` is the only way to a file: each function that opens, lists or replaces a file of the user calls it before.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import IO, TYPE_CHECKING, BinaryIO, NamedTuple

from bayplan.core.diagnostics import Diagnostic, Note, Outcome, Route, error
from bayplan.report import Batch
from bayplan.text.document import Document, read
from bayplan.text.source import RAISE, limits, text_of

if TYPE_CHECKING:
    from bayplan.cli.failures import OutsideError

STDIN = "<stdin>"
"""The name of standard input in reports."""

GIT = ("git", *f"-c safe.bareRepository=explicit -c core.fsmonitor=false -c core.hooksPath={os.devnull}".split())
"""git runs programs that the `config` of a repository names, and a folder of a project may be or look like one."""

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def current_folder() -> str:
    """The absolute path of the current folder. Empty if somebody has deleted it."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def repository(folder: str) -> str:
    """The nearest folder with `.git`: this one, an absolute path, or one above it. Empty if there is none."""
    while not os.path.lexists(os.path.join(folder, ".git")):
        if folder == os.path.dirname(folder):
            return ""
        folder = os.path.dirname(folder)
    return folder


def load(path: str, subject: str, *, own: bool = True) -> tuple[tuple[Document, ...], Batch]:
    """The documents of a file and its diagnostics. `-` is standard input."""
    name = STDIN if path == "-" else path
    raw = raw_of(path, subject)
    if raw.value is None:
        return (), Batch(raw.diagnostics, {subject: Document(name, "", 0, None)})
    documents = read(name, raw.value, subject, own=own)
    text = text_of(raw.value) if documents.diagnostics else ""
    return documents.value or (), Batch(documents.diagnostics, {subject: Document(name, text, 0, None)})


def stdin_twice(paths: Sequence[str | None]) -> tuple[Diagnostic, ...]:
    """A920: several paths are standard input."""
    if paths.count("-") < 2:
        return ()
    message = "several arguments are `-`, and a command reads standard input only once"
    return (error("A920", ("argument", "-"), message, hint="write all but one of them to files"),)


def raw_of(path: str, subject: str) -> Outcome[bytes]:
    """The bytes of a file. R101: it cannot be read or is not a regular file. R103: it is too large."""
    most = limits().bytes
    try:
        with open_regular(path, (subject,)) as file:
            large = path != "-" and os.fstat(file.fileno()).st_size > most
            raw = b"" if large else _read(file, most + 1)
    except UnreadableError as problem:
        return Outcome(None, problem.diagnostics)
    except (OSError, ValueError) as problem:
        return Outcome(None, (unreadable(problem, (subject,)),))
    return Outcome(None, (too_large((subject,), "bytes"),)) if large or len(raw) > most else Outcome(raw)


def _read(file: IO[bytes], most: int) -> bytes:
    """The bytes of a file, up to a number. `read` would get memory for that number at once."""
    pieces = []
    while most and (piece := file.read(min(most, 2**20))):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


class UnreadableError(Exception):
    """Not all of the file can be read."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        self.diagnostics = diagnostics


def open_regular(path: str, route: Route) -> AbstractContextManager[IO[bytes]]:
    """A regular file or standard input. OSError; ValueError: the name has a NUL byte, or standard input is closed."""
    if path == "-":
        if sys.stdin is None:
            raise ValueError("standard input is closed")
        return nullcontext(sys.stdin.buffer)
    wrong = irregular(inside(path), route)
    if wrong:
        raise UnreadableError(wrong)
    return opened(path)


def refusal(path: str, route: Route) -> Diagnostic | None:
    """R101 if the path cannot be opened or is not a regular file."""
    try:
        with open_regular(path, route):
            return None
    except UnreadableError as problem:
        return problem.diagnostics[0]
    except (OSError, ValueError) as problem:
        return unreadable(problem, route)


def named_by(diagnostic: Diagnostic) -> str:
    """The option that a diagnostic is about, without dashes, or the subject of its file. Empty if there is neither."""
    subject, *others = map(str, (*diagnostic.route[:2], ""))
    return others[0].lstrip("-") if subject == "argument" else subject


def at_name(diagnostic: Diagnostic, route: Route) -> Diagnostic:
    """The error of an option, or of a file that bayplan cannot read, at the place that names the option or the file.

    Other diagnostics unchanged.
    """
    if diagnostic.route[:1] == ("argument",):
        return diagnostic._replace(route=route)
    if diagnostic.code not in ("R101", "R103", "A990") or len(diagnostic.route) != 1:
        return diagnostic
    note = Note("this file cannot be read", diagnostic.route)
    return diagnostic._replace(route=route, notes=(*diagnostic.notes, note))


def unreadable(problem: OSError | ValueError, route: Route) -> Diagnostic:
    """R101: the operating system refuses to read the file. A990: the sandbox does."""
    from bayplan.cli.failures import OutsideError, reason

    if isinstance(problem, OutsideError):
        return error("A990", route, f"bayplan does not read this file: {problem}", hint=_way_to(problem))

    return error("R101", route, f"cannot read the file: {reason(problem)}")


def _way_to(problem: OutsideError) -> str:
    """The hint for a file that the sandbox does not contain."""
    from bayplan.kube.shell import operand

    if _sandbox and _sandbox.widen and not is_below(os.path.realpath(problem.path), _sandbox.root):
        return f"no folder above has .git or bayplan.yaml: {_sandbox.widen}"
    trusts = problem.foreign and _sandbox and _sandbox.takes_trust
    trust = f"; if you trust the file, pass --trust {operand(problem.path)}" if trusts else ""
    return f"copy it to another place in the repository{trust}"


def irregular(path: str, route: Route) -> Diagnostic | None:
    """R101: the path is not a regular file, so that reading it might block or never end."""
    mode = os.stat(path).st_mode
    kind = next((word for test, word in _KINDS if test(mode)), "")
    if not kind:
        return None
    hint = _of_folder(path) if kind == "a folder" else "pass - and pipe the text into standard input"
    return error("R101", route, f"this is {kind}, not a regular file", hint=hint)


def _of_folder(path: str) -> str:
    """The hint for a folder, such as a Helm chart."""
    from bayplan.kube.other_files import FOLDERS, in_folder

    found = (in_folder(base, path) for base in FOLDERS if os.path.isfile(os.path.join(path, base)))
    return next((f"it is {each.title}: {each.hint}" for each in found), "name the files in the folder")


def too_large(route: Route, key: str) -> Diagnostic:
    """R103: the file has more bytes than this limit."""
    message = f"the file has more than {getattr(limits(), key):,} bytes"
    return error("R103", route, message, hint=RAISE.format(key=key))


# The sandbox: a folder, outside of which bayplan reads and writes no files.


class Sandbox(NamedTuple):
    """The only folder with readable files. `trusted`: other readable files and folders. All are resolved paths.

    `takes_trust`: the user can pass --trust. `widen`: how to choose another root, if nothing has chosen this one.
    """

    root: str
    trusted: tuple[str, ...] = ()
    takes_trust: bool = True
    widen: str = ""


_sandbox: Sandbox | None = None
"""The sandbox of the running command. It belongs to the process, so that no function can forget it."""


def inside(path: str, *, write: bool = False) -> str:
    """The path of a file to open. In a sandbox, it has no links. OutsideError: the sandbox does not contain it.

    `write`: a trusted file does not suffice. bayplan does not look at a file outside, not even whether it exists.
    """
    if _sandbox is None:
        return path
    real, root = os.path.realpath(path), _sandbox.root
    if is_within(real, root) or (not write and any(is_below(real, each) for each in _sandbox.trusted)):
        return real
    from bayplan.cli.failures import OutsideError

    if is_below(real, root):
        raise OutsideError(path, "it is in a folder of git", foreign=False)
    why = f'it is outside of "{os.path.relpath(root)}", the root of the sandbox'
    raise OutsideError(path, why, foreign=not passes(path, root))


@contextmanager
def confined(sandbox: Sandbox | None) -> Iterator[None]:
    """Runs in a sandbox, or in none."""
    global _sandbox
    _sandbox = sandbox
    try:
        yield
    finally:
        _sandbox = None


def in_sandbox() -> bool:
    """Whether the command runs in a sandbox."""
    return _sandbox is not None


def seen(path: str) -> str | None:
    """The path at which bayplan may look, as of `inside`. None: it may not look at this one.

    The given path may lead through folders outside, and would show whether they exist.
    """
    try:
        return inside(path)
    except (OSError, ValueError):
        return None


def allows(path: str) -> bool:
    """Whether bayplan may read a file, or look at it."""
    return seen(path) is not None


def found(path: str, test: Callable[[str], bool] = os.path.isfile) -> bool:
    """Whether a test of `os.path` is true for a path. False if bayplan may not look at it."""
    real = seen(path)
    return real is not None and test(real)


def link_out(folder: str, depth: float, *, hidden: bool) -> str:
    """A link that leads out of the sandbox, at most this many levels below a folder. Empty if there is none.

    Links that stay in the sandbox are followed. `hidden`: also names that begin with a dot.
    """
    level, seen = [folder], {os.path.realpath(folder)}
    while _sandbox and level and depth > 0:
        listed = [next(os.walk(place), (place, [], [])) for place in level]
        named = [(place, name) for place, folders, names in listed for name in sorted((*folders, *names))]
        paths = [os.path.join(*each) for each in named if hidden or not each[1].startswith(".")]
        link = next((path for path in paths if os.path.islink(path) and not allows(path)), "")
        if link:
            return link
        below = {os.path.realpath(path): path for path in paths if os.path.isdir(path) and allows(path)}
        level = [path for real, path in below.items() if real not in seen]
        seen |= below.keys()
        depth -= 1
    return ""


def opened(path: str) -> BinaryIO:
    """The file to read. OSError. OutsideError: the sandbox does not contain it, or a link came into its place."""
    real = inside(path)
    if _sandbox is None:
        return open(real, "rb")
    file = open(real, "rb", opener=_open_no_link)  # noqa: SIM115  # the caller closes it
    if os.path.realpath(real) == real and os.path.samestat(os.fstat(file.fileno()), os.stat(real)):
        return file
    from bayplan.cli.failures import OutsideError

    file.close()
    raise OutsideError(path, "another file has replaced it", foreign=False)


def _open_no_link(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0))


def is_within(real: str, root: str) -> bool:
    """Whether a path without links is a folder or is below it, and not in a folder of git."""
    return is_below(real, root) and ".git" not in real[len(root) :].lower().split(os.sep)


def is_below(real: str, folder: str) -> bool:
    """Whether a path without links is a folder or is below it."""
    return os.path.join(real, "").startswith(os.path.join(folder, ""))


def passes(path: str, root: str) -> bool:
    """Whether a path leads through a folder, which decides where it ends."""
    each = before = os.path.abspath(path)
    while not is_below(os.path.realpath(each), root):
        before, each = each, os.path.dirname(each)
        if each == before:
            return False
    return True
