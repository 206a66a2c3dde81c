"""Quoting for a POSIX shell, and shells that run a command.

Only a shell can compute a rank or choose a row of a matrix. It sets these variables, and everything that refers to
them, before it runs the command (`started`). It changes no other text: what it cannot write without quotes are its own
arguments, in which Kubernetes expands `$(NAME)` as always.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_REFERENCE = re.compile(r"\$\$|\$\(([^()]*)\)")
_EXPORTABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def quote(text: str) -> str:
    """The string as one word of a shell."""
    return text if PLAIN.fullmatch(text) else "'" + text.replace("'", "'\\''") + "'"


def operand(path: str) -> str:
    """A file or folder as one word of a shell that no command reads as an option."""
    return quote(f"./{path}" if path.startswith("-") else path)


def table_of_rows(index: str, rows: Sequence[Mapping[str, str]], most: int) -> list[str]:
    """Lines of shell that set the variables of the row whose number a variable has. They run in any POSIX shell.

    `most`: the most bytes of a string. Several strings have different rows.
    """
    first, last = f"case ${index} in\n", f"esac\nexport {' '.join(rows[0])}\n"
    room = most - len(first) - len(last)
    parts, left = [list[str]()], room
    for number, row in enumerate(rows):
        settings = " ".join(f"{name}={quote(value) if value else ''}" for name, value in row.items())
        line = f"{number}) {settings} ;;\n"
        size = len(line.encode("utf-8", "surrogatepass"))
        if size > left and parts[-1]:
            parts.append([])
            left = room
        parts[-1].append(line)
        left -= size
    return ["".join((first, *part, last)) for part in parts]


RUN = "; ".join(
    (
        "for sh_signal in HUP INT QUIT TERM USR1 USR2",
        'do trap "sh_last=$sh_signal; kill -$sh_signal \\$child 2>/dev/null" $sh_signal',
        "done",
        "exec 3<&0",
        'env --default-signal=INT,QUIT true 2>/dev/null && set -- env --default-signal=INT,QUIT "$@"',
        '(trap - INT QUIT; exec "$@" <&3 3<&-) & child=$!',
        "wait $child",
        "code=$?",
        # a signal ends `wait` before the command: then the next `wait` has another result, or the command still runs
        "until [ $code -lt 128 ]; do wait $child 2>/dev/null",
        "now=$?",
        "[ $now -ne 127 ] || break",
        "[ $now -ne $code ] || kill -0 $child 2>/dev/null || break",
        "code=$now",
        "done",
    )
)
"""Runs the command with the container's standard input and forwards signals, which a shell does not do by itself.

A shell starts a command in the background with SIGINT and SIGQUIT ignored. bash resets them in a subshell; other shells
need coreutils 8.31 or later for it. `sh_last` is the last signal that it forwarded. The names of variables that it
sets before the command starts are unusual, since sh exports those that the container sets.
"""


def ignoring(command: Iterable[str], passed: Iterable[int]) -> tuple[str, ...]:
    """The command in a shell that reports its failure and exits with 0.

    The shell passes on the exit codes `passed`, and any exit code after SIGTERM: then Kubernetes ends the pod.
    """
    kept = "|".join(map(str, (0, *passed)))
    ends = (
        RUN,
        f'[ "${{sh_last:-}}" != TERM ] || exit $code; case $code in {kept}) exit $code ;; esac',
        'echo "The command failed with status $code. Its gang ignores this, so the pod ends with 0." >&2',
        "exit 0",
    )
    return ("sh", "-c", "; ".join(ends), "sh", *command)


class Started(NamedTuple):
    """The command that sets the variables, and the entries that Kubernetes still sets."""

    command: tuple[Any, ...]
    env: tuple[Mapping[str, Any], ...]
    args: tuple[str, ...] = ()


def started(
    words: Sequence[str], env: Sequence[Mapping[str, Any]], first: str, names: Iterable[str], others: Iterable[str] = ()
) -> Started:
    """The words of a command behind a shell, whose line `first` sets the variables `names`.

    Variables whose values refer to one of them are the shell's too. `others`: what the shell need not leave to
    Kubernetes either.
    """
    own, arguments = set(names), list[str]()
    known = {*others, *own}
    kept: list[Mapping[str, Any]] = []
    lines, unexportable = [first], list[str]()
    later = {entry["name"] for entry in env}  # to which Kubernetes expands no reference yet
    for entry in env:
        name, text = entry["name"], entry.get("value")
        refers = isinstance(text, str) and refer((text,), own)
        value = "".join(f"$$({part})" if early else part for early, part in _parts(text or "", later)) if refers else ""
        later.discard(name)
        if not refers:
            kept.append(entry)
        elif _EXPORTABLE.fullmatch(name):
            lines.append(f"export {name}={_word(value, known, arguments)}")
            own.add(name)
            known.add(name)
        else:
            unexportable.append(_word(f"{name}={value}", known, arguments))
    several = ["env", *unexportable] if unexportable else []
    lines.append(" ".join(["exec", *several, *(_word(word, known, arguments) for word in words)]))
    return Started(("sh", "-c", "\n".join(lines), *(("sh", *arguments) if arguments else ())), tuple(kept))


def refer(texts: Iterable[Any], names: Container[str]) -> bool:
    """Whether one of the values is a string that refers to one of the variables."""
    return any(is_name for text in texts if isinstance(text, str) for is_name, _ in _parts(text, names))


def _word(text: str, known: Container[str], arguments: list[str]) -> str:
    """A string as one word of a shell. Parts that need quotes become arguments of the shell."""
    pieces = []
    for is_name, part in _parts(text, known):
        if is_name:
            pieces.append(f'"${{{part}}}"')
        elif PLAIN.fullmatch(part):
            pieces.append(part)
        elif part:
            arguments.append(part)
            pieces.append(f'"${{{len(arguments)}}}"')
    return "".join(pieces) or "''"


def _parts(text: str, own: Container[str]) -> Iterator[tuple[bool, str]]:
    """The references to these variables in a string, and what is between them."""
    start = 0
    for reference in _REFERENCE.finditer(text):
        if reference[1] is not None and reference[1] in own:
            yield False, text[start : reference.start()]
            yield True, reference[1]
            start = reference.end()
    yield False, text[start:]
