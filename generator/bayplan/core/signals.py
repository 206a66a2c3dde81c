"""What SIGINT does outside of a command: while Python imports modules, and at the end.

It takes the module behind `signal`, because the imports of that one take longer than `bayplan --version`.
"""

import os
from _signal import SIGINT, default_int_handler, getsignal, signal  # type: ignore[import-not-found]

SIGNALED = 128
"""Exit codes of signals: this plus the number of the signal, as in shells."""


def leave(number: int, frame: object) -> None:
    """Ends the process at once. There is nothing to remove, and nothing to say."""
    os._exit(SIGNALED + number)


def leave_at_sigint() -> None:
    """SIGINT ends the process from now on, unless the caller of the process ignores it."""
    if getsignal(SIGINT) is default_int_handler:
        signal(SIGINT, leave)
