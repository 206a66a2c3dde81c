"""What a scheduler's module offers to the bench, and how its program is asked."""

from __future__ import annotations

import atexit
import json
import os
import selectors
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import yaml

from bayplan.core.diagnostics import Diagnostic
from bayplan.model.plan import Plan
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.pipeline import Compiled
from bayplan.report.codes import sections
from bayplan.text.emit import emit
from e2e.pods import Folded, Member, members

ROOT = Path(__file__).resolve().parents[2]
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
Object = dict[str, Any]
Documents = Sequence[Mapping[str, Any]]
Change = Callable[[Any], Any]

UNFIT = frozenset(code for code in sections() if code.startswith("P55"))
"""What reports that a gang does not fit: the replay asks the scheduler the same."""

GONE = object()
"""What a change returns for a value that it removes."""


class Other(NamedTuple):
    """A pod of others, which runs on a node, or has ended there."""

    owner: str  # namespace and workload
    node: str
    cards: int = 0
    cpu: int = 0  # thousandths
    memory: int = 0  # MiB
    channel: bool = False
    port: int = 0  # of the node
    form: str = "plain"  # how it requests the CPU: see `others.SPECS`
    ended: bool = False


class Case(NamedTuple):
    """A workflow and a topology, as data. `gangs`: those that are rendered, as with `--gang`; without any, all.

    `others`: what runs in the cluster.
    """

    name: str
    workflow: Mapping[str, Any]
    topology: Mapping[str, Any]
    gangs: tuple[str, ...] = ()
    others: tuple[Other, ...] = ()


class World(NamedTuple):
    """What a scheduler sees of one stage. `members`: the pods, pending. `documents`: all manifests."""

    topology: ClusterTopology
    nodes: Sequence[Object]
    members: Sequence[Member]
    documents: Documents
    others: Sequence[Other] = ()


class Mutation(NamedTuple):
    """A change of every value that `path` leads to in the manifests; see `edited`."""

    name: str
    path: str
    change: Change


class Release(NamedTuple):
    """One release of a scheduler. Its program is `.ci/bin/replay-NAME@VERSION`."""

    scheduler: Scheduler
    version: str

    @property
    def name(self) -> str:
        """As in "kai 0.17.0"."""
        return f"{self.scheduler.name} {self.version}"

    @property
    def program(self) -> Path:
        """Where `prepare` puts the program."""
        return ROOT / ".ci" / "bin" / f"replay-{self.scheduler.name}@{self.version}"

    def has_source(self) -> bool:
        """Whether `prepare` found the source, which the module proxy does not serve for each release."""
        return not self.program.with_name(f".no-source-{self.scheduler.name}@{self.version}").exists()

    def missing(self) -> str:
        """Why the release cannot be run here; empty if it can."""
        if os.access(self.program, os.X_OK):
            return ""
        source = self.scheduler.source
        takes = f"a C compiler, and a source tree of Slurm {self.version} that {source} names" if source else "Go"
        command = f"bash tests/e2e/prepare {self.scheduler.name}@{self.version}"
        return f"no {self.program.name}: run `{command}`, which takes {takes}"


def _same(case: Case, _release: Release) -> Case:
    return case


def _whole(plan: Plan, _release: Release) -> Plan:
    return plan


def _none(_release: Release) -> frozenset[str]:
    return frozenset()


def _nothing(_plan: Plan, _target: Target) -> Iterable[Diagnostic]:
    return ()


def loaded(compiled: Compiled) -> Documents:
    """The manifests."""
    return [each for each in yaml.load_all("".join(emit(compiled.documents)), LOADER) if each]


def _versions(release: Release) -> dict[str, str]:
    return {release.scheduler.name: release.version, "kubernetes": "1.34"}


class Scheduler(NamedTuple):
    """A scheduler: how a case becomes its world, how its bindings are read, and what it accepts.

    `constraints`: paths of topology constraints in the manifests. `mutations`: wrong manifests, which the comparison
    must notice in one of the random cases with these `seeds`. `runs`: how often a case is replayed before it counts as
    agreed, more than once if the code is not deterministic. `accepted`: codes that must not keep a case from being
    rendered, but for those that are `firm` in a release.
    """

    name: str
    bind: Callable[[World, Release], Mapping[str, str]]  # pod -> node
    constraints: tuple[str, ...]
    mutations: tuple[Mutation, ...]
    seeds: tuple[int, ...]
    runs: int = 1
    source: str = ""  # the variable that names the source tree; without the program the campaign skips the scheduler
    accepted: frozenset[str] = UNFIT
    firm: Callable[[Release], frozenset[str]] = _none
    versions: Callable[[Release], dict[str, str]] = _versions  # what to render for
    read: Callable[[Compiled], Documents] = loaded  # what was rendered, as data
    members: Callable[[Documents, Folded | None], list[Member]] = members  # its pods
    fitted: Callable[[Case, Release], Case] = _same  # the case without what the replay cannot show
    seen: Callable[[Plan, Release], Plan] = _whole  # the same for the plan
    known: Callable[[Plan, Target], Iterable[Diagnostic]] = _nothing  # by which bayplan says that it is not found
    doubts: frozenset[str] = frozenset()  # codes by which bayplan says that a stage may not be found
    breaks: frozenset[str] = frozenset()  # codes by which bayplan says that the scheduler may violate a level
    unbound: Callable[[World], World] | None = None  # pinned pods without their constraints, if dropping is not enough
    crowded: Callable[..., bool] | None = None  # whether it meets each preferred level of a unit that is alone


