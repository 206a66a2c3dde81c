"""Files beside a workflow: in its folder or below it, and nowhere else."""

from __future__ import annotations

import os

from bayplan.cli import files
from bayplan.diagnostics import Diagnostic, Outcome, error
from bayplan.words import did_you_mean


def read(folder: str, path: str) -> Outcome[bytes]:
    """The bytes of a file named from the folder. R134: there is none to read; R135: it lies elsewhere.

    The routes are empty: whoever asks knows where the name stands.
    """
    full = os.path.join(folder or os.curdir, path)
    try:
        if outside(folder, path):
            return Outcome(None, (_elsewhere(path),))
        raw = files.raw_of(full, "")
    except (OSError, ValueError) as problem:  # a name with a NUL
        return Outcome(None, (_missing(folder, path, str(problem)),))
    why = "; ".join(each.message.removeprefix("the file cannot be read: ") for each in raw.diagnostics)
    return Outcome(None, (_missing(folder, path, why),)) if raw.value is None else raw


def outside(folder: str, path: str) -> bool:
    """Whether a path leads out of the folder: by its name or by a link."""
    root = os.path.realpath(folder or os.curdir)
    real = os.path.realpath(os.path.join(root, path))
    return os.path.isabs(path) or os.path.commonpath((root, real)) != root


def _elsewhere(path: str) -> Diagnostic:
    kind = "an absolute path" if os.path.isabs(path) else "a path that leads out of the workflow's folder"
    hint = "copy the file beside the workflow, and name it from there: a manifest must not depend on the machine"
    return error("R135", (), f'"{path}" is {kind}', hint=hint)


def _missing(folder: str, path: str, why: str) -> Diagnostic:
    """With the nearest name where the file is looked for."""
    inner = os.path.dirname(path)
    try:
        names = [os.path.join(inner, name) for name in os.listdir(os.path.join(folder, inner) or os.curdir)]
    except (OSError, ValueError):
        names = []
    where = f"the folder {folder}" if folder else "the current folder"
    hint = did_you_mean(path, names) or f"a localpath is looked for from {where}"
    return error("R134", (), f'"{path}" cannot be read: {why}', hint=hint)
