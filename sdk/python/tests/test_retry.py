"""Decisions to send a request again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import httpx
import pytest

import pyxis
from pyxis.core.message import NoResponse, Request, Response
from pyxis.core.repeat import CHANGE, FORWARD_ONCE, FORWARD_SAFE, POLL, READ, Repeat
from pyxis.core.retry import FINAL, decide, retry_after
from tests.support.script import START, Script, answer

ADDRESS = "0x52908400098527886E0F7030069857D2E4169EE7"
RECORD = {
    "address": ADDRESS.lower(),
    "score": "35.76600",
    "passing_score": True,
    "threshold": "20.00000",
    "last_score_timestamp": "2026-01-31T09:05:00.250000+00:00",
    "expiration_timestamp": None,
    "error": None,
    "stamps": {},
}
POLICY = pyxis.RetryPolicy()


def pause(repeat: Repeat, result: Response | NoResponse, attempt: int = 1, jitter: float = 0.0) -> float | None:
    """The pause that is decided."""
    request = Request("GET", "/", repeat=repeat)
    return decide(POLICY, request, result, attempt, lambda: jitter, START).pause


def status(code: int, **headers: str) -> Response:
    """A response without body."""
    return Response(code, {name.replace("_", "-"): value for name, value in headers.items()}, b"")


UNSENT = NoResponse("no connection", may_have_arrived=False)
SILENCE = NoResponse("no response in time", may_have_arrived=True, timed_out=True)


def test_each_delay_is_twice_the_one_before_up_to_a_limit() -> None:
    assert [pause(READ, UNSENT, attempt) for attempt in range(1, 5)] == [0.5, 1.0, 2.0, 4.0]
    many = pyxis.RetryPolicy(attempts=1000)
    request = Request("GET", "/")
    assert decide(many, request, UNSENT, 999, lambda: 0.0, START).pause == 30.0


def test_jitter_adds_up_to_a_quarter() -> None:
    assert pause(READ, SILENCE, jitter=1.0) == 0.625
    assert pause(READ, SILENCE, jitter=0.5) == 0.5625


def test_the_last_attempt_is_the_fifth() -> None:
    assert pause(READ, SILENCE, attempt=4) == 4.0
    verdict = decide(POLICY, Request("GET", "/"), SILENCE, 5, lambda: 0.0, START)
    assert (verdict.pause, verdict.exhausted) == (None, True)


@pytest.mark.parametrize(
    ("repeat", "result", "again"),
    [
        (READ, status(429), True),
        (READ, status(502), True),
        (READ, status(503), True),
        (READ, status(504), True),
        (READ, status(500), False),
        (READ, status(404), False),
        (READ, status(301), False),
        (READ, status(200), False),
        (READ, SILENCE, True),
        (READ, UNSENT, True),
        (READ, NoResponse("refused certificate", may_have_arrived=False, permanent=True), False),
        (POLL, status(503, px_error="busy"), True),
        (POLL, status(404, px_error="not_found"), False),
        (CHANGE, SILENCE, False),
        (CHANGE, UNSENT, True),
        (CHANGE, status(503), False),
        (FORWARD_ONCE, SILENCE, False),
        (FORWARD_ONCE, UNSENT, True),
        (FORWARD_ONCE, status(429, px_error="rate_limited"), True),
        (FORWARD_ONCE, status(503, px_error="unavailable"), True),
        (FORWARD_ONCE, status(409, px_error="idempotency_in_progress"), False),
        (FORWARD_SAFE, SILENCE, True),
        (FORWARD_SAFE, status(409, px_error="idempotency_in_progress"), True),
        # The upstream's own, which are the result.
        (FORWARD_SAFE, status(429), False),
        (FORWARD_SAFE, status(503), False),
        # Executed, or perhaps executed.
        (FORWARD_SAFE, status(502, px_error="outcome_unknown"), False),
        (FORWARD_SAFE, status(504, px_error="upstream_timeout"), False),
        # Only a person ends these.
        (FORWARD_SAFE, status(429, px_error="too_many_pending"), False),
    ],
)
def test_only_what_is_safe_is_sent_again(repeat: Repeat, result: Response | NoResponse, again: bool) -> None:
    assert (pause(repeat, result) is not None) is again


def test_retry_after_is_the_least_pause() -> None:
    assert pause(READ, status(429, retry_after="7")) == 7.0
    assert pause(READ, status(429, retry_after="0")) == 0.5
    assert pause(READ, status(503, retry_after="60")) == 60.0


def test_a_retry_after_beyond_the_limit_is_left_to_the_caller() -> None:
    request = Request("GET", "/")
    assert decide(POLICY, request, status(429, retry_after="61"), 1, lambda: 0.0, START) is FINAL


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("12", 12.0),
        (" 12 ", 12.0),
        ((START + timedelta(seconds=90)).strftime("%a, %d %b %Y %H:%M:%S GMT"), 90.0),
        ((START - timedelta(seconds=90)).strftime("%a, %d %b %Y %H:%M:%S GMT"), 0.0),
        ("-5", None),
        ("soon", None),
        ("1e9", None),
        ("", None),
        ("99999999999999999999999", 999999999999.0),
    ],
)
def test_retry_after_is_seconds_or_a_date(text: str, seconds: float | None) -> None:
    assert retry_after(status(429, retry_after=text), START) == seconds


def test_a_policy_refuses_impossible_numbers() -> None:
    with pytest.raises(pyxis.InvalidArgumentError, match="attempts must be 1 or more"):
        pyxis.RetryPolicy(attempts=0)
    with pytest.raises(pyxis.InvalidArgumentError, match="must not be negative"):
        pyxis.RetryPolicy(first_delay=-1)


def test_a_client_waits_and_succeeds(kind: str) -> None:
    script = Script(
        httpx.ReadTimeout("slow"),
        answer(504),
        answer(429, {"detail": "You have been rate limited!"}, retry_after="9"),
        httpx.RemoteProtocolError("broke off"),
        answer(200, RECORD),
    )
    score = script.pyxis(kind).score(1, ADDRESS)
    assert str(score.score) == "35.76600"
    assert script.pauses == [0.5, 1.0, 9.0, 4.0]
    assert {request.url.path for request in script.requests} == {f"/v2/stamps/1/score/{ADDRESS}"}


def test_a_client_gives_up_and_says_after_how_many_attempts(kind: str) -> None:
    script = Script(answer(503, {"detail": "The service is not available."}))
    with pytest.raises(pyxis.UnavailableError, match=r"given up after 5 attempts: 503: The service") as caught:
        script.pyxis(kind).score(1, ADDRESS)
    assert caught.value.attempts == len(script.requests) == 5
    script = Script(httpx.ReadTimeout("slow"))
    with pytest.raises(pyxis.ResponseTimeoutError, match="given up after 5 attempts: no response in time") as late:
        script.pyxis(kind).score(1, ADDRESS)
    assert late.value.may_have_arrived


def test_a_long_retry_after_is_raised_at_once(kind: str) -> None:
    script = Script(answer(429, {"detail": "You have been rate limited!"}, retry_after="840"))
    with pytest.raises(pyxis.RateLimitedError, match="429: You have been rate limited") as caught:
        script.pyxis(kind).score(1, ADDRESS)
    assert (caught.value.retry_after, script.pauses) == (840.0, [])
    patient = Script(answer(429, {}, retry_after="840"), answer(200, RECORD))
    patient.pyxis(kind, retry=pyxis.RetryPolicy(max_retry_after=900)).score(1, ADDRESS)
    assert patient.pauses == [840.0]


def forwarded(script: Script, kind: str, **call: Any) -> Any:
    """Return value of a forwarded request."""
    return script.agent(kind).forward("demo", "https://api.example.org/", **call)


def test_a_change_has_an_idempotency_key_and_keeps_it_when_it_is_sent_again(kind: str) -> None:
    script = Script(httpx.ReadTimeout("slow"), answer(409, {}, px_error="idempotency_in_progress"), answer(200))
    assert forwarded(script, kind, method="POST", body="x").status == 200
    assert [request.headers["idempotency-key"] for request in script.requests] == ["new-key"] * 3
    own = Script(answer(200))
    forwarded(own, kind, method="PUT", idempotency_key="mine")
    assert own.requests[0].headers["idempotency-key"] == "mine"


def test_a_read_has_no_idempotency_key_and_is_sent_again(kind: str) -> None:
    script = Script(httpx.ReadError("broke off"), answer(200))
    assert forwarded(script, kind).status == 200
    assert all("idempotency-key" not in request.headers for request in script.requests)


def test_a_failure_of_the_upstream_is_its_response(kind: str) -> None:
    script = Script(answer(503, {"upstream": "down"}, retry_after="1"))
    assert forwarded(script, kind).status == 503
    assert len(script.requests) == 1


def test_an_unknown_outcome_is_not_sent_again(kind: str) -> None:
    problem = {"status": 502, "code": "outcome_unknown", "title": "Bad Gateway", "detail": "no response"}
    script = Script(answer(502, problem, px_error="outcome_unknown"))
    with pytest.raises(pyxis.OutcomeUnknownError, match="502: no response"):
        forwarded(script, kind, method="POST")
    assert len(script.requests) == 1


def test_a_withdrawal_without_response_is_not_sent_again(kind: str) -> None:
    script = Script(httpx.ReadTimeout("slow"))
    with pytest.raises(pyxis.ResponseTimeoutError, match=r"^no response in time$"):
        script.agent(kind).withdraw("00000000-0000-4000-8000-000000000000")
    assert len(script.requests) == 1
