"""The options of a section or of a step -> how many tasks on how many nodes, and what each task asks for.

A task becomes a pod. What Slurm counts by node is dealt out to the tasks of the node, evenly or not at all.
"""

from __future__ import annotations

from bayplan.values import NamedTuple
from bayplan.words import shorten
from bayplan.workflows.sbatch.findings import Findings, Spot
from bayplan.workflows.sbatch.job.amounts import Cards, cards, count, gres, mebibytes, quantity, span
from bayplan.workflows.sbatch.job.given import Options


class Shape(NamedTuple):
    """Equal tasks. Amounts are of each; `least`: the nodes with which the job may start."""

    nodes: int = 1
    least: int = 1
    tasks: int = 1
    gpus: int = 0
    kind: str = ""  # the GPUs' type, as gres.conf calls it
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


def shape(options: Options, where: Spot, findings: Findings) -> Shape:
    """What the options ask for. W602, W607, W608."""
    asked = _Asked(options, where, findings)
    nodes, least, tasks = asked.counts()
    found = asked.cards(nodes, tasks)
    per_node = max(1, tasks // nodes)
    cpus = asked.cpus(found.number)
    return Shape(
        nodes,
        least,
        tasks,
        found.number,
        found.kind,
        "gres" in options and found.number > 0,
        cpus,
        asked.memory(per_node, cpus, found.number),
        asked.share("tmp", per_node),
        asked.exclusive(),
        "mem" in options and mebibytes(options["mem"].value) == 0,
    )


class _Asked:
    """Reads amounts out of options, and says what is wrong with them."""

    def __init__(self, options: Options, where: Spot, findings: Findings) -> None:
        self.options, self.where, self.findings = options, where, findings

    def number(self, name: str, least: int = 1) -> int | None:
        """A count; None where it is not given."""
        if name not in self.options:
            return None
        found = count(self.options[name].value, least)
        if found is None:
            self.wrong(name, "a whole number")
        return found

    def wrong(self, name: str, what: str, code: str = "W602") -> None:
        """W602."""
        given = self.options[name]
        message = f'--{name}: "{shorten(given.value)}" is not {what}'
        self.findings.error(code, given.spot, message, "Slurm would refuse it too" if code == "W602" else "")

    def clash(self, name: str, message: str, hint: str, code: str = "W607") -> None:
        """W607, W608."""
        self.findings.error(code, self.options[name].spot if name in self.options else self.where, message, hint)

    def counts(self) -> tuple[int, int, int]:
        """Nodes, the fewest nodes, tasks."""
        low, high = 1, 0
        if "nodes" in self.options:
            found = span(self.options["nodes"].value)
            if found is None:
                self.wrong("nodes", "a number of nodes, or a range such as 2-4")
            low, high = found or (1, 1)
        tasks, each = self.number("ntasks"), self.number("ntasks-per-node")
        by_card = self.number("ntasks-per-gpu")
        if tasks is None and by_card is not None:
            tasks = self.by_card(by_card, high or 1)
        if not high:
            high = low = -(-tasks // each) if tasks and each else 1 if not tasks or each is None else tasks
        if tasks is None:
            return high, low, high * (each or 1)
        if "nodes" not in self.options and each is None:
            return tasks, tasks, tasks  # Slurm packs them as it likes: each pod finds a node by itself
        if tasks < high:
            return tasks, min(low, tasks), tasks  # Slurm gives a step no more nodes than tasks
        if tasks % high or (each and tasks // high > each):
            message = (
                f"{tasks} tasks cannot be dealt evenly to {high} nodes"
                if tasks % high
                else (f"{tasks} tasks on {high} nodes are more than the {each} of each that --ntasks-per-node allows")
            )
            self.clash("ntasks", message, "write --nodes and --ntasks-per-node", "W608" if tasks % high else "W607")
            tasks = high
        return high, low, tasks

    def by_card(self, each: int, nodes: int) -> int:
        """Tasks, where so many share a GPU."""
        if each > 1:
            self.clash("ntasks-per-gpu", f"{each} tasks share a GPU, and a pod takes whole ones", "write 1", "W608")
        total = self.total("gpus") or nodes * (self.total("gpus-per-node") or 1)
        return max(1, total)

    def total(self, name: str) -> int:
        """GPUs by one of the options, without saying what is wrong."""
        found = cards(self.options[name].value) if name in self.options else None
        return found.number if found else 0

    def cards(self, nodes: int, tasks: int) -> Cards:
        """The GPUs of each task. Two options that say it must agree."""
        said: dict[str, Cards] = {}
        for name, share in (("gpus", tasks), ("gpus-per-node", max(1, tasks // nodes)), ("gpus-per-task", 1)):
            if name in self.options:
                found = cards(self.options[name].value)
                if found is None:
                    self.wrong(name, "a number of GPUs such as 8 or h100:8")
                else:
                    said[name] = self.dealt(name, found, share)
        for name, share in (("gres", max(1, tasks // nodes)), ("tres-per-task", 1)):
            if name in self.options and (listed := self.listed(name)):
                said[name] = self.dealt(name, listed, share)
        different = {each.number for each in said.values()}
        if len(different) > 1:
            names = " and ".join(f"--{name}" for name in said)
            self.clash(list(said)[-1], f"{names} say different numbers of GPUs", "keep one of them")
        kinds = [each.kind for each in said.values() if each.kind]
        return Cards(next(iter(said.values())).number if said else 0, kinds[0] if kinds else "")

    def listed(self, name: str) -> Cards | None:
        """The GPUs among generic resources. W604: the others."""
        value = self.options[name].value
        others = [part for part in value.split(",") if part.partition("=")[0] in ("cpu", "mem", "node", "billing")]
        kept = ",".join(part for part in value.split(",") if part not in others)
        found = gres(kept) if kept else (None, [])
        if found is None:
            self.wrong(name, "a list of resources such as gpu:h100:8")
            return None
        for each in found[1]:
            hint = "ask for the extended resource of the cluster in `resources`"
            message = f'--{name} asks for "{shorten(each)}", which only Slurm counts'
            self.findings.warning("W604", self.options[name].spot, message, hint)
        return found[0]

    def dealt(self, name: str, found: Cards, share: int) -> Cards:
        """The part of each of so many tasks."""
        if found.number % share:
            message = f"{found.number} GPUs cannot be dealt evenly to {share} tasks"
            self.clash(name, message, "a pod takes whole GPUs: change the number of tasks", "W608")
        return Cards(found.number // share, found.kind)

    def cpus(self, gpus: int) -> int:
        """The CPUs of each task."""
        own, by_card = self.number("cpus-per-task", 0), self.number("cpus-per-gpu", 0)
        tres = self.options["tres-per-task"].value if "tres-per-task" in self.options else ""
        for part in tres.split(","):
            name, _, value = part.partition("=")
            own = count(value) if name == "cpu" and own is None else own
        return own if own is not None else (by_card or 0) * gpus

    def size(self, name: str) -> int:
        """Mebibytes; 0 where it is not given."""
        if name not in self.options:
            return 0
        found = mebibytes(self.options[name].value)
        if found is None:
            self.wrong(name, "a size such as 64G")
        return found or 0

    def memory(self, per_node: int, cpus: int, gpus: int) -> str:
        """The memory of each task."""
        given = [name for name in ("mem", "mem-per-cpu", "mem-per-gpu") if name in self.options]
        if len(given) > 1:
            self.clash(given[1], f"--{given[0]} and --{given[1]} exclude each other", "keep one of them")
        if "mem-per-cpu" in given:
            return _text(self.size("mem-per-cpu") * max(1, cpus))
        if "mem-per-gpu" in given:
            return _text(self.size("mem-per-gpu") * gpus)
        return self.share("mem", per_node)

    def share(self, name: str, per_node: int) -> str:
        """A task's part of an amount of its node."""
        return _text(self.size(name) // per_node)

    def exclusive(self) -> bool:
        """Whether nodes are the job's alone. W604: alone in another sense."""
        if "exclusive" not in self.options:
            return False
        given = self.options["exclusive"]
        if given.value in ("user", "mcs", "topo"):
            message = f"--exclusive={given.value} is lost: a node is shared by anybody's pods, or by none"
            self.findings.warning("W604", given.spot, message, "`wholeNode: true` keeps others of its kind off")
            return False
        if given.value:
            self.wrong("exclusive", "user, mcs or topo")
        return True


def _text(size: int) -> str:
    return quantity(size) if size else ""
