"""Checks: what must not be reported, and rules that one case cannot show."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenes import EXAMPLES, GANGS, WORKFLOWS, load, topologies, topology_data, workflow_data

import support
from bayplan import schemas
from bayplan.checks import SURVEY_CHECKS, TOGETHER, TOPOLOGY_CHECKS, WORKFLOW_CHECKS
from bayplan.checks import templates as template
from bayplan.checks import topology as tree
from bayplan.checks import workflow as naming
from bayplan.core.diagnostics import Diagnostic
from bayplan.model import workflow as places
from bayplan.model.topology import ClusterTopology, Domain, Level, Pool
from bayplan.model.workflow import Accelerator, Gang, Group, Placement, PodSet, Workflow
from bayplan.planning.bind import gang_name
from bayplan.schemas import are_dns_subdomains, is_dns_subdomain
from bayplan.topologies import native as native_topology
from bayplan.workflows import native as native_workflow

COVERS = {"P515"}


def check_workflow(workflow: Workflow) -> list[Diagnostic]:
    """All findings on a workflow alone."""
    return [found for check in WORKFLOW_CHECKS for found in check(workflow)]


def check_topology(topology: ClusterTopology) -> list[Diagnostic]:
    """All findings on a topology alone."""
    return [found for check in TOPOLOGY_CHECKS for found in check(topology)]


def check_both(workflow: Workflow, topology: ClusterTopology) -> list[Diagnostic]:
    """All findings on both together."""
    return [found for check in TOGETHER for found in check(workflow, topology)]


def example_workflow() -> Workflow:
    value = native_workflow.read(workflow_data()).value
    assert value
    return value.value


def example_topology() -> ClusterTopology:
    value = native_topology.read(topology_data()).value
    assert value
    return value.value


def codes(found: list[Diagnostic]) -> list[str]:
    """The codes that were reported."""
    return [each.code for each in found]


@pytest.mark.parametrize(
    "folder", sorted({path.parent for path in EXAMPLES if path.name == "workflow.yaml"}), ids=lambda path: path.name
)
def test_the_examples_are_sound(folder: Path) -> None:
    files = [load(path) for path in EXAMPLES if path.parent == folder]
    data = {each["kind"]: each for each in files if each.get("kind") in schemas.SCHEMAS}
    workflow = native_workflow.read(data["Workflow"]).value
    topology = native_topology.read(data["ClusterTopology"]).value
    assert workflow
    assert topology
    assert check_workflow(workflow.value) == []
    assert [each for each in check_topology(topology.value) if each.severity == "error"] == []
    assert check_both(workflow.value, topology.value) == []


@given(WORKFLOWS, topologies())
@settings(max_examples=60, deadline=None)
def test_no_workflow_and_no_topology_breaks_a_check(workflow: Workflow, topology: ClusterTopology) -> None:
    found = [*check_workflow(workflow), *check_topology(topology), *check_both(workflow, topology)]
    found += [each for check in SURVEY_CHECKS for each in check(topology)]
    for each in found:
        assert each.message
        assert each.hint
        assert each.route[0] in ("workflow", "topology")


GARBAGE = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                [
                    "containers",
                    "volumes",
                    "name",
                    "env",
                    "tolerations",
                    "resources",
                    "claims",
                    "ports",
                    "x",
                    "requests",
                    "limits",
                    "cpu",
                    "command",
                ]
            ),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=8,
)


SPECS = st.dictionaries(
    st.sampled_from(["containers", "initContainers", "volumes", "resourceClaims", "nodeSelector", "overhead", "x"]),
    GARBAGE,
    max_size=2,
)

QUANTITIES = st.sampled_from(["4", "foo", "-1Gi", 2, 1.5, None, True, [], "9" * 30, "1e999"])
AMOUNTS = st.none() | st.dictionaries(st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "x/y"]), QUANTITIES)
CONTAINER = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["worker", "other", None]),
        "resources": st.none() | st.fixed_dictionaries({}, optional={"requests": AMOUNTS, "limits": AMOUNTS}),
        "command": st.none() | st.just(["x"]),
        "env": st.none() | st.just([{"name": "A", "value": None}]),
    },
)
NEARLY = st.fixed_dictionaries(
    {},
    optional={
        "containers": st.none() | st.lists(CONTAINER, max_size=2),
        "initContainers": st.lists(CONTAINER, max_size=1),
        "overhead": AMOUNTS,
        "volumes": st.none() | st.just([{"name": "shm"}]),
        "tolerations": st.none() | st.just([{"key": "x"}]),
    },
)


@given(SPECS | NEARLY, SPECS | NEARLY)
@settings(max_examples=100, deadline=None)
def test_no_template_breaks_the_whole_way(spec: dict[str, Any], below: dict[str, Any]) -> None:
    flow = support.workflow(support.pretrain(template={"spec": spec}))
    support.run(flow)
    support.run(flow, of_pool({"spec": below}))


@given(SPECS)
@settings(max_examples=100, deadline=None)
def test_no_template_breaks_a_check(spec: dict[str, Any]) -> None:
    workflow = one(PodSet("worker", template={"spec": spec}))
    assert all(each.code[0] == "W" for each in check_workflow(workflow))
    pool = Pool("a", example_topology().pools[0].node, template={"spec": spec}, domains=(Domain((), ("n",)),))
    assert {each.code for each in template.check_pools(ClusterTopology("t", (pool,)))} <= {"W313"}


def of_pool(pool_template: dict[str, Any], **accelerator: Any) -> dict[str, Any]:
    """The common topology, its pool with this template."""
    spec = support.TOPOLOGY["spec"]
    gpu = {"gb200": {**spec["accelerators"]["gb200"], **accelerator}}
    pools = [{**spec["pools"][0], **({"template": pool_template} if pool_template else {})}]
    return {**support.TOPOLOGY, "spec": {**spec, "pools": pools, "accelerators": gpu}}


def containers(*entries: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A template of these containers."""
    return {"spec": {**({"containers": list(entries)} if entries else {}), **spec}}


