//! Issues own Stamps on request.

use std::collections::BTreeSet;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::hex;
use pyxis_core::id::WorkspaceId;
use pyxis_core::stamp::{Nullifier, StampName};
use pyxis_evm::AbiWord;
use pyxis_store::cipher::Keyring;
use pyxis_store::issued_stamps::{self, IssuedStampRow};
use pyxis_store::listed_addresses::{self, ListedAddressRow};
use pyxis_store::own_stamps::{self, OwnStampRow};
use pyxis_store::{Store, Tx, revocations, stamp_keys, stamps};

use super::conditions::{Holding, Item};
use super::evaluate::{ConditionResult, ConditionSubject, evaluate};
use super::recheck::{INTERVAL, withdraw_of_other_account};
use super::{OnChainRule, StampRule, amount, keys, nullifier_of};
use crate::credential::{self, MAX_NULLIFIERS, Statement, VerifiedCredential};
use crate::engine::{self, IngestOutcome, OwnIngestOutcome};
use crate::error::{Error, Result};
use crate::scoring_db::ScoringDb;
use crate::state::State;

/// Maximum number of Stamps in one request.
pub(crate) const MAX_ISSUED: usize = 20;

/// A Stamp that an address asks for.
#[derive(Clone, Debug)]
pub(crate) struct IssueRequest {
    pub(crate) provider: StampName,
    /// Token ids, or the UID of an attestation, as the rule wants them.
    pub(crate) items: Vec<String>,
}

/// Outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IssueOutcome {
    /// Stored.
    Issued(IngestOutcome),
    /// Not issued, and why.
    Refused { code: &'static str, detail: String },
    /// Not known: something that the rule asks does not answer.
    Unanswered { detail: String },
}

use IssueOutcome::{Issued, Refused, Unanswered};

/// Issues one Stamp to an address, if the rule of the Stamp holds for it.
pub(crate) async fn issue(
    state: &State,
    workspace: WorkspaceId,
    address: EvmAddress,
    asked: &IssueRequest,
) -> Result<IssueOutcome> {
    let Some(row) = own_stamps::find(&state.store, workspace, &asked.provider).await? else {
        let names = own_stamps::list(&state.store, workspace).await?;
        let names: Vec<&str> = names.iter().map(|row| row.provider.as_str()).collect();
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Ok(rejected_outcome(
            "unknown_stamp",
            format!("{} is not issued here; issued: {known}", asked.provider),
        ));
    };
    let rule = StampRule::from_row(&row)?;
    let items = match read_items(&rule, &asked.items) {
        Ok(items) => items,
        Err(detail) => return Ok(rejected_outcome("invalid_items", detail)),
    };
    let now = state.now();
    if let Some(done) = issued_before(&state.store, workspace, address, &row, &items, now).await? {
        return Ok(done);
    }
    if has_of_other_issuer(&state.store, workspace, address, &row, now).await? {
        return Ok(held_from_other_issuer(&row.provider));
    }
    let holding = match find_out(state, workspace, address, &row, &rule, items.clone(), now).await? {
        Ok(holding) => holding,
        Err(outcome) => return Ok(outcome),
    };
    if matches!(rule, StampRule::OnChain(_)) {
        withdraw_of_other_account(state, workspace, &row.provider, address, &holding).await?;
    }
    let credential = match sign(&state.store, &state.keyring, workspace, address, &row, holding, now).await? {
        Ok(credential) => credential,
        Err(outcome) => return Ok(outcome),
    };
    store(&state.db, workspace, &row, &credential, &items, now).await
}

fn rejected_outcome(code: &'static str, detail: impl Into<String>) -> IssueOutcome {
    Refused { code, detail: detail.into() }
}

/// The items that a rule wants, in order.
fn read_items(rule: &StampRule, texts: &[String]) -> Result<Vec<AbiWord>, String> {
    let wanted = rule.items();
    let read = |text: &String| amount::read(text).ok_or_else(|| format!("{text:?} is not a number"));
    let mut items = texts.iter().map(read).collect::<Result<Vec<AbiWord>, String>>()?;
    items.sort_unstable();
    items.dedup();
    let fits = items.len() == texts.len()
        && match wanted {
            Item::None => items.is_empty(),
            Item::TokenIds { at_least } => (at_least..=MAX_NULLIFIERS).contains(&items.len()),
            Item::Attestation => items.len() == 1,
        };
    match wanted {
        _ if fits => Ok(items),
        Item::None => Err("this Stamp takes no items; leave them out".to_owned()),
        Item::TokenIds { at_least } => {
            Err(format!("name {at_least} to {MAX_NULLIFIERS} different token ids that the address owns"))
        }
        Item::Attestation => Err("name the UID of one attestation: 0x and 64 hex digits".to_owned()),
    }
}

