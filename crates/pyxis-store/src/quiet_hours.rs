//! Quiet hours of people.

use pyxis_core::id::{UserId, WorkspaceId};
use pyxis_core::quiet_hours::QuietHours;

use crate::db::{row, sql};
use crate::{Executor, StoreError};

row! {
    /// Quiet hours of a person. Minutes are counted from midnight in the time zone.
    pub QuietHoursRow: "quiet_hours", quiet_hours_columns {
        /// The person.
        user_id: UserId,
        /// Workspace of the person.
        workspace_id: WorkspaceId,
        /// IANA name.
        time_zone: String,
        /// First quiet minute of the day.
        start_minute: i64,
        /// First minute of the day after the quiet hours.
        end_minute: i64,
    }
}

impl QuietHoursRow {
    /// The hours; `None` if they can no longer be read, such as in a time zone that was removed.
    pub fn hours(&self) -> Option<QuietHours> {
        let minute = |minute: i64| u16::try_from(minute).ok();
        QuietHours::from_minutes(&self.time_zone, minute(self.start_minute)?, minute(self.end_minute)?).ok()
    }
}

/// Sets or replaces the quiet hours of a person.
pub async fn set(executor: impl Executor, new: &QuietHoursRow) -> Result<(), StoreError> {
    let query = sql("INSERT INTO quiet_hours (user_id, workspace_id, time_zone, start_minute, end_minute) \
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (user_id) DO UPDATE SET time_zone = excluded.time_zone, \
         start_minute = excluded.start_minute, end_minute = excluded.end_minute")
    .bind(new.user_id)
    .bind(new.workspace_id)
    .bind(&new.time_zone)
    .bind(new.start_minute)
    .bind(new.end_minute);
    executor.execute(query).await?;
    Ok(())
}

/// Removes the quiet hours of a person. Returns false if there were none.
pub async fn remove(
    executor: impl Executor,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM quiet_hours WHERE workspace_id = $1 AND user_id = $2");
    Ok(executor.execute(query.bind(workspace).bind(user)).await? == 1)
}

/// Quiet hours of a person.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<Option<QuietHoursRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        quiet_hours_columns!(),
        " FROM quiet_hours WHERE workspace_id = $1 AND user_id = $2"
    ));
    executor.optional(query.bind(workspace).bind(user)).await
}
