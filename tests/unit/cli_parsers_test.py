"""Two parsers, one table: where the fast one understands a command line, click understands the same."""

from __future__ import annotations

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.cli import human
from bayplan.cli import run as fast
from bayplan.cli.commands import COMMANDS, overview
from bayplan.cli.options import Arguments, Command

WORDS = [
    *sorted({name for command in COMMANDS for option in command.options for name in option.names}),
    *sorted({choice for command in COMMANDS for option in command.options for choice in option.choices}),
    *(
        "a.yaml",
        "-",
        "--",
        "-tfile",
        "--topology=file",
        "--check=1",
        "--strict=",
        "--nonsense",
        "-",
        "",
        "workflow",
        "bash",
    ),
]


def by_click(command: Command, argv: list[str]) -> Arguments | None:
    """What click makes of a command line; None when it refuses."""
    try:
        parsed = human.program().main([*command.name.split(), *argv], standalone_mode=False)
    except click.ClickException:
        return None
    return parsed if isinstance(parsed, Arguments) else None


@given(st.sampled_from(COMMANDS), st.lists(st.sampled_from(WORDS), max_size=6))
def test_they_agree(command: Command, argv: list[str]) -> None:
    plain = fast.parse(command, argv)
    if plain is not None:
        assert plain == by_click(command, argv)


def command(name: str) -> Command:
    """The command of that name."""
    return next(each for each in COMMANDS if each.name == name)


@pytest.mark.parametrize(
    "line",
    [
        "render a.yaml -t b.yaml",
        "render a.yaml b.yaml --topology=b.yaml -s kai --gang x --gang y --cluster-objects -o out/ --check",
        "render - -t b.yaml --from native --set a=b -n ml --target kai=0.17,draDriver=25.12 --accept F601 --strict",
        "check a.yaml -s all --diagnostics=json",
        "plan a.yaml -t b.yaml --format json",
        "delete-plan a.yaml -t b.yaml",
        "import a.yaml - --from native --set a=b -t c.yaml -o out.yaml --check --strict",
        "topology check",
        "topology export t.yaml --to kai -o -",
        "schema workflow",
        "explain R101",
        "schedulers",
        "init",
        "completion bash",
    ],
)
def test_the_fast_parser_knows_every_plain_line(line: str) -> None:
    found = fast.find(line.split(), COMMANDS)
    assert found is not None
    plain = fast.parse(*found)
    assert plain is not None
    assert plain == by_click(found[0], list(found[1]))


@pytest.mark.parametrize(
    "line",
    [
        "render",
        "render a -t",
        "render a --nope",
        "render a --help",
        "schema nope",
        "schema a b",
        "render a -t -x",
        "check a -o b",
    ],
)
def test_the_rest_is_left_to_click(line: str) -> None:
    found = fast.find(line.split(), COMMANDS)
    assert found is not None
    assert fast.parse(*found) is None


def test_what_was_given() -> None:
    plain = fast.parse(command("render"), ["a", "-t", "x", "-t", "y", "--gang", "g", "--gang", "h", "--check"])
    assert plain is not None
    assert plain.words == ("a",)
    assert plain.value("topology") == "y"
    assert plain.values("gang") == ("g", "h")
    assert plain.has("check")
    assert not plain.has("strict")
    assert plain.value("scheduler", "none") == "none"


def test_every_command_is_in_the_help_and_none_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    listed: set[str] = set()
    for prefix in ("", *human.GROUPS):
        assert human.parse([*prefix.split(), "--help"]) == 0
        commands = capsys.readouterr().out.partition("Commands:\n")[2].partition("\n\n")[0]
        listed |= {f"{prefix} {line.split()[0]}".strip() for line in commands.splitlines()}
    assert listed - set(human.GROUPS) == {each.name for each in COMMANDS}


def test_the_overview_is_the_help_of_click(capsys: pytest.CaptureFixture[str]) -> None:
    assert human.parse(["--help"]) == 0
    assert overview() == capsys.readouterr().out


@pytest.mark.parametrize("each", COMMANDS, ids=lambda each: each.name)
def test_every_command_has_help(each: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert human.parse([*each.name.split(), "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert each.summary in text
    for option in each.options:
        assert all(name in text for name in option.names)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_words(
    shell: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_BAYPLAN_COMPLETE", f"{shell}_complete")
    monkeypatch.setenv("COMP_WORDS", "bayplan topology e")
    monkeypatch.setenv("COMP_CWORD", "e" if shell == "fish" else "2")
    assert human.parse([]) == 0
    first = {"bash": "plain,export\n", "zsh": "plain\nexport\n", "fish": "plain,export\t"}[shell]
    assert capsys.readouterr().out.startswith(first)
