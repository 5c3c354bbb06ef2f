//! Platforms whose messages only carry a link to the page (`docs/reference/notifications.md#platforms`).

use std::time::Duration;

use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::TxnId;
use pyxis_core::policy::Policy;
use pyxis_gateway::admin::{channels, policies};
use pyxis_gateway::approvals::decide::{Decision, decide};
use pyxis_gateway::channels::deliver_due;
use pyxis_gateway::{ChatSettings, Config, workers};
use pyxis_store::approvals;
use pyxis_store::chat_messages::{self, ChatMessageRow};
use pyxis_testkit::database::TestDatabase;

use crate::races::proxy::Proxy;

mod card;
mod decides_nothing;
mod digest;
mod ntfy;
mod teams;

/// A proxy with these platforms, in which nothing happens but what the test does.
pub(super) async fn quiet(database: TestDatabase, chats: ChatSettings, policy: &str) -> Proxy {
    let config = Config { base_url: "https://px.example.com".to_owned(), chats, ..Config::default() };
    let proxy = Proxy::with_config(database, config).await;
    proxy.policy(policy).await;
    proxy
}

pub(super) async fn deliver(proxy: &Proxy) {
    deliver_due(&proxy.state).await.unwrap();
}

/// Decides as the first owner, on the page.
async fn decide_on_page(proxy: &Proxy, txn: TxnId, said: Decision) {
    decide(&proxy.state, &proxy.approver(0, DecisionSurface::Dashboard), txn, said).await.unwrap();
}

/// Lets the request's time run out.
async fn expire(proxy: &Proxy) {
    proxy.advance(Duration::from_hours(2));
    workers::expire_tick(&proxy.state).await.unwrap();
}

async fn state_of(proxy: &Proxy, txn: TxnId) -> ApprovalState {
    approvals::find(&proxy.state.store, proxy.workspace, txn).await.unwrap().unwrap().state
}

async fn message(proxy: &Proxy, txn: TxnId) -> ChatMessageRow {
    chat_messages::list(&proxy.state.store, proxy.workspace, txn).await.unwrap().remove(0)
}

fn page(txn: TxnId) -> String {
    format!("https://px.example.com/approve/{txn}")
}

/// Error of saving a policy.
async fn refused(proxy: &Proxy, policy: &str) -> String {
    let policy = Policy::from_json(policy.as_bytes()).unwrap();
    policies::put(&proxy.state, &proxy.actor(), "api", &policy).await.unwrap_err().to_string()
}

/// The reports of the doctor.
async fn doctor(proxy: &Proxy) -> Vec<(String, Option<String>)> {
    channels::examine(&proxy.state).await.unwrap()
}
