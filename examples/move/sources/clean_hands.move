/// Believes a clean-hands attestation of a Pyxis installation.
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

/// What Pyxis signs, field by field in this order.
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
    ctx: &TxContext,
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

/// The vector that the tests of Pyxis check as well.
#[test]
fun an_attestation_of_pyxis_is_believed() {
    let key = x"ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c";
    let signature =
        x"6fea6a9c7785aff945c8e21ecc9ba93382dd77ca864429fca940d515885f0bc5b06bbf43439cc3fe2cb23fa37c95965bfeb81a7a7d80ad78ac1e802454753e04";
    let message = signed_bytes(123456789, @0xa11ce, 1767225600, 1767229200);
    assert!(ed25519::ed25519_verify(&signature, &key, &message));
    let longer = signed_bytes(123456789, @0xa11ce, 1767225600, 1767229201);
    assert!(!ed25519::ed25519_verify(&signature, &key, &longer));
}
