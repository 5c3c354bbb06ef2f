//! Promotions of a PostgreSQL standby, recognized by the server's timeline, which rises with each.

use std::sync::atomic::Ordering;

use pyxis_core::clock::UnixMillis;

use crate::db::sql;
use crate::{Engine, Executor, Store, StoreError, Tx};

/// Keys in `meta`: the timeline that was last seen, and the time when its beginning was noticed.
const TIMELINE: &str = "postgres_timeline";
const NOTICED: &str = "postgres_promoted_at";

/// Reads the server's timeline. Returns it if this process has not yet passed it to [`record`] or [`remember_stored`].
pub async fn unseen(store: &Store) -> Result<Option<i64>, StoreError> {
    if store.engine() == Engine::Sqlite {
        return Ok(None);
    }
    // The name of a WAL file begins with the timeline, as 8 hexadecimal digits.
    let query = sql("SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)");
    let name: Option<(String,)> = store.optional(query).await?;
    let timeline = name.and_then(|(digits,)| i64::from_str_radix(&digits, 16).ok());
    Ok(timeline.filter(|timeline| store.timeline().load(Ordering::Relaxed) != *timeline))
}

/// Stores the timeline. Returns the one before if this transaction is the first to notice the change.
///
/// `remembered` is the timeline that this process saw before. An asynchronous standby may lack the stored one, and then
/// the process alone knows of the promotion.
pub async fn record(
    tx: &mut Tx,
    timeline: i64,
    remembered: Option<i64>,
    now: UnixMillis,
) -> Result<Option<i64>, StoreError> {
    let stored: Option<(String,)> =
        tx.optional(sql("SELECT value FROM meta WHERE key = $1").bind(TIMELINE)).await?;
    let (is_first, before) = match stored {
        Some((before,)) => (replace(tx, &before, timeline).await?, before.parse().ok()),
        None => (crate::meta::put_if_absent(&mut *tx, TIMELINE, &timeline.to_string()).await?, remembered),
    };
    let before = before.filter(|before| is_first && *before != timeline);
    if before.is_some() {
        crate::meta::put(tx, NOTICED, &now.0.to_string()).await?;
    }
    Ok(before)
}

/// Replaces the stored timeline. Returns true if this transaction did it.
async fn replace(tx: &mut Tx, before: &str, timeline: i64) -> Result<bool, StoreError> {
    let query = sql("UPDATE meta SET value = $1 WHERE key = $2 AND value = $3 AND value <> $1");
    Ok(tx.execute(query.bind(timeline.to_string()).bind(TIMELINE).bind(before)).await? == 1)
}

/// Timeline that this process saw last.
pub fn remembered(store: &Store) -> Option<i64> {
    Some(store.timeline().load(Ordering::Relaxed)).filter(|timeline| *timeline != 0)
}

pub fn remember_stored(store: &Store, timeline: i64) {
    store.timeline().store(timeline, Ordering::Relaxed);
}

/// Time when the latest promotion was noticed.
pub async fn noticed_at(store: &Store) -> Result<Option<UnixMillis>, StoreError> {
    let value = crate::meta::get(store, NOTICED).await?;
    Ok(value.and_then(|millis| millis.parse().ok()).map(UnixMillis))
}
