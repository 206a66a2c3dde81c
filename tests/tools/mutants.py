"""A mutation run: how many of some small random changes of the product the default suite notices.

`PYTHONPATH=generator:tests python -m tools.mutants [--seed N] [--count 200]` needs `pip install coverage`. It works in
copies of the checkout, and ends with `N of M killed`.

1. A seed picks random lines of the product, and one change (`tools/mutations.py`) on each: the mutants.
2. The suite runs once under coverage. `.mutants/` keeps which test reaches which lines and what each test costs, until
   a file that is no page of the documentation changes. Tests that do not pass in the copy are left out.
3. On each mutant the tests run that reach its lines: first a few seconds of the cheapest, then the others and all tests
   of their files, where fixtures and caches may hide what a test reaches. A line that runs when its module is imported
   is reached by the tests that reach lines which use its name. The first test that fails kills the mutant, if it passes
   without it; so does the end of the time or memory that the mutant may take.

What survives may still be killed by tests that reach no line of it, such as those that read the sources.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import functools
import gc
import hashlib
import importlib.util
import json
import os
import queue
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import Phase, settings

from tools.mutations import PRODUCT, ROOT, Function, Mutant, defined, lines, listed, product, sample

CACHE = ROOT / ".mutants"
FIRST, OPENING = 4.0, 0.5
"""Seconds of tests that are tried first on a mutant, where each file of tests costs some, too."""

MEMORY = 6 << 30
"""Bytes that a mutant may allocate."""

OWN = {"mutants.py", "mutations.py"}
"""Files on which no test depends."""

RECORD, SELECT = "BAYPLAN_MUTANTS_RECORD", "BAYPLAN_MUTANTS_SELECT"
"""Tell pytest in a copy: the folder for what its tests reach; the file that names the tests to run."""


def main(arguments: Sequence[str]) -> None:
    """Prints what becomes of each mutant, and how many were killed."""
    parser = argparse.ArgumentParser(prog="mutants")
    parser.add_argument("--seed", type=int, default=1, help="which lines (default: 1)")
    parser.add_argument("--count", type=int, default=200, help="how many lines (default: 200)")
    parser.add_argument("--jobs", type=int, default=2, help="how many mutants at a time (default: 2)")
    parser.add_argument("--only", default="", help="of these, those whose line of the output begins with this text")
    given = parser.parse_args(arguments)
    chosen = [each for each in sample(given.seed, given.count) if str(each).startswith(given.only)]
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch, ThreadPoolExecutor(given.jobs) as pool:
        copies = [copied(Path(scratch) / str(number)) for number in range(given.jobs)]
        bench = Bench(recorded(copies[0]), copies)
        killed = 0
        for mutant, killer in zip(chosen, pool.map(bench.verdict, chosen), strict=True):
            killed += bool(killer)
            print(f"{mutant}: {'killed by ' + killer if killer else 'SURVIVED'}", flush=True)
        print(f"{killed} of {len(chosen)} killed")


def copied(folder: Path) -> Path:
    """A copy of the checkout, with its generated modules and the programs that the tests find in it."""
    for path in [*listed(), *(path for path in listed("-i") if path.is_relative_to(PRODUCT) and path.suffix == ".py")]:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, folder / path)
    for path in (ROOT / ".ci").iterdir():
        if not (folder / ".ci" / path.name).exists():
            (folder / ".ci" / path.name).symlink_to(path.resolve())
    return folder


# The tests


class Suite(NamedTuple):
    """The tests that pass, the cheapest first."""

    cost: dict[str, float]
    """Test -> seconds."""
    parents: set[str]
    """Those that start other processes, whose lines are not recorded."""
    databases: list[Path]
    """Which lines they reach."""

    def reaching(self, path: str, numbers: Iterable[int] = ()) -> set[str]:
        """The tests that reach one of these lines of a file, or any line of the files that match a pattern of SQL."""
        bits = [(number // 8, 1 << number % 8) for number in numbers]
        tables = "line_bits JOIN file ON file.id = file_id JOIN context ON context.id = context_id"
        found = set()
        for database in self.databases:
            connection = sqlite3.connect(database)
            rows = connection.execute(f"SELECT context, numbits FROM {tables} WHERE path LIKE ?", [f"%/{path}"])
            found |= {
                test
                for test, run in rows
                if not bits or any(run[byte : byte + 1] and run[byte] & bit for byte, bit in bits)
            }
            connection.close()
        return found & self.cost.keys()

    def tests(self, mutant: Mutant) -> list[str]:
        """The tests that reach a mutant: those first that reach its file at all, and of these the cheapest."""
        path, found = str(mutant.path), set()
        if mutant.function:
            found = self.reaching(path, mutant.lines) or self.reaching(path, mutant.function)
        if not found:
            found = {test for file, numbers in readers(mutant).items() for test in self.reaching(str(file), numbers)}
            found |= self.parents if mutant.function or not found else set()
        near = self.reaching(path) or self.reaching(f"{mutant.path.parent}/%")
        return sorted((test for test in self.cost if test in found), key=lambda test: test not in near)


def readers(mutant: Mutant) -> dict[Path, set[int]]:
    """File -> lines of functions that name what a mutant's statement defines, or what modules define by it."""
    found, names = defaultdict(set), [(mutant.name, mutant.path)]
    for name, home in names:
        for path in product() if name[:1] not in {"", "_"} else [home] if name else []:
            for number in _naming(path, name):
                owner, inside = _places(path).get(number, ("", False))
                if inside:
                    found[path].add(number)
                elif (owner, path) not in names and len(names) < 20:
                    names.append((owner, path))
    return found


