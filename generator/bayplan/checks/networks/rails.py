"""Rails of one fabric against each other: devices twice, resources that do not tell cards apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from bayplan.checks.networks.kinds import FABRICS
from bayplan.diagnostics import Diagnostic, Note, Route, error, info, warning
from bayplan.fabrics.hanging import NETWORKED
from bayplan.kube import cel
from bayplan.model.fabric import Fabric


def check(fabric: Fabric) -> Iterator[Diagnostic]:
    """T603, T609, T622."""
    yield from _selectors(fabric)
    yield from _twice(fabric, "hca", "two rails have the RDMA device")
    yield from _twice(fabric, "interface", "two rails have the interface")
    yield from _ports(fabric)
    yield from _claimed(fabric)
    yield from _order(fabric)
    some = [index for index, rail in enumerate(fabric.rails) if not rail.hca]
    if 0 < len(some) < len(fabric.rails):
        message = f'some rails of fabric "{fabric.name}" name an RDMA device and others none'
        hint = "name all of them: NCCL uses those that are named and no others"
        yield warning("T603", (*FABRICS, fabric.name, "rails", some[0]), message, hint=hint)


def _selectors(fabric: Fabric) -> Iterator[Diagnostic]:
    """The API server reads them when a claim is made, and no pod gets its cards then."""
    for index, rail in enumerate(fabric.rails):
        for number, text in enumerate(rail.selectors):
            if why := cel.fault(text):
                here = (*FABRICS, fabric.name, "rails", index, "selectors", number)
                yield error("T622", here, f"the CEL expression cannot be read: {why}", hint="correct it")


def _twice(fabric: Fabric, key: str, what: str) -> Iterator[Diagnostic]:
    first: dict[str, int] = {}
    for index, rail in enumerate(fabric.rails):
        name = getattr(rail, key)
        rails: Route = (*FABRICS, fabric.name, "rails")
        if name and first.setdefault(name, index) != index:
            notes = (Note("the other is here", (*rails, first[name], key)),)
            hint = f"each rail has its own `{key}`"
            yield error("T603", (*rails, index, key), f'{what} "{name}"', notes=notes, hint=hint)


def _claimed(fabric: Fabric) -> Iterator[Diagnostic]:
    """Cards that DRA hands out, and a device plugin too: pods would ask for both."""
    index = next((number for number, rail in enumerate(fabric.rails) if rail.resource), None)
    if fabric.kind == "dranet" and index is not None:
        message = f'cards of the dranet fabric "{fabric.name}" are claimed, and a rail has the resource of a plugin too'
        hint = "leave `resource` out of its rails: one party hands a card out"
        yield error("T603", (*FABRICS, fabric.name, "rails", index, "resource"), message, hint=hint)


def _ports(fabric: Fabric) -> Iterator[Diagnostic]:
    """One port with several rails works for macvlan over several VLANs alone."""
    counted = Counter(rail.device for rail in fabric.rails if rail.device)
    for index, rail in enumerate(fabric.rails):
        if counted[rail.device] > 1 and fabric.kind != "macvlan":
            message = f'{counted[rail.device]} rails of fabric "{fabric.name}" have the port "{rail.device}"'
            yield warning(
                "T603", (*FABRICS, fabric.name, "rails", index, "device"), message, hint="name each rail's own"
            )
            counted[rail.device] = 0


def _order(fabric: Fabric) -> Iterator[Diagnostic]:
    """The kubelet hands out devices of one resource in any order, and Multus binds them in the annotation's order
    (multus-cni 4.3, pkg/k8sclient; facts A5)."""
    if fabric.shared or fabric.kind not in NETWORKED:
        return
    counted = Counter(rail.resource for rail in fabric.rails if rail.resource)
    for resource, rails in counted.items():
        if rails < 2:
            continue
        subnets = {rail.subnet for rail in fabric.rails if rail.resource == resource}
        index = next(n for n, rail in enumerate(fabric.rails) if rail.resource == resource)
        route = (*FABRICS, fabric.name, "rails", index, "resource")
        message = (
            f'{rails} rails of fabric "{fabric.name}" have the resource "{resource}": any card may become any rail'
        )
        hint = "give each rail a resource of its own: a pool of the device plugin for each port"
        if len(subnets) > 1:
            yield warning("T609", route, f"{message}, with the addresses of another", hint=hint)
        else:
            yield info("T609", route, message, hint=hint)
