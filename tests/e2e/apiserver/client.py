"""HTTP to an API server, as far as the suite needs it."""

from __future__ import annotations

import http.client
import json
import re
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

Document = Mapping[str, Any]
SECONDS = 60
"""How long one answer may take. Dry runs of the largest example take well under a second."""

APPLY = "application/apply-patch+yaml"
"""Server-side apply; JSON is YAML."""

WARNING = re.compile(r'\d{3} \S+ "((?:[^"\\]|\\.)*)"')


class Reply(NamedTuple):
    """One answer."""

    status: int
    body: Any
    warnings: tuple[str, ...]

    @property
    def taken(self) -> bool:
        """Whether the server did what it was asked to."""
        return 200 <= self.status < 300

    @property
    def message(self) -> str:
        """What the server says about a refusal."""
        return str(self.body.get("message", self.body) if isinstance(self.body, dict) else self.body)


CLOSED = (ssl.SSLEOFError, ConnectionError)
"""What a request over a closed connection raises."""


class Client(NamedTuple):
    """One API server: a connection to its loopback port, its certificate, and the token that may do everything."""

    connection: http.client.HTTPSConnection
    certificate: Path
    token: str

    def get(self, path: str) -> Reply:
        """Read one path."""
        return self.send("GET", path)

    def send(
        self, method: str, path: str, body: Document | None = None, kind: str = "application/json", **query: str
    ) -> Reply:
        """One request. Raises OSError or HTTPException when there is no answer; the next one connects anew.

        The server closes a connection that was idle for 90 seconds; the request then goes over another one.
        """
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind, "Accept": "application/json"}
        text = None if body is None else json.dumps(body)
        for again in (True, False):
            try:
                self.connection.request(method, f"{path}?{urlencode(query)}" if query else path, text, headers)
                return _reply(self.connection.getresponse())
            except (OSError, http.client.HTTPException) as why:
                self.connection.close()
                if not (again and isinstance(why, CLOSED)):
                    raise
        raise AssertionError("the second attempt returns or raises")


def connect(port: int, certificate: Path, token: str) -> Client:
    """A client of the server on a loopback port that shows this certificate."""
    context = ssl.create_default_context(cafile=str(certificate))
    return Client(http.client.HTTPSConnection("127.0.0.1", port, timeout=SECONDS, context=context), certificate, token)


def _reply(response: http.client.HTTPResponse) -> Reply:
    text = response.read().decode()
    json_here = response.headers.get_content_type() == "application/json"
    warnings = (found for header in response.headers.get_all("Warning", []) for found in WARNING.findall(header))
    return Reply(response.status, json.loads(text) if json_here else text, tuple(warnings))
