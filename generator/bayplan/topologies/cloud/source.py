"""What clouds say of where instances stand: the answers of their topology APIs, as JSON.

AWS `describe-instance-topology`, Google Cloud `instances list` (`resourceStatus.physicalHostTopology`), OCI compute
hosts, Nebius instances and Lambda's `/topology/instance`. They know instances; the nodes say in `spec.providerID` which
instance each is, so nodes are another source beside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Note, Outcome, Route, error, has_errors, info, warning
from bayplan.core.phrases import count
from bayplan.kube.objects import get
from bayplan.model.formats import Asked, Part, SourceFile
from bayplan.model.topology import HOSTNAME_LABEL
from bayplan.topologies import grouping
from bayplan.topologies.cloud.rows import CLOUDS, Cloud, Entry
from bayplan.topologies.grouping import Known

NAME = "cloud"
TOLD = 20
"""Entries of one kind that are told of one by one."""


def sniff(source: SourceFile) -> bool:
    """Whether it is JSON in which instances have a place in a network, in the words of one of the clouds."""
    return (
        source.head.lstrip()[:1] in ("{", "[")
        and any(each.word in source.head for each in CLOUDS)
        and bool(_of(source))
    )


def _of(source: SourceFile) -> Cloud | None:
    data = source.documents[0].data if source.documents else None
    return next((each for each in CLOUDS if any(True for _ in each.entries(data))), None)


def new(source: SourceFile, asked: Asked) -> Outcome[Part]:
    """The instances in pools, those with equal lists of levels together."""
    cloud = _of(source)
    if cloud is None:
        message = "there are no instances with a place in a network in it"
        return Outcome(None, (error("T560", source.at(), message, hint=HINT),))
    found: list[Diagnostic] = []
    data = source.documents[0].data
    entries = [each._replace(route=(*source.at(), *each.route)) for each in cloud.entries(data)]
    found += [*_goes_on(cloud, data, source.at()), *_broken(entries), *_twice(entries), *_placeless(entries)]
    placed = list({each.name: each for each in entries if each.name and each.path}.values())
    nodes, told = grouping.nested([_known(each) for each in placed], source.at())
    found += [*told, *_changed(placed), *(() if asked.nodes else _named(cloud, placed, source.at()))]
    if has_errors(found) or not placed:
        return Outcome(None, tuple(found))
    part = grouping.part(cloud.name, grouping.in_order(nodes), source, asked)
    aliases = {alias: each.name for each in placed for alias in each.aliases if alias != each.name}
    return Outcome(part._replace(aliases=aliases), tuple(found))


def label_keys(source: SourceFile) -> frozenset[str]:
    """One that every node has: whether nodes are known, another source tells."""
    return frozenset((HOSTNAME_LABEL,))


HINT = "give the whole answer of AWS, Google Cloud, OCI, Nebius or Lambda as JSON"


def _known(entry: Entry) -> Known:
    path = tuple(grouping.value(each) or "none" for each in entry.path)
    return Known(entry.name, entry.route, levels=entry.levels, path=path, reason=entry.reason)


def _goes_on(cloud: Cloud, data: Any, at: Route) -> Iterator[Diagnostic]:
    for key in cloud.more:
        if get(data, key):
            message = f"the answer goes on: it ends with `{key}`, and what follows is not in the file"
            yield error("T558", (*at, key), message, hint="ask for all pages, and give them as one list")


def _broken(entries: Sequence[Entry]) -> Iterator[Diagnostic]:
    wrong = [each for each in entries if not each.name]
    for each in wrong[:TOLD]:
        yield error("T560", each.route, "this entry has no id of an instance", hint=HINT)
    if len(wrong) > TOLD:
        yield error("T560", wrong[TOLD].route, f"{len(wrong) - TOLD} more entries have no id of an instance", hint=HINT)


def _twice(entries: Sequence[Entry]) -> Iterator[Diagnostic]:
    first: dict[str, Entry] = {}
    for each in entries:
        known = first.setdefault(each.name, each)
        if each.name and known is not each and (known.path, known.reason) != (each.path, each.reason):
            notes = (Note("the first is here", known.route),)
            message = f'instance "{each.name}" is listed twice, at different places'
            yield error("T551", each.route, message, notes=notes, hint="remove the older of the two")


def _placeless(entries: Sequence[Entry]) -> Iterator[Diagnostic]:
    without = [each for each in entries if each.name and not each.path]
    if without:
        counted = f"{len(without)} of {len(entries)}"
        message = f'{counted} have no place in the network and are left out, such as "{without[0].name}"'
        hint = "clouds tell it of running instances of some types alone"
        yield (warning if len(without) < len(entries) else error)("T557", without[0].route, message, hint=hint)


def _changed(placed: Sequence[Entry]) -> Iterator[Diagnostic]:
    """T563: values that are no label values, and those that meet others thereby."""
    made: dict[str, str] = {}
    changed: dict[str, Entry] = {}
    for each in {each.path: each for each in placed}.values():
        for value in each.path:
            short = grouping.value(value) or "none"
            if made.setdefault(short, value) != value:
                message = f'"{made[short][:80]}" and "{value[:80]}" would both become the label value "{short}"'
                yield error("T563", each.route, message, hint="rename one of the two in the file")
            elif short != value:
                changed.setdefault(value, each)
    for value, each in list(changed.items())[:1]:
        message = f'{count(len(changed), "value")} changed to be a label value, such as "{value[:80]}"'
        yield info(
            "T563",
            each.route,
            message,
            hint="label values have at most 63 letters, digits, dashes, dots and underscores",
        )


def _named(cloud: Cloud, placed: Sequence[Entry], at: Route) -> Iterator[Diagnostic]:
    if placed and not cloud.nodes:
        message = (
            f'nodes are called after their instances here, such as "{placed[0].name}", unless another source knows them'
        )
        hint = "give `kubectl get nodes -o json` beside: spec.providerID joins the two"
        yield info("T559", at, message, hint=hint)
