//! ntfy, with a fake server (`docs/reference/notifications.md#ntfy`).

use pyxis_core::chat::ChatPlatform;
use pyxis_core::secret::SecretString;
use pyxis_gateway::channels::examination;
use pyxis_gateway::channels::ntfy::NtfyConfig;
use pyxis_testkit::engines;
use pyxis_testkit::ntfy::{Ntfy, TOKEN};
use serde_json::{Value, json};

use super::*;

const POLICY: &str = r#"{"channel": "ntfy"}"#;

/// Settings with the topic `approvals`.
fn settings(server: &Ntfy, token: Option<&str>) -> ChatSettings {
    let token = token.map(|token| SecretString::new(token.to_owned()));
    let mut chats = ChatSettings::default().with_platform(NtfyConfig { server: server.url(), token });
    chats.set_room(ChatPlatform::NTFY, Some("approvals".to_owned()));
    chats
}

async fn started(database: TestDatabase) -> (Proxy, Ntfy) {
    let server = Ntfy::start().await;
    let proxy = quiet(database, settings(&server, None), POLICY).await;
    (proxy, server)
}

fn text(message: &Value) -> &str {
    message["message"].as_str().unwrap()
}

engines! {
    async fn a_message_links_to_the_page_and_stays_when_the_request_is_decided_there(database: TestDatabase) {
        let (proxy, server) = started(database).await;
        let txn = proxy.pause_because(1, "for the\tMarch invoice").await;
        deliver(&proxy).await;
        let [posted] = server.messages().try_into().unwrap();
        assert_eq!((&posted["topic"], &posted["priority"]), (&json!("approvals"), &json!(4)));
        assert_eq!(posted["title"], "Pyxis · Approval needed");
        assert_eq!(posted["click"], page(txn));
        let open = json!([{ "action": "view", "label": "Open the request", "url": page(txn) }]);
        assert_eq!(posted["actions"], open, "an action only opens the page");
        let host = proxy.upstream.addr().to_string();
        for part in ["default-agent wants to use api", &format!("POST {host}"), "Reason: “for the March invoice”", "Secured by Pyxis"] {
            assert!(text(&posted).contains(part), "{part}: {posted}");
        }
        for hidden in ["round 1", "/act", "s3cret-value"] {
            assert!(!posted.to_string().contains(hidden), "{hidden}: {posted}");
        }
        decide_on_page(&proxy, txn, Decision::Approve(None)).await;
        deliver(&proxy).await;
        assert_eq!(server.attempts(), 1);
        let row = message(&proxy, txn).await;
        assert!(row.next_at.is_none() && row.error.is_none() && row.shown == Some(ApprovalState::Approved.into()), "{row:?}");
    }

    async fn a_request_that_is_over_before_it_was_announced_is_not_announced(database: TestDatabase) {
        let (proxy, server) = started(database).await;
        let txn = proxy.pause(1).await;
        expire(&proxy).await;
        deliver(&proxy).await;
        assert_eq!(state_of(&proxy, txn).await, ApprovalState::Expired);
        assert_eq!(server.attempts(), 0);
        // One that expires later stays as it was posted.
        proxy.pause(2).await;
        deliver(&proxy).await;
        expire(&proxy).await;
        deliver(&proxy).await;
        assert_eq!(server.attempts(), 1);
    }

    async fn a_policy_and_a_workspace_name_topics_of_their_own(database: TestDatabase) {
        let (proxy, server) = started(database).await;
        let actor = proxy.actor();
        channels::set_default_chat(&proxy.state, &actor, ChatPlatform::NTFY, "workspace").await.unwrap();
        proxy.pause(1).await;
        proxy.policy(r#"{"channel": "ntfy", "ntfy_topic": "payments"}"#).await;
        proxy.pause(2).await;
        deliver(&proxy).await;
        assert_eq!((server.topic("workspace").len(), server.topic("payments").len()), (1, 1));
        let error = refused(&proxy, r#"{"channel": "ntfy", "ntfy_topic": "pay/ments?x=1"}"#).await;
        assert!(error.contains("1 to 64 letters"), "{error}");
        let error = channels::set_default_chat(&proxy.state, &actor, ChatPlatform::NTFY, "a/b").await.unwrap_err();
        assert!(error.to_string().contains("1 to 64 letters"), "{error}");
    }

    async fn a_wrong_token_is_refused_as_a_setting_and_reported_by_the_doctor(database: TestDatabase) {
        let server = Ntfy::start().await;
        let proxy = quiet(database, settings(&server, Some("tk_wrong")), POLICY).await;
        let error = refused(&proxy, r#"{"channel": "ntfy", "ntfy_topic": "payments"}"#).await;
        assert!(error.contains("refuses the token"), "{error}");
        let found = doctor(&proxy).await;
        assert_eq!(found.len(), 1, "topics are not examined with it: {found:?}");
        assert!(found[0].0 == "ntfy bot" && found[0].1.as_ref().unwrap().contains("PX_NTFY_TOKEN"), "{found:?}");
        let txn = proxy.pause(1).await;
        deliver(&proxy).await;
        let row = message(&proxy, txn).await;
        assert!(row.error.unwrap().contains("refuses the token") && row.next_at.is_some());
        assert_eq!(server.messages().len(), 0);
    }

    async fn the_right_token_is_sent_and_the_doctor_posts_nothing(database: TestDatabase) {
        let server = Ntfy::start().await;
        server.require_token();
        let proxy = quiet(database, settings(&server, Some(TOKEN)), POLICY).await;
        let parts = [("ntfy bot".to_owned(), None), ("ntfy topic approvals".to_owned(), None)];
        assert_eq!(doctor(&proxy).await, parts);
        examination::tick(&proxy.state).await.unwrap();
        assert_eq!(server.attempts(), 0);
        proxy.pause(1).await;
        deliver(&proxy).await;
        assert_eq!(server.topic("approvals").len(), 1);
        let all = server.requests();
        assert!(all.iter().all(|request| !request.target.contains(TOKEN)), "the token is never in an address");
    }

    async fn a_topic_that_may_not_be_written_is_reported_until_a_message_arrives(database: TestDatabase) {
        let (proxy, server) = started(database).await;
        server.close("approvals");
        proxy.pause(1).await;
        deliver(&proxy).await;
        let found = doctor(&proxy).await;
        assert_eq!(found[1].0, "ntfy topic approvals");
        assert!(found[1].1.as_ref().unwrap().contains("refuses messages in this topic"), "{found:?}");
        server.admit("approvals");
        proxy.advance(Duration::from_secs(1));
        proxy.pause(2).await;
        deliver(&proxy).await;
        assert_eq!(doctor(&proxy).await[1].1, None);
    }

    async fn a_limit_delays_only_its_own_topic(database: TestDatabase) {
        let (proxy, server) = started(database).await;
        server.limit("approvals", Some(30));
        let mut waiting = Vec::new();
        for round in 0..40 {
            waiting.push(proxy.pause(round).await);
        }
        proxy.policy(r#"{"channel": "ntfy", "ntfy_topic": "payments"}"#).await;
        for round in 40..43 {
            proxy.pause(round).await;
        }
        deliver(&proxy).await;
        assert_eq!(server.topic("payments").len(), 3);
        assert!(server.topic("approvals").is_empty());
        // The first ones are refused at once, and the others are not even tried.
        assert!(server.attempts() <= 8 + 3, "{}", server.attempts());
        let due = proxy.clock_now().plus(Duration::from_secs(30));
        for txn in &waiting {
            let row = message(&proxy, *txn).await;
            assert_eq!((row.next_at, row.attempts), (Some(due), 0));
        }
        server.admit("approvals");
        proxy.advance(Duration::from_secs(29));
        deliver(&proxy).await;
        assert!(server.topic("approvals").is_empty());
        proxy.advance(Duration::from_secs(1));
        deliver(&proxy).await;
        assert_eq!(server.topic("approvals").len(), 40);
    }

    async fn a_server_that_is_down_is_tried_again(database: TestDatabase) {
        let (proxy, server) = started(database).await;
        server.set_down(true);
        let txn = proxy.pause(1).await;
        deliver(&proxy).await;
        assert!(message(&proxy, txn).await.error.unwrap().contains("502"));
        let found = doctor(&proxy).await;
        assert!(found[0].1.as_ref().unwrap().contains("check PX_NTFY_URL"), "{found:?}");
        server.set_down(false);
        proxy.advance(Duration::from_secs(1));
        deliver(&proxy).await;
        assert_eq!(server.messages().len(), 1);
    }

    async fn a_long_reason_leaves_the_other_lines_whole(database: TestDatabase) {
        let (proxy, server) = started(database).await;
        let reason = "\"é\\".repeat(160);
        let txn = proxy.pause_because(1, &reason).await;
        deliver(&proxy).await;
        let [posted] = server.messages().try_into().unwrap();
        assert_eq!(posted["click"], page(txn));
        assert!(text(&posted).len() <= 3000 && text(&posted).contains("Expires at"), "{posted}");
    }
}
