//! Checks for live proofs, with the reason if an address has none.

use pyxis_core::address::EvmAddress;
use pyxis_core::proof::{ActionId, Kind, Subject};
use pyxis_store::Store;
use pyxis_store::proofs::{self, Ended, ProofRow, RegistryQuery};

use crate::block_height::{self, QuestionBlock, Snapshot};
use crate::contracts::{ContractAnswers, Contracts};
use crate::error::{Error, Result};
use crate::network::Network;
use crate::state::State;

pub use crate::verdict::{CheckVerdict, Reason};

/// Maximum number of blocks that a question about the current state goes back if no node has the newest state.
const STEPS_BACK: u32 = 2;

/// A check to answer.
#[derive(Clone, Copy, Debug)]
pub struct CheckRequest<'a> {
    /// Network of the check.
    pub network: &'a Network,
    /// Required kind of proof.
    pub kind: Kind,
    /// Use of the proof; `None` allows any.
    pub action_id: Option<ActionId>,
    /// State to check.
    pub snapshot: Snapshot,
}

fn question(ask: CheckRequest<'_>, block: QuestionBlock) -> RegistryQuery {
    RegistryQuery {
        network: ask.network.name.clone(),
        kind: ask.kind,
        action_id: ask.action_id,
        height: block.registry_height,
        at: block.at,
    }
}

/// Answers about one address. The reason is computed only with `explain`; otherwise it is [`Reason::None`].
pub async fn check(
    state: &State,
    ask: CheckRequest<'_>,
    subject: Subject,
    explain: bool,
) -> Result<CheckVerdict> {
    if explain || !ask.network.registry || ask.network.contracts_for(ask.kind).is_some() {
        let verdicts = check_many(state, ask, &[subject], explain).await?;
        return Ok(verdicts.first().copied().unwrap_or(CheckVerdict::Invalid(Reason::None)));
    }
    let question = question(ask, block_height::resolve(state, ask.network, ask.snapshot).await?);
    let until = proofs::live_until(&state.store, &question, subject).await?;
    Ok(until.map_or(CheckVerdict::Invalid(Reason::None), |until| CheckVerdict::Valid(Some(until))))
}

/// Answers about several addresses, in their order. Without `explain`, the registry returns no expiry, except for a
/// single address.
pub async fn check_many(
    state: &State,
    ask: CheckRequest<'_>,
    subjects: &[Subject],
    explain: bool,
) -> Result<Vec<CheckVerdict>> {
    let block = block_height::resolve(state, ask.network, ask.snapshot).await?;
    let question = question(ask, block);
    let mut verdicts = if !ask.network.registry {
        vec![CheckVerdict::Invalid(Reason::None); subjects.len()]
    } else if explain || subjects.len() == 1 {
        explained(&state.store, &question, subjects).await?
    } else {
        plain(&state.store, &question, subjects).await?
    };
    if let Some(contracts) = ask.network.contracts_for(ask.kind).filter(|_| !block.before_nodes) {
        add_contracts(state, (ask, contracts), (&question, block), subjects, &mut verdicts).await?;
    }
    Ok(verdicts)
}

async fn plain(store: &Store, question: &RegistryQuery, subjects: &[Subject]) -> Result<Vec<CheckVerdict>> {
    let mut live = proofs::live_among(store, question, subjects).await?;
    live.sort_unstable();
    let verdict = |subject: &Subject| match live.binary_search(subject) {
        Ok(_) => CheckVerdict::Valid(None),
        Err(_) => CheckVerdict::Invalid(Reason::None),
    };
    Ok(subjects.iter().map(verdict).collect())
}

