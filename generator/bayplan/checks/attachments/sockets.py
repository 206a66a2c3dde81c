"""What NCCL and Gloo are told, against what is attached (NCCL 2.30, `env.rst`)."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.checks.attachments.said import GLOO, Said
from bayplan.checks.attachments.seen import Seen
from bayplan.diagnostics import Diagnostic, error, warning
from bayplan.fabrics.kinds import interfaces
from bayplan.fabrics.pods import MOST_HCAS, NCCL, hca, hca_difference, hcas
from bayplan.words import listing

SOCKET, DEVICES, GID = "NCCL_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_IB_GID_INDEX"


def check(seen: Seen) -> Iterator[Diagnostic]:
    """W530 to W532, W543, W546."""
    told = seen.variables()
    for name, there in ((SOCKET, (seen.asked.primary, *interfaces(seen.asked))), (DEVICES, hcas(seen.asked))):
        if name in told and told[name].value[:1] not in ("=", "^"):
            yield from _loose(name, told[name], there)
    if GID in told and not told[GID].topology:
        message = f"{GID} is the number of a row in a table of the node, which need not be the same on all of them"
        hint = (
            "leave it out: since 2.21 NCCL finds the row itself; what the cluster needs goes into `env` of the fabric"
        )
        yield warning("W531", told[GID].route, message, hint=hint)
    yield from _interfaces(seen, told.get(SOCKET), told.get(GLOO))
    yield from _devices(seen, told.get(DEVICES))


def _loose(name: str, one: Said, there: tuple[str, ...]) -> Iterator[Diagnostic]:
    """W530. The hint is what is meant, of what the pods have."""
    first = one.value.partition(",")[0]
    begun = [each for part in one.value.split(",") for each in _meant_by(part, there)]
    if not one.value:
        message = f"an empty {name} names nothing, and NCCL chooses among all that it sees"
        yield warning("W530", one.route, message, hint="leave it out: bayplan says which are the pod's")
    elif begun or not there:
        message = f'NCCL takes "{first}" in {name} for the beginning of a name: "{first}0" is meant, too'
        exact = ",".join(dict.fromkeys(begun)) or one.value
        yield warning("W530", one.route, message, hint=f'write "={exact}"')


def _meant_by(part: str, there: tuple[str, ...]) -> Iterator[str]:
    """The name itself, where there is one, else those that begin with it; a port (mlx5_0:1) goes with it."""
    plain, colon, port = part.partition(":")
    names = [plain] if plain in there else [each for each in there if each.startswith(plain)]
    return (f"{each}{colon}{port}" for each in names)


def _interfaces(seen: Seen, *told: Said | None) -> Iterator[Diagnostic]:
    """W532. What the interfaces of a node are called is not known, nor those of claimed cards that nobody names."""
    own = interfaces(seen.asked)
    unknown = seen.asked.fabric.kind == "dranet" and len(own) < len(seen.asked.rails)
    if seen.asked.fabric.kind == "hostnetwork" or unknown:
        return
    there = (seen.asked.primary, *own)
    for one in (each for each in told if each and each.value):
        if one is told[-1] and one.value[0] in "=^":
            continue  # that is no name at all (W529)
        names = one.value.lstrip("=").split(",")
        exact = one.value[:1] == "=" or one is told[-1]
        lost = [name for name in names if not _meant(name, there, exact)]
        if lost and one.value[:1] != "^":
            message = f'{seen.title} has no interface "{lost[0]}": it has {listing(there, "and")}'
            yield error("W532", one.route, message, hint="name one of them, or leave the variable out")


def _meant(name: str, there: tuple[str, ...], exact: bool) -> bool:
    plain = name.partition(":")[0]
    return plain in there if exact else any(each.startswith(plain) for each in there)


def _devices(seen: Seen, told: Said | None) -> Iterator[Diagnostic]:
    """W543: the list and the rails differ; W546: a list that NCCL does not read to its end."""
    asked = seen.asked
    known = all(hca(asked, number) for number in range(len(asked.rails)))
    there = hcas(asked)
    if told and told.value and known and asked.rails and (why := hca_difference(told.value, there)):
        message = f"NCCL_IB_HCA and the rails of {seen.title} differ: {why}"
        hint = "leave it out: bayplan lists the devices of the rails that are attached"
        yield error("W543", told.route, message, hint=hint)
    if not told and len(there) > MOST_HCAS and asked.vendor in NCCL:
        message = f"{seen.title} has {len(there)} RDMA devices, and NCCL reads {MOST_HCAS} of NCCL_IB_HCA"
        yield error("W546", seen.route, message, hint="attach fewer with `rails`")
