"""`bayplan upgrade`: rewrites what is deprecated in files of bayplan's own formats. All other bytes stay."""

from __future__ import annotations

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter

from bayplan.cli import files, output
from bayplan.cli.finish import finish
from bayplan.cli.options import Arguments
from bayplan.cli.output_folder import Change, compare, write_single
from bayplan.clients import MARK
from bayplan.clients.helm import split
from bayplan.core.diagnostics import AT, Diagnostic, Outcome, error, has_errors
from bayplan.core.typing import Any
from bayplan.core.values import NamedTuple
from bayplan.report import Batch
from bayplan.report.codes import successors
from bayplan.text.document import Document, events, read
from bayplan.text.positions import Key, Node, compose
from bayplan.text.scalars import MERGE
from bayplan.text.source import text_of

SUBJECT = "upgrade"
V1ALPHA1 = "bayplan.dev/v1alpha1"
ANY = "*"
"""In a path: each entry of a list, or each value of a mapping."""


class Deprecated(NamedTuple):
    """A key or values of a format that have a new form. bayplan still reads the old one.

    `kinds` have it at `path`. `since`: the first version with the new form. `removed`: the version that no longer reads
    the old one; empty if all versions read it. `key`: the new name of the key. `values`: old value -> new value.
    """

    kinds: tuple[str, ...]
    path: tuple[str, ...]
    since: str
    removed: str = ""
    key: str = ""
    values: Callable[[], Mapping[str, str]] = dict


class Step(NamedTuple):
    """What changes between two versions of a format. `old` and `new` are values of `apiVersion`, and may be equal."""

    old: str
    new: str
    rows: tuple[Deprecated, ...]


FUNCTIONS = ("ExpandWorkflows", "PlaceWorkloads", "ValidateWorkloads")
STEPS = (
    Step(
        V1ALPHA1,
        V1ALPHA1,
        (
            Deprecated(("Project",), ("spec", "outputs", ANY, "accept", ANY), "0.1", values=successors),
            Deprecated(FUNCTIONS, ("spec", "accept", ANY), "0.1", values=successors),
            Deprecated(FUNCTIONS, ("spec", "failOn", ANY), "0.1", values=successors),
        ),
    ),
)
"""All that is deprecated in files, oldest first."""


def run(args: Arguments) -> int:
    """Upgrades all files, or none if one of them has an error."""
    batches = [Batch(files.stdin_twice(args.words))]
    changes: list[Change] = []
    for path in () if has_errors(batches[0].diagnostics) else dict.fromkeys(args.words):
        raw = files.raw_of(path, SUBJECT)
        name = files.STDIN if path == "-" else path
        after = Outcome[bytes](None, raw.diagnostics) if raw.value is None else upgraded(name, raw.value)
        source = Document(name, text_of(raw.value or b""), 0, None)
        batches.append(Batch(after.diagnostics, {SUBJECT: source}))
        if after.value is not None:
            old, new = ((each or b"").decode("utf-8", "surrogateescape") for each in (raw.value, after.value))
            changes.append(Change(name, old, new))
    return finish(args, batches, lambda: _written(args, changes))


def _written(args: Arguments, changes: list[Change]) -> tuple[Diagnostic, ...]:
    """Writes the files that change, or their differences. Standard input goes to standard output."""
    changed = [each for each in changes if each.old != each.new]
    if args.has("check"):
        return compare(changed[0].path, changed) if changed else ()
    if args.has("diff"):
        return output.write(line for each in changed for line in each.diff())
    named = (each for each in changed if each.path != files.STDIN)
    wrong = [found for each in named for found in write_single(each.path, [each.new or ""])]
    piped = [each.new or "" for each in changes if each.path == files.STDIN]
    return (*wrong, *(output.write(piped) if piped else ()))


