"""The sources of a cluster topology: bayplan recognizes each, reads its part of the cluster, and merges them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from bayplan.cli.files import UnreadableError
from bayplan.cli.options import Arguments
from bayplan.cli.source_files import OpenedFile
from bayplan.core.diagnostics import Diagnostic, Outcome, error, has_errors
from bayplan.core.phrases import count
from bayplan.kube.objects import is_kind
from bayplan.kube.other_files import recognize
from bayplan.model.formats import Part, ReadOptions
from bayplan.model.topology import Level
from bayplan.report import Batch
from bayplan.text.document import Document
from bayplan.topologies import CONFIGURATIONS, FROM, READ, Source
from bayplan.topologies.grouping import kube_objects

if TYPE_CHECKING:
    from bayplan.model.formats import Importer


class Picked(NamedTuple):
    """A file and the formats of its objects. None: a configuration, or unknown."""

    file: OpenedFile
    formats: tuple[Source, ...] = ()
    configuration: str = ""  # the word of its format, for a possible configuration
    part: str = ""  # of a configuration, from FILE#PART
    guessed: bool = False  # no format recognized it


def read_options(args: Arguments) -> Outcome[ReadOptions]:
    """The options for the formats. A920: the value of an option is invalid."""
    wrong = [*day(args, "read-on")]
    levels = tuple(level for word in args.values("level") for level in _level(word, wrong))
    plan = args.value("plan", "0")
    if not plan.isdecimal() or not plan.isascii() or len(plan) > 6:
        wrong.append(
            error(
                "A920",
                ("argument", "--plan"),
                f'--plan takes a number of nodes, not "{plan}"',
                hint="for example: --plan 16",
            )
        )
    if len(args.values("from")) not in (0, 1, len(args.words)):
        message = f"there are {len(args.values('from'))} --from options for {count(len(args.words), 'source')}"
        wrong.append(
            error("A920", ("argument", "--from"), message, hint="pass --from once for all sources, or once per source")
        )
    headroom = _headroom(args.value("headroom"), wrong)
    request = ReadOptions(levels, preset=args.value("preset"), exclude_incomplete=args.has("exclude-incomplete"))
    request = request._replace(accelerated_only=args.has("accelerated-only"))
    return Outcome(None if wrong else request._replace(plan=int(plan), headroom=headroom), tuple(wrong))


def _headroom(word: str, wrong: list[Diagnostic]) -> dict[str, int]:
    """`cpu=4,memory=32Gi`, or only one of the two."""
    from bayplan.kube import quantity

    amounts: dict[str, int] = {}
    for part in word.split(",") if word else ():
        key, _, amount = part.partition("=")
        try:
            amounts[key] = quantity.parse(amount)
        except ValueError:
            amounts[key] = -1
        if key not in ("cpu", "memory") or amounts[key] < 0:
            message = f'--headroom takes amounts of cpu and memory, not "{part[:40]}"'
            wrong.append(error("A920", ("argument", "--headroom"), message, hint="for example: cpu=4,memory=32Gi"))
    return amounts


def day(args: Arguments, option: str) -> tuple[Diagnostic, ...]:
    """A920: the value of an option is not a date."""
    from datetime import date

    text = args.value(option)
    try:
        sound = not args.has(option) or date.fromisoformat(text).isoformat() == text
    except ValueError:
        sound = False
    message = f'--{option} takes a date, not "{text[:40]}"'
    return () if sound else (error("A920", ("argument", f"--{option}"), message, hint="for example: 2026-11-22"),)


def _level(word: str, wrong: list[Diagnostic]) -> Iterator[Level]:
    """`[NAME=]KEY[,nvlink]`."""
    from bayplan.schemas import is_label_key
    from bayplan.topologies.grouping import dns_label
    from bayplan.topologies.kueue import level_name

    text, _, mark = word.partition(",")
    name, equals, key = text.rpartition("=")
    if mark not in ("", "nvlink") or (equals and dns_label(name) != name) or not is_label_key(key):
        message = f'--level takes [NAME=]KEY[,nvlink] with a label key, not "{word[:80]}"'
        wrong.append(
            error(
                "A920",
                ("argument", "--level"),
                message,
                hint="for example: rack=example.com/rack or example.com/rack,nvlink",
            )
        )
        return
    yield Level(name or level_name(key), key, mark == "nvlink")


def pick(args: Arguments) -> tuple[tuple[Picked, ...], list[Batch]]:
    """Every source with its formats. A file that cannot be read gets a diagnostic, and is left out."""
    names = args.values("from")
    batches, picked = [], []
    for number, word in enumerate(args.words):
        name = names[number] if len(names) > 1 else args.value("from")
        configuration = name if name in CONFIGURATIONS else "" if name else next(iter(CONFIGURATIONS), "")
        path, part = CONFIGURATIONS[configuration].split(word) if configuration else (word, "")
        file = OpenedFile(path, number)
        try:
            formats = () if part or name in CONFIGURATIONS else tuple(_formats(name, file))
            guessed = not (formats or part or name)
            faults = () if formats else file.faults
            if guessed and faults:
                batches.append(file.batch(faults))
            else:
                picked.append(Picked(file, formats, configuration, part, guessed))
        except UnreadableError as problem:
            batches.append(file.batch(problem.diagnostics))
    return tuple(picked), batches


def _formats(name: str, file: OpenedFile) -> Iterator[Source]:
    """The named format, or all formats whose objects the file has, or the first that recognizes it.

    The format of nodes recognizes the layout of kubectl; here, a node in any other layout counts too.
    """
    if name:
        yield READ[name]
        return
    objects = [each for each in READ.values() if each.objects]
    tried = (objects if file.small else objects[:1]) if "apiVersion" in file.head else ()
    recognised = [each for each in tried if _reader(each).sniff(file)]
    recognised = recognised or [*islice((each for each in READ.values() if _reader(each).sniff(file)), 1)]
    if not recognised and file.small and any(is_kind(data, "", "Node") for _, data in kube_objects(file)):
        recognised = [READ["nodes"]]
    yield from recognised


def _reader(source: Source) -> Importer:
    module: Importer = import_module(f"{source.package}.{source.reader}")
    return module


class Gathered(NamedTuple):
    """The parts of all sources; sources that know nodes come last. None: one of them has errors."""

    parts: tuple[Part, ...] | None
    batches: tuple[Batch, ...]


def gather(picked: Sequence[Picked], request: ReadOptions) -> Gathered:
    """The part of each source. bayplan reads frames first, because they say which node labels are levels."""
    pairs = [(each.file, format_) for each in picked for format_ in each.formats]
    frames = [pair for pair in pairs if not pair[1].nodes]
    trees = sorted((pair for pair in pairs if pair[1].nodes), key=lambda pair: pair[1].name != "nodes")
    parts: list[Part] = []
    batches: list[Batch] = []
    failed = False
    for part, batch in (_configured(each) for each in picked if not each.formats):
        failed |= part is None
        parts += [part] if part else []
        batches.append(batch)
    request = request._replace(labels=frozenset(_needed(trees)))
    for file, format_ in chain(frames, trees):
        node_labels = {node: held for part in parts for node, held in part.labels.items()}
        pools = (*request.frames, *(pool for part in parts for pool in part.topology.pools if not pool.domains))
        part, batch = _part(file, format_, request._replace(frames=pools, nodes=node_labels))
        failed |= part is None
        parts += [part] if part else []
        batches.append(batch)
    return Gathered(None if failed else tuple(parts), tuple(batches))


def states(picked: Sequence[Picked]) -> frozenset[str]:
    """The reasons for unusable nodes that a source can report."""
    return frozenset(state for each in picked for format_ in each.formats for state in format_.states)


def knows_nodes(picked: Picked) -> bool:
    """Whether one of its formats names nodes."""
    return any(format_.nodes for format_ in picked.formats)


def _needed(trees: Iterable[tuple[OpenedFile, Source]]) -> Iterator[str]:
    """The labels that sources need for every node. `_part` reports a file that cannot be read."""
    for file, format_ in trees:
        yield from format_.node_labels
        if hasattr(reader := _reader(format_), "needed_labels"):
            with suppress(UnreadableError):
                yield from reader.needed_labels(file)


def _part(file: OpenedFile, format_: Source, request: ReadOptions) -> tuple[Part | None, Batch]:
    file.uses_documents = False
    try:
        part = _reader(format_).new(file, request)
        known = {each.code for each in part.diagnostics}  # some readers report faults, with lines or without
        if file.uses_documents and has_errors(file.faults) and known.isdisjoint(each.code for each in file.faults):
            return None, file.batch(file.faults)
        return part.value and part.value._replace(source=file.name, at=file.at()), file.batch(part.diagnostics)
    except UnreadableError as problem:
        return None, file.batch(problem.diagnostics)


def _configured(picked: Picked) -> tuple[Part | None, Batch]:
    """The part of a configuration. A912: no format recognizes the file."""
    from bayplan.topologies import native

    document, batch = configuration_of(picked)
    if document is None:
        return None, batch
    configuration = CONFIGURATIONS[picked.configuration]
    outcome = native.part(configuration.new(document), picked.file, ReadOptions())
    return outcome.value, Batch(reported(picked, outcome.diagnostics), {configuration.SUBJECT: document})


def configuration_of(picked: Picked) -> tuple[Document | None, Batch]:
    """The document of a configuration, or the reason why it is missing."""
    if picked.file.documents and picked.configuration:
        return CONFIGURATIONS[picked.configuration].pick(picked.file.documents, picked.part)
    return None, picked.file.batch(picked.file.faults or (_unrecognised(picked.file),))


def reported(picked: Picked, diagnostics: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """The diagnostics of a source that bayplan read as a configuration; only A912 for another file."""
    if not picked.guessed or not CONFIGURATIONS[picked.configuration].is_empty(diagnostics):
        return diagnostics
    return (_unrecognised(picked.file)._replace(route=(CONFIGURATIONS[picked.configuration].SUBJECT,)),)


def _unrecognised(file: OpenedFile) -> Diagnostic:
    """A912: no format recognizes the source."""
    ours = any(isinstance(each.data, dict) and each.data.get("kind") == "ClusterTopology" for each in file.documents)
    hint = f"name its format with --from: {', '.join(FROM)}"
    hint = "this is a ClusterTopology: pass it with --update, and pass what adds to it as SOURCE" if ours else hint
    other = next(filter(None, map(recognize, file.documents)), None)
    if other and not ours:
        return error("A912", file.at(), f"this file is {other.title}; it does not describe a cluster", hint=other.hint)
    return error("A912", file.at(), "no format recognizes this source", hint=hint)
