"""Rewrite the golden files: `python tests/tools/refresh_golden.py [WORD...]`.

Those of the examples on every backend (`golden/<backend>/`) and of the failing cases (`golden/diagnostics/`): all of
them, or only those whose name contains one of the words, such as `kai@0.17` or `P555`. Files of no case are deleted,
and `golden/states.txt` counts anew. What changes is printed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "generator"))

import test_cases
import test_states
import tools.cases
from tools.golden import GOLDEN, TABLE, VERSIONS, Case, cases, render, shared
from tools.run import ROOT


def main(words: list[str]) -> None:
    """Write what differs."""
    for path, text in [*(rendered(words)), *reported(words)]:
        write(path, text)
    for path in orphans():
        path.unlink()
        print(path.relative_to(ROOT), "is deleted")
    test_states.TABLE.write_text("".join(f"{line}\n" for line in test_states.table()), encoding="utf-8")


def write(path: Path, text: str) -> None:
    """Writes a file that differs, and prints its name."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))


def rendered(words: list[str]) -> Iterator[tuple[Path, str]]:
    """The golden files of examples. If one version of an example is asked for, all are rendered."""
    rows = []
    for backend, example in dict.fromkeys((case.backend, case.example) for case in cases()):
        all_versions = [Case(backend, version, example) for version in VERSIONS[backend]]
        chosen = any(asked(words, str(case)) for case in all_versions)
        texts: dict[str, list[str]] = {}
        for case in all_versions:
            text = render(case) if chosen else case.path.read_text(encoding="utf-8")
            texts.setdefault(text, []).append(case.version)
        for text, sharing in texts.items():
            rows.append(f"{backend}\t{example}\t{' '.join(sharing)}\n")
            yield GOLDEN / backend / f"{example}@{sharing[0]}.yaml", text
    write(TABLE, "".join(rows))
    shared.cache_clear()


def reported(words: list[str]) -> Iterator[tuple[Path, str]]:
    """The reports of failing cases."""
    for name in test_cases.NAMES:
        if asked(words, name):
            yield test_cases.GOLDEN / f"{name}.txt", tools.cases.report(name, tools.cases.run(name))


def asked(words: list[str], name: str) -> bool:
    """Whether a name contains one of the words. Without words all are asked for."""
    return not words or any(word in name for word in words)


def orphans() -> set[Path]:
    """The golden files that are of no case."""
    there = {path for backend in VERSIONS for path in (GOLDEN / backend).iterdir()} | {*test_cases.GOLDEN.iterdir()}
    wanted = {case.path for case in cases()} | {test_cases.GOLDEN / f"{name}.txt" for name in test_cases.NAMES}
    return there - wanted


if __name__ == "__main__":
    main(sys.argv[1:])
