"""One fabric in the words of each fabric manager: rails of leaf switches, spines above, hosts in units."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

PART = "MQM9700/U1"


class Hall(NamedTuple):
    """`units` of hosts; each host hangs on every rail of its unit. Units of one `block` share their spines."""

    units: tuple[tuple[str, ...], ...]
    rails: int = 2
    spines: int = 2
    block: int = 0  # units below the same spines; 0: all of them
    core: bool = False

    def leaf(self, unit: int, rail: int) -> str:
        return f"leaf-{unit:02}-{rail}"

    def links(self) -> Iterator[tuple[str, str]]:
        """(lower, upper) of every link between switches."""
        for unit in range(len(self.units)):
            for rail in range(self.rails):
                for spine in self._spines(unit):
                    yield self.leaf(unit, rail), spine
        for spine in sorted({spine for unit in range(len(self.units)) for spine in self._spines(unit)}):
            if self.core:
                yield spine, "core-1"

    def _spines(self, unit: int) -> list[str]:
        block = unit // self.block if self.block else 0
        return [f"spine-{block:02}-{n}" for n in range(self.spines)]

    def ports(self) -> Iterator[tuple[str, str, str]]:
        """(host, adapter, leaf)."""
        for unit, hosts in enumerate(self.units):
            for host in hosts:
                for rail in range(self.rails):
                    yield host, f"mlx5_{rail}", self.leaf(unit, rail)

    def switches(self) -> list[str]:
        found = {end for link in self.links() for end in link}
        found |= {leaf for _, _, leaf in self.ports()}
        return sorted(found)


def hall(units: int, hosts: int, **rest: Any) -> Hall:
    """Units of as many hosts each."""
    return Hall(tuple(tuple(f"u{u:02}n{n:02}" for n in range(hosts)) for u in range(units)), **rest)


def ibnetdiscover(hall: Hall) -> str:
    """As the tool prints it."""
    guid = {name: f"S-{n:016x}" for n, name in enumerate(hall.switches(), 1)}
    cards = {(host, card): f"H-{n:016x}" for n, (host, card, _) in enumerate(hall.ports(), 1000)}
    ends: dict[str, list[tuple[str, str]]] = {name: [] for name in hall.switches()}
    for host, card, leaf in hall.ports():
        ends[leaf].append((cards[host, card], f"{host} {card}"))
    for low, high in hall.links():
        ends[low].append((guid[high], f"MF0;{high}:{PART}"))
        ends[high].append((guid[low], f"MF0;{low}:{PART}"))
    lines = ["#", "# Topology file: generated on Fri Nov 20 09:00:00 2026", "#", ""]
    for name, own in ends.items():
        lines += ["vendid=0x2c9", f'Switch\t65 "{guid[name]}"\t\t# "MF0;{name}:{PART}" enhanced port 0 lid 1 lmc 0']
        lines += [f'[{port}]\t"{end}"[1]\t\t# "{said}" lid 2 4xNDR' for port, (end, said) in enumerate(own, 1)] + [""]
    for host, card, leaf in hall.ports():
        lines += ["vendid=0x2c9", f'Ca\t1 "{cards[host, card]}"\t\t# "{host} {card}"']
        lines += [f'[1](0)\t"{guid[leaf]}"[1]\t\t# lid 3 lmc 0 "MF0;{leaf}:{PART}" lid 1 4xNDR', ""]
    return "\n".join(lines)


def ufm(hall: Hall) -> list[dict[str, Any]]:
    """As `/ufmRest/resources/ports` answers."""
    ports = [
        {
            "description": "Computer IB Port",
            "tier": 1,
            "system_name": host,
            "node_description": f"{host} {card}",
            "peer_node_name": leaf,
        }
        for host, card, leaf in hall.ports()
    ]
    both = [*hall.links(), *((high, low) for low, high in hall.links())]
    return ports + [
        {"description": "Switch IB Port", "tier": 2, "system_name": low, "peer_node_name": high} for low, high in both
    ]


def netq(hall: Hall) -> list[dict[str, Any]]:
    """As NetQ answers for one premises."""
    hosts = sorted({host for host, _, _ in hall.ports()})
    ids = {name: f"node{n}" for n, name in enumerate([*hosts, *hall.switches()])}
    cards: dict[tuple[str, str], list[str]] = {}
    for host, card, leaf in hall.ports():
        cards.setdefault((host, leaf), []).append(card)
    links = [
        {
            "compounded_links": [
                {"interfaces": [{"interface": "swp1", "node": ids[leaf]}, {"interface": card, "node": ids[host]}]}
                for card in own
            ],
            "id": f"{ids[host]}-*-{ids[leaf]}",
        }
        for (host, leaf), own in cards.items()
    ]
    links += [{"id": f"{ids[high]}-*-{ids[low]}"} for low, high in hall.links()]
    tier = {**dict.fromkeys(hosts, -1), **{name: 1 + (not name.startswith("leaf")) for name in hall.switches()}}
    nodes = [{"id": ids[name], "name": name, "tier": tier[name]} for name in ids]
    return [{"links": links, "nodes": [{"compounded_nodes": nodes}]}]


def text(data: Any) -> str:
    return json.dumps(data, indent=1)
