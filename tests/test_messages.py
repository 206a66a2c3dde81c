"""Every message of the product is reported by a case in `tests/cases`, so that no rule can be lost unnoticed.

`tools.messages` says what a message is. Where one fails here: write a case for it (see CONTRIBUTING.md), or remove it if
nothing that anybody writes leads to it.
"""

from __future__ import annotations

import ast
import json
from functools import cache
from typing import NamedTuple

from tools.run import ROOT, python


class Message(NamedTuple):
    """A message that no case reaches."""

    place: str
    code: str
    template: str


ELSEWHERE: dict[tuple[str, str], str] = {}
"""(Code, template) of a message that depends on the machine, or on a fault within -> the test that reaches it."""


@cache
def unreached() -> tuple[Message, ...]:
    """What the cases do not reach, found by an interpreter of its own: it imports the product in another way."""
    done = python("-m", "tools.messages", env={"PYTHONPATH": f"{ROOT / 'generator'}:{ROOT / 'tests'}"})
    assert done.returncode == 0, done.stderr
    return tuple(Message(*each) for each in json.loads(done.stdout))


def test_every_message_has_a_case() -> None:
    missing = [each for each in unreached() if (each.code, each.template) not in ELSEWHERE]
    assert missing == [], "\n".join(f"{each.place} {each.code} {each.template}" for each in missing)


def test_what_is_reached_elsewhere_is_no_case_and_has_its_test() -> None:
    left = {(each.code, each.template) for each in unreached()}
    assert set(ELSEWHERE) <= left
    for named in set(ELSEWHERE.values()):
        path, _, test = named.partition("::")
        tree = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))
        assert test in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, named
