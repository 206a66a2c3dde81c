"""Programs that a batch script calls: which ones bayplan leaves out, and what some of them print."""

from __future__ import annotations

import csv
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from bayplan.plugin import text_beside as table
from bayplan.plugins.slurm.sbatch.expansion import MARK, NODE, NODES, TIME, mark
from bayplan.plugins.slurm.sbatch.options import STEPS, Findings, Position
from bayplan.plugins.slurm.sbatch.shape import parse
from bayplan.plugins.slurm.sbatch.shell import ASSIGNMENT, COMMAND, PROCESS, Statement, UnreadableError, statements

_ROWS = tuple(csv.DictReader(table("plugins", "slurm", "sbatch", "commands.csv").splitlines()))


def _commands(*kinds: str) -> frozenset[str]:
    return frozenset(name for row in _ROWS if row["kind"] in kinds for name in row["commands"].split())


NO_EFFECT = _commands("none")
"""Commands without an effect on tasks."""

TEXTS = _commands("text")
"""Commands that print their arguments."""

QUIET = _commands("none", "text", "quiet")
"""Commands that print, inspect or wait: no task depends on them, unless they write files."""

SETUP = _commands("setup")
"""Commands that set up the software of a node. A pod has its software in the image."""

PER_POD = _commands("pod")
"""Commands that every pod can repeat."""

MPI = _commands("mpi")
"""Commands that start the ranks of an MPI program on all nodes."""

LAUNCHERS = _commands("launcher")
"""Other commands that start programs on other nodes, with Slurm or a login there."""

CLIENTS = _commands("slurm")
"""Commands that need Slurm: no pod has them."""

ACTS: Mapping[str, re.Pattern[str]] = {row["commands"]: re.compile(row["acts"]) for row in _ROWS if row["acts"]}
"""Quiet commands -> the arguments with which they change something, or start another program."""


HINTS = {name: row["hint"] for row in _ROWS if row["hint"] for name in row["commands"].split()}
"""Commands that no pod can run -> what to do instead."""


def only_prints(name: str, arguments: str) -> bool:
    """Whether a command prints, inspects or waits, and changes nothing with these arguments."""
    return name in QUIET and not (name in ACTS and ACTS[name].search(arguments))


TORCH = re.compile(r"(torchrun|accelerate|deepspeed)$|python[0-9.]*$")
"""Programs that get their rank from arguments, or from the variables that torchrun reads."""

MODULES = ("torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch")

SHELLS = ("bash", "sh", "zsh", "dash", "ksh")


def base(word: str) -> str:
    """The command of a path."""
    return word.rpartition("/")[2]


PREFIXES = frozenset(
    ("exec", "nohup", "command", "builtin", "stdbuf", "env", "eval", "time", "timeout", "sudo", "then")
)
"""Commands before a command."""


def commands(items: Iterable[Statement]) -> frozenset[str]:
    """The names of all commands in statements, also in blocks, functions and substitutions."""
    names: set[str] = set()
    for each in items:
        words = [] if each.opened else [word for word in each.words if not ASSIGNMENT.match(word.raw)]
        while len(words) > 1 and (base(words[0].raw) in PREFIXES or re.match(r"[-\d]", words[0].raw)):
            words.pop(0)
        names |= {base(words[0].raw.strip("\"'"))} if words else set()
        every = (*each.words, *(redirect.word for redirect in each.redirects if redirect.word))
        for piece in (piece for word in every for piece in word.pieces if piece.kind in (COMMAND, PROCESS)):
            names |= commands_in(piece.text)
        names |= commands(each.inner)
    return frozenset(names)


def commands_in(text: str) -> frozenset[str]:
    """The names of all commands in a script; none if a shell cannot read it."""
    try:
        return commands(statements(text))
    except UnreadableError:
        return frozenset()


def launches(words: tuple[str, ...]) -> bool:
    """Whether a command is a launcher that needs none of Slurm's variables."""
    name = base(words[0]) if words else ""
    if TORCH.match(name) and not name.startswith("python"):
        return True
    modules = words[words.index("-m") + 1 :][:1] if "-m" in words[:4] else ()
    return name.startswith("python") and any(each in MODULES for each in modules)


