"""One task group -> one gang of the native format: the tree of its domains, identical tasks folded into podSets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from bayplan.plugin import (
    ClusterTopology,
    Diagnostic,
    Note,
    Outcome,
    Placement,
    Pool,
    Route,
    did_you_mean,
    error,
    info,
    listing,
    non_empty,
    warning,
)
from bayplan.plugins.osmo.pool.levels import near
from bayplan.plugins.osmo.source import Requirement, Task, TaskGroup, label, requirements, stem, unique
from bayplan.plugins.osmo.tasks import NativeData, named

# Topology keys -> levels of the cluster, coarse to fine.
#
# OSMO's keys are names that a pool's administrator gave to node labels, in an order of their own, like the levels of a
# topology. A key is the level of that name, or the level with that label. With a pool configuration, only the label
# decides.

COARSE_TO_FINE = ("region", "zone", "datacenter", "hall", "spine", "block", "leaf", "rack", "clique", "host")
"""Words that give levels an order if there is no topology."""


class Levels(NamedTuple):
    """The level of each key, and its place from coarse (0) to fine."""

    names: Mapping[str, str]
    ranks: Mapping[str, int]


def of_cluster(used: Mapping[str, Requirement], topology: ClusterTopology, names: Mapping[str, str]) -> Outcome[Levels]:
    """The levels in a topology; W466 for each key without a level. `names`: the levels that the labels give."""
    levels_by_key = {key: names.get(key) or _level(key, topology.pools) for key in used}
    missing = tuple(_unknown(used[key], topology) for key, name in levels_by_key.items() if not name)
    if missing:
        return Outcome(None, missing)
    levels = {key: name for key, name in levels_by_key.items() if name}
    best = max(topology.pools, key=lambda pool: sum(pool.level(name) is not None for name in levels.values()))
    depths = {key: best.depth(name) if best.level(name) else len(best.levels) + 1 for key, name in levels.items()}
    return Outcome(Levels(levels, depths))


def _level(key: str, pools: Iterable[Pool]) -> str:
    """The level that has the key as its name, or as its label."""
    levels = [level for pool in pools for level in pool.levels]
    if key == "host" or any(level.name == key for level in levels):
        return key
    return next((level.name for level in levels if level.label == key), "")


def _unknown(requirement: Requirement, topology: ClusterTopology) -> Diagnostic:
    levels = {level.name: level.label for pool in topology.pools for level in pool.levels}
    message = f'the topology has no level "{requirement.key}"; it has {listing([*levels, "host"], "and")}'
    by_label = near(requirement.key, [*levels.values()]) if "/" in requirement.key else ""
    by_name = by_label or did_you_mean(requirement.key, levels)
    hint = (
        by_name
        or "give a level this name, or pass OSMO's pool configuration with --osmo-pool, which has the key's label"
    )
    return error("W466", (*requirement.route, "key"), message, hint=hint)


def not_in_pool(used: Mapping[str, Requirement], pool: str, keys: Sequence[str]) -> Iterator[Diagnostic]:
    """W466 for each key that the pool configuration does not have. OSMO refuses the workflow."""
    for key in (key for key in used if key not in keys):
        have = f"it has {listing(keys, 'and')}" if keys else "it has none"
        message = f'pool "{pool}" has no topology key "{key}"; {have}'
        hint = (
            did_you_mean(key, keys) or "use a key of the pool, or let its administrator add this one to topology_keys"
        )
        yield error("W466", (*used[key].route, "key"), message, hint=hint)


def used(resources: Mapping[str, Any]) -> dict[str, Requirement]:
    """Every key with the first requirement that uses it. As in OSMO, resources that no task uses count too."""
    return _by_key(each for name, resource in resources.items() for each in requirements(name, resource))


def _by_key(requirements: Iterable[Requirement]) -> dict[str, Requirement]:
    first: dict[str, Requirement] = {}
    for each in requirements:
        first.setdefault(each.key, each)
    return first


def assumed(groups: tuple[TaskGroup, ...], order: tuple[str, ...] = ()) -> Outcome[Levels]:
    """The levels if there is no topology: in the pool's own order, or as the groups contain each other.

    A key with fewer groups is the coarser one. If two keys have equally many groups, the words in the keys decide,
    then the order of the file. W479 reports the assumption.
    """
    used = _by_key(each for group in groups for task in group.tasks for each in task.requirements)
    sizes = {key: len(_domains(groups, key)) for key in used}
    first = {key: number for number, key in enumerate(used)}
    places = {key: number for number, key in enumerate(order)}
    keys = sorted(used, key=lambda key: (places.get(key, len(places)), sizes[key], _word(key), first[key]))
    unclear = () if order else tuple(_unclear(keys, sizes, used))
    return Outcome(Levels({key: key for key in keys}, {key: number for number, key in enumerate(keys)}), unclear)


def _domains(groups: Iterable[TaskGroup], key: str) -> set[tuple[str, str]]:
    return {
        (group.name, r.group) for group in groups for task in group.tasks for r in task.requirements if r.key == key
    }


def _word(key: str) -> int:
    places = [number for number, word in enumerate(COARSE_TO_FINE) if word in key.lower()]
    return places[-1] if places else len(COARSE_TO_FINE)


def _unclear(keys: list[str], sizes: Mapping[str, int], used: Mapping[str, Requirement]) -> Iterator[Diagnostic]:
    for coarse, fine in pairwise(keys):
        if sizes[coarse] == sizes[fine]:
            message = f'bayplan assumes that "{coarse}" is coarser than "{fine}", since there is no topology'
            yield warning("W479", (*used[fine].route, "key"), message, hint="pass the cluster's topology with -t")


# The requirements of a task group's tasks -> a tree of domains, their names scoped by the domains around them.
#
# As in OSMO (src/utils/job/topology.py), a task's requirements, coarse to fine, are its path from the root. Three
# things differ from OSMO. The path itself identifies a domain, not its parts joined by hyphens, so `a/b-c` and `a-b/c`
# are two domains. A domain that one task requires and another prefers is required. Chained domains that hold the same
# tasks keep both their required and their preferred level.


class Domain(NamedTuple):
    """Tasks that share a domain: their requirements, one for each task, and the tasks or domains inside."""

    requirements: tuple[Requirement, ...]
    tasks: tuple[Task, ...]
    parts: tuple[Domain, ...]

    @property
    def group(self) -> str:
        """Its name as the user wrote it."""
        return self.requirements[0].group

    @property
    def required(self) -> bool:
        """Whether any task requires it."""
        return any(each.required for each in self.requirements)


def domains(tasks: Sequence[Task], levels: Levels, depth: int = 0) -> tuple[Domain, ...]:
    """The domains of one scope, in the order of their first tasks, without the tasks whose path has ended."""
    inside: dict[tuple[str, str], list[tuple[Task, Requirement]]] = {}
    for task in tasks:
        path = sorted(task.requirements, key=lambda each: levels.ranks[each.key])
        if depth < len(path):
            inside.setdefault((path[depth].key, path[depth].group), []).append((task, path[depth]))
    return tuple(_domain(members, levels, depth) for members in inside.values())


def _domain(members: list[tuple[Task, Requirement]], levels: Levels, depth: int) -> Domain:
    tasks = tuple(task for task, _ in members)
    ended = tuple(task for task in tasks if len(task.requirements) == depth + 1)
    return Domain(tuple(each for _, each in members), ended, domains(tasks, levels, depth + 1))


def chain(domain: Domain) -> tuple[Domain, ...]:
    """A domain and the domains inside it that hold all of its tasks. They are one group with several levels."""
    below = domain.parts[0] if len(domain.parts) == 1 and not domain.tasks else None
    return (domain, *chain(below)) if below else (domain,)


def placement(domains: Sequence[Domain], levels: Levels) -> Placement:
    """The placement of the pods in a chain of domains.

    It has the finest required level: pods in one rack are in one zone too. It has the finest preferred level, if that
    is finer than the required one. Schedulers that cannot meet it try the coarser levels by themselves.
    """
    required = [each for each in domains if each.required]
    finest = domains[-1]
    hard = levels.names[required[-1].requirements[0].key] if required else ""
    soft = "" if finest.required else levels.names[finest.requirements[0].key]
    return Placement(hard, soft)


def conflicts(domain: Domain) -> Iterator[Diagnostic]:
    """W479: some tasks of a domain require it and others prefer it. OSMO follows the first task."""
    hard = [each for each in domain.requirements if each.required]
    soft = [each for each in domain.requirements if not each.required]
    if hard and soft:
        message = f'group "{domain.group}" of key "{hard[0].key}" is required here and preferred elsewhere'
        note = Note("preferred here", soft[0].route)
        hint = "use the same requirementType in all resources; bayplan uses required"
        yield warning("W479", hard[0].route, message, hint=hint, notes=(note,))
    for part in domain.parts:
        yield from conflicts(part)


MAIN = "main"
"""The podSet of a task outside of groups. Its gang has the task's name already."""

