"""The documentation as a site, in a real browser. It takes half a minute, so it runs only with BAYPLAN_LONG=1."""

from __future__ import annotations

import functools
import html.parser
import http.server
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from tools.clients import tool
from tools.run import ROOT

pytestmark = pytest.mark.skipif(os.environ.get("BAYPLAN_LONG") != "1", reason="the site takes BAYPLAN_LONG=1")

PHONE = 390
"""Pixels of a phone's width."""

SECONDS = 8
"""How long a browser may take to load a page and search."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as the command of CONTRIBUTING.md builds it."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where a server on this machine serves it."""
    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Logs nothing, and answers `/wait` late: a browser has loaded a page when all of its pictures have come."""

    def do_GET(self) -> None:
        """Answers."""
        if self.path == "/wait":
            time.sleep(SECONDS)
        super().do_GET()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing."""


class Links(html.parser.HTMLParser):
    """The links, sources and anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes what a tag refers to, and its name."""
        for key, value in attrs:
            if key in ("href", "src") and value:
                self.links.append(value)
            elif key in ("id", "name") and value:
                self.anchors.add(value)


def test_every_link_leads_to_a_page_and_its_anchor(site: Path) -> None:
    pages = {path.relative_to(site).as_posix(): Links() for path in site.rglob("*.html")}
    for name, links in pages.items():
        links.feed((site / name).read_text(encoding="utf-8"))
    broken = []
    for name, links in pages.items():
        for link in links.links:
            target = urlsplit(urljoin(name, link))
            if target.scheme or target.netloc or name == "404.html":
                continue
            path, anchor = unquote(target.path) or name, unquote(target.fragment)
            page = path if not (site / path).is_dir() else f"{path.rstrip('/')}/index.html".lstrip("./")
            if not (site / page).is_file() or (anchor and page in pages and anchor not in pages[page].anchors):
                broken.append((name, link))
    assert len(pages) > 100
    assert broken == []


def probed(site: Path, address: str, page: str, expression: str) -> str:
    """The title that JavaScript gives the probe of a page with a phone's width, until `SECONDS` have passed."""
    script = f"setInterval(() => {{ const w = document.querySelector('iframe').contentWindow; {expression} }}, 100)"
    frame = f'<iframe src="{page}" width="{PHONE}" height="800"></iframe><img src="/wait">'
    (site / "probe.html").write_text(f"{frame}<script>{script}</script>", encoding="utf-8")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command = [tool("chromium"), *options, f"{address}/probe.html"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=True)
    title = re.search("<title>(.*?)</title>", done.stdout)
    assert title, done.stderr
    return title[1]


def test_the_search_finds_a_code(site: Path, address: str) -> None:
    expression = "document.title = [...w.document.querySelectorAll('.md-search-result__link')].map(a => a.href)"
    found = probed(site, address, "index.html?q=P551", expression)
    assert "reference/diagnostics/p_fit.html" in found


@pytest.mark.parametrize("page", ["tutorials/first-job.html", "reference/schedulers/index.html"])
def test_a_page_fits_a_phone(site: Path, address: str, page: str) -> None:
    assert int(probed(site, address, page, "document.title = w.document.documentElement.scrollWidth")) <= PHONE
