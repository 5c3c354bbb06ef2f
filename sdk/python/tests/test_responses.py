"""Responses that a client must not trust, and errors made of them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import httpx
import pytest

import pyxis
from tests.support.script import Script, answer
from tests.test_retry import ADDRESS, RECORD

TXN = {
    "txn_id": "t",
    "status": "approved",
    "created_at": "2026-01-31T09:05:00.250Z",
    "expires_at": "2026-01-31T10:05:00.250Z",
    "decided_at": "2026-01-31T09:06:00Z",
    "reason": None,
    "upstream_status": 200,
    "response": None,
    "error": None,
}


def test_unknown_members_are_ignored(kind: str) -> None:
    script = Script(answer(200, {**RECORD, "new": {"member": 1}}))
    assert script.pyxis(kind).score(1, ADDRESS).score == Decimal("35.766")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score": 35.766}, r"response\.score is not a text"),
        ({"score": "NaN"}, r"response\.score is not a decimal number"),
        ({"score": "1e9999999"}, r"response\.score is not a decimal number"),
        ({"score": "1" * 61}, r"response\.score is not a decimal number"),
        ({"score": None}, r"response\.score is not a text"),
        ({"passing_score": 1}, r"response\.passing_score is not a boolean"),
        ({"passing_score": "true"}, r"response\.passing_score is not a boolean"),
        ({"last_score_timestamp": "yesterday"}, r"response\.last_score_timestamp is not a time"),
        ({"last_score_timestamp": "2026-02-31T00:00:00Z"}, r"response\.last_score_timestamp is not a time"),
        ({"stamps": []}, r"response\.stamps is not a JSON object"),
        ({"stamps": {"Google": 1}}, r"response\.stamps\.Google is not a JSON object"),
        ({"stamps": {"Google": {}}}, r"response\.stamps\.Google has no member score"),
    ],
)
def test_a_member_of_the_wrong_type_is_named(kind: str, change: dict[str, object], message: str) -> None:
    script = Script(answer(200, {**RECORD, **change}))
    with pytest.raises(pyxis.InvalidResponseError, match=message):
        script.pyxis(kind).score(1, ADDRESS)
    assert len(script.requests) == 1


@pytest.mark.parametrize("body", [b"<html>", b"", b"\xff", b"[" * 100_000, b'{"score": NaN}'])
def test_what_is_not_json_is_refused(kind: str, body: bytes) -> None:
    script = Script(httpx.Response(200, content=body))
    with pytest.raises(pyxis.InvalidResponseError):
        script.pyxis(kind).score(1, ADDRESS)


def test_a_redirect_is_not_followed(kind: str) -> None:
    script = Script(answer(302, None, location="https://evil.example/"))
    with pytest.raises(pyxis.InvalidResponseError, match="302: not a response of this operation"):
        script.pyxis(kind).score(1, ADDRESS)
    assert len(script.requests) == 1


def test_a_response_for_another_number_of_addresses_is_refused(kind: str) -> None:
    script = Script(answer(200, {"items": [RECORD]}))
    with pytest.raises(pyxis.InvalidResponseError, match="1 scores for 2 addresses"):
        script.pyxis(kind).scores(1, [ADDRESS, ADDRESS])


def test_pages_that_lead_to_themselves_end(kind: str) -> None:
    script = Script(answer(200, {"next": "a", "prev": None, "items": []}))
    with pytest.raises(pyxis.InvalidResponseError, match="the next page of Stamps is the same page"):
        list(script.pyxis(kind).stamps(ADDRESS))


def test_a_model_score_is_decimal(kind: str) -> None:
    body = b'{"address":"0x1","details":{"models":{"nft":{"score":97.13}}}}'
    script = Script(httpx.Response(200, content=body))
    assert script.pyxis(kind).model_score(ADDRESS, "nft").score == Decimal("97.13")


def test_a_bad_parameter_is_named_in_the_message(kind: str) -> None:
    detail = [{"type": "missing", "loc": ["query", "created_at"], "msg": "Field required"}]
    script = Script(answer(422, {"detail": detail}, x_request_id="r1"))
    with pytest.raises(pyxis.UnprocessableError, match=r"422: query\.created_at: Field required") as caught:
        script.pyxis(kind).score(1, ADDRESS)
    assert caught.value.request_id == "r1"


def test_text_of_a_server_cannot_forge_lines_of_a_log(kind: str) -> None:
    script = Script(answer(403, {"detail": "no\r\n2026 root logged in\x1b[2J"}))
    with pytest.raises(pyxis.PermissionDeniedError) as caught:
        script.pyxis(kind).score(1, ADDRESS)
    assert str(caught.value).isprintable()


def test_unusual_statuses_have_a_class_too(kind: str) -> None:
    for status, expected in [(418, pyxis.ApiError), (500, pyxis.ServerError), (599, pyxis.ServerError)]:
        with pytest.raises(expected) as caught:
            Script(answer(status)).pyxis(kind).score(1, ADDRESS)
        assert caught.value.status == status


def test_an_approved_request_that_failed_raises_its_error(kind: str) -> None:
    failed = {**TXN, "upstream_status": None, "error": "outcome_unknown", "detail": "it may have been executed"}
    with pytest.raises(pyxis.NotCompletedError, match="outcome_unknown: it may have been executed") as caught:
        Script(answer(200, failed)).agent(kind).wait_for_response("t")
    assert caught.value.reason == "outcome_unknown"
    with pytest.raises(pyxis.NotCompletedError, match="no longer stored"):
        Script(answer(200, TXN)).agent(kind).wait_for_response("t")


def test_polls_are_held_and_never_follow_each_other_at_once(kind: str) -> None:
    kept = {"status": 204, "headers": [["a", "b"]], "body": "/w==", "body_encoding": "base64", "truncated": False}
    waiting = {**TXN, "status": "pending", "upstream_status": None}
    script = Script(answer(200, waiting), answer(200, waiting), answer(200, {**TXN, "response": kept}))
    found = script.agent(kind).wait_for_response("t")
    assert (found.status, found.headers, found.body) == (204, (("a", "b"),), b"\xff")
    assert script.pauses == [0.5, 0.5]
    assert {request.url.query for request in script.requests} == {b"wait=30"}


def test_a_decision_while_the_request_is_held_is_the_same_error(kind: str) -> None:
    problem = {"status": 403, "code": "approval_denied", "detail": "denied", "txn_id": "t", "reason": "no"}
    script = Script(answer(403, problem, px_error="approval_denied"))
    with pytest.raises(pyxis.ApprovalDeniedError, match="a person denied the request: no"):
        script.agent(kind).forward("demo", "https://api.example.org/", wait=60)
    assert script.requests[0].headers["prefer"] == "wait=60"
    assert script.requests[0].extensions["timeout"]["read"] == 120.0


@pytest.fixture
def endless() -> Iterator[str]:
    """A server that sends one byte of a body again and again, and never ends it."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(65536)
                head = b"HTTP/1.1 200 OK\r\ncontent-length: 100000000\r\n\r\n"
                try:
                    connection.sendall(head)
                    while True:
                        connection.sendall(b" ")
                except OSError:
                    pass

    thread = threading.Thread(target=serve)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


