//! Recipients of messages about tasks, and the time at which they get them.

use pyxis_core::auth::{Auth, BearerToken};
use pyxis_gateway::SecretValue;
use pyxis_gateway::admin::credentials::{self, CredentialInput};
use pyxis_testkit::ntfy::Ntfy;

use super::platforms::with_telegram;
use super::*;
use crate::delivery::escalation::{link, person, second_node, set_quiet};

const ROOM: &str = r#"{"channel": "chat_primary", "telegram_chat": "-100200"}"#;
const PRIVATE: &str = r#"{"channel": "chat_primary"}"#;

/// A second credential with a policy.
async fn add_credential(proxy: &Proxy, name: &str, policy: &str) {
    let input = CredentialInput {
        name: name.to_owned(),
        auth: Some(Auth::Bearer(BearerToken {})),
        allowed_hosts: vec![proxy.upstream.addr().to_string()],
        allow_http: true,
        secret: Some(SecretValue::from_json("another-s3cret".into()).unwrap()),
        ..CredentialInput::default()
    };
    credentials::create(&proxy.state, &proxy.actor(), input).await.unwrap();
    let policy = Policy::from_json(policy.as_bytes()).unwrap();
    policies::put(&proxy.state, &proxy.actor(), name, &policy).await.unwrap();
}

/// Chats with a message about a task, and the times when they are due.
async fn messages(proxy: &Proxy, task: TaskId) -> Vec<(String, Option<UnixMillis>)> {
    let mut told: Vec<_> = rows(proxy, task).await.into_iter().map(|row| (row.chat, row.next_at)).collect();
    told.sort();
    told
}

async fn chats(proxy: &Proxy, task: TaskId) -> Vec<String> {
    messages(proxy, task).await.into_iter().map(|(chat, _)| chat).collect()
}

/// The poll body of a task.
async fn poll(proxy: &Proxy, task: TaskId) -> Value {
    ask_agent_api(proxy, Method::GET, &format!("/agent/tasks/{task}")).await
}

