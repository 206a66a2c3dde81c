"""The steps of action.yml that need more than a line: `check` and `comment`. Python's own library is all they use.

The inputs of the action are variables of the environment. Nothing of a pull request is part of a script. The commands
run with --sandbox, so that a pull request cannot make them read files outside of the repository.
"""

from __future__ import annotations

import base64
import difflib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

LONGEST_COMMENT = 60_000
"""Characters. GitHub takes 65,536."""

LONGEST_SUMMARY = 900_000
"""GitHub takes a MiB of a step."""

TREE = re.compile(r"^(\S+ on \S+), namespace \S+, for \S+: ", re.MULTILINE)
BLOCKS = re.compile(r"^(\S+ on \S+): ", re.MULTILINE)
"""The first line of each workflow in two formats of `bayplan plan`."""


def main(step: str) -> int:
    """Runs a step. Returns the exit code."""
    return {"check": check, "comment": comment}[step]()


def value(name: str) -> str:
    """An input of the action, without spaces around it."""
    return os.environ.get(name, "").strip()


def lines(name: str) -> list[str]:
    """An input with a value on each line."""
    return [each.strip() for each in value(name).splitlines() if each.strip()]


def output(**values: object) -> None:
    """Outputs of the step. No value has a line break."""
    with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as file:
        file.writelines(f"{name}={each}\n" for name, each in values.items())


def notice(message: str) -> None:
    """A line that GitHub shows at the run."""
    escaped = message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    print(f"::notice title=bayplan::{escaped}", flush=True)


def run(
    *command: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """A program with its output."""
    return subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, encoding="utf-8", errors="replace", check=False
    )


def path(word: str) -> str:
    """A path that no program takes for an option."""
    return f"./{word}" if word.startswith("-") else word


# The step `check`.


class Wanted(NamedTuple):
    """What to run in a folder. `project` is empty if there is none. Everything is as on a command line."""

    project: str
    workflows: tuple[str, ...]
    manifests: tuple[str, ...]

    def commands(self) -> Iterator[tuple[str, ...]]:
        """The commands of bayplan, without common options."""
        options = (*_option("-t", "TOPOLOGY"), *_option("-s", "SCHEDULER"))
        more = tuple(shlex.split(value("ARGUMENTS")))
        if self.project:
            yield ("generate", "--check", self.project, *more)
        if self.workflows:
            alone = () if "--together" in more else ("--alone",)
            yield ("check", *alone, *options, *more, *self.workflows)
        if self.manifests:
            yield ("lint", *options, *more, *self.manifests)

    def plans(self) -> Iterator[tuple[str, ...]]:
        """The commands that show the plans."""
        if self.project:
            yield ("plan", self.project)
        if self.workflows:
            yield ("plan", "--alone", *_option("-t", "TOPOLOGY"), *_option("-s", "SCHEDULER"), *self.workflows)


def _option(option: str, name: str) -> tuple[str, ...]:
    return (option, path(value(name))) if value(name) else ()


def wanted(folder: Path) -> Wanted:
    """The project, the workflows that git tracks, and the manifests of a folder."""
    patterns = [f":(glob){each}" for each in lines("WORKFLOWS")]
    listed = run("git", "ls-files", "-z", "--", *patterns, cwd=folder).stdout.split("\0") if patterns else []
    project = value("PROJECT")
    return Wanted(
        path(project) if project and (folder / project).is_file() else "",
        tuple(path(each) for each in listed if each),
        tuple(path(each) for each in lines("MANIFESTS")),
    )


