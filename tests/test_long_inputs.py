"""Long inputs take seconds, not hours: what repeats in a script or a file has a limit, or costs the same each time."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tools.effort import sample
from tools.run import EXAMPLES, bayplan

HEAD = """\
#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4 --container-image=example/train:1 --time=1:00:00
"""
LONG = "a" * 4900
SCRIPTS = {
    "a range in a loop": "for i in {1..99999}; do X=$i; done\n" * 1000,
    "a range of words": "X=$(echo {1..9999})\n" * 3000,
    "numbers": "X=$(seq 1 999999)\n" * 200,
    "a list": f"A=({'a ' * 40_000})\n",
    "a longest suffix": f"X={LONG}\n" + "Y=${X%%a*b}\n" * 1500,
    "a replacement": f"X={LONG}\n" + "Y=${X//a*b/c}\n" * 1500,
    "functions": "".join(f"f{n}() {{ :; }}\n" for n in range(2000)) + "if other; then f1; fi\n" * 1000,
    "names to read": f"read {' '.join(f'A{n}' for n in range(9000))} <<< '{'x ' * 30_000}'\n",
}


def finish(*arguments: str, cwd: Path) -> None:
    """Runs bayplan for at most twenty seconds of processor time, of which the longest input needs two."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    kept = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, 20)
    try:
        assert bayplan(*arguments, cwd=cwd).returncode in (0, 1)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, kept)


@pytest.mark.parametrize("name", sample(list(SCRIPTS), 1))
def test_long_scripts(tmp_path: Path, name: str) -> None:
    (tmp_path / "train.sbatch").write_text(f"{HEAD}{SCRIPTS[name]}srun train\n", encoding="utf-8")
    finish("import", "train.sbatch", "-t", str(EXAMPLES / "sbatch-server" / "topology.yaml"), cwd=tmp_path)


@pytest.mark.parametrize("listed", ["NodeName={0}[1-40000] Gres=gpu:h100:8\n", "SwitchName=s{0} Nodes={0}[1-40000]\n"])
def test_many_long_hostlists(tmp_path: Path, listed: str) -> None:
    """Each line names 40,000 nodes: 60 KB would be 70 million names."""
    (tmp_path / "slurm.conf").write_text("".join(listed.format(f"n{n}-") for n in range(1700)), encoding="utf-8")
    finish("topology", "import", "slurm.conf", cwd=tmp_path)


def test_many_long_hostlists_of_a_topology(tmp_path: Path) -> None:
    text = (EXAMPLES / "pretrain" / "topology.yaml").read_text(encoding="utf-8")
    rows = "".join(f'    - {{path: s{n}/r{n}, nodes: "n{n}-[1-200000]"}}\n' for n in range(500))
    head, domains, _ = text.partition("    domains:\n")
    (tmp_path / "topology.yaml").write_text(f"{head}{domains}{rows}", encoding="utf-8")
    finish("topology", "check", "topology.yaml", cwd=tmp_path)
