"""Every kind of workload that is there, on every scheduler: placed, so that upstream takes it and reads what was meant;
or refused, with the reason and a way out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any, NamedTuple

import pytest

import judges
import random_existing
import support
import workloads
from bayplan.augment import augment
from bayplan.backends import BACKENDS, PATHS, existing
from bayplan.core.diagnostics import Diagnostic
from bayplan.model.augment import AugmentRequest
from bayplan.model.existing import FEATURES, PLAIN, TITLES
from bayplan.model.manifest import Object
from bayplan.model.plan import Plan
from bayplan.model.target import Target
from bayplan.text import document
from judges import kueue as kueue_judge
from oracle import ORACLES
from oracle.intent import GangIntent, UnitIntent
from tools.effort import examples

needs_upstream = pytest.mark.skipif(not (judges.UPSTREAM / "crds").is_dir(), reason="no upstream CRDs")

Documents = list[dict[str, Any]]

VERSIONS: Mapping[str, tuple[Mapping[str, str], ...]] = {
    "kai": ({"kai": "0.15"}, {"kai": "0.17"}),
    "kueue": ({"kueue": "0.14"}, {"kueue": "0.17"}, {"kueue": "0.19"}),
    "volcano": ({"volcano": "1.14.3"}, {"volcano": "1.15.1"}),
    "koordinator": ({"koordinator": "1.8"},),
    "native": ({"kubernetes": "1.36", "lws": "0.9", "trainer": "2.2"}, {"kubernetes": "1.37"}),
    "slurm": ({"slurm": "25.11"},),
    "slurm-bridge": ({"kubernetes": "1.34", "slurmBridge": "1.0"}, {"kubernetes": "1.36", "slurmBridge": "1.2"}),
    "sunk": ({"sunk": "8.2"},),
    "none": ({"kubernetes": "1.34"},),
}
"""Scheduler -> the versions to place for."""

ANYWHERE = frozenset(PLAIN)
PLACED: Mapping[str, Mapping[str, frozenset[str]]] = {
    "kai": {
        "gang": ANYWHERE,
        "copies": frozenset({"jobset"}),
        "ranks": frozenset({"lws", "pytorchjob"}),
    },
    "kueue": {
        "gang": ANYWHERE - {"deployment"},
        "copies": frozenset({"jobset"}),
        "ranks": frozenset({"job", "lws", "statefulset", "pytorchjob", "mpijob", "trainjob"}),
        "parts": frozenset({"jobset"}),
    },
    "volcano": {
        "gang": ANYWHERE | {"volcano-job"},
        "copies": frozenset({"jobset"}),
        "ranks": frozenset({"volcano-job"}),
    },
    "koordinator": {"gang": ANYWHERE, "copies": frozenset({"jobset"})},
    "native": {"gang": frozenset({"job", "jobset", "lws", "statefulset", "deployment", "pod", "trainjob"})},
    "slurm": {},
    "slurm-bridge": {"gang": frozenset({"job", "jobset", "lws", "pod"})},
    "sunk": {"gang": ANYWHERE - {"raycluster", "rayjob"}},  # a head and a worker are a gang of two
    "none": {"gang": ANYWHERE},
}
"""Scheduler -> what is placed of gangs, of groups that are copies, and of groups of ranks. All else is refused."""

TOO_OLD = {
    ("kai", "0.15", "jobset", "copies"),
    ("native", "2.2", "trainjob", "gang"),
    ("kueue", "0.14", "trainjob", "gang"),
    ("kueue", "0.14", "trainjob", "ranks"),
}
"""What is carried by later versions alone."""

ASKED: Mapping[str, Mapping[str, str]] = {
    "gang": {"placement": "required=rack"},
    "copies": {"placement": "required=spine", "group_size": "8", "group_placement": "required=rack"},
    "ranks": {"group_size": "16", "group_placement": "required=rack"},
    "parts": {"group_size": "4", "group_placement": "required=rack"},
}
"""What is asked: one gang; groups that are Jobs; groups of ranks, of several Jobs in a JobSet; parts of Jobs."""

SIZES = {"gang": 16, "copies": 32, "ranks": 32, "parts": 32}


class Case(NamedTuple):
    """One workload, what is asked of it, and for which scheduler."""

    backend: str
    versions: Mapping[str, str]
    kind: str
    mode: str

    @property
    def placed(self) -> bool:
        """Whether it is to be placed."""
        old = {(self.backend, version, self.kind, self.mode) for version in self.versions.values()} & TOO_OLD
        return not old and self.kind in PLACED[self.backend].get(self.mode, ())


def cases() -> Iterator[Case]:
    """Copies of pods are made by JobSets alone."""
    for backend, every in VERSIONS.items():
        for versions in every:
            for kind in workloads.KINDS:
                several = ("copies", "parts") if kind == "jobset" else ()
                modes = ("gang",) if kind == "pod" else ("gang", "ranks", *several)
                yield from (Case(backend, versions, kind, mode) for mode in modes)


def asked(case: Case) -> Documents:
    """The objects with their annotations. A scheduler that knows no levels and no claims is asked for none."""
    words = dict(ASKED[case.mode])
    size = SIZES[case.mode]
    if case.backend in ("sunk", "slurm-bridge"):
        words["compute_domain"] = "never"
    if case.backend == "sunk" and case.mode == "gang":
        del words["placement"]
        size = 1
    more = {"head": 4 if case.mode == "gang" else 0} if case.kind in ("raycluster", "rayjob") else {}
    return workloads.asking(workloads.KINDS[case.kind](1 if case.kind == "pod" else size, **more), **words)


def topology(versions: Mapping[str, str]) -> document.Document:
    """The hall of all tests at these versions, run by Slurm's block plugin."""
    spec = {**support.TOPOLOGY["spec"], "schedulers": {"slurm": {"plugin": "block"}}}
    spec["versions"] = {**spec["versions"], **versions}
    data = {**support.TOPOLOGY, "spec": spec}
    return document.Document("topology.yaml", json.dumps(data), 0, data)


