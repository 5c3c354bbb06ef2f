"""Operations of agents."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from pyxis import errors
from pyxis.agent.model import KeptResponse, PendingApproval, Services, Transaction, UpstreamResponse
from pyxis.core.decode import decode, parse_json
from pyxis.core.endpoint import Endpoint
from pyxis.core.exchange import Exchange, Plan
from pyxis.core.message import Request, Response, Sleep
from pyxis.core.problem import api_error
from pyxis.core.repeat import CHANGE, FORWARD_ONCE, FORWARD_SAFE, POLL

SERVICES = Endpoint("GET", "/agent/services", Services, repeat=POLL)
TRANSACTION = Endpoint("GET", "/agent/approvals/{txn_id}", Transaction, frozenset({"wait"}), repeat=POLL)
WITHDRAW = Endpoint("DELETE", "/agent/approvals/{txn_id}", None, repeat=CHANGE)
FORWARD = Endpoint(
    "POST",
    "/forward",
    None,
    headers=frozenset({"X-PX-Credential", "X-PX-Target", "X-PX-Method", "X-PX-Reason", "Idempotency-Key", "Prefer"}),
    repeat=FORWARD_ONCE,
)

#: Longest wait of one request, in seconds.
MAX_WAIT = 60
#: Wait of one poll. Shorter than the idle limit of most reverse proxies.
POLL_WAIT = 30
#: Pause between two polls, in seconds.
POLL_PAUSE = 0.5
#: Methods that change nothing, so that they may be sent again.
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_METHODS = _SAFE_METHODS | {"POST", "PUT", "PATCH", "DELETE"}
_OWN_HEADERS = frozenset({"idempotency-key", "host", "content-length", "transfer-encoding", "connection"})


@dataclass(frozen=True)
class Forward:
    """A request for an upstream, with its control headers."""

    credential: str
    target: str
    method: str = "GET"
    headers: Mapping[str, str] | None = None
    body: bytes | str | None = None
    json: object = None
    reason: str | None = None
    idempotency_key: str | None = None
    #: Seconds to hold the request for a decision.
    wait: int = 0

    def request(self, new_key: str) -> Request:
        """The request to send. `new_key` becomes the idempotency key of a change that has none."""
        if self.method not in _METHODS:
            raise errors.InvalidArgumentError(
                f"method must be one of {', '.join(sorted(_METHODS))}, not {self.method!r}"
            )
        if not 0 <= self.wait <= MAX_WAIT:
            raise errors.InvalidArgumentError(f"wait must be 0 to {MAX_WAIT} seconds, not {self.wait}")
        key = self.idempotency_key
        if key is None and self.method not in _SAFE_METHODS:
            key = new_key
        body, kind = self._content()
        control = [
            ("X-PX-Credential", self.credential),
            ("X-PX-Target", self.target),
            ("X-PX-Method", self.method),
            ("X-PX-Reason", self.reason),
            ("Idempotency-Key", key),
            ("Prefer", f"wait={self.wait}" if self.wait else None),
        ]
        lines = [(name, _line(name, value)) for name, value in control if value is not None]
        lines += _own(self.headers or {}, kind)
        repeat = FORWARD_SAFE if key is not None or self.method in _SAFE_METHODS else FORWARD_ONCE
        return replace(FORWARD.request(), headers=lines, body=body, repeat=repeat, wait=self.wait)

    def _content(self) -> tuple[bytes | None, str | None]:
        if self.json is not None:
            if self.body is not None:
                raise errors.InvalidArgumentError("pass body or json, not both")
            return json.dumps(self.json, allow_nan=False).encode(), "application/json"
        return (self.body.encode() if isinstance(self.body, str) else self.body), None


def services(exchange: Exchange) -> Plan[Services]:
    """The credentials that the agent may use."""
    result: Services = yield from exchange.call(SERVICES, SERVICES.request())
    return result


def forward(exchange: Exchange, call: Forward, new_key: str) -> Plan[UpstreamResponse | PendingApproval]:
    """Send a request to an upstream, or find that a person must approve it."""
    response = yield from exchange.send(call.request(new_key))
    if "px-error" in response.headers:
        raise _refusal(exchange, response)
    if response.status == 202 and "px-txn" in response.headers:
        pending: PendingApproval = decode(PendingApproval, parse_json(response.body))
        return pending
    return UpstreamResponse(response.status, tuple(response.lines), response.body)


def _refusal(exchange: Exchange, response: Response) -> errors.PyxisError:
    """The error for a refusal, or for a decision that came while the request was held."""
    error = api_error(response, attempts=1, exhausted=False, now=exchange.now())
    if isinstance(error, errors.ApiError):
        txn_id = str(error.members.get("txn_id") or "")
        reason = error.members.get("reason")
        if error.code == "approval_denied":
            return _denied(txn_id, reason if isinstance(reason, str) else None)
        if error.code == "approval_expired":
            return _expired(txn_id)
    return error


def transaction(exchange: Exchange, txn_id: str, wait: int) -> Plan[Transaction]:
    """A transaction as it stands, after at most `wait` seconds."""
    if not 0 <= wait <= MAX_WAIT:
        raise errors.InvalidArgumentError(f"wait must be 0 to {MAX_WAIT} seconds, not {wait}")
    request = replace(TRANSACTION.request({"txn_id": txn_id}, {"wait": wait or None}), wait=wait)
    result: Transaction = yield from exchange.call(TRANSACTION, request)
    return result


def wait_for_response(exchange: Exchange, txn_id: str, timeout: float | None) -> Plan[UpstreamResponse]:
    """The upstream's response, once a person has approved the request and it was sent."""
    deadline = None if timeout is None else exchange.now() + timedelta(seconds=timeout)
    while True:
        wait = _poll_wait(deadline, exchange.now())
        found = yield from transaction(exchange, txn_id, wait)
        result = _result(found)
        if result is not None:
            return result
        if deadline is not None and exchange.now() >= deadline:
            raise errors.StillPendingError(f"no one has decided about {txn_id} yet", txn_id=txn_id)
        yield Sleep(POLL_PAUSE)


