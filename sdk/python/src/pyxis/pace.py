"""Time and randomness of a client, as functions that tests replace."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from pyxis.core.exchange import utc_now


@dataclass(frozen=True)
class Pace:
    """Time and randomness of a synchronous client."""

    sleep: Callable[[float], None] = time.sleep
    #: A number from 0 to 1.
    jitter: Callable[[], float] = random.random
    now: Callable[[], datetime] = utc_now
    #: Seconds that only grow.
    monotonic: Callable[[], float] = time.monotonic


@dataclass(frozen=True)
class AsyncPace:
    """Time and randomness of an asynchronous client."""

    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    #: A number from 0 to 1.
    jitter: Callable[[], float] = random.random
    now: Callable[[], datetime] = utc_now
    #: Seconds that only grow.
    monotonic: Callable[[], float] = time.monotonic
