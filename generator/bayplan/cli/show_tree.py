"""A counted topology for the terminal: numbers first, then as much of the tree as fits a screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from bayplan.cli.output import Branches, table, tree
from bayplan.core.phrases import count, listing
from bayplan.fabrics import pools_of
from bayplan.model.plan import ONE
from bayplan.model.topology import HOST_LEVEL, ClusterTopology, Fabric
from bayplan.report.findings import escape
from bayplan.topologies.hostlist import compress
from bayplan.topologies.inventory import Amount, LevelCount, PoolCount, Taken, Unit

MOST = 60
"""The most lines of the tree of a pool, unless the user names a level."""

TAKERS = 3
"""Workloads that a line names."""

FEW = 4
"""Sizes of domains that are listed; the rest is counted."""


def draw(topology: ClusterTopology, counted: Sequence[PoolCount], level: str, when: str = "now") -> Iterator[str]:
    """The text, line by line. `level`: the lowest level, `host` for every node, or empty to fit a screen.

    `when`: `now`, or `if nothing runs` without a file that says what runs.
    """
    total = sum(each.amount.nodes for each in counted)
    yield f"{topology.name}: {count(len(counted), 'pool')}, {count(total, 'node')}\n"
    for each in counted:
        yield "\n"
        yield from (f"{line.rstrip()}\n" for line in _pool(each, level, when))
    if topology.fabrics:
        yield "\n"
        yield from (f"{_fabric(topology, each)}\n" for each in topology.fabrics.values())


def _fabric(topology: ClusterTopology, fabric: Fabric) -> str:
    """`fabric east-west: 8 rails of hostdevice over ethernet, on pools h200 and gb200`."""
    links = f" over {fabric.link_type}" if fabric.link_type else ""
    on = [pool.name for pool in pools_of(topology, fabric.name)]
    where = "on all pools" if len(on) == len(topology.pools) else f"on {listing(on, 'and')}" if on else "on no pool"
    return f"fabric {fabric.name}: {count(len(fabric.rails), 'rail')} of {fabric.kind}{links}, {where}"


def _pool(counted: PoolCount, level: str, when: str) -> Iterator[str]:
    pool, amount = counted.pool, counted.amount
    cards = f" of {pool.node.accelerators} {pool.node.accelerator}" if pool.node.accelerator else ""
    yield f"pool {pool.name}: {count(amount.nodes, 'node')}{cards}, {state_of(amount)}"
    if counted.free:
        yield f"{when}: {_free(counted, ())}"
    if counted.levels:
        yield ""
        yield from table([("level", "domains", "nodes each", "usable each", "label"), *map(_level, counted.levels)])
        yield ""
        yield from _fits(counted.levels, "groups of free nodes" if counted.free else "groups of nodes")
        yield ""
        yield from _tree(counted, level)
    elif level == HOST_LEVEL:
        yield ""
        yield from tree(_branches(counted, counted.units, 1, True))


def state_of(amount: Amount, whole: str = "all usable") -> str:
    """`213 usable, 190 planned, 2 cordoned, 1 notReady`."""
    usable = whole if amount.usable == amount.nodes else f"{amount.usable} usable"
    planned = f"{amount.planned} may be planned" if amount.planned != amount.usable else ""
    reasons = (f"{number} {reason}" for reason, number in sorted(amount.unusable.items()))
    return ", ".join(filter(None, (usable, planned, *reasons)))


def _level(level: LevelCount) -> tuple[str, ...]:
    marks = ", ".join(filter(None, ("nvlink" if level.nvlink else "", f"plan {level.plan}" if level.plan else "")))
    label = f"{level.label} ({marks})" if marks else level.label
    return (level.name, str(level.units), _sizes(level.sizes), _sizes(level.usable), label)


def _sizes(sizes: Mapping[int, int]) -> str:
    """`18` if all are equal, or `18 (x 9), 17 (x 2)`."""
    if len(sizes) == 1:
        return str(next(iter(sizes)))
    shown = [f"{size} (x {number})" for size, number in [*sizes.items()][:FEW]]
    rest = [*sizes.items()][FEW:]
    more = f", {rest[-1][0]} to {rest[0][0]} (x {sum(number for _, number in rest)})" if rest else ""
    return ", ".join(shown) + more


def _fits(levels: Sequence[LevelCount], title: str) -> Iterator[str]:
    """How many groups of each size fit, with one domain per group. In brackets, the nodes left over."""
    sizes = [fit.size for fit in levels[0].fits]
    if not sizes:
        return
    head = (title, *map(str, sizes))
    rows = [head]
    for level in levels:
        cells = (
            f"{fit.groups} ({fit.stranded})" if fit.groups and fit.stranded else str(fit.groups or "-")
            for fit in level.fits
        )
        rows.append((f"  in one {level.name}", *cells))
    yield from table(rows, right=True)


def _tree(counted: PoolCount, level: str) -> Iterator[str]:
    """The units down to a level, or as deep as the lines allow. Equal units share a line."""
    names = [each.name for each in counted.levels]
    if level in (*names, HOST_LEVEL):
        yield from tree(_branches(counted, counted.units, [*names, HOST_LEVEL].index(level) + 1, True))
    else:
        for depth in range(len(names), 0, -1):
            lines = [*tree(_branches(counted, counted.units, depth, False))]
            if len(lines) <= MOST or depth == 1:
                break
        yield from lines[:MOST]
        if len(lines) > MOST:
            yield f"... {len(lines) - MOST} more lines: --all shows every node"
        elif depth < len(names):
            yield f"down to {names[depth - 1]}: --level {names[-1]} or --all shows more"


def _branches(counted: PoolCount, units: Sequence[Unit], depth: int, each_one: bool) -> Branches:
    """The lines of units and of everything below them."""
    for group in ([unit] for unit in units) if each_one else _alike(counted, units, depth):
        unit = group[0]
        below: Branches = ()
        if len(unit.path) < depth and unit.below:
            below = _branches(counted, unit.below, depth, each_one)
        elif len(unit.path) < depth:
            below = ((_node(counted, node), ()) for node in unit.members)
        yield _line(counted, group), below


def _node(counted: PoolCount, node: str) -> str:
    """`gb-a1-n03: cordoned`, or what runs there."""
    takers = _takers(counted, counted.taken.get(node, ()), False)
    state = "; ".join(filter(None, (counted.reasons.get(node, ""), takers)))
    return f"{node}: {state}" if state else node


def _free(counted: PoolCount, path: tuple[str, ...]) -> str:
    """`12 nodes free, 10 of them may be planned, 4 full, 48 of 64 gb200 free; team-b/train-7 (16 gb200 on 4 nodes)`."""
    free = counted.free[path]
    planned = [f"{free.planned} of them may be planned"] if free.planned != free.free else []
    states = (("partly free", free.partly), ("full", free.full))
    others = (f"{number} {state}" for state, number in states if number)
    nodes = [f"{count(free.free, 'node')} free", *planned, *others]
    if free.accelerators:
        name = counted.pool.node.accelerator
        nodes.append(f"{free.free_accelerators / ONE:g} of {free.accelerators / ONE:g} {name} free")
    return "; ".join(filter(None, (", ".join(nodes), _takers(counted, free.takers, True))))


def _takers(counted: PoolCount, takers: Sequence[Taken], several: bool) -> str:
    """The largest workloads, with what they take."""
    kind, shown = counted.pool.node.accelerator, []
    for each in takers[:TAKERS]:
        cards = f"{each.accelerators / ONE:g} {kind}" if each.accelerators else ""
        amount = " on ".join(filter(None, (cards, count(each.nodes, "node") if several else "")))
        name = escape(each.name)
        shown.append(f"{name} ({amount})" if amount else name)
    more = [f"{len(takers) - TAKERS} more"] if len(takers) > TAKERS else []
    return ", ".join([*shown, *more])


def _alike(counted: PoolCount, units: Sequence[Unit], depth: int) -> list[list[Unit]]:
    """Groups of neighboring units without lines below them and with equal usable nodes."""
    groups: list[list[Unit]] = []
    previous: Unit | None = None  # the last unit, if others may join its group
    for unit in units:
        leaf = not unit.below or len(unit.path) >= depth
        free = previous and counted.free.get(previous.path) == counted.free.get(unit.path)
        if previous and leaf and previous.amount == unit.amount and free and not unit.amount.unusable:
            groups[-1].append(unit)
        else:
            groups.append([unit])
        previous = unit if leaf else None
    return groups


def _line(counted: PoolCount, group: Sequence[Unit]) -> str:
    unit = group[0]
    if len(group) > 1:
        names = (
            f"{unit.path[-1]} to {group[-1].path[-1]}" if len(group) > 2 else " and ".join(u.path[-1] for u in group)
        )
        free = f", each {_free(counted, unit.path)}" if counted.free else ""
        return f"{names}: {len(group)} x {unit.level} of {_amount(unit.amount)}{free}"
    members = f": {_free(counted, unit.path)}" if counted.free else _named(counted, unit)
    return f"{unit.path[-1] if unit.path else 'nodes'}: {_amount(unit.amount)}{members}"


def _amount(amount: Amount) -> str:
    state = state_of(amount, "")
    return f"{count(amount.nodes, 'node')}{', ' if state else ''}{state}"


def _named(counted: PoolCount, unit: Unit) -> str:
    """The nodes of a finest domain, with unusable nodes by reason."""
    if not unit.members:
        return ""
    reasons = sorted({counted.reasons[node] for node in unit.members if node in counted.reasons})
    out = (f"; {reason} {_listed(n for n in unit.members if counted.reasons.get(n) == reason)}" for reason in reasons)
    return f": {_listed(unit.members)}{''.join(out)}"


def _listed(nodes: Iterable[str]) -> str:
    text = compress(nodes)
    return text if len(text) <= 100 else f"{text[:97]}..."
