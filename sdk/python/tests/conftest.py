"""Fixtures that tests share: one server, and both kinds of clients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pyxis import AsyncPyxis, Pyxis
from pyxis.agent import Agent, AsyncAgent
from tests.support.blocking import LOOP, Blocking
from tests.support.server import Server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with sample data."""
    found = Server(tmp_path_factory.mktemp("pyxis"))
    try:
        yield found
    finally:
        found.stop()


@pytest.fixture(scope="session", autouse=True)
def loop() -> Iterator[None]:
    """The event loop of asynchronous clients, to its end."""
    yield
    LOOP.close()


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> str:
    """The kind of the client."""
    return str(request.param)


@pytest.fixture
def client(server: Server, kind: str) -> Iterator[Any]:
    """A client of scores and checks."""
    options: dict[str, Any] = {"base_url": server.base_url, "api_key": server.api_key}
    found = Pyxis(**options) if kind == "sync" else Blocking(lambda: AsyncPyxis(**options))
    try:
        yield found
    finally:
        found.close()


@pytest.fixture
def agent(server: Server, kind: str) -> Iterator[Any]:
    """A client of an agent."""
    options: dict[str, Any] = {"base_url": server.base_url, "agent_key": server.agent_key}
    found = Agent(**options) if kind == "sync" else Blocking(lambda: AsyncAgent(**options))
    try:
        yield found
    finally:
        found.close()
