"""A topology in Topograph's words: a model file, and the answer of its graph engine.

Both take the nodes' labels with them, so that a cluster simulated from them has the levels' labels. What reads back is
said in annotations and labels of `bayplan.dev`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from bayplan.core.values import NamedTuple
from bayplan.model.topology import ClusterTopology, Domain, Pool
from bayplan.topologies import hostlist
from bayplan.topologies.topograph import DOMAIN_LABEL, DOMAIN_NOTE, LEAVES, LEVELS, NVLINK, POOL, levels_text

Key = tuple[tuple[str, str], ...]
"""A switch: label and value of each level from the coarsest one down. Pools share the switches that agree in all."""


class Switch(NamedTuple):
    """One domain of a level."""

    label: str
    value: str
    children: dict[Key, None]


def switches(topology: ClusterTopology) -> dict[Key, Switch]:
    """Every domain of every level, coarse ones first in each line."""
    made: dict[Key, Switch] = {}
    for pool in topology.pools:
        for domain in pool.domains:
            key = _key(pool, domain)
            for depth in range(1, len(key) + 1):
                made.setdefault(key[:depth], Switch(*key[depth - 1], {}))
                if depth > 1:
                    made[key[: depth - 1]].children[key[:depth]] = None
    return made


def names(keys: Iterable[Key]) -> dict[Key, str]:
    """A switch is called like its domain; where several would be, by the whole path."""
    given = list(keys)
    plain = Counter(key[-1][1] for key in given)
    made = {key: key[-1][1] if plain[key[-1][1]] == 1 else ".".join(value for _, value in key) for key in given}
    twice = Counter(made.values())
    return {
        key: name if twice[name] == 1 else ".".join(f"{label}={value}" for label, value in key)
        for key, name in made.items()
    }


def _key(pool: Pool, domain: Domain) -> Key:
    return tuple(zip((level.label for level in pool.levels), domain.path, strict=False))


def model(topology: ClusterTopology) -> str:
    """The text of a model file. Strings are written as JSON has them, which is YAML as well."""
    known = switches(topology)
    called = names(known)
    lines = [f"# {topology.name}: a model for Topograph 1.0"]
    if known:
        lines.append("switches:")
    for key, each in known.items():
        lines += [f"  {_text(called[key])}:", f"    labels: {{{_text(each.label)}: {_text(each.value)}}}"]
        if each.children:
            lines += ["    switches:", *(f"    - {_text(called[child])}" for child in each.children)]
    lines.append("blocks:")
    for pool in topology.pools:
        for domain in pool.domains:
            lines += _block(pool, domain, called) if domain.nodes else ()
    return "".join(f"{line}\n" for line in lines)


def _text(value: str) -> str:
    return json.dumps(value)


def _block(pool: Pool, domain: Domain, called: Mapping[Key, str]) -> Iterator[str]:
    key = _key(pool, domain)
    nodes = ", ".join(map(_text, _lists(domain.nodes)))
    yield f"- switch: {_text(called[key])}" if key else f"- nodes: [{nodes}]"
    if key:
        yield f"  nodes: [{nodes}]"
    notes = {
        POOL: pool.name,
        LEVELS: levels_text(pool.levels),
        NVLINK: domain.nvlink_domain,
        DOMAIN_NOTE: accelerator(pool, domain, called),
        LEAVES: hostlist.compress(domain.leaves),
    }
    yield f"  annotations: {{{', '.join(f'{name}: {_text(each)}' for name, each in notes.items() if each)}}}"


def accelerator(pool: Pool, domain: Domain, called: Mapping[Key, str]) -> str:
    """The NVLink partition, where the pool has a level for it."""
    depth = next((n for n, level in enumerate(pool.levels, 1) if level.nvlink), 0)
    return domain.nvlink_domain or called[_key(pool, domain)[:depth]] if depth else ""


def _lists(nodes: Iterable[str]) -> Iterator[str]:
    """Hostlists with one bracket, at the end of each."""
    run: list[str] = []
    for each in nodes:
        if run and _stem(run[-1]) != _stem(each):
            yield hostlist.compress(run)
            run = []
        run.append(each)
    if run:
        yield hostlist.compress(run)


def _stem(name: str) -> str:
    """What stands before the number that a name ends in; a name that ends in none is alone."""
    stem = name.rstrip("0123456789")
    return stem if 0 < len(name) - len(stem) <= 9 else f"{name}\n"


def graph(topology: ClusterTopology) -> str:
    """The answer of the graph engine, an instance a line."""
    called = names(switches(topology))
    lines = (
        json.dumps({"id": node, "network_layers": layers, "labels": labels})
        for pool in topology.pools
        for domain in pool.domains
        for layers, labels in (_instance(pool, domain, called),)
        for node in domain.nodes
    )
    pools = {pool.name: levels_text(pool.levels) for pool in topology.pools}
    return '{"instances": [\n' + ",\n".join(lines) + f'\n], "{POOL}": {json.dumps(pools)}}}\n'


def _instance(pool: Pool, domain: Domain, called: Mapping[Key, str]) -> tuple[list[str], dict[str, str]]:
    key = _key(pool, domain)
    partition = accelerator(pool, domain, called)
    own = {POOL: pool.name, NVLINK: domain.nvlink_domain, DOMAIN_LABEL: partition}
    labels = {**dict(key), **{label: each for label, each in own.items() if each}}
    return [called[key[:depth]] for depth in range(len(key), 0, -1)], labels
