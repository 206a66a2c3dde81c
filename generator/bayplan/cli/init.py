"""`bayplan init`: a commented workflow and topology that render as they are, to start from."""

from __future__ import annotations

import os

from bayplan.cli import output, output_folder
from bayplan.cli.failures import unwritable
from bayplan.cli.finish import finish
from bayplan.cli.options import Given
from bayplan.core.diagnostics import Diagnostic, error
from bayplan.core.package_data import data_text

FILES = ("topology.yaml", "workflow.yaml")


def run(given: Given) -> int:
    """Writes both files into the folder, or none."""
    folder = given.words[0] if given.words else ""
    return finish(given, (), lambda: _write(folder))


def _write(folder: str) -> tuple[Diagnostic, ...]:
    paths = [os.path.join(folder, name) for name in FILES]
    taken = [path for path in paths if os.path.lexists(path)]
    if taken:
        return tuple(_in_the_way(path) for path in taken)
    try:
        os.makedirs(folder or os.curdir, exist_ok=True)
    except (OSError, ValueError) as problem:
        return (unwritable(folder, problem),)
    for name, path in zip(FILES, paths, strict=True):
        failed = output_folder.write_single(path, [data_text("examples", "pretrain", name)])
        if failed:
            return failed
    topology, workflow = paths
    return output.write([f"bayplan render {workflow} -t {topology} --cluster-objects\n"])


def _in_the_way(path: str) -> Diagnostic:
    message = f'"{path}" is there already, and init overwrites nothing'
    return error("O807", (), message, hint="choose another folder: `bayplan init DIR`")