GPU = {"limits": {"nvidia.com/gpu": 1}}
BAD_TEMPLATES: dict[str, tuple[dict[str, Any], str]] = {
    "no quantity": (containers({"resources": {"requests": {"memory": "foo"}}}), "W319"),
    "negative": (containers({"resources": {"limits": {"memory": "-1Gi"}}}), "W319"),
    "half a device": (containers({"resources": {"limits": {"example.com/nic": "500m"}}}), "W319"),
    "of an init container": (
        containers(initContainers=[{"name": "a", "image": "a", "resources": {"requests": {"cpu": "x"}}}]),
        "W319",
    ),
    "of the pod": (containers(resources={"requests": {"cpu": "x"}}), "W319"),
    "overhead": (containers(overhead={"cpu": "-1"}), "W319"),
    "cards": (containers({"resources": GPU}), "W331"),
    "cards of a sidecar": (containers({"name": "worker"}, {"name": "b", "image": "b", "resources": GPU}), "W331"),
    "cards of an init sidecar": (
        containers(initContainers=[{"name": "a", "image": "a", "restartPolicy": "Always", "resources": GPU}]),
        "W331",
    ),
    "a claim of ours": (containers(resourceClaims=[{"name": "gpu", "resourceClaimName": "x"}]), "W313"),
    **{
        f"null for {key}": (containers(**{key: None}), "W313")
        for key in ("containers", "resourceClaims", "volumes", "nodeSelector", "affinity")
    },
    "null in nodeSelector": (containers(nodeSelector={"a": None}), "W313"),
    **{f"null for {key}": (containers({key: None}), "W313") for key in ("name", "env", "resources", "volumeMounts")},
    **{
        f"a list for {key}": (containers(**{key: []}), "W315")
        for key in ("nodeSelector", "affinity", "securityContext", "resources")
    },
    **{f"a text for {key}": (containers({"resources": {key: "1"}}), "W315") for key in ("requests", "limits")},
    "null for requests": (containers({"resources": {"requests": None}}), "W313"),
}


