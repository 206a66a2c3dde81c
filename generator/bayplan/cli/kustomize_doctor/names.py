"""Names in built objects that another object had before kustomize renamed it.

The fields are those of kustomize-plugin/references/names.yaml. A name counts as lost where no object of that kind has
it, and one has it with something before or behind it: a prefix, a suffix, a hash.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from bayplan.data import data_text
from bayplan.kube.safe import api_group, get, items, pod_templates, text
from bayplan.text.document import read

HOST = re.compile(r"(?<![-a-z0-9.])([a-z0-9][-a-z0-9]*)\.([a-z0-9][-a-z0-9]*)")


def name(data: Any) -> str:
    """The name of an object."""
    return text(data, "metadata", "name")


def title(data: Any) -> str:
    """`JobSet "dev-train"`."""
    return f'{text(data, "kind")} "{name(data)}"'


def lost(objects: Sequence[Any]) -> Iterator[tuple[str, str, str, str]]:
    """Owner, field, what it says, and the object that it meant."""
    table = read("names.yaml", data_text("kustomize-plugin", "references", "names.yaml").encode(), "names", own=False)
    for row in items(table.value[0].data if table.value else {}, "nameReference"):
        targets = [each for each in objects if _is(each, row)]
        present = {name(each) for each in targets}
        for spec in items(row, "fieldSpecs") if targets else ():
            for owner in (each for each in objects if _is(each, spec)):
                for said in _values(owner, _path(text(spec, "path"))):
                    meant = next((each for each in targets if said not in present and _renamed(said, name(each))), None)
                    if meant is not None:
                        yield title(owner), text(spec, "path"), said, title(meant)


def _is(data: Any, row: Any) -> bool:
    return text(data, "kind") == text(row, "kind") and text(row, "group") in ("", api_group(data))


def _path(path: str) -> list[str]:
    return [word.replace("\0", "/") for word in path.replace("\\/", "\0").split("/")]


def _values(data: Any, path: Sequence[str]) -> Iterator[str]:
    """The texts at the end of a path; lists on the way are walked through."""
    if isinstance(data, list):
        for each in data:
            yield from _values(each, path)
    elif path:
        yield from _values(get(data, path[0]), path[1:])
    elif isinstance(data, str) and data:
        yield data


def _renamed(before: str, now: str) -> bool:
    """Whether a prefix or a suffix makes the one of the other."""
    return now != before and (now.endswith(f"-{before}") or now.startswith(f"{before}-"))


def channels(objects: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """ComputeDomains that were renamed while their channel template, with a name of its own, was not."""
    for each in (each for each in objects if text(each, "kind") == "ComputeDomain"):
        channel, words = text(each, "spec", "channel", "resourceClaimTemplate", "name"), name(each).split("-")
        former = ("-".join(words[cut:]) for cut in range(1, len(words)))
        if any(channel.startswith(f"{word}-") for word in former) and not channel.startswith(name(each)):
            yield title(each), channel


def hosts(objects: Sequence[Any]) -> Iterator[tuple[str, str, str]]:
    """Owner, host name in an environment or an argument, and what now has the name of its Service."""
    services = [each for each in objects if text(each, "kind") in ("Service", "JobSet", "LeaderWorkerSet")]
    present = {name(each) for each in services} | {text(each, "spec", "network", "subdomain") for each in services}
    for owner in objects:
        said = {host: host.split(".")[1] for word in _words(owner) for host in _hosts(word)}
        for host, service in said.items():
            meant = next((each for each in services if service not in present and _renamed(service, name(each))), None)
            if meant is not None:
                yield title(owner), host, title(meant)


def _hosts(word: str) -> Iterator[str]:
    yield from (match[0] for match in HOST.finditer(word))


def _words(data: Any) -> Iterator[str]:
    """Free text in the containers of an object's pods."""
    for _, pod in pod_templates(data):
        for container in (*items(pod, "spec", "containers"), *items(pod, "spec", "initContainers")):
            yield from (text(each, "value") for each in items(container, "env"))
            listed = (*items(container, "command"), *items(container, "args"))
            yield from (each for each in listed if isinstance(each, str))
