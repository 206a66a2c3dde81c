"""The tables of docs/reference/schedulers/, made from what backends and workload kinds declare.

`python tests/tools/refresh_docs.py` writes them between the marks of each page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from bayplan.backends import BACKENDS
from bayplan.cli.schedulers import rows_of_existing
from bayplan.kube.kinds import KINDS
from bayplan.model.backend import FEATURES, Backend, Feature, Support
from bayplan.model.existing import FEATURES as PLACING
from bayplan.model.existing import LED, PLACED, SINGLE_PODS, TITLES
from bayplan.model.target import KNOWN, Target
from tools.docs import filled

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference" / "schedulers"
MATRIX = FOLDER / "README.md"

NAMES = {"kai": "KAI", "sunk": "SUNK", "slurm-bridge": "slurm-bridge", "native": "native", "none": "none"}
"""Schedulers that are not called by their capitalized name."""

OPERATED_NAMES = {"mpijob": "MPIJob", "trainjob": "TrainJob"}
"""Kinds of jobs of which an operator makes the pods."""

KIND_NAMES = {"jobset": "JobSet", "job": "Job", "pods": "pods", "volcano-job": "Volcano Job", "sbatch": "sbatch script"}

TABLES: Mapping[str, Mapping[str, str]] = {
    "gangs": {
        "gang": "all pods of a gang start, or none",
        "optional-pods": "podSet with `minReplicas`",
        "optional-groups": "group with `minReplicas`",
        "group-depth": "levels on nested groups",
        "uneven-groups": "groups of different size in one gang",
        "mixed-pod-sets": "several podSets in one placement",
        "rank-order": "consecutive ranks share a domain",
    },
    "levels": {
        "required-level": "`required` level",
        "preferred-level": "`preferred` level",
        "required-and-preferred": "`required` and `preferred` on one unit",
        "group-preferred": "`preferred` level of groups",
        "optional-pods-placed": "placement of pods above `minReplicas`",
        "separate": "`separate` groups",
        "mixed-pools": "one placement over pools with different levels",
        "repeated-values": "equal level values under different parents",
        "level-count": "levels in one pool",
        "label-key-length": "length of a level's label key",
        "node-name-length": "length of node names",
    },
    "devices": {
        "compute-domain": "ComputeDomain of a gang",
        "several-compute-domains": "ComputeDomains of several groups",
        "compute-domain-each": "`computeDomain: group`",
        "gpu-claim": "GPUs claimed through DRA",
        "network-cards": "network cards as extended resources",
        "network-claim": "network cards claimed through DRA",
        "pod-network": "secondary networks",
        "fixed-address": "fixed address of rank 0 on a secondary network",
        "numa": "`numa` of a podSet",
    },
    "queues": {
        "queue": "`queue`",
        "no-queue": "workflow without a queue",
        "priority": "`priorityClassName`",
        "preemptible": "`preemptible`",
        "limited-copies": "one object for all copies, with `atOnce`",
        "unlimited-copies": "one object for all copies",
    },
    "kinds": {
        "workload-jobset": "JobSet",
        "workload-job": "Job",
        "workload-pods": "bare pods",
        "workload-volcano-job": "Volcano Job",
        "workload-sbatch": "sbatch script",
    },
    "lifecycle": {
        "depends-on": "`dependsOn`",
        "at-once": "`atOnce`",
        "lead": "`lead`",
        "barrier": "`barrier`",
        "barrier-of-copies": "`barrier: group` of groups that share a pod template",
        "nonlead-failures": "`ignoreNonleadFailures: false`",
        "restarts": "restart of the whole gang",
        "retries": "`retryOnExitCodes`",
        "gang-retries": "`restartGangOnExitCodes`",
        "counted-retries": "exit codes of both beside `maxRestarts`",
        "deadline": "`activeDeadlineSeconds`",
        "ttl": "`ttlSecondsAfterFinished`",
        "always-restart": "`restartPolicy: Always`",
        "adopt": "`cleanup: adopt`",
        "pod-name-length": "length of generated pod names",
        "service": "`lifecycle: service`",
        "clients": "`service`",
    },
    "services": {
        "end": "`lifecycle: job`",
        "pod-templates": "several podSets in a copy",
        "leader": "several leaders in a copy",
        "pods-a-copy": "several pods in a copy",
        "separate-ranks": "`rendezvous: group` of groups that share a pod template",
        "missing-pods": "`minReplicas` of a group or podSet",
        "pod-names": "`hosts`",
        "autoscale": "`autoscale`",
        "rollout": "`rollout`",
        "rollout-apart": "`rollout` of copies with a ComputeDomain each",
        "new-versions": "a new version of ranks by itself",
        "starts-after": "`startsAfter`",
        "ready-ranks": "copies with a `readinessProbe` that only rank 0 passes",
    },
    "operators": {
        "pod-templates": "podSets of a gang",
        "one-launcher": "gangs without a launcher, or with groups",
        "missing-pods": "`minReplicas` of a podSet or group",
    },
}
"""Mark of a table -> its features, with the title of each. The workload kind decides about the last two."""

SERVICES = {
    "lws": "LeaderWorkerSet",
    "statefulset": "StatefulSet",
    "deployment": "Deployment",
    "podcliqueset": "PodCliqueSet",
}
"""Kinds of services, which the scheduler places like those that exist already."""

COMPONENTS = {
    "jobset": "JobSet",
    "lws": "LeaderWorkerSet",
    "kubernetes": "Kubernetes",
    "trainer": "Trainer",
    "mpiOperator": "mpi-operator",
}
"""Components other than the scheduler that bound what it supports."""

UNITS = {"gang": "pods", "workload-jobset": "replicatedJobs", "workload-job": "Jobs", "level-count": "levels"}
"""What the amounts of features count that declare no unit, or a longer one."""

CUTS = {
    "copies": ("groups of whole Jobs of a replicatedJob", ("jobset", "trainjob")),
    "ranks": ("groups of consecutive ranks (`group-size`)", (*(k for k in TITLES if k != "pod"), LED)),
    "gangs": ("several gangs from one pod template", ("lws", "podcliqueset")),
}


def unplaced() -> set[str]:
    """Features without a row."""
    return FEATURES.keys() - {feature for rows in TABLES.values() for feature in rows}


def pages() -> dict[Path, dict[str, str]]:
    """Page -> mark -> table."""
    backends = list(BACKENDS.values())
    heads = [f"[{name(each)} {KNOWN[each.declared.component][-1]}]({each.declared.name}.md)" for each in backends]
    tables = {
        mark: table(["feature", *heads, "code"], (_row(feature, title, backends) for feature, title in rows.items()))
        for mark, rows in TABLES.items()
        if mark not in ("lifecycle", "services", "operators")
    }
    placed = ((title, *_placed(kind, backends), PLACING[f"place-{kind}"].code) for kind, title in WRITTEN.items())
    tables["kinds"] += "\n" + "\n".join(table((), placed).splitlines()[2:])
    tables["services"] = table(
        ["feature", *SERVICES.values(), "code"],
        (
            (title, *(_of_kind(feature, kind) for kind in SERVICES), FEATURES[feature].code)
            for feature, title in TABLES["services"].items()
        ),
    )
    operated = {**TABLES["operators"], **TABLES["lifecycle"]}
    tables["operators"] = table(
        ["feature", *OPERATED_NAMES.values(), "code"],
        (
            (title, *(_of_kind(feature, kind) for kind in OPERATED_NAMES), FEATURES[feature].code)
            for feature, title in operated.items()
        ),
    )
    tables["operators-losses"] = table(
        ["workload kind", "feature", "supported", "reason"],
        (
            (called, *row[1:])
            for kind, called in OPERATED_NAMES.items()
            for row in _losses(KINDS[kind].SUPPORT, called, kind)
        ),
    )
    tables["lifecycle"] = table(
        ["feature", *KIND_NAMES.values(), "code"],
        (
            (title, *(_cell(feature, KINDS[kind].SUPPORT, kind) for kind in KIND_NAMES), FEATURES[feature].code)
            for feature, title in TABLES["lifecycle"].items()
        ),
    )
    tables["lifecycle-losses"] = table(
        ["workload kind", "feature", "supported", "reason"],
        (
            (KIND_NAMES[kind], *row[1:])
            for kind in KIND_NAMES
            for row in _losses(KINDS[kind].SUPPORT, KIND_NAMES[kind], kind)
        ),
    )
    tables["existing"] = table(["workload", *heads], _existing(backends))
    own = {FOLDER / f"{each.declared.name}.md": {"losses": _own(each)} for each in backends}
    return {MATRIX: tables, **own}


WRITTEN = {**SERVICES, SINGLE_PODS: SERVICES["deployment"], **OPERATED_NAMES}
del WRITTEN["deployment"]


def _placed(kind: str, backends: Sequence[Backend]) -> Iterator[str]:
    """Whether each scheduler places a kind that bayplan writes."""
    return (_existing_cell(each, f"place-{kind}") for each in backends)


def _of_kind(feature: str, kind: str) -> str:
    """The support of a kind; a dash if it never needs the feature."""
    rows = [row for row in KINDS[kind].SUPPORT if row.feature == feature]
    return summed(rows, kind, _unit(feature)) if rows else "-"


def page(path: Path, text: str) -> str:
    """A page with its tables as they are now."""
    return filled(text, pages()[path])


def name(backend: Backend) -> str:
    """What readers call the scheduler."""
    return NAMES.get(backend.declared.name) or backend.declared.name.capitalize()


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, *([cell.replace("|", "\\|").replace("<", "\\<") for cell in row] for row in rows)]
    first, *rest = (f"| {' | '.join(line)} |" for line in lines)
    return "\n".join((first, f"|{'---|' * len(head)}", *rest))


def _row(feature: str, title: str, backends: Sequence[Backend]) -> tuple[str, ...]:
    cells = (_cell(feature, each.declared.support, each.declared.component) for each in backends)
    return title, *cells, FEATURES[feature].code


def _cell(feature: str, support: Sequence[Support], component: str) -> str:
    return summed([row for row in support if row.feature == feature], component, _unit(feature))


def summed(rows: Sequence[Support], component: str, unit: str = "") -> str:
    """What the newest versions support: `yes`, `no`, `partly`, `since 0.17`, `at most 2 podSets`.

    A version of another component than this one has its name: `since JobSet 0.12`.
    """
    newest = Target()
    valid = [row for row in rows if not row.component or newest.between(row.component, row.since, row.until)]
    carried = [row for row in valid if row.fidelity != "absent"]
    if not carried:
        return "no"
    best = carried[0]
    widest = next(row for row in reversed(carried) if row.fidelity == best.fidelity)
    where = ", ".join(
        filter(None, (_most(widest, unit), best.since and f"since {_named(best, component)}{best.since}"))
    )
    if best.fidelity == "approximate":
        return f"partly, {where}" if where else "partly"
    return where or "yes"


def _named(row: Support, component: str) -> str:
    return "" if row.component == component else f"{COMPONENTS.get(row.component, row.component)} ".lstrip()


def _unit(feature: str) -> str:
    return UNITS.get(feature) or _declared(feature).unit


def _most(row: Support, unit: str) -> str:
    if row.up_to is None:
        return ""
    return f"at most {row.up_to} {unit.removesuffix('s') if row.up_to == 1 else unit}".rstrip()


def _own(backend: Backend) -> str:
    own = backend.declared
    written = {f"workload-{kind}" for kind in own.kinds}
    support = [row for row in own.support if not row.feature.startswith("workload-") or row.feature in written]
    codes = {key: each.code for key, each in own.features.items()}
    return table(["code", "feature", "supported", "reason"], _losses(support, name(backend), own.component, codes))


def _losses(
    support: Sequence[Support], upstream: str, component: str, codes: Mapping[str, str] = {}
) -> Iterator[tuple[str, ...]]:
    """What is not supported without limits, in the order of the matrix. Features with one reason share a row."""
    titles = {feature: title for rows in TABLES.values() for feature, title in rows.items()}
    every = {**{feature: FEATURES[feature].code for feature in titles}, **codes}
    alike: dict[tuple[str, str], dict[str, None]] = {}
    for feature in every:
        exact = summed([r for r in support if (r.feature, r.fidelity) == (feature, "exact")], component, _unit(feature))
        verdicts: dict[str, str] = {}
        for row in support:
            if row.feature == feature and row.fidelity != "exact":
                verdict = _verdict(row, exact, upstream, component)
                verdicts[row.reason] = min(verdict, verdicts.get(row.reason, verdict), key=len)
        for reason, verdict in verdicts.items():
            alike.setdefault((verdict, reason), {})[feature] = None
    for (verdict, reason), features in alike.items():
        named = dict.fromkeys(titles.get(each) or _declared(each).meaning for each in features)
        yield ", ".join(dict.fromkeys(every[each] for each in features)), "; ".join(named), verdict, reason


def _verdict(row: Support, exact: str, upstream: str, component: str) -> str:
    word = f"not yet in {upstream}" if row.word == "not yet upstream" else row.word
    verdict = "partly" if row.fidelity == "approximate" else word
    if exact in ("no", "yes"):
        return f"{verdict}{_versions(row, component)}"
    return f"{exact}, otherwise partly" if verdict == "partly" else exact


def _declared(feature: str) -> Feature:
    every = (FEATURES, *(backend.declared.features for backend in BACKENDS.values()))
    return next(features[feature] for features in every if feature in features)


def _versions(row: Support, component: str) -> str:
    bounds = (row.since and f"since {_named(row, component)}{row.since}", row.until and f"before {row.until}")
    where = " and ".join(filter(None, bounds))
    return f", {where}" if where else ""


def _existing(backends: Sequence[Backend]) -> Iterator[tuple[str, ...]]:
    for kind in PLACED:
        title = PLACED[kind].split(" ", 1)[1]
        yield title, *(_existing_cell(each, f"place-{kind}") for each in backends)
    for cut, (title, kinds) in CUTS.items():
        yield title, *(_kinds_cut(each, cut, kinds) for each in backends)


def _kinds_cut(backend: Backend, cut: str, kinds: Sequence[str]) -> str:
    placed = [kind for kind in kinds if kind == LED or _existing_cell(backend, f"place-{kind}") != "no"]
    titles = {kind: TITLES[kind].split(" ", 1)[1] for kind in placed if kind != LED} | {LED: "LeaderWorkerSet leader"}
    cells = {titles[kind]: _existing_cell(backend, f"{cut}-{kind}") for kind in placed}
    return ", ".join(f"{kind} {cell}".removesuffix(" yes") for kind, cell in cells.items() if cell != "no") or "no"


def _existing_cell(backend: Backend, feature: str) -> str:
    return summed(rows_of_existing(backend, feature), backend.declared.component, "pod templates")
