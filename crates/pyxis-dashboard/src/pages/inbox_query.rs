//! The query of the inbox: filters, order and page.

use axum::extract::Query;
use http::Uri;
use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AgentId, CredentialId, TxnId};
use pyxis_gateway::approvals::inbox::{MethodRisk, PendingAsker};
use pyxis_gateway::approvals::view::Filter;
use pyxis_store::approvals::ApprovalRow;
use serde::Deserialize;

use super::list_query::link;
use crate::form::Fields;
use crate::session::SignedIn;
use crate::view::Choice;
use crate::view::approvals::InboxFilters;

/// Path of the inbox.
pub(super) const INBOX: &str = "/app/inbox";
/// Name of the form field with the query of the list that the form returns to.
const LIST: &str = "list";
/// Kinds of methods: name in the query, label, and meaning.
const KINDS: [(&str, &str, MethodRisk); 3] = [
    ("read", "Reads", MethodRisk::Read),
    ("write", "Writes", MethodRisk::Write),
    ("delete", "Deletes", MethodRisk::Delete),
];

/// The query of the inbox. A parameter that cannot be read matches nothing.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct InboxQuery {
    order: String,
    /// The last request of the previous page: Unix milliseconds of its creation, a dot, its id.
    after: String,
    /// Text to find.
    q: String,
    /// Id of an agent.
    agent: String,
    /// Id of a credential.
    credential: String,
    /// `read`, `write` or `delete`.
    kind: String,
    /// `ids` for the ids of all matching requests instead of a page.
    part: String,
}

impl InboxQuery {
    /// The list that a form returns to.
    pub(super) fn from_form(fields: &Fields) -> Self {
        let uri: Option<Uri> = format!("{INBOX}?{}", fields.get(LIST)).parse().ok();
        let query = uri.and_then(|uri| Query::try_from_uri(&uri).ok());
        query.map(|Query(query)| query).unwrap_or_default()
    }

    pub(super) fn q(&self) -> &str {
        self.q.trim()
    }

    pub(super) fn is_newest_first(&self) -> bool {
        self.order == "newest"
    }

    /// True if the script asks for ids only.
    pub(super) fn wants_ids(&self) -> bool {
        self.part == "ids"
    }

    /// True if requests may be left out.
    pub(super) fn is_narrowed(&self) -> bool {
        [self.q(), &self.agent, &self.credential, &self.kind].iter().any(|text| !text.is_empty())
    }

    /// The first page of the list.
    pub(super) fn start(&self) -> String {
        self.link_in(if self.is_newest_first() { "newest" } else { "" })
    }

    /// The query of the first page.
    pub(super) fn list(&self) -> String {
        self.start().split_once('?').map(|(_, query)| query.to_owned()).unwrap_or_default()
    }

    /// The first page in the other order.
    pub(super) fn turned(&self) -> String {
        self.link_in(if self.is_newest_first() { "" } else { "newest" })
    }

    fn link_in(&self, order: &str) -> String {
        let narrowed = [("agent", &*self.agent), ("credential", &*self.credential), ("kind", &*self.kind)];
        link(INBOX, [("order", order), ("q", self.q())].into_iter().chain(narrowed))
    }

    /// Conditions and page for a person.
    pub(super) fn filter(&self, who: &SignedIn, limit: u32) -> Filter {
        let (agent, credential, risk) = (self.agent_id(), self.credential_id(), self.risk());
        let unreadable = [agent.is_err(), credential.is_err(), risk.is_err()].contains(&true);
        Filter {
            state: Some(ApprovalState::Pending),
            among: if unreadable { Some(Vec::new()) } else { who.rights.approvable() },
            text: self.q().to_owned(),
            agent: agent.unwrap_or_default(),
            credential: credential.unwrap_or_default(),
            risk: risk.unwrap_or_default(),
            rising: !self.is_newest_first(),
            beyond: read_cursor(&self.after),
            limit,
            ..Filter::default()
        }
    }

