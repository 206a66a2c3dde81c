"""--check: what is there against what would be written, as a unified diff."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from bayplan.cli import stdout
from bayplan.cli.failures import unwritable
from bayplan.diagnostics import Diagnostic, error

NOWHERE = "/dev/null"


def show(path: str, wanted: Mapping[str, str], stale: Iterable[str]) -> tuple[Diagnostic, ...]:
    """The differences on standard output, and O805 when there are any. `wanted`: file -> text; `stale`: files to go."""
    try:
        found = {name: (text_at(name), text) for name, text in wanted.items()}
        gone = {name: (text_at(name), None) for name in stale}
    except (OSError, ValueError) as problem:
        return (unwritable(path, problem),)
    changed = {name: pair for name, pair in {**found, **gone}.items() if pair[0] != pair[1]}
    if not changed:
        return ()
    failed = stdout.write(line for name, (old, new) in changed.items() for line in unified(name, old, new))
    files = f"{len(changed)} files" if len(changed) > 1 else "1 file"
    message = f'"{path}" is not what would be written: {files} would change'
    return (*failed, error("O805", (), message, hint="run it again without --check, and read the difference"))


def text_at(name: str) -> str | None:
    """The text of a file, None where there is none."""
    try:
        with open(name, encoding="utf-8", errors="surrogateescape", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None


def unified(name: str, old: str | None, new: str | None) -> Iterator[str]:
    """A unified diff; a file that is not there is /dev/null."""
    from difflib import unified_diff

    before, after = (_lines(text) for text in (old, new))
    left, right = (name if text is not None else NOWHERE for text in (old, new))
    return (line.encode("utf-8", "replace").decode() for line in unified_diff(before, after, left, right))


def _lines(text: str | None) -> list[str]:
    """The lines, the last with its newline, as diffs want them."""
    lines = (text or "").split("\n")
    return [f"{line}\n" for line in (lines[:-1] if lines[-1] == "" else lines)]