class Result(NamedTuple):
    """What became of the objects (the first is the workload), what is new, and what was said."""

    after: Documents
    added: Documents
    found: tuple[Diagnostic, ...]
    changed: bool
    refused: bool

    @property
    def errors(self) -> list[Diagnostic]:
        """What stood in the way."""
        return [each for each in self.found if each.severity == "error"]


ACCEPTED = frozenset({"F605"})
"""Claims of many groups, which Volcano places late or never."""


def run(objects: Documents, backend: str, versions: Mapping[str, str], policy: Any = None) -> Result:
    """The objects after one run."""
    listed = tuple(Object((f"manifest:{n}",), each) for n, each in enumerate(objects))
    rules = document.Document("policy.yaml", json.dumps(policy), 0, policy) if policy else None
    outcome, _ = augment(AugmentRequest(listed, topology(versions), rules, scheduler=backend, accept=ACCEPTED))
    value = outcome.value
    changed = {each.route: each.data for each in value.changes} if value else {}
    after = [plain(changed.get(each.route, each.data)) for each in listed]
    added = [plain(each.data) for each in value.added] if value else []
    return Result(after, added, outcome.diagnostics, bool(changed or added), value is None)


def plain(data: Any) -> Any:
    """As a file has it."""
    return json.loads(json.dumps(data))


