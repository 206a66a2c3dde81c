"""OSMO's exit actions -> a line of shell around the command, where an exit code means something else to Kubernetes.

`COMPLETE` turns codes into success, `FAIL` turns success into a failure. Kubernetes has no field for either: a Job's
podFailurePolicy can only ignore or count failures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bayplan.workflows.osmo.units import exit_codes

Ranges = tuple[tuple[int, int], ...]

RUN = "\"$@\" & child=$!; trap 'kill -TERM $child; wait $child; exit 143' TERM; wait $child; code=$?"
"""A shell that is a container's first process does not pass signals on by itself."""


def wrapped(command: Iterable[str], actions: Mapping[str, str]) -> list[str]:
    """The command, behind a shell if its exit codes must be turned."""
    by_name = {name.upper(): exit_codes(codes) or () for name, codes in actions.items()}
    good = tuple(each for each in by_name.get("COMPLETE", ()) if each != (0, 0))
    bad = tuple(each for each in by_name.get("FAIL", ()) if each[0] == 0)
    if not good and not bad:
        return list(command)
    turns = [_turn(good, 0)] * bool(good) + [_turn(((0, 0),), 1)] * bool(bad)
    return ["sh", "-c", "; ".join((RUN, *turns, "exit $code")), "sh", *command]


def _turn(ranges: Ranges, code: int) -> str:
    tests = " || ".join(f"{{ {_test(first, last)}; }}" for first, last in ranges)
    return f"if {tests}; then exit {code}; fi"


def _test(first: int, last: int) -> str:
    if first == last:
        return f"[ $code -eq {first} ]"
    return f"[ $code -ge {first} ] && [ $code -le {last} ]"
