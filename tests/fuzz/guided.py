"""Inputs chosen by the code that they reach: libFuzzer through atheris, with our own mutations.

An input of libFuzzer is the number of a seed, and the content of the file of that seed which changes.
"""

from __future__ import annotations

import gc
import importlib
import os
import pkgutil
import sys
import time
from argparse import Namespace
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fuzz.campaign import Fuzzer
    from fuzz.judge import Runner
    from fuzz.seeds import Input

INSTRUMENTED = (
    "bayplan.text",
    "bayplan.schemas",
    "bayplan.workflows",
    "bayplan.topologies",
    "bayplan.clients",
    "bayplan.formats",
    "bayplan.report",
    "bayplan.kube",
    "bayplan.checks",
    "bayplan.linting",
    "bayplan.planning",
    "bayplan.augment",
)
"""Packages whose branches count as progress: those that read."""

HEAD = 4
"""Bytes of the number of a seed."""

SHARE = 4
"""One in so many mutations also chooses another command line for the same content."""


def instrument() -> Any:
    """Loads the readers with counters in their branches, and returns atheris. Nothing may load them before."""
    try:
        import atheris
    except ImportError:
        sys.exit("atheris is not installed; `pip install 'bayplan[fuzz]'` installs it on Linux")
    with atheris.instrument_imports(include=list(INSTRUMENTED), enable_loader_override=False):
        for name in INSTRUMENTED:
            package = importlib.import_module(name)
            for module in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{name}."):
                if ".generated" not in module.name:
                    importlib.import_module(module.name)
    return atheris


class Guide:
    """What libFuzzer calls: a test of one input, and a mutation."""

    def __init__(self, fuzzer: Fuzzer, runner: Runner, options: Namespace) -> None:
        from fuzz.campaign import Tally

        self.fuzzer, self.runner = fuzzer, runner
        self.tally = Tally(options)
        self.end = time.monotonic() + options.seconds
        self.starts = [entry for entry in map(fuzzer.start, range(options.starts)) if entry.files]

    def begin(self) -> list[bytes]:
        """The inputs to start from."""
        return [self._packed(number, entry.files[self._name(entry)]) for number, entry in enumerate(self.starts)]

    def test(self, data: bytes) -> None:
        """Runs an input. The process ends when the time is over, because libFuzzer does not return."""
        start = time.process_time()
        number, content = self._unpacked(data)
        entry = self.starts[number]
        entry = entry._replace(files={**entry.files, self._name(entry): content})
        faults = tuple(self.runner.faults(entry))
        count = sum(self.tally.inputs.values())
        self.tally.add(f"guided-{count}", entry, faults, time.process_time() - start)
        if count % 500 == 0:
            gc.collect()
        if time.monotonic() > self.end:
            self.runner.close()
            os._exit(self.tally.report())

    def mutate(self, data: bytes, largest: int, seed: int) -> bytes:
        """Another input like this one."""
        random = Random(seed)
        number, content = self._unpacked(data)
        if random.randrange(SHARE) == 0:
            number = random.randrange(len(self.starts))
        return self._packed(number, self.fuzzer.mutate.content(content, random))[:largest]

    def _name(self, entry: Input) -> str:
        return self.fuzzer.mutate.names(entry)[0]

    def _packed(self, number: int, content: bytes) -> bytes:
        return number.to_bytes(HEAD, "big") + content

    def _unpacked(self, data: bytes) -> tuple[int, bytes]:
        return int.from_bytes(data[:HEAD], "big") % len(self.starts), data[HEAD:]


def run(atheris: Any, fuzzer: Fuzzer, runner: Runner, options: Namespace) -> int:
    """Runs libFuzzer until the time is over."""
    guide = Guide(fuzzer, runner, options)
    folder = runner.folder / "starts"
    folder.mkdir()
    for number, start in enumerate(guide.begin()):
        (folder / str(number)).write_bytes(start)
    limits = (f"-runs={options.count}", "-max_len=30000", "-timeout=60", "-rss_limit_mb=4096")
    quiet = ("-verbosity=0", f"-artifact_prefix={runner.folder}/")
    atheris.Setup([sys.argv[0], *limits, *quiet, str(folder)], guide.test, custom_mutator=guide.mutate)
    atheris.Fuzz()
    return guide.tally.report()