def script(words: tuple[str, ...]) -> int | None:
    """The position of the script in a shell command: `bash -lc SCRIPT`."""
    if not words or base(words[0]) not in SHELLS:
        return None
    for number, word in enumerate(words[1:], 1):
        if re.fullmatch(r"-[a-zA-Z]*c", word):
            return number + 1 if number + 1 < len(words) else None
        if not word.startswith(("-", "+")):
            return None
    return None


# Files that commands other than steps write. Tasks may read them, because the nodes of a job share its directory.

NOWHERE = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty")


def file_of(each: Statement) -> str:
    """The file that a command writes, as the script names it; empty: none. A file for errors is a log."""
    for redirect in each.redirects:
        operator, word = redirect.operator, redirect.word
        if ">" not in operator or operator.startswith("2") or word is None or word.raw.strip("\"'") in NOWHERE:
            continue
        if not (operator.endswith("&") and re.fullmatch(r"[0-9]*-?", word.raw)):
            return word.raw
    if base(each.name) == "tee":
        files = (word.raw for word in each.words[1:] if not word.raw.startswith("-"))
        return next((word for word in files if word.strip("\"'") not in NOWHERE), "")
    return ""


# What commands print.

ADDRESS = {"-s", "-f", "-i", "-I", "-A", "--short", "--fqdn", "--long", "--ip-address", "--all-ip-addresses"}
"""Options of hostname that still print a name or an address of the node."""

COMMANDS_AS_VARIABLES = {"pwd": "PWD", "whoami": "USER", "id -un": "USER", "id -u": "UID", "uuidgen": "RANDOM"}
"""Commands that print the value of a variable, or an equivalent one."""

NUMBER = re.compile(r"date (-u )?\+(%[CdGHIjmMNsSuVwyY]|[0-9])+")
"""A time as a number, which programs may calculate with."""

MOST_HOSTS = 65_536
"""Nodes of a job (Slurm, MAX_SLURM_NODES)."""

Lines = list[str]
Nodes = Mapping[int, int]
"""The number of nodes of each section."""


def printed(words: Lines, given: str | None, nodes: Nodes) -> str | None:
    """What a command prints for an input. None: unknown."""
    name = base(words[0])
    if name == "echo":
        return _echo(words[1:])
    if name == "printf":
        return formatted(words[1:])
    if (first := _first(words, nodes)) is not None:
        return "".join(f"{line}\n" for line in first)
    if given is None:
        return None
    lines = _filtered(words, given.split("\n")[:-1] if given.endswith("\n") else given.split("\n"))
    return None if lines is None else "".join(f"{line}\n" for line in lines)


def _echo(words: Lines) -> str | None:
    end = "\n"
    while words and re.fullmatch(r"-[neE]+", words[0]):
        if "e" in words[0] and any("\\" in word for word in words):
            return None
        end = "" if "n" in words[0] else end
        words = words[1:]
    return " ".join(words) + end


def formatted(words: Lines) -> str | None:
    """What printf prints. None: unknown."""
    if not words or words[0].startswith("-"):
        return None
    form, rest = words[0], words[1:]
    escapes = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "r": "\r", "a": "\a"}
    if any(each not in escapes for each in re.findall(r"\\(.?)", form, re.DOTALL)):
        return None
    fields = re.findall(r"%[^%a-zA-Z]*(?:[a-zA-Z]|%|\Z)", form)
    if any(not re.fullmatch(r"%(-?[0-9]{0,3}s|0?[0-9]{0,3}d|%)", each) for each in fields):
        return None
    result, needed = "", max(1, sum(each != "%%" for each in fields))
    while True:
        values = iter([*rest[:needed], *[""] * (needed - len(rest[:needed]))])
        try:
            field = partial(_field, escapes=escapes, values=values)
            result += re.sub(r"\\(.)|(%[-0-9]*[sd%])", field, form, flags=re.DOTALL)
        except ValueError:
            return None
        rest = rest[needed:]
        if not rest or len(fields) == fields.count("%%"):
            return result


