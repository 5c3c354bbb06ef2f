//! The first chat platform, with a fake Bot API (`docs/reference/notifications.md#telegram`).

use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_util::stream;
use http::{Request, StatusCode};
use pyxis_core::approval_mode::{ApprovalState, Role};
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::{TxnId, UserId};
use pyxis_core::secret::SecretString;
use pyxis_gateway::ChatSettings;
use pyxis_gateway::Config;
use pyxis_gateway::admin::rights::{self, Right};
use pyxis_gateway::admin::{channels, people};
use pyxis_gateway::approvals::decide::{Decision, decide};
use pyxis_gateway::channels::telegram::TelegramConfig;
use pyxis_gateway::notifications::brand;
use pyxis_gateway::workers;
use pyxis_store::audit::{self, AuditFilter};
use pyxis_store::chat_messages::{self, ChatMessageRow};
use pyxis_store::{approvals, grants, votes};
use pyxis_testkit::database::{Fixture, TestDatabase};
use pyxis_testkit::engines;
use pyxis_testkit::picture;
use pyxis_testkit::telegram::{TOKEN, Telegram, TelegramMessage};
use serde_json::{Value, json};

use crate::races::proxy::{Proxy, Workers};

const ADA: i64 = 4242;
const POLICY: &str = r#"{"channel": "chat_primary", "telegram_chat": "-100200"}"#;

/// A proxy whose workers talk to the fake Bot API.
struct Scene {
    proxy: Proxy,
    telegram: Telegram,
    workers: Workers,
}

mod chat_changes;
mod chat_checks;
mod edits;
mod partial_messages;
mod signatures;

impl Fixture for Scene {
    async fn start(database: TestDatabase) -> Self {
        Self::with_webhook(database, None).await
    }
}

impl Scene {
    async fn with_webhook(database: TestDatabase, webhook_secret: Option<&str>) -> Self {
        let telegram = Telegram::start().await;
        let proxy = Self::proxy(database, &telegram, webhook_secret).await;
        let workers = proxy.work().await;
        Self { proxy, telegram, workers }
    }

    /// A proxy with the bot, whose workers do not run.
    async fn proxy(database: TestDatabase, telegram: &Telegram, webhook_secret: Option<&str>) -> Proxy {
        let config = Config {
            base_url: "https://px.example.com".to_owned(),
            chats: ChatSettings::default().with_platform(TelegramConfig {
                token: SecretString::new(TOKEN.to_owned()),
                api_base: telegram.base(),
                webhook_secret: webhook_secret.map(|secret| SecretString::new(secret.to_owned())),
                poll: Duration::from_secs(30),
            }),
            ..Config::default()
        };
        let proxy = Proxy::with_config(database, config).await;
        proxy.policy(POLICY).await;
        proxy
    }

    /// Links an account to the first owner.
    async fn link(&self, user: i64) {
        let owner = self.proxy.approver(0, DecisionSurface::Dashboard);
        self.link_to(user, owner.user, &owner.email).await;
    }

    /// Links an account to a person.
    async fn link_to(&self, account: i64, person: UserId, email: &str) {
        let (state, actor) = (&self.proxy.state, self.proxy.actor());
        let (code, _) = channels::link_code(state, &actor, person, ChatPlatform::TELEGRAM).await.unwrap();
        self.telegram.write(account, &format!("/link {}", code.expose().to_lowercase()));
        self.until_sent("sendMessage", &format!("Linked to {email}")).await;
    }

    /// Waits until this many button presses were answered with `text`.
    async fn heard(&self, text: &str, times: usize) {
        let heard = |telegram: &Telegram| {
            let answers = telegram.answers();
            (answers.iter().filter(|(_, said)| said.contains(text)).count() == times).then_some(())
        };
        self.telegram.until(heard).await;
    }

    /// The link preview options of the last call of a method.
    fn preview(&self, method: &str) -> Value {
        let calls = self.telegram.calls();
        let last = calls.iter().rfind(|call| call.method == method).unwrap();
        last.body["link_preview_options"].clone()
    }

    /// Stops the workers and starts them again, as a restart does.
    async fn restart(self, meanwhile: impl FnOnce(&Telegram)) -> Self {
        self.workers.end().await;
        meanwhile(&self.telegram);
        Self { workers: self.proxy.work().await, ..self }
    }

