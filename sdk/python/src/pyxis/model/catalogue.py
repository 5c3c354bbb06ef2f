"""The catalogue of all Stamps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pyxis.core.decode import Wire


@dataclass(frozen=True)
class CatalogueStamp:
    """One Stamp of the catalogue."""

    #: The name used in credentials and scores.
    name: str
    description: str
    #: Keccak-256 of the name.
    hash: str


@dataclass(frozen=True)
class PlatformGroup:
    """Stamps of one kind, in display order."""

    name: str
    stamps: tuple[CatalogueStamp, ...]


@dataclass(frozen=True)
class Platform:
    """A place where an account or an activity is verified."""

    id: str
    icon: str
    name: str
    description: str
    groups: tuple[PlatformGroup, ...]
    connect_message: Annotated[str, Wire("connectMessage")]
