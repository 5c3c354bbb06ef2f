//! Chats that are examined before a message is due there.

use pyxis_gateway::channels::{deliver_due, examination};
use pyxis_testkit::database::TestDatabase;
use pyxis_testkit::engines;

use super::chat_changes::{GROUP, SUPERGROUP};
use super::*;
use crate::delivery::reports::{self, Reports};
use crate::support::{Setup, Site as Program};

const KICKED: &str = "Forbidden: bot was kicked from the supergroup chat";

/// A proxy in which nothing happens but what the test does.
async fn quiet(database: TestDatabase) -> (Proxy, Telegram) {
    let telegram = Telegram::start().await;
    let proxy = Scene::proxy(database, &telegram, None).await;
    (proxy, telegram)
}

async fn unreachable(proxy: &Proxy) -> Vec<(String, String)> {
    let found = channels::unreachable(&proxy.state, proxy.workspace).await.unwrap();
    found.into_iter().map(|found| (found.chat, found.why)).collect()
}

/// The reports of the doctor, with problems only.
async fn doctor(proxy: &Proxy) -> Vec<(String, String)> {
    let found = channels::examine(&proxy.state).await.unwrap();
    found.into_iter().filter_map(|(part, wrong)| Some((part, wrong?))).collect()
}

async fn tick(proxy: &Proxy) {
    proxy.advance(Duration::from_mins(1));
    examination::tick(&proxy.state).await.unwrap();
}

/// The policy's chat.
async fn chat(proxy: &Proxy) -> Option<String> {
    let found =
        pyxis_gateway::admin::policies::get(&proxy.state.store, proxy.workspace, "api").await.unwrap();
    found.unwrap().1.rooms.get(ChatPlatform::TELEGRAM).map(str::to_owned)
}

