"""A transport that gives prepared responses in turn, and clients over it whose time passes only when told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import httpx

from pyxis import AsyncPace, AsyncPyxis, Pace, Pyxis
from pyxis.agent import Agent, AsyncAgent
from tests.support.blocking import Blocking

START = datetime(2026, 1, 31, 9, 5, tzinfo=timezone.utc)
Answer = httpx.Response | Exception


def answer(status: int, json: object = None, **headers: str) -> httpx.Response:
    """A response; underscores in names of headers stand for dashes."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, json=json, headers=named)


class Script:
    """Answers in turn, and what was sent and waited for. The last answer repeats."""

    def __init__(self, *answers: Answer) -> None:
        self._answers: Sequence[Answer] = answers
        self.requests: list[httpx.Request] = []
        self.pauses: list[float] = []

    def handle(self, request: httpx.Request) -> httpx.Response:
        """The next answer."""
        self.requests.append(request)
        found = self._answers[min(len(self.requests), len(self._answers)) - 1]
        if isinstance(found, Exception):
            raise found
        return httpx.Response(found.status_code, headers=found.headers, content=found.content)

    def now(self) -> datetime:
        """The start, and every pause since."""
        return START + timedelta(seconds=sum(self.pauses))

    def pyxis(self, kind: str, **options: Any) -> Any:
        """A `sync` or `async` client of scores and checks."""
        options = {"base_url": "http://127.0.0.1:1", "api_key": "px_api_secret", **options}
        return self._client(kind, Pyxis, AsyncPyxis, options)

    def agent(self, kind: str, **options: Any) -> Any:
        """A `sync` or `async` client of an agent."""
        options = {"base_url": "http://127.0.0.1:1", "agent_key": "px_agent_secret", **options}
        return self._client(kind, Agent, AsyncAgent, {"new_key": lambda: "new-key", **options})

    def _client(
        self, kind: str, sync: Callable[..., Any], asynchronous: Callable[..., Any], options: dict[str, Any]
    ) -> Any:
        options["transport"] = httpx.MockTransport(self.handle)
        if kind == "sync":
            return sync(**options, pace=Pace(self.pauses.append, lambda: 0.0, self.now, lambda: 0.0))
        pace = AsyncPace(self._sleep, lambda: 0.0, self.now, lambda: 0.0)
        return Blocking(lambda: asynchronous(**options, pace=pace))

    async def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
