"""`bayplan init`: a workflow and a topology with comments, to start from. They render without changes."""

from __future__ import annotations

import os

from bayplan.cli import output, output_folder
from bayplan.cli.finish import finish
from bayplan.cli.options import Arguments
from bayplan.core.diagnostics import Diagnostic, error
from bayplan.core.package_data import data_text

FILES = ("topology.yaml", "workflow.yaml")


def run(args: Arguments) -> int:
    """Writes both files into the folder, or neither."""
    folder = args.words[0] if args.words else ""
    return finish(args, (), lambda: _write(folder))


def _write(folder: str) -> tuple[Diagnostic, ...]:
    paths = [os.path.join(folder, name) for name in FILES]
    hint = "choose another folder: `bayplan init DIR`"
    messages = (f'"{path}" exists, and init does not overwrite files' for path in paths if os.path.lexists(path))
    failed = tuple(error("O804", (), message, hint=hint) for message in messages)
    failed = failed or output_folder.make_folder(folder)
    for name, path in zip(FILES, paths, strict=True):
        failed = failed or output_folder.write_single(path, [data_text("examples", "pretrain", name)])
    topology, workflow = paths
    return failed or output.write([f"bayplan render {workflow} -t {topology} --cluster-objects\n"])
