"""How much a person writes for six jobs, in bayplan and in other systems.

`python benchmarks/intents.py` counts the files of benchmarks/intents/ and writes benchmarks/intents.md.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

HERE = Path(__file__).parent
FOLDER = HERE / "intents"
PAGE = HERE / "intents.md"
COLUMNS = 120
"""The most columns of a line."""

NEEDS = {"gang": "gang", "level": "one domain of a level", "nvlink": "NVLink between nodes"}


class Job(NamedTuple):
    """What each system has to write. `topology`: the file whose cluster bayplan proves it on."""

    name: str
    title: str
    asks: str
    needs: tuple[str, ...]
    gpus: int
    image: str
    topology: str


class System(NamedTuple):
    """A system, its parser, what a cluster has once, and what its forms carry, miss and do otherwise."""

    name: str
    title: str
    judge: str
    once: str
    carries: Mapping[str, str]
    misses: Mapping[str, Mapping[str, str]] = {}
    differs: Mapping[str, str] = {}

    def missed(self, job: Job) -> Mapping[str, str]:
        """What the form of a job does not carry, and why."""
        return self.misses.get(job.name, {})


def evidence() -> tuple[tuple[Job, ...], tuple[System, ...]]:
    """The jobs and the systems."""
    data: Any = yaml.safe_load((FOLDER / "evidence.yaml").read_text(encoding="utf-8"))
    jobs = tuple(Job(**{**each, "needs": tuple(each["needs"])}) for each in data["jobs"])
    return jobs, tuple(System(**each) for each in data["systems"])


def files(job: Job, system: System) -> list[Path]:
    """What a person writes for a job."""
    return sorted((FOLDER / job.name).glob(f"{system.name}.*"))


def written(file: Path) -> list[str]:
    """The lines without blanks and comments."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


def count(job: Job, system: System) -> tuple[int, int]:
    """Lines, and words: runs of letters, digits and `-_./$%+@*`."""
    lines = [line for file in files(job, system) for line in written(file)]
    return len(lines), sum(len(re.findall(r"[\w./$%+@*-]+", line)) for line in lines)


def page() -> str:
    """The table and the evidence, as Markdown."""
    jobs, systems = evidence()
    return "\n".join((*_table(jobs, systems), *_jobs(jobs), *_systems(jobs, systems)))


def _table(jobs: Sequence[Job], systems: Sequence[System]) -> Iterator[str]:
    yield from (
        "# What a person writes for a job",
        "",
        "Each cell has the lines and words of the files in [intents/](intents/), without blanks and comments. A line",
        f"has at most {COLUMNS} columns, and a mapping of plain values is one line. What a cluster has once does",
        "not count.",
        "",
        "- **bold**: the form carries the whole placement of the job: its gangs, one domain of a level for each",
        "  group, and NVLink between nodes",
        "- *italic*: the form carries less; the sections below say what",
        "",
        "The code of each system accepts its files (`tests/test_intents.py`).",
        "",
        f"| job | {' | '.join(each.title for each in systems)} |",
        "|---|" + "---|" * len(systems),
    )
    for job in jobs:
        yield f"| [{job.name}](intents/{job.name}/) | {' | '.join(_cell(job, each) for each in systems)} |"
    placed = [job for job in jobs if job.needs]
    yield from ("", "Of the forms that carry the placement, these are the shortest:", "")
    for number, what in enumerate(("lines", "words")):
        least: dict[str, list[str]] = {}
        for job in placed:
            counts = {each.title: count(job, each)[number] for each in systems if not each.missed(job)}
            least.setdefault(
                " and ".join(title for title, own in counts.items() if own == min(counts.values())), []
            ).append(f"`{job.name}`")
        yield from (f"- {what}: {title} in {', '.join(where)}" for title, where in least.items())
    yield from ("", "`python benchmarks/intents.py` renews this page.", "")


def _cell(job: Job, system: System) -> str:
    lines, words = count(job, system)
    mark = "*" if system.missed(job) else "**" if job.needs else ""
    return f"{mark}{lines}{mark}, {words}"


def _jobs(jobs: Sequence[Job]) -> Iterator[str]:
    yield from ("## The jobs", "")
    yield from (f"- `{job.name}`: {job.title}; {job.asks}." for job in jobs)
    yield ""


def _systems(jobs: Sequence[Job], systems: Sequence[System]) -> Iterator[str]:
    for system in systems:
        yield from (f"## {system.title}", "")
        yield f"{system.judge} accepts the files. Once in a cluster: {system.once}."
        yield ""
        yield from (f"- {NEEDS[need]}: {text}." for need, text in system.carries.items())
        yield from (
            f"- {need}, not in {', '.join(where)}: {why}." for (need, why), where in _missed(jobs, system).items()
        )
        yield from (f"- `{name}` differs: {text}." for name, text in system.differs.items())
        yield ""


def _missed(jobs: Sequence[Job], system: System) -> dict[tuple[str, str], list[str]]:
    """What is missed and why -> the jobs."""
    found: dict[tuple[str, str], list[str]] = {}
    for job in jobs:
        for need, why in system.missed(job).items():
            found.setdefault((NEEDS[need], why), []).append(f"`{job.name}`")
    return found


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
