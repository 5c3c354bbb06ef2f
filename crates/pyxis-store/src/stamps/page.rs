//! Pages of an address's Stamps, newest first. They stay stable while Stamps are added and removed.

use std::cmp::Reverse;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;

use super::compression::Packed;
use crate::db::{SqlQuery, row, sql};
use crate::{Executor, StoreError};

/// A Stamp in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageItem {
    /// Stamp number.
    pub id: i64,
    /// Stored name.
    pub provider: String,
    /// The credential, byte for byte. `None` if the stored data is damaged.
    pub credential: Option<String>,
}

row! {
    Found: "stamps", page_columns {
        id: i64,
        provider: String,
        // Uncompressed credential, in rows from before migration 20; empty in others.
        credential: String,
        packed: Option<Packed>,
    }
}

impl From<Found> for PageItem {
    fn from(found: Found) -> Self {
        let Found { id, provider, credential, packed } = found;
        Self { id, provider, credential: packed.map_or(Some(credential), |packed| packed.unpack()) }
    }
}

/// Position of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cursor {
    /// The newest Stamps.
    First,
    /// Stamps just older than the one with this number, which need not exist anymore.
    Older(i64),
    /// Stamps just newer than the one with this number.
    Newer(i64),
}

/// Numbers of an address's Stamps that are valid at a given time.
macro_rules! numbers {
    () => {
        "SELECT id FROM stamps WHERE workspace_id = $1 AND address = $2 AND expires_at > $3 AND issued_at <= $3"
    };
}

/// A page of the Stamps that are valid at `now`, newest first wherever it is.
pub async fn page(
    executor: impl Executor,
    workspace: WorkspaceId,
    address: EvmAddress,
    now: UnixMillis,
    cursor: Cursor,
    limit: u32,
) -> Result<Vec<PageItem>, StoreError> {
    // Reads no credentials of Stamps on other pages.
    let query = sql(concat!(
        "SELECT ",
        page_columns!(),
        " FROM stamps JOIN stamp_credentials ON stamp_id = id WHERE id IN (",
        numbers!()
    ));
    let query = bind_parameters(query, workspace, address, now, cursor).limit(limit).append(")");
    let found: Vec<Found> = executor.all(query).await?;
    let mut items: Vec<PageItem> = found.into_iter().map(PageItem::from).collect();
    items.sort_unstable_by_key(|item| Reverse(item.id));
    Ok(items)
}

/// True if there is a Stamp at `cursor`.
pub async fn exists_beyond(
    executor: impl Executor,
    workspace: WorkspaceId,
    address: EvmAddress,
    now: UnixMillis,
    cursor: Cursor,
) -> Result<bool, StoreError> {
    let query = bind_parameters(sql(numbers!()), workspace, address, now, cursor);
    Ok(executor.optional::<(i64,)>(query.limit(1)).await?.is_some())
}

/// Binds the parameters of `numbers!` and appends the cursor. Uses `+id`, so that neither engine walks through
/// everyone's Stamps in order; an address has few.
fn bind_parameters(
    query: SqlQuery,
    workspace: WorkspaceId,
    address: EvmAddress,
    now: UnixMillis,
    cursor: Cursor,
) -> SqlQuery {
    let query = query.bind(workspace).bind(address).bind(now);
    match cursor {
        Cursor::First => query.append(" ORDER BY +id DESC"),
        Cursor::Older(than) => query.push(" AND +id < ? ORDER BY +id DESC", than),
        Cursor::Newer(than) => query.push(" AND +id > ? ORDER BY +id", than),
    }
}
