//! Discord, with a fake REST API and signed interactions (`docs/reference/notifications.md#discord`).

use std::time::Duration;

use axum::body::Body;
use http::{Request, StatusCode};
use pyxis_core::approval_mode::{ApprovalState, Role};
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::{TxnId, UserId};
use pyxis_core::secret::SecretString;
use pyxis_gateway::admin::{channels, people};
use pyxis_gateway::approvals::decide::{Decision, decide};
use pyxis_gateway::channels::discord::DiscordConfig;
use pyxis_gateway::{ChatSettings, Config, workers};
use pyxis_store::audit::{self, AuditFilter};
use pyxis_store::chat_messages::{self, ChatMessageRow};
use pyxis_store::{approvals, grants, votes};
use pyxis_testkit::database::{Fixture, TestDatabase};
use pyxis_testkit::discord::{
    APPLICATION, BOT_TOKEN, CHANNEL, Discord, DiscordMessage, ShownResponse, public_key, signature,
};
use pyxis_testkit::engines;
use serde_json::{Value, json};

use crate::races::proxy::{Proxy, Workers};

mod edits;
mod endpoint;
mod rooms;
mod signatures;

const ADA: &str = "1300000000000000001";
const EVE: &str = "1300000000000000002";
const POLICY: &str = r#"{"channel": "discord", "discord_channel": "1200000000000000001"}"#;

/// A proxy whose workers talk to the fake Discord.
struct Scene {
    proxy: Proxy,
    discord: Discord,
    workers: Workers,
}

impl Fixture for Scene {
    async fn start(database: TestDatabase) -> Self {
        Self::with_channel(database, None).await
    }
}

impl Scene {
    /// With a channel of the first workspace.
    async fn with_channel(database: TestDatabase, channel: Option<String>) -> Self {
        let discord = Discord::start().await;
        let config = Config {
            base_url: "https://px.example.com".to_owned(),
            chats: ChatSettings::default().with_platform(DiscordConfig {
                bot_token: SecretString::new(BOT_TOKEN.to_owned()),
                application_id: APPLICATION.to_owned(),
                public_key: public_key(),
                channel,
                api_base: discord.base(),
            }),
            ..Config::default()
        };
        let proxy = Proxy::with_config(database, config).await;
        proxy.policy(POLICY).await;
        let workers = proxy.work().await;
        Self { proxy, discord, workers }
    }