engines! {
    async fn a_chat_that_the_bot_was_put_out_of_is_named_before_a_message_is_due(database: TestDatabase) {
        let (proxy, telegram) = quiet(database).await;
        tick(&proxy).await;
        assert!(unreachable(&proxy).await.is_empty());
        for (status, words) in [
            (403, KICKED),
            (403, "Forbidden: the group chat was deleted"),
            (400, "Bad Request: chat not found"),
        ] {
            telegram.bar(GROUP, status, words);
            tick(&proxy).await;
            let found = unreachable(&proxy).await;
            assert_eq!(found.len(), 1, "{words}");
            assert!(found[0].0 == GROUP.to_string() && found[0].1.contains(words), "{found:?}");
            // The doctor says the same.
            assert_eq!(doctor(&proxy).await, [(format!("Telegram chat {GROUP}"), found[0].1.clone())]);
            telegram.let_in(GROUP);
            tick(&proxy).await;
            assert!(unreachable(&proxy).await.is_empty() && doctor(&proxy).await.is_empty(), "{words}");
        }
    }

    async fn a_chat_that_is_named_twice_is_examined_once(database: TestDatabase) {
        let (proxy, telegram) = quiet(database).await;
        let actor = proxy.actor();
        channels::set_default_chat(&proxy.state, &actor, ChatPlatform::TELEGRAM, &GROUP.to_string()).await.unwrap();
        tick(&proxy).await;
        let calls = telegram.calls();
        let methods: Vec<_> = calls.iter().map(|call| call.method.as_str()).collect();
        assert_eq!(methods, ["getMe", "getChat"]);
    }

    async fn a_platform_that_does_not_answer_changes_nothing_that_was_known(database: TestDatabase) {
        let (proxy, telegram) = quiet(database).await;
        telegram.set_down(true);
        tick(&proxy).await;
        assert!(unreachable(&proxy).await.is_empty(), "nothing is known");
        telegram.set_down(false);
        telegram.bar(GROUP, 403, KICKED);
        tick(&proxy).await;
        let known = unreachable(&proxy).await;
        assert!(known[0].1.contains(KICKED));
        telegram.set_down(true);
        tick(&proxy).await;
        assert_eq!(unreachable(&proxy).await, known);
        let found = doctor(&proxy).await;
        assert!(found.len() == 1 && found[0].0 == "Telegram bot", "{found:?}");
        telegram.set_down(false);
        telegram.let_in(GROUP);
        tick(&proxy).await;
        assert!(unreachable(&proxy).await.is_empty());
    }

    async fn without_a_chat_no_platform_is_called(database: TestDatabase) {
        let (proxy, telegram) = quiet(database).await;
        proxy.policy(r#"{"channel": "chat_primary"}"#).await;
        tick(&proxy).await;
        assert!(telegram.calls().is_empty());
        // A chat that was named once is no trouble any more.
        proxy.policy(POLICY).await;
        telegram.bar(GROUP, 403, KICKED);
        tick(&proxy).await;
        assert_eq!(unreachable(&proxy).await.len(), 1);
        proxy.policy(r#"{"channel": "chat_primary"}"#).await;
        assert!(unreachable(&proxy).await.is_empty());
        tick(&proxy).await;
        proxy.policy(POLICY).await;
        assert!(unreachable(&proxy).await.is_empty(), "it is forgotten, and examined again first");
    }

    async fn what_a_chat_refused_is_posted_once_it_is_usable(database: TestDatabase) {
        let (proxy, telegram) = quiet(database).await;
        telegram.bar(GROUP, 403, KICKED);
        tick(&proxy).await;
        let txn = proxy.pause(1).await;
        deliver_due(&proxy.state).await.unwrap();
        assert_eq!(unreachable(&proxy).await.len(), 1, "named once, by examination and message");
        // No update reports this to the workers, which do not run.
        telegram.let_in(GROUP);
        tick(&proxy).await;
        assert!(unreachable(&proxy).await.is_empty());
        deliver_due(&proxy.state).await.unwrap();
        assert!(telegram.messages()[0].text.contains(&format!("/approve/{txn}")));
    }

    async fn a_message_that_is_shown_says_that_the_chat_works(database: TestDatabase) {
        let (proxy, telegram) = quiet(database).await;
        telegram.bar(GROUP, 403, KICKED);
        tick(&proxy).await;
        assert_eq!(unreachable(&proxy).await.len(), 1);
        telegram.let_in(GROUP);
        proxy.pause(1).await;
        deliver_due(&proxy.state).await.unwrap();
        assert!(unreachable(&proxy).await.is_empty());
    }

    async fn the_doctor_names_a_message_that_a_visible_chat_refused(database: TestDatabase) {
        let (proxy, telegram) = quiet(database).await;
        // The bot sees this chat, and may not write there.
        proxy.policy(r#"{"channel": "chat_primary", "telegram_chat": "404"}"#).await;
        proxy.pause(1).await;
        deliver_due(&proxy.state).await.unwrap();
        tick(&proxy).await;
        let found = doctor(&proxy).await;
        assert_eq!(found.len(), 1);
        assert!(found[0].0 == "Telegram chat 404" && found[0].1.contains("a message was refused"), "{found:?}");
        assert_eq!(unreachable(&proxy).await, [("404".to_owned(), found[0].1.clone())]);
        assert!(telegram.messages().is_empty());
    }

    async fn settings_follow_a_group_that_became_a_supergroup_without_a_message(database: TestDatabase) {
        let (proxy, telegram) = quiet(database).await;
        telegram.migrate(GROUP, SUPERGROUP);
        let found = doctor(&proxy).await;
        assert!(found[0].1.contains(&SUPERGROUP.to_string()), "{found:?}");
        assert_eq!(chat(&proxy).await, Some(GROUP.to_string()), "the doctor changes nothing");
        tick(&proxy).await;
        assert_eq!(chat(&proxy).await, Some(SUPERGROUP.to_string()));
        assert!(unreachable(&proxy).await.is_empty() && doctor(&proxy).await.is_empty());
    }
}

engines! {
    async fn page_metric_and_doctor_name_a_chat_before_any_message_until_the_bot_is_back(setup: Setup) {
        let telegram = Telegram::start().await;
        telegram.bar(GROUP, 403, KICKED);
        let setup = setup
            .env("PX_TELEGRAM_BOT_TOKEN", TOKEN)
            .env("PX_TELEGRAM_API_BASE", &telegram.base())
            .env("PX_METRICS_LISTEN", "127.0.0.1:0");
        let mut program = Program::with(setup).await;
        program.policy(&json!({ "channel": "chat_primary", "telegram_chat": GROUP.to_string() })).await;
        let mut reports = Reports::open(&program, "telegram").await;
        program.app.restart().await;
        reports.restarted(&program);
        let part = format!("Telegram chat {GROUP}");
        reports.unreachable(1).await;
        assert!(reports.page().await.contains("bot was kicked"));
        assert!(reports::doctor(&program, &part).await.unwrap().contains(KICKED));
        telegram.let_in(GROUP);
        reports.unreachable(0).await;
        assert_eq!(reports::doctor(&program, &part).await, None);
        telegram.put_out(GROUP, 403, KICKED);
        reports.unreachable(1).await;
        telegram.let_in(GROUP);
        reports.unreachable(0).await;
        assert!(telegram.messages().is_empty());
    }
}