def _field(match: re.Match[str], escapes: Mapping[str, str], values: Iterator[str]) -> str:
    if match[1]:
        return escapes[match[1]]
    if match[2] == "%%":
        return "%"
    value = next(values)
    if "\0" in value and match[2] != "%s":
        raise ValueError
    if match[2].endswith("d"):
        if not re.fullmatch(r"-?([1-9][0-9]*|0)|", value):
            raise ValueError
        return match[2] % int(value or 0)
    return match[2] % value


def _first(words: Lines, nodes: Nodes) -> Lines | None:
    """The lines that a command prints without input."""
    match words:
        case ["scontrol", "show", what, *rest] if what.partition("=")[0] in ("hostnames", "hostname"):
            listed = [what.partition("=")[2]] if "=" in what else rest
            return hosts(listed[0] if listed else mark(NODES, "0"), nodes)
        case ["date", *_] if not {"-d", "--date", "-r", "-f"} & {word.partition("=")[0] for word in words}:
            return [mark(TIME)]
        case ["hostname", *options] if set(options) <= ADDRESS:
            return [mark(NODE, "0.0")]
        case ["srun", *rest]:
            return _address_by_srun(rest)
        case ["getent", "hosts" | "ahostsv4" | "ahosts", host] if MARK.fullmatch(host):
            return [host]
        case ["basename", path, *suffix] if len(suffix) < 2 and "\0" not in path and path.strip("/"):
            name = posixpath.basename(path.rstrip("/"))
            return [name.removesuffix(suffix[0]) if suffix and suffix[0] != name else name]
        case ["dirname", path] if "\0" not in path and path.strip("/"):
            return [posixpath.dirname(path.rstrip("/")).rstrip("/") or ("/" if path.startswith("/") else ".")]
        case ["seq", *numbers] if 0 < len(numbers) < 4 and all(re.fullmatch(r"-?[0-9]{1,6}", each) for each in numbers):
            values = [int(each) for each in numbers]
            first, step, last = values[0] if len(values) > 1 else 1, values[1] if len(values) == 3 else 1, values[-1]
            return [str(n) for n in range(first, last + (1 if step > 0 else -1), step)] if step else None
        case ["expr", left, "+" | "-" | "*" | "/" | "%" as operator, right]:
            return _expr(left, operator, right)
        case ["true"] | [":"]:
            return []
    return None


def _expr(left: str, operator: str, right: str) -> Lines | None:
    if not re.fullmatch(r"-?[0-9]{1,9}", left) or not re.fullmatch(r"-?[0-9]{1,9}", right):
        return None
    a, b = int(left), int(right)
    if operator in "/%":
        if not b:
            return None
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return [str(quotient if operator == "/" else a - quotient * b)]
    return [str({"+": a + b, "-": a - b, "*": a * b}[operator])]


def hosts(listed: str, nodes: Nodes) -> Lines | None:
    """A line for each node of a list of nodes."""
    match = MARK.fullmatch(listed)
    if match is None or match[1] not in (NODES, NODE):
        return None
    if match[1] == NODE:
        return [listed]
    section = int(match[2] or 0)
    return [mark(NODE, f"{section}.{number}") for number in range(min(nodes.get(section, 1), MOST_HOSTS))]


def _address_by_srun(words: Lines) -> Lines | None:
    """`srun --nodes=1 --ntasks=1 -w NODE hostname --ip-address` prints the address of a node."""
    options, at = parse([(word, Position()) for word in words], STEPS, Findings())
    single = any(options[name].value == "1" for name in ("nodes", "ntasks") if name in options)
    place = options["nodelist"].value if "nodelist" in options else mark(NODE, "0.0") if single else ""
    is_hostname = words[at : at + 1] == ["hostname"] and set(words[at + 1 :]) <= ADDRESS
    match = MARK.fullmatch(place)
    return [place] if is_hostname and match and match[1] == NODE else None


SUBSTITUTION = r"sed (?:-e )?s(.)(\$|\^|(?:(?!\1)[\w .:=-])+(?<!\.))\1((?:(?!\1)[\w .:=,-])*)\1(g?)"


