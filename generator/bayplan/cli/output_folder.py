"""Output files and folders: bayplan writes all of its output or nothing, and changes only files that it wrote.

An index in each folder lists the files that bayplan wrote. It replaces or removes only these.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from errno import EACCES, EXDEV
from itertools import count as count_from
from typing import NamedTuple

from bayplan.cli import output
from bayplan.cli.failures import unwritable
from bayplan.cli.files import inside, opened
from bayplan.core.diagnostics import AT, Diagnostic, Outcome, error
from bayplan.core.phrases import count
from bayplan.manifests.order import ORDER
from bayplan.model.manifest import File, Item
from bayplan.text.emit import emit


class Change(NamedTuple):
    """A file, and its text before and after. None: there is no file."""

    path: str
    old: str | None
    new: str | None

    @property
    def word(self) -> str:
        """What happens to the file."""
        return "created" if self.old is None else "removed" if self.new is None else "updated"

    def diff(self) -> Iterator[str]:
        """The unified diff. A missing file is /dev/null."""
        from difflib import unified_diff

        before, after = (_lines(text) for text in (self.old, self.new))
        left, right = (self.path if text is not None else "/dev/null" for text in (self.old, self.new))
        return (line.encode("utf-8", "replace").decode() for line in unified_diff(before, after, left, right))


def _lines(text: str | None) -> list[str]:
    """The lines, each with a newline, as difflib needs them."""
    lines = (text or "").split("\n")
    return [f"{line}\n" for line in (lines[:-1] if lines[-1] == "" else lines)]


def compare(path: str, changes: Sequence[Change]) -> tuple[Diagnostic, ...]:
    """Writes the differences to standard output. O805: there are some."""
    if not changes:
        return ()
    failed = output.write(line for each in changes for line in each.diff())
    message = f'"{path}" is out of date: {count(len(changes), "file")} would change'
    return (*failed, error("O805", (), message, hint="run the command without --check, and review the differences"))


def text_at(name: str) -> str | None:
    """The text of a file. None: there is no file."""
    try:
        with opened(name) as file:
            return file.read().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None


def text_in_git(name: str) -> str | None:
    """The text of a generated file as git stores it: with core.autocrlf, git ends the lines of the file with CR LF."""
    text = text_at(name)
    return text.replace("\r\n", "\n") if text and text.count("\n") == text.count("\r\n") else text


def has_text(name: str, text: str) -> bool:
    """Whether the file has this text."""
    try:
        return text_at(name) == text
    except OSError:
        return False


def write_single(path: str, pieces: Iterable[str]) -> tuple[Diagnostic, ...]:
    """All pieces or nothing. A link stays a link, the file keeps its mode, and bayplan writes directly to devices."""
    try:
        real = os.path.realpath(inside(path, write=True))
        if os.path.exists(real) and not os.path.isfile(real):
            with open(real, "wb", buffering=0) as file:
                output.write_whole(file, output.chunks(pieces))
        else:
            replace(real, pieces)
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as problem:  # ValueError: a name with a NUL
        return (unwritable(path, problem),)
    return ()


def make_folder(folder: str) -> tuple[Diagnostic, ...]:
    """Makes a folder and those above it."""
    try:
        os.makedirs(folder or os.curdir, exist_ok=True)
    except (OSError, ValueError) as problem:
        return (unwritable(folder, problem),)
    return ()


def write_new(folder: str, texts: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """Makes a folder with these new files: all of them, or none."""
    try:
        os.makedirs(folder or os.curdir, exist_ok=True)
        apply(folder, "", [Change(name, None, text) for name, text in texts.items()])
    except (OSError, ValueError) as problem:
        return (unwritable(folder, problem),)
    return ()


def replace(path: str, pieces: Iterable[str]) -> None:
    """Replaces a file that differs with a new one."""
    with staging(os.path.dirname(path)) as write:
        new = write(pieces)
        if not same_bytes(new, path):
            _move(new, path)


STAGING = ".bayplan-staging"
"""The beginning of the name of a folder with new files, from which bayplan moves them to their places.

