"""A request with its repetitions, as orders to a transport that may be synchronous or not.

Operations are generators that yield orders (`Send`, `Sleep`) and return a result. `pyxis.core.sync_driver` and
`pyxis.core.async_driver` carry the orders out; nothing else is written twice.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, TypeAlias, TypeVar

from pyxis.core.decode import decode, parse_json
from pyxis.core.endpoint import Endpoint
from pyxis.core.message import NoResponse, Request, Response, Send, Sleep
from pyxis.core.problem import api_error, transport_error
from pyxis.core.retry import RetryPolicy, decide

T = TypeVar("T")

#: Orders of an operation, what came of each, and the operation's result.
Plan: TypeAlias = Generator[Send | Sleep, Response | NoResponse | None, T]


def utc_now() -> datetime:
    """The wall clock."""
    return datetime.now(timezone.utc)


@dataclass(frozen=True)
class Exchange:
    """Context that operations share: the rules of repetition, with time and randomness as functions."""

    policy: RetryPolicy = field(default_factory=RetryPolicy)
    #: A random number from 0 to 1. Delays are not secret.
    jitter: Callable[[], float] = random.random
    now: Callable[[], datetime] = utc_now

    def send(self, request: Request) -> Plan[Response]:
        """Send until there is a response that is final. Raise for no response; return every status."""
        response, _, _ = yield from self._attempts(request)
        return response

    def succeed(self, request: Request, statuses: frozenset[int] = frozenset({200})) -> Plan[Response]:
        """Send, and raise unless the status is one of these."""
        response, attempts, exhausted = yield from self._attempts(request)
        if response.status not in statuses:
            raise api_error(response, attempts=attempts, exhausted=exhausted, now=self.now())
        return response

    def call(self, endpoint: Endpoint, request: Request) -> Plan[Any]:
        """Send, and read the response as the type of the endpoint."""
        response = yield from self.succeed(request)
        return decode(endpoint.response, parse_json(response.body))

    def _attempts(self, request: Request) -> Plan[tuple[Response, int, bool]]:
        attempt = 1
        while True:
            result = yield Send(request)
            assert result is not None, "a transport answers every Send"  # noqa: S101
            verdict = decide(self.policy, request, result, attempt, self.jitter, self.now())
            if verdict.pause is None:
                if isinstance(result, Response):
                    return result, attempt, verdict.exhausted
                raise transport_error(result, attempts=attempt, exhausted=verdict.exhausted)
            yield Sleep(verdict.pause)
            attempt += 1
