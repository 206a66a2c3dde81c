"""Whether bayplan reads OSMO workflows as OSMO does: `python -m tools.osmo_corpus CHECKOUT --python PYTHON`.

CHECKOUT is a checkout of OSMO 6.4, and PYTHON has its requirements. The tool changes each workflow file of the checkout
at random (`osmo_mutations`). OSMO's own client and service (`osmo_judge`) and bayplan read the changed files, with the
same pool. The tool prints what became of them. A difference that docs/reference/osmo.md does not list is a fault.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import yaml

from bayplan.core.diagnostics import Outcome
from bayplan.kube import quantity
from bayplan.model.formats import Source
from bayplan.plugins.osmo import sandbox, tokens, translate
from bayplan.plugins.osmo import text as text_stage
from bayplan.plugins.osmo.gangs import Gang, Node
from bayplan.plugins.osmo.source import label, with_exit_codes
from bayplan.plugins.osmo.units import k8s_name
from tools.osmo_judge import HOST, WORKFLOW_ID
from tools.osmo_mutations import mutant
from tools.run import EXAMPLES, bayplan

VARIABLES = {"storage_url": "s3://bucket/data", "num_gpu": "2", "platform": "dgx-h100"}
"""What OSMO's files leave to `--set`."""

KEYS = ("zone", "spine", "rack", "gpu-clique")
LABELS = [f"{key}.example.com" for key in KEYS]
TIMEOUTS = {
    "default_exec_timeout": "10d",
    "default_queue_timeout": "10d",
    "max_exec_timeout": "60d",
    "max_queue_timeout": "60d",
}
MOUNTS = ("/mnt", "/dev/shm")
SECONDS = 10
"""bayplan must be faster than this."""

FINDING = re.compile(r"^[^\n]*?: (error|warning)\[(\w+)\]: (.*)$", re.MULTILINE)


class Kind(NamedTuple):
    """A kind of difference that docs/reference/osmo.md or the page of its code lists."""

    title: str
    code: str  # of bayplan's finding
    message: str = ""  # a regular expression


LISTED = (
    Kind("a negative count or timeout", "S206", r"found the number -|\"-"),
    Kind("a negative count or timeout", "W413", r"(the number |\")-[^ ]*\"? is not a duration"),
    Kind(
        "a count above 1,000,000, or more than 1,024 GPUs in a task", "S206", "expected .* or less|at most seven digits"
    ),
    Kind("a boolean as a count or a timeout", "S202", "found (true|false), expected (an integer|a string|a number)"),
    Kind("an amount that Kubernetes cannot represent", "W413", "is not (an amount of|a cache size)"),
    Kind("an exit code of more than nine digits", "W413", "is not a list of exit codes"),
    Kind("an image reference that the kubelet refuses", "W413", "is not a reference to an image"),
    Kind("an image reference that the kubelet refuses", "S206", "is not an image reference"),
    Kind(
        "a name of an environment variable that is empty, begins with a digit or has special characters",
        "S206",
        "variable",
    ),
    Kind("a credential or its key that cannot be a Secret", "W453"),
    Kind("a path of a file with special characters, or of a folder", "W423", "has a colon|is a folder"),
    Kind("a path of a file with special characters, or of a folder", "W340"),
    Kind("a file or mount inside the folder of a credential, or twice at the same path", "W423"),
    Kind("a topology key twice in a resource", "W418", "two entries"),
)
"""What OSMO accepts and bayplan refuses."""

TWICE = Kind("text that OSMO reads as Jinja when it renders the workflow the second time", "R138")
"""What bayplan accepts. OSMO refuses it, or its values differ."""

KINDS = (*LISTED, TWICE)
DROPPED = "a required level, which OSMO drops beside a preferred one"
PROMOTED = "tasks without topology, which OSMO places in the domain of the only other tasks of their group"
"""What the section on the topology lists."""


class Result(NamedTuple):
    """What became of a mutant: a class of results, and the details of a difference."""

    number: int
    source: str
    outcome: str
    detail: str = ""


class Ours(NamedTuple):
    """What bayplan made of a file: exit code, errors and warnings with their codes, and the gangs if it accepts it."""

    code: int
    errors: tuple[tuple[str, str], ...]
    warnings: tuple[tuple[str, str], ...]
    spec: Mapping[str, Any]
    gangs: tuple[Gang, ...]
    waits: Mapping[str, Mapping[str, Any]]
    total: int | None
    seconds: float
    report: str


