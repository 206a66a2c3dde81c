"""The files of `bayplan generate`: which differ, which are stale, and how to change all of them at once.

An index next to bayplan.yaml lists them, so that bayplan finds the files of deleted workflows and outputs. It replaces
or removes a file only if the file has the mark of `output_folder`, or if the index of `render -o DIR/` lists it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bayplan.cli import files, output_folder
from bayplan.cli.output_folder import Change, above
from bayplan.cli.project import NAME
from bayplan.core.diagnostics import Diagnostic, Outcome, error, info, warning
from bayplan.core.phrases import count, listing

INDEX = ".bayplan-generated"
OUTPUT = "output"
HEADER = "# bayplan generate wrote the files below, and replaces or removes them. It changes no other files.\n"
_CONFLICT = re.compile(r"<<<<<<< .*|\|\|\|\|\|\|\| .*|=======|>>>>>>> .*").fullmatch


def changes(root: str, texts: Mapping[str, str]) -> Outcome[tuple[Change, ...]]:
    """The changes that make the project's folder contain these generated files and no other generated files.

    Paths are relative to that folder. O804: bayplan did not write an existing file. O804: a stale file lost its mark.
    The route of an error is OUTPUT and the path. OSError and ValueError of the file system.
    """
    places = sorted({os.path.dirname(path) for path in texts})
    outside = (*_links_out(root, (INDEX, *(os.path.join(each, output_folder.INDEX) for each in places), *texts)),)
    if outside:
        return Outcome(None, outside)
    listed = _listed(root)
    older = _adopted(root, places)
    if listed.value is None or older.value is None:
        return Outcome(None, (*listed.diagnostics, *older.diagnostics))
    index = HEADER + "".join(f"{path}\n" for path in sorted(texts))
    expected = {**texts, INDEX: index} if texts else {}
    ours = {INDEX, *older.value}
    stale = [path for path in sorted({*listed.value, *ours}) if path not in expected]
    outside = (*_links_out(root, stale),)
    if outside:
        return Outcome(None, outside)
    written = [Change(path, _text(root, path), text) for path, text in expected.items()]
    removed = [Change(path, text, None) for path in stale if (text := _text(root, path)) is not None]
    kept = [each for each in removed if not _is_ours(each, ours)]
    removed = [each for each in removed if each not in kept]
    blocked = [each.path for each in written if not _is_ours(each, ours)]
    folders = {place for path in expected for place in above(path)} - {each.path for each in removed}
    blocked += [place for place in sorted(folders) if os.path.isfile(os.path.join(root, place))]
    if blocked:
        return Outcome(None, tuple(_foreign(root, path) for path in blocked))
    needed = (*(each for each in written if each.old != each.new), *removed)
    notices = (
        f'"{os.path.join(root, each.path)}" is not an output any more; bayplan keeps it because its first line is gone'
        for each in kept
    )
    hint = "remove the file if nobody needs it"
    kept_files = tuple(warning("O804", (), message, hint=hint) for message in notices)
    return Outcome(
        tuple(sorted(needed)), (*kept_files, *_rewritten(root, [each.path for each in written if each.old == each.new]))
    )


def _rewritten(root: str, paths: Iterable[str]) -> Iterator[Diagnostic]:
    """O812: files that git rewrote. bayplan compares them as git stores them."""
    changed = [path for path in paths if "\r\n" in (output_folder.text_at(os.path.join(root, path)) or "")]
    if changed:
        message = f"git ended the lines of {count(len(changed), 'generated file')} with CR LF, because of core.autocrlf"
        patterns = dict.fromkeys(
            f"{first}/**" if rest else first for first, _, rest in (p.partition("/") for p in changed)
        )
        lines = [f"{pattern} -text" for pattern in sorted(patterns)]
        yield info("O812", (), message, hint=f"add the lines {listing(lines, 'and', 5)} to .gitattributes")


def unlisted(root: str, folders: Iterable[str]) -> Iterator[str]:
    """The files below the output folders that have the mark, but that the index does not list.

    It leaves out folders with a project of their own.
    """
    known = {os.path.normpath(path) for path in _listed(root).value or ()}
    for folder in sorted(set(folders)):
        real = files.seen(os.path.join(root, folder) or os.curdir)
        for place, below, names in os.walk(real) if real is not None else ():
            searched = (name for name in below if name != ".git" and not name.startswith(output_folder.STAGING))
            below[:] = sorted(name for name in searched if not _has_project(place, name)) if folder else []
            for name in sorted(names):
                path = os.path.normpath(os.path.join(folder, os.path.relpath(place, real), name))
                if path not in known and output_folder.is_ours(os.path.join(place, name)):
                    yield path


def _has_project(*parts: str) -> bool:
    return os.path.lexists(os.path.join(*parts, NAME))


def _listed(root: str) -> Outcome[tuple[str, ...]]:
    """The files that the index lists. In a merge conflict, the files of both sides."""
    text = "\n".join("" if _CONFLICT(line) else line for line in (_text(root, INDEX) or "").splitlines())
    return output_folder.read_index(os.path.join(root, INDEX), text, _possible, "remove the line")


def _possible(path: str) -> bool:
    """Whether bayplan could have written a file of this name."""
    parts = path.lower().split("/")
    impossible = os.path.isabs(path) or os.path.normpath(path) != path or not path.isprintable()
    return not impossible and os.pardir not in parts and ".git" not in parts


def _adopted(root: str, places: Iterable[str]) -> Outcome[tuple[str, ...]]:
    """The files that `render -o DIR/` wrote into the folders of this run, with its index."""
    paths: list[str] = []
    for place in places:
        if os.path.isfile(os.path.join(root, place, output_folder.INDEX)):
            names = output_folder.listed(os.path.join(root, place))
            if names.value is None:
                return names
            paths += [os.path.join(place, name) for name in (*names.value, output_folder.INDEX)]
    return Outcome(tuple(paths))


def _text(root: str, path: str) -> str | None:
    """The text of a file. None: there is no file, or its folder is a file. "": it is not a regular file."""
    whole = os.path.join(root, path)
    try:
        os.lstat(whole)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return output_folder.text_in_git(whole) if os.path.isfile(whole) else ""


def _is_ours(change: Change, ours: set[str]) -> bool:
    return change.old is None or change.path in ours or output_folder.is_marked(change.old)


def _foreign(root: str, path: str) -> Diagnostic:
    message = f'"{os.path.join(root, path)}" exists, and `bayplan generate` did not write it'
    return error(
        "O804", (OUTPUT, path), message, hint="move or remove the file, or choose another `to` in bayplan.yaml"
    )


def _links_out(root: str, paths: Sequence[str]) -> Iterator[Diagnostic]:
    """A929: a file or its folder is a link to a place outside of the project's folder, or in a folder of git."""
    real = os.path.realpath(root or os.curdir)

    def leads_out(path: str) -> bool:
        return not files.is_within(os.path.realpath(os.path.join(root, path)), real)

    places = (next(filter(leads_out, (os.path.dirname(path), path)), None) for path in sorted(paths))
    for place in dict.fromkeys(place for place in places if place is not None):
        message = f'"{os.path.join(root, place)}" is a link to a place outside of the project'
        yield error("A929", (OUTPUT, place), message, hint="use a real file or folder in the project")
