"""The options of a section or of a step -> the number of tasks and nodes, and the request of each task.

A task becomes a pod. Amounts for each node are divided evenly among the tasks of the node, or refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from bayplan.plugin import did_you_mean, shorten
from bayplan.plugins.slurm.sbatch.options import (
    ALIASES,
    FLAG,
    KEPT,
    LOST,
    MAYBE,
    NOTHING,
    REFUSED,
    VALUE,
    Findings,
    Option,
    Position,
)

# Times, sizes and counts in Slurm's notation (src/common/parse_time.c, src/common/slurm_opt.c). None: invalid.

_TIME = re.compile(r"(?:([0-9]{1,6})-)?([0-9]{1,9})(?::([0-9]{1,9}))?(?::([0-9]{1,9}))?")
UNITS = {"": 1, "K": 0, "M": 1, "G": 1024, "T": 1024**2, "P": 1024**3}
"""Unit -> mebibytes; `mebibytes` converts K."""

LARGEST = 10**7
"""The largest count."""


def seconds(text: str) -> int | None:
    """`90` is minutes; `1:30` minutes and seconds; `2-12` days and hours. 0: no limit."""
    if text.upper() in ("INFINITE", "UNLIMITED", "-1"):
        return 0
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    days, *parts = (None if each is None else int(each) for each in match.groups())
    one, two, three = parts[0] or 0, parts[1], parts[2]
    if days is not None:
        return ((days * 24 + one) * 60 + (two or 0)) * 60 + (three or 0)
    if two is None:
        return one * 60
    return one * 60 + two if three is None else (one * 60 + two) * 60 + three


def mebibytes(text: str) -> int | None:
    """`64G`, `512` (mebibytes), rounded up. In Slurm 0 means all memory of a node."""
    match = re.fullmatch(r"([0-9]{1,12})([KMGTP]?)B?", text.upper())
    if match is None:
        return None
    number = int(match[1])
    return -(-number // 1024) if match[2] == "K" else number * UNITS[match[2]]


def quantity(size: int) -> str:
    """Mebibytes as a Kubernetes quantity: `64Gi`, `1500Mi`; empty for 0."""
    return "" if not size else f"{size // 1024}Gi" if size % 1024 == 0 else f"{size}Mi"


def count(text: str, least: int = 1) -> int | None:
    """An integer; Slurm reads `2k` as 2048."""
    match = re.fullmatch(r"([0-9]{1,9})([kKmM]?)", text)
    if match is None:
        return None
    number = int(match[1]) * {"": 1, "k": 1024, "m": 1024**2}[match[2].lower()]
    return number if least <= number <= LARGEST else None


def span(text: str) -> tuple[int, int] | None:
    """`4` or `2-4`."""
    low, dash, high = text.partition("-")
    first, last = count(low), count(high if dash else low)
    return (first, last) if first and last and first <= last else None


class Cards(NamedTuple):
    """A number of GPUs, and their type if it is known."""

    number: int
    kind: str = ""


def cards(text: str) -> Cards | None:
    """`8`, `h100:8`, and `h100` for one GPU."""
    kind, colon, number = text.rpartition(":")
    if not colon and not text[:1].isdigit():
        kind, number = text, "1"
    many = count(number, 0)
    return Cards(many, kind) if many is not None and "," not in text and ":" not in kind else None


def gres(text: str) -> tuple[Cards | None, list[str]] | None:
    """The GPUs in a list of generic resources, and the other resources: `gpu:h100:8(S:0),nvme:2`."""
    gpus: Cards | None = None
    others: list[str] = []
    for part in re.sub(r"\([^()]*\)", "", text).split(","):
        name, _, rest = part.strip().removeprefix("gres/").replace("=", ":").partition(":")
        if name == "gpu":
            gpus = cards(rest or "1")
            if gpus is None:
                return None
        elif name and name != "none":
            others.append(name)
    return gpus, others


# Words of a directive or of an srun line -> options, as getopt reads them (`man sbatch`, `man srun`).


class UsedOption(NamedTuple):
    """An option with its value (empty if it has none), and its place."""

    option: Option
    value: str
    spot: Position


Options = Mapping[str, UsedOption]
"""By name. If a script sets an option twice, the last value counts, as in Slurm."""


def parse(
    words: Sequence[tuple[str, Position]], table: Mapping[str, Option], findings: Findings
) -> tuple[dict[str, UsedOption], int]:
    """The options at the beginning of some words, and the index of the first other word. W600."""
    letters, at = {each.short: each for each in table.values() if each.short}, 0
    options: dict[str, UsedOption] = {}
    while at < len(words):
        word, spot = words[at]
        if word == "--":
            return options, at + 1
        if not word.startswith("-") or word == "-":
            break
        at += 1
        following = words[at][0] if at < len(words) else None
        named = _long(word, table) if word.startswith("--") else _short(word, letters)
        for option, value in named:
            if option is None:
                name = value or ""
                long = [f"--{each}" for each in table]
                hint = did_you_mean(f"--{name.lstrip('-')}", long) or "remove it: Slurm 25.11 and pyxis do not have it"
                findings.error("W600", spot, f'unknown option "{shorten(name)}"', hint)
            elif option.takes == VALUE and value is None:
                if following is None:
                    findings.error("W600", spot, f"--{option.name} needs a value", f"write --{option.name}=VALUE")
                else:
                    options[option.name] = UsedOption(option, following, spot)
                    at += 1
            elif option.takes == FLAG and value:
                findings.error(
                    "W600", spot, f"--{option.name} takes no value", f"write --{option.name} without a value"
                )
            else:
                options[option.name] = UsedOption(option, value or "", spot)
    return options, at


def _long(word: str, table: Mapping[str, Option]) -> list[tuple[Option | None, str | None]]:
    """`--nodes=4`; a prefix of a name is valid if only one option begins with it."""
    name, equals, value = word[2:].partition("=")
    name = ALIASES.get(name, name)
    likely = [name] if name in table else [each for each in table if each.startswith(name) and name]
    if len(likely) != 1:
        return [(None, f"--{name}")]
    return [(table[likely[0]], value if equals else None)]


def _short(word: str, letters: Mapping[str, Option]) -> list[tuple[Option | None, str | None]]:
    """`-N4`, `-N` and a value in the next word, or several flags in one word."""
    options: list[tuple[Option | None, str | None]] = []
    for number, letter in enumerate(word[1:], 1):
        option = letters.get(letter)
        if option is None:
            return [*options, (None, f"-{letter}")]
        if option.takes != FLAG:
            rest = word[number + 1 :].removeprefix("=")
            return [*options, (option, rest or ("" if option.takes == MAYBE else None))]
        options.append((option, ""))
    return options


def report_options(sections: Iterable[Options], findings: Findings, step: bool = False) -> None:
    """W603 to W613: options that bayplan refuses or drops, or that only Slurm applies. A `step` keeps none."""
    nothing: dict[str, UsedOption] = {}
    kept: dict[str, UsedOption] = {}
    for used in (each for options in sections for each in options.values()):
        option = used.option
        if option.does == REFUSED:
            findings.error("W603", used.spot, f"bayplan cannot translate --{option.name}: {option.why}", option.hint)
        elif option.does == KEPT and option.why and step:
            findings.warning("W604", used.spot, f"bayplan drops --{option.name} of a step: {option.why}", option.hint)
        elif option.does == KEPT and option.why:
            message = f"other schedulers ignore --{option.name}: {option.why}"
            findings.warning("W604", used.spot, message, option.hint)
        elif option.does == LOST:
            findings.warning("W604", used.spot, f"bayplan drops --{option.name}: {option.why}", option.hint)
        elif option.does == NOTHING or (option.does == KEPT and step):
            nothing.setdefault(option.name, used)
        elif option.does == KEPT:
            kept.setdefault(option.name, used)
    _report_names(
        nothing,
        "bayplan drops options without an effect outside Slurm",
        "remove them, or keep them for Slurm",
        findings,
    )
    hint = "no action needed: they are in `backends: {slurm: ...}` of the gang"
    _report_names(kept, "only Slurm applies some options", hint, findings)


def _report_names(options: Mapping[str, UsedOption], what: str, hint: str, findings: Findings) -> None:
    if options:
        first = next(iter(options.values()))
        names = ", ".join(f"--{name}" for name in options)
        findings.info("W613", first.spot, f"{what}: {names}", hint)


class Shape(NamedTuple):
    """Identical tasks. Amounts are for each task; `least`: the number of nodes that the job needs to start."""

    nodes: int = 1
    least: int = 1
    tasks: int = 1
    gpus: int = 0
    kind: str = ""  # the GPUs' type in gres.conf
    by_gres: bool = False
    cpus: int = 0
    memory: str = ""
    scratch: str = ""
    exclusive: bool = False
    all_memory: bool = False

    @property
    def per_node(self) -> int:
        """Tasks on a node."""
        return max(1, self.tasks // self.nodes)


def per_node(shape: Shape) -> Shape:
    """The shape with one task on each node, which gets the amounts of all of its node's tasks."""
    many = shape.per_node
    memory, scratch = (quantity((mebibytes(each.rstrip("i")) or 0) * many) for each in (shape.memory, shape.scratch))
    whole = shape._replace(tasks=shape.nodes, memory=memory, scratch=scratch)
    return whole._replace(gpus=shape.gpus * many, cpus=shape.cpus * many)