/// The outcome of an earlier request that still stands. In the second half of its time a Stamp is renewed.
async fn issued_before(
    store: &Store,
    workspace: WorkspaceId,
    address: EvmAddress,
    row: &OwnStampRow,
    items: &[AbiWord],
    now: UnixMillis,
) -> Result<Option<IssueOutcome>> {
    let issued = issued_stamps::find(store, workspace, &row.provider, address).await?;
    let Some(issued) = issued.filter(|issued| issued.expires_at > now) else { return Ok(None) };
    if revocations::find(store, workspace, &issued.digest).await?.is_some() {
        let until = issued.expires_at.to_rfc3339();
        let detail = format!("this Stamp was revoked for the address; it can be issued again from {until}");
        return Ok(Some(Refused { code: "revoked", detail }));
    }
    let stored = stamps::find(store, workspace, address, &row.provider).await?;
    let Some(stamp) = stored.filter(|stamp| stamp.digest == issued.digest) else { return Ok(None) };
    let half = (stamp.expires_at.0 - stamp.issued_at.0) / 2;
    let is_young = now.0 < stamp.issued_at.0 + half;
    Ok((is_young && issued.items == format_items(items)).then_some(Issued(IngestOutcome::Unchanged)))
}

/// True if the address has a live credential of this name that the workspace did not sign.
async fn has_of_other_issuer(
    store: &Store,
    workspace: WorkspaceId,
    address: EvmAddress,
    row: &OwnStampRow,
    now: UnixMillis,
) -> Result<bool> {
    let stored = stamps::find(store, workspace, address, &row.provider).await?;
    let Some(stamp) = stored.filter(|stamp| stamp.expires_at > now) else { return Ok(false) };
    Ok(!stamp_keys::list(store, workspace).await?.iter().any(|key| key.did == stamp.issuer))
}

fn held_from_other_issuer(provider: &StampName) -> IssueOutcome {
    rejected_outcome(
        "other_issuer",
        format!(
            "the address has a credential {provider} of another issuer, which is not replaced; use a name of your own for this Stamp"
        ),
    )
}

/// Asks the rule.
async fn find_out(
    state: &State,
    workspace: WorkspaceId,
    address: EvmAddress,
    row: &OwnStampRow,
    rule: &StampRule,
    items: Vec<AbiWord>,
    now: UnixMillis,
) -> Result<Result<Holding, IssueOutcome>> {
    let OnChainRule { network, condition } = match rule {
        StampRule::OnChain(rule) => rule,
        StampRule::AllowList => {
            let Some(listed) =
                listed_addresses::find(&state.store, workspace, &row.provider, address).await?
            else {
                return Ok(Err(not_listed()));
            };
            return Ok(Ok(Holding { nullifiers: listed_nullifiers(&listed)?, expires_at: None }));
        }
    };
    let Some(network) = state.networks.find_by_name(network) else {
        let detail = format!("this server has no node of the network {network}");
        return Ok(Err(Unanswered { detail }));
    };
    let subject = ConditionSubject { address, items };
    let answers = evaluate(network, &**condition, &[subject], now).await;
    let answer = answers.map(|mut answers| answers.pop());
    Ok(match answer {
        Ok(Some(Ok(ConditionResult::Holds(holding)))) => Ok(holding),
        Ok(Some(Ok(ConditionResult::Fails(reason)))) => {
            Err(Refused { code: "condition_not_met", detail: reason })
        }
        Ok(Some(Err(cause))) => Err(Unanswered { detail: cause.to_string() }),
        Ok(None) => return Err(Error::Internal("a condition without a verdict".into())),
        Err(error) => {
            tracing::warn!(%error, provider = %row.provider, "cannot ask the condition of a Stamp");
            Err(Unanswered { detail: format!("{error}; try again later") })
        }
    })
}

fn not_listed() -> IssueOutcome {
    Refused { code: "not_on_list", detail: "the address is not on this list".to_owned() }
}