It is in the folder of the output, because a rename does not leave a file system. git ignores it, because it has a
`.gitignore`. kubectl, kustomize, Argo CD and Flux do not read it, because its files have no extension; Helm ignores
`templates/.?*`. Its `.gitignore` is locked while its process lives: the next run removes it after a SIGKILL.
"""
_STAGING = re.compile(re.escape(STAGING) + "-[0-9]+-[0-9]+").fullmatch
_IGNORE = ".gitignore"


@contextmanager
def staging(root: str) -> Iterator[Callable[[Iterable[str]], str]]:
    """Makes a folder for new files below `root`. The value writes one and returns its path. OSError.

    SIGINT, SIGTERM and SIGHUP can interrupt that, and otherwise wait until the folder is removed.
    """
    import signal

    mask = signal.pthread_sigmask
    waiting = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    names = count_from()

    def write(pieces: Iterable[str]) -> str:
        path = os.path.join(folder, str(next(names)))
        try:
            mask(signal.SIG_SETMASK, before)
            with open(path, "xb", buffering=0) as file:
                output.write_whole(file, output.chunks(pieces))
                output.sync(file)
        finally:
            mask(signal.SIG_BLOCK, waiting)
        return path

    before = mask(signal.SIG_BLOCK, waiting)
    try:
        remove_leftovers(root)
        folder, lock = _staging_folder(root)
        try:
            os.write(lock, b"*\n")
            yield write
        finally:
            _remove_staging(folder)
            os.close(lock)
    finally:
        mask(signal.SIG_SETMASK, before)


def _staging_folder(root: str) -> tuple[str, int]:
    """A new folder, and its locked `.gitignore`. Another run may remove it before it is locked."""
    for number in count_from():
        folder = os.path.join(root, f"{STAGING}-{os.getpid()}-{number}")
        ignore = os.path.join(folder, _IGNORE)
        try:
            os.mkdir(folder)
        except FileExistsError:
            continue
        try:
            lock = os.open(ignore, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        except FileNotFoundError:
            continue
        except OSError:
            os.rmdir(folder)
            raise
        if _locked(lock) is not False and os.path.exists(ignore):
            return folder, lock
        os.close(lock)
    raise AssertionError


def _locked(number: int) -> bool | None:
    """Locks a file until its process ends or closes it. False: another process has locked it. None: it has no locks."""
    from fcntl import LOCK_EX, LOCK_NB, flock

    try:
        flock(number, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # some network file systems
        return None
    return True


def remove_leftovers(root: str) -> None:
    """Removes the folders of `staging` whose process was killed."""
    with suppress(OSError):
        for name in filter(_STAGING, os.listdir(root or os.curdir)):
            folder = os.path.join(root, name)
            if os.path.islink(folder):
                continue
            try:
                lock = os.open(os.path.join(folder, _IGNORE), os.O_RDWR | os.O_NOFOLLOW)
            except FileNotFoundError:  # the folder is empty, or its process is not as far yet
                with suppress(OSError):
                    os.rmdir(folder)
                continue
            except OSError:
                continue
            if _locked(lock):
                _remove_staging(folder)
            os.close(lock)


def _remove_staging(folder: str) -> None:
    """Removes a folder of `staging` with its files. The `.gitignore` is last."""
    with suppress(OSError):
        for name in sorted(os.listdir(folder), reverse=True):
            if name.isdecimal() or name == _IGNORE:
                os.unlink(os.path.join(folder, name))
        os.rmdir(folder)


def same_bytes(left: str, right: str) -> bool:
    """Whether both files exist and have the same bytes."""
    if not os.path.isfile(right) or os.path.getsize(left) != os.path.getsize(right):
        return False
    with open(left, "rb") as one, open(right, "rb") as other:
        while chunk := one.read(output.CHUNK):
            if chunk != other.read(output.CHUNK):
                return False
    return True


def compare_single(path: str, pieces: Iterable[str]) -> tuple[Diagnostic, ...]:
    """Writes the differences between the file and the new text to standard output."""
    text = "".join(pieces)
    try:
        old = text_in_git(path)
    except (OSError, ValueError) as problem:
        return (unwritable(path, problem),)
    return compare(path, [Change(path, old, text)] if old != text else [])


INDEX = ".bayplan-index"
HEADER = "# bayplan wrote the files below, and replaces or removes them. It changes no other files.\n"
_OURS = re.compile(r"[0-9]+-[A-Za-z0-9._-]+").fullmatch
_KIND = re.compile(r"^kind: (.*)$", re.MULTILINE)
_NAME = re.compile(r"^metadata:\n(?:  .*\n)*?  name: (.*)$", re.MULTILINE)


def files(documents: Iterable[Item]) -> dict[str, str]:
    """`01-topology-hall-1.yaml` -> text, in the order to apply them.

    The number belongs to the kind, so that an additional object does not rename other files.
    """
    items = tuple(documents)
    texts = [each for each in items if isinstance(each, File)]
    texts_by_name = {f"{number:02}-{each.name}": each.text for number, each in enumerate(texts, 1)}
    documents = [each for each in items if not isinstance(each, File)]
    repeats: dict[str, int] = {}  # one name in several namespaces
    for text in filter(None, re.split(r"^---\n", "".join(emit(documents)), flags=re.MULTILINE)):
        stem = _stem(text)
        name = f"{stem}.yaml"
        while name in texts_by_name:  # another object may have this name
            repeats[stem] = repeats.get(stem, 1) + 1
            name = f"{stem}--{repeats[stem]}.yaml"
        texts_by_name[name] = text
    return texts_by_name


def _stem(text: str) -> str:
    """The file name of a document from `emit`, cut to the length that file systems allow."""
    kind, name = (match[1] if (match := pattern.search(text)) else "" for pattern in (_KIND, _NAME))
    number = ORDER.index(kind) if kind in ORDER else 99
    return re.sub(r"[^A-Za-z0-9._-]+", "-", f"{number:02}-{kind.lower()}-{name.strip(chr(34))}")[:240]


def write_folder(path: str, expected: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """Writes these files, and removes stale files that bayplan wrote. O804: bayplan did not write an existing file."""
    try:
        inside(path, write=True)
        previous = listed(path)
        if previous.value is None:
            return previous.diagnostics
        new = [os.path.join(path, name) for name in expected if name not in previous.value]
        foreign = tuple(
            error("O804", (), f'"{name}" exists, and bayplan did not write it', hint=_MOVE)
            for name in filter(os.path.lexists, new)
        )
        if not foreign:
            os.makedirs(path, exist_ok=True)
            index = HEADER + "".join(f"{name}\n" for name in expected)
            apply(path, INDEX, _changes(path, {**expected, INDEX: index}, previous.value))
        return foreign
    except (OSError, ValueError) as problem:
        return (unwritable(path, problem),)


_MOVE = "move the file, or choose another folder"


def compare_folder(path: str, expected: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """Writes the differences between the folder and the new files to standard output."""
    try:
        previous = listed(path)
        if previous.value is None:
            return previous.diagnostics
        changes = _changes(path, expected, previous.value)
    except (OSError, ValueError) as problem:
        return (unwritable(path, problem),)
    return compare(path, [each._replace(path=os.path.join(path, each.path)) for each in changes])


def _changes(path: str, expected: Mapping[str, str], previous: Iterable[str]) -> list[Change]:
    """The changes that make the folder contain the expected files and no other previous ones."""
    texts = {**expected, **dict.fromkeys(name for name in previous if name not in expected)}
    changes = (Change(name, text_in_git(os.path.join(path, name)), text) for name, text in texts.items())
    return [each for each in changes if each.old != each.new]


def listed(path: str) -> Outcome[tuple[str, ...]]:
    """The files that the folder's index lists."""
    index = os.path.join(path, INDEX)
    return read_index(index, text_in_git(index) or "", _OURS, "remove the index and the files that bayplan wrote")