@pytest.mark.parametrize(("given", "code"), BAD_TEMPLATES.values(), ids=BAD_TEMPLATES)
def test_templates_that_make_no_pod(given: dict[str, Any], code: str) -> None:
    assert support.run(support.workflow(support.pretrain(template=given))).codes == [code]
    assert support.run(support.workflow(support.pretrain()), of_pool(given)).codes == ["W313"]


GOOD_TEMPLATES = {
    "amounts": containers({"resources": {"requests": {"memory": "1Gi", "cpu": 2}, "limits": {"cpu": None}}}),
    "cards of an init container": containers(initContainers=[{"name": "a", "image": "a", "resources": GPU}]),
    "nulls of a sidecar": containers({"name": "worker"}, {"name": "b", "image": "b", "env": None}),
    "null for what is not ours": containers({"livenessProbe": None}, tolerations=None),
}


@pytest.mark.parametrize("given", GOOD_TEMPLATES.values(), ids=GOOD_TEMPLATES)
def test_templates_that_make_a_pod(given: dict[str, Any]) -> None:
    named = of_pool({}, resources={"count": "nvidia.com/gpu"})
    assert support.run(support.workflow(support.pretrain(template=given)), named).compiled


def test_a_whole_node_of_hami_is_no_matter_for_kai() -> None:
    pods = {"name": "worker", "wholeNode": True, "image": "a", "command": ["x"]}
    gang = {"name": "main", "podSets": [pods]}
    assert support.run(support.workflow(gang), of_pool({}, allocator="hami")).codes == ["F760"]
    assert support.run(support.workflow(gang), of_pool({})).compiled


def main_and_others(pool_template: dict[str, Any], **changes: Any) -> list[dict[str, Any]]:
    """The containers of the first pod on a pool with a template."""
    result = support.run(support.workflow(support.pretrain(**changes)), of_pool(pool_template))
    assert result.compiled, result.diagnostics
    return list(next(support.pods(result.documents)).spec["containers"])


def test_a_sidecar_of_a_pool_is_no_main_container() -> None:
    dcgm = {"name": "dcgm", "image": "side/car:1", "command": ["dcgm"]}
    main, sidecar = main_and_others(containers(dcgm))
    assert (main["name"], main["image"]) == ("worker", support.WORKER["image"])
    assert sidecar == dcgm


@pytest.mark.parametrize("named", [{}, {"name": "worker"}], ids=["no name", "its name"])
def test_a_pool_reaches_the_main_container(named: dict[str, str]) -> None:
    patch = {**named, "imagePullPolicy": "Always"}
    (main,) = main_and_others(containers(patch))
    assert main["imagePullPolicy"] == "Always"
    main, sidecar = main_and_others(containers({"name": "dcgm", "image": "d"}, patch))
    assert (main["imagePullPolicy"], sidecar["image"]) == ("Always", "d")


def test_a_pool_reaches_a_main_container_that_a_template_names() -> None:
    own = containers({"name": "trainer", "tty": True})
    (main,) = main_and_others(containers({"name": "trainer", "stdin": True}, {"workingDir": "/x"}), template=own)
    assert (main["name"], main["tty"], main["stdin"], main["workingDir"]) == ("trainer", True, True, "/x")


@pytest.mark.parametrize("command", [["x"], None], ids=["a command", "null"])
def test_a_command_in_a_template_loses_no_rank(command: list[str] | None) -> None:
    for patch in ({"command": command}, {"name": "worker", "command": command}):
        template = containers(patch)
        assert support.run(support.workflow(support.pretrain(template=template))).codes == ["P511"]
        assert support.run(support.workflow(support.pretrain()), of_pool(template)).codes == ["P511"]
    sidecar = containers({"name": "dcgm", "image": "d", "command": command})
    assert support.run(support.workflow(support.pretrain()), of_pool(sidecar)).compiled


