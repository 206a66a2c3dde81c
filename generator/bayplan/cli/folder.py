"""An output folder: one file an object, and an index, so that only what was written is ever replaced or removed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from bayplan.arrange import ORDER
from bayplan.cli import differences, single
from bayplan.cli.failures import unwritable
from bayplan.diagnostics import Diagnostic, Outcome, error
from bayplan.model.manifest import File, Item
from bayplan.text.emit import emit

INDEX = ".bayplan-index"
HEADER = "# bayplan wrote the files below, and replaces or removes them. It touches no others.\n"
_OURS = re.compile(r"[0-9]+-[A-Za-z0-9._-]+").fullmatch
_KIND = re.compile(r"^kind: (.*)$", re.MULTILINE)
_NAME = re.compile(r"^metadata:\n(?:  .*\n)*?  name: (.*)$", re.MULTILINE)


def files(documents: Iterable[Item]) -> dict[str, str]:
    """`01-topology-hall-1.yaml` -> text, in the order to apply them.

    The number is that of the kind, so that one object more or less renames no other file.
    """
    given = tuple(documents)
    texts = [each for each in given if isinstance(each, File)]
    found = {f"{number:02}-{each.name}": each.text for number, each in enumerate(texts, 1)}
    documents = [each for each in given if not isinstance(each, File)]
    met: dict[str, int] = {}  # names repeat in several namespaces
    for text in filter(None, re.split(r"^---\n", "".join(emit(documents)), flags=re.MULTILINE)):
        stem = _stem(text)
        name = f"{stem}.yaml"
        while name in found:  # also by an object that is really called so
            met[stem] = met.get(stem, 1) + 1
            name = f"{stem}--{met[stem]}.yaml"
        found[name] = text
    return found


def _stem(text: str) -> str:
    """The file name of a document as `emit` writes it. Longer than file systems allow is cut."""
    kind, name = (found[1] if (found := pattern.search(text)) else "" for pattern in (_KIND, _NAME))
    number = ORDER.index(kind) + 1 if kind in ORDER else 99
    return re.sub(r"[^A-Za-z0-9._-]+", "-", f"{number:02}-{kind.lower()}-{name.strip(chr(34))}")[:240]


def write(path: str, wanted: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """Makes the folder hold exactly these files of ours; those of others stay, and must not be in the way."""
    try:
        known = listed(path)
        if known.value is None:
            return known.diagnostics
        foreign = [name for name in wanted if name not in known.value and os.path.lexists(os.path.join(path, name))]
        if foreign:
            return tuple(_foreign(os.path.join(path, name)) for name in foreign)
        _replace(path, wanted, known.value)
    except (OSError, ValueError) as problem:
        return (unwritable(path, problem),)
    return ()


def compare(path: str, wanted: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """Shows on standard output how the folder differs from what would be written."""
    try:
        known = listed(path)
    except (OSError, ValueError) as problem:
        return (unwritable(path, problem),)
    if known.value is None:
        return known.diagnostics
    stale = [name for name in known.value if name not in wanted and os.path.lexists(os.path.join(path, name))]
    there = {os.path.join(path, name): text for name, text in wanted.items()}
    return differences.show(path, there, [os.path.join(path, name) for name in stale])


def listed(path: str) -> Outcome[tuple[str, ...]]:
    """The files that the index lists. A line that cannot be ours could remove anything: an error."""
    text = differences.text_at(os.path.join(path, INDEX)) or ""
    names = tuple(line for line in text.splitlines() if line and not line.startswith("#"))
    strange = next((name for name in names if not _OURS(name)), None)
    if strange is None:
        return Outcome(names)
    message = f'"{os.path.join(path, INDEX)}" lists "{strange}", which bayplan never wrote'
    return Outcome(None, (error("O806", (), message, hint="remove the index, and the files that bayplan wrote"),))


def _foreign(path: str) -> Diagnostic:
    message = f'"{path}" is in the way: bayplan did not write it'
    return error("O804", (), message, hint="move it, or choose another folder")


def _replace(path: str, wanted: Mapping[str, str], listed: tuple[str, ...]) -> None:
    """Everything is written into a folder of its own first, and then moved: a full disk changes nothing."""
    os.makedirs(path, exist_ok=True)
    made = os.path.join(path, f".bayplan-{os.getpid()}")
    index = {INDEX: HEADER + "".join(f"{name}\n" for name in wanted)}
    changed = {name: text for name, text in {**wanted, **index}.items() if _differs(os.path.join(path, name), text)}
    stale = [name for name in listed if name not in wanted]
    os.mkdir(made)
    try:
        for name, text in changed.items():
            single.pour(os.path.join(made, name), [text])
        if INDEX in changed:  # should the moving be interrupted, old and new files alike are known as ours
            both = "".join(f"{name}\n" for name in dict.fromkeys((*listed, *wanted)))
            single.replace(os.path.join(path, INDEX), [HEADER + both])
        for name in stale:
            _remove(os.path.join(path, name))
        for name in changed:
            os.replace(os.path.join(made, name), os.path.join(path, name))
    finally:
        for name in os.listdir(made):
            os.unlink(os.path.join(made, name))
        os.rmdir(made)


def _differs(path: str, text: str) -> bool:
    return differences.text_at(path) != text


def _remove(path: str) -> None:
    if os.path.lexists(path):
        os.unlink(path)
