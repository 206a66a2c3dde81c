"""Run a command until standard input ends, so that it does not outlive whoever started it, however that ended."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

STOP = 30
"""Seconds until the command must have ended by itself."""


def main(command: list[str]) -> None:
    """Start the command, and end with it or when standard input does."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    threading.Thread(target=lambda: os._exit(child.wait() and 1), daemon=True).start()
    sys.stdin.buffer.read()
    child.terminate()
    try:
        child.wait(STOP)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


if __name__ == "__main__":
    main(sys.argv[1:])