def one(*pods: PodSet, **fields: Any) -> Workflow:
    """A workflow of one gang with these podSets."""
    return Workflow("w", gangs=(Gang("main", pod_sets=pods, **fields),))


def all_names(workflow: Workflow) -> Iterator[list[str]]:
    """The names that have to differ, scope by scope."""
    yield [gang_name(workflow, gang, copy) for gang in workflow.gangs for copy in range(gang.replicas)]
    for index, gang in enumerate(workflow.gangs):
        yield [name for name, _ in naming._below(gang, (*places.GANGS, index), "")]


SHORT = st.sampled_from(["a", "b", "a-b", "a-0", "0", "b-1"])
FEW = st.integers(1, 2)
LEAVES = st.lists(st.builds(PodSet, SHORT, *[st.just(each) for each in PodSet("x")[1:]]), min_size=1, max_size=2)


def group(name: str, replicas: int, groups: list[Group], pods: list[PodSet]) -> Group:
    """A group that holds one or the other."""
    return Group(name, replicas, groups=tuple(groups), pod_sets=() if groups else tuple(pods))


SMALL = st.recursive(
    st.builds(group, SHORT, FEW, st.just([]), LEAVES),
    lambda inner: st.builds(group, SHORT, FEW, st.lists(inner, max_size=2), LEAVES),
    max_leaves=3,
)


@given(st.lists(st.tuples(SHORT, FEW, st.lists(SMALL, min_size=1, max_size=2)), min_size=1, max_size=2))
@settings(max_examples=200, deadline=None)
def test_equal_names_are_found_exactly(gangs: list[tuple[str, int, list[Group]]]) -> None:
    workflow = Workflow("w", gangs=tuple(Gang(name, replicas=n, groups=tuple(groups)) for name, n, groups in gangs))
    found = list(naming.check_naming(workflow))
    equal = any(len(set(names)) < len(names) for names in all_names(workflow))
    assert bool(found) == equal or "W301" in codes(found)


def test_names_of_a_hopeless_workflow_end_in_time() -> None:
    deep = Group("a-0", 1_000_000, groups=(Group("b", 1_000_000, pod_sets=(PodSet("c", 1_000_000),)),))
    workflow = Workflow("w", gangs=(Gang("main", replicas=1_000_000, groups=(deep,)),))
    assert "W309" in codes(check_workflow(workflow))


def files(**texts: str) -> Workflow:
    """A workflow with files."""
    return one(PodSet("worker", image="busybox", files={key.replace("__", "/"): text for key, text in texts.items()}))


def test_files_beyond_a_config_map() -> None:
    assert check_workflow(files(__a="x" * 2**20)) == []
    assert check_workflow(files(__a="x" * 2**20, __b="x")) == []
    assert codes(check_workflow(files(__a="x" * (2**20 + 1), __b="x"))) == ["P515"]
    assert codes(check_workflow(files(__a="é" * 2**19 + "x"))) == ["P515"]
    assert codes(check_workflow(files(__a="\ud800" * 2**20))) == ["P515"]


@pytest.mark.parametrize(
    ("path", "good"),
    [
        ("/a", True),
        ("/opt/job/run.sh", True),
        ("/opt/.hidden", True),
        ("/dev/shm2/x", True),
        ("", False),
        ("/", False),
        ("a", False),
        ("./a", False),
        ("/a/", False),
        ("//a", False),
        ("/a/../b", False),
        ("/a/./b", False),
        ("/a b", False),
        ("/é", False),
        ("/a\n", False),
        ("/dev/shm/x", False),
        ("/dev/shm", False),
        ("/" + "a" * 254, False),
    ],
)
def test_paths_of_files(path: str, good: bool) -> None:
    found = check_workflow(one(PodSet("worker", image="busybox", shm="1Gi", files={path: ""})))
    assert codes(found) == ([] if good else ["W340"])


