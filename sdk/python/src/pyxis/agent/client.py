"""The synchronous client of agents."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from types import TracebackType

import httpx

from pyxis.agent import plans
from pyxis.agent.idempotency import new_idempotency_key
from pyxis.agent.model import PendingApproval, Services, Transaction, UpstreamResponse
from pyxis.core.base_url import BaseUrl
from pyxis.core.exchange import Exchange
from pyxis.core.retry import RetryPolicy
from pyxis.core.secret import Secret
from pyxis.core.sync_driver import SyncDriver
from pyxis.core.transport import Connection
from pyxis.pace import Pace


class Agent:
    """An agent that reaches upstreams through Pyxis. Close it, or use it in `with`.

    `timeout` is in seconds, for each attempt. `tls` replaces the trusted certificates. `transport`, `pace` and
    `new_key` are for tests.
    """

    def __init__(
        self,
        base_url: str,
        *,
        agent_key: str,
        timeout: float = 60.0,
        retry: RetryPolicy | None = None,
        tls: ssl.SSLContext | None = None,
        transport: httpx.BaseTransport | None = None,
        pace: Pace | None = None,
        new_key: Callable[[], str] = new_idempotency_key,
    ) -> None:
        pace = pace or Pace()
        key = Secret("agent_key", agent_key)
        self._connection = Connection(BaseUrl(base_url), "x-px-key", key, timeout, tls)
        self._exchange = Exchange(retry or RetryPolicy(), pace.jitter, pace.now)
        self._driver = SyncDriver(self._connection, pace.sleep, transport, pace.monotonic)
        self._new_key = new_key

    def services(self) -> Services:
        """List the credentials that the agent may use, and what each method does."""
        return self._driver.run(plans.services(self._exchange))

    def forward(
        self,
        credential: str,
        target: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes | str | None = None,
        json: object = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
        wait: int = 0,
    ) -> UpstreamResponse | PendingApproval:
        """Send a request to an upstream with a stored credential.

        Return the upstream's response, whatever its status, or `PendingApproval` if a person must decide. `wait`
        holds the request for a decision, up to 60 seconds. A method that changes something gets an idempotency key
        unless you pass one, so that it is executed at most once.
        """
        call = plans.Forward(credential, target, method, headers, body, json, reason, idempotency_key, wait)
        return self._driver.run(plans.forward(self._exchange, call, self._new_key()))

    def transaction(self, txn_id: str, *, wait: int = 0) -> Transaction:
        """Read a transaction, after at most `wait` seconds (0 to 60)."""
        return self._driver.run(plans.transaction(self._exchange, txn_id, wait))

    def wait_for_response(self, approval: PendingApproval | str, *, timeout: float | None = None) -> UpstreamResponse:
        """Wait until a person has decided, and return the upstream's response.

        Raise `ApprovalDeniedError`, `ApprovalExpiredError`, `NotCompletedError`, or after `timeout` seconds
        `StillPendingError`. Without a timeout, wait until the request expires.
        """
        txn_id = approval if isinstance(approval, str) else approval.txn_id
        plan = plans.wait_for_response(self._exchange, txn_id, timeout)
        return self._driver.run(plan)

    def withdraw(self, txn_id: str) -> None:
        """Withdraw a request that waits for approval."""
        self._driver.run(plans.withdraw(self._exchange, txn_id))

    def close(self) -> None:
        """Close the connections."""
        self._driver.close()

    def __enter__(self) -> Agent:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Agent({self._connection.base_url.text!r})"
