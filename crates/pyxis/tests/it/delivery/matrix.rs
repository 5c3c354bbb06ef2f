//! The second chat platform, with a real homeserver and a fake one (`docs/reference/notifications.md#matrix`).

use std::time::Duration;

use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::TxnId;
use pyxis_core::policy::Policy;
use pyxis_core::secret::SecretString;
use pyxis_gateway::ChatSettings;
use pyxis_gateway::Config;
use pyxis_gateway::Error;
use pyxis_gateway::admin::{channels, policies};
use pyxis_gateway::approvals::decide::{Decision, decide};
use pyxis_gateway::channels::deliver_due;
use pyxis_gateway::channels::matrix::MatrixConfig;
use pyxis_gateway::notifications::brand;
use pyxis_store::chat_messages;
use pyxis_store::{approvals, votes};
use pyxis_testkit::database::TestDatabase;
use pyxis_testkit::engines;
use pyxis_testkit::matrix::{Homeserver, RoomMessage, StandIn};
use serde_json::{Value, json};

mod real_homeserver;
mod room_changes;

use super::payloads;
use crate::races::proxy::{Proxy, Workers};
use crate::support::client::Address;
use crate::support::{Client, until};

/// A user on the homeserver.
struct User {
    id: String,
    client: Client,
    token: String,
}

impl User {
    async fn register(homeserver: &Homeserver, name: &str) -> Self {
        let client = Client::new(Address::new(homeserver.address()));
        let body = json!({ "username": name, "password": "p", "auth": { "type": "m.login.dummy" } });
        let made = client.post("/_matrix/client/v3/register", &body).send().await.expect(200).json();
        let text = |field: &str| made[field].as_str().unwrap().to_owned();
        let token = text("access_token");
        Self { id: text("user_id"), client: client.with("authorization", &format!("Bearer {token}")), token }
    }

    async fn room(&self, body: &Value) -> String {
        let made = self.client.post("/_matrix/client/v3/createRoom", body).send().await.expect(200).json();
        made["room_id"].as_str().unwrap().to_owned()
    }

    async fn send(&self, room: &str, kind: &str, content: &Value) {
        let path = format!("/_matrix/client/v3/rooms/{room}/send/{kind}/{}", rand());
        self.client.put(&path, content).send().await.expect(200);
    }

    async fn react(&self, room: &str, event: &str, key: &str) {
        let content =
            json!({ "m.relates_to": { "rel_type": "m.annotation", "event_id": event, "key": key } });
        self.send(room, "m.reaction", &content).await;
    }

    /// The newest events of a room, newest first.
    async fn events(&self, room: &str) -> Vec<Value> {
        let path = format!("/_matrix/client/v3/rooms/{room}/messages?dir=b&limit=100");
        let page = self.client.get(&path).send().await.expect(200).json();
        page["chunk"].as_array().unwrap().clone()
    }

    /// Waits until an event in the room satisfies `wanted`.
    async fn sees(&self, what: &str, room: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        until(what, async || self.events(room).await.into_iter().find(|event| wanted(event))).await
    }
}

fn rand() -> String {
    pyxis_core::entropy::token::<8>(&pyxis_core::entropy::OsEntropy, "t")
}

fn says(event: &Value, text: &str) -> bool {
    event["content"]["body"].as_str().is_some_and(|body| body.contains(text))
}

struct Scene {
    proxy: Proxy,
    bot: User,
    ada: User,
    room: String,
    _workers: Workers,
}

