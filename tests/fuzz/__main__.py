"""`python -m fuzz --seconds 30`: mutated inputs through every command. Exit code 1: some failed."""

from __future__ import annotations

import argparse
import gc
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def main() -> int:
    """The command line."""
    options = _parser().parse_args()
    folders = [Path(each).absolute() for each in options.replay or options.shrink or ()]
    gc.disable()  # campaigns collect between inputs
    atheris = None
    if options.atheris:
        from fuzz import guided

        atheris = guided.instrument()
    from fuzz import campaign, judge

    runner = judge.Runner()
    try:
        if folders:
            return _replay(runner, folders, small=bool(options.shrink))
        fuzzer = campaign.Fuzzer(options)
        return guided.run(atheris, fuzzer, runner, options) if atheris else campaign.run(fuzzer, runner, options)
    finally:
        runner.close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0, help="how long to run (default: 30)")
    parser.add_argument("--count", type=int, default=10**9, help="how many inputs to run at most")
    parser.add_argument("--seed", default="1", help="which random inputs (default: 1)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first input (default: 0)")
    parser.add_argument("--doors", default="", help="the commands, with commas between them (default: all)")
    parser.add_argument(
        "--found", default=f"{tempfile.gettempdir()}/fuzz", metavar="FOLDER", help="where to write inputs that fail"
    )
    parser.add_argument("--upstream", action="store_true", help="also start from the files of $BAYPLAN_UPSTREAM")
    parser.add_argument("--atheris", action="store_true", help="choose inputs by the code that they reach")
    parser.add_argument("--starts", type=int, default=3000, help="with --atheris: how many inputs to start from")
    parser.add_argument("--times", action="store_true", help="print how long each command took")
    parser.add_argument("--replay", metavar="FOLDER", nargs="+", help="run only the inputs in these folders")
    parser.add_argument("--shrink", metavar="FOLDER", nargs="+", help="make the inputs in these folders small")
    return parser


def _replay(runner: Any, folders: Sequence[Path], *, small: bool) -> int:
    """Runs inputs again. `small`: makes those with a fault small."""
    from fuzz import campaign, seeds

    failed = False
    for folder in folders:
        entry = seeds.read(folder)
        faults = list(runner.faults(entry, twice=True, process=not small))
        failed = failed or bool(faults)
        print("".join(f"{folder}: {each}\n{each.text}\n" for each in faults) or f"{folder}: passes\n", end="")
        if small and faults:
            shutil.rmtree(folder)
            seeds.write(folder, campaign.shrunk(runner, entry, faults[0]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
