"""An asynchronous client behind the methods of the synchronous one, so that one test holds for both."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

#: One loop for all; a fixture closes it.
LOOP = asyncio.new_event_loop()


class Blocking:
    """Runs every call of an asynchronous client to its end."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._loop = LOOP
        self._client = make()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        def call(*arguments: Any, **named: Any) -> Any:
            result = method(*arguments, **named)
            if inspect.isasyncgen(result):
                return self._loop.run_until_complete(_collect(result))
            return self._loop.run_until_complete(result)

        return call

    def __repr__(self) -> str:
        return repr(self._client)

    def close(self) -> None:
        """Close the client."""
        self._loop.run_until_complete(self._client.close())


async def _collect(items: Any) -> list[Any]:
    return [item async for item in items]