impl Scene {
    async fn start(database: TestDatabase, homeserver: &Homeserver) -> Self {
        let bot = User::register(homeserver, "pyxis").await;
        let ada = User::register(homeserver, "ada").await;
        let room = ada.room(&json!({ "invite": [bot.id], "preset": "private_chat" })).await;
        let config = Config {
            base_url: "https://px.example.com".to_owned(),
            chats: ChatSettings::default().with_platform(MatrixConfig {
                homeserver: homeserver.base(),
                token: SecretString::new(bot.token.clone()),
            }),
            ..Config::default()
        };
        let proxy = Proxy::with_config(database, config).await;
        let policy = json!({ "channel": "chat_secondary", "matrix_room": room });
        proxy.policy(&policy.to_string()).await;
        let workers = proxy.work().await;
        // Anything written before the bot began to read is ignored.
        until("the bot reads", async || {
            chat_messages::cursor(&proxy.state.store, ChatPlatform::MATRIX).await.unwrap()
        })
        .await;
        Self { _workers: workers, proxy, bot, ada, room }
    }

    async fn link(&self) {
        let owner = self.proxy.approver(0, DecisionSurface::Dashboard);
        let (state, actor) = (&self.proxy.state, self.proxy.actor());
        let (code, _) = channels::link_code(state, &actor, owner.user, ChatPlatform::MATRIX).await.unwrap();
        let content = json!({ "msgtype": "m.text", "body": format!("!link {}", code.expose()) });
        self.ada.send(&self.room, "m.room.message", &content).await;
        self.ada
            .sees("the account is linked", &self.room, |event| says(event, "Linked to a@example.com"))
            .await;
    }

    /// A request, and the event that asks about it.
    async fn announce(&self, round: usize) -> (TxnId, String) {
        let txn = self.proxy.pause(round).await;
        let text = format!("│ round {round}");
        let event = self.ada.sees("the message", &self.room, |event| says(event, &text)).await;
        (txn, event["event_id"].as_str().unwrap().to_owned())
    }

    async fn state(&self, txn: TxnId) -> ApprovalState {
        let found = approvals::find(&self.proxy.state.store, self.proxy.workspace, txn).await;
        found.unwrap().unwrap().state
    }

    async fn edited(&self, event: &str, text: &str) -> Value {
        let edits = |found: &Value| {
            let relation = &found["content"]["m.relates_to"];
            relation["rel_type"] == "m.replace"
                && relation["event_id"] == event
                && found["content"]["m.new_content"]["body"].as_str().is_some_and(|body| body.contains(text))
        };
        self.ada.sees(text, &self.room, edits).await
    }
}

