//! Browsers whose push services refuse messages.

use pyxis_store::{Store, StoreError, push, workspaces};

use super::Finding;

const FIX: &str = "check PX_PUSH_CONTACT and this server's clock; then subscribe the browser again";

/// One finding for each browser that is not notified.
pub(super) async fn examine(store: &Store) -> Vec<Finding> {
    refused_subscriptions(store)
        .await
        .unwrap_or_else(|error| vec![Finding::bad("browsers", error, "check the database")])
}

async fn refused_subscriptions(store: &Store) -> Result<Vec<Finding>, StoreError> {
    let mut findings = Vec::new();
    for workspace in workspaces::list(store).await? {
        for row in push::list_refused(store, workspace.id).await? {
            let (status, why) = (row.refused_status.unwrap_or_default(), row.refused_why.unwrap_or_default());
            let part = format!("browser {} of {}", row.label, workspace.name);
            findings.push(Finding::bad(
                part,
                format!("its push service refuses notifications: {status} {why}"),
                FIX,
            ));
        }
    }
    Ok(findings)
}
