"""Quoting for a POSIX shell, and a line of shell that runs a command."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")


def quote(text: str) -> str:
    """The string as one word of a shell."""
    return text if PLAIN.fullmatch(text) else "'" + text.replace("'", "'\\''") + "'"


def operand(path: str) -> str:
    """A file or folder as one word of a shell that no command reads as an option."""
    return quote(f"./{path}" if path.startswith("-") else path)


def table_of_rows(index: str, rows: Sequence[Mapping[str, str]]) -> str:
    """Lines of shell that set the variables of the row whose number a variable has. They run in any POSIX shell."""
    settings = (" ".join(f"{name}={quote(value) if value else ''}" for name, value in row.items()) for row in rows)
    lines = (f"{number}) {assigned} ;;\n" for number, assigned in enumerate(settings))
    return f"case ${index} in\n{''.join(lines)}esac\nexport {' '.join(rows[0])}\n"


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
