"""Mounts of a role -> volumes and mounts of the template. `asdict` drops their kind, which their keys tell again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.diagnostics import Diagnostic, Route, error, info
from bayplan.kube import values
from bayplan.values import NamedTuple

RDMA = "/dev/infiniband"


class Mounts(NamedTuple):
    """Volumes of the pod, mounts of its container, what was found."""

    volumes: list[dict[str, Any]]
    mounts: list[dict[str, Any]]
    found: tuple[Diagnostic, ...]


def mounts(given: Sequence[Mapping[str, Any]], fabric: bool, route: Route) -> Mounts:
    """W576 (rule TX02): devices that a device plugin hands in; W577: devices that would take a privileged pod, and
    mounts that say not what they mount; W599."""
    made = Mounts([], [], ())
    for number, each in enumerate(given):
        at: Route = (*route, number)
        if "permissions" in each:
            made = made._replace(found=(*made.found, _device(each, fabric, at)))
        elif ("src" in each) == ("src_path" in each):
            hint = "give src of a volume claim, or src_path of a folder of the node"
            wrong = error("W577", at, f'the mount at "{each["dst_path"]}" names no source, or two', hint=hint)
            made = made._replace(found=(*made.found, wrong))
        else:
            _add(made, each, f"mount-{number}")
            made = made._replace(found=(*made.found, *_claim(each, at)))
    return made


def _claim(each: Mapping[str, Any], at: Route) -> Iterator[Diagnostic]:
    """W599: a volume claim cannot have that name."""
    if "src" in each and (wrong := values.claim(each["src"])):
        yield error("W599", (*at, "src"), wrong, hint=values.CLAIM_HINT)


def _add(made: Mounts, each: Mapping[str, Any], name: str) -> None:
    claim = {"persistentVolumeClaim": {"claimName": each.get("src")}}
    made.volumes.append({"name": name, **(claim if "src" in each else {"hostPath": {"path": each["src_path"]}})})
    sealed = {"readOnly": True} if each.get("read_only") else {}
    made.mounts.append({"name": name, "mountPath": each["dst_path"], **sealed})


def _device(each: Mapping[str, Any], fabric: bool, at: Route) -> Diagnostic:
    path = str(each.get("src_path", ""))
    if fabric and (path == RDMA or path.startswith(f"{RDMA}/")):
        message = f'"{path}" is left out: the device plugin of the fabric\'s resource gives it to the container'
        return info("W576", at, message, hint="drop the mount: with it TorchX makes the pod privileged")
    message = f'"{path}" as a device needs a privileged pod, which bayplan makes of no role'
    hint = "ask for the device by a device plugin's resource in `devices`"
    if path.startswith(RDMA):
        hint = "ask for the cards in `devices`, and describe them in the topology's `fabrics`"
    return error("W577", at, message, hint=hint)
