"""A real kube-apiserver with upstream's CRDs takes everything that bayplan renders, under strict field validation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from e2e.apiserver import binaries
from e2e.apiserver.applying import apply, lost
from e2e.apiserver.cluster import Cluster, furnish
from e2e.apiserver.server import running
from judges import UPSTREAM, at_least
from judges.samples import CONTAINER, GOOD, OPERATED, REMOVE, Edit, edited
from judges.versions import NEWEST
from tools import kustomize
from tools.cases import CASES
from tools.data import parse_all
from tools.golden import Case, cases, distinct, documents
from tools.run import EXAMPLES, bayplan

needs_upstream = pytest.mark.skipif(not (UPSTREAM / "crds").is_dir(), reason=f"no upstream CRDs at {UPSTREAM}/crds")

Target = dict[str, str]
Clusters = Callable[[str], Cluster]

OTHERS = ("volcano", "kueue", "koordinator", "none")
"""The other schedulers whose objects this Kubernetes has, or takes as CRDs."""

OPERATORS = ("kai", "draDriver", "lws", "mpiOperator", "trainer")
CLUSTERS: dict[str, Target] = {
    "kai@0.13": {"kai": "0.13", "draDriver": "25.12"},
    "newest": {component: NEWEST[component] for component in (*OPERATORS, *OTHERS[:3])},
}
"""The components whose CRDs a cluster has. The newest of each must take what is older too."""

OLD_TRAINERS = ("2.0", "2.1")
"""Those whose TrainJobs have another form."""

FIRST = "0.12"
"""The first KAI with a Topology of its own; up to 0.10 it read Kueue's."""


def held(case: Case, target: Target) -> bool:
    """Whether a cluster with those components must take what is rendered for a case: for these versions or older ones.

    What an example states of Kubernetes is no matter: each of them fits the one server that there is.
    """
    wanted = {component: version for component, version in case.target.items() if component in target}
    here = (at_least(component, target[component], version) for component, version in wanted.items())
    return case.backend == "kai" and at_least("kai", case.version, FIRST) and all(here)


SERVED = {"kueue": "0.15", "none": "1.34"}
"""Scheduler -> the release since which its objects have a version that the newest serve without a warning."""


def of_others() -> list[Case]:
    """The cases of the other schedulers that hold documents."""
    found = [case for backend in OTHERS for case in distinct(backend)]
    return [case for case in found if at_least(case.component, case.version, SERVED.get(case.backend, "0"))]


@cache
def train_jobs(version: str) -> list[Any]:
    """What bayplan writes for an older Trainer: with a runtime of its own, and for that of others."""
    flows = {"kai": EXAMPLES / "train-job/workflow.yaml", "none": CASES / "F689-trainer-2-0/workflow.yaml"}
    options = ["-t", str(EXAMPLES / "train-job/topology.yaml"), "--target", f"trainer={version}"]
    texts = [bayplan("render", str(flow), "-s", name, *options).stdout for name, flow in flows.items()]
    every = [each for text in texts for each in parse_all(text)]
    return [each for each in every if each["apiVersion"].startswith("trainer.kubeflow.org/")]


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clusters]:
    """Name -> a server with the CRDs of that cluster, started when it is first asked for. All stop at the end."""
    why = binaries.missing()
    if why and binaries.expected():
        pytest.fail(why)
    if why:
        pytest.skip(why)
    targets = CLUSTERS | {f"trainer@{version}": {"trainer": version} for version in OLD_TRAINERS}
    with ExitStack() as stack:
        yield cache(lambda name: started(stack, tmp_path_factory.mktemp("apiserver"), targets[name]))


def started(stack: ExitStack, folder: Path, target: Target) -> Cluster:
    """A running server with all that the documents need which the tests apply to it."""
    every = (*(case for case in cases() if held(case, target)), *(of_others() if "kueue" in target else ()))
    rendered = [each for case in every for each in documents(case)]
    rendered += [] if "kai" in target else train_jobs(target["trainer"])
    return furnish(stack.enter_context(running(folder)), target, [*GOOD.values(), *OPERATED.values(), *rendered])


@needs_upstream
@pytest.mark.parametrize("name", CLUSTERS)
def test_the_server_takes_all_that_is_rendered(clusters: Clusters, name: str) -> None:
    held_here = {case.path: case for case in cases() if held(case, CLUSTERS[name])}
    assert refused(clusters(name), held_here.values()) == {}


@needs_upstream
@pytest.mark.parametrize("backend", OTHERS)
def test_the_server_takes_what_is_rendered_for_other_schedulers(clusters: Clusters, backend: str) -> None:
    assert refused(clusters("newest"), [case for case in of_others() if case.backend == backend]) == {}