def sources(checkout: Path) -> dict[str, str]:
    """The workflows of a checkout: its files, and the blocks of its documentation. bayplan's examples for OSMO too."""
    own = sorted(EXAMPLES.glob("*/osmo.yaml"))
    found = {f"examples/{path.parent.name}": path.read_text(encoding="utf-8") for path in own}
    for path in sorted(checkout.rglob("*")):
        if path.suffix not in (".yaml", ".yml", ".md", ".rst") or not path.is_file():
            continue
        text, name = path.read_text(encoding="utf-8"), str(path.relative_to(checkout))
        if path.suffix in (".yaml", ".yml"):
            found |= {name: text} if re.search(r"^workflow:", text, re.MULTILINE) else {}
        else:
            found |= {f"{name}#{number}": block for number, block in enumerate(_blocks(text))}
    return found


def _blocks(text: str) -> Iterator[str]:
    """The workflows in a page: lines from `workflow:` on that are indented by more, or empty."""
    for match in re.finditer(
        r"^( *)(?:workflow|default-values):\n(?:\1 +.*\n|\1[\w-]+:.*\n|\s*\n)+", text, re.MULTILINE
    ):
        block = textwrap.dedent(match[0])
        if re.search(r"^workflow:", block, re.MULTILINE):
            yield block


def pool(texts: Sequence[str]) -> dict[str, Any]:
    """A pool with all platforms that the files name."""
    names = {name for text in texts for name in re.findall(r"platform: *([\w-]+) *$", text, re.MULTILINE)}
    names |= {"cpu", *(value for key, value in VARIABLES.items() if key == "platform")}
    platform = {"privileged_allowed": True, "host_network_allowed": True, "allowed_mounts": list(MOUNTS)}
    return {
        "name": "pool",
        "backend": "backend",
        "default_platform": "cpu",
        **TIMEOUTS,
        "platforms": dict.fromkeys(sorted(names), platform),
        "topology_keys": [{"key": key, "label": name} for key, name in zip(KEYS, LABELS, strict=True)],
    }


def read(name: str, assignments: Sequence[str], folder: Path) -> Ours:
    """bayplan's reading of a file."""
    kept: list[Any] = []
    make = translate._document

    def keep(*args: Any) -> Any:
        kept.append(args)
        return make(*args)

    words = [word for each in assignments for word in ("--set", each)]
    begin = time.monotonic()
    with mock.patch.object(translate, "_document", keep):
        done = bayplan("import", name, "--osmo-pool", "pool.yaml", "--from", "osmo", *words, cwd=folder)
    seconds = time.monotonic() - begin
    found = [(word, code, message) for word, code, message in FINDING.findall(done.stderr)]
    errors, warnings = (tuple(each[1:] for each in found if each[0] == word) for word in ("error", "warning"))
    spec, _, gangs, waits, total, *_ = kept[-1] if kept else ({}, "", (), {}, None)
    return Ours(done.returncode, errors, warnings, spec, gangs, waits, total, seconds, done.stderr)  # type: ignore[arg-type]


def judge(number: int, source: str, theirs: Mapping[str, Any], ours: Ours) -> Result:
    """The result for one file."""

    def result(outcome: str, detail: str = "") -> Result:
        return Result(number, source, outcome, detail)

    said = "; ".join(f"{code} {message}" for code, message in ours.errors)
    if ours.code not in (0, 1) or (ours.code and not ours.errors) or "A920" in said:
        return result("FAULT: crash", f"exit {ours.code}: {ours.report[-600:]}")
    if ours.seconds > SECONDS:
        return result("FAULT: slow", f"{ours.seconds:.0f} s")
    twice = any(_is(TWICE, each) for each in ours.warnings)
    if "refused" in theirs and not ours.code:
        return result(f"OSMO refuses: {TWICE.title}" if twice else "FAULT: accepted", theirs["refused"])
    if "breaks" in theirs and not ours.code:
        return result("FAULT: accepted what breaks", theirs["breaks"])
    if "refused" in theirs:
        return result("refused by both", said)
    if "breaks" in theirs:
        return result("OSMO accepts and cannot start: refused", theirs["breaks"])
    if ours.code:
        kinds = [next((kind.title for kind in LISTED if _is(kind, each)), "") for each in ours.errors]
        return result(f"bayplan refuses: {kinds[0]}" if all(kinds) else "FAULT: refused", said)
    differences = list(compared(theirs, ours))
    if not differences:
        return result("equal")
    kind = TWICE.title if twice else _topology_kind(differences)
    return result(f"other values: {kind}" if kind else "FAULT: values", "; ".join(differences))


def _topology_kind(differences: Sequence[str]) -> str:
    """The kind of difference in the domains, if there is no other difference."""
    kinds = (kind for kind in (DROPPED, PROMOTED) if all(each.startswith((DROPPED, PROMOTED)) for each in differences))
    return next((kind for kind in kinds if any(each.startswith(kind) for each in differences)), "")


