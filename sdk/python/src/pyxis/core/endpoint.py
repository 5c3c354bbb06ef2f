"""Operations of the API: method, path, parameters and response.

Every request is made through one of these, so a test can hold all of them against the server's OpenAPI document.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode

from pyxis.core.message import Request
from pyxis.core.repeat import READ, Repeat
from pyxis.errors import InvalidArgumentError

Parameter = str | int | bool | None


@dataclass(frozen=True)
class Endpoint:
    """One operation. `response` is the type of its 200."""

    method: str
    #: Path with the names of its parameters in braces.
    path: str
    response: Any
    query: frozenset[str] = frozenset()
    #: Members of a JSON body.
    body: frozenset[str] | None = None
    headers: frozenset[str] = frozenset()
    repeat: Repeat = READ

    def request(
        self,
        path: Mapping[str, str | int] | None = None,
        query: Mapping[str, Parameter] | None = None,
        body: Mapping[str, object] | Sequence[object] | None = None,
    ) -> Request:
        """Build the request. Parameters that are None are left out."""
        target = self.path
        for name, value in (path or {}).items():
            target = target.replace("{" + name + "}", _segment(name, value))
        written = {name: _text(value) for name, value in (query or {}).items() if value is not None}
        unknown = written.keys() - self.query
        if unknown:
            raise AssertionError(f"{self.path} has no parameter {sorted(unknown)}")
        if written:
            target = f"{target}?{urlencode(written)}"
        request = Request(self.method, target, repeat=self.repeat)
        if body is None:
            return request
        content = json.dumps(body, allow_nan=False, separators=(",", ":")).encode()
        return replace(request, headers=(("content-type", "application/json"),), body=content)


def _segment(name: str, value: str | int) -> str:
    """Escape a value so that it stays one segment of the path."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise InvalidArgumentError(f"{name} must be text, not {type(value).__name__}")
    text = str(value)
    if text in ("", ".", ".."):
        raise InvalidArgumentError(f"{name} must not be {text!r}")
    return quote(_encodable(name, text), safe="")


def _encodable(name: str, text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidArgumentError(f"{name} is not valid Unicode") from None
    return text


def _text(value: Parameter) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _encodable("a parameter", str(value))
