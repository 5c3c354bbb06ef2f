//! One passkey assertion for a list of decisions: its hash, and the check of each decision against the list.

use std::collections::HashMap;

use pyxis_core::hex;
use pyxis_core::id::{TxnId, UserId};
use pyxis_store::Tx;
use pyxis_store::approvals::ApprovalRow;
use pyxis_store::passkeys::{self, PasskeyRow};
use pyxis_store::votes::Verdict;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::identity::ceremony::VerifiedAssertion;

/// Separates this hash from every other use of SHA-256.
const DOMAIN: &[u8] = b"pyxis: decide several requests, version 1\n";

/// One decision as a passkey confirms it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ListedDecision {
    /// Digest of the request, as shown.
    digest: String,
    verdict: &'static str,
    txn: TxnId,
}

impl ListedDecision {
    pub(super) fn new(row: &ApprovalRow, verdict: Verdict) -> Self {
        Self { digest: row.digest.clone(), verdict: verdict.as_str(), txn: row.txn_id }
    }
}

/// The hash of a list, in hex: SHA-256 over its lines, sorted by digest. The order of the list does not matter.
fn hash(list: &[ListedDecision]) -> String {
    let mut sorted: Vec<_> = list.iter().collect();
    sorted.sort();
    let mut hasher = Sha256::new_with_prefix(DOMAIN);
    for ListedDecision { digest, verdict, txn } in sorted {
        hasher.update(format!("{digest} {verdict} {txn}\n"));
    }
    hex::encode(&hasher.finalize())
}

/// Text that an assertion for this list is bound to. No binding of a single request looks like it.
pub(super) fn binding(list: &[ListedDecision], user: UserId) -> String {
    format!("decide {} requests {} by {user}", list.len(), hash(list))
}

/// An assertion over a list of decisions. It is used up, and covers what the list says, once each.
pub struct BatchAssertion {
    row: PasskeyRow,
    evidence: Value,
    hash: String,
    covered: HashMap<TxnId, ListedDecision>,
}

impl BatchAssertion {
    /// The assertion for exactly this list. The caller stores its use before the first decision.
    pub(super) fn new(verified: VerifiedAssertion, list: Vec<ListedDecision>) -> Self {
        Self {
            hash: hash(&list),
            covered: list.into_iter().map(|listed| (listed.txn, listed)).collect(),
            row: verified.row,
            evidence: verified.evidence,
        }
    }

    /// Refuses a decision that the list does not have, a request that differs from the one shown, and a passkey that
    /// was removed since.
    pub(super) async fn check(&self, tx: &mut Tx, row: &ApprovalRow, verdict: Verdict) -> Result<()> {
        if self.covered.get(&row.txn_id) != Some(&ListedDecision::new(row, verdict)) {
            return Err(Error::PasskeyRefused("it was given for another action; try again"));
        }
        let stored = passkeys::find_by_credential(tx, &self.row.credential).await?;
        match stored {
            Some(stored) if stored.id == self.row.id => Ok(()),
            _ => Err(Error::PasskeyRefused("it is not registered here")),
        }
    }

    pub(super) const fn passkey(&self) -> &PasskeyRow {
        &self.row
    }

    pub(super) const fn evidence(&self) -> &Value {
        &self.evidence
    }

    /// SHA-256 of the list, in hex.
    pub(super) fn hash(&self) -> &str {
        &self.hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(digest: &str, verdict: Verdict, txn: u8) -> ListedDecision {
        let txn = format!("7d9f5e0a-4f0b-4a53-9a3e-3a1f6d2f8c{txn:02x}").parse().unwrap();
        ListedDecision { digest: digest.to_owned(), verdict: verdict.as_str(), txn }
    }

    #[test]
    fn the_hash_depends_on_every_digest_verdict_and_transaction_and_not_on_their_order() {
        let (one, two) = (listed("aa", Verdict::Approve, 1), listed("bb", Verdict::Approve, 2));
        let whole = hash(&[one.clone(), two.clone()]);
        assert_eq!(hash(&[two.clone(), one.clone()]), whole);
        for other in [
            vec![one.clone()],
            vec![one.clone(), listed("bc", Verdict::Approve, 2)],
            vec![one.clone(), listed("bb", Verdict::Deny, 2)],
            vec![one.clone(), listed("bb", Verdict::Approve, 3)],
            vec![one.clone(), two.clone(), listed("cc", Verdict::Approve, 3)],
            vec![],
        ] {
            assert_ne!(hash(&other), whole, "{other:?}");
        }
    }

    #[test]
    fn the_hash_is_of_sorted_lines_behind_the_domain() {
        let (one, two) = (listed("bb", Verdict::Approve, 1), listed("aa", Verdict::Deny, 2));
        let text = format!("aa deny {}\nbb approve {}\n", two.txn, one.txn);
        let expected = hex::encode(&Sha256::digest([DOMAIN, text.as_bytes()].concat()));
        assert_eq!(hash(&[one, two]), expected);
    }
}
