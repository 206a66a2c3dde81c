"""`bayplan topology import`: a cluster topology out of what other systems say, or what they say laid over one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bayplan import pipeline, schemas
from bayplan.cli import destination, files, inputs, topology_merging, topology_sources
from bayplan.cli.finish import finish
from bayplan.cli.options import Arguments
from bayplan.cli.topology_sources import Picked
from bayplan.core.diagnostics import Diagnostic, Outcome, error, has_errors
from bayplan.fabrics.cards import unknown
from bayplan.model.formats import ReadOptions
from bayplan.model.topology import ClusterTopology
from bayplan.report import Batch
from bayplan.text.document import Document, read
from bayplan.text.edits import Edit
from bayplan.text.emit import emit
from bayplan.topologies import CONFIGURATIONS, native

DOMAINS = "domains: []"


def run(args: Arguments) -> int:
    """Writes a new topology, or with --update the file with what the sources add."""
    request = topology_sources.read_options(args)
    twice = files.stdin_twice((*args.words, args.value("update")))
    batches = [Batch((*destination.option_errors(args), *request.diagnostics, *twice))]
    if request.value is None or has_errors(batches[0].diagnostics):
        return finish(args, batches)
    picked, read_batches = topology_sources.pick(args)
    batches += read_batches
    if len(picked) < len(args.words):
        return finish(args, batches)
    if args.has("update"):
        text = _updated(args, picked, request.value, batches)
    else:
        text = _new(args, picked, request.value, batches)
    return finish(args, batches, None if text is None else destination.file_writer(args, [text]))


def _new(args: Arguments, picked: Sequence[Picked], request: ReadOptions, batches: list[Batch]) -> str | None:
    merged = topology_merging.together(picked, request, batches)
    if merged is None:
        return None
    name, read = args.value("name", merged.topology.name), args.value("read-on", merged.topology.read)
    topology = merged.topology._replace(name=name, read=read)
    data = native.write(topology)
    listed = any(pool.domains for pool in topology.pools)
    diagnostics = pipeline.topology_findings(topology) if listed else ()
    diagnostics += () if has_errors(diagnostics) else _invalid(data, listed)
    batches.append(topology_merging.at_sources(diagnostics, merged, picked))
    if has_errors(diagnostics):
        return None
    return destination.modeline("cluster-topology", args.value("output", "-")) + commented(topology, data)


def _invalid(data: Mapping[str, Any], listed: bool) -> tuple[Diagnostic, ...]:
    """What the schema says of a new topology, but for the empty lists of domains that the user has to fill."""
    found = schemas.validate(native.SCHEMA, data, "topology")
    return tuple(
        each._replace(message=f"`{'.'.join(map(str, each.route[1:]))}` of the new topology: {each.message}")
        for each in found
        if listed or each.route[-1:] != ("domains",)
    )


def _updated(args: Arguments, picked: Sequence[Picked], request: ReadOptions, batches: list[Batch]) -> str | None:
    """The text of the topology file with its edits."""
    document, read_batches = inputs.topology_of(args.value("update"))
    batches += read_batches
    if document is None:
        return None
    topology, origins = pipeline.check_topology(document)
    batches.append(Batch(topology.diagnostics, {"topology": document}, origins))
    if topology.value is None:
        return None
    if not any(each.formats for each in picked):
        edits = _configured(picked, topology.value, document, batches)
        return _judged(document, _applied(document, edits, batches), batches)
    if any(topology_sources.knows_nodes(each) for each in picked):
        return _refreshed(args, picked, request, topology.value, document, batches)
    name = next(format_.name for each in picked for format_ in each.formats)
    message = f"{name} names no nodes, so --update has nothing to change"  # levels and selectors stay
    hint = "add a source with nodes, such as `kubectl get nodes -o json`, or leave out --update"
    batches.append(Batch((error("T516", ("argument", "--update"), message, hint=hint),)))
    return None


def _refreshed(
    args: Arguments,
    picked: Sequence[Picked],
    request: ReadOptions,
    old: ClusterTopology,
    document: Document,
    batches: list[Batch],
) -> str | None:
    """The text with the nodes of the sources instead of those in the file. The rest stays."""
    from bayplan.topologies import refreshing

    new = topology_merging.over(old, document, picked, request, batches)
    if new is None:
        return None
    edits = refreshing.edits(old, new, states=topology_sources.states(picked))
    batches.append(Batch(edits.diagnostics, {"topology": document}))
    read_on = args.value("read-on", old.read)
    dated = (Edit(("spec", "read"), read_on),) if read_on != old.read else ()
    return _judged(
        document, _applied(document, None if edits.value is None else (*dated, *edits.value), batches), batches
    )


def _judged(document: Document, text: str | None, batches: list[Batch]) -> str | None:
    """The new text of a topology file. None, with the errors, if `topology check` refuses it."""
    if text is None or text == document.text:
        return text
    (after,) = read(document.name, text.encode("utf-8", "surrogatepass"), "topology").value or (document,)
    checked = pipeline.check_topology(after)[0].diagnostics  # what was kept may not go with what is new
    batches += [Batch(checked, {"topology": after})] if has_errors(checked) else []
    return None if has_errors(checked) else text


def _configured(
    picked: Sequence[Picked], topology: ClusterTopology, document: Document, batches: list[Batch]
) -> tuple[Edit, ...] | None:
    """What configurations add to a topology. They name no nodes, so they replace nothing."""
    edits: list[Edit] = []
    failed = False
    for each in picked:
        source, batch = topology_sources.configuration_of(each)
        batches.append(batch)
        if source is None:
            failed = True
            continue
        configuration = CONFIGURATIONS[each.configuration]
        outcome = configuration.update(source, topology)
        found = topology_sources.reported(each, outcome.diagnostics)
        batches.append(Batch(found, {"topology": document, configuration.SUBJECT: source}))
        failed |= outcome.value is None
        edits += outcome.value or ()
    return None if failed else tuple(edits)


def _applied(document: Document, edits: tuple[Edit, ...] | None, batches: list[Batch]) -> str | None:
    if not edits:
        return None if edits is None else document.text
    text = apply(document, edits)
    batches.append(Batch(text.diagnostics, {"topology": document}))
    return text.value


def apply(document: Document, edits: Sequence[Edit]) -> Outcome[str]:
    """The text of a topology file with the edits. YAML keeps all other bytes, and JSON the order of its keys.

    bayplan reads the new text again. W498: it does not have the expected data.
    """
    import json

    from bayplan.text import patch
    from bayplan.text.edits import edited

    expected = edited(document.data, edits)
    try:
        json.loads(document.text)
    except ValueError:
        text = patch.edited(document.text, document.data, edits)
        again = read(document.name, (text or "").encode("utf-8", "surrogatepass"), "topology").value or ()
        if text is not None and len(again) == 1 and again[0].data == expected:
            return Outcome(text)
        message = "cannot edit this file without changing other parts of its data"
        return Outcome(None, (error("W498", ("topology",), message, hint="make the changes by hand"),))
    return Outcome(f"{json.dumps(expected, indent=2, ensure_ascii=False)}\n")


def commented(topology: ClusterTopology, data: Mapping[str, Any]) -> str:
    """The topology with comments: at empty lists of domains, and at fabrics that the sources do not describe."""
    lines = "".join(emit((data,))).splitlines()
    for name in filter(lambda name: unknown(topology.fabrics[name]), topology.fabrics):
        place = lines.index(f"    {name}:", lines.index("  fabrics:"))
        lines.insert(place, f"    # From the resources of the nodes. Add {unknown(topology.fabrics[name])}.")
    levels = iter([[level.name for level in pool.levels] for pool in topology.pools])
    for number, line in enumerate(lines):
        if line.strip() == DOMAINS:
            names = next(levels)
            path = f"path: {'/'.join(names).upper()}, " if names else ""
            lines[number] += f'  # one line per domain: - {{{path}nodes: "n[01-18]"}}'
    return "".join(f"{line}\n" for line in lines)
