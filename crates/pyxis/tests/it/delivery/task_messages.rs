//! Messages about proposed tasks on every platform (`docs/reference/notifications.md#tasks`).

use std::collections::BTreeMap;
use std::time::Duration;

use axum::body::Body;
use http::{Method, StatusCode};
use pyxis_core::chat::ChatPlatform;
use pyxis_core::clock::UnixMillis;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::TaskId;
use pyxis_core::policy::Policy;
use pyxis_core::secret::SecretString;
use pyxis_core::task::ApprovedAction;
use pyxis_gateway::admin::{channels, policies};
use pyxis_gateway::channels::Endpoints;
use pyxis_gateway::channels::card::CardConfig;
use pyxis_gateway::channels::deliver_due;
use pyxis_gateway::channels::discord::DiscordConfig;
use pyxis_gateway::channels::email::Security;
use pyxis_gateway::channels::matrix::MatrixConfig;
use pyxis_gateway::channels::ntfy::NtfyConfig;
use pyxis_gateway::channels::slack::SlackConfig;
use pyxis_gateway::channels::teams::TeamsConfig;
use pyxis_gateway::channels::telegram::TelegramConfig;
use pyxis_gateway::tasks::decide::{self, Approval};
use pyxis_gateway::{ChatSettings, workers};
use pyxis_store::chat_messages::{self, ChatMessageRow};
use pyxis_store::message_subject::MessageState;
use pyxis_testkit::database::TestDatabase;
use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::links::{deliver, quiet};
use super::tasks::owner;
use crate::races::proxy::Proxy;

mod platforms;
mod recipients;

const BY: DecisionSurface = DecisionSurface::Dashboard;

fn page(task: TaskId) -> String {
    format!("https://px.example.com/app/tasks/{task}")
}

/// An action with a credential.
fn action(proxy: &Proxy, credential: &str, method: &str, path: &str) -> Value {
    json!({"credential": credential, "method": method, "url": proxy.upstream.url(path), "max_uses": 3})
}

async fn propose_actions(proxy: &Proxy, purpose: &str, actions: Value) -> TaskId {
    let body = json!({"purpose": purpose, "actions": actions, "minutes": 60});
    let request = proxy.agent(Method::POST, "/agent/tasks").header("content-type", "application/json");
    let answer = proxy.call(request.body(Body::from(body.to_string())).unwrap()).await;
    assert_eq!(answer.status(), StatusCode::ACCEPTED, "{}", answer.body());
    answer.body()["task_id"].as_str().unwrap().parse().unwrap()
}

/// A task with two actions of one credential.
async fn propose(proxy: &Proxy, purpose: &str) -> TaskId {
    let actions = [action(proxy, "api", "POST", "/pay"), action(proxy, "api", "PATCH", "/notes")];
    propose_actions(proxy, purpose, json!(actions)).await
}

/// The agent's request about a task: its body.
async fn ask_agent_api(proxy: &Proxy, method: Method, path: &str) -> Value {
    let answer = proxy.call(proxy.agent(method, path).body(Body::empty()).unwrap()).await;
    assert_eq!(answer.status(), StatusCode::OK, "{}", answer.body());
    answer.body().clone()
}

async fn withdraw(proxy: &Proxy, task: TaskId) {
    ask_agent_api(proxy, Method::POST, &format!("/agent/tasks/{task}/withdraw")).await;
}

/// Approves the first action only, as the first owner.
async fn approve(proxy: &Proxy, task: TaskId) {
    let kept = ApprovedAction { position: 1, max_uses: 1 };
    let approval = Approval { actions: Some(vec![kept]), minutes: Some(30) };
    decide::approve(&proxy.state, (&owner(proxy), BY), task, &approval).await.unwrap();
}

async fn deny(proxy: &Proxy, task: TaskId, reason: &str) {
    let by = (&owner(proxy), BY);
    decide::deny(&proxy.state, by, task, Some(reason.to_owned())).await.unwrap();
}

async fn stop(proxy: &Proxy, task: TaskId) {
    decide::stop(&proxy.state, (&owner(proxy), BY), task).await.unwrap();
}

/// Lets the time to decide run out.
async fn expire(proxy: &Proxy) {
    proxy.advance(Duration::from_hours(2));
    workers::expire_tick(&proxy.state).await.unwrap();
}

async fn rows(proxy: &Proxy, task: TaskId) -> Vec<ChatMessageRow> {
    chat_messages::list(&proxy.state.store, proxy.workspace, task).await.unwrap()
}

/// Checks that a message says these things, in this order.
fn says(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let at = rest.find(part).unwrap_or_else(|| panic!("{part:?} is missing or too early: {text}"));
        rest = &rest[at + part.len()..];
    }
}
