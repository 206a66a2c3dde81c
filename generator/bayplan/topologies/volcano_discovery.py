"""The ConfigMap with Volcano's discovery of HyperNodes: lists of node labels, which become pools without nodes.

Volcano 1.14 and 1.15, pkg/controllers/hypernode/discovery/label/label.go: one list for each type of network, with
labels from coarse to fine. Volcano ignores the last label, so it should be the label of the host.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Outcome, Route, error, has_errors, info, warning
from bayplan.kube.objects import is_kind, items, mapping, text
from bayplan.model.formats import Part, ReadOptions, SourceFile
from bayplan.model.topology import HOSTNAME_LABEL, ClusterTopology, Pool
from bayplan.schemas import is_label_key
from bayplan.text.document import read
from bayplan.topologies.grouping import kube_objects
from bayplan.topologies.kueue import label_pool
from bayplan.topologies.native import planned

WORD = "networkTopologyDiscovery"
LONGEST = 20
"""Characters of the name of a type. Discovery ignores types with longer names."""


def sniff(source: SourceFile) -> bool:
    """Whether the file has such a ConfigMap."""
    return WORD in source.head and any(True for _ in _texts(source))


def _texts(source: SourceFile) -> Iterator[tuple[Route, str]]:
    """The configurations in a file."""
    for route, data in kube_objects(source):
        if is_kind(data, "", "ConfigMap"):
            for key in mapping(data, "data"):
                if WORD in text(data, "data", key):
                    yield (*route, "data", key), text(data, "data", key)


def new(source: SourceFile, options: ReadOptions) -> Outcome[Part]:
    """One pool for each type of network with labels."""
    issues: list[Diagnostic] = []
    taken: set[str] = set()
    pools = [pool for route, content in _texts(source) for pool in _pools(route, content, taken, issues)]
    if not pools and not has_errors(tuple(issues)):
        message = "the configuration has no type of network with labels"
        hint = "use the ConfigMap of Volcano's controllers, whose volcano-controller.conf has `source: label`"
        issues.append(error("T568", source.at(), message, hint=hint))
    if has_errors(tuple(issues)):
        return Outcome(None, tuple(issues))
    volcano = {"volcano": {"hyperNodes": "discovered"}}
    result = ClusterTopology("cluster", tuple(pools), {}, {"scheduler": "volcano"}, None, volcano)
    return Outcome(Part(planned(result, options.plan), source=source.name), tuple(issues))


def _pools(route: Route, content: str, taken: set[str], issues: list[Diagnostic]) -> Iterator[Pool]:
    outcome = read("volcano-controller.conf", content.encode("utf-8", "replace"), str(route[0]), own=False)
    if outcome.value is None:
        message = f"the configuration is not valid YAML: {outcome.diagnostics[0].message}"
        issues.append(error("T568", route, message, hint="correct the YAML in this string"))
        return
    for each in items(outcome.value[0].data if outcome.value else None, WORD):
        kind = text(each, "source")
        if kind == "label":
            for name, labels in mapping(each, "config", "networkTopologyTypes").items():
                yield from _pool(str(name), labels, route, taken, issues)
        else:
            message = f'left out the networks that Volcano gets from "{kind[:40]}"'
            issues.append(info("T568", route, message, hint="also import the output of that system"))


def _pool(name: str, labels: Any, route: Route, taken: set[str], issues: list[Diagnostic]) -> Iterator[Pool]:
    keys = [text(each, "nodeLabel") for each in labels] if isinstance(labels, list) else []
    wrong = next((key for key in keys if not is_label_key(key)), None)
    if not keys or wrong is not None or len(set(keys)) < len(keys):
        fault = f'"{wrong[:80]}" is not a label key' if wrong is not None else "it has no labels, or one label twice"
        message = f'Volcano does not accept type "{name[:80]}": {fault}'
        issues.append(error("T568", route, message, hint="list `nodeLabel`s, coarse to fine"))
        return
    if len(name) > LONGEST:
        message = f'the name of type "{name[:80]}" has more than {LONGEST} characters, so Volcano ignores it'
        issues.append(warning("T568", route, message, hint="shorten the name"))
    if keys[-1] != HOSTNAME_LABEL:
        message = f'type "{name[:80]}" ends in "{keys[-1]}", and Volcano ignores the last label'
        issues.append(warning("T568", route, message, hint=f"add {HOSTNAME_LABEL} as the last label"))
    yield label_pool(name, keys[:-1], taken)
