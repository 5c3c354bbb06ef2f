//! Platforms whose messages carry a link: e-mail, ntfy, Microsoft Teams and webhook cards.

use std::collections::BTreeMap;

use pyxis_core::secret::SecretString;
use pyxis_gateway::channels::Endpoints;
use pyxis_gateway::channels::card::CardConfig;
use pyxis_gateway::channels::email::{EmailConfig, Security};
use pyxis_gateway::channels::ntfy::NtfyConfig;
use pyxis_gateway::channels::teams::TeamsConfig;
use pyxis_net::HostPort;
use pyxis_testkit::ntfy::{Ntfy, TOKEN};
use pyxis_testkit::smtp::FaultyMailServer;
use pyxis_testkit::teams::{PATH, Teams};
use pyxis_testkit::upstream::{Reply, Upstream};
use pyxis_testkit::wire::Wire;
use serde_json::Value;

use super::*;

/// Makes settings that know this platform.
type Connect = Box<dyn Fn(ChatSettings) -> ChatSettings + Send + Sync>;
/// Reads what people see.
type Read = Box<dyn Fn() -> Vec<Announcement> + Send + Sync>;

struct LinkPeer {
    platform: ChatPlatform,
    faults: Arc<Faults>,
    room: &'static str,
    connect: Connect,
    announcements: Read,
    /// Ends with the peer.
    _wire: Option<Wire>,
}

impl Peer for LinkPeer {
    fn platform(&self) -> ChatPlatform {
        self.platform
    }

    fn faults(&self) -> &Faults {
        &self.faults
    }

    fn room(&self) -> &'static str {
        self.room
    }

    fn connect(&self, chats: ChatSettings) -> ChatSettings {
        (self.connect)(chats)
    }

    fn announcements(&self) -> Vec<Announcement> {
        (self.announcements)()
    }

    /// A mail server refuses for now, and says not for how long.
    fn limits(&self) -> bool {
        self.platform != ChatPlatform::EMAIL
    }
}

fn text(value: &Value) -> Announcement {
    Announcement { id: None, text: value.to_string() }
}

pub(super) fn start_email(faults: Arc<Faults>) -> BoxFuture<'static, Box<dyn Peer>> {
    Box::pin(async move {
        let server = FaultyMailServer::start(Arc::clone(&faults)).await;
        let port = server.port();
        let connect = move |chats: ChatSettings| {
            chats.with_platform(EmailConfig {
                server: HostPort::new("mail.example.com", port),
                security: Security::Loopback,
                login: None,
                from: "Pyxis <px@px.example.com>".parse().unwrap(),
            })
        };
        let id = |mail: &str| {
            let line = mail.lines().find_map(|line| line.strip_prefix("Message-ID: "));
            line.map(str::to_owned)
        };
        let announcements = move || {
            server.mails().into_iter().map(|text| Announcement { id: id(&text), text }).collect::<Vec<_>>()
        };
        boxed(
            ChatPlatform::EMAIL,
            faults,
            "ops@example.com",
            (Box::new(connect), Box::new(announcements)),
            None,
        )
    })
}

pub(super) fn start_ntfy(faults: Arc<Faults>) -> BoxFuture<'static, Box<dyn Peer>> {
    Box::pin(async move {
        let server = Ntfy::start().await;
        server.require_token();
        let wire = Wire::to(&server.url(), Arc::clone(&faults)).await;
        let base = wire.base();
        let connect = move |chats: ChatSettings| {
            let token = Some(SecretString::new(TOKEN.to_owned()));
            chats.with_platform(NtfyConfig { server: base.clone(), token })
        };
        let announcements = move || server.messages().iter().map(text).collect();
        boxed(
            ChatPlatform::NTFY,
            faults,
            "approvals",
            (Box::new(connect), Box::new(announcements)),
            Some(wire),
        )
    })
}

pub(super) fn start_teams(faults: Arc<Faults>) -> BoxFuture<'static, Box<dyn Peer>> {
    Box::pin(async move {
        let teams = Teams::start().await;
        let wire = Wire::to(teams.upstream().url("").as_str(), Arc::clone(&faults)).await;
        let url = format!("ops={}{PATH}", wire.base());
        let connect = move |chats: ChatSettings| {
            chats.with_platform(TeamsConfig { endpoints: Endpoints::parse(&url).unwrap() })
        };
        let announcements = move || teams.cards().iter().map(text).collect();
        boxed(ChatPlatform::TEAMS, faults, "ops", (Box::new(connect), Box::new(announcements)), Some(wire))
    })
}

pub(super) fn start_card(faults: Arc<Faults>) -> BoxFuture<'static, Box<dyn Peer>> {
    Box::pin(async move {
        let receiver = Upstream::http().await;
        receiver.reply_with(|_| Reply::new(204));
        let wire = Wire::to(&receiver.url(""), Arc::clone(&faults)).await;
        let url = format!("pager={}/hook/canary-path", wire.base());
        let connect = move |chats: ChatSettings| {
            let secret = SecretString::new("canary-signing-secret-of-cards".to_owned());
            chats.with_platform(CardConfig {
                endpoints: Endpoints::parse(&url).unwrap(),
                secrets: BTreeMap::from([("pager".to_owned(), secret)]),
            })
        };
        let announcements = move || newest_cards(&receiver);
        boxed(ChatPlatform::CARD, faults, "pager", (Box::new(connect), Box::new(announcements)), Some(wire))
    })
}

/// Of the cards with one id, the newest is what people see.
fn newest_cards(receiver: &Upstream) -> Vec<Announcement> {
    let mut newest = BTreeMap::new();
    for request in receiver.requests().into_iter().filter(|request| request.complete) {
        let card: Value = serde_json::from_slice(&request.body).unwrap();
        newest.insert(card["id"].as_str().unwrap().to_owned(), card.to_string());
    }
    newest.into_iter().map(|(id, text)| Announcement { id: Some(id), text }).collect()
}

fn boxed(
    platform: ChatPlatform,
    faults: Arc<Faults>,
    room: &'static str,
    (connect, announcements): (Connect, Read),
    wire: Option<Wire>,
) -> Box<dyn Peer> {
    Box::new(LinkPeer { platform, faults, room, connect, announcements, _wire: wire })
}
