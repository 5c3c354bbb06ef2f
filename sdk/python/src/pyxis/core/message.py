"""Requests and responses as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyxis.core.repeat import READ, Repeat


@dataclass(frozen=True)
class Request:
    """A request without its key, which the transport adds."""

    method: str
    #: Escaped path and query.
    target: str
    headers: Sequence[tuple[str, str]] = ()
    body: bytes | None = field(default=None, repr=False)
    repeat: Repeat = READ
    #: Seconds that the server may take on purpose, in addition to the timeout.
    wait: float = 0.0


@dataclass(frozen=True)
class Response:
    """A complete response. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    #: All header lines in order, repeated ones included.
    lines: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class NoResponse:
    """The lack of a response."""

    reason: str
    #: True unless the request certainly did not reach the server.
    may_have_arrived: bool
    timed_out: bool = False
    #: True if another attempt would fail alike.
    permanent: bool = False
    #: True if the request itself is at fault.
    unsendable: bool = False


@dataclass(frozen=True)
class Send:
    """An order to the transport: send this, and return a `Response` or `NoResponse`."""

    request: Request


@dataclass(frozen=True)
class Sleep:
    """An order to the transport: wait for so many seconds."""

    seconds: float