ANYWHERE = "anywhere"
"""The group of tasks without topology, beside groups with it."""


class Pods(NamedTuple):
    """A podSet: the tasks that become its pods, in order, and the data that they share."""

    name: str
    tasks: tuple[Task, ...]
    piece: NativeData


class Node(NamedTuple):
    """A gang or group: its placement with the requirements behind it, and the groups or podSets inside."""

    name: str
    placement: Placement = Placement()
    requirements: tuple[Requirement, ...] = ()
    nodes: tuple[Node, ...] = ()
    pods: tuple[Pods, ...] = ()


class Gang(NamedTuple):
    """A task group, the gang that it becomes, and the podSet that leads it."""

    group: TaskGroup
    node: Node


def gang(group: TaskGroup, levels: Levels, pieces: Mapping[str, NativeData]) -> Gang:
    """The gang of a task group; `pieces` has every task's podSet by the task's name."""
    top_domains = domains(group.tasks, levels)
    free = tuple(task for task in group.tasks if not task.requirements)
    folding = _Folding(group, pieces)
    name = label(group.name)
    if not top_domains:
        return Gang(group, Node(name, pods=folding.pods(free)))
    nodes = [_node(chain(domain), levels, folding) for domain in top_domains]
    if len(nodes) == 1 and not free:
        return Gang(group, nodes[0]._replace(name=name))
    if free:
        places = {task.name: number for number, task in enumerate(group.tasks)}
        nodes.append(Node(ANYWHERE, pods=folding.pods(free)))
        nodes.sort(key=lambda node: min(places[task.name] for task in tasks(node)))
    return Gang(group, Node(name, nodes=_named(nodes)))