    fn agent_id(&self) -> Result<Option<AgentId>, ()> {
        if self.agent.is_empty() { Ok(None) } else { self.agent.parse().map(Some).map_err(|_| ()) }
    }

    fn credential_id(&self) -> Result<Option<CredentialId>, ()> {
        if self.credential.is_empty() { Ok(None) } else { self.credential.parse().map(Some).map_err(|_| ()) }
    }

    fn risk(&self) -> Result<Option<MethodRisk>, ()> {
        if self.kind.is_empty() {
            return Ok(None);
        }
        KINDS.iter().find(|(name, ..)| *name == self.kind).map(|(.., risk)| Some(*risk)).ok_or(())
    }

    /// The selects above the list.
    pub(super) fn filters(&self, askers: &[PendingAsker]) -> InboxFilters {
        let agents = askers.iter().map(|asker| (asker.agent.to_string(), asker.agent_name.clone()));
        let credentials =
            askers.iter().map(|asker| (asker.credential.to_string(), asker.credential_name.clone()));
        let kinds = KINDS.iter().map(|(name, label, _)| ((*name).to_owned(), (*label).to_owned()));
        InboxFilters {
            agents: choices(agents, &self.agent),
            credentials: choices(credentials, &self.credential),
            kinds: choices(kinds, &self.kind),
        }
    }
}

/// Options without duplicates, by label. A chosen one stays, even if none of its requests is pending.
fn choices(options: impl Iterator<Item = (String, String)>, chosen: &str) -> Vec<Choice> {
    let mut all: Vec<(String, String)> = options.collect();
    if !chosen.is_empty() && !all.iter().any(|(value, _)| value == chosen) {
        all.push((chosen.to_owned(), "Nothing pending".to_owned()));
    }
    all.sort_by_cached_key(|(value, label)| (label.to_lowercase(), value.clone()));
    all.dedup_by(|one, other| one.0 == other.0);
    let choice = |(value, label): (String, String)| Choice { chosen: value == chosen, value, label };
    all.into_iter().map(choice).collect()
}

/// The page behind a cursor.
pub(super) fn beyond_link(start: &str, cursor: &str) -> String {
    let join = if start.contains('?') { '&' } else { '?' };
    format!("{start}{join}after={cursor}")
}

pub(super) fn cursor(row: &ApprovalRow) -> String {
    format!("{}.{}", row.created_at.0, row.txn_id)
}

/// Parses a cursor. A malformed one means the first page.
pub(super) fn read_cursor(text: &str) -> Option<(UnixMillis, TxnId)> {
    let (at, txn) = text.split_once('.')?;
    Some((UnixMillis(at.parse().ok()?), txn.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> InboxQuery {
        Query::try_from_uri(&format!("{INBOX}?{text}").parse().unwrap()).unwrap().0
    }

    #[test]
    fn a_list_is_named_by_its_filters_and_order_alone() {
        let all = query("order=newest&q=+a%26b+&agent=x&kind=write&after=1.2&part=ids");
        assert_eq!(all.start(), "/app/inbox?order=newest&q=a%26b&agent=x&kind=write");
        assert_eq!(all.turned(), "/app/inbox?q=a%26b&agent=x&kind=write");
        assert_eq!(query(&all.list()).start(), all.start());
        assert_eq!((query("").start(), query("").list()), (INBOX.to_owned(), String::new()));
        assert!(query("kind=write").is_narrowed() && !query("order=newest").is_narrowed());
    }

    #[test]
    fn an_option_that_is_chosen_stays_and_each_one_stands_once() {
        let options = [("2", "b"), ("1", "A"), ("2", "b")].map(|(v, l)| (v.to_owned(), l.to_owned()));
        let labels = |chosen: &str| {
            let all = choices(options.iter().cloned(), chosen);
            all.into_iter().map(|choice| (choice.label, choice.chosen)).collect::<Vec<_>>()
        };
        assert_eq!(labels("2"), [("A".to_owned(), false), ("b".to_owned(), true)]);
        assert_eq!(labels("9").len(), 3);
    }
}
