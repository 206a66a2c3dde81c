"""Hints are followed: the change that a hint names mends the case that shows it, without a new error.

`tools.hints` says which hints can be followed without a person. `WRONG` and `UNPLACED` may only become shorter.
"""

from __future__ import annotations

from functools import cache

import pytest

from tools import hints
from tools.effort import LONG
from tools.hints import Verdict

LEAST = 289
"""Hints that are followed, and mend their case."""

WRONG: dict[str, str] = {
    "S206-imported-toleration S206": "the value is in a file of OSMO, from which the topology is made",
    "A912-an-sbatch-script A912": "the script has no image (W310)",
    "A967-not-listed A967": "no function expands the other Workflow either",
    "F665-gang-koordinator-fills-domains F681": "the field is not at its place in a policy",
    "F631-three-racks P508": "the target, Slurm below 25.11, keeps no groups together at a level above (F638)",
    "F741-group-groups-neighbouring-ranks-2 F741": "the fields are those of workloads, and the place is in a policy",
    "M849-a-pool-another-kind M849": "the field is in the text of a NetworkAttachmentDefinition",
    "M849-an-unknown-plugin M849": "with the right plugin, its subnet is too large",
    "R112-alias-as-key R112": "the place is only the first character of the alias",
    "R123-in-the-defaults R123": "the value of `image` is missing too (R126)",
    "R123-two-documents R123": "both documents describe the same sections",
    "T509-hosts-alone T509": "the level is an option of the command line",
    "W353-no-name W353": "the whole column goes, not only the place of its name",
    "W360-jobset W360": "the runtime belongs to the cluster, and KAI needs `schedulerName` in it (F782)",
    "W595-more-than-a-network W542": "the field is metadata of TorchX",
}
"""Case and code -> why something else is reported after the hint."""

UNPLACED = {
    "A940-apart-but-a-job A940",
    "W609-after-a-failure W609",
    "R104-line-separator R104",
    "R116-within-itself R116",
    "R123-dropped R123",
    "R150-open-quote R150",
    "R153-pbs R153",
    "T440-a-node-nobody-places T440",
    "T530-an-odd-key T530",
    "W600-misspelt W600",
    "W603-nodes-and-mpi W603",
    "W604-of-a-step W604",
}
"""Case and code of hints for which `tools.hints` finds no place."""


@cache
def verdicts() -> tuple[Verdict, ...]:
    """What followed the hints of all cases."""
    return tuple(hints.judge_all())


def key(verdict: Verdict) -> str:
    """`P551-two-racks P551`."""
    return f"{verdict.found.case} {verdict.found.data['code']}"


def test_a_hint_mends_what_it_is_about() -> None:
    wrong = {key(each): each.wrong for each in verdicts() if each.wrong and hints.NO_PLACE not in each.wrong}
    assert {name: why for name, why in wrong.items() if name not in WRONG} == {}
    if LONG:
        assert [name for name in WRONG if name not in wrong] == [], "these hints work now: remove them from the list"


@pytest.mark.parametrize("file", sorted(path.stem for path in hints.DESCRIBED.glob("*.yaml")))
def test_a_described_change_mends_what_its_hint_is_about(file: str) -> None:
    assert hints.judge_described(file) == {}


def test_most_hints_are_followed() -> None:
    unplaced = {key(each) for each in verdicts() if hints.NO_PLACE in each.wrong}
    assert unplaced <= UNPLACED
    assert sum(not each.wrong for each in verdicts()) >= LEAST / (1 if LONG else 5)
    assert unplaced == UNPLACED or not LONG


REASONS = 58
"""Hints that a test cannot follow, with the reason. Most concern the cluster."""


def test_few_hints_have_a_reason_instead_of_a_change() -> None:
    files = [hints.described(path.stem) for path in hints.DESCRIBED.glob("*.yaml")]
    ways = [ways for file in files for kinds in file.values() for ways in kinds.values()]
    assert sum(isinstance(each, str) for each in ways) <= REASONS
    assert sum(len(each) for each in ways if not isinstance(each, str)) >= 1661


def test_every_hint_is_followed() -> None:
    """A new hint has a form that `tools.hints` follows, or a change in `tests/hints`."""
    assert [kind for kind, followed in hints.listed().items() if not followed] == []


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
