//! Messages of escalation steps, with a fake Bot API and running workers.

use pyxis_core::secret::SecretString;
use pyxis_gateway::admin::channels;
use pyxis_gateway::channels::deliver_due;
use pyxis_gateway::channels::telegram::TelegramConfig;
use pyxis_gateway::{ChatSettings, Config};
use pyxis_testkit::database::{Fixture, TestDatabase};
use pyxis_testkit::telegram::{TOKEN, Telegram, TelegramMessage};

use super::*;
use crate::races::proxy::Workers;

const ROOM: &str = "-100200";

struct Scene {
    proxy: Proxy,
    telegram: Telegram,
    workers: Workers,
}

impl Fixture for Scene {
    async fn start(database: TestDatabase) -> Self {
        let telegram = Telegram::start().await;
        let config = Config {
            base_url: "https://px.example.com".to_owned(),
            chats: ChatSettings::default().with_platform(TelegramConfig {
                token: SecretString::new(TOKEN.to_owned()),
                api_base: telegram.base(),
                webhook_secret: None,
                poll: Duration::from_secs(30),
            }),
            ..Config::default()
        };
        let proxy = Proxy::with_config(database, config).await;
        proxy.policy(
            r#"{"channel": "dashboard", "escalation": [{"after_minutes": 10, "telegram_chat": "-100200"}]}"#,
        )
        .await;
        let workers = proxy.work().await;
        Self { proxy, telegram, workers }
    }
}

impl Scene {
    /// Waits until a message in the room contains this text.
    async fn until_message(&self, text: &str) -> TelegramMessage {
        let said = |telegram: &Telegram| {
            let mut all = telegram.messages().into_iter();
            all.find(|message| message.chat == ROOM && message.text.contains(text))
        };
        self.telegram.until(said).await
    }
}

engines! {
    async fn the_message_of_a_step_is_edited_after_the_decision(scene: &mut Scene) {
        let txn = scene.proxy.pause(1).await;
        scene.proxy.advance(minutes(10));
        workers::escalate_tick(&scene.proxy.state).await.unwrap();
        let asked = scene.until_message("│ round 1").await;
        assert!(asked.text.contains("Approval needed"), "{}", asked.text);
        let owner = scene.proxy.approver(0, DecisionSurface::Dashboard);
        decide(&scene.proxy.state, &owner, txn, Decision::Deny(None)).await.unwrap();
        let done = scene.until_message("Denied by a@example.com").await;
        assert_eq!(done.id, asked.id);
        assert!(done.buttons.is_empty());
    }

    async fn a_held_message_to_a_person_who_lost_the_right_is_dropped(scene: Scene) {
        let Scene { proxy, telegram, workers } = scene;
        workers.end().await;
        proxy.policy(r#"{"channel": "chat_primary"}"#).await;
        for (index, account) in [(0, "4242"), (1, "4343")] {
            link(&proxy, person(&proxy, index), account).await;
        }
        let end = set_quiet(&proxy, person(&proxy, 1)).await;
        let end = end.max(set_quiet(&proxy, person(&proxy, 0)).await);
        let txn = proxy.pause(1).await;
        deliver_due(&proxy.state).await.unwrap();
        assert!(telegram.messages().is_empty(), "held");
        proxy.policy(r#"{"channel": "chat_primary", "allowed_approvers": ["a@example.com"]}"#).await;
        proxy.advance(end.since(proxy.clock_now()));
        deliver_due(&proxy.state).await.unwrap();
        let told: Vec<String> = telegram.messages().into_iter().map(|message| message.chat).collect();
        assert_eq!(told, ["4242"], "released to the one who still may");
        assert!(messages(&proxy, txn).await.iter().all(|(_, due)| due.is_none()));
    }

    async fn a_held_message_is_not_sent_to_an_account_that_is_no_longer_the_persons(scene: Scene) {
        let Scene { proxy, telegram, workers } = scene;
        workers.end().await;
        proxy.policy(r#"{"channel": "chat_primary"}"#).await;
        let (first, second) = (person(&proxy, 0), person(&proxy, 1));
        for (user, account) in [(first, "4242"), (second, "4343"), (second, "4444")] {
            link(&proxy, user, account).await;
        }
        let end = set_quiet(&proxy, second).await;
        let end = end.max(set_quiet(&proxy, first).await);
        let txn = proxy.pause(1).await;
        assert_eq!(chats(&proxy, txn).await, ["4242", "4343", "4444"]);
        let (state, actor) = (&proxy.state, proxy.actor());
        channels::unlink(&state.audited, state.now(), &actor, second, ChatPlatform::TELEGRAM, "4343").await.unwrap();
        assert_eq!(chats(&proxy, txn).await, ["4242", "4444"]);
        // The account becomes that of another approver, for whom the message was not written.
        link(&proxy, first, "4444").await;
        proxy.advance(end.since(proxy.clock_now()));
        deliver_due(&proxy.state).await.unwrap();
        let told: Vec<String> = telegram.messages().into_iter().map(|message| message.chat).collect();
        assert_eq!(told, ["4242"]);
    }

    async fn a_message_that_waits_for_the_platform_goes_with_its_account(scene: Scene) {
        let Scene { proxy, telegram, workers } = scene;
        workers.end().await;
        proxy.policy(r#"{"channel": "chat_primary"}"#).await;
        link(&proxy, person(&proxy, 1), "4343").await;
        let txn = proxy.pause(1).await;
        assert_eq!(chats(&proxy, txn).await, ["4343"]);
        let (state, actor) = (&proxy.state, proxy.actor());
        let (audited, first) = (&state.audited, person(&proxy, 1));
        channels::unlink(audited, state.now(), &actor, first, ChatPlatform::TELEGRAM, "4343").await.unwrap();
        deliver_due(&proxy.state).await.unwrap();
        assert!(chats(&proxy, txn).await.is_empty() && telegram.messages().is_empty());
    }

    async fn a_step_that_became_due_while_no_node_ran_is_performed_after_the_start(scene: Scene) {
        scene.proxy.pause(1).await;
        let Scene { proxy, telegram, workers } = scene;
        workers.end().await;
        proxy.advance(minutes(10));
        let scene = Scene { workers: proxy.work().await, proxy, telegram };
        scene.until_message("│ round 1").await;
        assert_eq!(recorded(&scene.proxy).await.len(), 1);
        scene.workers.end().await;
    }
}
