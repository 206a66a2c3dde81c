"""OSMO's own workflow files as cases of the bench: on clusters with exactly enough nodes, and with one too few."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from bayplan.core.diagnostics import Outcome
from bayplan.model.formats import Source
from bayplan.model.plan import ONE, Plan, accelerator, all_pods
from bayplan.planning.fit.problem import demand
from bayplan.plugins.osmo import text
from e2e.compare import Verdict, compare
from e2e.kai import KAI
from e2e.run import judge, world
from e2e.scene import scene
from e2e.scheduler import UNFIT, Case, Change, Object, Release, World
from osmo_texts import EXAMPLES, in_this_process
from test_osmo import REFUSED, VARIABLES

CHECKOUT = os.environ.get("BAYPLAN_OSMO", "")
"""A checkout of OSMO. Without it, the cases are the files in `shared/examples/osmo`, which are fewer."""

ALSO_REFUSED = frozenset(
    {
        "test__workflow__invalid_src_dest_mount",  # a mount of three parts
        "test__workflow__template_too_much_cpu",
        "test__workflow__template_too_much_memory",
    }
)
"""What OSMO refuses in a checkout, beside the files of `test_osmo`."""

RELEASES = tuple(Release(KAI._replace(accepted=UNFIT), version) for version in ("0.14.7", "0.17.0"))
"""The KAI that OSMO installs, and the newest. No gap is accepted: with JobSets, KAI 0.14 ignores our PodGroups."""

OLD = RELEASES[0]
MAIN = "main"
"""The pool of tasks without a platform."""

LARGE = {"accelerator": "gpu", "count": 64, "cpu": "999", "memory": "9999Gi"}
"""A node with room for every pod of the files."""


class Spec(NamedTuple):
    """A workflow file: its path with "__" for "/", and its data after the template stage."""

    name: str
    data: Mapping[str, Any]


def files() -> dict[str, Path]:
    """The files that OSMO accepts."""
    return {name: path for name, path in sorted(_files()) if name not in {*REFUSED, *ALSO_REFUSED}}


def specs() -> list[Spec]:
    """What they say."""
    return [read(name) for name in files()]


@cache
def read(name: str) -> Spec:
    """What one of them says."""
    return Spec(name, _read(files()[name]))


def _files() -> Iterator[tuple[str, Path]]:
    if not CHECKOUT:
        yield from ((path.stem, path) for path in EXAMPLES.glob("*.yaml"))
        return
    for path in Path(CHECKOUT).rglob("*.y*ml"):
        if re.search(r"^workflow:", path.read_text(encoding="utf-8"), re.MULTILINE):
            yield "__".join(path.relative_to(CHECKOUT).with_suffix("").parts), path


def _read(path: Path) -> Mapping[str, Any]:
    """With a value for each variable that the file leaves to `--set`."""
    raw = path.read_text(encoding="utf-8")
    used = {
        key: value for key, value in VARIABLES.items() if re.search(rf"{{{{ *{key} *}}}}", raw) and f"{key}:" not in raw
    }
    source = Source("", used, _beside(path.parent), in_this_process)
    found = text.read(path.name, raw.encode(), "workflow", source)
    assert found.value, found.diagnostics
    data: Mapping[str, Any] = found.value[0].data
    return data


def _beside(folder: Path) -> Callable[[str], Outcome[bytes]]:
    """The files that `localpath` names, or a stub if there is only the workflow."""

    def read(name: str) -> Outcome[bytes]:
        path = folder / name
        return Outcome(path.read_bytes() if path.is_file() else b"echo stub\n")

    return read


# Clusters

Counts = Mapping[str, int]  # pool -> usable nodes


class Layout(NamedTuple):
    """How the nodes of a pool are spread.

    `racks`: number of usable nodes -> number in each rack. `key`: the topology key that each task requires.
    """

    name: str
    racks: Callable[[int], tuple[int, ...]]
    key: str = ""


LAYOUTS = (
    Layout("one rack", lambda count: (count,)),
    Layout("racks of one node", lambda count: (1,) * count or (0,)),
    Layout("one required of two racks", lambda count: (count, count), "rack"),
)


def case(spec: Spec, layout: Layout, nodes: Mapping[str, Object], counts: Counts) -> Case:
    """The file on a cluster. Every rack has one more node, which is cordoned."""
    pools = [_pool(name, node, layout.racks(counts[name])) for name, node in nodes.items()]
    return Case(f"{spec.name}, {layout.name}", _keyed(spec.data, layout.key), cluster(pools))


def cluster(pools: list[Object]) -> Object:
    """A topology file of these pools."""
    kind = {"gpu": {"vendor": "nvidia", "allocator": "device-plugin", "resources": {"count": "nvidia.com/gpu"}}}
    defaults = {"scheduler": "kai", "namespace": "ml", "queue": "research", "pool": MAIN}
    return {
        "apiVersion": "bayplan.dev/v1alpha1",
        "kind": "ClusterTopology",
        "metadata": {"name": "osmo"},
        "spec": {"defaults": defaults, "pools": pools, "accelerators": kind},
    }


def _pool(name: str, node: Object, racks: tuple[int, ...]) -> Object:
    names = [[f"{name}-{rack}-{number}" for number in range(usable + 1)] for rack, usable in enumerate(racks)]
    return {
        "name": name,
        "node": {**node, "nodeSelector": {"example.com/pool": name}},
        "levels": [{"name": level, "label": f"example.com/{level}"} for level in ("zone", "rack")],
        "domains": [{"path": f"z/{rack}", "nodes": ",".join(each)} for rack, each in enumerate(names)],
        "unusable": {"cordoned": ",".join(each[-1] for each in names)},
    }


def _keyed(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The workflow with the topology key in each of its resources."""
    if not key:
        return data
    flow = data["workflow"]
    resources = {"default": {}, **flow.get("resources", {})}
    keyed = {name: {**each, "topology": [{"key": key}]} for name, each in resources.items()}
    return {**data, "workflow": {**flow, "resources": keyed}}


