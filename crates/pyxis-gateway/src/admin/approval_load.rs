//! Number of approval requests per person. Approving becomes a habit long before it becomes a burden.

use std::time::Duration;

use pyxis_core::clock::UnixMillis;
use pyxis_core::eligibility;
use pyxis_core::id::CredentialId;
use pyxis_store::users::UserRow;
use pyxis_store::votes::{self, Verdict};
use pyxis_store::{Store, approvals};

use super::policies;
use super::rights::Rights;
use crate::error::Result;

/// More requests per hour than anyone reads with care.
pub const MANY_AN_HOUR: u64 = 20;

/// Approval requests and decisions of one person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prompts {
    /// Requests of the last hour that the person may decide.
    pub hour: u64,
    /// Requests of the last 24 hours that the person may decide.
    pub day: u64,
    /// The person's approvals in the last 24 hours.
    pub approved: u64,
    /// The person's denials in the last 24 hours.
    pub denied: u64,
}

/// Current numbers of one person.
pub async fn measure(store: &Store, now: UnixMillis, user: &UserRow, rights: &Rights) -> Result<Prompts> {
    let workspace = user.workspace_id;
    let asked = RequestKey::load(store, user, rights).await?;
    let (an_hour_ago, a_day_ago) = (now.minus(Duration::from_hours(1)), now.minus(Duration::from_hours(24)));
    let (hour, day) = (asked.since(store, an_hour_ago).await?, asked.since(store, a_day_ago).await?);
    let said = votes::count_since(store, workspace, user.id, a_day_ago).await?;
    let count = |wanted: Verdict| said.iter().find(|(verdict, _)| *verdict == wanted).map_or(0, |(_, n)| *n);
    Ok(Prompts {
        hour: positive(hour),
        day: positive(day),
        approved: positive(count(Verdict::Approve)),
        denied: positive(count(Verdict::Deny)),
    })
}

/// Selects the requests that count for a person.
struct RequestKey<'a> {
    user: &'a UserRow,
    /// Credentials allowed by role and rights; `None` for all.
    among: Option<Vec<CredentialId>>,
    /// Credentials whose policy lists only other approvers.
    barred: Vec<CredentialId>,
}

impl<'a> RequestKey<'a> {
    async fn load(store: &Store, user: &'a UserRow, rights: &Rights) -> Result<Self> {
        let all = policies::list(store, user.workspace_id).await?;
        let listed = |approvers: &[String]| eligibility::may_approve(user.role, true, approvers, &user.email);
        let barred = all.iter().filter(|(_, policy)| !listed(&policy.allowed_approvers));
        let barred: Vec<_> = barred.map(|(credential, _)| *credential).collect();
        let among = rights
            .approvable()
            .map(|mine| mine.into_iter().filter(|credential| !barred.contains(credential)).collect());
        Ok(Self { user, among, barred })
    }

    async fn since(&self, store: &Store, at: UnixMillis) -> Result<i64> {
        let workspace = self.user.workspace_id;
        let count = approvals::count_since(store, workspace, self.among.as_deref(), at).await?;
        if self.among.is_some() {
            return Ok(count);
        }
        Ok(count - approvals::count_since(store, workspace, Some(&self.barred), at).await?)
    }
}

fn positive(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}
