"""The files that `bayplan generate` keeps: what differs, what is stale, and all of it changed at once.

An index beside bayplan.yaml lists them, so that those of deleted workflows and outputs are found again. A file is
replaced or removed only if it carries the mark of `output_folder`, or `render -o DIR/` lists it in its folder's index.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bayplan.cli import output_folder
from bayplan.core.diagnostics import Diagnostic, Outcome, error, warning
from bayplan.core.values import NamedTuple

INDEX = ".bayplan-generated"
HEADER = "# bayplan generate wrote the files below, and replaces or removes them. It touches no others.\n"
_CONFLICT = re.compile(r"<<<<<<< .*|\|\|\|\|\|\|\| .*|=======|>>>>>>> .*").fullmatch


class Change(NamedTuple):
    """A file, as seen from the project's folder, and its text before and after; None where there is none."""

    path: str
    old: str | None
    new: str | None

    @property
    def word(self) -> str:
        """What is done to it."""
        return "created" if self.old is None else "removed" if self.new is None else "updated"


def changes(root: str, texts: Mapping[str, str]) -> Outcome[tuple[Change, ...]]:
    """What must change below the project's folder so that it holds these files of ours and no others.

    OSError and ValueError where the file system says so.
    """
    listed = _listed(root)
    older = _adopted(root, texts)
    if listed.value is None or older.value is None:
        return Outcome(None, (*listed.diagnostics, *older.diagnostics))
    index = HEADER + "".join(f"{path}\n" for path in sorted(texts))
    wanted = {**texts, INDEX: index} if texts else {}
    ours = {INDEX, *older.value}
    made = [Change(path, _text(root, path), text) for path, text in wanted.items()]
    stale = [path for path in sorted({*listed.value, *ours}) if path not in wanted]
    gone = [Change(path, text, None) for path in stale if (text := _text(root, path)) is not None]
    kept = [each for each in gone if not _is_ours(each, ours)]
    blocked = [each.path for each in made if not _is_ours(each, ours)]
    blocked += _blocking(root, wanted, {each.path for each in gone if each not in kept})
    found = (*(_foreign(root, path) for path in blocked), *_links_out(root, (*wanted, *stale)))
    if found:
        return Outcome(None, tuple(found))
    needed = (*(each for each in made if each.old != each.new), *(each for each in gone if each not in kept))
    return Outcome(tuple(sorted(needed)), tuple(_kept(root, each) for each in kept))


def _listed(root: str) -> Outcome[tuple[str, ...]]:
    """The files that the index lists. The two sides of a merge conflict in it are both believed."""
    text = "\n".join(line for line in (_text(root, INDEX) or "").splitlines() if not _CONFLICT(line))
    return output_folder.read_index(os.path.join(root, INDEX), text, _possible, "take the line out")


def _possible(path: str) -> bool:
    """Whether bayplan could have written a file of this name."""
    parts = path.split("/")
    impossible = os.path.isabs(path) or os.path.normpath(path) != path or not path.isprintable()
    return not impossible and os.pardir not in parts and ".git" not in parts


def _adopted(root: str, texts: Mapping[str, str]) -> Outcome[tuple[str, ...]]:
    """What `render -o DIR/` wrote into the folders that are written now, its index included."""
    found: list[str] = []
    for place in sorted({os.path.dirname(path) for path in texts}):
        if os.path.isfile(os.path.join(root, place, output_folder.INDEX)):
            names = output_folder.listed(os.path.join(root, place))
            if names.value is None:
                return names
            found += [os.path.join(place, name) for name in (*names.value, output_folder.INDEX)]
    return Outcome(tuple(found))


def _text(root: str, path: str) -> str | None:
    """The text of a file; None where there is none, or where its folder is a file; "" of what is no file to read."""
    whole = os.path.join(root, path)
    try:
        os.lstat(whole)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return output_folder.text_at(whole) if os.path.isfile(whole) else ""


def _is_ours(change: Change, ours: set[str]) -> bool:
    return change.old is None or change.path in ours or output_folder.is_marked(change.old)


def _blocking(root: str, wanted: Iterable[str], going: set[str]) -> Iterator[str]:
    """Files where folders are wanted, but for those that go."""
    places = {place for path in wanted for place in above(path)}
    return (place for place in sorted(places - going) if os.path.isfile(os.path.join(root, place)))


def above(path: str) -> Iterator[str]:
    """Its folders."""
    while path := os.path.dirname(path):
        yield path


def _foreign(root: str, path: str) -> Diagnostic:
    message = f'"{os.path.join(root, path)}" is in the way: `bayplan generate` did not write it'
    return error("O804", (), message, hint="move it or remove it, or choose another place in bayplan.yaml")


def _links_out(root: str, paths: Sequence[str]) -> Iterator[Diagnostic]:
    """A988: links may lead anywhere; what is written and removed lies below the project's folder."""
    inside = os.path.join(os.path.realpath(root or os.curdir), "")
    for place in sorted({os.path.dirname(path) for path in paths}):
        if not os.path.join(os.path.realpath(os.path.join(root, place)), "").startswith(inside):
            message = f'"{os.path.join(root, place)}" leads out of the project by a link'
            yield error("A988", (), message, hint="write into a folder of the project itself")


def _kept(root: str, change: Change) -> Diagnostic:
    message = f'nothing makes "{os.path.join(root, change.path)}" any more, and it is kept: it has lost its first line'
    return warning("O810", (), message, hint="remove it yourself if nobody needs it")


def apply(root: str, needed: Sequence[Change]) -> None:
    """Makes the changes: every text is on the disk before the first file is touched. OSError, ValueError."""
    new = {each.path: each.new for each in needed if each.new is not None}
    stale = [each.path for each in needed if each.new is None]

    def move(written: Sequence[str]) -> None:
        _check_folders(root, needed)
        _list_old_and_new(root, needed)
        for path in stale:
            os.unlink(os.path.join(root, path))
        for source, path in zip(written, new, strict=True):
            _move(source, os.path.join(root, path))
        for path in stale:
            _remove_empty_folders(root, path)

    output_folder.staged(root, new.values(), move)


def _check_folders(root: str, needed: Sequence[Change]) -> None:
    """PermissionError where a folder takes no changes: better now than halfway."""
    for path in sorted({each.path for each in needed}):
        places = [os.path.join(root or os.curdir, each) for each in (*above(path), "")]
        if not os.access(next(filter(os.path.isdir, places)), os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _list_old_and_new(root: str, needed: Sequence[Change]) -> None:
    """Should the moving be interrupted, old and new files alike are known as ours."""
    index = next((each for each in needed if each.path == INDEX), None)
    if index is not None:
        output_folder.replace(os.path.join(root, INDEX), [index.old or "", index.new or ""])


def _move(source: str, path: str) -> None:
    """Onto what is there, which keeps its mode; a link stays a link."""
    real = os.path.realpath(path)
    os.makedirs(os.path.dirname(real), exist_ok=True)
    if os.path.exists(real):
        os.chmod(source, stat.S_IMODE(os.stat(real).st_mode))
    os.replace(source, real)


def _remove_empty_folders(root: str, path: str) -> None:
    """Removes folders that nothing is left in, up to the project's own."""
    for each in above(path):
        try:
            os.rmdir(os.path.join(root, each))
        except OSError:
            return