/// Queries contracts about addresses that the registry does not know: true from either source is true. The blocklist
/// applies to both.
async fn add_contracts(
    state: &State,
    (ask, contracts): (CheckRequest<'_>, &Contracts),
    (question, block): (&RegistryQuery, QuestionBlock),
    subjects: &[Subject],
    verdicts: &mut [CheckVerdict],
) -> Result<()> {
    let (mut places, mut users) = (Vec::new(), Vec::new());
    for (place, (subject, verdict)) in subjects.iter().zip(verdicts.iter()).enumerate() {
        if let Subject::Evm(user) = subject
            && !verdict.is_valid()
        {
            places.push(place);
            users.push(*user);
        }
    }
    // The blocklist is read while the nodes answer.
    let blocked = async { Ok(proofs::blocked_among(&state.store, question, subjects).await?) };
    let said = ask_contracts(state, (ask, contracts), block, &users);
    let (mut blocked, said) = tokio::try_join!(blocked, said)?;
    for (place, said) in places.into_iter().zip(said) {
        verdicts[place] = verdicts[place].or(said);
    }
    blocked.sort_unstable();
    for (subject, verdict) in subjects.iter().zip(verdicts) {
        if blocked.binary_search(subject).is_ok() {
            *verdict = CheckVerdict::Invalid(Reason::Blocked);
        }
    }
    Ok(())
}

/// Contract answers about addresses, all in one state, even for the current state. A question about the current state
/// is answered from the block before if no node has the newest state; one about a block never is.
async fn ask_contracts(
    state: &State,
    (ask, contracts): (CheckRequest<'_>, &Contracts),
    block: QuestionBlock,
    users: &[EvmAddress],
) -> Result<Vec<CheckVerdict>> {
    if users.is_empty() {
        return Ok(Vec::new());
    }
    let (mut block, mut steps) = match block.mined {
        Some(block) => (block, 0),
        None => (block_height::latest(state, ask.network).await?, STEPS_BACK),
    };
    loop {
        let asked = ContractAnswers {
            kind: ask.kind,
            action: ask.action_id.map(|action| action.0.to_be_bytes()),
            block: u64::try_from(block.height).unwrap_or(0),
            at: block.at,
        };
        let behind = match state.chains.query_contracts(ask.network, contracts, &asked, users).await {
            Err(error @ Error::Behind(_)) if steps > 0 => error,
            done => return done,
        };
        // Some node reported this block, and none has its state yet.
        steps -= 1;
        block = block_height::before(&state.chains, ask.network, block).await.map_err(|_| behind)?;
    }
}

async fn explained(
    store: &Store,
    question: &RegistryQuery,
    subjects: &[Subject],
) -> Result<Vec<CheckVerdict>> {
    let rows = proofs::known_of(store, question, subjects).await?;
    let blocked = proofs::blocked_among(store, question, subjects).await?;
    let verdict = |subject: &Subject| {
        let rows: Vec<&ProofRow> = rows.iter().filter(|row| row.subject == *subject).collect();
        evaluate(question, &rows, blocked.contains(subject))
    };
    Ok(subjects.iter().map(verdict).collect())
}

/// The verdict about one address from all its proofs of the kind by that height, oldest first.
pub fn evaluate(question: &RegistryQuery, rows: &[&ProofRow], blocked: bool) -> CheckVerdict {
    let asked = |row: &&&ProofRow| question.action_id.is_none_or(|action_id| row.action_id == action_id);
    let live = |row: &&&ProofRow| why_invalid(question, row).is_none();
    let until = rows.iter().filter(asked).filter(live).map(|row| row.expires_at).max();
    match until {
        _ if blocked => CheckVerdict::Invalid(Reason::Blocked),
        Some(until) => CheckVerdict::Valid(Some(until)),
        None => CheckVerdict::Invalid(match rows.iter().rfind(asked) {
            Some(last) => why_invalid(question, last).unwrap_or(Reason::None),
            None if rows.iter().any(|row| live(&row)) => Reason::OtherAction,
            None => Reason::None,
        }),
    }
}

/// The reason why a proof does not count; `None` if it does.
fn why_invalid(question: &RegistryQuery, row: &ProofRow) -> Option<Reason> {
    match row.ended.filter(|_| row.until_height.is_some_and(|until| until <= question.height)) {
        Some(Ended::Revoked) => Some(Reason::Revoked),
        Some(Ended::Rebound) => Some(Reason::Rebound),
        // Its replacement has its own row.
        Some(Ended::Replaced | Ended::Expired) => Some(Reason::Expired),
        None => (row.expires_at <= question.at).then_some(Reason::Expired),
    }
}

#[cfg(test)]
mod tests {
    use pyxis_core::clock::UnixMillis;
    use pyxis_core::field::FieldElement;
    use pyxis_core::proof::{DEFAULT_ACTION, ProofNullifier};

    use super::*;

    fn proof(action: u64, until_height: Option<(i64, Ended)>, expires_at: i64) -> ProofRow {
        ProofRow {
            id: 1,
            network: "optimism".parse().unwrap(),
            kind: Kind::GovId,
            subject: EvmAddress([1; 20]).into(),
            action_id: ActionId(FieldElement::small(action)),
            nullifier: ProofNullifier(FieldElement::small(1)),
            issuer: "0x".to_owned(),
            issued_at: UnixMillis(0),
            expires_at: UnixMillis(expires_at),
            from_height: 1,
            until_height: until_height.map(|(height, _)| height),
            ended: until_height.map(|(_, ended)| ended),
            registered_at: UnixMillis(0),
        }
    }

    fn verdict_code(rows: &[ProofRow], blocked: bool) -> &'static str {
        let question = RegistryQuery {
            network: "optimism".parse().unwrap(),
            kind: Kind::GovId,
            action_id: Some(DEFAULT_ACTION),
            height: 10,
            at: UnixMillis(100),
        };
        evaluate(&question, &rows.iter().collect::<Vec<_>>(), blocked).reason()
    }

    #[test]
    fn every_reason_is_told_from_the_others() {
        const ACTION: u64 = 123_456_789;
        for (rows, blocked, wanted) in [
            (vec![], false, "none"),
            (vec![proof(ACTION, None, 101)], false, "valid"),
            (vec![proof(ACTION, None, 100)], false, "expired"),
            (vec![proof(ACTION, Some((10, Ended::Revoked)), 200)], false, "revoked"),
            (vec![proof(ACTION, Some((11, Ended::Revoked)), 200)], false, "valid"),
            (vec![proof(ACTION, Some((4, Ended::Rebound)), 200)], false, "rebound"),
            (vec![proof(7, None, 200)], false, "other_action"),
            (vec![proof(7, None, 100)], false, "none"),
            (vec![proof(ACTION, None, 200)], true, "blocked"),
            (vec![proof(ACTION, Some((4, Ended::Revoked)), 200), proof(ACTION, None, 200)], false, "valid"),
        ] {
            assert_eq!(verdict_code(&rows, blocked), wanted, "{rows:?}");
        }
    }
}
