//! Rooms that are upgraded, and rooms that the bot is removed from.

use pyxis_core::audit_event::AuditEvent;
use pyxis_gateway::channels::examination::tick;
use pyxis_store::audit::{self, AuditFilter};
use pyxis_testkit::database::TestDatabase;
use pyxis_testkit::engines;

use super::*;

const NEW: &str = "!new:px.test";

async fn rooms(proxy: &Proxy) -> (Option<String>, Option<String>) {
    let policy = policies::get(&proxy.state.store, proxy.workspace, "api").await.unwrap().unwrap().1;
    let default =
        channels::default_chat(&proxy.state.store, proxy.workspace, ChatPlatform::MATRIX).await.unwrap();
    (policy.rooms.get(ChatPlatform::MATRIX).map(str::to_owned), default)
}

async fn moves(proxy: &Proxy) -> usize {
    let filter = AuditFilter { events: vec![AuditEvent::ChatMoved], limit: 100, ..AuditFilter::default() };
    audit::search(&proxy.state.store, proxy.workspace, &filter).await.unwrap().len()
}

async fn wrong(proxy: &Proxy) -> Vec<String> {
    let found = channels::examine(&proxy.state).await.unwrap();
    found.into_iter().filter_map(|(_, wrong)| wrong).collect()
}

/// Posts everything due, and anything that becomes due by that; time moves on.
async fn show(proxy: &Proxy) {
    for _ in 0..2 {
        deliver_due(&proxy.state).await.unwrap();
        proxy.advance(Duration::from_secs(1));
    }
}

fn in_room(homeserver: &StandIn, txn: TxnId, room: &str) -> Option<RoomMessage> {
    homeserver
        .messages()
        .into_iter()
        .find(|message| message.room == room && message.text.contains(&page(txn)))
}

const POLICY: &str = r#"{"channel": "chat_secondary", "matrix_room": "!ops:px.test"}"#;

engines! {
    async fn an_upgraded_room_is_followed_at_the_next_message(database: TestDatabase) {
        let (proxy, homeserver) = quiet(database, POLICY).await;
        let actor = proxy.actor();
        channels::set_default_chat(&proxy.state, &actor, ChatPlatform::MATRIX, ROOM).await.unwrap();
        let asked = proxy.pause(1).await;
        show(&proxy).await;
        assert!(in_room(&homeserver, asked, ROOM).is_some());
        homeserver.upgrade(ROOM, "!between:px.test");
        homeserver.upgrade("!between:px.test", NEW);
        assert!(wrong(&proxy).await[0].contains("!between:px.test"));
        let txn = proxy.pause(2).await;
        show(&proxy).await;
        for txn in [asked, txn] {
            assert!(in_room(&homeserver, txn, NEW).is_some());
        }
        assert!(in_room(&homeserver, txn, ROOM).is_none());
        assert_eq!(rooms(&proxy).await, (Some(NEW.to_owned()), Some(NEW.to_owned())));
        assert_eq!(moves(&proxy).await, 1);
        assert!(wrong(&proxy).await.is_empty());
    }

    async fn an_upgrade_is_trusted_from_the_rooms_state_alone(database: TestDatabase) {
        let (proxy, homeserver) = quiet(database, POLICY).await;
        let workers = working(&proxy).await;
        // A message that looks like it, and an event that the room's state does not confirm.
        let content = json!({ "body": "x", "replacement_room": "!evil:px.test" });
        homeserver.send_event(ROOM, ADA, "m.room.tombstone", &content);
        homeserver.say_state(ROOM, &content);
        homeserver.upgrade("!other:px.test", "!evil:px.test");
        homeserver.upgrade(ROOM, NEW);
        until("the policy follows", async || {
            (rooms(&proxy).await.0.as_deref() == Some(NEW)).then_some(())
        })
        .await;
        workers.end().await;
        assert_eq!(moves(&proxy).await, 1);
    }

    async fn a_room_whose_successor_is_shut_is_named_and_followed_once_it_is_open(database: TestDatabase) {
        let (proxy, homeserver) = quiet(database, POLICY).await;
        homeserver.shut(NEW);
        homeserver.upgrade(ROOM, NEW);
        let txn = proxy.pause(1).await;
        show(&proxy).await;
        let found = channels::unreachable(&proxy.state, proxy.workspace).await.unwrap();
        assert_eq!(found.len(), 1);
        let why = found[0].why.clone();
        assert!(why.contains("was upgraded to !new:px.test") && why.contains("invite it there"), "{why}");
        assert_eq!(rooms(&proxy).await.0.as_deref(), Some(ROOM), "nothing is changed");
        assert!(!wrong(&proxy).await.is_empty());
        homeserver.open(NEW);
        let next = proxy.pause(2).await;
        show(&proxy).await;
        for txn in [txn, next] {
            assert!(in_room(&homeserver, txn, NEW).is_some());
        }
        assert!(channels::unreachable(&proxy.state, proxy.workspace).await.unwrap().is_empty());
        assert!(wrong(&proxy).await.is_empty());
    }

    async fn a_room_that_the_bot_was_put_out_of_is_named_until_it_is_back(database: TestDatabase) {
        let (proxy, homeserver) = quiet(database, POLICY).await;
        homeserver.shut(ROOM);
        proxy.pause(1).await;
        show(&proxy).await;
        assert_eq!(channels::unreachable(&proxy.state, proxy.workspace).await.unwrap().len(), 1);
        assert!(wrong(&proxy).await[0].contains("M_FORBIDDEN"));
        homeserver.open(ROOM);
        proxy.pause(2).await;
        show(&proxy).await;
        assert!(channels::unreachable(&proxy.state, proxy.workspace).await.unwrap().is_empty());
        assert!(wrong(&proxy).await.is_empty());
    }
}

