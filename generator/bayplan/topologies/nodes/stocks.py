"""Counted nodes, sorted: those of one make are one stock, or those that a pool of another source takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from bayplan.core.diagnostics import Diagnostic, Route, error, info, warning
from bayplan.core.phrases import count, listing
from bayplan.core.values import NamedTuple
from bayplan.model.topology import NodeShape, Pool
from bayplan.topologies import grouping
from bayplan.topologies.nodes import shapes
from bayplan.topologies.nodes.census import Alike, Census, nodes_of, size
from bayplan.topologies.nodes.words import are, has


class Stock(NamedTuple):
    """Nodes that become pools with one list of levels. `frame`: the pool that another source has described."""

    name: str
    make: shapes.Make
    kind: str  # of accelerator
    alike: tuple[Alike, ...]
    frame: Pool | None = None


def stocks(census: Census, frames: Sequence[Pool], found: list[Diagnostic]) -> list[Stock]:
    """All workers. What is none is left out, and told of."""
    cards = any(map(shapes.resource_of, census.alike)) or any(map(shapes.stranger, census.alike))
    sorted_in = [(each, _frame(each, frames) if frames else None) for each in census.alike]
    workers = [(each, frame) for each, frame in sorted_in if frame or not _idle(each, cards)]
    kept = workers or sorted_in  # a cluster of one node for everything
    found += _left_out(
        [each for each, frame in sorted_in if not frame and _idle(each, cards)] if workers else (), census.places
    )
    made = [(each, frame, shapes.make_of(each)) for each, frame in kept]
    kinds = shapes.kinds_of(make.product for _, _, make in made if make.resource)
    taken = {frame.name: frame for _, frame in kept if frame}
    names = _names({make for _, frame, make in made if not frame}, kinds, taken)
    found += _strangers([each for each, _ in kept], census.places)
    found += _nameless([each for each, _ in kept], census.places)
    held: dict[str, dict[shapes.Make, list[Alike]]] = {}
    for each, frame, make in made:
        held.setdefault(frame.name if frame else names[make], {}).setdefault(make, []).append(each)
    return [_stock(name, makes, kinds, taken.get(name), census.places, found) for name, makes in sorted(held.items())]


def _frame(alike: Alike, frames: Iterable[Pool]) -> Pool | None:
    """The first pool whose selector takes the nodes; one without a selector takes what has its GPUs."""
    for frame in frames:
        wanted = frame.node.node_selector
        if wanted and all(alike.labels.get(key) == value for key, value in wanted.items()):
            return frame
    resource = shapes.resource_of(alike)
    if not resource or shapes.is_control(alike):
        return None
    kind, cards = shapes.kind_of(shapes.product_of(alike)), shapes.built_in(alike)[resource]
    return next((each for each in frames if not each.node.node_selector and _fits(each.node, kind, cards)), None)


def _fits(node: NodeShape, kind: str, cards: int) -> bool:
    return node.accelerator in ("", kind) and node.accelerators in (0, cards)


def _idle(alike: Alike, cards: bool) -> bool:
    return shapes.is_control(alike) or (cards and not shapes.resource_of(alike) and not shapes.stranger(alike))


def _left_out(alike: Sequence[Alike], places: Mapping[str, Route]) -> Iterator[Diagnostic]:
    control = nodes_of(filter(shapes.is_control, alike))
    plain = nodes_of(each for each in alike if not shapes.is_control(each))
    for names, why in ((control, "of the control plane"), (plain, "without GPUs, unlike others")):
        if names:
            yield info("T515", places[names[0]], f"{are(names)} {why}: {len(names)} left out")


def _strangers(alike: Iterable[Alike], places: Mapping[str, Route]) -> Iterator[Diagnostic]:
    """T590: accelerators for which there is no kind."""
    held: dict[str, list[Alike]] = {}
    for each in alike:
        if strange := shapes.stranger(each):
            held.setdefault(strange, []).append(each)
    for resource, own in sorted(held.items()):
        names = nodes_of(own)
        message = f'{has(names)} "{resource}", which is not known as an accelerator: it is written under `resources`'
        hint = "workloads ask for it there, and no pod asks for it by `accelerator` or with `wholeNode`"
        yield warning("T590", places[names[0]], message, hint=hint)


def _nameless(alike: Iterable[Alike], places: Mapping[str, Route]) -> Iterator[Diagnostic]:
    """T527: where GPU feature discovery has named the GPUs of some, it has failed on the others."""
    by_name: dict[bool, list[Alike]] = {}
    for each in alike:
        if shapes.resource_of(each):
            by_name.setdefault(bool(shapes.labelled(each)), []).append(each)
    if len(by_name) == 2:
        names = nodes_of(by_name[False])
        resource = shapes.resource_of(by_name[False][0])
        like = _neighbours(by_name[False], by_name[True])
        products = sorted({shapes.labelled(each) for each in like})
        message = (
            f'{has(names)} "{resource}" and no label "{shapes.label_of(like[0])}", unlike {count(size(like), "node")}'
            f" with {listing(products, 'and', 3)}: a pool apart"
        )
        hint = "does GPU feature discovery run on them? If their GPUs are the same, they need the label too"
        yield warning("T527", places[names[0]], message, hint=hint)


def _neighbours(nameless: Sequence[Alike], named: Sequence[Alike]) -> list[Alike]:
    """Those that have as many GPUs; all where none have."""
    cards = [shapes.built_in(each) for each in nameless]
    return [each for each in named if shapes.built_in(each) in cards] or list(named)


def _names(makes: set[shapes.Make], kinds: Mapping[str, str], taken: Iterable[str]) -> dict[shapes.Make, str]:
    """A name for the pool of each make: its GPU's, else its instance type's."""
    used = set(taken)
    stems = {make: kinds[make.product] if make.resource else shapes.slug(make.product) or "cpu" for make in makes}
    return {make: grouping.free(stems[make], used) for make in sorted(makes)}


def _stock(
    name: str,
    makes: Mapping[shapes.Make, list[Alike]],
    kinds: Mapping[str, str],
    frame: Pool | None,
    places: Mapping[str, Route],
    found: list[Diagnostic],
) -> Stock:
    """The nodes of one pool. Only a frame can bring several makes together."""
    first, *others = sorted(makes, key=lambda make: (not make.resource, -size(makes[make]), make))
    many = nodes_of(makes[first])[0]
    for other in others:
        few = nodes_of(makes[other])
        if first.resource and not other.resource:
            message = f'{are(few)} without GPUs, and the selector of pool "{name}" takes them'
            found.append(warning("T515", places[few[0]], message, hint="left out: select by a label of GPU nodes"))
        else:
            message = f'pool "{name}" takes {_make(first)}, such as "{many}", and {_make(other)}, such as "{few[0]}"'
            hint = "give each kind of node a pool, with a `nodeSelector` of its own"
            found.append(error("T514", places[few[0]], message, hint=hint))
    kind = (frame.node.accelerator if frame else "") or kinds.get(first.product, "") if first.resource else ""
    return Stock(name, first, kind, tuple(makes[first]), frame)


def _make(make: shapes.Make) -> str:
    return f"nodes with {make.product or make.resource or 'no GPUs'}{f' on {make.arch}' if make.arch else ''}"
