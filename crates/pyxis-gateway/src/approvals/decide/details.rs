//! Details of the audit records of a decision.

use pyxis_core::id::{PasskeyId, UserId};
use serde::Serialize;

use super::ChatAccount;

#[derive(Serialize)]
pub(super) struct GrantDetail<'a> {
    pub(super) route: &'a str,
    pub(super) expires_at: String,
    pub(super) agent_only: bool,
    pub(super) max_uses: Option<i64>,
}

/// `detail` of a record about an edit. The texts stay out, as those of other requests do.
#[derive(Serialize)]
pub(super) struct EditDetail<'a> {
    pub(super) surface: &'a str,
    /// Name and id of the personal access token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) token: Option<String>,
    /// Digest of the request as its agent sent it.
    pub(super) asked_digest: Option<&'a str>,
    pub(super) digest_before: &'a str,
    pub(super) digest: &'a str,
    /// Changed parts of the request.
    pub(super) parts: &'a [&'static str],
    /// Earlier votes that no longer count.
    pub(super) void_votes: u64,
}

#[derive(Serialize)]
pub(super) struct PasskeyDetail<'a> {
    pub(super) id: PasskeyId,
    pub(super) name: &'a str,
    pub(super) assertion: &'a serde_json::Value,
    /// Hash of the list, if the assertion covers several decisions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) list_sha256: Option<&'a str>,
}

#[derive(Serialize)]
pub(super) struct DecisionDetail<'a> {
    pub(super) surface: &'a str,
    /// Chat account that made the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) chat: Option<&'a ChatAccount>,
    /// Name and id of the personal access token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) token: Option<String>,
    /// Passkey and assertion, so that the signature can be verified again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) passkey: Option<PasskeyDetail<'a>>,
    /// Creator of the link that last opened the account, if it was someone else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) opened_by: Option<UserId>,
    pub(super) channel: &'a str,
    pub(super) digest: &'a str,
    pub(super) approvals: u32,
    pub(super) min_approvals: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<&'a str>,
}
