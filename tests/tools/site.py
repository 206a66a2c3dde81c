"""What mkdocs adds to `docs/`: the files beside it to which pages link, an index of each folder, and the tabs."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import File, Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
BESIDE = (
    *("examples", "argocd-plugin", "kustomize-plugin", "CONTRIBUTING.md", "SECURITY.md"),
    *("benchmarks/results.md", "benchmarks/intents.md", "benchmarks/intents"),
)
"""Files and folders outside `docs/` that belong to the site."""

TABS = ("README.md", "tutorials", "how-to", "reference", "explanation")
LINK = re.compile(r"(\]\()([^)#\s:]+)((?:#[^)\s]*)?\))")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the files beside `docs/`, and an index page for each folder that has none."""
    from mkdocs.structure.files import File, InclusionLevel

    for path in _beside():
        name = path.relative_to(ROOT).as_posix()
        files.append(File.generated(config, name, abs_src_path=str(path), inclusion=InclusionLevel.NOT_IN_NAV))
    names = {file.src_uri for file in files}
    folders = {folder for name in names for folder in _above(name)}
    for folder in sorted(folders):
        if f"{folder}/README.md" not in names and f"{folder}/index.md" not in names:
            page = _index(folder, names, folders)
            files.append(File.generated(config, f"{folder}/README.md", content=page, inclusion=_inclusion(folder)))
    config.nav = [_nav(tab, sorted(files.src_uris)) for tab in TABS]
    return files


def _nav(tab: str, names: Iterable[str]) -> Any:
    """A tab: its index page, then the others; a folder in it is a section."""
    if tab.endswith(".md"):
        return tab
    inside = [name for name in names if name.startswith(f"{tab}/") and name.endswith(".md")]
    here = [name for name in inside if posixpath.dirname(name) == tab]
    folders = sorted({f"{tab}/{name.removeprefix(f'{tab}/').split('/')[0]}" for name in inside if name not in here})
    pages = sorted(here, key=lambda name: (not name.endswith("/README.md"), _title(name)))
    return {_label(tab): [*pages, *(_nav(folder, names) for folder in folders)]}


def _label(folder: str) -> str:
    return "How-to" if folder == "how-to" else posixpath.basename(folder).replace("-", " ").capitalize()


def _beside() -> Iterable[Path]:
    for each in BESIDE:
        path = ROOT / each
        yield from sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]


def _above(name: str) -> Iterable[str]:
    while name := posixpath.dirname(name):
        yield name


def _inclusion(folder: str) -> Any:
    from mkdocs.structure.files import InclusionLevel

    return InclusionLevel.INCLUDED if folder.split("/")[0] in TABS else InclusionLevel.NOT_IN_NAV


def _index(folder: str, names: Iterable[str], folders: Iterable[str]) -> str:
    """A page that lists what a folder holds."""
    inside = sorted({*names, *(f"{each}/README.md" for each in folders)})
    entries = [each for each in inside if posixpath.dirname(each.removesuffix("/README.md")) == folder]
    lines = [f"- [{_title(each)}]({posixpath.relpath(each, folder)})" for each in entries]
    return "\n".join([f"# {_label(folder)}", "", *lines, ""])


def _title(name: str) -> str:
    """The first heading of a page; the name of another file."""
    for base in (ROOT / "docs", ROOT):
        if name.endswith(".md") and (base / name).is_file():
            found = re.search(r"^# (.*)$", (base / name).read_text(encoding="utf-8"), re.MULTILINE)
            return found[1] if found else name
    return posixpath.basename(name.removesuffix("/README.md"))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Repoints links to files beside `docs/`, and to folders, whose page is their README."""
    source: File = page.file

    def repointed(match: re.Match[str]) -> str:
        folder = posixpath.dirname(source.src_uri)
        target = posixpath.normpath(posixpath.join(folder, match[2]))
        while target.startswith("../"):  # docs/ is the root of the site
            target = target[3:]
        target = target.removeprefix("docs/")
        if f"{target}/README.md" in files.src_uris:
            target = f"{target}/README.md"
        if target not in files.src_uris:
            return match[0]
        return f"{match[1]}{os.path.relpath(target, folder or '.')}{match[3]}"

    parts = re.split(r"(^```.*?^```$|`[^`\n]*`)", markdown, flags=re.DOTALL | re.MULTILINE)
    return "".join(part if n % 2 else LINK.sub(repointed, part) for n, part in enumerate(parts))