def bayplan(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command of bayplan in its sandbox."""
    return run(os.environ["COMMAND"], words[0], "--sandbox", *words[1:], cwd=folder)


def check() -> int:
    """Runs the commands, and compares the plans of a pull request with those of its base."""
    folder = Path(value("FOLDER") or ".")
    here = wanted(folder)
    unmatched = "WORKFLOWS" if lines("WORKFLOWS") and not here.workflows else ""
    named = value("PROJECT") != "bayplan.yaml" and value("PROJECT") and not here.project
    if unmatched or named or not any(here):
        reason = "git tracks no file that `workflows` matches" if unmatched else "there is no such `project`"
        nothing = "there is no bayplan.yaml, and no `workflows` or `manifests`: name one of them"
        print(f"::error title=bayplan::{reason if unmatched or named else nothing}", flush=True)
        return 1
    made = Path(tempfile.mkdtemp(prefix="bayplan-", dir=os.environ.get("RUNNER_TEMP")))
    verdicts = [verdict(folder, command, made) for command in here.commands()]
    if (made / "sarif").is_dir():
        output(sarif=made / "sarif")
    if value("BASE"):
        sections, changed = differences(folder, here, made)
        report = "".join([_table(verdicts), *sections] if sections else [_table(verdicts), "No plan changes.\n"])
        output(changed=changed)
        picture(folder, here, made)
    else:
        report = _table(verdicts)
    (made / "report.md").write_text(report, encoding="utf-8")
    output(report=made / "report.md")
    return 0 if all(passed for _, passed in verdicts) else 1


def verdict(folder: Path, command: Sequence[str], made: Path) -> tuple[str, bool]:
    """A command, and whether it passed. Its findings become annotations and, if wanted, a SARIF file."""
    shown = shlex.join(("bayplan", *command))
    print(f"::group::{shown}", flush=True)
    done = bayplan(folder, *command, "--diagnostics", "github")
    print(done.stdout + done.stderr, end="", flush=True)
    print("::endgroup::", flush=True)
    if value("SARIF") == "true":
        again = bayplan(folder, *command, "--diagnostics", "sarif")
        log = next((each for each in (again.stderr, again.stdout) if each.lstrip().startswith("{")), "")
        if log:
            data = json.loads(log)
            data["runs"][0]["automationDetails"] = {"id": f"{value('NAME')}/{command[0]}/"}  # code scanning's category
            (made / "sarif").mkdir(exist_ok=True)
            (made / "sarif" / f"{command[0]}.sarif").write_text(json.dumps(data), encoding="utf-8")
    return f"bayplan {' '.join(command[:2]) if command[0] == 'generate' else command[0]}", done.returncode == 0


def _table(verdicts: Iterable[tuple[str, bool]]) -> str:
    rows = (f"| `{name}` | {'passed' if passed else '**failed**'} |\n" for name, passed in verdicts)
    return "".join(("| command | result |\n|---|---|\n", *rows, "\n"))


# The plans of a pull request and of its base.


class Plans(NamedTuple):
    """First line of a workflow -> its tree; workflow and topology -> its picture. `problem`: why there are none."""

    trees: Mapping[str, str]
    pictures: Mapping[str, str]
    problem: str = ""


def differences(folder: Path, here: Wanted, made: Path) -> tuple[list[str], int]:
    """A section of Markdown for each plan that differs, and their number."""
    base = made / "base"
    if not check_out(base):
        notice("git cannot read the base of the pull request, so plans are not compared; set `fetch-depth: 2`")
        return [], 0
    below = run("git", "rev-parse", "--show-prefix", cwd=folder).stdout.strip()
    there = base / below
    before = plans(there, wanted(there)) if there.is_dir() else Plans({}, {})
    after = plans(folder, here)
    run("git", "worktree", "remove", "--force", str(base))
    sections = [f"bayplan cannot plan this change:\n\n{fenced(after.problem)}\n"] if after.problem else []
    if after.problem:
        drawn = {key: each for key, each in after.pictures.items() if before.pictures.get(key) != each}
        sections += [f"{fenced(each)}\n" for each in drawn.values()]
        return sections, len(drawn)
    keys = [key for key in {**after.trees, **before.trees} if before.trees.get(key) != after.trees.get(key)]
    return [section(key, before, after) for key in keys], len(keys)


def check_out(base: Path) -> bool:
    """Whether git could write the base of the pull request to this folder.

    GitHub's merge commit has the base as its first parent. Another commit is compared with the base of the event.
    """
    parents = re.findall(r"^parent (\w+)$", run("git", "cat-file", "commit", "HEAD").stdout, re.MULTILINE)
    merged = len(parents) == 2 and run("git", "rev-parse", "HEAD").stdout.strip() == os.environ.get("GITHUB_SHA")
    commit = parents[0] if merged else value("BASE")
    if not re.fullmatch(r"[0-9a-f]{40,64}", commit):
        return False
    fetch = ("git", "fetch", "--quiet", "--no-tags", "--depth=1", "origin", commit)
    if run("git", "cat-file", "-e", f"{commit}^{{commit}}").returncode:
        _ = run(*fetch).returncode and run(*fetch, env={**os.environ, **_credentials()})
    return run("git", "worktree", "add", "--quiet", "--detach", str(base), commit).returncode == 0


def _credentials() -> dict[str, str]:
    """Git with the token, for a checkout that did not keep it."""
    basic = base64.b64encode(f"x-access-token:{value('TOKEN')}".encode()).decode()
    server = os.environ.get("GITHUB_SERVER_URL", "")
    pairs = {"KEY_0": f"http.{server}/.extraheader", "VALUE_0": f"AUTHORIZATION: basic {basic}"}
    return {"GIT_CONFIG_COUNT": "1", **{f"GIT_CONFIG_{key}": each for key, each in pairs.items()}}


def plans(folder: Path, there: Wanted) -> Plans:
    """The plans of all workflows of a folder."""
    trees, pictures, problems = dict[str, str](), dict[str, str](), list[str]()
    for command in there.plans():
        done = bayplan(folder, *command)
        trees |= {found[0]: text for found, text in _parts(TREE, done.stdout)}
        problems += [done.stderr] if done.returncode else []
        for found, text in _parts(BLOCKS, bayplan(folder, *command, "--format", "blocks").stdout):
            pictures[found[1]] = "\n".join(dict.fromkeys((pictures.get(found[1], text), text)))
    return Plans(trees, pictures, "".join(problems))


def _parts(first: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Each first line of a workflow, and the text up to the next one."""
    starts = [*first.finditer(text)]
    ends = [*(each.start() for each in starts[1:]), len(text)]
    return ((found, text[found.start() : end].strip("\n") + "\n") for found, end in zip(starts, ends, strict=False))


def section(key: str, before: Plans, after: Plans) -> str:
    """What changes in the plan of a workflow: the lines of its tree, and its pictures in a part that opens."""
    old, new = before.trees.get(key, ""), after.trees.get(key, "")
    whole = difflib.unified_diff(old.splitlines(), new.splitlines(), n=1, lineterm="")
    kept = [line for line in [*whole][2:] if not line.startswith("@@")]
    name = next(each[1] for each in [TREE.match(new or old)] if each)
    lines_that_differ = "\n".join(kept)
    text = f"{fenced(lines_that_differ, 'diff')}\n"
    shown = [
        ("before", before.pictures.get(name, "") if old else ""),
        ("after", after.pictures.get(name, "") if new else ""),
    ]
    if shown[0][1] != shown[1][1]:
        drawn = "".join(f"{word}:\n\n{fenced(picture)}\n" for word, picture in shown if picture)
        text += f"<details><summary>{name}: picture</summary>\n\n{drawn}</details>\n\n"
    return text


def fenced(text: str, kind: str = "") -> str:
    """A code block. Nothing in the text can end it."""
    longest = max((len(each) for each in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{kind}\n{text.rstrip()}\n{fence}\n"


def picture(folder: Path, here: Wanted, made: Path) -> None:
    """The page with the pictures of all plans, if there is one."""
    name = re.sub(r"[^\w.-]", "-", value("NAME"))
    for command in [*here.plans()][:1]:
        page = bayplan(folder, *command, "--format", "html").stdout
        if page:
            (made / f"{name}.html").write_text(page, encoding="utf-8")
            output(picture=made / f"{name}.html")


# The step `comment`.


def comment() -> int:
    """Writes the report to the job summary and, on a pull request, to one comment, which later runs replace.

    A token that may not write, such as that of a fork, leaves the job summary.
    """
    report = Path(value("REPORT")).read_text(encoding="utf-8")
    link = f"[Pictures of all plans]({value('PICTURE')})\n" if value("PICTURE") else ""
    title = f"### {value('NAME')}\n\n"
    with Path(os.environ["GITHUB_STEP_SUMMARY"]).open("a", encoding="utf-8") as file:
        file.write(shortened(f"{title}{report}{link}", LONGEST_SUMMARY, ""))
    number = value("NUMBER")
    if not number or value("COMMENT") != "true":
        return 0
    marker = f"<!-- bayplan {re.sub('[^a-zA-Z0-9]', '-', value('NAME'))} -->"
    body = f"{marker}\n{title}{shortened(report, LONGEST_COMMENT, link)}"
    written = _write(f"repos/{os.environ['GITHUB_REPOSITORY']}", number, marker, body, "**failed**" in report)
    if written:
        notice(f"the token cannot comment on the pull request, so only the job summary has the plans: {written}")
    return 0


def shortened(text: str, most: int, end: str) -> str:
    """The text and its end. Parts that are too much are left out, which the last line then says."""
    if len(text) + len(end) <= most:
        return text + end
    cut = text[: most - len(end) - 200].rpartition("\n\n")[0]
    ticks = [len(each) for each in re.findall(r"^(`{3,})", cut, re.MULTILINE)]
    closed = f"\n{'`' * ticks[-1]}\n" if len(ticks) % 2 else "\n"
    opened = "</details>\n" * (cut.count("<details>") - cut.count("</details>"))
    return f"{cut}{closed}{opened}\nThe rest is too long for GitHub: run `bayplan plan`.\n{end}"


def _write(repository: str, number: str, marker: str, body: str, failed: bool) -> str:
    """Replaces the comment that begins with the marker, or adds one. Returns why it could not, or nothing.

    A pull request that changes no plan and has no errors gets no new comment.
    """
    comments = f"{repository}/issues/{number}/comments"
    query = f".[] | select(.body | startswith({json.dumps(marker)})) | .id"
    try:
        found = run("gh", "api", "--paginate", f"{comments}?per_page=100", "--jq", query)
    except OSError as problem:
        return f"gh: {problem.strerror}"
    if found.returncode:
        return found.stderr.strip()
    ids = found.stdout.split()
    if not ids and not failed and "No plan changes." in body:
        return ""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".md") as file:
        file.write(body)
        file.flush()
        text = ("-F", f"body=@{file.name}")
        done = run("gh", "api", "-X", "PATCH", f"{repository}/issues/comments/{ids[0]}", *text) if ids else None
        if done is None or done.returncode:  # none, or the comment of somebody else
            done = run("gh", "api", "-X", "POST", comments, *text)
    return done.stderr.strip() if done.returncode else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
