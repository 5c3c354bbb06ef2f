"""Stamps that an address has verified."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pyxis.core.decode import Wire


@dataclass(frozen=True)
class PlatformHead:
    """The platform of a Stamp, without its groups."""

    id: str
    icon: str
    name: str
    description: str
    connect_message: Annotated[str, Wire("connectMessage")]


@dataclass(frozen=True)
class StampMetadata:
    """The catalogue's entry for a Stamp."""

    group: str
    platform: PlatformHead
    name: str
    description: str
    hash: str


@dataclass(frozen=True)
class Stamp:
    """A verified Stamp with its verifiable credential."""

    version: str
    credential: Mapping[str, object]
    #: None without `include_metadata`, and for a Stamp that the catalogue does not list.
    metadata: StampMetadata | None = None


@dataclass(frozen=True)
class StampPage:
    """Stamps, newest first."""

    #: Token of the page with older Stamps; None at the end.
    next: str | None
    #: Token of the page with newer Stamps; None at the start.
    prev: str | None
    items: tuple[Stamp, ...]


@dataclass(frozen=True)
class StampRejection:
    """The reason that a credential was refused."""

    #: Position in the request, from 0.
    index: int
    code: str
    detail: str


@dataclass(frozen=True)
class StampOutcome:
    """Outcome of one credential: `accepted`, `replaced`, `unchanged` or `rejected`."""

    status: str
    provider: str | None = None
    error: StampRejection | None = None


@dataclass(frozen=True)
class StampOutcomes:
    """Outcomes in the order of the request."""

    items: tuple[StampOutcome, ...]


@dataclass(frozen=True)
class RemovedStamps:
    """Number of Stamps that were removed."""

    removed: int
