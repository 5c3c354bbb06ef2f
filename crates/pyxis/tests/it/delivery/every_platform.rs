//! Messages about one request on several platforms: all of them show how it ended.

use std::time::Duration;

use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::TxnId;
use pyxis_core::secret::SecretString;
use pyxis_gateway::approvals::decide::{Decision, decide};
use pyxis_gateway::channels::deliver_due;
use pyxis_gateway::channels::discord::DiscordConfig;
use pyxis_gateway::channels::slack::SlackConfig;
use pyxis_gateway::channels::telegram::TelegramConfig;
use pyxis_gateway::{ChatSettings, Config, workers};
use pyxis_store::chat_messages;
use pyxis_testkit::database::{Fixture, TestDatabase};
use pyxis_testkit::discord::{self, Discord};
use pyxis_testkit::engines;
use pyxis_testkit::slack::{self, Slack};
use pyxis_testkit::telegram::{self, Telegram};
use serde_json::json;

use crate::races::proxy::Proxy;

const STEP: Duration = Duration::from_mins(10);

/// A room on Slack that is asked first, then one on Discord, then one on Telegram. Nothing happens automatically.
struct Scene {
    proxy: Proxy,
    slack: Slack,
    discord: Discord,
    telegram: Telegram,
}

impl Fixture for Scene {
    async fn start(database: TestDatabase) -> Self {
        let (slack, discord, telegram) =
            (Slack::start().await, Discord::start().await, Telegram::start().await);
        let secret = |text: &str| SecretString::new(text.to_owned());
        let chats = ChatSettings::default()
            .with_platform(SlackConfig {
                bot_token: secret(slack::BOT_TOKEN),
                app_token: Some(secret(slack::APP_TOKEN)),
                signing_secret: None,
                channel: None,
                api_base: slack.base(),
            })
            .with_platform(DiscordConfig {
                bot_token: secret(discord::BOT_TOKEN),
                application_id: discord::APPLICATION.to_owned(),
                public_key: discord::public_key(),
                channel: None,
                api_base: discord.base(),
            })
            .with_platform(TelegramConfig {
                token: secret(telegram::TOKEN),
                api_base: telegram.base(),
                webhook_secret: None,
                poll: Duration::from_secs(30),
            });
        let config = Config { base_url: "https://px.example.com".to_owned(), chats, ..Config::default() };
        let proxy = Proxy::with_config(database, config).await;
        let policy = json!({
            "channel": "slack",
            "slack_channel": slack::CHANNEL,
            "escalation": [
                {"after_minutes": 10, "discord_channel": discord::CHANNEL},
                {"after_minutes": 20, "telegram_chat": "-100200"},
            ],
        });
        proxy.policy(&policy.to_string()).await;
        Self { proxy, slack, discord, telegram }
    }
}

impl Scene {
    async fn deliver(&self) {
        deliver_due(&self.proxy.state).await.unwrap();
    }

    /// Identity, text and number of buttons of the message about a request, by platform.
    fn platform_messages(&self, text: &str) -> Vec<(String, String, usize)> {
        let slack = self.slack.messages().into_iter().map(|one| (one.ts, one.text, one.buttons.len()));
        let discord = self.discord.messages().into_iter().map(|one| (one.id, one.text, one.buttons.len()));
        let telegram =
            self.telegram.messages().into_iter().map(|one| (one.id.to_string(), one.text, one.buttons.len()));
        slack.chain(discord).chain(telegram).filter(|(_, shown, _)| shown.contains(text)).collect()
    }

    /// A request about which all three rooms were told.
    async fn asked_everywhere(&self, round: usize) -> TxnId {
        let txn = self.proxy.pause(round).await;
        self.deliver().await;
        for _ in 0..2 {
            self.proxy.advance(STEP);
            workers::escalate_tick(&self.proxy.state).await.unwrap();
            self.deliver().await;
        }
        txn
    }

    /// Each of the three messages about a request was edited to say how it ended, and offers nothing any more.
    async fn ended_everywhere(&self, txn: TxnId, before: Vec<(String, String, usize)>, says: &str) {
        self.deliver().await;
        for (id, text, buttons) in before {
            assert!(text.contains("Approval needed") && buttons > 0, "{text}");
            let after = self.platform_messages("");
            let (_, text, buttons) = after.iter().find(|(found, ..)| *found == id).unwrap();
            assert!(text.contains(says) && *buttons == 0, "{says}: {text}");
        }
        let rows = chat_messages::list(&self.proxy.state.store, self.proxy.workspace, txn).await.unwrap();
        assert_eq!(rows.len(), 3);
        assert!(rows.iter().all(|row| row.next_at.is_none() && row.shown == Some(row.wanted)));
    }
}

engines! {
    async fn a_decision_is_shown_on_every_platform_that_was_asked(scene: &Scene) {
        let txn = scene.asked_everywhere(1).await;
        let before = scene.platform_messages("│ round 1");
        assert_eq!(before.len(), 3, "{before:?}");
        let owner = scene.proxy.approver(0, DecisionSurface::Dashboard);
        decide(&scene.proxy.state, &owner, txn, Decision::Deny(Some("not now".to_owned()))).await.unwrap();
        scene.ended_everywhere(txn, before, "Denied by a@example.com").await;
        assert_eq!(scene.platform_messages("Reason: “not now”").len(), 3);
    }

    async fn an_expiry_and_a_withdrawal_are_shown_on_every_platform_that_was_asked(scene: &Scene) {
        let withdrawn = scene.asked_everywhere(1).await;
        let before = scene.platform_messages("│ round 1");
        scene.proxy.withdraw(withdrawn).await;
        scene.ended_everywhere(withdrawn, before, "The agent withdrew the request.").await;
        let expired = scene.asked_everywhere(2).await;
        let before = scene.platform_messages("│ round 2");
        scene.proxy.advance(Duration::from_hours(1));
        workers::expire_tick(&scene.proxy.state).await.unwrap();
        scene.ended_everywhere(expired, before, "No one decided in time.").await;
    }
}