def test_a_file_below_a_file() -> None:
    assert codes(check_workflow(files(__a="", __a__b=""))) == ["W340"]


def test_an_image_may_stand_in_the_template() -> None:
    def image_in(*containers: Any) -> list[str]:
        return codes(check_workflow(one(PodSet("worker", template={"spec": {"containers": list(containers)}}))))

    assert image_in({"name": "worker", "image": "a"}) == []
    assert image_in({"image": "a"}) == []
    assert image_in({"name": "other", "image": "a"}) == []
    assert image_in({"name": "other", "image": "a"}, {"name": "worker", "image": "b"}) == []
    assert image_in({"name": "other", "image": "a"}, {"name": "worker"}) == ["W310"]


def test_a_lone_sidecar_is_warned_of() -> None:
    pods = PodSet("worker", image="a", template={"spec": {"containers": [{"name": "log", "image": "b"}]}})
    (found,) = check_workflow(one(pods))
    assert (found.code, found.severity) == ("W315", "warning")


@pytest.mark.parametrize(
    ("depends", "circle"),
    [
        ({"a": (), "b": ("a",), "c": ("a", "b")}, None),
        ({"a": ("b",), "b": ("c",), "c": ("a",)}, '"a" -> "b" -> "c" -> "a"'),
        ({"x": ("b",), "b": ("c",), "c": ("b",)}, '"b" -> "c" -> "b"'),
    ],
)
def test_circles(depends: dict[str, tuple[str, ...]], circle: str | None) -> None:
    pods = (PodSet("worker", image="a"),)
    gangs = tuple(Gang(name, depends_on=before, pod_sets=pods) for name, before in depends.items())
    found = check_workflow(Workflow("w", gangs=gangs))
    assert [each.message.split(": ")[1] for each in found] == ([circle] if circle else [])


def test_a_lead_may_stand_in_any_group() -> None:
    gang = Gang("main", lead="worker", groups=(Group("g", pod_sets=(PodSet("worker", image="a"),)),))
    assert check_workflow(Workflow("w", gangs=(gang,))) == []


def test_size_counts_its_own_instances() -> None:
    def found(least: int) -> list[str]:
        cut = Group("g", size=16, min_replicas=least, pod_sets=(PodSet("worker", 50, image="a"),))
        return codes(check_workflow(Workflow("w", gangs=(Gang("main", groups=(cut,)),))))

    assert found(4) == []
    assert found(5) == ["W308"]


def placed(outer: Placement, inner: Placement, pool: str = "") -> list[Diagnostic]:
    """Findings on a group inside a gang."""
    inside = Group("g", placement=inner, pod_sets=(PodSet("worker", image="a"),))
    between = Group("h", groups=(inside,))
    gang = Gang("main", placement=outer, pool=pool, groups=(between,))
    return check_both(Workflow("w", gangs=(gang,)), example_topology())


@pytest.mark.parametrize(
    ("outer", "inner", "found"),
    [
        (Placement("spine"), Placement("rack"), []),
        (Placement("rack"), Placement("rack"), []),
        (Placement("rack", "rack"), Placement("host"), []),
        (Placement("zone", "spine"), Placement("", "rack"), []),
        (Placement("rack"), Placement("spine"), ["W325"]),
        (Placement("host"), Placement("rack"), ["W325"]),
        (Placement("rack", "spine"), Placement(), ["W325"]),
        (Placement("spin"), Placement("rak"), ["W323", "W323"]),
    ],
)
def test_levels_from_coarse_to_fine(outer: Placement, inner: Placement, found: list[str]) -> None:
    assert codes(placed(outer, inner)) == found


