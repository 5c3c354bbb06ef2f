//! The download of a receipt.

use axum::body::Body;
use axum::response::Response;
use pyxis_gateway::approvals::view;
use pyxis_gateway::receipts;

use super::file;
use super::inbox::txn;
use crate::Error;
use crate::form::{Page, PathId};
use crate::session::SignedIn;

pub(crate) async fn receipt(
    Page { state, who, .. }: Page<SignedIn>,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let row = view::row(&state.gateway, who.person.workspace(), txn(&id)?).await?;
    who.require_approve(row.credential_id)?;
    let receipt = receipts::issue(&state.gateway, row.workspace_id, row.txn_id).await?;
    Ok(file::download("application/jwt", &receipts::file_name(row.txn_id), Body::from(receipt)))
}
