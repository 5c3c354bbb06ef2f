//! A stand-in for the webhook of a workflow in Microsoft Teams. It accepts messages with one Adaptive Card.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::Method;
use serde_json::Value;

use crate::upstream::{Received, Reply, Upstream};

/// Path of the webhook; everyone who knows it can post.
pub const PATH: &str = "/workflows/canary-0f8e/triggers/manual/paths/invoke?sig=canary-sig-77aa";

/// A running stand-in. Stops when dropped.
pub struct Teams {
    upstream: Upstream,
    cards: Arc<Mutex<Vec<Value>>>,
}

impl Teams {
    /// Starts on a free local port.
    pub async fn start() -> Self {
        let (upstream, cards) = (Upstream::http().await, Arc::new(Mutex::new(Vec::new())));
        let shared = Arc::clone(&cards);
        upstream.reply_with(move |request| answer(&mut lock(&shared), request));
        Self { upstream, cards }
    }

    /// URL of the webhook.
    pub fn url(&self) -> String {
        self.upstream.url(PATH)
    }

    /// Accepted cards, oldest first.
    pub fn cards(&self) -> Vec<Value> {
        lock(&self.cards).clone()
    }

    /// The server, to script other responses.
    pub fn upstream(&self) -> &Upstream {
        &self.upstream
    }
}

fn lock(cards: &Mutex<Vec<Value>>) -> MutexGuard<'_, Vec<Value>> {
    cards.lock().unwrap_or_else(PoisonError::into_inner)
}

fn answer(cards: &mut Vec<Value>, request: &Received) -> Reply {
    if request.method != Method::POST || request.target != PATH {
        return Reply::new(404);
    }
    let message: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let attachment = &message["attachments"][0];
    let card = &attachment["content"];
    let kind = "application/vnd.microsoft.card.adaptive";
    let valid = message["type"] == "message"
        && attachment["contentType"] == kind
        && card["type"] == "AdaptiveCard"
        && card["version"] == "1.4"
        && card["body"].as_array().is_some_and(|parts| !parts.is_empty())
        && request.body.len() <= 28 * 1024;
    if !valid {
        return Reply::new(400);
    }
    cards.push(card.clone());
    Reply::new(202)
}
