"""Reading of JSON into dataclasses, by their annotations.

Members that a class does not name are ignored, as the API asks of its clients. A member of the wrong type is an
`InvalidResponseError` that names its place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from datetime import datetime, timezone
from decimal import Decimal
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from pyxis.errors import InvalidResponseError

T = TypeVar("T")

#: A decimal number that the API writes as text.
Amount = Annotated[Decimal, "text"]
#: A decimal number that the API writes as a JSON number.
Number = Annotated[Decimal, "number"]
#: A time that the API writes as text.
Time = Annotated[datetime, "text"]
#: A time that the API writes as seconds since 1970.
UnixTime = Annotated[datetime, "seconds"]

_DECIMAL = re.compile(r"-?[0-9]{1,60}(?:\.[0-9]{1,60})?\Z", re.ASCII)
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|z|[+-]\d\d:\d\d)\Z",
    re.ASCII,
)
_MAX_SECONDS = 253_402_300_799  # the end of the year 9999


@dataclass(frozen=True)
class Wire:
    """The name of a member in JSON, where the attribute has another one."""

    name: str


@dataclass(frozen=True)
class Member:
    """A field of a dataclass with its name in JSON."""

    attribute: str
    name: str
    kind: Any
    required: bool


@cache
def members(kind: type) -> tuple[Member, ...]:
    """The members that a dataclass reads."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple(_member(each, hints[each.name]) for each in fields(kind))


def _member(each: Field[Any], kind: Any) -> Member:
    required = each.default is MISSING and each.default_factory is MISSING
    name = each.name
    for mark in getattr(kind, "__metadata__", ()):
        if isinstance(mark, Wire):
            name = mark.name
    return Member(each.name, name, kind, required)


def parse_json(body: bytes) -> object:
    """Read JSON, with numbers as `int` and `Decimal`."""
    try:
        value: object = json.loads(body, parse_float=Decimal, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise InvalidResponseError("the response is not JSON; is base_url the address of Pyxis?") from None
    return value


def _no_constant(name: str) -> None:
    raise ValueError(name)


def decode(kind: Any, value: object, place: str = "response") -> Any:
    """Read `value` as `kind`: a dataclass, a tuple, a mapping, an optional or a plain type."""
    origin = get_origin(kind)
    if origin is Annotated:
        return _annotated(kind, value, place)
    if origin in (Union, UnionType):
        if value is None:
            return None
        return _one_of([each for each in get_args(kind) if each is not NoneType], value, place)
    if origin is tuple:
        items = _expect(list, value, place)
        if get_args(kind)[-1] is not Ellipsis:
            return _pair(get_args(kind), items, place)
        return tuple(decode(get_args(kind)[0], each, f"{place}[{at}]") for at, each in enumerate(items))
    if origin is Mapping:
        entries = _expect(dict, value, place)
        return {name: decode(get_args(kind)[1], each, f"{place}.{name}") for name, each in entries.items()}
    if kind is object:
        return value
    if is_dataclass(kind):
        return _dataclass(kind, _expect(dict, value, place), place)
    return _expect(kind, value, place)


def _one_of(kinds: list[Any], value: object, place: str) -> Any:
    """The value as the first of the kinds that fits; the last one names the fault."""
    for kind in kinds[:-1]:
        try:
            return decode(kind, value, place)
        except InvalidResponseError:
            continue
    return decode(kinds[-1], value, place)


def _dataclass(kind: Any, value: Mapping[str, object], place: str) -> Any:
    arguments = {}
    for member in members(kind):
        if member.name in value:
            arguments[member.attribute] = decode(member.kind, value[member.name], f"{place}.{member.name}")
        elif member.required:
            raise InvalidResponseError(f"{place} has no member {member.name}")
    return kind(**arguments)


def _pair(kinds: tuple[Any, ...], items: list[object], place: str) -> tuple[Any, ...]:
    if len(items) != len(kinds):
        raise InvalidResponseError(f"{place} has {len(items)} entries instead of {len(kinds)}")
    return tuple(decode(kind, each, place) for kind, each in zip(kinds, items, strict=True))


def _annotated(kind: Any, value: object, place: str) -> Any:
    form = kind.__metadata__[0]
    if isinstance(form, Wire):
        return decode(get_args(kind)[0], value, place)
    if form == "seconds":
        seconds = _expect(int, value, place)
        if not 0 <= seconds <= _MAX_SECONDS:
            raise InvalidResponseError(f"{place} is not a time")
        return datetime.fromtimestamp(seconds, timezone.utc)
    if form == "number":
        if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
            raise InvalidResponseError(f"{place} is not a number")
        return Decimal(value)
    text = _expect(str, value, place)
    return _time(text, place) if get_args(kind)[0] is datetime else _decimal(text, place)


def _decimal(text: str, place: str) -> Decimal:
    if not _DECIMAL.match(text):
        raise InvalidResponseError(f"{place} is not a decimal number")
    return Decimal(text)


def _time(text: str, place: str) -> datetime:
    found = _TIME.match(text)
    if found is None:
        raise InvalidResponseError(f"{place} is not a time")
    seconds, fraction, zone = found.groups()
    micros = (fraction or "").ljust(6, "0")[:6]
    try:
        moment = datetime.fromisoformat(f"{seconds}.{micros}{'+00:00' if zone in 'Zz' else zone}")
    except ValueError:
        raise InvalidResponseError(f"{place} is not a time") from None
    return moment.astimezone(timezone.utc)


def _expect(kind: Any, value: object, place: str) -> Any:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise InvalidResponseError(f"{place} is not a {_NAMES.get(kind, kind.__name__)}")
    return value


_NAMES = {str: "text", int: "whole number", bool: "boolean", list: "list", dict: "JSON object"}