@pytest.mark.parametrize(
    "case", list(cases()), ids=lambda case: "-".join((case.backend, *case.versions.values(), case.kind, case.mode))
)
def test_placed_or_refused(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    plans = watched(case.backend, monkeypatch)
    result = run(asked(case), case.backend, case.versions)
    assert result.refused != case.placed, result.errors
    if not case.placed:
        refused_well(result)
        return
    assert result.changed
    taken_upstream(result, case)
    read_back(result, case, plans[-1])
    again = run([*result.after, *result.added], case.backend, case.versions)
    assert not again.refused, again.errors
    assert not again.changed


def watched(backend: str, monkeypatch: pytest.MonkeyPatch) -> list[Plan]:
    """The plans that the backend is asked to place."""
    seen: list[Plan] = []
    own = existing(backend)

    def watch(plan: Plan, shape: Any, target: Any) -> Any:
        seen.append(plan)
        return own.place(plan, shape, target)

    monkeypatch.setattr(f"{PATHS[backend]}.existing.EXISTING", own._replace(place=watch))
    return seen


REASONS = {row.reason for name in BACKENDS for row in existing(name).support if row.reason}


def refused_well(result: Result) -> None:
    """By codes of existing workloads, each with a reason of the scheduler and a hint."""
    codes = {each.code for each in result.errors}
    assert codes & {"F740", "F741"} or codes <= {"F615"}, result.errors
    for each in result.errors:
        assert each.hint, each
        if each.code.startswith("F74"):
            assert any(reason in each.message for reason in REASONS), each
    assert not result.changed


STORED = ("job", "jobset", "lws", "statefulset", "deployment", "volcano-job", "pod", "trainjob")
"""Kinds whose schemas are stored, here or with Kubernetes."""


def taken_upstream(result: Result, case: Case) -> None:
    """Upstream's schemas take the objects, and its schedulers the pods that the controllers make of them."""
    if not (judges.UPSTREAM / "crds").is_dir():
        return
    pods = workloads.pods(result.after)
    targets = list(judges.targets_for({**support.TOPOLOGY["spec"]["versions"], **case.versions}))
    for target in targets[:1] if case.versions.get("kubernetes") == "1.36" else targets:  # no other has its PodGroups
        objects = [*result.after, *result.added] if case.kind in STORED else result.added
        assert [complaint for each in objects for complaint in judges.judge(each, target)] == []
        assert judges.judge_all([*pods, *result.added], target) == []
    if case.backend == "kueue":
        requests_of_kueue(pods, case.versions["kueue"])
        assert kueue_judge.judge(result.after[0], case.versions) == []


def requests_of_kueue(pods: Documents, version: str) -> None:
    """Pods of one template are a podSet; each group of a LeaderWorkerSet is a workload."""
    gangs: dict[str, dict[str, list[Any]]] = {}
    for each in pods:
        labels, own = each["metadata"]["labels"], each["metadata"].get("annotations", {})
        template = json.dumps([labels.get("role"), own, each["spec"]], sort_keys=True)
        gang = labels.get("leaderworkerset.sigs.k8s.io/group-index", "")
        gangs.setdefault(gang, {}).setdefault(template, []).append(own)
    for sets in gangs.values():
        listed = [kueue_judge.PodSet(len(same), same[0]) for same in sets.values()]
        rules = (kueue_judge.request(each.annotations) for each in listed)
        sizes = (kueue_judge.sizes(each, version) for each in listed)
        assert [complaint for each in (*rules, *sizes, kueue_judge.groups(listed)) for complaint in each] == []


def read_back(result: Result, case: Case, plan: Plan) -> None:
    """The scheduler reads of it what the plan meant; groups have no names in a template that is what it is."""
    if case.backend == "kai" and case.mode != "gang":
        return  # KAI's podgrouper makes these PodGroups, in the cluster
    oracle = ORACLES[case.backend]
    read = oracle.read([*result.after, *result.added])
    assert read.diagnostics == ()
    meant = oracle.intent(plan, Target({**support.TOPOLOGY["spec"]["versions"], **case.versions}))
    found = read.value or ()
    if len(meant) > 1:  # gangs of one template are read as one, with one ComputeDomain
        assert [_nameless(each.root) for each in found] == [_nameless(meant[0].root)]
        return
    assert sorted(map(nameless, found)) == sorted(map(nameless, meant))


def nameless(gang: GangIntent) -> Any:
    """What is meant of a gang, whatever its groups and podSets are called."""
    return gang.queue, gang.priority_class, gang.topology, gang.compute_domains, _nameless(gang.root)


def _nameless(unit: UnitIntent) -> Any:
    """A group that places nothing is what is in it."""
    units = sorted(map(_nameless, unit.units))
    pods = sorted((each.replicas, each.minimum, each.compute_domain) for each in unit.pods)
    return unit.required, unit.preferred, unit.minimum, units, pods


# --- gangs and groups that need more than one template ----------------------------------------------------------------


def test_every_kind_is_tried() -> None:
    """`test_grove.py` tries those of Grove."""
    assert {*workloads.KINDS, "podcliqueset", "dynamographdeployment"} == set(TITLES)


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_row_has_a_feature_and_every_feature_a_row(backend: str) -> None:
    rows = existing(backend).support
    assert {row.feature for row in rows} <= set(FEATURES)
    assert {row.feature for row in rows} >= {each for each in FEATURES if not each.startswith("gangs-")} | {"gangs-lws"}
    for row in rows:
        assert bool(row.word and row.reason and row.hint) == (row.fidelity == "absent"), row


def two_jobs(first: int = 8, second: int = 8, names: tuple[str, ...] = ("alpha", "beta")) -> Documents:
    """A JobSet of several replicatedJobs."""
    sizes = (first, second, *([8] * len(names)))
    jobs = [
        {"name": name, "replicas": 1, "template": {"spec": workloads.job(size)[0]["spec"]}}
        for name, size in zip(names, sizes, strict=False)
    ]
    made = workloads.jobset()
    made[0]["spec"] = {"replicatedJobs": jobs}
    return made


def led(pods: int = 16, groups: int = 1) -> Documents:
    """A LeaderWorkerSet whose leader has a template of its own."""
    made = workloads.lws(pods)
    made[0]["spec"]["replicas"] = groups
    leader = workloads.template("")
    leader["spec"]["containers"][0]["name"] = "leader"
    made[0]["spec"]["leaderWorkerTemplate"]["leaderTemplate"] = leader
    return made


def mastered() -> Documents:
    """A PyTorchJob with a master."""
    made = workloads.pytorchjob(15)
    master = workloads.template("")
    master["metadata"]["labels"]["role"] = "master"
    made[0]["spec"]["pytorchReplicaSpecs"]["Master"] = {"replicas": 1, "template": master}
    return made


def several(objects: Documents, groups: int) -> Documents:
    """A LeaderWorkerSet of several groups."""
    objects[0]["spec"]["replicas"] = groups
    return objects


def rules(*groups: Mapping[str, Any], **gang: Any) -> dict[str, Any]:
    """A policy with one rule for everything."""
    rule = {"match": {"name": "*"}, **({"gang": gang} if gang else {}), **({"groups": list(groups)} if groups else {})}
    head = {"apiVersion": "bayplan.dev/v1alpha1", "kind": "Policy", "metadata": {"name": "all"}}
    return {**head, "spec": {"rules": [rule]}}


def group(name: str, *pod_sets: str, level: str = "rack", **more: Any) -> dict[str, Any]:
    """One group of a policy."""
    return {"name": name, "placement": {"required": level}, "podSets": list(pod_sets), **more}


SPINE, RACK = {"required": "spine"}, {"required": "rack"}
APART = rules(group("one", "alpha"), group("two", "beta"), placement=SPINE)

MIXED: Mapping[str, tuple[Documents, Any, frozenset[str]]] = {
    "two-jobs-apart": (two_jobs(), APART, frozenset({"kai", "volcano", "koordinator", "native-1.37"})),
    "two-jobs-apart-no-spine": (
        two_jobs(),
        rules(group("one", "alpha"), group("two", "beta")),
        frozenset({"kai", "kueue", "volcano", "koordinator", "native-1.37", "none"}),
    ),
    "two-jobs-together": (
        two_jobs(),
        rules(placement=RACK),
        frozenset({"kai", "volcano", "koordinator", "native", "slurm-bridge", "none"}),
    ),
    "one-of-two-jobs": (
        two_jobs(),
        rules(group("one", "alpha")),
        frozenset({"kai", "kueue", "volcano", "native-1.37", "none"}),
    ),
    "unlike-jobs": (
        two_jobs(8, 4),
        APART,
        frozenset({"kai", "volcano", "native-1.37"}),
    ),
    "cut-beside-others": (
        two_jobs(16, 1),
        rules(group("part", "alpha", size=8)),
        frozenset({"kueue"}),
    ),
    "led": (
        led(),
        rules(placement=RACK),
        frozenset({"kai", "kueue", "volcano", "koordinator", "native", "slurm-bridge", "none"}),
    ),
    "led-and-cut": (led(17), rules(group("part", "worker", size=8)), frozenset()),
    "mastered": (mastered(), rules(placement=RACK), frozenset({"kai", "kueue", "volcano", "koordinator", "none"})),
    "groups-of-leaders": (led(4, 3), rules(placement=RACK), frozenset({"kai", "kueue"})),
    "groups": (several(workloads.lws(8), 3), rules(placement=RACK), frozenset({"kai", "kueue"})),
}
"""Objects, what is asked of them, and the schedulers (or versions of them) that place them."""


@pytest.mark.parametrize(
    "versions",
    [(name, each) for name, every in VERSIONS.items() for each in every],
    ids=lambda versions: "-".join((versions[0], *versions[1].values())),
)
@pytest.mark.parametrize("name", MIXED)
def test_more_than_one_template(
    name: str, versions: tuple[str, Mapping[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend, at = versions
    objects, policy, placing = MIXED[name]
    case = Case(backend, at, "jobset", "gang")
    plans = watched(backend, monkeypatch)
    policy = without_domains(policy) if backend == "slurm-bridge" else policy
    result = run(objects, backend, at, policy)
    wanted = bool({backend, f"{backend}-{next(iter(at.values()))}"} & placing)
    assert result.refused != wanted, [(each.code, each.message) for each in result.found]
    if result.refused:
        assert result.errors
        return
    taken_upstream(result, case._replace(kind="pod" if "PyTorchJob" not in str(objects) else "pytorchjob"))
    if backend != "kai" or "groups" not in name:
        read_back(result, case, plans[-1])
    again = run([*result.after, *result.added], backend, at, policy)
    assert not again.refused, again.errors
    assert not again.changed


def without_domains(policy: Any) -> Any:
    """The same, with nothing claimed."""
    (rule,) = policy["spec"]["rules"]
    gang = {**rule.get("gang", {}), "computeDomain": "never"}
    return {**policy, "spec": {"rules": [{**rule, "gang": gang}]}}


# --- what workloads say already ---------------------------------------------------------------------------------------


def conflicts(objects: Documents, backend: str, **words: str) -> dict[str, str]:
    """Path -> the message of each A950."""
    result = run(workloads.asking(objects, **words), backend, VERSIONS[backend][-1])
    assert {each.code for each in result.errors} <= {"A950"}
    return {".".join(map(str, each.route[1:])): each.message for each in result.errors}


def edited(objects: Documents, *path: Any, value: Any) -> Documents:
    """The objects with a value at a path in the first."""
    data: Any = objects[0]
    for key in path[:-1]:
        data = data.setdefault(key, {}) if isinstance(data, dict) else data[key]
    data[path[-1]] = value
    return objects


TEMPLATE = ("spec", "template")
KUEUE = "kueue.x-k8s.io/podset-"


@pytest.mark.parametrize(
    ("backend", "objects", "path"),
    [
        ("kueue", workloads.job(), (*TEMPLATE, "metadata", "annotations", f"{KUEUE}preferred-topology")),
        ("kueue", workloads.job(), (*TEMPLATE, "metadata", "annotations", f"{KUEUE}slice-size")),
        ("kueue", workloads.jobset(), ("metadata", "annotations", "alpha.jobset.sigs.k8s.io/exclusive-topology")),
        ("volcano", workloads.lws(), ("metadata", "annotations", "leaderworkerset.sigs.k8s.io/exclusive-topology")),
        ("volcano", workloads.job(), (*TEMPLATE, "spec", "schedulerName")),
        ("volcano", workloads.job(), (*TEMPLATE, "metadata", "annotations", "scheduling.k8s.io/group-name")),
        ("koordinator", workloads.job(), (*TEMPLATE, "metadata", "labels", "pod-group.scheduling.sigs.k8s.io")),
        ("native", workloads.job(), (*TEMPLATE, "spec", "schedulerName")),
        ("none", workloads.statefulset(), (*TEMPLATE, "spec", "schedulerName")),
    ],
    ids=str,
)
def test_what_contradicts_is_named(backend: str, objects: Documents, path: tuple[str, ...]) -> None:
    found = conflicts(edited(objects, *path, value="x"), backend, placement="required=spine")
    assert list(found) == [".".join(path)]


@pytest.mark.parametrize(
    ("backend", "objects", "path"),
    [
        ("kueue", workloads.job(), ("spec", "template", "metadata", "annotations", f"{KUEUE}preferred-topology")),
        ("volcano", workloads.jobset(), ("metadata", "annotations", "alpha.jobset.sigs.k8s.io/exclusive-topology")),
        ("volcano", workloads.job(), ("spec", "template", "spec", "schedulerName")),
        ("none", workloads.job(), ("spec", "template", "spec", "schedulerName")),
    ],
    ids=str,
)
def test_what_contradicts_can_be_replaced(backend: str, objects: Documents, path: tuple[str, ...]) -> None:
    policy = rules(placement=SPINE)
    policy["spec"]["rules"][0]["adopt"] = True
    result = run(edited(objects, *path, value="x"), backend, VERSIONS[backend][-1], policy)
    assert not result.refused, result.errors
    data: Any = result.after[0]
    for key in path[:-1]:  # bayplan removes annotations that are empty
        data = data[key] if isinstance(data, list) or key in data else {}
    assert data.get(path[-1]) in (None, "volcano")
    assert not run([*result.after, *result.added], backend, VERSIONS[backend][-1], policy).changed


def test_the_default_scheduler_may_be_named() -> None:
    asked = edited(workloads.job(), *TEMPLATE, "spec", "schedulerName", value="default-scheduler")
    assert conflicts(asked, "native", placement="required=spine") == {}


def test_a_queue_that_a_workload_names_is_its_queue() -> None:
    for backend, objects in {
        "kueue": edited(workloads.jobset(), "metadata", "labels", value={"kueue.x-k8s.io/queue-name": "batch"}),
        "volcano": edited(workloads.volcano_job(), "spec", "queue", value="batch"),
        "koordinator": edited(
            workloads.job(), *TEMPLATE, "metadata", "labels", "quota.scheduling.koordinator.sh/name", value="batch"
        ),
    }.items():
        result = run(workloads.asking(objects, placement="required=spine"), backend, VERSIONS[backend][-1])
        assert not result.refused, result.errors
        assert "research" not in json.dumps([result.after, result.added])


def test_a_volcano_job_says_itself_how_many_pods_may_be_missing() -> None:
    asked = edited(workloads.volcano_job(), "spec", "minAvailable", value=24)
    result = run(workloads.asking(asked, placement="required=spine"), "volcano", {"volcano": "1.15.1"})
    assert [each.code for each in result.found if each.severity == "warning"] == ["W506"]
    assert result.after[0]["spec"]["minAvailable"] == 24
    assert "minAvailable" not in result.after[0]["spec"]["tasks"][0]
    fewer = edited(workloads.volcano_job(), "spec", "tasks", 0, "minAvailable", value=24)
    assert list(conflicts(fewer, "volcano", group_size="16", group_placement="required=rack")) == [
        "spec.tasks.0.minAvailable"
    ]


def test_pods_of_sunk_have_no_limit_of_cpus() -> None:
    limit = ("spec", "template", "spec", "containers", 0, "resources", "limits", "cpu")
    asked = edited(workloads.job(1), *limit, value="32")
    assert list(conflicts(asked, "sunk", compute_domain="never")) == [".".join(map(str, limit))]
    adopting = rules(computeDomain="never")
    adopting["spec"]["rules"][0]["adopt"] = True
    result = run(asked, "sunk", VERSIONS["sunk"][-1], adopting)
    resources = result.after[0]["spec"]["template"]["spec"]["containers"][0]["resources"]
    assert resources["limits"] == {"memory": "64Gi", "nvidia.com/gpu": "4"}
    assert resources["requests"]["cpu"] == "32"


def test_a_ray_job_under_kueue_gives_its_nodes_back() -> None:
    asked = workloads.rayjob(15)
    del asked[0]["spec"]["shutdownAfterJobFinishes"]
    result = run(workloads.asking(asked, placement="required=rack"), "kueue", {"kueue": "0.19"})
    assert result.after[0]["spec"]["shutdownAfterJobFinishes"] is True


def test_as_many_pod_templates_as_kueue_holds() -> None:
    for version, most in (("0.14", 8), ("0.18", 10), ("0.19", 18)):
        for jobs in (most, most + 1):
            names = tuple(f"job-{number}" for number in range(jobs))
            asked = workloads.asking(two_jobs(8, 8, names), compute_domain="never")
            result = run(asked, "kueue", {"kueue": version})
            assert [each.code for each in result.errors] == (["F740"] if jobs > most else [])


def test_groups_that_koordinator_would_mix() -> None:
    names = ("a", "b", "c", "d")
    for first, second, refused in ((("a", "b"), ("c", "d"), False), (("a", "c"), ("b", "d"), True)):
        policy = rules(group("one", *first), group("two", *second))
        result = run(two_jobs(8, 8, names), "koordinator", {"koordinator": "1.8"}, policy)
        assert result.refused is refused
        assert [each.code for each in result.errors] == (["F665"] if refused else [])


def test_koordinator_deals_out_whole_jobs() -> None:
    """As its planner does: pods by name, so many to a domain."""
    asked = workloads.jobset(96)
    words = {"group_size": "8", "group_placement": "required=rack", "compute_domain": "never"}
    result = run(workloads.asking(asked, **words), "koordinator", {"koordinator": "1.8"})
    assert not result.refused
    names = sorted(each["metadata"]["name"] for each in workloads.pods(result.after))
    runs = [names[start : start + 8] for start in range(0, len(names), 8)]
    assert all(len({name.rsplit("-", 2)[0] for name in each}) == 1 for each in runs)


def test_what_the_pool_asks_for_is_no_choice_of_the_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    """slurm-bridge reads no node selector: one that the first run wrote is not held against the workload."""
    (pool,) = support.TOPOLOGY["spec"]["pools"]
    node = {**pool["node"], "nodeSelector": {"gpu": "gb200"}, "tolerations": [{"key": "gpu", "operator": "Exists"}]}
    monkeypatch.setitem(support.TOPOLOGY["spec"], "pools", [{**pool, "node": node}])
    for backend, every in VERSIONS.items():
        words = {"compute_domain": "never", **({"placement": "required=rack"} if backend != "sunk" else {})}
        asked = workloads.asking(workloads.job(1), **words)
        result = run(asked, backend, every[-1])
        if backend != "slurm":
            assert result.after[0]["spec"]["template"]["spec"]["nodeSelector"] == {"gpu": "gb200"}
            assert not run([*result.after, *result.added], backend, every[-1]).changed


# --- anything that anybody may ask for --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(examples(5, 24)))
def test_whatever_is_asked_for(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused, or taken upstream and read as it was meant; and a second run has nothing to do."""
    chance = Random(seed)
    kind, objects, policy = random_existing.case(chance)
    for backend, every in VERSIONS.items():
        at = chance.choice(every)
        plans = watched(backend, monkeypatch)
        result = run(objects, backend, at, policy)
        if result.refused:
            assert result.errors
            continue
        placed = result._replace(after=lived_in(result.after), added=lived_in(result.added))
        taken_upstream(placed, Case(backend, at, kind, "gang"))
        if backend != "kai" or any(each["kind"] == "PodGroup" for each in result.added):
            reads_the_same(placed, Case(backend, at, kind, "gang"), plans[-1])
        again = run([*result.after, *result.added], backend, at, policy)
        assert not again.refused, again.errors
        assert not again.changed


def lived_in(documents: Documents) -> Documents:
    """In the namespace of whoever applies them."""
    return [{**each, "metadata": {"namespace": "ml", **each["metadata"]}} for each in documents]


def reads_the_same(result: Result, case: Case, plan: Plan) -> None:
    """The same levels over as many pods, with the same claims."""
    oracle = ORACLES[case.backend]
    read = oracle.read([*result.after, *result.added])
    assert read.diagnostics == ()
    meant = oracle.intent(plan, Target({**support.TOPOLOGY["spec"]["versions"], **case.versions}))
    if len(meant) > 1:
        meant = meant[:1] if case.backend != "sunk" else meant
    assert sorted(counted(each.root) for each in read.value or ()) == sorted(counted(each.root) for each in meant)


def counted(unit: UnitIntent) -> Any:
    """The levels in it, and the pods below each by the ComputeDomain that they claim from."""
    placed: list[Any] = []
    pods: Counter[bool] = Counter()
    below = [unit]
    for each in below:
        pods.update({bool(one.compute_domain): 0 for one in each.pods})
        for one in each.pods:
            pods[bool(one.compute_domain)] += one.replicas
        inside = [inner for inner in each.units if inner.required or inner.preferred or inner.minimum]
        placed += map(counted, inside)
        below += [inner for inner in each.units if inner not in inside]
    return unit.required, unit.preferred, sorted(placed), sorted(pods.items())
