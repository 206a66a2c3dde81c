"""OSMO's exit actions -> a line of shell around the command, where an exit code means something else to Kubernetes.

`COMPLETE` turns codes into success, `FAIL` and `RESCHEDULE` turn success into a failure. Kubernetes has no field for
either: a Job's podFailurePolicy can only ignore or count failures. Of several actions for a code the first one counts,
the task's own before its pool's (OSMO 6.4, src/utils/job/jobs.py, `_apply_exit_action`).
"""

from __future__ import annotations

from collections.abc import Iterable

from bayplan.workflows.osmo.units import exit_codes

Ranges = tuple[tuple[int, int], ...]
Action = tuple[str, str]
"""An action in upper case, and its codes as OSMO writes them."""

RUN = "trap 'kill -TERM $child 2>/dev/null; wait $child; exit 143' TERM; \"$@\" & child=$!; wait $child; code=$?"
"""A shell that is a container's first process does not pass signals on by itself."""

FAILURE = "exit $((code ? code : 1))"


def wrapped(command: Iterable[str], actions: Iterable[Action]) -> list[str]:
    """The command, behind a shell if its exit codes must be turned."""
    ordered = tuple((action, exit_codes(codes) or ()) for action, codes in actions)
    if all(bool(_outcome(code, ordered)) == bool(code) for code in range(256 if ordered else 0)):
        return list(command)
    turns = (
        f"if {_test(codes)}; then {'exit 0' if name == 'COMPLETE' else FAILURE}" for name, codes in ordered if codes
    )
    return ["sh", "-c", f"{RUN}; {'; el'.join(turns)}; fi; exit $code", "sh", *command]


def _outcome(code: int, actions: Iterable[tuple[str, Ranges]]) -> int:
    for action, ranges in actions:
        if any(first <= code <= last for first, last in ranges):
            return 0 if action == "COMPLETE" else code or 1
    return code


def _test(ranges: Ranges) -> str:
    return " || ".join(
        f"[ $code -eq {first} ]" if first == last else f"{{ [ $code -ge {first} ] && [ $code -le {last} ]; }}"
        for first, last in ranges
    )
