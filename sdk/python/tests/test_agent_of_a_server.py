"""Forwarded requests and approvals of a real server, with the demo upstream of `quickstart`."""

from __future__ import annotations

import json
from typing import Any

import pytest

import pyxis
from pyxis.agent import PendingApproval, UpstreamResponse
from tests.support.server import Server


def test_services_say_what_each_method_does(agent: Any) -> None:
    found = agent.services()
    assert found.agent == "default-agent"
    (service,) = found.services
    assert service.credential == "demo"
    outcomes = {each.method: each.outcome for each in service.methods}
    assert (outcomes["GET"], outcomes["POST"]) == ("proceeds", "pauses")


def test_a_read_returns_the_response_without_the_secret(agent: Any, server: Server) -> None:
    found = agent.forward("demo", server.demo_target, headers={"X-Note": "hello"})
    assert isinstance(found, UpstreamResponse)
    assert (found.status, found.header("Content-Type")) == (200, "application/json")
    assert json.loads(found.body)["authorization"] == "Bearer [REDACTED:demo]"


def test_an_approved_request_has_a_response(agent: Any, server: Server, kind: str) -> None:
    pending = agent.forward(
        "demo", server.demo_target, method="POST", json={"note": f"approve {kind}"}, reason="a note"
    )
    assert isinstance(pending, PendingApproval)
    assert pending.approval_url in pending.agent_hint
    with pytest.raises(pyxis.StillPendingError) as waiting:
        agent.wait_for_response(pending, timeout=0)
    assert waiting.value.txn_id == pending.txn_id
    assert agent.transaction(pending.txn_id).status == "pending"
    server.decide(pending.txn_id, "approve")
    found = agent.wait_for_response(pending)
    assert found.status == 200
    assert json.loads(json.loads(found.text())["body"]) == {"note": f"approve {kind}"}


def test_the_same_idempotency_key_executes_once(agent: Any, server: Server, kind: str) -> None:
    call = {"method": "POST", "body": "text", "idempotency_key": f"once-{kind}"}
    pending = agent.forward("demo", server.demo_target, **call)
    again = agent.forward("demo", server.demo_target, **call)
    assert again.txn_id == pending.txn_id
    server.decide(pending.txn_id, "approve")
    first = agent.wait_for_response(pending)
    repeated = agent.forward("demo", server.demo_target, **call)
    assert (repeated.status, repeated.body) == (first.status, first.body)
    with pytest.raises(pyxis.UnprocessableError) as caught:
        agent.forward("demo", server.demo_target, **{**call, "body": "other"})
    assert caught.value.code == "idempotency_key_reused"


def test_a_denied_request_raises_with_the_reason(agent: Any, server: Server, kind: str) -> None:
    pending = agent.forward("demo", server.demo_target, method="DELETE", body=kind)
    server.decide(pending.txn_id, "deny", "not today")
    with pytest.raises(pyxis.ApprovalDeniedError, match="not today") as caught:
        agent.wait_for_response(pending.txn_id)
    assert (caught.value.txn_id, caught.value.reason) == (pending.txn_id, "not today")


def test_a_withdrawn_request_is_expired(agent: Any, server: Server, kind: str) -> None:
    pending = agent.forward("demo", server.demo_target, method="PUT", body=kind)
    agent.withdraw(pending.txn_id)
    with pytest.raises(pyxis.ApprovalExpiredError):
        agent.wait_for_response(pending)
    with pytest.raises(pyxis.ConflictError):
        agent.withdraw(pending.txn_id)


def test_a_refusal_has_its_code_title_and_request_id(agent: Any, server: Server) -> None:
    with pytest.raises(pyxis.NotFoundError) as caught:
        agent.forward("nope", server.demo_target)
    error = caught.value
    assert (error.status, error.code, error.title) == (404, "credential_not_found", "Not Found")
    assert error.request_id
    assert "services" in str(error.members["agent_action"])
    with pytest.raises(pyxis.PermissionDeniedError) as refused:
        agent.forward("demo", "https://example.org/")
    assert refused.value.code == "host_not_allowed"
    with pytest.raises(pyxis.NotFoundError):
        agent.transaction("00000000-0000-4000-8000-000000000000")
