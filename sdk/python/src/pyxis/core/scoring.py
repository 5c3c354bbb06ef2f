"""Operations of the Stamps API and the model scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timezone

from pyxis.core.decode import decode, parse_json
from pyxis.core.endpoint import Endpoint
from pyxis.core.exchange import Exchange, Plan
from pyxis.errors import BadRequestError, InvalidArgumentError, InvalidEntry, InvalidResponseError
from pyxis.model.catalogue import Platform
from pyxis.model.score import FailedScore, Score, ScoreEntries, Scores
from pyxis.model.stamp import RemovedStamps, StampOutcome, StampOutcomes, StampPage
from pyxis.model.wallet import ModelScore, ModelScoreResponse

SCORE = Endpoint("GET", "/v2/stamps/{scorer_id}/score/{address}", Score, frozenset({"explain"}))
SCORES = Endpoint("POST", "/v2/stamps/{scorer_id}/scores", Scores, frozenset({"strict"}), frozenset({"addresses"}))
SCORE_ENTRIES = replace(SCORES, response=ScoreEntries)
HISTORY = Endpoint("GET", "/v2/stamps/{scorer_id}/score/{address}/history", Scores, frozenset({"created_at"}))
STAMPS = Endpoint("GET", "/v2/stamps/{address}", StampPage, frozenset({"include_metadata", "limit", "token"}))
# The same credential again is `unchanged`, and a Stamp is removed once: both may be repeated.
ADD_STAMPS = Endpoint("POST", "/v2/stamps/{address}", StampOutcomes, body=frozenset())
REMOVE_STAMP = Endpoint("DELETE", "/v2/stamps/{address}", RemovedStamps, frozenset({"provider"}))
CATALOGUE = Endpoint("GET", "/v2/stamps/metadata", tuple[Platform, ...])
MODEL_SCORE = Endpoint("GET", "/v2/models/score/{address}", ModelScoreResponse, frozenset({"model"}))

#: Largest number of addresses in one request.
BATCH = 1000
#: Largest page of Stamps.
PAGE = 1000


def score(exchange: Exchange, scorer_id: int, address: str, explain: bool) -> Plan[Score]:
    """The latest score of an address."""
    path: dict[str, str | int] = {"scorer_id": check_scorer(scorer_id), "address": address}
    result: Score = yield from exchange.call(SCORE, SCORE.request(path, {"explain": explain or None}))
    return result


def scores(exchange: Exchange, scorer_id: int, addresses: Iterable[str]) -> Plan[list[Score]]:
    """The scores of any number of addresses, in requests of at most `BATCH`."""
    wanted = _texts(addresses)
    path = {"scorer_id": check_scorer(scorer_id)}
    found: list[Score] = []
    for start in range(0, len(wanted), BATCH):
        part = wanted[start : start + BATCH]
        request = SCORES.request(path, {"strict": True}, body={"addresses": part})
        try:
            result: Scores = yield from exchange.call(SCORES, request)
        except BadRequestError as error:
            error.invalid = tuple(InvalidEntry(e.index + start, e.value, e.reason) for e in error.invalid)
            raise
        _check_length(len(result.items), len(part))
        found += result.items
    return found


def score_entries(exchange: Exchange, scorer_id: int, addresses: Iterable[str]) -> Plan[list[Score | FailedScore]]:
    """The same, with an entry that is not an address as a `FailedScore` in its place."""
    wanted = _texts(addresses)
    path = {"scorer_id": check_scorer(scorer_id)}
    found: list[Score | FailedScore] = []
    for start in range(0, len(wanted), BATCH):
        part = wanted[start : start + BATCH]
        request = SCORE_ENTRIES.request(path, body={"addresses": part})
        result: ScoreEntries = yield from exchange.call(SCORE_ENTRIES, request)
        _check_length(len(result.items), len(part))
        found += [_moved(item, start) for item in result.items]
    return found


def _moved(item: FailedScore | Score, start: int) -> FailedScore | Score:
    """The entry with its position in the whole list."""
    if isinstance(item, Score):
        return item
    return replace(item, error=replace(item.error, index=item.error.index + start))


def _texts(addresses: Iterable[str]) -> list[str]:
    if isinstance(addresses, str):
        raise InvalidArgumentError("addresses must be a list of texts, not one text")
    return list(addresses)


def _check_length(found: int, wanted: int) -> None:
    if found != wanted:
        raise InvalidResponseError(f"{found} scores for {wanted} addresses")


def history(exchange: Exchange, scorer_id: int, address: str, before: date | str) -> Plan[Score | None]:
    """The latest score that was answered before a time."""
    path: dict[str, str | int] = {"scorer_id": check_scorer(scorer_id), "address": address}
    request = HISTORY.request(path, {"created_at": _moment(before)})
    result: Scores = yield from exchange.call(HISTORY, request)
    return result.items[0] if result.items else None


def stamp_page(
    exchange: Exchange, address: str, include_metadata: bool, page_size: int, token: str | None
) -> Plan[StampPage]:
    """One page of Stamps."""
    if not 1 <= page_size <= PAGE:
        raise InvalidArgumentError(f"page_size must be 1 to {PAGE}, not {page_size}")
    query = {"include_metadata": include_metadata or None, "limit": page_size, "token": token}
    result: StampPage = yield from exchange.call(STAMPS, STAMPS.request({"address": address}, query))
    if token is not None and result.next == token:
        raise InvalidResponseError("the next page of Stamps is the same page")
    return result


def add_stamps(
    exchange: Exchange, address: str, credentials: Sequence[Mapping[str, object]]
) -> Plan[tuple[StampOutcome, ...]]:
    """Store verifiable credentials of an address."""
    request = ADD_STAMPS.request({"address": address}, body=list(credentials))
    result: StampOutcomes = yield from exchange.call(ADD_STAMPS, request)
    return result.items


def remove_stamp(exchange: Exchange, address: str, provider: str) -> Plan[int]:
    """Remove the Stamp of this name."""
    request = REMOVE_STAMP.request({"address": address}, {"provider": provider})
    result: RemovedStamps = yield from exchange.call(REMOVE_STAMP, request)
    return result.removed


def catalogue(exchange: Exchange) -> Plan[tuple[Platform, ...]]:
    """All Stamps, by platform."""
    response = yield from exchange.succeed(CATALOGUE.request())
    result: tuple[Platform, ...] = decode(CATALOGUE.response, parse_json(response.body))
    return result


def model_score(exchange: Exchange, address: str, model: str) -> Plan[ModelScore]:
    """A model's score of a wallet. -1 of the server, too little data, is None here."""
    request = MODEL_SCORE.request({"address": address}, {"model": model})
    result: ModelScoreResponse = yield from exchange.call(MODEL_SCORE, request)
    single = result.details.models.get(model)
    if single is None:
        raise InvalidResponseError(f"the response has no score of the model {model}")
    return ModelScore(result.address, model, None if single.score < 0 else single.score)


