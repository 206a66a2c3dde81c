"""Changes inputs: their bytes, their lines, their words, or the values that they have as YAML or JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from random import Random
from typing import Any

import yaml

from fuzz.seeds import STDIN, Input

Path = tuple[Any, ...]

LARGE = 0.005
"""The share of contents of which a part becomes large."""

LONG = 70_000
DEEP = 200
SCALARS: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 3, 7, 8, 255, 65536, 2**31, 2**63, -(2**63) - 1, 10**30, 0.5, -0.0, 1e300),
    *(float("nan"), float("inf"), "", " ", "-", "~", ".", "..", "/", "../../etc/passwd", "a/b", "x" * 64, "x" * 254),
    *(
        "null",
        "true",
        "yes",
        "0x1F",
        "0o17",
        "1e400",
        "1_000",
        "12:30:45",
        "2024-01-01",
        "2024-13-45T99:99:99Z",
        "=",
        "<<",
    ),
    *("4Gi", "-1Gi", "1e9Gi", "0.0000001", "100m", "Ki", "1.5.2", "v1", "99.99", "cpu=1", "a[1-9999999]", "n[01-18,]"),
    *(
        "[",
        "]",
        "{",
        "}",
        "{{ x }}",
        "{% for i in range(9) %}{% endfor %}",
        "{{",
        "$(A)",
        "${A:-$(B)}",
        "`id`",
        "%s %d %n",
        "'",
        '"',
    ),
    *(
        "\n",
        "\r\n",
        "\t",
        "\0",
        "\x07",
        "\x1b[31m",
        "\x7f",
        "\x85",
        "\u2028",
        "\ufeff",
        "\u202e",
        "\u0130",
        "\u00df",
        "e\u0301",
    ),
    *(
        "\ud800",
        "\U0001f600",
        "\U000e0001",
        "Ⅷ",
        "٣",
        "１",
        "a b",
        "a,b",
        "a:b",
        "a#b",
        "#",
        "a=b",
        "*",
        "&a",
        "*a",
        "!!x",
        "|",
        ">-",
    ),
)
"""Values of every kind in place of any other: numbers at limits, names that are none, text with a meaning elsewhere."""

TAME = 29
"""How many of them are plain numbers and short words."""

COMPOUND: tuple[Any, ...] = (
    *([], {}, [[]], [{}], {"": ""}, [None], {"a": None}, {"a": {"b": {"c": []}}}, [1, "a", None, {}, []]),
    *({"name": "a"}, [{"name": "a"}, {"name": "a"}], {"kind": "Job"}, {"key": "a", "operator": "In", "values": []}),
)

CHUNKS: tuple[bytes, ...] = (
    *(b"\0", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff\0", b"\xc3\x28", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"),
    *(b"\r", b"\r\n", b"\n", b"\n\n\n", b"\t", b" ", b"  ", b"\x0b", b"\x0c", b"\x1b[2J", b"\xc2\x85", b"\xe2\x80\xa8"),
    *(
        b"---\n",
        b"--- ",
        b"\n...\n",
        b"%YAML 9.9\n",
        b"%TAG ! x\n",
        b"? ",
        b": ",
        b"- ",
        b"- - - ",
        b"#",
        b" #",
        b"!!binary ",
        b"!x ",
    ),
    *(
        b"&a ",
        b"*a",
        b"<<: *a\n",
        b"&a [*a]",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b'"',
        b"'",
        b"\\",
        b"|\n",
        b">9\n",
        b"|-\n ",
        b'"\\ud800"',
    ),
    *(
        b"{{",
        b"}}",
        b"{%",
        b"%}",
        b"{#",
        b"$(",
        b"${",
        b"$((",
        b"))",
        b"`",
        b"<<EOF\n",
        b"\\\n",
        b"&&",
        b"||",
        b";",
        b"|",
        b">",
        b"2>&1",
    ),
    *(
        b"#SBATCH ",
        b"srun ",
        b"=",
        b"==",
        b"[1-",
        b"[0-9999999999]",
        b"9" * 40,
        b"9" * 5000,
        b"-",
        b"--",
        b"*",
        b"e400",
        b"~",
        b"null",
    ),
    *(b"[" * 300, b"{a: " * 300, b"- " * 300, b" " * 3000, b"a" * 3000, b"(" * 500, b"$(" * 200, b'"a": ' * 2),
)
"""Bytes that mean something to a reader: of encodings, YAML, JSON, Jinja, shells and Slurm."""

_TOKEN = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[ \t]+|\r?\n|.", re.DOTALL)
_HEAD = re.compile(rb"^([ -]*)([^\s:#-][^:#\n]*):(?: +(.*))?$")


class Mutator:
    """Changes inputs. `contents`: the texts from which it takes parts."""

    def __init__(self, contents: Sequence[bytes]) -> None:
        self.contents = contents
        self.values: dict[Any, list[Any]] = {}
        self.children: dict[Any, list[tuple[Any, Any]]] = {}
        for content in contents:
            for document in _parsed(content):
                self._learn(None, document)

    def _learn(self, key: Any, value: Any) -> None:
        """Keeps the values that each key has anywhere, and the keys below it."""
        if isinstance(value, dict):
            for below, each in value.items():
                self.values.setdefault(below, []).append(each)
                self.children.setdefault(key, []).append((below, each))
                self._learn(below, each)
        elif isinstance(value, list):
            for each in value:
                self._learn(key, each)

    def __call__(self, entry: Input, random: Random) -> Input:
        """The input with one of its files, or its command line, changed. Often several times."""
        if not entry.files or random.random() < 0.04:
            return entry._replace(words=_words(entry.words, random))
        name = random.choice(self.names(entry))
        return entry._replace(files={**entry.files, name: self.content(entry.files[name], random)})

    @staticmethod
    def names(entry: Input) -> Sequence[str]:
        """The files that the command line names; all, if it names none."""
        named = [name for name in entry.files if any(name in word for word in entry.words)]
        return [*named, STDIN] if STDIN in entry.files and named else named or list(entry.files)

    def content(self, content: bytes, random: Random) -> bytes:
        """The content of a file, changed."""
        for _ in range(1 + min(int(random.expovariate(1.7)), 6)):
            kind = random.random()
            if kind < 0.86:
                content = self._data(content, random) or self._tokens(content, random)
            elif kind < 0.92:
                content = self._lines(content, random)
            elif kind < 0.97:
                content = self._tokens(content, random)
            else:
                content = self._bytes(content, random)
        if random.random() < LARGE:
            content = self._large(content, random)
        return content[:300_000]

    def _large(self, content: bytes, random: Random) -> bytes:
        """The content with a part of it many times: with other names if it is a list, otherwise the same lines."""
        count = random.choice((100, 1000, 3000))
        documents = _parsed(content)
        for path in random.sample(paths := _paths(documents[0]), len(paths)) if documents else ():
            holder = _get(documents[0], path)
            if isinstance(holder, list) and holder:
                many = [_renamed(random.choice(holder), number) for number in range(count)]
                with suppress(ValueError):
                    return _json(_put(documents[0], path, [*holder, *many]))
        lines = content.split(b"\n")
        start, end = _block(lines, random)
        return b"\n".join(lines[:start] + lines[start:end] * count + lines[end:])

    # Bytes.

    def _bytes(self, content: bytes, random: Random) -> bytes:
        start = random.randint(0, len(content))
        end = min(len(content), start + random.choice((0, 1, 1, 2, 8, 40, 200, len(content))))
        piece = content[start:end]
        how = random.randrange(7)
        if how == 0 and start < len(content):
            return content[:start] + bytes([content[start] ^ 1 << random.randrange(8)]) + content[start + 1 :]
        if how == 1:
            return content[:start] + random.choice(CHUNKS) + content[start:]
        if how == 2:
            return content[:start] + random.choice(CHUNKS) + content[end:]
        if how == 3:
            return content[:start] + content[end:]
        if how == 4:
            return content[:end] + piece * random.choice((1, 1, 2, 20)) + content[end:]
        if how == 5:
            return content[:start]
        other = random.choice(self.contents)
        return (
            content[:start] + other[random.randint(0, len(other)) :][: random.choice((20, 200, 2000))] + content[end:]
        )

    # Tokens.

    def _tokens(self, content: bytes, random: Random) -> bytes:
        spans = [match.span() for match in _TOKEN.finditer(content)]
        if not spans:
            return self._bytes(content, random)
        start, end = random.choice(spans)
        how = random.randrange(6)
        if how == 0:
            return content[:start] + content[end:]
        if how == 1:
            return content[:end] + content[start:end] + content[end:]
        if how == 2:
            return content[:start] + _encoded(str(random.choice(SCALARS))) + content[end:]
        if how == 3:
            other = _TOKEN.findall(random.choice(self.contents)[:4000])
            return content[:start] + random.choice(other) + content[end:]
        if how == 4:
            first, last = random.choice(spans)
            return content[:start] + content[first:last] + content[end:]
        number = random.choice((b"0", b"-1", b"00", b"1", b"2", b"99", b"100000", b"9" * 20, b"0x10", b"1.5", b"1e9"))
        numbers = [span for span in spans if content[span[0] : span[0] + 1].isdigit()]
        start, end = random.choice(numbers or spans)
        return content[:start] + number + content[end:]

    # Lines, as blocks by their indentation.

    def _lines(self, content: bytes, random: Random) -> bytes:
        lines = content.split(b"\n")
        start, end = _block(lines, random)
        block = lines[start:end]
        how = random.randrange(8)
        if how == 0:
            return b"\n".join(lines[:start] + lines[end:])
        if how == 1:
            return b"\n".join(lines[:end] + block + lines[end:])
        if how == 2:
            return b"\n".join([*lines[:start], _value(lines[start], _flow(self._any(random))), *lines[end:]])
        if how == 3:
            return b"\n".join([*lines[:start], _key(lines[start], self._word(random)), *lines[start + 1 :]])
        if how == 4:
            other = random.choice(self.contents).split(b"\n")
            first, last = _block(other, random)
            moved = _indented(other[first:last], lines[start] if lines else b"")
            return b"\n".join(lines[:start] + moved + lines[random.choice((start, end)) :])
        if how == 5:
            first, last = _block(lines, random)
            moved = _indented(block, lines[first])
            return b"\n".join(lines[:first] + moved + lines[random.choice((first, last)) :])
        if how == 6:
            step = random.choice((b" ", b"  ", b"- ", b"\t"))
            return b"\n".join(lines[:start] + [step + line for line in block] + lines[end:])
        dedented = [line[random.choice((1, 2)) :] for line in block]
        return b"\n".join(lines[:start] + dedented + lines[end:])

    def _word(self, random: Random) -> bytes:
        """A key or a word of any file."""
        found = _TOKEN.findall(random.choice(self.contents)[:4000])
        words = [each for each in found if each[:1].isalpha()]
        return random.choice(words) if words and random.random() < 0.7 else _encoded(str(random.choice(SCALARS)))

    # Data.

    def _data(self, content: bytes, random: Random) -> bytes:
        """One value changed. Empty if the content is no YAML or JSON with a structure."""
        documents = _parsed(content)
        if not documents:
            return b""
        number = random.randrange(len(documents))
        paths = _paths(documents[number])
        if len(paths) < 2:
            return b""
        path = random.choice(paths)
        changed = [*documents]
        changed[number] = self._changed(documents[number], path, paths, random)
        try:
            if len(changed) == 1 and (content.lstrip()[:1] in (b"{", b"[") or random.random() < 0.3):
                return _json(changed[0])
            return yaml.dump_all(changed, Dumper=_Dumper, sort_keys=False, allow_unicode=random.random() < 0.5).encode(
                "utf-8", "surrogatepass"
            )
        except (yaml.YAMLError, UnicodeError, ValueError):  # a number with more digits than Python writes
            return b""

    def _changed(self, data: Any, path: Path, paths: Sequence[Path], random: Random) -> Any:
        how = random.randrange(30)
        if how >= 12:
            return self._known(data, path, random)
        if how < 6:
            return _put(data, path, self._like(_get(data, path), random))
        if how == 6:
            return _put(data, path, _get(data, random.choice(paths)))
        if how == 7 and path:
            return _put(data, path[:-1], _without(_get(data, path[:-1]), path[-1]))
        if how == 8 and path:
            holder = _get(data, path[:-1])
            if isinstance(holder, list):
                return _put(data, path[:-1], [*holder, *[holder[path[-1]]] * random.choice((1, 1, 2, 50))])
            named = random.choice(SCALARS) if random.random() < 0.4 else self._word(random).decode("utf-8", "replace")
            renamed = {(named if key == path[-1] else key): value for key, value in holder.items()}
            return _put(data, path[:-1], renamed)
        if how == 9:
            other = _parsed(random.choice(self.contents))
            if other:
                source = random.choice(other)
                return _put(data, path, _get(source, random.choice(_paths(source))))
        if how == 10:
            first, second = path, random.choice(paths)
            if first != second[: len(first)] and second != first[: len(second)]:
                return _put(_put(data, first, _get(data, second)), second, _get(data, first))
        holder = _get(data, path)
        key = random.choice(SCALARS) if random.random() < 0.3 else self._word(random).decode("utf-8", "replace")
        if isinstance(holder, dict):
            return _put(data, path, {**holder, key: self._any(random)})
        return _put(data, path, [*holder, self._any(random)] if isinstance(holder, list) else {key: holder})

    def _known(self, data: Any, path: Path, random: Random) -> Any:
        """A value that its key has elsewhere, or one more key that is known there."""
        named = next((key for key in reversed(path) if isinstance(key, str)), None)
        value = _get(data, path)
        if isinstance(value, dict) and named in self.children and random.random() < 0.7:
            key, below = random.choice(self.children[named])
            return _put(data, path, {**value, key: below})
        if named not in self.values:
            return _put(data, path, self._like(value, random))
        other = random.choice(self.values[named])
        if path and isinstance(path[-1], int) and isinstance(other, list) and other:
            other = random.choice(other)
        return _put(data, path, other)

    def _like(self, value: Any, random: Random) -> Any:
        """A value for the place of another: often near it, which passes the first checks."""
        near = random.random()
        if near < 0.3 and isinstance(value, bool):
            return not value
        if near < 0.4 and isinstance(value, int) and abs(value) < 10**30:
            return random.choice(
                (value + 1, value - 1, -value, value * 1000, value * 10**9, 0, 1, str(value), float(value))
            )
        if near < 0.4 and isinstance(value, str) and value:
            cut = random.randrange(len(value))
            return random.choice(
                (
                    value[:cut],
                    value[cut:],
                    value + value,
                    value.upper(),
                    f" {value} ",
                    value + str(random.choice(SCALARS)),
                    value[:cut] + str(random.choice(SCALARS)) + value[cut:],
                    [value],
                    value + "-1",
                    value.replace("-", "."),
                )
            )
        if near < 0.4 and isinstance(value, list) and value:
            return random.choice((value[::-1], value[:1], value * 2, value[0], [*value, None], [value]))
        if near < 0.4 and isinstance(value, dict) and value:
            return random.choice((list(value), list(value.values()), [value], next(iter(value.values()))))
        return self._any(random)

    def _any(self, random: Random) -> Any:
        kind = random.random()
        if kind < 0.35:
            return random.choice(SCALARS[:TAME])
        if kind < 0.7:
            return random.choice(SCALARS)
        if kind < 0.9:
            return random.choice(COMPOUND)
        if kind < 0.99:
            return self._word(random).decode("utf-8", "replace")
        return random.choice((_nested(DEEP), "a" * LONG, ["a"] * 3000, {f"k{n}": n for n in range(1000)}))


def _renamed(value: Any, number: int) -> Any:
    """The value with another name."""
    if isinstance(value, str):
        return f"{value}{number}"
    if not isinstance(value, dict):
        return value
    names = {key: f"{value[key]}{number}" for key in ("name", "path", "nodes", "id") if isinstance(value.get(key), str)}
    metadata = {"metadata": _renamed(value["metadata"], number)} if "metadata" in value else {}
    return {**value, **names, **metadata}


def _words(words: Sequence[str], random: Random) -> tuple[str, ...]:
    """A command line with the value of an argument changed."""
    changed = list(words)
    number = random.randrange(1, max(2, len(changed)))
    if number >= len(changed):
        return (*words, _argument(random))
    name, equals, value = changed[number].partition("=")
    how = random.randrange(5)
    if how == 0 and number > 1:
        del changed[number]
    elif how == 1:
        changed.insert(number, _argument(random))
    elif how == 2 and value:
        cut = random.randrange(len(value))
        changed[number] = f"{name}={value[:cut]}{_argument(random)}{value[cut:]}"
    else:
        changed[number] = f"{name}={_argument(random)}" if equals else _argument(random)
    return tuple(changed)


def _argument(random: Random) -> str:
    """A word that a shell can pass."""
    word = str(random.choice(SCALARS)).replace("\0", "0").encode("utf-8", "replace").decode()
    return "." if word == "/" else word  # all files of the machine


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _flow(value: Any) -> bytes:
    """A value as it may stand in a line of YAML: as JSON, or a string without quotes."""
    return _encoded(value) if isinstance(value, str) and "\n" not in value else _json(value)


def _json(value: Any) -> bytes:
    return json.dumps(value, default=str, skipkeys=True).encode()


def _nested(depth: int) -> Any:
    value: Any = []
    for number in range(depth):
        value = [value] if number % 2 else {"a": value}
    return value


class _Dumper(yaml.CSafeDumper):
    """Writes without anchors, and all that is no plain data as text."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.add_representer(None, lambda dumper, data: dumper.represent_str(str(data)))


