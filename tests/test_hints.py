"""Hints are followed: the change that a hint names mends the case that shows it, without a new error.

`tools.hints` says which hints can be followed without a person. `WRONG` and `UNPLACED` may only become shorter.
"""

from __future__ import annotations

from functools import cache

import pytest

from tools import hints
from tools.hints import Verdict

LEAST = 279
"""Hints that are followed."""

WRONG: dict[str, str] = {
    "A912-an-sbatch-script A912": "the script has no image (W615)",
    "A920-osmoo A920": "the file has another format than the corrected option says",
    "A967-not-listed A967": "no function expands the other Workflow either",
    "F616-kubernetes-1.35 P508": "the target, Kubernetes 1.35, has no levels (F638)",
    "F689-podgroups-need-feature-gate P508": "the target, Kubernetes 1.36, has no levels for these workloads",
    "F705-three-racks P508": "the target, Slurm below 25.11, keeps no groups together at a level above (F638)",
    "M815-kai-reads-annotation-here M815": "the corrected annotation needs another one, for the level (M717)",
    "M849-a-pool-another-kind M849": "the field is in the text of a NetworkAttachmentDefinition",
    "M849-an-unknown-plugin M849": "with the right plugin, its subnet is too large",
    "P556-elastic P522": "the cluster has no room for all pods (P556)",
    "R112-alias-as-key R112": "the place is only the first character of the alias",
}
"""Case and code -> why something else is reported after the hint."""

UNPLACED = {
    "A961-an-unknown-function A961",
    "A961-another-version A961",
    "O806-in-the-list O806",
    "R105-line-separator R105",
    "R150-open-quote R150",
    "R153-pbs R153",
    "T440-a-node-nobody-places T440",
    "T530-an-odd-key T530",
    "W603-nodes-and-mpi W603",
    "W629-one-rack P508",
}
"""Case and code of hints for which `tools.hints` finds no place."""


@cache
def verdicts() -> tuple[Verdict, ...]:
    """What followed the hints of all cases."""
    return tuple(verdict for case in hints.hinted() for verdict in hints.judge(case))


def key(verdict: Verdict) -> str:
    """`P551-two-racks P551`."""
    return f"{verdict.found.case} {verdict.found.data['code']}"


def test_a_hint_mends_what_it_is_about() -> None:
    wrong = {key(each): each.wrong for each in verdicts() if each.wrong and hints.NO_PLACE not in each.wrong}
    assert {name: why for name, why in wrong.items() if name not in WRONG} == {}
    assert [name for name in WRONG if name not in wrong] == [], "these hints work now: remove them from the list"


def test_most_hints_are_followed() -> None:
    unplaced = {key(each) for each in verdicts() if hints.NO_PLACE in each.wrong}
    assert unplaced == UNPLACED
    assert sum(not each.wrong for each in verdicts()) >= LEAST


def test_no_other_hint_needs_a_person() -> None:
    """New hints have one of the forms that `tools.hints` follows. The list may only become shorter."""
    found = hints.listed()
    left = {key for key, followed in found.items() if not followed}
    before = set(hints.LEFT.read_text(encoding="utf-8").splitlines())
    print(f"{len(found) - len(left)} of {len(found)} kinds of hints are followed")
    assert left - before == set(), "give these hints a form that can be followed, or run `python -m tools.hints`"
    assert before - left == set(), "run `python -m tools.hints` to remove these"


@pytest.mark.parametrize(
    ("hint", "followed"),
    [
        ('set `size: 8` on group "rack" instead of 16', 1),
        ('require "spine" instead of "rack", or use 4 replicas of podSet "worker" instead of 6', 2),
        ("add nodes, or use fewer replicas", 0),
        ("run `bayplan topology import FILE`", 0),
    ],
)
def test_the_ways_of_a_hint(hint: str, followed: int) -> None:
    assert sum(map(hints.known, hints.ways(hint))) == followed
