//! Credentials signed with the workspace's own key, for whatever its people have checked themselves.

use std::collections::BTreeSet;

use pyxis_core::actor::Actor;
use pyxis_core::address::EvmAddress;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::hex;
use pyxis_core::stamp::{Nullifier, StampName};
use serde_json::json;

use super::{Error, Result, stamp_keys};
use crate::credential::{MAX_NULLIFIERS, Statement};
use crate::own::{days, nullifier_of};
use crate::state::State;

/// Maximum number of credentials that are signed at once.
pub const MAX_SIGNED: usize = 1000;
/// Longest validity, in days.
pub const MAX_VALID_DAYS: i64 = 3650;
/// Validity unless configured, in days.
pub const VALID_DAYS: i64 = 90;

/// Holder of a credential.
#[derive(Clone, Debug)]
pub struct Holder {
    pub address: EvmAddress,
    /// Nullifiers of the account behind the credential. Without any, it counts for this address alone.
    pub nullifiers: Vec<Nullifier>,
}

/// Credentials to sign.
#[derive(Clone, Debug)]
pub struct SigningRequest {
    pub provider: StampName,
    pub holders: Vec<Holder>,
    pub valid_days: i64,
}

/// Signed credentials.
#[derive(Clone, Debug)]
pub struct SignedStamps {
    /// DID of the issuer.
    pub issuer: String,
    /// One for each holder, in order; each is one line of JSON.
    pub credentials: Vec<String>,
}

/// Signs credentials. Nothing is stored: the holder's application or an import does that, as with any issuer's.
pub async fn sign(state: &State, actor: &Actor, request: SigningRequest) -> Result<SignedStamps> {
    check(&request)?;
    let signer = stamp_keys::active(state, actor).await?;
    let issuer = signer.did().to_owned();
    let issued_at = state.now();
    let expires_at = issued_at.plus(days(request.valid_days));
    let SigningRequest { provider, holders, .. } = request;
    // The record outlives an erasure, so it names no address.
    let hash = |address| hex::encode(&state.db.hash_of(actor.workspace, address).as_address().0);
    let detail = json!({
        "provider": provider, "count": holders.len(), "issuer": issuer,
        "first_address_hash": holders.first().map(|holder| hash(holder.address)),
    });
    let work = move || {
        let statement = |Holder { address, nullifiers }: Holder| Statement {
            address,
            provider: provider.clone(),
            nullifiers: if nullifiers.is_empty() { vec![nullifier_of(address)] } else { nullifiers },
            issued_at,
            expires_at,
        };
        holders.into_iter().map(|holder| signer.sign(&statement(holder))).collect::<Result<Vec<_>, _>>()
    };
    let made = tokio::task::spawn_blocking(work).await.map_err(Error::internal)?;
    let credentials = made.map_err(Error::internal)?;
    state.audited.begin(actor).await?.commit(AuditEvent::StampsSigned, detail).await?;
    Ok(SignedStamps { issuer, credentials })
}

/// Checks a validity in days.
pub(super) fn check_days(valid_days: i64) -> Result<()> {
    if (1..=MAX_VALID_DAYS).contains(&valid_days) {
        Ok(())
    } else {
        Err(Error::field("valid_days", format!("must be 1 to {MAX_VALID_DAYS}, not {valid_days}")))
    }
}

fn check(request: &SigningRequest) -> Result<()> {
    check_days(request.valid_days)?;
    let count = request.holders.len();
    if !(1..=MAX_SIGNED).contains(&count) {
        return Err(Error::field("holders", format!("must have 1 to {MAX_SIGNED} entries, not {count}")));
    }
    let mut addresses = BTreeSet::new();
    for (index, holder) in request.holders.iter().enumerate() {
        if !addresses.insert(holder.address) {
            let detail = format!("{} is listed twice; keep one entry", holder.address);
            return Err(Error::field(format!("holders[{index}].address"), detail));
        }
        check_nullifiers(index, holder)?;
    }
    Ok(())
}

/// Checks the nullifiers of a holder, who stands at this position of `holders`.
pub(super) fn check_nullifiers(index: usize, holder: &Holder) -> Result<()> {
    let different: BTreeSet<&Nullifier> = holder.nullifiers.iter().collect();
    if different.len() == holder.nullifiers.len() && different.len() <= MAX_NULLIFIERS {
        return Ok(());
    }
    let detail = format!("must be at most {MAX_NULLIFIERS}, all different");
    Err(Error::field(format!("holders[{index}].nullifiers"), detail))
}
