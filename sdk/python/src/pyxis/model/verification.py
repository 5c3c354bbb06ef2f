"""Checks whether an address holds a valid proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from pyxis.core.decode import UnixTime, Wire

#: Kinds of proofs that make a person unique.
ProofKind: TypeAlias = Literal["gov-id", "epassport", "phone", "biometrics"]

#: The action that stands for uniqueness across all applications.
UNIVERSAL_ACTION = "123456789"


@dataclass(frozen=True)
class Verification:
    """The result of a check. A source that does not answer is an error, never False."""

    result: bool
    #: None without a proof, and if the source has no expiry.
    expires_at: Annotated[UnixTime | None, Wire("expirationDate")] = None
    #: With `explain=True`: `valid`, `none`, `expired`, `revoked`, `rebound`, `other_action`, `other_issuer` or
    #: `blocked`.
    reason: str | None = None


@dataclass(frozen=True)
class CleanHands:
    """The result of the clean-hands check by the external index."""

    result: bool
    attestation_id: Annotated[str | None, Wire("attestationId")] = None
    valid_until: Annotated[UnixTime | None, Wire("validUntil")] = None
    reason: str | None = None