def test_a_body_that_never_ends_is_given_up_in_time(endless: str) -> None:
    clock = iter(range(100_000_000))
    pace = pyxis.Pace(monotonic=lambda: float(next(clock)))
    once = pyxis.RetryPolicy(attempts=1)
    with (
        pyxis.Pyxis(endless, retry=once, timeout=30.0, pace=pace) as client,
        pytest.raises(pyxis.ResponseTimeoutError, match="no complete response in time"),
    ):
        client.score(1, ADDRESS)


def test_no_server_is_no_connection(kind: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    once: Any = pyxis.RetryPolicy(attempts=1)
    with (
        pyxis.Pyxis(f"http://127.0.0.1:{port}", retry=once) as client,
        pytest.raises(pyxis.TransportError, match="no connection") as caught,
    ):
        client.score(1, ADDRESS)
    assert not caught.value.may_have_arrived


def test_a_check_of_an_unknown_kind_says_which_are_known(kind: str) -> None:
    problem = {"error": "Unknown credential type", "known": ["gov-id", "phone"]}
    script = Script(answer(404, problem))
    with pytest.raises(pyxis.NotFoundError, match="Unknown credential type; known: gov-id, phone"):
        script.pyxis(kind).score(1, ADDRESS)


def test_a_moment_of_history_is_a_date_or_a_text(kind: str) -> None:
    for before, sent in [
        ("2026-12-01", "2026-12-01"),
        ("2026-12-01T10:00:00Z", "2026-12-01T10:00:00.000000%2B00:00"),
    ]:
        script = Script(answer(200, {"items": []}))
        assert script.pyxis(kind).history(1, ADDRESS, before) is None
        assert f"created_at={sent}" in str(script.requests[0].url).replace("%3A", ":")
    for wrong in ("yesterday", "2026-13-01", 7):
        with pytest.raises(pyxis.InvalidArgumentError, match="before must be a date"):
            Script().pyxis(kind).history(1, ADDRESS, wrong)