def _is(kind: Kind, finding: tuple[str, str]) -> bool:
    return kind.code == finding[0] and bool(re.search(kind.message, finding[1]))


# The values of both.


def compared(theirs: Mapping[str, Any], ours: Ours) -> Iterator[str]:
    """The values that differ."""
    text = json.dumps(theirs).replace(json.dumps(WORKFLOW_ID)[1:-1], label(ours.spec["name"]))
    theirs = json.loads(text)
    yield from _pairs("labels", theirs["labels"], dict(ours.spec.get("labels") or {}))
    names = [each["name"] for each in theirs["groups"]]
    own = {gang.group.name + ("" if gang.group.data else "-group"): gang for gang in ours.gangs}
    yield from _pairs("groups", names, list(own))
    if names != list(own):
        return
    owner = {task["name"]: group["name"] for group in theirs["groups"] for task in group["tasks"]}
    gangs = {gang.node.name: name for name, gang in own.items()}
    for group in theirs["groups"]:
        gang = own[group["name"]]
        waits = {owner[each] for task in group["tasks"] for each in task["inputs"] if each and ":" not in each}
        yield from _pairs("waits", sorted(waits), sorted(gangs[each] for each in ours.waits[gang.node.name]))
        pods = dict(_tasks(gang.node))
        yield from _pairs("tasks", sorted(task["name"] for task in group["tasks"]), sorted(pods))
        if len(group["tasks"]) > 1:
            leads = [task["name"] for task in group["tasks"] if task["lead"]]
            yield from _pairs("lead", leads, [gang.group.lead.name if gang.group.lead else None])
        hosts = translate.hosts(gang)
        limit = min(-int(-theirs["exec"] // 1), 2**31 - 1)
        total = min(limit + -int(-theirs["queue"] // 1), 2**31 - 1)
        yield from _pairs("total timeout", total, ours.total)
        for task in group["tasks"]:
            if task["name"] in pods:
                wanted = {**_wanted(task), "timeout": limit}
                got = _got(json.loads(_with_hosts(json.dumps(pods[task["name"]]), hosts)))
                for key, value in wanted.items():
                    yield from _pairs(f"{task['name']} {key}", value, got[key])
        domains = [
            (frozenset(each["tasks"]), LABELS.index(each["label"]), each["required"]) for each in group["domains"]
        ]
        wanted_domains, got_domains = _finest(domains), _finest(_domains(gang.node))
        dropped = [[tasks, -1 if soft >= 0 else hard, soft] for tasks, hard, soft in got_domains]
        everyone = sorted(task["name"] for task in group["tasks"])
        promoted = [[everyone, *got_domains[0][1:]]] if len(got_domains) == 1 else []
        kind = DROPPED if wanted_domains == dropped else PROMOTED if wanted_domains == promoted else "domains"
        yield from _pairs(kind, wanted_domains, got_domains)


def _pairs(name: str, wanted: Any, got: Any) -> Iterator[str]:
    if json.dumps(wanted, sort_keys=True, default=str) != json.dumps(got, sort_keys=True, default=str):
        yield f"{name}: OSMO {str(wanted)[:200]!r}, bayplan {str(got)[:200]!r}"


def _with_hosts(text: str, hosts: Mapping[str, str]) -> str:
    for spelled in hosts:
        (token,) = tokens.find(spelled)
        text = text.replace(json.dumps(spelled)[1:-1], json.dumps(HOST.format(token.name))[1:-1])
    return text


def _tasks(node: Node) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each task with the data of its podSet."""
    for pods in node.pods:
        yield from ((task.name, pods.piece.data) for task in pods.tasks)
    for each in node.nodes:
        yield from _tasks(each)


def _wanted(task: Mapping[str, Any]) -> dict[str, Any]:
    """A task of OSMO, in the form of `_got`."""
    folders: dict[str, list[str]] = {}
    for name, path in task["folders"].items():
        folders.setdefault(path.rstrip("/"), []).append(k8s_name(name))
    mounts = [each.partition(":") for each in task["mounts"]]
    return {
        "image": task["image"],
        "command": with_exit_codes(task["command"], [(action, codes) for action, codes in task["exitActions"]]),
        "args": task["args"],
        "env": {
            name: [k8s_name(each[0]), each[1]] if isinstance(each, list) else each for name, each in task["env"].items()
        },
        "files": {path if path[:1] == "/" else f"/{path}": each for path, each in task["files"].items()},
        "folders": {path: sorted(names) for path, names in folders.items()},
        "mounts": [[source, target or source] for source, _, target in mounts],
        "privileged": task["privileged"],
        "hostNetwork": task["hostNetwork"],
        "cpu": task["cpu"] or 0,
        "gpu": task["gpu"] or 0,
        "memory": task["memory"] or 0,
        "storage": task["storage"] or 0,
        "platform": k8s_name(task["platform"]),
        "excluded": sorted(set(task["excluded"])),
    }


def _got(data: Mapping[str, Any]) -> dict[str, Any]:
    """A podSet of bayplan, in the values of OSMO."""
    spec = data.get("template", {}).get("spec", {})
    container = next(iter(spec.get("containers", ())), {})
    volumes = {each["name"]: each for each in spec.get("volumes", ())}
    places = {each["name"]: each["mountPath"] for each in container.get("volumeMounts", ())}
    secrets = {each["name"]: each["valueFrom"]["secretKeyRef"] for each in container.get("env", ())}
    amounts = data.get("resources", {})
    terms = (
        spec.get("affinity", {})
        .get("nodeAffinity", {})
        .get("requiredDuringSchedulingIgnoredDuringExecution", {"nodeSelectorTerms": ()})["nodeSelectorTerms"]
    )
    host = {name: each["hostPath"]["path"] for name, each in volumes.items() if "hostPath" in each}
    return {
        "image": data["image"],
        "command": data["command"],
        "args": data.get("args", []),
        "env": {**data.get("env", {}), **{name: [each["name"], each["key"]] for name, each in secrets.items()}},
        "files": {
            path: each if isinstance(each, str) else [each["base64"]] for path, each in data.get("files", {}).items()
        },
        "folders": {places[name]: _secrets(each) for name, each in volumes.items() if "credentials" in name},
        "mounts": [[path, places[name]] for name, path in host.items()],
        "privileged": container.get("securityContext", {}).get("privileged", False),
        "hostNetwork": spec.get("hostNetwork", False),
        "cpu": _number(amounts.get("cpu", "0")),
        "gpu": data.get("accelerator", {}).get("count", 0),
        "memory": _number(amounts.get("memory", "0")),
        "storage": _number(amounts.get("ephemeral-storage", "0")),
        "platform": data.get("pool", ""),
        "excluded": [each for term in terms for rule in term["matchExpressions"] for each in rule["values"]],
        "timeout": spec.get("activeDeadlineSeconds"),
    }


def _secrets(volume: Mapping[str, Any]) -> list[str]:
    if "secret" in volume:
        return [volume["secret"]["secretName"]]
    return sorted(each["secret"]["name"] for each in volume["projected"]["sources"])


def _number(amount: str) -> int:
    thousandths = quantity.parse(amount)
    return -(-thousandths // 1000) if thousandths is not None else -1


Domain = tuple[frozenset[str], int, bool]
"""The tasks, the place of the level from coarse to fine, and whether it is required."""


def _domains(node: Node) -> Iterator[Domain]:
    members = frozenset(name for name, _ in _tasks(node))
    for key, required in ((node.placement.required, True), (node.placement.preferred, False)):
        if key:
            yield members, KEYS.index(key), required
    for each in node.nodes:
        yield from _domains(each)


def _finest(domains: Iterator[Domain] | Sequence[Domain]) -> list[Any]:
    """Of equal tasks only the finest required level, and the finest preferred level if it is finer."""
    levels: dict[tuple[str, ...], dict[bool, int]] = {}
    for tasks, level, required in domains:
        kept = levels.setdefault(tuple(sorted(tasks)), {})
        kept[required] = max(level, kept.get(required, -1))
    return sorted(
        [list(tasks), kept.get(True, -1), each if (each := kept.get(False, -1)) > kept.get(True, -1) else -1]
        for tasks, kept in levels.items()
    )


# The corpus.


def mutants(texts: Mapping[str, str], count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Different changed files, each with the name of its source."""
    data = {name: rendered(text) for name, text in texts.items()}
    names, seen, number = list(texts), set(texts.values()), 0
    while count:
        name = names[number % len(names)]
        changed = mutant(texts[name], data[name], f"{seed}:{number}")
        number += 1
        if changed not in seen:
            seen.add(changed)
            count -= 1
            yield name, changed


def rendered(file: str) -> Any:
    """What the template of a file renders to, with its tokens. None: bayplan refuses it."""
    given = dict(each.split("=") for each in assignments(file))
    source = Source("", given, lambda _: Outcome(b"echo stub\n"), sandbox.run)
    found = text_stage.read("w.yaml", file.encode(), "workflow", source)
    return found.value[0].data if found.value else None


def assignments(text: str) -> list[str]:
    """The variables of a file that it does not give itself."""
    used = [name for name in VARIABLES if re.search(rf"{{{{ *{name}\b", text)]
    return [
        f"{name}={VARIABLES[name]}"
        for name in used
        if not re.search(rf"^ +{name}:.*\n", text, re.MULTILINE) or "default-values:" not in text
    ]


def run(checkout: Path, python: str, count: int, seed: int, folder: Path) -> Iterator[Result]:
    """The results of a corpus. With a count of 0, those of the files without changes."""
    texts = sources(checkout)
    _beside(texts.values(), folder)
    if count:
        judging = _start(checkout, python, list(texts.values()), folder)
        sound = [name for name, reply in zip(texts, _replies(*judging), strict=True) if "groups" in reply]
        wanted = list(mutants({name: texts[name] for name in sound}, count, seed))
    else:
        wanted = list(texts.items())
    judging = _start(checkout, python, [text for _, text in wanted], folder)
    ours = [_guarded(f"{number}.yaml", assignments(text), folder) for number, (_, text) in enumerate(wanted)]
    for number, ((name, _), reply, read_by_us) in enumerate(zip(wanted, _replies(*judging), ours, strict=True)):
        try:
            yield judge(number, name, reply, read_by_us)
        except Exception as problem:
            yield Result(number, name, "FAULT: comparison", repr(problem))


def _beside(texts: Iterable[str], folder: Path) -> None:
    """Writes the pool configuration for both, and a stub of each local file that the files name."""
    config = pool([*texts])
    (folder / "pool.json").write_text(json.dumps(config), encoding="utf-8")
    own = {key: value for key, value in config.items() if key != "name"}
    own["common_pod_template"] = ["default_user"]
    (folder / "pool.yaml").write_text(yaml.safe_dump({"pools": {"pool": own}}), encoding="utf-8")
    for path in {each for text in texts for each in re.findall(r"localpath: *(\S+)", text)}:
        into = (folder / path).resolve()
        if into.is_relative_to(folder):
            into.parent.mkdir(parents=True, exist_ok=True)
            into.write_text("echo stub\n", encoding="utf-8")


def _start(checkout: Path, python: str, texts: Sequence[str], folder: Path) -> tuple[subprocess.Popen[bytes], Path]:
    """OSMO's code, reading files that this writes, and the file of its replies."""
    lines = []
    for number, text in enumerate(texts):
        (folder / f"{number}.yaml").write_bytes(text.encode("utf-8", "surrogatepass"))
        lines.append(json.dumps([f"{number}.yaml", assignments(text)]))
    (folder / "lines").write_text("\n".join(lines) + "\n", encoding="utf-8")
    script = Path(__file__).with_name("osmo_judge.py")
    command = [python, str(script), str(checkout.resolve()), "pool.json"]
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    with (folder / "lines").open() as given, (folder / "replies").open("w") as replies:
        return subprocess.Popen(command, stdin=given, stdout=replies, cwd=folder, env=kept), folder / "replies"


def _replies(child: subprocess.Popen[bytes], file: Path) -> list[dict[str, Any]]:
    code = child.wait()
    assert code == 0, f"OSMO's code ended with exit code {code}"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _guarded(name: str, words: Sequence[str], folder: Path) -> Ours:
    """bayplan's reading, interrupted if it hangs."""

    def late(*_: Any) -> None:
        raise TimeoutError("bayplan hangs")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(4 * SECONDS)
    try:
        return read(name, words, folder)
    except Exception as problem:
        return Ours(99, (), (), {}, (), {}, None, 0.0, repr(problem))
    finally:
        signal.alarm(0)


def main() -> None:
    """Print the table, and each fault."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--python", default=sys.executable, help="a Python with OSMO's requirements")
    parser.add_argument("--count", type=int, default=1000, help="how many changed files; 0: the files themselves")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="a folder for the files")
    parser.add_argument("--list", action="store_true", help="print each file, not only the faults")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        folder = given.keep or Path(home)
        folder.mkdir(parents=True, exist_ok=True)
        results = list(run(given.checkout, given.python, given.count, given.seed, folder.resolve()))
    print("| files | |\n|---|---|")
    for outcome, number in Counter(each.outcome for each in results).most_common():
        print(f"| {outcome} | {number} |")
    for each in results:
        if given.list or each.outcome.startswith("FAULT"):
            print(f"{each.outcome} {each.number} {each.source}: {each.detail}")
    sys.exit(any(each.outcome.startswith("FAULT") for each in results))


if __name__ == "__main__":
    main()
