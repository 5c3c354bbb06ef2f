//! Slack: buttons and windows, by Socket Mode and by signed requests in turns.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use http::{Request, StatusCode};
use pyxis_core::secret::SecretString;
use pyxis_gateway::channels::slack::SlackConfig;
use pyxis_testkit::slack::{
    APP_TOKEN, BOT_TOKEN, CHANNEL, SIGNING_SECRET, Slack, SlackMessage, form, signature,
};
use pyxis_testkit::wire::Wire;
use serde_json::Value;
use tokio::time::Instant;

use super::*;

const PERSON: &str = "U0ADA";
/// An acknowledgment that comes later may come before the outcome.
const PROMPT: Duration = Duration::from_secs(2);

struct SlackPeer {
    faults: Arc<Faults>,
    wire: Wire,
    slack: Slack,
    clicks: AtomicUsize,
    /// Held by the one person while a window is open.
    window: tokio::sync::Mutex<()>,
}

pub(super) fn start(faults: Arc<Faults>) -> BoxFuture<'static, Box<dyn Peer>> {
    Box::pin(async move {
        let slack = Slack::start().await;
        let wire = Wire::to(&slack.base(), Arc::clone(&faults)).await;
        let (clicks, window) = (AtomicUsize::new(0), tokio::sync::Mutex::default());
        let peer: Box<dyn Peer> = Box::new(SlackPeer { faults, wire, slack, clicks, window });
        peer
    })
}

impl SlackPeer {
    /// The newest message about a request.
    fn message(&self, asked: PlannedRequest) -> Option<SlackMessage> {
        self.slack.messages().into_iter().rev().find(|one| asked.is_in(&one.text))
    }

    /// Reports what a person did.
    async fn report(&self, lives: &Lives, payload: Value) -> Click {
        if self.clicks.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
            self.post(lives, &payload).await
        } else {
            self.send(payload).await
        }
    }

    async fn send(&self, payload: Value) -> Click {
        let id = self.slack.send("interactive", payload);
        // It is sent once there is a WebSocket, and lost with it.
        let answered = |slack: &Slack| {
            let sent = slack.envelopes().into_iter().find(|sent| sent.id == id)?;
            let is_over = sent.acknowledged.is_some() || !slack.open_sockets().contains(&sent.socket);
            is_over.then_some(sent.acknowledged)
        };
        let sent = tokio::time::timeout(crate::support::PATIENCE, self.slack.until(answered)).await;
        click(sent.ok().flatten().is_some_and(|after| after < PROMPT))
    }

    async fn post(&self, lives: &Lives, payload: &Value) -> Click {
        let (at, body) = (lives.now().seconds().to_string(), form(payload));
        let request = Request::post("/slack/events")
            .header("content-type", "application/x-www-form-urlencoded")
            .header("x-slack-request-timestamp", &at)
            .header("x-slack-signature", signature(SIGNING_SECRET, &at, &body));
        let sent = Instant::now();
        let answer = lives.call(request.body(Body::from(body)).unwrap()).await;
        click(answer.is_some_and(|(status, _)| status == StatusCode::OK) && sent.elapsed() < PROMPT)
    }
}

fn click(acknowledged: bool) -> Click {
    if acknowledged { Click::Acknowledged } else { Click::Unknown }
}

impl Peer for SlackPeer {
    fn platform(&self) -> ChatPlatform {
        ChatPlatform::SLACK
    }

    fn faults(&self) -> &Faults {
        &self.faults
    }

    fn room(&self) -> &'static str {
        CHANNEL
    }

    fn connect(&self, chats: ChatSettings) -> ChatSettings {
        let secret = |text: &str| SecretString::new(text.to_owned());
        chats.with_platform(SlackConfig {
            bot_token: secret(BOT_TOKEN),
            app_token: Some(secret(APP_TOKEN)),
            signing_secret: Some(secret(SIGNING_SECRET)),
            channel: None,
            api_base: self.wire.base(),
        })
    }

    /// Without private messages to people.
    fn announcements(&self) -> Vec<Announcement> {
        let all = self.slack.messages().into_iter().filter(|one| one.channel == CHANNEL);
        let shown = |one: SlackMessage| Announcement {
            id: Some(format!("{}/{}", one.channel, one.ts)),
            text: format!("{}\n{}\n", one.notice, one.text),
        };
        all.map(shown).collect()
    }

    fn account(&self) -> Option<&'static str> {
        Some("T0TEAM-U0ADA")
    }

    fn click<'a>(&'a self, lives: &'a Lives, asked: PlannedRequest) -> BoxFuture<'a, Click> {
        Box::pin(async move {
            let label = asked.label();
            let _window = self.window.lock().await;
            let found = self.message(asked).filter(|one| one.labels().contains(&label));
            let Some(message) = found else { return Click::Unknown };
            let press = self.slack.press_payload(&message, message.button(label), PERSON);
            let pressed = self.report(lives, press).await;
            if asked.approve {
                return pressed;
            }
            // Whether a window opened is known with the acknowledgment.
            if self.slack.windows(PERSON).is_empty() {
                return Click::Unknown;
            }
            let submitted = self.slack.submit_payload(PERSON, Some("not now"));
            self.report(lives, submitted).await
        })
    }

    fn disturb(&self) {
        if let Some(number) = self.slack.open_sockets().last() {
            self.slack.close_socket(*number);
        }
    }
}
