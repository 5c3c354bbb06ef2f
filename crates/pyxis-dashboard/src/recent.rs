//! Counts of the audit trail of the last 24 hours, cached for a few seconds.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use pyxis_gateway::{State as Gateway, admin};
use pyxis_store::home::{Decisions, RefusedCredential};
use tokio::sync::Mutex;

use crate::Error;

/// Counted time span.
pub(crate) const SPAN: Duration = Duration::from_hours(24);
/// Age at which counts are read again.
const FRESH: Duration = Duration::from_secs(10);
/// Maximum number of cached workspaces. When it is exceeded, the cache is cleared.
const MAX_WORKSPACES: usize = 1000;
/// Maximum number of refused credentials.
const MOST_CREDENTIALS: u32 = 5;

/// Counts of one workspace.
#[derive(Debug)]
pub(crate) struct Counts {
    pub(crate) decisions: Vec<Decisions>,
    /// Credentials that an API refused, most refused first.
    pub(crate) refused: Vec<RefusedCredential>,
}

/// Latest counts of one workspace, and their time. The lock is held while counting.
type Slot = Arc<Mutex<Option<(UnixMillis, Arc<Counts>)>>>;

/// Latest counts by workspace.
#[derive(Clone, Default)]
pub(crate) struct RecentDecisions(Arc<Mutex<BTreeMap<WorkspaceId, Slot>>>);

impl RecentDecisions {
    /// Counts of a workspace, at most 10 seconds old.
    pub(crate) async fn read(&self, gateway: &Gateway, workspace: WorkspaceId) -> Result<Arc<Counts>, Error> {
        let slot = self.slot(workspace).await;
        let mut slot = slot.lock().await;
        let now = gateway.now();
        if let Some((_, counted)) = slot.as_ref().filter(|(at, _)| now.since(*at) < FRESH) {
            return Ok(Arc::clone(counted));
        }
        let since = now.minus(SPAN);
        let counted = Arc::new(Counts {
            decisions: admin::audit::decisions(&gateway.store, &gateway.audit, workspace, since).await?,
            refused: admin::audit::refused_credentials(
                &gateway.store,
                &gateway.audit,
                workspace,
                since,
                MOST_CREDENTIALS,
            )
            .await?,
        });
        *slot = Some((now, Arc::clone(&counted)));
        Ok(counted)
    }

    async fn slot(&self, workspace: WorkspaceId) -> Slot {
        let mut all = self.0.lock().await;
        if all.len() >= MAX_WORKSPACES && !all.contains_key(&workspace) {
            all.clear();
        }
        Arc::clone(all.entry(workspace).or_default())
    }
}