def refused(cluster: Cluster, rendered: Iterable[Case]) -> dict[str, Any]:
    """What the server says of the documents of each case that it refuses."""
    answers = {str(case): apply(cluster, documents(case)) for case in rendered}
    return {name: complaints for name, complaints in answers.items() if complaints}


@needs_upstream
@pytest.mark.parametrize("version", OLD_TRAINERS)
def test_the_server_takes_train_jobs_of_older_trainers(clusters: Clusters, version: str) -> None:
    """A runtime of its own, and changes of the runtime of others."""
    found = train_jobs(version)
    assert [each["kind"] for each in found] == ["TrainingRuntime", "TrainJob", "TrainJob"]
    assert apply(clusters(f"trainer@{version}"), found) == []


@needs_upstream
@pytest.mark.parametrize("what", ["expand", "place"])
def test_the_server_takes_two_overlays_in_one_namespace(clusters: Clusters, what: str, tmp_path: Path) -> None:
    """What kustomize builds of the examples in kustomize-plugin, applied one after the other and twice each."""
    programs = kustomize.install(tmp_path)
    folders = [kustomize.PLUGIN / "example" / what / "overlays" / word for word in kustomize.OVERLAYS]
    built = [each for folder in folders for each in kustomize.objects(kustomize.build(programs, folder))]
    assert len({(each["kind"], each["metadata"]["name"]) for each in built}) == len(built)
    assert {each["metadata"]["namespace"] for each in built} == {"ml"}
    assert apply(clusters("newest"), built) == []


def test_every_kai_version_is_held_somewhere() -> None:
    newest = [case for case in cases() if held(case, CLUSTERS["newest"])]
    ours = [case for case in cases() if case.backend == "kai" and at_least("kai", case.version, FIRST)]
    assert [str(case) for case in ours if case not in newest] == []
    assert {case.version for case in cases() if held(case, CLUSTERS["kai@0.13"])} == {"0.12", "0.13"}


# --- what the server refuses ------------------------------------------------------------------------------------------

CEL = {"exactly": {"deviceClassName": "gpu.nvidia.com", "selectors": [{"cel": {"expression": "device.x("}}]}}
TEMPLATE = "spec.replicatedJobs.0.template.spec"


@needs_upstream
@pytest.mark.parametrize("base", sorted(GOOD))
def test_the_good_objects_are_taken(clusters: Clusters, base: str) -> None:
    assert [apply(clusters(name), [GOOD[base]]) for name in CLUSTERS] == [[] for _ in CLUSTERS]


def bad(base: str, path: str, value: Any, *complaints: str) -> Any:
    """A good object, one edit, and what must be complained about."""
    return pytest.param(base, (path, value), complaints, id=f"{base}-{path}-{complaints[0][:30]}")


@needs_upstream
@pytest.mark.parametrize(
    ("base", "edit", "complaints"),
    [
        # unknown fields, which without strict validation would be dropped
        bad("pod", "spec.containerz", [], 'create: 400 .*unknown field "spec.containerz"', "apply: "),
        bad("podgroup", "spec.minmember", 1, 'create: 400 .*unknown field "spec.minmember"', "apply: "),
        bad("topology", "spec.levels.0.label", "x", 'create: 400 .*unknown field "spec.levels.0..label"', "apply: "),
        bad("jobset", f"{TEMPLATE}.template.spec.gpus", 2, 'create: 400 .*unknown field ".*spec.gpus"', "apply: "),
        bad("claim", "spec.spec.devices.requests.0.count", 1, "create: 400 .*unknown field", "apply: "),
        # wrong types
        bad("podgroup", "spec.minMember", "2", "create: 422 .*spec.minMember.*must be of type integer", "apply: "),
        bad("jobset", f"{TEMPLATE}.parallelism", "2", "create: 422 .*parallelism.*must be of type integer", "apply: "),
        bad("pod", "metadata.labels.x", 1, "create: 400 .*cannot unmarshal number", "apply: "),
        # missing fields
        bad("domain", "spec.channel", REMOVE, "create: 422 .*spec.channel: Required value", "apply: 422"),
        bad("podgroup", "spec.subGroups.0.name", REMOVE, "create: 422 .*subGroups.0..name: Required value", "apply: "),
        bad("job", "spec.completions", REMOVE, "create: 422 .*spec.completions: Required value", "apply: 422"),
        # values
        bad("podgroup", "spec.preemptibility", "sometimes", "create: 422 .*Unsupported value", "apply: 422"),
        bad("topology", "spec.levels", [{"nodeLabel": "a"}] * 2, "create: 422 .*levels: .*must be unique", "apply: "),
        bad("claim", "spec.spec.devices.requests.0", {"name": "gpu", **CEL}, "create: 422 .*compilation failed"),
        bad("service", "metadata.name", "0-first", "create: 422 .*DNS-1035 label", "apply: 422"),
        # what the cluster does not have
        bad("topology", "apiVersion", "kai.scheduler/v9", "create: there is no Topology in kai.scheduler/v9"),
        bad("pod", "spec.priorityClassName", "high", "create: 403 .*no PriorityClass with name high", "apply: 403"),
        bad("pod", "metadata.namespace", "elsewhere", 'create: 404 .*"elsewhere" not found', "apply: 404"),
        # what is taken, but not as it was meant
        bad("pod", "spec.containers.0.env", [*CONTAINER["env"]] * 2, "create: warning: .*hides previous definition"),
        bad("pod", "spec.hostnameOverride", "x", "spec.hostnameOverride: 'x' is stored as None"),
        # what the server takes and the controller then makes
        bad("jobset", "metadata.name", "a" * 60, "Job ml/a.*: create: 422 .*metadata.name: Invalid value"),
    ],
)
@pytest.mark.parametrize("name", CLUSTERS)
def test_the_server_refuses(clusters: Clusters, name: str, base: str, edit: Edit, complaints: tuple[str, ...]) -> None:
    found = apply(clusters(name), [edited(GOOD[base], edit)])
    for wanted in complaints:
        assert any(matches(wanted, each) for each in found), found