def check_scorer(scorer_id: int) -> int:
    """The number of a scorer, if it is one."""
    if isinstance(scorer_id, bool) or not isinstance(scorer_id, int) or scorer_id < 1:
        raise InvalidArgumentError(f"scorer_id must be a whole number from 1, not {scorer_id!r}")
    return scorer_id


def _moment(before: date | str) -> str:
    if isinstance(before, str):
        before = _read_moment(before)
        if isinstance(before, datetime) and before.tzinfo is None:
            raise InvalidArgumentError("before needs a time zone: end it with Z, or with an offset such as +02:00")
    if not isinstance(before, date):
        raise InvalidArgumentError(f"before must be a date or a time, not {type(before).__name__}")
    if not isinstance(before, datetime):
        return before.isoformat()
    if before.tzinfo is None:
        raise InvalidArgumentError("before needs a time zone: pass tzinfo=timezone.utc for a time in UTC")
    return before.astimezone(timezone.utc).isoformat(timespec="microseconds")


def _read_moment(text: str) -> date:
    try:
        if len(text) == len("2026-01-31"):
            return date.fromisoformat(text)
        return datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
    except ValueError:
        message = f"before must be a date such as 2026-01-31, or a time such as 2026-01-31T09:05:00Z, not {text!r}"
        raise InvalidArgumentError(message) from None
