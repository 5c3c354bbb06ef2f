"""Errors made of what the server answers. Its interfaces have three forms of error bodies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus

from pyxis import errors
from pyxis.core.message import NoResponse, Response
from pyxis.core.retry import retry_after

_MAX_DETAIL = 500

_BY_STATUS: Mapping[int, type[errors.ApiError]] = {
    400: errors.BadRequestError,
    401: errors.AuthenticationError,
    403: errors.PermissionDeniedError,
    404: errors.NotFoundError,
    409: errors.ConflictError,
    422: errors.UnprocessableError,
    429: errors.RateLimitedError,
    502: errors.UpstreamError,
    503: errors.UnavailableError,
    504: errors.UpstreamError,
}


def api_error(response: Response, *, attempts: int, exhausted: bool, now: datetime) -> errors.PyxisError:
    """The error for a response that is no success."""
    if response.status < 400:
        return errors.InvalidResponseError(
            f"{response.status}: not a response of this operation; is base_url the address of Pyxis?"
        )
    members = _members(response.body)
    code = _text(members.get("code")) or response.headers.get("px-error")
    detail = _detail(members) or _title(response.status)
    prefix = f"given up after {attempts} attempts: " if exhausted and attempts > 1 else ""
    error = _class(response.status, code)(
        f"{prefix}{response.status}: {detail}",
        status=response.status,
        code=code,
        title=_text(members.get("title")),
        detail=detail,
        request_id=_text(members.get("request_id")) or response.headers.get("x-request-id"),
        retry_after=retry_after(response, now),
        attempts=attempts,
        members=members,
    )
    error.invalid = _invalid(members)
    return error


def transport_error(result: NoResponse, *, attempts: int, exhausted: bool) -> errors.PyxisError:
    """The error for no response."""
    if result.unsendable:
        return errors.InvalidArgumentError(result.reason)
    kind = errors.ResponseTimeoutError if result.timed_out else errors.TransportError
    prefix = f"given up after {attempts} attempts: " if exhausted and attempts > 1 else ""
    return kind(prefix + result.reason, may_have_arrived=result.may_have_arrived, attempts=attempts)


def _class(status: int, code: str | None) -> type[errors.ApiError]:
    if code == "outcome_unknown":
        return errors.OutcomeUnknownError
    return _BY_STATUS.get(status) or (errors.ServerError if status >= 500 else errors.ApiError)


def _members(body: bytes) -> Mapping[str, object]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _detail(members: Mapping[str, object]) -> str | None:
    """A sentence: `detail` as text or as a list of bad parameters, or `error`."""
    detail = members.get("detail")
    if isinstance(detail, list):
        lines = [_parameter(each) for each in detail[:20] if isinstance(each, dict)]
        return _text("; ".join(lines))
    return _text(detail) or _text(_with_known(members))


def _with_known(members: Mapping[str, object]) -> object:
    """The error of a check, with the values that the parameter may have."""
    error, known = members.get("error"), members.get("known")
    if not isinstance(error, str) or not isinstance(known, list) or not known:
        return error
    return f"{error}; known: {', '.join(str(each) for each in known)}"


def _parameter(fault: Mapping[str, object]) -> str:
    place = fault.get("loc")
    path = ".".join(str(each) for each in place) if isinstance(place, list) else "request"
    return f"{path}: {fault.get('msg')}"


def _invalid(members: Mapping[str, object]) -> tuple[errors.InvalidEntry, ...]:
    entries = members.get("invalid")
    found = []
    for each in entries if isinstance(entries, list) else ():
        if isinstance(each, dict) and isinstance(each.get("index"), int):
            found.append(errors.InvalidEntry(each["index"], str(each.get("value")), str(each.get("reason"))))
    return tuple(found)


def _text(value: object) -> str | None:
    """Text on one line that a terminal or log shows as it is."""
    if not isinstance(value, str) or not value:
        return None
    return "".join(each if each.isprintable() else "�" for each in value[:_MAX_DETAIL])


def _title(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "no detail"
