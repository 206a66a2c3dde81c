"""Quoting for a POSIX shell, and a line of shell that runs a command."""

from __future__ import annotations

import re

PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")


def quote(text: str) -> str:
    """The string as one word of a shell."""
    return text if PLAIN.fullmatch(text) else "'" + text.replace("'", "'\\''") + "'"


RUN = "; ".join(
    (
        'for s in HUP INT QUIT TERM USR1 USR2; do trap "kill -$s \\$child 2>/dev/null" $s; done',
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
need coreutils 8.31 or later for it.
"""
