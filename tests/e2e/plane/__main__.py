"""`python -m e2e.plane`: start a control plane, play the scenes, and print a line for each."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from pathlib import Path

from e2e.plane.control import missing, started
from e2e.plane.scenes import KAI_SCENES, KUEUE_SCENES, Bench, example
from e2e.releases import BY_NAME
from e2e.scene import scene

PLANES = {"kai": ("kai 0.17.0", KAI_SCENES), "kueue": ("kueue 0.19.2", KUEUE_SCENES)}


def main() -> int:
    """Play the scenes. Returns 1 if one did not come out as expected."""
    parser = argparse.ArgumentParser(prog="python -m e2e.plane", description=__doc__)
    parser.add_argument("--scheduler", choices=sorted(PLANES), action="append", help="only this one's scenes")
    parser.add_argument("--scene", action="append", help="only this scene")
    parser.add_argument("--folder", type=Path, help="keep logs and data in this folder, which must be empty or new")
    given = parser.parse_args()
    failed = False
    for scheduler in given.scheduler or sorted(PLANES):
        if absent := missing(scheduler):
            print(f"no {absent}: run `bash tests/e2e/plane/prepare`, which takes Go")
            return 1
        with tempfile.TemporaryDirectory(prefix="plane-") as scratch:
            folder = given.folder / scheduler if given.folder else Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            failed |= not play(folder.resolve(), scheduler, given.scene)
    return int(failed)


def play(folder: Path, scheduler: str, wanted: list[str] | None) -> bool:
    """Whether all scenes of a scheduler come out as expected."""
    release, scenes = PLANES[scheduler]
    documents = scene(example("pretrain"), BY_NAME[release]).documents
    fine = True
    with started(folder, scheduler, [each for each in documents if each["kind"] == "Queue"]) as plane:
        for name, run in scenes.items():
            if wanted and name not in wanted:
                continue
            start = time.monotonic()
            try:
                told = run(Bench(plane, release))
            except Exception:  # one scene must not keep the others from being played
                traceback.print_exc()
                fine = False
                continue
            fine &= not told.faults
            word, seconds = "FAIL" if told.faults else "ok", time.monotonic() - start
            print(f"{word}  {scheduler}  {name}: {told.text} ({seconds:.0f} s)")
            for fault in told.faults:
                print(f"      {fault}")
            sys.stdout.flush()
    return fine


if __name__ == "__main__":
    sys.exit(main())
