//! Any check as typed data (EIP-712) for EVM contracts: bound to a chain and a recipient, with an expiry.

use pyxis_core::address::EvmAddress;
use pyxis_core::proof::{ActionId, Kind};
use pyxis_evm::AbiWord;
use pyxis_signing::eip712::abi_words::{self, address, number, text};
use pyxis_store::attestation_keys::Scheme;

use super::{keys, sui};
use crate::block_height::Snapshot;
use crate::checker::{self, CheckRequest, CheckVerdict};
use crate::error::{Error, Result};
use crate::network::Network;
use crate::state::State;

/// Name of the EIP-712 domain.
pub const DOMAIN: &str = "Pyxis Attestation";
/// Version of the EIP-712 domain.
pub const VERSION: &str = "1";
const ATTESTATION: &str =
    "Attestation(string kind,address recipient,uint256 actionId,uint64 issuedAt,uint64 expiresAt)";

/// A signed attestation.
#[derive(Clone, Debug)]
pub struct Attestation {
    /// 65 bytes: r, s, v.
    pub signature: [u8; 65],
    /// Address of the signing key.
    pub signer: String,
    /// Unix seconds.
    pub issued_at: i64,
    /// Unix seconds.
    pub expires_at: i64,
}

#[derive(Clone, Copy, Debug)]
pub struct AttestationRequest<'a> {
    /// Network of the proof and of the contract that will check the attestation.
    pub network: &'a Network,
    /// Kind of proof.
    pub kind: Kind,
    /// Address that the attestation is about.
    pub recipient: EvmAddress,
    /// Use of the proof.
    pub action_id: ActionId,
}

/// The hash to sign.
pub fn signing_hash(
    wanted: &AttestationRequest<'_>,
    chain_id: u64,
    issued_at: i64,
    expires_at: i64,
) -> AbiWord {
    let seconds = |seconds: i64| number(u64::try_from(seconds).unwrap_or(0));
    let message = abi_words::hash_struct(
        ATTESTATION,
        &[
            text(wanted.kind.as_str()),
            address(wanted.recipient),
            wanted.action_id.0.to_be_bytes(),
            seconds(issued_at),
            seconds(expires_at),
        ],
    );
    abi_words::signing_hash(abi_words::domain(DOMAIN, VERSION, Some(chain_id)), message)
}

/// Attests a check, or returns the reason why not.
pub async fn attest(
    state: &State,
    wanted: &AttestationRequest<'_>,
    explain: bool,
) -> Result<(CheckVerdict, Option<Attestation>)> {
    let chain_id = wanted.network.chain_id.ok_or(Error::UnsupportedNetwork(Vec::new()))?;
    let action_id = (wanted.kind != Kind::ResidenceUs).then_some(wanted.action_id);
    let ask =
        CheckRequest { network: wanted.network, kind: wanted.kind, action_id, snapshot: Snapshot::Latest };
    let verdict = checker::check(state, ask, wanted.recipient.into(), explain).await?;
    let CheckVerdict::Valid(until) = verdict else { return Ok((verdict, None)) };
    let key = keys::active(state, Scheme::Eip712).await?;
    let (issued_at, expires_at) = sui::lifetime(&state.config, state.now(), until);
    let hash = signing_hash(wanted, chain_id, issued_at, expires_at);
    let signature = keys::secp256k1(&state.keyring, key.id)?.sign(&hash);
    Ok((verdict, Some(Attestation { signature, signer: key.public_key, issued_at, expires_at })))
}

#[cfg(test)]
mod tests {
    use pyxis_core::proof::DEFAULT_ACTION;

    use super::*;
    use crate::network::Networks;

    #[test]
    fn an_attestation_is_bound_to_its_chain_and_recipient() {
        let networks = Networks::default();
        let network = networks.find_by_name("optimism").unwrap();
        let recipient = EvmAddress([1; 20]);
        let wanted =
            AttestationRequest { network, kind: Kind::CleanHands, recipient, action_id: DEFAULT_ACTION };
        let hash = signing_hash(&wanted, 10, 1, 2);
        assert_ne!(hash, signing_hash(&wanted, 11, 1, 2));
        assert_ne!(hash, signing_hash(&wanted, 10, 1, 3));
        let other = AttestationRequest { recipient: EvmAddress([2; 20]), ..wanted };
        assert_ne!(hash, signing_hash(&other, 10, 1, 2));
    }
}
