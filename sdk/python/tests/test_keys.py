"""Where keys go, and where they are never seen."""

from __future__ import annotations

import logging
import pickle
import traceback
from collections.abc import Callable
from typing import Any

import httpx
import pytest

import pyxis
from pyxis.agent import Agent
from pyxis.core.secret import Secret
from tests.support.script import Script, answer
from tests.support.server import Server
from tests.test_retry import ADDRESS

KEY = "px_api_0123456789abcdef"


@pytest.mark.parametrize(
    "url", ["http://pyxis.example.org", "http://10.0.0.1:8700", "http://localhost.example.org", "http://[2001:db8::1]"]
)
def test_a_key_is_not_sent_unencrypted_to_another_machine(url: str) -> None:
    with pytest.raises(pyxis.InvalidArgumentError, match="would be sent unencrypted"):
        pyxis.Pyxis(url, api_key=KEY)
    with pytest.raises(pyxis.InvalidArgumentError, match="would be sent unencrypted"):
        Agent(url, agent_key=KEY)


@pytest.mark.parametrize(
    "url",
    ["https://pyxis.example.org", "http://localhost:8700", "http://127.0.0.1", "http://127.9.9.9", "http://[::1]:8700"],
)
def test_a_key_is_sent_encrypted_or_on_loopback(url: str) -> None:
    with pyxis.Pyxis(url, api_key=KEY) as client:
        assert url in repr(client)


def test_checks_without_a_key_may_be_unencrypted() -> None:
    with pyxis.Pyxis("http://pyxis.example.org/base/") as client:
        assert repr(client) == "Pyxis('http://pyxis.example.org/base')"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8700",
        "ftp://localhost",
        "https://",
        "https://user:pass@host",
        "https://host/?a=1",
        "https://host/#a",
        "https://host:99999",
        "https://[::1",
    ],
)
def test_a_bad_base_url_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(pyxis.InvalidArgumentError, match="base_url") as caught:
        pyxis.Pyxis(url)
    assert "pass@" not in str(caught.value)


@pytest.mark.parametrize("key", ["", "a b", "key\n", "schlüssel", "a\0b", "x" * 2000])
def test_a_key_that_no_header_can_hold_is_refused_unseen(key: str) -> None:
    with pytest.raises(pyxis.InvalidArgumentError, match="api_key") as caught:
        pyxis.Pyxis("https://pyxis.example.org", api_key=key)
    assert not key or key not in str(caught.value)


def test_a_key_is_in_no_repr_and_no_pickle() -> None:
    secret = Secret("api_key", KEY)
    client = pyxis.Pyxis("https://pyxis.example.org", api_key=KEY)
    for shown in (repr(secret), str(secret), repr(client), repr(vars(client)), repr(client._connection)):
        assert KEY not in shown
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(secret)


def test_a_key_is_in_no_log_and_no_traceback(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with pyxis.Pyxis(server.base_url, api_key=server.api_key) as client:
        client.score(server.scorer_id, ADDRESS)
    assert caplog.records
    assert server.api_key not in caplog.text
    script = Script(httpx.ConnectError("refused"))
    with pytest.raises(pyxis.TransportError) as caught:
        script.pyxis("sync", api_key=KEY).score(1, ADDRESS)
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_each_client_sends_its_own_header(kind: str) -> None:
    script = Script(answer(200, {"agent": "a", "services": []}))
    script.agent(kind).services()
    assert script.requests[0].headers["x-px-key"] == "px_agent_secret"
    assert "x-api-key" not in script.requests[0].headers
    script = Script(answer(200, []))
    script.pyxis(kind).catalogue()
    assert script.requests[0].headers["x-api-key"] == "px_api_secret"
    script = Script(answer(200, []))
    script.pyxis(kind, api_key=None).catalogue()
    assert "x-api-key" not in script.requests[0].headers


def test_a_proxy_of_the_environment_does_not_see_a_key_without_tls(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    with pyxis.Pyxis(server.base_url, api_key=server.api_key) as client:
        assert client.score(server.scorer_id, ADDRESS).address == ADDRESS.lower()


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({"X-PX-Key": "other"}, "the header X-PX-Key is set by this client"),
        ({"idempotency-key": "k"}, "use the argument for it"),
        ({"Prefer": "wait=5"}, "pass wait as an argument"),
        ({"X-Note": "a\r\nX-PX-Key: other"}, "X-Note must be one line of ASCII"),
        ({"X-Note": "naïve"}, "X-Note must be one line of ASCII"),
    ],
)
def test_headers_cannot_replace_control_headers(kind: str, headers: dict[str, str], message: str) -> None:
    script = Script(answer(200))
    with pytest.raises(pyxis.InvalidArgumentError, match=message):
        script.agent(kind).forward("demo", "https://api.example.org/", headers=headers)
    assert script.requests == []


@pytest.mark.parametrize(
    "call",
    [{"method": "get"}, {"method": "WEBSOCKET"}, {"wait": 61}, {"wait": -1}, {"body": "a", "json": {}}],
)
def test_a_forward_that_cannot_be_sent_is_refused(kind: str, call: dict[str, object]) -> None:
    script = Script(answer(200))
    with pytest.raises(pyxis.InvalidArgumentError):
        script.agent(kind).forward("demo", "https://api.example.org/", **call)
    assert script.requests == []


def test_arguments_of_the_wrong_kind_are_refused_before_sending(kind: str) -> None:
    script = Script(answer(200))
    client = script.pyxis(kind)
    calls: list[Callable[[], Any]] = [
        lambda: client.score(0, ADDRESS),
        lambda: client.score("1", ADDRESS),
        lambda: client.score(1, ""),
        lambda: client.score(1, ".."),
        lambda: client.score(1, "\ud800"),
        lambda: client.scores(1, ADDRESS),
        lambda: client.stamp_page(ADDRESS, page_size=0),
        lambda: client.stamp_page(ADDRESS, page_size=1001),
    ]
    for call in calls:
        with pytest.raises(pyxis.InvalidArgumentError):
            call()
    with pytest.raises(pyxis.InvalidArgumentError, match="timeout must be"):
        pyxis.Pyxis("https://pyxis.example.org", timeout=0)
    assert script.requests == []
