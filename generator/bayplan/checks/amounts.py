"""Quantities, and the files that travel in a ConfigMap."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from bayplan.checks.templates import AMOUNT, COUNTED
from bayplan.core.diagnostics import KEY, Diagnostic, Note, Route, error, warning
from bayplan.core.phrases import count
from bayplan.kube import quantity
from bayplan.kube.pod import file_key
from bayplan.model.walk import pod_sets
from bayplan.model.workflow import Binary, PodSet, Workflow

CONFIG_MAP_LIMIT = 2**20
"""Bytes of all values together, those of `binaryData` decoded (Kubernetes pkg/apis/core/validation: MaxSecretSize holds
for ConfigMaps too)."""

KEY_LIMIT = 253
"""Characters of a ConfigMap key (DNS-1123 subdomain length)."""


def check(workflow: Workflow) -> Iterator[Diagnostic]:
    """W316 to W320, W335."""
    for place in pod_sets(workflow):
        pods, route, _ = place
        for name, value in pods.resources.items():
            yield from _amount(value, (*route, "resources", name), whole="/" in name)
        if pods.shm:
            yield from _amount(pods.shm, (*route, "shm"))
        if pods.accelerator:
            for key in ("memory", "cores"):
                yield from _share(getattr(pods.accelerator, key), (*route, "accelerator", key))
        if pods.files:
            yield from _files(pods, (*route, "files"))


def _amount(text: str, route: Route, *, whole: bool = False) -> Iterator[Diagnostic]:
    hint = COUNTED if whole else AMOUNT
    try:
        amount = quantity.parse(text)
    except ValueError as reason:
        yield error("W319", route, str(reason), hint=hint)
        return
    if amount < 0:
        yield error("W319", route, f'"{text}" is less than nothing', hint=hint)
    elif whole and amount % 1000:
        yield error("W319", route, f'"{text}": extended resources are counted in whole numbers', hint=hint)
    elif not amount:
        yield warning("W320", route, "it asks for nothing", hint="remove it, or say how much is needed")


def _share(text: str, route: Route) -> Iterator[Diagnostic]:
    percent = text.removesuffix("%")
    if text != percent:
        if not (percent.isdecimal() and 0 < int(percent) <= 100):
            yield error("W319", route, f'"{text}" is not a percentage', hint='write it like "50%"')
    elif text:
        yield from _amount(text, route)


def _files(pods: PodSet, route: Route) -> Iterator[Diagnostic]:
    usable = dict.fromkeys(pods.files)
    for path in pods.files:
        wrong = _wrong_path(path, pods)
        if wrong:
            del usable[path]
            yield error("W316", (*route, path, KEY), f'"{path[:200]}" {wrong}', hint='write it like "/opt/job/run.sh"')
    yield from _clashes(usable, route)
    for path, held in pods.files.items():
        if isinstance(held, Binary) and (wrong := _not_base64(held.base64)):
            message = f'the content of "{path[:200]}" is not base64: {wrong}'
            yield error("W335", (*route, path, "base64"), message, hint="write what `base64 FILE` prints")
    size = sum(map(_size, pods.files.values()))
    if size > CONFIG_MAP_LIMIT:
        message = f"the files have {size} bytes; a ConfigMap holds {CONFIG_MAP_LIMIT}"
        yield error("W318", route, message, hint="put large files into the image or a volume")


def _not_base64(text: str) -> str:
    """What is wrong with it; empty when nothing is (RFC 4648, section 4)."""
    strange = re.search(r"[^A-Za-z0-9+/]", text.removesuffix("=").removesuffix("="))
    if strange:
        return f"it has {strange[0]!a} in it"
    return f"it has {count(len(text), 'character')}, which is no multiple of 4" if len(text) % 4 else ""


def _size(held: str | Binary) -> int:
    """Bytes that count against the limit: of a binary file those that it stands for."""
    return len(held.encode("utf-8", "surrogatepass")) if isinstance(held, str) else decoded(held.base64)


def decoded(base64: str) -> int:
    """How many bytes base64 stands for."""
    return len(base64.rstrip("=")) * 3 // 4


def _wrong_path(path: str, pods: PodSet) -> str:
    parts = path.split("/")
    if not path.startswith("/"):
        return "is not an absolute path"
    if not re.fullmatch(r"[-._/A-Za-z0-9]+", path):
        return "has characters other than letters, digits, dashes, dots, underscores and slashes"
    if any(part in ("", ".", "..") for part in parts[1:]):
        return "does not name a file"
    if len(file_key(path)) > KEY_LIMIT:
        return f"is longer than {KEY_LIMIT} characters"
    if pods.shm and (path == "/dev/shm" or path.startswith("/dev/shm/")):
        return "lies in the shared memory"
    return ""


def _clashes(files: Mapping[str, None], route: Route) -> Iterator[Diagnostic]:
    first: dict[str, str] = {}
    for path in files:
        other = first.setdefault(file_key(path), path)
        if other != path:
            message = f'"{path}" and "{other}" would have the same key "{file_key(path)}" in the ConfigMap'
            note = Note("the other file", (*route, other, KEY))
            yield error("W317", (*route, path, KEY), message, hint="rename one of them", notes=(note,))
        parents = [path[:cut] for cut in range(1, len(path)) if path[cut] == "/"]
        for parent in (each for each in parents if each in files):
            note = Note("the file", (*route, parent, KEY))
            message = f'"{path}" lies below "{parent}", which is a file'
            yield error("W317", (*route, path, KEY), message, hint="rename one of them", notes=(note,))
