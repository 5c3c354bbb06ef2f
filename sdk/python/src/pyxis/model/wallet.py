"""Model scores of wallets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias

from pyxis.core.decode import Number

#: Models by name.
ModelName: TypeAlias = Literal[
    "aggregate", "ethereum_activity", "nft", "arbitrum", "base", "optimism", "polygon", "zksync"
]


@dataclass(frozen=True)
class SingleScore:
    """The score of one model."""

    score: Number


@dataclass(frozen=True)
class ModelScores:
    """Scores by model."""

    models: Mapping[str, SingleScore]


@dataclass(frozen=True)
class ModelScoreResponse:
    """The response of the server."""

    address: str
    details: ModelScores


@dataclass(frozen=True)
class ModelScore:
    """A model's score of a wallet."""

    address: str
    model: str
    #: 0 (likely Sybil) to 100 (likely human); None if there is too little data.
    score: Decimal | None
