"""Scores, Stamps and checks of a real server."""

from __future__ import annotations

import base64
import json
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

import pyxis
from tests.support.server import Server

UNKNOWN = "0x52908400098527886E0F7030069857D2E4169EE7"


def test_a_score_is_decimal_and_has_its_stamps(client: Any, server: Server) -> None:
    score = client.score(server.scorer_id, server.sample_addresses[0])
    assert score.address == server.sample_addresses[0]
    assert score.score == Decimal("22.598")
    assert score.threshold == Decimal(20)
    assert score.passing_score
    assert score.error is None
    assert score.explain is None
    assert score.stamps["NFTScore#50"].score == Decimal("16.246")
    assert score.expiration_timestamp == score.stamps["Discord"].expiration_date
    assert score.last_score_timestamp.tzinfo is timezone.utc


def test_an_explained_score_says_what_each_stamp_is_worth(client: Any, server: Server) -> None:
    score = client.score(server.scorer_id, server.sample_addresses[0], explain=True)
    assert score.explain.margin == Decimal("2.598")
    assert score.explain.stamps["Discord"].reason == "counts"


def test_an_address_without_stamps_has_zero_and_no_expiry(client: Any, server: Server) -> None:
    score = client.score(server.scorer_id, UNKNOWN)
    assert (score.score, score.passing_score, score.stamps) == (Decimal(0), False, {})
    assert score.expiration_timestamp is None


def claims(jwt: str) -> dict[str, Any]:
    """Claims of a token, unverified."""
    part = jwt.split(".")[1]
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return found


def test_a_score_is_signed_as_a_token_which_answers_a_challenge_if_asked_so(client: Any, server: Server) -> None:
    human = server.sample_addresses[0]
    found = client.signed_score_jwt(server.scorer_id, human)
    assert found.score == client.score(server.scorer_id, human)
    keys = client.score_keys()
    said = claims(found.jwt)
    assert (said["iss"], said["sub"], said["scorer_id"], said["score"]) == (
        keys.issuer,
        human,
        server.scorer_id,
        "22.59800",
    )
    assert not {"nonce", "aud"} & said.keys()
    assert any(key.scheme == "es256" and key.kid and key.signs_until is None for key in keys.keys)
    published = {key.kid for key in keys.keys if key.kid}
    assert {key["kid"] for key in client.token_keys().keys} == published
    bound = client.signed_score_jwt(server.scorer_id, human, challenge="order 7", audience="https://app.example.org")
    assert [claims(bound.jwt)[name] for name in ("nonce", "aud")] == ["order 7", "https://app.example.org"]
    with pytest.raises(pyxis.InvalidArgumentError, match="audience needs a challenge"):
        client.signed_score_jwt(server.scorer_id, human, audience="https://app.example.org")
    with pytest.raises(pyxis.UnprocessableError, match="challenge"):
        client.signed_score_jwt(server.scorer_id, human, challenge="")


def test_a_score_is_signed_as_typed_data_for_one_contract(client: Any, server: Server) -> None:
    human = server.sample_addresses[0]
    contract = "0x" + "c0" * 20
    found = client.signed_score_eip712(
        server.scorer_id, human, chain_id=10, verifying_contract=contract, challenge="round-2"
    )
    assert found.score.score == Decimal("22.598")
    assert found.typed_data["domain"]["chainId"] == 10
    assert found.typed_data["domain"]["verifyingContract"].lower() == contract
    message = found.typed_data["message"]
    assert (message["score"], message["passing"], message["challenge"]) == ("2259800", True, "round-2")
    assert found.signer in {key.address for key in client.score_keys().keys}
    assert len(bytes.fromhex(found.signature.removeprefix("0x"))) == 65
    assert "chainId" not in client.signed_score_eip712(server.scorer_id, human).typed_data["domain"]
    with pytest.raises(pyxis.UnprocessableError, match="chain_id"):
        client.signed_score_eip712(server.scorer_id, human, verifying_contract=contract)
    with pytest.raises(pyxis.NotFoundError):
        client.signed_score_eip712(999, human)


def test_more_addresses_than_a_request_takes_are_split_and_keep_their_order(client: Any, server: Server) -> None:
    addresses = [f"0x{number:040x}" for number in range(1, 1500)]
    addresses.append(server.sample_addresses[0])
    scores = client.scores(server.scorer_id, iter(addresses))
    assert [score.address for score in scores] == addresses
    assert scores[-1].score == Decimal("22.598")
    assert client.scores(server.scorer_id, []) == []


def test_bad_addresses_are_named_by_their_place_in_the_whole_list(client: Any, server: Server) -> None:
    addresses = [f"0x{number:040x}" for number in range(1, 1005)]
    addresses[1002] = "vitalik.eth"
    with pytest.raises(pyxis.BadRequestError, match="Invalid address") as caught:
        client.scores(server.scorer_id, addresses)
    assert [(entry.index, entry.value) for entry in caught.value.invalid] == [(1002, "vitalik.eth")]


