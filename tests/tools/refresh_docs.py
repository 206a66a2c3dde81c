"""Rewrite the outputs in the documentation's console blocks: `python tests/tools/refresh_docs.py [PAGE...]`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.docs import pages, refreshed


def main(arguments: list[str]) -> None:
    """Refresh the pages named, or all; print those that changed."""
    for page in [Path(each) for each in arguments] or pages():
        text = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            new = refreshed(text, Path(folder))
        if new != text:
            page.write_text(new, encoding="utf-8")
            print(page)


if __name__ == "__main__":
    main(sys.argv[1:])
