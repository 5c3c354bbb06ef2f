//! Parts of a request that a message with only a link shows.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::TxnId;
use pyxis_store::approvals::ApprovalKind;

use super::flat::one_line;
use crate::approvals::view::ApprovalView;

/// Facts about a request, each on one line. The address is reduced to its host, and headers, body and payload are left
/// out.
#[derive(Clone, Debug)]
pub(crate) struct RequestFacts {
    pub(crate) txn: TxnId,
    /// Name of the workspace.
    pub(crate) brand: String,
    /// The same, and how the request stands.
    pub(crate) title: String,
    /// One sentence.
    pub(crate) summary: String,
    pub(crate) agent: String,
    pub(crate) credential: String,
    pub(crate) method: String,
    pub(crate) host: String,
    /// The agent's reason.
    pub(crate) reason: Option<String>,
    /// Approvals so far and the end of the approval window, or how the request ended.
    pub(crate) status: Vec<String>,
    pub(crate) expires_at: UnixMillis,
}

impl RequestFacts {
    pub(super) fn new(seen: &ApprovalView, brand: &str, headline: &str, status: &[String]) -> Self {
        let row = &seen.row;
        let brand = one_line(brand);
        let (agent, credential) = (one_line(&row.agent_name), one_line(&row.credential_name));
        let wish = match row.kind {
            ApprovalKind::Forward => "to use",
            ApprovalKind::Sign => "a signature with",
        };
        Self {
            txn: row.txn_id,
            title: format!("{brand} · {headline}"),
            brand,
            summary: format!("{agent} wants {wish} {credential}"),
            agent,
            credential,
            method: one_line(&row.method),
            host: one_line(&row.target_host),
            reason: row.reason.as_deref().map(one_line),
            status: status.to_vec(),
            expires_at: row.expires_at,
        }
    }
}
