"""Writes documents to standard output, a file or a folder, or compares them, by `-o` and `--check`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from errno import EISDIR
from typing import TYPE_CHECKING

from bayplan.cli.options import Arguments
from bayplan.cli.output import write
from bayplan.core.diagnostics import Diagnostic, error

if TYPE_CHECKING:
    from bayplan.model.manifest import Item


def option_errors(args: Arguments) -> tuple[Diagnostic, ...]:
    """The errors of the options."""
    if args.has("check") and args.value("output", "-") == "-":
        message = "--check needs -o with the file or folder to compare with"
        return (error("A920", ("argument", "--check"), message, hint="add -o FILE or -o DIR/"),)
    return ()


def writer(args: Arguments, documents: Iterable[Item]) -> Callable[[], tuple[Diagnostic, ...]]:
    """The function that writes or compares the documents, by the options."""
    path = args.value("output", "-")
    if path != "-" and _is_folder(path):
        from bayplan.cli import output_folder as folder

        into = folder.compare_folder if args.has("check") else folder.write_folder
        return lambda: into(path, folder.files(documents))
    from bayplan.text.emit import emit

    found = tuple(documents)
    option_errors = several_files(found)
    return (lambda: option_errors) if option_errors else file_writer(args, emit(found))


def several_files(
    documents: Sequence[Item], hint: str = "write them into a folder with -o DIR/"
) -> tuple[Diagnostic, ...]:
    """O808: several files do not fit into one output."""
    from bayplan.model.manifest import File

    names = ", ".join(each.name for each in documents if isinstance(each, File))
    if len(documents) < 2 or not names:
        return ()
    message = f"there are several files for one output: {names}"
    return (error("O808", ("argument", "--output"), message, hint=hint),)


def file_writer(args: Arguments, pieces: Iterable[str]) -> Callable[[], tuple[Diagnostic, ...]]:
    """The same for the pieces of one file."""
    path = args.value("output", "-")
    if path == "-":
        return lambda: write(pieces)
    if _is_folder(path):
        from bayplan.cli.failures import unwritable

        return lambda: (unwritable(path, IsADirectoryError(EISDIR, os.strerror(EISDIR))),)
    from bayplan.cli import output_folder as single

    onto = single.compare_single if args.has("check") else single.write_single
    return lambda: onto(path, pieces)


def _is_folder(path: str) -> bool:
    return path.endswith(os.sep) or os.path.isdir(path)


SCHEMAS = ".bayplan/schemas"
"""The folder of the schemas that editors read, at the top of a project."""


def modeline(schema: str, path: str) -> str:
    """The first line of a file, from which editors know its schema: yaml-language-server 1.19, README, "modeline".

    `path`: the file, from the current folder. Empty if no folder above it has the schema: `bayplan schema` writes it.
    """
    from bayplan.cli import project

    folder = there = "" if path == "-" else os.path.dirname(path)
    while there and not os.path.isdir(there):  # bayplan makes the folder only when it writes
        there = os.path.dirname(there)
    found = project.find(there, f"{SCHEMAS}/{schema}.json")
    return modeline_of(os.path.relpath(found, folder or os.curdir)) if found else ""


def modeline_of(path: str) -> str:
    """The line that names a schema by its path from the folder of the file."""
    return f"# yaml-language-server: $schema={path.replace(os.sep, '/')}\n"


def schemas(args: Arguments, texts: Mapping[str, str]) -> Callable[[], tuple[Diagnostic, ...]]:
    """The function that writes one schema, or each into the folder of -o."""
    path = args.value("output", "-")
    if path == "-" or not _is_folder(path):
        return file_writer(args, texts.values())
    from bayplan.cli.failures import unwritable
    from bayplan.cli.output_folder import write_single

    def write_all() -> tuple[Diagnostic, ...]:
        try:
            os.makedirs(path, exist_ok=True)
        except (OSError, ValueError) as problem:
            return (unwritable(path, problem),)
        names = ((os.path.join(path, f"{name}.json"), text) for name, text in texts.items())
        return tuple(each for name, text in names for each in write_single(name, [text]))

    return write_all
