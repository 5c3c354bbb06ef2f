//! The three records of an edited request: as its agent asked, as people decided, and as it was sent.

use http::{HeaderName, HeaderValue};
use pyxis_store::Store;
use pyxis_store::approvals::{self, ApprovalRow};
use pyxis_store::cipher::Keyring;
use serde::Serialize;
use utoipa::ToSchema;

pub use super::difference::{RequestDifference, ValueChange};
use crate::error::{Error, Result};
use crate::runtime::stored::StoredRequest;

/// Response header that tells an agent that its request was edited.
pub const PX_EDITED: HeaderName = HeaderName::from_static("px-edited");
pub(crate) const YES: HeaderValue = HeaderValue::from_static("true");

/// Record of a request that a person edited.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct EditedRecord {
    /// Digest of the request as its agent sent it.
    pub asked_digest: String,
    /// Digest of the request as it was approved; null before that.
    #[schema(required)]
    pub decided_digest: Option<String>,
    /// Digest of the request as it was sent; null before that.
    #[schema(required)]
    pub sent_digest: Option<String>,
    /// Difference between the agent's request and the edited one; null once both are deleted.
    #[schema(required)]
    pub difference: Option<RequestDifference>,
}

impl EditedRecord {
    /// The record of a row. `None` if no one edited it.
    pub(crate) fn new(row: &ApprovalRow, difference: Option<RequestDifference>) -> Option<Self> {
        Some(Self {
            asked_digest: row.asked_digest.clone()?,
            decided_digest: row.decided_digest.clone(),
            sent_digest: row.sent_digest.clone(),
            difference,
        })
    }

    /// The record of a row for its agent, from the stored requests.
    pub(crate) async fn load(store: &Store, keyring: &Keyring, row: &ApprovalRow) -> Result<Option<Self>> {
        if row.edits == 0 {
            return Ok(None);
        }
        let asked = original_request(store, keyring, row).await?;
        let edited = stored(keyring, row, approvals::request(store, row.workspace_id, row.txn_id).await?)?;
        let difference = asked.zip(edited).map(|(asked, edited)| RequestDifference::between(&asked, &edited));
        Ok(Self::new(row, difference))
    }
}

/// The agent's own request, if a person edited it and it is not deleted.
pub(super) async fn original_request(
    store: &Store,
    keyring: &Keyring,
    row: &ApprovalRow,
) -> Result<Option<StoredRequest>> {
    if row.edits == 0 {
        return Ok(None);
    }
    stored(keyring, row, approvals::original_request(store, row.workspace_id, row.txn_id).await?)
}

fn stored(
    keyring: &Keyring,
    row: &ApprovalRow,
    sealed: Option<pyxis_store::cipher::Sealed>,
) -> Result<Option<StoredRequest>> {
    let Some(sealed) = sealed else { return Ok(None) };
    let aad = approvals::request_aad(row.workspace_id, row.txn_id);
    let bytes = keyring.open(&aad, &sealed).map_err(|error| Error::Internal(Box::new(error)))?;
    StoredRequest::decode(&bytes).map(Some).map_err(|error| Error::Internal(Box::new(error)))
}
