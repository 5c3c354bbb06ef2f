//! A number that rises whenever cached configuration may be out of date.
//!
//! Triggers raise it (see the migrations), so no function can forget to, and neither can another
//! process. Read it *before* the configuration that is cached under it.

use crate::db::{SqlQuery, sql};
use crate::{Executor, StoreError};

/// The present generation: one point read.
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