def upgraded(name: str, raw: bytes, steps: tuple[Step, ...] = STEPS) -> Outcome[bytes]:
    """The bytes of a file without what is deprecated. Documents of other formats stay, and need not be YAML.

    Errors R103 to R157. A993: bayplan cannot change a value by its text.
    """
    if raw[:2] in (BOM_UTF16_LE, BOM_UTF16_BE):
        message = "the file is not UTF-8, and bayplan upgrades only UTF-8"
        return Outcome(None, (error("R104", (SUBJECT, AT, 1, 1), message, hint="save it as UTF-8"),))
    kinds = {kind.encode() for step in steps for row in step.rows for kind in row.kinds}
    if MARK not in raw or not any(kind in raw for kind in kinds):
        return Outcome(raw)
    whole = read(name, raw, SUBJECT, own=False)
    if whole.value is None:
        return Outcome(raw if any(each.code == "R106" for each in whole.diagnostics) else None, whole.diagnostics)
    pieces: list[bytes] = []
    for piece in split(raw):
        new = _piece(piece, steps) if MARK in piece else piece
        if new is None:
            line = b"".join(pieces).count(b"\n") + 1
            message = "cannot replace a deprecated value here without changing other data"
            hint = "write each retired code as a plain string: `bayplan explain CODE` names its successor"
            return Outcome(None, (error("A993", (SUBJECT, AT, line, 1), message, hint=hint),))
        pieces.append(new)
    return Outcome(b"".join(pieces))


def _fits(data: Any, step: Step, row: Deprecated) -> bool:
    return isinstance(data, dict) and data.get("apiVersion") == step.old and data.get("kind") in row.kinds


def _piece(piece: bytes, steps: tuple[Step, ...]) -> bytes | None:
    """The bytes of one document after all steps. None: bayplan reads back other data than expected."""
    for step in steps:
        documents = read("", piece, SUBJECT, own=False).value or ()
        expected = [_after(each.data, step) for each in documents]
        if [each.data for each in documents] == expected:
            continue
        document, *more = documents
        root = compose(events(document.text), document.text)
        if more or root is None:
            return None
        rows = [_version(step), *(row for row in step.rows if document.data["kind"] in row.kinds)]
        new = _edited(document.text, dict(edit for row in rows for edit in _edits(root, row.path, row)))
        mark = piece[: len(piece) - len(document.text.encode())]
        again = read("", mark + new.encode(), SUBJECT, own=False).value or ()
        if [each.data for each in again] != expected:
            return None
        piece = mark + new.encode()
    return piece


def _after(data: Any, step: Step) -> Any:
    """The data of a document after a step."""
    rows = [row for row in step.rows if _fits(data, step, row)]
    for row in rows:
        data = _changed(data, row.path, row)
    return {**data, "apiVersion": step.new} if rows else data


def _version(step: Step) -> Deprecated:
    return Deprecated((), ("apiVersion",), "", values=lambda: {step.old: step.new} if step.old != step.new else {})


def _changed(data: Any, path: tuple[str, ...], row: Deprecated) -> Any:
    """The data with the new key and the new values at a path."""
    if not path:
        return row.values().get(data, data) if isinstance(data, str) else data
    step, rest = path[0], path[1:]
    if isinstance(data, list):
        return [_changed(each, rest, row) for each in data] if step == ANY else data
    if not isinstance(data, dict):
        return data
    new = row.key if row.key and not rest else step
    return {
        new if key == step else key: _changed(value, rest, row) if step in (ANY, key) else value
        for key, value in data.items()
    }


Edits = Iterator[tuple[tuple[int, int], Mapping[str, str]]]
"""The places of keys and values, each with old string -> new string."""


def _edits(node: Node, path: tuple[str, ...], row: Deprecated, key: Key | None = None) -> Edits:
    """The edits for one row. An alias leads to its anchor, and a merge key to the keys that it merges."""
    while node.kind == "alias" and node.target is not None:
        node = node.target
    if not path:
        if key is not None and row.key:
            yield (key.start, key.end), {key.name: row.key}
        if node.kind == "scalar":
            yield (node.start, node.stop), row.values()
    elif node.kind == "sequence" and path[0] == ANY:
        for item in node.items:
            yield from _edits(item, path[1:], row)
    elif node.kind == "mapping":
        for each, item in zip(node.keys, node.items, strict=True):
            if each.name is MERGE:
                for merged in item.items if item.kind == "sequence" else (item,):
                    yield from _edits(merged, path, row)
            elif path[0] in (ANY, each.name):
                yield from _edits(item, path[1:], row, each)


_SCALAR = re.compile(r"""((?:[&!]\S*\s+)*(["']?))(.*)\2""")
"""A plain or quoted string on one line, after its anchor and its tag."""


def _edited(text: str, edits: Mapping[tuple[int, int], Mapping[str, str]]) -> str:
    """The text with the edits. Quotes, anchors and tags stay."""
    for (start, stop), values in sorted(edits.items(), key=itemgetter(0), reverse=True):
        found = _SCALAR.fullmatch(text, start, stop)
        if found and found[3] in values:
            text = text[: found.start(3)] + values[found[3]] + text[found.end(3) :]
    return text