def matches(wanted: str, complaint: str) -> bool:
    """Whether a complaint, after the name of the document, begins as wanted."""
    return re.match(rf"\S+ \S+: {wanted}", complaint, re.DOTALL) is not None


@pytest.mark.parametrize(
    ("sent", "stored", "found"),
    [
        ({"a": [{"b": 1}]}, {"a": [{"b": 1, "c": 2}, 3], "d": 4}, []),
        ({"a": {"b": 1}}, {"a": {}}, ["a.b: 1 is stored as None"]),
        ({"a": [1, 2]}, {"a": [2, 1]}, ["a[0]: 1 is stored as 2", "a[1]: 2 is stored as 1"]),
        ({"a": [1, 2]}, {"a": [1]}, ["a: [1, 2] is stored as [1]"]),
        ({"a": "1024Mi"}, {"a": "1Gi"}, ["a: '1024Mi' is stored as '1Gi'"]),
    ],
)
def test_what_is_lost(sent: Any, stored: Any, found: list[str]) -> None:
    assert list(lost(sent, stored, "")) == found


# --- what operators read ----------------------------------------------------------------------------------------------

LWS_TEMPLATE = "spec.leaderWorkerTemplate"
UPDATE = "spec.rolloutStrategy.rollingUpdateConfiguration"


def operated(clusters: Clusters, base: str) -> Cluster:
    """The newest cluster, if there is a CRD of that kind here."""
    found = clusters("newest")
    if not found.serves(OPERATED[base]):
        pytest.skip(f"no CRD for {OPERATED[base]['kind']}: run `bash tests/judges/prepare`")
    return found


@needs_upstream
@pytest.mark.parametrize("base", sorted(OPERATED))
def test_what_operators_read_is_taken(clusters: Clusters, base: str) -> None:
    assert apply(operated(clusters, base), [OPERATED[base]]) == []


@needs_upstream
@pytest.mark.parametrize(
    ("base", "edit", "complaints"),
    [
        bad("lws", f"{LWS_TEMPLATE}.leaders", 1, 'create: 400 .*unknown field "spec.leaderWorkerTemplate.leaders"'),
        bad("lws", f"{LWS_TEMPLATE}.size", "4", "create: 422 .*size.*must be of type integer"),
        bad("lws", f"{LWS_TEMPLATE}.workerTemplate", REMOVE, "create: 422 .*workerTemplate: Required value"),
        bad("lws", "spec.startupPolicy", "LeaderFirst", "create: 422 .*Unsupported value"),
        bad("lws", f"{UPDATE}.maxSurge", [], "create: 422 .*maxSurge"),
        bad("mpijob", "spec.slots", 4, 'create: 400 .*unknown field "spec.slots"'),
        bad("mpijob", "spec.mpiImplementation", "Some", "create: 422 .*Unsupported value"),
        bad("trainjob", "spec.podTemplateOverrides", [], 'create: 400 .*unknown field "spec.podTemplateOverrides"'),
        bad("trainjob", "spec.runtimeRef", REMOVE, "create: 422 .*runtimeRef: Required value"),
        bad("cliques", "spec.template.gangs", [], 'create: 400 .*unknown field "spec.template.gangs"'),
        bad("cliques", "spec.template.cliques.0.spec.roleName", REMOVE, "create: 422 .*roleName: Required value"),
        bad("cliques", "spec.template.cliqueStartupType", "Any", "create: 422 .*Unsupported value"),
    ],
)
def test_what_operators_read_is_refused(clusters: Clusters, base: str, edit: Edit, complaints: tuple[str, ...]) -> None:
    found = apply(operated(clusters, base), [edited(OPERATED[base], edit)])
    assert [each for each in complaints if not any(matches(each, line) for line in found)] == [], found
