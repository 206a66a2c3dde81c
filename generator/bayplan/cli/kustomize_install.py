"""`bayplan kustomize install-legacy`: the layout of kustomize's older plugins, the only one that kubectl runs.

Source: kustomize 5.8.1, api/internal/plugins/loader and execplugin; api/konfig/plugins.go for where it looks.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from shlex import quote

from bayplan.cli import output
from bayplan.cli.failures import unwritable
from bayplan.cli.finish import finish
from bayplan.cli.krm import API_VERSION, KINDS
from bayplan.cli.options import Given
from bayplan.core.diagnostics import Diagnostic, error
from bayplan.report import Batch

MARK = "# Made by `bayplan kustomize install-legacy`."
SCRIPT = "bayplan-krm"


def run(given: Given) -> int:
    """Writes a small script for each kind, and says which are new."""
    home = given.words[0] if given.words else plugin_home()
    text = f'#!/bin/sh\n{MARK}\nexec {program()} "$@"\n'
    paths = [path_of(home, kind) for kind in KINDS]
    wrong = [found for path in paths if (found := _in_the_way(path))]
    if wrong:
        return finish(given, [Batch(tuple(wrong))])
    said: list[str] = []
    failed = tuple(_write(paths, text, said))
    return finish(given, [Batch(failed)], lambda: output.write(said))


def plugin_home() -> str:
    """Where kustomize looks for plugins: the first of these that is set, else in the home folder."""
    own = os.environ.get("KUSTOMIZE_PLUGIN_HOME")
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return own or os.path.join(config, "kustomize", "plugin")


def path_of(home: str, kind: str) -> str:
    """`HOME/bayplan.dev/v1alpha1/expandworkflows/ExpandWorkflows`."""
    return os.path.join(home, *API_VERSION.split("/"), kind.lower(), kind)


def program() -> str:
    """What the script runs: the installed command of this Python, else this Python with bayplan."""
    beside = (os.path.dirname(sys.executable), os.path.dirname(os.path.abspath(sys.argv[0])))
    found = next((path for folder in beside if os.access(path := os.path.join(folder, SCRIPT), os.X_OK)), None)
    return quote(found) if found else f"{quote(sys.executable)} -P -m bayplan krm"


def _in_the_way(path: str) -> Diagnostic | None:
    """O830: a file that bayplan has not written."""
    try:
        with open(path, "rb") as file:
            ours = MARK.encode() in file.read(4096)
    except FileNotFoundError:
        return None
    except OSError as problem:
        return unwritable(path, problem)
    hint = "remove it, or name another folder in KUSTOMIZE_PLUGIN_HOME"
    return None if ours else error("O830", (), f'"{path}" is there already, and is not bayplan\'s', hint=hint)


def _write(paths: list[str], text: str, said: list[str]) -> Iterator[Diagnostic]:
    for path in paths:
        try:
            word = _place(path, text)
        except OSError as problem:
            yield unwritable(path, problem)
            return
        said += [f"{word} {path}\n"] if word else []


def _place(path: str, text: str) -> str:
    """`created`, `updated`, or nothing where the script is as it should be."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    there = os.path.exists(path)
    if there:
        with open(path, encoding="utf-8", errors="replace") as file:
            same = file.read() == text
        if same and os.access(path, os.X_OK):
            return ""
    new = f"{path}.new"
    with open(new, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(new, os.stat(new).st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    os.replace(new, path)
    return "updated" if there else "created"
