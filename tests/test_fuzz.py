"""The inputs that once failed, and a few seconds' worth of new ones. `python -m fuzz` runs more."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from random import Random

import pytest

from fuzz.campaign import Fuzzer, shrunk
from fuzz.judge import Answer, Fault, Runner, judged
from fuzz.seeds import CORPUS, DOORS, Input, read, write

ONCE_FAILED = sorted(path.parent for path in CORPUS.glob("*/command"))


@pytest.fixture
def runner() -> Iterator[Runner]:
    made = Runner()
    yield made
    made.close()


@pytest.mark.parametrize("folder", ONCE_FAILED, ids=lambda folder: folder.name)
def test_an_input_that_once_failed(runner: Runner, folder) -> None:
    assert [*runner.faults(read(folder), twice=True)] == []


def test_every_command_gets_inputs_which_a_seed_repeats() -> None:
    options = Namespace(seed="test", doors="", upstream=False)
    fuzzer = Fuzzer(options)
    inputs = [fuzzer.input(number) for number in range(300)]
    assert {*DOORS} - {each.door for each in inputs} <= {"completion", "schema", "schedulers"}
    again = Fuzzer(options)
    assert inputs[::20] == [again.input(number) for number in range(0, 300, 20)]


REPORT = (
    b'{"diagnostics": [{"code": "W301", "severity": "error", "message": "", "file": "a", "line": null, "notes": []}]}'
)
RENDER = Input(("render", "a", "--diagnostics=json"), {"a": b"kind: Job"})


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Answer(3, b"", b"Traceback\nKeyError: 1", {}), "crash"),
        (Answer(1, b"kind: Job", b"", {}), "output despite errors"),
        (Answer(1, b"", b"", {"b": b""}), "files despite errors"),
        (Answer(1, b"", REPORT, {}), "no line"),
        (Answer(1, b"", b"error", {}), "report"),
        (Answer(0, b"a: [", b"", {}), "output"),
        (Answer(0, b"", b"", {".bayplan-staging-1/a": b""}), "leftover"),
        (Answer(0, b"", b"", {}, memory=2**30), "memory"),
    ],
)
def test_the_judge_names_a_fault(answer: Answer, kind: str) -> None:
    assert [fault.kind for fault in judged(RENDER, answer)] == [kind]


def test_the_judge_accepts_a_plain_answer() -> None:
    assert [*judged(RENDER, Answer(0, b"kind: Job\n", b"", {}))] == []


def test_a_fault_becomes_small(runner: Runner, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    def faults(entry: Input) -> Iterator[Fault]:
        if b"bad" in entry.files.get("a", b""):
            yield Fault("crash", "here")

    monkeypatch.setattr(runner, "faults", faults)
    lines = [f"line {number}" for number in range(50)]
    lines.insert(Random(1).randrange(50), "a bad line")
    entry = Input(("check", "a"), {"a": "\n".join(lines).encode(), "b": b"other"})
    small = shrunk(runner, entry, Fault("crash", "here"))
    assert small.files == {"a": b"bad"}
    write(tmp_path, small)
    assert read(tmp_path) == small
