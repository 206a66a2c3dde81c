"""Every example on every backend at every version is carried or refused: manifests, or errors that name the gaps.

`golden/states.txt` counts both.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import takewhile

import pytest

from bayplan.backends import BACKENDS
from bayplan.report.codes import sections
from tools.golden import GOLDEN, SCRIPTS, VERSIONS, Case, cases, examples

TABLE = GOLDEN / "states.txt"
COMMENT = re.compile(r"#( .*)?")
FINDING = re.compile(r"# .*?: (error|warning|info)\[([A-Z]\d+)\]: ")
REFUSALS = "AFPTW"
"""Letters of codes that can refuse an example: the others would mean that it is broken."""


@cache
def state(case: Case) -> str:
    """`carried` or `refused`: what stands in a golden file below the comments, and what the comments say.

    Behind a script, also behind one that was refused, there is configuration.
    """
    lines = case.path.read_text("utf-8").splitlines()
    head = list(takewhile(COMMENT.fullmatch, lines))
    found = [match.groups() for line in head if (match := FINDING.match(line))]
    errors = sorted({code for severity, code in found if severity == "error"})
    first = "".join(lines[len(head) : len(head) + 1])
    body = first.startswith("#!") if case.backend in SCRIPTS else bool(first)
    assert body != bool(errors), f"{case} is in a third state: {errors}, then {first!r}"
    assert all(code in sections() for _, code in found)
    assert all(code[0] in REFUSALS for code in errors), f"{case}: {errors}"
    return "refused" if errors else "carried"


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_refusal_names_a_gap(backend: str) -> None:
    """An example is right in itself: what refuses it is something that the scheduler lacks."""
    for case in (each for each in cases() if each.backend == backend and state(each) == "refused"):
        assert re.search(r"error\[F", case.path.read_text("utf-8")), str(case)


def table() -> Iterator[str]:
    """A line for each backend and version, and the sum of each backend."""
    yield f"{'backend':<14}{'version':<9}{'carried':>8}{'refused':>9}"
    for backend, known in VERSIONS.items():
        total: Counter[str] = Counter()
        for version in known:
            counts = Counter(state(Case(backend, version, example)) for example in examples())
            total += counts
            yield f"{backend:<14}{version:<9}{counts['carried']:>8}{counts['refused']:>9}"
        yield f"{backend:<14}{'all':<9}{total['carried']:>8}{total['refused']:>9}"


def test_the_table_of_states() -> None:
    assert TABLE.read_text("utf-8") == "".join(f"{line}\n" for line in table())