/// Each unreachable room, with the reason.
async fn unreachable(proxy: &Proxy) -> Vec<(String, String)> {
    let found = channels::unreachable(&proxy.state, proxy.workspace).await.unwrap();
    found.into_iter().map(|found| (found.chat, found.why)).collect()
}

engines! {
    async fn a_room_that_the_bot_was_put_out_of_is_named_before_a_message_is_due(database: TestDatabase) {
        let (proxy, homeserver) = quiet(database, POLICY).await;
        tick(&proxy.state).await.unwrap();
        assert!(unreachable(&proxy).await.is_empty());
        homeserver.shut(ROOM);
        tick(&proxy.state).await.unwrap();
        let known = unreachable(&proxy).await;
        assert!(known.len() == 1 && known[0].0 == ROOM && known[0].1.contains("M_FORBIDDEN"), "{known:?}");
        assert_eq!(wrong(&proxy).await, [known[0].1.clone()], "the doctor says the same");
        // A homeserver that is down says nothing about its rooms.
        homeserver.set_down(true);
        tick(&proxy.state).await.unwrap();
        assert_eq!(unreachable(&proxy).await, known);
        homeserver.set_down(false);
        homeserver.open(ROOM);
        tick(&proxy.state).await.unwrap();
        assert!(unreachable(&proxy).await.is_empty() && wrong(&proxy).await.is_empty());
        homeserver.set_down(true);
        tick(&proxy.state).await.unwrap();
        assert!(unreachable(&proxy).await.is_empty(), "nothing is known");
        homeserver.set_down(false);
        homeserver.encrypt(ROOM);
        tick(&proxy.state).await.unwrap();
        assert!(unreachable(&proxy).await[0].1.contains("encrypted"));
    }

    async fn settings_follow_an_upgraded_room_without_a_message(database: TestDatabase) {
        let (proxy, homeserver) = quiet(database, POLICY).await;
        homeserver.shut(NEW);
        homeserver.upgrade(ROOM, NEW);
        tick(&proxy.state).await.unwrap();
        let found = unreachable(&proxy).await;
        assert!(found[0].1.contains("was upgraded to !new:px.test"), "{found:?}");
        assert!(found[0].1.contains("invite it there"), "{found:?}");
        assert_eq!(rooms(&proxy).await.0.as_deref(), Some(ROOM), "nothing is changed");
        homeserver.open(NEW);
        tick(&proxy.state).await.unwrap();
        assert_eq!(rooms(&proxy).await.0.as_deref(), Some(NEW));
        assert_eq!(moves(&proxy).await, 1);
        assert!(unreachable(&proxy).await.is_empty() && wrong(&proxy).await.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_room_of_a_real_homeserver_is_upgraded_and_the_bot_goes_along() {
    let homeserver = Homeserver::start();
    let scene = Scene::start(TestDatabase::sqlite(), &homeserver).await;
    scene.announce(1).await;
    let path = format!("/_matrix/client/v3/rooms/{}/upgrade", scene.room);
    let made = scene.ada.client.post(&path, &json!({ "new_version": "10" })).send().await.expect(200).json();
    let new = made["replacement_room"].as_str().unwrap().to_owned();
    // The new room is as private as the old one.
    let path = format!("/_matrix/client/v3/rooms/{new}/invite");
    scene.ada.client.post(&path, &json!({ "user_id": scene.bot.id })).send().await.expect(200);
    until("the policy follows", async || {
        (rooms(&scene.proxy).await.0.as_deref() == Some(new.as_str())).then_some(())
    })
    .await;
    let txn = scene.proxy.pause(2).await;
    scene.ada.sees("the message in the new room", &new, |event| says(event, &format!("{txn}"))).await;
}
