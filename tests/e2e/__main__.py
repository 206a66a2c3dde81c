"""Replay all cases at every release, print the disagreements, and write docs/explanation/proof.md."""

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
    """0: all agree. 1: something differs. 2: a program is missing. Only a run of all releases writes the page."""
    parser = argparse.ArgumentParser(prog="python -m e2e", description=__doc__)
    parser.add_argument("--scheduler", default="", help='only this scheduler or release, as in "kai" or "kai 0.17.0"')
    parser.add_argument("--cases", type=int, default=500, help="random cases at each release (default: 500)")
    parser.add_argument("--busy", type=int, default=200, help="half-busy ones at each release (default: 200)")
    parser.add_argument("--shrink", action="store_true", help="print the smallest case of each kind of disagreement")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    asked = parser.parse_args()
    releases = [each for each in RELEASES if asked.scheduler in ("", each.name, each.scheduler.name)]
    if not asked.scheduler:
        for each in [each for each in releases if each.scheduler.source and each.missing()]:
            print(f"skipped: {each.name}: {each.missing()}", file=sys.stderr)
            releases.remove(each)
    missing = [each.missing() for each in releases if each.missing()]
    if missing or not releases:
        print("\n".join(missing) or f'no scheduler or release "{asked.scheduler}"', file=sys.stderr)
        return 2
    tallies = []
    for release in releases:
        tallies.append(tally(release, asked.cases, asked.busy, asked.jobs))
        _print(tallies[-1])
        if asked.shrink:
            _shrunk(tallies[-1])
    if not asked.scheduler:
        PATH.write_text(proof(tallies), encoding="utf-8")
        print(f"wrote {PATH.name}")
    return int(any(each.differing for each in tallies))


def _print(each: Tally) -> None:
    for kind, found in each.results.items():
        print(f"{each.release.name}: {len(found)} {kind}: {dict(sorted(each.outcomes(kind).items()))}", flush=True)
    for result in each.differing:
        print(f"{each.release.name}: {result.name}: {result.outcomes}: {'; '.join(result.why)[:500]}", flush=True)


def _shrunk(each: Tally) -> None:
    """The smallest case for each kind of disagreement in random cases."""
    seen: set[str] = set()
    for result in each.differing:
        name, _, seed = result.name.partition("random-")
        outcome = next((one for one in result.outcomes or () if one not in ("placed", "refused")), "")
        if not name and seed and outcome not in seen:
            seen.add(outcome)
            small = shrink(case(int(seed)), each.release, outcome)
            print(json.dumps({"workflow": small.workflow, "topology": small.topology}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
