"""Scores of addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyxis.core.decode import Amount, Time


@dataclass(frozen=True)
class StampScore:
    """The part of one Stamp in a score."""

    score: Amount
    #: True if another address verified the same credential first. Then the Stamp contributes 0.
    dedup: bool
    #: Expiry of the credential; with `dedup`, that of the other address's credential.
    expiration_date: Time


@dataclass(frozen=True)
class ExplainedStamp:
    """The reason for one Stamp's contribution."""

    weight: Amount
    contribution: Amount
    reason: str


@dataclass(frozen=True)
class ScoreExplanation:
    """The arithmetic of a score, with `explain=True`."""

    revision: int
    threshold: Amount
    #: Amount by which the score passes, or falls short (negative).
    margin: Amount
    #: Next time at which the score changes without any event; None if never.
    valid_until: Time | None
    stamps: Mapping[str, ExplainedStamp]


@dataclass(frozen=True)
class Score:
    """The score of an address in a scorer."""

    #: In lower case.
    address: str
    score: Amount
    #: True if the score is at least the threshold.
    passing_score: bool
    threshold: Amount
    last_score_timestamp: Time
    #: Expiry of the first contributing Stamp; None if none contributes.
    expiration_timestamp: Time | None
    #: None, unless the score could be computed only in part.
    error: str | None
    stamps: Mapping[str, StampScore]
    explain: ScoreExplanation | None = None


@dataclass(frozen=True)
class FailedScoreReason:
    """The reason that an entry of a batch has no score."""

    #: Position in the list of addresses, from 0.
    index: int
    #: `invalid_address`.
    code: str
    detail: str


@dataclass(frozen=True)
class FailedScore:
    """An entry of a batch that has no score."""

    #: The entry as it was sent, shortened to 100 characters.
    address: str
    error: FailedScoreReason


@dataclass(frozen=True)
class ScoreEntries:
    """Scores and failed entries in the order of the request."""

    items: tuple[FailedScore | Score, ...]


@dataclass(frozen=True)
class Scores:
    """Scores in the order of the request."""

    items: tuple[Score, ...]
