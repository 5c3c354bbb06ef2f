//! How often a person is asked: approving becomes a habit long before it becomes a burden.

use std::time::Duration;

use pyxis_store::approvals;
use pyxis_store::users::UserRow;
use pyxis_store::votes::{self, Verdict};

use super::rights::Rights;
use crate::error::Result;
use crate::state::State;

/// More requests in an hour than anybody reads with care.
pub const MANY_AN_HOUR: u64 = 20;

/// What somebody was asked and said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prompts {
    /// Requests of the last hour that they may decide.
    pub hour: u64,
    /// Those of the last 24 hours.
    pub day: u64,
    /// Their approvals in the last 24 hours.
    pub approved: u64,
    /// Their denials in the last 24 hours.
    pub denied: u64,
}

/// The prompts of one person, as of now.
pub async fn of(state: &State, user: &UserRow, rights: &Rights) -> Result<Prompts> {
    let (now, workspace) = (state.now(), user.workspace_id);
    let among = rights.approvable();
    let (an_hour_ago, a_day_ago) = (now.minus(Duration::from_hours(1)), now.minus(Duration::from_hours(24)));
    let hour = approvals::count_since(&state.store, workspace, among.as_deref(), an_hour_ago).await?;
    let day = approvals::count_since(&state.store, workspace, among.as_deref(), a_day_ago).await?;
    let said = votes::count_since(&state.store, workspace, user.id, a_day_ago).await?;
    let count = |wanted: Verdict| said.iter().find(|(verdict, _)| *verdict == wanted).map_or(0, |(_, n)| *n);
    Ok(Prompts {
        hour: positive(hour),
        day: positive(day),
        approved: positive(count(Verdict::Approve)),
        denied: positive(count(Verdict::Deny)),
    })
}

fn positive(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}