/// One homeserver for the whole story: it takes seconds to start.
async fn story(database: TestDatabase, homeserver: &Homeserver) {
    let scene = Scene::start(database, homeserver).await;
    scene.link().await;

    // Approved by a reaction. The bot has added the possible ones to its message.
    let (txn, event) = scene.announce(1).await;
    for key in ["✅", "❌", "⏳"] {
        let offered = |found: &Value| {
            let relation = &found["content"]["m.relates_to"];
            found["sender"] == scene.bot.id && relation["key"] == key && relation["event_id"] == event
        };
        scene.ada.sees(key, &scene.room, offered).await;
    }
    assert_eq!(scene.state(txn).await, ApprovalState::Pending, "the bot's own reactions decide nothing");
    scene.ada.react(&scene.room, &event, "👍").await;
    scene.ada.react(&scene.room, &event, "✅\u{fe0f}").await;
    scene.edited(&event, "Approved by a@example.com").await;
    assert_eq!(scene.state(txn).await, ApprovalState::Approved);

    // Denied, and approved with a grant.
    let (denied, event) = scene.announce(2).await;
    scene.ada.react(&scene.room, &event, "❌").await;
    scene.edited(&event, "Denied by a@example.com").await;
    assert_eq!(scene.state(denied).await, ApprovalState::Denied);
    let (granted, event) = scene.announce(3).await;
    scene.ada.react(&scene.room, &event, "⏳").await;
    scene.edited(&event, "Approved by").await;
    assert_eq!(scene.state(granted).await, ApprovalState::Approved);
    let page = pyxis_store::Page::first(10);
    let grants = pyxis_store::grants::list(
        &scene.proxy.state.store,
        scene.proxy.workspace,
        true,
        page,
        scene.proxy.clock_now(),
    );
    let grants = grants.await.unwrap();
    assert_eq!(grants[0].expires_at.since(grants[0].created_at), Duration::from_mins(30));

    // Another person in the room decides nothing, and is told so.
    let eve = User::register(homeserver, "eve").await;
    let invite = json!({ "user_id": eve.id });
    let path = format!("/_matrix/client/v3/rooms/{}/invite", scene.room);
    scene.ada.client.post(&path, &invite).send().await.expect(200);
    eve.client.post(&format!("/_matrix/client/v3/join/{}", scene.room), &json!({})).send().await.expect(200);
    // Not the route of the grant, which would pass.
    scene.proxy.policy(&json!({ "channel": "chat_secondary", "matrix_room": scene.room, "require_approval_urls": ["/act"] }).to_string()).await;
    let (txn, event) = scene.announce(4).await;
    eve.react(&scene.room, &event, "✅").await;
    scene.ada.sees("the stranger is answered", &scene.room, |event| says(event, "not linked")).await;
    assert_eq!(scene.state(txn).await, ApprovalState::Pending);

    // Decided elsewhere: the message says so.
    let owner = scene.proxy.approver(1, DecisionSurface::Dashboard);
    decide(&scene.proxy.state, &owner, txn, Decision::Deny(None)).await.unwrap();
    scene.edited(&event, "Denied by b@example.com").await;

    // A passkey credential shows a link, and no reaction approves.
    let policy = json!({ "channel": "chat_secondary", "matrix_room": scene.room, "passkey_required": true });
    scene.proxy.policy(&policy.to_string()).await;
    let (txn, event) = scene.announce(5).await;
    let link = format!("Approve with your passkey: https://px.example.com/approve/{txn}");
    scene.ada.sees("the link", &scene.room, |event| says(event, &link)).await;
    scene.ada.react(&scene.room, &event, "✅").await;
    scene.ada.sees("the refusal", &scene.room, |event| says(event, "This request needs a passkey")).await;
    assert_eq!(scene.state(txn).await, ApprovalState::Pending);
    encrypted(&scene).await;
}

/// An encrypted room on the real homeserver: refused in a setting, and when a message would be sent.
async fn encrypted(scene: &Scene) {
    let body = json!({ "invite": [scene.bot.id], "preset": "private_chat" });
    let room = scene.ada.room(&body).await;
    let policy = json!({ "channel": "chat_secondary", "matrix_room": room }).to_string();
    scene.proxy.policy(&policy).await;
    let path = format!("/_matrix/client/v3/rooms/{room}/state/m.room.encryption");
    let algorithm = json!({ "algorithm": "m.megolm.v1.aes-sha2" });
    scene.ada.client.put(&path, &algorithm).send().await.expect(200);
    let (state, actor) = (&scene.proxy.state, scene.proxy.actor());
    let refused = channels::set_default_chat(state, &actor, ChatPlatform::MATRIX, &room).await.unwrap_err();
    assert!(refused.to_string().contains("the room is encrypted"), "{refused}");
    let wrong = channels::examine(state).await.unwrap().into_iter().find(|(part, _)| part.contains(&room));
    assert!(wrong.unwrap().1.unwrap().contains("encrypted"));
    let txn = scene.proxy.pause(6).await;
    until("the message is given up", async || {
        let row = chat_messages::list(&state.store, scene.proxy.workspace, txn).await.unwrap().remove(0);
        (row.next_at.is_none() && row.error.is_some_and(|why| why.contains("encrypted"))).then_some(())
    })
    .await;
    assert_eq!(scene.state(txn).await, ApprovalState::Pending, "the inbox has it all the same");
}

