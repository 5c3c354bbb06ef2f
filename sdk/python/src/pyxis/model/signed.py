"""Signed scores, which others verify without asking the server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyxis.core.decode import Time
from pyxis.model.score import Score


@dataclass(frozen=True)
class JwtScore:
    """A score with a token (ES256) for programs."""

    score: Score
    jwt: str


@dataclass(frozen=True)
class Eip712Score:
    """A score with a signature over typed data for EVM contracts."""

    score: Score
    #: 65 bytes as `0x` and hex digits.
    signature: str
    #: Address of the key.
    signer: str
    #: Domain, types and message, as wallets and libraries take them.
    typed_data: Mapping[str, object]


@dataclass(frozen=True)
class ScoreKey:
    """A public key that signs scores, or signed them once."""

    #: `es256` for tokens, `eip712` for typed data.
    scheme: str
    signs_from: Time
    #: None for the newest key.
    signs_until: Time | None
    #: Time from which nothing that the key signed is valid; None for the newest key.
    trusted_until: Time | None
    #: `kid` of tokens.
    kid: str | None = None
    #: Signer of typed data.
    address: str | None = None


@dataclass(frozen=True)
class ScoreKeys:
    """Every published key, newest first within each scheme."""

    #: `iss` of tokens.
    issuer: str
    keys: tuple[ScoreKey, ...]


@dataclass(frozen=True)
class TokenKeys:
    """Public keys of tokens (RFC 7517)."""

    #: Members by name, as libraries take them.
    keys: tuple[Mapping[str, object], ...]


@dataclass(frozen=True)
class SignedRecord(Score):
    """A score record with the signature that was asked for."""

    jwt: str | None = None
    signature: str | None = None
    signer: str | None = None
    typed_data: Mapping[str, object] | None = None
