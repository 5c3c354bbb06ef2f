"""Operations of signed scores."""

from __future__ import annotations

from dataclasses import fields

from pyxis.core.endpoint import Endpoint
from pyxis.core.exchange import Exchange, Plan
from pyxis.core.scoring import check_scorer
from pyxis.errors import InvalidArgumentError, InvalidResponseError
from pyxis.model.score import Score
from pyxis.model.signed import Eip712Score, JwtScore, ScoreKeys, SignedRecord, TokenKeys

_PATH = "/v2/stamps/{scorer_id}/score/{address}"
_QUERY = frozenset({"signed", "chain_id", "verifying_contract"})
SIGNED_SCORE = Endpoint("GET", _PATH, SignedRecord, _QUERY)
# Signing changes nothing, so it may be repeated.
SIGN_SCORE = Endpoint("POST", _PATH, SignedRecord, _QUERY, frozenset({"challenge", "audience"}))
SCORE_KEYS = Endpoint("GET", "/.well-known/pyxis-score-keys", ScoreKeys)
TOKEN_KEYS = Endpoint("GET", "/.well-known/jwks.json", TokenKeys)


def jwt(
    exchange: Exchange, scorer_id: int, address: str, challenge: str | None, audience: str | None
) -> Plan[JwtScore]:
    """The latest score of an address as a token."""
    if audience is not None and challenge is None:
        raise InvalidArgumentError("audience needs a challenge: only a score that answers one names its recipient")
    body = None if challenge is None else {"challenge": challenge}
    if body is not None and audience is not None:
        body["audience"] = audience
    record = yield from _signed(exchange, scorer_id, address, {"signed": "jwt"}, body)
    if record.jwt is None:
        raise InvalidResponseError("the response has no token")
    return JwtScore(_score(record), record.jwt)


def eip712(
    exchange: Exchange,
    scorer_id: int,
    address: str,
    chain_id: int | None,
    verifying_contract: str | None,
    challenge: str | None,
) -> Plan[Eip712Score]:
    """The latest score of an address as typed data."""
    query: dict[str, str | int | bool | None] = {
        "signed": "eip712",
        "chain_id": chain_id,
        "verifying_contract": verifying_contract,
    }
    body = None if challenge is None else {"challenge": challenge}
    record = yield from _signed(exchange, scorer_id, address, query, body)
    if record.signature is None or record.signer is None or record.typed_data is None:
        raise InvalidResponseError("the response has no typed data with its signature")
    return Eip712Score(_score(record), record.signature, record.signer, record.typed_data)


def keys(exchange: Exchange) -> Plan[ScoreKeys]:
    """The public keys that sign scores."""
    result: ScoreKeys = yield from exchange.call(SCORE_KEYS, SCORE_KEYS.request())
    return result


def token_keys(exchange: Exchange) -> Plan[TokenKeys]:
    """The public keys of tokens."""
    result: TokenKeys = yield from exchange.call(TOKEN_KEYS, TOKEN_KEYS.request())
    return result


def _signed(
    exchange: Exchange,
    scorer_id: int,
    address: str,
    query: dict[str, str | int | bool | None],
    body: dict[str, str] | None,
) -> Plan[SignedRecord]:
    """The record of a signed score: made now for a challenge, or as it is kept."""
    path: dict[str, str | int] = {"scorer_id": check_scorer(scorer_id), "address": address}
    endpoint = SIGNED_SCORE if body is None else SIGN_SCORE
    result: SignedRecord = yield from exchange.call(endpoint, endpoint.request(path, query, body))
    return result


def _score(record: SignedRecord) -> Score:
    return Score(**{each.name: getattr(record, each.name) for each in fields(Score)})
