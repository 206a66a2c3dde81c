"""Networks that Multus attaches, written as `kube/multus.py` reads them."""

from __future__ import annotations

from typing import Any

from bayplan.fabrics.common import pod
from bayplan.fabrics.wanted import Wanted
from bayplan.kube.multus import NETWORKS
from bayplan.model.fabric import Rail
from bayplan.model.manifest import PodParts


def attached(asked: Wanted, locked: bool) -> PodParts:
    """A pod that is attached to each rail."""
    names = interfaces(asked)
    made = pod(asked, names[0] if names else "", locked)
    return made._replace(annotations={NETWORKS: annotation(asked)}) if names else made


def interfaces(asked: Wanted) -> tuple[str, ...]:
    """How the interfaces of the attached networks are called, in order: by their place where nobody names them."""
    found = (rail.interface or f"net{number + 1}" for number, rail in enumerate(networked(asked)))
    return tuple(found)


def networked(asked: Wanted) -> tuple[Rail, ...]:
    """The rails that have a network."""
    return tuple(rail for rail in asked.rails if rail.network)


def annotation(asked: Wanted) -> str:
    """`ns/name@interface, ...`; JSON where one has an address of its own, for which the short form has no place."""
    if not asked.asked.address:
        return ",".join(rail.network + (f"@{rail.interface}" if rail.interface else "") for rail in networked(asked))
    import json  # rank 0 of few workflows

    rails = [_entry(asked, number, rail) for number, rail in enumerate(networked(asked))]
    return json.dumps(rails, separators=(",", ":"))


def _entry(asked: Wanted, number: int, rail: Rail) -> dict[str, Any]:
    namespace, _, name = rail.network.rpartition("/")
    return {
        "name": name,
        **({"namespace": namespace} if namespace else {}),
        **({"interface": rail.interface} if rail.interface else {}),
        **({} if number else {"ips": [asked.asked.address]}),
    }
