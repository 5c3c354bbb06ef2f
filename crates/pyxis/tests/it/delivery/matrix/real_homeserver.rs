//! A bot that is removed from a room of a real homeserver, or that may not write there. The command line, the page and
//! the metric report that until it is fixed.

use pyxis_testkit::engines;

use super::{Homeserver, User, json, says};
use crate::delivery::reports::{self, Reports};
use crate::support::{Setup, Site};

/// A running server whose bot is in a room, and a manager who looks at its pages.
struct Office {
    site: Site,
    reports: Reports,
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
        let site = Site::with(setup).await;
        site.policy(&json!({ "channel": "chat_secondary", "matrix_room": named })).await;
        let reports = Reports::open(&site, "matrix").await;
        Self { site, reports, bot, ada, room, named }
    }

    /// Sends a request, and waits until the room shows it.
    async fn until_visible(&self, path: &str) {
        let txn = self.site.pause(path).await;
        self.ada.sees("the message", &self.room, |event| says(event, &txn)).await;
    }

    /// The problem with the room as reported by the command line.
    async fn doctor(&self) -> Option<String> {
        reports::doctor(&self.site, &format!("Matrix room {}", self.named)).await
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

async fn kicked(setup: Setup, alias: Option<&str>) {
    let homeserver = Homeserver::start();
    let mut office = Office::open(setup, &homeserver, alias).await;
    office.until_visible("/before").await;
    office.reports.unreachable(0).await;
    assert_eq!(office.doctor().await, None);

    // The homeserver says so itself, before a message is due.
    office.membership("kick").await;
    office.reports.unreachable(1).await;
    assert!(office.doctor().await.unwrap().contains("it is not in the room"));
    office.membership("invite").await;
    office.reports.unreachable(0).await;
    assert_eq!(office.doctor().await, None);

    office.membership("kick").await;
    let refused = office.site.pause("/meanwhile").await;
    office.reports.unreachable(1).await;
    assert!(office.doctor().await.unwrap().contains("invite it there first"));
    // A restart does not forget it.
    office.site.app.restart().await;
    office.reports.restarted(&office.site);
    office.reports.unreachable(1).await;

    office.membership("invite").await;
    office.ada.sees("the refused message", &office.room, |event| says(event, &refused)).await;
    office.reports.unreachable(0).await;
    assert_eq!(office.doctor().await, None);
    office.until_visible("/after").await;
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
        office.until_visible("/before").await;
        office.messages_need(50).await;
        office.reports.unreachable(1).await;
        assert!(office.doctor().await.unwrap().contains("the bot may not post in the room"));
        let refused = office.site.pause("/meanwhile").await;
        office.reports.unreachable(1).await;
        office.messages_need(0).await;
        office.ada.sees("the refused message", &office.room, |event| says(event, &refused)).await;
        office.reports.unreachable(0).await;
        assert_eq!(office.doctor().await, None);
        office.until_visible("/after").await;
    }
}