def withdraw(exchange: Exchange, txn_id: str) -> Plan[None]:
    """Withdraw a pending request."""
    yield from exchange.succeed(WITHDRAW.request({"txn_id": txn_id}), frozenset({204}))


def _poll_wait(deadline: datetime | None, now: datetime) -> int:
    if deadline is None:
        return POLL_WAIT
    return max(0, min(POLL_WAIT, int((deadline - now).total_seconds())))


def _result(found: Transaction) -> UpstreamResponse | None:
    """The response of a transaction that has one. Raise if there will be none, return None while it is open."""
    if found.status == "denied":
        raise _denied(found.txn_id, found.reason)
    if found.status == "expired":
        raise _expired(found.txn_id)
    if found.error is not None:
        detail = found.detail or "the request was not completed"
        raise errors.NotCompletedError(f"{found.error}: {detail}", txn_id=found.txn_id, reason=found.error)
    if found.response is not None:
        return upstream_response(found.response)
    if found.upstream_status is not None:
        raise errors.NotCompletedError(
            f"the upstream answered {found.upstream_status}, but its response is no longer stored",
            txn_id=found.txn_id,
            reason="response_deleted",
        )
    return None


def upstream_response(kept: KeptResponse) -> UpstreamResponse:
    """A stored response with its body in bytes."""
    try:
        body = base64.b64decode(kept.body, validate=True) if kept.body_encoding == "base64" else kept.body.encode()
    except binascii.Error:
        raise errors.InvalidResponseError("response.body is not base64") from None
    return UpstreamResponse(kept.status, kept.headers, body, kept.truncated)


def _denied(txn_id: str, reason: str | None) -> errors.ApprovalDeniedError:
    words = f": {reason}" if reason else ""
    return errors.ApprovalDeniedError(f"a person denied the request{words}", txn_id=txn_id, reason=reason)


def _expired(txn_id: str) -> errors.ApprovalExpiredError:
    return errors.ApprovalExpiredError("the request expired or was withdrawn before a decision", txn_id=txn_id)


def _own(headers: Mapping[str, str], kind: str | None) -> list[tuple[str, str]]:
    """The caller's headers, which must not be control headers."""
    lines = []
    for name, value in headers.items():
        lower = name.lower()
        if lower.startswith("x-px-") or lower in _OWN_HEADERS:
            raise errors.InvalidArgumentError(f"the header {name} is set by this client: use the argument for it")
        if lower == "prefer" and "wait" in value.lower():
            raise errors.InvalidArgumentError("pass wait as an argument, not in the header Prefer")
        if lower == "content-type":
            kind = None
        lines.append((name, _line(name, value)))
    if kind is not None:
        lines.append(("content-type", kind))
    return lines


def _line(name: str, value: str) -> str:
    """A header value. The error does not repeat it: it may be secret."""
    if any(each in "\r\n\0" for each in value) or not value.isascii():
        raise errors.InvalidArgumentError(f"{name} must be one line of ASCII characters")
    return value
