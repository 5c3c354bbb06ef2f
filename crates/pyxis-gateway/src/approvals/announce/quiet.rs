//! Times from which people may be notified of a request, given their quiet hours.

use std::collections::{BTreeMap, BTreeSet};

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::UserId;
use pyxis_store::{Tx, quiet_hours};

use super::approval_subject::{AnnouncementRoute, ApprovalSubject};
use crate::error::Result;

/// Recipients of earlier announcements, and people who need none.
#[derive(Default)]
pub(super) struct Recipients {
    /// Number of rooms.
    pub(super) rooms: usize,
    pub(super) people: BTreeSet<UserId>,
}

/// Quiet hours around the announcement of a request or a task.
pub(super) struct Quiet<'a> {
    now: UnixMillis,
    subject: &'a ApprovalSubject,
    route: &'a AnnouncementRoute<'a>,
    /// Number of approvals needed.
    needed: usize,
}

impl<'a> Quiet<'a> {
    pub(super) fn new(
        now: UnixMillis,
        subject: &'a ApprovalSubject,
        route: &'a AnnouncementRoute<'a>,
    ) -> Self {
        let current = route.policy.map_or(1, |policy| policy.min_approvals);
        let needed = usize::try_from(subject.needed.max(current.into())).unwrap_or(usize::MAX);
        Self { now, subject, route, needed }
    }

    /// Times from which people may be told: the end of their quiet hours, or now. Those are left out whose quiet hours
    /// end after the request. If that would leave fewer recipients than approvals are needed, everyone is told now.
    pub(super) async fn due(
        &self,
        tx: &mut Tx,
        people: &[UserId],
        told: &Recipients,
    ) -> Result<BTreeMap<UserId, UnixMillis>> {
        let (mut due, mut held) = (BTreeMap::new(), Vec::new());
        for person in people.iter().copied() {
            let Some(end) = self.end(tx, person).await? else {
                due.insert(person, self.now);
                continue;
            };
            held.push(person);
            if end < self.subject.expires_at {
                due.insert(person, end);
            }
        }
        let in_time: BTreeSet<UserId> = told.people.iter().chain(due.keys()).copied().collect();
        if told.rooms + in_time.len() < self.needed {
            due.extend(held.into_iter().map(|person| (person, self.now)));
        }
        Ok(due)
    }

    /// End of the quiet hours in which a person is now, if they apply to the request.
    async fn end(&self, tx: &mut Tx, person: UserId) -> Result<Option<UnixMillis>> {
        let found = quiet_hours::find(&mut *tx, self.subject.workspace, person).await?;
        // Hours that can no longer be read hold no message back.
        let end = found.and_then(|row| row.hours()).and_then(|hours| hours.end_after(self.now));
        if end.is_some() && self.is_exempt(tx, person).await? {
            return Ok(None);
        }
        Ok(end)
    }

    /// True for people on call, and for the only one who may decide.
    async fn is_exempt(&self, tx: &mut Tx, person: UserId) -> Result<bool> {
        if self.subject.on_call(tx, self.route).await?.contains(&person) {
            return Ok(true);
        }
        Ok(self.subject.eligible_people(tx).await? == [person])
    }
}
