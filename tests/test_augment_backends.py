"""Every kind of workload that is there, on every scheduler: placed, so that upstream takes it and reads what was meant;
or refused, with the reason and a way out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pytest

import judges
import support
import workloads
from bayplan import document
from bayplan.augment import augment
from bayplan.backends import BACKENDS
from bayplan.diagnostics import Diagnostic
from bayplan.model.augment import AugmentRequest
from bayplan.model.given import FEATURES, PLAIN, TITLES
from bayplan.model.intent import GangIntent, UnitIntent
from bayplan.model.manifest import Object
from bayplan.model.plan import Plan
from bayplan.model.target import Target
from judges import kueue as kueue_judge

needs_upstream = pytest.mark.skipif(not (judges.UPSTREAM / "crds").is_dir(), reason="no upstream CRDs")

Documents = list[dict[str, Any]]

VERSIONS: Mapping[str, tuple[Mapping[str, str], ...]] = {
    "kai": ({"kai": "0.15"}, {"kai": "0.17"}),
    "kueue": ({"kueue": "0.14"}, {"kueue": "0.17"}, {"kueue": "0.19"}),
    "volcano": ({"volcano": "1.14.3"}, {"volcano": "1.15.1"}),
    "koordinator": ({"koordinator": "1.8"},),
    "native": ({"kubernetes": "1.36", "lws": "0.9"}, {"kubernetes": "1.37"}),
    "slurm": ({"slurm": "25.11"},),
    "slurm-bridge": ({"kubernetes": "1.34", "slurmBridge": "1.0"}, {"kubernetes": "1.36", "slurmBridge": "1.2"}),
    "sunk": ({"sunk": "8.2"},),
    "none": ({"kubernetes": "1.34"},),
}
"""Scheduler -> the versions to place for."""

ANYWHERE = frozenset(PLAIN)
PLACED: Mapping[str, Mapping[str, frozenset[str]]] = {
    "kai": {
        "gang": ANYWHERE | {"trainjob"},
        "copies": frozenset({"jobset"}),
        "ranks": frozenset({"lws", "pytorchjob"}),
    },
    "kueue": {
        "gang": ANYWHERE | {"trainjob"},
        "copies": frozenset({"jobset"}),
        "ranks": frozenset({"job", "jobset", "lws", "statefulset", "pytorchjob", "mpijob", "trainjob"}),
    },
    "volcano": {
        "gang": ANYWHERE | {"volcano-job"},
        "copies": frozenset({"jobset"}),
        "ranks": frozenset({"volcano-job"}),
    },
    "koordinator": {"gang": ANYWHERE, "copies": frozenset({"jobset"})},
    "native": {"gang": frozenset({"job", "jobset", "lws", "statefulset", "pod"})},
    "slurm": {},
    "slurm-bridge": {"gang": frozenset({"job", "jobset", "pod"})},
    "sunk": {"gang": ANYWHERE - {"raycluster", "rayjob"}},  # a head and a worker are a gang of two
    "none": {"gang": ANYWHERE},
}
"""Scheduler -> what is placed of gangs, of groups that are copies, and of groups of ranks. All else is refused."""

TOO_OLD = {
    ("kai", "0.15", "jobset", "copies"),
    ("kueue", "0.14", "trainjob", "gang"),
    ("kueue", "0.14", "trainjob", "ranks"),
}
"""What is carried by later versions alone."""

ASKED: Mapping[str, Mapping[str, str]] = {
    "gang": {"placement": "required=rack"},
    "copies": {"placement": "required=spine", "group_size": "8", "group_placement": "required=rack"},
    "ranks": {"group_size": "16", "group_placement": "required=rack"},
}
SIZES = {"gang": 16, "copies": 32, "ranks": 32}


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
                modes = ("gang",) if kind == "pod" else ("gang", "ranks", *(("copies",) if kind == "jobset" else ()))
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


def run(objects: Documents, backend: str, versions: Mapping[str, str], policy: Any = None) -> Result:
    """The objects after one run."""
    listed = tuple(Object((f"manifest:{n}",), each) for n, each in enumerate(objects))
    rules = document.Document("policy.yaml", json.dumps(policy), 0, policy) if policy else None
    outcome, _ = augment(AugmentRequest(listed, topology(versions), rules, scheduler=backend))
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
    module: Any = BACKENDS[backend]
    place = module.place

    def watch(plan: Plan, shape: Any, target: Any) -> Any:
        seen.append(plan)
        return place(plan, shape, target)

    monkeypatch.setattr(module, "place", watch)
    return seen


def refused_well(result: Result) -> None:
    """By codes of what a workload that is there cannot carry, each with the reason and a way out."""
    codes = {each.code for each in result.errors}
    assert codes & {"F740", "F741", "F742", "F743"} or codes <= {"F615", "F742"}, result.errors
    for each in result.errors:
        assert each.hint, each
        if each.code.startswith("F74"):
            assert any(word in each.message for word in ("(never)", "(not yet here)", "(not yet upstream)"))
    assert not result.changed


STORED = ("job", "jobset", "lws", "statefulset", "volcano-job", "pod", "trainjob")
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


def requests_of_kueue(pods: Documents, version: str) -> None:
    """Pods of one template are a podSet."""
    sets: dict[str, list[Any]] = {}
    for each in pods:
        own = each["metadata"].get("annotations", {})
        sets.setdefault(json.dumps([own, each["spec"]], sort_keys=True), []).append(own)
    listed = [kueue_judge.PodSet(len(same), same[0]) for same in sets.values()]
    assert [
        c for each in listed for c in (*kueue_judge.request(each.annotations), *kueue_judge.sizes(each, version))
    ] == []
    assert list(kueue_judge.groups(listed)) == []


def read_back(result: Result, case: Case, plan: Plan) -> None:
    """The scheduler reads of it what the plan meant; groups have no names in a template that is what it is."""
    if case.backend == "kai" and case.mode != "gang":
        return  # KAI's podgrouper makes these PodGroups, in the cluster
    backend = BACKENDS[case.backend]
    read = backend.read([*result.after, *result.added])
    assert read.diagnostics == ()
    meant = backend.intent(plan, Target({**support.TOPOLOGY["spec"]["versions"], **case.versions}))
    assert sorted(map(nameless, read.value or ())) == sorted(map(nameless, meant))


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
    assert set(workloads.KINDS) == set(TITLES) - {"deployment"}


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_row_has_a_feature_and_every_feature_a_row(backend: str) -> None:
    rows = BACKENDS[backend].GIVEN
    assert {row.feature for row in rows} <= set(FEATURES)
    assert {row.feature for row in rows} >= {each for each in FEATURES if not each.startswith("gangs-")} | {"gangs-lws"}
    for row in rows:
        assert bool(row.word and row.reason and row.hint) == (row.fidelity == "absent"), row
