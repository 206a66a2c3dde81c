"""Jobs and nodes that Slurm prints: `squeue --json`, and `scontrol -d show node` with or without `--json`.

Slurm 23.02 to 25.11 (src/plugins/data_parser, src/common/node_info.c).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.plugin import (
    HINT,
    ONE,
    WHOLE,
    Diagnostic,
    Ledger,
    Pool,
    Route,
    SourceFile,
    accelerator,
    error,
    get,
    hostlist,
    items,
    mapping,
    number_in,
    quantity,
    text,
)
from bayplan.plugins.slurm.topology import node_lines

HOLDING = frozenset(
    (
        *("RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STAGE_OUT"),
        *("RESIZING", "SIGNALING", "STOPPED", "POWER_UP_NODE"),
    )
)
"""States of jobs that have nodes (slurm.h, `job_states`)."""

MIB = 2**20 * ONE


def claims(head: str) -> bool:
    """Whether a file that begins so is the output of scontrol."""
    return re.match(r"\s*NodeName=\S+ ", head) is not None


def add(ledger: Ledger, place: Route, data: Any) -> bool:
    """Adds a job or a node of Slurm's JSON. False if it is another object."""
    if "job_id" in mapping(data):
        _add_job(ledger, place, data)
    elif "alloc_cpus" in mapping(data):
        _add_node(ledger, place, data)
    else:
        return not mapping(data).keys().isdisjoint(("jobs", "nodes", "meta"))  # the object around jobs or nodes
    return True


def _add_job(ledger: Ledger, place: Route, job: Any) -> None:
    """What a job takes of each of its nodes."""
    states = get(job, "job_state")
    if HOLDING.isdisjoint(states if isinstance(states, list) else [states]):
        return
    number, user = number_in(job, "job_id"), text(job, "user_name")
    if not ledger.first(f"job {text(job, 'cluster')} {number}"):
        return
    name = f"job {number} ({user})" if user else f"job {number}"
    names = hostlist.expand(text(job, "nodes"))
    share = _share(text(job, "tres_alloc_str"), max(1, len(names)))
    allocated = {text(each, "name") or text(each, "nodename"): each for each in _allocation(job)}
    gres = items(job, "gres_detail")
    for index, slurm_name in enumerate(names):
        node = ledger.slurm_names.get(slurm_name, slurm_name)
        pool = ledger.pool(node, place, "job")
        if pool is None:
            continue
        own = allocated.get(slurm_name)
        cpus = number_in(own, "cpus", "count") if own else None
        memory = number_in(own, "memory", "allocated") if own else None
        cards = _cards(str(gres[index])) if len(gres) == len(names) else share["gres/gpu"]
        ledger.take(
            node,
            name,
            1,
            _taken(
                pool,
                share["cpu"] if cpus is None else cpus * ONE,
                share["mem"] if memory is None else memory * MIB,
                cards,
            ),
        )


def _allocation(job: Any) -> Any:
    """The list of nodes with their amounts; only `nodes/allocation` (24.05) has CPUs for each."""
    nodes = get(job, "job_resources", "nodes")
    return items(nodes, "allocation") or items(job, "job_resources", "allocated_nodes")


def _share(tres: str, nodes: int) -> dict[str, int]:
    """What one of the nodes gives, if all give the same: thousandths, rounded up."""
    total = _tres(tres)
    return {name: -(-total.get(name, 0) // nodes) for name in ("cpu", "mem", "gres/gpu")}


def _tres(tres: str) -> dict[str, int]:
    """`cpu=4,mem=1500M,gres/gpu=2` -> thousandths; memory in bytes."""
    pairs = (each.partition("=") for each in tres.split(",") if "=" in each)
    return {name: _amount(amount) for name, _, amount in pairs}


def _amount(text: str) -> int:
    """Slurm's units are binary, but have the letters of decimal ones."""
    return quantity.parse(f"{text}i" if text[-1:] in "KMGTP" and text else text or "0")


COUNTED = re.compile(r"\(CNT:([0-9]{1,9})\)")


def _cards(gres: str) -> int:
    """`gpu:h100:4(IDX:0-3)`, `gpu:h100(CNT:4)` -> 4000 (src/stepmgr/gres_stepmgr.c)."""
    return node_lines.cards(COUNTED.sub(r":\1", gres), (), [])[1] * ONE


def _taken(pool: Pool, cpu: int, memory: int, cards: int) -> dict[str, int]:
    """Amounts of a node. A job with `--exclusive` starts only on nodes without others."""
    kind = pool.node.accelerator
    return {"cpu": cpu, "memory": memory, WHOLE: ONE, **({accelerator(kind): cards} if kind and cards else {})}


def _add_node(ledger: Ledger, place: Route, node: Any) -> None:
    """A node of `scontrol show node --json`."""
    states = get(node, "state")
    memory, cpus = number_in(node, "alloc_memory") or 0, number_in(node, "alloc_cpus") or 0
    cards = _cards(text(node, "gres_used")) or _tres(text(node, "tres_used")).get("gres/gpu", 0)
    state = "+".join(map(str, states)) if isinstance(states, list) else str(states)
    _total(ledger, place, text(node, "name"), state, (cpus * ONE, memory * MIB, cards))


def _total(ledger: Ledger, place: Route, name: str, state: str, used: tuple[int, int, int]) -> None:
    name = ledger.slurm_names.get(name, name)
    pool = ledger.pools.get(name)
    if pool is None:
        return
    if any(used):
        ledger.totals[name] = _taken(pool, *used)
    if node_lines.reason(state) and name not in ledger.unusable:
        ledger.out.setdefault(name, place)


def read_text(source: SourceFile, ledger: Ledger) -> Iterator[Diagnostic]:
    """The nodes of `scontrol show node`. R160: the output is truncated."""
    faults: list[Diagnostic] = []
    for record in node_lines.records(source.text, source.at(), faults):
        try:
            cpus, memory = _number(record.pairs, "cpualloc") * ONE, _number(record.pairs, "allocmem") * MIB
            if cpus and _cards(record.pairs.get("gres", "")) and not _tells_cards(record.pairs):
                message = f'the record of node "{record.pairs["nodename"][:80]}" does not say how many GPUs jobs have'
                yield error("R160", record.route, message, hint="use the output of `scontrol -d show node`")
                continue
            cards = _cards(record.pairs.get("gresused", ""))
            cards = cards or _tres(record.pairs.get("alloctres", "")).get("gres/gpu", 0)
            used = cpus, memory, cards
            _total(ledger, record.route, record.pairs["nodename"], record.pairs.get("state", ""), used)
        except ValueError as problem:
            name = record.pairs["nodename"][:80]
            yield error("R160", record.route, f'bayplan cannot read node "{name}": {problem}', hint=HINT)
    for each in faults:
        yield error("R160", each.route, f"the output is not complete: {each.message}", hint=each.hint)


def _tells_cards(pairs: Mapping[str, str]) -> bool:
    """Whether a record has the GPUs of jobs: with `-d`, or if Slurm accounts for them."""
    return "gresused" in pairs or "gres/gpu" in pairs.get("cfgtres", "")


def _number(pairs: Mapping[str, str], key: str) -> int:
    return quantity.whole(pairs.get(key, ""), 12)
