"""Random bodies of batch scripts, from a grammar of what their authors write."""

from __future__ import annotations

import random

NAMES = ("A", "B", "C")
LISTS = ("L", "M")
WORDS = (
    "a",
    "b.c",
    "x/y.tar.gz",
    "7",
    "--opt=1",
    "abcabc",
    "'q r'",
    '"s  t"',
    '""',
    "e\\ f",
    "u,v",
    "{1,2}",
    "p{q,r}s",
)
FOLDERS = ("/usr", "/usr/lib", "/tmp", "/")
HOSTS = ("scontrol show hostnames", 'scontrol show hostnames "$SLURM_JOB_NODELIST"')


class Script:
    """Writes one script."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.functions = self.depth = 0

    def pick(self, *options: str) -> str:
        """One of the options."""
        return self.chance.choice(options)

    def number(self) -> str:
        return str(self.chance.randint(0, 12))

    def name(self) -> str:
        return self.pick(*NAMES)

    def variable(self) -> str:
        name, entry = self.name(), self.pick(*LISTS)
        if self.depth or self.chance.random() < 0.3:
            return f"${name}"
        self.depth += 1
        result = self.pick(
            f"${name}",
            f"${{{name}}}",
            f"${{{name}:-d}}",
            f"${{{name}:+set}}",
            f"${{{name}%.*}}",
            f"${{{name}##*/}}",
            f"${{{name}//b/_}}",
            f"${{{name}/c}}",
            f"${{{name}:1}}",
            f"${{{name}:0:2}}",
            f"${{#{name}}}",
            f"${{{name}^^}}",
            f"${{{entry}[0]}}",
            f"${{{entry}[@]}}",
            f"${{{entry}[*]}}",
            f"${{#{entry}[@]}}",
            f"${{{entry}[@]:1}}",
            f"$(({self.sum()}))",
            f"$(echo {self.word()})",
            "$SLURM_NNODES",
            f"${{{name}-}}",
            f"${{{entry}[@]/a/z}}",
            f"$(echo {self.word()} | head -n 1)",
            f"$(printf '%s-' {self.word()} {self.word()})",
        )
        self.depth -= 1
        return result

    def sum(self, depth: int = 0) -> str:
        if depth > 2 or self.chance.random() < 0.4:
            return self.pick(self.number(), "SLURM_NNODES", "N", "$N", "-3")
        operator = self.pick("+", "-", "*", "/", "%", "<", "==", "&&", "||", "<<", "&", "|", "^", ">=")
        shape = self.pick("{} {} {}", "({} {} {})")
        return shape.format(self.sum(depth + 1), operator, self.sum(depth + 1))

    def word(self) -> str:
        parts = [
            self.pick(*WORDS) if self.chance.random() < 0.5 else self.quoted() for _ in range(self.chance.randint(1, 2))
        ]
        return "".join(parts)

    def quoted(self) -> str:
        return self.pick('"{}"', "{}", '"x {}"', '"{}"', "{}-y").format(self.variable())

    def words(self, most: int = 3) -> str:
        return " ".join(self.word() for _ in range(self.chance.randint(1, most)))

    def condition(self) -> str:
        word, n = self.quoted(), self.number()
        return self.pick(
            f'[ "${self.name()}" = {self.pick("a", "7")} ]',
            f'[ "$N" -gt {n} ]',
            f"[[ {word} == {self.pick('a*', 'a', '*c')} ]]",
            f"(( {self.sum()} ))",
            f'[ -z "${self.name()}" ]',
            f'[[ -n "${self.name()}" && $N -lt {n} ]]',
            "true",
            "false",
            f"! [ $N -eq {n} ]",
            "[ -f /nowhere ]",
            f'[[ "${self.name()}" =~ ^[a-c]+$ ]]',
            "[ 1 -eq 1 -a 2 -gt 1 ]",
        )

    def assignment(self) -> str:
        name, entry = self.name(), self.pick(*LISTS)
        return self.pick(
            f"{name}={self.word()}",
            f"{name}+={self.word()}",
            f"export {name}={self.word()}",
            f"export {name}",
            f"{entry}=({self.words()})",
            f"{entry}+=({self.words()})",
            f"{entry}=(\n  # {self.pick('x', 'it is (so)')}\n  {self.word()}\n  {self.word()} # y\n)",
            f"N=$(({self.sum()}))",
            f"((N += {self.number()}))",
            f"let N=N+{self.number()}",
            f"{entry}[1]={self.word()}",
            f"read -r {name} <<< {self.quoted()}",
            f"read -ra {entry} <<< {self.quoted()}",
            f"unset {name}",
            f"mapfile -t {entry} < <(echo {self.word()}; echo z)",
            f"{name}=$(cat <<E\n{self.pick('x y', '$N', 'q')}\nE\n)",
            f"{entry}=(--a=1 \\\n  {self.word()} \\\n)",
            f": ${{{name}:={self.pick('k', 'm n')}}}",
            f"set -- {self.words()}",
        )

    def step(self) -> str:
        before = self.pick("", "", "", f"{self.name()}={self.word()} ")
        program = self.pick("torchrun", "train", "train", "bash -c")
        if program == "bash -c":
            command = self.pick("'train $SLURM_PROCID $A'", '"train $N"', "'train \"$B\" x'")
            return f"{before}srun bash -c {command}"
        end = self.pick("", '"$@"', "# end")
        launcher = self.pick("srun", "srun -l", "srun -N 2", "srun", "mpirun", "mpirun -np 2", "srun --mpi=pmix")
        return f"{before}{launcher} {program} {self.words()} {end}"

    def statement(self, depth: int) -> str:
        kinds = ["assignment"] * 8 + ["step"] * 3 + ["cd", "file", "mkdir", "quiet", "work", "and", "hosts"]
        kinds += ["if", "for", "case", "while", "function", "subshell", "count"] * (depth < 2)
        match self.chance.choice(kinds):
            case "assignment":
                return self.assignment()
            case "step":
                return self.step()
            case "cd":
                return self.pick(f"cd {self.pick(*FOLDERS)}", "cd ..", "cd /usr && cd lib", "pushd /usr > /dev/null")
            case "file":
                return self.pick(f"echo {self.word()} > f", "cat > f <<E\n$N x\nE", "echo y >> f")
            case "mkdir":
                return "mkdir -p out/$N"
            case "quiet":
                return self.pick("echo hi", "nvidia-smi", "module load cuda", "# comment", "sleep 1", "set -e", "date")
            case "work":
                return f"python prepare.py {self.word()}"
            case "and":
                return f"{self.condition()} {self.pick('&&', '||')} {self.statement(2)}"
            case "hosts":
                return (
                    f"{self.name()}=$({self.pick(*HOSTS)} | {self.pick('head -n 1', 'tail -1', 'sed -n 2p', 'wc -l')})"
                )
            case "if":
                rest = self.pick(
                    "", f"else\n{self.block(depth)}", f"elif {self.condition()}; then\n{self.block(depth)}"
                )
                return f"if {self.condition()}; then\n{self.block(depth)}{rest}fi"
            case "for":
                return f"for {self.name()} in {self.words()}; do\n{self.block(depth)}done"
            case "count":
                return f"for ((i = 0; i < {self.pick('1', '2', '3')}; i++)); do\n{self.block(depth)}done"
            case "case":
                body = self.block(depth)
                return f"case {self.quoted()} in\n  a*|7) A=c;;\n  {self.pick('*', 'x?y', '[0-9]')}) {body}  ;;\nesac"
            case "while":
                return f"W=0; while [ $W -lt 2 ]; do\n  W=$((W + 1))\n{self.block(depth)}done"
            case "function":
                self.functions += 1
                name = f"f{self.functions}"
                return f"{name}() {{\n  local A=$1\n{self.block(depth)}}}\n{name} {self.words()}"
        return f"(\n{self.block(depth)})"

    def block(self, depth: int) -> str:
        lines = [self.statement(depth + 1) for _ in range(self.chance.randint(1, 3))]
        return "".join(f"{line}\n" for line in lines)

    def text(self) -> str:
        """The body, with a step at its end."""
        start = "A=a B=b.c C='x y' N=3\nL=(a 'b c')\nM=(x)\n"
        lines = [self.statement(0) for _ in range(self.chance.randint(1, 6))]
        return start + "".join(f"{line}\n" for line in lines) + f"{self.step()}\n"


def body(seed: int) -> str:
    """The body of the script with a number."""
    return Script(seed).text()