def _filtered(words: Lines, lines: Lines) -> Lines | None:
    """The lines that head, tail, sed, awk, cut and similar filters print."""
    line, marked = " ".join(words), any("\0" in each for each in lines)
    if match := re.fullmatch(r"head(?: -n ?| -| --lines=)?([0-9]{1,5})?", line):
        return lines[: int(match[1] or 10)]
    if match := re.fullmatch(r"tail(?: -n ?| -| --lines=)?([0-9]{1,5})?", line):
        return lines[-int(match[1] or 10) :] if match[1] != "0" else []
    if match := re.fullmatch(r"tail -n ?\+([0-9]{1,5})", line):
        return lines[max(0, int(match[1]) - 1) :]
    if match := re.fullmatch(r"sed (-n )?([0-9]{1,5})(p|q|q;d|!d)", line):
        number, single = int(match[2]), {"p": bool(match[1]), "q;d": True, "!d": True, "q": False}[match[3]]
        if bool(match[1]) != (match[3] == "p"):
            return None
        return lines[number - 1 : number] if single else lines[:number]
    if match := re.fullmatch(SUBSTITUTION, line):
        return _substituted(match, lines, marked)
    if line in ("cat", "xargs -n1", "xargs -n 1", "xargs -L1"):
        return lines
    if line in ("xargs", "xargs echo", "paste -s -d  "):
        return [" ".join(lines)]
    if match := re.fullmatch(r"paste (?:-s -d|-sd|-d(.) -s|-d(.) -s -|-s -d ?(.)|-sd ?(.))(.*)", line):
        between = re.sub(r"[-\s]", "", "".join(each or "" for each in match.groups()))
        return [between.join(lines)] if len(between) == 1 else None
    if line == "wc -l":
        return [str(len(lines))]
    if line in ("sort", "sort -u", "uniq"):
        if marked:  # Slurm sorts names of nodes
            return lines
        return None if len(set(lines)) > 1 else (lines if line == "sort" else lines[:1])
    if re.fullmatch(r"awk \{ ?print \$1;? ?\}", line):
        return [(each.split() or [""])[0] for each in lines]
    if match := re.fullmatch(r"awk NR ?== ?([0-9]{1,5})(?: ?\{ ?print(?: \$0)?;? ?\})?", line):
        return lines[int(match[1]) - 1 : int(match[1])]
    if words[0] == "cut" and (match := re.fullmatch(r"cut (?:-d ?(.) -f ?1|-f ?1 -d ?(.))", line)):
        delimiter = match[1] or match[2]
        if marked:  # the separators of an address or name: the mark is one word
            return lines if all(MARK.fullmatch(each) for each in lines) else None
        return [each.partition(delimiter)[0] for each in lines]
    if match := re.fullmatch(r"tr (?:-d (.+)|(\S) (.)|a-z A-Z|\[:upper:\] \[:lower:\])", line):
        return _translated(match, lines, marked)
    if words in (["tr", "\\n", ","], ["tr", "\\n", " "]):
        return None if not lines else ["".join(f"{each}{words[2]}" for each in lines)]
    return None


def _substituted(match: re.Match[str], lines: Lines, marked: bool) -> Lines | None:
    """`sed s/a/b/`."""
    old, new = match[2], match[3]
    if old in ("$", "^"):
        return [f"{each}{new}" if old == "$" else f"{new}{each}" for each in lines]
    if marked or "." in old:
        return None
    return [each.replace(old, new, -1 if match[4] else 1) for each in lines]


def _translated(match: re.Match[str], lines: Lines, marked: bool) -> Lines | None:
    change: Callable[[str], str]
    if match[1] in (" ", "\\r", "\r", "[:space:]", "[:blank:]", '"', "'"):
        if match[1] == "[:space:]" and len(lines) > 1:
            return None
        gone = {"[:space:]": " \t\r", "[:blank:]": " \t", "\\r": "\r"}.get(match[1], match[1])
        return [each.translate({ord(char): None for char in gone}) for each in lines]
    if match[1] or marked:
        return None
    if match[2]:
        old, new = match[2], match[3]
        change = lambda text: text.replace(old, new)  # noqa: E731
    else:
        change = str.lower if "upper" in match[0] else str.upper
    return [change(each) for each in lines]
