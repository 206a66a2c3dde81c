"""Rules that turn Kubernetes' names of nodes into Slurm's (`schedulers.slurm.names`), derived from pairs of names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from bayplan.plugin import AT, Diagnostic, Part, Route, SourceNode, error, grouped, warning
from bayplan.plugins.slurm.topology import Line, names_in

MOST = 100
"""Rules of a topology file."""
LONGEST = 256

Pair = tuple[str, str]
Rule = Mapping[str, str]


class Split(NamedTuple):
    """A name as the strings around its numbers, and the numbers."""

    texts: tuple[str, ...]
    numbers: tuple[str, ...]


def rules(pairs: Mapping[str, str]) -> list[Rule] | None:
    """Rules that turn the first name of each pair into the second: none if all are equal, None if 100 rules are too
    few."""
    if all(name == other for name, other in pairs.items()):
        return []
    groups: dict[tuple[object, ...], list[Pair]] = {}
    for name, other in pairs.items():
        whole, result = _split(name), _split(other)
        key = (whole.texts, tuple(map(len, whole.numbers)), result.texts, tuple(map(len, result.numbers)))
        groups.setdefault(key, []).append((name, other))
    made_of = [rule for held in groups.values() for rule in _rules(held)]
    if _hold(made_of, pairs):
        return made_of
    explicit = [_explicit(pair) for pair in pairs.items() if len(pairs) <= MOST]
    return explicit if _hold(explicit, pairs) else None


def _hold(result: Sequence[Rule], pairs: Mapping[str, str]) -> bool:
    """Whether the rules give every second name. The first rule that matches a whole name applies."""
    if not 0 < len(result) <= MOST or any(len(text) > LONGEST for rule in result for text in rule.values()):
        return False
    compiled = [(re.compile(rule["from"]), rule["to"]) for rule in result]
    for name, other in pairs.items():
        matches = ((pattern.fullmatch(name), to) for pattern, to in compiled)
        if next((match.expand(to) for match, to in matches if match), name) != other:
            return False
    return True


def _split(name: str) -> Split:
    parts = re.split("([0-9]+)", name)
    return Split(tuple(parts[::2]), tuple(parts[1::2]))


def _explicit(pair: Pair) -> Rule:
    return {"from": _plain(pair[0]), "to": pair[1].replace("\\", "\\\\")}


def _plain(text: str) -> str:
    """A pattern for exactly this string: names have letters, digits, dashes and dots."""
    return text.replace(".", "[.]") if re.fullmatch("[A-Za-z0-9.-]*", text) else re.escape(text)


def _rules(pairs: Sequence[Pair]) -> Iterator[Rule]:
    """One rule for pairs with numbers at the same places, if each new number follows from one old number."""
    left = [_split(name) for name, _ in pairs]
    right = [_split(other) for _, other in pairs]
    columns = [[each.numbers[place] for each in left] for place in range(len(left[0].numbers))]
    varied = [column for column in columns if len(set(column)) > 1]
    result: list[str] = []
    for place in range(len(right[0].numbers)):
        source = _source(varied, [each.numbers[place] for each in right])
        if source is None:
            yield from map(_explicit, pairs)
            return
        result.append(source)
    texts = [text.replace("\\", "\\\\") for text in right[0].texts]
    whole = "".join(text + number for text, number in zip(texts, [*result, ""], strict=True))
    yield {"from": _pattern(left[0].texts, columns), "to": re.sub(r"\\g<([0-9])>(?![0-9])", r"\\\1", whole)}


def _source(varied: Sequence[Sequence[str]], numbers: Sequence[str]) -> str | None:
    """The source of one number in the new names: a constant, or one of the old numbers, possibly with leading zeros."""
    if len(set(numbers)) == 1:
        return numbers[0]
    for place, column in enumerate(varied, 1):
        zeros = len(numbers[0]) - len(column[0])
        if zeros >= 0 and all("0" * zeros + had == want for had, want in zip(column, numbers, strict=True)):
            return f"{'0' * zeros}\\g<{place}>"
    return None


def _pattern(texts: Sequence[str], columns: Sequence[Sequence[str]]) -> str:
    """The pattern of the old names. Numbers that never change are literal."""
    result = _plain(texts[0])
    for text, column in zip(texts[1:], columns, strict=True):
        length = f"{{{len(column[0])}}}" if len(column[0]) > 1 else ""
        result += (f"([0-9]{length})" if len(set(column)) > 1 else column[0]) + _plain(text)
    return result


# Aliases of Slurm's nodes: host names, addresses, and the names of the Kubernetes nodes.

SLURM_NAME = "slinky.slurm.net/slurm-nodename"
"""The label in which Slinky writes Slurm's name of a node (slurm-bridge 1.3)."""


