"""What the generated validators share: patterns of names that need no regular expression."""

from __future__ import annotations

import re
from collections.abc import Sequence


class Refused(Exception):  # noqa: N818
    """The data does not follow the schema."""


LOWER = "abcdefghijklmnopqrstuvwxyz0123456789"
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Word:
    """A pattern for names, such as `^[a-z]([-a-z0-9]*[a-z0-9])?$`, without a regular expression to compile."""

    __slots__ = ("empty", "first", "last", "middle")

    def __init__(self, first: str, middle: str, last: str, empty: bool = False) -> None:
        self.first = first
        self.middle = middle
        self.last = last
        self.empty = empty

    def search(self, text: str) -> bool:
        """Whether the pattern matches. `middle` holds all characters of `first` and `last`."""
        if not text:
            return self.empty
        return text[0] in self.first and text[-1] in self.last and not text.strip(self.middle)


DNS_LABEL = Word(LOWER, LOWER + "-", LOWER)
LABEL_VALUE = Word(LOWER + UPPER, LOWER + UPPER + "-._", LOWER + UPPER)


def is_dns_subdomain(text: str) -> bool:
    """Whether the text is one or more DNS labels joined by dots (Kubernetes apimachinery pkg/util/validation)."""
    return len(text) <= 253 and (DNS_LABEL.search(text) or all(map(DNS_LABEL.search, text.split("."))))


def are_dns_subdomains(texts: Sequence[str]) -> bool:
    """Whether `is_dns_subdomain` holds for each of them, told of all at once."""
    joined = f",{','.join(texts)},"
    apart = not any(pair in joined for pair in _APART) and joined.count(",") == len(texts) + 1
    return not texts or (apart and not joined.strip(LOWER + "-.,") and max(map(len, texts)) <= 253)


_APART = (",,", ",-", "-,", ",.", ".,", "..", ".-", "-.")
"""What is nowhere in a list of such names: each label begins and ends with a letter or digit."""


def is_label_key(text: str) -> bool:
    """Whether the text can be the key of a label: a name, behind a DNS subdomain and a slash if it has one."""
    prefix, slash, name = text.rpartition("/")
    return len(name) <= 63 and bool(name) and LABEL_VALUE.search(name) and (not slash or is_dns_subdomain(prefix))


class Patterns(dict[str, "Word | re.Pattern[str]"]):
    """Patterns by their text; what is no `Word` is compiled when it is first used."""

    def __missing__(self, pattern: str) -> re.Pattern[str]:
        compiled = self[pattern] = re.compile(pattern.replace("$", r"\Z"))
        return compiled
