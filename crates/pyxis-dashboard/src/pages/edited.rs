//! The changes that people made to a request, for its card.

use pyxis_core::clock::UnixMillis;
use pyxis_gateway::approvals::edit_record::ValueChange;
use pyxis_gateway::approvals::view::ApprovalView;

use crate::view::Timestamp;
use crate::view::edit::{ChangedValue, EditCard, diff_lines};

/// Changes that people made to a request. `None` if no one edited it.
pub(super) fn card(view: &ApprovalView, now: UnixMillis) -> Option<EditCard> {
    let record = view.edited()?;
    let digests = [
        ("Asked", Some(record.asked_digest)),
        ("Decided", record.decided_digest),
        ("Sent", record.sent_digest),
    ];
    let values = view.asked.as_ref().map(|asked| {
        let query = asked.difference.query().iter().map(|change| changed("Query", change));
        query.chain(asked.difference.headers().iter().map(|change| changed("Header", change))).collect()
    });
    let lines = view
        .asked
        .as_ref()
        .zip(view.body.as_ref())
        .map(|(asked, body)| diff_lines(view.row.content_type.as_deref(), &asked.body, body));
    Some(EditCard {
        by: view.row.edited_by_email.clone().unwrap_or_else(|| "someone".to_owned()),
        at: Timestamp::new(view.row.edited_at.unwrap_or(view.row.created_at), now),
        records: digests.into_iter().filter_map(|(name, digest)| Some((name, digest?))).collect(),
        is_erased: view.asked.is_none(),
        lines: lines.unwrap_or_default(),
        values: values.unwrap_or_default(),
    })
}

fn changed(part: &'static str, change: &ValueChange) -> ChangedValue {
    let joined = |values: &[String]| if values.is_empty() { "none".to_owned() } else { values.join(", ") };
    ChangedValue {
        part,
        name: change.name.clone(),
        before: joined(&change.before),
        after: joined(&change.after),
    }
}