def _naming(path: Path, name: str) -> list[int]:
    """The lines of a file in which a name stands."""
    text = _text(path)
    return [text.count("\n", 0, at.start()) + 1 for at in re.finditer(rf"\b{name}\b", text)] if name in text else []


@functools.cache
def _text(path: Path) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@functools.cache
def _places(path: Path) -> dict[int, tuple[str, bool]]:
    """Line of a file -> what its statement of the module defines, and whether it stands in a function."""
    found: dict[int, tuple[str, bool]] = dict.fromkeys(range(1, _text(path).count("\n") + 2), ("", False))
    for statement in ast.parse(_text(path)).body:
        found |= dict.fromkeys(lines(statement), (defined(statement), False))
        for node in ast.walk(statement):
            if isinstance(node, Function):
                found |= dict.fromkeys(lines(node), (defined(statement), True))
    return found


def recorded(copy: Path) -> Suite:
    """The suite as it was recorded for this checkout. It runs now if it was not."""
    sources = [path for path in listed() if path.suffix != ".md" and path.name not in OWN]
    state = hashlib.sha256(b"".join(str(path).encode() + (ROOT / path).read_bytes() for path in sources))
    store = CACHE / state.hexdigest()[:16]
    if not store.exists():
        shutil.rmtree(CACHE, ignore_errors=True)
        (CACHE / "running").mkdir(parents=True)
        code = run_pytest(copy, ["-n2"], 0, {RECORD: str(CACHE / "running")})
        if code not in {0, 1}:
            raise SystemExit(f"pytest ended with {code}: nothing is known of the tests")
        (CACHE / "running").rename(store)
    workers = [json.loads(path.read_text(encoding="utf-8")) for path in store.glob("*.json")]
    costs = sorted((seconds, test) for worker in workers for test, seconds in worker["cost"].items())
    parents = {test for worker in workers for test in worker["parents"]}
    return Suite({test: seconds for seconds, test in costs}, parents, sorted(store.glob("*.coverage")))


# The mutants


class Bench:
    """Copies of the checkout, in each of which one mutant is tried at a time."""

    def __init__(self, suite: Suite, copies: Iterable[Path]) -> None:
        self.suite, self.trusted, self.unreliable = suite, set[str](), set[str]()
        self.copies: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for copy in copies:
            self.copies.put(copy)

    def verdict(self, mutant: Mutant) -> str:
        """What kills a mutant; empty where it survives."""
        copy = self.copies.get()
        try:
            return next(filter(None, (self._killer(copy, mutant, tests) for tests in self._stages(mutant))), "")
        finally:
            self.copies.put(copy)

    def _stages(self, mutant: Mutant) -> Iterator[list[str]]:
        """A few seconds of cheap tests from few files, then the others."""
        reaching, left = self.suite.tests(mutant), FIRST
        first: dict[str, str] = {}
        for test in reaching:
            price = self.suite.cost[test] + OPENING * (_file(test) not in first.values())
            if price <= left:
                first[test] = _file(test)
                left -= price
        yield list(first)
        files = set(map(_file, reaching))
        yield [test for test in self.suite.cost if _file(test) in files and test not in first]

    def _killer(self, copy: Path, mutant: Mutant, tests: list[str]) -> str:
        """The first test that fails in a copy with the mutant, and passes there without it."""
        path, source = copy / mutant.path, (ROOT / mutant.path).read_bytes()
        while tests := [test for test in tests if test not in self.unreliable]:
            _write(path, source[: mutant.place.start] + mutant.text + source[mutant.place.stop :])
            try:
                killer = self._failing(copy, tests)
            finally:
                _write(path, source)
            if killer not in self.suite.cost or killer in self.trusted:
                return killer
            known = self.trusted if self._failing(copy, tests[: tests.index(killer) + 1]) != killer else self.unreliable
            known.add(killer)
        return ""

    def _failing(self, copy: Path, tests: list[str]) -> str:
        """The first of some tests that fails in a copy as it is now."""
        with tempfile.NamedTemporaryFile("w+", suffix=".json") as file:
            json.dump(tests, file)
            file.flush()
            limit = 60 + int(3 * sum(self.suite.cost[test] for test in tests))
            code = run_pytest(copy, ["-x", "-n0", *dict.fromkeys(map(_file, tests))], limit, {SELECT: file.name})
            failed = Path(file.name).read_text(encoding="utf-8")
        return failed if code in {0, 1, 2, 5} else failed or f"pytest's exit code {code}"


