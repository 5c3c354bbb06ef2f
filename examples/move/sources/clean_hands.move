/// Trusts a clean-hands attestation of a Pyxis installation.
///
/// Ask `GET /attestation/sbts/clean-hands?address=0x…&action-id=…`, send the signature with the numbers of
/// the answer, and let `check` say whether the sender has clean hands. `GET /attestation/keys` shows the key;
/// keep it in an object that you can change, because keys are rotated.
module pyxis::clean_hands;

use sui::bcs;
use sui::clock::Clock;
use sui::ed25519;

const CIRCUIT_ID: u256 = 8;

const EExpired: u64 = 1;
const ENotYet: u64 = 2;
const EWrongSignature: u64 = 3;

/// Message that Pyxis signs, field by field in this order.
public struct Attestation has copy, drop {
    domain: vector<u8>,
    chain: vector<u8>,
    circuit_id: u256,
    action_id: u256,
    recipient: address,
    issued_at: u64,
    expires_at: u64,
}

/// Aborts unless Pyxis signed that the sender has clean hands for the action, and that still holds.
public fun check(
    public_key: &vector<u8>,
    signature: &vector<u8>,
    action_id: u256,
    issued_at: u64,
    expires_at: u64,
    clock: &Clock,
    ctx: &mut TxContext,
) {
    let now = clock.timestamp_ms() / 1000;
    assert!(now < expires_at, EExpired);
    assert!(issued_at <= now, ENotYet);
    let message = signed_bytes(action_id, ctx.sender(), issued_at, expires_at);
    assert!(ed25519::ed25519_verify(signature, public_key, &message), EWrongSignature);
}

/// The bytes under the signature.
public fun signed_bytes(action_id: u256, recipient: address, issued_at: u64, expires_at: u64): vector<u8> {
    bcs::to_bytes(&Attestation {
        domain: b"pyxis.clean-hands.v1",
        chain: b"sui:mainnet",
        circuit_id: CIRCUIT_ID,
        action_id,
        recipient,
        issued_at,
        expires_at,
    })
}

// The vector that the tests of Pyxis make as well.
#[test_only]
const KEY: vector<u8> = x"ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c";
#[test_only]
const SIGNATURE: vector<u8> =
    x"6fea6a9c7785aff945c8e21ecc9ba93382dd77ca864429fca940d515885f0bc5b06bbf43439cc3fe2cb23fa37c95965bfeb81a7a7d80ad78ac1e802454753e04";
#[test_only]
const SIGNED: vector<u8> =
    x"1470797869732e636c65616e2d68616e64732e76310b7375693a6d61696e6e6574080000000000000000000000000000000000000000000000000000000000000015cd5b070000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000a11ce00b955690000000010c7556900000000";
#[test_only]
const ISSUED_AT: u64 = 1767225600;
#[test_only]
const EXPIRES_AT: u64 = 1767229200;

#[test_only]
fun check_as(sender: address, action_id: u256, expires_at: u64, now: u64) {
    let mut ctx = sui::tx_context::new(sender, x"3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532", 0, 0, 0);
    let mut clock = sui::clock::create_for_testing(&mut ctx);
    clock.set_for_testing(now * 1000);
    check(&KEY, &SIGNATURE, action_id, ISSUED_AT, expires_at, &clock, &mut ctx);
    clock.destroy_for_testing();
}

#[test]
fun the_signed_bytes_are_those_of_pyxis() {
    assert!(signed_bytes(123456789, @0xa11ce, ISSUED_AT, EXPIRES_AT) == SIGNED);
}

#[test]
fun an_attestation_counts_for_its_recipient_while_it_holds() {
    check_as(@0xa11ce, 123456789, EXPIRES_AT, ISSUED_AT);
    check_as(@0xa11ce, 123456789, EXPIRES_AT, EXPIRES_AT - 1);
}

#[test, expected_failure(abort_code = EExpired)]
fun it_ends() {
    check_as(@0xa11ce, 123456789, EXPIRES_AT, EXPIRES_AT);
}

#[test, expected_failure(abort_code = ENotYet)]
fun it_does_not_count_before_it_was_made() {
    check_as(@0xa11ce, 123456789, EXPIRES_AT, ISSUED_AT - 1);
}

#[test, expected_failure(abort_code = EWrongSignature)]
fun nobody_else_can_use_it() {
    check_as(@0xb0b, 123456789, EXPIRES_AT, ISSUED_AT);
}

#[test, expected_failure(abort_code = EWrongSignature)]
fun it_is_for_one_action() {
    check_as(@0xa11ce, 123456788, EXPIRES_AT, ISSUED_AT);
}

#[test, expected_failure(abort_code = EWrongSignature)]
fun it_cannot_be_made_longer() {
    check_as(@0xa11ce, 123456789, EXPIRES_AT + 1, EXPIRES_AT);
}
