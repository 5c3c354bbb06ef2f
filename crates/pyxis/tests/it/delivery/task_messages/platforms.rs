//! One message on each platform, and what becomes of it.

use pyxis_testkit::discord::{self, Discord};
use pyxis_testkit::matrix::StandIn;
use pyxis_testkit::ntfy::Ntfy;
use pyxis_testkit::slack::{self, Slack};
use pyxis_testkit::smtp::{Encryption, MailServer, Port};
use pyxis_testkit::teams::Teams;
use pyxis_testkit::telegram::{self, Telegram};
use pyxis_testkit::upstream::Upstream;

use super::*;
use crate::delivery::email::{self, proxy_at};

/// Purpose with text that is markup on some platform.
const PURPOSE: &str = "Pay <b>all</b>\n[bills](https://evil.example) & *more*";
/// The same on one line.
const FLAT: &str = "Pay <b>all</b> [bills](https://evil.example) & *more*";

fn secret(text: &str) -> SecretString {
    SecretString::new(text.to_owned())
}

pub(super) async fn with_telegram(database: TestDatabase, policy: &str) -> (Proxy, Telegram) {
    let server = Telegram::start().await;
    let settings = TelegramConfig {
        token: secret(telegram::TOKEN),
        api_base: server.base(),
        webhook_secret: None,
        poll: Duration::from_secs(30),
    };
    (quiet(database, ChatSettings::default().with_platform(settings), policy).await, server)
}

async fn with_slack(database: TestDatabase) -> (Proxy, Slack) {
    let server = Slack::start().await;
    let settings = SlackConfig {
        bot_token: secret(slack::BOT_TOKEN),
        app_token: Some(secret(slack::APP_TOKEN)),
        signing_secret: None,
        channel: None,
        api_base: server.base(),
    };
    let policy = r#"{"channel": "slack", "slack_channel": "C0OPS"}"#;
    (quiet(database, ChatSettings::default().with_platform(settings), policy).await, server)
}

async fn with_discord(database: TestDatabase) -> (Proxy, Discord) {
    let server = Discord::start().await;
    let settings = DiscordConfig {
        bot_token: secret(discord::BOT_TOKEN),
        application_id: discord::APPLICATION.to_owned(),
        public_key: discord::public_key(),
        channel: None,
        api_base: server.base(),
    };
    let policy = json!({"channel": "discord", "discord_channel": discord::CHANNEL}).to_string();
    (quiet(database, ChatSettings::default().with_platform(settings), &policy).await, server)
}

async fn with_matrix(database: TestDatabase) -> (Proxy, StandIn) {
    let server = StandIn::start().await;
    let settings = MatrixConfig { homeserver: server.base(), token: secret("t") };
    let policy = r#"{"channel": "chat_secondary", "matrix_room": "!ops:px.test"}"#;
    (quiet(database, ChatSettings::default().with_platform(settings), policy).await, server)
}

async fn with_card(database: TestDatabase) -> (Proxy, Upstream) {
    let receiver = Upstream::http().await;
    let settings = CardConfig {
        endpoints: Endpoints::parse(&format!("pager={}", receiver.url("/hook"))).unwrap(),
        secrets: BTreeMap::from([("pager".to_owned(), secret("canary-signing-secret"))]),
    };
    let policy = r#"{"channel": "card", "card_endpoint": "pager"}"#;
    (quiet(database, ChatSettings::default().with_platform(settings), policy).await, receiver)
}

/// A task is decided on its page: the only button opens it.
fn only_links(buttons: &[(String, Value)], task: TaskId) {
    let [(label, button)] = buttons else { panic!("{buttons:?}") };
    assert_eq!((label.as_str(), button["url"].as_str()), ("Read and decide", Some(page(task).as_str())));
}