class Listed(NamedTuple):
    """A node and its other names."""

    node: SourceNode
    aliases: tuple[str, ...] = ()
    absent: bool = False  # Slurm declares it, and it does not exist yet
    features: str = ""
    unknown: tuple[str, ...] = ()  # words of its state


def paired(key: str, names: Sequence[str], line: Line, issues: list[Diagnostic]) -> tuple[str, ...]:
    """The other names of the nodes of a line, one for each. None if all nodes share one name."""
    others = names_in(line.pairs[key], line.route, issues)
    if len(others) not in (1, len(names)) and names and others:
        word = "NodeHostname" if "host" in key else "NodeAddr"
        message = f"NodeName lists {len(names)} names, and {word} lists {len(others)}"
        issues.append(error("T537", line.route, message, hint="list one name for each node, in the same order"))
    return others if len(others) == len(names) else ()


def aliases(listed: Sequence[Listed], issues: list[Diagnostic]) -> Iterator[tuple[str, str]]:
    """Other name -> node, for names that mean one node."""
    names = {each.node.name for each in listed}
    owner: dict[str, str] = {}
    shared: dict[str, SourceNode] = {}
    for each in listed:
        for alias in each.aliases:
            if owner.setdefault(alias, each.node.name) != each.node.name or alias in names:
                shared[alias] = each.node
    for alias, node in list(shared.items())[:1]:
        message = f'several nodes share one of {len(shared)} host names, such as "{alias}"; these join no other source'
        issues.append(warning("T537", node.route, message, hint="give each node its own NodeHostname and NodeAddr"))
    yield from ((alias, name) for alias, name in owner.items() if alias not in shared)


def in_kubernetes(aliases: Mapping[str, str], nodes: Iterable[str]) -> dict[str, str]:
    """Slurm's name -> Kubernetes' name, for nodes whose hosts Slurm knows, with or without DNS domains."""
    own = set(aliases.values())
    short = grouped((node.partition(".")[0], node) for node in nodes)
    whole = {node: node for node in nodes} | {name: held[0] for name, held in short.items() if len(held) == 1}
    pairs = ((name, whole.get(alias) or whole.get(alias.partition(".")[0])) for alias, name in aliases.items())
    return {name: node for name, node in pairs if node and node != name and name not in whole and node not in own}


def renamed(
    part: Part, nodes: Mapping[str, Mapping[str, str]], own: Mapping[str, str], at: Route, issues: list[Diagnostic]
) -> Part:
    """The part with the names of Kubernetes, and rules for the names of Slurm. `own`: the source's pairs of both."""
    held = [node for pool in part.topology.pools for node in pool.nodes()]
    pairs = _in_slurm(held, nodes) or {node: name for name, node in own.items()}
    names = {name: node for node, name in pairs.items()}
    if all(names.get(node, node) == node for node in held):
        return part
    places = {names.get(node, node): place for node, place in part.places.items()}
    others = {alias: names.get(name, name) for alias, name in (*part.aliases.items(), *((n, n) for n in names))}
    pools = tuple(pool.renamed(names) for pool in part.topology.pools)
    result = rules({**{node: node for node in (*nodes, *held) if node not in names}, **pairs})
    if result is None:
        message = f"no rule turns the Kubernetes names of {len(pairs)} nodes into their Slurm names"
        hint = "write `schedulers.slurm.names` by hand before you export to Slurm"
        issues.append(warning("T537", (*at, AT, 1, 1), message, hint=hint))
    slurm = {**part.topology.schedulers.get("slurm", {}), **({"names": result} if result else {})}
    schedulers = {**part.topology.schedulers, **({"slurm": slurm} if slurm else {})}
    topology = part.topology._replace(pools=pools, schedulers=schedulers)
    return part._replace(topology=topology, places=places, aliases=others)


def _in_slurm(names: Iterable[str], nodes: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Kubernetes' name -> Slurm's name, for the nodes of every source: by Slinky's label, or without DNS domains."""
    labelled = {node: own[SLURM_NAME] for node, own in nodes.items() if own.get(SLURM_NAME)}
    times = Counter(node.partition(".")[0] for node in nodes)
    short = {node: name for node in nodes if times[name := node.partition(".")[0]] == 1 and name != node}
    result = labelled or short
    return result if not {*result.values()}.isdisjoint(names) else {}