def test_bad_addresses_are_entries_of_their_own_if_wanted(client: Any, server: Server) -> None:
    addresses = [f"0x{number:040x}" for number in range(1, 1005)]
    addresses[1002] = "vitalik.eth"
    addresses.append(server.sample_addresses[0])
    entries = client.score_entries(server.scorer_id, addresses)
    failed = [entry for entry in entries if isinstance(entry, pyxis.FailedScore)]
    assert [(entry.address, entry.error.index, entry.error.code) for entry in failed] == [
        ("vitalik.eth", 1002, "invalid_address")
    ]
    assert entries[1002] is failed[0]
    assert entries[-1].score == Decimal("22.598")


def test_stamps_are_read_page_by_page(client: Any, server: Server) -> None:
    stamps = list(client.stamps(server.sample_addresses[0], page_size=2))
    providers = {stamp.credential["credentialSubject"]["provider"] for stamp in stamps}
    assert len(stamps) == len(providers) == 6
    assert all(stamp.metadata is None for stamp in stamps)
    first = client.stamp_page(server.sample_addresses[0], page_size=2, include_metadata=True)
    assert len(first.items) == 2
    assert first.prev is None
    assert first.items[0].metadata.platform.connect_message
    again = client.stamp_page(server.sample_addresses[0], page_size=2, token=first.next)
    assert again.prev is not None


def test_history_needs_approval_and_then_has_the_last_answer(client: Any, server: Server) -> None:
    client.score(server.scorer_id, server.sample_addresses[0])
    tomorrow = datetime.now(timezone.utc) + timedelta(days=1)
    with (
        pyxis.Pyxis(server.base_url, api_key=server.plain_api_key) as plain,
        pytest.raises(pyxis.PermissionDeniedError, match="403: Invalid permissions for action"),
    ):
        plain.history(server.scorer_id, server.sample_addresses[0], tomorrow)
    found = client.history(server.scorer_id, server.sample_addresses[0], tomorrow)
    assert found.score == Decimal("22.598")
    assert client.history(server.scorer_id, server.sample_addresses[0], datetime(2020, 1, 1).date()) is None


def test_too_little_data_for_a_model_is_no_score(client: Any, server: Server) -> None:
    found = client.model_score(UNKNOWN, "nft")
    assert (found.address, found.model, found.score) == (UNKNOWN.lower(), "nft", None)
    with pytest.raises(pyxis.BadRequestError, match="Invalid model name"):
        client.model_score(UNKNOWN, "cats")


def test_the_catalogue_names_every_stamp(client: Any) -> None:
    names = {stamp.name for platform in client.catalogue() for group in platform.groups for stamp in group.stamps}
    assert {"Discord", "Google", "NFTScore#50"} <= names


def test_a_refused_credential_says_why(client: Any) -> None:
    (outcome,) = client.add_stamps(UNKNOWN, [{"type": ["VerifiableCredential"]}])
    assert outcome.status == "rejected"
    assert outcome.error.index == 0
    assert client.remove_stamp(UNKNOWN, "Discord") == 0


def test_a_check_is_true_with_a_proof_for_its_action(client: Any, server: Server) -> None:
    found = client.check_unique(
        server.proved_address, kind="gov-id", network="optimism", action_id=pyxis.UNIVERSAL_ACTION
    )
    assert found.result
    assert found.expires_at > datetime.now(timezone.utc)
    other = client.check_unique(server.proved_address, kind="gov-id", network="optimism", action_id=42, explain=True)
    assert (other.result, other.expires_at, other.reason) == (False, None, "other_action")
    residence = client.check_residence(UNKNOWN, network="optimism", explain=True)
    assert (residence.result, residence.reason) == (False, "none")


def test_refusals_are_classes(client: Any, server: Server) -> None:
    with pytest.raises(pyxis.NotFoundError, match="404: No scorer matches the given criteria"):
        client.score(999, UNKNOWN)
    with pytest.raises(pyxis.BadRequestError, match="400: Invalid user address"):
        client.check_unique("x", kind="gov-id", network="optimism", action_id=1)
    with pytest.raises(pyxis.BadRequestError, match="Unsupported network"):
        client.check_unique(UNKNOWN, kind="gov-id", network="atlantis", action_id=1)
    with pyxis.Pyxis(server.base_url, api_key="px_api_wrong") as stranger:
        with pytest.raises(pyxis.AuthenticationError, match=r"401: Invalid API Key\."):
            stranger.score(server.scorer_id, UNKNOWN)
        with pytest.raises(pyxis.AuthenticationError) as caught:
            stranger.catalogue()
    assert (caught.value.status, caught.value.attempts, caught.value.code) == (401, 1, None)


def test_a_hostile_address_stays_one_segment_of_the_path(client: Any, server: Server) -> None:
    for address in ("../../admin/agents", "0x1?explain=true", "a/b", "%2e%2e", "a#b"):
        with pytest.raises(pyxis.BadRequestError, match=r"400: Invalid address\."):
            client.score(server.scorer_id, address)