@lru_cache(4000)
def _parsed(content: bytes) -> tuple[Any, ...]:
    """The documents with a structure."""
    if len(content) > 30_000 or (b"&" in content and b"*" in content):
        return ()
    try:
        if content.lstrip()[:1] in (b"{", b"["):
            return (json.loads(content),)
        return tuple(each for each in yaml.load_all(content, yaml.CSafeLoader) if isinstance(each, dict | list))
    except (yaml.YAMLError, ValueError, RecursionError, TypeError, AttributeError, OverflowError):
        return ()


def _paths(data: Any) -> list[Path]:
    return list(_walk(data, ()))


def _walk(data: Any, path: Path) -> Iterator[Path]:
    yield path
    if len(path) < 40:
        pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
        for key, value in pairs:
            yield from _walk(value, (*path, key))


def _get(data: Any, path: Path) -> Any:
    for key in path:
        data = data[key]
    return data


def _put(data: Any, path: Path, value: Any) -> Any:
    """The data with another value at a path; all else is shared."""
    if not path:
        return value
    if isinstance(data, list):
        return [_put(each, path[1:], value) if number == path[0] else each for number, each in enumerate(data)]
    if isinstance(data, dict):
        return {key: _put(each, path[1:], value) if key == path[0] else each for key, each in data.items()}
    return data


