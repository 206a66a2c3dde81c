"""`python -m fuzz --seconds 30`: mutated inputs through every command. Exit code 1: some failed."""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import NamedTuple

from fuzz.judge import Fault, Runner
from fuzz.mutate import Mutator, minimised
from fuzz.seeds import DOORS, WEIGHTS, Input, Seeds, choose, collect, read, upstream, write

TWICE, PROCESS = 40, 2000
"""One in so many inputs runs a second time; one in so many as a process."""

SLOW = 3.0
"""Seconds from which an input is worth a look."""


class Fuzzer:
    """The inputs of one seed of random numbers, by their numbers."""

    def __init__(self, seed: str, seeds: Seeds, doors: tuple[str, ...]) -> None:
        self.seed, self.seeds = seed, seeds
        self.doors = doors
        self.weights = [WEIGHTS.get(door, 1.0) for door in doors]
        self.mutate = Mutator(seeds.contents)

    def input(self, number: int) -> Input:
        """An input: always the same for the same seed, doors and checkout."""
        random = Random(f"{self.seed}/{number}")
        door = random.choices(self.doors, self.weights)[0]
        entry = choose(self.seeds, door, random)
        if self._templates(entry) and random.random() < 0.9:
            entry = choose(self.seeds, door, random)
        return self.mutate(entry, random)

    @staticmethod
    def _templates(entry: Input) -> bool:
        """Whether bayplan starts a process for the input's templates, which takes 20 times as long."""
        return any(b"{{" in content or b"{%" in content for content in entry.files.values())


class Found(NamedTuple):
    """The first input with a fault."""

    number: int
    entry: Input
    fault: Fault


def campaign(fuzzer: Fuzzer, runner: Runner, options: argparse.Namespace) -> tuple[Counter[str], dict[str, Found]]:
    """Runs inputs until the time is over. The inputs by their doors, and the first input with each fault."""
    counts: Counter[str] = Counter()
    times: Counter[str] = Counter()
    found: dict[str, Found] = {}
    number, end, told = options.first, time.monotonic() + options.seconds, time.monotonic()
    while number < options.first + options.count and time.monotonic() < end:
        entry = fuzzer.input(number)
        door = entry.door or "(no command)"
        counts[door] += 1
        start = time.monotonic()
        for fault in runner.faults(entry, twice=number % TWICE == 0, process=number % PROCESS == 1):
            counts[f"! {fault}"] += 1
            if str(fault) not in found:
                found[str(fault)] = Found(number, entry, fault)
                folder = Path(options.found) / f"{options.seed}-{number}-{fault.kind.replace(' ', '-')}"
                write(folder, entry)
                print(f"{fault}\n  input {number} of seed {options.seed} ({door}), in {folder}", flush=True)
        spent = time.monotonic() - start
        times[door] += spent  # type: ignore[assignment]
        if spent > SLOW:
            print(f"slow: {spent:.1f} s, input {number} of seed {options.seed} ({door})", flush=True)
        number += 1
        if number % 500 == 0:
            gc.collect()
        if time.monotonic() - told > 60:
            told = time.monotonic()
            print(f"{number - options.first} inputs, {len(found)} faults, {runner.most // 1024} MB", flush=True)
    if options.times:
        for door, spent in times.most_common():
            print(f"{door:20} {counts[door]:7} inputs {1000 * spent / counts[door]:7.1f} ms each")
    return counts, found


def shrunk(runner: Runner, entry: Input, fault: Fault) -> Input:
    """The input with its files as small as they can be for the same fault."""
    for name, content in entry.files.items():

        def fails(less: bytes, name: str = name, entry: Input = entry) -> bool:
            changed = entry._replace(files={**entry.files, name: less})
            return any(str(each) == str(fault) for each in runner.faults(changed))

        if not fails(content):
            return entry
        entry = entry._replace(files={**entry.files, name: minimised(content, fails)})
    return entry


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser("fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0, help="how long to run (default: 30)")
    parser.add_argument("--count", type=int, default=10**9, help="how many inputs to run at most")
    parser.add_argument("--seed", default="1", help="which random inputs (default: 1)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first input (default: 0)")
    parser.add_argument("--doors", default=",".join(DOORS), help="the commands, with commas between them")
    parser.add_argument("--found", default=f"{tempfile.gettempdir()}/fuzz", help="where to write inputs that fail")
    parser.add_argument("--upstream", action="store_true", help="also start from the files of $BAYPLAN_UPSTREAM")
    parser.add_argument("--replay", metavar="FOLDER", nargs="+", help="run only the inputs in these folders")
    parser.add_argument("--shrink", metavar="FOLDER", nargs="+", help="make the inputs in these folders small")
    parser.add_argument("--atheris", action="store_true", help="let atheris choose inputs by the code that they reach")
    parser.add_argument("--times", action="store_true", help="print how long each command took")
    options = parser.parse_args()
    gc.disable()
    runner = Runner()
    try:
        if options.replay or options.shrink:
            return _replay(runner, options)
        fuzzer = Fuzzer(options.seed, collect(upstream() if options.upstream else ""), tuple(options.doors.split(",")))
        gc.freeze()
        if options.atheris:
            from fuzz import guided

            return guided.run(fuzzer, runner, options)
        counts, found = campaign(fuzzer, runner, options)
    finally:
        runner.close()
    inputs = {name: count for name, count in counts.items() if not name.startswith("!")}
    print(f"{sum(inputs.values())} inputs: {', '.join(f'{name} {inputs[name]}' for name in sorted(inputs))}")
    for name, each in found.items():
        print(f"{counts[f'! {name}']:5} times {name}")
        print(f"      again: python -m fuzz --seed {options.seed} --first {each.number} --count 1")
    return 1 if found else 0


def _replay(runner: Runner, options: argparse.Namespace) -> int:
    """Runs inputs again, or makes them small."""
    failed = False
    for folder in map(Path, options.replay or options.shrink):
        entry = read(folder)
        faults = list(runner.faults(entry, process=not options.shrink))
        failed = failed or bool(faults)
        print("".join(f"{folder}: {each}\n{each.text}\n" for each in faults) or f"{folder}: passes\n", end="")
        if options.shrink and faults:
            write(folder, shrunk(runner, entry, faults[0]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
