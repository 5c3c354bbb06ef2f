"""Parts that both transports share: settings, the request as httpx takes it, and the reading of its failures."""

from __future__ import annotations

import ssl
from dataclasses import dataclass

import httpx

from pyxis._version import __version__
from pyxis.core.base_url import BaseUrl
from pyxis.core.message import NoResponse, Request, Response
from pyxis.core.secret import Secret
from pyxis.errors import InvalidArgumentError, InvalidResponseError

USER_AGENT = f"pyxis-python/{__version__}"
#: Largest response that is read, in bytes.
MAX_RESPONSE = 64 * 1024 * 1024


@dataclass(frozen=True)
class Connection:
    """The server, the key and its header, and the time limit in seconds."""

    base_url: BaseUrl
    key_header: str
    key: Secret | None
    timeout: float
    tls: ssl.SSLContext | None = None

    def __post_init__(self) -> None:
        if not 0 < self.timeout < float("inf"):
            raise InvalidArgumentError("timeout must be a number of seconds above 0")
        if self.key is not None:
            self.base_url.check_key(self.key_header)

    def verify(self) -> ssl.SSLContext | bool:
        """The certificates to trust: the caller's, or those of httpx."""
        return self.tls or True

    @property
    def trusts_environment(self) -> bool:
        """False without TLS: a proxy of the environment would read the key."""
        return self.base_url.is_encrypted

    def limit(self, request: Request) -> float:
        """Seconds for the whole response."""
        return self.timeout + request.wait

    def build(self, client: httpx.Client | httpx.AsyncClient, request: Request) -> httpx.Request:
        """The request with its key."""
        headers = [("user-agent", USER_AGENT), *request.headers]
        if self.key is not None:
            headers.append((self.key_header, self.key.expose()))
        return client.build_request(
            request.method,
            self.base_url.text + request.target,
            headers=headers,
            content=request.body,
            timeout=self.limit(request),
        )


def failure(error: httpx.HTTPError | httpx.InvalidURL) -> NoResponse:
    """The reason that there is no response. Texts of httpx can hold header values, so they are not repeated."""
    if isinstance(error, (httpx.LocalProtocolError, httpx.UnsupportedProtocol, httpx.InvalidURL)):
        reason = "the request cannot be written: look at its headers and URL"
        return NoResponse(reason, may_have_arrived=False, permanent=True, unsendable=True)
    before = isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError))
    if isinstance(error, httpx.TimeoutException):
        reason = "no connection in time" if before else "no response in time"
        return NoResponse(reason, not before, timed_out=True)
    if before:
        return NoResponse(f"no connection: {error}", False, permanent=_is_refused_certificate(error))
    return NoResponse(f"the connection ended without a complete response ({type(error).__name__})", True)


def _is_refused_certificate(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False


class Body:
    """Collects a body, within its limits of size and time."""

    def __init__(self, deadline: float) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._deadline = deadline

    def add(self, part: bytes, now: float) -> bool:
        """Add a part. False if the time is over."""
        self._size += len(part)
        if self._size > MAX_RESPONSE:
            raise InvalidResponseError(f"the response has more than {MAX_RESPONSE} bytes")
        self._parts.append(part)
        return now <= self._deadline

    def response(self, response: httpx.Response) -> Response:
        """The complete response."""
        lines = [(name.lower(), value) for name, value in response.headers.multi_items()]
        return Response(response.status_code, dict(lines), b"".join(self._parts), lines)


TOO_LATE = NoResponse("no complete response in time", may_have_arrived=True, timed_out=True)
