//! Telegram: buttons, which are polled.

use std::time::Duration;

use pyxis_core::secret::SecretString;
use pyxis_gateway::channels::telegram::TelegramConfig;
use pyxis_testkit::telegram::{TOKEN, Telegram};
use pyxis_testkit::wire::Wire;

use super::*;

const PERSON: i64 = 42;

struct TelegramPeer {
    faults: Arc<Faults>,
    wire: Wire,
    telegram: Telegram,
}

pub(super) fn start(faults: Arc<Faults>) -> BoxFuture<'static, Box<dyn Peer>> {
    Box::pin(async move {
        let telegram = Telegram::start().await;
        let wire = Wire::to(&telegram.base(), Arc::clone(&faults)).await;
        let peer: Box<dyn Peer> = Box::new(TelegramPeer { faults, wire, telegram });
        peer
    })
}

impl Peer for TelegramPeer {
    fn platform(&self) -> ChatPlatform {
        ChatPlatform::TELEGRAM
    }

    fn faults(&self) -> &Faults {
        &self.faults
    }

    fn room(&self) -> &'static str {
        "-1"
    }

    fn connect(&self, chats: ChatSettings) -> ChatSettings {
        chats.with_platform(TelegramConfig {
            token: SecretString::new(TOKEN.to_owned()),
            api_base: self.wire.base(),
            webhook_secret: None,
            poll: Duration::from_secs(30),
        })
    }

    fn announcements(&self) -> Vec<Announcement> {
        let all = self.telegram.messages().into_iter();
        all.map(|one| Announcement { id: Some(one.id.to_string()), text: one.text }).collect()
    }

    fn account(&self) -> Option<&'static str> {
        Some("42")
    }

    fn click<'a>(&'a self, _lives: &'a Lives, asked: PlannedRequest) -> BoxFuture<'a, Click> {
        Box::pin(async move {
            let found = self.telegram.messages().into_iter().rev().find(|one| asked.is_in(&one.text));
            let Some(message) = found.filter(|one| one.labels().contains(&asked.label())) else {
                return Click::Unknown;
            };
            let update = self.telegram.press(&message, asked.label(), PERSON);
            let seen = self.telegram.until(|chat| chat.has_acknowledged(&update).then_some(()));
            match tokio::time::timeout(crate::support::PATIENCE, seen).await {
                Ok(()) => Click::Acknowledged,
                Err(_) => Click::Unknown,
            }
        })
    }
}
