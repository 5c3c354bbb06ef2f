//! Credentials whose allowed hosts include names that anyone can register.

use pyxis_core::hosts;
use pyxis_store::{Store, StoreError, credentials, workspaces};

use super::Finding;

const FIX: &str = "edit its allowed hosts: replace the wildcard with the names that you need";

/// One finding for each stored wildcard over a public suffix. New ones are refused; these were written before that, or
/// before the suffix was on the list.
pub(super) async fn examine(store: &Store) -> Vec<Finding> {
    wildcards(store)
        .await
        .unwrap_or_else(|error| vec![Finding::bad("credentials", error, "check the database")])
}

async fn wildcards(store: &Store) -> Result<Vec<Finding>, StoreError> {
    let mut findings = Vec::new();
    for workspace in workspaces::list(store).await? {
        for row in credentials::list(store, workspace.id).await? {
            let entries: Vec<String> = serde_json::from_str(&row.allowed_hosts).unwrap_or_default();
            findings.extend(hosts::over_public_suffix(&entries).map(|(entry, suffix)| {
                let wrong = format!(
                    "its allowed host {entry} admits any name under {suffix}, which anyone can register"
                );
                Finding::bad(format!("credential {} of {}", row.name, workspace.name), wrong, FIX)
            }));
        }
    }
    Ok(findings)
}