def _without(data: Any, key: Any) -> Any:
    if isinstance(data, list):
        return [each for number, each in enumerate(data) if number != key]
    return {each: value for each, value in data.items() if each != key} if isinstance(data, Mapping) else data


def _block(lines: Sequence[bytes], random: Random) -> tuple[int, int]:
    """The numbers of a line and of the first after the lines below it that are indented deeper."""
    start = random.randrange(len(lines))
    depth = _depth(lines[start])
    end = start + 1
    while end < len(lines) and (_depth(lines[end]) > depth or not lines[end].strip()):
        end += 1
    return start, end


def _depth(line: bytes) -> int:
    return len(line) - len(line.lstrip(b" "))


def _indented(block: Sequence[bytes], like: bytes) -> list[bytes]:
    """The block at the depth of another line."""
    depth = _depth(block[0]) if block else 0
    return [b" " * _depth(like) + line[min(depth, _depth(line)) :] for line in block]


def _value(line: bytes, value: bytes) -> bytes:
    """`key: value` with another value."""
    found = _HEAD.match(line)
    return found[1] + found[2] + b": " + value if found else line[: _depth(line)] + value


def _key(line: bytes, key: bytes) -> bytes:
    found = _HEAD.match(line)
    return found[1] + key + b": " + (found[3] or b"") if found else line[: _depth(line)] + key + b": " + line.lstrip()


def minimised(content: bytes, fails: Callable[[bytes], bool]) -> bytes:
    """A small content that still fails: without as many lines, then bytes, as possible."""
    for separator in (b"\n", b""):
        parts = content.split(separator) if separator else [content[n : n + 1] for n in range(len(content))]
        size = max(1, len(parts) // 2)
        tries = 0
        while size and tries < 1500:
            start = 0
            while start < len(parts) and tries < 1500:
                tries += 1
                rest = parts[:start] + parts[start + size :]
                if fails(separator.join(rest)):
                    parts = rest
                else:
                    start += size
            size //= 2
        content = separator.join(parts)
    return content
