"""The synchronous client of scores and checks."""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from types import TracebackType

import httpx

from pyxis.core import scoring, signed, verification
from pyxis.core.base_url import BaseUrl
from pyxis.core.exchange import Exchange
from pyxis.core.retry import RetryPolicy
from pyxis.core.secret import Secret
from pyxis.core.sync_driver import SyncDriver
from pyxis.core.transport import Connection
from pyxis.model.catalogue import Platform
from pyxis.model.score import FailedScore, Score
from pyxis.model.signed import Eip712Score, JwtScore, ScoreKeys, TokenKeys
from pyxis.model.stamp import Stamp, StampOutcome, StampPage
from pyxis.model.verification import CleanHands, ProofKind, Verification
from pyxis.model.wallet import ModelName, ModelScore
from pyxis.pace import Pace


class Pyxis:
    """A client with a connection pool, for use by any number of threads. Close it, or use it in `with`.

    `timeout` is in seconds, for each attempt. `tls` replaces the trusted certificates. `transport` and `pace` are for
    tests.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        timeout: float = 60.0,
        retry: RetryPolicy | None = None,
        tls: ssl.SSLContext | None = None,
        transport: httpx.BaseTransport | None = None,
        pace: Pace | None = None,
    ) -> None:
        pace = pace or Pace()
        key = None if api_key is None else Secret("api_key", api_key)
        self._connection = Connection(BaseUrl(base_url), "x-api-key", key, timeout, tls)
        self._exchange = Exchange(retry or RetryPolicy(), pace.jitter, pace.now)
        self._driver = SyncDriver(self._connection, pace.sleep, transport, pace.monotonic)

    def score(self, scorer_id: int, address: str, *, explain: bool = False) -> Score:
        """Read the latest score of an address."""
        return self._driver.run(scoring.score(self._exchange, scorer_id, address, explain))

    def signed_score_jwt(
        self, scorer_id: int, address: str, *, challenge: str | None = None, audience: str | None = None
    ) -> JwtScore:
        """Read the latest score of an address as a token that others verify.

        With `challenge`, it is signed now for that text, and `audience` names its recipient.
        """
        plan = signed.jwt(self._exchange, scorer_id, address, challenge, audience)
        return self._driver.run(plan)

    def signed_score_eip712(
        self,
        scorer_id: int,
        address: str,
        *,
        chain_id: int | None = None,
        verifying_contract: str | None = None,
        challenge: str | None = None,
    ) -> Eip712Score:
        """Read the latest score of an address as typed data with its signature, for EVM contracts.

        A contract accepts only its own chain and address. With `challenge`, it is signed now for that text.
        """
        plan = signed.eip712(self._exchange, scorer_id, address, chain_id, verifying_contract, challenge)
        return self._driver.run(plan)

    def score_keys(self) -> ScoreKeys:
        """Read the public keys that sign scores. They may be kept for five minutes."""
        return self._driver.run(signed.keys(self._exchange))

    def token_keys(self) -> TokenKeys:
        """Read the public keys of tokens, as a JSON Web Key Set. They may be kept for five minutes."""
        return self._driver.run(signed.token_keys(self._exchange))

    def scores(self, scorer_id: int, addresses: Iterable[str]) -> list[Score]:
        """Read the scores of any number of addresses, in their order. Each 1,000 count as one request.

        One entry that is not an address refuses all; see `score_entries`.
        """
        return self._driver.run(scoring.scores(self._exchange, scorer_id, addresses))

    def score_entries(self, scorer_id: int, addresses: Iterable[str]) -> list[Score | FailedScore]:
        """Read the scores of any number of addresses, in their order, with a `FailedScore` for each that is not one.

        Each 1,000 count as one request.
        """
        return self._driver.run(scoring.score_entries(self._exchange, scorer_id, addresses))

    def history(self, scorer_id: int, address: str, before: date | str) -> Score | None:
        """Read the latest score that was answered before a day or time; None if there is none.

        `before` is a date or a time with its zone, also as text: `2026-01-31`, `2026-01-31T09:05:00Z`.
        """
        return self._driver.run(scoring.history(self._exchange, scorer_id, address, before))

    def stamps(self, address: str, *, include_metadata: bool = False, page_size: int = scoring.PAGE) -> Iterator[Stamp]:
        """Iterate over the Stamps of an address, newest first. Pages are read when they are needed."""
        token: str | None = None
        while True:
            page = self.stamp_page(address, include_metadata=include_metadata, page_size=page_size, token=token)
            yield from page.items
            token = page.next
            if token is None:
                return

    def stamp_page(
        self,
        address: str,
        *,
        include_metadata: bool = False,
        page_size: int = scoring.PAGE,
        token: str | None = None,
    ) -> StampPage:
        """Read one page of Stamps. `token` is `next` or `prev` of another page."""
        plan = scoring.stamp_page(self._exchange, address, include_metadata, page_size, token)
        return self._driver.run(plan)

    def add_stamps(self, address: str, credentials: Sequence[Mapping[str, object]]) -> tuple[StampOutcome, ...]:
        """Store up to 200 verifiable credentials of an address. The key must be allowed to write."""
        return self._driver.run(scoring.add_stamps(self._exchange, address, credentials))

    def remove_stamp(self, address: str, provider: str) -> int:
        """Remove a Stamp of an address. 0 means that there was none, or that an earlier attempt removed it."""
        return self._driver.run(scoring.remove_stamp(self._exchange, address, provider))

    def catalogue(self) -> tuple[Platform, ...]:
        """Read the catalogue of all Stamps, by platform."""
        return self._driver.run(scoring.catalogue(self._exchange))

    def model_score(self, address: str, model: ModelName = "aggregate") -> ModelScore:
        """Read a model's score of a wallet."""
        return self._driver.run(scoring.model_score(self._exchange, address, model))

    def check_unique(
        self, address: str, *, kind: ProofKind, network: str, action_id: str | int, explain: bool = False
    ) -> Verification:
        """Check for a valid proof of this kind that is unique for an action."""
        plan = verification.unique(self._exchange, address, kind, network, action_id, explain)
        return self._driver.run(plan)

    def check_residence(
        self, address: str, *, network: str, country: str = "us", explain: bool = False
    ) -> Verification:
        """Check for a valid proof of residence."""
        return self._driver.run(verification.residence(self._exchange, address, country, network, explain))

    def check_clean_hands(self, address: str, *, explain: bool = False) -> CleanHands:
        """Check for a valid clean-hands attestation on the external index."""
        return self._driver.run(verification.clean_hands(self._exchange, address, explain))

    def close(self) -> None:
        """Close the connections."""
        self._driver.close()

    def __enter__(self) -> Pyxis:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Pyxis({self._connection.base_url.text!r})"