class Sized(NamedTuple):
    """A file with nodes that hold its largest pod, and the smallest numbers of them on which it fits."""

    spec: Spec
    layout: Layout
    nodes: Mapping[str, Object]
    counts: Counts
    steps: tuple[tuple[str, ...], ...]  # the gangs of each rendering; (): all. With KAI 0.14, one by one if some wait

    def cases(self, counts: Counts) -> list[Case]:
        """What is rendered, on a cluster with these nodes."""
        whole = case(self.spec, self.layout, self.nodes, counts)
        return [whole._replace(gangs=gangs) for gangs in self.steps]


def sized(spec: Spec, layout: Layout, release: Release) -> Sized:
    """The smallest cluster for a file."""
    large = dict.fromkeys(_platforms(spec), LARGE)
    plan = scene(case(spec, layout, large, dict.fromkeys(large, 1)), RELEASES[-1]).plan
    pods = [each for gang in plan.gangs for each in all_pods(gang.root)]
    used = {
        each.pool: [demand(one, plan.topology) for one in pods if one.pool == each.pool for _ in range(one.total)]
        for each in pods
    }
    nodes = {name: _node(used.get(name, [])) for name in large}
    counts = {name: len(used.get(name, ())) for name in large}
    found = Sized(spec, layout, nodes, counts, _steps(plan, release))
    for name in used:
        while (fewer := found.counts[name] - 1) >= 0 and fits(found, {**found.counts, name: fewer}, release):
            found = found._replace(counts={**found.counts, name: fewer})
    return found


def _steps(plan: Plan, release: Release) -> tuple[tuple[str, ...], ...]:
    serial = any(gang.after for gang in plan.gangs)
    return tuple((gang.gang.name,) for gang in plan.gangs) if serial and release == OLD else ((),)


def _platforms(spec: Spec) -> list[str]:
    flow = spec.data["workflow"]
    return sorted({MAIN, *(each["platform"] for each in flow.get("resources", {}).values() if each.get("platform"))})


def _node(demands: list[Mapping[str, int]]) -> Object:
    """A node with what the largest pod requests of each resource."""
    most = {key: max(each.get(key, 0) for each in demands) for key in {key for each in demands for key in each}}
    cards = most.get(accelerator("gpu"), 0) // ONE
    amounts = {key: f"{-(-most[key] // ONE)}" for key in ("cpu", "memory") if key in most}
    return {**({"accelerator": "gpu", "count": cards} if cards else {}), **amounts}


def fits(found: Sized, counts: Counts, release: Release) -> bool:
    """Whether bayplan proves that everything fits these nodes."""
    stages = (stage for each in found.cases(counts) for stage in scene(each, release).stages)
    return all(stage.verdict == "fits" for stage in stages)


def outcomes(found: Sized, counts: Counts, release: Release, spoil: Change | None = None) -> set[str]:
    """Of all stages on these nodes. `spoil` changes the manifests."""
    return {verdict.outcome for each in found.cases(counts) for verdict in judge(each, release, spoil)}


def together(release: Release) -> Mapping[str, list[Verdict]]:
    """All files in one cluster that has room for them, in one session of the scheduler. Names end in a number each."""
    pools = sorted({name for spec in specs() for name in _platforms(spec)})
    topology = cluster([_pool(name, LARGE, (4, 4)) for name in pools])
    made = {}
    for number, spec in enumerate(specs()):
        flow = spec.data["workflow"]
        data = {**spec.data, "workflow": {**flow, "name": f"{flow['name']}-{number}"}}
        plan = scene(Case(spec.name, data, topology), RELEASES[-1]).plan
        cases = [Case(spec.name, data, topology, gangs) for gangs in _steps(plan, release)]
        made[spec.name] = [scene(each, release) for each in cases]
    worlds = [
        (name, each, stage, world(each, stage, each.documents, release))
        for name, scenes in made.items()
        for each in scenes
        for stage in each.stages
    ]
    first = worlds[0][3]
    documents = {(each["kind"], each["metadata"]["name"]): each for _, _, _, one in worlds for each in one.documents}
    members = {member.name: member for *_, one in worlds for member in one.members}  # a gang may be in several stages
    whole = World(first.topology, first.nodes, list(members.values()), list(documents.values()))
    bound = release.scheduler.bind(whole, release)
    found: dict[str, list[Verdict]] = {}
    for name, each, stage, seen in worlds:
        found.setdefault(name, []).append(compare(stage, each.plan, seen.members, bound))
    return found
