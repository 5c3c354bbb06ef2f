"""Failures of a request that may be answered by sending it again."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Repeat:
    """Failures after which a request may be sent again."""

    #: After no response, although the request may have arrived.
    after_silence: bool
    #: After these statuses.
    statuses: frozenset[int] = frozenset()
    #: After these codes of the server itself (`PX-Error`).
    codes: frozenset[str] = frozenset()


#: Requests that change nothing, or the same twice.
READ = Repeat(after_silence=True, statuses=frozenset({429, 502, 503, 504}))
#: Questions of agents.
POLL = Repeat(after_silence=True, codes=frozenset({"unavailable", "busy"}), statuses=frozenset({502, 503, 504}))
#: Changes that are not the same when made twice.
CHANGE = Repeat(after_silence=False, codes=frozenset({"busy"}))
#: Forwarded requests. A status alone may be the upstream's, so only codes of the server itself count.
_NOT_FORWARDED = frozenset({"rate_limited", "unavailable", "busy"})
FORWARD_ONCE = Repeat(after_silence=False, codes=_NOT_FORWARDED)
#: With an idempotency key, or a method that changes nothing.
FORWARD_SAFE = Repeat(after_silence=True, codes=_NOT_FORWARDED | {"idempotency_in_progress"})
