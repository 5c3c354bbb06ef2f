//! Clean hands on Sui: BCS bytes that a Move contract rebuilds, signed with Ed25519
//! (`docs/reference/behavior/verification.md#attestations`).

use ed25519_dalek::Signer;
use pyxis_core::clock::UnixMillis;
use pyxis_core::proof::{ActionId, Kind};
use pyxis_core::sui::SuiAddress;
use pyxis_store::attestation_keys::Scheme;
use serde::Serialize;

use super::keys;
use crate::block_height::Snapshot;
use crate::checker::{self, CheckRequest, CheckVerdict};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::state::State;

/// The number by which contracts identify the kind of proof.
pub const CIRCUIT_ID: u8 = 8;
const DOMAIN: &[u8] = b"pyxis.clean-hands.v1";
const CHAIN: &[u8] = b"sui:mainnet";

/// The signed fields, in this order.
#[derive(Serialize)]
struct SignedFields<'a> {
    domain: &'a [u8],
    chain: &'a [u8],
    circuit_id: [u8; 32],
    action_id: [u8; 32],
    recipient: [u8; 32],
    issued_at: u64,
    expires_at: u64,
}

/// A signed attestation.
#[derive(Clone, Debug)]
pub struct Attestation {
    /// 64 bytes.
    pub signature: [u8; 64],
    /// Unix seconds.
    pub issued_at: i64,
    /// Unix seconds.
    pub expires_at: i64,
}

pub fn signed_bytes(
    recipient: SuiAddress,
    action_id: ActionId,
    issued_at: i64,
    expires_at: i64,
) -> Result<Vec<u8>> {
    let number = |seconds: i64| u64::try_from(seconds).unwrap_or(0);
    let mut circuit_id = [0; 32];
    circuit_id[0] = CIRCUIT_ID;
    // A BCS u256 is 32 bytes, lowest first.
    let mut action = action_id.0.to_be_bytes();
    action.reverse();
    let said = SignedFields {
        domain: DOMAIN,
        chain: CHAIN,
        circuit_id,
        action_id: action,
        recipient: recipient.0,
        issued_at: number(issued_at),
        expires_at: number(expires_at),
    };
    bcs::to_bytes(&said).map_err(|error| Error::Internal(error.into()))
}

/// Attests an address's clean hands, or returns the reason why not.
pub async fn attest(
    state: &State,
    address: SuiAddress,
    action_id: ActionId,
    explain: bool,
) -> Result<(CheckVerdict, Option<Attestation>)> {
    let network = state.networks().sui().ok_or(Error::UnsupportedNetwork(Vec::new()))?;
    let ask = CheckRequest {
        network,
        kind: Kind::CleanHands,
        action_id: Some(action_id),
        snapshot: Snapshot::Latest,
    };
    let verdict = checker::check(state, ask, address.into(), explain).await?;
    let CheckVerdict::Valid(until) = verdict else { return Ok((verdict, None)) };
    let key = keys::active(state, Scheme::Ed25519).await?;
    let (issued_at, expires_at) = lifetime(&state.config, state.now(), until);
    let bytes = signed_bytes(address, action_id, issued_at, expires_at)?;
    let signature = keys::ed25519(&state.keyring, key.id)?.sign(&bytes).to_bytes();
    Ok((verdict, Some(Attestation { signature, issued_at, expires_at })))
}

/// Starts now and lasts as configured, but not longer than the proof.
pub(super) fn lifetime(config: &Config, now: UnixMillis, until: Option<UnixMillis>) -> (i64, i64) {
    let longest = now.plus(config.attestation.lifetime);
    (now.seconds(), until.map_or(longest, |until| until.min(longest)).seconds())
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::{SigningKey, Verifier};
    use pyxis_core::hex;
    use pyxis_core::proof::DEFAULT_ACTION;

    use super::*;

    /// The vector of the Move example, which its test rebuilds and checks.
    #[test]
    fn the_signed_bytes_are_those_of_the_move_example() {
        let recipient: SuiAddress = "0xa11ce".parse().unwrap();
        let bytes = signed_bytes(recipient, DEFAULT_ACTION, 1_767_225_600, 1_767_229_200).unwrap();
        let wanted = [
            "1470797869732e636c65616e2d68616e64732e7631",
            "0b7375693a6d61696e6e6574",
            &format!("08{}", "00".repeat(31)),
            &format!("15cd5b07{}", "00".repeat(28)),
            &format!("{}0a11ce", "00".repeat(29)),
            "00b9556900000000",
            "10c7556900000000",
        ];
        assert_eq!(hex::encode(&bytes), wanted.concat());
        let key = SigningKey::from_bytes(&[7; 32]);
        let signature = key.sign(&bytes);
        assert!(key.verifying_key().verify(&bytes, &signature).is_ok());
        let example = include_str!("../../../../examples/move/sources/clean_hands.move");
        for part in [
            hex::encode(&key.verifying_key().to_bytes()),
            hex::encode(&signature.to_bytes()),
            hex::encode(&bytes),
        ] {
            assert!(example.contains(&part), "the example needs {part}");
        }
        assert!(example.contains(&format!("const CIRCUIT_ID: u256 = {CIRCUIT_ID};")));
        for part in [DOMAIN, CHAIN].map(|part| std::str::from_utf8(part).unwrap()) {
            assert!(example.contains(&format!(": b\"{part}\",")), "the example needs {part}");
        }
        // BCS is the fields in order, so their order and types are the format.
        let fields = example.split("public struct Attestation has copy, drop {").nth(1).unwrap();
        let fields: Vec<&str> = fields.split('}').next().unwrap().split(',').map(str::trim).collect();
        let wanted = [
            "domain: vector<u8>",
            "chain: vector<u8>",
            "circuit_id: u256",
            "action_id: u256",
            "recipient: address",
            "issued_at: u64",
            "expires_at: u64",
            "",
        ];
        assert_eq!(fields, wanted);
    }
}
