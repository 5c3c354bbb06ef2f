//! State of the audit chain, checked at most once a minute however often a page asks.

use std::sync::Arc;
use std::time::Duration;

use pyxis_core::clock::UnixMillis;
use pyxis_gateway::{State as Gateway, admin};
use tokio::sync::Mutex;

use crate::view::Timestamp;
use crate::view::settings::AuditHealth;

/// Age at which a result is computed again.
const FRESH: Duration = Duration::from_mins(1);
/// Longest wait of a page for a check; a long chain is checked further in the background.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The last check. The holder of the lock is checking.
#[derive(Clone, Default)]
pub(crate) struct AuditCheck(Arc<Mutex<Option<Checked>>>);

#[derive(Clone)]
struct Checked {
    at: UnixMillis,
    /// The damage found; `None` if the chain is intact.
    damage: Option<String>,
}

impl AuditCheck {
    /// The result, if it is available soon enough.
    pub(crate) async fn health(&self, gateway: &Gateway) -> AuditHealth {
        let task = tokio::spawn(check_health(Arc::clone(&self.0), gateway.clone()));
        match tokio::time::timeout(TIMEOUT, task).await {
            Ok(Ok(Some(checked))) => to_view(checked, gateway.now()),
            _ => AuditHealth::Unchecked,
        }
    }
}

async fn check_health(slot: Arc<Mutex<Option<Checked>>>, gateway: Gateway) -> Option<Checked> {
    let mut slot = slot.lock().await;
    if let Some(checked) = slot.as_ref().filter(|checked| gateway.now().since(checked.at) < FRESH) {
        return Some(checked.clone());
    }
    let damage = match admin::audit::verify(&gateway).await {
        Ok(verdict) => verdict.damage.map(|damage| format!("event {}: {}", damage.seq, damage.kind)),
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "the audit chain could not be checked");
            return None;
        }
    };
    *slot = Some(Checked { at: gateway.now(), damage });
    slot.clone()
}

fn to_view(checked: Checked, now: UnixMillis) -> AuditHealth {
    let at = Timestamp::new(checked.at, now);
    match checked.damage {
        // The chain spans all workspaces, so no single one may learn its length.
        None => AuditHealth::Whole { rows: "All events".to_owned(), at },
        Some(finding) => AuditHealth::Damaged { finding, at },
    }
}
