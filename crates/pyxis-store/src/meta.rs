//! Key-value pairs about the installation.

use crate::db::sql;
use crate::{Executor, StoreError};

/// The value of a key, if any.
pub async fn get(executor: impl Executor, key: &str) -> Result<Option<String>, StoreError> {
    let row = executor.optional(sql("SELECT value FROM meta WHERE key = $1").bind(key)).await?;
    Ok(row.map(|(value,)| value))
}

/// Stores a value unless the key already has one. Returns true if stored.
pub async fn put_if_absent(executor: impl Executor, key: &str, value: &str) -> Result<bool, StoreError> {
    let query =
        sql("INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT DO NOTHING").bind(key).bind(value);
    Ok(executor.execute(query).await? == 1)
}

/// Stores a value, whether or not the key has one.
pub async fn put(executor: impl Executor, key: &str, value: &str) -> Result<(), StoreError> {
    let query = sql("INSERT INTO meta (key, value) VALUES ($1, $2) \
         ON CONFLICT (key) DO UPDATE SET value = excluded.value");
    executor.execute(query.bind(key).bind(value)).await?;
    Ok(())
}
