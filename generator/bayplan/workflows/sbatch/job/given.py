"""Words of a directive or of an srun line -> options, as getopt reads them (`man sbatch`, `man srun`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bayplan.values import NamedTuple
from bayplan.words import did_you_mean, shorten
from bayplan.workflows.sbatch.findings import Findings, Spot
from bayplan.workflows.sbatch.options import ALIASES, FLAG, KEPT, LOST, MAYBE, NOTHING, REFUSED, VALUE, Option, letters


class Given(NamedTuple):
    """An option with its value (empty where it takes none), and where it stands."""

    option: Option
    value: str
    spot: Spot


Options = Mapping[str, Given]
"""By name. Of an option that is given twice the last one counts, as for Slurm."""


def parse(
    words: Sequence[tuple[str, Spot]], table: Mapping[str, Option], findings: Findings
) -> tuple[dict[str, Given], int]:
    """The options at the beginning of some words, and where the first word stands that is none. W600, W601."""
    short, at = letters(table), 0
    found: dict[str, Given] = {}
    while at < len(words):
        word, spot = words[at]
        if word == "--":
            return found, at + 1
        if not word.startswith("-") or word == "-":
            break
        at += 1
        following = words[at][0] if at < len(words) else None
        named = _long(word, table) if word.startswith("--") else _short(word, short)
        for option, value in named:
            if option is None:
                called = value or ""
                hint = did_you_mean(called.lstrip("-"), table) or "Slurm 25.11 knows none of this name"
                findings.error("W600", spot, f'there is no option "{shorten(called)}"', hint)
            elif option.takes == VALUE and value is None:
                if following is None:
                    findings.error("W601", spot, f"--{option.name} wants a value", f"write --{option.name}=VALUE")
                else:
                    found[option.name] = Given(option, following, spot)
                    at += 1
            elif option.takes == FLAG and value:
                findings.error("W601", spot, f"--{option.name} takes no value", f"write --{option.name} alone")
            else:
                found[option.name] = Given(option, value or "", spot)
    return found, at


def _long(word: str, table: Mapping[str, Option]) -> list[tuple[Option | None, str | None]]:
    """`--nodes=4`; a name may be cut short as long as one option begins so."""
    name, equals, value = word[2:].partition("=")
    name = ALIASES.get(name, name)
    likely = [name] if name in table else [each for each in table if each.startswith(name) and name]
    if len(likely) != 1:
        return [(None, f"--{name}")]
    return [(table[likely[0]], value if equals else None)]


def _short(word: str, short: Mapping[str, Option]) -> list[tuple[Option | None, str | None]]:
    """`-N4`, `-N` and a value in the next word, or several flags in one word."""
    made: list[tuple[Option | None, str | None]] = []
    for number, letter in enumerate(word[1:], 1):
        option = short.get(letter)
        if option is None:
            return [*made, (None, f"-{letter}")]
        if option.takes != FLAG:
            rest = word[number + 1 :].removeprefix("=")
            return [*made, (option, rest or ("" if option.takes == MAYBE else None))]
        made.append((option, ""))
    return made


def sort(sections: Iterable[Options], findings: Findings, step: bool = False) -> None:
    """W603 to W606: options that are refused, lost, of no meaning, or Slurm's alone. Of a `step`, nothing is kept."""
    nothing: dict[str, Given] = {}
    kept: dict[str, Given] = {}
    for given in (each for options in sections for each in options.values()):
        option = given.option
        if option.does == REFUSED:
            findings.error("W603", given.spot, f"--{option.name} cannot be carried: {option.why}", option.hint)
        elif option.does == KEPT and option.why and step:
            findings.warning("W604", given.spot, f"--{option.name} of a step is lost: {option.why}", option.hint)
        elif option.does == KEPT and option.why:
            message = f"--{option.name} is kept for Slurm alone: {option.why}"
            findings.warning("W604", given.spot, message, option.hint)
        elif option.does == LOST:
            findings.warning("W604", given.spot, f"--{option.name} is lost: {option.why}", option.hint)
        elif option.does == NOTHING or (option.does == KEPT and step):
            nothing.setdefault(option.name, given)
        elif option.does == KEPT:
            kept.setdefault(option.name, given)
    _listed(nothing, "W605", "of no meaning outside of Slurm", "nothing is lost without them", findings)
    hint = "they stand in `backends: {slurm: ...}` of the gang"
    _listed(kept, "W606", "kept for Slurm, and mean nothing to other schedulers", hint, findings)


def _listed(found: Mapping[str, Given], code: str, what: str, hint: str, findings: Findings) -> None:
    if found:
        first = next(iter(found.values()))
        names = ", ".join(f"--{name}" for name in found)
        findings.info(code, first.spot, f"{names}: {what}", hint)
