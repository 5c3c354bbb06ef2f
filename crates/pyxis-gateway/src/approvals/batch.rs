//! Several decisions in one request. Each is made alone, with the same checks as if it were the only one.

use std::collections::HashSet;

use pyxis_core::id::TxnId;
use pyxis_store::votes::Verdict;

use super::approver::Approver;
use super::decide::{self, AuthMethod, Decision, DecisionOutcome};
use super::edit::Reviewed;
use crate::error::{Error, Result};
use crate::runtime::state::State;

/// Maximum number of decisions in one request.
pub const MAX_DECISIONS: usize = 100;

/// One decision of several. It cannot open a grant: a grant is for one request that a person has read.
#[derive(Clone, Debug)]
pub struct BatchItem {
    /// Transaction id, as the caller sent it.
    pub id: String,
    /// The person's decision.
    pub verdict: Verdict,
    /// Reason of a denial for the agent, or a comment on an approval for the record.
    pub reason: Option<String>,
    /// Digest of the request that the person read. Needed to approve one that was edited.
    pub digest: Option<String>,
}

impl BatchItem {
    /// Parses the id. A malformed one is not found.
    pub(super) fn txn(&self) -> Result<TxnId> {
        self.id.parse().map_err(|_| Error::not_found("transaction"))
    }

    async fn decide(
        &self,
        state: &State,
        approver: &Approver,
        proof: &AuthMethod,
    ) -> Result<DecisionOutcome> {
        let (decision, note) = match self.verdict {
            Verdict::Approve => (Decision::Approve(None), self.reason.clone()),
            Verdict::Deny => (Decision::Deny(self.reason.clone()), None),
        };
        let reviewed = Reviewed { digest: self.digest.clone(), ..Reviewed::default() };
        decide::decide_reviewed(state, approver, self.txn()?, decision, proof, note, &reviewed).await
    }
}

/// Refuses an empty list, a list that is too long, and a list that names a transaction twice.
///
/// # Errors
/// `InvalidDecisions`.
pub fn check(items: &[BatchItem]) -> Result<()> {
    if items.is_empty() {
        return Err(Error::InvalidDecisions("decisions is empty; name at least one transaction".to_owned()));
    }
    if items.len() > MAX_DECISIONS {
        let detail = format!("decisions has {} entries; send at most {MAX_DECISIONS}", items.len());
        return Err(Error::InvalidDecisions(detail));
    }
    let mut seen = HashSet::new();
    for (place, item) in items.iter().enumerate() {
        // One id can be spelled in several ways.
        let id = item.txn().map_or_else(|_| item.id.clone(), |txn| txn.to_string());
        if !seen.insert(id) {
            let detail = format!("decisions[{place}].txn_id was named before; name each transaction once");
            return Err(Error::InvalidDecisions(detail));
        }
    }
    Ok(())
}

/// Decides one item after the other, in the given order. The failure of one does not touch another.
///
/// # Errors
/// As [`check`], before anything is decided. Each result fails as [`decide::decide`].
pub async fn decide_each(
    state: &State,
    approver: &Approver,
    items: &[BatchItem],
    proof: &AuthMethod,
) -> Result<Vec<Result<DecisionOutcome>>> {
    check(items)?;
    let mut results = Vec::with_capacity(items.len());
    for item in items {
        results.push(item.decide(state, approver, proof).await);
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(ids: &[&str]) -> Vec<BatchItem> {
        let item = |id: &&str| BatchItem {
            id: (*id).to_owned(),
            verdict: Verdict::Deny,
            reason: None,
            digest: None,
        };
        ids.iter().map(item).collect()
    }

    #[test]
    fn a_list_names_one_to_a_hundred_transactions_and_each_of_them_once() {
        const ID: &str = "7d9f5e0a-4f0b-4a53-9a3e-3a1f6d2f8c11";
        check(&items(&[ID, "none"])).unwrap();
        assert!(check(&[]).is_err());
        assert!(check(&items(&[ID, "none", ID])).is_err());
        assert!(check(&items(&[ID, &ID.to_uppercase()])).is_err(), "another spelling of the same id");
        let ids: Vec<String> = (0..=MAX_DECISIONS).map(|n| n.to_string()).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        check(&items(&ids[1..])).unwrap();
        assert!(check(&items(&ids)).is_err());
    }
}
