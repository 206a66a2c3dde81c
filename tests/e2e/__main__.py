"""Replay everything at every release, tell of disagreements, and write docs/explanation/proof.md."""

from __future__ import annotations

import argparse
import json
import os
import sys

from e2e.campaign import Tally, tally
from e2e.proof import PATH, proof
from e2e.random_cases import case
from e2e.releases import RELEASES
from e2e.shrink import shrink


def main() -> int:
    """0: all agree, and the page is written. 1: something differs. 2: nothing could be run."""
    parser = argparse.ArgumentParser(prog="python -m e2e", description=__doc__)
    parser.add_argument("--cases", type=int, default=500, help="random cases at each release (default: 500)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    asked = parser.parse_args()
    missing = [each.missing() for each in RELEASES if each.missing()]
    if missing:
        print("\n".join(missing), file=sys.stderr)
        return 2
    tallies = [tally(release, asked.cases, asked.jobs) for release in RELEASES]
    for each in tallies:
        _tell(each)
    if any(each.differing for each in tallies):
        return 1
    PATH.write_text(proof(tallies), encoding="utf-8")
    print(f"wrote {PATH.name}")
    return 0


def _tell(each: Tally) -> None:
    for kind, found in each.outcomes.items():
        print(f"KAI {each.release.version}: {each.cases[kind]} {kind}: {dict(sorted(found.items()))}")
    for result in each.differing:
        print(f"KAI {each.release.version}: {result.name}: {result.outcomes}: {'; '.join(result.why)}")
        name, _, seed = result.name.partition("random-")
        if not name and seed and result.outcomes:
            outcome = next(one for one in result.outcomes if one not in ("placed", "refused"))
            small = shrink(case(int(seed)), each.release, outcome)
            print(json.dumps({"workflow": small.workflow, "topology": small.topology}))


if __name__ == "__main__":
    sys.exit(main())
