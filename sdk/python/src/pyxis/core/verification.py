"""Operations of the verification checks."""

from __future__ import annotations

from pyxis.core.endpoint import Endpoint
from pyxis.core.exchange import Exchange, Plan
from pyxis.model.verification import CleanHands, Verification

_EXPLAIN = frozenset({"explain"})
UNIQUE = Endpoint(
    "GET", "/sybil-resistance/{credential_type}/{network}", Verification, _EXPLAIN | {"user", "action-id"}
)
RESIDENCE = Endpoint("GET", "/residence/country/{country}/{network}", Verification, _EXPLAIN | {"user"})
CLEAN_HANDS = Endpoint("GET", "/attestation/clean-hands/{address}", CleanHands, _EXPLAIN)


def unique(
    exchange: Exchange, address: str, kind: str, network: str, action_id: str | int, explain: bool
) -> Plan[Verification]:
    """A valid proof of this kind that is unique for an action."""
    path = {"credential_type": kind, "network": network}
    query = {"user": address, "action-id": action_id, "explain": explain or None}
    result: Verification = yield from exchange.call(UNIQUE, UNIQUE.request(path, query))
    return result


def residence(exchange: Exchange, address: str, country: str, network: str, explain: bool) -> Plan[Verification]:
    """A valid proof of residence."""
    path = {"country": country, "network": network}
    query = {"user": address, "explain": explain or None}
    result: Verification = yield from exchange.call(RESIDENCE, RESIDENCE.request(path, query))
    return result


def clean_hands(exchange: Exchange, address: str, explain: bool) -> Plan[CleanHands]:
    """A valid clean-hands attestation on the external index."""
    request = CLEAN_HANDS.request({"address": address}, {"explain": explain or None})
    result: CleanHands = yield from exchange.call(CLEAN_HANDS, request)
    return result
