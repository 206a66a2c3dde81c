"""Job arrays: `--array=0-7`. Where the script asks for its number there is a gang for each, else copies of one gang."""

from __future__ import annotations

import re

from bayplan.values import NamedTuple
from bayplan.workflows.sbatch.findings import Findings
from bayplan.workflows.sbatch.job.script import Script

MOST = 256
"""Gangs or copies of one script."""

_PART = re.compile(r"([0-9]{1,7})(?:-([0-9]{1,7})(?::([0-9]{1,7}))?)?")


class Array(NamedTuple):
    """The numbers that the script is gone through with, or how many copies there are."""

    each: tuple[int, ...] = ()
    copies: int = 1


def indices(script: Script, findings: Findings) -> Array:
    """What an array asks for. W602, W604, W624."""
    given = script.first.options.get("array")
    if given is None:
        return Array()
    listed, percent, _ = given.value.partition("%")
    found: set[int] = set()
    for part in listed.split(","):
        one = _PART.fullmatch(part)
        if one is None or int(one[3] or 1) < 1 or int(one[2] or one[1]) < int(one[1]):
            message = f'--array: "{given.value}" is no list of numbers such as 0-7 or 1,3,5'
            findings.error("W602", given.spot, message, "Slurm would refuse it too")
            return Array()
        numbers = range(int(one[1]), int(one[2] or one[1]) + 1, int(one[3] or 1))
        if len(found) + len(numbers) > MOST:
            message = f"--array makes more than {MOST} gangs of one script"
            findings.error("W624", given.spot, message, "cut the array into several scripts")
            return Array()
        found |= set(numbers)
    if percent:
        message = f"--array: that at most {given.value.partition('%')[2]} run at a time is lost"
        findings.warning("W604", given.spot, message, "limit the queue")
    if "SLURM_ARRAY" in script.body:
        return Array(each=tuple(sorted(found)))
    return Array(copies=len(found))
