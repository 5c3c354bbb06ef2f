//! Recent requests that a grant would have covered, as a summary for anyone about to open one.

use std::collections::{BTreeMap, HashMap};

use pyxis_core::audit_event::AuditEvent;
use pyxis_core::id::WorkspaceId;
use pyxis_core::policy::Method;
use pyxis_core::target::Target;
use pyxis_store::audit::{self, AuditFilter};
use pyxis_store::{Store, StoredName};
use serde::Serialize;
use utoipa::ToSchema;

use super::view::ApprovalView;
use super::viewer_status;
use crate::error::Result;

/// Number of requests examined.
const LOOKED_AT: u32 = 1000;

/// Recent requests by the scope of a grant: credential, method and route.
#[derive(Clone, Debug, Default)]
pub struct RecentRequests {
    looked_at: usize,
    made: HashMap<(String, StoredName<Method>, String), BTreeMap<String, u64>>,
}

/// Number of matching requests, and their agents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct GrantCoverage {
    /// Number of recent requests of the workspace that were compared.
    #[schema(minimum = 0)]
    pub looked_at: usize,
    /// Requests among them with the same credential, method and route.
    #[schema(minimum = 0)]
    pub covered: u64,
    /// Agents that sent them.
    pub agents: Vec<String>,
}

impl RecentRequests {
    /// Loads the latest requests of a workspace.
    pub async fn load(store: &Store, workspace: WorkspaceId) -> Result<Self> {
        let filter = AuditFilter {
            events: vec![AuditEvent::RequestReceived],
            limit: LOOKED_AT,
            ..AuditFilter::default()
        };
        let mut recent = Self::default();
        for entry in audit::search(store, workspace, &filter).await? {
            recent.looked_at += 1;
            let record = entry.record.record;
            let detail: serde_json::Value = serde_json::from_str(&record.detail).unwrap_or_default();
            let route = detail["target"].as_str().map(str::to_owned);
            let (Some(credential), Some(method), Some(route)) = (record.credential, record.method, route)
            else {
                continue;
            };
            let made = recent.made.entry((credential, method, route)).or_default();
            *made.entry(record.actor_name).or_default() += 1;
        }
        Ok(recent)
    }

    /// Requests that a grant with this scope would have covered.
    pub fn covered_by(&self, credential: &str, method: &StoredName<Method>, route: &str) -> GrantCoverage {
        let key = (credential.to_owned(), method.clone(), route.to_owned());
        let made = self.made.get(&key);
        GrantCoverage {
            looked_at: self.looked_at,
            covered: made.map_or(0, |made| made.values().sum()),
            agents: made.map(|made| made.keys().cloned().collect()).unwrap_or_default(),
        }
    }
}

impl RecentRequests {
    /// Requests that a grant opened with the approval of `view` would have covered. `None` if no grant can be opened.
    pub fn of_view(&self, view: &ApprovalView, needed: u32) -> Option<GrantCoverage> {
        let row = &view.row;
        let target = Target::parse(&view.target).ok().filter(|_| viewer_status::grantable(row, needed))?;
        Some(self.covered_by(&row.credential_name, &row.method, &target.route()))
    }
}

impl GrantCoverage {
    /// The summary as a sentence.
    pub fn in_words(&self) -> String {
        let requests = if self.looked_at == 1 { "request" } else { "requests" };
        let matches = if self.covered == 1 { "matches" } else { "match" };
        let from = match self.agents.as_slice() {
            [] => return "No recent request matches.".to_owned(),
            [one] => one.clone(),
            [first, _] => format!("{first} and 1 other agent"),
            [first, rest @ ..] => format!("{first} and {} other agents", rest.len()),
        };
        format!("{} of {} recent {requests} {matches}, from {from}.", self.covered, self.looked_at)
    }
}
