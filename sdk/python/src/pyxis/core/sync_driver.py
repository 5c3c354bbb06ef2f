"""Carries out the orders of an operation and waits for each."""

from __future__ import annotations

import time
from collections.abc import Callable

import httpx

from pyxis.core.exchange import Plan, T
from pyxis.core.message import NoResponse, Request, Response, Send
from pyxis.core.transport import TOO_LATE, Body, Connection, failure


class SyncDriver:
    """A connection pool, and the loop that runs operations over it."""

    def __init__(
        self,
        connection: Connection,
        sleep: Callable[[float], None] = time.sleep,
        transport: httpx.BaseTransport | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connection = connection
        self._sleep = sleep
        self._monotonic = monotonic
        self._client = httpx.Client(
            verify=connection.verify(),
            trust_env=connection.trusts_environment,
            follow_redirects=False,
            transport=transport,
        )

    def run(self, plan: Plan[T]) -> T:
        """Run an operation to its result."""
        result: Response | NoResponse | None = None
        try:
            while True:
                order = plan.send(result)
                if isinstance(order, Send):
                    result = self._send(order.request)
                else:
                    self._sleep(order.seconds)
                    result = None
        except StopIteration as end:
            value: T = end.value
            return value

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _send(self, request: Request) -> Response | NoResponse:
        body = Body(self._monotonic() + self._connection.limit(request))
        try:
            response = self._client.send(self._connection.build(self._client, request), stream=True)
            try:
                for part in response.iter_bytes():
                    if not body.add(part, self._monotonic()):
                        return TOO_LATE
            finally:
                response.close()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return failure(error)
        return body.response(response)
