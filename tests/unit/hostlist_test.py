"""Hostlists: Slurm's brackets, in both directions."""

from __future__ import annotations

import time
import tracemalloc
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bayplan.topologies.hostlist import MOST, compress, expand
from judges import UPSTREAM


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ()),
        (" , \n", ()),
        ("n1", ("n1",)),
        ("n1,n2 n3\nn4\tn5", ("n1", "n2", "n3", "n4", "n5")),
        ("n[1-3]", ("n1", "n2", "n3")),
        ("n[01-03]", ("n01", "n02", "n03")),
        ("n[08-11]", ("n08", "n09", "n10", "n11")),
        ("n[8-11]", ("n8", "n9", "n10", "n11")),
        ("n[098-101]", ("n098", "n099", "n100", "n101")),
        ("n[1,3,5-6]x", ("n1x", "n3x", "n5x", "n6x")),
        ("n[1-2]r[01-02]", ("n1r01", "n1r02", "n2r01", "n2r02")),
        ("[1-2]", ("1", "2")),
        ("n[7]", ("n7",)),
        ("b,a[2-3],a1", ("b", "a2", "a3", "a1")),
        ("n[0-1]", ("n0", "n1")),
        ("n[00-01]", ("n00", "n01")),
        ("g3-129-[057,059,063]", ("g3-129-057", "g3-129-059", "g3-129-063")),
        ("a[1-2],b[1-2]", ("a1", "a2", "b1", "b2")),
    ],
)
def test_expanding(text: str, names: tuple[str, ...]) -> None:
    assert expand(text) == names


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("n[1-3", "unbalanced"),
        ("n1-3]", "unbalanced"),
        ("n]1[", "unbalanced"),
        ("n[1[2]]", "unbalanced"),
        ("n[[1-2]]", "unbalanced"),
        ("n[3-1]", "backwards"),
        ("n[]", "not a number"),
        ("n[a-b]", "not a number"),
        ("n[1-]", "not a number"),
        ("n[-1]", "not a number"),
        ("n[1-2-3]", "not a number"),
        ("n[1,,2]", "not a number"),
        ("n[+1]", "not a number"),
        ("n[١]", "not a number"),
        ("n[001-02]", "padded differently"),
        ("n[1-03]", "padded differently"),
        ("n[10-9]", "backwards"),
        ("n[1-999999999]", "more than 200000"),
        ("n[1-9999999999]", "too large"),
        ("n[9999999999999999999999]", "too large"),
        (f"n[1-{MOST + 1}]", "more than 200000"),
        ("n[1-1000]r[1-1000]", "more than 200000"),
        (f"n[1-{MOST}],m", "more than 200000"),
        (f"n[1-{MOST}],m[1-2]", "more than 200000"),
        ("n[" * 1000, "unbalanced"),
    ],
)
def test_refusing(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        expand(text)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["n1"], "n1"),
        (["n1", "n2", "n3"], "n[1-3]"),
        (["n01", "n02", "n10"], "n[01-02,10]"),
        (["n08", "n09", "n10"], "n[08-10]"),
        (["n98", "n99", "n100"], "n[98-100]"),
        (["n2", "n1"], "n[2,1]"),
        (["a1x", "a2x", "b"], "a[1-2]x,b"),
        (["n1", "n01"], "n[1,01]"),
        (["login", "login"], "login,login"),
        (["ip-10-1.us-east-2", "ip-10-2.us-east-2", "ip-10-3.us-east-2"], "ip-10-[1-3].us-east-2"),
        (["r1.n1", "r1.n2", "r1.n3"], "r1.n[1-3]"),
        (["login.a", "login.b1"], "login.a,login.b1"),
    ],
)
def test_compressing(names: list[str], text: str) -> None:
    assert compress(names) == text


NAMES = st.lists(st.from_regex(r"\A[a-z0-9]([a-z0-9.-]{0,12}[a-z0-9])?\Z"), max_size=30)
RUNS = st.builds(
    lambda stem, first, count, width: [f"{stem}{n:0{width}d}" for n in range(first, first + count)],
    st.sampled_from(["n", "rack-", "n1-"]),
    st.integers(0, 10**9 - 50),
    st.integers(1, 30),
    st.integers(1, 12),
)


@example([["0a", "a"]])
@example([["a0", "a"]])
@given(st.lists(st.one_of(NAMES, RUNS), max_size=5))
def test_compressed_names_expand_to_themselves(parts: list[list[str]]) -> None:
    names = [name for part in parts for name in part]
    assert expand(compress(names)) == tuple(names)


@given(st.text("n01-9,[] ", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        names = expand(text)
    except ValueError:
        return
    assert expand(compress(names)) == names


def test_a_hundred_thousand_nodes_are_quick_and_small() -> None:
    rows = [f"gb-r{rack:04d}-n[01-18]" for rack in range(5600)]
    tracemalloc.start()
    started = time.process_time()
    assert sum(len(expand(row)) for row in rows) == 100_800
    assert time.process_time() - started < 3
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()


def test_a_long_list_takes_linear_time() -> None:
    started = time.process_time()
    assert len(expand("n[" + ",".join(map(str, range(100_000))) + "]")) == 100_000
    assert len(expand(",".join(f"n{n}" for n in range(100_000)))) == 100_000
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    "text", ["n" + "[1]" * 20_000, "n[1]" * 15_000, "n[" * 30_000, "n[" + "1," * 30_000 + "1]", "n[1-2]" * 10_000]
)
def test_sixty_thousand_brackets_take_no_time(text: str) -> None:
    begin = time.perf_counter()
    with suppress(ValueError):
        expand(text)
    assert time.perf_counter() - begin < 2


VECTORS = UPSTREAM / "examples" / "slurm" / "own" / "hostlists.tsv"


@pytest.mark.skipif(not VECTORS.exists(), reason="no upstream examples here")
def test_vectors() -> None:
    for line in VECTORS.read_text(encoding="utf-8").splitlines():
        text, count, first, last, *_ = line.split("\t")
        if count == "ERROR":
            with pytest.raises(ValueError, match=r"brackets|backwards|number"):
                expand(text)
        elif not text.startswith("#"):
            names = expand(text)
            assert (str(len(names)), names[0], names[-1]) == (count, first, last)