engines! {
    async fn telegram_links_to_a_task_and_edits_the_message_when_it_is_decided_and_stopped(database: TestDatabase) {
        let (proxy, telegram) = with_telegram(database, r#"{"channel": "chat_primary", "telegram_chat": "-100200"}"#).await;
        let task = propose(&proxy, PURPOSE).await;
        deliver(&proxy).await;
        let [posted] = telegram.messages().try_into().unwrap();
        assert_eq!(posted.chat, "-100200");
        only_links(&posted.buttons, task);
        let purpose = format!("Purpose: “{FLAT}”");
        let way = format!("Read the task and decide: {}", page(task));
        says(&posted.text, &[
            "Pyxis · Task needs approval", "default-agent proposes a task", &purpose, "Actions: 2",
            "│ PATCH, POST 127.0.0.1", "Lasts 60 minutes from its approval", "Expires at ", &way, "Secured by Pyxis",
        ]);
        for hidden in ["/pay", "s3cret-value"] {
            assert!(!posted.text.contains(hidden), "{hidden}: {}", posted.text);
        }
        approve(&proxy, task).await;
        deliver(&proxy).await;
        let [edited] = telegram.messages().try_into().unwrap();
        assert_eq!(edited.id, posted.id);
        says(&edited.text, &["Pyxis · Task approved", &purpose, "Approved by a@example.com at ", "Approved actions: 1 of 2", "Ends at "]);
        assert!(edited.buttons.is_empty() && !edited.text.contains("https://px.example.com"), "{}", edited.text);
        stop(&proxy, task).await;
        deliver(&proxy).await;
        let [stopped] = telegram.messages().try_into().unwrap();
        says(&stopped.text, &["Pyxis · Task stopped", "Approved by a@example.com at ", "Stopped by a@example.com at "]);
        let [row] = rows(&proxy, task).await.try_into().unwrap();
        assert_eq!((row.wanted, row.shown, row.next_at), (MessageState::Stopped, Some(MessageState::Stopped), None));
    }

    async fn slack_links_to_a_task_and_edits_the_message_when_it_is_denied(database: TestDatabase) {
        let (proxy, slack) = with_slack(database).await;
        let task = propose(&proxy, PURPOSE).await;
        deliver(&proxy).await;
        let [posted] = slack.messages().try_into().unwrap();
        let purpose = format!("Purpose: “{FLAT}”");
        says(&posted.text, &["Task needs approval", "default-agent proposes a task", &purpose, "Actions: 2", &page(task)]);
        only_links(&posted.buttons, task);
        deny(&proxy, task, "one by one").await;
        deliver(&proxy).await;
        let [edited] = slack.messages().try_into().unwrap();
        says(&edited.text, &["Task denied", "Denied by a@example.com at ", "Reason: “one by one”"]);
        assert!(edited.ts == posted.ts && !edited.text.contains("https://px.example.com"), "{}", edited.text);
    }

    async fn discord_links_to_a_task_and_edits_the_message_when_its_agent_withdraws_it(database: TestDatabase) {
        let (proxy, discord) = with_discord(database).await;
        let task = propose(&proxy, PURPOSE).await;
        deliver(&proxy).await;
        let [posted] = discord.messages().try_into().unwrap();
        says(&posted.text, &["Task needs approval", FLAT, "Actions: 2", &page(task)]);
        only_links(&posted.buttons, task);
        assert!(!posted.has_markup, "{posted:?}");
        withdraw(&proxy, task).await;
        deliver(&proxy).await;
        let [edited] = discord.messages().try_into().unwrap();
        says(&edited.text, &["Task withdrawn", "The agent withdrew the proposal."]);
        assert!(edited.id == posted.id && !edited.text.contains("px.example.com"), "{}", edited.text);
    }

    async fn matrix_offers_no_reactions_to_a_task_and_edits_the_message_when_no_one_decides(database: TestDatabase) {
        let (proxy, matrix) = with_matrix(database).await;
        let task = propose(&proxy, PURPOSE).await;
        deliver(&proxy).await;
        let [posted] = matrix.messages().try_into().unwrap();
        says(&posted.text, &["Task needs approval", FLAT, "Actions: 2", &page(task)]);
        assert!(posted.offered.is_empty(), "{posted:?}");
        expire(&proxy).await;
        deliver(&proxy).await;
        let [edited] = matrix.messages().try_into().unwrap();
        says(&edited.text, &["Task expired", "No one decided in time."]);
        assert!(edited.event == posted.event && !edited.text.contains("px.example.com"), "{}", edited.text);
    }

    async fn a_reaction_to_a_task_on_matrix_decides_nothing_and_is_answered_with_its_page(database: TestDatabase) {
        let (proxy, matrix) = with_matrix(database).await;
        let task = propose(&proxy, PURPOSE).await;
        deliver(&proxy).await;
        let [posted] = matrix.messages().try_into().unwrap();
        let working = proxy.work().await;
        crate::support::until("the bot reads", async || {
            chat_messages::cursor(&proxy.state.store, ChatPlatform::MATRIX).await.unwrap()
        }).await;
        matrix.react(&posted, "@ada:px.test", "✅");
        let answer = format!("A task is read and decided on its page: {}", page(task));
        matrix.until(|matrix| matrix.messages().iter().any(|message| message.text == answer).then_some(())).await;
        working.end().await;
        assert_eq!(rows(&proxy, task).await[0].wanted, MessageState::Pending);
    }

    async fn a_card_about_a_task_is_posted_and_again_whenever_it_changes(database: TestDatabase) {
        let (proxy, receiver) = with_card(database).await;
        let task = propose(&proxy, PURPOSE).await;
        deliver(&proxy).await;
        let cards = |receiver: &Upstream| -> Vec<Value> {
            receiver.requests().iter().map(|request| serde_json::from_slice(&request.body).unwrap()).collect()
        };
        let [first] = cards(&receiver).try_into().unwrap();
        let [row] = rows(&proxy, task).await.try_into().unwrap();
        let status = first["status"].clone();
        assert_eq!(status[0], "Lasts 60 minutes from its approval");
        let fact = |name: &str, value: &str| json!({ "name": name, "value": value });
        assert_eq!(first, json!({
            "event": "task.proposed",
            "id": row.id.to_string(),
            "task_id": task.to_string(),
            "state": "pending",
            "title": "Pyxis · Task needs approval",
            "text": "default-agent proposes a task",
            "facts": [
                fact("Agent", "default-agent"), fact("Actions", "2: PATCH, POST 127.0.0.1"), fact("Purpose", FLAT),
            ],
            "status": status,
            "url": page(task),
            "expires_at": first["expires_at"],
            "footer": "Secured by Pyxis",
        }));
        approve(&proxy, task).await;
        deliver(&proxy).await;
        stop(&proxy, task).await;
        deliver(&proxy).await;
        let cards = cards(&receiver);
        let told: Vec<_> = cards.iter().map(|card| (card["event"].as_str().unwrap(), card["state"].as_str().unwrap())).collect();
        assert_eq!(told, [("task.proposed", "pending"), ("task.decided", "approved"), ("task.updated", "stopped")]);
        assert!(cards.iter().all(|card| card["id"] == row.id.to_string() && card["txn_id"].is_null()));
        let requests = receiver.requests();
        let deliveries: std::collections::BTreeSet<_> =
            requests.iter().map(|request| request.header("px-delivery").unwrap()).collect();
        assert_eq!(deliveries.len(), 3);
    }

    async fn a_real_mail_server_gets_mail_about_a_task_once_with_its_link(database: TestDatabase) {
        let port = Port::reserve();
        let proxy = proxy_at(database, port.number(), Security::StartTls, pyxis_testkit::smtp::PASSWORD).await;
        let mut server = MailServer::start(port, &proxy.authority, email::HOST, Encryption::StartTls, &[]);
        let task = propose(&proxy, PURPOSE).await;
        deliver(&proxy).await;
        approve(&proxy, task).await;
        deliver(&proxy).await;
        let [mail] = server.mails().try_into().unwrap();
        assert_eq!(mail["to"], json!(["ops@example.com"]));
        let text = mail["plain"].as_str().unwrap();
        says(text, &["Task needs approval", FLAT, "Actions: 2", &page(task), "Secured by Pyxis"]);
        let html = mail["html"].as_str().unwrap();
        assert!(html.contains("Pay &lt;b&gt;all&lt;/b&gt; [bills]") && html.contains(&format!("href=\"{}\"", page(task))), "{html}");
        let [row] = rows(&proxy, task).await.try_into().unwrap();
        assert_eq!((row.shown, row.next_at, row.error), (Some(MessageState::Approved), None, None));
    }

    async fn ntfy_and_teams_show_a_task_once_with_a_link(database: TestDatabase) {
        let (ntfy, teams) = (Ntfy::start().await, Teams::start().await);
        let endpoints = Endpoints::parse(&format!("ops={}", teams.url())).unwrap();
        let mut chats = ChatSettings::default()
            .with_platform(NtfyConfig { server: ntfy.url(), token: None })
            .with_platform(TeamsConfig { endpoints });
        chats.set_room(ChatPlatform::NTFY, Some("approvals".to_owned()));
        let proxy = quiet(database, chats, r#"{"channel": "ntfy"}"#).await;
        let first = propose(&proxy, PURPOSE).await;
        deliver(&proxy).await;
        let [posted] = ntfy.messages().try_into().unwrap();
        assert_eq!((&posted["title"], &posted["click"]), (&json!("Pyxis · Task needs approval"), &json!(page(first))));
        assert_eq!(posted["actions"], json!([{ "action": "view", "label": "Open the task", "url": page(first) }]));
        let purpose = format!("Purpose: “{FLAT}”");
        says(posted["message"].as_str().unwrap(), &[
            "default-agent proposes a task", "Actions: 2: PATCH, POST 127.0.0.1", "Lasts 60 minutes", "Secured by Pyxis", &purpose,
        ]);
        proxy.policy(r#"{"channel": "teams", "teams_channel": "ops"}"#).await;
        let second = propose(&proxy, "Pay [less](https://evil.example)").await;
        deliver(&proxy).await;
        let [card] = teams.cards().try_into().unwrap();
        assert_eq!(card["actions"], json!([{ "type": "Action.OpenUrl", "title": "Open the task", "url": page(second) }]));
        assert!(card.to_string().contains(r"Pay \\[less\\]\\(https://evil.example\\)"), "{card}");
        for task in [first, second] {
            deny(&proxy, task, "no").await;
        }
        deliver(&proxy).await;
        assert_eq!((ntfy.messages().len(), teams.cards().len()), (1, 1));
    }
}