def findings(group: TaskGroup, levels: Levels) -> Iterator[Diagnostic]:
    """W479, and W464: tasks without topology in a group where others have it."""
    top_domains = domains(group.tasks, levels)
    for domain in top_domains:
        yield from conflicts(domain)
    tasks = [task for task in group.tasks if not task.requirements]
    if top_domains and tasks:
        names = ", ".join(f'"{task.name}"' for task in tasks[:3]) + (" and more" if len(tasks) > 3 else "")
        message = f'tasks without topology in group "{group.name}" may run anywhere, unlike the others: {names}'
        hint = "if you also submit it to OSMO 6.4, give them a topology: OSMO may otherwise never schedule them"
        yield info("W464", (*tasks[0].route, "name"), message, hint=hint)


def _node(domains: tuple[Domain, ...], levels: Levels, folding: _Folding) -> Node:
    """The group of a chain of domains, named after all of them."""
    last = domains[-1]
    written = "-".join(dict.fromkeys(domain.group for domain in domains))
    firsts = tuple(next(r for r in d.requirements if r.required == d.required) for d in domains)
    nodes = _named([_node(chain(domain), levels, folding) for domain in last.parts])
    return Node(label(written), placement(domains, levels), firsts, nodes, folding.pods(last.tasks))


def _named(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """The same nodes with unique names."""
    taken: list[str] = []
    for node in nodes:
        taken.append(unique(node.name, taken, "/".join(r.group for r in node.requirements)))
    return tuple(node._replace(name=name) for node, name in zip(nodes, taken, strict=True))


def tasks(node: Node) -> Iterator[Task]:
    """All tasks at and below a node, podSet by podSet."""
    for pods in node.pods:
        yield from pods.tasks
    for each in node.nodes:
        yield from tasks(each)


class _Folding:
    """Makes podSets of one gang's tasks. Equal tasks share one, except the lead, whose end is the end of the gang."""

    def __init__(self, group: TaskGroup, pieces: Mapping[str, NativeData]) -> None:
        self.lead, self.pieces, self.bare = group.lead, pieces, group.bare
        self.taken = {label(task.name) for task in group.tasks}
        self.used: set[str] = set()

    def pods(self, tasks: Sequence[Task]) -> tuple[Pods, ...]:
        alike: dict[str, list[Task]] = {}
        for task in tasks:
            alike.setdefault(self.key(task), []).append(task)
        return tuple(Pods(self.name(each), tuple(each), self.pieces[each[0].name]) for each in alike.values())

    def key(self, task: Task) -> str:
        from json import dumps

        own = task.name if self.lead and task.name == self.lead.name else ""
        return own + "\0" + dumps(self.pieces[task.name].data, sort_keys=True)

    def name(self, tasks: Sequence[Task]) -> str:
        """The name that the tasks share apart from their numbers, or the name of the first task."""
        first = MAIN if self.bare else label(tasks[0].name)
        common = stem(tuple(label(task.name) for task in tasks)) if len(tasks) > 1 else ""
        free = common and common not in self.used and common not in self.taken
        name = unique(common if free else first, self.used, tasks[0].name)
        self.used.add(name)
        return name


def pod_set_of(node: Node, wanted: Task) -> str:
    """The name of the podSet of a task."""
    here = (pods.name for pods in node.pods if wanted in pods.tasks)
    return next(here, "") or next((name for each in node.nodes if (name := pod_set_of(each, wanted))), "")


def origins(gang: Gang) -> dict[Route, Route]:
    """Routes below the gang -> routes in the source."""
    group, routes = gang.group, dict(_origins(gang.node, ()))
    routes[()] = group.route
    routes[("name",)] = (*group.route, "name")
    if group.lead:
        routes[("lead",)] = (*group.lead.route, "lead")
        routes[("ignoreNonleadFailures",)] = group.status_route
    return routes


def _origins(node: Node, route: Route) -> Iterator[tuple[Route, Route]]:
    if node.requirements:
        at = node.requirements[-1].route
        hard = next((r for r in reversed(node.requirements) if r.required), node.requirements[-1])
        yield route, at
        yield (*route, "placement"), (*at, "key")
        yield (*route, "placement", "required"), (*hard.route, "key")
    for number, pods in enumerate(node.pods):
        for own, source in pods.piece.origins.items():
            yield (*route, "podSets", number, *own), source
        yield (*route, "podSets", number, "name"), (*pods.tasks[0].route, "name")
    for number, each in enumerate(node.nodes):
        yield from _origins(each, (*route, "groups", number))


def data(node: Node, *, channel: bool = True) -> dict[str, Any]:
    """The native data of a gang or group, with its groups and podSets last. `channel`: it may have ComputeDomains."""
    return {
        "name": node.name,
        **non_empty(placement=non_empty(**node.placement._asdict()), computeDomain="" if channel else "never"),
        **non_empty(groups=[data(each, channel=channel) for each in node.nodes]),
        **non_empty(podSets=[_pod_set(each) for each in node.pods]),
    }


def _pod_set(pods: Pods) -> dict[str, Any]:
    replicas = {"replicas": len(pods.tasks)} if len(pods.tasks) > 1 else {}
    pod_set = {"name": pods.name, **replicas, **pods.piece.data}
    return {**pod_set, "template": named(pod_set["template"], pods.name)} if "template" in pod_set else pod_set
