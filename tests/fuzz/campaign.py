"""Runs inputs for a time, collects their faults, and makes inputs with a fault small."""

from __future__ import annotations

import gc
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random

from fuzz.judge import Fault, Runner
from fuzz.mutate import Mutator, minimised
from fuzz.seeds import DOORS, WEIGHTS, Input, choose, collect, upstream, write

TWICE, PROCESS = 40, 2000
"""One in so many inputs runs a second time; one in so many as a process."""

SLOW = 3.0
"""Seconds from which an input is worth a look."""

TEMPLATES = 0.1
"""The share of inputs with templates that runs: bayplan starts a process for them, which takes 20 times as long."""


class Fuzzer:
    """The inputs of one seed of random numbers, by their numbers: always the same in the same checkout."""

    def __init__(self, options: Namespace) -> None:
        self.seed = options.seed
        self.doors = tuple(options.doors.split(",")) if options.doors else DOORS
        self.weights = [WEIGHTS.get(door, 1.0) for door in self.doors]
        self.seeds = collect(upstream() if options.upstream else "")
        self.mutate = Mutator(self.seeds.contents)

    def input(self, number: int) -> Input:
        """A changed input."""
        random = Random(f"{self.seed}/{number}")
        return self.mutate(self._chosen(random), random)

    def start(self, number: int) -> Input:
        """An input before it changes."""
        return self._chosen(Random(f"{self.seed}/{number}"))

    def _chosen(self, random: Random) -> Input:
        door = random.choices(self.doors, self.weights)[0]
        entry = choose(self.seeds, door, random)
        slow = any(b"{{" in content or b"{%" in content for content in entry.files.values())
        return choose(self.seeds, door, random) if slow and random.random() > TEMPLATES else entry


class Tally:
    """What ran, and the first input with each fault."""

    def __init__(self, options: Namespace) -> None:
        self.options = options
        self.inputs: Counter[str] = Counter()
        self.seconds: dict[str, float] = {}
        self.faults: Counter[str] = Counter()
        self._told = time.monotonic()

    def add(self, name: str, entry: Input, faults: tuple[Fault, ...], seconds: float) -> None:
        """Counts an input. The first with a fault is written to the folder of faults."""
        door = entry.door or "(none)"
        self.inputs[door] += 1
        self.seconds[door] = self.seconds.get(door, 0.0) + seconds
        if seconds > SLOW:
            print(f"slow: {seconds:.1f} s, {name} ({door})", flush=True)
        for fault in faults:
            self.faults[str(fault)] += 1
            if self.faults[str(fault)] == 1:
                folder = Path(self.options.found).absolute() / f"{name}-{fault.kind}".replace(" ", "-")
                write(folder, entry)
                print(f"{fault}\n  {name} ({door}) in {folder}\n  again: {self._again(name, folder)}", flush=True)
        if time.monotonic() - self._told > 60:
            self._told = time.monotonic()
            print(f"{sum(self.inputs.values())} inputs, {len(self.faults)} faults", flush=True)

    def _again(self, name: str, folder: Path) -> str:
        seed, _, number = name.rpartition("-")
        doors = f" --doors '{self.options.doors}'" if self.options.doors else ""
        by_number = f", or --seed {seed} --first {number} --count 1{doors}" if seed == self.options.seed else ""
        return f"python -m fuzz --replay {folder}{by_number}"

    def report(self) -> int:
        """Prints the sums. Returns the exit code."""
        if self.options.times:
            for door, spent in self.seconds.items():
                print(f"{door:20} {self.inputs[door]:7} inputs {1000 * spent / self.inputs[door]:7.1f} ms each")
        for fault, count in self.faults.most_common():
            print(f"{count:6} times {fault}")
        doors = ", ".join(f"{count} {door}" for door, count in sorted(self.inputs.items()))
        print(f"{sum(self.inputs.values())} inputs with {len(self.faults)} faults: {doors}", flush=True)
        return 1 if self.faults else 0


def run(fuzzer: Fuzzer, runner: Runner, options: Namespace) -> int:
    """Runs inputs until the time is over. Returns the exit code."""
    tally = Tally(options)
    end = time.monotonic() + options.seconds
    gc.freeze()
    for number in range(options.first, options.first + options.count):
        if time.monotonic() > end:
            break
        entry = fuzzer.input(number)
        start = time.process_time()
        faults = tuple(runner.faults(entry, twice=number % TWICE == 0, process=number % PROCESS == 1))
        tally.add(f"{options.seed}-{number}", entry, faults, time.process_time() - start)
        if number % 500 == 0:
            gc.collect()
    return tally.report()


def shrunk(runner: Runner, entry: Input, fault: Fault) -> Input:
    """The input with fewer files, and those as small as they can be, for the same fault."""

    def fails(files: Mapping[str, bytes]) -> bool:
        return any(str(each) == str(fault) for each in runner.faults(entry._replace(files=files)))

    for name in tuple(entry.files):
        files = entry.files
        without = {key: content for key, content in files.items() if key != name}
        if not fails(without):
            rest = minimised(files[name], lambda less, before=files, name=name: fails({**before, name: less}))
            without = {**files, name: rest}
        entry = entry._replace(files=without)
    return entry
