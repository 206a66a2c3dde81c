"""`bayplan post-render`: adds placement to the manifests of a Helm release. Helm runs it."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TextIO

from bayplan.cli import files, output
from bayplan.cli.finish import Success, finish
from bayplan.cli.options import Arguments
from bayplan.clients import MARK
from bayplan.core.diagnostics import AT, Diagnostic, Outcome, error, has_errors, warning
from bayplan.core.phrases import count
from bayplan.report import Batch
from bayplan.text.document import Document

RELATED_KINDS = (
    "ClusterQueue",
    "ComputeDomain",
    "ElasticQuota",
    "HorizontalPodAutoscaler",
    "LocalQueue",
    "Namespace",
    "PodGroup",
    "Queue",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "TrainingRuntime",
    "ClusterTrainingRuntime",
    "Workload",
    "CompositePodGroup",
)
"""Kinds with settings for the pods or the replicas of other objects."""

UNIQUE_NAMES = (("scheduling.run.ai", "PodGroup"), ("scheduling.x-k8s.io", "PodGroup"))
"""Objects of KAI 0.17 and slurm-bridge 1.2, whose names these schedulers compare without the namespace."""

NAMESPACED = "; pass the namespace with -n, because other namespaces may have PodGroups of the same names"
UNPLACED = "no workload requests a placement; the manifests are unchanged"


def run(args: Arguments) -> int:
    """Writes standard input, with the placement of annotations and the policy."""
    args, of_policy = (args, ()) if args.has("topology") or args.has("policy") else _with_policy(args)
    path, batches = _topology_path(args)
    path, batches = path if not of_policy else None, (*of_policy, *batches)
    wrong = _wrong(args, path)
    raw = _stream() if path is not None and not wrong else Outcome(b"")
    tee = getattr(sys.stderr, "buffer", None)
    if isinstance(tee, Tee):
        tee.named = ("release", args.value("release")) if args.has("release") else _named(raw.value or b"")
    batches += (Batch((*wrong, *raw.diagnostics), {"stream": Document(files.STDIN, "", 0, None)}),)
    if path is None or raw.value is None or wrong:
        return finish(args, batches)
    if not raw.value.strip():
        hint = "with --output-dir, Helm 3 does not post-render its files: use Helm 4, or render to one file"
        empty = warning("A973", (), "standard input is empty, so there is nothing to place", hint=hint)
        return finish(args, [*batches, Batch((empty,))])
    if args.has("policy") or MARK in raw.value:
        return _augment(args, path, raw.value, batches)
    raw_topology = files.raw_of(path, "topology")  # unused here, but reports a wrong name early
    batch = Batch(raw_topology.diagnostics, {"topology": Document(path, "", 0, None)})
    success = Success(result=UNPLACED)
    return finish(args, [*batches, batch], lambda: output.write_bytes([raw.value or b""]), success=success)


def _stream() -> Outcome[bytes]:
    """Standard input. R104: some shells convert pipes to UTF-16, in which bayplan would find no workload."""
    raw = files.raw_of("-", "stream")
    if raw.value is None or not raw.value.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw
    message = "standard input is UTF-16; Helm writes UTF-8"
    return Outcome(
        None,
        (
            error(
                "R104",
                ("stream", AT, 1, 1),
                message,
                hint="let Helm run the post-renderer instead of a pipe in your shell",
            ),
        ),
    )


NAMED = {
    "release": rb"app\.kubernetes\.io/instance[\"']?: *[\"']?([A-Za-z0-9][-\w.]*)",
    "chart": rb"(?:# Source|postrenderer\.helm\.sh/postrender-filename[\"']?): *[\"']?([A-Za-z0-9][-\w.]*)/",
}
"""Where manifests have the name of their release, by the label that charts set; and that of their chart."""


def _named(raw: bytes) -> tuple[str, str]:
    """The name of the release, which Helm does not pass to post-renderers; without the label, that of the chart."""
    import re

    found = ((what, re.search(pattern, raw)) for what, pattern in NAMED.items())
    return next(((what, match[1].decode()) for what, match in found if match), ("", ""))


def _topology_path(args: Arguments) -> tuple[str | None, tuple[Batch, ...]]:
    """-t, or the topology of the project file. With -t, bayplan does not load the pipeline."""
    if args.has("topology"):
        return args.value("topology"), ()
    from bayplan.cli import inputs

    return inputs.needed_topology(args)


def _with_policy(args: Arguments) -> tuple[Arguments, tuple[Batch, ...]]:
    """The same with the policy of the project file, and the errors."""
    from bayplan.cli import project

    path, batches = project.named("policy")
    accepted = (*args.values("accept"), "A943")  # it is for all charts of the project
    with_policy = {**args.options, "policy": (path,), "accept": accepted} if path else args.options
    return args._replace(options=with_policy), tuple(each for each in batches if has_errors(each.diagnostics))


def _wrong(args: Arguments, path: str | None) -> tuple[Diagnostic, ...]:
    """The errors of the arguments."""
    if any(word != "-" for word in args.words):
        message = f'post-render reads only standard input, not "{args.words[0]}"'
        return (error("A920", ("argument", args.words[0]), message, hint="pipe the manifests into it"),)
    if "-" in (path, args.value("policy"), *args.values("occupied")):
        message = "standard input has the manifests, so no other file can be `-`"
        return (error("A920", ("argument", "-"), message, hint="pass a file"),)
    return ()


def _augment(args: Arguments, path: str, raw: bytes, batches: tuple[Batch, ...]) -> int:
    """Reads the documents, places workloads, and writes the stream."""
    from bayplan.augment import augment
    from bayplan.cli.placing import placing
    from bayplan.clients import helm as stream

    needed = placing(args, path)
    read, found = stream.parse(files.STDIN, raw, _relevant_kind(needed.documents.get("policy")))
    diagnostics, sources = stream.located(read, (*found, *stream.own_files(read)))
    batches = (*batches, *needed.batches, Batch(diagnostics, sources))
    if needed.request is None or has_errors(diagnostics):
        return finish(args, batches)
    request = needed.request._replace(objects=tuple(stream.objects(read)))
    augmented, origins = augment(request)
    doubled = stream.doubled(read, augmented.value) if augmented.value else ()
    diagnostics, sources = stream.located(read, (*doubled, *augmented.diagnostics))
    batches = (*batches, Batch(diagnostics, {**sources, **needed.documents}, origins))
    if augmented.value is None or doubled:
        return finish(args, batches)
    changes, added, plans, removed = augmented.value
    pieces = stream.written(read, augmented.value) if changes or added or removed else (raw,)
    text = b"".join(pieces)
    lost = f", {len(removed)} removed" if removed else ""
    result = f"{count(len(changes), 'object')} changed, {len(added)} added{lost}" if plans else UNPLACED
    unnamed = not args.has("namespace") and any(_needs_namespace(each.data) for each in added)
    result += NAMESPACED if unnamed else ""
    return finish(args, batches, lambda: output.write_bytes([text]), success=Success(plans, result=result))


def _needs_namespace(data: Mapping[str, Any]) -> bool:
    """Whether the name of a new object must be unique in the cluster, but bayplan does not know the namespace."""
    unique = (data["apiVersion"].partition("/")[0], data["kind"]) in UNIQUE_NAMES
    return unique and "namespace" not in data["metadata"]


def _relevant_kind(policy: Document | None) -> Callable[[str], bool]:
    """Whether placing needs objects of a kind."""
    from bayplan.kube.objects import items, text
    from bayplan.kube.workloads import OTHERS, REFUSED, WORKLOADS

    rules: Any = items(policy.data, "spec", "rules") if policy else ()
    named = {text(rule, "match", "kind") for rule in rules}
    other = () if all(each.isalnum() for each in named) else OTHERS
    return frozenset({*RELATED_KINDS, *(kind for _, kind in (*WORKLOADS, *REFUSED)), *named, *other}).__contains__


# post-render keeps its report in a file, because Helm 4 does not show it (internal/plugin, `runPostrenderer`).

PLUGIN = "HELM_PLUGIN_NAME"
"""Helm 4 sets this variable, Helm 3 does not."""


class Tee(io.RawIOBase):
    """Standard error that keeps a copy of its bytes. `named`: what the manifests are of, and its name."""

    def __init__(self, stream: TextIO | None) -> None:
        self.stream = stream
        self.named = ("", "")
        self.written = bytearray()

    def writable(self) -> bool:
        """It is."""
        return True

    def isatty(self) -> bool:
        """Whether standard error is a terminal."""
        return self.stream is not None and self.stream.isatty()

    def write(self, piece: Any) -> int:
        """Writes to the copy and to standard error, whose errors it ignores."""
        self.written += piece
        with suppress(OSError):
            if self.stream is not None:
                output.write_whole(self.stream.buffer, [bytes(piece)])
        return len(piece)


def keep_stderr(argv: Sequence[str], run: Callable[[], int]) -> int:
    """Runs a command line, and keeps its report. A run without one replaces an earlier report of the same release."""
    real, tee = sys.stderr, Tee(sys.stderr)
    sys.stderr = io.TextIOWrapper(tee, encoding="utf-8", errors="backslashreplace", write_through=True)
    try:
        code = run()
    finally:
        sys.stderr = real
    if tee.written:
        _keep(tee.written.decode(), argv, code, tee.named)
    elif code == 0:
        _replace(argv, tee.named)
    return code


def path(release: str = "") -> str:
    """The path of the file with the last report, or with that of a release (XDG base directory specification)."""
    home = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    name = os.path.join("last-error", f"{os.path.basename(release)}.txt") if release else "last-error.txt"
    return os.path.join(home, "bayplan", name)


def _keep(text: str, argv: Sequence[str], code: int, named: tuple[str, str]) -> None:
    """Writes the report to the files and, if Helm hides standard error, to the terminal. It ignores errors of both."""
    import re

    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    for where in dict.fromkeys((path(), path(named[1]))):
        _write(where, f"{_run(argv, named)}{code}{_time()}:\n{plain}")
    if PLUGIN in os.environ:
        with suppress(OSError), open("/dev/tty", "w", encoding="utf-8", errors="replace") as terminal:
            terminal.write(plain)


def _replace(argv: Sequence[str], named: tuple[str, str]) -> None:
    """Replaces earlier reports of the release, or of the same command without a release."""
    own = _title(named) or _run(argv, named)
    for where in dict.fromkeys((path(), path(named[1]))):
        with suppress(OSError), open(where, encoding="utf-8", errors="replace") as file:
            if own in file.readline():
                _write(where, f"{_run(argv, named)}0{_time()}:\nno findings\n")


def _write(where: str, text: str) -> None:
    with suppress(OSError, ValueError):
        from bayplan.cli import output_folder

        os.makedirs(os.path.dirname(where), exist_ok=True)
        output_folder.replace(where, [text.encode("utf-8", "replace").decode()])


def _title(named: tuple[str, str]) -> str:
    return f', {named[0]} "{named[1]}",' if named[1] else ""


def _run(argv: Sequence[str], named: tuple[str, str]) -> str:
    """The beginning of a report, up to the exit code."""
    from shlex import join

    from bayplan.report.findings import escape

    folder = files.current_folder() or "a deleted folder"
    return escape(f"`bayplan {join(argv)}` in {folder}{_title(named)} ended with exit code ")


def _time() -> str:
    import time

    return time.strftime(" at %Y-%m-%d %H:%M:%S")


def last_error(args: Arguments) -> int:
    """`bayplan helm last-error`: prints the kept report, of all releases or of one."""
    from bayplan.report.findings import escape

    release = args.words[0] if args.words else ""
    try:
        with open(path(release), encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        where = f' for "{release}"' if release else ""
        return finish(args, [Batch((warning("O820", (), f"post-render has not reported anything{where} yet"),))])
    folder, batches = files.current_folder() or "a deleted folder", list[Batch]()
    if not release and f"` in {escape(folder)}" not in text.partition("\n")[0]:
        message = "this report is of another folder; post-render has not reported anything here since"
        batches.append(Batch((warning("O820", (), message, hint="name a release: `bayplan helm last-error NAME`"),)))
    return finish(args, batches, lambda: output.write([text]))
