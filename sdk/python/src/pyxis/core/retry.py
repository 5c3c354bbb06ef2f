"""The decision to send a request again, as a function of what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

from pyxis.core.message import NoResponse, Request, Response
from pyxis.errors import InvalidArgumentError

#: Share of a delay that is added at random, so that many clients do not come back together.
SPREAD = 0.25


@dataclass(frozen=True)
class RetryPolicy:
    """Number and delays of repetitions. All times are seconds."""

    #: Attempts altogether; 1 repeats nothing.
    attempts: int = 5
    #: Delay before the second attempt. Each delay is twice the one before.
    first_delay: float = 0.5
    #: Longest delay that grows this way.
    max_delay: float = 30.0
    #: Longest `Retry-After` that is waited for. If the server asks for more, the error is raised at once.
    max_retry_after: float = 60.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise InvalidArgumentError("attempts must be 1 or more; 1 repeats nothing")
        if min(self.first_delay, self.max_delay, self.max_retry_after) < 0:
            raise InvalidArgumentError("first_delay, max_delay and max_retry_after must not be negative")


@dataclass(frozen=True)
class Verdict:
    """The decision. `pause` is None if the request is not sent again."""

    pause: float | None
    #: True if another attempt would be allowed, had there been fewer.
    exhausted: bool = False


FINAL = Verdict(None)


def decide(
    policy: RetryPolicy,
    request: Request,
    result: Response | NoResponse,
    attempt: int,
    jitter: Callable[[], float],
    now: datetime,
) -> Verdict:
    """Decide after attempt number `attempt`, from 1. `jitter` returns 0 to 1."""
    if not _may_repeat(request, result):
        return FINAL
    if attempt >= policy.attempts:
        return Verdict(None, exhausted=True)
    delay = min(policy.first_delay * 2.0 ** min(attempt - 1, 60), policy.max_delay)
    asked = retry_after(result, now) if isinstance(result, Response) else None
    if asked is not None and asked > policy.max_retry_after:
        return FINAL
    return Verdict(max(delay, asked or 0.0) + delay * SPREAD * jitter())


def _may_repeat(request: Request, result: Response | NoResponse) -> bool:
    repeat = request.repeat
    if isinstance(result, NoResponse):
        return not result.permanent and (repeat.after_silence or not result.may_have_arrived)
    return result.status in repeat.statuses or result.headers.get("px-error") in repeat.codes


def retry_after(response: Response, now: datetime) -> float | None:
    """Seconds of `Retry-After`, which is a number or a date. None if it is missing or neither."""
    text = response.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:12])
    try:
        moment = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return max((moment - now).total_seconds(), 0.0)