def edited(documents: Documents, path: str, change: Change) -> list[Object]:
    """The manifests with every value changed that the path leads to.

    A path is a kind and keys. "*" is any key, any item of a list or any kind; "**" is any way down.
    """
    kind, *keys = path.split()
    return [_edited(each, keys, change) if kind in ("*", each["kind"]) else dict(each) for each in documents]


def _edited(value: Any, keys: Sequence[str], change: Change) -> Any:
    if not keys:
        return change(value)
    first, rest = keys[0], keys[1:]
    if first == "**":
        value = _edited(value, rest, change)
        rest = keys
    if isinstance(value, list):
        found = [_edited(each, rest, change) if first in ("*", "**") else each for each in value]
        return [each for each in found if each is not GONE]
    if isinstance(value, Mapping):
        pairs = {k: _edited(each, rest, change) if first in ("*", "**", k) else each for k, each in value.items()}
        return {key: each for key, each in pairs.items() if each is not GONE}
    return value


def removed(_value: Any) -> Any:
    """A change: the value is not there."""
    return GONE


def stored(document: Mapping[str, Any], **status: Any) -> Object:
    """The object as an API server stores it."""
    own = {"uid": document["metadata"]["name"], "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {**document, "metadata": {**own, **document["metadata"]}, **({"status": status} if status else {})}


def counted(case: Case) -> Case:
    """The case with devices that are counted rather than claimed."""
    spec = dict(case.topology["spec"])
    spec["accelerators"] = {name: _plain(kind) for name, kind in spec.get("accelerators", {}).items()}
    return case._replace(workflow=_unclaimed(case.workflow), topology={**case.topology, "spec": spec})


def _plain(kind: Mapping[str, Any]) -> Object:
    kept = {key: value for key, value in kind.items() if key not in ("deviceClass", "allocator")}
    return {**kept, "allocator": "device-plugin"}


def _unclaimed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _unclaimed(each) for key, each in value.items() if key not in ("selectors", "allocator")}
    return [_unclaimed(each) for each in value] if isinstance(value, list) else value


class BrokenError(Exception):
    """The program did not answer."""


class _Running(NamedTuple):
    process: subprocess.Popen[bytes]
    log: IO[bytes]
    left: Iterator[int]  # how many more cases it gets


MANY = 50
"""After so many cases a program is started anew: Volcano's cache keeps some 20 MB of each."""


def ask(program: Path, case: Mapping[str, Any], seconds: int = 120) -> Object:
    """The program's answer to one case: a line of JSON each way, many cases a process."""
    running = _running(program)
    assert running.process.stdin
    try:
        running.process.stdin.write(json.dumps(case).encode() + b"\n")
        running.process.stdin.flush()
        line = _line(running, seconds)
    except BrokenPipeError:
        line = b""
    if not line:
        running.log.seek(0)
        log = running.log.read().decode(errors="replace")
        start = max(log.find("panic: "), log.find("fatal error: "))
        end = log[start:][:4000] if start >= 0 else log[-4000:]
        _stop(_STARTED.pop((os.getpid(), program)))
        raise BrokenError(f"{program.name} stopped, or took more than {seconds} s:\n{end}")
    answer: Object = json.loads(line)
    if answer.get("error"):
        raise BrokenError(f"{program.name}: {answer['error']}")
    return answer


def _line(running: _Running, seconds: int) -> bytes:
    assert running.process.stdout
    with selectors.DefaultSelector() as waiting:
        waiting.register(running.process.stdout, selectors.EVENT_READ)
        return running.process.stdout.readline() if waiting.select(seconds) else b""


def _stop(running: _Running) -> None:
    with running.process, running.log:
        running.process.kill()


_STARTED: dict[tuple[int, Path], _Running] = {}


def _running(program: Path) -> _Running:
    """One process of each program for each of our own."""
    key = os.getpid(), program
    if key in _STARTED and next(_STARTED[key].left, None) is None:
        _stop(_STARTED.pop(key))
    if key not in _STARTED:
        log = tempfile.TemporaryFile()  # noqa: SIM115
        made = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        atexit.register(made.kill)
        _STARTED[key] = _Running(made, log, iter(range(MANY)))
    return _STARTED[key]
