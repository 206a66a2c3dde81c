"""Every example on every backend at every version is carried or refused: manifests, or errors that name the gaps.

`golden/states.txt` counts both. `pytest tests/test_states.py --snapshot-update` rewrites it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from bayplan.backends import BACKENDS
from bayplan.codes import CODES
from tools.golden import GOLDEN, VERSIONS, Case, cases, examples

TABLE = GOLDEN / "states.txt"
COMMENT = re.compile(r"#( .*)?")
FINDING = re.compile(r"# .*?: (error|warning|info)\[([A-Z]\d+)\]: ")
REFUSALS = "AFPTW"
"""Letters of codes that can refuse an example: the others would mean that it is broken."""


def state(case: Case) -> str:
    """`carried` or `refused`: what stands in a golden file below the comments, and what the comments say."""
    lines = case.path.read_text("utf-8").splitlines()
    head = [line for line in lines if COMMENT.fullmatch(line)] if not _script(lines) else _comments(lines)
    found = [match.groups() for line in head if (match := FINDING.match(line))]
    errors = sorted({code for severity, code in found if severity == "error"})
    body = len(lines) > len(head)
    assert body != bool(errors), f"{case} is in a third state: {errors}, and {len(lines) - len(head)} lines"
    assert all(code in CODES for _, code in found)
    assert all(code[0] in REFUSALS for code in errors), f"{case}: {errors}"
    return "refused" if errors else "carried"


def _script(lines: list[str]) -> bool:
    return any(line.startswith("#!") for line in lines)


def _comments(lines: list[str]) -> list[str]:
    """The lines before a script, whose own comments look alike."""
    start = next(number for number, line in enumerate(lines) if line.startswith("#!"))
    return [line for line in lines[:start] if COMMENT.fullmatch(line)]


@pytest.mark.parametrize("case", cases(), ids=str)
def test_there_is_no_third_state(case: Case) -> None:
    assert state(case) in ("carried", "refused")


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_refusal_is_by_the_backend_or_of_the_version(backend: str) -> None:
    """An example is right in itself: whatever refuses it speaks of the scheduler, or of versions."""
    for case in (each for each in cases() if each.backend == backend and state(each) == "refused"):
        assert re.search(r"error\[(F|A907|P51|P50)", case.path.read_text("utf-8")), str(case)


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


def test_the_table_of_states(request: pytest.FixtureRequest) -> None:
    made = "".join(f"{line}\n" for line in table())
    if request.config.getoption("update_snapshots", default=False):
        TABLE.write_text(made, encoding="utf-8")
    assert TABLE.read_text("utf-8") == made
