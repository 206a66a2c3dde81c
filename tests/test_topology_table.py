"""The table of topology sources: what its rows say is there, and everything else follows from them."""

from __future__ import annotations

from importlib import import_module

import pytest

from bayplan.cli import commands
from bayplan.model.formats import SourceFile
from bayplan.topologies import FROM, READ, SOURCES, WRITTEN
from bayplan.topologies.losses import losses_by_name, losses_by_word
from tools import source_tables


@pytest.mark.parametrize("name", READ)
def test_a_reader_recognises_files_and_not_an_empty_one(name: str) -> None:
    reader = import_module(f"{READ[name].package}.{READ[name].reader}")
    assert callable(reader.new)
    assert not reader.sniff(SourceFile("empty", ""))


@pytest.mark.parametrize("word", WRITTEN)
def test_a_writer_writes(word: str) -> None:
    assert callable(import_module(f"{WRITTEN[word].package}.{WRITTEN[word].writer}").write)


def test_losses_are_those_of_the_table_and_all_are_used() -> None:
    assert {name for each in SOURCES for name in each.losses.split()} == set(losses_by_name())
    assert all(len(set(losses)) == len(losses) for losses in losses_by_word().values())


def test_every_source_can_be_asked_for() -> None:
    (command,) = (each for each in commands.COMMANDS if each.name == "topology import")
    (option,) = (each for each in command.options if "--from" in each.names)
    assert option.choices == FROM
    assert len(set(FROM)) == len(FROM)


def test_the_documentation_lists_the_formats() -> None:
    """`python tests/tools/refresh_docs.py` writes them."""
    text = source_tables.PAGE.read_text(encoding="utf-8")
    assert source_tables.table() in text
    assert source_tables.renewed(text) == text
    assert [each.name for each in SOURCES if not each.doc] == []
