"""Images and mounts as pyxis takes them (pyxis 0.20, enroot 3.5), in the words of Kubernetes."""

from __future__ import annotations

import re

from bayplan.values import NamedTuple

_REFERENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]*")


class Image(NamedTuple):
    """An image that a kubelet can pull; else why there is none."""

    name: str
    user: str = ""  # enroot's credentials are looked up by it
    why: str = ""


def image(text: str) -> Image:
    """`docker://USER@REGISTRY#IMAGE:TAG`, where all but the image may be left out."""
    scheme, colon, rest = text.partition("://")
    if colon and scheme not in ("docker",):
        return Image("", why=f"{scheme}:// is an image that a node has already")
    rest = rest if colon else text
    if not colon and (rest.startswith(("/", "./", "../", "~")) or rest.endswith((".sqsh", ".sqfs", ".squashfs"))):
        return Image("", why="a squashfs file is an image of enroot alone")
    user, at, name = rest.partition("@")
    if not at or name.startswith("sha256:") or "/" in user or "#" in user or ":" in user:
        user, name = "", rest
    name = name.replace("#", "/", 1)
    return Image(name, user) if _REFERENCE.fullmatch(name) else Image("", why="it is no name of an image")


class Mount(NamedTuple):
    """A folder or file of the node, and where the container has it."""

    source: str
    target: str
    read_only: bool = False


def mounts(text: str) -> tuple[Mount, ...] | None:
    """`/data:/data:ro,/scratch`. None where it is no such list."""
    found = []
    for part in text.split(","):
        source, *rest = part.split(":")
        target = rest[0] if rest and rest[0] else source
        flags = "+".join(rest[1:]).split("+")
        if not source.startswith("/") or not target.startswith("/") or len(rest) > 2 or ".." in part.split("/"):
            return None
        found.append(Mount(source.rstrip("/") or "/", target.rstrip("/") or "/", "ro" in flags))
    return tuple(found)
