//! Slack, with a fake Web API and Socket Mode (`docs/reference/notifications.md#slack`).

use std::time::Duration;

use pyxis_core::approval_mode::{ApprovalState, Role};
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::{TxnId, UserId};
use pyxis_core::secret::SecretString;
use pyxis_gateway::admin::{channels, people};
use pyxis_gateway::approvals::decide::{Decision, decide};
use pyxis_gateway::channels::slack::SlackConfig;
use pyxis_gateway::{ChatSettings, Config};
use pyxis_store::audit::{self, AuditFilter};
use pyxis_store::chat_messages::{self, ChatMessageRow};
use pyxis_store::{approvals, grants, votes};
use pyxis_testkit::database::{Fixture, TestDatabase};
use pyxis_testkit::engines;
use pyxis_testkit::slack::{APP_TOKEN, BOT_TOKEN, CHANNEL, SIGNING_SECRET, Slack, SlackMessage, TEAM};
use serde_json::{Value, json};

use crate::races::proxy::{Proxy, Workers};

mod channel_checks;
mod connections;
mod direct_messages;
mod edits;
mod http_mode;
mod signatures;

const ADA: &str = "U0ADA";
const POLICY: &str = r#"{"channel": "slack", "slack_channel": "C0OPS"}"#;

/// The way on which Slack reports what people do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Socket,
    Http,
}

/// A proxy whose workers talk to the fake Slack.
struct Scene {
    proxy: Proxy,
    slack: Slack,
    workers: Workers,
}

impl Fixture for Scene {
    async fn start(database: TestDatabase) -> Self {
        Self::in_mode(database, Mode::Socket).await
    }
}

impl Scene {
    async fn in_mode(database: TestDatabase, mode: Mode) -> Self {
        Self::with_channel(database, mode, None).await
    }

    /// With a channel of the first workspace.
    async fn with_channel(database: TestDatabase, mode: Mode, channel: Option<String>) -> Self {
        let slack = Slack::start().await;
        let secret = |text: &str| SecretString::new(text.to_owned());
        let config = Config {
            base_url: "https://px.example.com".to_owned(),
            chats: ChatSettings::default().with_platform(SlackConfig {
                bot_token: secret(BOT_TOKEN),
                app_token: (mode == Mode::Socket).then(|| secret(APP_TOKEN)),
                signing_secret: (mode == Mode::Http).then(|| secret(SIGNING_SECRET)),
                channel,
                api_base: slack.base(),
            }),
            ..Config::default()
        };
        let proxy = Proxy::with_config(database, config).await;
        proxy.policy(POLICY).await;
        let workers = proxy.work().await;
        Self { proxy, slack, workers }
    }

    /// A link code of the first owner.
    async fn code(&self, person: UserId) -> String {
        let (state, actor) = (&self.proxy.state, self.proxy.actor());
        let (code, _) = channels::link_code(state, &actor, person, ChatPlatform::SLACK).await.unwrap();
        code.expose().clone()
    }

    /// Links an account to the first owner.
    async fn link(&self, user: &str) {
        let owner = self.proxy.approver(0, DecisionSurface::Dashboard);
        self.link_to(user, owner.user, &owner.email).await;
    }

    /// Links an account to a person.
    async fn link_to(&self, user: &str, person: UserId, email: &str) {
        let code = self.code(person).await;
        self.slack.write(user, &format!("Link {}", code.to_lowercase()));
        self.until_posted(&format!("Linked to {email}")).await;
    }

    /// Waits until the bot posted a message with this text.
    async fn until_posted(&self, text: &str) -> SlackMessage {
        let said = |slack: &Slack| slack.messages().into_iter().find(|message| message.text.contains(text));
        self.slack.until(said).await
    }

    /// Waits until a person alone was told this, as often as that.
    async fn until_ephemeral(&self, user: &str, text: &str, times: usize) {
        let told = |slack: &Slack| {
            let all = slack.ephemeral();
            let count = all.iter().filter(|(_, person, said)| person == user && said.contains(text)).count();
            (count == times).then_some(())
        };
        self.slack.until(told).await;
    }

    /// A request, and the message that asks about it.
    async fn announce(&self, round: usize) -> (TxnId, SlackMessage) {
        let txn = self.proxy.pause(round).await;
        (txn, self.until_posted(&format!("│ round {round}")).await)
    }

    /// The message once it has been edited to contain this text.
    async fn edited(&self, message: &SlackMessage, text: &str) -> SlackMessage {
        let now = |slack: &Slack| {
            let mut all = slack.messages().into_iter();
            all.find(|found| found.ts == message.ts && found.text.contains(text))
        };
        self.slack.until(now).await
    }