def read_index(path: str, text: str, possible: Callable[[str], object], hint: str) -> Outcome[tuple[str, ...]]:
    """The files that an index lists. O804: a line is not of bayplan, and following it might remove any file."""
    names = {line: n for n, line in enumerate(text.splitlines(), 1) if line and not line.startswith("#")}
    impossible = next((name for name in names if not possible(name)), None)
    if impossible is None:
        return Outcome(tuple(names))
    message = f'"{path}" lists "{impossible}", which bayplan cannot have written'
    return Outcome(None, (error("O804", (path, AT, names[impossible], 1), message, hint=hint),))


def apply(root: str, index: str, changes: Sequence[Change], mode: int = 0) -> None:
    """Makes the changes below a folder. `mode`: bits that the files get. OSError, ValueError.

    It writes all files before it changes the first one, so that a full disk changes nothing.
    """
    if not changes:
        remove_leftovers(root)
        return
    with staging(root) as write:
        both = [write([each.old or "", each.new or ""]) for each in changes if each.path == index]
        new = [(write([each.new]), each.path) for each in changes if each.new is not None]
        stale = [each.path for each in changes if each.new is None]
        _check_folders(root, changes)
        for source in both:  # if the moves are interrupted, the index has both the old and the new files
            _move(source, os.path.join(root, index), mode)
        for path in stale:
            os.unlink(os.path.join(root, path))
        for source, path in new:
            _move(source, os.path.join(root, path), mode)
        for path in stale:
            _remove_empty_folders(root, path)


