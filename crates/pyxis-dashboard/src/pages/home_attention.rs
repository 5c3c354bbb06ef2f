//! Credentials, agents, webhooks and tokens that need attention, for the home page.

use std::time::Duration;

use pyxis_core::clock::UnixMillis;
use pyxis_gateway::{Error as Service, expiring_client_certificates};
use pyxis_store::{Store, home};

use super::scoring::count;
use crate::recent::Counts;
use crate::session::SignedIn;
use crate::text::{count_noun, relative};
use crate::view::home::AttentionItem;
use crate::{Error, State};

/// Maximum number of items of one kind.
const MOST: u32 = 5;
/// Maximum number of client certificates that are examined.
const EXAMINED: u32 = 50;
/// Time without use after which something is idle.
const IDLE: Duration = Duration::from_hours(30 * 24);
/// Time before an expiry from which it is listed.
const SOON: Duration = Duration::from_hours(14 * 24);

/// Items that need attention. `recent` counts the audit trail of the last 24 hours, if it can be read.
pub(super) async fn list(
    state: &State,
    who: &SignedIn,
    recent: Option<&Counts>,
) -> Result<Vec<AttentionItem>, Error> {
    let mut found = Vec::new();
    if who.person.user.role.is_manager() {
        found.extend(failing_webhooks(&state.gateway.store, who).await?);
        found.extend(credentials(state, who, recent).await?);
        found.extend(agents(&state.gateway.store, state.gateway.now(), who).await?);
    }
    found.extend(tokens(&state.gateway.store, state.gateway.now(), who).await?);
    Ok(found)
}

/// Failing credentials first, then expiring certificates, then unused credentials. Each credential appears once.
async fn credentials(
    state: &State,
    who: &SignedIn,
    recent: Option<&Counts>,
) -> Result<Vec<AttentionItem>, Error> {
    let (store, workspace, now) = (&state.gateway.store, who.person.workspace(), state.gateway.now());
    let disconnected = home::disconnected_credentials(store, workspace, MOST).await.map_err(Service::from)?;
    let checks = home::failed_checks(store, workspace, MOST).await.map_err(Service::from)?;
    let certificates =
        expiring_client_certificates(store, &state.gateway.keyring, workspace, now.plus(SOON), EXAMINED)
            .await?;
    let idle =
        home::idle_credentials(store, workspace, now.minus(IDLE), MOST).await.map_err(Service::from)?;

    let disconnected = disconnected.into_iter().map(|name| (name, "Connect the account again".to_owned()));
    let refused = recent.into_iter().flat_map(|counts| &counts.refused).map(|one| {
        let times = count_noun(count(one.count), "request");
        (one.name.clone(), format!("Refused by the API: {times} in 24 hours"))
    });
    let checks =
        checks.into_iter().map(|(name, status)| (name, format!("The last test got status {status}")));
    let certificates = certificates.into_iter().take(MOST as usize);
    let certificates = certificates.map(|(name, at)| (name, expiry("Certificate", at, now)));
    let idle = idle.into_iter().map(|name| (name, "Not used for 30 days".to_owned()));

    let mut found: Vec<AttentionItem> = Vec::new();
    for (name, why) in disconnected.chain(refused).chain(checks).chain(certificates).chain(idle) {
        if !found.iter().any(|item| item.name == name) {
            // Names are letters, digits, dots, dashes and underscores, so they need no escaping.
            let href = format!("/app/credentials/{name}");
            found.push(AttentionItem { icon: "key", name, why, href });
        }
    }
    Ok(found)
}

async fn agents(store: &Store, now: UnixMillis, who: &SignedIn) -> Result<Vec<AttentionItem>, Error> {
    let before = now.minus(IDLE);
    let idle = home::idle_agents(store, who.person.workspace(), before, MOST).await;
    let idle = idle.map_err(Service::from)?.into_iter().map(|(id, name)| AttentionItem {
        icon: "agent",
        name,
        why: "No request for 30 days".to_owned(),
        href: format!("/app/agents/{id}"),
    });
    Ok(idle.collect())
}

async fn tokens(store: &Store, now: UnixMillis, who: &SignedIn) -> Result<Vec<AttentionItem>, Error> {
    let person = (who.person.workspace(), who.person.user.id);
    let found = home::expiring_tokens(store, person, now, now.plus(SOON), MOST).await;
    let items = found.map_err(Service::from)?.into_iter().map(|(name, at)| AttentionItem {
        icon: "account",
        name,
        why: expiry("Your access token", at, now),
        href: "/app/account".to_owned(),
    });
    Ok(items.collect())
}

async fn failing_webhooks(store: &Store, who: &SignedIn) -> Result<Vec<AttentionItem>, Error> {
    let failing = home::failing_webhooks(store, who.person.workspace(), MOST).await;
    let items = failing.map_err(Service::from)?.into_iter().map(|(id, url)| AttentionItem {
        icon: "webhook",
        name: url,
        why: "The last delivery failed".to_owned(),
        href: format!("/app/webhooks/{id}"),
    });
    Ok(items.collect())
}

/// `Certificate expires in 3 days`.
fn expiry(what: &str, at: UnixMillis, now: UnixMillis) -> String {
    let verb = if at <= now { "expired" } else { "expires" };
    format!("{what} {verb} {}", relative(at, now))
}
