"""Rewrite what the documentation prints of bayplan: `python tests/tools/refresh_docs.py [PAGE...]`.

That is the outputs in console blocks and the tables that are made from bayplan's own. Pages that change are printed.
"""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "generator"))

from tools import (
    accelerator_matrix,
    cli_reference,
    example_table,
    field_tables,
    life_cycle_table,
    loss_table,
    owner_table,
    preset_table,
    sbatch_options,
    scheduler_matrix,
    source_tables,
)
from tools.docs import found, pages, pictures, programs, refreshed
from tools.run import ROOT

TABLES = {
    **{page: partial(scheduler_matrix.page, page) for page in scheduler_matrix.pages()},
    cli_reference.PAGE: cli_reference.page,
    sbatch_options.PAGE: sbatch_options.page,
    accelerator_matrix.PAGE: accelerator_matrix.filled,
    loss_table.PAGE: loss_table.renewed,
    life_cycle_table.PAGE: life_cycle_table.filled,
    owner_table.PAGE: owner_table.filled,
    example_table.PAGE: example_table.filled,
    preset_table.PAGE: preset_table.renewed,
    source_tables.PAGE: source_tables.renewed,
    **{page: partial(field_tables.filled, page) for page in field_tables.PAGES},
}
"""Page -> its text with the tables as they are now."""


def main(arguments: list[str]) -> None:
    """Refresh the pages named, or all."""
    for page in [Path(each).resolve() for each in arguments] or pages():
        text = page.read_text(encoding="utf-8")
        if missing := sorted(name for name, program in programs(text).items() if found(program) is None):
            print(f"{page.relative_to(ROOT)} stays as it is: install {', '.join(missing)}")
            continue
        tabled = TABLES.get(page, str)(text)
        with tempfile.TemporaryDirectory() as folder:
            new = refreshed(tabled, Path(folder))
            for shown, made in pictures(page, Path(folder)):
                if not shown.exists() or shown.read_bytes() != made.read_bytes():
                    shown.write_bytes(made.read_bytes())
                    print(shown.relative_to(ROOT))
        if new != text:
            page.write_text(new, encoding="utf-8")
            print(page.relative_to(ROOT))


if __name__ == "__main__":
    main(sys.argv[1:])