    /// A request with these headers, or without.
    async fn deliver(
        &self,
        timestamp: Option<&str>,
        signature: Option<&str>,
        body: &str,
    ) -> (StatusCode, Value) {
        let mut request = Request::post("/discord/interactions").header("content-type", "application/json");
        for (name, value) in [("x-signature-timestamp", timestamp), ("x-signature-ed25519", signature)] {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        let answer = self.proxy.call(request.body(Body::from(body.to_owned())).unwrap()).await;
        (answer.status(), answer.into_body())
    }

    /// A request that Discord signed at this time, relative to now.
    async fn deliver_signed(&self, body: &str, seconds: i64) -> (StatusCode, Value) {
        let at = (self.proxy.clock_now().seconds() + seconds).to_string();
        self.deliver(Some(&at), Some(&signature(&at, body)), body).await
    }

    /// Response to an interaction, as a person sees it.
    async fn interaction_response(&self, interaction: &Value) -> ShownResponse {
        let (status, response) = self.deliver_signed(&interaction.to_string(), 0).await;
        assert_eq!(status, StatusCode::OK, "{response}");
        self.discord.show(interaction, &response)
    }

    /// The answer to a press of a button.
    async fn press(&self, message: &DiscordMessage, label: &str, person: &str) -> String {
        self.interaction_response(&self.discord.press(message, label, person)).await.text().to_owned()
    }

    /// The answer to a press of a button with any id.
    async fn press_with(&self, message: &DiscordMessage, id: &str, person: &str) -> String {
        self.interaction_response(&self.discord.press_with(message, id, person)).await.text().to_owned()
    }

    /// The answer to a denial with this reason.
    async fn deny(&self, message: &DiscordMessage, person: &str, reason: &str) -> String {
        let shown = self.interaction_response(&self.discord.press(message, "Deny", person)).await;
        self.interaction_response(&self.discord.submit(shown.window(), person, reason))
            .await
            .text()
            .to_owned()
    }

    /// A link code of a person.
    async fn code(&self, person: UserId) -> String {
        let (state, actor) = (&self.proxy.state, self.proxy.actor());
        let (code, _) = channels::link_code(state, &actor, person, ChatPlatform::DISCORD).await.unwrap();
        code.expose().clone()
    }

    /// The answer to the command `/link`.
    async fn send_code(&self, account: &str, code: &str) -> String {
        self.interaction_response(&self.discord.link(account, code)).await.text().to_owned()
    }

    /// Links an account to the first owner.
    async fn link(&self, account: &str) {
        let owner = self.proxy.approver(0, DecisionSurface::Dashboard);
        let code = self.code(owner.user).await;
        let said = self.send_code(account, &code.to_lowercase()).await;
        assert_eq!(said, format!("Linked to {}. Your buttons and reactions now count.", owner.email));
    }

    /// A request, and the message that asks about it.
    async fn announce(&self, round: usize) -> (TxnId, DiscordMessage) {
        let txn = self.proxy.pause(round).await;
        (txn, self.posted(&format!("│ round {round}")).await)
    }

    /// Waits until a message with this text was posted.
    async fn posted(&self, text: &str) -> DiscordMessage {
        let posted =
            |discord: &Discord| discord.messages().into_iter().find(|found| found.text.contains(text));
        self.discord.until(posted).await
    }

    /// The message once it has been edited to contain this text.
    async fn edited(&self, message: &DiscordMessage, text: &str) -> DiscordMessage {
        let now = |discord: &Discord| {
            let mut all = discord.messages().into_iter();
            all.find(|found| found.id == message.id && found.text.contains(text))
        };
        self.discord.until(now).await
    }

    async fn state(&self, txn: TxnId) -> ApprovalState {
        let found = approvals::find(&self.proxy.state.store, self.proxy.workspace, txn).await;
        found.unwrap().unwrap().state
    }

    async fn rows(&self, txn: TxnId) -> Vec<ChatMessageRow> {
        chat_messages::list(&self.proxy.state.store, self.proxy.workspace, txn).await.unwrap()
    }
}

/// Nonce of a message.
fn nonce(message: &DiscordMessage) -> String {
    let id = message.button("Deny")["custom_id"].as_str().unwrap();
    id.trim_start_matches("deny:").to_owned()
}

engines! {
    async fn a_linked_person_approves_by_button_and_the_message_says_who(scene: &mut Scene) {
        scene.link(ADA).await;
        let (txn, message) = scene.announce(1).await;
        assert_eq!(message.channel, CHANNEL);
        for part in ["Approval needed", "default-agent wants to use api", "POST http://127.0.0.1", "/act", "│ round 1", "Secured by Pyxis"] {
            assert!(message.text.contains(part), "{part}: {}", message.text);
        }
        assert_eq!(message.content, "Pyxis · Approval needed\ndefault-agent wants to use api");
        assert_eq!(message.labels(), ["Approve", "Approve for 30 min", "Deny", "Details"]);
        for (label, button) in &message.buttons {
            assert!(!button["custom_id"].as_str().unwrap_or_default().contains(&txn.to_string()));
            assert_eq!(button["url"].is_string(), label == "Details");
        }
        assert_eq!(scene.press(&message, "Approve", ADA).await, "Approved. The request is being sent.");
        let done = scene.edited(&message, "Approved by a@example.com").await;
        assert!(done.buttons.is_empty() && done.content.ends_with("Approved\ndefault-agent wants to use api"), "{done:?}");
        assert_eq!(scene.state(txn).await, ApprovalState::Approved);
        let again = scene.press(&message, "Approve", ADA).await;
        assert_eq!(again, "Too late: the request is already approved.");
    }

    async fn a_denial_asks_for_a_reason_that_the_agent_and_the_message_get(scene: &mut Scene) {
        scene.link(ADA).await;
        let (txn, message) = scene.announce(1).await;
        let shown = scene.interaction_response(&scene.discord.press(&message, "Deny", ADA)).await;
        assert_eq!(shown.window()["title"], "Deny request");
        assert_eq!(scene.state(txn).await, ApprovalState::Pending, "nothing is decided before the window is sent off");
        let submitted = scene.discord.submit(shown.window(), ADA, "not *now* & never");
        assert_eq!(scene.interaction_response(&submitted).await.text(), "Denied. Nothing was sent.");
        let done = scene.edited(&message, "Denied by a@example.com").await;
        assert!(done.text.contains("Reason: “not *now* & never”") && done.buttons.is_empty(), "{}", done.text);
        assert_eq!(scene.state(txn).await, ApprovalState::Denied);
        assert_eq!(scene.proxy.poll(txn).await.body()["reason"], "not *now* & never");
        let (txn, message) = scene.announce(2).await;
        assert_eq!(scene.deny(&message, ADA, "").await, "Denied. Nothing was sent.");
        assert!(!scene.edited(&message, "Denied by a@example.com").await.text.contains("Reason"));
        assert_eq!(scene.state(txn).await, ApprovalState::Denied);
    }

    async fn a_window_that_is_sent_off_too_late_or_says_too_much_changes_nothing(scene: &mut Scene) {
        scene.link(ADA).await;
        let (txn, message) = scene.announce(1).await;
        let said = scene.deny(&message, ADA, &"é".repeat(1500)).await;
        assert_eq!(said, "Not possible: must have at most 2000 bytes.");
        assert_eq!(scene.state(txn).await, ApprovalState::Pending);
        let shown = scene.interaction_response(&scene.discord.press(&message, "Deny", ADA)).await;
        let owner = scene.proxy.approver(1, DecisionSurface::Dashboard);
        decide(&scene.proxy.state, &owner, txn, Decision::Approve(None)).await.unwrap();
        let submitted = scene.discord.submit(shown.window(), ADA, "no");
        assert_eq!(scene.interaction_response(&submitted).await.text(), "Too late: the request is already approved.");
        assert_eq!(scene.state(txn).await, ApprovalState::Approved);
    }

    async fn an_approval_for_half_an_hour_opens_a_grant(scene: &mut Scene) {
        scene.link(ADA).await;
        let (_, message) = scene.announce(1).await;
        let said = scene.press(&message, "Approve for 30 min", ADA).await;
        assert_eq!(said, "Approved. Matching requests are allowed for 30 minutes.");
        let page = pyxis_store::Page::first(10);
        let (state, now) = (&scene.proxy.state, scene.proxy.clock_now());
        let all = grants::list(&state.store, scene.proxy.workspace, true, page, now).await.unwrap();
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].expires_at.since(all[0].created_at), Duration::from_mins(30));
    }

    async fn a_decision_anywhere_and_every_other_end_is_shown_in_the_message(scene: &mut Scene) {
        let (txn, message) = scene.announce(1).await;
        let owner = scene.proxy.approver(0, DecisionSurface::Dashboard);
        decide(&scene.proxy.state, &owner, txn, Decision::Deny(Some("not now".to_owned()))).await.unwrap();
        let done = scene.edited(&message, "Denied by a@example.com").await;
        assert!(done.text.contains("“not now”") && done.buttons.is_empty(), "{done:?}");
        let (withdrawn, message) = scene.announce(2).await;
        scene.proxy.withdraw(withdrawn).await;
        assert!(scene.edited(&message, "The agent withdrew the request.").await.buttons.is_empty());
        let (_, message) = scene.announce(3).await;
        scene.proxy.advance(Duration::from_hours(1));
        workers::expire_tick(&scene.proxy.state).await.unwrap();
        assert!(scene.edited(&message, "No one decided in time.").await.buttons.is_empty());
    }

    async fn an_account_that_nobody_linked_is_refused_visibly_and_on_record(scene: &mut Scene) {
        let (txn, message) = scene.announce(1).await;
        for label in ["Approve", "Deny"] {
            let said = scene.press(&message, label, EVE).await;
            assert!(said.starts_with("This account is not linked"), "{label}: {said}");
        }
        assert_eq!(scene.state(txn).await, ApprovalState::Pending);
        let filter = AuditFilter { events: vec![AuditEvent::ChatStrangerRefused], ..AuditFilter::default() };
        let found = audit::search(&scene.proxy.state.store, scene.proxy.workspace, &filter).await.unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].record.record.actor, format!("discord:@{EVE}").as_str().into());
        assert_eq!(found[0].record.record.actor_name, "@user02");
    }

    async fn people_who_may_not_decide_hear_so_and_decide_nothing(scene: &mut Scene) {
        const MEMBER: &str = "1300000000000000003";
        let (state, actor) = (scene.proxy.state.clone(), scene.proxy.actor());
        let member = people::add(&state, &actor, "mem@example.com", Role::Member).await.unwrap().0.id;
        scene.send_code(MEMBER, &scene.code(member).await).await;
        let (txn, message) = scene.announce(1).await;
        for said in [scene.press(&message, "Approve", MEMBER).await, scene.deny(&message, MEMBER, "no").await] {
            assert!(said.starts_with("You cannot decide this"), "{said}");
        }
        people::set_enabled(&state.audited, &actor, member, false).await.unwrap();
        let said = scene.press(&message, "Approve", MEMBER).await;
        assert!(said.starts_with("This account is not linked"), "{said}");
        assert_eq!(scene.state(txn).await, ApprovalState::Pending);
        assert!(votes::list(&state.store, scene.proxy.workspace, txn).await.unwrap().is_empty());
    }

    async fn where_two_must_approve_the_message_counts(scene: &mut Scene) {
        let policy = format!(r#"{{"channel": "discord", "discord_channel": "{CHANNEL}", "min_approvals": 2}}"#);
        scene.proxy.policy(&policy).await;
        scene.link(ADA).await;
        let (txn, message) = scene.announce(1).await;
        assert!(message.text.contains("Approvals: 0 of 2"), "{}", message.text);
        assert_eq!(message.labels(), ["Approve", "Deny", "Details"]);
        assert_eq!(scene.press(&message, "Approve", ADA).await, "Your approval counts: 1 of 2.");
        assert_eq!(scene.press(&message, "Approve", ADA).await, "You have already decided.");
        let voted = scene.edited(&message, "Approvals: 1 of 2").await;
        assert_eq!(voted.buttons.len(), 3, "the others still decide");
        let second = scene.proxy.approver(1, DecisionSurface::Dashboard);
        decide(&scene.proxy.state, &second, txn, Decision::Approve(None)).await.unwrap();
        scene.edited(&message, "Approved by b@example.com").await;
    }

    async fn a_passkey_credential_shows_a_link_in_place_of_the_button(scene: &mut Scene) {
        scene.link(ADA).await;
        let policy = format!(r#"{{"channel": "discord", "discord_channel": "{CHANNEL}", "passkey_required": true}}"#);
        scene.proxy.policy(&policy).await;
        let (txn, message) = scene.announce(1).await;
        assert_eq!(message.labels(), ["Approve with passkey", "Deny"]);
        let link = message.button("Approve with passkey");
        assert_eq!(link["url"], format!("https://px.example.com/approve/{txn}"));
        for action in ["approve", "approve_with_grant"] {
            let said = scene.press_with(&message, &format!("{action}:{}", nonce(&message)), ADA).await;
            assert!(said.starts_with("This request needs a passkey"), "{said}");
        }
        assert_eq!(scene.state(txn).await, ApprovalState::Pending);
    }

    async fn a_message_that_does_not_show_the_request_whole_approves_nothing(scene: &mut Scene) {
        scene.link(ADA).await;
        let request = scene.proxy.forward("POST", &scene.proxy.upstream.url("/act"));
        let txn = scene.proxy.send_pending(request.body("*".repeat(3000).into()).unwrap()).await;
        let message = scene.posted("Read the full request and approve: ").await;
        assert_eq!(message.labels(), ["Read and approve", "Deny"]);
        let link = format!("https://px.example.com/approve/{txn}");
        assert_eq!(message.button("Read and approve")["url"], link.as_str());
        let said = scene.press_with(&message, &format!("approve:{}", nonce(&message)), ADA).await;
        assert!(said.ends_with(&format!("Read and approve it here: {link}")), "{said}");
        assert_eq!(scene.state(txn).await, ApprovalState::Pending);
        assert_eq!(scene.deny(&message, ADA, "too long").await, "Denied. Nothing was sent.");
    }

    async fn markup_and_mentions_of_others_are_shown_as_they_were_written(scene: &mut Scene) {
        let text = "@everyone <@1300000000000000001> **bold** ||x|| ```code``` [a](https://evil.example) \\* # -\n> 1. q\n  _a_";
        let request = scene.proxy.forward("POST", &scene.proxy.upstream.url("/act")).header("x-px-reason", "@here `why`");
        scene.proxy.send_pending(request.body(text.into()).unwrap()).await;
        let message = scene.posted("│ @everyone").await;
        for line in text.lines() {
            assert!(message.text.contains(&format!("│ {line}\n")), "{line}: {}", message.text);
        }
        assert!(message.text.contains("Reason: “@here `why`”"), "{}", message.text);
        assert!(!message.has_markup, "{}", message.text);
        for call in scene.discord.calls().iter().filter(|call| call.call.contains("/messages")) {
            assert_eq!(call.body["allowed_mentions"], json!({ "parse": [] }));
        }
    }

    async fn a_button_with_another_nonce_or_none_does_nothing(scene: &mut Scene) {
        scene.link(ADA).await;
        let (txn, message) = scene.announce(1).await;
        for id in ["approve:0000", "deny:", "approve", "invented:1", &format!("approve:{txn}"), &format!("reason:{}", nonce(&message))] {
            assert_eq!(scene.press_with(&message, id, ADA).await, "This button no longer works.", "{id}");
        }
        let window = json!({ "custom_id": "reason:0000", "components": [] });
        let submitted = scene.discord.submit(&window, ADA, "no");
        assert_eq!(scene.interaction_response(&submitted).await.text(), "This button no longer works.");
        assert_eq!(scene.state(txn).await, ApprovalState::Pending);
    }

    async fn the_record_says_which_account_decided(scene: &mut Scene) {
        scene.link(ADA).await;
        let (_, message) = scene.announce(1).await;
        scene.press(&message, "Approve", ADA).await;
        let filter = AuditFilter { events: vec![AuditEvent::ApprovalApproved], ..AuditFilter::default() };
        let found = audit::search(&scene.proxy.state.store, scene.proxy.workspace, &filter).await.unwrap();
        let detail: Value = serde_json::from_str(&found[0].record.record.detail).unwrap();
        let account = json!({ "platform": "discord", "account": format!("@{ADA}"), "label": "@user01" });
        assert_eq!((&detail["surface"], &detail["chat"]), (&json!("chat"), &account));
    }

    async fn a_link_code_works_once_and_for_a_while(scene: &mut Scene) {
        let owner = scene.proxy.approver(0, DecisionSurface::Dashboard);
        let code = scene.code(owner.user).await;
        assert!(scene.send_code(ADA, &format!(" {code} ")).await.starts_with("Linked to a@example.com"));
        for code in [code.as_str(), "NOTHING", ""] {
            assert!(scene.send_code(EVE, code).await.contains("wrong or has expired"), "{code}");
        }
        let late = scene.code(owner.user).await;
        scene.proxy.advance(Duration::from_mins(10));
        assert!(scene.send_code(EVE, &late).await.contains("wrong or has expired"));
        let mut other = scene.discord.link(EVE, "X");
        other["data"]["name"] = "invented".into();
        assert!(scene.interaction_response(&other).await.text().starts_with("Create a code in the Pyxis dashboard"));
        let accounts = channels::accounts(&scene.proxy.state.store, scene.proxy.workspace, owner.user).await.unwrap();
        assert_eq!(accounts.len(), 1);
    }

    async fn the_command_is_registered_at_the_start(scene: &mut Scene) {
        let command = scene.discord.until(|discord| discord.commands().pop()).await;
        assert_eq!((&command["name"], &command["options"][0]["name"]), (&json!("link"), &json!("code")));
    }
}