engines! {
    async fn a_task_is_announced_once_in_each_room_of_the_policies_of_its_credentials(database: TestDatabase) {
        let (proxy, telegram) = with_telegram(database, ROOM).await;
        add_credential(&proxy, "ledger", r#"{"channel": "chat_primary", "telegram_chat": "-100300"}"#).await;
        add_credential(&proxy, "notes", ROOM).await;
        let actions = ["api", "ledger", "notes"].map(|name| action(&proxy, name, "POST", "/pay"));
        let task = propose_actions(&proxy, "Close the month", json!(actions)).await;
        assert_eq!(chats(&proxy, task).await, ["-100200", "-100300"]);
        deliver(&proxy).await;
        assert_eq!(telegram.messages().len(), 2);
        let asked = poll(&proxy, task).await["asked"].clone();
        let at = proxy.clock_now().to_rfc3339();
        let room = json!({"channel": "telegram", "kind": "room", "at": at});
        assert_eq!(asked, json!([room, room]));
        // An identical proposal joins the first.
        let again = propose_actions(&proxy, "Close the month", json!(actions)).await;
        assert_eq!((again, rows(&proxy, task).await.len()), (task, 2));
    }

    async fn only_people_who_may_decide_about_every_credential_are_told_in_private(database: TestDatabase) {
        let (proxy, telegram) = with_telegram(database, PRIVATE).await;
        let ledger = r#"{"channel": "chat_primary", "allowed_approvers": ["b@example.com"]}"#;
        add_credential(&proxy, "ledger", ledger).await;
        for (index, account) in [(0, "111"), (1, "222")] {
            link(&proxy, person(&proxy, index), account).await;
        }
        let both = [action(&proxy, "api", "POST", "/pay"), action(&proxy, "ledger", "POST", "/pay")];
        let task = propose_actions(&proxy, "Pay with both", json!(both)).await;
        assert_eq!(chats(&proxy, task).await, ["222"], "the first owner may not decide about the ledger");
        let one = propose(&proxy, "Pay with one").await;
        assert_eq!(chats(&proxy, one).await, ["111", "222"]);
        // Rights that were lost before the message was posted count.
        proxy.policy(r#"{"channel": "chat_primary", "allowed_approvers": ["a@example.com"]}"#).await;
        deliver(&proxy).await;
        let told: Vec<String> = telegram.messages().into_iter().map(|message| message.chat).collect();
        assert_eq!(told, ["111"]);
        let asked = poll(&proxy, one).await["asked"].clone();
        assert_eq!((&asked[0]["kind"], &asked[0]["count"]), (&json!("people"), &json!(2)));
    }

    async fn people_on_call_are_asked_first_about_a_task(database: TestDatabase) {
        let (proxy, _telegram) = with_telegram(database, r#"{"channel": "chat_primary", "on_call": ["b@example.com"]}"#).await;
        for (index, account) in [(0, "111"), (1, "222")] {
            link(&proxy, person(&proxy, index), account).await;
        }
        assert_eq!(chats(&proxy, propose(&proxy, "Pay").await).await, ["222"]);
    }

    async fn a_private_message_about_a_task_waits_for_the_end_of_quiet_hours(database: TestDatabase) {
        let (proxy, telegram) = with_telegram(database, PRIVATE).await;
        for (index, account) in [(0, "111"), (1, "222")] {
            link(&proxy, person(&proxy, index), account).await;
        }
        let end = set_quiet(&proxy, person(&proxy, 0)).await;
        let now = proxy.clock_now();
        let task = propose(&proxy, "Pay the bills").await;
        assert_eq!(messages(&proxy, task).await, [("111".to_owned(), Some(end)), ("222".to_owned(), Some(now))]);
        deliver(&proxy).await;
        let told = |chats: &[&str]| {
            let found: Vec<String> = telegram.messages().into_iter().map(|message| message.chat).collect();
            assert_eq!(found, chats);
        };
        told(&["222"]);
        assert_eq!(poll(&proxy, task).await["asked"].as_array().unwrap().len(), 1, "the other is told later");
        proxy.advance(end.since(now));
        deliver(&proxy).await;
        told(&["222", "111"]);
        // One that is decided meanwhile is not announced any more.
        let _ = set_quiet(&proxy, person(&proxy, 0)).await;
        let later = propose(&proxy, "Pay more").await;
        deliver(&proxy).await;
        deny(&proxy, later, "no").await;
        proxy.advance(Duration::from_mins(40));
        deliver(&proxy).await;
        told(&["222", "111", "222"]);
    }

    async fn a_stored_announcement_survives_the_end_of_the_node_before_and_while_it_is_posted(database: TestDatabase) {
        let (proxy, telegram) = with_telegram(database, ROOM).await;
        let task = propose(&proxy, "Pay the bills").await;
        // The node claims the message, and dies before it posts it.
        let (now, until) = (proxy.clock_now(), proxy.clock_now().plus(Duration::from_mins(1)));
        let claimed =
            chat_messages::claim(&proxy.state.store, ChatPlatform::TELEGRAM, now, until, 32).await.unwrap();
        assert_eq!(claimed.len(), 1);
        let next = second_node(&proxy);
        deliver_due(&next).await.unwrap();
        assert!(telegram.messages().is_empty(), "the claim of the dead node still holds");
        proxy.advance(Duration::from_mins(1));
        deliver_due(&next).await.unwrap();
        let [posted] = telegram.messages().try_into().unwrap();
        // The same for the edit.
        approve(&proxy, task).await;
        deliver_due(&next).await.unwrap();
        deliver_due(&proxy.state).await.unwrap();
        let [edited] = telegram.messages().try_into().unwrap();
        assert_eq!((edited.id, edited.edits), (posted.id, 1));
        says(&edited.text, &["Approved by a@example.com"]);
    }

    async fn a_decision_during_an_outage_is_shown_and_one_before_the_first_post_announces_nothing(database: TestDatabase) {
        let (proxy, telegram) = with_telegram(database, ROOM).await;
        let task = propose(&proxy, "Pay the bills").await;
        deliver(&proxy).await;
        telegram.set_down(true);
        approve(&proxy, task).await;
        deliver(&proxy).await;
        telegram.set_down(false);
        proxy.advance(Duration::from_mins(1));
        deliver(&proxy).await;
        says(&telegram.messages()[0].text, &["Task approved"]);
        let decided = propose(&proxy, "Pay more").await;
        deny(&proxy, decided, "no").await;
        let overdue = propose(&proxy, "Pay even more").await;
        proxy.advance(Duration::from_hours(2));
        deliver(&proxy).await;
        expire(&proxy).await;
        deliver(&proxy).await;
        assert_eq!(telegram.messages().len(), 1);
        for task in [decided, overdue] {
            let [row] = rows(&proxy, task).await.try_into().unwrap();
            assert_eq!((row.message_ref, row.next_at), (None, None));
        }
    }

    async fn a_change_of_the_policy_that_stops_a_task_updates_its_message(database: TestDatabase) {
        let (proxy, telegram) = with_telegram(database, ROOM).await;
        let task = propose(&proxy, "Pay the bills").await;
        deliver(&proxy).await;
        approve(&proxy, task).await;
        proxy.policy(r#"{"channel": "chat_primary", "telegram_chat": "-100200", "passkey_required": true}"#).await;
        deliver(&proxy).await;
        says(&telegram.messages()[0].text, &["Task stopped", "Approved by a@example.com", "Stopped at ", "Reason: “"]);
    }

    async fn a_flood_of_tasks_and_requests_becomes_one_message_with_a_count(database: TestDatabase) {
        let server = Ntfy::start().await;
        let mut settings = ChatSettings::default().with_platform(NtfyConfig { server: server.url(), token: None });
        settings.set_room(ChatPlatform::NTFY, Some("approvals".to_owned()));
        settings.set_digest_after(2);
        let proxy = quiet(database, settings, r#"{"channel": "ntfy"}"#).await;
        let mut all = Vec::new();
        for round in 0..3 {
            proxy.pause(round).await;
            proxy.advance(Duration::from_secs(1));
            all.push(propose(&proxy, &format!("Task {round}")).await);
            proxy.advance(Duration::from_secs(1));
        }
        deliver(&proxy).await;
        assert_eq!(server.messages().len(), 2);
        proxy.advance(Duration::from_mins(1));
        deliver(&proxy).await;
        let mut titles: Vec<String> =
            server.messages().iter().map(|message| message["title"].as_str().unwrap().to_owned()).collect();
        // Single messages are posted at the same time.
        titles[..2].sort();
        assert_eq!(titles, ["Pyxis · Approval needed", "Pyxis · Task needs approval", "Pyxis · 4 requests and tasks need approval"]);
        for task in all {
            assert_eq!(rows(&proxy, task).await[0].next_at, None);
        }
    }

    async fn a_message_about_a_task_that_a_chat_refuses_is_reported_and_posted_once_the_bot_is_back(database: TestDatabase) {
        let (proxy, telegram) = with_telegram(database, ROOM).await;
        telegram.bar(-100_200, 403, "Forbidden: bot was kicked from the group chat");
        let task = propose(&proxy, "Pay the bills").await;
        deliver(&proxy).await;
        let [failing] = channels::list_failing(&proxy.state.store, proxy.workspace).await.unwrap().try_into().unwrap();
        assert_eq!(failing.message.subject, task.into());
        let unreachable = chat_messages::unreachable(&proxy.state.store, ChatPlatform::TELEGRAM).await.unwrap();
        assert_eq!(unreachable.len(), 1);
        telegram.let_in(-100_200);
        let now = proxy.clock_now();
        let revived = chat_messages::revive(&proxy.state.store, ChatPlatform::TELEGRAM, "-100200", now).await.unwrap();
        assert_eq!(revived, 1);
        deliver(&proxy).await;
        assert_eq!(telegram.messages().len(), 1);
        assert!(chat_messages::unreachable(&proxy.state.store, ChatPlatform::TELEGRAM).await.unwrap().is_empty());
    }
}