engines! {
    async fn a_room_where_the_bot_cannot_work_is_refused_when_it_is_named(database: TestDatabase) {
        let homeserver = StandIn::start().await;
        homeserver.encrypt("!secret:px.test");
        homeserver.shut("!strange:px.test");
        let matrix = MatrixConfig { homeserver: homeserver.base(), token: SecretString::new("t".to_owned()) };
        let proxy = Proxy::with_config(database, Config { chats: ChatSettings::default().with_platform(matrix), ..Config::default() }).await;
        let (state, actor) = (&proxy.state, proxy.actor());
        let set = async |room: &str| channels::set_default_chat(state, &actor, ChatPlatform::MATRIX, room).await;
        let put = async |room: &str| {
            let document = json!({ "channel": "chat_secondary", "matrix_room": room }).to_string();
            let policy = Policy::from_json(document.as_bytes()).unwrap();
            policies::put(state, &actor, "api", &policy).await
        };
        for (room, says) in [("!secret:px.test", "the room is encrypted"), ("!strange:px.test", "invite it there first")] {
            for refused in [set(room).await.unwrap_err(), put(room).await.unwrap_err()] {
                assert!(matches!(&refused, Error::InvalidField { field, detail } if field == "matrix_room" && detail.contains(says)), "{refused}");
            }
        }
        set("!ops:px.test").await.unwrap();
        put("!pay:px.test").await.unwrap();
        // A later change is reported to the server's operator.
        let found = async || channels::examine(state).await.unwrap();
        assert!(found().await.iter().all(|(_, wrong)| wrong.is_none()));
        homeserver.encrypt("!pay:px.test");
        let wrong: Vec<_> = found().await.into_iter().filter(|(_, wrong)| wrong.is_some()).collect();
        assert_eq!(wrong.len(), 1);
        assert!(wrong[0].0.contains("!pay:px.test") && wrong[0].1.as_ref().unwrap().contains("encrypted"));
        // A homeserver that does not answer does not make a setting fail, and is reported.
        homeserver.set_down(true);
        set("!other:px.test").await.unwrap();
        assert_eq!(found().await.iter().filter(|(_, wrong)| wrong.is_some()).count(), 1);
        let told = channels::list_failing(&state.store, proxy.workspace).await.unwrap();
        assert!(told.is_empty());
    }

    async fn a_message_for_a_room_that_became_encrypted_is_given_up_and_shown(database: TestDatabase) {
        let homeserver = StandIn::start().await;
        let matrix = MatrixConfig { homeserver: homeserver.base(), token: SecretString::new("t".to_owned()) };
        let proxy = Proxy::with_config(database, Config { chats: ChatSettings::default().with_platform(matrix), ..Config::default() }).await;
        proxy.policy(r#"{"channel": "chat_secondary", "matrix_room": "!ops:px.test"}"#).await;
        homeserver.encrypt("!ops:px.test");
        let txn = proxy.pause(1).await;
        deliver_due(&proxy.state).await.unwrap();
        let found = channels::list_failing(&proxy.state.store, proxy.workspace).await.unwrap();
        assert_eq!(found.len(), 1);
        let message = &found[0].message;
        assert_eq!((message.subject, message.next_at), (txn.into(), None));
        assert!(message.error.as_ref().unwrap().contains("the room is encrypted"));
        assert!(homeserver.messages().is_empty());
    }
}

const ROOM: &str = "!ops:px.test";
const ADA: &str = "@ada:px.test";

/// A proxy whose bot talks to a fake homeserver; nothing is posted or read automatically.
async fn quiet(database: TestDatabase, policy: &str) -> (Proxy, StandIn) {
    let homeserver = StandIn::start().await;
    let matrix = MatrixConfig { homeserver: homeserver.base(), token: SecretString::new("t".to_owned()) };
    let proxy = Proxy::with_config(
        database,
        Config { chats: ChatSettings::default().with_platform(matrix), ..Config::default() },
    )
    .await;
    proxy.policy(policy).await;
    (proxy, homeserver)
}

/// Starts the workers; returns once the bot reads.
async fn working(proxy: &Proxy) -> Workers {
    let workers = proxy.work().await;
    until("the bot reads", async || {
        chat_messages::cursor(&proxy.state.store, ChatPlatform::MATRIX).await.unwrap()
    })
    .await;
    workers
}

/// Links [`ADA`] to the first owner.
async fn link(proxy: &Proxy, homeserver: &StandIn) {
    let owner = proxy.approver(0, DecisionSurface::Dashboard);
    let actor = proxy.actor();
    let (code, _) =
        channels::link_code(&proxy.state, &actor, owner.user, ChatPlatform::MATRIX).await.unwrap();
    let content = json!({ "msgtype": "m.text", "body": format!("!link {}", code.expose()) });
    homeserver.send_event(ROOM, ADA, "m.room.message", &content);
    homeserver.until(|server| posted(server, "Linked to a@example.com")).await;
}

fn posted(homeserver: &StandIn, text: &str) -> Option<RoomMessage> {
    homeserver.messages().into_iter().find(|message| message.text.contains(text))
}

engines! {
    async fn the_count_of_approvals_is_shown_as_it_grows_in_a_room(database: TestDatabase) {
        let policy = json!({ "channel": "chat_secondary", "matrix_room": ROOM, "min_approvals": 2 });
        let (proxy, homeserver) = quiet(database, &policy.to_string()).await;
        let txn = proxy.pause(1).await;
        deliver_due(&proxy.state).await.unwrap();
        let only = || -> RoomMessage {
            let [message] = homeserver.messages().try_into().unwrap();
            message
        };
        assert!(only().text.contains("Approvals: 0 of 2"), "{}", only().text);
        for (voter, says) in [(0, "Approvals: 1 of 2"), (1, "Approved by b@example.com")] {
            let approver = proxy.approver(voter, DecisionSurface::Dashboard);
            decide(&proxy.state, &approver, txn, Decision::Approve(None)).await.unwrap();
            deliver_due(&proxy.state).await.unwrap();
            assert!(only().text.contains(says), "{}", only().text);
        }
        assert_eq!(only().edits, 2);
    }

    async fn the_brand_colors_the_first_line_and_nothing_of_others_is_markup(database: TestDatabase) {
        let policy = json!({ "channel": "chat_secondary", "matrix_room": ROOM });
        let (proxy, homeserver) = quiet(database, &policy.to_string()).await;
        proxy.pause(1).await;
        deliver_due(&proxy.state).await.unwrap();
        assert_eq!(homeserver.messages()[0].html, None, "without a color it is plain text");
        brand::put(&proxy.state.audited, &proxy.actor(), "Acme & Co", "#ffe066").await.unwrap();
        let txn = proxy.pause_because(2, "<b>now</b>").await;
        deliver_due(&proxy.state).await.unwrap();
        let message = posted(&homeserver, "round 2").unwrap();
        let line = |head: &str| {
            format!("<span data-mx-bg-color=\"#ffe066\" data-mx-color=\"#000000\"> Acme &amp; Co · {head} </span><br>")
        };
        let html = message.html.clone().unwrap();
        assert!(html.starts_with(&line("Approval needed")), "{html}");
        assert!(html.contains("<br>Reason: “&lt;b&gt;now&lt;/b&gt;”<br>") && html.ends_with("<br>Secured by Pyxis"), "{html}");
        assert!(message.text.starts_with("Acme & Co · Approval needed\n"));
        let owner = proxy.approver(0, DecisionSurface::Dashboard);
        decide(&proxy.state, &owner, txn, Decision::Deny(None)).await.unwrap();
        deliver_due(&proxy.state).await.unwrap();
        assert!(posted(&homeserver, "round 2").unwrap().html.unwrap().starts_with(&line("Denied")));
    }

    async fn messages_go_to_the_policys_room_else_to_the_workspaces(database: TestDatabase) {
        let (proxy, homeserver) = quiet(database, r#"{"channel": "chat_secondary"}"#).await;
        let rooms = async |round: usize| -> Vec<String> {
            proxy.pause(round).await;
            deliver_due(&proxy.state).await.unwrap();
            let text = format!("│ round {round}");
            let asks = homeserver.messages().into_iter().filter(|message| message.text.contains(&text));
            asks.map(|message| message.room).collect()
        };
        assert!(rooms(1).await.is_empty(), "nowhere to ask");
        channels::set_default_chat(&proxy.state, &proxy.actor(), ChatPlatform::MATRIX, ROOM).await.unwrap();
        assert_eq!(rooms(2).await, [ROOM]);
        proxy.policy(r#"{"channel": "chat_secondary", "matrix_room": "!pay:px.test"}"#).await;
        assert_eq!(rooms(3).await, ["!pay:px.test"]);
    }

    async fn a_homeserver_that_answers_slowly_delays_nothing_else(database: TestDatabase) {
        let policy = json!({ "channel": "chat_secondary", "matrix_room": ROOM });
        let (proxy, homeserver) = quiet(database, &policy.to_string()).await;
        let workers = working(&proxy).await;
        homeserver.set_slow(true);
        let slow = proxy.pause(1).await;
        homeserver.until(|server| (server.sends() > 0).then_some(())).await;
        let owner = proxy.approver(0, DecisionSurface::Dashboard);
        decide(&proxy.state, &owner, slow, Decision::Approve(None)).await.unwrap();
        proxy.upstream.received(1).await;
        proxy.policy(r#"{"channel": "agent_reflected"}"#).await;
        let other = proxy.pause(2).await;
        let denied = decide(&proxy.state, &owner, other, Decision::Deny(None)).await.unwrap();
        assert_eq!(denied.state, ApprovalState::Denied);
        assert!(homeserver.messages().is_empty(), "it hangs all the time");
        // The message that arrived too late says how it ended.
        homeserver.set_slow(false);
        homeserver.until(|server| posted(server, "Approved by a@example.com")).await;
        workers.end().await;
    }

    async fn what_was_said_during_an_outage_is_heard_however_much_it_was(database: TestDatabase) {
        let policy = json!({ "channel": "chat_secondary", "matrix_room": ROOM });
        let (proxy, homeserver) = quiet(database, &policy.to_string()).await;
        let workers = working(&proxy).await;
        link(&proxy, &homeserver).await;
        let txn = proxy.pause(1).await;
        let message = homeserver.until(|server| posted(server, "round 1")).await;
        workers.end().await;
        // More than one sync returns, and more than one page of what it leaves out.
        homeserver.react(&message, ADA, "❌");
        for n in 0..250 {
            let content = json!({ "msgtype": "m.text", "body": format!("talk {n}") });
            homeserver.send_event(ROOM, "@eve:px.test", "m.room.message", &content);
        }
        homeserver.send_event("!other:px.test", "@eve:px.test", "m.room.message", &json!({ "msgtype": "m.text", "body": "x" }));
        let workers = working(&proxy).await;
        homeserver.until(|server| posted(server, "Denied by a@example.com")).await;
        let state = approvals::find(&proxy.state.store, proxy.workspace, txn).await.unwrap().unwrap().state;
        assert_eq!(state, ApprovalState::Denied);
        workers.end().await;
    }

    async fn no_reaction_approves_or_opens_a_grant_where_a_passkey_is_asked_for(database: TestDatabase) {
        let policy = json!({ "channel": "chat_secondary", "matrix_room": ROOM, "passkey_required": true });
        let (proxy, homeserver) = quiet(database, &policy.to_string()).await;
        let workers = working(&proxy).await;
        link(&proxy, &homeserver).await;
        let txn = proxy.pause(1).await;
        let message = homeserver.until(|server| posted(server, "round 1")).await;
        for key in ["✅", "⏳"] {
            homeserver.react(&message, ADA, key);
        }
        let refusals = |server: &StandIn| {
            let all = server.messages();
            let refused = all.iter().filter(|message| message.text.starts_with("This request needs a passkey. Approve it here:"));
            (refused.count() == 2).then_some(())
        };
        homeserver.until(refusals).await;
        let row = approvals::find(&proxy.state.store, proxy.workspace, txn).await.unwrap().unwrap();
        assert_eq!(row.state, ApprovalState::Pending);
        let page = pyxis_store::Page::first(10);
        let now = proxy.clock_now();
        assert!(pyxis_store::grants::list(&proxy.state.store, proxy.workspace, true, page, now).await.unwrap().is_empty());
        workers.end().await;
    }

    async fn a_signature_is_approved_by_a_reaction_where_the_message_shows_every_field(database: TestDatabase) {
        let (proxy, homeserver, workers) = signing(database).await;
        let txn = proxy.pause_signature(&payloads::whole()).await;
        let message = homeserver.until(|server| offered(server, txn)).await;
        let lines: Vec<&str> = message.text.lines().collect();
        for field in payloads::FIELDS {
            assert!(lines.contains(&field), "{field}: {}", message.text);
        }
        assert_eq!(message.offered, ["✅", "❌"], "a signature opens no grant");
        homeserver.react(&message, ADA, "✅");
        homeserver.until(|server| posted(server, "Approved by a@example.com")).await;
        let row = approvals::find(&proxy.state.store, proxy.workspace, txn).await.unwrap().unwrap();
        assert_eq!(row.state, ApprovalState::Approved);
        workers.end().await;
    }

    async fn no_reaction_approves_a_signature_that_a_message_cannot_show_or_warns_of(database: TestDatabase) {
        let (proxy, homeserver, workers) = signing(database).await;
        let mut asked = Vec::new();
        for (body, says) in payloads::hard_to_tell() {
            asked.push((proxy.pause_signature(&body).await, says));
        }
        for (txn, says) in asked {
            let message = homeserver.until(|server| offered(server, txn)).await;
            assert!(message.text.contains(says), "{says}: {}", message.text);
            assert!(message.text.contains("Read the full request and approve: "), "{}", message.text);
            assert_eq!(message.offered, ["❌"], "{says}");
            // People can type any reaction, whatever is offered.
            for key in ["✅", "⏳"] {
                homeserver.react(&message, ADA, key);
            }
            let refusal = format!("The chat does not show the full request. Read and approve it here: {}", page(txn));
            let refusals = |server: &StandIn| {
                let all = server.messages();
                (all.iter().filter(|message| message.text == refusal).count() == 2).then_some(())
            };
            homeserver.until(refusals).await;
            let votes = votes::list(&proxy.state.store, proxy.workspace, txn).await.unwrap();
            assert!(votes.is_empty(), "{says}");
            homeserver.react(&message, ADA, "❌");
        }
        let denied = |server: &StandIn| {
            let messages = server.messages();
            let denied = messages.iter().filter(|message| message.text.contains("Denied by a@example.com"));
            (denied.count() == payloads::hard_to_tell().len()).then_some(())
        };
        homeserver.until(denied).await;
        workers.end().await;
    }
}

/// A quiet proxy that asks about signatures, with its workers and a link for [`ADA`].
async fn signing(database: TestDatabase) -> (Proxy, StandIn, Workers) {
    let policy = json!({ "channel": "chat_secondary", "matrix_room": ROOM }).to_string();
    let (proxy, homeserver) = quiet(database, &policy).await;
    proxy.signing_key(&policy).await;
    let workers = working(&proxy).await;
    link(&proxy, &homeserver).await;
    (proxy, homeserver, workers)
}

fn page(txn: TxnId) -> String {
    format!("{}/approve/{txn}", Config::default().base_url)
}

/// The message about a transaction, once the last of its reactions is there.
fn offered(homeserver: &StandIn, txn: TxnId) -> Option<RoomMessage> {
    posted(homeserver, &page(txn)).filter(|message| message.offered.iter().any(|key| key == "❌"))
}

engines! {
    async fn reactions_decide_in_a_room_of_a_real_homeserver(database: TestDatabase) {
        story(database, &Homeserver::start()).await;
    }
}
