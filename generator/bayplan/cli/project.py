"""bayplan.yaml, the project file: found in the current folder or the nearest one above, it gives -t its default, and
says what `bayplan generate` writes. Its folder is the root of a sandbox without a repository.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from bayplan import schemas
from bayplan.cli import files
from bayplan.cli.options import Arguments
from bayplan.core.diagnostics import Diagnostic, Outcome, error
from bayplan.report import Batch
from bayplan.text.document import Document

NAME = "bayplan.yaml"
SUBJECT = "project"
API_VERSION = "bayplan.dev/v1alpha1"
HINT = f"write apiVersion: {API_VERSION}, kind: Project and spec: {{topology: FILE}}"


class Project(NamedTuple):
    """A valid project file. `folder` is its folder, as a path from the current folder ("": the current folder)."""

    folder: str
    document: Document

    @property
    def spec(self) -> Mapping[str, Any]:
        """The `spec` of the file."""
        spec: Mapping[str, Any] = self.document.data.get("spec", {})
        return spec

    def path(self, name: str) -> str:
        """The path of a file of the project, from the current folder. Here `-` is a file, not standard input."""
        joined = os.path.join(self.folder, name)
        return joined if joined != "-" else os.path.join(os.curdir, joined)


def named(key: str) -> tuple[str | None, tuple[Batch, ...]]:
    """The path of `topology` or `policy` in the project, from the current folder.

    None if there is no project, or if the file cannot be opened.
    """
    project, batches = load()
    name = project.spec.get(key) if project else None
    if project is None or not name:
        return None, batches
    path = project.path(name)
    wrong = files.refusal(path, (key,))
    if wrong is None:
        return path, batches
    sources = {SUBJECT: project.document, key: Document(path, "", 0, None)}
    return None, (*batches, Batch((files.at_name(wrong, (SUBJECT, "spec", key)),), sources))


def load(word: str = "") -> tuple[Project | None, tuple[Batch, ...]]:
    """The project in this file or folder, or the nearest project, and its diagnostics."""
    path = (os.path.join(word, NAME) if os.path.isdir(word) else word) or find()
    if path is None:
        return None, ()
    documents, batch = files.load(path, SUBJECT)
    if not documents:
        return None, (batch,)
    wrong = _wrong(documents)
    batches = (Batch(wrong, {SUBJECT: documents[0]}),)
    return None if wrong else Project(os.path.dirname(path), documents[0]), batches


def find(folder: str = "", name: str = NAME) -> str | None:
    """The nearest project file, or other file, in this folder or above it, as a path from the current folder.

    bayplan does not look outside of the sandbox.
    """
    for _ in range(os.path.join(files.current_folder(), folder).count(os.sep) + 1):
        real = files.seen(folder or os.curdir)
        if real is None:
            return None
        if os.path.lexists(os.path.join(real, name)):
            return os.path.join(folder, name)
        folder = os.path.join(folder, os.pardir)
    return None


def _wrong(documents: tuple[Document, ...]) -> tuple[Diagnostic, ...]:
    """The errors of a project file."""
    data: Any = documents[0].data
    if len(documents) > 1:
        message = f"the project file has {len(documents)} documents instead of one"
        return (error("A929", (SUBJECT,), message, hint="list all outputs under one `spec`"),)
    if not isinstance(data, dict) or data.get("apiVersion") != API_VERSION or data.get("kind") != "Project":
        return (error("A929", (SUBJECT, "kind"), f"this file is not a Project of {API_VERSION}", hint=HINT),)
    return schemas.validate("Project", data, SUBJECT)


# The sandbox of a command. Its root is the folder of the repository or of the project.


def confined(args: Arguments, run: Callable[[], int]) -> int:
    """Runs a command in its sandbox, and returns its exit code."""
    made = _made(args)
    if made.diagnostics:
        from bayplan.cli.finish import finish

        return finish(args, [Batch(made.diagnostics)])
    with files.confined(made.value):
        return run()


def _made(args: Arguments) -> Outcome[files.Sandbox]:
    """The sandbox of a command. None: it has none. A990: its root is not a folder, or an option is not allowed."""
    is_krm = args.command.name == "krm"
    wide = _widening(args) if is_krm and args.words else ""  # `argsOneLiner` is from the kustomization
    if wide:
        message = f"a legacy plugin has no {wide}, because its arguments are from the kustomization"
        return Outcome(None, (error("A990", ("argument", wide), message, hint=f"remove {wide}"),))
    if args.has("no-sandbox"):
        return Outcome(None)
    try:
        root = os.path.realpath(args.value("sandbox-root")) if args.has("sandbox-root") else _root(_start(args))
        sound = os.path.isdir(root) and root != os.path.dirname(root) and args.value("sandbox-root", ".") != ""
        own = next((each for each in args.values("trust") if files.passes(each, root)), None)
        trusted = tuple(map(os.path.realpath, (*args.values("trust"), *(args.words if is_krm else ()))))
    except (OSError, ValueError):  # the current folder was removed; a name with a NUL
        sound = False
    if sound and own is not None:
        message = f'"{own}" is in the repository, which could replace it with a link to any file'
        return Outcome(None, (error("A990", ("argument", "--trust"), message, hint="remove --trust"),))
    if sound:
        is_plugin = is_krm and bool(args.words)
        chosen = args.has("sandbox-root") or any(os.path.lexists(os.path.join(root, each)) for each in (".git", NAME))
        widen = _PLUGINS_WAY if is_plugin else _FUNCTIONS_WAY if is_krm else _WAY
        return Outcome(files.Sandbox(root, trusted, not is_plugin, "" if chosen else widen))
    message = f'"{args.value("sandbox-root", os.curdir)}" cannot be the root of the sandbox'
    hint = "name the folder of the repository"
    return Outcome(None, (error("A990", ("argument", "--sandbox-root"), message, hint=hint),))


def _widening(args: Arguments) -> str:
    """An option that lets `krm` use more files or larger ones. Empty if there is none."""
    from bayplan.cli.commands import LIMIT, WIDENING

    return next((each.names[-1] for each in (*WIDENING, LIMIT) if args.has(each.key)), "")


_WAY = "name the top folder with --sandbox-root DIR"
_FUNCTIONS_WAY = "name the top folder with `args: [--sandbox-root, DIR]` next to `path: bayplan-krm`"
_PLUGINS_WAY = "add a bayplan.yaml to the top folder"
"""How to choose a root that nothing has chosen: on a command line, for a function of kustomize, for a legacy plugin."""


def _start(args: Arguments) -> str:
    """The folder of the project or the kustomization that the command line names, or the current folder."""
    word = args.words[0] if args.words and args.command.name in ("generate", "kustomize doctor") else os.curdir
    return word if os.path.isdir(word) else os.path.dirname(word) or os.curdir


def _root(folder: str) -> str:
    """The nearest folder with `.git`. Without one, the folder of the project, or this one."""
    real = os.path.realpath(folder)
    return files.repository(real) or os.path.realpath(os.path.dirname(find(folder) or os.path.join(real, NAME)))
