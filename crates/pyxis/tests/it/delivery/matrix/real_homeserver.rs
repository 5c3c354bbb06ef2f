//! A bot that is removed from a room of a real homeserver, or that may not write there. The command line, the page and
//! the metric report that until it is fixed.

use pyxis_testkit::engines;

use super::{Address, Client, Homeserver, User, json, says, until};
use crate::support::{Browser, Setup, World};

const ADMIN: &str = "admin@people.example";

/// A running server whose bot is in a room, and a manager who looks at its pages.
struct Office {
    world: World,
    browser: Browser,
    metrics: Client,
    bot: User,
    ada: User,
    /// The room's id.
    room: String,
    /// The room as the policy names it.
    named: String,
}

impl Office {
    async fn open(setup: Setup, homeserver: &Homeserver, alias: Option<&str>) -> Self {
        let bot = User::register(homeserver, "pyxis").await;
        let ada = User::register(homeserver, "ada").await;
        let mut body = json!({ "invite": [bot.id], "preset": "private_chat" });
        if let Some(alias) = alias {
            body["room_alias_name"] = alias.into();
        }
        let room = ada.room(&body).await;
        let named = alias.map_or_else(|| room.clone(), |alias| format!("#{alias}:px.test"));
        let setup = setup
            .env("PX_MATRIX_HOMESERVER", &homeserver.base())
            .env("PX_MATRIX_ACCESS_TOKEN", &bot.token)
            .env("PX_METRICS_LISTEN", "127.0.0.1:0");
        let world = World::with(setup).await;
        world.policy(&json!({ "channel": "chat_secondary", "matrix_room": named })).await;
        world.app.admin(ADMIN).await;
        let browser = Browser::sign_in(&world.app.anonymous(), ADMIN).await;
        let metrics = metrics(&world);
        Self { world, browser, metrics, bot, ada, room, named }
    }

    /// Sends a request, and waits until the room shows it.
    async fn shown(&self, path: &str) {
        let txn = self.world.pause(path).await;
        self.ada.sees("the message", &self.room, |event| says(event, &txn)).await;
    }

    /// The problem with the room as reported by the command line.
    async fn doctor(&self) -> Option<String> {
        let report = self.world.app.cli(&["doctor", "--json"]).await.json();
        let part = format!("Matrix room {}", self.named);
        let parts = report["parts"].as_array().unwrap().iter();
        let found = parts.filter(|found| found["part"] == part.as_str()).collect::<Vec<_>>();
        assert_eq!(found.len(), 1, "{report}");
        assert_eq!(found[0]["ok"], found[0]["wrong"].is_null(), "{report}");
        found[0]["wrong"].as_str().map(str::to_owned)
    }

    /// Waits until the page and the metric report this many unreachable rooms.
    async fn unreachable(&self, rooms: usize) {
        let page = async || {
            let page = self.browser.get("/app/notifications").await.expect(200).text();
            (page.matches("cannot be reached since").count() == rooms).then_some(())
        };
        until("the page", page).await;
        let line = format!("pyxis_chats_unreachable{{platform=\"matrix\"}} {rooms}");
        let metric = async || {
            let text = self.metrics.get("/metrics").send().await.expect(200).text();
            text.lines().any(|found| found == line).then_some(())
        };
        until("the metric", metric).await;
    }

    async fn membership(&self, change: &str) {
        let path = format!("/_matrix/client/v3/rooms/{}/{change}", self.room);
        let body = json!({ "user_id": self.bot.id });
        self.ada.client.post(&path, &body).send().await.expect(200);
    }

    /// Sets the power level required for messages.
    async fn messages_need(&self, level: i64) {
        let path = format!("/_matrix/client/v3/rooms/{}/state/m.room.power_levels", self.room);
        let mut levels = self.ada.client.get(&path).send().await.expect(200).json();
        levels["events_default"] = level.into();
        self.ada.client.put(&path, &levels).send().await.expect(200);
    }
}

fn metrics(world: &World) -> Client {
    let address = world.app.greeting["metrics_address"].as_str().unwrap().parse().unwrap();
    Client::new(Address::new(address))
}

async fn kicked(setup: Setup, alias: Option<&str>) {
    let homeserver = Homeserver::start();
    let mut office = Office::open(setup, &homeserver, alias).await;
    office.shown("/before").await;
    office.unreachable(0).await;
    assert_eq!(office.doctor().await, None);

    office.membership("kick").await;
    assert!(office.doctor().await.unwrap().contains("it is not in the room"));
    let refused = office.world.pause("/meanwhile").await;
    office.unreachable(1).await;
    assert!(office.doctor().await.unwrap().contains("invite it there first"));
    // A restart does not forget it.
    office.world.app.restart().await;
    office.metrics = metrics(&office.world);
    office.unreachable(1).await;

    office.membership("invite").await;
    office.ada.sees("the refused message", &office.room, |event| says(event, &refused)).await;
    office.unreachable(0).await;
    assert_eq!(office.doctor().await, None);
    office.shown("/after").await;
}

engines! {
    async fn a_bot_that_is_kicked_is_named_until_it_is_invited_again(setup: Setup) {
        kicked(setup, None).await;
    }

    async fn a_bot_that_is_kicked_from_a_room_with_an_alias_posts_what_was_refused_once_it_is_invited(setup: Setup) {
        kicked(setup, Some("ops")).await;
    }

    async fn a_bot_that_may_not_post_in_its_room_is_named_until_it_may(setup: Setup) {
        let homeserver = Homeserver::start();
        let office = Office::open(setup, &homeserver, None).await;
        office.shown("/before").await;
        office.messages_need(50).await;
        assert!(office.doctor().await.unwrap().contains("the bot may not post in the room"));
        office.world.pause("/meanwhile").await;
        office.unreachable(1).await;
        office.messages_need(0).await;
        assert_eq!(office.doctor().await, None);
        office.shown("/after").await;
        office.unreachable(0).await;
    }
}
