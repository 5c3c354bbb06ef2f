"""Every error that this package raises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


class PyxisError(Exception):
    """Base of all errors of this package."""


class InvalidArgumentError(PyxisError, ValueError):
    """An argument that cannot be sent. Nothing was sent."""


class TransportError(PyxisError):
    """No response: no connection, or it broke off.

    `may_have_arrived` is False if the request certainly did not reach the server.
    """

    def __init__(self, message: str, *, may_have_arrived: bool, attempts: int) -> None:
        super().__init__(message)
        self.may_have_arrived = may_have_arrived
        self.attempts = attempts


class ResponseTimeoutError(TransportError):
    """No complete response in the time that the client allows."""


class InvalidResponseError(PyxisError):
    """A response that is not what the API describes, so another program may have sent it."""


@dataclass(frozen=True)
class InvalidEntry:
    """One bad entry of a list. `index` is its position in the list that the caller gave, from 0."""

    index: int
    value: str
    reason: str


class ApiError(PyxisError):
    """A refusal or failure that the server reports. Match on the class, `status` and `code`."""

    def __init__(
        self,
        message: str,
        *,
        status: int,
        code: str | None,
        title: str | None,
        detail: str,
        request_id: str | None,
        retry_after: float | None,
        attempts: int,
        members: Mapping[str, object],
    ) -> None:
        super().__init__(message)
        self.status = status
        #: Stable code (`docs/reference/errors.md`); None on interfaces that have no codes.
        self.code = code
        self.title = title
        #: A sentence for people, which can change.
        self.detail = detail
        #: Name of the request in the server's log.
        self.request_id = request_id
        #: Seconds after which the same request may be sent again.
        self.retry_after = retry_after
        #: Number of times that the request was sent.
        self.attempts = attempts
        #: Every member of the body, for what has no attribute here.
        self.members = members
        #: Bad entries of a list, the first 20 of them.
        self.invalid: tuple[InvalidEntry, ...] = ()


class BadRequestError(ApiError):
    """400: the request cannot be read."""


class AuthenticationError(ApiError):
    """401: the key is missing, unknown or revoked."""


class PermissionDeniedError(ApiError):
    """403: the key may not do this."""


class NotFoundError(ApiError):
    """404: not there, or not yours."""


class ConflictError(ApiError):
    """409: the state does not allow it."""


class UnprocessableError(ApiError):
    """422: well formed, with a bad value."""


class RateLimitedError(ApiError):
    """429: too many requests. `retry_after` says when to send it again."""


class ServerError(ApiError):
    """5xx: the server failed."""


class UpstreamError(ServerError):
    """502 or 504: what the server needed to ask failed or did not answer in time."""


class OutcomeUnknownError(UpstreamError):
    """A forwarded request was sent and got no response: it may have been executed. Look at the upstream first."""


class UnavailableError(ServerError):
    """503: nothing was sent or changed. Try again later."""


class ApprovalError(PyxisError):
    """An approval that did not lead to a response."""

    def __init__(self, message: str, *, txn_id: str, reason: str | None = None) -> None:
        super().__init__(message)
        self.txn_id = txn_id
        #: The approver's words, or the code of the failure.
        self.reason = reason


class ApprovalDeniedError(ApprovalError):
    """A person denied the request. Nothing was sent."""


class ApprovalExpiredError(ApprovalError):
    """No one decided in time, or the request was withdrawn. Nothing was sent."""


class StillPendingError(ApprovalError):
    """No one has decided in the time that the caller allowed. The request still waits."""


class NotCompletedError(ApprovalError):
    """Approved, but not completed. With `outcome_unknown` in `reason` it may have been executed."""