    /// Waits until the bot sent this text with this method.
    async fn until_sent(&self, method: &str, text: &str) {
        let said = |telegram: &Telegram| {
            let calls = telegram.calls();
            let found = calls.iter().any(|call| {
                call.method == method && call.body["text"].as_str().is_some_and(|said| said.contains(text))
            });
            found.then_some(())
        };
        self.telegram.until(said).await;
    }

    /// A request, and the message that asks about it.
    async fn announce(&self, round: usize) -> (TxnId, TelegramMessage) {
        let txn = self.proxy.pause(round).await;
        let text = format!("│ round {round}");
        let asks =
            |telegram: &Telegram| telegram.messages().into_iter().find(|shown| shown.text.contains(&text));
        (txn, self.telegram.until(asks).await)
    }

    /// The message that asks about a transaction.
    async fn asks(&self, txn: TxnId) -> TelegramMessage {
        let link = format!("https://px.example.com/approve/{txn}");
        let asks =
            |telegram: &Telegram| telegram.messages().into_iter().find(|shown| shown.text.contains(&link));
        self.telegram.until(asks).await
    }

    async fn state(&self, txn: TxnId) -> ApprovalState {
        let found = approvals::find(&self.proxy.state.store, self.proxy.workspace, txn).await;
        found.unwrap().unwrap().state
    }

    /// A message that does not show enough of its request says so and where to approve it, and approves nothing here.
    async fn sends_elsewhere(&self, txn: TxnId, message: &TelegramMessage, says: &str) {
        let link = format!("https://px.example.com/approve/{txn}");
        let way = format!("Read the full request and approve: {link}");
        assert!(message.text.contains(says) && message.text.contains(&way), "{says}: {}", message.text);
        assert_eq!(message.labels(), ["Read and approve", "Deny"], "{says}");
        assert_eq!(message.buttons[0].1["url"], link);
        // Buttons that an older message still has.
        let nonce = message.button("Deny").split_once(':').unwrap().1;
        for old in ["a", "g"] {
            self.telegram.press_with(message, &format!("{old}:{nonce}"), ADA);
        }
        self.heard(&format!("The chat does not show the full request. Read and approve it here: {link}"), 2)
            .await;
        assert_eq!(self.state(txn).await, ApprovalState::Pending, "{says}");
        let given = votes::list(&self.proxy.state.store, self.proxy.workspace, txn).await.unwrap();
        assert!(given.is_empty(), "{says}");
    }

    /// The message once it has been edited to contain this text.
    async fn edited(&self, message: &TelegramMessage, text: &str) -> TelegramMessage {
        let now = |telegram: &Telegram| {
            telegram.messages().into_iter().find(|found| found.id == message.id && found.text.contains(text))
        };
        self.telegram.until(now).await
    }

    async fn rows(&self, txn: TxnId) -> Vec<ChatMessageRow> {
        chat_messages::list(&self.proxy.state.store, self.proxy.workspace, txn).await.unwrap()
    }
}