def shape(options: Options, where: Position, findings: Findings) -> Shape:
    """The tasks that the options request. W600, W608."""
    reader = _ShapeReader(options, where, findings)
    nodes, least, tasks = reader.counts()
    gpus = reader.cards(nodes, tasks)
    per_node = max(1, tasks // nodes)
    cpus = reader.cpus(gpus.number)
    return Shape(
        *(nodes, least, tasks, gpus.number, gpus.kind),
        by_gres="gres" in options and gpus.number > 0,
        cpus=cpus,
        memory=reader.memory(per_node, cpus, gpus.number),
        scratch=reader.share("tmp", per_node),
        exclusive=reader.exclusive(),
        all_memory="mem" in options and mebibytes(options["mem"].value) == 0,
    )


class _ShapeReader:
    """Reads amounts from options, and reports invalid ones."""

    def __init__(self, options: Options, where: Position, findings: Findings) -> None:
        self.options, self.where, self.findings = options, where, findings

    def number(self, name: str, least: int = 1) -> int | None:
        """A count; None if it is not set."""
        if name not in self.options:
            return None
        result = count(self.options[name].value, least)
        if result is None:
            self.wrong(name, "an integer")
        return result

    def wrong(self, name: str, what: str) -> None:
        """W600."""
        option = self.options[name]
        message = f'--{name}: "{shorten(option.value)}" is not {what}'
        self.findings.error("W600", option.spot, message, "correct the value: Slurm refuses it as well")

    def clash(self, name: str, message: str, hint: str, code: str = "W600") -> None:
        """W600 or W608: options that contradict each other, or do not divide evenly."""
        self.findings.error(code, self.options[name].spot if name in self.options else self.where, message, hint)

    def counts(self) -> tuple[int, int, int]:
        """Nodes, minimum nodes, tasks."""
        low, high = 1, 0
        if "nodes" in self.options:
            limits = span(self.options["nodes"].value)
            if limits is None:
                self.wrong("nodes", "a number of nodes, or a range such as 2-4")
            low, high = limits or (1, 1)
        tasks, each = self.number("ntasks"), self.number("ntasks-per-node")
        per_gpu = self.number("ntasks-per-gpu")
        if tasks is None and per_gpu is not None:
            tasks = self.per_gpu(per_gpu, high or 1)
        if not high:
            high = low = -(-tasks // each) if tasks and each else 1 if not tasks or each is None else tasks
        if tasks is None:
            return high, low, high * (each or 1)
        if "nodes" not in self.options and each is None:
            return tasks, tasks, tasks  # Slurm distributes them freely: each pod finds its own node
        if tasks < high:
            return tasks, min(low, tasks), tasks  # Slurm gives a step at most as many nodes as tasks
        if tasks % high or (each and tasks // high > each):
            message = (
                f"{tasks} tasks do not divide evenly among {high} nodes"
                if tasks % high
                else (f"{tasks} tasks on {high} nodes exceed --ntasks-per-node={each}")
            )
            self.clash(
                "ntasks", message, "set --nodes and --ntasks-per-node to match", "W608" if tasks % high else "W600"
            )
            tasks = high
        return high, low, tasks

    def per_gpu(self, each: int, nodes: int) -> int:
        """The number of tasks if `each` tasks share a GPU."""
        if each > 1:
            self.clash("ntasks-per-gpu", f"{each} tasks share a GPU, but pods use whole GPUs", "set it to 1", "W608")
        total = self.total("gpus") or nodes * (self.total("gpus-per-node") or 1)
        return max(1, total)

    def total(self, name: str) -> int:
        """GPUs of one of the options, without a diagnostic."""
        gpus = cards(self.options[name].value) if name in self.options else None
        return gpus.number if gpus else 0

    def cards(self, nodes: int, tasks: int) -> Cards:
        """The GPUs of each task. Two options that set it must agree."""
        declared: dict[str, Cards] = {}
        for name, share in (("gpus", tasks), ("gpus-per-node", max(1, tasks // nodes)), ("gpus-per-task", 1)):
            if name in self.options:
                parsed = cards(self.options[name].value)
                if parsed is None:
                    self.wrong(name, "a number of GPUs such as 8 or h100:8")
                else:
                    declared[name] = self.per_task(name, parsed, share)
        for name, share in (("gres", max(1, tasks // nodes)), ("tres-per-task", 1)):
            if name in self.options and (listed := self.listed(name)):
                declared[name] = self.per_task(name, listed, share)
        different = {each.number for each in declared.values()}
        if len(different) > 1:
            names = " and ".join(f"--{name}" for name in declared)
            self.clash(list(declared)[-1], f"{names} request different numbers of GPUs", "keep one of them")
        kinds = [each.kind for each in declared.values() if each.kind]
        return Cards(next(iter(declared.values())).number if declared else 0, kinds[0] if kinds else "")

    def listed(self, name: str) -> Cards | None:
        """The GPUs among generic resources. W604: the others."""
        value = self.options[name].value
        others = [part for part in value.split(",") if part.partition("=")[0] in ("cpu", "mem", "node", "billing")]
        kept = ",".join(part for part in value.split(",") if part not in others)
        parsed = gres(kept) if kept else (None, [])
        if parsed is None:
            self.wrong(name, "a list of resources such as gpu:h100:8")
            return None
        for each in parsed[1]:
            hint = "import the script, and request the extended resource of the cluster in `resources`"
            message = f'bayplan drops "{shorten(each)}" of --{name}: only Slurm counts it'
            self.findings.warning("W604", self.options[name].spot, message, hint)
        return parsed[0]

    def per_task(self, name: str, gpus: Cards, share: int) -> Cards:
        """The GPUs of each of `share` tasks."""
        if gpus.number % share:
            message = f"{gpus.number} GPUs do not divide evenly among {share} tasks"
            self.clash(name, message, "change the number of tasks: pods use whole GPUs", "W608")
        return Cards(gpus.number // share, gpus.kind)

    def cpus(self, gpus: int) -> int:
        """The CPUs of each task."""
        own, per_gpu = self.number("cpus-per-task", 0), self.number("cpus-per-gpu", 0)
        tres = self.options["tres-per-task"].value if "tres-per-task" in self.options else ""
        for part in tres.split(","):
            name, _, value = part.partition("=")
            own = count(value) if name == "cpu" and own is None else own
        return own if own is not None else (per_gpu or 0) * gpus

    def size(self, name: str) -> int:
        """Mebibytes; 0 if it is not set."""
        if name not in self.options:
            return 0
        result = mebibytes(self.options[name].value)
        if result is None:
            self.wrong(name, "a size such as 64G")
        return result or 0

    def memory(self, per_node: int, cpus: int, gpus: int) -> str:
        """The memory of each task."""
        names = [name for name in ("mem", "mem-per-cpu", "mem-per-gpu") if name in self.options]
        if len(names) > 1:
            self.clash(names[1], f"--{names[0]} and --{names[1]} contradict each other", "keep one of them")
        if "mem-per-cpu" in names:
            return quantity(self.size("mem-per-cpu") * max(1, cpus))
        if "mem-per-gpu" in names:
            return quantity(self.size("mem-per-gpu") * gpus)
        return self.share("mem", per_node)

    def share(self, name: str, per_node: int) -> str:
        """The part of a node's amount for each task."""
        return quantity(self.size(name) // per_node)

    def exclusive(self) -> bool:
        """Whether the job gets whole nodes. W604: exclusive in another sense."""
        if "exclusive" not in self.options:
            return False
        option = self.options["exclusive"]
        if option.value in ("user", "mcs", "topo"):
            message = (
                f"bayplan drops --exclusive={option.value}: a pod shares its node with any other pods, or with none"
            )
            self.findings.warning("W604", option.spot, message, "write --exclusive for whole nodes")
            return False
        if option.value:
            self.wrong("exclusive", "user, mcs or topo")
        return True