    /// Waits until a window is open for a person.
    async fn window(&self, user: &str) -> Value {
        self.slack.until(|slack| slack.windows(user).pop()).await
    }

    async fn state(&self, txn: TxnId) -> ApprovalState {
        let found = approvals::find(&self.proxy.state.store, self.proxy.workspace, txn).await;
        found.unwrap().unwrap().state
    }

    async fn rows(&self, txn: TxnId) -> Vec<ChatMessageRow> {
        chat_messages::list(&self.proxy.state.store, self.proxy.workspace, txn).await.unwrap()
    }
}

engines! {
    async fn a_linked_person_approves_by_button_and_the_message_says_who(scene: &mut Scene) {
        scene.link(ADA).await;
        let (txn, message) = scene.announce(1).await;
        assert_eq!(message.channel, CHANNEL);
        for part in ["Approval needed", "default-agent wants to use api", "POST http://127.0.0.1", "/act", "│ round 1", "Secured by Pyxis"] {
            assert!(message.text.contains(part), "{part}: {}", message.text);
        }
        assert!(message.notice.starts_with("Pyxis · Approval needed\ndefault-agent wants"), "{}", message.notice);
        assert_eq!(message.labels(), ["Approve", "Approve for 30 min", "Deny", "Details"]);
        for (label, button) in &message.buttons {
            assert!(!button["value"].as_str().unwrap().contains(&txn.to_string()));
            assert_eq!(button["url"].is_string(), label == "Details");
        }
        let envelope = scene.slack.press(&message, "Approve", ADA);
        let done = scene.edited(&message, "Approved by a@example.com").await;
        assert!(done.buttons.is_empty());
        assert_eq!(scene.state(txn).await, ApprovalState::Approved);
        scene.until_ephemeral(ADA, "Approved. The request is being sent.", 1).await;
        let taken = scene.slack.envelopes().into_iter().find(|sent| sent.id == envelope).unwrap();
        assert!(taken.acknowledged.unwrap() < Duration::from_secs(3));
        scene.slack.press_with(&message, "approve", message.button("Deny")["value"].as_str().unwrap(), ADA);
        scene.until_ephemeral(ADA, "Too late: the request is already approved.", 1).await;
    }

    async fn a_denial_asks_for_a_reason_that_the_agent_and_the_message_get(scene: &mut Scene) {
        scene.link(ADA).await;
        let (txn, message) = scene.announce(1).await;
        scene.slack.press(&message, "Deny", ADA);
        let window = scene.window(ADA).await;
        assert_eq!(window["title"]["text"], "Deny request");
        assert_eq!(scene.state(txn).await, ApprovalState::Pending, "nothing is decided before the window is sent off");
        scene.slack.submit(ADA, Some("not <now> & never"));
        let done = scene.edited(&message, "Denied by a@example.com").await;
        assert!(done.text.contains("Reason: “not <now> & never”"), "{}", done.text);
        assert!(done.buttons.is_empty());
        assert_eq!(scene.state(txn).await, ApprovalState::Denied);
        scene.until_ephemeral(ADA, "Denied. Nothing was sent.", 1).await;
        assert_eq!(scene.proxy.poll(txn).await.body()["reason"], "not <now> & never");
        let (txn, message) = scene.announce(2).await;
        scene.slack.press(&message, "Deny", ADA);
        scene.window(ADA).await;
        scene.slack.submit(ADA, None);
        scene.edited(&message, "Denied by a@example.com").await;
        assert_eq!(scene.state(txn).await, ApprovalState::Denied);
    }

    async fn a_window_that_is_sent_off_too_late_or_says_too_much_changes_nothing(scene: &mut Scene) {
        scene.link(ADA).await;
        let (txn, message) = scene.announce(1).await;
        scene.slack.press(&message, "Deny", ADA);
        scene.window(ADA).await;
        scene.slack.submit(ADA, Some(&"é".repeat(1500)));
        scene.until_ephemeral(ADA, "Not possible: must have at most 2000 bytes.", 1).await;
        assert_eq!(scene.state(txn).await, ApprovalState::Pending);
        scene.slack.press(&message, "Deny", ADA);
        scene.window(ADA).await;
        let owner = scene.proxy.approver(1, DecisionSurface::Dashboard);
        decide(&scene.proxy.state, &owner, txn, Decision::Approve(None)).await.unwrap();
        scene.slack.submit(ADA, Some("no"));
        scene.until_ephemeral(ADA, "Too late: the request is already approved.", 1).await;
        assert_eq!(scene.state(txn).await, ApprovalState::Approved);
    }

    async fn a_window_that_slack_does_not_open_is_reported(scene: &mut Scene) {
        scene.link(ADA).await;
        let (txn, message) = scene.announce(1).await;
        scene.slack.expire_triggers(true);
        scene.slack.press(&message, "Deny", ADA);
        scene.until_ephemeral(ADA, "Slack did not open the window in time.", 1).await;
        assert_eq!(scene.state(txn).await, ApprovalState::Pending);
    }

    async fn an_approval_for_half_an_hour_opens_a_grant(scene: &mut Scene) {
        scene.link(ADA).await;
        let (_, message) = scene.announce(1).await;
        scene.slack.press(&message, "Approve for 30 min", ADA);
        scene.edited(&message, "Approved by a@example.com").await;
        let page = pyxis_store::Page::first(10);
        let (state, now) = (&scene.proxy.state, scene.proxy.clock_now());
        let all = grants::list(&state.store, scene.proxy.workspace, true, page, now).await.unwrap();
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].expires_at.since(all[0].created_at), Duration::from_mins(30));
    }

    async fn a_decision_on_the_page_is_shown_in_the_message(scene: &mut Scene) {
        let (txn, message) = scene.announce(1).await;
        let owner = scene.proxy.approver(0, DecisionSurface::Dashboard);
        decide(&scene.proxy.state, &owner, txn, Decision::Deny(Some("not now".to_owned()))).await.unwrap();
        let done = scene.edited(&message, "Denied by a@example.com").await;
        assert!(done.text.contains("“not now”") && done.buttons.is_empty(), "{done:?}");
        assert!(done.notice.lines().next().is_some_and(|line| line.ends_with("Denied")), "{}", done.notice);
    }

    async fn an_account_that_nobody_linked_is_refused_visibly_and_on_record(scene: &mut Scene) {
        let (txn, message) = scene.announce(1).await;
        for (times, label) in [(1, "Approve"), (2, "Deny")] {
            scene.slack.press(&message, label, "U0EVE");
            scene.until_ephemeral("U0EVE", "This account is not linked", times).await;
        }
        assert!(scene.slack.windows("U0EVE").is_empty(), "a stranger is asked for no reason");
        assert_eq!(scene.state(txn).await, ApprovalState::Pending);
        let filter = AuditFilter { events: vec![AuditEvent::ChatStrangerRefused], ..AuditFilter::default() };
        let found = audit::search(&scene.proxy.state.store, scene.proxy.workspace, &filter).await.unwrap();
        assert_eq!(found[0].record.record.actor, "slack:T0TEAM-U0EVE".into());
        // The same user id in another team is another account.
        scene.link(ADA).await;
        let mut payload = scene.slack.press_payload(&message, message.button("Approve"), ADA);
        payload["user"]["team_id"] = "T0FOREIGN".into();
        scene.slack.send("interactive", payload);
        scene.until_ephemeral(ADA, "This account is not linked", 1).await;
        assert_eq!(scene.state(txn).await, ApprovalState::Pending);
    }

    async fn people_who_may_not_decide_hear_so_and_decide_nothing(scene: &mut Scene) {
        const MEMBER: &str = "U0MEM";
        let (state, actor) = (scene.proxy.state.clone(), scene.proxy.actor());
        let member = people::add(&state, &actor, "mem@example.com", Role::Member).await.unwrap().0.id;
        scene.link_to(MEMBER, member, "mem@example.com").await;
        let (txn, message) = scene.announce(1).await;
        scene.slack.press(&message, "Approve", MEMBER);
        scene.until_ephemeral(MEMBER, "You cannot decide this", 1).await;
        scene.slack.press(&message, "Deny", MEMBER);
        scene.window(MEMBER).await;
        scene.slack.submit(MEMBER, Some("no"));
        scene.until_ephemeral(MEMBER, "You cannot decide this", 2).await;
        people::set_enabled(&state.audited, &actor, member, false).await.unwrap();
        scene.slack.press(&message, "Approve", MEMBER);
        scene.until_ephemeral(MEMBER, "This account is not linked", 1).await;
        assert_eq!(scene.state(txn).await, ApprovalState::Pending);
        assert!(votes::list(&state.store, scene.proxy.workspace, txn).await.unwrap().is_empty());
    }

    async fn where_two_must_approve_the_message_counts(scene: &mut Scene) {
        scene.proxy.policy(r#"{"channel": "slack", "slack_channel": "C0OPS", "min_approvals": 2}"#).await;
        scene.link(ADA).await;
        let (txn, message) = scene.announce(1).await;
        assert!(message.text.contains("Approvals: 0 of 2"), "{}", message.text);
        assert_eq!(message.labels(), ["Approve", "Deny", "Details"]);
        scene.slack.press(&message, "Approve", ADA);
        scene.until_ephemeral(ADA, "Your approval counts: 1 of 2.", 1).await;
        let voted = scene.edited(&message, "Approvals: 1 of 2").await;
        assert_eq!(voted.buttons.len(), 3, "the others still decide");
        let second = scene.proxy.approver(1, DecisionSurface::Dashboard);
        decide(&scene.proxy.state, &second, txn, Decision::Approve(None)).await.unwrap();
        scene.edited(&message, "Approved by b@example.com").await;
    }

    async fn a_passkey_credential_shows_a_link_in_place_of_the_button(scene: &mut Scene) {
        scene.link(ADA).await;
        scene.proxy.policy(r#"{"channel": "slack", "slack_channel": "C0OPS", "passkey_required": true}"#).await;
        let (txn, message) = scene.announce(1).await;
        assert_eq!(message.labels(), ["Approve with passkey", "Deny"]);
        let link = message.button("Approve with passkey");
        assert_eq!(link["url"], format!("https://px.example.com/approve/{txn}"));
        let nonce = message.button("Deny")["value"].as_str().unwrap();
        for action in ["approve", "approve_with_grant"] {
            scene.slack.press_with(&message, action, nonce, ADA);
        }
        scene.until_ephemeral(ADA, "This request needs a passkey", 2).await;
        // Slack reports a link that was opened, too.
        scene.slack.press(&message, "Approve with passkey", ADA);
        assert_eq!(scene.state(txn).await, ApprovalState::Pending);
    }

    async fn a_message_that_does_not_show_the_request_whole_approves_nothing(scene: &mut Scene) {
        scene.link(ADA).await;
        let request = scene.proxy.forward("POST", &scene.proxy.upstream.url("/act"));
        let txn = scene.proxy.send_pending(request.body("&".repeat(3000).into()).unwrap()).await;
        let message = scene.until_posted("Read the full request and approve: ").await;
        assert_eq!(message.labels(), ["Read and approve", "Deny"]);
        let link = format!("https://px.example.com/approve/{txn}");
        assert_eq!(message.button("Read and approve")["url"], link.as_str());
        let nonce = message.button("Deny")["value"].as_str().unwrap();
        scene.slack.press_with(&message, "approve", nonce, ADA);
        scene.until_ephemeral(ADA, &format!("Read and approve it here: {link}"), 1).await;
        assert_eq!(scene.state(txn).await, ApprovalState::Pending);
    }

    async fn markup_of_others_is_shown_as_it_was_written(scene: &mut Scene) {
        scene.link(ADA).await;
        let request = scene.proxy.forward("POST", &scene.proxy.upstream.url("/act"));
        let request = request.header("x-px-reason", "<@U0ADA> *why*");
        let text = "*bold* <!channel> <https://evil.example|ok> &lt; `code` :smile:".to_owned();
        scene.proxy.send_pending(request.body(text.clone().into()).unwrap()).await;
        let message = scene.until_posted("│ *bold*").await;
        assert!(message.text.contains(&text), "{}", message.text);
        assert!(message.text.contains("Reason: “<@U0ADA> *why*”"), "{}", message.text);
        let posted = scene.slack.calls().into_iter().rfind(|call| call.method == "chat.postMessage").unwrap();
        for block in posted.body["blocks"].as_array().unwrap() {
            let is_plain = block["type"] == "actions" || block["text"]["type"] == "plain_text";
            assert!(is_plain && block["text"]["emoji"] != true, "{block}");
        }
    }

    async fn a_button_with_another_nonce_or_none_does_nothing(scene: &mut Scene) {
        scene.link(ADA).await;
        let (txn, message) = scene.announce(1).await;
        for (action, value) in [("approve", "0000"), ("approve", &*txn.to_string()), ("deny", ""), ("invented", "")] {
            scene.slack.press_with(&message, action, value, ADA);
        }
        scene.until_ephemeral(ADA, "This button no longer works.", 4).await;
        assert_eq!(scene.state(txn).await, ApprovalState::Pending);
    }

    async fn the_record_says_which_account_decided(scene: &mut Scene) {
        scene.link(ADA).await;
        let (_, message) = scene.announce(1).await;
        scene.slack.press(&message, "Approve", ADA);
        scene.edited(&message, "Approved by a@example.com").await;
        let filter = AuditFilter { events: vec![AuditEvent::ApprovalApproved], ..AuditFilter::default() };
        let found = audit::search(&scene.proxy.state.store, scene.proxy.workspace, &filter).await.unwrap();
        let detail: Value = serde_json::from_str(&found[0].record.record.detail).unwrap();
        let account = json!({ "platform": "slack", "account": format!("{TEAM}-{ADA}"), "label": "@u0ada" });
        assert_eq!((&detail["surface"], &detail["chat"]), (&json!("chat"), &account));
    }

    async fn a_link_code_works_once_and_other_messages_are_answered_with_help(scene: &mut Scene) {
        let owner = scene.proxy.approver(0, DecisionSurface::Dashboard);
        let code = scene.code(owner.user).await;
        scene.slack.write(ADA, &format!("link {code}"));
        assert_eq!(scene.until_posted("Linked to a@example.com").await.channel, "D0ADA");
        scene.slack.write("U0EVE", &format!("link {code}"));
        assert_eq!(scene.until_posted("wrong or has expired").await.channel, "D0EVE");
        scene.slack.write("U0EVE", "hello <there>");
        scene.until_posted("Create a code in the Pyxis dashboard").await;
        // Messages of bots, of channels, and changes of messages are no one's word.
        let before = scene.slack.messages().len();
        let mut ignored = Vec::new();
        for (member, value) in [("bot_id", "B1"), ("subtype", "message_changed"), ("channel_type", "channel")] {
            let mut payload = scene.slack.write_payload("U0EVE", "hello");
            payload["event"][member] = value.into();
            ignored.push(scene.slack.send("events_api", payload));
        }
        ignored.push(scene.slack.send("slash_commands", json!({ "command": "/pyxis" })));
        let all_acknowledged = |slack: &Slack| {
            let sent = slack.envelopes();
            let is_acknowledged =
                |id: &String| sent.iter().any(|sent| sent.id == *id && sent.acknowledged.is_some());
            ignored.iter().all(is_acknowledged).then_some(())
        };
        scene.slack.until(all_acknowledged).await;
        scene.slack.write("U0EVE", "link X");
        scene.slack.until(|slack| (slack.messages().len() == before + 1).then_some(())).await;
        let accounts = channels::accounts(&scene.proxy.state.store, scene.proxy.workspace, owner.user).await.unwrap();
        assert_eq!(accounts.len(), 1);
    }

    async fn without_a_channel_everyone_linked_gets_a_direct_message(scene: &mut Scene) {
        scene.link(ADA).await;
        scene.proxy.policy(r#"{"channel": "slack"}"#).await;
        let (txn, message) = scene.announce(1).await;
        assert_eq!(message.channel, "D0ADA");
        scene.slack.press(&message, "Approve", ADA);
        scene.edited(&message, "Approved by a@example.com").await;
        assert_eq!(scene.state(txn).await, ApprovalState::Approved);
        assert_eq!(scene.until_posted("The request is being sent.").await.channel, "D0ADA");
        channels::set_default_chat(&scene.proxy.state, &scene.proxy.actor(), ChatPlatform::SLACK, CHANNEL).await.unwrap();
        assert_eq!(scene.announce(2).await.1.channel, CHANNEL);
    }

    async fn a_limit_is_waited_for_as_long_as_slack_says(scene: &mut Scene) {
        scene.slack.limit(&[7]);
        let txn = scene.proxy.pause(1).await;
        let limited = |slack: &Slack| slack.calls().iter().any(|call| call.method == "chat.postMessage").then_some(());
        scene.slack.until(limited).await;
        let due = scene.proxy.clock_now().plus(Duration::from_secs(7));
        crate::support::until("the wait is noted", async || {
            let row = scene.rows(txn).await.remove(0);
            (row.next_at == Some(due) && row.attempts == 0).then_some(())
        })
        .await;
        assert!(scene.slack.messages().is_empty());
        scene.proxy.advance(Duration::from_secs(7));
        scene.until_posted("│ round 1").await;
    }

    async fn while_slack_is_down_requests_wait_and_are_posted_later(scene: &mut Scene) {
        scene.slack.set_down(true);
        let waits = scene.proxy.pause(1).await;
        crate::support::until("an attempt failed", async || scene.rows(waits).await.remove(0).error.map(drop)).await;
        scene.slack.set_down(false);
        scene.proxy.advance(Duration::from_mins(1));
        scene.until_posted("│ round 1").await;
    }
}
