"""Carries out the orders of an operation on asyncio."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import httpx

from pyxis.core.exchange import Plan, T
from pyxis.core.message import NoResponse, Request, Response, Send
from pyxis.core.transport import TOO_LATE, Body, Connection, failure


class AsyncDriver:
    """A connection pool, and the loop that runs operations over it."""

    def __init__(
        self,
        connection: Connection,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        transport: httpx.AsyncBaseTransport | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connection = connection
        self._sleep = sleep
        self._monotonic = monotonic
        self._client = httpx.AsyncClient(
            verify=connection.verify(),
            trust_env=connection.trusts_environment,
            follow_redirects=False,
            transport=transport,
        )

    async def run(self, plan: Plan[T]) -> T:
        """Run an operation to its result."""
        result: Response | NoResponse | None = None
        try:
            while True:
                order = plan.send(result)
                if isinstance(order, Send):
                    result = await self._send(order.request)
                else:
                    await self._sleep(order.seconds)
                    result = None
        except StopIteration as end:
            value: T = end.value
            return value

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _send(self, request: Request) -> Response | NoResponse:
        body = Body(self._monotonic() + self._connection.limit(request))
        try:
            response = await self._client.send(self._connection.build(self._client, request), stream=True)
            try:
                async for part in response.aiter_bytes():
                    if not body.add(part, self._monotonic()):
                        return TOO_LATE
            finally:
                await response.aclose()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return failure(error)
        return body.response(response)