/// Signs the credential with the workspace's key.
async fn sign(
    store: &Store,
    keyring: &Keyring,
    workspace: WorkspaceId,
    address: EvmAddress,
    row: &OwnStampRow,
    holding: Holding,
    now: UnixMillis,
) -> Result<Result<VerifiedCredential, IssueOutcome>> {
    let newest = stamp_keys::list(store, workspace).await?.into_iter().next();
    let key = newest.ok_or_else(|| Error::Internal("own Stamps without a stamp key".into()))?;
    let signer = keys::signer(keyring, workspace, &key)?;
    let Holding { nullifiers, expires_at: ends } = holding;
    let until = now.plus(super::days(row.valid_days));
    let expires_at = ends.map_or(until, |ends| ends.min(until));
    if expires_at <= now {
        let detail = "what the Stamp rests on is about to expire".to_owned();
        return Ok(Err(Refused { code: "condition_not_met", detail }));
    }
    let provider = row.provider.clone();
    let statement = Statement { address, provider, nullifiers, issued_at: now, expires_at };
    let internal = |rejection: credential::Rejection| Error::Internal(rejection.into());
    let text = signer.sign(&statement).map_err(internal)?;
    Ok(Ok(credential::parse_and_verify(&text, address, now, |did| did == signer.did()).map_err(internal)?))
}

/// Stores the Stamp with what is needed to check it again, if the rule is still the same.
async fn store(
    db: &ScoringDb,
    workspace: WorkspaceId,
    row: &OwnStampRow,
    credential: &VerifiedCredential,
    items: &[AbiWord],
    now: UnixMillis,
) -> Result<IssueOutcome> {
    let issued = IssuedStampRow {
        workspace_id: workspace,
        provider: row.provider.clone(),
        address: credential.address,
        digest: credential.digest,
        items: format_items(items),
        expires_at: credential.expires_at,
        check_at: now.plus(INTERVAL),
    };
    engine::retry_on_conflict(|| async {
        let mut tx = db.begin().await?;
        if let Some(fault) = hold_rule(&mut tx, workspace, row, credential).await? {
            return Ok(Some(fault));
        }
        let Some(outcome) = engine::ingest_own(db, &mut tx, workspace, credential, now).await? else {
            return Ok(None);
        };
        match outcome {
            OwnIngestOutcome::Credential(
                outcome @ (IngestOutcome::Accepted | IngestOutcome::Replaced | IngestOutcome::Unchanged),
            ) => {
                issued_stamps::put(&mut tx, &issued).await?;
                tx.commit().await?;
                Ok(Some(Issued(outcome)))
            }
            OwnIngestOutcome::Credential(outcome @ (IngestOutcome::Superseded | IngestOutcome::Revoked)) => {
                Ok(Some(Issued(outcome)))
            }
            OwnIngestOutcome::OtherIssuer => Ok(Some(held_from_other_issuer(&row.provider))),
            OwnIngestOutcome::UntrustedIssuer => {
                let detail = "the workspace no longer trusts its own issuer".to_owned();
                Ok(Some(Refused { code: "unknown_issuer", detail }))
            }
        }
    })
    .await
}

/// The fault of a rule that changed while it was asked. Otherwise it stays as it is until the transaction ends.
async fn hold_rule(
    tx: &mut Tx,
    workspace: WorkspaceId,
    row: &OwnStampRow,
    credential: &VerifiedCredential,
) -> Result<Option<IssueOutcome>> {
    let changed = || {
        let detail = "this Stamp was changed or removed a moment ago; ask again".to_owned();
        Some(Refused { code: "unknown_stamp", detail })
    };
    if !own_stamps::lock_unchanged(tx, workspace, row).await? {
        return Ok(changed());
    }
    if row.kind != super::ALLOW_LIST {
        return Ok(None);
    }
    let listed = listed_addresses::lock_listed(tx, workspace, &row.provider, credential.address).await?;
    let Some(listed) = listed else { return Ok(Some(not_listed())) };
    let expected: BTreeSet<Nullifier> = listed_nullifiers(&listed)?.into_iter().collect();
    let signed: BTreeSet<Nullifier> = credential.nullifiers.iter().cloned().collect();
    Ok(if signed == expected { None } else { changed() })
}

/// Nullifiers of a listed address: those that were chosen, or the address itself.
fn listed_nullifiers(row: &ListedAddressRow) -> Result<Vec<Nullifier>> {
    let chosen = row.nullifiers.as_deref().map(serde_json::from_str);
    let chosen = chosen.transpose().map_err(|error| Error::Internal(error.into()))?;
    Ok(chosen.unwrap_or_else(|| vec![nullifier_of(row.address)]))
}

/// Items as they are stored.
fn format_items(items: &[AbiWord]) -> String {
    let list: Vec<String> = items.iter().map(|item| format!("0x{}", hex::encode(item))).collect();
    serde_json::Value::from(list).to_string()
}
