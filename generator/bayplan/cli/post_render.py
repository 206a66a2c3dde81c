"""`bayplan post-render`: Helm's manifests in, the same with placement out; Helm runs it for each release."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from bayplan.cli import files, output
from bayplan.cli.finish import finish
from bayplan.cli.options import Arguments
from bayplan.clients import MARK
from bayplan.core.diagnostics import Diagnostic, Outcome, error, has_errors, info, warning
from bayplan.report import Batch
from bayplan.text.document import Document

RELATED_KINDS = (
    "ComputeDomain",
    "PodGroup",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "TrainingRuntime",
    "ClusterTrainingRuntime",
)
"""Kinds that say something about the pods of others."""

SHARED = "shared-policy"
"""Stands among the options where the policy is the project's, for all charts."""


def run(args: Arguments) -> int:
    """Passes standard input on, with what annotations and the policy ask for."""
    args = args if args.has("topology") or args.has("policy") else _with_policy(args)
    path, batches = _topology_path(args)
    wrong = _wrong(args, path)
    raw = _stream() if path is not None and not wrong else Outcome(b"")
    batches += (Batch((*wrong, *raw.diagnostics), {"stream": Document(files.STDIN, "", 0, None)}),)
    if path is None or raw.value is None or wrong:
        return finish(args, batches)
    if not raw.value.strip():
        hint = (
            "with --output-dir, Helm 3 writes its files without asking a post-renderer: use Helm 4, or render to a file"
        )
        empty = warning("A973", (), "standard input is empty, and so is the output", hint=hint)
        return finish(args, [*batches, Batch((empty,))])
    if args.has("policy") or MARK in raw.value:
        return _augment(args, path, raw.value, batches)
    raw_topology = files.raw_of(path, "topology")  # unused here, but a wrong name should not wait until it matters
    batch = Batch(raw_topology.diagnostics, {"topology": Document(path, "", 0, None)})
    return finish(args, [*batches, batch], lambda: output.write_bytes([raw.value or b""]))


def _stream() -> Outcome[bytes]:
    """Standard input. Some shells make UTF-16 of what goes through a pipe, and no word in it would be found."""
    raw = files.raw_of("-", "stream")
    if raw.value is None or not raw.value.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw
    message = "the stream is UTF-16, and Helm writes UTF-8"
    return Outcome(None, (error("R104", ("stream",), message, hint="let Helm run the post-renderer itself"),))


def _topology_path(args: Arguments) -> tuple[str | None, tuple[Batch, ...]]:
    """-t, else the topology of the project file. With -t nothing of the pipeline is loaded."""
    if args.has("topology"):
        return args.value("topology"), ()
    from bayplan.cli import inputs

    return inputs.needed_topology(args)


def _with_policy(args: Arguments) -> Arguments:
    """The same with the policy that the project file names. What is wrong with that file is told with its topology."""
    from bayplan.cli import project

    path = project.named("policy")[0]
    return args._replace(options={**args.options, "policy": (path,), SHARED: ("",)}) if path else args


def _wrong(args: Arguments, path: str | None) -> tuple[Diagnostic, ...]:
    """What is wrong with the arguments."""
    if any(word != "-" for word in args.words):
        message = f'post-render reads standard input, and "{args.words[0]}" is something else'
        return (error("A920", ("argument", args.words[0]), message, hint="pipe the manifests into it"),)
    if "-" in (path, args.value("policy")):
        return (error("A920", ("argument", "-"), "- is standard input, which holds the manifests"),)
    return ()


def _augment(args: Arguments, path: str, raw: bytes, batches: tuple[Batch, ...]) -> int:
    """Reads what is needed, has the engine place what is asked for, and writes everything."""
    from bayplan.augment import augment
    from bayplan.cli.placing import placing
    from bayplan.clients import helm as stream

    needed = placing(args, path)
    read, found = stream.parse(files.STDIN, raw, _relevant_kind(needed.documents.get("policy")))
    diagnostics, sources = stream.located(read, (*found, *stream.own_files(read)))
    batches = (*batches, *needed.batches, Batch(diagnostics, sources))
    if needed.request is None or has_errors(diagnostics):
        return finish(args, batches)
    request = needed.request._replace(objects=tuple(stream.objects(read)), shared=args.has(SHARED))
    augmented, origins = augment(request)
    diagnostics, sources = stream.located(read, augmented.diagnostics)
    batches = (*batches, Batch(diagnostics, {**sources, **needed.documents}, origins))
    if augmented.value is None:
        return finish(args, batches)
    pieces = stream.written(read, augmented.value) if any(augmented.value) else (raw,)
    text = b"".join(pieces)
    return finish(args, batches, lambda: output.write_bytes([text]))


def _relevant_kind(policy: Document | None) -> Callable[[str], bool]:
    """Whether objects of a kind may have to be placed, or say something about those that have."""
    from bayplan.kube.objects import items, text
    from bayplan.kube.workloads import REFUSED, WORKLOADS

    rules: Any = items(policy.data, "spec", "rules") if policy else ()
    named = {text(rule, "match", "kind") for rule in rules}
    return frozenset({*RELATED_KINDS, *(kind for _, kind in (*WORKLOADS, *REFUSED)), *named}).__contains__


# What post-render says is kept in a file, because Helm 4 shows nothing of it (internal/plugin, `runPostrenderer`).

PLUGIN = "HELM_PLUGIN_NAME"
"""Helm 4 sets this variable, Helm 3 does not."""


class Tee:
    """Standard error that remembers what was written to it."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.written: list[str] = []

    def write(self, text: str) -> int:
        """To both."""
        size = self.stream.write(text) if self.stream is not None else len(text)
        self.written.append(text)
        return int(size)

    def isatty(self) -> bool:
        """Whether people read it."""
        return self.stream is not None and bool(self.stream.isatty())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def keep_stderr(argv: Sequence[str], run: Callable[[Sequence[str]], int]) -> int:
    """Runs a command line; whatever it says is kept."""
    real, tee = sys.stderr, Tee(sys.stderr)
    sys.stderr = tee
    try:
        code = run(argv)
    finally:
        sys.stderr = real
    if tee.written:
        _keep("".join(tee.written), argv, code)
    return code


def path() -> str:
    """The file, as the XDG base directory specification has it."""
    home = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(home, "bayplan", "last-error.txt")


def _keep(text: str, argv: Sequence[str], code: int) -> None:
    """Writes the file, and to the terminal where Helm holds standard error back. It is no error if neither can be."""
    import re

    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    head = f"`bayplan {' '.join(argv)}` in {_folder()} ended with exit code {code}:\n"
    with suppress(OSError, ValueError):
        where = path()
        os.makedirs(os.path.dirname(where), exist_ok=True)
        beside = f"{where}.{os.getpid()}"
        with open(beside, "w", encoding="utf-8", errors="replace") as file:
            file.write(head + plain)
        os.replace(beside, where)
    if PLUGIN in os.environ:
        with suppress(OSError), open("/dev/tty", "w", encoding="utf-8", errors="replace") as terminal:
            terminal.write(plain)


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return "a folder that is gone"


def last_error(args: Arguments) -> int:
    """`bayplan last-error`: prints what is kept."""
    try:
        with open(path(), encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return finish(args, [Batch((info("O820", (), "no post-render has had anything to say"),))])
    return finish(args, [], lambda: output.write([text]))