def _check_folders(root: str, changes: Sequence[Change]) -> None:
    """OSError: bayplan may not change a folder, or the folder is on another file system or outside of the sandbox.

    It checks this before the first change.
    """
    device = os.stat(root or os.curdir).st_dev
    for each in changes:
        path = os.path.join(root or os.curdir, each.path)
        inside(path, write=True)
        folders = [next(filter(os.path.isdir, above(place))) for place in (path, os.path.realpath(path))]
        if not all(os.access(folder, os.W_OK | os.X_OK) for folder in folders):
            raise PermissionError(EACCES, os.strerror(EACCES))
        if each.new is not None and os.stat(folders[1]).st_dev != device:
            raise OSError(EXDEV, os.strerror(EXDEV))


def above(path: str) -> Iterator[str]:
    """The folders above a path."""
    while path := os.path.dirname(path):
        yield path


def _move(source: str, path: str, mode: int = 0) -> None:
    """Replaces a file, which keeps its mode and gets more bits of it. A link stays a link."""
    real = os.path.realpath(path)
    os.makedirs(os.path.dirname(real), exist_ok=True)
    if mode or os.path.exists(real):
        kept = os.stat(real if os.path.exists(real) else source).st_mode
        os.chmod(source, stat.S_IMODE(kept) | mode)
    os.replace(source, real)


def _remove_empty_folders(root: str, path: str) -> None:
    """Removes empty folders, up to the root."""
    for each in above(path):
        try:
            os.rmdir(os.path.join(root, each))
        except OSError:
            return


# The mark of the files of `bayplan generate`. It replaces or removes only files with this mark.

MARK = "# Generated by bayplan"
GENERATED = f"{MARK} from bayplan.yaml. Do not edit: your changes would be lost.\n"


def marked(text: str) -> str:
    """The text with the mark on top, or below the line with the interpreter of a script."""
    if not text.startswith("#!"):
        return GENERATED + text
    first, newline, rest = text.partition("\n")
    return f"{first}{newline}{GENERATED}{rest}"


def is_marked(text: str) -> bool:
    """Whether the mark is where `marked` puts it."""
    return text.startswith(MARK) or (text.startswith("#!") and text.partition("\n")[2].startswith(MARK))


def is_ours(path: str) -> bool:
    """Whether the file has the mark. False if it cannot be read."""
    try:
        with opened(path) as file:
            return is_marked(file.read(1024).decode("utf-8", "replace"))
    except (OSError, ValueError):
        return False