engines! {
    async fn a_linked_person_approves_by_button_and_the_message_tells_the_outcome(scene: &mut Scene) {
        scene.link(ADA).await;
        let (txn, message) = scene.announce(1).await;
        assert_eq!(message.chat, "-100200");
        for part in ["Approval needed", "default-agent wants to use api", "POST http://127.0.0.1", "/act", "│ round 1", "Secured by Pyxis"] {
            assert!(message.text.contains(part), "{part}: {}", message.text);
        }
        assert_eq!(message.labels(), ["Approve", "Deny", "Approve for 30 min"]);
        for (_, button) in &message.buttons {
            assert!(!button.to_string().contains(&txn.to_string()), "buttons never carry the transaction");
        }
        scene.telegram.press(&message, "Approve", ADA);
        let done = scene.edited(&message, "Approved by a@example.com").await;
        assert!(done.buttons.is_empty());
        assert_eq!(scene.state(txn).await, ApprovalState::Approved);
        scene.telegram.until(|telegram| telegram.answers().iter().any(|(_, text)| text.starts_with("Approved.")).then_some(())).await;
        scene.telegram.press_with(&message, message.button("Deny"), ADA);
        scene.telegram.until(|telegram| telegram.answers().iter().any(|(_, text)| text.starts_with("Too late")).then_some(())).await;
    }

    async fn the_other_buttons_deny_and_approve_with_a_grant_of_half_an_hour(scene: &mut Scene) {
        scene.link(ADA).await;
        let (denied, message) = scene.announce(1).await;
        scene.telegram.press(&message, "Deny", ADA);
        scene.edited(&message, "Denied by a@example.com").await;
        assert_eq!(scene.state(denied).await, ApprovalState::Denied);
        let (approved, message) = scene.announce(2).await;
        scene.telegram.press(&message, "Approve for 30 min", ADA);
        scene.edited(&message, "Approved by").await;
        assert_eq!(scene.state(approved).await, ApprovalState::Approved);
        let page = pyxis_store::Page::first(10);
        let all = grants::list(&scene.proxy.state.store, scene.proxy.workspace, true, page, scene.proxy.clock_now()).await.unwrap();
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].expires_at.since(all[0].created_at), Duration::from_mins(30));
    }

    async fn an_account_that_nobody_linked_is_answered_and_on_record_and_decides_nothing(scene: &mut Scene) {
        let (txn, message) = scene.announce(1).await;
        scene.telegram.press(&message, "Approve", 666);
        scene.telegram.until(|telegram| telegram.answers().iter().any(|(_, text)| text.contains("not linked")).then_some(())).await;
        assert_eq!(scene.state(txn).await, ApprovalState::Pending);
        let filter = AuditFilter { events: vec![AuditEvent::ChatStrangerRefused], ..AuditFilter::default() };
        let found = audit::search(&scene.proxy.state.store, scene.proxy.workspace, &filter).await.unwrap();
        assert_eq!(found[0].record.record.actor, "telegram:666".into());
    }

    async fn the_count_of_approvals_is_shown_as_it_grows(scene: &mut Scene) {
        let policy = r#"{"channel": "chat_primary", "telegram_chat": "-100200", "min_approvals": 2}"#;
        scene.proxy.policy(policy).await;
        scene.link(ADA).await;
        let (txn, message) = scene.announce(1).await;
        assert!(message.text.contains("Approvals: 0 of 2") && !message.text.contains("30 min grant"), "{}", message.text);
        scene.telegram.press(&message, "Approve", ADA);
        let voted = scene.edited(&message, "Approvals: 1 of 2").await;
        assert_eq!(voted.buttons.len(), 2, "the others still decide");
        scene.heard("Your approval counts: 1 of 2.", 1).await;
        let second = scene.proxy.approver(1, DecisionSurface::Dashboard);
        decide(&scene.proxy.state, &second, txn, Decision::Approve(None)).await.unwrap();
        scene.edited(&message, "Approved by b@example.com").await;
    }

    async fn a_person_who_may_not_decide_hears_so_and_decides_nothing(scene: &mut Scene) {
        const MEMBER: i64 = 77;
        let (state, actor) = (scene.proxy.state.clone(), scene.proxy.actor());
        let member = people::add(&state, &actor, "mem@example.com", Role::Member).await.unwrap().0.id;
        scene.link_to(MEMBER, member, "mem@example.com").await;
        scene.link(ADA).await;
        let (txn, message) = scene.announce(1).await;
        let refused = "You cannot decide this";
        scene.telegram.press(&message, "Approve", MEMBER);
        scene.heard(refused, 1).await;
        let set = async |approve| {
            rights::set(&state.audited, &actor, member, "api", Right { approve, policy: true }).await.unwrap();
        };
        set(false).await;
        scene.telegram.press(&message, "Deny", MEMBER);
        scene.heard(refused, 2).await;
        // The policy lists someone else: neither the grant nor the role helps.
        set(true).await;
        let listed = r#"{"channel": "chat_primary", "telegram_chat": "-100200", "allowed_approvers": ["b@example.com"]}"#;
        scene.proxy.policy(listed).await;
        scene.telegram.press(&message, "Approve", MEMBER);
        scene.telegram.press(&message, "Approve for 30 min", ADA);
        scene.heard(refused, 4).await;
        // A disabled person is treated like a stranger, even with the right.
        scene.proxy.policy(POLICY).await;
        people::set_enabled(&state.audited, &actor, member, false).await.unwrap();
        scene.telegram.press(&message, "Approve", MEMBER);
        scene.heard("not linked", 1).await;
        assert_eq!(scene.state(txn).await, ApprovalState::Pending);
        assert!(votes::list(&state.store, scene.proxy.workspace, txn).await.unwrap().is_empty());
    }

    async fn the_record_says_which_account_on_which_platform_decided(scene: &mut Scene) {
        scene.link(ADA).await;
        for (round, label, event) in [(1, "Approve", AuditEvent::ApprovalApproved), (2, "Deny", AuditEvent::ApprovalDenied)] {
            let (_, message) = scene.announce(round).await;
            scene.telegram.press(&message, label, ADA);
            scene.edited(&message, "by a@example.com").await;
            let filter = AuditFilter { events: vec![event], ..AuditFilter::default() };
            let found = audit::search(&scene.proxy.state.store, scene.proxy.workspace, &filter).await.unwrap();
            let detail: Value = serde_json::from_str(&found[0].record.record.detail).unwrap();
            let account = json!({ "platform": "telegram", "account": "4242", "label": "@user4242" });
            assert_eq!((&detail["surface"], &detail["chat"]), (&json!("chat"), &account));
        }
    }

    async fn a_message_carries_the_brand_the_reason_and_what_a_grant_would_have_covered(scene: &mut Scene) {
        let (state, actor) = (scene.proxy.state.clone(), scene.proxy.actor());
        brand::put(&state.audited, &actor, "Acme", "#ffe066").await.unwrap();
        let shown = async |scene: &Scene, round: usize| {
            scene.proxy.pause_because(round, "for the\tMarch invoice").await;
            let text = format!("│ round {round}");
            scene.telegram.until(|telegram| telegram.messages().into_iter().find(|one| one.text.contains(&text))).await
        };
        let message = shown(scene, 1).await;
        assert!(message.text.starts_with("Acme · Approval needed\n"), "{}", message.text);
        assert!(message.text.ends_with("\nSecured by Pyxis"));
        assert!(message.text.contains("\nReason: “for the March invoice”\n"), "{}", message.text);
        let lately = "\n30 min grant: 1 of 1 recent request matches, from default-agent.\n";
        assert!(message.text.contains(lately), "{}", message.text);
        assert_eq!(scene.preview("sendMessage"), json!({ "is_disabled": true }), "nothing is fetched");
        // The logo, once there is one, and nothing else that anyone could put there.
        brand::set_logo(&state.audited, &actor, Some(picture::dot())).await.unwrap();
        let url = brand::logo_url(&state.config, scene.proxy.workspace);
        let small = json!({ "url": url, "prefer_small_media": true, "show_above_text": true });
        let message = shown(scene, 2).await;
        assert_eq!(scene.preview("sendMessage"), small);
        scene.link(ADA).await;
        scene.telegram.press(&message, "Deny", ADA);
        scene.edited(&message, "Denied by").await;
        assert_eq!(scene.preview("editMessageText"), small);
    }

    async fn a_chat_that_answers_slowly_delays_nothing_else(scene: &mut Scene) {
        scene.telegram.set_slow(true);
        let slow = scene.proxy.pause(1).await;
        let posted = |telegram: &Telegram| telegram.calls().iter().any(|call| call.method == "sendMessage").then_some(());
        scene.telegram.until(posted).await;
        let owner = scene.proxy.approver(0, DecisionSurface::Dashboard);
        decide(&scene.proxy.state, &owner, slow, Decision::Approve(None)).await.unwrap();
        scene.proxy.upstream.received(1).await;
        scene.proxy.policy(r#"{"channel": "agent_reflected"}"#).await;
        let other = scene.proxy.pause(2).await;
        decide(&scene.proxy.state, &owner, other, Decision::Deny(None)).await.unwrap();
        assert_eq!(scene.state(other).await, ApprovalState::Denied);
        assert!(scene.telegram.messages().is_empty(), "it hangs all the time");
        // The message that arrived too late says how it ended.
        scene.telegram.set_slow(false);
        let told = |telegram: &Telegram| telegram.messages().iter().any(|one| one.text.contains("Approved by a@example.com")).then_some(());
        scene.telegram.until(told).await;
    }

    async fn polls_wait_half_a_minute_and_go_on_where_they_stopped(scene: Scene) {
        scene.link(ADA).await;
        crate::support::until("the place is kept", async || {
            let cursor = chat_messages::cursor(&scene.proxy.state.store, ChatPlatform::TELEGRAM).await.unwrap();
            (cursor.as_deref() == Some("701")).then_some(())
        })
        .await;
        let mut before = 0;
        let scene = scene
            .restart(|telegram| {
                before = telegram.calls().len();
                telegram.write(7, "/link NOTHING");
            })
            .await;
        scene.until_sent("sendMessage", "wrong or has expired").await;
        let calls = scene.telegram.calls();
        let polls: Vec<_> = calls[before..].iter().filter(|call| call.method == "getUpdates").collect();
        assert_eq!(polls[0].body["offset"], 701);
        assert!(polls.iter().all(|poll| poll.body["timeout"] == 30), "{polls:?}");
    }

    async fn without_a_secret_there_is_no_door_for_updates(scene: &mut Scene) {
        let update = json!({ "update_id": 1 }).to_string();
        for secret in [None, Some("")] {
            let mut request = Request::post("/telegram/webhook");
            if let Some(secret) = secret {
                request = request.header("x-telegram-bot-api-secret-token", secret);
            }
            assert_eq!(scene.proxy.send(request.body(update.clone().into()).unwrap()).await, StatusCode::NOT_FOUND);
        }
    }

    async fn a_link_code_works_once_and_only_for_a_while(scene: &mut Scene) {
        scene.link(ADA).await;
        scene.telegram.write(7, "/link ABCDEFGHJKLM");
        scene.until_sent("sendMessage", "wrong or has expired").await;
        let owner = scene.proxy.approver(1, DecisionSurface::Dashboard);
        let actor = scene.proxy.actor();
        let (code, until) = channels::link_code(&scene.proxy.state, &actor, owner.user, ChatPlatform::TELEGRAM).await.unwrap();
        scene.proxy.advance(until.since(scene.proxy.clock_now()));
        scene.telegram.write(8, &format!("/start {}", code.expose()));
        let refused = |telegram: &Telegram| {
            let calls = telegram.calls();
            let mut to_8 = calls.iter().filter(|call| call.method == "sendMessage" && call.body["chat_id"] == 8);
            to_8.next_back().map(|call| call.body["text"].as_str().unwrap().to_owned())
        };
        assert!(scene.telegram.until(refused).await.contains("wrong or has expired"));
        assert!(channels::accounts(&scene.proxy.state.store, scene.proxy.workspace, owner.user).await.unwrap().is_empty());
    }

    async fn a_button_with_another_nonce_or_none_does_nothing(scene: &mut Scene) {
        scene.link(ADA).await;
        let (txn, message) = scene.announce(1).await;
        for data in ["a:00000000000000000000000000000000", &format!("a:{txn}"), "a:", "nonsense", "x:y"] {
            scene.telegram.press_with(&message, data, ADA);
        }
        scene.telegram.until(|telegram| (telegram.answers().len() == 5).then_some(())).await;
        assert!(scene.telegram.answers().iter().all(|(_, text)| text == "This button no longer works."));
        assert_eq!(scene.state(txn).await, ApprovalState::Pending);
    }

    async fn a_passkey_credential_shows_a_link_in_place_of_the_button(scene: &mut Scene) {
        scene.link(ADA).await;
        scene.proxy.policy(r#"{"channel": "chat_primary", "telegram_chat": "5", "passkey_required": true}"#).await;
        let (txn, message) = scene.announce(1).await;
        assert_eq!(message.labels(), ["Approve with passkey", "Deny"]);
        assert_eq!(message.buttons[0].1["url"], format!("https://px.example.com/approve/{txn}"));
        let nonce = message.button("Deny").split_once(':').unwrap().1;
        scene.telegram.press_with(&message, &format!("a:{nonce}"), ADA);
        scene.telegram.press_with(&message, &format!("g:{nonce}"), ADA);
        scene.heard("This request needs a passkey", 2).await;
        assert_eq!(scene.state(txn).await, ApprovalState::Pending);
        let page = pyxis_store::Page::first(10);
        let (state, now) = (&scene.proxy.state, scene.proxy.clock_now());
        assert!(grants::list(&state.store, scene.proxy.workspace, true, page, now).await.unwrap().is_empty());
    }

    async fn messages_go_to_the_policys_chat_else_the_workspaces_else_to_everybody_linked(scene: &mut Scene) {
        scene.link(ADA).await;
        scene.proxy.policy(r#"{"channel": "chat_primary"}"#).await;
        assert_eq!(scene.announce(1).await.1.chat, ADA.to_string());
        // In private, only people who may decide are asked.
        scene.proxy.policy(r#"{"channel": "chat_primary", "allowed_approvers": ["b@example.com"]}"#).await;
        let txn = scene.proxy.pause(11).await;
        assert!(scene.rows(txn).await.is_empty());
        scene.proxy.policy(r#"{"channel": "chat_primary"}"#).await;
        channels::set_default_chat(&scene.proxy.state, &scene.proxy.actor(), ChatPlatform::TELEGRAM, "-55").await.unwrap();
        assert_eq!(scene.announce(2).await.1.chat, "-55");
        scene.proxy.policy(r#"{"channel": "chat_primary", "telegram_chat": "-66"}"#).await;
        assert_eq!(scene.announce(3).await.1.chat, "-66");
        scene.proxy.policy(r#"{"channel": "dashboard"}"#).await;
        let txn = scene.proxy.pause(4).await;
        assert!(scene.rows(txn).await.is_empty());
    }

    async fn every_message_about_a_request_tells_the_decision_no_matter_who_got_it(scene: &mut Scene) {
        const BO: i64 = 77;
        scene.link(ADA).await;
        let second = scene.proxy.approver(1, DecisionSurface::Dashboard);
        scene.link_to(BO, second.user, &second.email).await;
        scene.proxy.policy(r#"{"channel": "chat_primary"}"#).await;
        let txn = scene.proxy.pause(1).await;
        let asking = |telegram: &Telegram| -> Option<[TelegramMessage; 2]> {
            let all = telegram.messages().into_iter().filter(|shown| shown.text.contains("│ round 1"));
            all.collect::<Vec<_>>().try_into().ok()
        };
        let both = scene.telegram.until(asking).await;
        let of = |account: i64| both.iter().find(|shown| shown.chat == account.to_string()).unwrap();
        let (adas, bos) = (of(ADA), of(BO));
        assert_ne!(adas.button("Deny"), bos.button("Deny"), "each has a button of its own");
        scene.telegram.press(adas, "Approve", ADA);
        for message in &both {
            assert!(scene.edited(message, "Approved by a@example.com").await.buttons.is_empty());
        }
        scene.telegram.press(bos, "Deny", BO);
        scene.heard("Too late", 1).await;
        assert_eq!(scene.state(txn).await, ApprovalState::Approved);
    }

    async fn a_limit_is_waited_for_as_long_as_the_platform_says(scene: &mut Scene) {
        scene.telegram.limit(&[7]);
        let txn = scene.proxy.pause(1).await;
        scene.telegram.until(|telegram| telegram.calls().iter().any(|call| call.method == "sendMessage").then_some(())).await;
        let due = scene.proxy.clock_now().plus(Duration::from_secs(7));
        crate::support::until("the wait is noted", async || {
            let row = scene.rows(txn).await.remove(0);
            (row.next_at == Some(due) && row.attempts == 0).then_some(())
        })
        .await;
        assert!(scene.telegram.messages().is_empty());
        scene.proxy.advance(Duration::from_secs(7));
        scene.telegram.until(|telegram| telegram.messages().first().cloned()).await;
    }

    async fn while_the_platform_is_down_requests_are_decided_and_what_still_waits_is_posted_later(scene: &mut Scene) {
        scene.telegram.set_down(true);
        let (decided, waits) = (scene.proxy.pause(1).await, scene.proxy.pause(2).await);
        let owner = scene.proxy.approver(0, DecisionSurface::Dashboard);
        decide(&scene.proxy.state, &owner, decided, Decision::Deny(None)).await.unwrap();
        assert_eq!(scene.state(decided).await, ApprovalState::Denied);
        crate::support::until("an attempt failed", async || {
            scene.rows(waits).await.remove(0).error.map(drop)
        })
        .await;
        scene.telegram.set_down(false);
        scene.proxy.advance(Duration::from_mins(1));
        let message = scene.telegram.until(|telegram| telegram.messages().first().cloned()).await;
        assert!(message.text.contains("round 2"), "{}", message.text);
        decide(&scene.proxy.state, &owner, waits, Decision::Deny(Some("not now".to_owned()))).await.unwrap();
        assert!(scene.edited(&message, "Denied by").await.text.contains("“not now”"));
        assert_eq!(scene.telegram.messages().len(), 1, "nobody is asked about what is decided");
    }

    async fn a_chat_that_refuses_the_bot_is_given_up_and_says_why(scene: &mut Scene) {
        scene.proxy.policy(r#"{"channel": "chat_primary", "telegram_chat": "404"}"#).await;
        let txn = scene.proxy.pause(1).await;
        let row = crate::support::until("it is given up", async || {
            let row = scene.rows(txn).await.remove(0);
            (row.next_at.is_none()).then_some(row)
        })
        .await;
        assert_eq!(row.error.as_deref(), Some("Bad Request: chat not found"));
    }

    async fn expiry_and_withdrawal_are_shown_too(scene: &mut Scene) {
        let (withdrawn, first) = scene.announce(1).await;
        let (_, second) = scene.announce(2).await;
        scene.proxy.withdraw(withdrawn).await;
        scene.edited(&first, "The agent withdrew the request.").await;
        scene.proxy.advance(Duration::from_hours(1));
        workers::expire_tick(&scene.proxy.state).await.unwrap();
        assert!(scene.edited(&second, "No one decided in time.").await.buttons.is_empty());
    }
}

engines! {
    async fn in_webhook_mode_only_the_secret_opens_the_door(database: TestDatabase) {
        let scene = Scene::with_webhook(database, Some("the-secret-of-the-hook")).await;
        let set = scene.telegram.until(Telegram::webhook).await;
        assert_eq!(set["url"], "https://px.example.com/telegram/webhook");
        assert_eq!(set["secret_token"], "the-secret-of-the-hook");
        let (txn, message) = scene.announce(1).await;
        let owner = scene.proxy.approver(0, DecisionSurface::Dashboard);
        let actor = scene.proxy.actor();
        let (code, _) =
            channels::link_code(&scene.proxy.state, &actor, owner.user, ChatPlatform::TELEGRAM).await.unwrap();
        let link = scene.telegram.write(ADA, &format!("/link {}", code.expose()));
        let press = scene.telegram.press(&message, "Deny", ADA);
        let post = async |secret: Option<&str>, body: String| {
            let mut request = Request::post("/telegram/webhook");
            if let Some(secret) = secret {
                request = request.header("x-telegram-bot-api-secret-token", secret);
            }
            scene.proxy.send(request.body(body.into()).unwrap()).await
        };
        for secret in [None, Some(""), Some("the-secret-of-the-hool")] {
            assert_eq!(post(secret, press.to_string()).await, StatusCode::UNAUTHORIZED);
        }
        let never = Body::from_stream(stream::pending::<io::Result<Bytes>>());
        let request = Request::post("/telegram/webhook").header("x-telegram-bot-api-secret-token", "other");
        assert_eq!(scene.proxy.send(request.body(never).unwrap()).await, StatusCode::UNAUTHORIZED, "at once");
        let right = Some("the-secret-of-the-hook");
        assert_eq!(post(right, " ".repeat(256 * 1024 + 1)).await, StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(post(right, "{".to_owned()).await, StatusCode::BAD_REQUEST);
        assert_eq!(post(right, Value::from(1).to_string()).await, StatusCode::BAD_REQUEST);
        assert_eq!(scene.state(txn).await, ApprovalState::Pending);
        assert_eq!(post(right, link.to_string()).await, StatusCode::OK);
        assert_eq!(post(right, press.to_string()).await, StatusCode::OK);
        assert_eq!(scene.state(txn).await, ApprovalState::Denied);
        assert!(scene.telegram.calls().iter().all(|call| call.method != "getUpdates"), "nothing is polled");
    }
}