def test_the_note_of_an_inner_level_leads_to_the_outer() -> None:
    (found,) = placed(Placement("rack"), Placement("spine"))
    assert found.notes[0].route == ("workflow", "spec", "gangs", 0, "placement", "required")
    assert found.route == ("workflow", "spec", "gangs", 0, "groups", 0, "groups", 0, "placement", "required")


def test_a_level_of_another_pool_is_left_to_planning() -> None:
    topology = example_topology()
    other = Pool("cpu", topology.pools[0].node, (Level("row", "example.com/row"),), (Domain(("r",), ("c1",)),))
    both = topology._replace(pools=(*topology.pools, other))
    workflow = one(PodSet("worker", image="a"), placement=Placement("row"))
    assert codes(check_both(workflow, topology)) == ["W323"]
    assert codes(check_both(workflow, both)) == []
    assert codes(check_both(workflow._replace(pool="gb200"), both)) == ["W323"]


def test_default_allocators_are_not_pending() -> None:
    pods = PodSet("worker", image="a", whole_node=True, accelerator=Accelerator("gb200", 4, allocator="device-plugin"))
    assert check_both(one(pods), example_topology()) == []


def of_levels(paths: list[str], *levels: Level) -> ClusterTopology:
    """A pool with one node in each domain but the first, which has two."""
    rows = tuple(
        Domain(tuple(path.split("/")), (f"n{i}", "extra") if i == 0 else (f"n{i}",)) for i, path in enumerate(paths)
    )
    return ClusterTopology("t", (Pool("p", example_topology().pools[0].node._replace(accelerator="x"), levels, rows),))


A, B = Level("spine", "example.com/spine"), Level("rack", "example.com/rack")


def test_values_may_repeat_where_the_level_says_so() -> None:
    repeated = ["s1/1", "s1/2", "s2/1", "s2/2"]
    assert codes(list(tree.check_tree(of_levels(repeated, A, B)))) == ["T401", "T401"]
    assert list(tree.check_tree(of_levels(repeated, A, B._replace(unique="parent")))) == []


def test_a_shared_parent_is_one_conflict_for_each_domain() -> None:
    found = list(tree.check_tree(of_levels(["s1/r1", "s2/r1", "s1/r2"], A, B)))
    assert codes(found) == ["T401"]
    assert found[0].route == ("topology", "spec", "pools", 0, "domains", 1, "path")


@pytest.mark.parametrize(
    ("component", "version", "found"),
    [
        ("kai", "0.17.3", []),
        ("kai", "0.10", []),
        ("kai", "0.9", ["A904"]),
        ("kai", "0.11", ["A907"]),
        ("kai", "0.99", ["A907"]),
        ("draDriver", "25.3", []),
        ("draDriver", "25.12.1", []),
        ("draDriver", "0.4", []),
        ("draDriver", "24.1", ["A904"]),
        ("draDriver", "0.99", ["A907"]),
        ("kubernetes", "1.31", ["A904"]),
        ("kubernetes", "1.99", ["A907"]),
    ],
)
def test_versions(component: str, version: str, found: list[str]) -> None:
    assert codes(check_topology(example_topology()._replace(versions={component: version}))) == found


@given(GANGS)
@settings(max_examples=30, deadline=None)
def test_every_owner_is_visited_with_its_route(gang: Gang) -> None:
    for owner in places.owners(Workflow("w", gangs=(gang,))):
        node: Any = Workflow("w", gangs=(gang,))
        names = {"spec": "", "gangs": "gangs", "groups": "groups"}
        for step in owner.route[1:]:
            node = node if step == "spec" else node[step] if isinstance(step, int) else getattr(node, names[step])
        assert node == owner.node


@given(st.lists(st.text(alphabet="ab1-.,A", max_size=6), max_size=4))
def test_names_told_of_all_at_once(names: list[str]) -> None:
    assert are_dns_subdomains(names) == all(map(is_dns_subdomain, names))
