//! A number that rises whenever cached configuration may be stale.
//!
//! Triggers raise it (see the migrations), so neither a function nor another process can forget to. Read it *before*
//! the configuration that is cached under it.

use crate::db::{SqlQuery, sql};
use crate::{Executor, StoreError};

/// Current generation. One point read.
pub async fn read(executor: impl Executor) -> Result<i64, StoreError> {
    let row = executor.optional(query()).await?;
    row.map(|(value,)| value).ok_or(StoreError::Corrupt {
        table: "generations",
        column: "value",
        row: "configuration".to_owned(),
    })
}

pub(crate) fn query() -> SqlQuery {
    sql("SELECT value FROM generations WHERE name = 'configuration'")
}