def _file(test: str) -> str:
    return test.partition("::")[0]


def _write(path: Path, source: bytes) -> None:
    """Changes a module. Its bytecode goes: a change within a second that keeps the size would not be seen."""
    path.write_bytes(source)
    Path(importlib.util.cache_from_source(path)).unlink(missing_ok=True)


def run_pytest(copy: Path, arguments: Iterable[str], limit: int, env: dict[str, str]) -> int:
    """pytest's exit code in a copy. A limit is in seconds of the processor; then pytest prints nothing."""
    upstream = os.environ.get("BAYPLAN_UPSTREAM") or str(ROOT.parent / "shared")
    paths = {"PYTHONPATH": f"{copy}/generator:{copy}/tests", "PATH": f"{ROOT}/.ci/bin:{os.environ['PATH']}"}
    env = {**os.environ, **paths, "PYTHONHASHSEED": "0", "BAYPLAN_UPSTREAM": upstream, **env}
    options = ["-q", "--assert=plain", "--tb=no", "-p", "tools.mutants", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, *arguments]
    output = subprocess.DEVNULL if limit else None
    with subprocess.Popen(command, cwd=copy, env=env, stdout=output, stderr=output, start_new_session=True) as run:
        if limit:
            resource.prlimit(run.pid, resource.RLIMIT_CPU, (limit, limit + 5))
            resource.prlimit(run.pid, resource.RLIMIT_DATA, (MEMORY, MEMORY))
        try:
            return run.wait(limit * 20 or None)
        except subprocess.TimeoutExpired:
            return -signal.SIGKILL
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)


# What pytest does in a copy, with `-p tools.mutants`


def pytest_configure(config: pytest.Config) -> None:
    """Records in processes that run tests, which the controller of several workers does not."""
    worker = getattr(config, "workerinput", {}).get("workerid", "main")
    if SELECT in os.environ:
        config.pluginmanager.register(Selection(Path(os.environ[SELECT])))
    elif RECORD in os.environ and (worker != "main" or not config.getoption("numprocesses", None)):
        config.pluginmanager.register(Recording(Path(os.environ[RECORD]) / worker))


class Recording:
    """Which lines each test reaches, and what it costs."""

    def __init__(self, path: Path) -> None:
        from coverage import Coverage  # nothing else of the tests needs it

        self.path, self.test = path, ""
        self.cost: dict[str, float] = {}
        self.parents: set[str] = set()
        self.coverage = Coverage(data_file=f"{path}.coverage", source=[str(ROOT / PRODUCT)], config_file=False)
        self.coverage.start()
        sys.addaudithook(lambda event, _: self.parents.add(self.test) if event == "subprocess.Popen" else None)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Forgets what functions remember from other files, else only the first file would reach their lines."""
        if _file(item.nodeid) != _file(self.test):
            _forget()
        self.test = item.nodeid
        self.coverage.switch_context(item.nodeid)
        before = _seconds()
        self.cost[item.nodeid] = 0
        try:
            return (yield)
        finally:
            if item.nodeid in self.cost:
                self.cost[item.nodeid] = _seconds() - before

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Tests that fail or are skipped kill nothing."""
        if not report.passed:
            self.cost.pop(report.nodeid, None)

    def pytest_sessionfinish(self) -> None:
        """Writes it down."""
        self.coverage.stop()
        self.coverage.save()
        Path(f"{self.path}.json").write_text(
            json.dumps({"cost": self.cost, "parents": sorted(self.parents & self.cost.keys())}), encoding="utf-8"
        )


def _seconds() -> float:
    """What this process and its children cost so far."""
    children = os.times()
    return time.process_time() + children.children_user + children.children_system


def _forget() -> None:
    """Clears the caches of the checkout's functions."""
    for each in gc.get_objects():
        if isinstance(each, functools._lru_cache_wrapper):
            module = sys.modules.get(each.__module__)
            if str(getattr(module, "__file__", "")).startswith(str(ROOT)):
                each.cache_clear()


class Selection:
    """Runs the tests that a file names, and writes the name of the one that fails into it."""

    def __init__(self, path: Path) -> None:
        self.path, self.tests = path, set(json.loads(path.read_text(encoding="utf-8")))
        path.write_text("", encoding="utf-8")

    def pytest_sessionstart(self) -> None:
        """Hypothesis looks for no smaller example of what fails."""
        default = settings.default or settings()
        kept = [phase for phase in default.phases if phase not in {Phase.shrink, Phase.explain}]
        settings.register_profile("mutants", default, phases=kept)
        settings.load_profile("mutants")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Files come as on the command line, tests as in their file."""
        items[:] = [item for item in items if item.nodeid in self.tests]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be imported kills as well."""
        if report.failed:
            self.path.write_text(f"the import of {report.nodeid}", encoding="utf-8")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """`-x` stops after it."""
        if report.failed:
            self.path.write_text(report.nodeid, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
